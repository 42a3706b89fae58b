"""Math functions of float32.

Polynomials by Remez exchange; errors in units in the last place are in the docstrings, with fused
multiply-add and without. Denormal numbers are neither flushed on the way in nor on the way out.
"""

from __future__ import annotations

from .builder import INF, NAN, Builder, Value, hexes

_h = float.fromhex
# adding this number rounds to an integer, whose bits are then the low bits of the sum
MAGIC = _h("0x1.8p23")
LOG2E = _h("0x1.715476p+0")
# ln 2 in two parts; the first has 15 bits, so that its product with an exponent is exact
LN2_HIGH = _h("0x1.62e400p-1")
LN2_LOW = _h("0x1.7f7d1cp-20")
TINY = _h("0x1p-126")


def _scale2(b: Builder, p: Value, i: Value) -> Value:
    """p * 2^n in two factors, so that overflow and denormal results are right; i holds n + 254."""
    half = (i.bits("uint32") >> 1).bits("int32")
    return p * b.asfloat(half << 23) * b.asfloat((i - half) << 23)


def _power2(b: Builder, i: Value) -> Value:
    """2^n, n in -126..127; i holds the bits of n + MAGIC + 127."""
    return b.asfloat(i << 23)


def _clamp(b: Builder, x: Value, low: float, high: float) -> Value:
    """x between two bounds; NaN stays."""
    x = b.select(x > high, high, x)
    return b.select(x < low, low, x)


def _reduce_exp(b: Builder, x: Value, magic: float) -> tuple[Value, Value]:
    """The remainder x - n ln 2, and bits that hold n."""
    t = b.fma(x, LOG2E, b.const(magic, "float32"))
    n = t - magic
    r = b.fma(n, -LN2_HIGH, x)
    return b.fma(n, -LN2_LOW, r), b.asint(t)


_EXP = hexes("0x1.6ac69ap-10 0x1.123f62p-7 0x1.55585ap-5 0x1.55548ap-3 0x1.fffffcp-2 1 1")
_EXPM1 = hexes("0x1.6be10cp-10 0x1.122db2p-7 0x1.5556e4p-5 0x1.5554a8p-3 0x1.fffffep-2")
_EXP2 = hexes(
    "0x1.1792b2p-13 0x1.5ef49cp-10 0x1.3b6818p-7 0x1.c6af9ep-5 0x1.ebfb94p-3 0x1.62e430p-1 1"
)
_EXP10 = hexes(
    "0x1.7ccd0ap-3 0x1.156470p-1 0x1.2c0418p+0 0x1.046fa4p+1 0x1.535224p+1 0x1.26bb1cp+1 1"
)


def exp(b: Builder, x: Value) -> Value:
    """e^x; 0.90 ulp, 1.17 without fma."""
    r, i = _reduce_exp(b, _clamp(b, x, -104.0, 89.0), MAGIC + 254.0)
    return _scale2(b, b.poly(r, *_EXP), i)


def exp2(b: Builder, x: Value) -> Value:
    """2^x; 0.92 ulp, 1.19 without fma."""
    x = _clamp(b, x, -151.0, 129.0)
    t = x + (MAGIC + 254.0)
    r = x - (t - (MAGIC + 254.0))
    return _scale2(b, b.poly(r, *_EXP2), b.asint(t))


def exp10(b: Builder, x: Value) -> Value:
    """10^x; 1.06 ulp, 1.33 without fma."""
    x = _clamp(b, x, _h("-0x1.6cp5"), _h("0x1.35999ap5"))
    t = b.fma(x, _h("0x1.a934f0p+1"), MAGIC + 254.0)
    n = t - (MAGIC + 254.0)
    r = b.fma(n, _h("-0x1.344000p-2"), x)
    r = b.fma(n, _h("-0x1.3509f8p-18"), r)
    return _scale2(b, b.poly(r, *_EXP10), b.asint(t))


def _exp_minus_1(b: Builder, r: Value) -> Value:
    """e^r - 1 for small r."""
    return b.fma(b.poly(r, *_EXPM1), r * r, r)


_EVEN = hexes("0x1.6d51dap-10 0x1.5554e4p-5 0x1p-1 1")
_ODD = hexes("0x1.a2dd4ap-13 0x1.110fc0p-7 0x1.555556p-3")


