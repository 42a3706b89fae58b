"""Small functions that a C file carries along, where C has no operator of the right meaning.

Each is made once, when it is first asked for; `{helper}` and the type names come from the dialect.
Right shifts of negative numbers keep the sign and conversions to a signed type wrap, as every C
compiler in use does.
"""

from __future__ import annotations

from ...ir.dtype import TypeInfo, int_range
from ...tir.numeric import bits_to_float
from .code import constant, int_literal
from .dialect import container_bits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .unit import Unit

# mantissa bits, exponent bias, whether infinity exists, bits of the greatest finite number
LAYOUT = {
    "float16": (10, 15, True, 0x7BFF),
    "bfloat16": (7, 127, True, 0x7F7F),
    "e5m2_float8": (2, 15, True, 0x7B),
    "e4m3_float8": (3, 7, False, 0x7E),
}


def short(found: TypeInfo) -> str:
    """A type's part in a helper's name: i32, u8, f32, bf16."""
    if found.is_int:
        return ("i" if found.signed else "u") + str(found.bits)
    return {"bfloat16": "bf16", "e5m2_float8": "f8e5m2", "e4m3_float8": "f8e4m3"}.get(
        found.scalar, f"f{found.bits}"
    )


def type_of(unit: Unit, found: TypeInfo) -> str:
    return unit.dialect.register(found.scalar)


def wrapped(unit: Unit, found: TypeInfo) -> str:
    """A function that brings an unsigned number into the range of an integer of an odd width."""
    bits = container_bits(found.bits)
    word = unit.dialect.types[f"uint{max(bits, 32)}"]
    into = type_of(unit, found)
    if found.signed:
        signed = unit.dialect.types[f"int{max(bits, 32)}"]
        gap = max(bits, 32) - found.bits
        body = f"return ({into})(({signed})(x << {gap}) >> {gap});"
    else:
        body = f"return ({into})(x & {(1 << found.bits) - 1}u);"
        if found.bits > 32:
            body = f"return x & 0x{(1 << found.bits) - 1:x}ULL;"
    return unit.helper(f"tvm_wrap_{short(found)}", into, f"{word} x", body)


def divide(unit: Unit, op: str, found: TypeInfo) -> str:
    """floordiv, floormod, truncdiv, truncmod: by 0 gives 0, the least by -1 wraps."""
    t = type_of(unit, found)
    name = f"tvm_{op}_{short(found)}"
    if not found.signed:
        sign = "/" if op.endswith("div") else "%"
        return unit.helper(name, t, f"{t} a, {t} b", f"return b == 0 ? 0 : ({t})(a {sign} b);")
    word = unit.dialect.types[f"uint{max(32, container_bits(found.bits))}"]
    lines = []
    if op.endswith("div"):
        minus = f"({t})(0u - ({word})a)"
        if found.bits != container_bits(found.bits):
            minus = f"{wrapped(unit, found)}(0u - ({word})a)"
        lines += ["if (b == 0) return 0;", f"if (b == -1) return {minus};"]
        if op == "floordiv":
            lines += [
                f"{t} q = ({t})(a / b);",
                f"return ({t})(a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q);",
            ]
        else:
            lines.append(f"return ({t})(a / b);")
    else:
        lines.append("if (b == 0 || b == -1) return 0;")
        if op == "floormod":
            lines += [
                f"{t} r = ({t})(a % b);",
                f"return ({t})(r != 0 && (r < 0) != (b < 0) ? r + b : r);",
            ]
        else:
            lines.append(f"return ({t})(a % b);")
    return unit.helper(name, t, f"{t} a, {t} b", "\n".join(lines))


def extreme(unit: Unit, op: str, found: TypeInfo) -> str:
    """min or max; NaN in either operand is the result."""
    t = type_of(unit, found)
    sign = "<" if op == "min" else ">"
    test = f"a {sign} b" if found.is_int else f"a != a || a {sign} b"
    name = f"tvm_{op}_{short(found)}"
    return unit.helper(name, t, f"{t} a, {t} b", f"return {test} ? a : b;")


