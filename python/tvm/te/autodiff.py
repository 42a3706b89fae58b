"""Gradients: the derivative of a tensor with respect to those that it is computed from.

From the output back, each operation hands on what it got: an element of an input gets the sum over
the iterations that read it of the output's derivative times the derivative of the expression.
"""

from __future__ import annotations

from tvm import tir
from tvm.error import NotImplementedError_, TypeError_, ValueError_
from tvm.ir import dtype as _dtype
from tvm.tir import IterVar, PrimExpr, ProducerLoad, Reduce, Var, stmt_functor
from tvm.tir.expr import const_of

from .autodiff_rules import derivatives
from .autodiff_solve import Solution
from .operation import ComputeOp, Operation, compute, reduce_axis
from .scan_op import _same
from .tensor import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .autodiff_rules import Terms


def gradient(output: Tensor, inputs: Any, head: Tensor | None = None) -> list[Tensor]:
    """Derivatives of a tensor with respect to others.

    Parameters
    ----------
    output : Tensor
        What is differentiated; its elements are floats.
    inputs : Tensor or list of Tensor
        With respect to what.
    head : Tensor, optional
        The derivative of something else with respect to ``output``: its last dimensions are
        ``output``'s. Without it the result is the Jacobian, with ``output``'s dimensions first.

    Returns
    -------
    list of Tensor
        For each input a tensor whose shape is ``head``'s first dimensions, then the input's.
        Elements that do not matter get 0. Where several elements are the greatest (least) of a
        reduction, each gets an equal share.

    Raises
    ------
    TypeError
        If ``output`` is no tensor of floats.
    ValueError
        If ``head``'s shape does not end in ``output``'s.
    NotImplementedError
        If the way leads through an operation whose derivative is not known, te.extern for
        instance. All of them are ``tvm.TVMError`` too.

    Examples
    --------
    >>> from tvm import te
    >>> A = te.placeholder((3, 4), name="A")
    >>> B = te.compute((3,), lambda i: A[i, 0] * A[i, 1], name="B")
    >>> (dA,) = te.gradient(B, [A])
    >>> [int(extent) for extent in dA.shape]
    [3, 3, 4]
    """
    if not isinstance(output, Tensor) or not _dtype.info(output.dtype).is_float:
        kind = output.dtype if isinstance(output, Tensor) else type(output).__name__
        raise TypeError_(f"gradient: expected a tensor of floats as output, but got {kind}")
    wanted = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    for position, tensor in enumerate(wanted):
        if not isinstance(tensor, Tensor):
            raise TypeError_(
                f"gradient: input {position}: expected a tensor, but got {type(tensor).__name__}"
            )
    if head is not None:
        _check_head(output, head)
    return _Backward(output, wanted, head).run()


def _check_head(output: Tensor, head: Tensor) -> None:
    lead = head.ndim - output.ndim
    if head.dtype != output.dtype:
        raise TypeError_(
            f"gradient: expected head of dtype {output.dtype}, as the output, but got {head.dtype}"
        )
    if lead < 0 or not all(_same(a, b) for a, b in zip(head.shape[lead:], output.shape)):
        raise ValueError_(
            f"gradient: the last dimensions of head must be the output's, "
            f"({', '.join(map(str, output.shape))}), but its shape is "
            f"({', '.join(map(str, head.shape))})"
        )


