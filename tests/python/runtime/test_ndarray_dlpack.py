"""DLPack: what goes out, what comes in, and who frees it."""

import ctypes
import gc
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
import tvm

api = ctypes.pythonapi
api.PyCapsule_GetName.restype = ctypes.c_char_p
api.PyCapsule_GetName.argtypes = [ctypes.py_object]
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", Deleter)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


READ_ONLY, IS_COPIED = 1, 2


producers = []  # alive until the end of the test: native code has their addresses


@pytest.fixture(autouse=True)
def forget_producers():
    yield
    gc.collect()
    producers.clear()


class Producer:
    """A tensor of a made-up library: everything in it can be chosen, its deleter counts."""

    def __init__(
        self, values, code=2, bits=32, versioned=True, version=(1, 0), flags=0, shape=None,
        strides=None, lanes=1,
    ):  # fmt: skip
        self.values = values
        self.deleted = 0
        shape = values.shape if shape is None else shape
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.strides = None if strides is None else (ctypes.c_int64 * len(shape))(*strides)
        tensor = Tensor(values.ctypes.data, 1, 0, len(shape), code, bits, lanes, self.shape,
                        self.strides, 0)  # fmt: skip
        self.deleter = Deleter(self.delete)
        if versioned:
            self.managed = Versioned(*version, None, self.deleter, flags, tensor)
            self.name = b"dltensor_versioned"
        else:
            self.managed = Managed(tensor, None, self.deleter)
            self.name = b"dltensor"

    def delete(self, _):
        self.deleted += 1

    def capsule(self):
        producers.append(self)
        return api.PyCapsule_New(ctypes.addressof(self.managed), self.name, None)


def look(capsule):
    """The managed tensor in a capsule, which it keeps."""
    name = api.PyCapsule_GetName(capsule)
    kind = Versioned if b"versioned" in name else Managed
    managed = kind.from_address(api.PyCapsule_GetPointer(capsule, name))
    managed.capsule = capsule
    return managed


# ---- export -------------------------------------------------------------------------------------

CODES = {
    "bool": (6, 8),
    "int8": (0, 8),
    "uint64": (1, 64),
    "float16": (2, 16),
    "float64": (2, 64),
    "bfloat16": (4, 16),
    "e4m3_float8": (10, 8),
    "e5m2_float8": (12, 8),
    "int4": (0, 4),
    "handle": (3, 64),
}


@pytest.mark.parametrize(("dtype", "code"), CODES.items())
@pytest.mark.parametrize("max_version", [None, (0, 8), (1, 0), (1, 3), (2, 0)])
def test_export(dtype, code, max_version):
    a = tvm.nd.empty((2, 3), dtype)
    capsule = a.__dlpack__(max_version=max_version)
    versioned = max_version is not None and max_version[0] >= 1
    assert api.PyCapsule_GetName(capsule) == (b"dltensor_versioned" if versioned else b"dltensor")
    managed = look(capsule)
    t = managed.tensor
    assert (t.code, t.bits, t.lanes) == (*code, 1)
    assert (t.device_type, t.device_id, t.ndim) == (1, 0, 2)
    assert t.shape[:2] == [2, 3] and t.strides[:2] == [3, 1]
    assert t.data + t.byte_offset == a.handle.contents.data
    if versioned:
        assert managed.major == 1 and managed.flags == 0


def test_lanes_are_exported():
    t = look(tvm.nd.empty((2,), "float32x4").__dlpack__()).tensor
    assert (t.code, t.bits, t.lanes, t.shape[0]) == (2, 32, 4, 2)


def test_offset_is_folded_into_the_address():
    a = tvm.nd.array(np.arange(4, dtype="int32"))
    t = look(a._create_view((2,), None, 8).__dlpack__()).tensor
    assert t.byte_offset == 0 and t.data == a.handle.contents.data + 8


def test_to_dlpack_is_the_old_form():
    assert api.PyCapsule_GetName(tvm.nd.empty((1,)).to_dlpack()) == b"dltensor"


def test_dlpack_device():
    assert tvm.nd.empty((1,)).__dlpack_device__() == (1, 0)
    assert tvm.nd.empty((1,), device=tvm.cpu(3)).__dlpack_device__() == (1, 3)


def test_export_keeps_the_array():
    a = tvm.nd.array([1.0, 2.0])
    capsule = a.__dlpack__()
    del a
    b = tvm.nd.from_dlpack(capsule)
    assert b.numpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize("max_version", [None, (1, 0)])
