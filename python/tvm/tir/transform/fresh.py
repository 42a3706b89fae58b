"""Copies of statements whose definitions are new, so that each variable is defined once."""

from __future__ import annotations

from tvm import tir
from tvm.tir import Buffer, Var
from tvm.tir.stmt_functor import StmtExprMutator, replace_buffer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEFINES = (
    tir.For.KIND
    | tir.LetStmt.KIND
    | tir.Allocate.KIND
    | tir.AllocateConst.KIND
    | tir.Let.KIND
    | tir.DeclBuffer.KIND
    | tir.BufferRealize.KIND
)


class _Fresh(StmtExprMutator):
    def __init__(self, replaced: dict[Var, Any]) -> None:
        self.names: dict[Var, Any] = dict(replaced)
        self.buffers: dict[Buffer, Buffer] = {}

    def visit_var_(self, op: Any) -> Any:
        return self.names.get(op, op)

    visit_size_var_ = visit_var_

    def _new(self, var: Var) -> Var:
        made = self.names[var] = type(var)(var.name, var.type_annotation or var.dtype)
        return made

    def _buffer(self, buffer: Buffer) -> Buffer:
        found = self.buffers.get(buffer)
        if found is None:
            data = self.names.get(buffer.data, buffer.data)
            shape = self._mutate_all(buffer.shape)
            same = data is buffer.data and shape is buffer.shape
            found = buffer if same else replace_buffer(buffer, data=data, shape=shape)
            self.buffers[buffer] = found
        return found

    def visit_for_(self, op: Any) -> Any:
        low, extent = self.visit(op.min), self.visit(op.extent)
        var = self._new(op.loop_var)
        return tir.For(
            var, low, extent, op.kind, self.visit(op.body), op.thread_binding, op.annotations
        )

    def visit_let_stmt_(self, op: Any) -> Any:
        value = self.visit(op.value)
        return tir.LetStmt(self._new(op.var), value, self.visit(op.body))

    def visit_let_(self, op: Any) -> Any:
        value = self.visit(op.value)
        return tir.Let(self._new(op.var), value, self.visit(op.body))

    def visit_allocate_(self, op: Any) -> Any:
        extents, condition = self._mutate_all(op.extents), self.visit(op.condition)
        var = self._new(op.buffer_var)
        return tir.Allocate(var, op.dtype, extents, condition, self.visit(op.body), op.annotations)

    def visit_allocate_const_(self, op: Any) -> Any:
        var = self._new(op.buffer_var)
        return tir.AllocateConst(
            var, op.dtype, op.extents, op.data, self.visit(op.body), op.annotations
        )

    def visit_decl_buffer_(self, op: Any) -> Any:
        made = self.buffers[op.buffer] = replace_buffer(
            op.buffer, data=self.names.get(op.buffer.data, op.buffer.data)
        )
        return tir.DeclBuffer(made, self.visit(op.body))

    def visit_buffer_load_(self, op: Any) -> Any:
        indices, buffer = self._mutate_all(op.indices), self._buffer(op.buffer)
        if indices is op.indices and buffer is op.buffer:
            return op
        return tir.BufferLoad(buffer, indices)

    def visit_buffer_store_(self, op: Any) -> Any:
        indices, buffer = self._mutate_all(op.indices), self._buffer(op.buffer)
        value = self.visit(op.value)
        if indices is op.indices and buffer is op.buffer and value is op.value:
            return op
        return tir.BufferStore(buffer, value, indices)

    def visit_attr_stmt_(self, op: Any) -> Any:
        node = self.names.get(op.node, op.node) if isinstance(op.node, Var) else op.node
        value, body = self.visit(op.value), self.visit(op.body)
        if node is op.node and value is op.value and body is op.body:
            return op
        return tir.AttrStmt(node, op.attr_key, value, body)


def fresh_copy(stmt: Any, replaced: dict[Var, Any] | None = None) -> Any:
    """The statement with new definitions, and some free variables replaced.

    Parameters
    ----------
    stmt : Stmt
        What is copied.
    replaced : dict of Var to PrimExpr, optional
        Free variables and what stands for them.
    """
    replaced = replaced or {}
    if not stmt.kinds & DEFINES:
        return tir.stmt_functor.substitute(stmt, replaced) if replaced else stmt
    return _Fresh(replaced)(stmt)
