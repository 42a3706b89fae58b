"""Math functions of float64, all within 4 units in the last place.

The shapes are those of the float32 functions with longer polynomials.
"""

from __future__ import annotations

from .builder import INF, NAN, Builder, Value, hexes
from .float32 import pow_special

_h = float.fromhex
MAGIC = _h("0x1.8p52")
LOG2E = _h("0x1.71547652b82fep+0")
# the first part has 41 bits, so that its product with an exponent is exact
LN2_HIGH = _h("0x1.62e42fefa3000p-1")
LN2_LOW = _h("0x1.3de6af278ece6p-42")
LN2 = _h("0x1.62e42fefa39efp-1")
TINY = _h("0x1p-1022")
EXPONENT = 0xFFF0000000000000
SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
HALF_PI = _h("0x1.921fb54442d18p+0")
HALF_PI_LOW = _h("0x1.1a62633145c07p-54")


def _clamp(b: Builder, x: Value, low: float, high: float) -> Value:
    x = b.select(x > high, high, x)
    return b.select(x < low, low, x)


def _scale2(b: Builder, p: Value, i: Value) -> Value:
    """p * 2^n in two factors; i holds n + 2046."""
    half = (i.bits("uint64") >> 1).bits("int64")
    return p * b.asfloat(half << 52) * b.asfloat((i - half) << 52)


def _power2(b: Builder, i: Value) -> Value:
    """2^n; i holds the bits of n + MAGIC + 1023."""
    return b.asfloat(i << 52)


def _reduce_exp(b: Builder, x: Value, magic: float) -> tuple[Value, Value]:
    t = b.fma(x, LOG2E, b.const(magic, "float64"))
    n = t - magic
    r = b.fma(n, -LN2_HIGH, x)
    return b.fma(n, -LN2_LOW, r), b.asint(t)


_EXPM1 = hexes(
    "0x1.1f25965200b9bp-29 0x1.af5d4bb076b89p-26 0x1.27e50604048f1p-22 0x1.71ddf92cf41dbp-19 "
    "0x1.a01a0197fa2eep-16 0x1.a01a01af962f9p-13 0x1.6c16c16c17b09p-10 0x1.111111110f72bp-7 "
    "0x1.5555555555557p-5 0x1.5555555555559p-3 0x1p-1"
)


def _exp_minus_1(b: Builder, r: Value) -> Value:
    return b.fma(b.poly(r, *_EXPM1), r * r, r)


def exp(b: Builder, x: Value) -> Value:
    """0.98 ulp."""
    r, i = _reduce_exp(b, _clamp(b, x, -746.0, 710.0), MAGIC + 2046.0)
    return _scale2(b, 1.0 + _exp_minus_1(b, r), i)


def exp2(b: Builder, x: Value) -> Value:
    x = _clamp(b, x, -1076.0, 1025.0)
    t = x + (MAGIC + 2046.0)
    r = (x - (t - (MAGIC + 2046.0))) * LN2
    return _scale2(b, 1.0 + _exp_minus_1(b, r), b.asint(t))


def exp10(b: Builder, x: Value) -> Value:
    x = _clamp(b, x, -324.5, 308.5)
    t = b.fma(x, _h("0x1.a934f0979a371p+1"), MAGIC + 2046.0)
    n = t - (MAGIC + 2046.0)
    r = b.fma(n, _h("-0x1.34413509f7800p-2"), x)
    r = b.fma(n, _h("-0x1.fef311f12b358p-46"), r)
    return _scale2(b, 1.0 + _exp_minus_1(b, r * _h("0x1.26bb1bbb55516p+1")), b.asint(t))


