"""Visitors and mutators, and the functions over them."""

from __future__ import annotations

from ..ir.expr import Range
from . import expr as _expr
from . import stmt as _stmt
from .buffer import Buffer
from .expr import BufferLoad, IterVar, Var
from .function import PrimFunc
from .functor import (
    EXPR_CLASSES,
    STMT_CLASSES,
    ExprMutator,
    ExprVisitor,
    PyStmtExprMutator,
    PyStmtExprVisitor,
    StmtExprMutator,
    StmtExprVisitor,
    StmtMutator,
    StmtVisitor,
    method_name,
)
from .stmt import Stmt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

__all__ = [
    "EXPR_CLASSES", "STMT_CLASSES", "ExprMutator", "ExprVisitor", "PyStmtExprMutator",
    "PyStmtExprVisitor", "StmtExprMutator", "StmtExprVisitor", "StmtMutator", "StmtVisitor",
    "ir_transform", "method_name", "post_order_visit", "pre_order_visit", "renew_defs",
    "replace_buffer", "substitute", "uses_var",
]  # fmt: skip


class _PostOrder(StmtExprVisitor):
    def __init__(self, function: Callable[[Any], None]) -> None:
        self._function = function
        self._seen: set[int] = set()

    def visit_expr(self, expr: Any) -> None:
        if id(expr) not in self._seen:
            self._seen.add(id(expr))
            self._dispatch[type(expr)](self, expr)
            self._function(expr)

    def visit_stmt(self, stmt: Any) -> None:
        if id(stmt) not in self._seen:
            self._seen.add(id(stmt))
            self._dispatch[type(stmt)](self, stmt)
            self._function(stmt)


def post_order_visit(stmt: Any, fvisit: Callable[[Any], None]) -> None:
    """Call `fvisit(node)` once for each node object, children before parents."""
    _PostOrder(fvisit)(stmt.body if isinstance(stmt, PrimFunc) else stmt)


class _PreOrder(StmtExprVisitor):
    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self._seen: set[int] = set()

    def visit_expr(self, expr: Any) -> None:
        if id(expr) not in self._seen:
            self._seen.add(id(expr))
            if self._function(expr) is not False:
                self._dispatch[type(expr)](self, expr)

    def visit_stmt(self, stmt: Any) -> None:
        if id(stmt) not in self._seen:
            self._seen.add(id(stmt))
            if self._function(stmt) is not False:
                self._dispatch[type(stmt)](self, stmt)


def pre_order_visit(stmt: Any, fvisit: Callable[[Any], Any]) -> None:
    """Call `fvisit(node)` before the node's children, which are left out if it returns False."""
    _PreOrder(fvisit)(stmt.body if isinstance(stmt, PrimFunc) else stmt)


class _Transform(StmtExprMutator):
    def __init__(
        self,
        preorder: Callable[[Any], Any] | None,
        postorder: Callable[[Any], Any] | None,
        only: frozenset[str] | None,
    ) -> None:
        self._preorder = preorder
        self._postorder = postorder
        self._only = only

    def _apply(self, node: Any) -> Any:
        wanted = self._only is None or node.type_key in self._only
        if wanted and self._preorder is not None:
            replaced = self._preorder(node)
            if replaced is not None:
                return replaced
        made = self._dispatch[type(node)](self, node)
        if wanted and self._postorder is not None:
            replaced = self._postorder(made)
            if replaced is not None:
                return replaced
        return made

    def visit_expr(self, expr: Any) -> Any:
        return self._apply(expr)

    def visit_stmt(self, stmt: Any) -> Any:
        return self._apply(stmt)


def ir_transform(
    stmt: Any,
    preorder: Callable[[Any], Any] | None,
    postorder: Callable[[Any], Any] | None,
    only_enable: list[str] | None = None,
) -> Any:
    """Rewrite nodes.

    Parameters
    ----------
    preorder, postorder : function or None
        Called with a node before its children are rewritten, and with the rewritten node after;
        None as result means no change. A result of `preorder` is final.
    only_enable : list of str, optional
        Type keys, as "tir.For"; other nodes are not shown to the functions.
    """
    only = None if not only_enable else frozenset(str(item) for item in only_enable)
    return _Transform(preorder, postorder, only)(stmt)


