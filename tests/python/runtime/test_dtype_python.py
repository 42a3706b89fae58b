"""Dtypes as Python sees them: spellings, canonical texts, errors; and that both parsers agree."""

import pickle

import numpy as np
import pytest
import tvm
from tvm._ffi import _core, dtype
from tvm._ffi.runtime_ctypes import STR2DTYPE, DataType, DataTypeCode

# spelling -> code, bits, lanes, canonical text
SPELLINGS = {
    "bool": (1, 1, 1, "bool"),
    "uint1": (1, 1, 1, "bool"),
    "uint1x2": (1, 1, 2, "uint1x2"),
    "boolx2": (1, 1, 2, "uint1x2"),
    "int": (0, 32, 1, "int32"),
    "uint": (1, 32, 1, "uint32"),
    "float": (2, 32, 1, "float32"),
    "int8": (0, 8, 1, "int8"),
    "int4": (0, 4, 1, "int4"),
    "uint4": (1, 4, 1, "uint4"),
    "int40": (0, 40, 1, "int40"),
    "int64": (0, 64, 1, "int64"),
    "uint64": (1, 64, 1, "uint64"),
    "float16": (2, 16, 1, "float16"),
    "float64": (2, 64, 1, "float64"),
    "float32x4": (2, 32, 4, "float32x4"),
    "floatx4": (2, 32, 4, "float32x4"),
    "int8x65535": (0, 8, 65535, "int8x65535"),
    "bfloat16": (4, 16, 1, "bfloat16"),
    "bfloat16x8": (4, 16, 8, "bfloat16x8"),
    "e4m3_float8": (6, 8, 1, "e4m3_float8"),
    "e5m2_float8": (7, 8, 1, "e5m2_float8"),
    "float8_e4m3fn": (6, 8, 1, "e4m3_float8"),
    "float8_e5m2": (7, 8, 1, "e5m2_float8"),
    "e4m3_float8x2": (6, 8, 2, "e4m3_float8x2"),
    "handle": (3, 64, 1, "handle"),
    "void": (3, 0, 0, "void"),
    "": (3, 0, 0, "void"),
}
NONSENSE = [
    *("float33", "flot32", "int0", "int256", "int08", "int-8", "int 8", " int8", "int8 ", "Int8"),
    *("float32x", "float32x0", "float32x-1", "float32x65536", "float32x4x4", "x4", "x", "float8"),
    *("uint", "e4m3_float", "bfloat8", "float3٢", "int8x٤", "custom[nobody]8", "custom[", "custom"),
    *("voidx2", "bool8", "float256", "int9999999999999999999999", "handle32", "complex64"),
    *("float32\0", "int8x1_0", "int1_6"),
]
NONSENSE.remove("uint")


@pytest.mark.parametrize("text", SPELLINGS)
def test_spelling(text):
    code, bits, lanes, canonical = SPELLINGS[text]
    t = DataType(text)
    assert (t.type_code, t.bits, t.lanes) == (code, bits, lanes)
    assert str(t) == canonical
    assert t == DataType(canonical)
    assert hash(t) == hash(DataType(canonical))


@pytest.mark.parametrize("text", [*SPELLINGS, *NONSENSE])
def test_both_parsers_agree(text):
    assert _core.parse_dtype(text) == dtype._parse(text)


@pytest.mark.parametrize("text", SPELLINGS)
def test_both_printers_agree(text):
    code, bits, lanes, canonical = SPELLINGS[text]
    assert _core.format_dtype(code, bits, lanes) == canonical
    assert dtype.format(code, bits, lanes) == canonical


@pytest.mark.parametrize("text", NONSENSE)
def test_nonsense_is_a_value_error(text):
    with pytest.raises(ValueError, match="unknown dtype") as caught:
        DataType(text)
    assert isinstance(caught.value, tvm.TVMError)
    assert repr(text) in str(caught.value)
    with pytest.raises(ValueError, match="dtype"):
        tvm.nd.empty((1,), text)


def test_nearest_name_is_in_the_message():
    with pytest.raises(ValueError, match="did you mean 'float32'"):
        DataType("flot32")
    with pytest.raises(ValueError, match="did you mean 'bfloat16'"):
        tvm.nd.empty((1,), "bfloat_16")


