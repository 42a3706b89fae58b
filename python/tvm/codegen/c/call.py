"""Calls: one rule an operator."""

from __future__ import annotations

from ... import error
from ...ir.dtype import info
from ...tir import expr as _expr
from . import helpers
from .code import UNARY, Code, binary, call, cast, constant
from .memory import is_packed
from .numeric import is_narrow
from .packed import PACKED_RULES, call_packed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .expr import Expressions


def call_rule(self: Expressions, node: Any) -> Code:
    """The result of a call; of a vector the current lane."""
    name = getattr(node.op, "name", None)
    rule = RULES.get(name) if name is not None else None
    if rule is None:
        what = name if name is not None else getattr(node.op, "name_hint", str(node.op))
        raise error.TypeError_(
            f"target {self.dialect.name}, function {self.function_name}: no code for a call of "
            f"{what}; either it is not an operator of this target, or a pass that lowers it did "
            f"not run: {node}"
        )
    return rule(self, node)  # type: ignore[no-any-return]


def _real(name: str) -> Any:
    """An operator that is one function on float and double."""

    def rule(self: Expressions, node: Any) -> Code:
        found = info(node.dtype)
        operands = [self.value(item) for item in node.args]
        single, double = self.dialect.real[name]
        if name == "fma":
            self.unit.uses_fma = True
        if is_narrow(found):
            wide = [self.widen(item, found) for item in operands]
            return self.narrow(call(single, *wide), found)
        return call(single if found.bits == 32 else double, *operands)

    return rule


def _bits(helper: Any) -> Any:
    def rule(self: Expressions, node: Any) -> Code:
        given = info(info(node.args[0].dtype).scalar)
        unsigned = given if not given.signed else info(f"uint{given.bits}")
        value = self.convert(self.value(node.args[0]), given.text, unsigned.text)
        return self.convert(call(helper(self.unit, unsigned), value), "int32", node.dtype)

    return rule


def _bitwise(sign: str) -> Any:
    def rule(self: Expressions, node: Any) -> Code:
        found = info(info(node.dtype).scalar)
        a, b = (self.value(item) for item in node.args)
        if found.is_bool:
            return binary({"&": "&&", "|": "||", "^": "!="}[sign], a, b)
        # operands of one type: the result keeps within it
        return cast(self.type_name(found.text), binary(sign, a, b))

    return rule


def _bitwise_not(self: Expressions, node: Any) -> Code:
    found = info(info(node.dtype).scalar)
    value = self.value(node.args[0])
    if found.is_bool:
        return Code(f"!{value.at(UNARY)}", UNARY)
    return self.wrapped(Code(f"~{self.as_unsigned(value, found).at(UNARY)}", UNARY), found)


def _shift(left: bool) -> Any:
    def rule(self: Expressions, node: Any) -> Code:
        value, amount = (self.value(item) for item in node.args)
        return self.shift(left, value, amount, info(info(node.dtype).scalar))

    return rule


def _isnan(self: Expressions, node: Any) -> Code:
    found = info(info(node.args[0].dtype).scalar)
    if found.is_int:
        return constant("bool", 0, self.dialect)
    value = self.convert(self.value(node.args[0]), found.text, _wide(found))
    t = self.type_name(_wide(found))
    name = self.unit.helper(f"tvm_isnan_{t}", "bool", f"{t} x", "return x != x;")
    return call(name, value)


def _wide(found: Any) -> str:
    return "float64" if found.bits == 64 else "float32"


def _size_test(infinite: bool) -> Any:
    def rule(self: Expressions, node: Any) -> Code:
        found = info(info(node.args[0].dtype).scalar)
        if found.is_int:
            return constant("bool", not infinite, self.dialect)
        wide = _wide(found)
        value = self.convert(self.value(node.args[0]), found.text, wide)
        size = call(self.dialect.real["fabs"][wide == "float64"], value)
        return binary("==" if infinite else "<", size, constant(wide, float("inf"), self.dialect))

    return rule


def _reinterpret(self: Expressions, node: Any) -> Code:
    source = node.args[0]
    old, new = info(source.dtype), info(node.dtype)
    if (
        "handle" not in (old.kind, new.kind)
        and (old.is_bool or new.is_bool or old.bits * old.lanes != new.bits * new.lanes)
        and old.text != new.text
    ):
        raise error.TypeError_(
            f"target {self.dialect.name}: reinterpret from {source.dtype} to {node.dtype}: the "
            "sizes differ"
        )
    if old.lanes != new.lanes:
        return self._moved(node)
    old, new = info(old.scalar), info(new.scalar)
    value = self.value(source)
    if "handle" in (old.kind, new.kind):
        return self.convert(value, old.text, new.text)
    # floats of 32 and 64 bits by their bits; the narrow ones are bits already
    if old.is_float and not is_narrow(old):
        value = call(helpers.bits_of(self.unit, old), value)
        old = info(f"uint{old.bits}")
    elif is_narrow(old):
        old = info(f"uint{old.bits}")
    if new.is_float:
        value = self.convert(value, old.text, f"uint{new.bits}")
        return value if is_narrow(new) else call(helpers.from_bits(self.unit, new), value)
    return self.convert(value, old.text, new.text)