def shift(unit: Unit, left: bool, found: TypeInfo) -> str:
    """A shift by a number that is not known; by the width or more everything is gone."""
    t = type_of(unit, found)
    word = unit.dialect.types[f"uint{max(32, container_bits(found.bits))}"]
    bits = found.bits
    outside = f"n < 0 || n >= {bits}" if found.signed else f"n >= {bits}"
    if left:
        result = f"({word})x << n"
        odd = bits != container_bits(bits)
        result = f"{wrapped(unit, found)}({result})" if odd else f"({t})({result})"
        body = f"return {outside} ? 0 : {result};"
        return unit.helper(f"tvm_shl_{short(found)}", t, f"{t} x, {t} n", body)
    gone = f"({t})(x < 0 ? -1 : 0)" if found.signed else "0"
    body = f"return {outside} ? {gone} : ({t})(x >> n);"
    return unit.helper(f"tvm_shr_{short(found)}", t, f"{t} x, {t} n", body)


def to_int(unit: Unit, old: TypeInfo, new: TypeInfo) -> str:
    """float or double to an integer: toward zero, saturating, NaN gives 0."""
    real, t = type_of(unit, old), type_of(unit, new)
    low, high = int_range(new)
    # both bounds as floats are exact, or the upper one is rounded up to the power of two
    below = constant(old.scalar, float(low), unit.dialect)
    above = constant(old.scalar, float(high), unit.dialect)
    lines = [
        "if (x != x) return 0;",
        f"if (x <= {below}) return {_limit(unit, low, new)};",
        f"if (x >= {above}) return {_limit(unit, high, new)};",
        f"return ({t})x;",
    ]
    return unit.helper(f"tvm_{short(old)}_to_{short(new)}", t, f"{real} x", "\n".join(lines))


def _limit(unit: Unit, value: int, found: TypeInfo) -> str:
    if found.signed or value < 1 << 31:
        return int_literal(value, unit.dialect).text
    return constant(found.scalar, value, unit.dialect).text


def bits_of(unit: Unit, found: TypeInfo) -> str:
    """float or double as the integer of its bits."""
    real, word = type_of(unit, found), unit.dialect.types[f"uint{found.bits}"]
    copy = unit.dialect.copy_bits.format(target="bits", source="x")
    body = f"{word} bits;\n{copy}\nreturn bits;"
    return unit.helper(f"tvm_bits_{short(found)}", word, f"{real} x", body)


def from_bits(unit: Unit, found: TypeInfo) -> str:
    """The float or double of these bits."""
    real, word = type_of(unit, found), unit.dialect.types[f"uint{found.bits}"]
    copy = unit.dialect.copy_bits.format(target="x", source="bits")
    body = f"{real} x;\n{copy}\nreturn x;"
    return unit.helper(f"tvm_{short(found)}_of_bits", real, f"{word} bits", body)


def widen(unit: Unit, found: TypeInfo) -> str:
    """A narrow float's bits as a float32: exact."""
    types = unit.dialect.types
    word, single = types["uint32"], types["float32"]
    narrow = type_of(unit, found)
    of_bits = from_bits(unit, _FLOAT32())
    if found.scalar == "bfloat16":
        body = f"return {of_bits}(({word})bits << 16);"
    else:
        mantissa, bias, has_inf, greatest = LAYOUT[found.scalar]
        top = found.bits - 1
        step = constant("float32", bits_to_float(1, found.scalar), unit.dialect)
        special = f"0x7f800000u | (size << {23 - mantissa})" if has_inf else "0x7fc00000u"
        body = "\n".join([
            f"{word} size = bits & 0x{(1 << top) - 1:x}u;",
            f"{word} sign = ({word})(bits >> {top}) << 31;",
            f"{word} wide = (size << {23 - mantissa}) + 0x{(127 - bias) << 23:x}u;",
            f"if (size < 0x{1 << mantissa:x}u) {{ /* subnormal */",
            f"  wide = {bits_of(unit, _FLOAT32())}(({single})size * {step});",
            f"}} else if (size > 0x{greatest:x}u) {{",
            f"  wide = {special};",
            "}",
            f"return {of_bits}(wide | sign);",
        ])  # fmt: skip
    return unit.helper(f"tvm_{short(found)}_to_f32", single, f"{narrow} bits", body)


