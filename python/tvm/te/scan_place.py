"""Where the parts of a scan run, and what its steps depend on.

The stages between the state placeholders and the updates form a group that runs inside the scan's
loop. Initial rows and steps are written straight into the scan's own memory where that is possible,
else they are copied:

    realize scan([0 : m], [0 : n])
        scan[0, i] = X[0, i]                            init
        for t in range(1, m):
            scan[t, i] = scan[t - 1, i] + X[t, i]       update, state placeholder
"""

from __future__ import annotations

from tvm import tir
from tvm.arith.index_algebra import Algebra, add, constant
from tvm.error import ScheduleError
from tvm.ir.expr import Range
from tvm.tir import IntImm, IterVar, ProducerLoad, Var, stmt_functor
from tvm.tir.stmt_functor import StmtExprMutator

from .operation import ComputeOp, Operation, loads_of
from .scan_op import ScanOp
from .stage import Stage
from .tensor import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tvm.tir import Stmt

    from .bounds import Place
    from .schedule import Schedule


def scan_get_body(scan: ScanOp) -> tuple[Operation, ...]:
    """The operations of one step: what lies between states or inputs and the updates."""
    from .schedule import PostDFSOrder

    updates = {t.op for t in scan.update}
    ends = {t.op for t in (*scan.state_placeholder, *scan.inputs)}
    found = set(ends)
    body = []
    for op in PostDFSOrder(list(dict.fromkeys(t.op for t in scan.update))):
        # an update that depends on nothing of the scan is a step of it all the same
        if op not in ends and (op in updates or any(t.op in found for t in op.input_tensors)):
            found.add(op)
            body.append(op)
    return tuple(body)


def _members(schedule: Schedule, scan: ScanOp) -> list[Stage]:
    """The stages that run inside the steps."""
    body = list(scan_get_body(scan))
    state = {t.op for t in scan.state_placeholder}
    updates = {t.op for t in scan.update}
    for op in body:
        if any(t.op in state for t in op.input_tensors):
            state.add(op)
    inside = {scan, *body}
    # what depends on inputs alone and is needed elsewhere too stays outside
    for op in reversed(body):
        users = [
            stage.op for stage in schedule.stages if any(t.op is op for t in stage.op.input_tensors)
        ]
        if schedule.stage_map[op].is_output or any(user not in inside for user in users):
            if op in state or op in updates:
                raise ScheduleError(
                    f"scan {scan.name}: {op.name} is computed inside the steps, but is needed "
                    "outside of them too; compute it a second time for that"
                )
            inside.discard(op)
    return [schedule.stage_map[op] for op in body if op in inside]


def place_scans(schedule: Schedule) -> None:
    """Group the stages of each scan's steps and attach the group to the scan's loop."""
    # later scans first: a scan in the steps of another one nests its group
    for stage in reversed(list(schedule.stages)):
        if not isinstance(stage.op, ScanOp):
            continue
        refuse_later_rows(stage.op)
        group = Stage(None, schedule)
        for member in _members(schedule, stage.op):
            group.group = member.group
            member.group = group
            group.num_child_stages += 1
        group.attach_type = Stage.SCAN_UPDATE
        group.attach_stage = stage
        group.attach_ivar = stage.op.scan_axis
        schedule.groups.append(group)


class Aliases:
    """Which tensors live in a scan's memory, and which are copied into it.

    Attributes
    ----------
    tensors : dict of Tensor to Tensor
        Tensors that are written or read in place of a scan's output.
    begins : dict of Stage to list of Stage
        The stage from which on the memory of scans is needed.
    """

    def __init__(self, schedule: Schedule, paths: dict[Stage, list[Place]]) -> None:
        self.tensors: dict[Tensor, Tensor] = {}
        self.begins: dict[Stage, list[Stage]] = {}
        self.deferred: set[Stage] = set()
        stages = {stage.op: stage for stage in schedule.stages}
        order = {stage: k for k, stage in enumerate(schedule.stages)}
        written: set[Tensor] = set()
        for stage in schedule.stages:
            if not isinstance(stage.op, ScanOp):
                continue
            scan = stage.op
            first: Stage | None = None
            for k in range(scan.num_outputs):
                target = scan.output(k)
                self.tensors[scan.state_placeholder[k]] = target
                for tensor in (scan.init[k], scan.update[k]):
                    other = stages[tensor.op]
                    is_init = tensor is scan.init[k]
                    here = not is_init or paths.get(other, [None]) == paths[stage]
                    if (
                        not isinstance(tensor.op, ComputeOp)
                        or other.is_output
                        or other.scope
                        or tensor in written
                        or not here
                    ):
                        continue
                    written.add(tensor)
                    self.tensors[tensor] = target
                    if is_init and (first is None or order[other] < order[first]):
                        first = other
            if first is not None and not stage.is_output:
                self.begins.setdefault(first, []).append(stage)
                self.deferred.add(stage)

    def copies(self, scan: ScanOp, init: bool, ranges: dict[IterVar, Range]) -> list[Stmt]:
        """Statements that copy initial rows, or one step, into the scan's memory."""
        out: list[Stmt] = []
        for k, tensor in enumerate(scan.init if init else scan.update):
            target = scan.output(k)
            if self.tensors.get(tensor) == target:
                continue
            domains = [ranges[iv] for iv in scan.spatial_axes(k)]
            row = scan.scan_axis.var
            if init:
                row = Var("c0", row.dtype)
            loops = [Var(f"c{d}", dom.extent.dtype) for d, dom in enumerate(domains, 1)]
            indices = [row, *[dom.min + loop for dom, loop in zip(domains, loops)]]
            body: Stmt = tir.ProducerStore(target, ProducerLoad(tensor, indices), indices)
            for iv, dom, index in zip(scan.spatial_axes(k), domains, indices[1:]):
                if dom is not iv.dom:
                    # what is inferred may be more than there is
                    inside = tir.all(index >= 0, index < iv.dom.extent)
                    body = tir.IfThenElse(tir.likely(inside), body)
            for dom, loop in reversed(list(zip(domains, loops))):
                body = tir.For(loop, IntImm(loop.dtype, 0), dom.extent, 0, body)
            if init:
                body = tir.For(row, IntImm(row.dtype, 0), scan.scan_axis.dom.min, 0, body)
            out.append(body)
        return out

    def rewrite(self, body: Stmt) -> Stmt:
        """The program with the aliased tensors replaced."""
        return _Rename(self.tensors)(body) if self.tensors else body


