"""Parallel reductions: threads get partial results of their own, which are combined in order.

    for k in parallel(n):          ->    for c in parallel(16):
        R[i] = R[i] + A[i, k]                for k in range(n / 16):
                                                 R_rf[c, i] = R_rf[c, i] + A[i, c*(n/16) + k]
                                         for c in range(16):
                                             R[i] = R[i] + R_rf[c, i]

The number of parts is fixed, so that the result does not depend on the number of threads.
"""

from __future__ import annotations

from tvm.tir import IntImm, IterVar, Reduce

from .dataflow import rfactor
from .operation import ComputeOp
from .stage import Stage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .schedule import Schedule

PARTS = 16


def parallel_reductions(schedule: Schedule) -> Schedule:
    """Give parallel reduction axes partial results, in place.

    A stage whose other axes were scheduled, or at which others are attached, keeps its loops; its
    reduction then runs in order, which gives the same result.

    Parameters
    ----------
    schedule : Schedule
        A normalised schedule, which nobody else holds.
    """
    for stage in list(schedule.stages):
        axis = _parallel_axis(schedule, stage)
        if axis is None:
            continue
        outer = axis
        if not isinstance(axis.dom.extent, IntImm) or axis.dom.extent.value > PARTS:
            stage.iter_var_attrs.pop(axis)
            outer, _ = stage.split(axis, nparts=PARTS)
        partial = rfactor(schedule, stage.op.output(0), outer)
        first = partial[0] if isinstance(partial, list) else partial
        schedule[first].parallel(first.op.axis[0])
    return schedule


def _parallel_axis(schedule: Schedule, stage: Stage) -> IterVar | None:
    """The reduction axis of a stage that is to run in parallel, if its loops may be rebuilt."""
    op = stage.op
    if not isinstance(op, ComputeOp) or not isinstance(op.body[0], Reduce):
        return None
    if stage.relations or any(other.attach_stage is stage for other in schedule.stages):
        return None
    marked = [iv for iv in stage.leaf_iter_vars if stage.kind_of(iv) == IterVar.Parallelized]
    if len(marked) != 1 or not any(marked[0] is iv for iv in op.reduce_axis):
        return None
    # inside other loops, starting threads again and again does not pay
    if len(stage.iter_var_attrs) != 1 or stage.attach_type != Stage.GROUP_ROOT:
        return None
    return marked[0]