def test_unused_capsules_are_freed(max_version):
    a = tvm.nd.empty((1000,))
    before = tvm._ffi._core.stat(1)
    capsules = [a.__dlpack__(max_version=max_version) for _ in range(10)]
    del a
    assert tvm._ffi._core.stat(1) == before
    del capsules
    assert tvm._ffi._core.stat(1) == before - 1


def test_copy():
    a = tvm.nd.array([1.0, 2.0])
    shared = a.__dlpack__(max_version=(1, 0), copy=False)
    copied = a.__dlpack__(max_version=(1, 0), copy=True)
    assert look(shared).tensor.data == a.handle.contents.data
    assert look(copied).tensor.data != a.handle.contents.data
    assert look(copied).flags == IS_COPIED and look(shared).flags == 0
    assert tvm.nd.from_dlpack(copied).numpy().tolist() == [1.0, 2.0]
    assert look(a.__dlpack__(copy=True)).tensor.data != a.handle.contents.data


def test_dl_device():
    a = tvm.nd.array([1.0])
    assert tvm.nd.from_dlpack(a.__dlpack__(dl_device=(1, 0))).numpy() == [1.0]
    assert look(a.__dlpack__(dl_device=(1, 0))).tensor.data == a.handle.contents.data
    with pytest.raises(BufferError) as caught:
        a.__dlpack__(dl_device=(2, 0))
    assert isinstance(caught.value, tvm.TVMError)


@pytest.mark.parametrize(
    "arguments",
    [{"max_version": 1}, {"max_version": (1,)}, {"max_version": ("a", 1)}, {"dl_device": "cpu"},
     {"copy": 1}, {"copy": "yes"}, {"stream": "s"}, {"colour": 1}],
)  # fmt: skip
def test_senseless_arguments(arguments):
    with pytest.raises(TypeError):
        tvm.nd.empty((1,)).__dlpack__(**arguments)


def test_stream_means_nothing_on_the_cpu():
    a = tvm.nd.empty((1,))
    for stream in (None, -1, 1):
        look(a.__dlpack__(stream=stream))
        look(a.__dlpack__(stream))


# ---- import -------------------------------------------------------------------------------------

IMPORTS = [
    ((6, 8), "uint8", "bool"),
    ((1, 1), "uint8", "bool"),
    ((1, 8), "uint8", "uint8"),
    ((0, 64), "int64", "int64"),
    ((2, 16), "float16", "float16"),
    ((4, 16), "uint16", "bfloat16"),
    ((10, 8), "uint8", "e4m3_float8"),
    ((12, 8), "uint8", "e5m2_float8"),
]


@pytest.mark.parametrize(("code", "storage", "dtype"), IMPORTS)
@pytest.mark.parametrize("versioned", [False, True])
def test_import(code, storage, dtype, versioned):
    p = Producer(np.array([[1, 0, 1], [0, 0, 1]], storage), *code, versioned=versioned)
    capsule = p.capsule()
    a = tvm.nd.from_dlpack(capsule)
    assert (a.shape, a.dtype, a.strides) == ((2, 3), dtype, None)
    assert a.handle.contents.data == p.values.ctypes.data
    assert api.PyCapsule_GetName(capsule).startswith(b"used_dltensor")
    del capsule
    assert p.deleted == 0
    del a
    assert p.deleted == 1


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize(
    ("code", "named"),
    [((7, 8), "e3m4"), ((8, 8), "e4m3"), ((9, 8), "e4m3b11fnuz"), ((11, 8), "e4m3fnuz"),
     ((13, 8), "e5m2fnuz"), ((14, 8), "e8m0fnu"), ((15, 6), "e2m3fn"), ((16, 6), "e3m2fn"),
     ((17, 4), "e2m1fn"), ((99, 8), "99"), ((6, 16), "bool")],
)  # fmt: skip
def test_types_without_counterpart(code, named, versioned):
    p = Producer(np.zeros(4, "uint8"), *code, versioned=versioned)
    with pytest.raises(TypeError, match=named) as caught:
        tvm.nd.from_dlpack(p.capsule())
    assert isinstance(caught.value, tvm.TVMError)
    assert p.deleted == 1


