"""Tensors of other libraries as arguments of native functions: what the callee gets."""

import ctypes
import weakref

import native_calls as c
import numpy as np
import pytest
import tvm


def passed(o):
    """The tensor that a native callee receives for o, and the tag of its cell."""
    seen = {}

    def body(values, tags, n, ret):
        t = ctypes.cast(values[0].v_handle, ctypes.POINTER(c.Tensor)).contents
        seen.update(
            tag=tags[0],
            data=(t.data or 0) + t.byte_offset,
            shape=tuple(t.shape[: t.ndim]),
            strides=tuple(t.strides[: t.ndim]) if t.strides else None,
            dtype=(t.dtype.code, t.dtype.bits, t.dtype.lanes),
        )

    with c.native_function(body) as f:
        f(o)
    return seen


NUMPY_TYPES = {
    "bool": (1, 1, 1),
    "int8": (0, 8, 1),
    "uint16": (1, 16, 1),
    "int64": (0, 64, 1),
    "longlong": (0, 64, 1),
    "float16": (2, 16, 1),
    "float64": (2, 64, 1),
}


@pytest.mark.parametrize(("name", "dtype"), NUMPY_TYPES.items())
def test_numpy_types(name, dtype):
    x = np.zeros((2, 3), name)
    assert passed(x) == {
        "tag": c.TENSOR,
        "data": x.ctypes.data,
        "shape": (2, 3),
        "strides": None,
        "dtype": dtype,
    }


@pytest.mark.parametrize("rank", [0, 1, 7, 8, 9, 30])
def test_ranks(rank):
    x = np.zeros((2,) * min(rank, 10) + (1,) * max(0, rank - 10), "int8")
    got = passed(x)
    assert got["shape"] == x.shape and got["strides"] is None
    if rank >= 2:
        got = passed(x.T)
        assert got["shape"] == x.T.shape and got["strides"] == x.T.strides
        assert got["data"] == x.ctypes.data
        # more axes than there is room for on the way: an array that shares the memory
        assert got["tag"] == (c.TENSOR if rank <= 8 else c.NDARRAY)


def test_numpy_zero_size_and_negative_strides():
    assert passed(np.zeros((3, 0)))["shape"] == (3, 0)
    x = np.arange(6, dtype="int32")[::-2]
    got = passed(x)
    assert (got["data"], got["strides"]) == (x.ctypes.data, (-2,))


def test_numpy_subclass():
    class Sub(np.ndarray):
        pass

    x = np.zeros(3).view(Sub)
    assert passed(x)["data"] == x.ctypes.data


@pytest.mark.parametrize(
    ("x", "error", "named"),
    [
        (np.zeros(2, ">f4"), TypeError, "byte order"),
        (np.zeros(2, "U3"), TypeError, "U3"),
        (np.array([None]), TypeError, "object"),
        (np.zeros(2, "complex64"), TypeError, "complex64"),
        (np.zeros(2, [("a", "i1"), ("b", "f4")])["b"], ValueError, "strides"),
    ],
)
def test_numpy_arrays_that_are_no_tensors(x, error, named):
    with pytest.raises(error, match=named) as caught:
        passed(x)
    assert isinstance(caught.value, tvm.TVMError)


def test_read_only_numpy_array():
    x = np.arange(3.0)
    x.flags.writeable = False
    got = passed(x)
    assert got["tag"] == c.NDARRAY and got["data"] == x.ctypes.data
    r = weakref.ref(x)
    del x
    assert r() is None


def test_ml_dtypes_array():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for kind, dtype in (
        (ml_dtypes.bfloat16, (4, 16, 1)),
        (ml_dtypes.float8_e4m3fn, (6, 8, 1)),
        (ml_dtypes.float8_e5m2, (7, 8, 1)),
    ):
        assert passed(np.zeros(2, kind))["dtype"] == dtype
    with pytest.raises(TypeError, match="int4"):
        passed(np.zeros(2, ml_dtypes.int4))


# ---- torch, through the exchange API ------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("bool", (1, 1, 1)), ("float32", (2, 32, 1)), ("bfloat16", (4, 16, 1)), ("int64", (0, 64, 1)),
     ("float8_e4m3fn", (6, 8, 1)), ("float8_e5m2", (7, 8, 1))],
)  # fmt: skip
def test_torch_types(torch, name, dtype):
    t = torch.zeros(2, 3, dtype=getattr(torch, name))
    got = passed(t)
    assert (got["data"], got["shape"], got["strides"]) == (t.data_ptr(), (2, 3), None)
    assert got["dtype"] == dtype


