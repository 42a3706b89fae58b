"""Arithmetic of constants, exactly as compiled code does it.

One place says what an operation means on numbers: constant folding, the simplifier and the
interpreter all call these functions.
"""

from __future__ import annotations

import math
import struct

from ..ir import dtype as _dtype
from ..ir.dtype import TypeInfo, int_range
from ..ir.dtype import wrap as wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# name: exponent bits, mantissa bits, exponent bias, largest finite value, whether it has infinities
_SMALL = {
    "float16": (5, 10, 15, 65504.0, True),
    "bfloat16": (8, 7, 127, float.fromhex("0x1.fep127"), True),
    "e4m3_float8": (4, 3, 7, 448.0, False),
    "e5m2_float8": (5, 2, 15, 57344.0, True),
}


def round_float(value: float, dtype: str) -> float:
    """`value` rounded once, to nearest even, to a float type."""
    if dtype == "float64" or value != value or value == 0.0:
        return value
    if dtype == "float32":
        try:
            return struct.unpack("f", struct.pack("f", value))[0]  # type: ignore[no-any-return]
        except OverflowError:
            return math.copysign(math.inf, value)
    _, mantissa, bias, greatest, has_infinity = _SMALL[dtype]
    beyond = math.copysign(math.inf, value) if has_infinity else math.nan
    if math.isinf(value):
        return beyond
    _, exponent = math.frexp(value)
    unit = math.ldexp(1.0, max(exponent - 1, 1 - bias) - mantissa)
    # value / unit is exact (a power of two) and round() goes to the nearest even integer.
    rounded = round(value / unit) * unit
    if abs(rounded) > greatest:
        return beyond
    return math.copysign(rounded, value)


def float_to_bits(value: float, dtype: str) -> int:
    """The bit pattern of `value`, which the type must hold exactly (or NaN)."""
    if dtype == "float64":
        return int(struct.unpack("<Q", struct.pack("<d", value))[0])
    if dtype == "float32":
        return int(struct.unpack("<I", struct.pack("<f", value))[0])
    exponent_bits, mantissa, bias, _, has_infinity = _SMALL[dtype]
    sign = int(math.copysign(1.0, value) < 0) << (exponent_bits + mantissa)
    full = ((1 << exponent_bits) - 1) << mantissa
    if value != value:
        return sign | full | ((1 << mantissa) - 1 if not has_infinity else 1 << (mantissa - 1))
    if math.isinf(value):
        return sign | full
    magnitude = abs(value)
    if magnitude == 0.0:
        return sign
    _, exponent = math.frexp(magnitude)
    exponent = max(exponent - 1, 1 - bias)
    steps = int(math.ldexp(magnitude, mantissa - exponent))
    if steps >> mantissa:
        return sign | (exponent + bias) << mantissa | (steps & ((1 << mantissa) - 1))
    return sign | steps


def bits_to_float(bits: int, dtype: str) -> float:
    """The value of a bit pattern."""
    if dtype == "float64":
        return struct.unpack("<d", struct.pack("<Q", bits))[0]  # type: ignore[no-any-return]
    if dtype == "float32":
        return struct.unpack("<f", struct.pack("<I", bits))[0]  # type: ignore[no-any-return]
    exponent_bits, mantissa, bias, _, has_infinity = _SMALL[dtype]
    sign = -1.0 if bits >> (exponent_bits + mantissa) & 1 else 1.0
    exponent = bits >> mantissa & ((1 << exponent_bits) - 1)
    fraction = bits & ((1 << mantissa) - 1)
    top = (1 << exponent_bits) - 1
    if exponent == top and has_infinity:
        return math.nan if fraction else sign * math.inf
    if exponent == top and fraction == (1 << mantissa) - 1:
        return math.nan
    if exponent == 0:
        return sign * math.ldexp(fraction, 1 - bias - mantissa)
    return sign * math.ldexp((1 << mantissa) + fraction, exponent - bias - mantissa)


def floordiv(a: int, b: int) -> int:
    """Rounded toward minus infinity; by 0 gives 0."""
    return a // b if b else 0


def floormod(a: int, b: int) -> int:
    """The remainder of `floordiv`; by 0 gives 0."""
    return a % b if b else 0


def truncdiv(a: int, b: int) -> int:
    """Rounded toward zero; by 0 gives 0."""
    if b == 0:
        return 0
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def truncmod(a: int, b: int) -> int:
    """The remainder of `truncdiv`; by 0 gives 0."""
    return a - truncdiv(a, b) * b if b else 0


def float_div(a: float, b: float) -> float:
    """IEEE division."""
    if b == 0.0:
        if a == 0.0 or a != a or b != b:
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)
    try:
        return a / b
    except OverflowError:
        return math.copysign(math.inf, a) * math.copysign(1.0, b)


def float_mod(a: float, b: float) -> float:
    """C's fmod."""
    if b == 0.0 or math.isinf(a) or a != a or b != b:
        return math.nan
    return math.fmod(a, b)


def float_floordiv(a: float, b: float) -> float:
    """floor(a / b)."""
    quotient = float_div(a, b)
    return quotient if math.isinf(quotient) or quotient != quotient else float(_floor(quotient))


