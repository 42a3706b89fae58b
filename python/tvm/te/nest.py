"""The loops of one stage: which there are, what guards them, what stands inside."""

from __future__ import annotations

from tvm import tir
from tvm.arith.index_algebra import Algebra, Poly, add
from tvm.error import ScheduleError
from tvm.tir import ForKind, IntImm, IterVar, PrimExpr, Var, stmt_functor

from .operation import ComputeOp
from .relations import Split
from .scan_op import ScanOp
from .stage import Stage
from .tensorize import Tensorized
from .threads import Threads, bound_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tvm.tir import Stmt

_SPATIAL, _REDUCE = 1, 2
_KINDS = {
    IterVar.Unrolled: ForKind.UNROLLED,
    IterVar.Vectorized: ForKind.VECTORIZED,
    IterVar.Parallelized: ForKind.PARALLEL,
}


class Nest:
    """The loops of one stage."""

    def __init__(self, builder: Any, stage: Stage) -> None:
        self.builder = builder
        self.stage = stage
        self.algebra: Algebra = builder.algebra
        self.ranges = builder.ranges
        self.leaves = stage.leaf_iter_vars
        # variables that have no loop, or a loop that starts elsewhere than they do
        self.replaced: dict[Var, PrimExpr] = {}
        self.loop_vars: list[Var | None] = []
        self.threads = Threads(stage, builder.inference.paths[stage], builder.ranges)
        self._choose_loops()
        self.masks = self._masks()

    def _choose_loops(self) -> None:
        for iv in self.leaves:
            dom = self.ranges[iv]
            trivial = isinstance(dom.extent, IntImm) and dom.extent.value == 1
            thread = bound_thread(self.stage, iv)
            if thread is not None:
                if thread is not iv:
                    plain = isinstance(dom.min, IntImm) and dom.min.value == 0
                    value = _as(thread.var, iv.var.dtype)
                    self.replaced[iv.var] = value if plain else dom.min + value
                self.loop_vars.append(None)
            elif trivial and not self.builder.keep_trivial:
                self.replaced[iv.var] = dom.min
                self.loop_vars.append(None)
            elif isinstance(dom.min, IntImm) and dom.min.value == 0:
                self.loop_vars.append(iv.var)
            else:
                loop = Var(iv.var.name, iv.var.dtype)
                self.replaced[iv.var] = dom.min + loop
                self.loop_vars.append(loop)

    def _masks(self) -> dict[IterVar, int]:
        """Whether each axis comes from the outputs' dimensions, from reduced ones, or both."""
        op = self.stage.op
        masks = dict.fromkeys(op.axis, _SPATIAL)
        masks.update(dict.fromkeys(op.reduce_axis, _REDUCE))
        for relation in self.stage.relations:
            mask = 0
            for iv in relation.made_from:
                mask |= masks.get(iv, 0)
            for iv in relation.makes:
                masks[iv] = mask or _SPATIAL
        masks.update(dict.fromkeys(self.stage.env_threads_, _SPATIAL))
        return masks

    def _values(self, leaf_values: dict[IterVar, Poly]) -> dict[IterVar, Poly]:
        values = dict(leaf_values)
        for relation in reversed(self.stage.relations):
            relation.up(values, self.ranges, self.algebra)
        return values

    def _leaf_polys(self) -> dict[IterVar, Poly]:
        return {iv: self.algebra.poly(iv.var) for iv in self.leaves}

    # ---- guards
    def _guards(self, values: dict[IterVar, Poly], only: int = 0) -> list[PrimExpr]:
        """Conditions under which the current iteration is one of the stage's.

        ``only`` restricts them to axes of that origin.
        """
        conds: list[PrimExpr] = []
        algebra, ranges = self.algebra, self.ranges
        for relation in self.stage.relations:
            if not isinstance(relation, Split) or relation.disable_predication:
                continue
            if only and self.masks[relation.parent] != only:
                continue
            if relation.exact(ranges, algebra):
                continue
            dom = ranges[relation.parent]
            offset = add(values[relation.parent], algebra.poly(dom.min), -1)
            self._guard(conds, offset, algebra.poly(dom.extent), relation.parent.var.dtype)
        for iv in self.stage.op.axis:
            if ranges[iv] is iv.dom:
                continue
            dom = iv.dom
            offset = add(values[iv], algebra.poly(dom.min), -1)
            if not algebra.nonnegative(offset):
                conds.append(
                    tir.GE(algebra.expr(values[iv], iv.var.dtype), _as(dom.min, iv.var.dtype))
                )
            self._guard(conds, offset, algebra.poly(dom.extent), iv.var.dtype)
        return conds

    def _guard(self, conds: list[PrimExpr], offset: Poly, extent: Poly, dtype: str) -> None:
        algebra = self.algebra
        if algebra.positive(add(extent, offset, -1)):
            return
        conds.append(tir.LT(algebra.expr(offset, dtype), algebra.expr(extent, dtype)))

    # ---- bodies
    def _axis_map(self, values: dict[IterVar, Poly], axes: Any) -> dict[Var, PrimExpr]:
        """Root variables in terms of the loops, where they differ."""
        out: dict[Var, PrimExpr] = {}
        for iv in axes:
            value = values[iv]
            key = self.algebra.key(iv.var)
            if len(value) == 1 and value.get((key,)) == 1:
                continue
            out[iv.var] = self.algebra.expr(value, iv.var.dtype)
        return out

    def plain(self, op: ComputeOp) -> Stmt:
        values = self._values(self._leaf_polys())
        mapping = self._axis_map(values, op.axis)
        indices = [mapping.get(iv.var, iv.var) for iv in op.axis]
        stores: list[Stmt] = [
            tir.ProducerStore(op.output(k), _substitute(value, mapping), indices)
            for k, value in enumerate(op.body)
        ]
        body = stores[0] if len(stores) == 1 else tir.SeqStmt(stores)
        body = self._predicated(_guarded(body, self._guards(values)), values)
        body = self._wrap(body, 0, len(self.leaves))
        return self._replace(body)

    def _first_reduce(self) -> tuple[int, bool]:
        """Position of the first loop of a reduction, and whether an axis is of both kinds."""
        if any(self.masks[iv] == _SPATIAL | _REDUCE for iv in self.leaves):
            return 0, True
        for position, iv in enumerate(self.leaves):
            if self.masks[iv] & _REDUCE:
                return position, False
        return len(self.leaves), False

    def tensorized(self, op: ComputeOp, position: int) -> Stmt:
        """Loops down to an axis, inside them an intrinsic."""
        region = Tensorized(self.stage, op, position, self.ranges, self.algebra)
        for inner in range(position, len(self.leaves)):
            region.check_attached(self.builder.attached.get((self.stage, inner), []))
        intrin = region.intrin
        values = self._values(self._leaf_polys())
        conds = self._guards(values)
        region.check_guards(conds)

        def guarded(body: Stmt) -> Stmt:
            return self._predicated(_guarded(body, conds), values)

        first, mixed = self._first_reduce()
        if op.reduce_axis and first < position:
            if mixed or intrin.reduce_update is None:
                raise region.refuse(
                    "loops over reduction axes stay outside, which needs the update part of the "
                    "intrinsic" + (" and axes of one kind" if mixed else "")
                )
            update = region.statement(intrin.reduce_update)
            if intrin.reduce_init is not None:
                reset = region.statement(intrin.reduce_init, reads=False)
                between = self.leaves[first:position]
                rename, loops = self._init_loops(
                    [iv for iv in between if self.masks[iv] == _SPATIAL]
                )
                reset = _guarded(reset, self._guards(values, _SPATIAL))
                reset = self._predicated(reset, values)
                init: Stmt | None = self._in_loops(_substitute_stmt(reset, rename), loops)
                body = guarded(update)
            elif intrin.body is not None:
                outer = [iv for iv in self.leaves[first:position] if self.masks[iv] & _REDUCE]
                whole = region.statement(intrin.body)
                body = guarded(tir.IfThenElse(region.first_round(outer), whole, update))
                init = None
            else:
                raise region.refuse("it has neither a reset part nor a body to begin with")
            body = self._wrap(body, first, position)
            body = body if init is None else sequence(init, body)
            return self._replace(self._wrap(body, 0, first))
        if intrin.body is not None:
            body = region.statement(intrin.body)
        elif intrin.reduce_init is not None and intrin.reduce_update is not None:
            reset = region.statement(intrin.reduce_init, reads=False)
            body = sequence(reset, region.statement(intrin.reduce_update))
        else:
            raise region.refuse("it has no body, which the whole computation needs")
        return self._replace(self._wrap(guarded(body), 0, position))

    def reduction(self, op: ComputeOp) -> Stmt:
        values = self._values(self._leaf_polys())
        first_reduce, mixed = self._first_reduce()
        init = self._init(op, values, first_reduce, mixed)
        update = self._update(op, values)
        update = self._wrap(update, first_reduce, len(self.leaves))
        body = sequence(init, update)
        body = self._wrap(body, 0, first_reduce)
        return self._replace(body)

    def scan(self, op: ScanOp) -> Stmt:
        """The steps of a scan; what they compute is attached to the innermost loop."""
        builder, last = self.builder, len(self.leaves) - 1
        for tensor in op.init:
            path = builder.inference.paths.get(builder.stage_of(tensor), ())
            if any(place is self.stage for place, _ in path):
                raise ScheduleError(
                    f"stage {tensor.op.name}: compute_at {op.name}: the first rows of a scan are "
                    "needed before its loop"
                )
        copies = builder.aliases.copies(op, False, self.ranges)
        inside = builder.attached.pop((self.stage, last), [])
        body = builder._pipeline(inside, sequence(*copies) if copies else None)
        values = self._values(self._leaf_polys())
        body = _guarded(body, self._guards(values))
        body = _substitute_stmt(body, self._axis_map(values, (op.scan_axis,)))
        body = self._replace(self._wrap(body, 0, len(self.leaves)))
        return sequence(*builder.aliases.copies(op, True, self.ranges), body)

    def _init(self, op: ComputeOp, values: dict[IterVar, Poly], first: int, mixed: bool) -> Stmt:
        """Stores of the identity, in loops of their own from leaf ``first`` on."""
        inner: list[IterVar]
        if mixed:
            # an axis made of both kinds cannot be left out: run over the dimensions themselves
            inner = list(op.axis)
            values = {iv: self.algebra.poly(iv.var) for iv in inner}
            guards: list[PrimExpr] = []
        else:
            inner = [iv for iv in self.leaves[first:] if self.masks[iv] == _SPATIAL]
            guards = self._guards(values, _SPATIAL)
        rename, loops = self._init_loops(inner)
        if mixed:
            for iv in op.axis:
                dom, own = self.ranges[iv], iv.dom
                if dom is own:
                    continue
                value = rename[iv.var]
                guards.append(tir.GE(value, _as(own.min, iv.var.dtype)))
                guards.append(tir.LT(value, _as(own.min + own.extent, iv.var.dtype)))
        mapping = self._axis_map(values, op.axis)
        indices = [mapping.get(iv.var, iv.var) for iv in op.axis]
        reduce = op.body[0]
        start = reduce.init if reduce.init else reduce.combiner.identity_element
        stores: list[Stmt] = [
            tir.ProducerStore(op.output(k), _substitute(start[k], mapping), indices)
            for k in range(len(op.body))
        ]
        body = _guarded(stores[0] if len(stores) == 1 else tir.SeqStmt(stores), guards)
        left_out = [iv for iv in self.leaves[first:] if iv not in inner]
        if not self._predicate_uses(left_out):
            body = self._predicated(body, values)
        body = _substitute_stmt(body, rename)
        return self._in_loops(body, loops)

    def _init_loops(
        self, axes: list[IterVar]
    ) -> tuple[dict[Var, PrimExpr], list[tuple[Var, PrimExpr, IterVar]]]:
        """Loops of their own over some axes, and what the axes' variables are in them."""
        rename: dict[Var, PrimExpr] = {}
        loops: list[tuple[Var, PrimExpr, IterVar]] = []
        for iv in axes:
            dom = self.ranges[iv]
            thread = bound_thread(self.stage, iv)
            if thread is None and isinstance(dom.extent, IntImm) and dom.extent.value == 1:
                rename[iv.var] = dom.min
                continue
            loop = Var(iv.var.name + ".init", iv.var.dtype) if thread is None else thread.var
            plain = isinstance(dom.min, IntImm) and dom.min.value == 0
            value = _as(loop, iv.var.dtype)
            rename[iv.var] = value if plain else dom.min + value
            loops.append((loop, dom.extent, iv))
        return rename, loops

    def _in_loops(self, body: Stmt, loops: list[tuple[Var, PrimExpr, IterVar]]) -> Stmt:
        for loop, extent, iv in reversed(loops):
            thread = bound_thread(self.stage, iv)
            if thread is not None:
                body = self.threads.enter(iv, thread, body)
                continue
            kind = _KINDS.get(self.stage.kind_of(iv), ForKind.SERIAL)
            body = tir.For(loop, IntImm(loop.dtype, 0), _as(extent, loop.dtype), kind, body)
        return body

    def _update(self, op: ComputeOp, values: dict[IterVar, Poly]) -> Stmt:
        reduce = op.body[0]
        mapping = self._axis_map(values, op.root_iter_vars)
        indices = [mapping.get(iv.var, iv.var) for iv in op.axis]
        combiner = reduce.combiner
        operands: dict[Var, PrimExpr] = {}
        for k in range(len(op.body)):
            operands[combiner.lhs[k]] = tir.ProducerLoad(op.output(k), indices)
            operands[combiner.rhs[k]] = _substitute(reduce.source[k], mapping)
        results = [stmt_functor.substitute(value, operands) for value in combiner.result]
        count = len(results)
        # all new values are computed before the first is stored
        names = [Var(f"{op.name}.next{k}", results[k].dtype) for k in range(count - 1)]
        stores: list[Stmt] = [
            tir.ProducerStore(op.output(k), names[k] if k < count - 1 else results[k], indices)
            for k in range(count)
        ]
        body: Stmt
        if count == 1:
            body = stores[0]
        else:
            body = tir.SeqStmt([stores[-1], *stores[:-1]])
            for name, value in zip(reversed(names), reversed(results[:-1])):
                body = tir.LetStmt(name, value, body)
        conds = self._guards(values)
        if not (isinstance(reduce.condition, IntImm) and reduce.condition.value):
            body = tir.IfThenElse(_substitute(reduce.condition, mapping), body)
        return self._predicated(_guarded(body, conds), values)

    def _predicated(self, body: Stmt, values: dict[IterVar, Poly]) -> Stmt:
        predicate = self.stage.store_predicate
        if predicate is None:
            return body
        return tir.IfThenElse(_substitute(predicate, self._axis_map(values, values)), body)

    def _predicate_uses(self, axes: list[IterVar]) -> bool:
        """Whether the store predicate asks about axes; it cannot be asked outside their loops."""
        predicate = self.stage.store_predicate
        if predicate is None:
            return False
        for iv in axes:
            thread = bound_thread(self.stage, iv)
            used = [iv.var] if thread is None else [iv.var, thread.var]
            if any(stmt_functor.uses_var(predicate, var) for var in used):
                return True
        return False

    # ---- loops
    def _wrap(self, body: Stmt, begin: int, end: int) -> Stmt:
        """The leaf loops from ``begin`` up to ``end`` around a body, with what is attached."""
        stage, builder = self.stage, self.builder
        for position in range(end - 1, begin - 1, -1):
            inside = builder.attached.get((stage, position))
            if inside:
                body = builder._pipeline(inside, body)
            iv = self.leaves[position]
            attr = stage.iter_var_attrs.get(iv)
            loop = self.loop_vars[position]
            if attr is not None:
                for tensor, offset in zip(attr.prefetch_data, attr.prefetch_offset):
                    later = iv.var + _as(offset, iv.var.dtype)
                    source = self._stored(tensor, position)
                    body = tir.AttrStmt(source, "prefetch_scope", later, body)
            if attr is not None and attr.bind_thread is not None:
                body = self.threads.enter(iv, attr.bind_thread, body)
            elif loop is not None:
                asked = stage.kind_of(iv)
                kind = _KINDS.get(asked, ForKind.SERIAL)
                if kind == ForKind.PARALLEL and self.masks[iv] & _REDUCE:
                    # partial results are shared: in order, which is right with any thread count
                    kind = ForKind.SERIAL
                extent = _as(self.ranges[iv].extent, loop.dtype)
                body = tir.For(loop, IntImm(loop.dtype, 0), extent, kind, body)
            if attr is not None:
                body = self._annotate(iv, attr, body)
        return body

    def _annotate(self, iv: IterVar, attr: Any, body: Stmt) -> Stmt:
        for key, value in zip(attr.pragma_keys, attr.pragma_values):
            body = tir.AttrStmt(iv, "pragma_" + key.value, 1 if value is None else value, body)
        return body

    def _stored(self, tensor: Any, position: int) -> Any:
        """A tensor whose memory exists when the loop of a leaf axis runs."""
        inference = self.builder.inference
        stage = inference.schedule.stage_map.get(tensor.op)
        if stage is None or not stage.is_computed:
            return tensor
        source = stage.op.output(tensor.value_index)
        place = (inference.paths.get(stage) or [None])[-1]
        here = [*inference.paths[self.stage], (self.stage, position - 1)]
        open_ = place is None or any(place[0] is s and place[1] <= k for s, k in here)
        if stage.attach_type == Stage.INLINED_ALREADY or not open_:
            raise ScheduleError(
                f"stage {self.stage.name}: prefetch {tensor.name} at axis "
                f"{self.leaves[position].var.name}: {tensor.name} is computed inside of this axis, "
                "so that nothing of it can be fetched ahead; prefetch what is stored before"
            )
        return source

    def _replace(self, body: Stmt) -> Stmt:
        return _substitute_stmt(body, self.replaced)


def _as(expr: PrimExpr, dtype: str) -> PrimExpr:
    if expr.dtype == dtype:
        return expr
    if isinstance(expr, IntImm):
        return IntImm(dtype, expr.value)
    return tir.Cast(dtype, expr)


def _substitute(expr: PrimExpr, mapping: dict[Var, PrimExpr]) -> PrimExpr:
    return stmt_functor.substitute(expr, mapping) if mapping else expr


def _substitute_stmt(body: Stmt, mapping: dict[Var, PrimExpr]) -> Stmt:
    return stmt_functor.substitute(body, mapping) if mapping else body


def _guarded(body: Stmt, conds: list[PrimExpr]) -> Stmt:
    for cond in reversed(conds):
        body = tir.IfThenElse(tir.likely(cond), body)
    return body


def sequence(*stmts: Stmt) -> Stmt:
    parts: list[Stmt] = []
    for part in stmts:
        parts += part.seq if isinstance(part, tir.SeqStmt) else [part]
    return tir.SeqStmt(parts) if len(parts) > 1 else parts[0]
