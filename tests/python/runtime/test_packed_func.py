"""Functions: what arguments become on the other side, whoever is there."""

import ctypes
import enum
import weakref

import native_calls as c
import numpy as np
import pytest
import tvm
from tvm._ffi import _core


class Colour(enum.IntEnum):
    RED = 7


class Word(str, enum.Enum):
    HELLO = "hello"


def native_echo(value):
    return _core.get_global_func("testing.echo")(value)


def python_echo(value):
    return _core.convert_function(lambda x: x)(value)


def empty_module():
    return _core.table_module("test", [], None, None)


both = pytest.mark.parametrize("echo", [native_echo, python_echo])

PLAIN = [
    (0, 0),
    (-1, -1),
    (2**63 - 1, 2**63 - 1),
    (-(2**63), -(2**63)),
    (True, 1),
    (False, 0),
    (1.5, 1.5),
    (float("inf"), float("inf")),
    ("", ""),
    ("text", "text"),
    ("grün \U0001f600", "grün \U0001f600"),
    ("nul\0inside", "nul\0inside"),
    ("lone \udc80 surrogate", "lone \udc80 surrogate"),
    (b"", bytearray()),
    (b"a\0b\xff", bytearray(b"a\0b\xff")),
    (bytearray(b"xyz"), bytearray(b"xyz")),
    (None, None),
    (np.int8(-3), -3),
    (np.uint64(5), 5),
    (np.bool_(True), 1),
    (np.float32(0.5), 0.5),
    (np.float64(0.1), 0.1),
    (np.float16(2), 2.0),
    (Colour.RED, 7),
    (Word.HELLO, "hello"),
    (np.str_("s"), "s"),
    (np.dtype("int16"), "int16"),
    (np.float32, "float32"),
]


@both
@pytest.mark.parametrize("value, expected", PLAIN, ids=repr)
def test_plain_values(echo, value, expected):
    got = echo(value)
    assert got == expected
    assert type(got) is type(expected)


@both
def test_nan_and_negative_zero(echo):
    assert np.isnan(echo(float("nan")))
    assert str(echo(-0.0)) == "-0.0"


@both
@pytest.mark.parametrize(
    "value",
    [2**63, -(2**63) - 1, 10**5000, np.uint64(2**64 - 1)],
    ids=lambda v: f"{int(v).bit_length()} bits",
)
def test_integers_beyond_64_bits(echo, value):
    with pytest.raises(
        OverflowError, match=f"argument 0: an integer of {int(value).bit_length()} bits"
    ):
        echo(value)
    with pytest.raises(tvm.TVMError):
        echo(value)


@both
def test_array_keeps_its_handle(echo):
    a = tvm.nd.array(np.arange(6, dtype="float32").reshape(2, 3))
    b = echo(a)
    assert isinstance(b, tvm.nd.NDArray)
    assert b == a and b.same_as(a) and hash(b) == hash(a)


@both
def test_device_dtype_module_function(echo):
    assert echo(tvm.cpu(3)) == tvm.cpu(3)
    assert echo(tvm.cuda(1)).device_type == 2
    assert echo(tvm.DataType("int4x8")) == "int4x8"
    module = empty_module()
    assert echo(module) == module and echo(module).same_as(module)
    f = _core.convert_function(lambda: 1)
    assert echo(f) is f
    assert isinstance(echo(len), tvm.runtime.PackedFunc) and echo(len)("abcd") == 4


@both
def test_numpy_array_arrives_as_array(echo):
    x = np.arange(6, dtype="int32").reshape(2, 3)
    got = echo(x)
    assert isinstance(got, tvm.nd.NDArray)
    np.testing.assert_array_equal(got.numpy(), x)


@both
def test_containers(echo):
    got = echo([1, (2.5, "x"), {"k": [True, None]}, np.int8(4), b"raw"])
    assert isinstance(got, tvm.runtime.Array)
    assert list(got) == [1, (2.5, "x"), {"k": [True, None]}, 4, b"raw"]
    assert type(got[1]) is tvm.runtime.Array
    assert type(got[2]) is tvm.runtime.Map and type(got[2]["k"]) is tvm.runtime.Array
    assert got[2]["k"][0] is True and type(got[3]) is int
    assert isinstance(echo({}), tvm.runtime.Map) and len(echo(())) == 0
    assert list(echo({"b": 1, "a": 2})) == ["b", "a"]