def _hyperbolic(b: Builder, x: Value) -> tuple[Value, Value, Value, Value]:
    """Even and odd part of e^r, then 2^n - 2^-n and 2^n + 2^-n at a quarter of their size."""
    c = _clamp(b, x, -89.5, 89.5)
    r, i = _reduce_exp(b, c, MAGIC + 125.0)
    z = r * r
    even = b.poly(z, *_EVEN)
    odd = b.fma(b.poly(z, *_ODD) * z, r, r)
    up = i << 23
    down = 0x7D000000 - up
    s = b.asfloat(b.select(up > 0, up, 0))
    t = b.asfloat(b.select(down > 0, down, 0))
    return even, odd, s - t, s + t


def sinh(b: Builder, x: Value) -> Value:
    """2.79 ulp, 3.73 without fma."""
    even, odd, minus, plus = _hyperbolic(b, x)
    y = b.fma(minus, even, plus * odd)
    return b.select(b.abs(x) < _h("0x1p-12"), x, y + y)


def cosh(b: Builder, x: Value) -> Value:
    """2.59 ulp, 3.10 without fma."""
    even, odd, minus, plus = _hyperbolic(b, x)
    y = b.fma(plus, even, minus * odd)
    return y + y


def tanh(b: Builder, x: Value) -> Value:
    """2.57 ulp, 2.61 without fma."""
    c = b.abs(x)
    c = b.select(c > _h("0x1.233334p3"), _h("0x1.233334p3"), c)
    r, i = _reduce_exp(b, c + c, MAGIC + 127.0)
    s = _power2(b, i)
    y = b.fma(_exp_minus_1(b, r), s, s - 1.0)
    return b.with_sign(y / (y + 2.0), x)


def sigmoid(b: Builder, x: Value) -> Value:
    """1 / (1 + e^-x); 2.41 ulp."""
    e = exp(b, -b.abs(x))
    return b.select(x >= 0.0, 1.0, e) / (1.0 + e)


# --- logarithms ----------------------------------------------------------------------------------

_LOG = hexes(
    "0x1.1f426ep-3 -0x1.3b285cp-3 0x1.1ea25cp-3 -0x1.5032e6p-3 0x1.99d428p-3 -0x1.001480p-2 "
    "0x1.5554fap-2 -0x1.ffffd6p-2"
)
_LOG2 = hexes(
    "0x1.02f10ap-3 -0x1.a7469ep-3 0x1.b8bab8p-3 -0x1.e9881ap-3 0x1.26e700p-2 -0x1.715b64p-2 "
    "0x1.ec72f6p-2 -0x1.715472p-1 0x1.4ae0c0p-26"
)
_LOG10 = hexes(
    "0x1.37b11ep-5 -0x1.fd9438p-5 0x1.0954d0p-4 -0x1.26ba06p-4 0x1.63193cp-4 -0x1.bcc01ap-4 "
    "0x1.287be0p-3 -0x1.bcb7acp-3 -0x1.5b235ep-27"
)
LN2 = _h("0x1.62e430p-1")
TWO_THIRDS_BITS = 0x3F2AAAAB
SQRT_HALF_BITS = 0x3F3504F3


def _reduce_log(b: Builder, x: Value, lowest: int) -> tuple[Value, Value]:
    """x = 2^k (1 + f), with 1 + f from the float of bits `lowest` on; denormals are scaled."""
    denormal = x < TINY
    xs = b.select(denormal, x * _h("0x1p23"), x)
    kb = b.constants(denormal, "float32", -23.0, 0.0)
    ix = b.asuint(xs)
    k23 = (ix - lowest) & 0xFF800000
    m = b.asfloat(ix - k23)
    k = b.fma(k23.bits("int32").to("float32"), _h("0x1p-23"), kb)
    return k, m - 1.0


def _log_poly(b: Builder, f: Value) -> Value:
    """log(1 + f), |f| <= 1/3."""
    return b.fma(b.poly(f, *_LOG), f * f, f)


def _log_special(b: Builder, y: Value, x: Value) -> Value:
    """The result where x is inf or NaN, 0, or negative."""
    y = b.select(x < INF, y, x)
    y = b.select(x.eq(0.0), -INF, y)
    return b.select(x < 0.0, NAN, y)