# the series of cosh and sinh: on |r| <= 0.35 they end early
_EVEN = hexes(
    "0x1.93974a8c07c9dp-37 0x1.1eed8eff8d898p-29 0x1.27e4fb7789f5cp-22 0x1.a01a01a01a01ap-16 "
    "0x1.6c16c16c16c17p-10 0x1.5555555555555p-5 0x1p-1 1"
)
_ODD = hexes(
    "0x1.ae7f3e733b81fp-41 0x1.6124613a86d09p-33 0x1.ae64567f544e4p-26 0x1.71de3a556c734p-19 "
    "0x1.a01a01a01a01ap-13 0x1.1111111111111p-7 0x1.5555555555555p-3"
)


def _hyperbolic(b: Builder, x: Value) -> tuple[Value, Value, Value, Value]:
    """Even and odd part of e^r, then 2^n - 2^-n and 2^n + 2^-n at a quarter of their size."""
    r, i = _reduce_exp(b, _clamp(b, x, -711.5, 711.5), MAGIC + 1021.0)
    z = r * r
    even = b.poly(z, *_EVEN)
    odd = b.fma(b.poly(z, *_ODD) * z, r, r)
    up = i << 52
    down = (2042 << 52) - up
    s = b.asfloat(b.select(up > 0, up, 0))
    t = b.asfloat(b.select(down > 0, down, 0))
    return even, odd, s - t, s + t


def sinh(b: Builder, x: Value) -> Value:
    even, odd, minus, plus = _hyperbolic(b, x)
    y = b.fma(minus, even, plus * odd)
    return b.select(b.abs(x) < _h("0x1p-27"), x, y + y)


def cosh(b: Builder, x: Value) -> Value:
    even, odd, minus, plus = _hyperbolic(b, x)
    y = b.fma(plus, even, minus * odd)
    return y + y


def tanh(b: Builder, x: Value) -> Value:
    """2.59 ulp."""
    c = b.abs(x)
    c = b.select(c > 19.5, 19.5, c)
    r, i = _reduce_exp(b, c + c, MAGIC + 1023.0)
    s = _power2(b, i)
    y = b.fma(_exp_minus_1(b, r), s, s - 1.0)
    return b.with_sign(y / (y + 2.0), x)


def sigmoid(b: Builder, x: Value) -> Value:
    e = exp(b, -b.abs(x))
    return b.select(x >= 0.0, 1.0, e) / (1.0 + e)


_LOG = hexes(
    "0x1.2f1199552a8a0p-3 0x1.39a0937811d80p-3 0x1.746649bebab79p-3 0x1.c71c51d7a0433p-3 "
    "0x1.249249422a5f9p-2 0x1.999999997f9f8p-2 0x1.5555555555593p-1"
)


def _reduce_log(b: Builder, x: Value) -> tuple[Value, Value]:
    """x = 2^k (1 + f), 1 + f in sqrt(1/2)..sqrt(2); denormals are scaled."""
    denormal = x < TINY
    xs = b.select(denormal, x * _h("0x1p54"), x)
    ix = b.asuint(xs)
    k52 = (ix - SQRT_HALF_BITS) & EXPONENT
    m = b.asfloat(ix - k52)
    k = (k52.bits("int64") >> 52).to("float64") + b.constants(denormal, "float64", -54.0, 0.0)
    return k, m - 1.0


def _log_parts(b: Builder, f: Value) -> tuple[Value, Value]:
    """log(1 + f) = f - (h - lo), as (h, lo)."""
    s = f / (2.0 + f)
    h = 0.5 * f * f
    return h, s * b.fma(b.poly(s * s, *_LOG), s * s, h)


def _log_of(b: Builder, k: Value, f: Value) -> Value:
    """k ln 2 + log(1 + f)."""
    h, low = _log_parts(b, f)
    return b.fma(k, LN2_HIGH, f - (h - b.fma(k, LN2_LOW, low)))


def _log_special(b: Builder, y: Value, x: Value) -> Value:
    y = b.select(x < INF, y, x)
    y = b.select(x.eq(0.0), -INF, y)
    return b.select(x < 0.0, NAN, y)


def log(b: Builder, x: Value) -> Value:
    """0.84 ulp."""
    return _log_special(b, _log_of(b, *_reduce_log(b, x)), x)