@pytest.mark.parametrize("versioned", [False, True])
def test_other_failures_free_the_tensor_once(versioned):
    for shape in ((-1,), (1 << 62, 4)):
        p = Producer(np.zeros(4, "float32"), shape=shape, versioned=versioned)
        with pytest.raises(ValueError):
            tvm.nd.from_dlpack(p.capsule())
        assert p.deleted == 1


def test_a_future_major_version():
    p = Producer(np.zeros(4, "float32"), version=(2, 0))
    with pytest.raises(BufferError, match="2"):
        tvm.nd.from_dlpack(p.capsule())
    assert p.deleted == 1


def test_padded_four_bit_types():
    p = Producer(np.zeros(4, "uint8"), 0, 4, flags=4)
    with pytest.raises(BufferError, match="4-bit"):
        tvm.nd.from_dlpack(p.capsule())
    assert p.deleted == 1


def test_a_capsule_can_be_used_once():
    p = Producer(np.array([1, 2], "float32"))
    capsule = p.capsule()
    a = tvm.nd.from_dlpack(capsule)
    with pytest.raises(ValueError, match="consumed already") as caught:
        tvm.nd.from_dlpack(capsule)
    assert isinstance(caught.value, tvm.TVMError)
    assert a.numpy().tolist() == [1, 2] and p.deleted == 0


def test_capsules_of_other_kinds():
    capsule = api.PyCapsule_New(1, b"something", None)
    with pytest.raises(ValueError, match="something"):
        tvm.nd.from_dlpack(capsule)


@pytest.mark.parametrize("thing", [None, 1, "abc", [1, 2], object(), b"ab"])
def test_what_is_no_tensor(thing):
    with pytest.raises(TypeError, match=type(thing).__name__) as caught:
        tvm.nd.from_dlpack(thing)
    assert isinstance(caught.value, AttributeError) and isinstance(caught.value, tvm.TVMError)


def test_flags():
    a = tvm.nd.from_dlpack(Producer(np.zeros(3, "float32"), flags=READ_ONLY).capsule())
    assert a._read_only
    with pytest.raises(ValueError, match="read-only"):
        a.copyfrom(np.zeros(3, "float32"))
    assert look(a.__dlpack__(max_version=(1, 0))).flags == READ_ONLY
    with pytest.raises(BufferError, match="read-only"):
        a.__dlpack__()
    assert look(a.__dlpack__(copy=True)).tensor.ndim == 1
    assert not tvm.nd.from_dlpack(a.__dlpack__(max_version=(1, 0), copy=True))._read_only


@pytest.mark.parametrize(
    ("shape", "strides", "kept"),
    [((2, 3), (3, 1), None), ((2, 3), (1, 2), (1, 2)), ((1, 6), (100, 1), None),
     ((6, 1), (1, 77), None), ((2, 1, 3), (3, -5, 1), None), ((0, 3), (1, 1), None), ((), (), None),
     ((3,), (0,), (0,)), ((3,), (2,), (2,))],
)  # fmt: skip
def test_strides_are_kept_where_they_matter(shape, strides, kept):
    p = Producer(np.arange(6, dtype="float32"), shape=shape, strides=strides)
    a = tvm.nd.from_dlpack(p.capsule())
    assert (a.shape, a.strides) == (shape, kept)
    expected = np.lib.stride_tricks.as_strided(p.values, shape, [4 * s for s in strides])
    np.testing.assert_array_equal(a.numpy(), expected)


def test_deleter_runs_in_whichever_thread_lets_go():
    p = Producer(np.zeros(3, "float32"))
    box = [tvm.nd.from_dlpack(p.capsule())]
    thread = threading.Thread(target=box.clear)
    thread.start()
    thread.join()
    assert p.deleted == 1


def test_views_keep_the_producer():
    p = Producer(np.arange(4, dtype="float32"))
    v = tvm.nd.from_dlpack(p.capsule())._create_view((2,), None, 8)
    gc.collect()
    assert p.deleted == 0 and v.numpy().tolist() == [2, 3]
    del v
    assert p.deleted == 1


def test_objects_with_the_method():
    class Tensor:
        def __init__(self, new):
            self.producer = Producer(np.arange(3, dtype="float32"), versioned=new)
            self.new = new
            self.calls = []

        def __dlpack__(self, **arguments):
            self.calls.append(arguments)
            if not self.new and arguments:
                raise TypeError("unexpected keyword")
            return self.producer.capsule()

    for new in (False, True):
        t = Tensor(new)
        assert tvm.nd.from_dlpack(t).numpy().tolist() == [0, 1, 2]
        assert t.calls[0] == {"max_version": (1, 3)}
        assert len(t.calls) == (1 if new else 2)
        assert t.producer.deleted == 1


