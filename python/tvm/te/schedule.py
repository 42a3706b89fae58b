"""Schedules: how the stages of a computation run."""

from __future__ import annotations

from tvm import tir
from tvm.error import ScheduleError, TypeError_
from tvm.ir.base import STATE_CLASSES
from tvm.runtime.object import Object
from tvm.tir import Buffer, IterVar

from .operation import ComputeOp, Operation, PlaceholderOp
from .relations import Fuse, IterVarRelation, Singleton, Split
from .scan_op import ScanOp
from .stage import Stage
from .stage_place import IterVarAttr
from .tensor import Tensor, as_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "AutoInlineBroadcast",
    "AutoInlineElemWise",
    "AutoInlineInjective",
    "Buffer",
    "CreateAttachPath",
    "CreateReadGraph",
    "Fuse",
    "InferBound",
    "IterVar",
    "IterVarAttr",
    "IterVarRelation",
    "PostDFSOrder",
    "ScanFixPointAnalysis",
    "ScanGetBody",
    "Schedule",
    "ScheduleOps",
    "SchedulePostProcToPrimFunc",
    "Singleton",
    "Split",
    "Stage",
    "create_schedule",
]


class Schedule(Object):
    """How the operations that lead to some outputs run.

    Make it with `create_schedule`; ``s[tensor]`` is the stage that computes a tensor.

    Attributes
    ----------
    stages : list of Stage
        Producers before their consumers.
    outputs : list of Operation
        The operations whose tensors the caller brings memory for.
    """

    __slots__ = ("outputs", "stages", "groups", "stage_map")

    type_key = "Schedule"

    def __init__(self, outputs: list[Operation]) -> None:
        self.outputs = list(outputs)
        self.stages: list[Stage] = []
        self.groups: list[Stage] = []
        # every operation a stage ever had leads to it, so that old tensors stay usable
        self.stage_map: dict[Operation, Stage] = {}
        for op in PostDFSOrder(self.outputs):
            stage = Stage(op, self)
            stage.is_output = any(op is out for out in self.outputs)
            self.stages.append(stage)
            self.stage_map[op] = stage
        if any(isinstance(stage.op, ScanOp) for stage in self.stages):
            from .scan_place import place_scans

            place_scans(self)

    def __getitem__(self, key: Any) -> Stage:
        if isinstance(key, Tensor):
            key = key.op
        if isinstance(key, Stage):
            key = key.op
        if not isinstance(key, Operation):
            raise TypeError_(
                f"schedule: expected a tensor or an operation in brackets, but got "
                f"{type(key).__name__}"
            )
        stage = self.stage_map.get(key)
        if stage is None:
            raise ScheduleError(
                f"schedule: no stage computes {key.name} here; the stages are "
                f"{', '.join(s.op.name for s in self.stages)}"
            )
        return stage

    def normalize(self) -> Schedule:
        """Check that every stage is where it can be, and inline the stages asked for.

        Returns
        -------
        Schedule
            A new schedule without inlined stages; this one stays as it is.

        Raises
        ------
        ScheduleError
            If a reduction or an output is inlined, or a stage is attached where its consumers are
            not.
        """
        from .inline import inlined

        return inlined(self)

    def copy(self) -> Schedule:
        """A schedule that can change without changing this one."""
        other = Schedule.__new__(Schedule)
        other.outputs = list(self.outputs)
        renamed: dict[Stage, Stage] = {}
        for stage in [*self.stages, *self.groups]:
            renamed[stage] = stage._copy(other)
        for stage in renamed.values():
            stage.attach_stage = renamed.get(stage.attach_stage, stage.attach_stage)  # type: ignore[arg-type]
            stage.group = renamed.get(stage.group, stage.group)  # type: ignore[arg-type]
        other.stages = [renamed[stage] for stage in self.stages]
        other.groups = [renamed[stage] for stage in self.groups]
        other.stage_map = {
            op: renamed[stage] for op, stage in self.stage_map.items() if stage in renamed
        }
        return other

    def create_group(self, outputs: Any, inputs: Any, include_inputs: bool = False) -> Stage:
        """A group of stages that are attached together.

        Parameters
        ----------
        outputs, inputs : Tensor or list of Tensor
            The group is what lies between them.
        include_inputs : bool
            Whether the operations of ``inputs`` belong to it.

        Returns
        -------
        Stage
            The group; ``compute_at`` moves all its members.
        """
        from .dataflow import create_group

        return create_group(self, _tensors(outputs), _tensors(inputs), include_inputs)

    def cache_read(self, tensor: Tensor, scope: str, readers: Any) -> Tensor:
        """A stage that copies ``tensor``, for some of its readers.

        Parameters
        ----------
        tensor : Tensor
            What is copied.
        scope : str
            Where the copy lives, for instance ``"local"``.
        readers : list of Tensor or Operation
            Who reads the copy.

        Returns
        -------
        Tensor
            The copy.
        """
        from .dataflow import cache_read

        return cache_read(self, tensor, scope, _operations(readers))

    def cache_write(self, tensor: Any, scope: str) -> Any:
        """A stage that computes ``tensor`` elsewhere; the tensor's own stage becomes a copy.

        Parameters
        ----------
        tensor : Tensor or list of Tensor
            All outputs of one operation that has not been scheduled yet.
        scope : str
            Where it is computed, for instance ``"local"``.

        Returns
        -------
        Tensor or list of Tensor
            What the new stage computes.
        """
        from .dataflow import cache_write

        return cache_write(self, tensor, scope)

    def rfactor(self, tensor: Tensor, axis: IterVar, factor_axis: int = 0) -> Any:
        """Make a reduction axis an axis of partial results.

        Parameters
        ----------
        tensor : Tensor
            The reduction.
        axis : IterVar
            A leaf axis that comes from its reduction axes.
        factor_axis : int
            Where the new dimension goes.

        Returns
        -------
        Tensor or list of Tensor
            The partial results.
        """
        from .dataflow import rfactor

        return rfactor(self, tensor, axis, factor_axis)

    def show(self) -> None:
        """Print the loops of all stages as a tree, each stage where it runs."""
        from .schedule_view import show

        show(self)

    def to_state(self) -> dict[str, Any]:
        """Everything it holds as plain data, for JSON."""
        from .schedule_state import to_state

        return to_state(self)

    @staticmethod
    def from_state(state: dict[str, Any]) -> Schedule:
        """The schedule that `to_state` described."""
        from .schedule_state import from_state

        return from_state(state)

    def __reduce__(self) -> tuple[Any, ...]:
        return as_json(self)

    def __str__(self) -> str:
        lines = ["schedule"]
        lines += [
            f"  {stage.describe()}"
            for stage in self.stages
            if not isinstance(stage.op, PlaceholderOp)
        ]
        return "\n".join(lines)

    __repr__ = __str__


