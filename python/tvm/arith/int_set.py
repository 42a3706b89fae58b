"""Sets of integers: intervals whose limits are expressions."""

from __future__ import annotations

from tvm import tir
from tvm.ir.expr import Range, as_expr
from tvm.runtime.object import Object

from .index_algebra import Interval

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .analyzer import Analyzer

_POS_INF = tir.Var("pos_inf", "handle")
_NEG_INF = tir.Var("neg_inf", "handle")


def pos_inf() -> Any:
    """The limit of a set that has none above."""
    return _POS_INF


def neg_inf() -> Any:
    """The limit of a set that has none below."""
    return _NEG_INF


class IntSet(Object):
    """A set of integers."""

    __slots__ = ()
    type_key = "arith.IntSet"

    def is_nothing(self) -> bool:
        """Whether no integer is in it."""
        return False

    def is_everything(self) -> bool:
        """Whether every integer is in it."""
        return False

    @staticmethod
    def vector(vec: Any) -> IntervalSet:
        """All lanes of a vector."""
        if isinstance(vec, tir.Ramp):
            from .analyzer import Analyzer

            analyzer = Analyzer()
            first = vec.base
            last = analyzer.simplify(vec.base + vec.stride * (vec.lanes - 1))
            if analyzer.can_prove(vec.stride >= 0):
                return IntervalSet(first, last)
            if analyzer.can_prove(vec.stride <= 0):
                return IntervalSet(last, first)
            return IntervalSet(tir.op.min(first, last), tir.op.max(first, last))
        if isinstance(vec, tir.Broadcast):
            return IntervalSet(vec.value, vec.value)
        return IntervalSet(vec, vec)

    @staticmethod
    def single_point(point: Any) -> IntervalSet:
        """One value."""
        return IntervalSet(point, point)


class IntervalSet(IntSet):
    """The integers from `min_value` to `max_value`."""

    __slots__ = ("max_value", "min_value")
    type_key = "arith.IntervalSet"

    def __init__(self, min_value: Any, max_value: Any) -> None:
        self.min_value = as_expr(min_value)
        self.max_value = as_expr(max_value)

    def is_everything(self) -> bool:
        return self.min_value is _NEG_INF and self.max_value is _POS_INF

    def is_nothing(self) -> bool:
        return self.min_value is _POS_INF

    def __repr__(self) -> str:
        return f"IntervalSet[{self.min_value}, {self.max_value}]"


def _of(item: Any) -> IntervalSet:
    if isinstance(item, IntervalSet):
        return item
    if isinstance(item, Range):
        return IntervalSet(item.min, item.min + item.extent - 1)
    return IntervalSet(item, item)


def evaluate(analyzer: Analyzer, expr: Any, dom_map: Any) -> IntervalSet:
    """The interval of the values of `expr` while variables take those of their sets."""
    algebra = analyzer._make_algebra()
    env = {}
    for var, item in dom_map.items():
        var = getattr(var, "var", var)
        given = _of(item)
        low = None if given.min_value is _NEG_INF else algebra.poly(given.min_value)
        high = None if given.max_value is _POS_INF else algebra.poly(given.max_value)
        env[algebra.key(var)] = Interval(low, high)
    expr = as_expr(expr)
    found = algebra.interval(expr, env)
    low_expr = _NEG_INF if found.low is None else algebra.expr(found.low, expr.dtype)
    high_expr = _POS_INF if found.high is None else algebra.expr(found.high, expr.dtype)
    return IntervalSet(low_expr, high_expr)


def union_lower_bound(int_sets: Any) -> IntervalSet:
    """An interval all of whose values are in one of the sets at least.

    It is as long as can be made by joining to the first set those of which it is known that they
    leave no gap.
    """
    sets = [_of(item) for item in int_sets]
    sets = [item for item in sets if not item.is_nothing()]
    if not sets:
        return IntervalSet(_POS_INF, _NEG_INF)
    from .analyzer import Analyzer

    analyzer = Analyzer()
    best, left = sets[0], sets[1:]
    changed = True
    while changed:
        changed = False
        for item in left:
            if _reaches(analyzer, item, best) and _reaches(analyzer, best, item):
                best = IntervalSet(
                    _lesser(analyzer, best.min_value, item.min_value, True),
                    _lesser(analyzer, best.max_value, item.max_value, False),
                )
                left.remove(item)
                changed = True
                break
    return best


def _infinite(limit: Any) -> bool:
    return limit is _POS_INF or limit is _NEG_INF


def _reaches(analyzer: Analyzer, a: IntervalSet, b: IntervalSet) -> bool:
    """Whether `a` begins before or just where `b` ends."""
    if a.min_value is _NEG_INF or b.max_value is _POS_INF:
        return True
    if _infinite(a.min_value) or _infinite(b.max_value):
        return False
    return analyzer.can_prove(a.min_value <= b.max_value + 1)


def _lesser(analyzer: Analyzer, x: Any, y: Any, least: bool) -> Any:
    """The lesser (or greater) limit."""
    infinite = _NEG_INF if least else _POS_INF
    if x is infinite or y is infinite:
        return infinite
    return analyzer.simplify(tir.op.min(x, y) if least else tir.op.max(x, y))
