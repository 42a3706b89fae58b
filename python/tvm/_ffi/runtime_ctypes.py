"""The small types of the border: `DataType`, the code tables, `Device`, the C structs.

The C structs (`TVMArray` and its pointer `TVMArrayHandle`) need ctypes, which is loaded when one
of them is first asked for.
"""

from __future__ import annotations

from tvm.error import TypeError_

from . import dtype as _dtype
from ._core import Device as Device

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .structs import TVMArray as TVMArray
    from .structs import TVMArrayHandle as TVMArrayHandle
    from .structs import TVMByteArray as TVMByteArray
    from .structs import TVMValue as TVMValue


class DataTypeCode:
    """Codes of the families of types, as in the C structs."""

    INT = 0
    UINT = 1
    FLOAT = 2
    HANDLE = 3
    BFLOAT = 4
    E4M3Float = 6
    E5M2Float = 7


class ArgTypeCode:
    """Tags of the values that cross to a function, as in the C interface."""

    INT = 0
    UINT = 1
    FLOAT = 2
    HANDLE = 3
    NULL = 4
    TVM_TYPE = 5
    DLDEVICE = 6
    DLTENSOR_HANDLE = 7
    OBJECT_HANDLE = 8
    MODULE_HANDLE = 9
    PACKED_FUNC_HANDLE = 10
    STR = 11
    BYTES = 12
    NDARRAY_HANDLE = 13
    OBJECT_RVALUE_REF_ARG = 14
    EXT_BEGIN = 15


def _entry(text: str) -> dict[str, int]:
    code, bits, lanes = _dtype.parse(text)
    return {"type_code": code, "bits": bits, "lanes": lanes}


STR2DTYPE: dict[str, dict[str, int]] = {
    name: _entry(name)
    for name in (
        *("void", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"),
        *("uint64", "float16", "float32", "float64", "bfloat16", "e4m3_float8", "e5m2_float8"),
    )
}


class DataType:
    """The type of an element: family, bits and lanes.

    Parameters
    ----------
    type_str : str, numpy.dtype, DataType or type
        Any spelling of a dtype.

    Attributes
    ----------
    type_code : int
        See `DataTypeCode`.
    bits : int
        Bits of one lane.
    lanes : int
        Values in one element; 1 unless it is a vector type.

    Raises
    ------
    ValueError
        For an unknown text; the message has the nearest known name.
    TypeError
        For an object that names no dtype.

    Examples
    --------
    >>> import tvm
    >>> t = tvm.DataType("float32x4")
    >>> t.bits, t.lanes, t.itemsize(), str(t)
    (32, 4, 16, 'float32x4')
    """

    __slots__ = ("__weakref__", "bits", "lanes", "type_code")

    CODE2STR = _dtype.CODE_NAMES
    STR2DTYPE = STR2DTYPE

    type_code: int
    bits: int
    lanes: int

    def __init__(self, type_str: Any) -> None:
        text = type_str if type(type_str) is str else _dtype.canonical(type_str)
        code, bits, lanes = _dtype.parse(text)
        set_field = object.__setattr__
        set_field(self, "type_code", code)
        set_field(self, "bits", bits)
        set_field(self, "lanes", lanes)

    def __setattr__(self, name: str, value: object) -> None:
        raise TypeError_(f"a DataType cannot be changed (tried to set {name!r})")

    def itemsize(self) -> int:
        """Bytes of one element; types below a byte count as one byte a lane."""
        return (self.bits + 7) // 8 * self.lanes

    def with_lanes(self, lanes: int) -> DataType:
        """This type with another number of lanes."""
        return DataType(_dtype.format(self.type_code, self.bits, lanes))

    def __repr__(self) -> str:
        return f'DataType("{self}")'

    def __str__(self) -> str:
        return _dtype.format(self.type_code, self.bits, self.lanes)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DataType):
            return (
                self.type_code == other.type_code
                and self.bits == other.bits
                and self.lanes == other.lanes
            )
        if isinstance(other, str):
            return str(self) == other  # only the canonical text, so that equal things hash alike
        return NotImplemented

    def __hash__(self) -> int:
        return hash(str(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return DataType, (str(self),)


# Device names and their masks; several names may mean the same device.
STR2MASK: dict[str, int] = {
    "llvm": 1,
    "stackvm": 1,
    "cpu": 1,
    "c": 1,
    "test": 1,
    "hybrid": 1,
    "composite": 1,
    "cuda": 2,
    "nvptx": 2,
    "gpu": 2,
    "cuda_host": 3,
    "opencl": 4,
    "cl": 4,
    "sdaccel": 4,
    "aocl": 32,
    "aocl_sw_emu": 32,
    "vulkan": 7,
    "metal": 8,
    "mtl": 8,
    "vpi": 9,
    "rocm": 10,
    "rocm_host": 11,
    "ext_dev": 12,
    "cuda_managed": 13,
    "oneapi": 14,
    "webgpu": 15,
    "hexagon": 16,
}
MASK2STR: dict[int, str] = {
    1: "cpu",
    2: "cuda",
    3: "cuda_host",
    4: "opencl",
    7: "vulkan",
    8: "metal",
    9: "vpi",
    10: "rocm",
    11: "rocm_host",
    12: "ext_dev",
    13: "cuda_managed",
    14: "oneapi",
    15: "webgpu",
    16: "hexagon",
    32: "aocl",
}
RPC_SESS_MASK = 128

_CONSTANTS = {
    "kDLCPU": 1,
    "kDLCUDA": 2,
    "kDLCUDAHost": 3,
    "kDLOpenCL": 4,
    "kDLVulkan": 7,
    "kDLMetal": 8,
    "kDLVPI": 9,
    "kDLROCM": 10,
    "kDLROCMHost": 11,
    "kDLExtDev": 12,
    "kDLCUDAManaged": 13,
    "kDLOneAPI": 14,
    "kDLWebGPU": 15,
    "kDLHexagon": 16,
    "kDLAOCL": 32,
    "STR2MASK": STR2MASK,
    "MASK2STR": MASK2STR,
}
for _name, _value in _CONSTANTS.items():
    setattr(Device, _name, _value)

_OLD_NAMES = {"TVMContext": "Device", "TVMType": "DataType"}
_STRUCTS = ("TVMArray", "TVMArrayHandle", "TVMByteArray", "TVMValue")


def __getattr__(name: str) -> Any:
    if name in _STRUCTS:
        from . import structs

        value = getattr(structs, name)
        globals()[name] = value
        return value
    if name in _OLD_NAMES:
        import warnings

        now = _OLD_NAMES[name]
        text = f"{name} is an older name, please use {now}"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return globals()[now]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