STATE_CLASSES["Schedule"] = Schedule


def _tensors(value: Any) -> list[Tensor]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _operations(value: Any) -> list[Operation]:
    items = list(value) if isinstance(value, (list, tuple)) else [value]
    return [item.op if isinstance(item, (Tensor, Stage)) else item for item in items]


def create_schedule(ops: Any) -> Schedule:
    """A schedule that computes everything row by row, each tensor in its own loops.

    Parameters
    ----------
    ops : Operation, Tensor or list of them
        The outputs.

    Returns
    -------
    Schedule

    Examples
    --------
    >>> from tvm import te
    >>> A = te.placeholder((8,), name="A")
    >>> B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    >>> s = te.create_schedule(B.op)
    >>> outer, inner = s[B].split(B.op.axis[0], factor=4)
    """
    outputs: list[Operation] = []
    for op in _operations(ops):
        if not isinstance(op, Operation):
            raise TypeError_(
                f"create_schedule: expected operations (tensor.op), but got {type(op).__name__}"
            )
        if not any(op is other for other in outputs):
            outputs.append(op)
    if not outputs:
        raise ScheduleError("create_schedule: expected at least one operation")
    return Schedule(outputs)


def PostDFSOrder(outputs: Any, read_graph: Any = None) -> list[Operation]:
    """All operations that lead to the outputs, producers first."""
    order: list[Operation] = []
    seen: set[int] = set()
    # iterative: chains of thousands of operations are real
    stack: list[tuple[Operation, bool]] = [(op, False) for op in reversed(list(outputs))]
    while stack:
        op, done = stack.pop()
        if done:
            order.append(op)
            continue
        if id(op) in seen:
            continue
        seen.add(id(op))
        stack.append((op, True))
        stack += [(t.op, False) for t in reversed(op.input_tensors) if id(t.op) not in seen]
    return order


