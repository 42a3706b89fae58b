"""Changing a stage's layout: its tensor gets other dimensions, its readers read it there.

    B[i, j] = A[i, j] + 1           ->    B[i, c, k] = A[i, c*4 + k] + 1
    C[i, j] = B[i, j] * 2                 C[i, j] = B[i, j // 4, j % 4] * 2

    s[B].transform_layout(lambda i, j: [i, j // 4, j % 4])

Elements of the new tensor that come from nowhere are 0.
"""

from __future__ import annotations

from tvm import tir
from tvm.arith.index_map import IndexMap
from tvm.error import ScheduleError
from tvm.ir.expr import Range
from tvm.tir import IntImm, IterVar, ProducerLoad, Reduce, Var, stmt_functor

from .dataflow import _propagate, _reset_axes, _set_op
from .operation import ComputeOp, PlaceholderOp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .stage import Stage


def transform_layout(stage: Stage, mapping: Callable[..., Any]) -> list[IterVar]:
    """Give the tensor of a stage other dimensions; see ``Stage.transform_layout``."""
    op = stage.op
    if stage.relations:
        raise stage._refuse("transform_layout", "its axes were split or fused already")
    if not isinstance(op, (ComputeOp, PlaceholderOp)):
        raise stage._refuse(
            "transform_layout",
            f"only te.compute and te.placeholder have a layout, this is a {type(op).__name__}",
        )
    shape = op.output(0).shape
    dtype = shape[0].dtype if shape else "int32"
    index_map, separators = IndexMap.from_func_with_separators(
        mapping, len(shape), index_dtype=dtype
    )
    try:
        inverse, outside = index_map.non_surjective_inverse(shape)
    except ValueError as err:
        raise ScheduleError(f"stage {stage.name}: transform_layout: {err}") from err
    extents = index_map.map_shape(shape)
    made: Any
    if isinstance(op, PlaceholderOp):
        made = PlaceholderOp(op.name, extents, op.dtype)
    else:
        made = _computed(op, inverse, outside, extents)
    schedule = stage.schedule
    old = [op.output(k) for k in range(op.num_outputs)]
    change: dict[Any, Any] = {}
    _set_op(schedule, stage, made, change)
    for k, tensor in enumerate(old):
        change[tensor] = _reader(made.output(k), index_map)
    _reset_axes(stage)
    stage.layout_transforms.append((index_map, tuple(separators)))
    _propagate(schedule, change, schedule.stages.index(stage) + 1)
    return list(made.axis) if isinstance(made, ComputeOp) else []


def _reader(tensor: Any, index_map: IndexMap) -> Callable[[ProducerLoad], Any]:
    def read(load: ProducerLoad) -> Any:
        mapping = dict(zip(index_map.initial_indices, load.indices))
        indices = [stmt_functor.substitute(item, mapping) for item in index_map.final_indices]
        return ProducerLoad(tensor, indices)

    return read


def _computed(op: ComputeOp, inverse: IndexMap, outside: Any, extents: list[Any]) -> ComputeOp:
    domains = [Range.from_min_extent(IntImm(extent.dtype, 0), extent) for extent in extents]
    axis = [IterVar(dom, Var(f"axis{k}", dom.extent.dtype)) for k, dom in enumerate(domains)]
    new = [iv.var for iv in axis]
    back = dict(zip((iv.var for iv in op.axis), inverse.map_indices(new)))
    rename = dict(zip(inverse.initial_indices, new))
    always = isinstance(outside, IntImm)
    inside = None if always else tir.Not(stmt_functor.substitute(outside, rename))
    first = op.body[0]
    if not isinstance(first, Reduce):
        body = [stmt_functor.substitute(value, back) for value in op.body]
        if inside is not None:
            body = [tir.if_then_else(inside, v, tir.const(0, v.dtype)) for v in body]
        return ComputeOp(op.name, op.tag, op.attrs, axis, body)
    source = [stmt_functor.substitute(value, back) for value in first.source]
    init = [stmt_functor.substitute(value, back) for value in first.init]
    condition = stmt_functor.substitute(first.condition, back)
    if inside is not None:
        plain = isinstance(condition, IntImm) and condition.value
        condition = inside if plain else tir.And(inside, condition)
    reduces = [
        Reduce(first.combiner, source, first.axis, condition, k, init) for k in range(len(op.body))
    ]
    return ComputeOp(op.name, op.tag, op.attrs, axis, reduces)