class _Substitute(StmtExprMutator):
    def __init__(self, mapping: Callable[[Var], Any], pointers: bool) -> None:
        self._find = mapping
        self._pointers = pointers
        self._buffers: dict[Buffer, Buffer] = {}

    def visit_var_(self, op: Any) -> Any:
        found = self._find(op)
        return op if found is None else found

    visit_size_var_ = visit_var_

    def _buffer(self, buffer: Buffer) -> Buffer:
        if not self._pointers:
            return buffer
        made = self._buffers.get(buffer)
        if made is None:
            data = self.visit_var_(buffer.data)
            shape = self._mutate_all(buffer.shape)
            strides = self._mutate_all(buffer.strides)
            offset = self.visit(buffer.elem_offset)
            same = (data is buffer.data and shape is buffer.shape and strides is buffer.strides
                    and offset is buffer.elem_offset)  # fmt: skip
            made = (
                buffer
                if same
                else replace_buffer(
                    buffer, data=data, shape=shape, strides=strides, elem_offset=offset
                )
            )
            self._buffers[buffer] = made
        return made

    def visit_buffer_load_(self, op: Any) -> Any:
        made = super().visit_buffer_load_(op)
        buffer = self._buffer(made.buffer)
        return made if buffer is made.buffer else BufferLoad(buffer, made.indices)

    def visit_buffer_store_(self, op: Any) -> Any:
        made = super().visit_buffer_store_(op)
        buffer = self._buffer(made.buffer)
        if buffer is made.buffer:
            return made
        return _stmt.BufferStore(buffer, made.value, made.indices)

    def visit_buffer_realize_(self, op: Any) -> Any:
        made = super().visit_buffer_realize_(op)
        buffer = self._buffer(made.buffer)
        if buffer is made.buffer:
            return made
        return _stmt.BufferRealize(buffer, made.bounds, made.condition, made.body)

    def visit_decl_buffer_(self, op: Any) -> Any:
        made = super().visit_decl_buffer_(op)
        buffer = self._buffer(made.buffer)
        return made if buffer is made.buffer else _stmt.DeclBuffer(buffer, made.body)

    def visit_attr_stmt_(self, op: Any) -> Any:
        made = super().visit_attr_stmt_(op)
        node = made.node
        if isinstance(node, Var):
            node = self.visit_var_(node)
        elif isinstance(node, IterVar):
            var = self.visit_var_(node.var)
            if isinstance(var, Var) and var is not node.var:
                node = IterVar(node.dom, var, node.iter_type, node.thread_tag)
        elif isinstance(node, Buffer):
            node = self._buffer(node)
        if node is made.node:
            return made
        return _stmt.AttrStmt(node, made.attr_key, made.value, made.body)


def replace_buffer(buffer: Buffer, **changes: Any) -> Buffer:
    """A buffer that differs in some fields."""
    fields = {name: getattr(buffer, name) for name, _ in Buffer.fields}
    fields.update(changes)
    return Buffer(**fields)


def substitute(node: Any, vmap: Any) -> Any:
    """Replace free variables.

    Parameters
    ----------
    node : PrimExpr or Stmt
        Where.
    vmap : dict of Var to PrimExpr, or function
        By what; a function returns None for a variable that stays.
    """
    if callable(vmap):
        return _Substitute(vmap, True)(node)
    if not vmap:
        return node
    converted: Mapping[Any, Any] = {
        getattr(key, "var", key): _expr.convert(value) for key, value in vmap.items()
    }
    if isinstance(node, Range):
        rewriter = _Substitute(converted.get, True)
        return rewriter.visit_range(node)
    if isinstance(node, Buffer):
        return _Substitute(converted.get, True)._buffer(node)
    return _Substitute(converted.get, isinstance(node, Stmt))(node)


def renew_defs(func: PrimFunc) -> PrimFunc:
    """The same function with fresh variables and buffers wherever one is defined."""
    from ..ir.serialization import load_json, save_json

    return load_json(save_json(func))  # type: ignore[no-any-return]


class _UsesVar(StmtExprVisitor):
    def __init__(self, wanted: Callable[[Any], bool]) -> None:
        self.found = False
        self._wanted = wanted

    def visit_var_(self, op: Any) -> None:
        if self._wanted(op):
            self.found = True

    visit_size_var_ = visit_var_


def uses_var(node: Any, wanted: Any) -> bool:
    """Whether a variable occurs: one Var, a set of them, or those that a function accepts."""
    if isinstance(wanted, Var):
        accept: Callable[[Any], bool] = wanted.same_as
    elif callable(wanted):
        accept = wanted
    else:
        accept = wanted.__contains__
    visitor = _UsesVar(accept)
    visitor(node)
    return visitor.found
