"""Loads, stores and the arithmetic of their indices.

Indices made of variables and constants only are mathematical integers (`tvm.tir.expr.DATA` is not
set on them), so they are computed in 64 bits whatever their dtype, with constants kept apart: an
address is then a base register plus a constant, which the processor adds for free. An index that
comes from data is computed in its own dtype, wraps there, and is extended at the end.
"""

from __future__ import annotations

from ... import error
from ...ir.dtype import info
from ...tir import expr as _expr
from .. import signs as _signs
from .numeric import Numeric
from .types import element_bits, is_packed, mangled, memory_type, register_type, vector
from .unit import Unit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DATA = _expr.DATA

# A position: register (or "") plus constant.
Position = tuple[str, int]


class Pointers:
    """What is known of the memory of one PrimFunc, shared by the body and its parallel parts."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self._distinct: set[Any] = set()
        self._scopes: dict[Any, str] = {}
        self._lists: dict[Any, str] = {}

    def set_distinct(self, pointers: list[Any]) -> None:
        """These data pointers do not overlap; LLVM is told so at each access."""
        self._distinct.update(pointers)
        if len(pointers) < 2:
            return
        domain = self.unit.metadata("distinct !{!self}")
        for item in pointers:
            self._scopes[item] = self.unit.metadata(f"distinct !{{!self, {domain}}}")
        for item in pointers:
            others = ", ".join(s for key, s in self._scopes.items() if key is not item)
            own = self.unit.metadata(f"!{{{self._scopes[item]}}}")
            rest = self.unit.metadata(f"!{{{others}}}")
            self._lists[item] = f", !alias.scope {own}, !noalias {rest}"

    def is_distinct(self, pointer: Any) -> bool:
        """Whether no other pointer reaches this memory."""
        return pointer in self._distinct

    def note(self, pointer: Any) -> str:
        """Metadata of an access through `pointer`."""
        return self._lists.get(pointer, "")


class Memory(Numeric):
    """Access to buffers.

    Attributes
    ----------
    values : dict
        Variables whose value is in a register (or a constant's text).
    positions : dict
        Loop variables, as 64-bit positions.
    mask : str or None
        The lanes that may touch memory: in the arms of a vector condition, in the last vector of a
        loop.
    mask_has_first : bool
        Whether the first lane is one of them for certain.
    streamed : Var or None
        The data pointer whose stores go round the caches.
    sums : dict
        Elements that stay in a register during the loops around: place to temporary.
    """

    pointers: Pointers
    values: dict[Any, str]
    positions: dict[Any, Position]
    nonnegative: set[Any]
    mask: str | None = None
    mask_lanes = 1
    mask_has_first = False
    streamed: Any = None
    sums: dict[tuple[Any, ...], str]

    def value(self, node: Any) -> str:
        raise NotImplementedError

    def variable(self, node: Any) -> str:
        raise NotImplementedError

    def resolve(self, node: Any) -> None:
        raise NotImplementedError

    # ---- indices
    def position(self, node: Any) -> Position:
        """An integer expression as a 64-bit position."""
        kind = type(node)
        if kind is _expr.IntImm:
            return "", node.value
        if kind is _expr.Var or kind is _expr.SizeVar:
            found = self.positions.get(node)
            if found is None and node not in self.values:
                self.resolve(node)
                found = self.positions.get(node)
            return found if found is not None else self._extended(node, self.values[node])
        if node.kinds & DATA:
            return self._extended(node, self.value(node))
        rule = _POSITION.get(kind)
        if rule is None:
            return self._extended(node, self.value(node))
        return rule(self, node)  # type: ignore[no-any-return]

    def _extended(self, node: Any, value: str) -> Position:
        if not value.startswith("%"):
            if value in ("true", "false"):
                return "", int(value == "true")
            return "", int(value)
        dtype = node.dtype
        return self.cast(value, dtype, "int64"), 0

    def whole(self, position: Position) -> str:
        """A position in one operand."""
        base, constant = position
        if not base:
            return str(constant)
        return self.pure(f"add nsw i64 {base}, {constant}") if constant else base

    def index(self, node: Any) -> str:
        """An integer expression as one i64 operand."""
        return self.whole(self.position(node))

    def _add(self, node: Any) -> Position:
        (a, m), (b, n) = self.position(node.a), self.position(node.b)
        if a and b:
            return self.pure(f"add nsw i64 {a}, {b}"), m + n
        return a or b, m + n

    def _sub(self, node: Any) -> Position:
        (a, m), (b, n) = self.position(node.a), self.position(node.b)
        if b:
            return self.pure(f"sub nsw i64 {a or 0}, {b}"), m - n
        return a, m - n

    def _mul(self, node: Any) -> Position:
        (a, m), (b, n) = self.position(node.a), self.position(node.b)
        if a and b:
            left, right = self.whole((a, m)), self.whole((b, n))
            return self.pure(f"mul nsw i64 {left}, {right}"), 0
        if not a and not b:
            return "", m * n
        base, constant, factor = (a, m, n) if a else (b, n, m)
        if factor == 0:
            return "", 0
        if factor != 1:
            base = self.pure(f"mul nsw i64 {base}, {factor}")
        return base, constant * factor

    def _quotient(self, node: Any) -> Position:
        op = _QUOTIENT[type(node)]
        left, right = self.position(node.a), self.position(node.b)
        if not left[0] and not right[0]:
            return "", fold_division(op, left[1], right[1])
        a, b = self.whole(left), self.whole(right)
        divisor = right[1] if not right[0] else None
        if divisor is not None and divisor > 0 and self.is_nonnegative(node.a):
            return self.divide(op, a, b, "uint64", divisor), 0
        return self.divide(op, a, b, "int64", divisor), 0

    def _extreme(self, node: Any) -> Position:
        op = "min" if type(node) is _expr.Min else "max"
        left, right = self.position(node.a), self.position(node.b)
        if not left[0] and not right[0]:
            return "", (min if op == "min" else max)(left[1], right[1])
        return self.extreme(op, self.whole(left), self.whole(right), "int64"), 0

    def _select_position(self, node: Any) -> Position:
        condition = self.value(node.condition)
        left, right = self.position(node.true_value), self.position(node.false_value)
        if left == right:
            return left
        return self.select(condition, self.whole(left), self.whole(right), "i64", 1), 0

    def _cast_position(self, node: Any) -> Position:
        # without DATA a cast only widens
        return self.position(node.value)

    def is_nonnegative(self, node: Any) -> bool:
        """Whether an index expression is known not to be negative."""
        return _signs.is_nonnegative(node, self.nonnegative)

    def steps(self, node: Any) -> tuple[Position, int] | None:
        """A vector index as (first position, stride), if its lanes are equally far apart."""
        kind = type(node)
        if kind is _expr.Ramp:
            base, stride = self.position(node.base), self.position(node.stride)
            if stride[0]:
                return None
            if node.kinds & DATA and info(node.base.dtype).bits < 64:
                # may wrap in the middle
                return None
            return base, stride[1]
        if kind is _expr.Broadcast:
            return self.position(node.value), 0
        if node.kinds & DATA or kind not in (_expr.Add, _expr.Sub):
            return None
        left, right = self.steps(node.a), self.steps(node.b)
        if left is None or right is None:
            return None
        (a, m), (b, n) = left[0], right[0]
        if kind is _expr.Add:
            base_text = self.pure(f"add nsw i64 {a}, {b}") if a and b else a or b
            return (base_text, m + n), left[1] + right[1]
        base_text = self.pure(f"sub nsw i64 {a or 0}, {b}") if b else a
        return (base_text, m - n), left[1] - right[1]

    # ---- addresses
    def address(self, buffer: Any, position: Position, lanes: int = 1) -> str:
        """Address of an element; `lanes` when the elements are vectors."""
        dtype = buffer.dtype
        pointer = self.variable(buffer.data)
        bits = element_bits(dtype)
        if bits % 8:
            raise error.TypeError_(
                f"buffer {buffer.name}: elements of dtype {dtype} have no address of their own"
            )
        size = bits // 8 * lanes
        base, constant = position
        if base:
            pointer = self.pure(f"getelementptr inbounds [{size} x i8], ptr {pointer}, i64 {base}")
        if constant:
            pointer = self.pure(f"getelementptr inbounds i8, ptr {pointer}, i64 {constant * size}")
        return pointer

    def one_index(self, buffer: Any, indices: Any) -> Any:
        """The flat index of an access."""
        if len(indices) == 1:
            return indices[0]
        if not indices:
            return _expr.IntImm("int32", 0)
        return buffer.element_offset(list(indices))

    # ---- elements that stay in a register during a loop
    def sum_place(self, buffer: Any, index: Any) -> tuple[Any, ...] | None:
        """What tells an element that is used over and over from others; None if unknown."""
        lanes = info(index.dtype).lanes
        if lanes == 1:
            return buffer.data, self.position(index), 1
        run = self.steps(index)
        return (buffer.data, run[0], lanes) if run is not None and run[1] == 1 else None

    def _sum_of(self, node: Any) -> str | None:
        """The temporary that stands for an access, if there is one."""
        if not any(node.buffer.data is place[0] for place in self.sums):
            return None
        place = self.sum_place(node.buffer, self.one_index(node.buffer, node.indices))
        return None if place is None else self.sums.get(place)

    def store_sum(self, node: Any) -> bool:
        """Store into the temporary that stands for an element, if there is one."""
        temporary = self._sum_of(node)
        if temporary is None:
            return False
        kind = register_type(node.value.dtype)
        self.do(f"store {kind} {self.value(node.value)}, ptr {temporary}, align 64")
        return True

    # ---- loads
    def load(self, node: Any) -> str:
        buffer = node.buffer
        if self.sums:
            temporary = self._sum_of(node)
            if temporary is not None:
                return self.effect(f"load {register_type(node.dtype)}, ptr {temporary}, align 64")
        index = self.one_index(buffer, node.indices)
        dtype = buffer.dtype
        element = info(dtype)
        lanes = info(index.dtype).lanes
        if lanes == 1:
            return self._load_at(buffer, self.position(index), element.lanes)
        if element.lanes > 1:
            run = self.steps(index)
            if run is None or run[1] != 1:
                raise error.TypeError_(
                    f"buffer {buffer.name}: a vector of {dtype} elements can only be read where "
                    "they lie side by side"
                )
            (base, constant), _ = run
            if base:
                base = self.pure(f"mul nsw i64 {base}, {element.lanes}")
            return self._load_run(buffer, (base, constant * element.lanes), lanes * element.lanes)
        run = self.steps(index)
        if run is not None:
            position, stride = run
            if stride == 1:
                return self._load_run(buffer, position, lanes)
            if stride == 0 and (self.mask is None or self.mask_has_first):
                one = self._load_at(buffer, position, 1)
                return self.broadcast(one, register_type(dtype), lanes)
            if stride == -1 and self.mask is None:
                base, constant = position
                row = self._load_run(buffer, (base, constant - lanes + 1), lanes)
                order = ", ".join(f"i32 {lanes - 1 - lane}" for lane in range(lanes))
                kind = vector(register_type(dtype), lanes)
                return self.pure(
                    f"shufflevector {kind} {row}, {kind} poison, <{lanes} x i32> <{order}>"
                )
            if stride != 0 and self.mask is None:
                return self._load_lanes(
                    buffer,
                    [(position[0], position[1] + lane * stride) for lane in range(lanes)],
                )
        offsets = self.cast(self.value(index), index.dtype, f"int64x{lanes}")
        if self.mask is None and not self.machine.has_gather or is_packed(dtype):
            return self._load_lanes(buffer, self._split(offsets, lanes))
        return self._gather(buffer, offsets, lanes)

    def _load_at(self, buffer: Any, position: Position, lanes: int) -> str:
        dtype = buffer.dtype
        if is_packed(dtype):
            return self._load_packed(buffer, position)
        scalar = info(dtype).scalar
        align = element_bits(dtype) // 8
        address = self.address(buffer, position, lanes)
        kind = vector(memory_type(scalar), lanes)
        found = self.effect(
            f"load {kind}, ptr {address}, align {align}{self.pointers.note(buffer.data)}"
        )
        return self._from_memory(found, scalar, lanes)

    def _load_run(self, buffer: Any, position: Position, lanes: int) -> str:
        """Elements that lie side by side."""
        scalar = info(buffer.dtype).scalar
        if is_packed(scalar):
            base, constant = position
            return self._load_lanes(buffer, [(base, constant + lane) for lane in range(lanes)])
        align = element_bits(scalar) // 8
        address = self._scalar_address(buffer, position)
        kind = vector(memory_type(scalar), lanes)
        note = self.pointers.note(buffer.data)
        if self.mask is not None and lanes == self.mask_lanes:
            name = self.unit.declare(
                f"llvm.masked.load.{mangled(memory_type(scalar), lanes)}.p0",
                f"{kind} @(ptr, i32 immarg, <{lanes} x i1>, {kind})",
            )
            found = self.effect(
                f"call {kind} {name}(ptr {address}, i32 {align}, <{lanes} x i1> {self.mask}, "
                f"{kind} zeroinitializer){note}"
            )
        else:
            found = self.effect(f"load {kind}, ptr {address}, align {align}{note}")
        return self._from_memory(found, scalar, lanes)

    def _scalar_address(self, buffer: Any, position: Position) -> str:
        """Address of a scalar lane: positions count lanes, whatever the buffer's elements."""
        return self.address(buffer, position, 1)

    def _load_lanes(self, buffer: Any, positions: list[Position]) -> str:
        """Elements from anywhere, one by one."""
        kind = register_type(info(buffer.dtype).scalar)
        lanes = len(positions)
        whole = vector(kind, lanes)
        row = "poison"
        for lane, position in enumerate(positions):
            one = self._load_at(buffer, position, 1)
            row = self.pure(f"insertelement {whole} {row}, {kind} {one}, i64 {lane}")
        return row

    def _split(self, offsets: str, lanes: int) -> list[Position]:
        kind = f"<{lanes} x i64>"
        return [
            (self.pure(f"extractelement {kind} {offsets}, i64 {lane}"), 0) for lane in range(lanes)
        ]

    def _addresses(self, buffer: Any, offsets: str, lanes: int) -> str:
        size = element_bits(buffer.dtype) // 8
        pointer = self.variable(buffer.data)
        return self.pure(f"getelementptr [{size} x i8], ptr {pointer}, <{lanes} x i64> {offsets}")

    def _gather(self, buffer: Any, offsets: str, lanes: int) -> str:
        scalar = info(buffer.dtype).scalar
        kind = vector(memory_type(scalar), lanes)
        align = element_bits(scalar) // 8
        name = self.unit.declare(
            f"llvm.masked.gather.{mangled(memory_type(scalar), lanes)}.v{lanes}p0",
            f"{kind} @(<{lanes} x ptr>, i32 immarg, <{lanes} x i1>, {kind})",
        )
        addresses = self._addresses(buffer, offsets, lanes)
        mask = self.mask if self.mask is not None else "splat (i1 true)"
        found = self.effect(
            f"call {kind} {name}(<{lanes} x ptr> {addresses}, i32 {align}, <{lanes} x i1> {mask}, "
            f"{kind} zeroinitializer){self.pointers.note(buffer.data)}"
        )
        return self._from_memory(found, scalar, lanes)

    def _from_memory(self, found: str, scalar: str, lanes: int) -> str:
        if scalar != "bool":
            return found
        kind = vector("i8", lanes)
        return self.pure(f"icmp ne {kind} {found}, {'0' if lanes == 1 else 'zeroinitializer'}")

    def _packed_place(self, buffer: Any, position: Position) -> tuple[str, str]:
        """Address of the byte that holds an element, and the element's first bit in it."""
        bits = info(buffer.dtype).bits
        if bits not in (1, 2, 4):
            raise error.TypeError_(
                f"buffer {buffer.name}: dtype {buffer.dtype} has no packed layout; "
                "the packed widths are 1, 2 and 4 bits"
            )
        pointer = self.variable(buffer.data)
        each = 8 // bits
        if not position[0]:
            byte, place = divmod(position[1], each)
            address = self.pure(f"getelementptr inbounds i8, ptr {pointer}, i64 {byte}")
            return address, str(place * bits)
        index = self.whole(position)
        byte_text = self.pure(f"ashr i64 {index}, {each.bit_length() - 1}")
        address = self.pure(f"getelementptr inbounds i8, ptr {pointer}, i64 {byte_text}")
        lane = self.pure(f"trunc i64 {index} to i8")
        lane = self.pure(f"and i8 {lane}, {each - 1}")
        return address, self.pure(f"mul i8 {lane}, {bits}")

    def _load_packed(self, buffer: Any, position: Position) -> str:
        address, shift = self._packed_place(buffer, position)
        byte = self.effect(f"load i8, ptr {address}, align 1")
        moved = self.pure(f"lshr i8 {byte}, {shift}")
        return self.pure(f"trunc i8 {moved} to i{info(buffer.dtype).bits}")

    def _store_packed(self, buffer: Any, position: Position, value: str) -> None:
        address, shift = self._packed_place(buffer, position)
        bits = info(buffer.dtype).bits
        byte = self.effect(f"load i8, ptr {address}, align 1")
        hole = self.pure(f"shl i8 {(1 << bits) - 1}, {shift}")
        hole = self.pure(f"xor i8 {hole}, -1")
        kept = self.pure(f"and i8 {byte}, {hole}")
        wide = self.pure(f"zext i{bits} {value} to i8")
        moved = self.pure(f"shl i8 {wide}, {shift}")
        self.do(f"store i8 {self.pure(f'or i8 {kept}, {moved}')}, ptr {address}, align 1")

    # ---- stores
    def store(self, node: Any) -> None:
        buffer = node.buffer
        index = self.one_index(buffer, node.indices)
        element = info(buffer.dtype)
        lanes = info(index.dtype).lanes
        value = self.value(node.value)
        given = info(node.value.dtype)
        if given.scalar != element.scalar or given.lanes != element.lanes * lanes:
            raise error.TypeError_(
                f"store into buffer {buffer.name}: expected {element.lanes * lanes} lanes of "
                f"{element.scalar}, but got {given.text}"
            )
        self.store_value(buffer, index, value)

    def store_value(self, buffer: Any, index: Any, value: str) -> None:
        """Store a register; its lanes are those of the index times those of an element."""
        dtype = buffer.dtype
        element = info(dtype)
        lanes = info(index.dtype).lanes
        if lanes == 1:
            self._store_at(buffer, self.position(index), value, element.lanes)
            return
        run = self.steps(index)
        if run is not None and run[1] == 1 and not is_packed(dtype):
            (base, constant), _ = run
            if element.lanes > 1:
                base = self.pure(f"mul nsw i64 {base}, {element.lanes}") if base else ""
                constant *= element.lanes
            self._store_run(buffer, (base, constant), value, lanes * element.lanes)
            return
        if element.lanes > 1:
            raise error.TypeError_(
                f"buffer {buffer.name}: a vector of {dtype} elements can only be written where "
                "they lie side by side"
            )
        if run is not None:
            (base, constant), stride = run
            positions = [(base, constant + lane * stride) for lane in range(lanes)]
        else:
            offsets = self.cast(self.value(index), index.dtype, f"int64x{lanes}")
            positions = self._split(offsets, lanes)
        # lane by lane and in order: the last of several stores to one place wins
        kind = vector(register_type(dtype), lanes)
        for lane, position in enumerate(positions):
            one = self.pure(f"extractelement {kind} {value}, i64 {lane}")
            self._store_at(buffer, position, one, 1)

    def _store_at(self, buffer: Any, position: Position, value: str, lanes: int) -> None:
        if is_packed(buffer.dtype):
            self._store_packed(buffer, position, value)
            return
        self._put(buffer, self.address(buffer, position, lanes), value, lanes)

    def _store_run(self, buffer: Any, position: Position, value: str, lanes: int) -> None:
        self._put(buffer, self._scalar_address(buffer, position), value, lanes)

    def _put(self, buffer: Any, address: str, value: str, lanes: int) -> None:
        scalar = info(buffer.dtype).scalar
        kind = vector(memory_type(scalar), lanes)
        if scalar == "bool":
            value = self.pure(f"zext {vector('i1', lanes)} {value} to {kind}")
        align = element_bits(scalar) // 8
        note = self.pointers.note(buffer.data)
        if self.mask is not None and lanes == self.mask_lanes:
            name = self.unit.declare(
                f"llvm.masked.store.{mangled(memory_type(scalar), lanes)}.p0",
                f"void @({kind}, ptr, i32 immarg, <{lanes} x i1>)",
            )
            self.do(
                f"call void {name}({kind} {value}, ptr {address}, i32 {align}, "
                f"<{lanes} x i1> {self.mask}){note}"
            )
            return
        if self.streamed is buffer.data:
            align = align * lanes
            note += f", !nontemporal {self.unit.nontemporal()}"
        self.do(f"store {kind} {value}, ptr {address}, align {align}{note}")


def fold_division(op: str, a: int, b: int) -> int:
    """A division of two numbers; by zero it is 0."""
    if b == 0:
        return 0
    if op == "floordiv":
        return a // b
    if op == "floormod":
        return a % b
    quotient = abs(a) // abs(b)
    quotient = quotient if (a < 0) == (b < 0) else -quotient
    return quotient if op == "truncdiv" else a - quotient * b


_QUOTIENT = {
    _expr.Div: "truncdiv",
    _expr.Mod: "truncmod",
    _expr.FloorDiv: "floordiv",
    _expr.FloorMod: "floormod",
}
_POSITION: dict[type, Any] = {
    _expr.Add: Memory._add,
    _expr.Sub: Memory._sub,
    _expr.Mul: Memory._mul,
    _expr.Div: Memory._quotient,
    _expr.Mod: Memory._quotient,
    _expr.FloorDiv: Memory._quotient,
    _expr.FloorMod: Memory._quotient,
    _expr.Min: Memory._extreme,
    _expr.Max: Memory._extreme,
    _expr.Cast: Memory._cast_position,
    _expr.Select: Memory._select_position,
}