def log2(b: Builder, x: Value) -> Value:
    k, f = _reduce_log(b, x)
    h, low = _log_parts(b, f)
    return _log_special(b, b.fma(f - (h - low), LOG2E, k), x)


def log10(b: Builder, x: Value) -> Value:
    k, f = _reduce_log(b, x)
    h, low = _log_parts(b, f)
    y = (f - (h - low)) * _h("0x1.bcb7b1526e50ep-2")
    y = b.fma(k, _h("0x1.fef311f12b358p-46"), y)
    return _log_special(b, b.fma(k, _h("0x1.34413509f7800p-2"), y), x)


def _log1p(b: Builder, u: Value, more: Value | float) -> Value:
    """log(1 + u) + more * ln 2."""
    k52 = (b.asuint(1.0 + u) - SQRT_HALF_BITS) & EXPONENT
    m = b.asfloat(b.asuint(u) - k52)
    c = b.asfloat(0x4010000000000000 - k52)
    f = m + b.fma(0.25, c, -1.0)
    k = (k52.bits("int64") >> 52).to("float64") + more
    return _log_of(b, k, f)


def log1p(b: Builder, x: Value) -> Value:
    y = _log1p(b, x, 0.0)
    y = b.select(x < INF, y, x)
    y = b.select(x.eq(-1.0), -INF, y)
    y = b.select(x < -1.0, NAN, y)
    return b.select(x.eq(0.0), x, y)


def asinh(b: Builder, x: Value) -> Value:
    a = b.abs(x)
    big = a > _h("0x1p28")
    u = a + a * a / (1.0 + b.sqrt(b.fma(a, a, 1.0)))
    u = b.select(big, a - 1.0, u)
    y = _log1p(b, u, b.constants(big, "float64", 1.0, 0.0))
    return b.with_sign(b.select(a < INF, y, a), x)


def acosh(b: Builder, x: Value) -> Value:
    big = x > _h("0x1p28")
    t = x - 1.0
    u = b.select(big, t, t + b.sqrt(t * (t + 2.0)))
    y = _log1p(b, u, b.constants(big, "float64", 1.0, 0.0))
    return b.select(x < 1.0, NAN, b.select(x < INF, y, x))


def atanh(b: Builder, x: Value) -> Value:
    a = b.abs(x)
    y = 0.5 * _log1p(b, (a + a) / (1.0 - a), 0.0)
    y = b.select(a < 1.0, y, b.constants(a.eq(1.0), "float64", INF, NAN))
    return b.with_sign(b.select(a < _h("0x1p-28"), a, y), x)


# --- trigonometric -------------------------------------------------------------------------------

_SIN = hexes(
    "0x1.5d8b5ad4f8576p-33 -0x1.ae5e4ba09fa3dp-26 0x1.71de35554deefp-19 -0x1.a01a019be935ap-13 "
    "0x1.111111110f730p-7 -0x1.5555555555548p-3"
)
_COS = hexes(
    "-0x1.8fa6849f31ba9p-37 0x1.1ee9dbcf85db7p-29 -0x1.27e4f7f1924e1p-22 0x1.a01a019c8f265p-16 "
    "-0x1.6c16c16c15015p-10 0x1.555555555554bp-5 -0x1p-1 1"
)
# 2/pi in words of 64 bits, after one word of zeros
_TWO_OVER_PI = (
    0x0000000000000000, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041,
    0xFE5163ABDEBBC561, 0xB7246E3A424DD2E0, 0x06492EEA09D1921C, 0xFE1DEB1CB129A73E,
    0xE88235F52EBB4484, 0xE99C7026B45F7E41, 0x3991D639835339F4, 0x9C845F8BBDF9283B,
    0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7, 0x4F463F669E5FEA2D,
    0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB,
)  # fmt: skip


