"""Linear equations over the integers."""

from __future__ import annotations

from tvm import tir
from tvm.ir.dtype import info
from tvm.ir.expr import Range
from tvm.tir import IntImm
from tvm.tir.stmt_functor import substitute

from .analyzer import Analyzer
from .index_algebra import add
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

Matrix = list[list[int]]


def _identity(size: int) -> Matrix:
    return [[int(i == j) for j in range(size)] for i in range(size)]


def _smith(matrix: Matrix, columns: int) -> tuple[list[int], list[list[int]], Matrix, Matrix]:
    """Diagonal d, and U, V, V^-1 with U * matrix * V diagonal; U and V are unimodular."""
    rows = len(matrix)
    a = [list(row) for row in matrix]
    u, v, w = _identity(rows), _identity(columns), _identity(columns)

    def add_row(i: int, j: int, c: int) -> None:
        # row i += c * row j
        for m in (a, u):
            m[i] = [x + c * y for x, y in zip(m[i], m[j])]

    def add_column(i: int, j: int, c: int) -> None:
        # column i += c * column j; the inverse takes row i off row j
        for m in (a, v):
            for row in m:
                row[i] += c * row[j]
        w[j] = [x - c * y for x, y in zip(w[j], w[i])]

    diagonal: list[int] = []
    for step in range(min(rows, columns)):
        while True:
            pivots = [
                (abs(a[i][j]), j, i)
                for i in range(step, rows)
                for j in range(step, columns)
                if a[i][j]
            ]
            if not pivots:
                return diagonal, u, v, w
            _, column, row = min(pivots)
            for m in (a, u):
                m[step], m[row] = m[row], m[step]
            for m in (a, v):
                for line in m:
                    line[step], line[column] = line[column], line[step]
            w[step], w[column] = w[column], w[step]
            pivot = a[step][step]
            clean = True
            for i in range(step + 1, rows):
                add_row(i, step, -(a[i][step] // pivot))
                clean = clean and not a[i][step]
            for j in range(step + 1, columns):
                add_column(j, step, -(a[step][j] // pivot))
                clean = clean and not a[step][j]
            if clean:
                break
        if a[step][step] < 0:
            for m in (a, u):
                m[step] = [-x for x in m[step]]
        diagonal.append(a[step][step])
    return diagonal, u, v, w


def _combine(coefficients: list[int], items: list[Any], dtype: str) -> Any:
    total: Any = IntImm(dtype, 0)
    for factor, item in zip(coefficients, items):
        if factor:
            total = total + item * factor
    return total


def solve_linear_equations(
    equations: Any, variables: Any = None, ranges: Any = None
) -> IntConstraintsTransform:
    """Solve equations over the integers.

    Parameters
    ----------
    equations : list of PrimExpr or IntConstraints
        The equations, linear in the variables; their other parts may be anything.
    variables : list of Var, optional
        The unknowns; by default all variables that occur.
    ranges : dict of Var to Range, optional
        Ranges of some of them.

    Returns
    -------
    IntConstraintsTransform
        An equivalent system in as few variables as possible. Without a solution its only relation
        is false. Relations that are not linear stay.

    Examples
    --------
    >>> import tvm
    >>> x, y = tvm.tir.Var("x"), tvm.tir.Var("y")
    >>> equations = [tvm.tir.EQ(x + y, 20), tvm.tir.EQ(x - y, 10)]
    >>> tvm.arith.solve_linear_equations(equations, [x, y]).src_to_dst[x]
    15
    """
    src = system_of(equations, variables, ranges)
    names = src.variables
    linear = Linear(names)
    matrix: Matrix = []
    right: list[Any] = []
    others = []
    for item in src.relations:
        found = None
        if type(item) is tir.EQ and info(item.a.dtype).is_int:
            algebra = linear.algebra
            found = linear.split(add(algebra.poly(item.a), algebra.poly(item.b), -1))
        if found is None:
            others.append(item)
        else:
            matrix.append(found[0])
            right.append(linear.expr({mono: -c for mono, c in found[1].items()}))
    analyzer = Analyzer()
    diagonal, u, v, w = _smith(matrix, len(names))
    relations: list[Any] = []
    solved: list[Any] = []
    for row in range(len(matrix)):
        value = analyzer.simplify(_combine(u[row], right, linear.dtype))
        if row < len(diagonal):
            factor = diagonal[row]
            rest = analyzer.simplify(tir.floormod(value, factor))
            if not isinstance(rest, IntImm):
                relations.append(tir.EQ(rest, IntImm(rest.dtype, 0)))
            elif rest.value:
                return contradiction(src)
            solved.append(analyzer.simplify(tir.floordiv(value, factor)))
        elif isinstance(value, IntImm):
            if value.value:
                return contradiction(src)
        else:
            relations.append(tir.EQ(value, IntImm(value.dtype, 0)))
    free = range(len(diagonal), len(names))
    # The sign of a new variable is free: let it count as the first old one that it moves does.
    signs = {k: _sign(v, k) for k in free}
    fresh = [tir.Var(f"n{k - len(diagonal)}", linear.dtype) for k in free]
    inner = solved + [var if signs[k] > 0 else 0 - var for k, var in zip(free, fresh)]
    src_to_dst = {
        name: analyzer.simplify(_combine(v[i], inner, linear.dtype)) for i, name in enumerate(names)
    }
    dst_to_src = {
        var: analyzer.simplify(_combine([signs[k] * c for c in w[k]], names, linear.dtype))
        for k, var in zip(free, fresh)
    }
    dst_ranges = _ranges_of(dst_to_src, src.ranges)
    for var, dom in dst_ranges.items():
        analyzer.bind(var, dom)
    for name in names:
        dom_ = src.ranges.get(name)
        if dom_ is None:
            continue
        last = dom_.min + dom_.extent - 1
        for cond in (tir.LE(dom_.min, src_to_dst[name]), tir.LE(src_to_dst[name], last)):
            made = analyzer.simplify(cond)
            if not isinstance(made, IntImm):
                relations.append(made)
            elif not made.value:
                return contradiction(src)
    for item in others:
        made = analyzer.simplify(substitute(item, src_to_dst))
        if not isinstance(made, IntImm):
            relations.append(made)
        elif not made.value:
            return contradiction(src)
    dst = IntConstraints(fresh, dst_ranges, relations)
    return IntConstraintsTransform(src, dst, src_to_dst, dst_to_src)


def _sign(v: Matrix, column: int) -> int:
    for row in v:
        if row[column]:
            return 1 if row[column] > 0 else -1
    return 1


def _ranges_of(exprs: dict[Any, Any], ranges: dict[Any, Range]) -> dict[Any, Range]:
    """Ranges of variables that are expressions of others."""
    analyzer = Analyzer()
    out = {}
    sets = {
        var: IntervalSet(dom.min, analyzer.simplify(dom.min + dom.extent - 1))
        for var, dom in ranges.items()
    }
    for var, expr in exprs.items():
        found = analyzer.int_set(expr, sets)
        low, high = found.min_value, found.max_value
        moving = set(ranges)
        if "handle" in (low.dtype, high.dtype):
            continue
        free = tir.stmt_functor.uses_var
        if free(low, moving) or free(high, moving) or _undetermined(expr, ranges):
            continue
        out[var] = Range.from_min_extent(low, analyzer.simplify(high - low + 1))
    return out


def _undetermined(expr: Any, ranges: dict[Any, Range]) -> bool:
    """Whether an expression has variables without ranges."""
    return tir.stmt_functor.uses_var(expr, lambda var: var not in ranges)
