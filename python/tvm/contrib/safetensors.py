"""Named arrays in safetensors files, in and out; nothing needs to be installed.

The format: eight bytes with the length of a JSON text, that text (dtype, shape and byte range of
each array), then the bytes of the arrays without gaps.
"""

from __future__ import annotations

from tvm.error import TypeError_, ValueError_

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tvm.runtime.ndarray import NDArray

__all__ = ["load", "load_file", "save", "save_file"]

# name in the file -> dtype here and bytes an element
_DTYPES = {
    "BOOL": ("bool", 1), "U8": ("uint8", 1), "I8": ("int8", 1), "U16": ("uint16", 2),
    "I16": ("int16", 2), "U32": ("uint32", 4), "I32": ("int32", 4), "U64": ("uint64", 8),
    "I64": ("int64", 8), "F16": ("float16", 2), "BF16": ("bfloat16", 2), "F32": ("float32", 4),
    "F64": ("float64", 8), "F8_E4M3": ("e4m3_float8", 1), "F8_E5M2": ("e5m2_float8", 1),
}  # fmt: skip
_NAMES = {dtype: name for name, (dtype, _) in _DTYPES.items()}
_MAX_HEADER = 100_000_000


def save(params: Mapping[str, Any]) -> bytes:
    """Named arrays as the bytes of a safetensors file.

    Parameters
    ----------
    params : mapping of str to NDArray or array_like

    Returns
    -------
    bytes

    Raises
    ------
    ValueError
        When the format has no such dtype.

    Examples
    --------
    >>> import tvm
    >>> from tvm.contrib import safetensors
    >>> data = safetensors.save({"w": tvm.nd.array([1.0, 2.0])})
    >>> safetensors.load(data)["w"].numpy().tolist()
    [1.0, 2.0]
    """
    import json

    from tvm.runtime.conversion import raw_bytes
    from tvm.runtime.ndarray import NDArray, array

    header: dict[str, Any] = {}
    parts = []
    at = 0
    for name, value in params.items():
        if not isinstance(name, str):
            raise TypeError_(f"safetensors.save: expected names, got {name!r}")
        nd = value if isinstance(value, NDArray) else array(value)
        kind = _NAMES.get(str(nd.dtype))
        if kind is None or name == "__metadata__":
            why = f"has dtype {nd.dtype}" if kind is None else "has a name that is reserved"
            raise ValueError_(
                f"safetensors.save: array {name!r} {why}; the dtypes are {sorted(_NAMES)}"
            )
        parts.append(raw_bytes(nd).tobytes())
        end = at + len(parts[-1])
        header[name] = {"dtype": kind, "shape": list(nd.shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + b"".join(parts)


def load(data: Any) -> dict[str, NDArray]:
    """The arrays in the bytes of a safetensors file, on the CPU.

    Parameters
    ----------
    data : bytes-like

    Raises
    ------
    ValueError
        When the data is damaged; nothing is allocated then.
    """
    import json

    import numpy

    from tvm.runtime.conversion import from_raw_bytes
    from tvm.runtime.ndarray import cpu

    view = memoryview(data).cast("B")
    size = int.from_bytes(view[:8], "little")
    if len(view) < 8 or size > min(len(view) - 8, _MAX_HEADER):
        raise ValueError_(
            f"safetensors.load: the header ends early: it has {size} bytes, but there are "
            f"{max(len(view) - 8, 0)}"
        )
    try:
        header = json.loads(bytes(view[8 : 8 + size]))
    except (ValueError, RecursionError) as problem:
        raise ValueError_(f"safetensors.load: the header is no JSON text: {problem}") from None
    if not isinstance(header, dict):
        raise ValueError_("safetensors.load: the header must be a map")
    header.pop("__metadata__", None)
    body = view[8 + size :]
    found = sorted((_entry(name, about) for name, about in header.items()), key=lambda e: e[3:])
    at = 0
    for name, _, _, begin, end in found:
        if begin != at:
            raise ValueError_(f"safetensors.load: array {name!r} begins at {begin}, expected {at}")
        at = end
    if at != len(body):
        raise ValueError_(
            f"safetensors.load: the arrays have {at} bytes, but the file has {len(body)}"
        )
    arrays = {}
    for name, dtype, shape, begin, end in found:
        raw = numpy.frombuffer(body[begin:end], numpy.uint8)
        arrays[name] = from_raw_bytes(raw, shape, dtype, cpu(0))
    return {name: arrays[name] for name in header}


def _entry(name: str, about: Any) -> tuple[str, str, tuple[int, ...], int, int]:
    """Name, dtype, shape and byte range of an array, checked."""
    about = about if isinstance(about, dict) else {}
    kind, shape = about.get("dtype"), about.get("shape")
    offsets = about.get("data_offsets")
    for numbers in (shape, offsets):
        if not isinstance(numbers, list) or not all(
            type(n) is int and 0 <= n < 1 << 62 for n in numbers
        ):
            raise ValueError_(
                f"safetensors.load: array {name!r}: expected lists of sizes, got {about!r}"
            )
    if not isinstance(kind, str) or kind not in _DTYPES or len(shape) > 64 or len(offsets) != 2:
        raise ValueError_(
            f"safetensors.load: array {name!r}: expected one of the dtypes {sorted(_DTYPES)}, at "
            f"most 64 dimensions and two offsets, got {about!r}"
        )
    dtype, count = _DTYPES[kind]
    for extent in shape:
        count *= extent
    if offsets[1] - offsets[0] != count:
        raise ValueError_(
            f"safetensors.load: array {name!r} of dtype {kind} and shape {tuple(shape)} needs "
            f"{count} bytes, but has {offsets[1] - offsets[0]}"
        )
    return name, dtype, tuple(shape), offsets[0], offsets[1]


def save_file(params: Mapping[str, Any], path: Any) -> None:
    """Write named arrays to a file; see `save`."""
    data = save(params)
    with open(path, "wb") as file:
        file.write(data)


def load_file(path: Any) -> dict[str, NDArray]:
    """The named arrays in a file; see `load`."""
    with open(path, "rb") as file:
        return load(file.read())