def _floor(value: float) -> float:
    return math.copysign(float(math.floor(value)), value)


def float_floormod(a: float, b: float) -> float:
    """a - floor(a / b) * b."""
    rest = float_mod(a, b)
    if rest and (rest < 0) != (b < 0):
        rest += b
    return rest


def least(a: float, b: float) -> float:
    """The lesser, NaN when either is."""
    return a if a != a or a < b else b


def greatest(a: float, b: float) -> float:
    """The greater, NaN when either is."""
    return a if a != a or a > b else b


INT_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Div": truncdiv,
    "Mod": truncmod,
    "FloorDiv": floordiv,
    "FloorMod": floormod,
    "Min": min,
    "Max": max,
}

FLOAT_OPERATIONS: dict[str, Callable[[float, float], float]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Div": float_div,
    "Mod": float_mod,
    "FloorDiv": float_floordiv,
    "FloorMod": float_floormod,
    "Min": least,
    "Max": greatest,
}

COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "EQ": lambda a, b: a == b,
    "NE": lambda a, b: a != b,
    "LT": lambda a, b: a < b,
    "LE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b,
}


def binary(name: str, a: float, b: float, dtype: str) -> float:
    """`a` and `b`, values of type `dtype`, combined by the node called `name`."""
    found = _dtype.info(dtype)
    if found.is_float:
        # The operation in double and one rounding is the correctly rounded result: a double has
        # more than twice the bits of the narrower types.
        return round_float(FLOAT_OPERATIONS[name](a, b), found.scalar)
    return wrap(INT_OPERATIONS[name](int(a), int(b)), found)


def cast(value: float, source: TypeInfo, target: TypeInfo) -> float:
    """A value of one type as a value of another."""
    if target.is_bool:
        return int(value != 0)
    if target.is_float:
        if source.is_int:
            return int_to_float(int(value), target.scalar)
        return round_float(value, target.scalar)
    if source.is_float:
        return float_to_int(value, target)
    return wrap(int(value), target)


def int_to_float(value: int, dtype: str) -> float:
    """An int rounded once to a float type."""
    if abs(value) <= 1 << 53:
        return round_float(float(value), dtype)
    # Round to odd first, so that the second rounding sees whether anything was lost.
    shift = abs(value).bit_length() - 53
    kept = abs(value) >> shift
    if abs(value) & ((1 << shift) - 1):
        kept |= 1
    if dtype == "float64":
        return float(value)
    return round_float(math.copysign(math.ldexp(kept, shift), value), dtype)


def float_to_int(value: float, target: TypeInfo) -> int:
    """Toward zero, saturating; NaN gives 0."""
    if value != value:
        return 0
    lower, upper = int_range(target)
    if value <= lower:
        return lower
    if value >= upper:
        return upper
    return int(value)


def round_exact(value: object, dtype: str) -> float:
    """A `fractions.Fraction` rounded once, to nearest even, to a float type."""
    from fractions import Fraction

    exact = value if isinstance(value, Fraction) else Fraction(value)  # type: ignore[call-overload]
    if exact == 0:
        return 0.0
    mantissa, bias, greatest_value, has_infinity = {
        "float64": (52, 1023, 1.7976931348623157e308, True),
        "float32": (23, 127, 3.4028234663852886e38, True),
    }.get(dtype) or _SMALL[dtype][1:]
    magnitude = abs(exact)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if magnitude < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, 1 - bias) - mantissa)
    rounded = round(magnitude / unit) * unit
    if rounded > Fraction(greatest_value):
        beyond = math.inf if has_infinity else math.nan
        return -beyond if exact < 0 else beyond
    return -float(rounded) if exact < 0 else float(rounded)


def fma(a: float, b: float, c: float, dtype: str) -> float:
    """a * b + c, rounded once."""
    from fractions import Fraction

    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return a * b + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        # The sign of an exact zero follows the rule for sums.
        product = math.copysign(0.0, math.copysign(1.0, a) * math.copysign(1.0, b))
        return product + c if a == 0.0 or b == 0.0 else 0.0
    rounded = round_exact(exact, dtype)
    return math.copysign(0.0, -1.0 if exact < 0 else 1.0) if rounded == 0 else rounded


def int_pow(base: int, exponent: int, found: TypeInfo) -> int:
    """base to the power of exponent, wrapping; a negative exponent rounds 1/base^n toward zero."""
    if exponent >= 0:
        return wrap(pow(base, exponent, 1 << found.bits), found)
    if base == 1:
        return 1
    if base == -1:
        return -1 if exponent & 1 else 1
    return 0


def shift_left(value: int, amount: int, found: TypeInfo) -> int:
    """Shifted left; by the number of bits or more (or less than 0) everything is gone."""
    return wrap(value << amount, found) if 0 <= amount < found.bits else 0


def shift_right(value: int, amount: int, found: TypeInfo) -> int:
    """Shifted right, keeping the sign; by the number of bits or more only the sign is left."""
    if 0 <= amount < found.bits:
        return value >> amount
    return -1 if value < 0 else 0