def _reduce_small(b: Builder, x: Value) -> tuple[Value, Value]:
    """x - q pi/2 and q, for |x| < 2^20: pi/2 in parts of 33 bits."""
    t = b.fma(x, _h("0x1.45f306dc9c883p-1"), MAGIC)
    n = t - MAGIC
    r = x
    for part in hexes("-0x1.921fb544p+0 -0x1.0b4611a6p-34 -0x1.3198a2e0p-69 -0x1.b839a252p-104"):
        r = b.fma(n, part, r)
    return r, b.asint(t)


def _low_product(b: Builder, x: Value, y: Value, product: Value) -> Value:
    """What rounding took from a product: exactly x * y - product."""
    if b.fused:
        return b.fma(x, y, -product)
    mask = 0xFFFFFFFFF8000000
    xh, yh = b.asfloat(b.asuint(x) & mask), b.asfloat(b.asuint(y) & mask)
    xl, yl = x - xh, y - yh
    return ((xh * yh - product) + xh * yl + xl * yh) + xl * yl


def _high_product(m: Value, w: Value) -> Value:
    """The upper 64 bits of a product of two 64-bit words."""
    mh, ml, wh, wl = m >> 32, m & 0xFFFFFFFF, w >> 32, w & 0xFFFFFFFF
    middle = ((ml * wl) >> 32) + mh * wl
    second = ml * wh + (middle & 0xFFFFFFFF)
    return mh * wh + (middle >> 32) + (second >> 32)


def _reduce_large(b: Builder, x: Value) -> tuple[Value, Value]:
    """x - q pi/2 and q for any finite |x| >= 1: integer arithmetic (Payne and Hanek).

    Of the product of x's mantissa with 2/pi only the bits below 4 matter, so 192 bits of 2/pi are
    taken from the place where they begin, and the product's upper 128 bits are kept.
    """
    bits = b.asuint(x)
    exponent = (bits >> 52) & 0x7FF
    m = (bits & 0xFFFFFFFFFFFFF) | 0x10000000000000
    # a finite x has an exponent of at most 2046; others give NaN in the end
    skip = b.select(exponent > 2046, 2046, exponent) - 1013
    offset = skip & 63
    words = [b.const(item, "uint64") for item in _TWO_OVER_PI]
    for step, kept in ((16, 19), (8, 11), (4, 7), (2, 5), (1, 4)):
        here = (skip & (64 * step)).ne(0)
        words = [
            b.select(here, words[n + step], words[n]) if n + step < len(words) else words[n]
            for n in range(kept)
        ]
    back = 63 - offset
    w0, w1, w2 = ((words[n] << offset) | ((words[n + 1] >> 1) >> back) for n in range(3))
    middle = m * w1
    low = middle + _high_product(m, w2)
    carry = b.constants(low < middle, "uint64", 1, 0)
    high = m * w0 + _high_product(m, w1) + carry
    q = (high + 0x2000000000000000) >> 62
    rest = (high - (q << 62)).bits("int64")
    sign = (rest >> 63).bits("uint64")
    low = (low ^ sign) - sign
    # minus a 128-bit number: the borrow reaches the upper word only if the lower is 0
    more = b.select(low.eq(0), sign & 1, 0)
    size = (rest.bits("uint64") ^ sign) + more
    # the fraction in exact pieces of 32 bits, summed into two doubles
    pieces = [
        (word >> shift & 0xFFFFFFFF).to("float64") for word in (size, low) for shift in (32, 0)
    ]
    top = pieces[0] * _h("0x1p32")
    s1 = top + pieces[1]
    tail = ((top - s1) + pieces[1]) + b.fma(pieces[2], _h("0x1p-32"), pieces[3] * _h("0x1p-64"))
    s = s1 + tail
    t = (s1 - s) + tail
    p = s * HALF_PI
    r = p + (_low_product(b, s, b.const(HALF_PI, "float64"), p)
             + b.fma(s, HALF_PI_LOW, t * HALF_PI))  # fmt: skip
    r = r * _h("0x1p-62")
    sx = b.asint(x) >> 63
    turns = (q.bits("int64") ^ sx) - sx
    flip = (sign.bits("int64") ^ sx) & -0x8000000000000000
    return b.asfloat(b.asint(r) ^ flip), turns