def _large_uint(self: Expressions, node: Any) -> Code:
    low, high = (int(item.value) & 0xFFFFFFFF for item in node.args)
    return constant(node.dtype, (high << 32) | low, self.dialect)


def _same(self: Expressions, node: Any) -> Code:
    return self.value(node.args[0])


def _nothing(self: Expressions, node: Any) -> Code:
    return Code("0", number=0)


def _if_then_else(self: Expressions, node: Any) -> Code:
    condition, then, other = node.args
    return self.choose(condition, then, other, node.dtype)


def _access_ptr(self: Expressions, node: Any) -> Code:
    kind, data, offset = node.args[:3]
    found = info(kind.dtype)
    pointer = self.pointer(data, found.scalar)
    place = self.index(offset)
    if found.lanes > 1:
        place = binary("*", place, Code(str(found.lanes)))
    if is_packed(found.scalar):
        place = binary("/", place, Code(str(8 // found.bits)))
    return pointer if place.number == 0 else binary("+", pointer, place)


def _address_of(self: Expressions, node: Any) -> Code:
    load = node.args[0]
    buffer = load.buffer
    index = self.one_index(buffer, load.indices)
    if type(index) is _expr.Ramp:
        index = index.base
    pointer = self.pointer(buffer.data, buffer.dtype)
    place = self.index(index)
    if info(buffer.dtype).lanes > 1:
        place = binary("*", place, Code(str(info(buffer.dtype).lanes)))
    return pointer if place.number == 0 else binary("+", pointer, place)


def _prefetch(self: Expressions, node: Any) -> Code:
    # a hint that changes no result; C has no word for it
    return Code("0", number=0)


def _fmod(self: Expressions, node: Any) -> Code:
    found = info(info(node.dtype).scalar)
    a, b = (self.value(item) for item in node.args)
    if is_narrow(found):
        function = helpers.fmod(self.unit, info("float32"))
        return self.narrow(call(function, self.widen(a, found), self.widen(b, found)), found)
    return call(helpers.fmod(self.unit, found), a, b)


def _foreign_type(self: Expressions, dtype: str) -> str:
    found = info(dtype)
    if found.kind == "void":
        return "void"
    if found.lanes > 1:
        raise error.TypeError_(
            f"target {self.dialect.name}, function {self.function_name}: a C function takes no "
            f"vector, but got dtype {dtype}; pass a pointer (access_ptr)"
        )
    return self.type_name(dtype)


def _extern(self: Expressions, node: Any) -> Code:
    head = node.args[0]
    name = head.value if type(head) is _expr.StringImm else str(head)
    if name.startswith("llvm."):
        raise error.TypeError_(f"target {self.dialect.name}: {name} is an intrinsic of LLVM")
    args = node.args[1:]
    result = _foreign_type(self, node.dtype)
    kinds = ", ".join(_foreign_type(self, item.dtype) for item in args) or "void"
    self.unit.foreign.add(name)
    self.unit.declare(name, f"{result} {name}({kinds});")
    made = call(name, *[self.value(item) for item in args])
    if result == "void":
        self.line(f"{made};")
        return Code("0", number=0)
    if node.op.name == "tir.call_pure_extern":
        return made
    # in order with what else is called
    variable = self.name(f"{name}_result")
    self.line(f"{result} {variable} = {made};")
    return Code(variable)


def _llvm_intrinsic(self: Expressions, node: Any) -> Code:
    raise error.TypeError_(
        f"target {self.dialect.name}, function {self.function_name}: an intrinsic of LLVM has no "
        f"meaning in C: {node}; build for target llvm, or write it with tvm.tir operators"
    )


def _moved(self: Expressions, node: Any) -> Code:
    return self._moved(node)


RULES: dict[str, Any] = {
    "tir.tvm_call_packed": call_packed,
    **PACKED_RULES,
    "tir.sqrt": _real("sqrt"),
    "tir.fabs": _real("fabs"),
    "tir.copysign": _real("copysign"),
    "tir.fma": _real("fma"),
    "tir.fmod": _fmod,
    "tir.popcount": _bits(helpers.count_bits),
    "tir.clz": _bits(helpers.leading_zeros),
    "tir.bitwise_and": _bitwise("&"),
    "tir.bitwise_or": _bitwise("|"),
    "tir.bitwise_xor": _bitwise("^"),
    "tir.bitwise_not": _bitwise_not,
    "tir.shift_left": _shift(True),
    "tir.shift_right": _shift(False),
    "tir.isnan": _isnan,
    "tir.isinf": _size_test(True),
    "tir.isfinite": _size_test(False),
    "tir.reinterpret": _reinterpret,
    "tir.large_uint_imm": _large_uint,
    "tir.likely": _same,
    "tir.tvm_thread_invariant": _same,
    "tir.if_then_else": _if_then_else,
    "tir.tvm_access_ptr": _access_ptr,
    "tir.address_of": _address_of,
    "tir.prefetch": _prefetch,
    "tir.assume": _nothing,
    "tir.tvm_storage_sync": _nothing,
    "tir.vectorlow": _moved,
    "tir.vectorhigh": _moved,
    "tir.vectorcombine": _moved,
    "tir.call_llvm_intrin": _llvm_intrinsic,
    "tir.call_llvm_pure_intrin": _llvm_intrinsic,
    "tir.call_extern": _extern,
    "tir.call_pure_extern": _extern,
}
