"""Promote index: index arithmetic that may leave int32 is computed in int64.

    for i in range(4):                  for i in range(4):
        B[i] = A[i * 1073741824]   ->       B[i] = A[T.Cast("int64", i) * T.int64(1073741824)]

Index expressions (variables, sizes and constants only) are mathematical integers. Where they are
compared or converted, their type has to hold every value on the way. A position in a dimension of
int32 may wrap on the way: sums and products are right modulo 2^32, and the position itself fits.
Of a size nothing is known but its type; it is taken to stay `SLACK` below the end.
"""

from __future__ import annotations

from tvm import tir
from tvm.ir.dtype import info
from tvm.tir import PrimFunc
from tvm.tir.stmt_functor import StmtExprMutator

from .function_pass import named
from .index_ranges import DATA, IndexRanges, retyped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_RING = (tir.Add, tir.Sub, tir.Mul)
_GROWS = tir.Mul.KIND | tir.Add.KIND | tir.Sub.KIND


class _Promote(StmtExprMutator):
    def __init__(self) -> None:
        self.ranges = IndexRanges()

    def _wide(self, expr: Any) -> Any:
        """The expression in a type that holds it."""
        if not expr.kinds & _GROWS:
            return expr
        if type(expr) is tir.Ramp:
            base = self._wide(expr.base)
            if base is expr.base:
                return expr
            return tir.Ramp(base, retyped(expr.stride, base.dtype), expr.lanes)
        if expr.kinds & DATA or expr.dtype != "int32" or self.ranges.fits(expr, "int32"):
            return self.visit(expr) if expr.kinds & DATA else expr
        return retyped(expr, "int64")

    def _positions(self, items: Any, shape: Any) -> Any:
        made = tuple([
            self._wide(item) if size.dtype != "int32" or not self._may_wrap(item) else item
            for item, size in zip(items, shape)
        ])  # fmt: skip
        return items if all(a is b for a, b in zip(made, items)) else made

    def _may_wrap(self, expr: Any) -> bool:
        """Whether it is made of sums and products of what fits."""
        if expr.kinds & DATA:
            return False
        if type(expr) in _RING:
            return self._may_wrap(expr.a) and self._may_wrap(expr.b)
        return not expr.kinds & _GROWS or (
            expr.dtype == "int32" and self.ranges.fits(expr, "int32")
        )

    def visit_for_(self, op: Any) -> Any:
        self.ranges.bind(op.loop_var, op.min, op.extent)
        return super().visit_for_(op)

    def visit_buffer_load_(self, op: Any) -> Any:
        indices = self._positions(op.indices, op.buffer.shape)
        return op if indices is op.indices else tir.BufferLoad(op.buffer, indices)

    def visit_buffer_store_(self, op: Any) -> Any:
        indices, value = self._positions(op.indices, op.buffer.shape), self.visit(op.value)
        if indices is op.indices and value is op.value:
            return op
        return tir.BufferStore(op.buffer, value, indices)

    def visit_cast_(self, op: Any) -> Any:
        if info(op.value.dtype).is_int and not info(op.dtype).is_bool:
            value = self._wide(op.value)
        else:
            value = self.visit(op.value)
        return op if value is op.value else tir.cast(value, op.dtype)

    def _comparison(self, op: Any) -> Any:
        a, b = self._wide(op.a), self._wide(op.b)
        if a is op.a and b is op.b:
            return op
        if a.dtype != b.dtype:
            a, b = retyped(a, "int64"), retyped(b, "int64")
        return type(op)(a, b)

    visit_lt_ = visit_le_ = visit_gt_ = visit_ge_ = visit_eq_ = visit_ne_ = _comparison


def promote_index(func: PrimFunc) -> PrimFunc:
    """Compute index arithmetic in int64 where int32 may not hold it."""
    if not func.body.kinds & _GROWS:
        return func
    rewriter = _Promote()
    rewriter.ranges.bind_sizes(func.buffer_map.values())
    return func.with_body(rewriter(func.body))


PromoteIndex = named("PromoteIndex", promote_index)

__all__ = ["PromoteIndex", "promote_index"]
