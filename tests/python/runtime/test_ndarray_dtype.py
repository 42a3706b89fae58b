"""Element types of arrays: every row of the table of types, in both directions."""

import numpy as np
import pytest
import tvm
from tvm._ffi import _core
from tvm._ffi.runtime_ctypes import DataType

TRIPLES = {
    "bool": (1, 1, 1),
    "uint1x2": (1, 1, 2),
    "int8": (0, 8, 1),
    "int64": (0, 64, 1),
    "uint4": (1, 4, 1),
    "int40": (0, 40, 1),
    "float16": (2, 16, 1),
    "float32x4": (2, 32, 4),
    "float64": (2, 64, 1),
    "bfloat16": (4, 16, 1),
    "bfloat16x8": (4, 16, 8),
    "e4m3_float8": (6, 8, 1),
    "e5m2_float8": (7, 8, 1),
    "e5m2_float8x4": (7, 8, 4),
    "handle": (3, 64, 1),
    "void": (3, 0, 0),
}
SYNONYMS = {
    "uint1": "bool",
    "boolx4": "uint1x4",
    "int": "int32",
    "uint": "uint32",
    "float": "float32",
    "intx4": "int32x4",
    "float32x1": "float32",
    "float8_e4m3fn": "e4m3_float8",
    "float8_e5m2": "e5m2_float8",
    "": "void",
}


@pytest.mark.parametrize(("text", "triple"), TRIPLES.items())
def test_text_and_back(text, triple):
    assert _core.parse_dtype(text) == triple
    assert _core.format_dtype(*triple) == text


@pytest.mark.parametrize(("text", "canonical"), SYNONYMS.items())
def test_synonyms(text, canonical):
    assert _core.format_dtype(*_core.parse_dtype(text)) == canonical


@pytest.mark.parametrize(
    "text",
    ["float31", "int0", "int256", "int032", "float32x0", "float32x65536", "float32x", "x4",
     "flot32", "float32 ", " float32", "int-8", "int8x4x2", "bfloat32", "voidx2", "float32\0",
     "INT8", "ïnt8"],
)  # fmt: skip
def test_unknown_texts(text):
    assert _core.parse_dtype(text) is None
    with pytest.raises(ValueError) as caught:
        tvm.nd.empty((1,), text)
    assert isinstance(caught.value, tvm.TVMError)


def test_nearest_name_is_suggested():
    with pytest.raises(ValueError, match="float32"):
        tvm.nd.empty((1,), "flaot32")


@pytest.mark.parametrize(
    ("spelling", "canonical"),
    [
        (np.dtype("float64"), "float64"),
        (np.float32, "float32"),
        (np.int8, "int8"),
        (np.bool_, "bool"),
        (np.dtype(bool), "bool"),
        (float, "float64"),
        (int, "int64"),
        (bool, "bool"),
        (DataType("float32x4"), "float32x4"),
        (DataType("e5m2_float8"), "e5m2_float8"),
        (np.dtype(">f4"), "float32"),
    ],
)
def test_other_spellings(spelling, canonical):
    for _ in range(2):  # the second time from the cache
        assert tvm.nd.empty((2,), spelling).dtype == canonical


@pytest.mark.parametrize("spelling", [3, None.__class__, object(), [], np.dtype("U3"), np.object_])
def test_senseless_spellings(spelling):
    with pytest.raises((TypeError, ValueError)):
        tvm.nd.empty((2,), spelling)


def test_dtype_text_is_shared():
    assert tvm.nd.empty((1,), "int16").dtype is tvm.nd.empty((2,), "int16").dtype


@pytest.mark.parametrize(
    ("dtype", "nbytes"),
    [("bool", 5), ("int8", 5), ("float16", 10), ("bfloat16", 10), ("e4m3_float8", 5), ("int4", 3),
     ("uint4", 3), ("float32x4", 80), ("int64", 40), ("int4x2", 5)],
)  # fmt: skip
def test_bytes_of_five_elements(dtype, nbytes):
    assert tvm.nd.empty((5,), dtype).nbytes == nbytes


# ---- bfloat16 -----------------------------------------------------------------------------------


def test_bfloat16_bit_patterns():
    bits = np.array([0, 0x3F80, 0xC000, 0x7F80, 0x7FC0, 1, 0xFFFF], "uint16")
    a = tvm.nd.empty(bits.shape, "bfloat16").copyfrom(bits)
    assert a.dtype == "bfloat16" and a.numpy().dtype == np.uint16
    np.testing.assert_array_equal(a.numpy(), bits)
    a = tvm.nd.empty((3,), "bfloat16").copyfrom(bits[1::2])
    np.testing.assert_array_equal(a.numpy(), bits[1::2])


