"""Small functions: rounding, neighbours, scaling, powers of integers. Most are exact."""

from __future__ import annotations

from ....ir.dtype import info
from .builder import INF, NAN, Builder, Value


def _is_wide(x: Value) -> bool:
    return x.dtype == "float64"


def trunc(b: Builder, x: Value) -> Value:
    """x rounded toward zero, without a rounding instruction."""
    a = b.abs(x)
    limit = 2.0**52 if _is_wide(x) else 2.0**23
    whole = b.nearest(b.select(a < limit, a, 0.0))
    whole = whole - b.select(whole > a, b.const(1.0, x.dtype), b.const(0.0, x.dtype))
    return b.with_sign(b.select(a < limit, whole, a), x)


def floor(b: Builder, x: Value) -> Value:
    """x rounded down, without a rounding instruction."""
    t = trunc(b, x)
    return b.select(t > x, t - 1.0, t)


def ceil(b: Builder, x: Value) -> Value:
    """x rounded up, without a rounding instruction."""
    t = trunc(b, x)
    # -0.5 becomes -0
    return b.with_sign(b.abs(b.select(t < x, t + 1.0, t)), x)


def nearbyint(b: Builder, x: Value) -> Value:
    """x rounded to nearest, ties to even, without a rounding instruction."""
    a = b.abs(x)
    limit = 2.0**52 if _is_wide(x) else 2.0**23
    return b.with_sign(b.select(a < limit, (a + limit) - limit, a), x)


def round_away(b: Builder, x: Value, t: Value) -> Value:
    """x rounded to nearest, ties away from zero; `t` is x truncated."""
    half = b.abs(x - t) >= 0.5
    away = b.select(half, b.const(1.0, x.dtype), b.const(0.0, x.dtype))
    # inf - inf is NaN, and compares false
    return t + b.with_sign(away, x)


def ldexp(b: Builder, x: Value, n: Value) -> Value:
    """x * 2^n, rounded once."""
    if not _is_wide(x):
        n = b.select(n > 300, 300, b.select(n < -300, -300, n))
        power = b.asfloat((n.to("int64") + 1023) << 52)
        return (x.to("float64") * power).to("float32")
    n = b.select(n > 2300, 2300, b.select(n < -2300, -2300, n)).to("int64")
    for _ in range(2):
        # a step down stops 53 places above the least normal, so that rounding happens once
        up, down = n > 1023, n < -1022
        factor = b.select(up, b.const(2.0**1023, "float64"), b.constants(down, "float64",
                          2.0**-969, 1.0))  # fmt: skip
        x = x * factor
        n = n - b.select(up, b.const(1023, "int64"), b.constants(down, "int64", -969, 0))
    n = b.select(n > 1023, 1023, b.select(n < -1022, -1022, n))
    return x * b.asfloat((n + 1023) << 52)


def hypot(b: Builder, x: Value, y: Value) -> Value:
    """sqrt(x^2 + y^2) without overflow in between; an infinity wins over NaN."""
    a, c = b.abs(x), b.abs(y)
    if not _is_wide(x):
        wide, other = a.to("float64"), c.to("float64")
        r = b.sqrt(b.fma(wide, wide, other * other)).to("float32")
    else:
        large = b.select(a > c, a, c)
        huge, tiny = large > 2.0**500, large < 2.0**-500
        scale = b.select(huge, b.const(2.0**-600, "float64"),
                         b.constants(tiny, "float64", 2.0**600, 1.0))  # fmt: skip
        back = b.select(huge, b.const(2.0**600, "float64"),
                        b.constants(tiny, "float64", 2.0**-600, 1.0))  # fmt: skip
        p, q = a * scale, c * scale
        r = b.sqrt(b.fma(p, p, q * q)) * back
    return b.select(a.eq(INF) | c.eq(INF), INF, r)


def nextafter(b: Builder, x: Value, y: Value) -> Value:
    """The next value after x in the direction of y."""
    bits = b.asint(x)
    # away from zero the bits count up, on both sides of it
    outward = (x < y).same(bits >= 0)
    kind = bits.dtype
    step = b.constants(outward, kind, 1, -1)
    moved = b.asfloat(bits + step)
    least = b.with_sign(b.asfloat(b.const(1, kind)), y)
    moved = b.select(x.eq(0.0), least, moved)
    moved = b.select(x.eq(y), y, moved)
    return b.select(x.ne(x) | y.ne(y), NAN, moved)


def int_abs(b: Builder, x: Value) -> Value:
    return b.select(x < 0, 0 - x, x)


def int_pow(b: Builder, x: Value, n: Value) -> Value:
    """x^n modulo 2^bits by squaring; a negative power rounds 1 / x^|n| toward zero."""
    found = info(n.dtype)
    result = b.const(1, x.dtype)
    square = x
    bits = n.bits(f"uint{found.bits}")
    for place in range(found.bits - found.signed):
        take = ((bits >> place) & 1).ne(0)
        result = b.select(take, result * square, result)
        square = square * square
    if not found.signed:
        return result
    odd = (n & 1).ne(0)
    minus = b.const(-1, x.dtype)
    inverse = b.select(x.eq(1), b.const(1, x.dtype), b.const(0, x.dtype))
    if info(x.dtype).signed:
        whole = b.select(odd, minus, b.const(1, x.dtype))
        inverse = b.select(x.eq(-1), whole, inverse)
    return b.select(n < 0, inverse, result)


def multiply_shift(b: Builder, x: Value, y: Value, q: Value, s: Value) -> Value:
    """x * y of two numbers with q fraction bits, shifted by s (left when positive), rounded."""
    left = b.select(s > 0, s, 0)
    right = b.select(s > 0, 0, 0 - s)
    total = (q + right).to("int64")
    product = (x << left).to("int64") * y.to("int64")
    half = b.const(1, "int64") << (total - 1)
    return ((product + half) >> total).to("int32")
