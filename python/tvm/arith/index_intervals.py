"""All values of index expressions while some variables move."""

from __future__ import annotations

from tvm import tir
from tvm.ir.dtype import info
from tvm.tir import Var

from .polynomial import Interval, Poly, add, const, multiply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FLOORDIV, _FLOORMOD = tir.FloorDiv, tir.FloorMod


class IndexIntervals:
    """The part of `Algebra` that runs variables through their values."""

    __slots__ = ()

    if TYPE_CHECKING:
        _atoms: dict[str, Any]
        _index: dict[str, bool]
        _keys: dict[int, str]
        _parts: dict[str, tuple[Poly, Poly]]

        def poly(self, expr: Any) -> Poly: ...
        def nonnegative(self, poly: Poly) -> bool: ...
        def positive(self, poly: Poly) -> bool: ...
        def floordiv(self, a: Poly, b: Poly, dtype: str) -> Poly: ...
        def minmax(self, a: Poly, b: Poly, greater: bool, dtype: str) -> Poly: ...

    def interval(self, expr: Any, env: dict[str, Interval]) -> Interval:
        """All values of ``expr`` while the variables of ``env`` take theirs.

        The limits are polynomials over the variables that are not in ``env``.
        """
        return self._interval(self.poly(expr), env)

    def _interval(self, poly: Poly, env: dict[str, Interval]) -> Interval:
        low: Poly | None = {}
        high: Poly | None = {}
        for mono, coeff in poly.items():
            moving = [key for key in mono if key in env or self._depends(key, env)]
            if not moving:
                term = {mono: coeff}
                low = add(low, term) if low is not None else None
                high = add(high, term) if high is not None else None
                continue
            if len(moving) > 1:
                return Interval(None, None)
            key = moving[0]
            part = env[key] if key in env else self._atom_interval(key, env)
            rest = list(mono)
            rest.remove(key)
            factor = {tuple(rest): coeff}
            if self.nonnegative(factor):
                a, b = part.low, part.high
            elif self.nonnegative({tuple(rest): -coeff}):
                a, b = part.high, part.low
            else:
                return Interval(None, None)
            low = add(low, multiply(a, factor)) if low is not None and a is not None else None
            high = add(high, multiply(b, factor)) if high is not None and b is not None else None
        return Interval(low, high)

    def _depends(self, key: str, env: dict[str, Interval]) -> bool:
        if not env:
            return False
        atom = self._atoms[key]
        if isinstance(atom, Var):
            return False
        hit = False

        def visit(node: Any) -> None:
            nonlocal hit
            if isinstance(node, Var) and self._keys.get(id(node)) in env:
                hit = True

        tir.stmt_functor.post_order_visit(atom, visit)
        return hit

    def _depends_poly(self, poly: Poly, key: str) -> bool:
        """Whether a variable occurs in it, also inside an atom."""
        env = {key: Interval(None, None)}
        return any(k == key or self._depends(k, env) for mono in poly for k in mono)

    def _atom_interval(self, key: str, env: dict[str, Interval]) -> Interval:
        atom = self._atoms[key]
        kind = type(atom)
        if kind is tir.Select or (kind is tir.Call and atom.op.name == "tir.if_then_else"):
            arms = atom.args[1:] if kind is tir.Call else (atom.true_value, atom.false_value)
            return self.union([self.interval(arm, env) for arm in arms], atom.dtype)
        if kind is tir.Cast and info(atom.value.dtype).is_bool:
            return Interval(const(0), const(1))
        if not self._index[key] or not isinstance(atom, (_FLOORDIV, _FLOORMOD, tir.Min, tir.Max)):
            return Interval(None, None)
        a = self._interval(self._parts[key][0], env)
        b = self._interval(self._parts[key][1], env)
        if kind is tir.Min or kind is tir.Max:
            greater = kind is tir.Max

            def both(x: Poly | None, y: Poly | None, either: bool) -> Poly | None:
                if x is None or y is None:
                    return (x if y is None else y) if either else None
                return self.minmax(x, y, greater, atom.dtype)

            return Interval(both(a.low, b.low, greater), both(a.high, b.high, not greater))
        if b.low is None or b.high is None or add(b.low, b.high, -1):
            return Interval(None, None)
        divisor = b.low
        if not self.positive(divisor):
            return Interval(None, None)
        if kind is _FLOORDIV:
            return Interval(
                None if a.low is None else self.floordiv(a.low, divisor, atom.dtype),
                None if a.high is None else self.floordiv(a.high, divisor, atom.dtype),
            )
        if a.low is not None and a.high is not None:
            first = self.floordiv(a.low, divisor, atom.dtype)
            last = self.floordiv(a.high, divisor, atom.dtype)
            if not add(first, last, -1):
                base = multiply(first, divisor)
                return Interval(add(a.low, base, -1), add(a.high, base, -1))
        return Interval(const(0), add(divisor, const(-1)))

    def union(self, parts: list[Interval], dtype: str) -> Interval:
        """The least interval that is known to hold all parts."""
        low, high = parts[0].low, parts[0].high
        for part in parts[1:]:
            if low is not None:
                low = None if part.low is None else self.minmax(low, part.low, False, dtype)
            if high is not None:
                high = None if part.high is None else self.minmax(high, part.high, True, dtype)
        return Interval(low, high)
