"""The slow half of arrays: everything that the extension's fast paths do not take.

Sources that are no plain native NumPy array (lists, scalars, other byte orders, small floats),
and the dtypes whose NumPy side differs from their memory (lanes, 4-bit, 16- and 8-bit floats).
"""

from __future__ import annotations

import numpy as np

from tvm._ffi import _core, dtype
from tvm.error import AttributeError_, TVMError, TypeError_, ValueError_

from .container import Array, Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tvm._ffi._core import Device, NDArray

# the family codes of the types that need care here
_INT, _UINT, _HANDLE, _BFLOAT = 0, 1, 3, 4
_FP8 = {6: "float8_e4m3fn", 7: "float8_e5m2"}
_PLAIN_BITS = {0: (8, 16, 32, 64), 1: (8, 16, 32, 64), 2: (16, 32, 64)}


def array_slow(arr: Any, device: Device | None, mem_scope: str | None) -> NDArray:
    """`nd.array` of what the extension does not take itself."""
    if isinstance(arr, Array):
        raise AttributeError_(
            "nd.array: got an IR Array (tvm.ir.container.Array), which holds objects, not the "
            "elements of a tensor; give a list, or a numpy array of its values"
        )
    source = as_numpy(arr, "nd.array")
    text = _dtype_of(source, "nd.array")
    out = _core.empty(source.shape, text, device, mem_scope)
    _fill(out, source)
    return out


def copyfrom_slow(self: NDArray, src: Any) -> None:
    """`copyfrom` of what the extension does not take itself."""
    source = as_numpy(src, "copyfrom")
    _check_kind(source, "copyfrom")
    shape = self.shape
    lanes = dtype.parse(self.dtype)[2]
    if lanes != 1:
        shape = (*shape, lanes)
    if source.shape != shape:
        extra = f" (with the {lanes} lanes as the last axis)" if lanes != 1 else ""
        raise ValueError_(
            f"copyfrom: the source has shape {source.shape}, the array {shape}{extra}; "
            "they must be the same"
        )
    _fill(self, source)


def as_numpy(obj: Any, where: str) -> np.ndarray[Any, Any]:
    """A NumPy array of an array-like object; TypeError or ValueError that says why not."""
    if isinstance(obj, np.ndarray):
        return obj
    if obj is None or isinstance(obj, (str, Map, dict, set, frozenset, type)):
        raise TypeError_(
            f"{where}: expected an array, a number or a nested list of numbers, got {_brief(obj)}"
        )
    if isinstance(obj, (bytes, bytearray, memoryview)):
        return np.frombuffer(obj, np.uint8) if not isinstance(obj, memoryview) else np.asarray(obj)
    try:
        values = np.asarray(obj)
        if values.dtype.kind == "O" and isinstance(obj, (list, tuple)):
            values = np.asarray(_unwrap(obj))  # NumPy 1.23 does not ask the arrays in a list
        return values
    except TVMError:
        raise
    except (ValueError, TypeError) as problem:
        kind = ValueError_ if isinstance(problem, ValueError) else TypeError_
        raise kind(f"{where}: cannot make an array of {_brief(obj)}: {problem}") from None


def _unwrap(obj: Any) -> Any:
    """A nested list with NumPy arrays in place of ours."""
    if isinstance(obj, (list, tuple)):
        return [_unwrap(item) for item in obj]
    return obj.numpy() if isinstance(obj, _core.NDArray) else obj


def _brief(obj: object) -> str:
    # neither long nor deeply nested lists are worth being written out, and some cannot be
    from reprlib import Repr

    short = Repr()
    short.maxlevel, short.maxother, short.maxstring = 3, 60, 60
    return f"{short.repr(obj)} of type {type(obj).__name__}"


def _check_kind(source: np.ndarray[Any, Any], where: str) -> None:
    kind = source.dtype.kind
    if kind in "biuf" and source.dtype.itemsize <= 8:
        return
    if dtype._parse(source.dtype.name) is None or source.dtype.names is not None:
        hint = ""
        if kind == "O":
            hint = "; a list must hold numbers only, and its rows must be equally long"
        elif kind == "c":
            hint = "; store the real and the imaginary part as two arrays"
        elif kind == "f":
            hint = "; convert it with .astype('float64')"
        raise TypeError_(
            f"{where}: no array can hold NumPy's dtype {source.dtype} "
            f"(got elements of {_kind_name(kind)}){hint}"
        )


def _kind_name(kind: str) -> str:
    names = {
        "O": "Python objects",
        "S": "bytes",
        "U": "text",
        "M": "dates",
        "m": "time spans",
        "V": "records",
        "c": "complex numbers",
        "f": "extended precision",
    }
    return names.get(kind, f"kind {kind!r}")


def _dtype_of(source: np.ndarray[Any, Any], where: str) -> str:
    _check_kind(source, where)
    return dtype.format(*dtype.parse(source.dtype.name))


