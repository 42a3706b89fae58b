"""Expressions of other expressions: arithmetic, comparisons, logic, casts, vectors.

Semantics, the same in the interpreter, the simplifier and every backend:

* integers wrap modulo 2^bits; dividing by zero at run time gives 0, the smallest int by -1 wraps;
* `Div`/`Mod` truncate toward zero (C), `FloorDiv`/`FloorMod` round toward minus infinity (Python);
* floats are IEEE in their own width; `Min`/`Max` return NaN when either operand is NaN;
* float -> int casts saturate, NaN gives 0; a cast to bool is "not equal to zero".
"""

from __future__ import annotations

from .. import error
from ..ir import dtype as _dtype
from ..ir.expr import PrimExpr
from .expr_values import DATA, IntImm, PrimExprWithOp, Var, below, const_of, convert, new_kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class UnaryOpExpr(PrimExprWithOp):
    """Base class of one-operand nodes."""

    __slots__ = ()


class BinaryOpExpr(PrimExprWithOp):
    """Base class of two-operand nodes; both operands have the node's type."""

    __slots__ = ("a", "b")
    FIELDS = "dtype:x a:e b:e"

    a: Any
    b: Any

    def __init__(self, a: Any, b: Any, span: object = None) -> None:
        try:
            dtype = a.dtype
            kinds = a.kinds | b.kinds
            if dtype != b.dtype:
                raise AttributeError
        except AttributeError:
            a, b = _operand_pair(type(self).__name__, a, b)
            dtype = a.dtype
            kinds = a.kinds | b.kinds
        self.a = a
        self.b = b
        self.dtype = dtype
        self.kinds = kinds | self.KIND
        depth = a.depth
        other = b.depth
        self.depth = (depth if depth > other else other) + 1


class CmpExpr(PrimExprWithOp):
    """Base class of comparisons and logic: two operands of one type, a bool result."""

    __slots__ = ("a", "b")
    FIELDS = "dtype:x a:e b:e"

    a: Any
    b: Any

    def __init__(self, a: Any, b: Any, span: object = None) -> None:
        try:
            dtype = a.dtype
            kinds = a.kinds | b.kinds
            if dtype != b.dtype:
                raise AttributeError
        except AttributeError:
            a, b = _operand_pair(type(self).__name__, a, b)
            dtype = a.dtype
            kinds = a.kinds | b.kinds
        self.a = a
        self.b = b
        self.dtype = "bool" if dtype == "int32" else _dtype.bool_like(dtype)
        self.kinds = kinds | self.KIND
        depth = a.depth
        other = b.depth
        self.depth = (depth if depth > other else other) + 1


def _operand_pair(name: str, a: Any, b: Any) -> tuple[Any, Any]:
    """Both operands as expressions of one type; a Python number takes the type of the other."""
    if not isinstance(a, PrimExpr) and isinstance(b, PrimExpr) and isinstance(a, (int, float)):
        a = const_of(a, b.dtype)
    a = convert(a)
    b = const_of(b, a.dtype) if isinstance(b, (int, float)) else convert(b)
    if a.dtype != b.dtype:
        raise error.TypeError_(
            f"tir.{name}: both operands must have one dtype, but got {a.dtype} and {b.dtype}"
        )
    return a, b


class Add(BinaryOpExpr):
    """a + b, wrapping."""

    __slots__ = ()
    type_key = "tir.Add"
    KIND = new_kind()


class Sub(BinaryOpExpr):
    """a - b, wrapping."""

    __slots__ = ()
    type_key = "tir.Sub"
    KIND = new_kind()


class Mul(BinaryOpExpr):
    """a * b, wrapping."""

    __slots__ = ()
    type_key = "tir.Mul"
    KIND = new_kind()


class Div(BinaryOpExpr):
    """a / b: ints truncate toward zero, and dividing by 0 gives 0; floats are IEEE."""

    __slots__ = ()
    type_key = "tir.Div"
    KIND = new_kind()


class Mod(BinaryOpExpr):
    """The remainder of `Div`: it has the sign of a; by 0 it gives 0."""

    __slots__ = ()
    type_key = "tir.Mod"
    KIND = new_kind()


class FloorDiv(BinaryOpExpr):
    """The quotient rounded toward minus infinity; dividing by 0 gives 0."""

    __slots__ = ()
    type_key = "tir.FloorDiv"
    KIND = new_kind()


