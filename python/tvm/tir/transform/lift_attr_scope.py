"""Lift attribute scope: statements under the same attribute share it, as far out as it goes.

for i in range(4):                       # attr [scope] "coproc_scope" = 1
    # attr [scope] "coproc_scope" = 1    for i in range(4):
    A[i] = 1                       ->        A[i] = 1
    # attr [scope] "coproc_scope" = 1        B[i] = 2
    B[i] = 2
"""

from __future__ import annotations

from tvm import tir
from tvm.ir.structural import exactly_equal
from tvm.ir.transform import PassInfo
from tvm.tir import PrimFunc
from tvm.tir.stmt_functor import StmtExprMutator, uses_var

from .function_pass import PrimFuncPass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Lift(StmtExprMutator):
    def __init__(self, key: str) -> None:
        self.key = key

    def _is_scope(self, stmt: Any) -> bool:
        return type(stmt) is tir.AttrStmt and stmt.attr_key == self.key

    def _same(self, a: Any, b: Any) -> bool:
        return a.node is b.node and bool(exactly_equal(a.value, b.value))

    def visit_seq_stmt_(self, op: Any) -> Any:
        op = super().visit_seq_stmt_(op)
        parts = op.seq if type(op) is tir.SeqStmt else (op,)
        merged: list[Any] = []
        for part in parts:
            last: Any = merged[-1] if merged else None
            if self._is_scope(part) and self._is_scope(last) and self._same(last, part):
                both = tir.stmt.flatten_seq([last.body, part.body])
                merged[-1] = tir.AttrStmt(last.node, last.attr_key, last.value, both)
            else:
                merged.append(part)
        if len(merged) == len(parts):
            return op
        return merged[0] if len(merged) == 1 else tir.SeqStmt(merged)

    def visit_for_(self, op: Any) -> Any:
        op = super().visit_for_(op)
        scope = op.body
        if not self._is_scope(scope) or uses_var(scope.value, op.loop_var):
            return op
        loop = tir.For(
            op.loop_var, op.min, op.extent, op.kind, scope.body, op.thread_binding, op.annotations
        )
        return tir.AttrStmt(scope.node, scope.attr_key, scope.value, loop)

    def visit_if_then_else_(self, op: Any) -> Any:
        op = super().visit_if_then_else_(op)
        scope = op.then_case
        if not self._is_scope(scope):
            return op
        if op.else_case is None:
            inner = tir.IfThenElse(op.condition, scope.body)
        elif self._is_scope(op.else_case) and self._same(scope, op.else_case):
            inner = tir.IfThenElse(op.condition, scope.body, op.else_case.body)
        else:
            return op
        return tir.AttrStmt(scope.node, scope.attr_key, scope.value, inner)

    def visit_allocate_(self, op: Any) -> Any:
        op = super().visit_allocate_(op)
        scope = op.body
        if not self._is_scope(scope) or scope.node is op.buffer_var:
            return op
        inner = tir.Allocate(
            op.buffer_var, op.dtype, op.extents, op.condition, scope.body, op.annotations
        )
        return tir.AttrStmt(scope.node, scope.attr_key, scope.value, inner)


def lift_attr_scope(func: PrimFunc, attr_key: str) -> PrimFunc:
    """Let neighbouring statements under one attribute share it."""
    if not func.body.kinds & tir.AttrStmt.KIND:
        return func
    return func.with_body(_Lift(attr_key)(func.body))


def LiftAttrScope(attr_key: str) -> PrimFuncPass:
    """The pass ``tir.LiftAttrScope`` for attributes of one key.

    Parameters
    ----------
    attr_key : str
        The key.
    """
    return PrimFuncPass(
        lambda func, mod, ctx: lift_attr_scope(func, attr_key), PassInfo(0, "tir.LiftAttrScope")
    )