def narrow(unit: Unit, found: TypeInfo) -> str:
    """A float32 as a narrow float's bits, rounded to nearest even."""
    types = unit.dialect.types
    word, single = types["uint32"], types["float32"]
    into = type_of(unit, found)
    bits_name = bits_of(unit, _FLOAT32())
    if found.scalar == "bfloat16":
        body = "\n".join([
            f"{word} bits = {bits_name}(x);",
            f"if (x != x) return ({into})((bits | 0x400000u) >> 16);",
            f"return ({into})((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);",
        ])  # fmt: skip
    else:
        mantissa, bias, has_inf, greatest = LAYOUT[found.scalar]
        drop = 23 - mantissa
        # adding this number lines a subnormal's last bit up with the float's last bit
        exponent = 127 + 1 - bias - mantissa + 23
        magic = constant("float32", 2.0 ** (exponent - 127), unit.dialect)
        nan = greatest + 2 if has_inf else greatest + 1
        of_bits = from_bits(unit, _FLOAT32())
        bias_gap = ((127 - bias) << 23) - ((1 << (drop - 1)) - 1)
        body = "\n".join([
            f"{word} bits = {bits_name}(x);",
            f"{word} size = bits & 0x7fffffffu;",
            f"{word} out;",
            f"if (size < 0x{(127 + 1 - bias) << 23:x}u) {{ /* subnormal */",
            f"  out = {bits_name}({of_bits}(size) + {magic}) - 0x{exponent << 23:x}u;",
            "} else {",
            f"  out = (size + ((size >> {drop}) & 1u) - 0x{bias_gap:x}u) >> {drop};",
            "}",
            f"if (out > 0x{greatest:x}u) out = size > 0x7f800000u ? 0x{nan:x}u : "
            f"0x{greatest + 1:x}u;",
            f"return ({into})(out | ((bits >> 31) << {found.bits - 1}));",
        ])  # fmt: skip
    return unit.helper(f"tvm_f32_to_{short(found)}", into, f"{single} x", body)


def round_to_odd(unit: Unit) -> str:
    """A double as a float whose last bit says whether anything was lost.

    A second rounding to a type of at most 22 mantissa bits is then as good as a single one.
    """
    types = unit.dialect.types
    real, single, word = types["float64"], types["float32"], types["uint32"]
    size = unit.dialect.real["fabs"][1]
    body = "\n".join([
        f"{single} near = ({single})x;",
        f"{word} bits = {bits_of(unit, _FLOAT32())}(near);",
        f"if (x != x || ({real})near == x) return near;",
        f"if ({size}(({real})near) > {size}(x)) bits -= 1;",
        f"return {from_bits(unit, _FLOAT32())}(bits | 1u);",
    ])  # fmt: skip
    return unit.helper("tvm_f64_to_f32_odd", single, f"{real} x", body)


def exact_double(unit: Unit, found: TypeInfo) -> str:
    """A 64-bit integer as a double that rounds to a narrow float as the integer itself would."""
    types = unit.dialect.types
    t, word, real = type_of(unit, found), types["uint64"], types["float64"]
    minus = "x < 0" if found.signed else "0"
    body = "\n".join([
        f"{word} size = {minus} ? 0u - ({word})x : ({word})x;",
        "/* bits below the 53rd may only say whether they are zero */",
        "if (size >> 53) size = (size & ~0x7ffULL) | ((size & 0x7ffu) != 0 ? 0x800u : 0u);",
        f"return {minus} ? -({real})size : ({real})size;",
    ])  # fmt: skip
    return unit.helper(f"tvm_{short(found)}_to_f64_odd", real, f"{t} x", body)