class FloorMod(BinaryOpExpr):
    """The remainder of `FloorDiv`: it has the sign of b; by 0 it gives 0."""

    __slots__ = ()
    type_key = "tir.FloorMod"
    KIND = new_kind()


class Min(BinaryOpExpr):
    """The lesser operand; NaN when either is NaN."""

    __slots__ = ()
    type_key = "tir.Min"
    KIND = new_kind()


class Max(BinaryOpExpr):
    """The greater operand; NaN when either is NaN."""

    __slots__ = ()
    type_key = "tir.Max"
    KIND = new_kind()


class EQ(CmpExpr):
    """a == b. In an `if` of the host program: whether both are the same expression."""

    __slots__ = ()
    type_key = "tir.EQ"
    KIND = new_kind()

    def __bool__(self) -> bool:
        return _same_structure(self.a, self.b)

    def asobject(self) -> EQ:
        """This node."""
        return self


class NE(CmpExpr):
    """a != b. In an `if` of the host program: whether they are different expressions."""

    __slots__ = ()
    type_key = "tir.NE"
    KIND = new_kind()

    def __bool__(self) -> bool:
        return not _same_structure(self.a, self.b)

    def asobject(self) -> NE:
        """This node."""
        return self


def _same_structure(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is not type(b) or type(a) is Var:
        return False
    from ..ir.structural import exactly_equal

    return exactly_equal(a, b)


class LT(CmpExpr):
    """a < b."""

    __slots__ = ()
    type_key = "tir.LT"
    KIND = new_kind()


class LE(CmpExpr):
    """a <= b."""

    __slots__ = ()
    type_key = "tir.LE"
    KIND = new_kind()


class GT(CmpExpr):
    """a > b."""

    __slots__ = ()
    type_key = "tir.GT"
    KIND = new_kind()


class GE(CmpExpr):
    """a >= b."""

    __slots__ = ()
    type_key = "tir.GE"
    KIND = new_kind()


class LogicalExpr(CmpExpr):
    """Base class of and, or: bool operands."""

    __slots__ = ()

    def __init__(self, a: Any, b: Any, span: object = None) -> None:
        CmpExpr.__init__(self, a, b)
        if self.a.dtype != self.dtype:
            raise error.TypeError_(
                f"tir.{type(self).__name__}: expected bool operands, but got {self.a.dtype}"
            )


class And(LogicalExpr):
    """a and b; b is not evaluated where a is false."""

    __slots__ = ()
    type_key = "tir.And"
    KIND = new_kind()


class Or(LogicalExpr):
    """a or b; b is not evaluated where a is true."""

    __slots__ = ()
    type_key = "tir.Or"
    KIND = new_kind()


class Not(UnaryOpExpr):
    """not a."""

    __slots__ = ("a",)
    type_key = "tir.Not"
    KIND = new_kind()
    FIELDS = "dtype:x a:e"

    def __init__(self, a: Any, span: object = None) -> None:
        a = convert(a)
        if not _dtype.info(a.dtype).is_bool:
            raise error.TypeError_(f"tir.Not: expected a bool operand, but got {a.dtype}")
        self.a = a
        self.dtype = a.dtype
        self.kinds = a.kinds | self.KIND
        self.depth = a.depth + 1


class Cast(PrimExprWithOp):
    """`value` as another type of the same number of lanes.

    Ints wrap into narrower ints; floats saturate into ints and NaN gives 0; anything into bool is
    "not equal to zero"; narrowing floats rounds once, to nearest even.
    """

    __slots__ = ("value",)
    type_key = "tir.Cast"
    KIND = new_kind()
    FIELDS = "dtype:x value:e"

    def __init__(self, dtype: str, value: Any, span: object = None) -> None:
        value = convert(value)
        dtype = _dtype.canonical(dtype)
        to, given = _dtype.info(dtype), _dtype.info(value.dtype)
        if to.lanes != given.lanes:
            raise error.TypeError_(
                f"tir.Cast: the number of lanes cannot change, but got {given.text} to {to.text}"
            )
        self.dtype = dtype
        self.value = value
        kinds = value.kinds | self.KIND
        if not (given.kind == to.kind and given.is_int and to.bits >= given.bits):
            kinds |= DATA
        self.kinds = kinds
        self.depth = value.depth + 1


class Select(PrimExprWithOp):
    """One of two values; both may be evaluated."""

    __slots__ = ("condition", "false_value", "true_value")
    type_key = "tir.Select"
    KIND = new_kind()
    FIELDS = "dtype:x condition:e true_value:e false_value:e"

    def __init__(
        self, condition: Any, true_value: Any, false_value: Any, span: object = None
    ) -> None:
        condition = convert(condition)
        if type(condition) is IntImm and condition.dtype != "bool":
            condition = IntImm("bool", int(condition.value != 0))
        true_value, false_value = _operand_pair("Select", true_value, false_value)
        found, chosen = _dtype.info(condition.dtype), _dtype.info(true_value.dtype)
        if not found.is_bool or found.lanes not in (1, chosen.lanes):
            raise error.TypeError_(
                f"tir.Select: expected a bool condition with 1 or {chosen.lanes} lanes, but got "
                f"{condition.dtype}"
            )
        self.condition = condition
        self.true_value = true_value
        self.false_value = false_value
        self.dtype = true_value.dtype
        self.kinds = condition.kinds | true_value.kinds | false_value.kinds | self.KIND
        self.depth = max(condition.depth, true_value.depth, false_value.depth) + 1


# --- vectors --------------------------------------------------------------------------------------


def _lane_count(name: str, lanes: Any) -> int:
    if isinstance(lanes, IntImm):
        lanes = lanes.value
    if not isinstance(lanes, int) or lanes < 2:
        raise error.ValueError_(f"tir.{name}: expected 2 lanes or more, but got {lanes}")
    return lanes


class Ramp(PrimExprWithOp):
    """The vector base, base + stride, ..., base + (lanes - 1) * stride."""

    __slots__ = ("base", "lanes", "stride")
    type_key = "tir.Ramp"
    KIND = new_kind()
    FIELDS = "dtype:x base:e stride:e lanes:x"

    def __init__(self, base: Any, stride: Any, lanes: Any, span: object = None) -> None:
        base, stride = _operand_pair("Ramp", base, stride)
        found = _dtype.info(base.dtype)
        if found.lanes != 1 or not found.is_int:
            raise error.TypeError_(f"tir.Ramp: expected a scalar int base, but got {base.dtype}")
        self.base = base
        self.stride = stride
        self.lanes = _lane_count("Ramp", lanes)
        self.dtype = _dtype.with_lanes(base.dtype, self.lanes)
        self.kinds = base.kinds | stride.kinds | self.KIND
        self.depth = max(base.depth, stride.depth) + 1


class Broadcast(PrimExprWithOp):
    """The vector whose lanes are all `value`."""

    __slots__ = ("lanes", "value")
    type_key = "tir.Broadcast"
    KIND = new_kind()
    FIELDS = "dtype:x value:e lanes:x"

    def __init__(self, value: Any, lanes: Any, span: object = None) -> None:
        value = convert(value)
        if _dtype.info(value.dtype).lanes != 1:
            raise error.TypeError_(f"tir.Broadcast: expected a scalar, but got {value.dtype}")
        self.value = value
        self.lanes = _lane_count("Broadcast", lanes)
        self.dtype = _dtype.with_lanes(value.dtype, self.lanes)
        self.kinds = value.kinds | self.KIND
        self.depth = value.depth + 1


class Shuffle(PrimExprWithOp):
    """Chosen lanes of the concatenation of some vectors; the indices are constants."""

    __slots__ = ("indices", "vectors")
    type_key = "tir.Shuffle"
    KIND = new_kind()
    FIELDS = "dtype:x vectors:es indices:es"

    def __init__(self, vectors: Any, indices: Any, span: object = None) -> None:
        self.vectors = tuple(convert(item) for item in vectors)
        self.indices = tuple(convert(item) for item in indices)
        if not self.vectors or not self.indices:
            raise error.ValueError_("tir.Shuffle: expected at least one vector and one index")
        found = _dtype.info(self.vectors[0].dtype)
        total = 0
        for item in self.vectors:
            given = _dtype.info(item.dtype)
            if given.scalar != found.scalar:
                raise error.TypeError_(
                    f"tir.Shuffle: all vectors must have one element dtype, but got {found.text} "
                    f"and {given.text}"
                )
            total += given.lanes
        for index in self.indices:
            if not isinstance(index, IntImm) or not 0 <= index.value < total:
                raise error.ValueError_(
                    f"tir.Shuffle: expected constant indices in 0..{total - 1}, but got {index}"
                )
        self.dtype = _dtype.with_lanes(found.text, len(self.indices))
        self.kinds, self.depth = below(self.vectors + self.indices, self.KIND, 0)
        self.depth += 1
