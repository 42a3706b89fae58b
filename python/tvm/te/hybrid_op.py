"""Operations whose body is a hybrid script: loops that a schedule may change."""

from __future__ import annotations

from tvm import tir
from tvm.error import ScheduleError
from tvm.tir import ForKind, IntImm, IterVar, Var, stmt_functor
from tvm.tir.stmt_functor import StmtExprMutator

from .extern_op import ExternOp
from .relations import Fuse, Split
from .tensor import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tvm.tir import Stmt

    from .stage import Stage

_KINDS = {
    IterVar.Unrolled: ForKind.UNROLLED,
    IterVar.Vectorized: ForKind.VECTORIZED,
    IterVar.Parallelized: ForKind.PARALLEL,
}


class HybridOp(ExternOp):
    """Outputs computed by the loops of a hybrid script.

    Other than for te.compute, a schedule can change the result here: whether the script's loops
    may change places or run in parallel is known to its author only.

    Attributes
    ----------
    axis : tuple of IterVar
        The loops, in the order in which they stand in the script.
    """

    __slots__ = ("axis",)

    type_key = "HybridOp"
    FIELDS = (
        "name:n tag:x attrs:r inputs:r input_placeholders:ds output_placeholders:ds axis:r body:s"
    )

    def __init__(
        self,
        name: str,
        tag: str,
        attrs: Any,
        inputs: Any,
        input_placeholders: Any,
        output_placeholders: Any,
        body: Any,
        axis: Any,
    ) -> None:
        super().__init__(name, tag, attrs, inputs, input_placeholders, output_placeholders, body)
        self.axis = tuple(axis)

    def with_inputs(self, inputs: list[Tensor]) -> HybridOp:
        """The same script over other tensors."""
        return HybridOp(
            self.name,
            self.tag,
            self.attrs,
            inputs,
            self.input_placeholders,
            self.output_placeholders,
            self.body,
            self.axis,
        )


def scheduled_body(stage: Stage, op: HybridOp) -> Stmt:
    """The script's loops as a schedule wants them.

    Raises
    ------
    ScheduleError
        If loops that are to change places or to become one do not stand directly inside each
        other.
    """
    body = op.body
    for relation in stage.relations:
        if isinstance(relation, Split):
            body = _Split(relation).apply(stage, body)
        elif isinstance(relation, Fuse):
            body = _Fuse(relation).apply(stage, body)
    body = _order(stage, body)
    kinds = {
        iv.var: _KINDS[stage.kind_of(iv)]
        for iv in stage.leaf_iter_vars
        if stage.kind_of(iv) in _KINDS
    }
    return _Annotate(kinds)(body) if kinds else body


class _OneLoop(StmtExprMutator):
    """Changes the loop over one axis."""

    def __init__(self, iv: IterVar) -> None:
        self.iv = iv
        self.found = False

    def apply(self, stage: Stage, body: Stmt) -> Stmt:
        body = self(body)
        if not self.found:
            raise ScheduleError(
                f"stage {stage.name}: axis {self.iv.var.name} is no loop of the script any more"
            )
        return body

    def visit_for_(self, op: Any) -> Any:
        if op.loop_var is self.iv.var:
            self.found = True
            return self.change(op)
        return super().visit_for_(op)

    def change(self, op: Any) -> Any:
        """What stands for the loop."""
        raise NotImplementedError


class _Split(_OneLoop):
    def __init__(self, relation: Split) -> None:
        super().__init__(relation.parent)
        self.relation = relation

    def change(self, op: Any) -> Any:
        relation = self.relation
        outer, inner = relation.outer.var, relation.inner.var
        given = relation.factor if relation.factor is not None else relation.nparts
        other = tir.ceildiv(op.extent, given)
        counts = (other, given) if relation.factor is not None else (given, other)
        value = outer * counts[1] + inner
        body = stmt_functor.substitute(op.body, {op.loop_var: value})
        exact = tir.EQ(counts[0] * counts[1], op.extent)
        if not (isinstance(exact.a, IntImm) and bool(exact)):
            body = _inside(body, tir.likely(tir.LT(value, op.extent)))
        zero = IntImm(op.loop_var.dtype, 0)
        body = tir.For(inner, zero, counts[1], op.kind, body)
        return tir.For(outer, zero, counts[0], op.kind, body)


def _inside(body: Stmt, cond: Any) -> Stmt:
    """A guard, inside the loops that stand directly inside each other: they can still move."""
    if isinstance(body, tir.For):
        return tir.For(
            body.loop_var, body.min, body.extent, body.kind, _inside(body.body, cond),
            body.thread_binding, body.annotations,
        )  # fmt: skip
    return tir.IfThenElse(cond, body)


class _Fuse(_OneLoop):
    def __init__(self, relation: Fuse) -> None:
        super().__init__(relation.outer)
        self.relation = relation

    def change(self, op: Any) -> Any:
        relation, inner = self.relation, op.body
        if not isinstance(inner, tir.For) or inner.loop_var is not relation.inner.var:
            raise ScheduleError(
                f"fuse {relation.outer.var.name}, {relation.inner.var.name}: the second loop does "
                "not stand directly inside the first"
            )
        fused = relation.fused.var
        size = tir.cast(inner.extent, fused.dtype)
        mapping = {
            op.loop_var: tir.cast(tir.floordiv(fused, size), op.loop_var.dtype),
            inner.loop_var: tir.cast(tir.floormod(fused, size), inner.loop_var.dtype),
        }
        body = stmt_functor.substitute(inner.body, mapping)
        extent = tir.cast(op.extent, fused.dtype) * size
        return tir.For(fused, IntImm(fused.dtype, 0), extent, op.kind, body)


def _order(stage: Stage, body: Stmt) -> Stmt:
    """Loops in the order of the leaf axes, within nests that stand directly inside each other."""
    place = {iv.var: k for k, iv in enumerate(stage.leaf_iter_vars)}

    class Reorder(StmtExprMutator):
        def visit_for_(self, op: Any) -> Any:
            nest, inside = [op], op.body
            while isinstance(inside, tir.For) and inside.loop_var in place:
                nest.append(inside)
                inside = inside.body
            wanted = sorted(nest, key=lambda loop: place.get(loop.loop_var, -1))
            inside = self.visit(inside)
            for loop in reversed(wanted):
                inside = tir.For(
                    loop.loop_var, loop.min, loop.extent, loop.kind, inside, loop.thread_binding,
                    loop.annotations,
                )  # fmt: skip
            return inside

    def in_order(body: Stmt) -> bool:
        found: list[Var] = []
        stmt_functor.pre_order_visit(
            body, lambda node: found.append(node.loop_var) if isinstance(node, tir.For) else None
        )
        places = [place[var] for var in found if var in place]
        return places == sorted(places)

    if in_order(body):
        return body
    body = Reorder()(body)
    if not in_order(body):
        raise ScheduleError(
            f"stage {stage.name}: reorder: only loops that stand directly inside each other can "
            "change places in a hybrid script"
        )
    return body


class _Annotate(StmtExprMutator):
    def __init__(self, kinds: dict[Var, ForKind]) -> None:
        self._kinds = kinds

    def visit_for_(self, op: Any) -> Any:
        made = super().visit_for_(op)
        kind = self._kinds.get(made.loop_var)
        if kind is None:
            return made
        return tir.For(made.loop_var, made.min, made.extent, kind, made.body)


__all__ = ["HybridOp", "scheduled_body"]
