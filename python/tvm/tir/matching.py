"""Operands of different types brought together, and constants folded.

Matching: a float beats an int at the float's own width, the wider type wins within a kind, equal
widths of int and uint give uint, and Python numbers are weak (they take the type of the other
operand). Folding happens in the type's own width; an int32 or int64 result that does not fit stays
unfolded, because it may be an index that lowering promotes.
"""

from __future__ import annotations

from .. import error
from ..ir import dtype as _dtype
from ..ir.expr import PrimExpr, set_converter
from . import numeric
from .expr import Broadcast, Cast, FloatImm, IntImm, const_of, convert

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

set_converter(convert)


def cast(value: Any, dtype: Any) -> Any:
    """`value` as `dtype`: a constant for a constant, itself when the type is right already."""
    value = convert(value)
    dtype = _dtype.canonical(dtype)
    if value.dtype == dtype:
        return value
    kind = type(value)
    if kind is IntImm or kind is FloatImm:
        given, wanted = _dtype.info(value.dtype), _dtype.info(dtype)
        if wanted.lanes > 1:
            return Broadcast(cast(value, wanted.scalar), wanted.lanes)
        if wanted.is_float and given.is_float:
            rounded = numeric.round_float(value.value, given.text)
            exact = numeric.round_float(rounded, wanted.text)
            # Decimal constants keep the digits they were written with as long as that is the same.
            direct = numeric.round_float(value.value, wanted.text)
            same = direct == exact and wanted.bits <= given.bits
            return FloatImm(dtype, value.value if same else exact)
        if wanted.is_float:
            return FloatImm(dtype, numeric.int_to_float(value.value, dtype))
        if wanted.is_int:
            if given.is_float:
                number = numeric.round_float(value.value, given.text)
                return IntImm(dtype, int(numeric.cast(number, given, wanted)))
            return IntImm(dtype, int(numeric.cast(value.value, given, wanted)))
        return Cast(dtype, value)
    found = _dtype.info(dtype)
    if kind is Broadcast and found.lanes == value.lanes:
        return Broadcast(cast(value.value, found.scalar), value.lanes)
    if found.lanes > 1 and _dtype.info(value.dtype).lanes == 1:
        return Broadcast(cast(value, found.scalar), found.lanes)
    return Cast(dtype, value)


def _operand(value: Any) -> Any:
    """An operand as an expression, or None if it is nothing of ours."""
    try:
        return convert(value)
    except error.TypeError_:
        return None


def _weak(value: Any, other: str) -> Any:
    """A Python number as a constant that suits the dtype of the other operand."""
    found = _dtype.info(other)
    if isinstance(value, bool):
        return IntImm("bool", int(value))
    if found.is_float:
        return const_of(value, found.scalar)
    if isinstance(value, int) and found.is_int and not found.is_bool:
        lower, upper = _dtype.int_range(found)
        if lower <= value <= upper:
            return IntImm(found.scalar, value)
    return convert(value)


def match(lhs: Any, rhs: Any) -> tuple[Any, Any] | None:
    """Both operands as expressions of one dtype; None if one is nothing of ours."""
    if not isinstance(lhs, PrimExpr):
        if isinstance(lhs, (int, float)) and isinstance(rhs, PrimExpr):
            lhs = _weak(lhs, rhs.dtype)
        else:
            lhs = _operand(lhs)
            if lhs is None:
                return None
    if not isinstance(rhs, PrimExpr):
        rhs = _weak(rhs, lhs.dtype) if isinstance(rhs, (int, float)) else _operand(rhs)
        if rhs is None:
            return None
    if lhs.dtype == rhs.dtype:
        return lhs, rhs
    return match_types(lhs, rhs)


def match_types(lhs: Any, rhs: Any) -> tuple[Any, Any]:
    """Two expressions brought to one dtype by the rules of mixed operands."""
    left, right = _dtype.info(lhs.dtype), _dtype.info(rhs.dtype)
    if left.lanes != right.lanes:
        if left.lanes == 1:
            lhs = Broadcast(lhs, right.lanes)
        elif right.lanes == 1:
            rhs = Broadcast(rhs, left.lanes)
        else:
            raise error.TypeError_(
                f"operands of {left.text} and {right.text}: the numbers of lanes must be equal, or "
                "one operand a scalar"
            )
    lanes = max(left.lanes, right.lanes)
    wanted = _dtype.with_lanes(common_type(left, right), lanes)
    return cast(lhs, wanted), cast(rhs, wanted)


def common_type(left: _dtype.TypeInfo, right: _dtype.TypeInfo) -> str:
    """The element dtype of an operation on two element types."""
    if left.scalar == right.scalar:
        return left.scalar
    if left.is_float and right.is_float:
        if left.bits == right.bits:
            return "float32"
        return left.scalar if left.bits > right.bits else right.scalar
    if left.is_float and right.is_int:
        return left.scalar
    if right.is_float and left.is_int:
        return right.scalar
    if left.is_int and right.is_int:
        if left.bits == right.bits:
            return left.scalar if left.kind == "uint" else right.scalar
        return left.scalar if left.bits > right.bits else right.scalar
    raise error.TypeError_(f"operands of dtype {left.text} and {right.text} do not go together")


def fold(name: str, a: Any, b: Any) -> Any:
    """The constant that two constants give, or None where it must stay an expression."""
    dtype = a.dtype
    if type(a) is FloatImm:
        x, y = numeric.round_float(a.value, dtype), numeric.round_float(b.value, dtype)
        return FloatImm(dtype, numeric.binary(name, x, y, dtype))
    value = numeric.INT_OPERATIONS[name](a.value, b.value)
    lower, upper = _dtype.int_range(_dtype.info(dtype))
    if lower <= value <= upper:
        return IntImm(dtype, value)
    if dtype in ("int32", "int64"):
        return None
    return IntImm(dtype, _dtype.wrap(value, _dtype.info(dtype)))


def folded(node: Any, a: Any, b: Any) -> Any:
    """The constant that two constants give, or the node where they cannot be folded."""
    made = fold(node.__name__, a, b)
    # A constant 0 has the truth value of False.
    return node(a, b) if made is None else made


def is_const_value(expr: Any, value: float) -> bool:
    """Whether `expr` is the scalar constant `value`."""
    kind = type(expr)
    return (kind is IntImm or kind is FloatImm) and bool(expr.value == value)


def refuse_zero(name: str, divisor: Any) -> None:
    if type(divisor) is Broadcast:
        divisor = divisor.value
    if type(divisor) is IntImm and divisor.value == 0:
        raise error.ValueError_(f"{name}: division by the constant 0")


def refuse_pointer(value: Any) -> None:
    if value.dtype == "handle":
        raise error.TypeError_("arithmetic on a pointer (dtype handle) is not possible")


def matched(name: str, lhs: Any, rhs: Any) -> tuple[Any, Any]:
    """Matched operands of a named function (not an operator), which must be expressions."""
    pair = match(lhs, rhs)
    if pair is None:
        raise error.TypeError_(
            f"{name}: expected expressions or numbers, but got {type(lhs).__name__} and "
            f"{type(rhs).__name__}"
        )
    return pair
