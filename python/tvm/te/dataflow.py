"""Schedule primitives that change the data flow: cached copies, factored reductions, groups."""

from __future__ import annotations

from tvm import tir
from tvm.arith.index_algebra import Algebra, Poly, add
from tvm.error import ScheduleError
from tvm.ir.expr import Range
from tvm.tir import IntImm, IterVar, PrimExpr, Reduce, Var, stmt_functor

from .inline import replace_reads
from .operation import ComputeOp, Operation
from .relations import Split
from .scan_op import ScanOp
from .stage import Stage
from .tensor import Tensor
from .threads import checked_scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .schedule import Schedule


def _latest(schedule: Schedule, tensor: Tensor) -> Tensor:
    """The tensor as its stage computes it now."""
    return schedule[tensor].op.output(tensor.value_index)  # type: ignore[no-any-return]


def _set_op(schedule: Schedule, stage: Stage, op: Operation, change: dict[Tensor, Any]) -> None:
    """Let a stage compute another operation, and note what became of its outputs."""
    old = stage.op
    stage.op = op
    schedule.stage_map[op] = stage
    schedule.outputs = [op if out is old else out for out in schedule.outputs]
    for k in range(min(old.num_outputs, op.num_outputs)):
        change[old.output(k)] = op.output(k)


def _propagate(schedule: Schedule, change: dict[Tensor, Any], begin: int) -> None:
    """Let later stages read what tensors became."""
    for stage in schedule.stages[begin:]:
        op = replace_reads(stage.op, change)
        if op is not stage.op:
            _set_op(schedule, stage, op, change)


def _insert(schedule: Schedule, position: int, op: Operation, like: Stage | None) -> Stage:
    stage = Stage(op, schedule)
    if like is not None and like.group is not None:
        stage.group = like.group
        stage.group.num_child_stages += 1
    schedule.stages.insert(position, stage)
    schedule.stage_map[op] = stage
    return stage


def cache_read(schedule: Schedule, tensor: Tensor, scope: str, readers: list[Operation]) -> Tensor:
    """A stage that copies a tensor, for some of its readers; see ``Schedule.cache_read``."""
    source_stage = schedule[tensor]
    scope = checked_scope(scope, f"cache_read {tensor.name}")
    source = _latest(schedule, tensor)
    reading: list[Stage] = []
    for reader in readers:
        stage = schedule[reader]
        if not any(t == source for t in stage.op.input_tensors):
            names = [s.name for s in schedule.stages if source in s.op.input_tensors]
            raise ScheduleError(
                f"cache_read {tensor.name}: {stage.name} does not read it; its readers are "
                f"{', '.join(names) or 'none'}"
            )
        if not any(stage is other for other in reading):
            reading.append(stage)
    if not reading:
        raise ScheduleError(f"cache_read {tensor.name}: expected at least one reader")
    axis = [
        IterVar(Range.from_min_extent(IntImm(extent.dtype, 0), extent), Var(f"ax{k}", extent.dtype))
        for k, extent in enumerate(source.shape)
    ]
    name = f"{source.name}.{scope}"
    copy_op = ComputeOp(name, "", None, axis, [source(*[iv.var for iv in axis])])
    position = schedule.stages.index(source_stage) + 1
    # what is read of a scan's state exists in its steps only
    of_state = any(
        source in s.op.state_placeholder for s in schedule.stages if isinstance(s.op, ScanOp)
    )
    stage = _insert(schedule, position, copy_op, reading[0] if of_state else None)
    stage.scope = scope
    copied = copy_op.output(0)
    change: dict[Tensor, Any] = {}
    # one pass, producers first: what a stage reads has its last form already
    for later in schedule.stages[position + 1 :]:
        here = {source: copied, **change} if any(later is s for s in reading) else change
        op = replace_reads(later.op, here)
        if op is not later.op:
            _set_op(schedule, later, op, change)
    return copied


