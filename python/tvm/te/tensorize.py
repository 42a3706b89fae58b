"""Inner axes of a stage replaced by a tensor intrinsic, after both computations were compared.

for io in range(16):                       for io in range(16):
    for ii in range(4):             ->         y[0:4] stands for B[io*4 : 4], x for A[io*4 : 4]
        B[io*4 + ii] = A[io*4 + ii] * 2            (body of the intrinsic)
"""

from __future__ import annotations

from tvm import tir
from tvm.arith.index_algebra import Algebra, Interval, Poly, add, const, multiply
from tvm.error import ScheduleError
from tvm.ir import structural_equal
from tvm.ir.base import Node
from tvm.ir.dtype import info
from tvm.tir import IterVar, PrimExpr, ProducerLoad, Reduce, Var, stmt_functor
from tvm.tir.expr import DATA
from tvm.tir.transform.fresh import fresh_copy

from .operation import ComputeOp, loads_of
from .relations import whole_interval
from .rewrite import rewrite_loads
from .stage import Stage
from .tensor import Tensor
from .tensor_intrin import TensorIntrin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tvm.tir import Buffer, Stmt

    # begin and extent
    Box = list[tuple[Poly, Poly]]


def tensorized_axis(stage: Stage) -> int | None:
    """Position of the leaf axis from which on a stage is an intrinsic, if it is one."""
    for position, iv in enumerate(stage.leaf_iter_vars):
        attr = stage.iter_var_attrs.get(iv)
        if attr is not None and attr.tensor_intrin is not None:
            return position
    return None


