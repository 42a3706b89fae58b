"""Bound inference: the range of every axis, from the outputs back to what they read.

An attached stage computes what one iteration of its consumer's axis needs: the loops around the
place stay symbolic, the loops inside are run through. What is inferred may be too much, never too
little; a stage guards what would leave its tensor (`schedule_ops`).
"""

from __future__ import annotations

from tvm import tir
from tvm.arith.index_algebra import Algebra, Interval, add, const, constant
from tvm.error import ScheduleError
from tvm.ir.expr import Range
from tvm.tir import IntImm, IterVar, ProducerLoad, Reduce, stmt_functor

from .operation import ComputeOp, Operation
from .relations import whole_interval
from .scan_op import ScanOp
from .stage import Stage
from .threads import shared_axes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .schedule import Schedule
    from .tensor import Tensor

# stage and position of the leaf axis inside which something is attached
Place = tuple[Stage, int]


def attach_position(stage: Stage) -> int:
    """Position among the consumer's leaf axes of the axis that a stage is attached to.

    An axis that was split or fused after ``compute_at`` stands for the innermost leaf made of it.
    """
    parent, axis = stage.attach_stage, stage.attach_ivar
    assert parent is not None and axis is not None
    derived = {id(axis)}
    for relation in parent.relations:
        if any(id(iv) in derived for iv in relation.made_from):
            derived.update(id(iv) for iv in relation.makes)
    last = -1
    for position, iv in enumerate(parent.leaf_iter_vars):
        if id(iv) in derived:
            last = position
    if last < 0:
        raise ScheduleError(
            f"stage {stage.name}: compute_at {parent.name}: axis {axis.var.name} is none of its "
            f"axes; they are {parent._leaf_names()}"
        )
    return last


def attach_path(stage: Stage) -> list[Place]:
    """Where a stage runs, from the outermost place to its own; empty at the root."""
    path: list[Place] = []
    seen = {id(stage)}
    here: Stage = stage
    while True:
        owner = here
        while owner.attach_type == Stage.GROUP_ROOT and owner.group is not None:
            owner = owner.group
        if owner.attach_type not in (Stage.SCOPE, Stage.SCAN_UPDATE):
            break
        parent = owner.attach_stage
        assert parent is not None
        if id(parent) in seen:
            raise ScheduleError(
                f"stage {stage.name}: compute_at goes in a circle: {parent.name} is attached "
                f"inside {stage.name}"
            )
        seen.add(id(parent))
        path.append((parent, attach_position(owner)))
        here = parent
    path.reverse()
    return path


class _Reads:
    """What an operation reads: the loads of each tensor, and the variables bound inside it."""

    __slots__ = ("loads", "bound")

    def __init__(self, op: Operation) -> None:
        self.loads: dict[Tensor, list[ProducerLoad]] = {}
        self.bound: list[tir.Let] = []
        if not isinstance(op, ComputeOp):
            return

        def visit(node: Any) -> None:
            if type(node) is ProducerLoad:
                self.loads.setdefault(node.producer, []).append(node)
            elif type(node) is tir.Let:
                self.bound.append(node)

        first = op.body[0]
        if isinstance(first, Reduce):
            roots = [*first.source, *first.init, first.condition]
        else:
            roots = list(op.body)
        for root in roots:
            stmt_functor.post_order_visit(root, visit)


