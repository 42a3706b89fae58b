"""Arithmetic and conversions, with the semantics of the interpreter.

Integers wrap (through unsigned arithmetic, as C leaves signed overflow open); a division by a
run-time zero gives 0; float to integer saturates; `min` and `max` hand on NaN.
"""

from __future__ import annotations

from ... import error
from ...ir.dtype import TypeInfo, info
from . import helpers
from .code import Code, binary, call, cast, choice, constant, unsigned_literal
from .dialect import container_bits
from .writer import Writer

FLOAT32, FLOAT64 = info("float32"), info("float64")


def is_narrow(found: TypeInfo) -> bool:
    """Whether this is a float that is carried as its bits."""
    return found.is_float and found.bits < 32


class Numeric(Writer):
    """Operations on pieces of C; a vector's dtype means one lane of it."""

    def type_name(self, dtype: str) -> str:
        return self.dialect.register(info(dtype).scalar)

    # ---- conversions
    def convert(self, value: Code, source: str, target: str) -> Code:
        """`value` of dtype `source` as dtype `target`."""
        old, new = info(info(source).scalar), info(info(target).scalar)
        if old.text == new.text:
            return value
        if "handle" in (old.kind, new.kind):
            return self._convert_handle(value, old, new)
        if is_narrow(old):
            return self.convert(self.widen(value, old), "float32", new.text)
        if is_narrow(new):
            return self._to_narrow(value, old, new)
        if new.is_bool:
            return binary("!=", value, constant(old.text, 0, self.dialect))
        if old.is_float and new.is_int:
            return self._to_int(value, old, new)
        if old.is_int and new.is_int:
            if value.number is not None:
                return constant(new.text, value.number, self.dialect)
            if value.raw is not None and not new.signed and new.bits == old.bits:
                return value.raw
            return self.wrap(value, new, old)
        return cast(self.type_name(new.text), value)

    def _to_int(self, value: Code, old: TypeInfo, new: TypeInfo) -> Code:
        return call(helpers.to_int(self.unit, old, new), value)

    def _convert_handle(self, value: Code, old: TypeInfo, new: TypeInfo) -> Code:
        if old.kind == new.kind:
            return value
        if old.kind == "handle" and new.is_int:
            return cast(self.type_name(new.text), cast("uintptr_t", value))
        if new.kind == "handle" and old.is_int:
            return cast("void*", cast("uintptr_t", value))
        raise error.TypeError_(f"no cast from {old.text} to {new.text}")

    def wrap(self, value: Code, found: TypeInfo, old: TypeInfo | None = None) -> Code:
        """An integer brought into the range of a type."""
        if found.is_bool:
            return binary("!=", binary("&", value, Code("1")), Code("0"))
        if found.bits == container_bits(found.bits):
            return cast(self.type_name(found.text), value)
        if old is not None and not (old.signed and not found.signed) and old.bits < found.bits:
            return cast(self.type_name(found.text), value)
        wide = self.dialect.types[f"uint{max(32, container_bits(found.bits))}"]
        return call(helpers.wrapped(self.unit, found), cast(wide, value))

    def _to_narrow(self, value: Code, old: TypeInfo, new: TypeInfo) -> Code:
        if old.is_int:
            if old.bits <= 24:
                return self.narrow(cast(self.dialect.types["float32"], value), new)
            if old.bits > 53:
                value = call(helpers.exact_double(self.unit, old), value)
            else:
                value = cast(self.dialect.types["float64"], value)
            old = FLOAT64
        if old.bits == 64:
            value = call(helpers.round_to_odd(self.unit), value)
        return self.narrow(value, new)

    def widen(self, value: Code, found: TypeInfo) -> Code:
        """A narrow float's bits as a float32."""
        return call(helpers.widen(self.unit, found), value)

    def narrow(self, value: Code, found: TypeInfo) -> Code:
        """A float32 as a narrow float's bits."""
        return call(helpers.narrow(self.unit, found), value)

    # ---- arithmetic
    def real(self, op: str, a: Code, b: Code, found: TypeInfo) -> Code:
        """`+`, `-`, `*` and `/` of floats."""
        if is_narrow(found):
            return self.narrow(binary(op, self.widen(a, found), self.widen(b, found)), found)
        return binary(op, a, b)

    def divide(self, op: str, a: Code, b: Code, dtype: str) -> Code:
        """Integer `truncdiv`, `truncmod`, `floordiv`, `floormod`."""
        found = info(info(dtype).scalar)
        if found.is_bool:
            # the only divisor that is not 0 is 1
            return binary("&&", a, b) if op.endswith("div") else Code("false", number=0)
        sign = "/" if op.endswith("div") else "%"
        number = b.number
        if number is not None and number > 0 and (not found.signed or op.startswith("trunc")):
            return cast(self.type_name(found.text), binary(sign, a, b))
        return call(helpers.divide(self.unit, op, found), a, b)

    def extreme(self, op: str, a: Code, b: Code, dtype: str) -> Code:
        """`min` or `max`."""
        found = info(info(dtype).scalar)
        if is_narrow(found):
            wide = self.extreme(op, self.widen(a, found), self.widen(b, found), "float32")
            return self.narrow(wide, found)
        return call(helpers.extreme(self.unit, op, found), a, b)

    def compare(self, sign: str, a: Code, b: Code, dtype: str) -> Code:
        """`a sign b`; ordered on floats, but for `!=`."""
        found = info(info(dtype).scalar)
        if is_narrow(found):
            a, b = self.widen(a, found), self.widen(b, found)
        return binary(sign, a, b)

    def shift(self, left: bool, value: Code, amount: Code, found: TypeInfo) -> Code:
        t = self.type_name(found.text)
        number = amount.number
        if number is None or not 0 <= number < found.bits:
            return call(helpers.shift(self.unit, left, found), value, amount)
        if not left:
            return cast(t, binary(">>", value, Code(str(number))))
        moved = binary("<<", self.as_unsigned(value, found), Code(str(number)))
        return self.wrapped(moved, found)

    def bits_word(self, found: TypeInfo) -> str:
        """The unsigned type in which an integer type's arithmetic wraps."""
        return self.dialect.types[f"uint{max(32, container_bits(found.bits))}"]

    def wrapped(self, value: Code, found: TypeInfo) -> Code:
        """The result of unsigned arithmetic in its own type."""
        if not found.signed and found.bits in (32, 64):
            return value
        made = self.wrap(value, found)
        if found.bits in (32, 64):
            made.raw = value
        return made

    def as_unsigned(self, value: Code, found: TypeInfo) -> Code:
        """An integer in the unsigned type in which it wraps."""
        if value.number is not None:
            return unsigned_literal(value.number, max(32, container_bits(found.bits)), self.dialect)
        if value.raw is not None:
            return value.raw
        if not found.signed and found.bits in (32, 64):
            return value
        return cast(self.bits_word(found), value)

    def pick(self, condition: Code, a: Code, b: Code) -> Code:
        if condition.text in ("true", "false"):
            return a if condition.text == "true" else b
        return choice(condition, a, b)