@both
def test_containers_cross_by_identity(echo):
    array, mapping = tvm.runtime.Array([1, 2]), tvm.runtime.Map({"a": 1})
    assert echo(array) is array and echo(mapping) is mapping
    shape = tvm.runtime.ShapeTuple([2, -1, 2**40])
    got = echo(shape)
    assert type(got) is tvm.runtime.ShapeTuple and tuple(got) == (2, -1, 2**40)
    assert type(echo(tvm.runtime.String("abc"))) is str


@both
def test_functions_and_tensors_inside_containers(echo):
    f, x = echo([lambda v: v + 1, np.ones(3, "float32")])
    assert f(4) == 5
    np.testing.assert_array_equal(x.numpy(), [1, 1, 1])


@both
def test_any_other_object_is_itself(echo):
    class Thing:
        pass

    class Node(tvm.runtime.Object):
        def __call__(self):
            return "called"

        def __index__(self):
            return 3

    for thing in (Thing(), {1, 2}, 1 + 2j, range(3), np.datetime64("2020-01-01"), Node()):
        assert echo(thing) is thing


@both
def test_object_with_index_is_an_integer(echo):
    class Five:
        def __index__(self):
            return 5

    assert echo(Five()) == 5


@both
def test_nesting_without_end(echo):
    loop = []
    loop.append(loop)
    with pytest.raises(RecursionError):
        echo(loop)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(RecursionError):
        echo(deep)
    while deep:
        deep = deep[0]
    assert echo([[[[1]]]]) == ((((1,),),),)


def test_tags_in_the_cells():
    a = tvm.nd.array(np.zeros(2, "float32"))
    x = np.zeros(3, "float32")
    frozen = x.copy()
    frozen.flags.writeable = False
    values = [1, True, np.int64(2), Colour.RED, 2.5, np.float32(1), "s", b"b", None, a, x, frozen,
              tvm.cpu(0), tvm.DataType("int8"), np.dtype("f4"), empty_module(), len,
              tvm.runtime.ShapeTuple([1]), [1], {}, object(), ctypes.c_void_p(64)]  # fmt: skip
    tags = [tag for tag, _ in c.seen_by_native(*values)]
    assert tags == [c.INT] * 4 + [c.FLOAT] * 2 + [c.STR, c.BYTES, c.NULL, c.NDARRAY, c.TENSOR,
                    c.NDARRAY, c.DEVICE, c.STR, c.STR, c.MODULE, c.FUNCTION] + [c.OBJECT] * 4 + [
                    c.HANDLE]  # fmt: skip


def test_cells_hold_the_values():
    found = c.seen_by_native(-5, 0.25, "text", ctypes.c_void_p(64), np.dtype("float64"))
    assert [v for _, v in found] == [-5, 0.25, b"text", 64, b"float64"]


