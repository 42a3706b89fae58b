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
from tvm.ir.dtype import info
from tvm.tir import IntImm, PrimExpr, Var

from .index_bounds import IndexBounds
from .index_intervals import IndexIntervals
from .polynomial import (
    Bound,
    Interval,
    Poly,
    add,
    const,
    constant,
    multiply,
    split,
    split_symbolic,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_ADD, _SUB, _MUL = tir.Add, tir.Sub, tir.Mul
_FLOORDIV, _FLOORMOD = tir.FloorDiv, tir.FloorMod

__all__ = ["Algebra", "Bound", "Interval", "Poly", "add", "const", "constant", "multiply"]


class Algebra(IndexBounds, IndexIntervals):
    """Normalises index expressions under known ranges of variables.

    Parameters
    ----------
    atoms : Algebra, optional
        Another algebra whose polynomials must be usable here; shares the names of the atoms.
    """

    __slots__ = (
        "ranges",
        "values",
        "_atoms",
        "_keys",
        "_index",
        "_held",
        "_parts",
        "_known",
        "_names",
        "_sizes",
    )

    def __init__(self, atoms: Algebra | None = None) -> None:
        # key of a variable -> (low, high), polynomials over variables that were bound earlier
        self.ranges: dict[str, tuple[Poly | None, Poly | None]] = {}
        # keys of variables that stand for something else at present
        self.values: dict[str, Poly] = {}
        self._atoms: dict[str, Any] = {} if atoms is None else atoms._atoms
        self._keys: dict[int, str] = {} if atoms is None else atoms._keys
        self._index: dict[str, bool] = {} if atoms is None else atoms._index
        # what an atom is made of -> its key, which stays short however deep it is
        self._names: dict[str, str] = {} if atoms is None else atoms._names
        self._sizes: dict[str, int] = {} if atoms is None else atoms._sizes
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
            key = self.key(expr)
            if self.values and key in self.values:
                return self.values[key]
            return {(key,): 1}
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
        if self.values:
            values, self.values = self.values, {}
            atoms = self._atoms
            present = {atoms[k]: self.expr(v, atoms[k].dtype) for k, v in values.items()}
            try:
                return self.poly(tir.stmt_functor.substitute(expr, present))
            finally:
                self.values = values
        key = self._keys.get(id(expr))
        if key is None:
            from tvm.ir import structural_hash

            key = f"x{structural_hash(expr, True) & 0xFFFFFFFFFFFFFFFF:016x}"
            known = self._atoms.get(key)
            if known is not None and known is not expr:
                from tvm.ir.structural import exactly_equal

                # a shared hash is no proof, and variables and buffers must be the very same
                if not exactly_equal(known, expr):
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
            whole, rest = split(a, c)
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
                # (x % (d * h)) // d == (x // d) % h
                inner = atom.b if type(atom) is _FLOORMOD else None
                known = inner if coeff == 1 and self._index[mono[0]] else None
                if type(known) is IntImm and known.value > d > 0 and known.value % d == 0:
                    quotient = self.floordiv(self._parts[mono[0]][0], const(d), dtype)
                    modulus = const(known.value // d)
                    return add(whole, self.floormod(quotient, modulus, dtype))
            return add(whole, self._divide(_FLOORDIV, "/", rest, const(d), dtype))
        if c is None and self.is_index(a) and self.is_index(b):
            whole, rest = split_symbolic(a, b)
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
            _, rest = split(a, c)
            low, high = self.bounds(rest)
            if low is not None and high is not None and low // c == high // c:
                return add(rest, const(-(low // c) * c))
            return self._divide(_FLOORMOD, "%", rest, b, dtype)
        if c is None and self.is_index(a) and self.is_index(b):
            whole, rest = split_symbolic(a, b)
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
            whole, rest = split(poly, g)
            low, high = self.bounds(rest)
            if low is not None and high is not None and low // g == high // g:
                whole = add(whole, const(low // g))
                return whole, c // g
        return poly, c

    def _divide(self, node: Any, sign: str, a: Poly, b: Poly, dtype: str) -> Poly:
        if not a:
            return {}
        name = f"({self._name(a)}){sign}({self._name(b)})"
        key = self._names.get(name)
        if key is None:
            index = self.is_index(a) and self.is_index(b)
            return self._made(name, node, a, b, dtype, index)
        return {(key,): 1}

    def _made(self, name: str, node: Any, a: Poly, b: Poly, dtype: str, index: bool) -> Poly:
        """A new atom of two operands."""
        key = self._names[name] = f"a{len(self._atoms):06d}"
        self._parts[key] = (a, b)
        self._sizes[key] = 1 + self.size(a) + self.size(b)
        return self._atom(key, node(self.expr(a, dtype), self.expr(b, dtype)), index)

    def size(self, poly: Poly) -> int:
        """How large its expression is, roughly in nodes."""
        sizes = self._sizes
        return sum([1 + sum([sizes.get(key, 1) for key in mono]) for mono in poly])

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
        name = f"{'max' if greater else 'min'}({names[0]},{names[1]})"
        key = self._names.get(name)
        if key is None:
            node = tir.Max if greater else tir.Min
            return self._made(name, node, a, b, dtype, self.is_index(difference))
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
        out: Any = None
        for key in mono:
            atom = self._atoms[key]
            if atom.dtype != dtype:
                atom = tir.Cast(dtype, atom)
            out = atom if out is None else _MUL(out, atom)
        made: PrimExpr = out if coeff == 1 else _MUL(out, IntImm(dtype, coeff))
        return made

    def simplify(self, expr: PrimExpr) -> PrimExpr:
        """An equal index expression in normal form."""
        kind = type(expr)
        if kind is IntImm or isinstance(expr, Var):
            return expr
        return self.expr(self.merged(self.poly(expr)), expr.dtype)