def _sin_and_cos(b: Builder, r: Value) -> tuple[Value, Value]:
    z = r * r
    return b.fma(b.poly(z, *_SIN), z * r, r), b.poly(z, *_COS)


def _sin_of(b: Builder, r: Value, q: Value, cosine: bool) -> Value:
    s, c = _sin_and_cos(b, r)
    odd = (q & 1).ne(0)
    y = b.select(odd, s, c) if cosine else b.select(odd, c, s)
    turn = ((q + 1) if cosine else q) & 2
    return b.asfloat(b.asint(y) ^ (turn << 62))


def _tan_of(b: Builder, r: Value, q: Value) -> Value:
    s, c = _sin_and_cos(b, r)
    odd = (q & 1).ne(0)
    return b.select(odd, -c, s) / b.select(odd, s, c)


def _in(inner: Builder, x: Value) -> Value:
    return inner.op(x.dtype, lambda node: node, x)


def _is_large(b: Builder, x: Value) -> Value:
    return b.abs(x) >= _h("0x1p20")


def sin(b: Builder, x: Value) -> Value:
    near = _sin_of(b, *_reduce_small(b, x), False)
    y = b.lazily(_is_large(b, x), lambda c: _sin_of(c, *_reduce_large(c, _in(c, x)), False), near)
    y = b.select(b.abs(x) < INF, y, NAN)
    return b.select(x.eq(0.0), x, y)


def cos(b: Builder, x: Value) -> Value:
    near = _sin_of(b, *_reduce_small(b, x), True)
    y = b.lazily(_is_large(b, x), lambda c: _sin_of(c, *_reduce_large(c, _in(c, x)), True), near)
    return b.select(b.abs(x) < INF, y, NAN)


def tan(b: Builder, x: Value) -> Value:
    near = _tan_of(b, *_reduce_small(b, x))
    y = b.lazily(_is_large(b, x), lambda c: _tan_of(c, *_reduce_large(c, _in(c, x))), near)
    y = b.select(b.abs(x) < INF, y, NAN)
    return b.select(x.eq(0.0), x, y)


_ASIN = hexes(
    "0x1.e58a4f5f165a5p-6 -0x1.3bd7e3b163693p-6 0x1.40c91feedb3e1p-6 0x1.8dcdf024444cfp-9 "
    "0x1.3177749b53b1bp-7 0x1.3b462d0ebabefp-7 0x1.7b02ef00f18bfp-7 0x1.c990a42b27d0ap-7 "
    "0x1.1c4efd20ec127p-6 0x1.6e8ba121b9d23p-6 0x1.f1c71c7a5e153p-6 0x1.6db6db6dac0eap-5 "
    "0x1.3333333333389p-4 0x1.5555555555555p-3"
)
_ATAN = hexes(
    "0x1.0aa87c3f12911p-6 -0x1.1b2058ef96ed7p-5 0x1.74d64aa15556cp-5 -0x1.ac78ec6a4eec2p-5 "
    "0x1.e199da41260fbp-5 -0x1.110e858a706dbp-4 0x1.3b1392b64186fp-4 -0x1.745d165cb838ep-4 "
    "0x1.c71c71c2fe5d8p-4 -0x1.249249248d768p-3 0x1.9999999999953p-3 -0x1.5555555555555p-2"
)


def _asin_core(b: Builder, a: Value) -> tuple[Value, Value]:
    """asin of a, or of sqrt((1 - a) / 2) where a > 1/2; and whether it is."""
    large = a > 0.5
    z = b.select(large, b.fma(a, -0.5, 0.5), a * a)
    s = b.select(large, b.sqrt(z), a)
    return b.fma(b.poly(z, *_ASIN), z * s, s), large


