"""Linear inequalities over the integers, by elimination of one variable after another."""

from __future__ import annotations

from math import gcd

from tvm import error, tir
from tvm.ir.dtype import info
from tvm.ir.expr import Range
from tvm.tir import IntImm
from tvm.tir.stmt_functor import substitute

from .analyzer import Analyzer
from .index_algebra import Algebra, Poly, add
from .int_constraints import (
    IntConstraints,
    IntConstraintsTransform,
    Linear,
    contradiction,
    system_of,
)
from .int_set import IntervalSet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Bounds:
    """What is known of one variable: (factor, poly) with factor * var >= poly, or <=."""

    __slots__ = ("lower", "upper")

    def __init__(self) -> None:
        self.lower: list[tuple[int, Poly]] = []
        self.upper: list[tuple[int, Poly]] = []


def _tightened(poly: Poly) -> Poly:
    """An integer polynomial that is not positive, divided by what divides all its factors."""
    divisor = 0
    for mono, coeff in poly.items():
        if mono:
            divisor = gcd(divisor, coeff)
    if divisor <= 1:
        return poly
    out = {mono: coeff // divisor for mono, coeff in poly.items() if mono}
    constant = -(-poly.get((), 0) // divisor)
    if constant:
        out[()] = constant
    return out


def _multiple(poly: Poly, factor: int) -> Poly:
    return {mono: coeff * factor for mono, coeff in poly.items()}


class _Eliminated:
    """A system of inequalities with its variables eliminated one after another."""

    def __init__(self, src: IntConstraints) -> None:
        self.src = src
        self.linear = Linear(src.variables)
        self.bounds: list[_Bounds] = []
        # What is not linear in the variables.
        self.others: list[Any] = []
        self.impossible = False
        # Conditions on what is not a variable.
        self.rest: list[Poly] = []
        self._run()

    def _inequalities(self) -> list[Poly]:
        algebra = self.linear.algebra
        found: list[Poly] = []

        def note(item: Any, less: Any, more: Any, strict: bool) -> None:
            poly = add(algebra.poly(less), algebra.poly(more), -1)
            if strict:
                poly = add(poly, {(): 1})
            if self.linear.split(poly) is None:
                if item is not None and item not in self.others:
                    self.others.append(item)
                return
            found.append(_tightened(poly))

        for var in self.src.variables:
            dom = self.src.ranges.get(var)
            if dom is not None:
                note(None, dom.min, var, False)
                note(None, var, dom.min + dom.extent, True)
        for item in self.src.relations:
            kind = type(item)
            if kind in (tir.LT, tir.LE) and info(item.a.dtype).is_int:
                note(item, item.a, item.b, kind is tir.LT)
            elif kind in (tir.GT, tir.GE) and info(item.a.dtype).is_int:
                note(item, item.b, item.a, kind is tir.GT)
            elif kind is tir.EQ and info(item.a.dtype).is_int:
                note(item, item.a, item.b, False)
                if item not in self.others:
                    note(item, item.b, item.a, False)
            elif isinstance(item, IntImm):
                self.impossible = self.impossible or not item.value
            else:
                self.others.append(item)
        return found

    def _run(self) -> None:
        current = self._unique(self._inequalities())
        for key in self.linear.keys:
            bounds = _Bounds()
            rest: list[Poly] = []
            for poly in current:
                factor = poly.get((key,), 0)
                if not factor:
                    rest.append(poly)
                    continue
                other = {mono: coeff for mono, coeff in poly.items() if mono != (key,)}
                if factor > 0:
                    bounds.upper.append((factor, {m: -c for m, c in other.items()}))
                else:
                    bounds.lower.append((-factor, other))
            for above, high in bounds.upper:
                for below, low in bounds.lower:
                    # above * var <= high and below * var >= low
                    common = gcd(above, below)
                    joined = add({}, low, above // common)
                    rest.append(_tightened(add(joined, high, -(below // common))))
            self.bounds.append(bounds)
            current = self._unique(rest)
        self.rest = current
        self._drop_implied()

    def _drop_implied(self) -> None:
        """Leave out bounds of a variable that others imply, by what later variables are."""
        analyzer = Analyzer()
        sets: dict[Any, IntervalSet] = {}
        for index in reversed(range(len(self.src.variables))):
            bounds = self.bounds[index]
            bounds.lower = self._strongest(analyzer, bounds.lower, 1)
            bounds.upper = self._strongest(analyzer, bounds.upper, -1)
            dom = self.range_of(index, analyzer, sets)
            if dom is not None:
                var = self.src.variables[index]
                analyzer.bind(var, dom)
                sets[var] = _set_of(analyzer, dom, sets)

    def _strongest(
        self, analyzer: Analyzer, bounds: list[tuple[int, Poly]], sign: int
    ) -> list[tuple[int, Poly]]:
        kept = list(bounds)
        for item in bounds:
            factor, poly = item
            for other_factor, other in kept:
                if other is poly:
                    continue
                # other / other_factor is at least (sign 1) or at most (-1) poly / factor
                gap = add(_multiple(other, factor), poly, -other_factor)
                if analyzer.can_prove(self.linear.expr(_multiple(gap, sign)) >= 0):
                    kept = [x for x in kept if x is not item]
                    break
        return kept

    def _unique(self, polys: list[Poly]) -> list[Poly]:
        """Without what always holds and what another says better; notes what never holds."""
        best: dict[Any, Poly] = {}
        for poly in polys:
            terms = tuple(sorted((m, c) for m, c in poly.items() if m))
            if not terms:
                if poly.get((), 0) > 0:
                    self.impossible = True
                continue
            known = best.get(terms)
            if known is None or known.get((), 0) < poly.get((), 0):
                best[terms] = poly
        return list(best.values())

    def conditions(self, index: int) -> list[Any]:
        """What is known of one variable, as conditions."""
        var = self.src.variables[index]
        bounds, expr = self.bounds[index], self.linear.expr
        out: list[Any] = []
        equal = [item for item in bounds.lower if item in bounds.upper]
        for factor, poly in equal:
            out.append(tir.EQ(_times(var, factor), expr(poly)))
        for factor, poly in bounds.lower:
            if (factor, poly) not in equal:
                out.append(tir.GE(_times(var, factor), expr(poly)))
        for factor, poly in bounds.upper:
            if (factor, poly) not in equal:
                out.append(tir.LE(_times(var, factor), expr(poly)))
        return out

    def rest_conditions(self) -> list[Any]:
        """What is known of other things than the variables."""
        return [tir.LE(self.linear.expr(poly), IntImm(self.linear.dtype, 0)) for poly in self.rest]

    def range_of(self, index: int, analyzer: Analyzer, sets: dict[Any, IntervalSet]) -> Any:
        """The shortest range of a variable by its bounds, None if it has none.

        Its extent is the greatest over all values of the variables solved before.
        """
        expr, best = self.linear.expr, None
        for below, low in self.bounds[index].lower:
            lower = expr(low)
            if below > 1:
                lower = tir.floordiv(lower + (below - 1), below)
            lower = analyzer.simplify(lower)
            for above, high in self.bounds[index].upper:
                upper = expr(high)
                if above > 1:
                    upper = tir.floordiv(upper, above)
                extent = analyzer.simplify(upper - lower + 1)
                found = analyzer.int_set(extent, sets).max_value
                if found.dtype == "handle" or tir.stmt_functor.uses_var(found, set(sets)):
                    continue
                size = analyzer.bound(found)[1]
                if best is None or size < best[0]:
                    best = (size, Range.from_min_extent(lower, analyzer.simplify(found)))
        return None if best is None else best[1]


def _times(var: Any, factor: int) -> Any:
    return var if factor == 1 else var * factor


def solve_inequalities_as_condition(variables: Any, ranges: Any, inequalities: Any) -> list[Any]:
    """Conditions on each variable by those after it, then all others.

    The parameters are those of `solve_linear_inequalities`.
    """
    found = _Eliminated(system_of(inequalities, variables, ranges))
    if found.impossible:
        return [IntImm("bool", 0)]
    out: list[Any] = []
    for index in range(len(found.src.variables)):
        out += found.conditions(index)
    return out + found.rest_conditions() + found.others


def solve_linear_inequalities(
    equations: Any, variables: Any = None, ranges: Any = None, deskew_range: bool = False
) -> Any:
    """Solve inequalities over the integers.

    Parameters
    ----------
    equations : list of PrimExpr or IntConstraints
        The inequalities, linear in the variables.
    variables : list of Var, optional
        The unknowns; by default all variables that occur. The range of each may depend on those
        after it.
    ranges : dict of Var to Range, optional
        Ranges of some of them.
    deskew_range : bool
        Whether to give new variables whose ranges begin at 0.

    Returns
    -------
    IntConstraints or IntConstraintsTransform
        The ranges, and the relations that they do not say yet; with `deskew_range` the system in
        the new variables. Without a solution the only relation is false.

    Examples
    --------
    >>> import tvm
    >>> x, y = tvm.tir.Var("x"), tvm.tir.Var("y")
    >>> ranges = {x: tvm.ir.Range(-100, 100), y: tvm.ir.Range(0, 10)}
    >>> system = [tvm.tir.LE(x + y, 20), tvm.tir.GE(x - y, 10)]
    >>> tvm.arith.solve_linear_inequalities(system, [x, y], ranges).ranges[y]
    I.Range(0, 6)
    """
    src = system_of(equations, variables, ranges)
    for var in src.variables:
        if not info(var.dtype).is_int:
            raise error.TypeError_(f"solve_linear_inequalities: {var.name} is a {var.dtype}")
    found = _Eliminated(src)
    return _deskewed(found) if deskew_range else _to_ranges(found)


def _open(analyzer: Analyzer, conditions: list[Any]) -> list[Any] | None:
    """The conditions that are not known to hold; None if one never does."""
    out = []
    for cond in conditions:
        made = _normal(analyzer, cond)
        if not isinstance(made, IntImm):
            out.append(made)
        elif not made.value:
            return None
    return out


def _normal(analyzer: Analyzer, cond: Any) -> Any:
    """A comparison with its variables to the left and its constant to the right."""
    if type(cond) not in (tir.LE, tir.GE, tir.EQ):
        return analyzer.simplify(cond)
    made = analyzer.simplify(cond)
    if type(made) is not type(cond):
        return made
    algebra = Algebra()
    poly = add(algebra.poly(made.a), algebra.poly(made.b), -1)
    constant = poly.pop((), 0)
    dtype = made.a.dtype
    if poly and all(coeff < 0 for coeff in poly.values()):
        kind = {tir.LE: tir.GE, tir.GE: tir.LE, tir.EQ: tir.EQ}[type(cond)]
        left = {mono: -coeff for mono, coeff in poly.items()}
        return kind(algebra.expr(left, dtype), IntImm(dtype, constant))
    return type(cond)(algebra.expr(poly, dtype), IntImm(dtype, -constant))


def _to_ranges(found: _Eliminated) -> IntConstraints:
    src, analyzer = found.src, Analyzer()
    none = IntConstraints(src.variables, {}, [False])
    if found.impossible:
        return none
    ranges: dict[Any, Range] = {}
    sets: dict[Any, IntervalSet] = {}
    for index in reversed(range(len(src.variables))):
        dom = found.range_of(index, analyzer, sets)
        if dom is None:
            continue
        if analyzer.can_prove(dom.extent <= 0):
            return none
        var = src.variables[index]
        ranges[var] = dom
        analyzer.bind(var, dom)
        sets[var] = _set_of(analyzer, dom, sets)
    conditions: list[Any] = []
    for index in range(len(src.variables)):
        conditions += found.conditions(index)
    relations = []
    for cond in conditions + found.rest_conditions() + found.others:
        if not analyzer.can_prove(cond):
            if isinstance(analyzer.simplify(cond), IntImm):
                return none
            relations.append(cond)
    ordered = {var: ranges[var] for var in src.variables if var in ranges}
    return IntConstraints(src.variables, ordered, relations)


def _set_of(analyzer: Analyzer, dom: Range, sets: dict[Any, IntervalSet]) -> IntervalSet:
    """All values of a range whose limits depend on other variables."""
    low = analyzer.int_set(dom.min, sets).min_value
    high = analyzer.int_set(analyzer.simplify(dom.min + dom.extent - 1), sets).max_value
    return IntervalSet(low, high)


def _deskewed(found: _Eliminated) -> IntConstraintsTransform:
    src, analyzer = found.src, Analyzer()
    if found.impossible:
        return contradiction(src)
    src_to_dst: dict[Any, Any] = {}
    dst_to_src: dict[Any, Any] = {}
    ranges: dict[Any, Range] = {}
    sets: dict[Any, IntervalSet] = {}
    old = Analyzer()
    for index in reversed(range(len(src.variables))):
        var = src.variables[index]
        dom = found.range_of(index, old, sets)
        if dom is None:
            fresh = var.copy_with_suffix(".shifted")
            src_to_dst[var], dst_to_src[fresh] = fresh, var
            continue
        if old.can_prove(dom.extent <= 0):
            return contradiction(src)
        old.bind(var, dom)
        sets[var] = _set_of(old, dom, sets)
        lower = analyzer.simplify(substitute(dom.min, src_to_dst))
        if isinstance(dom.extent, IntImm) and dom.extent.value == 1:
            src_to_dst[var] = lower
            continue
        fresh = var.copy_with_suffix(".shifted")
        ranges[fresh] = Range(0, dom.extent)
        analyzer.bind(fresh, ranges[fresh])
        src_to_dst[var] = analyzer.simplify(fresh + lower)
        dst_to_src[fresh] = _difference(var, dom.min)
    conditions: list[Any] = []
    for index in range(len(src.variables)):
        conditions += found.conditions(index)
    conditions += found.rest_conditions() + found.others
    relations = _open(analyzer, [substitute(item, src_to_dst) for item in conditions])
    if relations is None:
        return contradiction(src)
    variables = list(reversed(dst_to_src))
    dst = IntConstraints(variables, {v: ranges[v] for v in variables if v in ranges}, relations)
    return IntConstraintsTransform(src, dst, src_to_dst, dst_to_src)


def _difference(var: Any, lower: Any) -> Any:
    """var - lower, with nothing taken for known of either."""
    return Analyzer().simplify(var - lower)
