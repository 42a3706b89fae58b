"""Index expressions as polynomials: a normal form that makes differences and bounds exact.

Index expressions (variables, sizes and constants) are mathematical integers, see ``te`` semantics:
they never wrap. A polynomial here is a dict from monomials to integer coefficients; a monomial is a
sorted tuple of atom keys, and ``()`` is the constant term. What is not a sum or a product is an
atom, known by a key that is equal for structurally equal expressions. An expression with a load or
a call is an opaque atom: adding and multiplying it is valid modulo 2^bits as well, and nothing else
is done to it.
"""

from __future__ import annotations

from tvm import tir
from tvm.ir.dtype import info, int_range
from tvm.tir import IntImm, PrimExpr, Var

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# monomial (keys of its atoms, sorted) -> coefficient
Poly = dict[tuple[str, ...], int]
Bound = tuple[int | None, int | None]

_ADD, _SUB, _MUL = tir.Add, tir.Sub, tir.Mul
_FLOORDIV, _FLOORMOD = tir.FloorDiv, tir.FloorMod
_COMPARE = (tir.LT, tir.LE, tir.GT, tir.GE, tir.EQ, tir.NE)


class Interval:
    """The integers from ``low`` to ``high``, both polynomials; None is unbounded."""

    __slots__ = ("low", "high")

    def __init__(self, low: Poly | None, high: Poly | None) -> None:
        self.low = low
        self.high = high


def const(value: int) -> Poly:
    """The constant polynomial."""
    return {(): value} if value else {}


def constant(poly: Poly) -> int | None:
    """The value of a constant polynomial, else None."""
    if not poly:
        return 0
    if len(poly) == 1:
        return poly.get(())
    return None


def add(a: Poly, b: Poly, scale: int = 1) -> Poly:
    """a + scale * b"""
    out = dict(a)
    for mono, coeff in b.items():
        value = out.get(mono, 0) + coeff * scale
        if value:
            out[mono] = value
        else:
            out.pop(mono, None)
    return out


def multiply(a: Poly, b: Poly) -> Poly:
    """a * b"""
    out: Poly = {}
    for ma, ca in a.items():
        for mb, cb in b.items():
            mono = tuple(sorted(ma + mb)) if ma and mb else ma or mb
            value = out.get(mono, 0) + ca * cb
            if value:
                out[mono] = value
            else:
                out.pop(mono, None)
    return out