def asin(b: Builder, x: Value) -> Value:
    p, large = _asin_core(b, b.abs(x))
    y = b.select(large, HALF_PI - b.fma(p, 2.0, -HALF_PI_LOW), p)
    return b.with_sign(y, x)


def acos(b: Builder, x: Value) -> Value:
    p, large = _asin_core(b, b.abs(x))
    signed = b.asfloat(b.asuint(p) ^ (b.asuint(x) & 0x8000000000000000))
    negative = x < 0.0
    c = b.select(large, b.constants(negative, "float64", 2 * HALF_PI, 0.0), HALF_PI)
    low = b.constants(negative, "float64", 2 * HALF_PI_LOW, 0.0)
    low = b.select(large, low, HALF_PI_LOW)
    v = b.select(large, signed + signed, -signed)
    return c + (v + low)


def _atan_of_ratio(b: Builder, top: Value, bottom: Value) -> Value:
    """atan(top / bottom), neither negative: around 0, pi/4 and pi/2, with one division."""
    steep = top > bottom * _h("0x1.3504f333f9de6p+1")
    middle = top > bottom * _h("0x1.a827999fcef32p-2")
    numerator = b.select(steep, -bottom, b.select(middle, top - bottom, top))
    denominator = b.select(steep, top, b.select(middle, top + bottom, bottom))
    t = numerator / denominator
    z = t * t
    p = b.fma(b.poly(z, *_ATAN) * z, t, t)
    base = b.select(steep, HALF_PI, b.constants(middle, "float64", 0.5 * HALF_PI, 0.0))
    low = b.select(steep, HALF_PI_LOW, b.constants(middle, "float64", 0.5 * HALF_PI_LOW, 0.0))
    return base + (p + low)


def atan(b: Builder, x: Value) -> Value:
    a = b.abs(x)
    y = _atan_of_ratio(b, b.select(a > _h("0x1p60"), _h("0x1p60"), a), b.const(1.0, "float64"))
    return b.with_sign(y, x)


def atan2(b: Builder, y: Value, x: Value) -> Value:
    a, c = b.abs(x), b.abs(y)
    # very large and very small operands are scaled, so that nothing overflows or loses bits
    large = b.select(a > c, a, c)
    factor = b.select(
        large > _h("0x1p960"), b.const(_h("0x1p-70"), "float64"),
        b.constants(large < _h("0x1p-960"), "float64", _h("0x1p70"), 1.0),
    )  # fmt: skip
    p = _atan_of_ratio(b, c * factor, a * factor)
    p = b.select(a.eq(c), b.constants(a.eq(0.0), "float64", 0.0, 0.5 * HALF_PI), p)
    p = b.select(b.asint(x) < 0, 2 * HALF_PI - (p - 2 * HALF_PI_LOW), p)
    p = b.select(x.eq(x) & y.eq(y), p, NAN)
    return b.with_sign(p, y)


_ERF_NEAR = hexes(
    "-0x1.a242013227437p-31 0x1.d3decd5aafda6p-27 -0x1.5b8c8fc562e90p-23 0x1.b96b5c0a53b7cp-20 "
    "-0x1.f4c82f5d939d3p-17 0x1.f9a296b8aa591p-14 -0x1.c02daeb7200acp-11 0x1.565bcceeda980p-8 "
    "-0x1.b82ce311a97e5p-6 0x1.ce2f21a03f8b9p-4 -0x1.812746b03799dp-2 0x1.06eba8214db68p-3"
)
_ERF_FAR = hexes(
    "0x1.d719143ed52edp-36 0x1.4a92fa5e0a5a4p-32 0x1.26f98ae9d8d95p-30 0x1.36cfe4343e630p-29 "
    "-0x1.8fa388c3ed080p-31 -0x1.491b23c681a02p-28 0x1.da5c1ad85080dp-28 -0x1.ae660d58be1e0p-23 "
    "0x1.9fe90b9dce0eap-20 -0x1.58237676b58c6p-17 0x1.04b4b4c197344p-14 -0x1.73adc8ad179a4p-12 "
    "0x1.ffd03000de2e9p-10 -0x1.5e64392d07bfcp-7 -0x1.619826aea6c24p+0 -0x1.230546f4c52d7p+3 "
    "-0x1.eeeb3adffbb80p+3"
)


