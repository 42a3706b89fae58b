"""Math functions of numbers."""

from __future__ import annotations

from .. import error
from ..ir import dtype as _dtype
from . import operators as _ops
from .expr import Call, FloatImm, IntImm, const_of, convert
from .operators import cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _float_operand(name: str, value: Any) -> Any:
    value = convert(value)
    found = _dtype.info(value.dtype)
    if found.is_float:
        return value
    if found.is_int:
        return cast(value, _dtype.with_lanes("float32", found.lanes))
    raise error.TypeError_(f"{name}: expected a number, but got dtype {value.dtype}")


def _unary(name: str, doc: str) -> Callable[..., Any]:
    def operate(x: Any, span: object = None) -> Any:
        x = _float_operand(name, x)
        return Call(x.dtype, "tir." + name, [x])

    operate.__name__ = operate.__qualname__ = name
    operate.__doc__ = f"{doc} An integer operand becomes float32."
    return operate


exp = _unary("exp", "e to the power of x.")
exp2 = _unary("exp2", "2 to the power of x.")
exp10 = _unary("exp10", "10 to the power of x.")
log = _unary("log", "The natural logarithm.")
log2 = _unary("log2", "The logarithm to base 2.")
log10 = _unary("log10", "The logarithm to base 10.")
log1p = _unary("log1p", "log(1 + x), precise near 0.")
sqrt = _unary("sqrt", "The square root.")
rsqrt = _unary("rsqrt", "1 / sqrt(x).")
sin = _unary("sin", "The sine.")
cos = _unary("cos", "The cosine.")
tan = _unary("tan", "The tangent.")
sinh = _unary("sinh", "The hyperbolic sine.")
cosh = _unary("cosh", "The hyperbolic cosine.")
tanh = _unary("tanh", "The hyperbolic tangent.")
asin = _unary("asin", "The inverse sine.")
acos = _unary("acos", "The inverse cosine.")
atan = _unary("atan", "The inverse tangent.")
asinh = _unary("asinh", "The inverse hyperbolic sine.")
acosh = _unary("acosh", "The inverse hyperbolic cosine.")
atanh = _unary("atanh", "The inverse hyperbolic tangent.")
sigmoid = _unary("sigmoid", "1 / (1 + exp(-x)).")
erf = _unary("erf", "The error function.")


def _rounding(name: str, doc: str) -> Callable[..., Any]:
    def operate(x: Any, span: object = None) -> Any:
        x = convert(x)
        if _dtype.info(x.dtype).is_int:
            return x
        return Call(x.dtype, "tir." + name, [x])

    operate.__name__ = operate.__qualname__ = name
    operate.__doc__ = f"{doc} An integer is returned as it is."
    return operate


floor = _rounding("floor", "The greatest whole number that is not greater.")
ceil = _rounding("ceil", "The least whole number that is not less.")
trunc = _rounding("trunc", "The whole part, toward zero.")
round = _rounding("round", "The nearest whole number; halves go away from zero.")
nearbyint = _rounding("nearbyint", "The nearest whole number; halves go to the even one.")


def abs(x: Any, span: object = None) -> Any:
    """The absolute value; of the least int it wraps to itself."""
    x = convert(x)
    found = _dtype.info(x.dtype)
    if found.is_float:
        if type(x) is FloatImm:
            return FloatImm(x.dtype, -x.value if x.value < 0 else x.value + 0.0)
        return Call(x.dtype, "tir.fabs", [x])
    if not found.signed:
        return x
    zero = const_of(0, x.dtype)
    return _ops.select(_ops.greater_equal(x, zero), x, _ops.negate(x))


def _float_test(name: str, doc: str, of_int: bool) -> Callable[..., Any]:
    def operate(x: Any, span: object = None) -> Any:
        x = convert(x)
        found = _dtype.info(x.dtype)
        if found.is_int:
            return const_of(of_int, _dtype.bool_like(x.dtype))
        return Call(_dtype.bool_like(x.dtype), "tir." + name, [x])

    operate.__name__ = operate.__qualname__ = name
    operate.__doc__ = doc
    return operate


isnan = _float_test("isnan", "Whether a value is NaN.", False)
isinf = _float_test("isinf", "Whether a value is infinite.", False)
isfinite = _float_test("isfinite", "Whether a value is neither NaN nor infinite.", True)