class Tensorized:
    """The part of a stage that an intrinsic does.

    Attributes
    ----------
    intrin : TensorIntrin
        The intrinsic.
    outside : list of IterVar
        The leaf axes that stay loops.
    """

    def __init__(
        self, stage: Stage, op: ComputeOp, position: int, ranges: Any, algebra: Algebra
    ) -> None:
        iv = stage.leaf_iter_vars[position]
        self.stage, self.op, self.ranges, self.algebra = stage, op, ranges, algebra
        self.intrin: TensorIntrin = stage.iter_var_attrs[iv].tensor_intrin
        self.outside = stage.leaf_iter_vars[:position]
        self.inside = stage.leaf_iter_vars[position:]
        self.what = f"tensorize axis {iv.var.name} with {self.intrin.name}"
        self.roots = self._roots()
        self.reads = self._reads()
        self._match()

    def refuse(self, why: str) -> ScheduleError:
        """The error that says why the intrinsic does not fit."""
        return ScheduleError(f"stage {self.stage.name}: {self.what}: {why}")

    def check_attached(self, attached: list[Stage]) -> None:
        """Refuse stages that are computed inside the loops which the intrinsic replaces."""
        if attached:
            raise ScheduleError(
                f"stage {attached[0].name}: compute_at {self.stage.name}: {self.what} replaces "
                "the loop that it is attached to; attach it further out"
            )

    def check_guards(self, conds: list[PrimExpr]) -> None:
        """Refuse conditions that hold for a part of the region only."""
        inner = {iv.var for iv in self.inside}
        for cond in conds:
            if stmt_functor.uses_var(cond, inner):
                raise self.refuse(
                    f"the region is not always complete: {cond} does not hold for all of it; "
                    "split by factors that divide the extents, or tensorize an inner axis"
                )

    # ---- regions
    def _roots(self) -> dict[IterVar, tuple[Poly, Poly]]:
        """Begin and extent of the operation's axes in one run of the intrinsic."""
        algebra, ranges = self.algebra, self.ranges
        values: dict[IterVar, Interval] = {}
        for iv in self.outside:
            here = algebra.poly(iv.var)
            values[iv] = Interval(here, here)
        count = const(1)
        for iv in self.inside:
            values[iv] = whole_interval(ranges[iv], algebra)
            count = multiply(count, algebra.poly(ranges[iv].extent))
        for relation in reversed(self.stage.relations):
            relation.up_interval(values, ranges, algebra)
        out: dict[IterVar, tuple[Poly, Poly]] = {}
        covered = const(1)
        for iv in self.op.root_iter_vars:
            low, high = values[iv].low, values[iv].high
            if low is None or high is None:
                raise self.refuse(f"the range of axis {iv.var.name} in the region is unknown")
            extent = add(add(high, low, -1), const(1))
            out[iv] = (low, extent)
            covered = multiply(covered, extent)
        if add(count, covered, -1):
            raise self.refuse("its iterations are not a box of the operation's axes")
        return out

    def _reads(self) -> list[Box]:
        """The box of each input tensor that one run reads."""
        algebra = self.algebra
        inner: dict[str, Interval] = {}
        for iv, (low, extent) in self.roots.items():
            inner[algebra.key(iv.var)] = Interval(low, add(add(low, extent), const(-1)))
        boxes = []
        loads = loads_of(self.op)
        for tensor in self.op.input_tensors:
            mine = [load for load in loads if load.producer == tensor]
            box: Box = []
            for k in range(tensor.ndim):
                parts = [algebra.interval(load.indices[k], inner) for load in mine]
                whole = algebra.union(parts, mine[0].indices[k].dtype)
                if whole.low is None or whole.high is None:
                    raise self.refuse(f"what it reads of {tensor.name} is unknown")
                box.append((whole.low, add(add(whole.high, whole.low, -1), const(1))))
            boxes.append(box)
        return boxes

    # ---- comparing
    def _match(self) -> None:
        op, intrin = self.op, self.intrin
        if len(op.input_tensors) != len(intrin.inputs) or op.num_outputs != intrin.op.num_outputs:
            raise self.refuse(
                f"expected {len(intrin.inputs)} input(s) and {intrin.op.num_outputs} output(s), "
                f"but the stage has {len(op.input_tensors)} and {op.num_outputs}"
            )
        names: dict[Var, PrimExpr] = {}
        sizes: dict[Var, Poly] = {}
        self._match_axes("axis", op.axis, intrin.op.axis, names, sizes)
        self._match_axes("reduce axis", op.reduce_axis, intrin.op.reduce_axis, names, sizes)
        for tensor, wanted, box in zip(op.input_tensors, intrin.inputs, self.reads):
            self._match_box(tensor, wanted, box, sizes)
        for mine, wanted in zip(op.body, intrin.op.body):
            self._match_body(mine, wanted, names)

    def _match_axes(
        self,
        kind: str,
        mine: Any,
        wanted: Any,
        names: dict[Var, PrimExpr],
        sizes: dict[Var, Poly],
    ) -> None:
        """Axes fit from the last one on; those in front have extent 1."""
        algebra = self.algebra
        extents = [self.roots[iv][1] for iv in mine]
        text = ", ".join([str(algebra.expr(extent, "int32")) for extent in extents]) or "none"
        lead = len(mine) - len(wanted)
        fits = lead >= 0 and all(extent == const(1) for extent in extents[:lead])
        if fits:
            fits = all(
                self._fits(iv.dom.extent, extent, sizes)
                for iv, extent in zip(wanted, extents[lead:])
            )
        if not fits:
            expected = ", ".join([str(iv.dom.extent) for iv in wanted]) or "none"
            raise self.refuse(
                f"expected {kind} extents {expected} (in front of them only 1), but the region "
                f"has {text}"
            )
        for iv, extent in zip(wanted, extents[lead:]):
            # so that i % 16 of sixteen iterations is i
            algebra.bind(iv.var, 0, algebra.expr(extent, iv.var.dtype))
        for position, iv in enumerate(mine):
            begin = algebra.expr(self.roots[iv][0], iv.var.dtype)
            if position >= lead:
                begin = begin + tir.cast(wanted[position - lead].var, iv.var.dtype)
            names[iv.var] = begin

    def _fits(self, wanted: PrimExpr, extent: Poly, sizes: dict[Var, Poly]) -> bool:
        """Whether an extent is the intrinsic's; its variables get their values here."""
        if isinstance(wanted, Var):
            return not add(sizes.setdefault(wanted, extent), extent, -1)
        return not add(self.algebra.poly(wanted), extent, -1)

    def _match_box(self, tensor: Tensor, wanted: Tensor, box: Box, sizes: dict[Var, Poly]) -> None:
        lead = len(box) - wanted.ndim
        if (
            lead < 0
            or any(extent != const(1) for _, extent in box[:lead])
            or not all(
                self._fits(size, extent, sizes)
                for size, (_, extent) in zip(wanted.shape, box[lead:])
            )
        ):
            text = ", ".join([str(self.algebra.expr(extent, "int32")) for _, extent in box])
            raise self.refuse(
                f"expected input {wanted.name} of shape "
                f"{', '.join(map(str, wanted.shape)) or 'none'}, but the region reads {text} of "
                f"{tensor.name}"
            )

    def _match_body(self, mine: Any, wanted: Any, names: dict[Var, PrimExpr]) -> None:
        pairs: list[tuple[Any, Any]] = []
        if isinstance(mine, Reduce) != isinstance(wanted, Reduce):
            raise self._mismatch(mine, wanted)
        if isinstance(mine, Reduce):
            if not structural_equal(mine.combiner, wanted.combiner) or len(mine.init) != len(
                wanted.init
            ):
                raise self._mismatch(mine, wanted)
            pairs += [*zip(mine.source, wanted.source), *zip(mine.init, wanted.init)]
            pairs.append((mine.condition, wanted.condition))
        else:
            pairs.append((mine, wanted))
        for a, b in pairs:
            renamed = rewrite_loads(stmt_functor.substitute(a, names), self._as_input)
            if not _same(renamed, b, self.algebra):
                raise self._mismatch(renamed, b)

    def _as_input(self, load: ProducerLoad) -> PrimExpr:
        """A read of the stage as a read of the intrinsic's placeholder."""
        position = self.op.input_tensors.index(load.producer)
        target, box = self.intrin.inputs[position], self.reads[position]
        lead = len(box) - target.ndim
        indices = []
        for (begin, _), index in zip(box[lead:], load.indices[lead:]):
            offset = self.algebra.merged(add(self.algebra.poly(index), begin, -1))
            indices.append(self.algebra.expr(offset, index.dtype))
        return ProducerLoad(target, indices)

    def _mismatch(self, mine: Any, wanted: Any) -> ScheduleError:
        return self.refuse(f"the computations differ:\n  expected: {wanted}\n  but got:  {mine}")

    # ---- statements
    def statement(self, part: Stmt, reads: bool = True) -> Stmt:
        """A statement of the intrinsic with its buffers bound to the region."""
        algebra, op, intrin = self.algebra, self.op, self.intrin
        body = fresh_copy(part)
        outputs = intrin.buffers[len(intrin.inputs) :]
        box = [self.roots[iv] for iv in op.axis]
        pairs: list[tuple[Tensor, Buffer, Box]] = [
            (op.output(k), buffer, box) for k, buffer in enumerate(outputs)
        ]
        if reads:
            pairs += list(zip(op.input_tensors, intrin.buffers, self.reads))
        for tensor, buffer, where in reversed(pairs):
            numbers: list[PrimExpr] = []
            for (begin, extent), size in zip(where, tensor.shape):
                numbers += [algebra.expr(begin, size.dtype), algebra.expr(extent, size.dtype)]
            region = tir.Call("handle", "tir.tvm_tuple", numbers)
            body = tir.AttrStmt((buffer, tensor), "buffer_bind_scope", region, body)
        return body  # type: ignore[no-any-return]

    def first_round(self, reduce_leaves: list[IterVar]) -> PrimExpr:
        """Whether all loops over reduction axes are at their begin."""
        conds = [tir.EQ(iv.var, _cast(self.ranges[iv].min, iv.var.dtype)) for iv in reduce_leaves]
        return tir.all(*conds)  # type: ignore[no-any-return]


