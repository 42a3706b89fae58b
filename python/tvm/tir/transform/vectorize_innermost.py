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
from tvm.tir.stmt_functor import StmtExprMutator, StmtExprVisitor, uses_var

from .fresh import fresh_copy
from .vectorize_loop import _Scalar, _Vectorizer, broadcast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_VECTORS = E.Ramp.KIND | E.Broadcast.KIND | E.Shuffle.KIND
# statements that a loop may hold
_PLAIN = (S.BufferStore, S.SeqStmt, S.LetStmt, S.For)
_LEAST_LANES = 4


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
        if not name.startswith("tir.") or name in _ONCE:
            self.fine = False
            return
        super().visit_call_(op)


# calls that must happen as often and in the order in which the program says
_ONCE = frozenset((
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
    def __init__(self, vector_bits: int, sizes: set[Any]) -> None:
        self.vector_bits = vector_bits
        # variables that are not negative
        self.sizes = sizes

    def visit_for_(self, op: Any) -> Any:
        if op.kind not in (ForKind.SERIAL, ForKind.PARALLEL) or op.annotations:
            return super().visit_for_(op)
        made = self._try(op)
        return super().visit_for_(op) if made is None else made

    def visit_expr(self, expr: Any) -> Any:
        return expr

    def _try(self, op: Any) -> Any:
        look = _Look()
        look.visit(op.body)
        if not look.fine or not look.stores or not self._independent(op, look):
            return None
        lanes = self.vector_bits // look.bits
        extent = op.extent
        if type(extent) is not IntImm and _at_most(extent) <= 2 * lanes:
            # a tail already
            return None
        if type(extent) is IntImm:
            while lanes > extent.value:
                lanes //= 2
        if lanes < _LEAST_LANES:
            return None
        if not (type(extent) in (IntImm, E.SizeVar) or extent in self.sizes):
            # the tail of -3 iterations would be 13
            extent = maximum(extent, IntImm(extent.dtype, 0))
        return _split(op, extent, lanes)

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


def _split(op: Any, extent: Any, lanes: int) -> Any:
    """The vector loop and its tail."""
    var = op.loop_var
    size = IntImm(var.dtype, lanes)
    count = floordiv(extent, size)
    rest = floormod(extent, size)
    outer = Var(f"{var.name}_outer", var.dtype)
    first = add(op.min, multiply(outer, size))
    try:
        body = _Lanes(var, first, lanes).visit(fresh_copy(op.body, {}))
    except _Scalar:
        return None
    parts = []
    zero = IntImm(var.dtype, 0)
    parts.append(S.For(outer, zero, count, op.kind, body))
    if type(rest) is not IntImm or rest.value:
        lane = Var(f"{var.name}_tail", var.dtype)
        place = add(op.min, add(multiply(count, size), lane))
        tail = fresh_copy(op.body, {var: place})
        parts.append(S.For(lane, zero, rest, ForKind.SERIAL, tail))
    return S.SeqStmt(parts) if len(parts) > 1 else parts[0]


def vectorize_innermost(func: PrimFunc, vector_bits: int) -> PrimFunc:
    """Turn unscheduled data-parallel loops into loops over vectors.

    Parameters
    ----------
    func : PrimFunc
        A lowered function whose buffers do not overlap, or are the same element by element.
    vector_bits : int
        The width of the machine's vectors.
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
    return func.with_body(_Rewrite(vector_bits, sizes)(func.body))
