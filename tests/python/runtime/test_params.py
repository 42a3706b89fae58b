"""Named arrays in files: round trips, the bytes of the format, damaged data."""

import struct

import numpy as np
import pytest
import tvm
from tvm.runtime import load_param_dict, save_param_dict

SIMPLE = {
    "w": np.arange(6, dtype="float32").reshape(2, 3),
    "": np.array(3, "int64"),
    "é": np.zeros((0, 4), "uint8"),
    "flag": np.array([True, False]),
}


def test_round_trip():
    back = load_param_dict(save_param_dict(SIMPLE))
    assert list(back) == list(SIMPLE)
    for name, value in SIMPLE.items():
        assert back[name].dtype == value.dtype.name
        assert back[name].device == tvm.cpu(0)
        np.testing.assert_array_equal(back[name].numpy(), value)


@pytest.mark.parametrize(
    "dtype", ["bfloat16", "e4m3_float8", "int4", "uint4", "float32x4", "float16"]
)
def test_special_dtypes(dtype):
    if dtype == "e4m3_float8":
        pytest.importorskip("ml_dtypes")
    lanes = tvm.DataType(dtype).lanes
    a = tvm.nd.empty((3,), dtype)
    a.copyfrom(np.arange(3 * lanes).reshape((3, lanes) if lanes > 1 else (3,)).astype("float32"))
    (b,) = load_param_dict(save_param_dict({"a": a})).values()
    assert b.dtype == dtype
    np.testing.assert_array_equal(b.numpy(), a.numpy())


def test_bytes_of_the_format():
    """The layout that other programs read, byte by byte."""
    data = save_param_dict({"ab": np.array([[1, 2]], "int16")})
    expected = struct.pack("<QQ", 0xF7E58D4F05049CB7, 0)
    expected += struct.pack("<QQ2s", 1, 2, b"ab")
    expected += struct.pack("<QQQiii", 1, 0xDD5E40F096B4A13F, 0, 1, 0, 2)
    expected += struct.pack("<BBHqqq", 0, 16, 1, 1, 2, 4)
    expected += struct.pack("<hh", 1, 2)
    assert bytes(data) == expected
    assert len(save_param_dict({})) == 32
    assert load_param_dict(save_param_dict({})) == {}


def test_file(tmp_path):
    path = tmp_path / "x.params"
    tvm.runtime.save_param_dict_to_file(SIMPLE, path)
    back = tvm.runtime.load_param_dict_from_file(path)
    assert set(back) == set(SIMPLE)


def test_damaged_data():
    data = save_param_dict(SIMPLE)
    for end in range(len(data)):
        with pytest.raises(ValueError, match="load_param_dict"):
            load_param_dict(data[:end])
    with pytest.raises(ValueError, match="no parameter file"):
        load_param_dict(b"\0" * 64)


@pytest.mark.parametrize("seed", range(20))
def test_flipped_bytes_never_crash(seed):
    rng = np.random.default_rng(seed)
    data = bytearray(save_param_dict(SIMPLE))
    for _ in range(50):
        broken = bytearray(data)
        broken[rng.integers(len(broken))] = rng.integers(256)
        try:
            load_param_dict(broken)
        except (ValueError, TypeError, OverflowError):
            pass


@pytest.mark.parametrize("bad", [None, 3, "text", [1]])
def test_what_is_no_data(bad):
    with pytest.raises(TypeError, match="expected bytes"):
        load_param_dict(bad)


def test_bad_names():
    with pytest.raises(TypeError, match="names"):
        save_param_dict({1: np.zeros(2)})


def test_names_that_are_no_text():
    data = tvm.runtime.save_param_dict({"weight": tvm.nd.empty((1,))})
    at = data.index(b"weight")
    data[at] = 0xFF
    with pytest.raises(tvm.TVMError, match=f"the name at byte {at} is not UTF-8"):
        tvm.runtime.load_param_dict(data)