def test_stream_is_asked_for_on_devices_that_have_streams():
    class Tensor:
        calls = []

        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, **arguments):
            self.calls.append(arguments)
            raise RuntimeError("no such device")

    with pytest.raises(RuntimeError, match="no such device"):
        tvm.nd.from_dlpack(Tensor())
    assert Tensor.calls == [{"max_version": (1, 3), "stream": None}]


def test_errors_of_the_producer_arrive():
    class Tensor:
        def __dlpack__(self, **arguments):
            raise KeyError("mine")

    class NoCapsule:
        def __dlpack__(self, **arguments):
            return 3

    with pytest.raises(KeyError, match="mine"):
        tvm.nd.from_dlpack(Tensor())
    with pytest.raises(TypeError, match="int"):
        tvm.nd.from_dlpack(NoCapsule())


def test_of_an_ndarray():
    a = tvm.nd.array([1.0, 2.0])
    b = tvm.nd.from_dlpack(a)
    assert a != b
    b[:] = np.array([3.0, 4.0])
    assert a.numpy().tolist() == [3.0, 4.0]
    del a
    assert b.numpy().tolist() == [3.0, 4.0]


def test_argument_by_name():
    assert tvm.nd.from_dlpack(dltensor=np.zeros(2)).shape == (2,)
    with pytest.raises(TypeError):
        tvm.nd.from_dlpack()


# ---- NumPy --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float16", "float32", "int64"])
def test_numpy_shares_both_ways(dtype):
    x = np.ones((2, 3), dtype)
    a = tvm.nd.from_dlpack(x)
    assert a.dtype == dtype
    x[0, 0] = 0
    assert a.numpy()[0, 0] == 0
    a[:] = np.zeros((2, 3), dtype)
    assert not x.any()
    y = np.from_dlpack(tvm.nd.array(x))
    assert y.dtype == x.dtype and y.shape == (2, 3)


def test_numpy_views_of_our_arrays_are_writable():
    if np.lib.NumpyVersion(np.__version__) < "2.2.0":
        pytest.skip("older versions of numpy make every import read-only")
    a = tvm.nd.array([1.0, 2.0])
    view = np.from_dlpack(a)
    view[0] = 5
    assert a.numpy().tolist() == [5.0, 2.0]
    gone = weakref.ref(a)
    del a
    assert gone() is None and view.tolist() == [5.0, 2.0]


def test_numpy_strides():
    base = np.arange(120, dtype="int32").reshape(4, 5, 6)
    for x in (base[::2, ::-1], base.T, base[1:, 2, ::3], base[:, :1], base[1:1]):
        a = tvm.nd.from_dlpack(x)
        np.testing.assert_array_equal(a.numpy(), x)
        np.testing.assert_array_equal(np.from_dlpack(a), x)


def test_numpy_array_lives_as_long_as_ours():
    x = np.arange(3.0)
    r = weakref.ref(x)
    a = tvm.nd.from_dlpack(x)
    del x
    assert r() is not None and a.numpy().tolist() == [0, 1, 2]
    del a
    assert r() is None


def test_numpy_that_cannot_be_shared():
    for x, error in (
        (np.zeros(2, ">f4"), TypeError),
        (np.zeros(2, "U3"), TypeError),
        (np.array([None]), TypeError),
        (np.zeros(2, [("a", "i1"), ("b", "f4")])["b"], ValueError),
    ):
        with pytest.raises(error) as caught:
            tvm.nd.from_dlpack(x)
        assert isinstance(caught.value, tvm.TVMError)


def test_ml_dtypes_arrays_are_shared():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.ones(3, ml_dtypes.bfloat16)
    a = tvm.nd.from_dlpack(x)
    assert a.dtype == "bfloat16" and a.numpy().tolist() == [0x3F80] * 3
    a.copyfrom([2.0, 2.0, 2.0])
    assert x.astype("float32").tolist() == [2, 2, 2]


# ---- torch --------------------------------------------------------------------------------------


