"""Dtype texts: parsing every accepted spelling, and the canonical form of each type."""

from __future__ import annotations

from tvm.error import TypeError_, ValueError_

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# name of a family -> (type code, bits when none are written, the widths that exist)
FAMILIES: dict[str, tuple[int, int, tuple[int, ...] | range]] = {
    "int": (0, 32, range(1, 256)),
    "uint": (1, 32, range(1, 256)),
    "float": (2, 32, (16, 32, 64)),
    "bfloat": (4, 16, (16,)),
}
# whole words; ml_dtypes' names stand beside ours
WORDS: dict[str, tuple[int, int]] = {
    "bool": (1, 1),
    "handle": (3, 64),
    "e4m3_float8": (6, 8),
    "e5m2_float8": (7, 8),
    "float8_e4m3fn": (6, 8),
    "float8_e5m2": (7, 8),
}
CODE_NAMES = {
    0: "int",
    1: "uint",
    2: "float",
    3: "handle",
    4: "bfloat",
    6: "e4m3_float",
    7: "e5m2_float",
}
# Names for suggestions, in the order in which people mean them.
KNOWN = (
    *("float32", "float64", "float16", "bfloat16", "int32", "int64", "int8", "int16"),
    *("uint8", "uint16", "uint32", "uint64", "bool", "int4", "uint4"),
    *("e4m3_float8", "e5m2_float8", "handle", "void"),
)
VOID = (3, 0, 0)
FIRST_CUSTOM_CODE = 128

# user types: name -> code and back
_custom_codes: dict[str, int] = {}
_custom_names: dict[int, str] = {}
_parsed: dict[str, tuple[int, int, int]] = {}
_CACHE_LIMIT = 4096


def register_custom(name: str, code: int) -> None:
    """Give a user type its code (128..255), so that `custom[name]bits` is a dtype."""
    if not FIRST_CUSTOM_CODE <= code <= 255:
        raise ValueError_(f"custom type {name!r}: expected a code in 128..255, got {code}")
    if _custom_names.get(code, name) != name:
        raise ValueError_(f"custom type {name!r}: code {code} is taken by {_custom_names[code]!r}")
    _custom_codes[name] = code
    _custom_names[code] = name


def _number(text: str, most: int) -> int | None:
    """A decimal number in 1..most without sign or leading zero, else None."""
    if not (text.isascii() and text.isdigit()) or text[0] == "0" or len(text) > 6:
        return None
    value = int(text)
    return value if value <= most else None


def _parse(text: str) -> tuple[int, int, int] | None:
    if text in ("", "void"):
        return VOID
    code: int | None
    if text.startswith("custom["):
        name, bracket, rest = text[7:].partition("]")
        code = _custom_codes.get(name)
        if not bracket or code is None:
            return None
        width, cross, lanes_text = rest.partition("x")
        bits = _number(width, 255)
    else:
        base, cross, lanes_text = text.rpartition("x")
        if not cross:
            base, lanes_text = text, ""
        word = WORDS.get(base)
        if word is not None:
            code, bits = word
        else:
            letters = base.rstrip("0123456789")
            family = FAMILIES.get(letters)
            if family is None:
                return None
            code, default, widths = family
            digits = base[len(letters) :]
            bits = _number(digits, 255) if digits else default
            if bits not in widths:
                return None
    lanes = _number(lanes_text, 65535) if cross else 1
    if bits is None or lanes is None:
        return None
    return code, bits, lanes


def parse(text: str) -> tuple[int, int, int]:
    """(type code, bits, lanes) of a dtype text; ValueError with the nearest name otherwise."""
    found = _parsed.get(text)
    if found is None:
        found = _parse(text)
        if found is None:
            raise unknown(text)
        if len(_parsed) >= _CACHE_LIMIT:
            _parsed.clear()
        _parsed[str(text)] = found
    return found


def unknown(text: str) -> ValueError_:
    """The error for a text that is no dtype."""
    from difflib import get_close_matches

    near = get_close_matches(text, KNOWN, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"known names are {', '.join(KNOWN)}"
    return ValueError_(f"unknown dtype {text!r}: {hint}")


def format(code: int, bits: int, lanes: int) -> str:
    """The canonical text of a type."""
    if code == 3 and bits == 0:
        return "void"
    if code == 1 and bits == 1 and lanes == 1:
        return "bool"
    if code == 3:
        base = "handle" if bits == 64 else f"handle{bits}"
    elif code >= FIRST_CUSTOM_CODE:
        base = f"custom[{_custom_names.get(code, code)}]{bits}"
    else:
        name = CODE_NAMES.get(code)
        if name is None:
            raise ValueError_(f"unknown type code {code}: known are {sorted(CODE_NAMES)}")
        base = f"{name}{bits}"
    return base if lanes == 1 else f"{base}x{lanes}"


_PYTHON_TYPES: dict[type, str] = {float: "float64", int: "int64", bool: "bool"}


def canonical(obj: Any) -> str:
    """The canonical text of anything that names a dtype.

    Takes texts, `DataType`, `numpy.dtype`, scalar types of NumPy and ml_dtypes, torch dtypes, and
    Python's float, int and bool (64-bit and bool, as NumPy reads them).
    """
    if isinstance(obj, str):
        return format(*parse(obj))
    code = getattr(obj, "type_code", None)
    if isinstance(code, int):
        return format(code, obj.bits, obj.lanes)
    if isinstance(obj, type):
        known = _PYTHON_TYPES.get(obj)
        if known is not None:
            return known
        if obj.__module__.partition(".")[0] in ("numpy", "ml_dtypes"):
            import numpy

            try:
                obj = numpy.dtype(obj)
            except TypeError:
                raise not_a_dtype(obj) from None
    kind = type(obj)
    if kind.__module__ == "torch" and kind.__name__ == "dtype":
        return _foreign(str(obj).removeprefix("torch."), obj)
    name = getattr(obj, "name", None)
    if isinstance(name, str) and hasattr(obj, "itemsize") and hasattr(obj, "kind"):
        if getattr(obj, "names", None) is not None or getattr(obj, "subdtype", None) is not None:
            raise not_a_dtype(obj)
        return _foreign(name, obj)
    raise not_a_dtype(obj)


def _foreign(name: str, obj: object) -> str:
    found = _parse(name)
    if found is None or found == VOID:
        raise not_a_dtype(obj)
    return format(*found)


def not_a_dtype(obj: object) -> TypeError_:
    """The error for an object that names no dtype of ours."""
    return TypeError_(
        f"expected a dtype, got {obj!r} of type {type(obj).__name__}; a dtype is a text such as "
        f"'float32', a numpy.dtype or a tvm.DataType. Known names are {', '.join(KNOWN)}"
    )
