"""The registry of global functions and classes."""

import ctypes

import numpy as np
import pytest
import tvm
from tvm import _ffi, te


@pytest.fixture
def name():
    name = "test.registry.f"
    yield name
    if tvm.get_global_func(name, allow_missing=True) is not None:
        _ffi.remove_global_func(name)


def test_decorator_with_name(name):
    @tvm.register_func(name)
    def f(a, b=None):
        return (a, b)

    assert f(1, 2) == (1, 2)  # the function itself is returned
    assert tvm.get_global_func(name)(3, "x") == [3, "x"]
    assert name in _ffi.list_global_func_names()
    assert _ffi.list_global_func_names() == sorted(_ffi.list_global_func_names())


def test_bare_decorator():
    @tvm.register_func
    def test_registry_bare():
        return 5

    try:
        assert tvm.get_global_func("test_registry_bare")() == 5
    finally:
        _ffi.remove_global_func("test_registry_bare")


def test_call_form_and_override(name):
    tvm.register_func(name, lambda: 1)
    with pytest.raises(ValueError, match=name) as caught:
        tvm.register_func(name, lambda: 2)
    assert isinstance(caught.value, tvm.TVMError)
    assert tvm.get_global_func(name)() == 1
    kept = tvm.get_global_func(name)
    tvm.register_func(name, lambda: 2, override=True)
    assert tvm.get_global_func(name)() == 2
    assert kept() == 1


def test_missing():
    with pytest.raises(ValueError, match=r"Cannot find global function 'no\.such\.fn'"):
        tvm.get_global_func("no.such.fn")
    assert tvm.get_global_func("no.such.fn", allow_missing=True) is None
    with pytest.raises(ValueError, match="runtime.TVMArrayCreateView"):
        tvm.get_global_func("runtime.TVMArrayCreateVeiw")
    with pytest.raises(ValueError, match="not removed"):
        _ffi.remove_global_func("no.such.fn")


@pytest.mark.parametrize("bad", [None, 3, b"x", []])
def test_wrong_types(bad):
    with pytest.raises(TypeError):
        tvm.get_global_func(bad)
    if bad is not None:
        with pytest.raises(TypeError):
            tvm.register_func(bad, lambda: 1)
    with pytest.raises(TypeError, match="callable"):
        tvm.register_func("test.registry.bad", bad if bad is not None else 1)


def test_ffi_api_modules(name):
    from tvm.runtime import _ffi_api

    a = _ffi_api.TVMArrayAllocWithScope(tvm.runtime.ShapeTuple([2, 3]), "int8", tvm.cpu(0), None)
    assert a.shape == (2, 3)
    assert a.dtype == "int8"
    with pytest.raises(AttributeError, match=r"runtime\.nonsense"):
        _ffi_api.nonsense


def test_init_api(name):
    import sys
    import types

    module = types.ModuleType("test_registry_module")
    sys.modules[module.__name__] = module
    try:
        tvm.register_func("tregistry.f", lambda: 7, override=True)
        tvm.register_func("tregistry.sub.g", lambda: 8, override=True)
        _ffi._init_api("tregistry", module.__name__)
        assert module.f() == 7
        assert not hasattr(module, "g")
    finally:
        del sys.modules[module.__name__]
        _ffi.remove_global_func("tregistry.f")
        _ffi.remove_global_func("tregistry.sub.g")


def test_register_object():
    @tvm.register_object("test.Thing")
    class Thing(tvm.Object):
        pass

    assert Thing.type_key == "test.Thing"
    assert Thing().same_as(Thing()) is False

    @tvm.register_object
    class Other(tvm.Object):
        pass

    assert Other.type_key == "Other"


def test_register_extension():
    @tvm.register_extension
    class Foreign:
        _tvm_tcode = 17

        def __init__(self):
            self._tvm_handle = 5

    value = Foreign()
    assert tvm.runtime.convert(lambda x: x)(value) is value
    with pytest.raises(TypeError):
        tvm.register_extension(3)


@pytest.mark.parametrize("code", [7, 13])
def test_extension_that_wraps_an_array(code):
    array = tvm.nd.array(np.arange(6, dtype="float32").reshape(2, 3))

    @tvm.register_extension
    class Wrapper:
        _tvm_tcode = code

        def __init__(self, array):
            self._tvm_handle = ctypes.cast(array.handle, ctypes.c_void_p).value

    A = te.placeholder((2, 3), name="A")
    B = te.compute((2, 3), lambda i, j: A[i, j] * 2, name="B")
    f = tvm.build(te.create_schedule(B.op), [A, B], "llvm")
    out = tvm.nd.empty((2, 3))
    f(Wrapper(array), out)
    assert out.numpy().tolist() == [[0, 2, 4], [6, 8, 10]]
    f(out, Wrapper(array))
    assert array.numpy().tolist() == [[0, 4, 8], [12, 16, 20]]


def test_extension_with_an_opaque_handle():
    class Pointer:
        _tvm_tcode = 3
        _tvm_handle = 0x1234

    assert tvm.get_global_func("testing.echo")(Pointer()).value == 0x1234


def test_extension_whose_handle_is_no_address():
    class Wrong:
        _tvm_tcode = 3
        _tvm_handle = "x"

    echo = tvm.get_global_func("testing.echo")
    with pytest.raises(TypeError, match="_tvm_handle: expected an address"):
        echo(Wrong())
    Wrong._tvm_handle = 1 << 70
    with pytest.raises(OverflowError):
        echo(Wrong())
    del Wrong._tvm_handle
    with pytest.raises(AttributeError):
        echo(Wrong())
