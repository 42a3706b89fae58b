"""The analyzer: bounds, modular sets, simplification and proofs about integer expressions."""

from __future__ import annotations

from tvm import error, tir
from tvm.ir.deep import call_deep
from tvm.ir.dtype import info, int_range
from tvm.ir.expr import Range
from tvm.tir import IntImm

from .const_bound import NEG_INF, NORMAL_DEPTH, POS_INF, BoundAnalysis, ConstIntBound, is_index
from .index_algebra import Algebra, Poly, add, constant
from .modular import ModularAnalysis, ModularSet
from .rewrite import Rewriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_NEGATED = {tir.LT: tir.GE, tir.LE: tir.GT, tir.GT: tir.LE, tir.GE: tir.LT, tir.EQ: tir.NE,
            tir.NE: tir.EQ}  # fmt: skip


class ProofStrength:
    """How hard a proof may try; one way serves both here."""

    DEFAULT = 0
    SYMBOLIC_BOUND = 1


class ConstraintScope:
    """`with analyzer.constraint_scope(cond):` what is asked inside may assume the condition."""

    def __init__(self, enter: Callable[[], Callable[[], None]]) -> None:
        self._enter = enter
        self._leave: Callable[[], None] | None = None

    def __enter__(self) -> ConstraintScope:
        self._leave = self._enter()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._leave is not None:
            self._leave()


