"""Calls: one rule an operator."""

from __future__ import annotations

from ... import error
from ...ir.dtype import info, with_lanes
from ...tir import expr as _expr
from .helpers import fmod_function
from .packed import call_packed
from .types import constant, element_bits, is_narrow, mangled, register_type, splat, vector
from .unit import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .expr import Expressions


def call_rule(self: Expressions, node: Any) -> str:
    """The result of a call."""
    name = getattr(node.op, "name", None)
    rule = RULES.get(name) if name is not None else None
    if rule is None:
        what = name if name is not None else getattr(node.op, "name_hint", str(node.op))
        raise error.TypeError_(
            f"target llvm, function {self.function_name}: no code for a call of {what}; either "
            f"it is not an operator of the CPU, or a pass that lowers it did not run: {node}"
        )
    return rule(self, node)  # type: ignore[no-any-return]


def _real(llvm_name: str, needs_rounding: bool = False) -> Any:
    """An operator that is one LLVM intrinsic on float and double."""

    def rule(self: Expressions, node: Any) -> str:
        if needs_rounding and not self.machine.has_rounding:
            raise error.TypeError_(
                f"target llvm: {self.machine.cpu or self.machine.triple} has no instruction for "
                f"{node.op.name}; the pass LowerIntrin must rewrite it"
            )
        found = info(node.dtype)
        operands = [self.value(item) for item in node.args]
        if is_narrow(found):
            wide = [self.widen(item, found) for item in operands]
            return self.narrow(
                self.call_real(llvm_name, wide[0], "float", found.lanes, *wide[1:]), found
            )
        kind = "float" if found.bits == 32 else "double"
        return self.call_real(llvm_name, operands[0], kind, found.lanes, *operands[1:])

    return rule


def _fma(self: Expressions, node: Any) -> str:
    if not self.machine.has_fma:
        raise error.TypeError_(
            f"target llvm: {self.machine.cpu or self.machine.triple} has no fused multiply-add; "
            "write a * b + c, or choose a processor with -mcpu"
        )
    return _real("fma")(self, node)  # type: ignore[no-any-return]


def _bits(llvm_name: str) -> Any:
    def rule(self: Expressions, node: Any) -> str:
        found = info(node.dtype)
        given = info(node.args[0].dtype)
        kind = register_type(given.text)
        more = ", i1 false" if llvm_name == "ctlz" else ""
        declared = ", i1 immarg" if more else ""
        name = self.unit.declare(
            f"llvm.{llvm_name}.{mangled(f'i{given.bits}', given.lanes)}",
            f"{kind} @({kind}{declared})",
        )
        result = self.pure(f"call {kind} {name}({kind} {self.value(node.args[0])}{more})")
        unsigned = with_lanes(f"uint{given.bits}", given.lanes) if given.bits > 1 else given.text
        return self.cast(result, unsigned, found.text)

    return rule


def _bitwise(op: str) -> Any:
    def rule(self: Expressions, node: Any) -> str:
        a, b = (self.value(item) for item in node.args)
        return self.pure(f"{op} {register_type(node.dtype)} {a}, {b}")

    return rule


def _bitwise_not(self: Expressions, node: Any) -> str:
    return self.pure(
        f"xor {register_type(node.dtype)} {self.value(node.args[0])}, {constant(node.dtype, -1)}"
    )


def _shift(left: bool) -> Any:
    def rule(self: Expressions, node: Any) -> str:
        found = info(node.dtype)
        kind = register_type(node.dtype)
        value, amount = (self.value(item) for item in node.args)
        op = "shl" if left else "ashr" if found.signed else "lshr"
        count = node.args[1].value if type(node.args[1]) is _expr.Broadcast else node.args[1]
        if type(count) is _expr.IntImm and 0 <= count.value < found.bits:
            return self.pure(f"{op} {kind} {value}, {amount}")
        # LLVM leaves a shift by the width or more open; here everything has been shifted out
        most = constant(node.dtype, found.bits - 1)
        wide = self.pure(f"icmp ugt {kind} {amount}, {most}")
        safe = self.select(wide, most, amount, kind, found.lanes)
        result = self.pure(f"{op} {kind} {value}, {safe}")
        if op == "ashr":
            return result
        return self.select(wide, constant(node.dtype, 0), result, kind, found.lanes)

    return rule