class _Rename(StmtExprMutator):
    def __init__(self, tensors: dict[Tensor, Tensor]) -> None:
        self._tensors = tensors

    def visit_producer_load_(self, op: Any) -> Any:
        made = super().visit_producer_load_(op)
        target = self._tensors.get(made.producer)
        return made if target is None else ProducerLoad(target, made.indices)

    def visit_producer_store_(self, op: Any) -> Any:
        made = super().visit_producer_store_(op)
        target = self._tensors.get(made.producer)
        return made if target is None else tir.ProducerStore(target, made.value, made.indices)

    def visit_attr_stmt_(self, op: Any) -> Any:
        made = super().visit_attr_stmt_(op)
        node = made.node
        if isinstance(node, tuple) and node[-1] in self._tensors:
            node = (*node[:-1], self._tensors[node[-1]])
            return tir.AttrStmt(node, made.attr_key, made.value, made.body)
        return made


# ---- analysis


def scan_fix_point_analysis(scan: ScanOp) -> dict[IterVar, IntImm]:
    """Which dimensions of a scan go through its steps unchanged.

    Returns
    -------
    dict of IterVar to IntImm
        For each of ``spatial_axis_`` 1 if index i of a row depends on index i of earlier rows
        only, else 0.
    """
    body = scan_get_body(scan)
    dims = [(k, d) for k in range(scan.num_outputs) for d in range(1, scan.update[k].ndim)]
    # what a position of a tensor must be for the dimension to go through: an output's dimension
    marks: dict[tuple[Tensor, int], set[int]] = {}
    good = [True] * len(dims)
    number = {dim: position for position, dim in enumerate(dims)}
    for (k, d), position in number.items():
        marks.setdefault((scan.update[k], d), set()).add(position)
    states = {tensor: k for k, tensor in enumerate(scan.state_placeholder)}
    members = set(body)

    def spoil(positions: Any) -> None:
        for position in positions:
            good[position] = False

    # consumers first: what is asked of a tensor is known when its operation is looked at
    for op in _consumers_first(body):
        if not isinstance(op, ComputeOp):
            for k in range(op.num_outputs):
                for d in range(len(op.output_shape(k))):
                    spoil(marks.get((op.output(k), d), ()))
            for tensor in op.input_tensors:
                spoil(n for (k, _), n in number.items() if scan.state_placeholder[k] == tensor)
            continue
        asked: dict[int, set[int]] = {}
        for k in range(op.num_outputs):
            for d in range(len(op.axis)):
                asked.setdefault(d, set()).update(marks.get((op.output(k), d), ()))
        for load in loads_of(op):
            tensor = load.producer
            if tensor.op not in members and tensor not in states:
                continue
            if tensor in states:
                # what it reads must be asked of it: the same dimension's own index
                own = {
                    p: asked[d]
                    for d, iv in enumerate(op.axis)
                    for p, index in enumerate(load.indices)
                    if index is iv.var
                }
                for p in range(1, len(load.indices)):
                    if number[states[tensor], p] not in own.get(p, ()):
                        spoil([number[states[tensor], p]])
            for d, iv in enumerate(op.axis):
                wanted = asked[d]
                if not wanted:
                    continue
                at = [p for p, index in enumerate(load.indices) if index is iv.var]
                loose = [
                    p for p, index in enumerate(load.indices)
                    if index is not iv.var and stmt_functor.uses_var(index, iv.var)
                ]  # fmt: skip
                if tensor in states:
                    k = states[tensor]
                    fits = {number[k, p] for p in at if p} if len(at) == 1 else set()
                    spoil(p for p in wanted if p not in fits or loose)
                elif len(at) == 1 and not loose:
                    marks.setdefault((tensor, at[0]), set()).update(wanted)
                else:
                    spoil(wanted)
    return {iv: IntImm("int32", int(fine)) for iv, fine in zip(scan.spatial_axis_, good)}


def _consumers_first(body: tuple[Operation, ...]) -> list[Operation]:
    order: list[Operation] = []
    members, seen = set(body), set()

    def visit(op: Operation) -> None:
        if op in seen or op not in members:
            return
        seen.add(op)
        for tensor in op.input_tensors:
            visit(tensor.op)
        order.append(op)

    for op in body:
        visit(op)
    return order[::-1]


def refuse_later_rows(scan: ScanOp) -> None:
    """Refuse updates that provably read the row they write, or a later one, of a state."""
    states = set(scan.state_placeholder)
    algebra = Algebra()
    for op in dict.fromkeys(t.op for t in scan.update):
        if not isinstance(op, ComputeOp):
            continue
        row = op.axis[0].var
        for load in loads_of(op):
            if load.producer not in states:
                continue
            ahead = constant(add(algebra.poly(load.indices[0]), algebra.poly(row), -1))
            if ahead is not None and ahead >= 0:
                raise ScheduleError(
                    f"scan {scan.name}: {op.name} reads row {load.indices[0]} of the state while "
                    f"it computes row {row}; only earlier rows are known"
                )
