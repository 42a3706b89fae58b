"""The C API as a C program uses it, through ctypes: no call here goes through the extension."""

import contextlib
import ctypes
import itertools

import tvm  # noqa: F401  # loads the extension, and the runtime with it

INT, FLOAT, HANDLE, NULL, DTYPE, DEVICE, TENSOR = 0, 2, 3, 4, 5, 6, 7
OBJECT, MODULE, FUNCTION, STR, BYTES, NDARRAY, RVALUE, BOOL = 8, 9, 10, 11, 12, 13, 14, 15


class DType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Device(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int), ("device_id", ctypes.c_int)]


class Bytes(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int),
        ("dtype", DType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Value(ctypes.Union):
    _fields_ = [
        ("v_int64", ctypes.c_int64),
        ("v_float64", ctypes.c_double),
        ("v_handle", ctypes.c_void_p),
        ("v_str", ctypes.c_char_p),
        ("v_type", DType),
        ("v_device", Device),
    ]


FIELDS = {
    INT: "v_int64",
    BOOL: "v_int64",
    FLOAT: "v_float64",
    STR: "v_str",
    DTYPE: "v_type",
    DEVICE: "v_device",
}

PACKED_C_FUNC = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.POINTER(Value),
    ctypes.POINTER(ctypes.c_int),
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_void_p,
)
TASK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
BODY = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(ctypes.c_uint64))

# The runtime is in the global symbol scope once the extension is loaded.
lib = ctypes.CDLL(None)
lib.TVMGetLastError.restype = ctypes.c_char_p
lib.TVMAPISetLastError.restype = None
lib.TVMAPISetLastError.argtypes = [ctypes.c_char_p]
lib.TVMErrorClear.restype = None

_numbers = itertools.count()
_kept = []  # ctypes callbacks must outlive the functions over them


def cell(tag, value):
    made = Value()
    if value is not None:
        setattr(made, FIELDS.get(tag, "v_handle"), value)
    return made


def call(function, *args):
    """Call a PackedFunc, or the function at an address, with (tag, value) pairs.

    Returns (return code, tag, Value).
    """
    handle = getattr(function, "handle", function)
    n = len(args)
    values = (Value * max(n, 1))(*(cell(tag, value) for tag, value in args))
    tags = (ctypes.c_int * max(n, 1))(*(tag for tag, _ in args))
    ret, ret_tag = Value(), ctypes.c_int(-1)
    rc = lib.TVMFuncCall(
        ctypes.c_void_p(handle), values, tags, n, ctypes.byref(ret), ctypes.byref(ret_tag)
    )
    return rc, ret_tag.value, ret


def last_error():
    return lib.TVMGetLastError().decode()


def tensor(data, shape, dtype=(2, 32, 1), strides=None, byte_offset=0):
    """A DLTensor over a ctypes buffer, as a kernel makes it on its stack."""
    t = Tensor()
    t.data = ctypes.addressof(data)
    t.device = Device(1, 0)
    t.ndim = len(shape)
    t.dtype = DType(*dtype)
    t.shape = (ctypes.c_int64 * max(len(shape), 1))(*shape)
    if strides is not None:
        t.strides = (ctypes.c_int64 * max(len(shape), 1))(*strides)
    t.byte_offset = byte_offset
    return t


def set_return(ret, tag, value):
    made, code = cell(tag, value), ctypes.c_int(tag)
    assert (
        lib.TVMCFuncSetReturn(ctypes.c_void_p(ret), ctypes.byref(made), ctypes.byref(code), 1) == 0
    )


@contextlib.contextmanager
def native_function(body):
    """A function over a C callback as a PackedFunc: body(values, tags, n, ret) -> return code."""
    from tvm._ffi import _core

    @PACKED_C_FUNC
    def entry(values, tags, n, ret, resource):
        return body(values, tags, n, ret) or 0

    _kept.append(entry)
    handle = ctypes.c_void_p()
    assert lib.TVMFuncCreateFromCFunc(entry, None, None, ctypes.byref(handle)) == 0
    name = f"test.native_calls.{next(_numbers)}"
    assert lib.TVMFuncRegisterGlobal(name.encode(), handle, 0) == 0
    lib.TVMFuncFree(handle)
    try:
        yield _core.get_global_func(name)
    finally:
        _core.remove_global_func(name)


def seen_by_native(*args):
    """What a native callee finds in its cells: [(tag, field)] ."""
    found = []

    def body(values, tags, n, ret):
        found.extend(
            (tags[i], getattr(values[i], FIELDS.get(tags[i], "v_handle"))) for i in range(n)
        )
        return 0

    with native_function(body) as f:
        f(*args)
    return found