def _cast(value: PrimExpr, dtype: str) -> PrimExpr:
    return tir.cast(value, dtype)  # type: ignore[no-any-return]


def _is_index(expr: Any) -> bool:
    return not expr.kinds & DATA and bool(info(expr.dtype).is_int) and info(expr.dtype).lanes == 1


_SWAPPABLE = (tir.Add, tir.Mul, tir.Min, tir.Max, tir.And, tir.Or, tir.EQ, tir.NE)


def _same(a: Any, b: Any, algebra: Algebra) -> bool:
    """Whether two expressions compute the same, as far as it can be seen."""
    if isinstance(a, PrimExpr) and isinstance(b, PrimExpr) and _is_index(a) and _is_index(b):
        if not add(algebra.poly(a), algebra.poly(b), -1):
            return True
        if not isinstance(a, (tir.CmpExpr, tir.Not)):
            return False
    if type(a) is not type(b):
        return False
    if isinstance(a, ProducerLoad):
        return a.producer == b.producer and all(
            _same(x, y, algebra) for x, y in zip(a.indices, b.indices)
        )
    if not isinstance(a, Node):
        return bool(a == b)
    if isinstance(a, Var):
        return a is b
    if isinstance(a, _SWAPPABLE) and a.dtype == b.dtype:
        if _same(a.a, b.a, algebra) and _same(a.b, b.b, algebra):
            return True
        return _same(a.a, b.b, algebra) and _same(a.b, b.a, algebra)
    if not a.fields:
        return a is b
    for name, kind in a.fields:
        x, y = getattr(a, name), getattr(b, name)
        if kind == "n":
            continue
        if isinstance(x, tuple):
            if len(x) != len(y) or not all(_same(p, q, algebra) for p, q in zip(x, y)):
                return False
        elif not _same(x, y, algebra):
            return False
    return True