def test_torch_strides(torch):
    t = torch.arange(24).reshape(4, 6)
    assert passed(t.T)["strides"] == (1, 6)
    got = passed(t[1:, ::2])
    assert (got["strides"], got["data"]) == ((6, 2), t.data_ptr() + 48)
    assert passed(t[:, :1].contiguous())["strides"] is None


def test_torch_parameter_and_gradient(torch):
    p = torch.nn.Parameter(torch.ones(2))
    assert passed(p)["data"] == p.data_ptr()
    t = torch.ones(2, requires_grad=True)
    assert passed(t)["data"] == t.data_ptr()


def test_torch_types_without_counterpart(torch):
    with pytest.raises(TypeError, match="e4m3fnuz"):
        passed(torch.zeros(2).to(torch.float8_e4m3fnuz))


# ---- types with an exchange API of our making ---------------------------------------------------

api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Header(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
    ]


class Exchange(ctypes.Structure):
    _fields_ = [
        ("header", Header),
        ("allocate", ctypes.c_void_p),
        ("from_py", ctypes.c_void_p),
        ("to_py", ctypes.c_void_p),
        ("borrow", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
    ]


def own_table():
    capsule = tvm.nd.NDArray.__dlpack_c_exchange_api__
    address = api.PyCapsule_GetPointer(capsule, b"dlpack_exchange_api")
    return Exchange.from_buffer_copy(
        (ctypes.c_char * ctypes.sizeof(Exchange)).from_address(address)
    )


kept = []  # tables must stay for ever


def tensor_class(table, name=b"dlpack_exchange_api"):
    """A kind of array that offers another table."""

    class Tensor(tvm.nd.NDArray):
        __dlpack_c_exchange_api__ = api.PyCapsule_New(ctypes.addressof(table), name, None)

    kept.append(table)
    return Tensor


def test_exchange_without_the_borrowed_form():
    table = own_table()
    table.borrow = None
    a = tvm.nd.array([1.0, 2.0])
    t = tensor_class(table)(a)
    for _ in range(2):
        assert tvm.nd.from_dlpack(t).numpy().tolist() == [1.0, 2.0]
        assert tvm.nd.array(t).numpy().tolist() == [1.0, 2.0]


def test_exchange_of_a_newer_version_leads_to_the_older():
    old = own_table()
    new = Exchange(header=Header(9, 0, ctypes.addressof(old)))
    kept.append(old)
    t = tensor_class(new)(tvm.nd.array([1.0, 2.0]))
    assert tvm.nd.from_dlpack(t).numpy().tolist() == [1.0, 2.0]


def test_exchange_of_newer_versions_only_falls_back_to_the_method():
    new = Exchange(header=Header(9, 0, None))
    t = tensor_class(new)(tvm.nd.array([1.0, 2.0]))
    assert tvm.nd.from_dlpack(t).numpy().tolist() == [1.0, 2.0]


def test_exchange_attribute_that_is_no_table():
    class Odd(tvm.nd.NDArray):
        __dlpack_c_exchange_api__ = 3

    odd = tensor_class(own_table(), b"another_name")
    for kind in (Odd, odd):
        t = kind(tvm.nd.array([1.0, 2.0]))
        assert tvm.nd.from_dlpack(t).numpy().tolist() == [1.0, 2.0]


def test_many_tensor_types():
    a = tvm.nd.array([1.0])
    for _ in range(50):  # more than are remembered
        t = tensor_class(own_table())(a)
        for _ in range(2):
            assert tvm.nd.from_dlpack(t).numpy().tolist() == [1.0]


# ---- objects with __dlpack__ only ---------------------------------------------------------------


class OnlyMethod:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **arguments):
        return self.array.__dlpack__(**arguments)


def test_object_with_the_method():
    a = tvm.nd.array([1.0, 2.0])
    got = passed(OnlyMethod(a))
    assert (got["tag"], got["data"]) == (c.NDARRAY, a.handle.contents.data)


def test_class_of_tensors_is_no_tensor():
    echo = tvm.get_global_func("testing.echo")
    for kind in (OnlyMethod, tvm.nd.NDArray, np.ndarray):
        assert echo(kind) is not None  # crosses as a callable, not as a tensor


def test_failing_method_leaves_its_error():
    class Broken:
        def __dlpack__(self, **arguments):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        passed(Broken())
