"""Vectorize innermost: data-parallel loops that nobody scheduled become vector loops with a tail.

    for i in range(n):          ->    for io in range(n // 16):
        B[i] = A[i] + 1.0                 B[io*16:io*16+16] = A[io*16:io*16+16] + broadcast(1.0, 16)
                                      for it in range(n % 16):
                                          B[n // 16 * 16 + it] = A[n // 16 * 16 + it] + 1.0

A loop qualifies when its iterations touch each written buffer at one place only, which moves on by
one element with the loop. A loop around serial inner loops qualifies too (a matrix product's
columns), if all it reads lies side by side or is the same in all lanes. Nothing is reordered within
a lane, so that every result keeps its bits.
"""

from __future__ import annotations

from tvm.ir.dtype import info
from tvm.ir.structural import structural_equal
from tvm.tir import expr as E
from tvm.tir import stmt as S
from tvm.tir.expr import IntImm, Var
from tvm.tir.function import PrimFunc
from tvm.tir.operators import add, floordiv, floormod, maximum, multiply
from tvm.tir.stmt import ForKind
from tvm.tir.stmt_functor import StmtExprMutator, StmtExprVisitor, substitute, uses_var

from .flatten_loops import flatten_loops
from .fresh import fresh_copy
from .vectorize_loop import _Scalar, _Vectorizer, broadcast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_VECTORS = E.Ramp.KIND | E.Broadcast.KIND | E.Shuffle.KIND
# statements that a loop may hold
_PLAIN = (S.BufferStore, S.SeqStmt, S.LetStmt, S.For)
_LEAST_LANES = 4


# the bytes of a cache line, and how far ahead of its reads a streaming loop asks for them
LINE = 64
AHEAD = 1024
# Marks for the code generator: a statement whose memory accesses touch only some lanes (at least
# the first); a loop whose stores go round the caches.
LANE_MASK = "lane_mask"
STREAM = "stream"
# ... and a loop whose variable is of interest mostly in multiples of so many.
STEP = "step"


class VectorUnit:
    """What a processor's vectors can do.

    Parameters
    ----------
    bits : int
        Their width.
    masks : bool
        Whether lanes can be masked in every access.
    stream_bytes : int
        From how many bytes on a loop had better go round the caches; 0 for never.
    """

    __slots__ = ("bits", "masks", "stream_bytes")

    def __init__(self, bits: int, masks: bool = False, stream_bytes: int = 0) -> None:
        self.bits = bits
        self.masks = masks
        self.stream_bytes = stream_bytes


class _Look(StmtExprVisitor):
    """What a loop's body does with memory, and the widest element of its data."""

    def __init__(self) -> None:
        self.loads: list[Any] = []
        self.stores: list[Any] = []
        self.bits = 8
        self.inner: list[Any] = []
        self.fine = True

    def visit_stmt(self, stmt: Any) -> None:
        if not isinstance(stmt, _PLAIN):
            self.fine = False
        elif self.fine:
            super().visit_stmt(stmt)

    def visit_for_(self, op: Any) -> None:
        if op.kind is not ForKind.SERIAL:
            self.fine = False
            return
        self.inner.append(op)
        # the extent is an index: it does not count as data
        self.visit(op.body)

    def visit_expr(self, expr: Any) -> None:
        found = info(expr.dtype)
        if not found.is_bool and found.kind != "handle":
            # narrow floats are computed in float32
            self.bits = max(self.bits, 32 if found.is_float else 8, found.bits)
        super().visit_expr(expr)

    def visit_buffer_load_(self, op: Any) -> None:
        self.loads.append(op)
        if op.indices[0].kinds & E.DATA:
            self.visit(op.indices[0])

    def visit_buffer_store_(self, op: Any) -> None:
        self.stores.append(op)
        self.visit(op.value)

    def visit_call_(self, op: Any) -> None:
        name = getattr(op.op, "name", "")
        if not name.startswith("tir.") or name in ONCE:
            self.fine = False
            return
        super().visit_call_(op)


# calls that must happen as often and in the order in which the program says
ONCE = frozenset((
    "tir.call_extern", "tir.call_llvm_intrin", "tir.tvm_call_packed", "tir.tvm_call_cpacked",
    "tir.tvm_struct_set", "tir.ret", "tir.prefetch", "tir.tvm_access_ptr", "tir.address_of",
    "tir.tvm_storage_sync", "tir.atomic_add", "tir.assume",
))  # fmt: skip


