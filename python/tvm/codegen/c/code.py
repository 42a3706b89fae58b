"""Pieces of C: text with its precedence, and literals."""

from __future__ import annotations

import struct

from ...ir.dtype import TypeInfo, info, wrap
from ...tir.numeric import float_to_bits, round_float

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .dialect import Dialect

# how tightly an expression holds together
ATOM, UNARY, MUL, ADD, SHIFT, LESS, EQUAL, BIT, BOTH, EITHER, CHOICE = range(11, 0, -1)


class Code:
    """An expression's text.

    `number` is its value if it is an integer literal; `raw` is the unsigned expression that a
    conversion to a signed type of the same width was made of.
    """

    __slots__ = ("level", "number", "raw", "text")

    def __init__(self, text: str, level: int = ATOM, number: int | None = None) -> None:
        self.text = text
        self.level = level
        self.number = number
        self.raw: Code | None = None

    def __str__(self) -> str:
        return self.text

    def at(self, level: int) -> str:
        """The text, in parentheses if it holds together less tightly than `level`."""
        return self.text if self.level >= level else f"({self.text})"


def call(function: str, *args: Code) -> Code:
    """A call of a function."""
    return Code(f"{function}({', '.join(item.text for item in args)})")


_LEVELS = {
    "*": MUL, "/": MUL, "%": MUL, "+": ADD, "-": ADD, "<<": SHIFT, ">>": SHIFT, "<": LESS,
    "<=": LESS, ">": LESS, ">=": LESS, "==": EQUAL, "!=": EQUAL, "&": BIT, "|": BIT, "^": BIT,
    "&&": BOTH, "||": EITHER,
}  # fmt: skip


def binary(op: str, a: Code, b: Code) -> Code:
    """`a op b`."""
    level = _LEVELS[op]
    if level in (MUL, ADD):
        left, right = level, level + 1
    elif level in (SHIFT, BIT):
        # compilers warn where one has to know the precedence by heart
        left = right = UNARY
    elif level in (LESS, EQUAL):
        left = right = ADD
    else:
        left = right = EQUAL
        if a.level == level:
            left = level
    return Code(f"{a.at(left)} {op} {b.at(right)}", level)


def choice(condition: Code, a: Code, b: Code) -> Code:
    """`condition ? a : b`."""
    return Code(f"{condition.at(EITHER)} ? {a.at(EITHER)} : {b.at(CHOICE)}", CHOICE)


def cast(type_name: str, value: Code) -> Code:
    """`(type) value`."""
    return Code(f"({type_name}){value.at(UNARY)}", UNARY)


def int_literal(value: int, dialect: Dialect) -> Code:
    """A number where it is computed with 64 bits or is small."""
    if value == -(1 << 63):
        return Code(f"(-9223372036854775807{dialect.int64_suffix} - 1)", ATOM, value)
    text = str(value)
    if not -(1 << 31) < value < (1 << 31):
        text += "U" + dialect.int64_suffix if value >= 1 << 63 else dialect.int64_suffix
    return Code(text, UNARY if value < 0 else ATOM, value)


def unsigned_literal(value: int, bits: int, dialect: Dialect) -> Code:
    """A number as an unsigned literal of 32 or 64 bits."""
    value &= (1 << bits) - 1
    suffix = "u" if bits <= 32 else "U" + dialect.int64_suffix
    return Code(f"{value}{suffix}", ATOM, value)


def constant(dtype: str, value: float, dialect: Dialect) -> Code:
    """A constant of this dtype (of one lane of it)."""
    found = info(info(dtype).scalar)
    if found.is_bool:
        return Code("true" if value else "false", ATOM, int(bool(value)))
    if found.is_int:
        number = wrap(int(value), found)
        if found.signed:
            return int_literal(number, dialect)
        return unsigned_literal(number, 32 if found.bits <= 32 else 64, dialect)
    if found.bits < 32:
        number = float_to_bits(round_float(float(value), found.text), found.text)
        return Code(f"0x{number:0{found.bits // 4}x}", ATOM, number)
    return _real(round_float(float(value), found.text), found)


def _real(value: float, found: TypeInfo) -> Code:
    single = found.bits == 32
    if value != value:
        return Code("NAN") if single else Code("(double)NAN", UNARY)
    sign = "-" if struct.pack(">d", value)[0] & 0x80 else ""
    level = UNARY if sign else ATOM
    size = abs(value)
    if size == float("inf"):
        return Code(sign + "INFINITY", level) if single else Code(f"{sign}(double)INFINITY", UNARY)
    text = repr(size)
    if single:
        # the shortest text that is this float
        for digits in range(1, 10):
            text = f"{size:.{digits}g}"
            if round_float(float(text), "float32") == size:
                break
    if "." not in text and "e" not in text:
        text += ".0"
    return Code(sign + text + ("f" if single else ""), level)


def string_literal(text: str) -> str:
    """A C string; bytes beyond ASCII as octal escapes."""
    data = text.encode("utf-8", "replace").replace(b"\0", b"?")
    parts = []
    for byte in data:
        char = chr(byte)
        if char in '"\\':
            parts.append("\\" + char)
        elif char == "\n":
            parts.append("\\n")
        elif char == "?":
            # two of them could begin a trigraph
            parts.append("\\?")
        elif 32 <= byte < 127:
            parts.append(char)
        else:
            parts.append(f"\\{byte:03o}")
    return '"' + "".join(parts) + '"'
