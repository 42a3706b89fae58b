"""Remove no-op: statements without effect go.

    for i in range(n):          ->    B[0] = A[0]
        T.evaluate(0)
    B[0] = A[0]

Loops, tests, bindings and allocations around nothing go with it; so do calls without effects.
"""

from __future__ import annotations

from tvm import tir
from tvm.ir.op import Op
from tvm.tir import IntImm, PrimFunc
from tvm.tir.stmt_functor import StmtExprMutator, StmtExprVisitor

from .function_pass import named
from .simplify import is_no_op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_EVALUATE = tir.Evaluate.KIND


class _Effects(StmtExprVisitor):
    def __init__(self) -> None:
        self.found = False

    def visit_call_(self, op: Any) -> None:
        if not isinstance(op.op, Op):
            self.found = True
            return
        kind = op.op.get_attr("TCallEffectKind")
        if kind is None or int(kind) > tir.CallEffect.ReadState:
            self.found = True
            return
        super().visit_call_(op)


def has_effect(expr: Any) -> bool:
    """Whether evaluating an expression may do more than give its value."""
    if not expr.kinds & tir.Call.KIND & ~1:
        return False
    visitor = _Effects()
    visitor(expr)
    return visitor.found


class _RemoveNoOp(StmtExprMutator):
    def visit_evaluate_(self, op: Any) -> Any:
        if type(op.value) is not IntImm and not has_effect(op.value):
            return tir.Evaluate(0)
        return op

    def visit_for_(self, op: Any) -> Any:
        op = super().visit_for_(op)
        if is_no_op(op.body) or (type(op.extent) is IntImm and op.extent.value <= 0):
            return tir.Evaluate(0)
        return op

    def visit_let_stmt_(self, op: Any) -> Any:
        op = super().visit_let_stmt_(op)
        return self._keep_effect(op.value) if is_no_op(op.body) else op

    def visit_attr_stmt_(self, op: Any) -> Any:
        op = super().visit_attr_stmt_(op)
        return self._keep_effect(op.value) if is_no_op(op.body) else op

    def visit_allocate_(self, op: Any) -> Any:
        op = super().visit_allocate_(op)
        return op.body if is_no_op(op.body) else op

    @staticmethod
    def _keep_effect(value: Any) -> Any:
        return tir.Evaluate(value if has_effect(value) else 0)

    def visit_if_then_else_(self, op: Any) -> Any:
        op = super().visit_if_then_else_(op)
        if op.else_case is not None and is_no_op(op.else_case):
            op = tir.IfThenElse(op.condition, op.then_case)
        if is_no_op(op.then_case) and op.else_case is None:
            return self._keep_effect(op.condition)
        return op

    def visit_seq_stmt_(self, op: Any) -> Any:
        parts = [self.visit(part) for part in op.seq]
        kept = [part for part in parts if not is_no_op(part)]
        if len(kept) == len(op.seq) and all(a is b for a, b in zip(kept, op.seq)):
            return op
        if not kept:
            return tir.Evaluate(0)
        return kept[0] if len(kept) == 1 else tir.SeqStmt(kept)


def remove_no_op(func: PrimFunc) -> PrimFunc:
    """Drop statements without effect."""
    if not func.body.kinds & (_EVALUATE | tir.For.KIND):
        return func
    return func.with_body(_RemoveNoOp()(func.body))


RemoveNoOp = named("RemoveNoOp", remove_no_op)
