"""Bounds of index expressions under known ranges, and proofs of comparisons."""

from __future__ import annotations

from tvm import tir
from tvm.ir.dtype import info, int_range
from tvm.tir import IntImm, PrimExpr, Var

from .polynomial import Bound, Poly, add, const, multiply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FLOORDIV, _FLOORMOD = tir.FloorDiv, tir.FloorMod
_COMPARE = (tir.LT, tir.LE, tir.GT, tir.GE, tir.EQ, tir.NE)


class IndexBounds:
    """The half of `Algebra` that knows how large polynomials are."""

    __slots__ = ()

    if TYPE_CHECKING:
        ranges: dict[str, tuple[Poly | None, Poly | None]]
        _atoms: dict[str, Any]
        _index: dict[str, bool]
        _parts: dict[str, tuple[Poly, Poly]]
        _known: dict[str, Bound]

        def poly(self, expr: Any) -> Poly: ...
        def is_index(self, poly: Poly) -> bool: ...
        def floormod(self, a: Poly, b: Poly, dtype: str) -> Poly: ...
        def merged(self, poly: Poly) -> Poly: ...

    def bounds(self, poly: Poly) -> Bound:
        """Least and greatest value as integers, None where unknown."""
        low = self._extreme(poly, False)
        high = self._extreme(poly, True)
        return low, high

    def _extreme(self, poly: Poly, greatest: bool) -> int | None:
        direct = self._sum(poly, greatest)
        if not self.ranges:
            return direct
        if direct is not None:
            if not self._linked(poly):
                return direct
            other = self._sum(self._eliminate(poly, greatest), greatest)
            if other is None:
                return direct
            return min(direct, other) if greatest else max(direct, other)
        limit = self._eliminate(poly, greatest)
        found = self._sum(limit, greatest)
        if found is None:
            expanded = self._expand_quotients(limit)
            if expanded is not limit:
                found = self._sum(self._eliminate(expanded, greatest), greatest)
        return found

    def _linked(self, poly: Poly) -> bool:
        """Whether the range of one variable depends on another, so that both move together."""
        if len(poly) < 2:
            return False
        for mono in poly:
            for key in mono:
                found = self.ranges.get(key)
                if found is None:
                    continue
                low, high = found
                if (low and (len(low) > 1 or () not in low)) or (
                    high and (len(high) > 1 or () not in high)
                ):
                    return True
        return False

    def _expand_quotients(self, poly: Poly) -> Poly:
        """c * (x // c) becomes x - x % c."""
        out = poly
        for mono, coeff in poly.items():
            if len(mono) != 1:
                continue
            atom = self._atoms[mono[0]]
            if type(atom) is not _FLOORDIV or type(atom.b) is not IntImm:
                continue
            c = atom.b.value
            if c <= 0 or coeff % c or not self._index[mono[0]]:
                continue
            x = self._parts[mono[0]][0]
            whole = add(x, self.floormod(x, const(c), atom.dtype), -1)
            out = add(add(out, {mono: coeff}, -1), whole, coeff // c)
        return out

    def _eliminate(self, poly: Poly, greatest: bool) -> Poly:
        """Replace bound variables by their limits, the last bound first."""
        for key, (low, high) in reversed(self.ranges.items()):
            if high is None:
                # a size: replacing it would tear it apart from quotients of it
                continue
            coefficient: Poly = {}
            for mono, coeff in poly.items():
                if key in mono:
                    if mono.count(key) > 1:
                        return poly
                    rest = tuple([k for k in mono if k != key])
                    coefficient[rest] = coeff
            if not coefficient:
                continue
            if self._sum(coefficient, False) is not None and self._sum(coefficient, False) >= 0:  # type: ignore[operator]
                limit = high if greatest else low
            elif self._sum(coefficient, True) is not None and self._sum(coefficient, True) <= 0:  # type: ignore[operator]
                limit = low if greatest else high
            else:
                continue
            if limit is None:
                continue
            rest_poly = {m: c for m, c in poly.items() if key not in m}
            poly = add(rest_poly, multiply(coefficient, limit))
        return poly

    def _sum(self, poly: Poly, greatest: bool) -> int | None:
        total = 0
        for mono, coeff in poly.items():
            if not mono:
                total += coeff
                continue
            low: int | None = 1
            high: int | None = 1
            for key in mono:
                al, ah = self._atom_bounds(key)
                if al is not None and al >= 0 and low is not None and low >= 0:
                    low = low * al
                    high = high * ah if high is not None and ah is not None else None
                elif None in (al, ah, low, high):
                    return None
                else:
                    corners = [low * al, low * ah, high * al, high * ah]  # type: ignore[operator]
                    low, high = min(corners), max(corners)
            value = (high if coeff > 0 else low) if greatest else (low if coeff > 0 else high)
            if value is None:
                return None
            total += coeff * value
        return total

    def _atom_bounds(self, key: str) -> Bound:
        known = self._known.get(key)
        if known is None:
            # while it is being computed nothing is known of it
            self._known[key] = (None, None)
            known = self._known[key] = self._find_bounds(key)
        return known

    def _find_bounds(self, key: str) -> Bound:
        found = self.ranges.get(key)
        if found is not None:
            least, greatest = found
            return (
                None if least is None else self._sum(least, False),
                None if greatest is None else self._sum(greatest, True),
            )
        atom = self._atoms[key]
        kind = type(atom)
        if kind is tir.SizeVar:
            return 0, None
        if kind is _FLOORDIV and type(atom.b) is IntImm and atom.b.value > 0:
            low, high = self.bounds(self._parts[key][0]) if self._index[key] else (None, None)
            c = atom.b.value
            return None if low is None else low // c, None if high is None else high // c
        if kind is _FLOORMOD and self._index[key]:
            if type(atom.b) is IntImm and atom.b.value > 0:
                return 0, atom.b.value - 1
            if self.positive(self._parts[key][1]):
                return 0, None
        if kind in (tir.Min, tir.Max) and self._index[key]:
            al, ah = self.bounds(self._parts[key][0])
            bl, bh = self.bounds(self._parts[key][1])
            if kind is tir.Min:
                high = min([v for v in (ah, bh) if v is not None], default=None)
                return None if al is None or bl is None else min(al, bl), high
            low = max([v for v in (al, bl) if v is not None], default=None)
            return low, None if ah is None or bh is None else max(ah, bh)
        if isinstance(atom, PrimExpr) and not isinstance(atom, Var):
            found_info = info(atom.dtype)
            if found_info.is_int and found_info.bits <= 32 and found_info.lanes == 1:
                return int_range(found_info)
        return None, None

    def nonnegative(self, poly: Poly) -> bool:
        """Whether it is proved to be at least 0."""
        low = self._extreme(poly, False)
        return low is not None and low >= 0

    def positive(self, poly: Poly) -> bool:
        """Whether it is proved to be at least 1."""
        low = self._extreme(poly, False)
        return low is not None and low >= 1

    def prove(self, cond: Any) -> bool:
        """Whether a comparison, or a conjunction of them, of index expressions always holds."""
        kind = type(cond)
        if kind is IntImm:
            return bool(cond.value)
        if kind is tir.And:
            return self.prove(cond.a) and self.prove(cond.b)
        if kind is tir.Or:
            return self.prove(cond.a) or self.prove(cond.b)
        if kind is tir.Call and cond.op.name == "tir.likely":
            return self.prove(cond.args[0])
        if kind not in _COMPARE or not info(cond.a.dtype).is_int:
            return False
        a, b = self.poly(cond.a), self.poly(cond.b)
        if not (self.is_index(a) and self.is_index(b)):
            return False
        if kind is tir.LT:
            return self.positive(add(b, a, -1))
        if kind is tir.LE:
            return self.nonnegative(add(b, a, -1))
        if kind is tir.GT:
            return self.positive(add(a, b, -1))
        if kind is tir.GE:
            return self.nonnegative(add(a, b, -1))
        difference = add(a, b, -1)
        if kind is tir.EQ:
            return not difference or not self.merged(difference)
        return self.positive(difference) or self.positive({m: -c for m, c in difference.items()})
