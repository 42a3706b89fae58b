"""The examples in the docstrings of the Python layer run and show what they say."""

import doctest
import importlib

import numpy
import pytest
import tvm

MODULES = [
    *("tvm.error", "tvm.support", "tvm.config"),
    *("tvm._ffi.dtype", "tvm._ffi.registry", "tvm._ffi.runtime_ctypes"),
    *("tvm.runtime.container", "tvm.runtime.devices", "tvm.runtime.module", "tvm.runtime.ndarray"),
    *("tvm.runtime.object_generic", "tvm.runtime.packed_func", "tvm.runtime.params"),
    *("tvm.runtime.profiling", "tvm.runtime.toolchain"),
    *("tvm.testing.params", "tvm.testing.targets", "tvm.testing.utils"),
    *("tvm.contrib.cc", "tvm.contrib.popen_pool", "tvm.contrib.utils"),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    # the examples of the extension's own functions take these names for granted
    names = {"tvm": tvm, "numpy": numpy, "np": numpy}
    result = doctest.testmod(module, extraglobs=names)
    assert result.failed == 0


def test_public_functions_have_docstrings():
    bare = []
    for owner in (tvm, tvm.nd, tvm.runtime, tvm.testing, tvm.error):
        for name, value in vars(owner).items():
            if name.startswith("_") or not callable(value):
                continue
            if not str(getattr(value, "__module__", "")).startswith("tvm"):
                continue
            if not (value.__doc__ or "").strip():
                bare.append(f"{owner.__name__}.{name}")
    assert not bare
