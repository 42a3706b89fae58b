"""Schedules as plain data, for JSON and pickle."""

from __future__ import annotations

from .schedule import Schedule
from .stage import Stage
from .stage_place import IterVarAttr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# what a stage is made of besides its links to other stages
_FIELDS = (
    "op",
    "origin_op",
    "all_iter_vars",
    "leaf_iter_vars",
    "env_threads_",
    "store_predicate",
    "relations",
    "attach_type",
    "attach_ivar",
    "scope",
    "is_output",
    "double_buffered",
    "rolling_buffered",
    "num_child_stages",
)
_LISTS = ("all_iter_vars", "leaf_iter_vars", "env_threads_", "relations")


def to_state(schedule: Schedule) -> dict[str, Any]:
    """Everything that a schedule holds; stages and groups refer to each other by number."""
    everything = [*schedule.stages, *schedule.groups]
    numbers = {stage: k for k, stage in enumerate(everything)}
    stages = []
    for stage in everything:
        record: dict[str, Any] = {name: getattr(stage, name) for name in _FIELDS}
        record["attach_stage"] = numbers.get(stage.attach_stage, -1)  # type: ignore[arg-type]
        record["group"] = numbers.get(stage.group, -1)  # type: ignore[arg-type]
        record["iter_var_attrs"] = [
            [iv, {name: getattr(attr, name) for name in attr.__slots__}]
            for iv, attr in stage.iter_var_attrs.items()
        ]
        stages.append(record)
    return {
        "outputs": schedule.outputs,
        "stages": stages,
        "count": len(schedule.stages),
        "operations": [[op, numbers[stage]] for op, stage in schedule.stage_map.items()
                       if stage in numbers],
    }  # fmt: skip


def from_state(state: dict[str, Any]) -> Schedule:
    """The schedule that `to_state` described."""
    schedule = Schedule.__new__(Schedule)
    schedule.outputs = list(state["outputs"])
    everything = [Stage(None, schedule) for _ in state["stages"]]
    for stage, record in zip(everything, state["stages"]):
        for name in _FIELDS:
            value = record[name]
            setattr(stage, name, list(value or ()) if name in _LISTS else value)
        stage.iter_var_attrs = {}
        for iv, values in record["iter_var_attrs"]:
            attr = stage.iter_var_attrs[iv] = IterVarAttr()
            for name, value in values.items():
                setattr(attr, name, list(value) if isinstance(value, tuple) else value)
        if record["attach_stage"] >= 0:
            stage.attach_stage = everything[record["attach_stage"]]
        if record["group"] >= 0:
            stage.group = everything[record["group"]]
    count = state["count"]
    schedule.stages, schedule.groups = everything[:count], everything[count:]
    schedule.stage_map = {op: everything[number] for op, number in state["operations"]}
    return schedule
