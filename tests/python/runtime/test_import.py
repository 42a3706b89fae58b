"""What `import tvm` loads, and what a fresh process can do with it."""

import os
import subprocess
import sys
import textwrap

import pytest

HEAVY = [
    "numpy",
    "ctypes",
    "typing",
    "inspect",
    "dataclasses",
    "llvmlite",
    "torch",
    "ml_dtypes",
    "rich",
]
AVOIDED = [
    "re",
    "enum",
    "json",
    "functools",
    "collections.abc",
    "contextlib",
    "tempfile",
    "subprocess",
]


def fresh(code: str, *options: str, **env: str) -> str:
    """Output of a fresh process, with only this package's folder beside the standard library."""
    import tvm

    home = os.path.dirname(os.path.dirname(tvm.__file__))
    code = f"import sys; sys.path.insert(0, {home!r})\n" + textwrap.dedent(code)
    done = subprocess.run(
        [sys.executable, *options, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **env},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_is_light():
    # -S: what files of site-packages import at start is not ours
    loaded = fresh(f"import tvm; print([m for m in {HEAVY} if m in sys.modules])", "-S", "-I")
    assert loaded == "[]"


def test_import_adds_few_modules_of_the_standard_library():
    out = fresh(
        f"""
        before = set(sys.modules)
        import tvm
        print([m for m in sys.modules if m in {AVOIDED} and m not in before])
        """,
        "-S",
        "-I",
    )
    assert out == "[]"


def test_import_loads_no_compiler():
    out = fresh(
        """
        import tvm
        tvm.nd.empty((2, 2)); tvm.device("cpu"); tvm.get_global_func("no", True)
        parts = ["te", "tir", "ir", "arith", "target", "driver", "codegen", "testing", "contrib"]
        print([p for p in parts if "tvm." + p in sys.modules])
        """,
        "-S",
        "-I",
    )
    assert out == "[]"


def test_import_raises_no_warning():
    fresh("import tvm", "-W", "error")


def test_arrays_without_numpy():
    out = fresh("import tvm; a = tvm.nd.empty((2, 3)); print(a.shape, a.dtype, a.device)", "-S")
    assert out == "(2, 3) float32 cpu(0)"


@pytest.mark.parametrize("name", ["te", "tir", "ir", "arith", "target", "driver", "testing"])
def test_subpackages_load_when_first_used(name):
    fresh(f"import tvm; assert tvm.{name}.__name__ == 'tvm.{name}'; assert '{name}' in dir(tvm)")
    fresh(f"from tvm import {name}; assert {name}.__name__ == 'tvm.{name}'")
    fresh(f"import tvm.{name}; assert tvm.{name}.__name__ == 'tvm.{name}'")


@pytest.mark.parametrize("name", ["build", "lower", "IRModule", "transform"])
def test_names_of_the_compiler_at_the_top(name):
    fresh(f"import tvm; tvm.{name}; assert '{name}' in vars(tvm)")
    fresh(f"from tvm import {name}")


def test_missing_native_part_is_explained(tmp_path):
    import shutil

    import tvm

    home = os.path.dirname(tvm.__file__)
    shutil.copytree(
        home, tmp_path / "tvm", ignore=shutil.ignore_patterns("*.so", "__pycache__", "te", "tir")
    )
    done = subprocess.run(
        [
            sys.executable,
            "-S",
            "-I",
            "-c",
            f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import tvm",
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "ImportError" in done.stderr
    assert str(tmp_path / "tvm" / "_ffi") in done.stderr
    assert "install" in done.stderr


def test_spawned_processes_get_arrays():
    out = fresh(
        """
        import multiprocessing, numpy as np, tvm

        if __name__ == "__main__":
            a = tvm.nd.array(np.arange(6, dtype="float32").reshape(2, 3))
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                b = pool.apply(tvm.nd.NDArray.numpy, (a,))
                c = pool.apply(tvm.nd.array, (b,))
            print(b.sum(), c.shape, c.dtype)
        """,
        PYTHONPATH=os.path.dirname(os.path.dirname(__import__("tvm").__file__)),
    )
    assert out == "15.0 (2, 3) float32"


def test_reload_adds_no_second_finder():
    fresh(
        """
        import importlib, tvm
        importlib.reload(tvm)
        assert sum("Legacy" in getattr(f, "__name__", "") for f in sys.meta_path) == 1
        assert tvm.nd.empty((1,)).shape == (1,)
        """
    )


@pytest.mark.parametrize(
    "module",
    [
        "tvm._ffi.base",
        "tvm._ffi.runtime_ctypes",
        "tvm._ffi.registry",
        "tvm._ffi.libinfo",
        "tvm.runtime.ndarray",
        "tvm.runtime.module",
        "tvm.runtime.packed_func",
        "tvm.runtime.container",
        "tvm.runtime.object_generic",
        "tvm.runtime.profiling",
        "tvm.runtime.toolchain",
        "tvm.contrib.cc",
        "tvm.contrib.utils",
        "tvm.contrib.dlpack",
        "tvm.contrib.popen_pool",
        "tvm.testing",
        "tvm.support",
        "tvm.error",
    ],
)
def test_every_module_can_be_imported_first(module):
    fresh(f"import {module}")