def _binary_float(name: str, doc: str) -> Callable[..., Any]:
    def operate(x1: Any, x2: Any, span: object = None) -> Any:
        pair = _ops.match(x1, x2)
        if pair is None:
            raise error.TypeError_(f"{name}: expected expressions or numbers")
        x1, x2 = (_float_operand(name, item) for item in pair)
        return Call(x1.dtype, "tir." + name, [x1, x2])

    operate.__name__ = operate.__qualname__ = name
    operate.__doc__ = doc
    return operate


atan2 = _binary_float("atan2", "The angle of the point (x2, x1).")
fmod = _binary_float("fmod", "The remainder of x1 / x2 with the sign of x1, as in C.")
hypot = _binary_float("hypot", "sqrt(x1 * x1 + x2 * x2) without overflow.")
copysign = _binary_float("copysign", "The magnitude of x1 with the sign of x2.")
nextafter = _binary_float("nextafter", "The next value after x1 in the direction of x2.")


def ldexp(x1: Any, x2: Any, span: object = None) -> Any:
    """x1 times 2 to the power of the integer x2."""
    x1, x2 = _float_operand("ldexp", x1), convert(x2)
    lanes = _dtype.info(x1.dtype).lanes
    return Call(x1.dtype, "tir.ldexp", [x1, cast(x2, _dtype.with_lanes("int32", lanes))])


def power(x: Any, y: Any, span: object = None) -> Any:
    """x to the power of y; of two integers an integer, which wraps."""
    pair = _ops.match(x, y)
    if pair is None:
        raise error.TypeError_("power: expected expressions or numbers")
    return Call(pair[0].dtype, "tir.pow", list(pair))


pow = power


def fma(x: Any, y: Any, z: Any) -> Any:
    """x * y + z, rounded once."""
    x = _float_operand("fma", x)
    return Call(x.dtype, "tir.fma", [x, cast(y, x.dtype), cast(z, x.dtype)])


def popcount(x: Any, span: object = None) -> Any:
    """The number of set bits."""
    x = convert(x)
    return Call(x.dtype, "tir.popcount", [x])


def clz(x: Any) -> Any:
    """The number of leading zero bits, an int32; of 0 the number of bits."""
    x = convert(x)
    return Call(_dtype.with_lanes("int32", _dtype.info(x.dtype).lanes), "tir.clz", [x])


def q_multiply_shift(x: Any, y: Any, q: Any, s: Any) -> Any:
    """round(x * y * 2^-s) with y a fixed-point number of q fractional bits."""
    x = convert(x)
    return Call("int32", "tir.q_multiply_shift", [x, y, q, s])


def reinterpret(dtype: str, value: Any, span: object = None) -> Any:
    """The same bits as another type of the same size."""
    value = convert(value)
    dtype = _dtype.canonical(dtype)
    if value.dtype == dtype:
        return value
    given, wanted = _dtype.info(value.dtype), _dtype.info(dtype)
    if given.bits * given.lanes != wanted.bits * wanted.lanes:
        raise error.TypeError_(
            f"reinterpret: {given.text} has {given.bits * given.lanes} bits, but {wanted.text} "
            f"{wanted.bits * wanted.lanes}"
        )
    return Call(dtype, "tir.reinterpret", [value])


def likely(cond: Any, span: object = None) -> Any:
    """A condition that is nearly always true."""
    cond = convert(cond)
    return cond if type(cond) is IntImm else Call(cond.dtype, "tir.likely", [cond])


def if_then_else(cond: Any, t: Any, f: Any, span: object = None) -> Any:
    """One of two values; only the chosen one is evaluated.

    Raises
    ------
    TypeError
        When the condition is a vector or not bool.
    """
    pair = _ops.match(t, f)
    if pair is None:
        raise error.TypeError_("if_then_else: expected expressions or numbers")
    cond = convert(cond)
    if cond.dtype != "bool":
        raise error.TypeError_(
            f"if_then_else: expected a scalar bool condition, but got {cond.dtype}"
        )
    if type(cond) is IntImm:
        return pair[0] if cond.value else pair[1]
    return Call(pair[0].dtype, "tir.if_then_else", [cond, *pair])
