"""The stub of the extension says what is there, and a user's script passes mypy --strict."""

import ast
import importlib
import importlib.util
import os
import subprocess
import sys

import pytest
import tvm
from tvm._ffi import _core

SCRIPT = """
import numpy as np

import tvm
import tvm.testing
from tvm import nd

x = np.ones((3, 4), "float32")
a = tvm.nd.array(x, device=tvm.cpu(0))
shape: tuple[int, ...] = a.shape
kind: str = a.dtype
b = nd.empty((3, 4), dtype="float32")
b = a.copyto(b)
c: tvm.nd.NDArray = nd.from_dlpack(b)
b[:] = x
dev: tvm.runtime.Device = tvm.device("cuda:2")
there: bool = dev.exist
f: tvm.runtime.PackedFunc = tvm.runtime.convert(lambda v: v)
m: tvm.runtime.Module = tvm.runtime.load_module("x.so")
mean: float = m.time_evaluator("main", tvm.cpu(0), number=3)(a, b).mean
g = tvm.get_global_func("x")
g(1)
h = tvm.get_global_func("x", allow_missing=True)
if h is not None:
    h(a)
bits: int = tvm.DataType("int8").bits
tvm.testing.assert_allclose(a.numpy(), x)


@tvm.register_func("x.y")
def double(v: int) -> int:
    return 2 * v


result: int = double(3)
try:
    tvm.nd.empty((-1,))
except tvm.TVMError as problem:
    print(problem)
"""


def _names(body):
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name, node
        elif isinstance(node, ast.AnnAssign):
            yield node.target.id, node


@pytest.fixture(scope="module")
def stub():
    path = os.path.join(os.path.dirname(tvm.__file__), "_ffi", "_core.pyi")
    with open(path, encoding="utf-8") as file:
        return dict(_names(ast.parse(file.read()).body))


def test_what_the_stub_says_is_there(stub):
    missing = []
    for name, node in stub.items():
        if name.startswith("_") and name != "__version__":
            continue
        value = getattr(_core, name, None)
        if value is None:
            missing.append(name)
        elif isinstance(node, ast.ClassDef):
            missing += [f"{name}.{n}" for n, _ in _names(node.body) if not hasattr(value, n)]
    assert not missing


def test_what_is_there_is_in_the_stub(stub):
    absent = []
    for name, value in vars(_core).items():
        if name.startswith("__"):
            continue
        if name not in stub:
            absent.append(name)
        elif isinstance(value, type):
            known = {n for n, _ in _names(stub[name].body)}
            absent += [
                f"{name}.{n}" for n in vars(value) if n not in known and not n.startswith("_")
            ]
    assert not absent


def test_keyword_names_of_the_stub(stub):
    import inspect

    for name in ("array", "empty", "load_module", "register_func", "table_module"):
        declared = [arg.arg for arg in stub[name].args.args]
        assert list(inspect.signature(getattr(_core, name)).parameters) == declared, name


def test_public_classes_say_where_they_live():
    for cls in (tvm.nd.NDArray, tvm.runtime.Device, tvm.runtime.PackedFunc, tvm.runtime.Module):
        home = importlib.import_module(cls.__module__)
        assert getattr(home, cls.__name__) is cls


@pytest.mark.usefixtures("mypy")
def test_a_users_script_passes_mypy(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [
        *(sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent"),
        *("--cache-dir", str(tmp_path / "cache"), str(tmp_path / "script.py")),
    ]
    home = os.path.dirname(os.path.dirname(tvm.__file__))
    # an installed package is found, and may not be named again
    path = {} if "site-packages" in home else {"MYPYPATH": home}
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, **path}
    )
    assert done.returncode == 0, done.stdout + done.stderr