def count_bits(unit: Unit, found: TypeInfo) -> str:
    """How many bits of an unsigned number are set."""
    t = type_of(unit, found)
    body = "int n = 0;\nfor (; x != 0; x &= x - 1) ++n;\nreturn n;"
    return unit.helper(f"tvm_popcount_{short(found)}", "int", f"{t} x", body)


def leading_zeros(unit: Unit, found: TypeInfo) -> str:
    """How many bits of an unsigned number lie above its first set bit."""
    t = type_of(unit, found)
    body = f"int n = {found.bits};\nfor (; x != 0; x >>= 1) --n;\nreturn n;"
    return unit.helper(f"tvm_clz_{short(found)}", "int", f"{t} x", body)


def fmod(unit: Unit, found: TypeInfo) -> str:
    """The remainder of two floats, exactly: the mantissas as integers, bit by bit."""
    t = type_of(unit, found)
    word = unit.dialect.types[f"uint{found.bits}"]
    mantissa = 23 if found.bits == 32 else 52
    exponents = (1 << (found.bits - 1 - mantissa)) - 1
    bits, of_bits = bits_of(unit, found), from_bits(unit, found)
    body = "\n".join([
        f"const {word} one = ({word})1 << {mantissa};",
        f"const {word} sign = {bits}(x) >> {found.bits - 1} << {found.bits - 1};",
        f"{word} a = {bits}(x) ^ sign;",
        f"{word} b = {bits}(y) << 1 >> 1;",
        f"int ea = (int)(a >> {mantissa}), eb = (int)(b >> {mantissa});",
        f"if (b == 0 || y != y || ea == {exponents}) return (x * y) / (x * y);",
        "if (a < b) return x;",
        "a = ea == 0 ? a : (a & (one - 1)) | one;",
        "b = eb == 0 ? b : (b & (one - 1)) | one;",
        "ea = ea == 0 ? 1 : ea;",
        "eb = eb == 0 ? 1 : eb;",
        "/* b may be subnormal, and a many times as large */",
        "a %= b;",
        "for (; ea > eb; --ea) {",
        "  a <<= 1;",
        "  if (a >= b) a -= b;",
        "}",
        f"if (a == 0) return {of_bits}(sign);",
        "for (; a < one && eb > 1; --eb) a <<= 1;",
        f"return {of_bits}(sign | (a < one ? a : (a - one) | (({word})eb << {mantissa})));",
    ])  # fmt: skip
    return unit.helper(f"tvm_fmod_{short(found)}", t, f"{t} x, {t} y", body)


def load_packed(unit: Unit, found: TypeInfo) -> str:
    """An element of several that share a byte, the first in the lowest bits."""
    t, each = type_of(unit, found), 8 // found.bits
    index, byte = unit.dialect.types["int64"], unit.dialect.types["uint8"]
    gap = 32 - found.bits
    body = "\n".join([
        f"uint32_t byte = p[i >> {each.bit_length() - 1}];",
        f"uint32_t top = byte << ({gap} - {found.bits} * (int)(i & {each - 1}));",
        f"return ({t})({'(int32_t)' if found.signed else ''}top >> {gap});",
    ])  # fmt: skip
    return unit.helper(f"tvm_load_{short(found)}", t, f"const {byte}* p, {index} i", body)


def store_packed(unit: Unit, found: TypeInfo) -> str:
    """Set an element of several that share a byte."""
    t, each = type_of(unit, found), 8 // found.bits
    index, byte = unit.dialect.types["int64"], unit.dialect.types["uint8"]
    mask = (1 << found.bits) - 1
    body = "\n".join([
        f"int shift = {found.bits} * (int)(i & {each - 1});",
        f"{byte}* at = p + (i >> {each.bit_length() - 1});",
        f"*at = ({byte})((*at & ~({mask} << shift)) | ((x & {mask}) << shift));",
    ])  # fmt: skip
    return unit.helper(f"tvm_store_{short(found)}", "void", f"{byte}* p, {index} i, {t} x", body)


def _FLOAT32() -> TypeInfo:
    from ...ir.dtype import info

    return info("float32")
