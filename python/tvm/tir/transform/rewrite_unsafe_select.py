"""Rewrite unsafe select: a select whose arms may not be evaluated becomes a branch.

    select(i >= 1, A[i - 1], 0)   ->    if_then_else(i >= 1, A[i - 1], 0)

A select evaluates both arms. A read that is not provably inside its buffer is not safe then.
"""

from __future__ import annotations

from tvm import tir
from tvm.arith.index_algebra import Algebra, add
from tvm.ir.dtype import info
from tvm.ir.op import Op
from tvm.tir import PrimFunc
from tvm.tir.stmt_functor import StmtExprMutator, StmtExprVisitor

from .function_pass import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_UNSAFE = (tir.BufferLoad.KIND | tir.Call.KIND | tir.ProducerLoad.KIND) & ~1


class _Unsafe(StmtExprVisitor):
    def __init__(self, algebra: Algebra) -> None:
        self.algebra = algebra
        self.found = False

    def visit_buffer_load_(self, op: Any) -> None:
        if not in_bounds(op, self.algebra):
            self.found = True
            return
        super().visit_buffer_load_(op)

    def visit_producer_load_(self, op: Any) -> None:
        self.found = True

    def visit_call_(self, op: Any) -> None:
        name = getattr(op.op, "name", "")
        if name == "tir.if_then_else":
            self.visit(op.args[0])
            return
        kind = op.op.get_attr("TCallEffectKind") if isinstance(op.op, Op) else None
        if kind is None or int(kind) >= tir.CallEffect.ReadState:
            self.found = True
            return
        super().visit_call_(op)


def in_bounds(access: Any, algebra: Algebra) -> bool:
    """Whether a load or store provably stays inside its buffer."""
    buffer = access.buffer
    if buffer.strides or len(buffer.shape) != len(access.indices):
        return False
    for index, extent in zip(access.indices, buffer.shape):
        if info(index.dtype).lanes > 1:
            return False
        position = algebra.poly(index)
        if not algebra.nonnegative(position):
            return False
        if not algebra.positive(add(algebra.poly(extent), position, -1)):
            return False
    return True


def is_unsafe(expr: Any, algebra: Algebra) -> bool:
    """Whether an expression must not be evaluated where its value is not wanted."""
    if not expr.kinds & _UNSAFE:
        return False
    visitor = _Unsafe(algebra)
    visitor(expr)
    return visitor.found


class _Rewrite(StmtExprMutator):
    def __init__(self) -> None:
        self.algebra = Algebra()

    def visit_for_(self, op: Any) -> Any:
        self.algebra.bind(op.loop_var, op.min, op.extent)
        return super().visit_for_(op)

    def visit_select_(self, op: Any) -> Any:
        op = super().visit_select_(op)
        if info(op.condition.dtype).lanes > 1:
            return op
        algebra = self.algebra
        if is_unsafe(op.true_value, algebra) or is_unsafe(op.false_value, algebra):
            return tir.Call(
                op.dtype,
                "tir.if_then_else",
                [op.condition, op.true_value, op.false_value],
            )
        return op


def rewrite_unsafe_select(func: PrimFunc) -> PrimFunc:
    """Turn selects whose arms may fault into branches."""
    if not func.body.kinds & tir.Select.KIND:
        return func
    rewriter = _Rewrite()
    rewriter.algebra.bind_sizes(func.buffer_map.values())
    return func.with_body(rewriter(func.body))


RewriteUnsafeSelect = named("RewriteUnsafeSelect", rewrite_unsafe_select)
