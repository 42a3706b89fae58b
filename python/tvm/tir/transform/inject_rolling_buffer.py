"""Inject rolling buffer: what the iteration before has computed already is kept.

    for i in range(20):                          realize P([0 : 3])
        realize P([i : i + 3])                   for i in range(20):
        # attr [P] rolling_buffer_scope              for k in range(3):
        for k in range(3):                 ->            if i == 0 or k >= 2:
            P[i + k] = A[i + k] * 2                          P[(i + k) % 3] = A[i + k] * 2
        B[i] = P[i] + P[i + 1] + P[i + 2]            B[i] = P[i % 3] + P[(i + 1) % 3] + ...

The region has to move by a constant from one iteration of the loop right around to the next, along
one dimension; the loop has to run in order. Otherwise the mark alone is dropped.
"""

from __future__ import annotations

from tvm import tir
from tvm.arith import Analyzer
from tvm.arith.index_algebra import Algebra, Poly, add, const, constant
from tvm.ir.expr import Range
from tvm.tir import Buffer, ForKind, IntImm, PrimFunc
from tvm.tir.stmt_functor import StmtExprMutator

from .function_pass import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

KEY = "rolling_buffer_scope"


def _is_mark(stmt: Any) -> bool:
    return type(stmt) is tir.AttrStmt and stmt.attr_key == KEY


def _extract(stmt: Any) -> tuple[Any, Any] | None:
    """The first marked realisation in a loop body, and the body without it."""
    kind = type(stmt)
    if kind is tir.BufferRealize:
        if _is_mark(stmt.body) and stmt.body.node is stmt.buffer:
            return stmt, stmt.body.body
        found = _extract(stmt.body)
        if found is None:
            return None
        return found[0], tir.BufferRealize(stmt.buffer, stmt.bounds, stmt.condition, found[1])
    if kind is tir.AttrStmt:
        found = _extract(stmt.body)
        if found is None:
            return None
        return found[0], tir.AttrStmt(stmt.node, stmt.attr_key, stmt.value, found[1])
    if kind is tir.SeqStmt:
        found = _extract(stmt.seq[-1])
        if found is None:
            return None
        return found[0], tir.stmt.flatten_seq([*stmt.seq[:-1], found[1]])
    return None


class _Rolled(StmtExprMutator):
    """Accesses of a buffer go round; stores keep what is there already."""

    def __init__(self, buffer: Buffer, axis: int, size: int, begin: Any, first: Any) -> None:
        self.buffer = buffer
        self.axis = axis
        self.size = size
        # the first index that the iteration before has not computed
        self.begin = begin
        self.first = first

    def _indices(self, indices: Any) -> list[Any]:
        out = list(indices)
        index = out[self.axis]
        out[self.axis] = tir.floormod(index, IntImm(index.dtype, self.size))
        return out

    def visit_buffer_load_(self, op: Any) -> Any:
        op = super().visit_buffer_load_(op)
        if op.buffer is not self.buffer:
            return op
        return tir.BufferLoad(op.buffer, self._indices(op.indices))

    def visit_buffer_store_(self, op: Any) -> Any:
        index = op.indices[self.axis] if op.buffer is self.buffer else None
        op = super().visit_buffer_store_(op)
        if index is None:
            return op
        store = tir.BufferStore(op.buffer, op.value, self._indices(op.indices))
        new = Analyzer().simplify(tir.GE(index, self.begin))
        return tir.IfThenElse(tir.Or(self.first, new), store)


class _Inject(StmtExprMutator):
    def visit_attr_stmt_(self, op: Any) -> Any:
        if op.attr_key == KEY:
            return self.visit(op.body)
        return super().visit_attr_stmt_(op)

    def visit_for_(self, op: Any) -> Any:
        loop, outside = op, []
        while loop.kind in (ForKind.SERIAL, ForKind.UNROLLED):
            found = _extract(loop.body)
            if found is None:
                break
            realize, body = found
            moved = self._moved(realize, loop, body)
            if moved is None:
                # as if it were not marked
                plain = tir.BufferRealize(
                    realize.buffer, realize.bounds, realize.condition, realize.body.body
                )
                body = _put_back(loop.body, realize, plain)
            else:
                kept, body = moved
                outside.append(kept)
            loop = tir.For(
                loop.loop_var, loop.min, loop.extent, loop.kind, body, None, loop.annotations
            )
        made = super().visit_for_(loop)
        for buffer, bounds, condition in outside:
            made = tir.BufferRealize(buffer, bounds, condition, made)
        return made

    def _moved(self, realize: Any, loop: Any, body: Any) -> Any:
        algebra = Algebra()
        key = algebra.key(loop.loop_var)
        found: tuple[int, int, int, Poly] | None = None
        for axis, bound in enumerate(realize.bounds):
            low, extent = algebra.poly(bound.min), algebra.poly(bound.extent)
            if _uses(extent, key, algebra):
                return None
            if not _uses(low, key, algebra):
                continue
            step = low.get((key,), 0)
            rest = {mono: coeff for mono, coeff in low.items() if mono != (key,)}
            size = constant(extent)
            if found is not None or step <= 0 or _uses(rest, key, algebra) or size is None:
                return None
            found = axis, step, size, low
        if found is None or found[2] <= found[1]:
            return None
        axis, step, size, low = found
        dtype = realize.bounds[axis].min.dtype
        begin = algebra.expr(add(low, const(size - step)), dtype)
        first = tir.EQ(loop.loop_var, loop.min)
        bounds = list(realize.bounds)
        bounds[axis] = Range.from_min_extent(IntImm(dtype, 0), IntImm(dtype, size))
        rolled = _Rolled(realize.buffer, axis, size, begin, first)(body)
        return (realize.buffer, bounds, realize.condition), rolled


def _put_back(stmt: Any, old: Any, new: Any) -> Any:
    """The loop body with one statement replaced."""

    def replace(node: Any) -> Any:
        return new if node is old else None

    return tir.stmt_functor.ir_transform(stmt, replace, None, ["tir.BufferRealize"])


def _uses(poly: Poly, key: str, algebra: Algebra) -> bool:
    var = algebra._atoms[key]
    return any(
        part != key and tir.stmt_functor.uses_var(algebra._atoms[part], var)
        for mono in poly for part in mono
    ) or any(key in mono for mono in poly)  # fmt: skip


def inject_rolling_buffer(func: PrimFunc) -> PrimFunc:
    """Keep what neighbouring iterations share of marked temporaries."""
    if not func.body.kinds & tir.BufferRealize.KIND:
        return func
    return func.with_body(_Inject()(func.body))


InjectRollingBuffer = named("InjectRollingBuffer", inject_rolling_buffer)