def log(b: Builder, x: Value) -> Value:
    """1.05 ulp, 1.18 without fma."""
    k, f = _reduce_log(b, x, TWO_THIRDS_BITS)
    return _log_special(b, b.fma(k, LN2, _log_poly(b, f)), x)


def log2(b: Builder, x: Value) -> Value:
    """1.34 ulp, 2.41 without fma."""
    k, f = _reduce_log(b, x, SQRT_HALF_BITS)
    q = b.poly(f, *_LOG2) * f
    return _log_special(b, k + b.fma(f, LOG2E, q), x)


def log10(b: Builder, x: Value) -> Value:
    """1.29 ulp, 2.20 without fma."""
    k, f = _reduce_log(b, x, SQRT_HALF_BITS)
    q = b.poly(f, *_LOG10) * f
    y = b.fma(k, _h("-0x1.ec10c0p-27"), q)
    y = b.fma(f, _h("0x1.bcb7b2p-2"), y)
    return _log_special(b, b.fma(k, _h("0x1.344136p-2"), y), x)


def _log1p(b: Builder, u: Value, more: Value | float) -> Value:
    """log(1 + u) + more * ln 2: the bits of 1 + u choose the scale, u itself is scaled exactly."""
    k23 = (b.asuint(1.0 + u) - TWO_THIRDS_BITS) & 0xFF800000
    m = b.asfloat(b.asuint(u) - k23)
    c = b.asfloat(0x40800000 - k23)
    f = m + b.fma(0.25, c, -1.0)
    k = b.fma(k23.bits("int32").to("float32"), _h("0x1p-23"), more)
    return b.fma(k, LN2, _log_poly(b, f))


def log1p(b: Builder, x: Value) -> Value:
    """1.78 ulp, 1.92 without fma."""
    y = _log1p(b, x, 0.0)
    y = b.select(x < INF, y, x)
    y = b.select(x.eq(-1.0), -INF, y)
    y = b.select(x < -1.0, NAN, y)
    return b.select(x.eq(0.0), x, y)


def asinh(b: Builder, x: Value) -> Value:
    """2.05 ulp, 2.23 without fma."""
    a = b.abs(x)
    big = a > _h("0x1p13")
    s = b.sqrt(b.fma(a, a, 1.0))
    u = a + a * a / (1.0 + s)
    u = b.select(big, a - 1.0, u)
    y = _log1p(b, u, b.constants(big, "float32", 1.0, 0.0))
    return b.with_sign(b.select(a < INF, y, a), x)


def acosh(b: Builder, x: Value) -> Value:
    """2.71 ulp."""
    big = x > _h("0x1p13")
    t = x - 1.0
    u = t + b.sqrt(t * (t + 2.0))
    u = b.select(big, t, u)
    y = _log1p(b, u, b.constants(big, "float32", 1.0, 0.0))
    return b.select(x < 1.0, NAN, b.select(x < INF, y, x))


def atanh(b: Builder, x: Value) -> Value:
    """2.36 ulp, 2.47 without fma."""
    a = b.abs(x)
    y = 0.5 * _log1p(b, (a + a) / (1.0 - a), 0.0)
    y = b.select(a < 1.0, y, b.constants(a.eq(1.0), "float32", INF, NAN))
    return b.with_sign(b.select(a < _h("0x1p-12"), a, y), x)


# --- trigonometric -------------------------------------------------------------------------------

_SIN = hexes("-0x1.9951e4p-13 0x1.110774p-7 -0x1.555546p-3")
_COS = hexes("0x1.99e810p-16 -0x1.6c0c28p-10 0x1.55554ap-5 -0x1p-1 1")
_TAN = hexes(
    "0x1.1f1bc2p-8 0x1.5bbd56p-14 0x1.632632p-7 0x1.5cb1c0p-6 0x1.badae8p-5 0x1.110d9ap-3 "
    "0x1.555560p-2"
)
# 2/pi shifted right by 25 bits, in words of 64 bits
_TWO_OVER_PI = (0x000000517CC1B727, 0x220A94FE13ABE8FA, 0x9A6EE06DB14ACC9E, 0x21C820FF28B1D5EF)