class _Backward:
    """One run from the output to the inputs."""

    def __init__(self, output: Tensor, inputs: list[Tensor], head: Tensor | None) -> None:
        from .schedule import PostDFSOrder

        self.output, self.inputs, self.head = output, inputs, head
        lead = output.shape if head is None else head.shape[: head.ndim - output.ndim]
        self.lead = tuple(lead)
        self.order = PostDFSOrder([output.op])
        # tensors of these operations depend on an input, or are one
        self.depends: set[Operation] = {tensor.op for tensor in inputs}
        for op in self.order:
            if any(tensor.op in self.depends for tensor in op.input_tensors):
                self.depends.add(op)
        # what came back to a tensor so far
        self.parts: dict[Tensor, list[Tensor]] = {}

    def run(self) -> list[Tensor]:
        if self.head is not None:
            self.parts[self.output] = [self.head]
        done: dict[Tensor, Tensor | None] = {}
        for op in reversed(self.order):
            if op not in self.depends:
                continue
            for k in range(op.num_outputs):
                tensor = op.output(k)
                if tensor not in self.parts and not (self.head is None and tensor == self.output):
                    continue
                whole = done[tensor] = self._total(tensor)
                if any(t.op in self.depends for t in op.input_tensors):
                    self._through(op, k, whole)
        return [self._result(tensor, done) for tensor in self.inputs]

    def _result(self, tensor: Tensor, done: dict[Tensor, Tensor | None]) -> Tensor:
        if tensor in done:
            found = done[tensor]
            if found is not None:
                return found
            return self._identity(tensor)
        shape = (*self.lead, *tensor.shape)
        return compute(  # type: ignore[no-any-return]
            shape, lambda *i: const_of(0, tensor.dtype), name=f"{tensor.op.name}.grad"
        )

    def _identity(self, tensor: Tensor) -> Tensor:
        """The derivative of a tensor with respect to itself."""
        count = len(self.lead)
        zero, one = const_of(0, tensor.dtype), const_of(1, tensor.dtype)

        def element(*i: Any) -> PrimExpr:
            same = [tir.EQ(a, b) for a, b in zip(i[:count], i[count:])]
            return tir.Select(tir.all(*same), one, zero) if same else one

        return compute(  # type: ignore[no-any-return]
            (*self.lead, *tensor.shape), element, name=f"{tensor.op.name}.grad"
        )

    def _total(self, tensor: Tensor) -> Tensor | None:
        """The sum of what came back to a tensor; None stands for the identity."""
        parts = self.parts.pop(tensor, [])
        if not parts:
            return None
        if self.head is None and tensor == self.output:
            parts.append(self._identity(tensor))
        if len(parts) == 1:
            return parts[0]

        def element(*i: Any) -> Any:
            total = parts[0](*i)
            for part in parts[1:]:
                total = total + part(*i)
            return total

        return compute(  # type: ignore[no-any-return]
            parts[0].shape, element, name=f"{tensor.op.name}.grad"
        )

    # ---- one operation
    def _through(self, op: Operation, k: int, whole: Tensor | None) -> None:
        if not isinstance(op, ComputeOp):
            raise NotImplementedError_(
                f"gradient: {op.name} is a {type(op).__name__}, whose derivative is not known; "
                "only te.compute has one"
            )
        value = op.body[k]
        lead = [Var(f"h{d}", extent.dtype) for d, extent in enumerate(self.lead)]
        if isinstance(value, Reduce):
            self._through_reduce(op, k, value, whole, lead)
            return
        factor = self._factor(op, whole, lead)
        self._hand_on(op, list(op.axis), lead, whole is None, value, factor, ())

    def _factor(self, op: ComputeOp, whole: Tensor | None, lead: list[Var]) -> Any:
        if whole is None:
            return const_of(1, self.output.dtype)
        return whole(*lead, *[iv.var for iv in op.axis])

    def _through_reduce(
        self, op: ComputeOp, k: int, value: Reduce, whole: Tensor | None, lead: list[Var]
    ) -> None:
        kind = _kind_of(value)
        if kind is None or value.init:
            raise NotImplementedError_(
                f"gradient: {op.name}: the derivative of this reduction is not known; sum, prod, "
                "max and min without init= have one"
            )
        axes = [*op.axis, *op.reduce_axis]
        source = value.source[k]
        always = isinstance(value.condition, tir.IntImm) and value.condition.value
        guards = () if always else (value.condition,)
        if kind is tir.Add:
            factor = self._factor(op, whole, lead)
            self._hand_on(op, axes, lead, whole is None, source, factor, guards)
            return
        # the values once more in memory, so that comparing them with the result is exact
        held = _held(op, source, guards)
        share, cond = _share(op, kind, held, value.condition)
        factor = self._factor(op, whole, lead) * share
        if cond is not None:
            guards = (*guards, cond)
        self._hand_on(op, axes, lead, whole is None, source, factor, guards)

    def _hand_on(
        self,
        op: ComputeOp,
        axes: list[IterVar],
        lead: list[Var],
        is_identity: bool,
        value: PrimExpr,
        factor: PrimExpr,
        guards: tuple[PrimExpr, ...],
    ) -> None:
        """Give the elements that an expression reads their derivatives."""
        found = derivatives(
            value, factor, guards, lambda load: load.producer.op in self.depends, op.name
        )
        for load, terms in found:
            part = self._part(op, axes, lead, is_identity, load, terms)
            self.parts.setdefault(load.producer, []).append(part)

    def _part(
        self,
        op: ComputeOp,
        axes: list[IterVar],
        lead: list[Var],
        is_identity: bool,
        load: ProducerLoad,
        terms: Terms,
    ) -> Tensor:
        tensor = load.producer
        count = len(lead)

        def element(*i: Any) -> PrimExpr:
            fixed, x = list(i[:count]), list(i[count:])
            equations = list(zip(load.indices, x))
            if is_identity:
                equations += [(iv.var, h) for iv, h in zip(op.axis, fixed)]
            extents = dict(zip(i, (*self.lead, *tensor.shape)))
            solved = Solution(axes, equations, extents)
            mapping: dict[Var, Any] = dict(zip(lead, fixed))
            rest: list[IterVar] = []
            names: dict[Var, Any] = {}
            for var, dom in solved.left.items():
                axis = reduce_axis(dom, name=var.name)
                rest.append(axis)
                names[var] = axis.var
            for var, expr in solved.values.items():
                mapping[var] = stmt_functor.substitute(expr, names)
            mapping.update(names)
            zero = const_of(0, tensor.dtype)
            total: Any = None
            for conds, term in terms:
                one = stmt_functor.substitute(term, mapping)
                if conds:
                    cond = tir.all(*[stmt_functor.substitute(c, mapping) for c in conds])
                    one = tir.if_then_else(cond, one, zero)
                total = one if total is None else total + one
            outer = [stmt_functor.substitute(c, names) for c in solved.conditions]
            if outer:
                total = tir.if_then_else(tir.all(*outer), total, zero)
            return tir.sum(total, axis=rest) if rest else total  # type: ignore[no-any-return]

        shape = (*self.lead, *tensor.shape)
        names = [f"h{d}" for d in range(count)] + [f"x{d}" for d in range(tensor.ndim)]
        return compute(  # type: ignore[no-any-return]
            shape, element, name=f"{tensor.op.name}.{op.name}.grad", varargs_names=names
        )