class _Lanes(_Vectorizer):
    """As the schedule's vectorizer, but a choice may differ between lanes.

    The generator reads memory only for the lanes that choose it.
    """

    def visit_call_(self, op: Any) -> Any:
        if getattr(op.op, "name", "") != "tir.if_then_else":
            return super().visit_call_(op)
        cond = self.visit(op.args[0])
        if info(cond.dtype).lanes == 1:
            return super().visit_call_(op)
        lanes = self.lanes
        a, b = (broadcast(self.visit(item), lanes) for item in op.args[1:])
        return E.Call(a.dtype, op.op, [cond, a, b])


def _step(index: Any, var: Any) -> int | None:
    """By how much an index moves with a variable, if that is a constant that is easily seen."""
    kind = type(index)
    if index is var:
        return 1
    if kind is IntImm or isinstance(index, Var):
        return 0
    if kind is E.Add or kind is E.Sub:
        a, b = _step(index.a, var), _step(index.b, var)
        if a is None or b is None:
            return None
        return a + b if kind is E.Add else a - b
    if kind is E.Mul:
        a, b = _step(index.a, var), _step(index.b, var)
        if a == 0 and b == 0:
            return 0
        if a is not None and type(index.b) is IntImm:
            return a * int(index.b.value)
        if b is not None and type(index.a) is IntImm:
            return b * int(index.a.value)
        return None
    if kind is E.Cast and not index.kinds & E.DATA:
        return _step(index.value, var)
    return None if uses_var(index, var) else 0


class _Rewrite(StmtExprMutator):
    def __init__(self, machine: VectorUnit, sizes: set[Any]) -> None:
        self.machine = machine
        # variables that are not negative
        self.sizes = sizes
        # loops around
        self.depth = 0

    def visit_for_(self, op: Any) -> Any:
        if op.kind in (ForKind.SERIAL, ForKind.PARALLEL) and not op.annotations:
            flat = flatten_loops(op)
            made = self._try(flat)
            if made is not None:
                return made
        self.depth += 1
        made = super().visit_for_(op)
        self.depth -= 1
        return made

    def visit_expr(self, expr: Any) -> Any:
        return expr

    def _try(self, op: Any) -> Any:
        look = _Look()
        look.visit(op.body)
        if not look.fine or not look.stores or not self._independent(op, look):
            return None
        lanes = self.machine.bits // look.bits
        extent = op.extent
        if type(extent) is not IntImm and _at_most(extent) <= 2 * lanes:
            # a tail already
            return None
        if type(extent) is IntImm:
            while lanes > extent.value:
                lanes //= 2
        if lanes < _LEAST_LANES:
            return None
        if not self._is_size(extent):
            # the tail of -3 iterations would be 13
            extent = maximum(extent, IntImm(extent.dtype, 0))
        split = _Split(op, extent, lanes, self._unit_for(look))
        try:
            streamed = self._streamed(look, op.loop_var, lanes)
            return split.streamed(look.stores[0], streamed) if streamed else split.plain()
        except _Scalar:
            return None

    def _is_size(self, extent: Any) -> bool:
        """Whether an extent is known not to be negative."""
        if type(extent) is E.Mul:
            return self._is_size(extent.a) and self._is_size(extent.b)
        return type(extent) in (IntImm, E.SizeVar) or extent in self.sizes

    def _unit_for(self, look: _Look) -> VectorUnit:
        """The machine, without masks if an access has no masked form."""
        plain = all(
            info(access.buffer.dtype).is_bool or info(access.buffer.dtype).bits % 8 == 0
            for access in (*look.loads, *look.stores)
        )
        return self.machine if plain else VectorUnit(self.machine.bits)

    def _streamed(self, look: _Look, var: Any, lanes: int) -> int:
        """Bytes a turn moves, if this is a loop that may go round the caches; else 0.

        It must write one buffer, whole cache lines at a time, and not read it.
        """
        if not self.machine.stream_bytes or self.depth or look.inner:
            return 0
        written = look.stores[0].buffer
        bits = info(written.dtype).bits
        if len(look.stores) != 1 or bits < 8 or lanes * bits != 8 * LINE:
            return 0
        read = {load.buffer.data: info(load.buffer.dtype).bits for load in look.loads}
        if written.data in read or any(load.indices[0].kinds & E.DATA for load in look.loads):
            return 0
        return (bits + sum(read.values()) + 7) // 8

    def _independent(self, op: Any, look: _Look) -> bool:
        var = op.loop_var
        inner = {loop.loop_var for loop in look.inner}
        for loop in look.inner:
            if uses_var(loop.min, var) or uses_var(loop.extent, var):
                return False
        places: dict[Any, Any] = {}
        for store in look.stores:
            index = store.indices[0]
            if len(store.indices) != 1 or info(store.buffer.dtype).lanes != 1:
                return False
            if info(store.buffer.dtype).bits not in (1, 8, 16, 32, 64):
                return False
            if store.buffer.data in places:
                if not structural_equal(places[store.buffer.data], index):
                    return False
                continue
            if _step(index, var) != 1 or uses_var(index, inner.__contains__):
                return False
            places[store.buffer.data] = index
        for load in look.loads:
            if len(load.indices) != 1 or info(load.buffer.dtype).lanes != 1:
                return False
            index = load.indices[0]
            place = places.get(load.buffer.data)
            if place is not None:
                if not structural_equal(place, index):
                    return False
            elif inner and _step(index, var) not in (0, 1):
                return False
        return True


