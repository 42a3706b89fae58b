"""Named arrays in one file, in the format that classic programs read and write.

The file is a header (magic number, reserved word), the names, and one array after the other; all
numbers are little-endian. An array is a header, its device (always the CPU), rank, dtype, shape,
byte count and bytes.
"""

from __future__ import annotations

import struct

from tvm._ffi import dtype as _dtype
from tvm._ffi._core import NDArray
from tvm.error import TypeError_, ValueError_

from .ndarray import array, cpu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

LIST_MAGIC = 0xF7E58D4F05049CB7
ARRAY_MAGIC = 0xDD5E40F096B4A13F
_MAX_RANK = 64


def save_param_dict(params: Mapping[str, Any]) -> bytearray:
    """Named arrays as bytes.

    Parameters
    ----------
    params : mapping of str to NDArray or array_like
        The arrays, on any device.

    Returns
    -------
    bytearray

    Examples
    --------
    >>> import tvm
    >>> data = tvm.runtime.save_param_dict({"w": tvm.nd.array([1.0, 2.0])})
    >>> tvm.runtime.load_param_dict(data)["w"].numpy().tolist()
    [1.0, 2.0]
    """
    out = bytearray(struct.pack("<QQQ", LIST_MAGIC, 0, len(params)))
    for name in params:
        if not isinstance(name, str):
            raise TypeError_(f"save_param_dict: expected names, got {name!r}")
        text = name.encode("utf-8")
        out += struct.pack("<Q", len(text)) + text
    out += struct.pack("<Q", len(params))
    for value in params.values():
        _write(out, value if isinstance(value, NDArray) else array(value))
    return out


def _element_bytes(bits: int, lanes: int) -> int:
    # as the format has it, for small types too: a byte at least for one element
    return (bits + 7) // 8 * lanes


def _write(out: bytearray, value: NDArray) -> None:
    code, bits, lanes = _dtype.parse(value.dtype)
    shape = value.shape
    out += struct.pack("<QQiii", ARRAY_MAGIC, 0, 1, 0, len(shape))
    out += struct.pack("<BBH", code, bits, lanes)
    out += struct.pack(f"<{len(shape)}q", *shape)
    from .conversion import raw_bytes

    raw = raw_bytes(value) if bits >= 8 or bits == 1 else value.numpy()
    data = raw.tobytes()
    out += struct.pack("<q", len(data)) + data


class _Reader:
    """Bytes with a position; reading past the end says what was to be read."""

    def __init__(self, data: Any) -> None:
        try:
            self.data = memoryview(data).cast("B")
        except TypeError:
            raise TypeError_(
                f"load_param_dict: expected bytes, got {type(data).__module__}."
                f"{type(data).__name__}"
            ) from None
        self.at = 0

    def take(self, count: int, what: str) -> memoryview:
        if count < 0 or count > len(self.data) - self.at:
            raise ValueError_(
                f"load_param_dict: the data ends early: {what} needs {count} bytes at byte "
                f"{self.at}, but there are {len(self.data) - self.at}"
            )
        self.at += count
        return self.data[self.at - count : self.at]

    def text(self, size: int) -> str:
        at = self.at
        try:
            return str(self.take(size, "a name"), "utf-8")
        except UnicodeDecodeError as problem:
            raise ValueError_(
                f"load_param_dict: the name at byte {at} is not UTF-8: {problem}"
            ) from None

    def unpack(self, form: str, what: str) -> tuple[Any, ...]:
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form), what))


def load_param_dict(param_bytes: Any) -> dict[str, NDArray]:
    """The named arrays in bytes that `save_param_dict` made, on the CPU.

    Parameters
    ----------
    param_bytes : bytes-like
        The data.

    Returns
    -------
    dict of str to NDArray

    Raises
    ------
    ValueError
        When the data is no such file, or damaged.
    """
    reader = _Reader(param_bytes)
    magic, _ = reader.unpack("QQ", "the header")
    if magic != LIST_MAGIC:
        raise ValueError_(
            f"load_param_dict: this is no parameter file: it begins with {magic:#018x}, "
            f"expected {LIST_MAGIC:#018x}"
        )
    (count,) = reader.unpack("Q", "the number of names")
    names: list[str] = []
    while len(names) < count:
        (size,) = reader.unpack("Q", "the length of a name")
        names.append(reader.text(size))
    (arrays,) = reader.unpack("Q", "the number of arrays")
    if arrays != count:
        raise ValueError_(f"load_param_dict: the data has {count} names, but {arrays} arrays")
    return {name: _read(reader, name) for name in names}


def _read(reader: _Reader, name: str) -> NDArray:
    magic, _, _, _, rank = reader.unpack("QQiii", f"the header of {name!r}")
    if magic != ARRAY_MAGIC:
        raise ValueError_(
            f"load_param_dict: array {name!r} begins with {magic:#018x}, "
            f"expected {ARRAY_MAGIC:#018x}"
        )
    if not 0 <= rank <= _MAX_RANK:
        raise ValueError_(f"load_param_dict: array {name!r} cannot have {rank} dimensions")
    code, bits, lanes = reader.unpack("BBH", f"the dtype of {name!r}")
    shape = reader.unpack(f"{rank}q", f"the shape of {name!r}")
    (size,) = reader.unpack("q", f"the size of {name!r}")
    data = reader.take(size, f"array {name!r}")
    text = _dtype.format(code, bits, lanes)
    count = 1
    for extent in shape:
        count *= extent
    expected = count * _element_bytes(bits, lanes)
    if size != expected or min(shape, default=0) < 0:
        hint = ""
        if lanes > 1 and size == count * _element_bytes(bits, 1):
            hint = "; the program that wrote it kept only the first part of vector types"
        raise ValueError_(
            f"load_param_dict: array {name!r} of dtype {text} and shape {tuple(shape)} has {size} "
            f"bytes, expected {expected}{hint}"
        )
    import numpy

    from . import conversion

    raw = numpy.frombuffer(data, numpy.uint8)
    if bits == 4:
        raw = conversion.pack_nibbles(raw)
    return conversion.from_raw_bytes(raw, shape, text, cpu(0))


def save_param_dict_to_file(params: Mapping[str, Any], path: Any) -> None:
    """Write named arrays to a file; see `save_param_dict`."""
    with open(path, "wb") as file:
        file.write(save_param_dict(params))


def load_param_dict_from_file(path: Any) -> dict[str, NDArray]:
    """The named arrays in a file; see `load_param_dict`."""
    with open(path, "rb") as file:
        return load_param_dict(file.read())
