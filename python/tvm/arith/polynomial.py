"""Polynomials with integer coefficients, as dicts."""

from __future__ import annotations

# monomial (keys of its atoms, sorted; () is the constant) -> coefficient
Poly = dict[tuple[str, ...], int]
Bound = tuple[int | None, int | None]


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


def split(poly: Poly, c: int) -> tuple[Poly, Poly]:
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


def split_symbolic(poly: Poly, b: Poly) -> tuple[Poly, Poly]:
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
