"""What a condition says of one variable, and of several."""

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

_COMPARISONS = (tir.LT, tir.LE, tir.GT, tir.GE, tir.EQ)
_MIRRORED = {tir.LT: tir.GT, tir.LE: tir.GE, tir.GT: tir.LT, tir.GE: tir.LE, tir.EQ: tir.EQ}


class _Unknown(Exception):
    pass


def nothing() -> IntervalSet:
    """The empty set."""
    return IntervalSet(pos_inf(), neg_inf())


def _count(expr: Any, var: Any) -> int:
    """How often a variable occurs, shared expressions counted each time."""
    kind = type(expr)
    if expr is var:
        return 1
    if not expr.kinds & (tir.Var.KIND | tir.SizeVar.KIND):
        return 0
    if hasattr(expr, "a") and hasattr(expr, "b"):
        return _count(expr.a, var) + _count(expr.b, var)
    total = 0
    for name, field in kind.fields:
        value = getattr(expr, name)
        if field == "e" and value is not None:
            total += _count(value, var)
        elif field == "es":
            total += sum(_count(item, var) for item in value)
    return total


class _Deducer:
    """Brings a variable to one side of a comparison, step by step."""

    def __init__(self, var: Any, hint_map: dict[Any, Any], relax_map: dict[Any, Any]) -> None:
        self._var = var
        self._relax = relax_map
        self._analyzer = Analyzer()
        # What is simplified stays true when the hints are not.
        self._plain = Analyzer()
        for key, given in {**relax_map, **hint_map}.items():
            if key is not var:
                _bind(self._analyzer, key, given)

    def run(self, cond: Any) -> IntervalSet:
        """The values for which the condition is known to hold."""
        kind = type(cond)
        if (
            kind not in _COMPARISONS
            or not info(cond.a.dtype).is_int
            or _count(cond, self._var) != 1
        ):
            return nothing()
        side, result = cond.a, cond.b
        if uses_var(cond.b, self._var):
            side, result, kind = cond.b, cond.a, _MIRRORED[kind]
        if kind is tir.LT:
            kind, result = tir.LE, result - 1
        elif kind is tir.GT:
            kind, result = tir.GE, result + 1
        try:
            result, kind = self._solve(side, result, kind)
        except _Unknown:
            return nothing()
        if kind is tir.EQ:
            return IntervalSet(result, result)
        return IntervalSet(result, pos_inf()) if kind is tir.GE else IntervalSet(neg_inf(), result)

    def _solve(self, side: Any, result: Any, kind: Any) -> tuple[Any, Any]:
        result = self._relaxed(result, kind)
        while side is not self._var:
            step = type(side)
            if step is tir.Add or step is tir.Sub or step is tir.Mul:
                left = uses_var(side.a, self._var)
                inner, other = (side.a, side.b) if left else (side.b, side.a)
                if step is tir.Add:
                    result = result - other
                elif step is tir.Sub:
                    if left:
                        result = result + other
                    else:
                        result, kind = other - result, _MIRRORED[kind]
                else:
                    result, kind = self._by_factor(result, other, kind)
                side = inner
            elif step is tir.FloorDiv and not uses_var(side.b, self._var):
                result = self._by_quotient(result, side.b, kind)
                side = side.a
            else:
                raise _Unknown
            result = self._relaxed(result, kind)
        return result, kind

    def _by_factor(self, result: Any, factor: Any, kind: Any) -> tuple[Any, Any]:
        low, high = self._analyzer.bound(factor)
        if low <= 0 <= high:
            raise _Unknown
        if high < 0:
            kind = _MIRRORED[kind]
        if kind is tir.EQ:
            if not self._analyzer.can_prove_equal(tir.floormod(result, factor), 0):
                raise _Unknown
            return tir.floordiv(result, factor), kind
        if kind is tir.LE:
            return tir.floordiv(result, factor), kind
        if isinstance(factor, IntImm):
            # Rounded up.
            return 0 - tir.floordiv(0 - result, factor), kind
        if self._analyzer.can_prove_equal(tir.floormod(result, factor), 0):
            return tir.floordiv(result, factor), kind
        return tir.floordiv(result, factor) + 1, kind

    def _by_quotient(self, result: Any, divisor: Any, kind: Any) -> Any:
        if not isinstance(divisor, IntImm) or divisor.value <= 0 or kind is tir.EQ:
            raise _Unknown
        if kind is tir.GE:
            return result * divisor
        return result * divisor + (divisor.value - 1)

    def _relaxed(self, result: Any, kind: Any) -> Any:
        """The result for which the comparison holds whatever the relaxed variables are."""
        result = self._plain.simplify(result)
        if not self._relax or not uses_var(result, set(self._relax)):
            return result
        found = self._analyzer.int_set(result, self._relax)
        if kind is tir.EQ and not self._analyzer.can_prove_equal(found.min_value, found.max_value):
            raise _Unknown
        limit = found.max_value if kind is tir.GE else found.min_value
        if limit.same_as(pos_inf()) or limit.same_as(neg_inf()):
            raise _Unknown
        return self._plain.simplify(limit)


def _bind(analyzer: Analyzer, var: Any, given: Any) -> None:
    """Tell an analyzer of what set a variable is."""
    if isinstance(given, Range):
        analyzer.bind(var, given)
    elif isinstance(given, IntervalSet):
        from .const_bound import NEG_INF, POS_INF, ConstIntBound

        low = given.min_value
        high = given.max_value
        least = NEG_INF if low.same_as(neg_inf()) else analyzer.bound(low)[0]
        most = POS_INF if high.same_as(pos_inf()) else analyzer.bound(high)[1]
        analyzer.update(var, ConstIntBound(least, most))
    else:
        analyzer.bind(var, given)