def _isnan(self: Expressions, node: Any) -> str:
    found = info(node.args[0].dtype)
    value = self.value(node.args[0])
    if found.is_int:
        return constant(node.dtype, 0)
    if is_narrow(found):
        value = self.widen(value, found)
        return self.pure(f"fcmp uno {vector('float', found.lanes)} {value}, {value}")
    return self.pure(f"fcmp uno {register_type(found.text)} {value}, {value}")


def _size_test(infinite: bool) -> Any:
    def rule(self: Expressions, node: Any) -> str:
        found = info(node.args[0].dtype)
        value = self.value(node.args[0])
        if found.is_int:
            return constant(node.dtype, not infinite)
        kind = "double" if found.bits == 64 else "float"
        if is_narrow(found):
            value = self.widen(value, found)
        size = self.call_real("fabs", value, kind, found.lanes)
        most = splat(kind, found.lanes, "0x7FF0000000000000")
        test = "oeq" if infinite else "olt"
        return self.pure(f"fcmp {test} {vector(kind, found.lanes)} {size}, {most}")

    return rule


def _reinterpret(self: Expressions, node: Any) -> str:
    source = node.args[0]
    old, new = info(source.dtype), info(node.dtype)
    value = self.value(source)
    before, after = register_type(source.dtype), register_type(node.dtype)
    if before == after:
        return value
    if "handle" in (old.kind, new.kind):
        return self.cast(value, source.dtype, node.dtype)
    if old.is_bool or new.is_bool or old.bits * old.lanes != new.bits * new.lanes:
        raise error.TypeError_(
            f"target llvm: reinterpret from {source.dtype} to {node.dtype}: the sizes differ"
        )
    return self.pure(f"bitcast {before} {value} to {after}")


def _large_uint(self: Expressions, node: Any) -> str:
    low, high = (int(item.value) & 0xFFFFFFFF for item in node.args)
    return constant(node.dtype, (high << 32) | low)


def _same(self: Expressions, node: Any) -> str:
    return self.value(node.args[0])


def _nothing(self: Expressions, node: Any) -> str:
    return "0"


def _access_ptr(self: Expressions, node: Any) -> str:
    kind, data, offset = node.args[:3]
    pointer = self.value(data)
    bits = element_bits(kind.dtype) * info(kind.dtype).lanes
    base, number = self.position(offset)
    if base:
        scaled = self.pure(f"mul nsw i64 {base}, {bits}")
        if bits % 8 == 0:
            scaled = self.pure(f"mul nsw i64 {base}, {bits // 8}")
        else:
            scaled = self.pure(f"ashr i64 {scaled}, 3")
        pointer = self.pure(f"getelementptr inbounds i8, ptr {pointer}, i64 {scaled}")
    if number:
        pointer = self.pure(f"getelementptr inbounds i8, ptr {pointer}, i64 {number * bits // 8}")
    return pointer


def _address_of(self: Expressions, node: Any) -> str:
    load = node.args[0]
    buffer = load.buffer
    index = self.one_index(buffer, load.indices)
    if type(index) is _expr.Ramp:
        index = index.base
    return self.address(buffer, self.position(index), info(buffer.dtype).lanes)


def _prefetch(self: Expressions, node: Any) -> str:
    address, write, locality, kind = node.args
    name = self.unit.declare("llvm.prefetch.p0", "void @(ptr, i32 immarg, i32 immarg, i32 immarg)")
    numbers = ", ".join(f"i32 {int(item.value)}" for item in (write, locality, kind))
    self.do(f"call void {name}(ptr {self.value(address)}, {numbers})")
    return "0"


