"""Small pieces of the checks that `MakePackedAPI` writes."""

from __future__ import annotations

from tvm.ir.dtype import info
from tvm.ir.op import register_op
from tvm.tir import expr as _expr
from tvm.tir.arg_table import CONST, Argument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What `tvm_struct_get` reads: fields of a DLTensor, and a cell of the argument array.
DATA, SHAPE, STRIDES, NDIM, CODE, BITS, LANES, OFFSET, DEVICE_ID, DEVICE_TYPE = range(1, 11)
VALUE = 12

# Whether an array must not be written, false where the runtime cannot tell.
register_op("tir.tvm_is_read_only", TCallEffectKind=_expr.CallEffect.ReadState)


def int_imm(value: int, dtype: str = "int64") -> Any:
    return _expr.IntImm(dtype, value)


def call(dtype: str, name: str, *args: Any) -> Any:
    return _expr.Call(dtype, f"tir.{name}", list(args))


def field(handle: Any, kind: int, dtype: str, index: int = 0) -> Any:
    return call(dtype, "tvm_struct_get", handle, int_imm(index, "int32"), int_imm(kind, "int32"))


def all_of(parts: list[Any]) -> Any:
    result = parts[0]
    for item in parts[1:]:
        result = _expr.And(result, item)
    return result


def any_of(parts: list[Any]) -> Any:
    result = parts[0]
    for item in parts[1:]:
        result = _expr.Or(result, item)
    return result


def is_null(handle: Any) -> Any:
    return call("bool", "isnullptr", handle)


class TensorChecks:
    """What the checks know of a tensor argument: variables of the new function."""

    def __init__(self, arg: Argument, handle: Any) -> None:
        found = info(arg.dtype)
        self.arg = arg
        self.handle = handle
        self.bits = (8 if found.is_bool else found.bits) * found.lanes
        self.shape: list[Any] = []
        self.strides: list[Any] = []
        self.is_empty: Any = None
        self.is_compact: Any = None
        self.low: Any = None
        self.high: Any = None

    @property
    def folds_offset(self) -> bool:
        offset = self.arg.offset
        return offset is not None and offset.op == CONST and offset.value == 0


def cast(dtype: str, value: Any) -> Any:
    return value if value.dtype == dtype else _expr.Cast(dtype, value)


def address(pointer: Any, offset: Any) -> Any:
    """A pointer plus bytes."""
    number = _expr.Add(call("int64", "reinterpret", pointer), offset)
    return call("handle", "reinterpret", number)


def false() -> Any:
    return _expr.IntImm("bool", 0)


def is_one(value: Any) -> bool:
    return type(value) is _expr.IntImm and value.value == 1


def tuple_text(texts: list[str]) -> str:
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def device_name(device_type: int) -> str:
    from tvm._ffi.runtime_ctypes import MASK2STR

    return str(MASK2STR.get(device_type, device_type))
