"""Examples in docstrings run and show what they say; public names say what they are."""

import doctest
import importlib
import inspect
import pkgutil

import numpy
import pytest
import tvm

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(tvm.__path__, "tvm.")
    if not module.ispkg and not module.name.endswith(("._core", ".__main__"))
)
PACKAGES = [
    *("tvm", "tvm.nd", "tvm.runtime", "tvm.error", "tvm.testing", "tvm.support", "tvm.config"),
    *("tvm.ir", "tvm.transform", "tvm.target", "tvm.arith", "tvm.tir", "tvm.tir.transform"),
    *("tvm.te", "tvm.driver", "tvm.contrib.cc", "tvm.contrib.dlpack", "tvm.contrib.popen_pool"),
    *("tvm.contrib.utils",),
]


def load(name):
    if name in ("tvm.nd", "tvm.transform"):  # other names of a module
        return getattr(tvm, name.partition(".")[2])
    return importlib.import_module(name)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    # the examples of the extension's own functions take these names for granted
    names = {"tvm": tvm, "numpy": numpy, "np": numpy}
    result = doctest.testmod(module, extraglobs=names)
    assert result.failed == 0


def test_examples_of_the_extension_run():
    """They are in the docstrings of C types and functions, which the finder may overlook."""
    found = {
        test.name
        for test in doctest.DocTestFinder().find(importlib.import_module("tvm.runtime.ndarray"))
        if test.examples
    }
    for name in ("array", "empty", "from_dlpack", "NDArray.copyfrom", "NDArray.numpy", "cpu"):
        assert f"tvm.runtime.ndarray.{name}" in found


def is_ours(value):
    return str(getattr(value, "__module__", "")).startswith("tvm")


def public(owner):
    for name, value in inspect.getmembers(owner):
        if not name.startswith("_"):
            yield name, value


def says_nothing(value):
    return not (inspect.getdoc(value) or "").strip()


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_have_docstrings(package):
    owner = load(package)
    assert owner.__doc__
    bare = []
    for name, value in public(owner):
        if not callable(value) or not is_ours(value):
            continue
        if says_nothing(value):
            bare.append(f"{package}.{name}")
        if not isinstance(value, type):
            continue
        for member, method in public(value):
            if inspect.isfunction(method) and is_ours(method) and says_nothing(method):
                bare.append(f"{package}.{name}.{member}")
            if isinstance(method, property) and says_nothing(method):
                bare.append(f"{package}.{name}.{member}")
    assert not bare
