"""Which iterations of a computation read one given element.

A read X[2*i + r] at the element x: the unknowns i and r fulfil 2*i + r == x. What can be solved
becomes an expression of x and of the unknowns that are left; those are summed over.
"""

from __future__ import annotations

from tvm import tir
from tvm.arith.index_algebra import Algebra, Poly, add, const, constant
from tvm.ir.expr import Range
from tvm.tir import IntImm, IterVar, PrimExpr, Var, stmt_functor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_STEPS = 100


class Solution:
    """Solved unknowns, what is left, and the conditions under which there is an iteration.

    Attributes
    ----------
    values : dict of Var to PrimExpr
        Solved unknowns in terms of the element and of the unknowns left.
    left : dict of Var to Range
        Unknowns that are not solved.
    conditions : list of PrimExpr
        What must hold.
    """

    def __init__(
        self,
        unknowns: list[IterVar],
        equations: list[tuple[PrimExpr, PrimExpr]],
        known: dict[Var, PrimExpr],
    ) -> None:
        self.algebra = algebra = Algebra()
        for var, extent in known.items():
            algebra.bind(var, 0, extent)
        self.domains: dict[Var, Range] = {}
        self.left: dict[Var, Range] = {}
        for iv in unknowns:
            self._add(iv.var, iv.dom)
        self.values: dict[Var, PrimExpr] = {}
        self.equations: list[PrimExpr] = [
            tir.subtract(*_matched(side, element)) for side, element in equations
        ]
        self.extra: list[PrimExpr] = []
        self.given_up: list[PrimExpr] = []
        for _ in range(_STEPS):
            if not self.equations or not self._step():
                break
        self._narrow()
        self.conditions = self._conditions()

    def _add(self, var: Var, dom: Range) -> None:
        self.left[var] = self.domains[var] = dom
        self.algebra.bind(var, dom.min, dom.extent)

    def _size(self, var: Var) -> float:
        extent = self.left[var].extent
        return float(extent.value) if isinstance(extent, IntImm) else float("inf")

    # ---- solving
    def _step(self) -> bool:
        """Solve one unknown, or turn a quotient into one; whether there was one."""
        algebra = self.algebra
        best: tuple[float, int, Var, int] | None = None
        for number, equation in enumerate(self.equations):
            poly = algebra.poly(equation)
            for var in list(self.left):
                coeff = poly.get((algebra.key(var),), 0)
                if abs(coeff) != 1 or self._elsewhere(poly, var):
                    continue
                size = self._size(var)
                if best is None or size > best[0]:
                    best = (size, number, var, coeff)
        if best is not None:
            _, number, var, coeff = best
            poly = algebra.poly(self.equations.pop(number))
            rest = dict(poly)
            del rest[(algebra.key(var),)]
            self._replace(var, {m: -c * coeff for m, c in rest.items()})
            return True
        return any(self._quotient(number) for number in range(len(self.equations)))

    def _elsewhere(self, poly: Poly, var: Var) -> bool:
        """Whether a variable occurs in a polynomial other than by itself."""
        algebra = self.algebra
        own = (algebra.key(var),)
        for mono in poly:
            if mono == own:
                continue
            for key in mono:
                if stmt_functor.uses_var(algebra._atoms[key], var):
                    return True
        return False

    def _replace(self, var: Var, value: Poly) -> None:
        expr = self.algebra.expr(self.algebra.merged(value), var.dtype)
        del self.left[var]
        mapping = {var: expr}
        self.equations = [stmt_functor.substitute(e, mapping) for e in self.equations]
        self.values = {v: stmt_functor.substitute(e, mapping) for v, e in self.values.items()}
        self.values[var] = expr
        self.extra = [stmt_functor.substitute(e, mapping) for e in self.extra]

    def _quotient(self, number: int) -> bool:
        """u // c == r: u is c*r + j for a new unknown j; u % c == r: u is c*q + r."""
        algebra = self.algebra
        poly = algebra.poly(self.equations[number])
        for wanted in (tir.FloorDiv, tir.FloorMod):
            for mono, coeff in poly.items():
                if len(mono) != 1 or abs(coeff) != 1:
                    continue
                atom = algebra._atoms[mono[0]]
                if type(atom) is not wanted or not isinstance(atom.b, IntImm):
                    continue
                if not stmt_functor.uses_var(atom, set(self.left)) or atom.b.value < 1:
                    continue
                rest = {m: -c * coeff for m, c in poly.items() if m != mono}
                if any(self._elsewhere(rest, var) for var in self.left):
                    continue
                result = algebra.expr(rest, atom.dtype)
                return self._open(number, atom, result, wanted is tir.FloorDiv)
        return False

    def _open(self, number: int, atom: Any, result: PrimExpr, quotient: bool) -> bool:
        zero, divisor = IntImm(atom.dtype, 0), atom.b
        if quotient:
            fresh = Var("j", atom.dtype)
            self._add(fresh, Range.from_min_extent(zero, divisor))
            self.equations[number] = atom.a - (result * divisor + fresh)
            return True
        low, high = self.algebra.bounds(self.algebra.poly(atom.a))
        if low is None or high is None:
            return False
        first, last = low // divisor.value, high // divisor.value
        fresh = Var("q", atom.dtype)
        dom = Range.from_min_extent(IntImm(atom.dtype, first), IntImm(atom.dtype, last - first + 1))
        self._add(fresh, dom)
        self.equations[number] = atom.a - (fresh * divisor + result)
        self.extra += [result >= zero, result < divisor]
        return True

    # ---- sums that are mostly empty
    def _narrow(self) -> None:
        """v = b - s*i in 0..R-1 leaves few values to i: i = b // s - q, v = b % s + s*q."""
        algebra = self.algebra
        for var in list(self.values):
            # replacing one unknown changes the values of others
            value, dom = self.values[var], self.domains[var]
            size = constant(algebra.poly(dom.extent))
            if size is None or algebra.poly(dom.min):
                continue
            poly = algebra.poly(value)
            for other in list(self.left):
                key = (algebra.key(other),)
                step = -poly.get(key, 0)
                if step < 2 or self._elsewhere(poly, other):
                    continue
                most = -(-size // step)
                known = constant(algebra.poly(self.left[other].extent))
                if known is not None and most >= known:
                    continue
                rest = {m: c for m, c in poly.items() if m != key}
                fresh = Var(other.name + ".q", other.dtype)
                self._add(
                    fresh,
                    Range.from_min_extent(IntImm(other.dtype, 0), IntImm(other.dtype, most)),
                )
                begin = algebra.floordiv(rest, const(step), other.dtype)
                self._replace(other, add(begin, {(algebra.key(fresh),): 1}, -1))
                break

    # ---- conditions
    def _conditions(self) -> list[PrimExpr]:
        algebra = self.algebra
        conds: list[PrimExpr] = []
        for var, value in self.values.items():
            dom = self.domains[var]
            offset = algebra.merged(add(algebra.poly(value), algebra.poly(dom.min), -1))
            if not algebra.nonnegative(offset):
                conds.append(tir.GE(algebra.expr(offset, var.dtype), IntImm(var.dtype, 0)))
            if not algebra.positive(add(algebra.poly(dom.extent), offset, -1)):
                extent = tir.cast(dom.extent, var.dtype)
                conds.append(tir.LT(algebra.expr(offset, var.dtype), extent))
        for equation in self.equations:
            poly = algebra.merged(algebra.poly(equation))
            if poly:
                zero = IntImm(equation.dtype, 0)
                conds.append(tir.EQ(algebra.expr(poly, equation.dtype), zero))
        conds += [c for c in self.extra if not (isinstance(c, IntImm) and c.value)]
        return conds


def _matched(a: PrimExpr, b: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
    if a.dtype == b.dtype:
        return a, b
    wide = "int64" if "int64" in (a.dtype, b.dtype) else a.dtype
    return tir.cast(a, wide), tir.cast(b, wide)
