"""Normalising a schedule: inlined stages become part of their consumers."""

from __future__ import annotations

from tvm.error import ScheduleError
from tvm.tir import ProducerLoad, Reduce, stmt_functor

from .extern_op import ExternOp
from .operation import ComputeOp, Operation
from .rewrite import rewrite_loads
from .scan_op import ScanOp
from .stage import Stage
from .tensor import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tvm.tir import PrimExpr

    from .schedule import Schedule

    Rewrite = Callable[[ProducerLoad], PrimExpr]


def with_body(op: ComputeOp, change: Callable[[PrimExpr], PrimExpr]) -> ComputeOp:
    """The operation with each expression changed; itself if nothing changed."""
    first = op.body[0]
    if not isinstance(first, Reduce):
        body = tuple([change(value) for value in op.body])
        if all(a is b for a, b in zip(body, op.body)):
            return op
        return ComputeOp(op.name, op.tag, op.attrs, op.axis, body)
    source = tuple([change(value) for value in first.source])
    init = tuple([change(value) for value in first.init])
    condition = change(first.condition)
    old = (*first.source, *first.init, first.condition)
    if all(a is b for a, b in zip((*source, *init, condition), old)):
        return op
    reduces = [
        Reduce(first.combiner, source, first.axis, condition, k, init) for k in range(len(op.body))
    ]
    return ComputeOp(op.name, op.tag, op.attrs, op.axis, reduces)


def replace_reads(op: Operation, change: dict[Tensor, Any]) -> Operation:
    """The operation reading other tensors, or expressions in place of inlined ones.

    ``change`` maps a tensor to a tensor or to a function from a load to an expression.
    """
    if not any(t in change for t in op.input_tensors):
        return op
    if isinstance(op, (ExternOp, ScanOp)):
        reads = op.whole_inputs
        inputs = [change.get(t, t) for t in reads]
        for old, new in zip(reads, inputs):
            if not isinstance(new, Tensor):
                raise ScheduleError(
                    f"stage {old.name}: compute_inline: {op.name} reads it as a whole, which "
                    "needs memory; use compute_root"
                )
        return op.with_inputs(inputs)
    if not isinstance(op, ComputeOp):
        return op

    def rewrite(load: ProducerLoad) -> PrimExpr:
        to = change.get(load.producer)
        if to is None:
            return load
        if isinstance(to, Tensor):
            return ProducerLoad(to, load.indices)
        return to(load)  # type: ignore[no-any-return]

    return with_body(op, lambda value: rewrite_loads(value, rewrite))


def _inliner(op: Any, index: int) -> Rewrite:
    body = op.body[index]
    axis = [iv.var for iv in op.axis]

    def inline(load: ProducerLoad) -> PrimExpr:
        made: PrimExpr = stmt_functor.substitute(body, dict(zip(axis, load.indices)))
        return made

    return inline


def inlined(schedule: Schedule) -> Schedule:
    """A schedule in which no stage is inlined any more, checked.

    Raises
    ------
    ScheduleError
        If a reduction or an output is inlined.
    """
    out = schedule.copy()
    if not any(stage.attach_type == Stage.INLINE for stage in out.stages):
        return out
    change: dict[Tensor, Any] = {}
    kept = []
    # producers come first, so that one pass over the stages is enough
    for stage in out.stages:
        old = stage.op
        op = replace_reads(old, change)
        if stage.attach_type == Stage.INLINE:
            _check(stage)
            for k in range(op.num_outputs):
                change[old.output(k)] = _inliner(op, k)
            stage.attach_type = Stage.INLINED_ALREADY
            continue
        kept.append(stage)
        if op is not old:
            stage.op = op
            out.stage_map[op] = stage
            for k in range(op.num_outputs):
                change[old.output(k)] = op.output(k)
    out.stages = kept
    out.outputs = [out.stage_map[op].op for op in out.outputs]
    return out


def _check(stage: Stage) -> None:
    op = stage.op
    if stage.is_output:
        raise ScheduleError(
            f"stage {stage.name}: compute_inline: an output cannot be inlined, it must be stored"
        )
    if not isinstance(op, ComputeOp):
        raise ScheduleError(
            f"stage {stage.name}: compute_inline: only te.compute can be inlined, this is a "
            f"{type(op).__name__}"
        )
    if op.reduce_axis or isinstance(op.body[0], Reduce):
        raise ScheduleError(
            f"stage {stage.name}: compute_inline: a reduction cannot be inlined; use compute_at "
            "or compute_root"
        )
    if stage.relations:
        # its loops disappear: splits of them mean nothing, which is harmless
        stage.relations = []
