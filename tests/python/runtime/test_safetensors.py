"""safetensors files: every dtype, the layout byte by byte, damaged files."""

import json

import numpy as np
import pytest
import tvm
from tvm.contrib import safetensors

HEADER = {"w": {"dtype": "I16", "shape": [2], "data_offsets": [0, 4]}}


def stored(header, body=b"\1\0\2\0"):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


@pytest.mark.parametrize("dtype", sorted(safetensors._NAMES))
def test_round_trip(tmp_path, dtype):
    values = {name: tvm.nd.empty(s, dtype) for name, s in (("a", (2, 3)), ("é", ()), ("", (0, 4)))}
    values["a"].copyfrom(
        np.array([[0, 1, 1], [1, 0, 1]], "float32").astype(values["a"].numpy().dtype)
    )
    values["é"].copyfrom(np.zeros((), values["a"].numpy().dtype))
    safetensors.save_file(values, tmp_path / "x.safetensors")
    back = safetensors.load_file(tmp_path / "x.safetensors")
    assert list(back) == list(values)
    for name, value in values.items():
        assert back[name].dtype == value.dtype and back[name].shape == value.shape
        assert back[name].numpy().tobytes() == value.numpy().tobytes()


def test_layout():
    assert safetensors.load(stored(HEADER))["w"].numpy().tolist() == [1, 2]
    with_metadata = {"__metadata__": {"format": "pt"}, **HEADER}
    assert list(safetensors.load(stored(with_metadata))) == ["w"]
    data = safetensors.save({"w": np.array([1, 2], "int16")})
    size = int.from_bytes(data[:8], "little")
    assert size % 8 == 0 and json.loads(data[8 : 8 + size]) == HEADER
    assert data[8 + size :] == b"\1\0\2\0"


@pytest.mark.parametrize(
    "change",
    [
        {"dtype": "F4"}, {"dtype": None}, {"shape": [3]}, {"shape": [-2]}, {"shape": [1 << 61, 8]},
        {"shape": [2.0]}, {"shape": None}, {"data_offsets": [0, 8]}, {"data_offsets": [4, 0]},
        {"data_offsets": [1, 5]}, {"data_offsets": [0]}, {"data_offsets": [True, 4]},
    ],
)  # fmt: skip
def test_damaged_entries(change):
    with pytest.raises(ValueError, match="safetensors.load: array 'w'"):
        safetensors.load(stored({"w": {**HEADER["w"], **change}}))


def test_damaged_files():
    whole = stored(HEADER)
    for end in range(len(whole)):
        with pytest.raises(ValueError, match="safetensors.load"):
            safetensors.load(whole[:end])
    for data in (whole + b"x", stored(b"[]"), stored(b"[" * 100000), stored(b"\xff"), b"\xff" * 20):
        with pytest.raises(ValueError, match="safetensors.load"):
            safetensors.load(data)
    with pytest.raises(ValueError, match="int4"):
        safetensors.save({"w": tvm.nd.empty((2,), "int4")})