def _half(high: bool) -> Any:
    def rule(self: Expressions, node: Any) -> str:
        source = node.args[0]
        lanes = info(source.dtype).lanes
        kind = register_type(source.dtype)
        first = lanes // 2 if high else 0
        row = ", ".join(f"i32 {first + lane}" for lane in range(lanes // 2))
        return self.pure(
            f"shufflevector {kind} {self.value(source)}, {kind} poison, "
            f"<{lanes // 2} x i32> <{row}>"
        )

    return rule


def _combine(self: Expressions, node: Any) -> str:
    a, b = node.args
    lanes = info(a.dtype).lanes
    kind = register_type(a.dtype)
    row = ", ".join(f"i32 {lane}" for lane in range(2 * lanes))
    return self.pure(
        f"shufflevector {kind} {self.value(a)}, {kind} {self.value(b)}, <{2 * lanes} x i32> <{row}>"
    )


def _if_then_else(self: Expressions, node: Any) -> str:
    return self.if_then_else(node)


def _foreign_type(dtype: str) -> str:
    """Type of a value passed to an LLVM intrinsic or to C: narrow floats are floats there."""
    found = info(dtype)
    if found.kind == "void":
        return "void"
    if found.scalar == "bfloat16":
        return vector("bfloat", found.lanes)
    if found.scalar == "float16":
        return vector("half", found.lanes)
    return register_type(dtype)


def _foreign_call(self: Expressions, name: str, node: Any, args: Any, pure: bool) -> str:
    result = _foreign_type(node.dtype)
    kinds = [_foreign_type(item.dtype) for item in args]
    passed = []
    immediate = []
    for item, kind in zip(args, kinds):
        text = self.value(item)
        if kind != register_type(item.dtype):
            text = self.pure(f"bitcast {register_type(item.dtype)} {text} to {kind}")
        passed.append(f"{kind} {text}")
        immediate.append(kind)
    function = self.unit.declare(quote(name), f"{result} @({', '.join(immediate)})")
    call = f"call {result} {function}({', '.join(passed)})"
    if result == "void":
        self.do(call)
        return "0"
    found = self.pure(call) if pure else self.effect(call)
    if result != register_type(node.dtype):
        found = self.pure(f"bitcast {result} {found} to {register_type(node.dtype)}")
    return found


def _llvm_intrinsic(pure: bool) -> Any:
    def rule(self: Expressions, node: Any) -> str:
        """Arguments: the intrinsic, the number of overloaded types, then the operands."""
        from .intrinsics import checked_name

        head = node.args[0]
        name = head.value if type(head) is _expr.StringImm else None
        if not isinstance(name, str):
            raise error.TypeError_(
                f"target llvm, function {self.function_name}: call_llvm_intrin needs the "
                f"intrinsic's name, but got {head}"
            )
        args = node.args[1:]
        if args and type(args[0]) is _expr.IntImm and args[0].dtype == "uint32":
            args = args[1:]
        name = checked_name(self.machine, name, node, args)
        return _foreign_call(self, name, node, args, pure)

    return rule


def _extern(self: Expressions, node: Any) -> str:
    head = node.args[0]
    name = head.value if type(head) is _expr.StringImm else str(head)
    if name.startswith("llvm."):
        raise error.TypeError_(
            f"call_extern of {name!r}: an LLVM intrinsic is called by call_llvm_intrin"
        )
    self.unit.foreign.add(name)
    return _foreign_call(self, name, node, node.args[1:], False)


def _fmod(self: Expressions, node: Any) -> str:
    found = info(node.dtype)
    a, b = (self.value(item) for item in node.args)
    if is_narrow(found):
        a, b = self.widen(a, found), self.widen(b, found)
    kind = "double" if found.bits == 64 else "float"
    function = fmod_function(self.unit, kind)
    if found.lanes == 1:
        result = self.pure(f"call {kind} {function}({kind} {a}, {kind} {b})")
    else:
        whole = vector(kind, found.lanes)
        result = "poison"
        for lane in range(found.lanes):
            x = self.pure(f"extractelement {whole} {a}, i64 {lane}")
            y = self.pure(f"extractelement {whole} {b}, i64 {lane}")
            one = self.pure(f"call {kind} {function}({kind} {x}, {kind} {y})")
            result = self.pure(f"insertelement {whole} {result}, {kind} {one}, i64 {lane}")
    return self.narrow(result, found) if is_narrow(found) else result


RULES: dict[str, Any] = {
    "tir.tvm_call_packed": call_packed,
    "tir.tvm_call_cpacked": call_packed,
    "tir.fmod": _fmod,
    "tir.sqrt": _real("sqrt"),
    "tir.fabs": _real("fabs"),
    "tir.floor": _real("floor", True),
    "tir.ceil": _real("ceil", True),
    "tir.trunc": _real("trunc", True),
    "tir.nearbyint": _real("nearbyint", True),
    "tir.rint": _real("rint", True),
    "tir.copysign": _real("copysign"),
    "tir.fma": _fma,
    "tir.popcount": _bits("ctpop"),
    "tir.clz": _bits("ctlz"),
    "tir.bitwise_and": _bitwise("and"),
    "tir.bitwise_or": _bitwise("or"),
    "tir.bitwise_xor": _bitwise("xor"),
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
    "tir.vectorlow": _half(False),
    "tir.vectorhigh": _half(True),
    "tir.vectorcombine": _combine,
    "tir.call_llvm_intrin": _llvm_intrinsic(False),
    "tir.call_llvm_pure_intrin": _llvm_intrinsic(True),
    "tir.call_extern": _extern,
    "tir.call_pure_extern": _extern,
}