def _reduce_small(b: Builder, x: Value) -> tuple[Value, Value]:
    """x - q pi/2 and q, for |x| up to the bound below: pi/2 in parts (Cody and Waite)."""
    t = b.fma(x, _h("0x1.45f306p-1"), MAGIC)
    q = b.asint(t)
    n = t - MAGIC
    if b.fused:
        r = b.fma(n, _h("-0x1.921fb6p+0"), x)
        r = b.fma(n, _h("0x1.777a5cp-25"), r)
        return b.fma(n, _h("0x1.ee59dap-50"), r), q
    r = x
    for part in hexes("0x1.92p+0 0x1.fb4p-12 0x1.444p-24 0x1.68c234p-39"):
        r = r - n * part
    return r, q


def _low_product(b: Builder, x: Value, y: Value, product: Value) -> Value:
    """What rounding took from a product: exactly x * y - product."""
    if b.fused:
        return b.fma(x, y, -product)
    xh = b.asfloat(b.asuint(x) & 0xFFFFF000)
    yh = b.asfloat(b.asuint(y) & 0xFFFFF000)
    xl, yl = x - xh, y - yh
    return ((xh * yh - product) + xh * yl + xl * yh) + xl * yl


def _reduce_large(b: Builder, x: Value) -> tuple[Value, Value]:
    """x - q pi/2 and q for any finite |x| >= 1: integer arithmetic (Payne and Hanek)."""
    bits = b.asuint(x)
    ix = bits & 0x7FFFFFFF
    mantissa = ((ix & 0x7FFFFF) | 0x800000).to("uint64")
    place = (ix >> 23) - 127
    offset = (place & 63).to("uint64")
    second = (place & 64).ne(0)
    words = [b.constants(second, "uint64", _TWO_OVER_PI[n + 1], _TWO_OVER_PI[n]) for n in range(3)]
    back = 63 - offset
    high = (words[0] << offset) | ((words[1] >> 1) >> back)
    low = (words[1] << offset) | ((words[2] >> 1) >> back)
    product = mantissa * high + ((mantissa * (low >> 32)) >> 32)
    quadrant = (product + 0x2000000000000000) >> 62
    fraction = (product - (quadrant << 62)).bits("int64")
    sign = fraction >> 63
    # the size, before it is split: otherwise bits cancel close to multiples of pi/2
    size = (fraction ^ sign) - sign
    rh = (size >> 40).to("int32").to("float32")
    middle = ((size >> 9) & 0x7FFFFFFF).to("int32").to("float32")
    rl = b.fma(middle, 512.0, (size & 0x1FF).to("int32").to("float32"))
    half_pi = _h("0x1.921fb6p-22")
    if b.fused:
        r = b.fma(rh, half_pi, b.fma(rh, _h("-0x1.777a5cp-47"), rl * _h("0x1.921fb6p-62")))
    else:
        rp = rh * half_pi
        rest = rh * _h("-0x1.777a5cp-47") + rl * _h("0x1.921fb6p-62")
        r = rp + (_low_product(b, rh, b.const(half_pi, "float32"), rp) + rest)
    sx = bits.bits("int32") >> 31
    q = (quadrant.to("int32") ^ sx) - sx
    flip = (sign.to("int32") ^ sx) & -0x80000000
    return b.asfloat(b.asint(r) ^ flip), q


def _is_large(b: Builder, x: Value) -> Value:
    return b.abs(x) > (39000.0 if b.fused else 6000.0)


def _sin_of(b: Builder, r: Value, q: Value, cosine: bool) -> Value:
    z = r * r
    s = b.fma(b.poly(z, *_SIN), z * r, r)
    c = b.poly(z, *_COS)
    odd = (q & 1).ne(0)
    y = b.select(odd, s, c) if cosine else b.select(odd, c, s)
    turn = ((q + 1) if cosine else q) & 2
    return b.asfloat(b.asint(y) ^ (turn << 30))


def sin(b: Builder, x: Value) -> Value:
    """1.54 ulp, 2.34 without fma, for every finite x."""
    near = _sin_of(b, *_reduce_small(b, x), False)
    y = b.lazily(_is_large(b, x), lambda c: _sin_of(c, *_reduce_large(c, _in(c, x)), False), near)
    y = b.select(b.abs(x) < INF, y, NAN)
    return b.select(x.eq(0.0), x, y)