def _fill(out: NDArray, source: np.ndarray[Any, Any]) -> None:
    """Copy values of the right shape into an array, converted to its dtype."""
    code, bits, lanes = dtype.parse(out.dtype)
    if bits in _PLAIN_BITS.get(code, ()) or (code, bits) == (_UINT, 1):
        plain = dtype.format(code, bits, 1)
        target = out if lanes == 1 else _lanes_view(out, plain)
        target.copyfrom(np.ascontiguousarray(source, np.dtype(plain)).reshape(source.shape))
        return
    raw = encode(source, code, bits, lanes, out.dtype)
    if out.strides is None:
        storage = out
    else:
        storage = _core.empty(out.shape, out.dtype, out.device)
    storage._create_view(raw.shape, raw.dtype.name).copyfrom(raw)
    if storage is not out:
        storage.copyto(out)


def encode(
    source: np.ndarray[Any, Any], code: int, bits: int, lanes: int, text: str
) -> np.ndarray[Any, Any]:
    """Memory of values in a dtype that NumPy has not: a one-dimensional unsigned array."""
    if code == _BFLOAT:
        return bfloat16_bits(source).reshape(-1)
    if code in _FP8:
        raw: np.ndarray[Any, Any] = source.astype(_ml_dtype(code, text)).view(np.uint8)
        return raw.reshape(-1)
    if code in (_INT, _UINT) and bits == 4:
        return pack_nibbles(source.reshape(-1))
    raise TypeError_(f"an array of dtype {text!r} has no NumPy side, so NumPy cannot fill it")


def numpy_slow(self: NDArray) -> np.ndarray[Any, Any]:
    """`numpy()` of the dtypes that the extension does not convert itself."""
    text = self.dtype
    code, bits, lanes = dtype.parse(text)
    shape = self.shape if lanes == 1 else (*self.shape, lanes)
    if bits in _PLAIN_BITS.get(code, ()) or (code, bits) == (_UINT, 1):
        return _lanes_view(_compact(self), dtype.format(code, bits, 1)).numpy()
    if code == _BFLOAT:
        return _storage(self, "uint16").numpy().reshape(shape)
    if code in _FP8:
        kind = _ml_dtype(code, text)
        small: np.ndarray[Any, Any] = _storage(self, "uint8").numpy().view(kind)
        return small.reshape(shape)
    if code in (_INT, _UINT) and bits == 4:
        count = self.size * lanes
        values = unpack_nibbles(_storage(self, "uint8").numpy(), count, code == _INT)
        return values.reshape(shape)
    raise TypeError_(f"an array of dtype {text!r} has no NumPy side")


def _compact(array: NDArray) -> NDArray:
    """The array itself when it is compact, else a compact copy."""
    if array.strides is None:
        return array
    out = _core.empty(array.shape, array.dtype, array.device)
    array.copyto(out)
    return out


