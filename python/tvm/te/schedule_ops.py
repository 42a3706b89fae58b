"""Schedule ops: the loops of all stages, put where the schedule wants them.

for i in range(n):                      s[P].compute_at(s[C], i)
    realize P([i : i + 1])
        P[i] = A[i] + 1
        C[i] = P[i] * 2
"""

from __future__ import annotations

from tvm import tir
from tvm.error import InternalError, ScheduleError
from tvm.ir.expr import Range
from tvm.tir import IntImm, IterVar, PrimExpr, Reduce

from .bounds import BoundInference
from .extern_op import ExternOp
from .hybrid_op import HybridOp, scheduled_body
from .nest import Nest, sequence
from .operation import ComputeOp
from .scan_op import ScanOp
from .scan_place import Aliases
from .stage import Stage
from .tensorize import tensorized_axis
from .threads import scope_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tvm.tir import Stmt

    from .schedule import Schedule

_TRUE = None


def schedule_ops(
    schedule: Schedule,
    bounds: dict[IterVar, Range] | None = None,
    debug_keep_trivial_loop: bool = False,
) -> Stmt:
    """The loop program of a normalised schedule.

    Parameters
    ----------
    schedule : Schedule
        From ``Schedule.normalize``.
    bounds : dict of IterVar to Range, optional
        From ``infer_bound``; inferred when missing.
    debug_keep_trivial_loop : bool
        Whether loops of extent 1 stay loops.
    """
    inference = BoundInference(schedule)
    if bounds is None:
        inference.run()
    else:
        inference.adopt(bounds)
    return _Builder(inference, debug_keep_trivial_loop).build()


class _Builder:
    """Builds the program of one schedule."""

    def __init__(self, inference: BoundInference, keep_trivial: bool) -> None:
        self.inference = inference
        self.algebra = inference.algebra
        self.ranges = inference.ranges
        self.keep_trivial = keep_trivial
        # (stage, position of its leaf axis) -> stages attached there, in order
        self.attached: dict[tuple[Stage, int], list[Stage]] = {}
        self.aliases = Aliases(inference.schedule, inference.paths)

    def build(self) -> Stmt:
        roots: list[Stage] = []
        for stage in self.inference.schedule.stages:
            if not stage.is_computed:
                continue
            path = self.inference.paths[stage]
            if path:
                self.attached.setdefault(path[-1], []).append(stage)
            else:
                roots.append(stage)
        return self.aliases.rewrite(self._pipeline(roots, None))

    def stage_of(self, tensor: Any) -> Stage:
        """The stage that computes a tensor of the normalised schedule."""
        return next(s for s in self.inference.schedule.stages if s.op is tensor.op)

    def _pipeline(self, stages: list[Stage], consumer: Stmt | None) -> Stmt:
        """Each stage's loops inside the life of its memory, then those that come after it."""
        body = consumer
        for stage in reversed(stages):
            produce = self._produce(stage)
            if stage.double_buffered and stage.op.num_outputs == 1:
                produce = tir.AttrStmt(stage.op.output(0), "double_buffer_scope", 1, produce)
            body = produce if body is None else sequence(produce, body)
            # Of several outputs some may be no arguments: those need memory of their own.
            inside = not stage.is_output or stage.op.num_outputs > 1
            if inside and stage not in self.aliases.deferred:
                body = self._realize(stage, body)
            for scan in self.aliases.begins.get(stage, ()):
                body = self._realize(scan, body)
        if body is None:
            return tir.Evaluate(0)
        return body

    def _realize(self, stage: Stage, body: Stmt) -> Stmt:
        op = stage.op
        for k in range(op.num_outputs - 1, -1, -1):
            tensor = op.output(k)
            if tensor in self.aliases.tensors:
                continue
            if isinstance(op, ComputeOp):
                bounds = [self.ranges[iv] for iv in op.axis]
            elif isinstance(op, ScanOp):
                rows = Range.from_min_extent(IntImm(op.scan_axis.dtype, 0), tensor.shape[0])
                bounds = [rows, *[self.ranges[iv] for iv in op.spatial_axes(k)]]
            else:
                bounds = [
                    Range.from_min_extent(IntImm(extent.dtype, 0), extent)
                    for extent in tensor.shape
                ]
            for position, iv in enumerate(op.axis):
                attr = stage.iter_var_attrs.get(iv)
                if attr is not None and attr.dim_align_factor:
                    align = tir.Call(
                        "handle",
                        "tir.tvm_tuple",
                        [position, attr.dim_align_factor, attr.dim_align_offset],
                    )
                    body = tir.AttrStmt(tensor, "buffer_dim_align", align, body)
            if stage.rolling_buffered:
                body = tir.AttrStmt(tensor, "rolling_buffer_scope", 1, body)
            scope = scope_of(stage, self.inference.paths[stage])
            body = tir.ProducerRealize(tensor, bounds, _true(), body, scope)
        return body

    # ---- one stage
    def _produce(self, stage: Stage) -> Stmt:
        op = stage.op
        if isinstance(op, ExternOp):
            for (place, _), inside in self.attached.items():
                if place is stage:
                    raise ScheduleError(
                        f"stage {inside[0].name}: compute_at {stage.name}: nothing can be computed "
                        "inside a body that the program wrote itself"
                    )
            return _bind_buffers(op, stage)
        nest = Nest(self, stage)
        if isinstance(op, ScanOp):
            return nest.scan(op)
        if not isinstance(op, ComputeOp):
            raise InternalError(f"stage {stage.name}: no loops for a {type(op).__name__}")
        position = tensorized_axis(stage)
        if position is not None:
            return nest.tensorized(op, position)
        if isinstance(op.body[0], Reduce):
            return nest.reduction(op)
        return nest.plain(op)


def _bind_buffers(op: ExternOp, stage: Stage) -> Stmt:
    """The body of an extern operation; its buffers stand for its tensors."""
    body = scheduled_body(stage, op) if isinstance(op, HybridOp) else op.body
    pairs = [(op.output(k), buffer) for k, buffer in enumerate(op.output_placeholders)]
    pairs += list(zip(op.inputs, op.input_placeholders))
    for tensor, buffer in reversed(pairs):
        region: list[Any] = []
        for extent in tensor.shape:
            region += [IntImm(extent.dtype, 0), extent]
        where = tir.Call("handle", "tir.tvm_tuple", region)
        body = tir.AttrStmt((buffer, tensor), "buffer_bind_scope", where, body)
    return body


def _true() -> PrimExpr:
    global _TRUE
    if _TRUE is None:
        _TRUE = IntImm("bool", 1)
    return _TRUE