class Algebra:
    """Normalises index expressions under known ranges of variables.

    Parameters
    ----------
    atoms : Algebra, optional
        Another algebra whose polynomials must be usable here; shares the names of the atoms.
    """

    __slots__ = ("ranges", "_atoms", "_keys", "_index", "_held", "_parts", "_known")

    def __init__(self, atoms: Algebra | None = None) -> None:
        # key of a variable -> (low, high), polynomials over variables that were bound earlier
        self.ranges: dict[str, tuple[Poly | None, Poly | None]] = {}
        self._atoms: dict[str, PrimExpr] = {} if atoms is None else atoms._atoms
        self._keys: dict[int, str] = {} if atoms is None else atoms._keys
        self._index: dict[str, bool] = {} if atoms is None else atoms._index
        # operands of the atoms made here, as polynomials
        self._parts: dict[str, tuple[Poly, Poly]] = {} if atoms is None else atoms._parts
        # bounds of atoms under the present ranges
        self._known: dict[str, Bound] = {}
        # _keys goes by id, so that what it names must stay alive
        self._held: list[PrimExpr] = [] if atoms is None else atoms._held

    # ---- from expressions
    def bind(self, var: Var, low: Any, extent: Any) -> None:
        """Say that ``var`` is one of the ``extent`` values from ``low`` on."""
        lower = self.poly(low)
        self.ranges[self.key(var)] = (lower, add(add(lower, self.poly(extent)), const(-1)))
        self._known.clear()

    def bind_sizes(self, buffers: Any) -> None:
        """Say that variables which are extents of buffers or tensors are not negative."""
        for buffer in buffers:
            for extent in buffer.shape:
                if isinstance(extent, Var):
                    self.ranges.setdefault(self.key(extent), ({}, None))
        self._known.clear()

    def key(self, var: Var) -> str:
        """The key of a variable."""
        found = self._keys.get(id(var))
        if found is None:
            found = f"v{len(self._atoms):06d}"
            self._keys[id(var)] = found
            self._atoms[found] = var
            self._index[found] = True
        return found

    def _atom(self, key: str, expr: PrimExpr, index: bool) -> Poly:
        if key not in self._atoms:
            self._atoms[key] = expr
            self._index[key] = index
        return {(key,): 1}

    def poly(self, expr: Any) -> Poly:
        """The polynomial of an expression or a Python integer."""
        kind = type(expr)
        if kind is int:
            return const(expr)
        if kind is IntImm:
            return const(expr.value)
        if isinstance(expr, Var):
            return {(self.key(expr),): 1}
        if kind is _ADD:
            return add(self.poly(expr.a), self.poly(expr.b))
        if kind is _SUB:
            return add(self.poly(expr.a), self.poly(expr.b), -1)
        if kind is _MUL:
            return multiply(self.poly(expr.a), self.poly(expr.b))
        if kind is tir.IterVar:
            return {(self.key(expr.var),): 1}
        if kind is _FLOORDIV:
            return self.floordiv(self.poly(expr.a), self.poly(expr.b), expr.dtype)
        if kind is _FLOORMOD:
            return self.floormod(self.poly(expr.a), self.poly(expr.b), expr.dtype)
        if kind is tir.Min or kind is tir.Max:
            return self.minmax(self.poly(expr.a), self.poly(expr.b), kind is tir.Max, expr.dtype)
        if kind is tir.Cast:
            inner = expr.value
            if self._transparent(inner.dtype, expr.dtype):
                poly = self.poly(inner)
                if self.is_index(poly):
                    return poly
        return self._opaque(expr)

    @staticmethod
    def _transparent(inner: str, outer: str) -> bool:
        """Whether a cast of an index keeps every value (index values never leave int32)."""
        a, b = info(inner), info(outer)
        return (
            a.lanes == b.lanes == 1
            and a.is_int
            and b.is_int
            and not a.is_bool
            and b.signed >= a.signed
            and b.bits >= min(a.bits, 32)
            and not (a.bits > b.bits)
        )

    def _opaque(self, expr: PrimExpr) -> Poly:
        key = self._keys.get(id(expr))
        if key is None:
            from tvm.ir import structural_hash

            key = f"x{structural_hash(expr, True) & 0xFFFFFFFFFFFFFFFF:016x}"
            known = self._atoms.get(key)
            if known is not None and known is not expr:
                from tvm.ir import structural_equal

                # a shared hash is no proof, and free variables must be the very same
                if not structural_equal(known, expr) or self._free(known) != self._free(expr):
                    key = f"{key}_{len(self._atoms):06d}"
            self._keys[id(expr)] = key
            self._held.append(expr)
        return self._atom(key, expr, False)

    @staticmethod
    def _free(expr: PrimExpr) -> list[int]:
        found: list[int] = []

        def visit(node: Any) -> None:
            if isinstance(node, Var):
                found.append(id(node))

        tir.stmt_functor.post_order_visit(expr, visit)
        return found

    def is_index(self, poly: Poly) -> bool:
        """Whether nothing but variables and constants is in it."""
        index = self._index
        return all(index[key] for mono in poly for key in mono)

    # ---- nonlinear atoms
    def _name(self, poly: Poly) -> str:
        return "+".join([f"{c}*{'*'.join(m)}" for m, c in sorted(poly.items())])

    def floordiv(self, a: Poly, b: Poly, dtype: str) -> Poly:
        """floor(a / b)"""
        c = constant(b)
        if c is not None and c != 0 and self.is_index(a):
            if c < 0:
                return self.floordiv({m: -v for m, v in a.items()}, const(-c), dtype)
            if c == 1:
                return a
            whole, rest = _split(a, c)
            low, high = self.bounds(rest)
            if low is not None and high is not None and low // c == high // c:
                return add(whole, const(low // c))
            reduced, d = self._reduce(rest, c)
            if d != c:
                return add(whole, self.floordiv(reduced, const(d), dtype))
            if len(rest) == 1:
                # (x // p) // q == x // (p * q)
                (mono,), (coeff,) = rest.keys(), rest.values()
                atom = self._atoms[mono[0]] if len(mono) == 1 else None
                inner = atom.b if type(atom) is _FLOORDIV else None
                if coeff == 1 and type(inner) is IntImm and inner.value > 0:
                    numerator = self._parts[mono[0]][0]
                    return add(whole, self.floordiv(numerator, const(inner.value * d), dtype))
            return add(whole, self._divide(_FLOORDIV, "/", rest, const(d), dtype))
        if c is None and self.is_index(a) and self.is_index(b):
            whole, rest = _split_symbolic(a, b)
            if whole and self.positive(b):
                if self.nonnegative(rest) and self.positive(add(b, rest, -1)):
                    return whole
                return add(whole, self._divide(_FLOORDIV, "/", rest, b, dtype))
            if self.nonnegative(a) and self.positive(add(b, a, -1)):
                return {}
        return self._divide(_FLOORDIV, "/", a, b, dtype)

    def floormod(self, a: Poly, b: Poly, dtype: str) -> Poly:
        """a - floor(a / b) * b"""
        c = constant(b)
        if c is not None and c > 0 and self.is_index(a):
            _, rest = _split(a, c)
            low, high = self.bounds(rest)
            if low is not None and high is not None and low // c == high // c:
                return add(rest, const(-(low // c) * c))
            return self._divide(_FLOORMOD, "%", rest, b, dtype)
        if c is None and self.is_index(a) and self.is_index(b):
            whole, rest = _split_symbolic(a, b)
            if whole and self.positive(b):
                a = rest
            if self.nonnegative(a) and self.positive(add(b, a, -1)):
                return a
        return self._divide(_FLOORMOD, "%", a, b, dtype)

    def _reduce(self, poly: Poly, c: int) -> tuple[Poly, int]:
        """(g*x + r) // (g*h) == x // h for 0 <= r < g"""
        from math import gcd

        divisors = {gcd(c, coeff) for mono, coeff in poly.items() if mono}
        for g in sorted(divisors, reverse=True):
            if g <= 1:
                break
            whole, rest = _split(poly, g)
            low, high = self.bounds(rest)
            if low is not None and high is not None and low // g == high // g:
                whole = add(whole, const(low // g))
                return whole, c // g
        return poly, c

    def _divide(self, node: Any, sign: str, a: Poly, b: Poly, dtype: str) -> Poly:
        if not a:
            return {}
        key = f"({self._name(a)}){sign}({self._name(b)})"
        if key not in self._atoms:
            expr = node(self.expr(a, dtype), self.expr(b, dtype))
            self._parts[key] = (a, b)
            return self._atom(key, expr, self.is_index(a) and self.is_index(b))
        return {(key,): 1}

    def minmax(self, a: Poly, b: Poly, greater: bool, dtype: str) -> Poly:
        """The greater or the lesser of both."""
        difference = add(a, b, -1)
        if self.is_index(difference):
            if self.nonnegative(difference):
                return a if greater else b
            if self.nonnegative({m: -v for m, v in difference.items()}):
                return b if greater else a
        order = self._compare_quotients(a, b)
        if order is not None:
            return (a if order else b) if greater else (b if order else a)
        names = sorted((self._name(a), self._name(b)))
        key = f"{'max' if greater else 'min'}({names[0]},{names[1]})"
        if key not in self._atoms:
            node = tir.Max if greater else tir.Min
            self._parts[key] = (a, b)
            return self._atom(
                key, node(self.expr(a, dtype), self.expr(b, dtype)), self.is_index(difference)
            )
        return {(key,): 1}

    def _compare_quotients(self, a: Poly, b: Poly) -> bool | None:
        """Whether x // c >= y // c, from x >= y; None if neither order is proved."""
        if len(a) != 1 or len(b) != 1:
            return None
        (ma, ca), (mb, cb) = next(iter(a.items())), next(iter(b.items()))
        if ca != 1 or cb != 1 or len(ma) != 1 or len(mb) != 1:
            return None
        x, y = self._atoms[ma[0]], self._atoms[mb[0]]
        if type(x) is not _FLOORDIV or type(y) is not _FLOORDIV:
            return None
        (xa, c), (ya, d) = self._parts[ma[0]], self._parts[mb[0]]
        if c != d or not self.positive(c) or not (self._index[ma[0]] and self._index[mb[0]]):
            return None
        difference = add(xa, ya, -1)
        if self.nonnegative(difference):
            return True
        if self.nonnegative({m: -v for m, v in difference.items()}):
            return False
        return None

    def merged(self, poly: Poly) -> Poly:
        """(x // c) * c + x % c becomes x, wherever both terms stand with one factor."""
        for mono, coeff in poly.items():
            for position, key in enumerate(mono):
                atom = self._atoms[key]
                if type(atom) is not _FLOORMOD or not self._index[key]:
                    continue
                x, c = self._parts[key]
                whole = self.floordiv(x, c, atom.dtype)
                # x // c may be a sum itself: all of it has to be there
                rest = mono[:position] + mono[position + 1 :]
                factor = {rest: coeff}
                back = multiply(multiply(whole, c), factor)
                if back and all(poly.get(m) == v for m, v in back.items()):
                    out = add(add(poly, back, -1), {mono: coeff}, -1)
                    return self.merged(add(out, multiply(x, factor)))
        return poly

    # ---- to expressions
    def expr(self, poly: Poly, dtype: str) -> PrimExpr:
        """An expression of the given integer type, the constant last."""
        out: PrimExpr | None = None
        negative = []
        for mono, coeff in poly.items():
            if not mono:
                continue
            if coeff < 0:
                negative.append((mono, coeff))
                continue
            term = self._product(mono, coeff, dtype)
            out = term if out is None else _ADD(out, term)
        tail = poly.get((), 0)
        if out is None and (negative or tail):
            out, tail = IntImm(dtype, tail), 0
            if not negative:
                return out
        for mono, coeff in negative:
            term = self._product(mono, -coeff, dtype)
            if type(out) is IntImm and out.value == 0:
                out = self._product(mono, coeff, dtype)
            else:
                out = _SUB(out, term)
        if out is None:
            return IntImm(dtype, 0)
        if tail > 0:
            return _ADD(out, IntImm(dtype, tail))
        if tail < 0:
            return _SUB(out, IntImm(dtype, -tail))
        return out

    def _product(self, mono: tuple[str, ...], coeff: int, dtype: str) -> PrimExpr:
        out = None
        for key in mono:
            atom = self._atoms[key]
            if atom.dtype != dtype:
                atom = tir.Cast(dtype, atom)
            out = atom if out is None else _MUL(out, atom)
        return out if coeff == 1 else _MUL(out, IntImm(dtype, coeff))

    def simplify(self, expr: PrimExpr) -> PrimExpr:
        """An equal index expression in normal form."""
        kind = type(expr)
        if kind is IntImm or isinstance(expr, Var):
            return expr
        return self.expr(self.merged(self.poly(expr)), expr.dtype)

    # ---- bounds and proofs
    def bounds(self, poly: Poly) -> Bound:
        """Least and greatest value as integers, None where unknown."""
        low = self._extreme(poly, False)
        high = self._extreme(poly, True)
        return low, high

    def _extreme(self, poly: Poly, greatest: bool) -> int | None:
        direct = self._sum(poly, greatest)
        if direct is not None or not self.ranges:
            return direct
        limit = self._eliminate(poly, greatest)
        found = self._sum(limit, greatest)
        if found is None:
            expanded = self._expand_quotients(limit)
            if expanded is not limit:
                found = self._sum(self._eliminate(expanded, greatest), greatest)
        return found

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
            low, high = found
            return (
                None if low is None else self._sum(low, False),
                None if high is None else self._sum(high, True),
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

    def prove(self, cond: PrimExpr) -> bool:
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
            return not difference
        return self.positive(difference) or self.positive({m: -c for m, c in difference.items()})

    # ---- intervals
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


def _split(poly: Poly, c: int) -> tuple[Poly, Poly]:
    """whole, rest with poly == whole * c + rest, and the constant of rest in 0 .. c - 1."""
    whole: Poly = {}
    rest: Poly = {}
    for mono, coeff in poly.items():
        quotient, remainder = divmod(coeff, c)
        if mono and remainder:
            rest[mono] = coeff
            continue
        if quotient:
            whole[mono] = quotient
        if remainder:
            rest[mono] = remainder
    return whole, rest


def _split_symbolic(poly: Poly, b: Poly) -> tuple[Poly, Poly]:
    """whole, rest with poly == whole * b + rest, for a divisor of one term with coefficient 1."""
    if len(b) != 1:
        return {}, poly
    (divisor,), (coeff,) = b.keys(), b.values()
    if coeff != 1:
        return {}, poly
    whole: Poly = {}
    rest: Poly = {}
    for mono, value in poly.items():
        left = list(mono)
        try:
            for key in divisor:
                left.remove(key)
        except ValueError:
            rest[mono] = value
            continue
        whole[tuple(left)] = value
    return whole, rest