class Analyzer:
    """What is known of some variables, and what follows from it.

    Examples
    --------
    >>> import tvm
    >>> analyzer = tvm.arith.Analyzer()
    >>> x = tvm.tir.Var("x")
    >>> analyzer.bind(x, tvm.ir.Range(0, 8))
    >>> analyzer.simplify(x // 8), analyzer.can_prove(x < 8)
    (0, True)
    """

    def __init__(self) -> None:
        self._bounds: dict[Any, tuple[int, int]] = {}
        self._modular: dict[Any, tuple[int, int]] = {}
        self._values: dict[Any, Any] = {}
        self._ranges: dict[Any, Range] = {}
        self._assumed: list[Any] = []
        self._algebra: Algebra | None = None
        self._bound_analysis = BoundAnalysis(self._bounds, self._algebra_bound)
        self._modular_analysis = ModularAnalysis(self._modular)

    # --- knowledge ---

    def bind(self, var: tir.Var, expr: Any, allow_override: bool = True) -> None:
        """Say that a variable runs over a Range, or is the value of an expression."""
        if isinstance(expr, Range):
            if isinstance(expr.extent, IntImm) and expr.extent.value == 1:
                self.bind(var, expr.min)
                return
            low, _ = self.bound(expr.min)
            _, top = self.bound(expr.min + expr.extent)
            self._bounds[var] = (low, top if top == POS_INF else top - 1)
            self._ranges[var] = expr
        else:
            value = self.rewrite_simplify(tir.expr.convert(expr))
            self._values[var] = value
            self._bounds[var] = self.bound(value)
            self._modular[var] = self.modular(value)
        self._changed()

    def _changed(self) -> None:
        self._algebra = None
        self._bound_analysis.forget()

    def update(self, var: tir.Var, info_: Any, override: bool = False) -> None:
        """Say what is known of a variable: a `ConstIntBound` or a `ModularSet`."""
        if isinstance(info_, ConstIntBound):
            given = (info_.min_value, info_.max_value)
            known = self._bounds.get(var)
            if known is not None and not override:
                given = max(given[0], known[0]), min(given[1], known[1])
            self._bounds[var] = given
        elif isinstance(info_, ModularSet):
            self._modular[var] = (info_.coeff, info_.base)
        else:
            raise error.TypeError_(
                f"Analyzer.update: expected a ConstIntBound or a ModularSet, but got "
                f"{type(info_).__name__}"
            )
        self._changed()

    def const_int_bound_is_bound(self, var: tir.Var) -> bool:
        """Whether a variable has a known bound."""
        return var in self._bounds

    def value_of(self, var: tir.Var) -> Any:
        """The expression to which a variable is bound, or None."""
        return self._values.get(var)

    def constraint_scope(self, constraint: Any) -> ConstraintScope:
        """A scope in which a condition is known to hold."""
        return ConstraintScope(lambda: self._assume(constraint))

    def _assume(self, constraint: Any) -> Callable[[], None]:
        bounds, modular = dict(self._bounds), dict(self._modular)
        count, algebra = len(self._assumed), self._algebra
        for part in _conjuncts(constraint):
            self._learn(part)

        def forget() -> None:
            self._bounds.clear()
            self._bounds.update(bounds)
            self._modular.clear()
            self._modular.update(modular)
            del self._assumed[count:]
            self._bound_analysis.forget()
            self._algebra = algebra

        return forget

    def _learn(self, cond: Any) -> None:
        if type(cond) is tir.Call and getattr(cond.op, "name", "") == "tir.likely":
            self._learn(cond.args[0])
            return
        self._assumed.append(cond)
        kind = type(cond)
        if kind not in _NEGATED or not info(cond.a.dtype).is_int:
            return
        for var, other, order in ((cond.a, cond.b, kind), (cond.b, cond.a, _mirrored(kind))):
            if isinstance(var, tir.Var):
                self._narrow(var, self.bound(other), order)
            elif (
                order is tir.EQ
                and type(var) is tir.FloorMod
                and isinstance(var.a, tir.Var)
                and isinstance(var.b, IntImm)
                and isinstance(other, IntImm)
                and var.b.value > 0
            ):
                self._modular[var.a] = (var.b.value, other.value % var.b.value)

    def _narrow(self, var: Any, other: tuple[int, int], order: Any) -> None:
        low, high = self.bound(var)
        if order in (tir.LT, tir.LE, tir.EQ) and other[1] != POS_INF:
            high = min(high, other[1] - (order is tir.LT))
        if order in (tir.GT, tir.GE, tir.EQ) and other[0] != NEG_INF:
            low = max(low, other[0] + (order is tir.GT))
        self._bounds[var] = (low, high)
        self._changed()

    # --- bounds ---

    def _make_algebra(self) -> Algebra:
        """The algebra of index expressions, with all that is known."""
        if self._algebra is None:
            made = Algebra()
            for var, span in self._ranges.items():
                if is_index(span.min) and is_index(span.extent):
                    made.bind(var, span.min, span.extent)
            for var, (low, high) in self._bounds.items():
                if var in self._values or var.dtype not in ("int32", "int64"):
                    continue
                self._tighten(made, var, low, high)
            self._algebra = made
        return self._algebra

    @staticmethod
    def _tighten(made: Algebra, var: Any, low: int, high: int) -> None:
        key = made.key(var)
        known = made.ranges.get(key)
        lower: Poly | None = None if low == NEG_INF else ({(): low} if low else {})
        upper: Poly | None = None if high == POS_INF else ({(): high} if high else {})
        if known is not None:
            # A symbolic limit says more than its own bound, a constant one may be narrower.
            if known[0] is not None and constant(known[0]) is None:
                lower = known[0]
            if known[1] is not None and constant(known[1]) is None:
                upper = known[1]
        made.ranges[key] = (lower, upper)

    def _algebra_bound(self, expr: Any) -> tuple[int, int] | None:
        if info(expr.dtype).lanes != 1:
            return None
        algebra = self._make_algebra()
        low, high = algebra.bounds(algebra.poly(expr))
        return (NEG_INF if low is None else max(low, NEG_INF),
                POS_INF if high is None else min(high, POS_INF))  # fmt: skip

    def bound(self, expr: Any) -> tuple[int, int]:
        """The least and greatest value as plain integers."""
        return self._bound_analysis.bound(expr)

    def const_int_bound(self, expr: Any) -> ConstIntBound:
        """The least and greatest value that an expression can have."""
        expr = tir.expr.convert(expr)
        return ConstIntBound(*call_deep(expr.depth, self.bound, expr))

    def modular(self, expr: Any) -> tuple[int, int]:
        """coeff and base of the modular set."""
        return self._modular_analysis.of(expr)

    def modular_set(self, expr: Any) -> ModularSet:
        """What an expression is modulo something."""
        expr = tir.expr.convert(expr)
        return ModularSet(*call_deep(expr.depth, self.modular, expr))

    def int_set(self, expr: Any, dom_map: Any) -> Any:
        """The interval of all values while some variables take those of their sets."""
        from .int_set import evaluate

        return evaluate(self, expr, dom_map)

    # --- simplification ---

    def normal_form(self, expr: Any) -> Any:
        """An index expression as a sum of products; itself where that is no simpler."""
        if info(expr.dtype).lanes != 1 or expr.depth > NORMAL_DEPTH:
            return expr
        algebra = self._make_algebra()
        try:
            made = algebra.expr(algebra.merged(algebra.poly(expr)), expr.dtype)
        except error.ValueError_:
            # A coefficient does not fit the type: it has to stay as it is.
            return expr
        return expr if tir.analysis.expr_deep_equal(made, expr) else made

    def normal_comparison(self, cond: Any) -> Any:
        """A comparison of index expressions with the common part taken off both sides."""
        if not (is_index(cond.a) and is_index(cond.b)) or cond.depth > NORMAL_DEPTH:
            return cond
        algebra = self._make_algebra()
        left, right = algebra.poly(cond.a), algebra.poly(cond.b)
        shared = {m: c for m, c in left.items() if right.get(m) == c}
        if not shared:
            return cond
        try:
            a = algebra.expr(add(left, shared, -1), cond.a.dtype)
            b = algebra.expr(add(right, shared, -1), cond.a.dtype)
        except error.ValueError_:
            return cond
        return type(cond)(a, b)

    def rewrite_simplify(self, expr: Any) -> Any:
        """A simpler equal expression."""
        expr = tir.expr.convert(expr)
        return Rewriter(self)(expr)

    def canonical_simplify(self, expr: Any) -> Any:
        """A simpler equal expression; index expressions as sums of products."""
        return self.rewrite_simplify(expr)

    def simplify(self, expr: Any, steps: int = 2) -> Any:
        """A simpler equal expression, as simple as `steps` rounds make it.

        Parameters
        ----------
        expr : PrimExpr
            What to simplify.
        steps : int
            Rounds; it ends early when nothing changes.
        """
        expr = tir.expr.convert(expr)
        for _ in range(max(1, steps)):
            made = self.rewrite_simplify(expr)
            if made is expr:
                break
            expr = made
        return expr

    # --- proofs ---

    def decide(self, cond: Any) -> bool | None:
        """Whether a comparison always holds, never holds, or neither is known."""
        for known in self._assumed:
            if known is cond or (
                type(known) is type(cond) and tir.analysis.expr_deep_equal(known, cond)
            ):
                return True
            other = _NEGATED.get(type(cond))
            if other is None or type(known) is not other or not info(cond.a.dtype).is_int:
                continue
            if tir.analysis.expr_deep_equal(known, other(cond.a, cond.b)):
                return False
        kind = type(cond)
        if kind not in _NEGATED or info(cond.a.dtype).lanes != 1:
            return None
        if not info(cond.a.dtype).is_int:
            return None
        by_bounds = _order(kind, self.bound(cond.a), self.bound(cond.b))
        if by_bounds is not None:
            return by_bounds
        if kind in (tir.EQ, tir.NE):
            (p, x), (q, y) = self.modular(cond.a), self.modular(cond.b)
            from math import gcd

            step = gcd(p, q)
            if (step and (x - y) % step) or (not step and x != y):
                return kind is tir.NE
        if is_index(cond.a) and is_index(cond.b) and cond.depth <= NORMAL_DEPTH:
            algebra = self._make_algebra()
            if algebra.prove(cond):
                return True
            if algebra.prove(_NEGATED[kind](cond.a, cond.b)):
                return False
            return self._by_assumption(cond, algebra)
        return None

    def _by_assumption(self, cond: Any, algebra: Algebra) -> bool | None:
        """From one known inequality: a >= 0 and b - a >= 0 give b >= 0."""
        for wanted, result in ((cond, True), (_NEGATED[type(cond)](cond.a, cond.b), False)):
            goal = _excess(wanted, algebra)
            if goal is None:
                continue
            for known in self._assumed:
                given = _excess(known, algebra)
                if given is not None and algebra.nonnegative(add(goal, given, -1)):
                    return result
        return None

    def can_prove(self, expr: Any, strength: int = ProofStrength.DEFAULT) -> bool:
        """Whether a condition is known to hold always."""
        expr = tir.expr.convert(expr)
        made = self.simplify(expr)
        return isinstance(made, IntImm) and made.value != 0

    def can_prove_equal(self, lhs: Any, rhs: Any) -> bool:
        """Whether two expressions always have one value."""
        return self.can_prove(tir.expr.convert(lhs) == rhs)

    def can_prove_greater_equal(self, expr: Any, lower_bound: int) -> bool:
        """Whether an expression is never less than a constant."""
        return self.bound(tir.expr.convert(expr))[0] >= lower_bound

    def can_prove_less(self, expr: Any, upper_bound: int) -> bool:
        """Whether an expression is always less than a constant."""
        return self.bound(tir.expr.convert(expr))[1] < upper_bound


