"""The C structs of the border as ctypes sees them; loaded only when somebody asks for one."""

from __future__ import annotations

import ctypes

from . import dtype as _dtype

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class DLDataType(ctypes.Structure):
    """Element type: code, bits, lanes."""

    _fields_ = [  # noqa: RUF012
        ("type_code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    ]

    def __str__(self) -> str:
        return _dtype.format(self.type_code, self.bits, self.lanes)

    def __repr__(self) -> str:
        return f'DataType("{self}")'

    def _key(self) -> tuple[int, int, int]:
        return self.type_code, self.bits, self.lanes

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return str(self) == other
        try:
            return self._key() == (other.type_code, other.bits, other.lanes)  # type: ignore[attr-defined]
        except AttributeError:
            return NotImplemented

    def __hash__(self) -> int:
        return hash(str(self))


class DLDevice(ctypes.Structure):
    """Kind and number of a device."""

    _fields_ = [  # noqa: RUF012
        ("device_type", ctypes.c_int),
        ("device_id", ctypes.c_int),
    ]

    def _device(self) -> Any:
        from ._core import make_device

        return make_device(self.device_type, self.device_id)

    def __eq__(self, other: object) -> bool:
        try:
            return (self.device_type, self.device_id) == (
                other.device_type,  # type: ignore[attr-defined]
                other.device_id,  # type: ignore[attr-defined]
            )
        except AttributeError:
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self._device())

    def __repr__(self) -> str:
        return repr(self._device())


class TVMArray(ctypes.Structure):
    """The tensor struct that every handle of an array points at."""

    _fields_ = [  # noqa: RUF012
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


TVMArrayHandle = ctypes.POINTER(TVMArray)


class TVMByteArray(ctypes.Structure):
    """Bytes with their length."""

    _fields_ = [("data", ctypes.POINTER(ctypes.c_byte)), ("size", ctypes.c_size_t)]  # noqa: RUF012


class TVMValue(ctypes.Union):
    """One argument cell."""

    _fields_ = [  # noqa: RUF012
        ("v_int64", ctypes.c_int64),
        ("v_float64", ctypes.c_double),
        ("v_handle", ctypes.c_void_p),
        ("v_str", ctypes.c_char_p),
    ]


def array_handle(address: int, owner: object) -> Any:
    """A pointer to the tensor struct at an address, which keeps `owner` alive."""
    pointer = ctypes.cast(address, TVMArrayHandle)
    pointer._owner = owner  # type: ignore[attr-defined]
    return pointer