def erf(b: Builder, x: Value) -> Value:
    """2.22 ulp, 3.17 without fma: a polynomial below 1, 1 - 2^polynomial above."""
    a = b.abs(x)
    c = b.select(a > 6.0, 6.0, a)
    p = b.fma(b.poly(c * c, *_ERF_NEAR), c, c)
    power = b.poly(c - 3.0, *_ERF_FAR)
    u = power + (MAGIC + 1023.0)
    r = (power - (u - (MAGIC + 1023.0))) * LN2
    e = (1.0 + _exp_minus_1(b, r)) * _power2(b, b.asint(u))
    y = b.select(c < 1.0, p, 1.0 - e)
    return b.with_sign(b.select(a <= INF, y, a), x)


def rsqrt(b: Builder, x: Value) -> Value:
    return 1.0 / b.sqrt(x)


_POW_LOG = hexes(
    "0x1.ead0434eab24fp-4 0x1.de3c413690cafp-4 0x1.1120760e50ff7p-3 0x1.3b1364a070729p-3 "
    "0x1.745d1829d8767p-3 0x1.c71c71c595c00p-3 0x1.2492492492f55p-2 0x1.9999999999996p-2"
)


def pow(b: Builder, x: Value, y: Value) -> Value:
    """x^y; 1.07 ulp: the logarithm, times y, in two doubles."""
    a = b.abs(x)
    denormal = a < TINY
    ix = b.asuint(b.select(denormal, a * _h("0x1p54"), a))
    k52 = (ix - SQRT_HALF_BITS) & EXPONENT
    m = b.asfloat(ix - k52)
    k = (k52.bits("int64") >> 52).to("float64") + b.constants(denormal, "float64", -54.0, 0.0)
    f, rc = m - 1.0, 1.0 / (m + 1.0)
    # q + ql = 2f / (2 + f)
    q = (f + f) * rc
    d = 2.0 * (f - q)
    qf = q * f
    ql = rc * ((d - qf) - _low_product(b, q, f, qf))
    s = 0.5 * q
    z = s * s
    zl = _low_product(b, s, s, z) + s * ql
    third = _h("0x1.5555555555555p-1")
    g = z * b.poly(z, *_POW_LOG)
    c = third + g
    cl = (third - c) + g + _h("0x1.5555555555555p-55")
    th = z * c
    tl = _low_product(b, z, c, th) + (z * cl + zl * c)
    vh = s * th
    vl = _low_product(b, s, th, vh) + (s * tl + 0.5 * ql * th)
    wh = q + vh
    wl = ((q - wh) + vh) + (vl + ql)
    # times log2(e), plus the exponent
    hi = wh * LOG2E
    low = _low_product(b, wh, b.const(LOG2E, "float64"), hi)
    low = b.fma(wh, _h("0x1.777d0ffda0d24p-56"), low)
    low = b.fma(wl, LOG2E, low)
    h = k + hi
    low = low + ((k - h) + hi)
    top = h + low
    rest = (h - top) + low
    yc = _clamp(b, y, _h("-0x1p80"), _h("0x1p80"))
    ph = yc * top
    pl = b.fma(yc, rest, _low_product(b, yc, top, ph))
    pl = b.select(b.abs(ph) < 1200.0, pl, 0.0)
    ph = _clamp(b, ph, -1200.0, 1200.0)
    t = ph + (MAGIC + 2046.0)
    r = (ph - (t - (MAGIC + 2046.0))) + pl
    r = b.fma(r, LN2, r * _h("0x1.abc9e3b39803fp-56"))
    v = _scale2(b, 1.0 + _exp_minus_1(b, r), b.asint(t))
    return pow_special(b, v, x, y, a)
