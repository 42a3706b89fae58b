"""What Python code adds to arrays: conversion of unusual sources, text, pickles, copies, views."""

import copy
import gc
import pickle
import subprocess
import sys
import textwrap
import warnings
import weakref

import numpy as np
import pytest
import tvm
from hypothesis import given, settings
from hypothesis import strategies as st
from tvm.runtime import conversion


@pytest.fixture
def ml_dtypes():
    return pytest.importorskip("ml_dtypes")


# ---- sources that are no native NumPy arrays -----------------------------------------------------


@pytest.mark.parametrize(
    ("source", "dtype", "values"),
    [
        (3, "int64", 3),
        (2.5, "float64", 2.5),
        (True, "bool", True),
        ([1, 2], "int64", [1, 2]),
        ([[1.5], [2]], "float64", [[1.5], [2]]),
        ((1, (2,)[0]), "int64", [1, 2]),
        (range(3), "int64", [0, 1, 2]),
        (np.float32(1.5), "float32", 1.5),
        ([np.int8(3)], "int8", [3]),
        ([], "float64", []),
        (bytearray(b"\1\2"), "uint8", [1, 2]),
        (b"\1\2", "uint8", [1, 2]),
        (memoryview(np.arange(3, dtype="int16")), "int16", [0, 1, 2]),
        (np.arange(3, dtype=">i4"), "int32", [0, 1, 2]),
        (np.array([[1, 2]], dtype=">f8"), "float64", [[1, 2]]),
    ],
)
def test_sources(source, dtype, values):
    a = tvm.nd.array(source)
    assert a.dtype == dtype
    assert a.numpy().tolist() == values
    assert a.shape == np.shape(values)


def test_list_of_arrays():
    a = tvm.nd.array([1.0, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of NumPy 1.23
        assert tvm.nd.array([a, a]).numpy().tolist() == [[1, 2], [1, 2]]


def test_objects_with_protocols():
    class Interface:
        def __init__(self):
            self._keep = np.arange(4, dtype="float32")
            self.__array_interface__ = self._keep.__array_interface__

    class Protocol:
        def __array__(self, dtype=None, copy=None):
            return np.array([[7]], "uint8")

    assert tvm.nd.array(Interface()).numpy().tolist() == [0, 1, 2, 3]
    assert tvm.nd.array(Protocol()).numpy().tolist() == [[7]]
    assert tvm.nd.empty((1, 1), "float32").copyfrom(Protocol()).numpy().tolist() == [[7]]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (np.array([object()]), "object"),
        (np.array(["a"]), "<U1"),
        (np.array([b"a"]), "S1"),
        (np.array(["2020-01-01"], "datetime64[D]"), "datetime64"),
        (np.array([1], "timedelta64[s]"), "timedelta64"),
        (np.zeros(2, [("a", "i4"), ("b", "f4")]), "i4"),
        (np.zeros(2, "complex64"), "complex64"),
        (np.zeros(2, "longdouble"), "float128"),
        (["a", "b"], "<U1"),
        ([1, None], "object"),
    ],
)
def test_dtypes_that_no_array_holds(source, words):
    for call in (lambda: tvm.nd.array(source), lambda: tvm.nd.empty((2,)).copyfrom(source)):
        with pytest.raises(TypeError, match=words) as caught:
            call()
        assert isinstance(caught.value, tvm.TVMError)


@pytest.mark.parametrize("source", [None, "text", {"a": 1}, {1}, object(), dict, lambda: 1])
def test_what_is_no_array(source):
    for call in (lambda: tvm.nd.array(source), lambda: tvm.nd.empty(()).copyfrom(source)):
        with pytest.raises(TypeError):
            call()


def test_ragged_list():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy 1.23 makes an array of objects, and warns
        with pytest.raises((ValueError, TypeError), match="cannot make an array|equally long"):
            tvm.nd.array([[1, 2], [3]])


def test_copyfrom_shapes_are_named():
    with pytest.raises(ValueError, match=r"\(3,\).*\(2,\)"):
        tvm.nd.empty((2,)).copyfrom([1, 2, 3])