def cache_write(schedule: Schedule, tensor: Any, scope: str) -> Any:
    """Compute a tensor elsewhere and copy it; see ``Schedule.cache_write``."""
    tensors = list(tensor) if isinstance(tensor, (list, tuple)) else [tensor]
    stage = schedule[tensors[0]]
    op = stage.op
    scope = checked_scope(scope, f"cache_write {stage.name}")
    if not isinstance(op, ComputeOp):
        raise ScheduleError(
            f"cache_write {stage.name}: only te.compute can be cached, this is a "
            f"{type(op).__name__}"
        )
    for other in tensors:
        if schedule[other] is not stage:
            raise ScheduleError(
                f"cache_write: {tensors[0].name} and {other.name} are not outputs of one operation"
            )
    if len({t.value_index for t in tensors}) != op.num_outputs:
        raise ScheduleError(
            f"cache_write {stage.name}: expected all {op.num_outputs} outputs, but got "
            f"{len(tensors)}"
        )
    if stage.relations:
        raise ScheduleError(
            f"cache_write {stage.name}: its axes were split or fused already; call cache_write "
            "before that"
        )
    axis = [IterVar(iv.dom, Var(iv.var.name + ".c", iv.var.dtype), iv.iter_type) for iv in op.axis]
    mapping = {old.var: new.var for old, new in zip(op.axis, axis)}
    cached = ComputeOp(f"{op.name}.{scope}", op.tag, op.attrs, axis, _renamed(op.body, mapping))
    position = schedule.stages.index(stage)
    new_stage = _insert(schedule, position, cached, stage)
    new_stage.scope = scope
    indices = [iv.var for iv in op.axis]
    copy_op = ComputeOp(
        op.name,
        "",
        op.attrs,
        op.axis,
        [cached.output(k)(*indices) for k in range(op.num_outputs)],
    )
    change: dict[Tensor, Any] = {}
    _set_op(schedule, stage, copy_op, change)
    _reset_axes(stage)
    _propagate(schedule, change, position + 2)
    outputs = [cached.output(t.value_index) for t in tensors]
    return outputs if isinstance(tensor, (list, tuple)) else outputs[0]


def _renamed(body: Any, mapping: dict[Var, Any]) -> list[PrimExpr]:
    """The expressions with variables replaced; reductions keep their axes."""
    first = body[0]
    if not isinstance(first, Reduce):
        return [stmt_functor.substitute(value, mapping) for value in body]
    source = [stmt_functor.substitute(value, mapping) for value in first.source]
    init = [stmt_functor.substitute(value, mapping) for value in first.init]
    condition = stmt_functor.substitute(first.condition, mapping)
    return [
        Reduce(first.combiner, source, first.axis, condition, k, init) for k in range(len(body))
    ]


def _reset_axes(stage: Stage) -> None:
    """The axes of the stage's new operation; what was asked of those that stay is kept."""
    roots = list(stage.op.root_iter_vars)
    stage.relations = []
    stage.all_iter_vars = list(roots)
    kept = [iv for iv in stage.leaf_iter_vars if any(iv is root for root in roots)]
    stage.leaf_iter_vars = kept + [iv for iv in roots if not any(iv is k for k in kept)]
    stage.iter_var_attrs = {
        iv: attr for iv, attr in stage.iter_var_attrs.items() if any(iv is root for root in roots)
    }