# ---- reductions other than sums


def _kind_of(value: Reduce) -> type | None:
    """The operator that combines, if it is one that has a rule."""
    combiner = value.combiner
    if len(combiner.result) != 1:
        return None
    result = combiner.result[0]
    pair = {id(combiner.lhs[0]), id(combiner.rhs[0])}
    if type(result) in (tir.Add, tir.Mul, tir.Max, tir.Min) and pair == {
        id(result.a),
        id(result.b),
    }:
        return type(result)
    return None


def _held(op: ComputeOp, source: PrimExpr, guards: tuple[PrimExpr, ...]) -> Tensor:
    """The values that a reduction combines, as a tensor over all its axes."""
    axes = [*op.axis, *op.reduce_axis]
    if guards:
        source = tir.if_then_else(tir.all(*guards), source, const_of(0, source.dtype))

    def element(*i: Any) -> PrimExpr:
        values = {iv.var: iv.dom.min + index for iv, index in zip(axes, i)}
        return stmt_functor.substitute(source, values)  # type: ignore[no-any-return]

    return compute(  # type: ignore[no-any-return]
        [iv.dom.extent for iv in axes], element, name=f"{op.name}.values"
    )


def _at(op: ComputeOp, held: Tensor) -> PrimExpr:
    """The value that one iteration of a reduction combines."""
    return held(*[iv.var - iv.dom.min for iv in (*op.axis, *op.reduce_axis)])


def _share(
    op: ComputeOp, kind: type, held: Tensor, condition: PrimExpr
) -> tuple[PrimExpr, PrimExpr | None]:
    """The derivative of a reduction with respect to one of its values, and where it counts."""
    here = [iv.var for iv in op.axis]
    at = _at(op, held)
    zero, one = const_of(0, at.dtype), const_of(1, at.dtype)
    if kind is tir.Mul:
        zeros = _over(op, "zeros", tir.sum, tir.cast(tir.EQ(at, zero), "int32"), condition)
        others = tir.Select(tir.EQ(at, zero), one, at)
        product = _over(op, "others", tir.prod, others, condition)(*here)
        count = zeros(*here)
        return (
            tir.if_then_else(
                tir.EQ(at, zero),
                tir.Select(tir.EQ(count, 1), product, zero),
                tir.Select(tir.EQ(count, 0), product / at, zero),
            ),
            None,
        )
    best = _over(op, "best", tir.max if kind is tir.Max else tir.min, at, condition)
    is_best = tir.EQ(at, best(*here))
    ties = _over(op, "count", tir.sum, tir.cast(is_best, at.dtype), condition)
    return one / ties(*here), is_best


def _over(op: ComputeOp, name: str, reducer: Any, element: Any, condition: PrimExpr) -> Tensor:
    """A reduction over the same axes as an operation's."""

    def whole(*i: Any) -> Any:
        fresh = [reduce_axis(iv.dom, name=iv.var.name) for iv in op.reduce_axis]
        mapping = {iv.var: index for iv, index in zip(op.axis, i)}
        mapping.update({old.var: new.var for old, new in zip(op.reduce_axis, fresh)})
        where = stmt_functor.substitute(condition, mapping)
        return reducer(stmt_functor.substitute(element, mapping), axis=fresh, where=where)

    return compute(  # type: ignore[no-any-return]
        [iv.dom.extent for iv in op.axis], whole, name=f"{op.name}.{name}"
    )
