"""What an access with moving indices touches: at least, at most, exactly."""

from __future__ import annotations

from tvm import tir
from tvm.ir.expr import Range, as_expr
from tvm.tir import IntImm

from .analyzer import Analyzer
from .int_set import IntervalSet
from .iter_affine_map import _analyzer_of, _detect
from .iter_rewrite import NotAMap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _affine(
    region: Any, var_dom: Any, predicate: Any
) -> tuple[Analyzer, list[tuple[Any, Any, Any]]] | None:
    """For every dimension its base, step and number of positions; None if they are not a box."""
    try:
        rewriter, found = _detect([item.min for item in region], var_dom, predicate, 1, True)
    except NotAMap:
        return None
    if rewriter.padded:
        return None
    steps = []
    for item in found:
        if not item.args:
            steps.append((item.base, IntImm(item.dtype, 0), IntImm(item.dtype, 1)))
        else:
            (part,) = item.args
            steps.append((item.base, part.scale, part.extent))
    return rewriter.analyzer, steps


def _covered(region: Any, var_dom: Any, predicate: Any) -> list[IntervalSet] | None:
    """The box that is touched without gaps."""
    doms = {getattr(var, "var", var): dom for var, dom in dict(var_dom).items()}
    for item in region:
        if tir.stmt_functor.uses_var(item.extent, set(doms)):
            return None
    found = _affine(region, doms, predicate)
    if found is None:
        return None
    analyzer, steps = found
    out = []
    for item, (base, step, count) in zip(region, steps):
        # The steps may go down, but not over anything.
        if not analyzer.can_prove(tir.all(step <= item.extent, 0 - step <= item.extent)):
            return None
        reach = analyzer.simplify(step * (count - 1))
        if analyzer.can_prove(step >= 0):
            low, high = base, base + reach
        elif analyzer.can_prove(step <= 0):
            low, high = base + reach, base
        else:
            return None
        out.append(IntervalSet(analyzer.simplify(low), analyzer.simplify(high + item.extent - 1)))
    return out


def estimate_region_lower_bound(
    region: Any, var_dom: Any, predicate: Any = True
) -> list[IntervalSet] | None:
    """What is certainly touched.

    Parameters
    ----------
    region : list of Range
        What one access touches.
    var_dom : dict of Var to Range
        The variables that move.
    predicate : PrimExpr
        Where they do.

    Returns
    -------
    list of IntervalSet or None
        One for every dimension; None when no box is known to be touched completely.
    """
    return _covered(region, var_dom, predicate)


def estimate_region_strict_bound(
    region: Any, var_dom: Any, predicate: Any = True
) -> list[IntervalSet] | None:
    """What is touched, exactly; None when that is no box, or is not known.

    The parameters are those of `estimate_region_lower_bound`.
    """
    # The box that is covered without gaps is also all that is reached.
    return _covered(region, var_dom, predicate)


def estimate_region_upper_bound(
    region: Any, var_dom: Any, predicate: Any = True
) -> list[IntervalSet]:
    """A box outside of which nothing is touched.

    The parameters are those of `estimate_region_lower_bound`.
    """
    exact = _covered(region, var_dom, predicate)
    if exact is not None:
        return exact
    analyzer, doms = _analyzer_of(var_dom)
    sets = {}
    with analyzer.constraint_scope(as_expr(predicate)):
        for var, dom in doms.items():
            sets[var] = _narrowed(analyzer, var, dom)
        out = []
        for item in region:
            low = analyzer.int_set(item.min, sets).min_value
            high = analyzer.int_set(item.min + item.extent - 1, sets).max_value
            out.append(IntervalSet(low, high))
    return out


def _narrowed(analyzer: Analyzer, var: Any, dom: Range) -> IntervalSet:
    """The set of a variable by its range and by what is assumed of it."""
    low, high = dom.min, analyzer.simplify(dom.min + dom.extent - 1)
    least, most = analyzer.bound(var)
    if isinstance(low, IntImm) and least > low.value:
        low = IntImm(low.dtype, least)
    if isinstance(high, IntImm) and most < high.value:
        high = IntImm(high.dtype, most)
    return IntervalSet(low, high)