# ---- dtypes whose NumPy side differs from their memory -------------------------------------------


def test_lanes():
    a = tvm.nd.empty((2, 3), "float32x4")
    values = np.arange(24, dtype="float32").reshape(2, 3, 4)
    assert a.copyfrom(values) is a
    np.testing.assert_array_equal(a.numpy(), values)
    np.testing.assert_array_equal(a.copyfrom(values.astype("int64") + 1).numpy(), values + 1)
    with pytest.raises(ValueError, match="lanes"):
        a.copyfrom(np.zeros((2, 3)))
    b = tvm.nd.empty((2,), "bfloat16x2")
    b.copyfrom([[1.0, 2.0], [3.0, -4.0]])
    assert b.numpy().tolist() == [[0x3F80, 0x4000], [0x4040, 0xC080]]


@pytest.mark.parametrize("size", [0, 1, 2, 7, 8, 255])
@pytest.mark.parametrize("dtype", ["int4", "uint4"])
def test_nibbles(size, dtype):
    low, high, kind = (-8, 7, "int8") if dtype == "int4" else (0, 15, "uint8")
    values = np.random.default_rng(size).integers(low, high, (size,), endpoint=True).astype(kind)
    a = tvm.nd.empty((size,), dtype).copyfrom(values)
    assert a.nbytes == (size + 1) // 2
    assert a.numpy().dtype == kind
    np.testing.assert_array_equal(a.numpy(), values)


def test_nibble_order_is_that_of_dlpack():
    a = tvm.nd.empty((3,), "int4").copyfrom([1, 2, -1])
    assert conversion.raw_bytes(a).tolist() == [0x21, 0x0F]


def test_bfloat16_sources(ml_dtypes):
    values = np.array([1.0, -2.0, 3.140625], "float32")
    bits = values.astype(ml_dtypes.bfloat16).view("uint16")
    for source in (values, values.astype("float64"), values.astype(ml_dtypes.bfloat16), bits):
        a = tvm.nd.empty((3,), "bfloat16").copyfrom(source)
        assert a.dtype == "bfloat16"
        np.testing.assert_array_equal(a.numpy(), bits)
    a = tvm.nd.array(values.astype(ml_dtypes.bfloat16))
    assert a.dtype == "bfloat16"
    np.testing.assert_array_equal(a.numpy(), bits)


# value -> bits, rounded once to nearest even; worked out by hand
BFLOAT16 = [
    (1.0, 0x3F80),
    (1.00390625, 0x3F80),  # 1 + 2^-8: a tie, to even
    (1.01171875, 0x3F82),  # 1 + 3*2^-8: a tie, to even
    (1.00390625 + 2.0**-40, 0x3F81),  # above the tie by less than float32 can say
    (1.01171875 - 2.0**-40, 0x3F81),  # below it
    (3.4e38, 0x7F80),
    (3.3895313892515355e38, 0x7F7F),
    (float("inf"), 0x7F80),
    (-float("inf"), 0xFF80),
    (-0.0, 0x8000),
    (2.0**-133, 0x0001),
    (1e-45, 0x0000),
    (1e300, 0x7F80),
]


@pytest.mark.parametrize(("value", "bits"), BFLOAT16)
def test_bfloat16_rounding(value, bits):
    assert conversion.bfloat16_bits(np.array([value], "float64")).tolist() == [bits]


def test_bfloat16_of_nan_and_ints():
    for kind in ("float16", "float32", "float64"):
        (bits,) = conversion.bfloat16_bits(np.array([np.nan], kind)).tolist()
        assert bits & 0x7F80 == 0x7F80
        assert bits & 0x7F
    payload = np.array([0x7F800001], "uint32").view("float32")  # would round to infinity
    (bits,) = conversion.bfloat16_bits(payload).tolist()
    assert bits & 0x7F
    big = np.array([(1 << 62) + (1 << 54) + 1], "int64")  # one above a tie
    assert conversion.bfloat16_bits(big).tolist() == [0x5E81]
    assert conversion.bfloat16_bits(np.array([True, False])).tolist() == [0x3F80, 0]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(width=32), min_size=1, max_size=20))
