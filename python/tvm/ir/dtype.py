"""Facts about dtype strings, parsed once and kept.

IR nodes carry their dtype as canonical text ("int32", "float32x4", "bool", "uint1x4", "handle"), so
that comparing two types is comparing two strings. What a pass wants to know about such a text (how
many bits, how many lanes, which kind) is looked up here.
"""

from __future__ import annotations

from .. import error


class TypeInfo:
    """What a dtype string says; instances are shared and never change.

    `kind` is "int", "uint", "bool", "float" (IEEE), "bfloat", "fp8", "handle" or "void".
    """

    __slots__ = ("base", "bits", "is_bool", "is_float", "is_int", "kind", "lanes", "scalar",
                 "signed", "text")  # fmt: skip

    def __init__(self, text: str, base: str, kind: str, bits: int, lanes: int) -> None:
        self.text = text
        self.base = base
        self.kind = kind
        self.bits = bits
        self.lanes = lanes
        self.scalar = text if lanes == 1 else make(base, bits, 1)
        self.is_bool = kind == "bool"
        self.is_int = kind in ("int", "uint", "bool")
        self.is_float = kind in ("float", "bfloat", "fp8")
        self.signed = kind == "int"

    def __repr__(self) -> str:
        return f"TypeInfo({self.text})"


_SPECIAL = {
    "": ("void", "void", "void", 0),
    "void": ("void", "void", "void", 0),
    "handle": ("handle", "handle", "handle", 64),
    "bool": ("bool", "uint", "bool", 1),
    "int": ("int32", "int", "int", 32),
    "uint": ("uint32", "uint", "uint", 32),
    "float": ("float32", "float", "float", 32),
    "bfloat": ("bfloat16", "bfloat", "bfloat", 16),
    "e4m3_float8": ("e4m3_float8", "e4m3_float", "fp8", 8),
    "e5m2_float8": ("e5m2_float8", "e5m2_float", "fp8", 8),
    "float8_e4m3fn": ("e4m3_float8", "e4m3_float", "fp8", 8),
    "float8_e5m2": ("e5m2_float8", "e5m2_float", "fp8", 8),
}

_FLOAT_BITS = (16, 32, 64)

_known: dict[str, TypeInfo] = {}


def make(base: str, bits: int, lanes: int = 1) -> str:
    """Canonical text of a type given by base name ("int", "uint", "float" ...), bits and lanes."""
    if base == "uint" and bits == 1:
        return "bool" if lanes == 1 else f"uint1x{lanes}"
    if base in ("handle", "void"):
        return base if lanes == 1 else f"{base}x{lanes}"
    text = f"{base}{bits}"
    return text if lanes == 1 else f"{text}x{lanes}"


def _parse(text: str) -> TypeInfo:
    head, lanes = text, 1
    if head not in _SPECIAL:
        left, mark, right = text.rpartition("x")
        if mark and right.isdigit() and left:
            head, lanes = left, int(right)
    if lanes < 1:
        raise error.ValueError_(f"dtype {text!r}: the number of lanes must be 1 or more")
    if head in _SPECIAL:
        name, base, kind, bits = _SPECIAL[head]
        if lanes == 1:
            return TypeInfo(name, base, kind, bits, 1)
        return TypeInfo(make(base, bits, lanes), base, kind, bits, lanes)
    for base in ("int", "uint", "float", "bfloat", "custom"):
        digits = head[len(base) :]
        if not (head.startswith(base) and digits.isdigit()):
            continue
        bits = int(digits)
        if base in ("int", "uint") and 1 <= bits <= 64:
            kind = "bool" if base == "uint" and bits == 1 else base
            return TypeInfo(make(base, bits, lanes), base, kind, bits, lanes)
        if (base == "float" and bits in _FLOAT_BITS) or (base == "bfloat" and bits == 16):
            return TypeInfo(make(base, bits, lanes), base, base, bits, lanes)
    raise error.ValueError_(
        f"unknown dtype {text!r}: expected for instance int32, uint8, float32, float16, bfloat16, "
        "bool, handle, or one of these with lanes as in float32x4"
    )


def info(text: str) -> TypeInfo:
    """The facts about `text`; any accepted spelling."""
    found = _known.get(text)
    if found is None:
        found = _parse(text)
        _known[text] = found
        _known.setdefault(found.text, found)
    return found


_PYTHON = {float: "float64", int: "int64", bool: "bool"}


def canonical(dtype: object) -> str:
    """Canonical text of whatever names a dtype: text, `DataType`, a NumPy dtype or type."""
    if type(dtype) is str:
        found = _known.get(dtype)
        return found.text if found is not None else info(dtype).text
    if isinstance(dtype, type):
        name = _PYTHON.get(dtype, getattr(dtype, "__name__", ""))
        return info(name).text
    name = getattr(dtype, "name", None)
    return info(name if isinstance(name, str) else str(dtype)).text


def with_lanes(text: str, lanes: int) -> str:
    """The same element type with another number of lanes."""
    found = info(text)
    return found.text if found.lanes == lanes else make(found.base, found.bits, lanes)


def bool_like(text: str) -> str:
    """The type of a comparison of two values of type `text`."""
    lanes = info(text).lanes
    return "bool" if lanes == 1 else f"uint1x{lanes}"


def int_range(found: TypeInfo) -> tuple[int, int]:
    """Least and greatest value of an integer type."""
    if found.signed:
        return -(1 << (found.bits - 1)), (1 << (found.bits - 1)) - 1
    return 0, (1 << found.bits) - 1


def wrap(value: int, found: TypeInfo) -> int:
    """`value` modulo 2^bits, in the range of the type."""
    bits = found.bits
    value &= (1 << bits) - 1
    if found.signed and value >> (bits - 1):
        value -= 1 << bits
    return value
