"""What the operators that a `Call` names mean on numbers.

Math functions are computed in double precision and rounded once; that is the reference for the
polynomials that the backends share, not their bits.
"""

from __future__ import annotations

import math

from .. import error
from ..ir.dtype import TypeInfo, wrap
from . import numeric

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _guard(function: Callable[..., float]) -> Callable[..., float]:
    """Python's math raises where C gives NaN or an infinity."""

    def compute(*args: float) -> float:
        if any(arg != arg for arg in args):
            return math.nan
        try:
            return function(*args)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return compute


def _log(value: float, function: Callable[[float], float]) -> float:
    return -math.inf if value == 0 else function(value)


def _signed_overflow(function: Callable[[float], float]) -> Callable[[float], float]:
    def compute(value: float) -> float:
        try:
            return function(value)
        except OverflowError:
            return math.copysign(math.inf, value)

    return compute


def _atanh(value: float) -> float:
    return math.copysign(math.inf, value) if abs(value) == 1 else math.atanh(value)


def _log1p(value: float) -> float:
    return -math.inf if value == -1 else math.log1p(value)


def _sigmoid(value: float) -> float:
    if value >= 0:
        return 1.0 / (1.0 + math.exp(-value))
    small = math.exp(value)
    return small / (1.0 + small)


def _rsqrt(value: float) -> float:
    if value == 0:
        return math.copysign(math.inf, value)
    return 1.0 / math.sqrt(value)


def _exp10(value: float) -> float:
    return math.pow(10.0, value)


def _pow(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except ValueError:
        if base == 0:
            odd = exponent == int(exponent) and int(exponent) & 1
            return math.copysign(math.inf, base) if odd else math.inf
        return math.nan
    except OverflowError:
        odd = exponent == int(exponent) and int(exponent) & 1
        return -math.inf if base < 0 and odd else math.inf


def _whole(function: Callable[[float], float]) -> Callable[[float], float]:
    def compute(value: float) -> float:
        if not math.isfinite(value):
            return value
        return math.copysign(float(function(value)), value)

    return compute


def _round_away(value: float) -> float:
    # Adding a half would round 0.49999999999999994 up.
    whole = math.floor(abs(value))
    return math.copysign(whole + 1 if abs(value) - whole >= 0.5 else whole, value)


_MATH: dict[str, Callable[..., float]] = {
    "exp": _guard(math.exp),
    "exp2": _guard(lambda x: math.pow(2.0, x)),
    "exp10": _guard(_exp10),
    "log": _guard(lambda x: _log(x, math.log)),
    "log2": _guard(lambda x: _log(x, math.log2)),
    "log10": _guard(lambda x: _log(x, math.log10)),
    "log1p": _guard(_log1p),
    "sqrt": _guard(math.sqrt),
    "rsqrt": _guard(_rsqrt),
    "sin": _guard(math.sin),
    "cos": _guard(math.cos),
    "tan": _guard(math.tan),
    "sinh": _guard(_signed_overflow(math.sinh)),
    "cosh": _guard(math.cosh),
    "tanh": _guard(math.tanh),
    "asin": _guard(math.asin),
    "acos": _guard(math.acos),
    "atan": _guard(math.atan),
    "asinh": _guard(math.asinh),
    "acosh": _guard(math.acosh),
    "atanh": _guard(_atanh),
    "sigmoid": _guard(_sigmoid),
    "erf": _guard(math.erf),
    "atan2": _guard(math.atan2),
    "fmod": numeric.float_mod,
    "hypot": math.hypot,
    "pow": _pow,
    "floor": _whole(math.floor),
    "ceil": _whole(math.ceil),
    "trunc": _whole(math.trunc),
    "round": _whole(_round_away),
    "nearbyint": _whole(round),
    "fabs": math.fabs,
    "copysign": math.copysign,
}


def _next_after(x: float, y: float, dtype: str) -> float:
    if x != x or y != y:
        return math.nan
    if x == y:
        return y
    if dtype == "float64":
        return math.nextafter(x, y)
    least = numeric.bits_to_float(1, dtype)
    if x == 0:
        return math.copysign(least, y)
    bits = numeric.float_to_bits(x, dtype)
    return numeric.bits_to_float(bits + (1 if (y > x) == (x > 0) else -1), dtype)


def _ldexp(value: float, exponent: int, dtype: str) -> float:
    from fractions import Fraction

    if not math.isfinite(value) or value == 0:
        return value
    # Beyond this everything is zero or infinite, whatever the value.
    exponent = max(-5000, min(5000, exponent))
    rounded = numeric.round_exact(Fraction(value) * Fraction(2) ** exponent, dtype)
    return math.copysign(rounded, value)


def _to_bits(value: Any, kind: TypeInfo) -> int:
    if kind.is_float:
        return numeric.float_to_bits(value, kind.text)
    return int(value) & ((1 << kind.bits) - 1)


def _from_bits(bits: int, kind: TypeInfo) -> Any:
    return numeric.bits_to_float(bits, kind.text) if kind.is_float else wrap(bits, kind)


def evaluate_intrinsic(name: str, args: list[Any], kinds: list[TypeInfo], result: TypeInfo) -> Any:
    """The value of an operator on scalars.

    Parameters
    ----------
    name : str
        Without the "tir." prefix.
    args, kinds : list
        The values and their types.
    result : TypeInfo
        The type of the result.
    """
    if name == "pow" and result.is_int:
        return numeric.int_pow(args[0], args[1], result)
    function = _MATH.get(name)
    if function is not None:
        return numeric.round_float(function(*args), result.text)
    special = _OTHERS.get(name)
    if special is None:
        raise error.NotImplementedError_(f"the interpreter has no meaning for tir.{name}")
    return special(args, kinds, result)


_OTHERS: dict[str, Callable[[list[Any], list[TypeInfo], TypeInfo], Any]] = {
    "fma": lambda a, k, r: numeric.fma(a[0], a[1], a[2], r.text),
    "ldexp": lambda a, k, r: _ldexp(a[0], a[1], r.text),
    "nextafter": lambda a, k, r: _next_after(a[0], a[1], r.text),
    "isnan": lambda a, k, r: int(a[0] != a[0]),
    "isinf": lambda a, k, r: int(math.isinf(a[0])),
    "isfinite": lambda a, k, r: int(math.isfinite(a[0])),
    "bitwise_and": lambda a, k, r: wrap(a[0] & a[1], r),
    "bitwise_or": lambda a, k, r: wrap(a[0] | a[1], r),
    "bitwise_xor": lambda a, k, r: wrap(a[0] ^ a[1], r),
    "bitwise_not": lambda a, k, r: wrap(~a[0], r),
    "shift_left": lambda a, k, r: numeric.shift_left(a[0], a[1], r),
    "shift_right": lambda a, k, r: numeric.shift_right(a[0], a[1], r),
    "popcount": lambda a, k, r: bin(_to_bits(a[0], k[0])).count("1"),
    "clz": lambda a, k, r: k[0].bits - _to_bits(a[0], k[0]).bit_length(),
    "reinterpret": lambda a, k, r: _from_bits(_to_bits(a[0], k[0]), r),
    "isnullptr": lambda a, k, r: int(a[0] is None or a[0] == 0),
    "large_uint_imm": lambda a, k, r: wrap(a[0] | a[1] << 32, r),
    "q_multiply_shift": lambda a, k, r: wrap(
        (a[0] * a[1] + (1 << (a[2] - a[3] - 1))) >> (a[2] - a[3]), r
    ),
}
