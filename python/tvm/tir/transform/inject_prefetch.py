"""Inject prefetch: what a later iteration reads is asked for in this one.

    for i in range(64):                          for i in range(64):
        # attr [A] "prefetch_scope" = i + 4  ->      T.prefetch(A[i + 4 : i + 5, 0 : 16])
        for j in range(16):                          for j in range(16):
            B[i, j] = A[i, j]                            B[i, j] = A[i, j]

The region is the hull of what one iteration reads. A prefetch is a hint: it may lie outside of the
tensor, and the result does not depend on it.
"""

from __future__ import annotations

from tvm import tir
from tvm.arith.index_algebra import Algebra, Interval, add, const
from tvm.ir.expr import Range
from tvm.tir import Buffer, IntImm, PrimFunc, Var
from tvm.tir.stmt_functor import StmtExprMutator, StmtExprVisitor, substitute

from .function_pass import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Region(StmtExprVisitor):
    """The hull of what a statement reads of a buffer, its inner loops run through."""

    def __init__(self, buffer: Buffer, algebra: Algebra) -> None:
        self.buffer = buffer
        self.algebra = algebra
        self.inner: dict[str, Interval] = {}
        self.dims: list[list[Interval]] = [[] for _ in buffer.shape]

    def visit_for_(self, op: Any) -> None:
        algebra = self.algebra
        low, extent = algebra.poly(op.min), algebra.poly(op.extent)
        high = add(add(low, extent), const(-1))
        key = algebra.key(op.loop_var)
        self.inner[key] = Interval(
            algebra._interval(low, self.inner).low, algebra._interval(high, self.inner).high
        )
        super().visit_for_(op)
        del self.inner[key]

    def visit_attr_stmt_(self, op: Any) -> None:
        if op.attr_key not in ("thread_extent", "virtual_thread") or not hasattr(op.node, "var"):
            super().visit_attr_stmt_(op)
            return
        key = self.algebra.key(op.node.var)
        if key in self.inner:
            super().visit_attr_stmt_(op)
            return
        last = add(self.algebra.poly(op.value), const(-1))
        self.inner[key] = Interval({}, self.algebra._interval(last, self.inner).high)
        super().visit_attr_stmt_(op)
        del self.inner[key]

    def visit_buffer_load_(self, op: Any) -> None:
        super().visit_buffer_load_(op)
        if op.buffer is self.buffer:
            for parts, index in zip(self.dims, op.indices):
                parts.append(self.algebra.interval(index, self.inner))

    def ranges(self) -> list[Range] | None:
        """The region, None if nothing is read."""
        algebra = self.algebra
        out = []
        for parts, extent in zip(self.dims, self.buffer.shape):
            if not parts:
                return None
            hull = algebra.union(parts, extent.dtype)
            if hull.low is None or hull.high is None:
                out.append(Range.from_min_extent(IntImm(extent.dtype, 0), extent))
                continue
            size = add(add(hull.high, hull.low, -1), const(1))
            out.append(
                Range.from_min_extent(
                    algebra.expr(hull.low, extent.dtype), algebra.expr(size, extent.dtype)
                )
            )
        return out


class _Inject(StmtExprMutator):
    def __init__(self) -> None:
        self.algebra = Algebra()
        self.loops: list[Var] = []

    def visit_for_(self, op: Any) -> Any:
        self.algebra.bind(op.loop_var, op.min, op.extent)
        self.loops.append(op.loop_var)
        made = super().visit_for_(op)
        self.loops.pop()
        return made

    def visit_attr_stmt_(self, op: Any) -> Any:
        if op.attr_key != "prefetch_scope":
            return super().visit_attr_stmt_(op)
        body = self.visit(op.body)
        if not isinstance(op.node, Buffer) or not self.loops:
            return body
        region = _Region(op.node, self.algebra)
        region(op.body)
        ranges = region.ranges()
        if ranges is None:
            return body
        later = {self.loops[-1]: tir.cast(op.value, self.loops[-1].dtype)}
        ranges = [
            Range.from_min_extent(substitute(r.min, later), substitute(r.extent, later))
            for r in ranges
        ]
        parts = body.seq if type(body) is tir.SeqStmt else [body]
        return tir.SeqStmt([tir.Prefetch(op.node, ranges), *parts])


def inject_prefetch(func: PrimFunc) -> PrimFunc:
    """Turn prefetch scopes into prefetches of regions."""
    if not func.body.kinds & tir.AttrStmt.KIND:
        return func
    rewriter = _Inject()
    rewriter.algebra.bind_sizes(func.buffer_map.values())
    return func.with_body(rewriter(func.body))


InjectPrefetch = named("InjectPrefetch", inject_prefetch)