@pytest.mark.parametrize(
    ("obj", "text"),
    [
        (np.dtype("int16"), "int16"),
        (np.float32, "float32"),
        (np.bool_, "bool"),
        (np.dtype(">f4"), "float32"),
        (float, "float64"),
        (int, "int64"),
        (bool, "bool"),
        (DataType("int8x4"), "int8x4"),
    ],
)
def test_other_objects(obj, text):
    assert str(DataType(obj)) == text
    assert tvm.nd.empty((2,), obj).dtype == text


def test_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert str(DataType(ml_dtypes.bfloat16)) == "bfloat16"
    assert str(DataType(np.dtype(ml_dtypes.float8_e4m3fn))) == "e4m3_float8"
    assert str(DataType(ml_dtypes.float8_e5m2)) == "e5m2_float8"
    assert str(DataType(ml_dtypes.int4)) == "int4"
    assert tvm.nd.empty((3,), ml_dtypes.bfloat16).dtype == "bfloat16"
    with pytest.raises(TypeError, match="float8_e3m4"):
        DataType(ml_dtypes.float8_e3m4)


def test_torch_dtypes(torch):
    assert str(DataType(torch.float16)) == "float16"
    assert str(DataType(torch.bool)) == "bool"
    assert tvm.nd.empty((3,), torch.bfloat16).dtype == "bfloat16"


@pytest.mark.parametrize(
    "obj", [None, 3, 3.5, [], object(), np.dtype("U3"), np.dtype([("a", "i4")]), str, list, np.void]
)
def test_not_a_dtype(obj):
    with pytest.raises(TypeError, match="expected a dtype"):
        DataType(obj)


def test_itemsize_and_lanes():
    assert DataType("float32x4").itemsize() == 16
    assert DataType("bool").itemsize() == 1
    assert DataType("int40").itemsize() == 5
    assert DataType("float16").with_lanes(8) == DataType("float16x8")


def test_equality_with_texts_and_others():
    assert DataType("float32") == "float32"
    assert DataType("float32") != "float64"
    assert DataType("float32") != 32
    assert DataType("uint1") == "bool"
    assert {"float32": 1}[DataType("float")] == 1


def test_immutable_and_pickle():
    t = DataType("float32x4")
    with pytest.raises(TypeError, match="cannot be changed"):
        t.bits = 8
    assert pickle.loads(pickle.dumps(t)) == t
    assert repr(t) == 'DataType("float32x4")'


def test_tables():
    assert STR2DTYPE["e5m2_float8"] == {"type_code": DataTypeCode.E5M2Float, "bits": 8, "lanes": 1}
    assert STR2DTYPE["void"] == {"type_code": 3, "bits": 0, "lanes": 0}
    assert DataType.STR2DTYPE is STR2DTYPE
    for name, entry in STR2DTYPE.items():
        t = DataType(name)
        assert entry == {"type_code": t.type_code, "bits": t.bits, "lanes": t.lanes}
    assert tvm.DataType is DataType
    assert tvm.DataTypeCode.HANDLE == 3


@pytest.fixture
def posit():
    dtype.register_custom("posit", 131)
    yield
    del dtype._custom_codes["posit"], dtype._custom_names[131]
    dtype._parsed.clear()


def test_custom_types(posit):
    t = DataType("custom[posit]32x2")
    assert (t.type_code, t.bits, t.lanes) == (131, 32, 2)
    assert str(t) == "custom[posit]32x2"
    a = tvm.nd.empty((3,), "custom[posit]16")
    assert a.dtype == "custom[posit]16"
    assert a.nbytes == 6
    with pytest.raises(ValueError, match="taken"):
        dtype.register_custom("other", 131)
    with pytest.raises(ValueError, match="128"):
        dtype.register_custom("other", 5)


def test_parsing_is_cached_within_bounds():
    for lanes in range(2, 6000):
        dtype.parse(f"int8x{lanes}")
    assert len(dtype._parsed) <= dtype._CACHE_LIMIT