def cos(b: Builder, x: Value) -> Value:
    """1.58 ulp, 2.33 without fma, for every finite x."""
    near = _sin_of(b, *_reduce_small(b, x), True)
    y = b.lazily(_is_large(b, x), lambda c: _sin_of(c, *_reduce_large(c, _in(c, x)), True), near)
    return b.select(b.abs(x) < INF, y, NAN)


def _tan_of(b: Builder, r: Value, q: Value) -> Value:
    z = r * r
    t = b.fma(b.poly(z, *_TAN), z * r, r)
    return b.select((q & 1).ne(0), -1.0 / t, t)


def tan(b: Builder, x: Value) -> Value:
    """2.91 ulp, 3.31 without fma, for every finite x."""
    near = _tan_of(b, *_reduce_small(b, x))
    y = b.lazily(_is_large(b, x), lambda c: _tan_of(c, *_reduce_large(c, _in(c, x))), near)
    y = b.select(b.abs(x) < INF, y, NAN)
    return b.select(x.eq(0.0), x, y)


def _in(inner: Builder, x: Value) -> Value:
    """A value of the enclosing formula, for the inner one."""
    return inner.op(x.dtype, lambda node: node, x)


_ASIN = hexes("0x1.86ad94p-5 0x1.55f7f4p-6 0x1.7a0850p-5 0x1.32c97cp-4 0x1.555678p-3")
_ATAN = hexes(
    "-0x1.d5a33ap-10 0x1.65405cp-7 -0x1.fe5980p-6 0x1.da7fd6p-5 -0x1.581aacp-4 0x1.c08fc8p-4 "
    "-0x1.2420a6p-3 0x1.9991e4p-3 -0x1.55553ep-2"
)
HALF_PI = _h("0x1.921fb6p+0")
PI = _h("0x1.921fb6p+1")


def _asin_core(b: Builder, a: Value) -> tuple[Value, Value]:
    """asin of a, or of sqrt((1 - a) / 2) where a is large; and whether it is."""
    large = a > _h("0x1.14bc6ap-1")
    z = b.select(large, b.fma(a, -0.5, 0.5), a * a)
    s = b.select(large, b.sqrt(z), a)
    return b.fma(b.poly(z, *_ASIN), z * s, s), large


def asin(b: Builder, x: Value) -> Value:
    """1.49 ulp."""
    p, large = _asin_core(b, b.abs(x))
    y = b.select(large, HALF_PI - b.fma(p, 2.0, _h("0x1.777a5cp-25")), p)
    return b.with_sign(y, x)


def acos(b: Builder, x: Value) -> Value:
    """1.30 ulp."""
    p, large = _asin_core(b, b.abs(x))
    signed = b.asfloat(b.asuint(p) ^ (b.asuint(x) & 0x80000000))
    negative = x < 0.0
    c = b.select(large, b.constants(negative, "float32", PI, 0.0), HALF_PI)
    low = b.constants(negative, "float32", _h("-0x1.777a5cp-24"), 0.0)
    low = b.select(large, low, _h("-0x1.777a5cp-25"))
    v = b.select(large, signed + signed, -signed)
    return c + (v + low)


def _atan_core(b: Builder, a: Value) -> Value:
    z = a * a
    return b.fma(b.poly(z, *_ATAN), z * a, a)


def atan(b: Builder, x: Value) -> Value:
    """1.80 ulp, 1.98 without fma."""
    a = b.abs(x)
    large = a > 1.0
    p = _atan_core(b, b.select(large, 1.0 / a, a))
    return b.with_sign(b.select(large, HALF_PI - p, p), x)


def atan2(b: Builder, y: Value, x: Value) -> Value:
    """1.85 ulp, 1.91 without fma; the special cases are those of C."""
    a, c = b.abs(x), b.abs(y)
    small, large = b.select(a < c, a, c), b.select(a < c, c, a)
    t = b.select(small.eq(large), b.constants(small.eq(0.0), "float32", 0.0, 1.0), small / large)
    p = _atan_core(b, t)
    p = b.select(c > a, HALF_PI - p, p)
    p = b.select(b.asint(x) < 0, PI - p, p)
    p = b.select(x.eq(x) & y.eq(y), p, NAN)
    return b.with_sign(p, y)


# --- the rest ------------------------------------------------------------------------------------