def _mirrored(kind: Any) -> Any:
    return {tir.LT: tir.GT, tir.GT: tir.LT, tir.LE: tir.GE, tir.GE: tir.LE}.get(kind, kind)


def _conjuncts(cond: Any) -> list[Any]:
    cond = tir.expr.convert(cond)
    if type(cond) is tir.And:
        return _conjuncts(cond.a) + _conjuncts(cond.b)
    if type(cond) is tir.Not and type(cond.a) is tir.Or:
        return _conjuncts(tir.Not(cond.a.a)) + _conjuncts(tir.Not(cond.a.b))
    if type(cond) is tir.Not and type(cond.a) in _NEGATED and info(cond.a.a.dtype).is_int:
        return [_NEGATED[type(cond.a)](cond.a.a, cond.a.b)]
    return [cond]


def _excess(cond: Any, algebra: Algebra) -> Poly | None:
    """An inequality of index expressions as a polynomial that is not negative."""
    kind = type(cond)
    if kind not in (tir.LT, tir.LE, tir.GT, tir.GE) or not (is_index(cond.a) and is_index(cond.b)):
        return None
    less, more = (cond.a, cond.b) if kind in (tir.LT, tir.LE) else (cond.b, cond.a)
    made = add(algebra.poly(more), algebra.poly(less), -1)
    return add(made, {(): 1}, -1) if kind in (tir.LT, tir.GT) else made


def _order(kind: Any, a: tuple[int, int], b: tuple[int, int]) -> bool | None:
    """A comparison decided by bounds; infinite ones are no values and decide nothing."""
    if kind in (tir.GT, tir.GE):
        return _order({tir.GT: tir.LT, tir.GE: tir.LE}[kind], b, a)
    if kind is tir.LT:
        return True if a[1] < b[0] else False if a[0] >= b[1] and b[1] < POS_INF else None
    if kind is tir.LE:
        return True if a[1] <= b[0] and a[1] < POS_INF else False if a[0] > b[1] else None
    apart = a[1] < b[0] or b[1] < a[0]
    same = a[0] == a[1] == b[0] == b[1] and abs(a[0]) < POS_INF
    if kind is tir.EQ:
        return False if apart else True if same else None
    return True if apart else False if same else None


def type_bound(dtype: str) -> tuple[int, int]:
    """Least and greatest value of an integer type."""
    return int_range(info(dtype))