def CreateReadGraph(outputs: Any) -> dict[Operation, tuple[Tensor, ...]]:
    """The tensors that each operation reads."""
    return {op: op.input_tensors for op in PostDFSOrder(outputs)}


def CreateAttachPath(schedule: Schedule) -> dict[Operation, tuple[IterVar, ...]]:
    """The loops around the place where each operation is computed, innermost first."""
    from .bounds import attach_path

    out = {}
    for stage in schedule.stages:
        loops: list[IterVar] = []
        if stage.is_computed:
            for parent, position in attach_path(stage):
                loops += parent.leaf_iter_vars[: position + 1]
        out[stage.op] = tuple(reversed(loops))
    return out


def ScanGetBody(scan: ScanOp) -> tuple[Operation, ...]:
    """The operations that one step of a scan computes."""
    from .scan_place import scan_get_body

    return scan_get_body(scan)


def ScanFixPointAnalysis(scan: ScanOp) -> dict[IterVar, Any]:
    """For each other dimension of a scan whether it goes through the steps unchanged, 1 or 0."""
    from .scan_place import scan_fix_point_analysis

    return dict(scan_fix_point_analysis(scan))


def InferBound(schedule: Schedule) -> dict[IterVar, Any]:
    """The range of every axis of a normalised schedule."""
    from .bounds import infer_bound

    return infer_bound(schedule)


def ScheduleOps(schedule: Schedule, bounds: Any, debug_keep_trivial_loop: bool = False) -> Any:
    """The loop program of a normalised schedule; tensors are still producers."""
    from .schedule_ops import schedule_ops

    return schedule_ops(schedule, dict(bounds), debug_keep_trivial_loop)


def _schedule_ops(schedule: Schedule, keep_trivial_loop: bool = False) -> Any:
    from .schedule_ops import schedule_ops

    return schedule_ops(schedule, None, keep_trivial_loop)


def SchedulePostProcToPrimFunc(args: Any, body: Any, extern_buffer_map: Any = None) -> Any:
    """A function of the loop program; tensors become buffers."""
    from .to_prim_func import to_prim_func

    return to_prim_func(list(args), body, dict(extern_buffer_map or {}))


def _auto_inline(schedule: Schedule, fits: Any) -> None:
    for stage in schedule.stages:
        op = stage.op
        if (
            isinstance(op, ComputeOp)
            and not op.reduce_axis
            and not stage.is_output
            and stage.attach_type == Stage.GROUP_ROOT
            and not stage.relations
            and fits(op)
        ):
            stage.compute_inline()


def AutoInlineInjective(schedule: Schedule) -> None:
    """Inline every stage that computes each element from single elements of others."""
    _auto_inline(schedule, lambda op: len(op.body) == 1)


def _loads(op: ComputeOp) -> list[Any]:
    found: list[Any] = []

    def visit(node: Any) -> None:
        if isinstance(node, tir.ProducerLoad):
            found.append(node)

    for value in op.body:
        tir.stmt_functor.post_order_visit(value, visit)
    return found


def AutoInlineElemWise(schedule: Schedule) -> None:
    """Inline every stage that reads only elements at its own position."""

    def fits(op: ComputeOp) -> bool:
        axis = [iv.var for iv in op.axis]
        return all(
            len(load.indices) == len(axis) and all(a is b for a, b in zip(load.indices, axis))
            for load in _loads(op)
        )

    _auto_inline(schedule, fits)


def AutoInlineBroadcast(schedule: Schedule) -> None:
    """Inline every stage whose reads are its own axes, some left out, in order."""

    def fits(op: ComputeOp) -> bool:
        axis = [iv.var for iv in op.axis]
        for load in _loads(op):
            at = 0
            for index in load.indices:
                if isinstance(index, tir.IntImm):
                    continue
                while at < len(axis) and axis[at] is not index:
                    at += 1
                if at == len(axis):
                    return False
                at += 1
        return True

    _auto_inline(schedule, fits)