_ERF_NEAR = hexes(
    "-0x1.440ca6p-11 0x1.4987eep-8 -0x1.b6e986p-6 0x1.ce2082p-4 -0x1.812708p-2 0x1.06eba6p-3"
)
_ERF_FAR = hexes(
    "0x1.4651a0p-12 -0x1.314d52p-8 0x1.0f0e56p-5 -0x1.373720p-3 -0x1.d58a8cp-1 -0x1.a0ccbcp+0"
)
_ERF_EXP2 = hexes("0x1.5cafdep-10 0x1.3cf34ep-7 0x1.c6b598p-5 0x1.ebf9a4p-3 0x1.62e42ap-1 1")


def erf(b: Builder, x: Value) -> Value:
    """1.57 ulp, 1.68 without fma: a polynomial below 0.875, 1 - 2^polynomial above."""
    a = b.abs(x)
    c = b.select(a > 4.0, 4.0, a)
    p = b.poly(c * c, *_ERF_NEAR)
    p = b.fma(p, c, c)
    power = b.poly(c, *_ERF_FAR) * c
    t = power + MAGIC
    r = power - (t - MAGIC)
    q = b.poly(r, *_ERF_EXP2)
    e = b.asfloat(b.asint(q) + (b.asint(t) << 23))
    # not a number compares false and comes through p; the bits of e would be anything
    return b.with_sign(b.select(c >= 0.875, 1.0 - e, p), x)


def rsqrt(b: Builder, x: Value) -> Value:
    """1 / sqrt(x); 1.49 ulp."""
    return 1.0 / b.sqrt(x)


_POW_LOG = hexes(
    "0x1.5cf4a50d32fc0p-2 0x1.a58ce21d34719p-2 0x1.2777814637e58p-1 0x1.ec709d10fc9adp-1 "
    "0x1.71547652bef86p+1"
)
_POW_EXP = hexes(
    "0x1.41d4548fe2d1cp-13 0x1.5f45a530223fap-10 0x1.3b2dba7da2043p-7 0x1.c6aed43e812b9p-5 "
    "0x1.ebfbdadea7dbdp-3 0x1.62e430c8687d8p-1 0x1.000000025ea3bp+0"
)


def pow_special(b: Builder, v: Value, x: Value, y: Value, a: Value) -> Value:
    """C's table for powers; v is |x|^y for 0 < |x| < inf."""
    whole = is_whole(b, y)
    odd = whole & ~is_whole(b, 0.5 * y)
    zero = a.eq(0.0)
    grows = zero.same(y < 0.0)
    v = b.select(zero | a.eq(INF), b.constants(grows, y.dtype, INF, 0.0), v)
    v = b.select((x < 0.0) & ~whole & (a < INF), NAN, v)
    v = b.select(odd, b.with_sign(v, x), v)
    v = b.select(x.ne(x) | y.ne(y), NAN, v)
    return b.select(x.eq(1.0) | y.eq(0.0), 1.0, v)


def is_whole(b: Builder, y: Value) -> Value:
    """Whether y is an integer; infinities are."""
    a = b.abs(y)
    limit = _h("0x1p52" if y.dtype == "float64" else "0x1p23")
    step = (a + limit) - limit
    return b.select(a >= limit, a, step).eq(a)


def pow(b: Builder, x: Value, y: Value) -> Value:
    """x^y, computed in float64; 0.54 ulp."""
    a = b.abs(x)
    ix = b.asuint(a.to("float64"))
    k52 = (ix - 0x3FE6A09E667F3BCD) & 0xFFF0000000000000
    m = b.asfloat(ix - k52)
    k = (k52.bits("int64") >> 52).to("float64")
    s = (m - 1.0) / (m + 1.0)
    log_ = b.fma(b.poly(s * s, *_POW_LOG), s, k)
    wide = _clamp(b, y.to("float64"), _h("-0x1p40"), _h("0x1p40"))
    p = _clamp(b, log_ * wide, -200.0, 200.0)
    magic = _h("0x1.8p52")
    t = p + magic
    r = p - (t - magic)
    e = b.poly(r, *_POW_EXP)
    v = b.asfloat(b.asint(e) + (b.asint(t) << 52)).to("float32")
    return pow_special(b, v, x, y, a)
