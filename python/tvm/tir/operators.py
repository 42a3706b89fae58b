"""The operators of expressions: operand types are matched and constants folded (`matching`)."""

from __future__ import annotations

from .. import error
from ..ir import dtype as _dtype
from ..ir.expr import PrimExpr
from . import numeric
from .expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Call,
    Div,
    ExprOp,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Select,
    StringImm,
    Sub,
    const_of,
    convert,
)
from .matching import (
    cast,
    common_type,
    fold,
    folded,
    is_const_value,
    match,
    match_types,
    matched,
    refuse_pointer,
    refuse_zero,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = [
    "add", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "cast", "common_type",
    "divide", "equal", "floordiv", "floormod", "greater", "greater_equal", "install",
    "is_const_value", "is_string", "less", "less_equal", "logical_and", "logical_not", "logical_or",
    "match", "match_types", "maximum", "minimum", "multiply", "negate", "not_equal", "select",
    "shift_left", "shift_right", "subtract", "truncdiv", "truncmod",
]  # fmt: skip


def add(lhs: Any, rhs: Any, span: object = None) -> Any:
    """lhs + rhs."""
    if not (isinstance(lhs, PrimExpr) and isinstance(rhs, PrimExpr) and lhs.dtype == rhs.dtype):
        pair = match(lhs, rhs)
        if pair is None:
            return NotImplemented
        lhs, rhs = pair
    left, right = type(lhs), type(rhs)
    if right is IntImm:
        if rhs.value == 0:
            return lhs
        if left is IntImm:
            return folded(Add, lhs, rhs)
    elif left is IntImm:
        if lhs.value == 0:
            return rhs
    elif left is FloatImm and right is FloatImm:
        return fold("Add", lhs, rhs)
    elif lhs.dtype == "handle":
        refuse_pointer(lhs)
    return Add(lhs, rhs)


def subtract(lhs: Any, rhs: Any, span: object = None) -> Any:
    """lhs - rhs."""
    if not (isinstance(lhs, PrimExpr) and isinstance(rhs, PrimExpr) and lhs.dtype == rhs.dtype):
        pair = match(lhs, rhs)
        if pair is None:
            return NotImplemented
        lhs, rhs = pair
    left, right = type(lhs), type(rhs)
    if right is IntImm:
        if rhs.value == 0:
            return lhs
        if left is IntImm:
            return folded(Sub, lhs, rhs)
    elif left is FloatImm and right is FloatImm:
        return fold("Sub", lhs, rhs)
    elif lhs.dtype == "handle":
        refuse_pointer(lhs)
    return Sub(lhs, rhs)


def multiply(lhs: Any, rhs: Any, span: object = None) -> Any:
    """lhs * rhs."""
    if not (isinstance(lhs, PrimExpr) and isinstance(rhs, PrimExpr) and lhs.dtype == rhs.dtype):
        pair = match(lhs, rhs)
        if pair is None:
            return NotImplemented
        lhs, rhs = pair
    left, right = type(lhs), type(rhs)
    if right is IntImm:
        if left is IntImm:
            return folded(Mul, lhs, rhs)
        if rhs.value == 1:
            return lhs
        if rhs.value == 0:
            return rhs
    elif left is IntImm:
        if lhs.value == 1:
            return rhs
        if lhs.value == 0:
            return lhs
    elif right is FloatImm:
        if left is FloatImm:
            return fold("Mul", lhs, rhs)
        if rhs.value == 1.0:
            return lhs
    elif left is FloatImm and lhs.value == 1.0:
        return rhs
    elif lhs.dtype == "handle":
        refuse_pointer(lhs)
    return Mul(lhs, rhs)


def _divide_ints(name: str, node: Any, lhs: Any, rhs: Any) -> Any:
    refuse_zero(name, rhs)
    left, right = type(lhs), type(rhs)
    modulo = name in ("truncmod", "floormod")
    if right is IntImm and left is IntImm:
        return folded(node, lhs, rhs)
    if right is IntImm and rhs.value == 1:
        return IntImm(rhs.dtype, 0) if modulo else lhs
    if left is IntImm and lhs.value == 0:
        return lhs
    if right is FloatImm and left is FloatImm:
        return fold(node.__name__, lhs, rhs)
    return node(lhs, rhs)


def divide(lhs: Any, rhs: Any, span: object = None) -> Any:
    """lhs / rhs, for floats."""
    pair = match(lhs, rhs)
    if pair is None:
        return NotImplemented
    lhs, rhs = pair
    if _dtype.info(lhs.dtype).is_int:
        raise error.TypeError_(
            "/ on two integers is ambiguous: use tvm.tir.truncdiv (C), // or tvm.tir.floordiv "
            "(Python), tvm.tir.indexdiv (both operands known not to be negative), or cast one "
            "operand to a float"
        )
    if type(rhs) is FloatImm and rhs.value == 1.0:
        return lhs
    return _divide_ints("div", Div, lhs, rhs)


def floordiv(lhs: Any, rhs: Any, span: object = None) -> Any:
    """lhs // rhs, rounded toward minus infinity."""
    pair = match(lhs, rhs)
    if pair is None:
        return NotImplemented
    return _divide_ints("floordiv", FloorDiv, *pair)


def floormod(lhs: Any, rhs: Any, span: object = None) -> Any:
    """lhs % rhs, with the sign of rhs."""
    pair = match(lhs, rhs)
    if pair is None:
        return NotImplemented
    return _divide_ints("floormod", FloorMod, *pair)


def truncdiv(lhs: Any, rhs: Any, span: object = None) -> Any:
    """lhs / rhs, rounded toward zero as in C."""
    return _divide_ints("truncdiv", Div, *matched("truncdiv", lhs, rhs))


def truncmod(lhs: Any, rhs: Any, span: object = None) -> Any:
    """The remainder of `truncdiv`, with the sign of lhs."""
    return _divide_ints("truncmod", Mod, *matched("truncmod", lhs, rhs))


def minimum(lhs: Any, rhs: Any, span: object = None) -> Any:
    """The lesser of two values; NaN when either is NaN."""
    lhs, rhs = matched("min", lhs, rhs)
    if lhs is rhs:
        return lhs
    if type(lhs) is type(rhs) and type(lhs) in (IntImm, FloatImm):
        return fold("Min", lhs, rhs)
    return Min(lhs, rhs)


def maximum(lhs: Any, rhs: Any, span: object = None) -> Any:
    """The greater of two values; NaN when either is NaN."""
    lhs, rhs = matched("max", lhs, rhs)
    if lhs is rhs:
        return lhs
    if type(lhs) is type(rhs) and type(lhs) in (IntImm, FloatImm):
        return fold("Max", lhs, rhs)
    return Max(lhs, rhs)


def _compare(node: Any, lhs: Any, rhs: Any) -> Any:
    if not (isinstance(lhs, PrimExpr) and isinstance(rhs, PrimExpr) and lhs.dtype == rhs.dtype):
        pair = match(lhs, rhs)
        if pair is None:
            return NotImplemented
        lhs, rhs = pair
    kind = type(lhs)
    if kind is type(rhs):
        if kind is IntImm:
            value = numeric.COMPARISONS[node.__name__](lhs.value, rhs.value)
            return IntImm("bool", int(value))
        if kind is FloatImm:
            x = numeric.round_float(lhs.value, lhs.dtype)
            y = numeric.round_float(rhs.value, rhs.dtype)
            return IntImm("bool", int(numeric.COMPARISONS[node.__name__](x, y)))
    return node(lhs, rhs)


def less(lhs: Any, rhs: Any) -> Any:
    """lhs < rhs."""
    return _compare(LT, lhs, rhs)


def less_equal(lhs: Any, rhs: Any) -> Any:
    """lhs <= rhs."""
    return _compare(LE, lhs, rhs)


def greater(lhs: Any, rhs: Any) -> Any:
    """lhs > rhs."""
    return _compare(GT, lhs, rhs)


def greater_equal(lhs: Any, rhs: Any) -> Any:
    """lhs >= rhs."""
    return _compare(GE, lhs, rhs)


class _AgainstNone:
    """What comparing an expression with None gives; it has no truth value."""

    __slots__ = ("expr",)

    def __init__(self, expr: Any) -> None:
        self.expr = expr

    def __bool__(self) -> bool:
        raise error.ValueError_(
            "an expression was compared with None: use `is None` or `is not None`"
        )


def equal(lhs: Any, rhs: Any) -> Any:
    """lhs == rhs as an expression; its truth value is whether both are the same expression."""
    if rhs is None:
        return _AgainstNone(lhs)
    try:
        return _compare(EQ, lhs, rhs)
    except error.TypeError_:
        return lhs is rhs


def not_equal(lhs: Any, rhs: Any) -> Any:
    """lhs != rhs as an expression; its truth value is whether both are different expressions."""
    if rhs is None:
        return _AgainstNone(lhs)
    try:
        return _compare(NE, lhs, rhs)
    except error.TypeError_:
        return lhs is not rhs


def _logical(name: str, lhs: Any, rhs: Any) -> tuple[Any, Any]:
    lhs, rhs = convert(lhs), convert(rhs)
    for item in (lhs, rhs):
        if not _dtype.info(item.dtype).is_bool:
            raise error.TypeError_(f"{name}: expected bool operands, but got {item.dtype}")
    if lhs.dtype != rhs.dtype:
        lhs, rhs = match_types(lhs, rhs)
    return lhs, rhs


def logical_and(lhs: Any, rhs: Any) -> Any:
    """lhs and rhs, of bools."""
    lhs, rhs = _logical("and", lhs, rhs)
    if type(lhs) is IntImm:
        return rhs if lhs.value else lhs
    if type(rhs) is IntImm:
        return lhs if rhs.value else rhs
    return And(lhs, rhs)


def logical_or(lhs: Any, rhs: Any) -> Any:
    """lhs or rhs, of bools."""
    lhs, rhs = _logical("or", lhs, rhs)
    if type(lhs) is IntImm:
        return lhs if lhs.value else rhs
    if type(rhs) is IntImm:
        return rhs if rhs.value else lhs
    return Or(lhs, rhs)


def logical_not(value: Any) -> Any:
    """not value."""
    value = convert(value)
    if type(value) is IntImm and value.dtype == "bool":
        return IntImm("bool", 1 - value.value)
    return Not(value)


def negate(value: Any) -> Any:
    """-value."""
    value = convert(value)
    found = _dtype.info(value.dtype)
    if type(value) is FloatImm:
        return FloatImm(value.dtype, -value.value)
    if type(value) is IntImm:
        return subtract(IntImm(value.dtype, 0), value)
    # -1 * x keeps the sign of zero right, 0 - x does not.
    return (
        multiply(value, const_of(-1, found.scalar))
        if found.is_float
        else subtract(const_of(0, value.dtype), value)
    )


def select(condition: Any, true_value: Any, false_value: Any) -> Any:
    """One of two values; a constant condition chooses at once."""
    true_value, false_value = matched("select", true_value, false_value)
    condition = convert(condition)
    if type(condition) is IntImm:
        return true_value if condition.value else false_value
    return Select(condition, true_value, false_value)


def _bits(name: str, function: Callable[[int, int], int]) -> Callable[[Any, Any], Any]:
    def operate(lhs: Any, rhs: Any, span: object = None) -> Any:
        pair = match(lhs, rhs)
        if pair is None:
            return NotImplemented
        lhs, rhs = pair
        found = _dtype.info(lhs.dtype)
        if not found.is_int:
            raise error.TypeError_(f"{name}: expected integer operands, but got {lhs.dtype}")
        if type(lhs) is IntImm and type(rhs) is IntImm:
            return IntImm(found.text, _dtype.wrap(function(lhs.value, rhs.value), found))
        return Call(lhs.dtype, "tir." + name, [lhs, rhs])

    operate.__name__ = operate.__qualname__ = name
    operate.__doc__ = f"{name} of two integers."
    return operate


bitwise_and = _bits("bitwise_and", lambda a, b: a & b)
bitwise_or = _bits("bitwise_or", lambda a, b: a | b)
bitwise_xor = _bits("bitwise_xor", lambda a, b: a ^ b)


def _shift(name: str, function: Callable[[int, int], int]) -> Callable[[Any, Any], Any]:
    def operate(lhs: Any, rhs: Any, span: object = None) -> Any:
        pair = match(lhs, rhs)
        if pair is None:
            return NotImplemented
        lhs, rhs = pair
        found = _dtype.info(lhs.dtype)
        if not found.is_int:
            raise error.TypeError_(f"{name}: expected integer operands, but got {lhs.dtype}")
        if type(rhs) is IntImm:
            if not 0 <= rhs.value < found.bits:
                raise error.ValueError_(
                    f"{name}: the amount must be in 0..{found.bits - 1} for {found.text}, but got "
                    f"{rhs.value}"
                )
            if rhs.value == 0:
                return lhs
            if type(lhs) is IntImm:
                return IntImm(found.text, _dtype.wrap(function(lhs.value, rhs.value), found))
        return Call(lhs.dtype, "tir." + name, [lhs, rhs])

    operate.__name__ = operate.__qualname__ = name
    operate.__doc__ = f"{name} of an integer; a constant amount must be less than its bits."
    return operate


shift_left = _shift("shift_left", lambda a, b: a << b)
shift_right = _shift("shift_right", lambda a, b: a >> b)


def bitwise_not(value: Any, span: object = None) -> Any:
    """All bits of an integer inverted."""
    value = convert(value)
    found = _dtype.info(value.dtype)
    if not found.is_int:
        raise error.TypeError_(f"bitwise_not: expected an integer, but got {value.dtype}")
    if type(value) is IntImm:
        return IntImm(found.text, _dtype.wrap(~value.value, found))
    return Call(value.dtype, "tir.bitwise_not", [value])


def _swapped(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def operate(self: Any, other: Any) -> Any:
        return function(other, self)

    return operate


def _astype(self: Any, dtype: Any, span: object = None) -> PrimExpr:
    """The value in another type, converted as `cast` does."""
    made: PrimExpr = cast(self, dtype)
    return made


def _equal(self: Any, other: Any, span: object = None) -> PrimExpr:
    """The comparison of two values, element by element; `==` in Python makes the same."""
    made: PrimExpr = equal(self, other)
    return made


def install(cls: Any) -> None:
    """Give a class the operators, as methods."""
    for name, function in (
        ("add", add),
        ("sub", subtract),
        ("mul", multiply),
        ("truediv", divide),
        ("floordiv", floordiv),
        ("mod", floormod),
        ("and", bitwise_and),
        ("or", bitwise_or),
        ("xor", bitwise_xor),
        ("lshift", shift_left),
        ("rshift", shift_right),
    ):
        setattr(cls, f"__{name}__", function)
        setattr(cls, f"__r{name}__", _swapped(function))
    cls.__div__ = divide
    cls.__lt__ = less
    cls.__le__ = less_equal
    cls.__gt__ = greater
    cls.__ge__ = greater_equal
    cls.__eq__ = equal
    cls.__ne__ = not_equal
    cls.__neg__ = negate
    cls.__invert__ = bitwise_not
    cls.astype = _astype
    cls.equal = _equal
    cls.__hash__ = object.__hash__


install(ExprOp)


def is_string(expr: Any) -> bool:
    """Whether `expr` is a text constant."""
    return type(expr) is StringImm