def _sets(given: Any) -> dict[Any, Any]:
    return {getattr(var, "var", var): item for var, item in dict(given).items()}


def deduce_bound(var: Any, cond: Any, hint_map: Any, relax_map: Any) -> IntervalSet:
    """Values of a variable for which a comparison holds.

    Parameters
    ----------
    var : Var
        The variable, which must occur once in the condition.
    cond : PrimExpr
        A comparison of integer expressions.
    hint_map : dict of Var to IntervalSet
        Sets of other variables, which decide the signs of factors; they stay in the result.
    relax_map : dict of Var to IntervalSet
        Variables that must not be in the result: the condition holds for all their values.

    Returns
    -------
    IntervalSet
        For every value in it the condition holds. It is empty when nothing is known.

    Examples
    --------
    >>> import tvm
    >>> a, b = tvm.tir.Var("a"), tvm.tir.Var("b")
    >>> tvm.arith.deduce_bound(a, a * 4 + b < 20, {}, {b: tvm.arith.IntervalSet(0, 3)})
    IntervalSet[neg_inf, 4]
    """
    return _Deducer(getattr(var, "var", var), _sets(hint_map), _sets(relax_map)).run(as_expr(cond))


def _conjuncts(cond: Any) -> list[Any]:
    if type(cond) is tir.And:
        return _conjuncts(cond.a) + _conjuncts(cond.b)
    if type(cond) is tir.Not:
        inner = cond.a
        if type(inner) is tir.Or:
            return _conjuncts(tir.Not(inner.a)) + _conjuncts(tir.Not(inner.b))
        other = {tir.LT: tir.GE, tir.LE: tir.GT, tir.GT: tir.LE, tir.GE: tir.LT, tir.NE: tir.EQ,
                 tir.EQ: tir.NE}.get(type(inner))  # fmt: skip
        if other is not None:
            return _conjuncts(other(inner.a, inner.b))
    if type(cond) is tir.Call and getattr(cond.op, "name", "") == "tir.likely":
        return _conjuncts(cond.args[0])
    if type(cond) in (tir.LT, tir.LE, tir.GT, tir.GE):
        less, more = (cond.a, cond.b) if type(cond) in (tir.LT, tir.LE) else (cond.b, cond.a)
        node = tir.LT if type(cond) in (tir.LT, tir.GT) else tir.LE
        if type(more) is tir.Min:
            return _conjuncts(node(less, more.a)) + _conjuncts(node(less, more.b))
        if type(less) is tir.Max:
            return _conjuncts(node(less.a, more)) + _conjuncts(node(less.b, more))
    return [cond]


def detect_clip_bound(expr: Any, var_list: Any) -> list[Any]:
    """The bounds that a conjunction of comparisons gives to variables.

    Parameters
    ----------
    expr : PrimExpr
        The condition.
    var_list : list of Var
        The variables.

    Returns
    -------
    list of PrimExpr or None
        ``[min_0, max_0, min_1, max_1, ...]``, None where there is no bound; an empty list when a
        comparison ties two of the variables together or is not linear in one.

    Examples
    --------
    >>> import tvm
    >>> a, b = tvm.tir.Var("a"), tvm.tir.Var("b")
    >>> tvm.arith.detect_clip_bound(tvm.tir.all(a * 1 < b * 6, a - 1 > 0), [a])
    [2, b * 6 - 1]
    """
    variables = [getattr(var, "var", var) for var in var_list]
    analyzer = Analyzer()
    found: list[Any] = [None] * (2 * len(variables))
    for cond in _conjuncts(as_expr(expr)):
        used = [number for number, var in enumerate(variables) if uses_var(cond, var)]
        if not used:
            continue
        if len(used) > 1:
            return []
        bounds = _clip(analyzer, cond, variables[used[0]])
        if bounds is None:
            return []
        for offset, (bound, joined) in enumerate(zip(bounds, (tir.op.max, tir.op.min))):
            place = 2 * used[0] + offset
            if bound is not None:
                known = found[place]
                found[place] = bound if known is None else analyzer.simplify(joined(known, bound))
    return found


def _clip(analyzer: Analyzer, cond: Any, var: Any) -> tuple[Any, Any] | None:
    """The bounds by one comparison, None if it is not linear in the variable."""
    from .linear import detect_linear_equation

    kind = type(cond)
    if kind not in _COMPARISONS:
        return None
    # factor * var + rest, compared with 0
    parts = detect_linear_equation(cond.a - cond.b, [var])
    if len(parts) != 2 or not isinstance(parts[0], IntImm) or parts[0].value == 0:
        return None
    factor, rest = parts[0].value, parts[1]
    if factor < 0:
        factor, rest, kind = -factor, 0 - rest, _MIRRORED[kind]
    if kind is tir.LT:
        rest = rest + 1
    elif kind is tir.GT:
        rest = rest - 1
    upper = analyzer.simplify(tir.floordiv(0 - rest, factor))
    lower = analyzer.simplify(0 - tir.floordiv(rest, factor))
    if kind in (tir.LT, tir.LE):
        return None, upper
    return (lower, None) if kind in (tir.GT, tir.GE) else (lower, upper)