def test_bfloat16_rounds_floats_to_nearest_even():
    ties = np.array([0x3F808000, 0x3F818000, 0x3F808001, 0x7F7FFFFF, 0x80000001], "uint32")
    a = tvm.nd.empty((5,), "bfloat16").copyfrom(ties.view("float32"))
    assert a.numpy().tolist() == [0x3F80, 0x3F82, 0x3F81, 0x7F80, 0x8000]
    assert tvm.nd.empty((2,), "bfloat16").copyfrom([1.0, -2.0]).numpy().tolist() == [0x3F80, 0xC000]


def test_bfloat16_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.array([[1.5, -2.0, 3.0], [0.5, 4.0, 5.0]], ml_dtypes.bfloat16)
    for y in (x, x.T, x[:, ::-1]):
        a = tvm.nd.array(y)
        assert a.dtype == "bfloat16"
        np.testing.assert_array_equal(a.numpy(), np.ascontiguousarray(y).view("uint16"))
    assert tvm.nd.empty((1,), ml_dtypes.bfloat16).dtype == "bfloat16"
    assert tvm.nd.empty((1,), x.dtype).dtype == "bfloat16"


# ---- float8 -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ours", "theirs"), [("e4m3_float8", "float8_e4m3fn"), ("e5m2_float8", "float8_e5m2")]
)
def test_float8(ours, theirs):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    kind = np.dtype(getattr(ml_dtypes, theirs))
    every = np.arange(256, dtype="uint8").view(kind)
    a = tvm.nd.array(every)
    assert a.dtype == ours
    assert a.numpy().dtype == kind
    np.testing.assert_array_equal(a.numpy().view("uint8"), every.view("uint8"))
    b = tvm.nd.empty((3,), ours).copyfrom([1.0, -0.5, 3.14])
    np.testing.assert_array_equal(b.numpy(), np.array([1.0, -0.5, 3.14]).astype(kind))
    assert tvm.nd.empty((1,), theirs).dtype == ours


# ---- four bits ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2, 7, 16])
def test_int4_and_uint4(n):
    signed = (np.arange(n) % 16 - 8).astype("int8")
    a = tvm.nd.empty((n,), "int4").copyfrom(signed)
    assert a.nbytes == (n + 1) // 2
    np.testing.assert_array_equal(a.numpy(), signed)
    assert a.numpy().dtype == np.int8
    unsigned = (np.arange(n) % 16).astype("uint8")
    b = tvm.nd.empty((n,), "uint4").copyfrom(unsigned)
    np.testing.assert_array_equal(b.numpy(), unsigned)
    assert b.numpy().dtype == np.uint8


def test_int4_is_packed_low_half_first():
    a = tvm.nd.empty((3,), "int4").copyfrom(np.array([1, -1, 7], "int8"))
    assert a._create_view((2,), "uint8").numpy()[0] == 0xF1
    assert a._create_view((2,), "uint8").numpy()[1] & 0xF == 7


# ---- lanes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("base", ["float32", "int8", "uint16", "float64", "bool"])
def test_lanes_are_one_more_axis_in_numpy(base):
    dtype = "uint1x4" if base == "bool" else f"{base}x4"
    x = (np.arange(24) % 2).reshape(2, 3, 4).astype(base)
    a = tvm.nd.empty((2, 3), dtype).copyfrom(x)
    assert (a.shape, a.dtype, a.nbytes) == ((2, 3), dtype, x.nbytes)
    assert a.numpy().dtype == x.dtype
    np.testing.assert_array_equal(a.numpy(), x)
    with pytest.raises(ValueError, match="lanes"):
        a.copyfrom(x[..., 0])


def test_odd_width_has_no_numpy_side():
    a = tvm.nd.empty((2,), "int40")
    assert a.dtype == "int40" and a.nbytes == 10
    with pytest.raises(TypeError, match="int40"):
        a.numpy()


def test_custom_types():
    from tvm._ffi import dtype

    dtype.register_custom("testfloat", 201)
    a = tvm.nd.empty((3,), "custom[testfloat]16")
    assert a.dtype == "custom[testfloat]16" and a.nbytes == 6
    assert tvm.nd.empty((3,), "custom[testfloat]32x2").dtype == "custom[testfloat]32x2"
    with pytest.raises(ValueError):
        tvm.nd.empty((3,), "custom[unheard]16")