def rfactor(schedule: Schedule, tensor: Tensor, axis: IterVar, factor_axis: int = 0) -> Any:
    """Make a reduction axis an axis of partial results; see ``Schedule.rfactor``."""
    stage = schedule[tensor]
    op = stage.op
    if not isinstance(op, ComputeOp) or not isinstance(op.body[0], Reduce):
        raise ScheduleError(f"rfactor {stage.name}: it is not a reduction")
    stage._leaf(axis, "rfactor")
    if axis.iter_type != IterVar.CommReduce:
        raise ScheduleError(
            f"rfactor {stage.name}: axis {axis.var.name} is not a reduction axis; those are "
            f"{', '.join(iv.var.name for iv in stage.leaf_iter_vars if iv.iter_type == 2)}"
        )
    ndim = len(op.axis)
    if not -ndim - 1 <= factor_axis <= ndim:
        raise ScheduleError(
            f"rfactor {stage.name}: expected factor_axis in {-ndim - 1}..{ndim}, but got "
            f"{factor_axis}"
        )
    if factor_axis < 0:
        factor_axis += ndim + 1
    partial_op, touched = _partial(stage, op, axis, factor_axis)
    position = schedule.stages.index(stage)
    new_stage = _insert(schedule, position, partial_op, stage)
    _keep_relations(stage, new_stage, touched)
    # the rest of the reduction
    first = op.body[0]
    extent = partial_op.axis[factor_axis].dom.extent
    dom = Range.from_min_extent(IntImm(extent.dtype, 0), extent)
    last = IterVar(dom, Var(axis.var.name + ".v", axis.var.dtype), IterVar.CommReduce)
    indices: list[Any] = [iv.var for iv in op.axis]
    indices.insert(factor_axis, last.var)
    sources = [partial_op.output(k)(*indices) for k in range(op.num_outputs)]
    final = ComputeOp(
        op.name,
        op.tag,
        op.attrs,
        op.axis,
        [
            Reduce(first.combiner, sources, [last], IntImm("bool", 1), k, first.init)
            for k in range(op.num_outputs)
        ],
    )
    change: dict[Tensor, Any] = {}
    _set_op(schedule, stage, final, change)
    _reset_axes(stage)
    _propagate(schedule, change, position + 2)
    outputs = [partial_op.output(k) for k in range(op.num_outputs)]
    return outputs if len(outputs) > 1 else outputs[0]


def _ancestors(stage: Stage, axis: IterVar) -> set[int]:
    """Ids of the axes that an axis was made from, its own included."""
    found = {id(axis)}
    for relation in reversed(stage.relations):
        if any(id(iv) in found for iv in relation.makes):
            found.update(id(iv) for iv in relation.made_from)
    return found


def _partial(
    stage: Stage, op: ComputeOp, axis: IterVar, factor_axis: int
) -> tuple[ComputeOp, set[int]]:
    """The operation that computes partial results, and the ids of the axes it replaced."""
    algebra = Algebra()
    ranges: dict[IterVar, Range] = {iv: iv.dom for iv in op.root_iter_vars}
    for relation in stage.relations:
        relation.down(ranges, algebra)
    up = _ancestors(stage, axis)
    roots = [iv for iv in op.reduce_axis if id(iv) in up]
    touched = {id(iv) for iv in roots}
    for relation in stage.relations:
        if any(id(iv) in touched for iv in relation.made_from):
            touched.update(id(iv) for iv in relation.makes)
            if any(id(iv) not in touched for iv in relation.made_from):
                raise ScheduleError(
                    f"rfactor {stage.name}: axis {axis.var.name} is fused of axes of which only "
                    "some are reduced by it"
                )
    leaves = [iv for iv in stage.leaf_iter_vars if id(iv) in touched]
    fresh: dict[IterVar, IterVar] = {}
    values: dict[IterVar, Poly] = {}
    for iv in leaves:
        kind = 0 if iv is axis else IterVar.CommReduce
        dom = ranges[iv]
        new = fresh[iv] = IterVar(dom, Var(iv.var.name, iv.var.dtype), kind)
        algebra.bind(new.var, dom.min, dom.extent)
        values[iv] = algebra.poly(new.var)
    conds: list[PrimExpr] = []
    for relation in reversed(stage.relations):
        if not any(id(iv) in touched for iv in relation.made_from):
            continue
        relation.up(values, ranges, algebra)
        if isinstance(relation, Split) and not relation.exact(ranges, algebra):
            dom = ranges[relation.parent]
            dtype = relation.parent.var.dtype
            offset = add(values[relation.parent], algebra.poly(dom.min), -1)
            extent = algebra.poly(dom.extent)
            if not algebra.positive(add(extent, offset, -1)):
                conds.append(tir.LT(algebra.expr(offset, dtype), algebra.expr(extent, dtype)))
    spatial = [IterVar(iv.dom, Var(iv.var.name, iv.var.dtype), iv.iter_type) for iv in op.axis]
    mapping: dict[Var, Any] = {old.var: new.var for old, new in zip(op.axis, spatial)}
    for iv in roots:
        mapping[iv.var] = algebra.expr(values[iv], iv.var.dtype)
    first = op.body[0]
    source = [stmt_functor.substitute(value, mapping) for value in first.source]
    condition = stmt_functor.substitute(first.condition, mapping)
    for cond in reversed(conds):
        is_true = isinstance(condition, IntImm) and condition.value
        condition = cond if is_true else tir.And(cond, condition)
    left = [fresh[iv] for iv in leaves if iv is not axis]
    left += [iv for iv in op.reduce_axis if id(iv) not in touched]
    spatial.insert(factor_axis, fresh[axis])
    body: list[Any]
    if left:
        body = [Reduce(first.combiner, source, left, condition, k) for k in range(op.num_outputs)]
    elif isinstance(condition, IntImm) and condition.value:
        body = source
    else:
        start = first.combiner.identity_element
        body = [tir.if_then_else(condition, s, e) for s, e in zip(source, start)]
    return ComputeOp(op.name + ".rf", op.tag, op.attrs, spatial, body), touched


