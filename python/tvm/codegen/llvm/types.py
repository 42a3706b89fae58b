"""How dtypes look in LLVM: types in registers, types in memory, constants.

A `bool` is an i1 in registers and a byte in memory. The narrow floats (float16, bfloat16, fp8) are
carried as their bits: arithmetic widens them to float32 and rounds once, by conversions that are
written out here, because LLVM's own would call library functions on many machines.
"""

from __future__ import annotations

import struct

from ... import error
from ...ir.dtype import TypeInfo, info

_REGISTER: dict[str, str] = {}
_MEMORY: dict[str, str] = {}


def _scalar_register(found: TypeInfo) -> str:
    if found.is_int:
        return f"i{found.bits}"
    if found.kind == "float" and found.bits == 32:
        return "float"
    if found.kind == "float" and found.bits == 64:
        return "double"
    if found.is_float:
        return f"i{found.bits}"
    if found.kind == "handle":
        return "ptr"
    raise error.TypeError_(f"the LLVM generator has no type for dtype {found.text!r}")


def register_type(dtype: str) -> str:
    """LLVM type of a value of this dtype in a register.

    Examples
    --------
    >>> register_type("float32x4"), register_type("bool")
    ('<4 x float>', 'i1')
    """
    text = _REGISTER.get(dtype)
    if text is None:
        found = info(dtype)
        text = vector(_scalar_register(found), found.lanes)
        _REGISTER[dtype] = text
    return text


def memory_type(dtype: str) -> str:
    """LLVM type of a value of this dtype in memory; sub-byte integers have none of their own."""
    text = _MEMORY.get(dtype)
    if text is None:
        found = info(dtype)
        text = vector("i8" if found.is_bool else _scalar_register(found), found.lanes)
        _MEMORY[dtype] = text
    return text


def vector(scalar: str, lanes: int) -> str:
    """`scalar` itself for one lane, else the vector type."""
    return scalar if lanes == 1 else f"<{lanes} x {scalar}>"


def mangled(kind: str, lanes: int) -> str:
    """The type's part in the name of an overloaded intrinsic: `v16f32`."""
    short = {"float": "f32", "double": "f64", "ptr": "p0"}.get(kind, kind)
    return short if lanes == 1 else f"v{lanes}{short}"


def element_bits(dtype: str) -> int:
    """Bits of one element in memory (a bool takes a byte)."""
    found = info(dtype)
    return 8 if found.is_bool else found.bits


def is_packed(dtype: str) -> bool:
    """Whether several elements share a byte in memory (int4 and its like)."""
    found = info(dtype)
    return found.is_int and not found.is_bool and found.bits < 8


def is_narrow(found: TypeInfo) -> bool:
    """Whether this is a float that is carried as its bits."""
    return found.is_float and found.bits < 32


def splat(kind: str, lanes: int, constant: str) -> str:
    """A constant of type `kind`, in every lane."""
    return constant if lanes == 1 else f"splat ({kind} {constant})"


def float_bits(value: float) -> str:
    """The constant's text for float and double alike: LLVM writes both as a double's bits."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def float32_of(value: float) -> float:
    """`value` rounded once to float32."""
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]  # type: ignore[no-any-return]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


# mantissa bits, exponent bias, whether infinity exists, bits of the greatest finite number
FLOAT_LAYOUT = {
    "float16": (10, 15, True, 0x7BFF),
    "bfloat16": (7, 127, True, 0x7F7F),
    "e5m2_float8": (2, 15, True, 0x7B),
    "e4m3_float8": (3, 7, False, 0x7E),
}


def narrow_bits(scalar: str, value: float) -> int:
    """Bits of `value` rounded once, to nearest even, to a narrow float type."""
    mantissa, bias, has_inf, greatest = FLOAT_LAYOUT[scalar]
    width = info(scalar).bits
    sign: int = struct.unpack("<Q", struct.pack("<d", value))[0] >> 63
    high = sign << (width - 1)
    nan: int = high | (greatest + 2 if has_inf else greatest + 1)
    if value != value:
        return nan
    size = abs(value)
    over: int = greatest + 1 | high if has_inf else nan
    if size == float("inf"):
        return over
    # scaled so that one unit is the distance between neighbours at this size
    import math

    exponent = max(math.frexp(size)[1] - 1, 1 - bias) if size else 1 - bias
    units = math.ldexp(size, mantissa - exponent)
    whole = round(units)
    bits: int = ((exponent + bias - 1) << mantissa) + whole if exponent > 1 - bias else whole
    return over if bits > greatest else bits | high


def constant(dtype: str, value: float) -> str:
    """Text of a constant of this dtype, in every lane."""
    found = info(dtype)
    if found.is_bool:
        text = "true" if value else "false"
    elif found.is_int:
        bits = int(value) & ((1 << found.bits) - 1)
        if found.signed and bits >> (found.bits - 1):
            bits -= 1 << found.bits
        text = str(bits)
    elif is_narrow(found):
        text = str(narrow_bits(found.scalar, float(value)))
    elif found.bits == 32:
        text = float_bits(float32_of(float(value)))
    else:
        text = float_bits(float(value))
    return splat(_scalar_register(found), found.lanes, text)