def test_bfloat16_agrees_with_ml_dtypes(values):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    source = np.array(values, "float32")
    ours = conversion.bfloat16_bits(source).view(ml_dtypes.bfloat16).astype("float32")
    with np.errstate(all="ignore"):
        theirs = source.astype(ml_dtypes.bfloat16).astype("float32")
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("dtype", "name"), [("e4m3_float8", "float8_e4m3fn"), ("e5m2_float8", "float8_e5m2")]
)
def test_float8(ml_dtypes, dtype, name):
    kind = getattr(ml_dtypes, name)
    everything = np.arange(256, dtype="uint8").view(kind)
    a = tvm.nd.array(everything)
    assert a.dtype == dtype
    assert a.numpy().dtype == kind
    np.testing.assert_array_equal(a.numpy().view("uint8"), everything.view("uint8"))
    b = tvm.nd.empty((3,), dtype).copyfrom([1.0, -0.5, 0.3])
    np.testing.assert_array_equal(
        b.numpy().view("uint8"), np.array([1.0, -0.5, 0.3]).astype(kind).view("uint8")
    )
    assert tvm.nd.empty((2,), name).dtype == dtype


def test_float8_without_ml_dtypes():
    code = """
        import sys
        sys.modules["ml_dtypes"] = None
        import numpy as np, tvm
        a = tvm.nd.empty((2,), "e4m3_float8")
        for call in (a.numpy, lambda: a.copyfrom([1.0, 2.0])):
            try:
                call()
            except RuntimeError as problem:
                assert "pip install ml_dtypes" in str(problem)
            else:
                raise SystemExit("no error")
        b = tvm.nd.empty((2,), "bfloat16").copyfrom([1.0, 2.0])
        assert b.numpy().tolist() == [0x3F80, 0x4000]
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


@pytest.mark.parametrize("dtype", ["handle", "int40"])
def test_no_numpy_side(dtype):
    a = tvm.nd.empty((2,), dtype)
    with pytest.raises(TypeError, match=f"{dtype}.*no NumPy side"):
        a.numpy()
    with pytest.raises(TypeError, match="no NumPy side"):
        a.copyfrom([1, 2])


# ---- text ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        np.arange(6, dtype="float32").reshape(2, 3),
        np.array(3),
        np.zeros((0, 2), "int8"),
        np.arange(100000, dtype="float64").reshape(100, 1000) / 7,
        np.array([True, False]),
    ],
)
def test_repr_and_str(values):
    a = tvm.nd.array(values)
    first = f"<tvm.nd.NDArray shape={values.shape}, cpu(0)>"
    assert repr(a) == f"{first}\n{values!r}"
    assert str(a) == f"{first}\n{values!s}"


def test_repr_of_special_dtypes(ml_dtypes):
    for dtype in ("bfloat16", "e4m3_float8", "int4", "float32x4"):
        a = tvm.nd.empty((2,), dtype)
        assert repr(a).endswith(repr(a.numpy()))


def test_repr_of_large_arrays_is_short_and_copies_little():
    a = tvm.nd.empty((1 << 24,), "uint8")
    assert len(repr(a)) < 200


# ---- pickle and copy -----------------------------------------------------------------------------

EVERY = [
    "float32",
    "int8",
    "bool",
    "uint64",
    "float16",
    "bfloat16",
    "e5m2_float8",
    "int4",
    "int8x3",
]


@pytest.mark.parametrize("dtype", EVERY)
@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (2, 3)])
def test_pickle_and_copies_keep_everything(dtype, shape):
    a = tvm.nd.empty(shape, dtype)
    raw = np.random.default_rng(0).integers(0, 2, (a.nbytes,)).astype("uint8")
    a._create_view((a.nbytes,), "uint8").copyfrom(raw)
    others = [pickle.loads(pickle.dumps(a, p)) for p in range(2, pickle.HIGHEST_PROTOCOL + 1)]
    others += [copy.copy(a), copy.deepcopy(a), copy.deepcopy([a])[0]]
    for b in others:
        assert type(b) is tvm.nd.NDArray
        assert (b.shape, b.dtype, b.device) == (a.shape, a.dtype, a.device)
        assert not b.same_as(a)
        np.testing.assert_array_equal(conversion.raw_bytes(b), raw)


def test_pickle_of_strided_and_shared_arrays():
    base = np.arange(12, dtype="int32").reshape(3, 4)
    a = tvm.nd.from_dlpack(base[:, ::2])
    b = pickle.loads(pickle.dumps(a))
    np.testing.assert_array_equal(b.numpy(), base[:, ::2])
    np.testing.assert_array_equal(copy.deepcopy(a).numpy(), base[:, ::2])
    both = [a, a]
    first, second = pickle.loads(pickle.dumps(both))
    assert first is second
    first, second = copy.deepcopy(both)
    assert first is second


def test_pickle_out_of_band():
    a = tvm.nd.array(np.arange(1000, dtype="float64"))
    buffers = []
    data = pickle.dumps(a, 5, buffer_callback=buffers.append)
    assert len(data) < 500
    assert len(buffers) == 1
    b = pickle.loads(data, buffers=buffers)
    np.testing.assert_array_equal(b.numpy(), a.numpy())


def test_pickle_of_an_absent_device():
    from tvm.runtime.ndarray import _rebuild

    if tvm.vpi(3).exist:
        pytest.skip("the device is there")
    with pytest.warns(RuntimeWarning, match=r"vpi\(3\).*CPU"):
        a = _rebuild(b"\1\2", (2,), "int8", 9, 3)
    assert a.device == tvm.cpu(0)
    assert a.numpy().tolist() == [1, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _rebuild(b"\1", (1,), "int8", 1, 5).device == tvm.cpu(5)


# ---- NumPy's protocol ----------------------------------------------------------------------------


def test_array_protocol():
    a = tvm.nd.array(np.arange(6, dtype="float32").reshape(2, 3))
    x = np.asarray(a)
    np.testing.assert_array_equal(x, a.numpy())
    assert np.asarray(a, dtype="int8").dtype == np.int8
    view = a.__array__(copy=False)
    view[0, 0] = 42
    assert a.numpy()[0, 0] == 42
    copied = a.__array__(copy=True)
    copied[0, 0] = 1
    assert a.numpy()[0, 0] == 42
    with pytest.raises(ValueError, match="without a copy"):
        a.__array__(dtype="float64", copy=False)


def test_view_keeps_the_array():
    a = tvm.nd.array(np.arange(4, dtype="int64"))
    gone = weakref.ref(a)
    view = a.__array__(copy=False)
    del a
    gc.collect()
    assert gone() is not None
    assert view.tolist() == [0, 1, 2, 3]
    del view
    assert gone() is None


def test_views_of_special_arrays(ml_dtypes):
    a = tvm.nd.array(np.arange(12, dtype="int32").reshape(3, 4))
    part = a._create_view((2, 4), "int32", 16)
    np.testing.assert_array_equal(part.__array__(copy=False), a.numpy()[1:])
    base = np.arange(12, dtype="int16").reshape(3, 4)
    strided = tvm.nd.from_dlpack(base[::2, ::-1])
    np.testing.assert_array_equal(strided.__array__(copy=False), base[::2, ::-1])
    readonly = np.arange(3)
    readonly.flags.writeable = False
    assert not tvm.nd.from_dlpack(readonly).__array__(copy=False).flags.writeable
    small = tvm.nd.array(np.array([1.0, 2.0]).astype(ml_dtypes.float8_e4m3fn))
    assert small.__array__(copy=False).dtype == ml_dtypes.float8_e4m3fn
    lanes = tvm.nd.empty((2,), "int8x4").copyfrom(np.arange(8).reshape(2, 4))
    assert lanes.__array__(copy=False).tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    with pytest.raises(ValueError, match="without a copy"):
        tvm.nd.empty((2,), "int4").__array__(copy=False)