class BoundInference:
    """Infers the ranges of one normalised schedule.

    Attributes
    ----------
    ranges : dict of IterVar to Range
        The result.
    algebra : Algebra
        Knows the loops' ranges afterwards, for proofs.
    """

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.algebra = Algebra()
        self.ranges: dict[IterVar, Range] = {}
        self.paths: dict[Stage, list[Place]] = {}
        self.order = {stage: k for k, stage in enumerate(schedule.stages)}
        self._reads: dict[Operation, _Reads] = {}
        self.consumers: dict[Operation, list[Stage]] = {}
        for stage in schedule.stages:
            if not stage.is_computed:
                self.algebra.bind_sizes([stage.op.output(0)])
            for op in dict.fromkeys([t.op for t in stage.op.input_tensors]):
                self.consumers.setdefault(op, []).append(stage)

    def run(self) -> None:
        """Visit consumers before producers."""
        for stage in self.schedule.stages:
            if stage.is_computed:
                self.paths[stage] = attach_path(stage)
        for stage in reversed(self.schedule.stages):
            if stage.is_computed:
                self._roots(stage)
                self._derive(stage)

    def adopt(self, ranges: dict[IterVar, Range]) -> None:
        """Take ranges that were inferred before, instead of `run`."""
        self.ranges = dict(ranges)
        for stage in self.schedule.stages:
            if stage.is_computed:
                self.paths[stage] = attach_path(stage)
        for stage in reversed(self.schedule.stages):
            if stage.is_computed:
                for iv in stage.leaf_iter_vars:
                    dom = self.ranges[iv]
                    self.algebra.bind(iv.var, dom.min, dom.extent)

    def _derive(self, stage: Stage) -> None:
        algebra, ranges = self.algebra, self.ranges
        for relation in stage.relations:
            relation.down(ranges, algebra)
        for iv in stage.leaf_iter_vars:
            if iv not in ranges:
                if iv.dom is None:
                    raise ScheduleError(
                        f"stage {stage.name}: the range of axis {iv.var.name} is unknown"
                    )
                ranges[iv] = iv.dom
            dom = ranges[iv]
            algebra.bind(iv.var, dom.min, dom.extent)

    def _roots(self, stage: Stage) -> None:
        op = stage.op
        for iv in op.reduce_axis:
            self.ranges[iv] = iv.dom
        consumers = self.consumers.get(op, [])
        path = self.paths[stage]
        for iv in op.root_iter_vars:
            self.ranges[iv] = iv.dom
        if path:
            self._check_place(stage, path, consumers)
        if isinstance(op, ScanOp) and path:
            self._scan_roots(stage, consumers, path)
        if stage.is_output or not consumers or not isinstance(op, ComputeOp):
            return
        dims: list[list[Interval]] = [[] for _ in op.axis]
        for consumer in consumers:
            self._required(stage, consumer, path, dims)
        for iv, parts in zip(op.axis, dims):
            if parts:
                self.ranges[iv] = self._cover(iv, parts, bool(path))

    def _scan_roots(self, stage: Stage, consumers: list[Stage], path: list[Place]) -> None:
        """The dimensions of an attached scan that go through its steps, as far as needed."""
        from .scan_place import scan_fix_point_analysis

        through = scan_fix_point_analysis(stage.op)
        for k in range(stage.op.num_outputs):
            axes = stage.op.spatial_axes(k)
            dims: list[list[Interval]] = [[] for _ in range(len(axes) + 1)]
            for consumer in consumers:
                if isinstance(consumer.op, ComputeOp):
                    self._required(stage, consumer, path, dims, k)
                    continue
                for parts, iv in zip(dims[1:], axes):
                    parts.append(whole_interval(iv.dom, self.algebra))
            for iv, parts in zip(axes, dims[1:]):
                if parts and through[iv].value:
                    self.ranges[iv] = self._cover(iv, parts, True)

    def _check_place(self, stage: Stage, path: list[Place], consumers: list[Stage]) -> None:
        place, position = path[-1]
        if not consumers and not stage.is_output:
            raise ScheduleError(
                f"stage {stage.name}: compute_at {place.name}: nothing reads {stage.name}"
            )
        for consumer in consumers:
            if consumer is place:
                continue
            inside = [k for s, k in self.paths.get(consumer, []) if s is place]
            if not inside or inside[0] < position:
                legal = ", ".join([c.name for c in consumers])
                raise ScheduleError(
                    f"stage {stage.name}: compute_at {place.name}: its consumer {consumer.name} "
                    f"does not run inside axis {place.leaf_iter_vars[position].var.name} of "
                    f"{place.name}; legal places are inside all of: {legal}"
                )
        if not consumers and stage.is_output:
            raise ScheduleError(
                f"stage {stage.name}: compute_at {place.name}: {place.name} does not read "
                f"{stage.name}"
            )

    def _required(
        self,
        stage: Stage,
        consumer: Stage,
        path: list[Place],
        dims: list[list[Interval]],
        only: int | None = None,
    ) -> None:
        """Add the intervals of ``stage``'s dimensions that ``consumer`` reads.

        ``only`` restricts them to one output.
        """
        algebra, ranges = self.algebra, self.ranges
        reads = self._reads.get(consumer.op)
        if reads is None:
            reads = self._reads[consumer.op] = _Reads(consumer.op)
        fixed: set[str] = set()
        shared = shared_axes(stage, path)
        for parent, position in path:
            fixed.update(
                algebra.key(iv.var)
                for iv in parent.leaf_iter_vars[: position + 1]
                if iv not in shared
            )
        # the loops around the consumer, outermost first, then its own
        env: dict[str, Interval] = {}
        loops: list[IterVar] = []
        for parent, position in self.paths[consumer]:
            loops += parent.leaf_iter_vars[: position + 1]
        loops += consumer.leaf_iter_vars
        for iv in loops:
            key = algebra.key(iv.var)
            if key not in fixed:
                env[key] = self._closed(whole_interval(ranges[iv], algebra), env)
        values: dict[IterVar, Interval] = {}
        for iv in consumer.leaf_iter_vars:
            key = algebra.key(iv.var)
            if key in env:
                values[iv] = env[key]
            else:
                values[iv] = Interval({(key,): 1}, {(key,): 1})
        for relation in reversed(consumer.relations):
            relation.up_interval(values, ranges, algebra)
        inner: dict[str, Interval] = dict(env)
        for iv in consumer.root_iter_vars:
            value = self._closed(values.get(iv) or whole_interval(ranges[iv], algebra), env)
            whole = self._closed(whole_interval(ranges[iv], algebra), env)
            inner[algebra.key(iv.var)] = self._clip(value, whole)
        for let in reads.bound:
            inner[algebra.key(let.var)] = Interval(None, None)
        if isinstance(consumer.op, ScanOp):
            scan = consumer.op
            for k in range(scan.num_outputs):
                others = [inner[algebra.key(iv.var)] for iv in scan.spatial_axes(k)]
                if scan.update[k].op is stage.op:
                    # one step at a time
                    row = inner[algebra.key(scan.scan_axis.var)]
                elif scan.init[k].op is stage.op:
                    row = whole_interval(stage.op.axis[0].dom, algebra)
                else:
                    continue
                for parts, interval in zip(dims, [row, *others]):
                    parts.append(interval)
            return
        if not isinstance(consumer.op, ComputeOp):
            # it may read anything
            for k, iv in enumerate(stage.op.axis):
                dims[k].append(whole_interval(iv.dom, algebra))
            return
        for tensor, loads in reads.loads.items():
            if tensor.op is not stage.op or only not in (None, tensor.value_index):
                continue
            for load in loads:
                for k, index in enumerate(load.indices):
                    dims[k].append(algebra.interval(index, inner))

    def _closed(self, value: Interval, env: dict[str, Interval]) -> Interval:
        """The interval with the moving variables run through."""
        if not env:
            return value
        algebra = self.algebra
        low = None if value.low is None else algebra._interval(value.low, env).low
        high = None if value.high is None else algebra._interval(value.high, env).high
        return Interval(low, high)

    def _clip(self, value: Interval, limit: Interval) -> Interval:
        """``value`` with the sides replaced by ``limit``'s where those are proved tighter."""
        algebra = self.algebra
        low, high = value.low, value.high
        if low is None or (
            limit.low is not None
            and low != limit.low
            and algebra.nonnegative(add(limit.low, low, -1))
        ):
            low = limit.low
        if high is None or (
            limit.high is not None
            and high != limit.high
            and algebra.nonnegative(add(high, limit.high, -1))
        ):
            high = limit.high
        return Interval(low, high)

    def _cover(self, iv: IterVar, parts: list[Interval], attached: bool) -> Range:
        """The range of an axis that holds all parts, within the tensor where that is proved."""
        algebra = self.algebra
        dtype = iv.var.dtype
        dom: Range = iv.dom
        whole = whole_interval(dom, algebra)
        need = self._clip(algebra.union([self._clip(p, whole) for p in parts], dtype), whole)
        if need.low is None or need.high is None:
            return dom
        extent = add(add(need.high, need.low, -1), const(1))
        if need.low == whole.low and need.high == whole.high:
            return dom
        size = constant(extent)
        if not attached and (size is None or constant(need.low) is None):
            # loops of its own run over a part only if the part is plain
            return dom
        full = constant(algebra.poly(dom.extent))
        if size is not None and full is not None and size >= full:
            return dom
        if size is not None and size < 1:
            # nothing is read: the condition around the read never holds
            if full is None or full < 1:
                return dom
            return Range.from_min_extent(dom.min, IntImm(dtype, 1))
        if size is None:
            if not algebra.nonnegative(extent):
                extent = algebra.minmax(extent, const(0), True, dtype)
            # an upper bound makes memory and loops of constant size; guards do the rest
            bound = algebra.bounds(extent)[1]
            if bound is not None and (full is None or bound <= full) and _moves(extent, algebra):
                extent = const(bound)
            elif full is not None and _moves(extent, algebra):
                return dom
        return Range.from_min_extent(algebra.expr(need.low, dtype), algebra.expr(extent, dtype))


def _moves(extent: Any, algebra: Algebra) -> bool:
    """Whether the extent depends on loops, not on sizes alone."""
    found = False

    def visit(node: Any) -> None:
        nonlocal found
        if isinstance(node, tir.Var) and algebra.key(node) in algebra.ranges:
            found = True

    for mono in extent:
        for key in mono:
            stmt_functor.post_order_visit(algebra._atoms[key], visit)
    return found


def infer_bound(schedule: Schedule) -> dict[IterVar, Range]:
    """The range of every axis of a normalised schedule.

    Raises
    ------
    ScheduleError
        If a stage is attached where its consumers are not.
    """
    inference = BoundInference(schedule)
    inference.run()
    return inference.ranges
