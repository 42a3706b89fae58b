"""How large index expressions get, as plain intervals of integers: fast, not always tight."""

from __future__ import annotations

from tvm import tir
from tvm.ir.dtype import info, int_range
from tvm.tir import IntImm, Var

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DATA = tir.expr.DATA
# A variable of unknown value, a size for instance, stays this far from the ends of its type, so
# that rounding it up to a multiple does not leave the type.
SLACK = 1 << 16
Range = tuple[int, int]


class IndexRanges:
    """Ranges of index expressions under the loops around.

    Attributes
    ----------
    known : dict of Var to (int, int)
        Least and greatest values of variables.
    """

    def __init__(self) -> None:
        self.known: dict[Var, Range] = {}
        # what `fits` asks for
        self._low = self._high = 0
        self._within = True

    def bind_sizes(self, buffers: Any) -> None:
        """Variables that are extents of buffers are not negative."""
        for buffer in buffers:
            for extent in buffer.shape:
                if isinstance(extent, Var):
                    self.known[extent] = (0, int_range(info(extent.dtype))[1] - SLACK)

    def bind(self, var: Var, low: Any, extent: Any) -> None:
        """Say that ``var`` is one of ``extent`` values from ``low`` on."""
        first, last = self.of(low), self.of(extent)
        self.known[var] = (first[0], max(first[0], first[1] + last[1] - 1))

    def _var(self, var: Var) -> Range:
        found = self.known.get(var)
        if found is None:
            low, high = int_range(info(var.dtype))
            found = (0 if type(var) is tir.SizeVar else low + SLACK, high - SLACK)
        return found

    def of(self, expr: Any) -> Range:
        """Least and greatest value of an integer expression, computed without wrapping."""
        rule = _RULES.get(type(expr))
        if rule is None or expr.kinds & DATA:
            return int_range(info(info(expr.dtype).scalar))
        found: Range = rule(self, expr)
        if found[0] < self._low or found[1] > self._high:
            self._within = False
        return found

    def fits(self, expr: Any, dtype: str) -> bool:
        """Whether an index expression and everything inside of it stays within a type."""
        self._low, self._high = int_range(info(dtype))
        self._within = True
        self.of(expr)
        return self._within


def _add(self: IndexRanges, op: Any) -> Range:
    (a, b), (c, d) = self.of(op.a), self.of(op.b)
    return a + c, b + d


def _sub(self: IndexRanges, op: Any) -> Range:
    (a, b), (c, d) = self.of(op.a), self.of(op.b)
    return a - d, b - c


def _mul(self: IndexRanges, op: Any) -> Range:
    (a, b), (c, d) = self.of(op.a), self.of(op.b)
    corners = (a * c, a * d, b * c, b * d)
    return min(corners), max(corners)


def _quotient(self: IndexRanges, op: Any) -> Range:
    (a, b), (c, d) = self.of(op.a), self.of(op.b)
    if c <= 0 <= d:
        # a division by 0 gives 0
        largest = max(abs(a), abs(b))
        return -largest, largest
    corners = (a // c, a // d, b // c, b // d)
    return min(corners) - 1, max(corners) + 1 if c < 0 else max(corners)


def _floordiv(self: IndexRanges, op: Any) -> Range:
    (a, b), (c, d) = self.of(op.a), self.of(op.b)
    if c > 0:
        corners = (a // c, a // d, b // c, b // d)
        return min(corners), max(corners)
    return _quotient(self, op)


def _remainder(self: IndexRanges, op: Any) -> Range:
    (a, b), (c, d) = self.of(op.a), self.of(op.b)
    if c > 0 and (a >= 0 or type(op) is tir.FloorMod):
        return 0, min(b, d - 1) if a >= 0 else d - 1
    largest = max(abs(c), abs(d))
    return -largest, largest


def _min(self: IndexRanges, op: Any) -> Range:
    (a, b), (c, d) = self.of(op.a), self.of(op.b)
    return min(a, c), min(b, d)


def _max(self: IndexRanges, op: Any) -> Range:
    (a, b), (c, d) = self.of(op.a), self.of(op.b)
    return max(a, c), max(b, d)


def _cast(self: IndexRanges, op: Any) -> Range:
    inner = info(op.value.dtype)
    if not inner.is_int:
        return int_range(info(info(op.dtype).scalar))
    low, high = int_range(info(info(op.dtype).scalar))
    a, b = self.of(op.value)
    return (a, b) if low <= a and b <= high else (low, high)


def _select(self: IndexRanges, op: Any) -> Range:
    (a, b), (c, d) = self.of(op.true_value), self.of(op.false_value)
    return min(a, c), max(b, d)


def _constant(self: IndexRanges, op: Any) -> Range:
    return op.value, op.value


_RULES: dict[type, Any] = {
    IntImm: _constant,
    Var: IndexRanges._var,
    tir.SizeVar: IndexRanges._var,
    tir.Add: _add,
    tir.Sub: _sub,
    tir.Mul: _mul,
    tir.Div: _quotient,
    tir.FloorDiv: _floordiv,
    tir.Mod: _remainder,
    tir.FloorMod: _remainder,
    tir.Min: _min,
    tir.Max: _max,
    tir.Cast: _cast,
    tir.Select: _select,
}


def retyped(expr: Any, dtype: str) -> Any:
    """An index expression computed in another integer type throughout."""
    if expr.dtype == dtype:
        return expr
    kind = type(expr)
    if kind is IntImm:
        return IntImm(dtype, expr.value)
    if kind is tir.Cast:
        inner = info(expr.value.dtype)
        if inner.is_int and not inner.is_bool and not expr.value.kinds & DATA:
            return retyped(expr.value, dtype)
    if isinstance(expr, tir.BinaryOpExpr):
        return kind(retyped(expr.a, dtype), retyped(expr.b, dtype))
    if kind is tir.Select:
        return tir.Select(
            expr.condition, retyped(expr.true_value, dtype), retyped(expr.false_value, dtype)
        )
    return tir.Cast(dtype, expr)