def _keep_relations(old: Stage, new: Stage, touched: set[int]) -> None:
    """Splits of reduction axes that were not touched hold for the partial results too."""
    known = {id(iv) for iv in new.op.reduce_axis}
    for relation in old.relations:
        if any(id(iv) in touched for iv in relation.made_from):
            continue
        if not relation.made_from or not all(id(iv) in known for iv in relation.made_from):
            continue
        known.update(id(iv) for iv in relation.makes)
        new.relations.append(relation)
        new.all_iter_vars += relation.makes
        position = min(
            k
            for k, leaf in enumerate(new.leaf_iter_vars)
            if any(leaf is iv for iv in relation.made_from)
        )
        new.leaf_iter_vars = [
            leaf for leaf in new.leaf_iter_vars if not any(leaf is iv for iv in relation.made_from)
        ]
        new.leaf_iter_vars[position:position] = list(relation.makes)


def create_group(
    schedule: Schedule, outputs: list[Tensor], inputs: list[Tensor], include_inputs: bool
) -> Stage:
    """The stages between inputs and outputs as a group; see ``Schedule.create_group``."""
    begin = {id(schedule[t]) for t in inputs}
    members: dict[int, Stage] = {}

    def reaches(stage: Stage) -> bool:
        """Whether a stage lies between; fills in the members on the way."""
        if id(stage) in begin:
            if include_inputs:
                members[id(stage)] = stage
            return True
        if id(stage) in seen:
            return seen[id(stage)]
        seen[id(stage)] = False
        found = False
        for tensor in stage.op.input_tensors:
            found |= reaches(schedule[tensor])
        seen[id(stage)] = found
        if found:
            members[id(stage)] = stage
        return found

    seen: dict[int, bool] = {}
    for tensor in outputs:
        reaches(schedule[tensor])
    if not members:
        raise ScheduleError("create_group: nothing lies between the inputs and the outputs")
    group = Stage(None, schedule)
    parents = {id(stage.group): stage.group for stage in members.values()}
    if len(parents) == 1:
        group.group = next(iter(parents.values()))
    for stage in members.values():
        stage.group = group
        group.num_child_stages += 1
    schedule.groups.append(group)
    return group
