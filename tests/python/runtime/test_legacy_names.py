"""Older spellings that work, names that moved, packages that are not here."""

import importlib
import sys

import numpy as np
import pytest
import tvm
from tvm import _legacy


def test_context():
    with pytest.warns(DeprecationWarning, match=r"tvm\.device"):
        assert tvm.context("cpu", 0) == tvm.cpu(0)


def test_ndarray_module():
    with pytest.warns(DeprecationWarning, match=r"tvm\.nd"):
        assert tvm.ndarray is tvm.nd
    try:
        with pytest.warns(DeprecationWarning, match=r"tvm\.nd"):
            module = importlib.import_module("tvm.ndarray")
        assert module is tvm.nd
        assert importlib.import_module("tvm.ndarray") is tvm.nd
        assert module.__spec__.name == "tvm.runtime.ndarray"
    finally:  # so that the older name warns again
        sys.modules.pop("tvm.ndarray", None)
        vars(tvm).pop("ndarray", None)


def test_old_attributes_of_arrays():
    a = tvm.nd.array(np.arange(3))
    with pytest.warns(DeprecationWarning, match="numpy"):
        assert np.array_equal(a.asnumpy(), [0, 1, 2])
    with pytest.warns(DeprecationWarning, match="device"):
        assert a.ctx == tvm.cpu(0)


def test_ctx_keyword():
    with pytest.warns(DeprecationWarning, match="device"):
        assert tvm.nd.array([1.0], ctx=tvm.cpu(0)).device == tvm.cpu(0)
    with pytest.warns(DeprecationWarning, match="device"):
        assert tvm.nd.empty((2,), ctx=tvm.cpu(0)).shape == (2,)


@pytest.mark.parametrize("name", sorted(_legacy.OLD_NAMES))
def test_old_names_work_with_one_warning(name):
    with pytest.warns(DeprecationWarning, match=f"tvm.{name} is an older name") as caught:
        getattr(tvm, name)
    assert len(caught) == 1
    assert caught[0].filename == __file__


@pytest.mark.parametrize("name", sorted(_legacy.MOVED))
def test_moved_names_say_where(name):
    with pytest.raises(AttributeError, match="moved to") as caught:
        getattr(tvm, name)
    assert _legacy.MOVED[name] in str(caught.value)
    assert not hasattr(tvm, name)


def test_targets_of_moved_names_exist():
    """What the messages name is there, as far as the package reaches."""
    # parts of the compiler that come later
    later = {
        *("scan", "extern", "decl_tensor_intrin", "tensor_intrin", "hybrid", "gradient"),
        *("ir_builder", "layout", "bijective_layout"),
    }
    missing = []
    for old, new in _legacy.MOVED.items():
        if not new.startswith("tvm.") or " " in new or "(" in new:
            continue
        parts = new.split(".")
        if old in later or parts[1] not in ("runtime", "te", "tir", "ir"):
            continue
        value = tvm
        for part in parts[1:]:
            value = getattr(value, part, None)
            if value is None:
                missing.append(f"{old} -> {new}")
                break
    assert not missing


def test_unknown_names():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        tvm.nonsense
    with pytest.raises(ImportError):
        from tvm import nonsense  # noqa: F401
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("tvm.nonsense")


@pytest.mark.parametrize(
    "name", ["relay", "relax", "autotvm", "auto_scheduler", "meta_schedule", "micro"]
)
def test_absent_packages(name):
    for module in (f"tvm.{name}", f"tvm.{name}.op"):
        with pytest.raises(ImportError, match=r"docs/migration\.md") as caught:
            importlib.import_module(module)
        assert f"tvm.{name}" in str(caught.value)
    with pytest.raises(ImportError, match=r"docs/migration\.md"):
        exec(f"from tvm import {name}")
    with pytest.raises(AttributeError, match=r"docs/migration\.md"):
        getattr(tvm, name)
    assert not hasattr(tvm, name)


def test_names_in_real_scripts():
    from tvm._ffi.base import _LIB, TVMError
    from tvm._ffi.libinfo import find_include_path, find_lib_path
    from tvm._ffi.runtime_ctypes import ArgTypeCode, TVMArray, TVMArrayHandle
    from tvm.runtime.module import BenchmarkResult, enabled, load_module
    from tvm.runtime.ndarray import NDArrayBase, from_dlpack

    assert TVMError is tvm.TVMError
    assert _LIB.TVMGetLastError is not None
    assert find_lib_path()[0].endswith(".so")
    assert find_include_path()
    assert ArgTypeCode.DLTENSOR_HANDLE == 7
    assert TVMArrayHandle._type_ is TVMArray
    assert issubclass(NDArrayBase, tvm.nd.NDArray)
    assert callable(enabled) and callable(load_module) and callable(from_dlpack)
    assert BenchmarkResult([1.0]).mean == 1.0


def test_old_names_in_modules():
    from tvm._ffi import runtime_ctypes

    with pytest.warns(DeprecationWarning, match="load_module"):
        assert tvm.runtime.module.load is tvm.runtime.load_module
    with pytest.warns(DeprecationWarning, match="Device"):
        assert runtime_ctypes.TVMContext is tvm.runtime.Device
    with pytest.warns(DeprecationWarning, match="DataType"):
        assert runtime_ctypes.TVMType is tvm.DataType
    for module in (tvm.runtime.module, runtime_ctypes, tvm.runtime, tvm.testing):
        with pytest.raises(AttributeError, match="nonsense"):
            module.nonsense


def test_handle_is_the_tensor_struct():
    a = tvm.nd.array(np.zeros((2, 3), "float16"))
    tensor = a.handle.contents
    assert str(tensor.dtype) == "float16"
    assert tensor.dtype == tvm.DataType("float16")
    assert tensor.device == tvm.cpu(0)
    assert tensor.device.device_type == 1
    assert repr(tensor.device) == "cpu(0)"
    assert tensor.ndim == 2
    assert tensor.shape[:2] == [2, 3]


def test_handle_keeps_the_array():
    handle = tvm.nd.array(np.arange(4, dtype="int32")).handle
    assert handle.contents.shape[0] == 4
    del handle
