"""Conditions that imply another whatever some of its variables are."""

from __future__ import annotations

from tvm import tir
from tvm.ir.dtype import info
from tvm.ir.expr import Range, as_expr
from tvm.tir import IntImm
from tvm.tir.stmt_functor import uses_var

from .analyzer import Analyzer
from .int_set import IntervalSet, neg_inf, pos_inf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NEGATED = {tir.LT: tir.GE, tir.LE: tir.GT, tir.GT: tir.LE, tir.GE: tir.LT, tir.EQ: tir.NE,
            tir.NE: tir.EQ}  # fmt: skip


class _Narrower:
    def __init__(self, free_parameters: dict[Any, Range]) -> None:
        self._analyzer = Analyzer()
        self._sets: dict[Any, IntervalSet] = {}
        for var, dom in free_parameters.items():
            last = self._analyzer.simplify(dom.min + dom.extent - 1)
            self._sets[var] = IntervalSet(dom.min, last)
            self._analyzer.bind(var, dom)
        self._free = set(free_parameters)

    def narrow(self, cond: Any) -> Any:
        """A condition without the free variables that implies `cond` for all of their values."""
        if not uses_var(cond, self._free):
            return cond
        kind = type(cond)
        if kind is tir.And:
            return tir.all(self.narrow(cond.a), self.narrow(cond.b))
        if kind is tir.Or:
            return tir.any(self.narrow(cond.a), self.narrow(cond.b))
        if kind is tir.Not:
            return self._negation(cond.a)
        if kind is tir.Call and getattr(cond.op, "name", "") == "tir.likely":
            return self.narrow(cond.args[0])
        if kind in _NEGATED and info(cond.a.dtype).is_int:
            return self._comparison(kind, cond.a, cond.b)
        return IntImm("bool", 0)

    def _negation(self, cond: Any) -> Any:
        kind = type(cond)
        if kind is tir.And:
            return tir.any(self.narrow(tir.Not(cond.a)), self.narrow(tir.Not(cond.b)))
        if kind is tir.Or:
            return tir.all(self.narrow(tir.Not(cond.a)), self.narrow(tir.Not(cond.b)))
        if kind is tir.Not:
            return self.narrow(cond.a)
        if kind in _NEGATED and info(cond.a.dtype).is_int:
            return self.narrow(_NEGATED[kind](cond.a, cond.b))
        return IntImm("bool", 0)

    def _comparison(self, kind: Any, a: Any, b: Any) -> Any:
        if kind is tir.EQ:
            return tir.all(self._comparison(tir.LE, a, b), self._comparison(tir.LE, b, a))
        if kind is tir.NE:
            return tir.any(self._comparison(tir.LT, a, b), self._comparison(tir.LT, b, a))
        greatest = kind in (tir.LT, tir.LE)
        if uses_var(a, self._free) and uses_var(b, self._free):
            # One side alone would forget that both move together.
            difference = self._analyzer.simplify(a - b)
            return self._comparison(kind, difference, IntImm(difference.dtype, 0))
        left, right = self._limit(a, greatest), self._limit(b, not greatest)
        if left is None or right is None:
            return IntImm("bool", 0)
        made = kind(left, right)
        if isinstance(left, IntImm) and isinstance(right, IntImm):
            return self._analyzer.simplify(made)
        return made

    def _limit(self, expr: Any, greatest: bool) -> Any:
        """The greatest or least value while the free variables move."""
        if not uses_var(expr, self._free):
            return expr
        found = self._analyzer.int_set(expr, self._sets)
        limit = found.max_value if greatest else found.min_value
        if limit.same_as(pos_inf()) or limit.same_as(neg_inf()) or uses_var(limit, self._free):
            return None
        return limit


def narrow_predicate_expression(expr: Any, free_parameters: Any) -> Any:
    """A condition that implies another, without some of its variables.

    Parameters
    ----------
    expr : PrimExpr
        The condition to be implied.
    free_parameters : dict of Var to Range
        The variables that the result must not depend on.

    Returns
    -------
    PrimExpr
        Where it holds, `expr` holds for all values of the free parameters.

    Examples
    --------
    >>> import tvm
    >>> i, n = tvm.tir.Var("i"), tvm.tir.Var("n")
    >>> narrow_predicate_expression(i // 4 < n, {i: tvm.ir.Range(0, 8)})
    1 < n
    """
    ranges = {getattr(var, "var", var): dom for var, dom in dict(free_parameters).items()}
    return _Narrower(ranges).narrow(as_expr(expr))