def test_torch_both_ways(torch):
    t = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    a = tvm.nd.from_dlpack(t)
    assert a.dtype == "float32" and a.handle.contents.data == t.data_ptr()
    t[0, 0] = 7
    assert a.numpy()[0, 0] == 7
    back = torch.from_dlpack(a)
    back[0, 1] = 8
    assert t[0, 1] == 8
    assert torch.utils.dlpack.from_dlpack(a.to_dlpack()).tolist() == t.tolist()


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("bool", "bool"), ("uint8", "uint8"), ("int64", "int64"), ("float16", "float16"),
     ("bfloat16", "bfloat16"), ("float8_e4m3fn", "e4m3_float8"), ("float8_e5m2", "e5m2_float8")],
)  # fmt: skip
def test_torch_types(torch, theirs, ours):
    t = torch.tensor([1, 0, 1]).to(getattr(torch, theirs))
    a = tvm.nd.from_dlpack(t)
    assert a.dtype == ours
    back = torch.from_dlpack(a)
    assert back.dtype == t.dtype
    assert back.view(torch.uint8).tolist() == t.view(torch.uint8).tolist()


def test_torch_strides_offsets_and_empty(torch):
    base = torch.arange(24, dtype=torch.int32).reshape(4, 6)
    for t in (base.T, base[1:, ::2], base[2], base[:, 1:2], base[:0], torch.tensor(3)):
        a = tvm.nd.from_dlpack(t)
        assert a.shape == tuple(t.shape) and a.numpy().tolist() == t.tolist()
        assert torch.from_dlpack(a).tolist() == t.tolist()
    v = tvm.nd.array(np.arange(6, dtype="int32"))._create_view((2,), None, 12)
    assert torch.from_dlpack(v).tolist() == [3, 4]


def test_torch_tensor_lives_as_long_as_ours(torch):
    t = torch.zeros(4)
    storage = weakref.ref(t.untyped_storage())
    a = tvm.nd.from_dlpack(t)
    del t
    assert a.numpy().tolist() == [0] * 4
    del a, storage


def test_torch_legacy_capsule(torch):
    a = tvm.nd.from_dlpack(torch.utils.dlpack.to_dlpack(torch.arange(3)))
    assert a.numpy().tolist() == [0, 1, 2]


def test_exchange_api_with_another_package():
    tvm_ffi = pytest.importorskip("tvm_ffi")
    a = tvm.nd.array(np.arange(6, dtype="float32").reshape(2, 3))
    theirs = tvm_ffi.from_dlpack(a)
    assert tuple(theirs.shape) == (2, 3) and str(theirs.dtype) == "float32"
    back = tvm.nd.from_dlpack(theirs)
    back.copyfrom(np.ones((2, 3), "float32"))
    assert a.numpy().tolist() == [[1] * 3] * 2


# ---- our exchange API, called as another framework calls it --------------------------------------


class Exchange(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("from_py", ctypes.c_void_p),
        ("to_py", ctypes.c_void_p),
        ("borrow", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
    ]


def exchange():
    capsule = tvm.nd.NDArray.__dlpack_c_exchange_api__
    return Exchange.from_address(api.PyCapsule_GetPointer(capsule, b"dlpack_exchange_api"))


def test_exchange_borrow():
    borrow = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))(
        exchange().borrow
    )
    assert exchange().major == 1
    t = Tensor()
    a = tvm.nd.empty((4, 2, 3), "bool")
    for _ in range(2):
        assert borrow(a, ctypes.byref(t)) == 0
        assert (t.code, t.bits, t.ndim) == (6, 8, 3)
        assert t.shape[:3] == [4, 2, 3] and t.strides[:3] == [6, 3, 1]
        assert t.data == a.handle.contents.data
    assert borrow(tvm.nd.empty(()), ctypes.byref(t)) == 0 and t.ndim == 0
    x = np.zeros(3)
    x.flags.writeable = False
    with pytest.raises(BufferError):
        borrow(tvm.nd.from_dlpack(x), ctypes.byref(t))
    with pytest.raises(TypeError):
        borrow(object(), ctypes.byref(t))


def test_exchange_managed_round_trip():
    pointer = ctypes.POINTER(Versioned)
    from_py = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(pointer))(
        exchange().from_py
    )
    to_py = ctypes.PYFUNCTYPE(ctypes.c_int, pointer, ctypes.POINTER(ctypes.c_void_p))(
        exchange().to_py
    )
    a = tvm.nd.array([1.0, 2.0])
    managed = pointer()
    assert from_py(a, ctypes.byref(managed)) == 0
    assert managed.contents.tensor.data == a.handle.contents.data
    out = ctypes.c_void_p()
    assert to_py(managed, ctypes.byref(out)) == 0
    b = ctypes.cast(out, ctypes.py_object).value
    api.Py_DecRef(ctypes.py_object(b))  # the reference that to_py gave
    assert type(b) is tvm.nd.NDArray and b.numpy().tolist() == [1.0, 2.0]
    del a
    assert b.numpy().tolist() == [1.0, 2.0]