def test_borrowed_numpy_tensor():
    x = np.arange(24, dtype="int16").reshape(2, 3, 4)[:, ::-1, ::2]
    seen = {}

    def body(values, tags, n, ret):
        t = ctypes.cast(values[0].v_handle, ctypes.POINTER(c.Tensor)).contents
        seen.update(
            data=t.data + t.byte_offset, shape=t.shape[: t.ndim], strides=t.strides[: t.ndim],
            dtype=(t.dtype.code, t.dtype.bits, t.dtype.lanes), device=t.device.device_type,
        )  # fmt: skip

    with c.native_function(body) as f:
        f(x)
    assert seen == {
        "data": x.ctypes.data,
        "shape": list(x.shape),
        "strides": [s // 2 for s in x.strides],
        "dtype": (0, 16, 1),
        "device": 1,
    }


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 16, 17, 300])
def test_number_of_arguments(n):
    args = [i if i % 3 else float(i) for i in range(n)]
    args[n // 2 : n // 2] = ["middle", [1, 2]] if n else []
    n = len(args)
    found = c.seen_by_native(*args)
    assert len(found) == n
    assert [v for tag, v in found if tag == c.INT] == [v for v in args if type(v) is int]
    gathered = _core.convert_function(lambda *xs: len(xs))
    assert gathered(*args) == n
    total = _core.convert_function(lambda *xs: xs[-1] if xs else None)
    assert total(*args) == (args[-1] if args else None)


def test_keywords_are_refused():
    def named(x):
        return x

    for f in (_core.convert_function(named), _core.get_global_func("testing.echo")):
        with pytest.raises(TypeError, match="takes no keyword arguments, got 'x'"):
            f(x=1)


def test_failing_conversion_releases_what_was_converted():
    class Thing:
        def method(self):
            return 1

    thing, x = Thing(), np.ones(4)
    died = weakref.ref(thing), weakref.ref(x)
    with c.native_function(lambda *_: 0) as f:
        for g in (f, _core.convert_function(lambda *_: 0)):
            with pytest.raises(OverflowError, match="argument 4"):
                g([thing], x, thing.method, b"raw", 2**70)
        del thing, x
        assert [d() for d in died] == [None, None]


def test_python_callee_sees_and_changes_the_callers_memory():
    x = np.zeros((2, 3), "float32")

    def fill(a):
        a.copyfrom(np.full((2, 3), 4, "float32"))

    _core.convert_function(fill)(x)
    np.testing.assert_array_equal(x, 4)


def test_attributes():
    def some_name():
        return 1

    f = _core.convert_function(some_name)
    assert type(f) is tvm.runtime.PackedFunc
    assert type(f).__module__ == "tvm.runtime.packed_func" and type(f).__name__ == "PackedFunc"
    assert f.name == "some_name" and "some_name" in repr(f) and not f.is_global
    assert isinstance(f.handle, int) and f.handle != 0
    assert _core.convert_function(f) is f
    other = _core.convert_function(some_name)
    assert f != other and f == f and hash(f) != hash(other) and f != 3 and not f.same_as(3)
    assert len({f, other, f}) == 2
    assert _core.get_global_func("testing.echo").name == "testing.echo"
    with pytest.raises(TypeError, match="expected a function"):
        _core.convert_function(3)


def test_subclass():
    class Mine(tvm.runtime.PackedFunc):
        def twice(self, x):
            return self(self(x))

    f = Mine(lambda x: x * 3)
    assert f.twice(2) == 18 and f(1) == 3
    f.note = "attribute"
    died = weakref.ref(f)
    assert native_echo(f)(5) == 15
    del f
    assert died() is None
    with pytest.raises(TypeError):
        Mine()
    with pytest.raises(TypeError):
        Mine(3)


def test_global_functions():
    name = "test_packed_func.global"
    assert _core.get_global_func(name) is None
    assert _core.remove_global_func(name) is False
    _core.register_func(name, lambda x: x + 1)
    try:
        f = _core.get_global_func(name)
        assert f(1) == 2 and f.is_global
        assert name in _core.list_global_func_names()
        with pytest.raises(ValueError, match=name):
            _core.register_func(name, lambda x: x + 2)
        assert _core.get_global_func(name)(1) == 2
        _core.register_func(name, lambda x: x + 2, override=True)
        assert _core.get_global_func(name)(1) == 3 and f(1) == 2
    finally:
        assert _core.remove_global_func(name) is True
    assert _core.get_global_func(name) is None and name not in _core.list_global_func_names()
    with pytest.raises(TypeError):
        _core.register_func(name, 3)


def test_backend_slots():
    slots = _core.backend_slots()
    assert set(slots) == {
        "__TVMFuncCall", "__TVMAPISetLastError", "__TVMBackendGetFuncFromEnv",
        "__TVMBackendAllocWorkspace", "__TVMBackendFreeWorkspace", "__TVMBackendParallelLaunch",
        "__TVMBackendParallelBarrier",
    }  # fmt: skip
    for name, address in slots.items():
        symbol = getattr(c.lib, name[2:])
        assert ctypes.cast(symbol, ctypes.c_void_p).value == address


def test_device_figures_and_streams():
    assert _core.device_attr(1, 0, 0) == 1
    assert _core.device_attr(2, 0, 0) in (0, 1)
    assert _core.num_threads() >= 1
    assert _core.synchronize(1, 0) is None and _core.synchronize(1, 0, None) is None
    with pytest.raises(TypeError, match="expected a device type"):
        _core.synchronize(1)
    with pytest.raises(ValueError, match="stat"):
        _core.stat(99)


def test_handles_in_and_out():
    seen = []
    f = _core.convert_function(lambda p: seen.append(p) or p)
    pointer = f(ctypes.c_void_p(4096))
    assert pointer.value == 4096 and seen[0].value == 4096
    assert native_echo(ctypes.c_void_p(4096)).value == 4096
    assert native_echo(ctypes.c_void_p(None)) is None
