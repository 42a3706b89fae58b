"""Vectors for stages that nobody scheduled.

A stage is eligible if its program asked nothing of it, it computes each element from elements at
neighbouring or equal positions (no reduction, no gather, no test of a position), and what it reads
lies next to each other along the last dimension. Its last axis is split by the vector length; the
remainder becomes a scalar loop in `LoopPartition`.
"""

from __future__ import annotations

from tvm import tir
from tvm.arith.index_algebra import Algebra
from tvm.ir.dtype import info
from tvm.ir.op import Op
from tvm.tir import IntImm, stmt_functor

from .operation import ComputeOp
from .stage import Stage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .schedule import Schedule

# bytes of the widest element times lanes: two 512-bit or four 256-bit registers
VECTOR_BYTES = 128
_LOADS = tir.ProducerLoad.KIND & ~1


def auto_vectorize(schedule: Schedule) -> Schedule:
    """Split and vectorize the last axis of every eligible stage, in place.

    Parameters
    ----------
    schedule : Schedule
        A normalised schedule, which nobody else holds.
    """
    for stage in schedule.stages:
        lanes = _lanes(stage)
        if not lanes:
            continue
        axis = list(stage.leaf_iter_vars)
        last = axis[-1]
        if len(axis) > 1 and _fusible(stage.op):
            # positions are equal everywhere: rows do not matter
            last = stage.fuse(*axis)
        _, inner = stage.split(last, factor=lanes)
        stage.vectorize(inner)
    return schedule


def _lanes(stage: Stage) -> int:
    """The vector length for a stage, 0 if it is not eligible."""
    op = stage.op
    if (
        type(op) is not ComputeOp
        or not op.axis
        or op.reduce_axis
        or stage.relations
        or stage.iter_var_attrs
        or stage.attach_type != Stage.GROUP_ROOT
        or stage.group is not None
        or any(a is not b for a, b in zip(stage.leaf_iter_vars, op.axis))
        or len(stage.leaf_iter_vars) != len(op.axis)
    ):
        return 0
    finder = _Eligible(op)
    if not all(finder.accepts(value) for value in op.body):
        return 0
    lanes = VECTOR_BYTES // finder.widest
    total = 1
    extents = op.axis if _fusible(op) else op.axis[-1:]
    for iv in extents:
        if not isinstance(iv.dom.extent, IntImm):
            return lanes
        total *= iv.dom.extent.value
    return lanes if total >= lanes else 0


def _fusible(op: ComputeOp) -> bool:
    """Whether all axes may run as one, whose position fits its type."""
    size = 1
    for iv in op.axis:
        if not isinstance(iv.dom.extent, IntImm):
            return False
        size *= iv.dom.extent.value
    return size < 2**31 and _elementwise(op)


def _elementwise(op: ComputeOp) -> bool:
    """Whether everything is read at the position that is written."""
    axis = [iv.var for iv in op.axis]
    exact = True

    def visit(node: Any) -> None:
        nonlocal exact
        if type(node) is tir.ProducerLoad:
            exact &= len(node.indices) == len(axis) and all(
                a is b for a, b in zip(node.indices, axis)
            )

    for value in op.body:
        stmt_functor.post_order_visit(value, visit)
        if stmt_functor.uses_var(_without_loads(value), set(axis)):
            return False
    return exact


class _DropLoads(stmt_functor.StmtExprMutator):
    def visit_producer_load_(self, op: Any) -> Any:
        return tir.const(0, op.dtype)


def _without_loads(value: Any) -> Any:
    return _DropLoads()(value)


class _Eligible(stmt_functor.StmtExprVisitor):
    """Looks for what has no good vector form, and for the widest element."""

    def __init__(self, op: ComputeOp) -> None:
        self.ok = True
        self.last = op.axis[-1].var
        self.algebra = Algebra()
        self.widest = 1
        for k in range(op.num_outputs):
            self._seen(op.output_dtype(k))

    def accepts(self, value: Any) -> bool:
        self.visit_expr(value)
        return self.ok

    def _seen(self, dtype: str) -> None:
        found = info(dtype)
        if found.lanes > 1 or found.kind not in ("int", "uint", "bool", "float", "bfloat"):
            self.ok = False
        if found.bits < 8 and not found.is_bool:
            self.ok = False
        self.widest = max(self.widest, found.bits // 8)

    def visit_expr(self, expr: Any) -> None:
        if self.ok:
            self._seen(expr.dtype)
            super().visit_expr(expr)

    def visit_producer_load_(self, op: Any) -> None:
        algebra = self.algebra
        for axis, index in enumerate(op.indices):
            if index.kinds & _LOADS or index.kinds & 1:
                self.ok = False
                return
            poly = algebra.poly(index)
            key = algebra.key(self.last)
            if not algebra._depends_poly(poly, key):
                continue
            # contiguous: one step of the axis is one step of the last dimension
            if axis != len(op.indices) - 1 or poly.get((key,)) != 1:
                self.ok = False
                return
            rest = {m: c for m, c in poly.items() if m != (key,)}
            if algebra._depends_poly(rest, key):
                self.ok = False
                return

    def visit_call_(self, op: Any) -> None:
        pure = isinstance(op.op, Op) and op.op.get_attr("TCallEffectKind") in (0, 1)
        if not pure or op.op.name in ("tir.if_then_else", "tir.likely", "tir.reinterpret"):
            self.ok = False
            return
        super().visit_call_(op)

    def visit_select_(self, op: Any) -> None:
        # a test of a position may protect a read
        if op.true_value.kinds & _LOADS or op.false_value.kinds & _LOADS:
            if not op.condition.kinds & _LOADS:
                self.ok = False
                return
        super().visit_select_(op)

    def visit_let_(self, op: Any) -> None:
        self.ok = False

    def visit_div_(self, op: Any) -> None:
        # integer division has no vector instruction
        if info(op.dtype).is_int:
            self.ok = False
        else:
            super().visit_div_(op)

    def visit_mod_(self, op: Any) -> None:
        self.ok = False

    visit_floor_div_ = visit_floor_mod_ = visit_mod_
