"""Narrow data type: int64 loops and positions become int32 where every value fits.

for i in range(T.int64(16)):               for i in range(16):
    B[i * T.int64(4)] = A[i]         ->        B[i * 4] = A[i]
"""

from __future__ import annotations

from tvm import tir
from tvm.error import ValueError_
from tvm.ir.dtype import info
from tvm.ir.transform import PassInfo
from tvm.tir import PrimFunc, Var
from tvm.tir.stmt_functor import StmtExprMutator

from .function_pass import PrimFuncPass
from .index_ranges import DATA, IndexRanges, retyped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Narrow(StmtExprMutator):
    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self.bits = info(dtype).bits
        self.ranges = IndexRanges()
        self.replaced: dict[Var, Any] = {}

    def visit_var_(self, op: Any) -> Any:
        return self.replaced.get(op, op)

    def _narrow(self, expr: Any) -> Any:
        expr = self.visit(expr)
        if type(expr) is tir.Ramp:
            base = self._narrow(expr.base)
            if base is expr.base:
                return expr
            return tir.Ramp(base, retyped(expr.stride, base.dtype), expr.lanes)
        found = info(expr.dtype)
        if found.lanes > 1 or not found.is_int or found.bits <= self.bits or expr.kinds & DATA:
            return expr
        return retyped(expr, self.dtype) if self.ranges.fits(expr, self.dtype) else expr

    def visit_for_(self, op: Any) -> Any:
        low, extent = self._narrow(op.min), self._narrow(op.extent)
        self.ranges.bind(op.loop_var, op.min, op.extent)
        var = op.loop_var
        first, last = self.ranges.known[var]
        limit = 1 << (self.bits - 1)
        if (
            info(var.dtype).bits > self.bits
            and -limit <= first
            and last < limit
            and low.dtype == extent.dtype == self.dtype
            and op.thread_binding is None
        ):
            new = Var(var.name, self.dtype)
            self.ranges.known[new] = (first, last)
            self.replaced[var] = tir.Cast(var.dtype, new)
            var = new
        else:
            low, extent = retyped(low, var.dtype), retyped(extent, var.dtype)
        body = self.visit(op.body)
        if low is op.min and extent is op.extent and body is op.body and var is op.loop_var:
            return op
        return tir.For(var, low, extent, op.kind, body, op.thread_binding, op.annotations)

    def visit_let_stmt_(self, op: Any) -> Any:
        value = self._narrow(op.value)
        var = op.var
        if info(var.dtype).is_int and not op.value.kinds & DATA:
            self.ranges.known[var] = self.ranges.of(op.value)
        if value.dtype != var.dtype:
            new = Var(var.name, value.dtype)
            self.ranges.known[new] = self.ranges.known[var]
            self.replaced[var] = tir.Cast(var.dtype, new)
            var = new
        body = self.visit(op.body)
        if value is op.value and body is op.body:
            return op
        return tir.LetStmt(var, value, body)

    def _indices(self, items: Any) -> Any:
        made = tuple([self._narrow(item) for item in items])
        return items if all(a is b for a, b in zip(made, items)) else made

    def visit_buffer_load_(self, op: Any) -> Any:
        indices = self._indices(op.indices)
        return op if indices is op.indices else tir.BufferLoad(op.buffer, indices)

    def visit_buffer_store_(self, op: Any) -> Any:
        indices, value = self._indices(op.indices), self.visit(op.value)
        if indices is op.indices and value is op.value:
            return op
        return tir.BufferStore(op.buffer, value, indices)

    def visit_cast_(self, op: Any) -> Any:
        value = self.visit(op.value)
        return op if value is op.value else tir.cast(value, op.dtype)

    def _comparison(self, op: Any) -> Any:
        a, b = self._narrow(op.a), self._narrow(op.b)
        if a is op.a and b is op.b:
            return op
        if a.dtype != b.dtype:
            a, b = retyped(a, op.a.dtype), retyped(b, op.b.dtype)
        return type(op)(a, b)

    visit_lt_ = visit_le_ = visit_gt_ = visit_ge_ = visit_eq_ = visit_ne_ = _comparison


def narrow_data_type(func: PrimFunc, target_bits: int) -> PrimFunc:
    """Use a narrower type for loops and positions whose values fit."""
    rewriter = _Narrow(f"int{target_bits}")
    rewriter.ranges.bind_sizes(func.buffer_map.values())
    return func.with_body(rewriter(func.body))


def NarrowDataType(target_bits: int = 32) -> PrimFuncPass:
    """The pass ``tir.NarrowDataType``.

    Parameters
    ----------
    target_bits : int
        Bits of the type to narrow to: 8, 16, 32 or 64.

    Raises
    ------
    ValueError
        If there is no integer type of that many bits.
    """
    if target_bits not in (8, 16, 32, 64):
        raise ValueError_(f"NarrowDataType: expected 8, 16, 32 or 64 bits, but got {target_bits!r}")
    return PrimFuncPass(
        lambda func, mod, ctx: narrow_data_type(func, target_bits),
        PassInfo(0, "tir.NarrowDataType"),
    )