def _storage(array: NDArray, text: str) -> NDArray:
    """The memory of an array as a one-dimensional array of unsigned numbers."""
    array = _compact(array)
    width = 2 if text == "uint16" else 1
    return array._create_view((array.nbytes // width,), text)


def _lanes_view(array: NDArray, plain: str) -> NDArray:
    """A compact vector-typed array as one of scalars, the lanes being the last axis."""
    lanes = dtype.parse(array.dtype)[2]
    if array.strides is not None:
        raise TypeError_(
            f"an array of dtype {array.dtype!r} with strides {array.strides} cannot be filled "
            "from NumPy: only compact ones can"
        )
    return array._create_view((*array.shape, lanes), plain)


def _ml_dtype(code: int, text: str) -> Any:
    try:
        import ml_dtypes
    except ImportError:
        raise TVMError(
            f"NumPy needs the package ml_dtypes for arrays of dtype {text!r}: pip install ml_dtypes"
        ) from None
    return getattr(ml_dtypes, _FP8[code])


def bfloat16_bits(source: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Bit patterns of bfloat16 for values: rounded to nearest, ties to even, once.

    uint16 sources are bit patterns already, and so is the memory of ml_dtypes' bfloat16.
    """
    name = source.dtype.name
    if name == "uint16":
        return np.ascontiguousarray(source, np.uint16)
    if name == "bfloat16":
        return np.ascontiguousarray(source).view(np.uint16)
    if source.dtype.kind not in "biuf":
        source = source.astype(np.float32)  # small floats fit
    with np.errstate(over="ignore", invalid="ignore"):
        single = source.astype(np.float32)
    bits = single.view(np.uint32).reshape(-1).copy()
    finite = np.isfinite(single).reshape(-1)
    if source.dtype.itemsize > 4 or (source.dtype.kind in "iu" and source.dtype.itemsize == 4):
        # rounding twice goes wrong only where the first rounding made a tie of what was none
        wide = source.astype(np.longdouble).reshape(-1)
        again = single.astype(np.longdouble).reshape(-1)
        tie = finite & ((bits & 0xFFFF) == 0x8000)
        bits[tie & (np.abs(again) > np.abs(wide))] -= np.uint32(1)
        bits[tie & (np.abs(again) < np.abs(wide))] += np.uint32(1)
    rounded = (bits + (((bits >> 16) & 1) + np.uint32(0x7FFF))) >> 16
    special = np.where(np.isnan(single.reshape(-1)), (bits >> 16) | 0x40, bits >> 16)
    out: np.ndarray[Any, Any] = np.where(finite, rounded, special).astype(np.uint16)
    shaped: np.ndarray[Any, Any] = out.reshape(source.shape)
    return shaped


def pack_nibbles(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Two 4-bit values a byte, the first in the low half (DLPack's order); wraps as casts do."""
    nibbles = values.astype(np.int64).astype(np.uint8) & 0xF
    if nibbles.size % 2:
        nibbles = np.append(nibbles, np.uint8(0))
    packed: np.ndarray[Any, Any] = nibbles[0::2] | (nibbles[1::2] << 4)
    return packed.astype(np.uint8)


def unpack_nibbles(raw: np.ndarray[Any, Any], count: int, signed: bool) -> np.ndarray[Any, Any]:
    """The 4-bit values in bytes, one an element: int8 sign-extended, or uint8."""
    values = np.empty(raw.size * 2, np.uint8)
    values[0::2] = raw & 0xF
    values[1::2] = raw >> 4
    values = values[:count]
    if not signed:
        return values
    extended: np.ndarray[Any, Any] = (values ^ 8).astype(np.int8) - np.int8(8)
    return extended


class _Memory:
    """What NumPy needs to see CPU memory in place, and the array that owns it."""

    def __init__(self, owner: NDArray, interface: dict[str, Any]) -> None:
        self.owner = owner
        self.__array_interface__ = interface


def shared_view(array: NDArray) -> np.ndarray[Any, Any] | None:
    """A NumPy array over the memory of a CPU array, or None where NumPy cannot have one."""
    if array.device.device_type != 1:
        return None
    code, bits, lanes = dtype.parse(array.dtype)
    special = None
    if code == _BFLOAT:
        text = "uint16"
    elif code in _FP8:
        text = "uint8"
        special = _ml_dtype(code, array.dtype)
    elif bits in _PLAIN_BITS.get(code, ()) or (code, bits) == (_UINT, 1):
        text = dtype.format(code, bits, 1)
    else:
        return None
    kind = np.dtype(text)
    shape = array.shape
    strides = array.strides
    steps = None if strides is None else tuple(s * kind.itemsize * lanes for s in strides)
    if lanes != 1:
        shape = (*shape, lanes)
        steps = None if steps is None else (*steps, kind.itemsize)
    if 0 in shape:
        empty: np.ndarray[Any, Any] = np.empty(shape, kind)
        return empty if special is None else empty.view(special)
    from tvm._ffi.structs import array_handle

    array._end_loan()
    tensor = array_handle(array._handle_address, array).contents
    interface = {
        "version": 3,
        "shape": shape,
        "strides": steps,
        "typestr": kind.str,
        "data": ((tensor.data or 0) + tensor.byte_offset, array._read_only),
    }
    view = np.asarray(_Memory(array, interface))
    return view if special is None else view.view(special)


def array_protocol(self: NDArray, dtype: Any = None, copy: bool | None = None) -> Any:
    """NumPy's protocol: a copy, or with ``copy=False`` a view of memory on the CPU.

    Raises
    ------
    ValueError
        With ``copy=False`` when a copy cannot be avoided.
    """
    if copy is not False:
        values = self.numpy()
        return values if dtype is None else values.astype(dtype, copy=False)
    view = shared_view(self)
    if view is None or (dtype is not None and np.dtype(dtype) != view.dtype):
        raise ValueError_(
            f"an array of dtype {self.dtype!r} on {self.device} cannot be seen as a NumPy array "
            f"of dtype {np.dtype(dtype) if dtype is not None else self.dtype} without a copy"
        )
    return view


def text_of(self: NDArray, style: Any) -> str:
    """First a line about the array, then NumPy's text (`style` is repr or str) of its values."""
    first = f"<tvm.nd.NDArray shape={self.shape}, {self.device}>\n"
    # large arrays print in short, for which no copy need be made
    try:
        values = shared_view(self) if self.nbytes > 1 << 16 else None
        return first + str(style(self.numpy() if values is None else values))
    except TVMError as problem:
        # a debugger shows arrays of devices that are gone, too, and of dtypes that NumPy has not
        return f"{first}({problem})"


def raw_bytes(array: NDArray) -> np.ndarray[Any, Any]:
    """The elements of an array as a fresh one-dimensional uint8 array."""
    return _storage(array, "uint8").numpy()


def from_raw_bytes(
    raw: np.ndarray[Any, Any], shape: tuple[int, ...], dtype: str, device: Device
) -> NDArray:
    """An array with these elements."""
    out = _core.empty(shape, dtype, device)
    out._create_view((out.nbytes,), "uint8").copyfrom(raw)
    return out
