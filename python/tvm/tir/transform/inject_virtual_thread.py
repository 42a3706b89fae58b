"""Inject virtual thread: one thread does the work of several, statement by statement.

    # attr [vt] "virtual_thread" = 2       L = allocate([8])
    L = allocate([4])                      for vt in range(2):
    for i in range(4):               ->        for i in range(4):
        L[i] = A[vt*4 + i]                         L[vt*4 + i] = A[vt*4 + i]
    ...                                    ...

Temporaries whose content differs between virtual threads get a copy for each. Loops around that do
not depend on the virtual thread stay outside, so that its statements lie side by side.
"""

from __future__ import annotations

from tvm import tir
from tvm.error import ValueError_
from tvm.tir import ForKind, IntImm, PrimFunc, Var
from tvm.tir.stmt_functor import StmtExprMutator, StmtExprVisitor

from .fresh import fresh_copy
from .function_pass import named
from .inject_double_buffer import _Shift

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

KEY = "virtual_thread"


class _Depends(StmtExprVisitor):
    """Whether something uses a variable or touched memory."""

    def __init__(self, var: Var, touched: set[Var]) -> None:
        self.var = var
        self.touched = touched
        self.found = False

    def visit_var_(self, op: Any) -> None:
        if op is self.var or op in self.touched:
            self.found = True

    def visit_buffer_load_(self, op: Any) -> None:
        if op.buffer.data in self.touched:
            self.found = True
        super().visit_buffer_load_(op)

    def visit_buffer_store_(self, op: Any) -> None:
        if op.buffer.data in self.touched:
            self.found = True
        super().visit_buffer_store_(op)


class _Touch(StmtExprVisitor):
    """Finds memory and variables whose content differs between virtual threads."""

    def __init__(self, var: Var, inside: set[Var]) -> None:
        self.var = var
        self.inside = inside
        self.touched: set[Var] = set()
        self.under = False

    def _depends(self, *exprs: Any) -> bool:
        visitor = _Depends(self.var, self.touched)
        for expr in exprs:
            visitor.visit(expr)
        return visitor.found

    def _body(self, differs: bool, *stmts: Any) -> None:
        before, self.under = self.under, self.under or differs
        for stmt in stmts:
            if stmt is not None:
                self.visit(stmt)
        self.under = before

    def visit_for_(self, op: Any) -> None:
        self._body(self._depends(op.min, op.extent), op.body)

    def visit_if_then_else_(self, op: Any) -> None:
        self._body(self._depends(op.condition), op.then_case, op.else_case)

    def visit_while_(self, op: Any) -> None:
        self._body(self._depends(op.condition), op.body)

    def visit_let_stmt_(self, op: Any) -> None:
        if self._depends(op.value):
            self.touched.add(op.var)
        self.visit(op.body)

    def visit_buffer_store_(self, op: Any) -> None:
        if op.buffer.data in self.inside and (self.under or self._depends(op.value, *op.indices)):
            self.touched.add(op.buffer.data)

    def visit_evaluate_(self, op: Any) -> None:
        if self.under or self._depends(op.value):
            # whoever gets a pointer may write there
            pointers: list[Var] = []

            def look(node: Any) -> None:
                if isinstance(node, Var) and node.dtype == "handle":
                    pointers.append(node)
                elif type(node) is tir.BufferLoad:
                    pointers.append(node.buffer.data)

            tir.stmt_functor.post_order_visit(op.value, look)
            self.touched.update(var for var in pointers if var in self.inside)


def _allocated(stmt: Any) -> set[Var]:
    found: set[Var] = set()

    def look(node: Any) -> None:
        if type(node) is tir.Allocate:
            found.add(node.buffer_var)

    tir.stmt_functor.post_order_visit(stmt, look)
    return found


class _Spread:
    """Repeats the statements that depend on one virtual thread."""

    def __init__(self, var: Var, count: int, touched: set[Var]) -> None:
        self.var = var
        self.count = count
        self.touched = touched

    def depends(self, *items: Any) -> bool:
        visitor = _Depends(self.var, self.touched)
        for item in items:
            visitor.visit(item)
        return visitor.found

    def repeat(self, stmt: Any) -> Any:
        """The statement once for each virtual thread."""
        index = Var(self.var.name + ".s", self.var.dtype)
        body = fresh_copy(stmt, {self.var: index})
        return tir.For(index, 0, self.count, ForKind.SERIAL, body)

    def stmt(self, stmt: Any) -> Any:
        if not self.depends(stmt):
            return stmt
        kind = type(stmt)
        if kind is tir.SeqStmt:
            return tir.SeqStmt([self.stmt(part) for part in stmt.seq])
        if kind is tir.For and not self.depends(stmt.min, stmt.extent):
            return tir.For(
                stmt.loop_var, stmt.min, stmt.extent, stmt.kind, self.stmt(stmt.body),
                stmt.thread_binding, stmt.annotations,
            )  # fmt: skip
        if kind is tir.IfThenElse and not self.depends(stmt.condition):
            no = None if stmt.else_case is None else self.stmt(stmt.else_case)
            return tir.IfThenElse(stmt.condition, self.stmt(stmt.then_case), no)
        if kind is tir.LetStmt and not self.depends(stmt.value):
            return tir.LetStmt(stmt.var, stmt.value, self.stmt(stmt.body))
        if kind is tir.AttrStmt and not self.depends(stmt.value):
            return tir.AttrStmt(stmt.node, stmt.attr_key, stmt.value, self.stmt(stmt.body))
        if kind is tir.Allocate and not self.depends(*stmt.extents):
            return self._allocate(stmt)
        return self.repeat(stmt)

    def _allocate(self, stmt: Any) -> Any:
        if stmt.buffer_var not in self.touched:
            return tir.Allocate(
                stmt.buffer_var, stmt.dtype, stmt.extents, stmt.condition,
                self.stmt(stmt.body), stmt.annotations,
            )  # fmt: skip
        size = stmt.extents[0]
        for extent in stmt.extents[1:]:
            size = size * extent
        total = size * self.count
        offset = tir.cast(self.var, size.dtype) * size
        body = _Shift(stmt.buffer_var, offset, total)(stmt.body)
        return tir.Allocate(
            stmt.buffer_var, stmt.dtype, [total], stmt.condition, self.stmt(body),
            stmt.annotations,
        )  # fmt: skip


class _Inject(StmtExprMutator):
    def visit_attr_stmt_(self, op: Any) -> Any:
        op = super().visit_attr_stmt_(op)
        if op.attr_key != KEY:
            return op
        if not isinstance(op.value, IntImm):
            raise ValueError_(
                f"virtual thread {op.node.var.name}: expected a constant extent, but got {op.value}"
            )
        var, count = op.node.var, op.value.value
        if count == 1:
            return tir.stmt_functor.substitute(op.body, {var: IntImm(var.dtype, 0)})
        inside = _allocated(op.body)
        touch = _Touch(var, inside)
        before = -1
        while len(touch.touched) != before:
            before = len(touch.touched)
            touch(op.body)
        return _Spread(var, count, touch.touched).stmt(op.body)


def inject_virtual_thread(func: PrimFunc) -> PrimFunc:
    """Let one thread do the work of all virtual threads.

    Raises
    ------
    ValueError
        If the number of virtual threads is not constant.
    """
    if not func.body.kinds & tir.AttrStmt.KIND:
        return func
    return func.with_body(_Inject()(func.body))


InjectVirtualThread = named("InjectVirtualThread", inject_virtual_thread)