def _at_most(extent: Any) -> int:
    """A number that an extent does not exceed; a very large one if nothing is known."""
    if type(extent) is IntImm:
        return int(extent.value)
    if type(extent) is E.Min:
        return min(_at_most(extent.a), _at_most(extent.b))
    if type(extent) is E.FloorMod and type(extent.b) is IntImm and extent.b.value > 0:
        return int(extent.b.value) - 1
    return 1 << 62


def _some(value: int, dtype: str) -> Any:
    return IntImm(dtype, value)


class _Split:
    """One loop cut into vectors and what is left over.

    The rest is one more vector whose surplus lanes are masked, where the machine has masks; else a
    scalar loop. A loop that writes more than the caches hold goes round them: its stores are
    aligned to whole cache lines first.
    """

    def __init__(self, op: Any, extent: Any, lanes: int, machine: VectorUnit) -> None:
        self.op = op
        self.var = op.loop_var
        self.dtype = op.loop_var.dtype
        self.extent = extent
        self.lanes = lanes
        self.machine = machine

    def body(self, first: Any) -> Any:
        """The loop's body for `lanes` turns from `first` on."""
        return _Lanes(self.var, first, self.lanes).visit(fresh_copy(self.op.body, {}))

    def masked(self, first: Any, count: Any) -> Any:
        """The body for the `count` turns from `first` on, if there are any; less than a vector."""
        zero = _some(0, self.dtype)
        if type(count) is IntImm and count.value == 0:
            return None
        lanes = self.lanes
        ramp = E.Ramp(zero, _some(1, self.dtype), lanes)
        inside = E.LT(ramp, E.Broadcast(count, lanes))
        part = S.AttrStmt(self.var, LANE_MASK, inside, self.body(first))
        return part if type(count) is IntImm else S.IfThenElse(E.GT(count, zero), part)

    def vectors(self, begin: Any, count: Any, stream: Any = None) -> Any:
        """The loop over `count` whole vectors from `begin` on; `stream` goes round the caches."""
        outer = Var(f"{self.var.name}_outer", self.dtype)
        first = add(begin, multiply(outer, _some(self.lanes, self.dtype)))
        notes: dict[str, Any] = {STEP: self.lanes}
        if stream is not None:
            notes[STREAM] = stream
        body = self.body(first)
        if stream is not None:
            body = S.SeqStmt([*self._prefetches(first), body])
        return S.For(outer, _some(0, self.dtype), count, self.op.kind, body, None, notes)

    def _prefetches(self, first: Any) -> list[Any]:
        """Ask for what the loop will read some turns later."""
        look = _Look()
        look.visit(self.op.body)
        seen = set()
        out = []
        for load in look.loads:
            buffer = load.buffer
            if buffer.data in seen or _step(load.indices[0], self.var) != 1:
                continue
            seen.add(buffer.data)
            ahead = AHEAD // max(info(buffer.dtype).bits // 8, 1)
            place = substitute(load.indices[0], {self.var: add(first, _some(ahead, self.dtype))})
            address = E.Call("handle", "tir.address_of", [E.BufferLoad(buffer, [place])])
            numbers = [_some(value, "int32") for value in (0, 3, 1)]
            out.append(S.Evaluate(E.Call("void", "tir.prefetch", [address, *numbers])))
        return out

    def plain(self) -> Any:
        """Vectors, then the rest."""
        op, size = self.op, _some(self.lanes, self.dtype)
        count, rest = floordiv(self.extent, size), floormod(self.extent, size)
        parts = [self.vectors(op.min, count)]
        done = multiply(count, size)
        if self.machine.masks:
            parts.append(self.masked(add(op.min, done), rest))
        elif type(rest) is not IntImm or rest.value:
            lane = Var(f"{self.var.name}_tail", self.dtype)
            tail = fresh_copy(op.body, {self.var: add(op.min, add(done, lane))})
            parts.append(S.For(lane, _some(0, self.dtype), rest, ForKind.SERIAL, tail))
        return _sequence(parts)

    def streamed(self, store: Any, bytes_each: int) -> Any:
        """Past the caches if the loop moves more than they hold, else through them."""
        op, dtype, extent = self.op, self.dtype, self.extent
        size, zero = _some(self.lanes, dtype), _some(0, dtype)
        least = self.machine.stream_bytes // bytes_each
        if type(extent) is IntImm and extent.value <= least:
            return self.plain()
        # elements up to the first whole cache line of what is written
        width = info(store.buffer.dtype).bits // 8
        start = substitute(store.indices[0], {self.var: op.min})
        address: Any = E.Call("int64", "tir.reinterpret", [store.buffer.data])
        if not (type(start) is IntImm and start.value == 0):
            address = E.Add(address, E.Mul(E.Cast("int64", start), _some(width, "int64")))
        line = _some(LINE - 1, "int64")
        over = E.Call("int64", "tir.bitwise_and", [E.Sub(_some(0, "int64"), address), line])
        shift = _some(width.bit_length() - 1, "int64")
        ahead: Any = E.Cast(dtype, E.Call("int64", "tir.shift_right", [over, shift]))
        large = E.GT(extent, _some(least, dtype))
        if type(extent) is not IntImm:
            ahead = E.Select(large, ahead, zero)
        skip, count = Var("skip", dtype), Var("count", dtype)
        begin = add(op.min, skip)
        past = self.vectors(begin, count, store.buffer.data)
        if type(extent) is not IntImm:
            past = S.IfThenElse(large, past, self.vectors(begin, count))
        done = multiply(count, size)
        rest = E.Sub(E.Sub(extent, skip), done)
        # what lies before and behind the whole lines, by the same code: their order does not matter
        part, at, left = Var("part", dtype), Var("at", dtype), Var("left", dtype)
        behind = E.GT(part, zero)
        ends: Any = self.masked(at, left)
        ends = S.LetStmt(left, E.Select(behind, rest, skip), ends)
        ends = S.LetStmt(at, E.Select(behind, add(begin, done), op.min), ends)
        parts = [past, S.For(part, zero, _some(2, dtype), ForKind.SERIAL, ends)]
        whole = floordiv(E.Sub(extent, skip), size)
        return S.LetStmt(skip, ahead, S.LetStmt(count, whole, _sequence(parts)))


def _sequence(parts: list[Any]) -> Any:
    there = [part for part in parts if part is not None]
    return S.SeqStmt(there) if len(there) > 1 else there[0]


def vectorize_innermost(func: PrimFunc, machine: VectorUnit | int) -> PrimFunc:
    """Turn unscheduled data-parallel loops into loops over vectors.

    Parameters
    ----------
    func : PrimFunc
        A lowered function whose buffers do not overlap, or are the same element by element.
    machine : VectorUnit or int
        What the processor's vectors can do; a number is their width in bits.
    """
    kinds = func.body.kinds
    # where somebody made vectors, the other loops are as they were meant
    if not kinds & S.For.KIND or kinds & _VECTORS or func.attrs.get("tir.noalias") is False:
        return func
    sizes = {
        size
        for buffer in func.buffer_map.values()
        for size in buffer.shape
        if isinstance(size, Var)
    }
    if isinstance(machine, int):
        machine = VectorUnit(machine)
    return func.with_body(_Rewrite(machine, sizes)(func.body))