def test_exchange_allocate():
    Report = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
    pointer = ctypes.POINTER(Versioned)
    allocate = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.POINTER(Tensor), ctypes.POINTER(pointer), ctypes.c_void_p, Report
    )(exchange().allocate)
    reports = []
    report = Report(lambda context, kind, message: reports.append((kind, message)))
    shape = (ctypes.c_int64 * 2)(3, 4)
    prototype = Tensor(None, 1, 0, 2, 6, 8, 1, shape, None, 0)
    out = pointer()
    assert allocate(prototype, ctypes.byref(out), None, report) == 0
    t = out.contents.tensor
    assert (t.code, t.bits, t.shape[:2], t.strides[:2]) == (6, 8, [3, 4], [4, 1])
    ctypes.memset(t.data, 1, 12)
    out.contents.deleter(ctypes.cast(out, ctypes.c_void_p))
    shape[0] = -1
    assert allocate(prototype, ctypes.byref(out), None, report) == -1
    prototype.code = 17
    assert allocate(prototype, ctypes.byref(out), None, report) == -1
    assert [kind for kind, _ in reports] == [b"ValueError", b"TypeError"]


# ---- the end of the process ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        "x = np.arange(3.); keep = tvm.nd.from_dlpack(x)",
        "sys.keep = tvm.nd.from_dlpack(np.arange(3.)); sys.capsule = sys.keep.__dlpack__()",
        "view = np.from_dlpack(tvm.nd.array([1., 2.])); builtins.view = view",
        "class A: pass\na = A(); a.me = a; a.x = tvm.nd.from_dlpack(np.arange(3.)); gc.disable()",
        "t = threading.Thread(target=lambda a: time.sleep(.2), daemon=True, "
        "args=(tvm.nd.from_dlpack(np.ones(3)),)); t.start()",
    ],
)
def test_interpreter_exit(code):
    program = "import builtins, gc, sys, threading, time\nimport numpy as np, tvm\n" + code
    subprocess.run([sys.executable, "-X", "faulthandler", "-c", program], check=True, timeout=60)


# ---- what no tensor can be ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "pair", [("1", 0), (b"1", 0), (1.0, 0), (1 << 32 | 1, 0), (1, 1 << 40), (1,), [1, 0], 1]
)
def test_dl_device_is_a_pair_of_ints(pair):
    with pytest.raises(TypeError, match="pair of small ints"):
        tvm.nd.empty((2,)).__dlpack__(dl_device=pair)


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize(
    ("code", "bits"), [(2, 8), (2, 128), (2, 1), (4, 8), (4, 32), (10, 16), (12, 4)]
)
def test_widths_that_a_type_cannot_have(code, bits, versioned):
    p = Producer(np.zeros(64, "uint8"), code, bits, shape=(2,), versioned=versioned)
    with pytest.raises(TypeError, match=f"bits {bits}"):
        tvm.nd.from_dlpack(p.capsule())
    assert p.deleted == 1


@pytest.mark.parametrize("device", [(0, 0), (-1, 0), (1, -1), (2, -5)])
def test_devices_that_cannot_be(device):
    p = Producer(np.zeros(4, "float32"))
    p.managed.tensor.device_type, p.managed.tensor.device_id = device
    with pytest.raises(ValueError, match="cannot be"):
        tvm.nd.from_dlpack(p.capsule())
    assert p.deleted == 1


@pytest.mark.parametrize(
    "strides", [(1 << 62, 1), (-(1 << 63), 1), (1 << 61, 1 << 61), (1, -(1 << 62))]
)
def test_strides_that_reach_nowhere(strides):
    p = Producer(np.zeros((3, 3), "float32"), strides=strides)
    with pytest.raises(ValueError, match="outside of any memory"):
        tvm.nd.from_dlpack(p.capsule())
    assert p.deleted == 1
    # an axis of one element has a stride that nobody uses
    p = Producer(np.zeros((1, 1), "float32"), strides=strides)
    assert tvm.nd.from_dlpack(p.capsule()).strides is None
