"""Inject double buffer: a temporary is filled for the next iteration while this one reads it.

    for i in range(8):                       P = allocate([64])
        P = allocate([32])                   for j in range(32): P[j] = A[j]
        # attr [P] double_buffer_scope  ->   for i in range(8):
        for j in range(32):                      if i + 1 < 8:
            P[j] = A[i*32 + j]                       for j in range(32):
        for j in range(32):                              P[(i + 1) % 2 * 32 + j] = A[i*32 + j + 32]
            B[i*32 + j] = P[j]                   for j in range(32):
                                                     B[i*32 + j] = P[i % 2 * 32 + j]

What fills the temporary must not read what the loop writes; then the mark alone is dropped.
"""

from __future__ import annotations

from tvm import tir
from tvm.ir.dtype import info
from tvm.tir import Buffer, ForKind, IntImm, PrimFunc, Var
from tvm.tir.access import function_access
from tvm.tir.stmt_functor import StmtExprMutator, replace_buffer, uses_var

from .fresh import fresh_copy
from .function_pass import named
from .simplify import simplify_stmt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

KEY = "double_buffer_scope"
_AROUND = (tir.Allocate, tir.AttrStmt, tir.LetStmt, tir.DeclBuffer)


class _Shift(StmtExprMutator):
    """Moves all accesses of some memory by an offset."""

    def __init__(
        self, data: Var, offset: Any, total: Any, buffers: dict[Buffer, Buffer] | None = None
    ) -> None:
        self.data = data
        self.offset = offset
        self.total = total
        # given where several statements are moved, so that their buffers stay the same
        self.buffers: dict[Buffer, Buffer] = {} if buffers is None else buffers

    def _moved(self, index: Any) -> Any:
        offset = tir.cast(self.offset, info(info(index.dtype).scalar).text)
        if type(index) is tir.Ramp:
            return tir.Ramp(index.base + offset, index.stride, index.lanes)
        return index + offset

    def _buffer(self, buffer: Buffer) -> Buffer:
        found = self.buffers.get(buffer)
        if found is None:
            found = self.buffers[buffer] = replace_buffer(buffer, shape=(self.total,))
        return found

    def visit_buffer_load_(self, op: Any) -> Any:
        op = super().visit_buffer_load_(op)
        if op.buffer.data is not self.data:
            return op
        return tir.BufferLoad(self._buffer(op.buffer), [self._moved(op.indices[0])])

    def visit_buffer_store_(self, op: Any) -> Any:
        op = super().visit_buffer_store_(op)
        if op.buffer.data is not self.data:
            return op
        return tir.BufferStore(self._buffer(op.buffer), op.value, [self._moved(op.indices[0])])


class _Place:
    """A marked producer inside a loop body: the statements around, before and after it."""

    __slots__ = ("around", "allocate", "producer", "rest")

    def __init__(self, around: list[Any], allocate: Any, producer: Any, rest: list[Any]) -> None:
        self.around = around
        self.allocate = allocate
        self.producer = producer
        self.rest = rest


def _find(body: Any) -> _Place | None:
    """The first marked producer, if it stands first in its allocation."""
    around: list[Any] = []
    while type(body) in _AROUND and not (type(body) is tir.AttrStmt and body.attr_key == KEY):
        around.append(body)
        body = body.body
    parts = list(body.seq) if type(body) is tir.SeqStmt else [body]
    first = parts[0]
    if type(first) is not tir.AttrStmt or first.attr_key != KEY or len(parts) < 2:
        return None
    for position, item in enumerate(around):
        if type(item) is tir.Allocate and item.buffer_var is first.node:
            others = around[:position] + around[position + 1 :]
            return _Place(others, item, first.body, parts[1:])
    return None


class _Inject(StmtExprMutator):
    def visit_attr_stmt_(self, op: Any) -> Any:
        if op.attr_key == KEY:
            return self.visit(op.body)
        return super().visit_attr_stmt_(op)

    def visit_for_(self, op: Any) -> Any:
        made = self._pipelined(op) if op.kind is ForKind.SERIAL else None
        return super().visit_for_(op) if made is None else self.visit(made)

    def _pipelined(self, op: Any) -> Any:
        place = _find(op.body)
        if place is None or not _is_legal(op, place):
            return None
        node = place.allocate
        size = node.extents[0]
        for extent in node.extents[1:]:
            size = size * extent
        total = size * 2
        data, var = node.buffer_var, op.loop_var
        one, two = IntImm(var.dtype, 1), IntImm(var.dtype, 2)
        turn = var if isinstance(op.min, IntImm) and op.min.value == 0 else var - op.min
        end = op.min + op.extent

        def half(number: Any) -> Any:
            return tir.cast(tir.floormod(number, two), size.dtype) * size

        buffers: dict[Buffer, Buffer] = {}

        def moved(stmt: Any, offset: Any) -> Any:
            return _Shift(data, offset, total, buffers)(stmt)

        first = fresh_copy(moved(place.producer, IntImm(size.dtype, 0)), {var: op.min})
        if not (isinstance(op.extent, IntImm) and op.extent.value > 0):
            first = tir.IfThenElse(op.extent > 0, first)
        # the next iteration's index stands for the loop's, the half is that of the next turn
        later = Var(var.name + ".next", var.dtype)
        following = moved(fresh_copy(place.producer, {var: later}), half(turn + one))
        following = tir.stmt_functor.substitute(following, {later: var + one})
        following = tir.IfThenElse(var + one < end, following)
        rest = [moved(part, half(turn)) for part in place.rest]
        body: Any = tir.SeqStmt([following, *rest])
        for item in reversed(place.around):
            body = _around(item, body)
        loop = tir.For(var, op.min, op.extent, op.kind, body, None, op.annotations)
        both = tir.SeqStmt([first, loop])
        return tir.Allocate(data, node.dtype, [total], node.condition, both, node.annotations)


def _around(item: Any, body: Any) -> Any:
    if type(item) is tir.Allocate:
        return tir.Allocate(
            item.buffer_var, item.dtype, item.extents, item.condition, body, item.annotations
        )
    if type(item) is tir.AttrStmt:
        return tir.AttrStmt(item.node, item.attr_key, item.value, body)
    if type(item) is tir.LetStmt:
        return tir.LetStmt(item.var, item.value, body)
    return tir.DeclBuffer(item.buffer, body)


def _is_legal(op: Any, place: _Place) -> bool:
    node = place.allocate
    defined = {op.loop_var} | {item.var for item in place.around if type(item) is tir.LetStmt}
    if any(uses_var(extent, defined) for extent in node.extents) or node.annotations:
        return False
    inside = function_access(op.body)
    own = inside.get(node.buffer_var)
    if own is None or own.unknown:
        return False
    if any(type(item) is tir.LetStmt and uses_var(place.producer, item.var)
           for item in place.around):  # fmt: skip
        return False
    return all(
        data is node.buffer_var or not inside[data].written or not access.read
        for data, access in function_access(place.producer).items()
    )


def inject_double_buffer(func: PrimFunc) -> PrimFunc:
    """Fill marked temporaries one iteration ahead."""
    if not func.body.kinds & tir.AttrStmt.KIND:
        return func
    body = _Inject()(func.body)
    return func if body is func.body else func.with_body(simplify_stmt(body, func))


InjectDoubleBuffer = named("InjectDoubleBuffer", inject_double_buffer)
