"""Scans: tensors computed step by step along their first dimension, each from those before it."""

from __future__ import annotations

from tvm import tir
from tvm.error import TypeError_, ValueError_
from tvm.ir.expr import Range
from tvm.tir import IterVar, PrimExpr

from .operation import Operation, PlaceholderOp
from .tag import TagScope
from .tensor import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class ScanOp(Operation):
    """Outputs whose first rows are given and whose other rows follow from the rows before.

    Attributes
    ----------
    scan_axis : IterVar
        The steps: the rows that are not given by ``init``.
    init, update, state_placeholder, inputs : tuple of Tensor
        As in `scan`.
    spatial_axis_ : tuple of IterVar
        The other dimensions of all outputs, those of the first output first.
    """

    __slots__ = ("scan_axis", "init", "update", "state_placeholder", "inputs", "spatial_axis_")

    type_key = "ScanOp"
    FIELDS = (
        "name:n tag:x attrs:r scan_axis:r init:r update:r state_placeholder:r inputs:r "
        "spatial_axis_:r"
    )

    def __init__(
        self,
        name: str,
        tag: str,
        attrs: Any,
        scan_axis: IterVar,
        init: Any,
        update: Any,
        state_placeholder: Any,
        inputs: Any,
        spatial_axis_: Any,
    ) -> None:
        self._set(name, tag, attrs or {})
        self.scan_axis = scan_axis
        self.init = tuple(init)
        self.update = tuple(update)
        self.state_placeholder = tuple(state_placeholder)
        self.inputs = tuple(inputs)
        self.spatial_axis_ = tuple(spatial_axis_)

    @property
    def num_outputs(self) -> int:  # type: ignore[override]
        return len(self.update)

    def output_shape(self, index: int) -> tuple[PrimExpr, ...]:
        return tuple(self.state_placeholder[index].shape)

    def output_dtype(self, index: int) -> str:
        return str(self.update[index].dtype)

    @property
    def root_iter_vars(self) -> tuple[IterVar, ...]:
        return (self.scan_axis, *self.spatial_axis_)

    def spatial_axes(self, index: int) -> tuple[IterVar, ...]:
        """The dimensions of an output besides the first."""
        begin = sum(len(state.shape) - 1 for state in self.state_placeholder[:index])
        return self.spatial_axis_[begin : begin + len(self.state_placeholder[index].shape) - 1]

    def _find_inputs(self) -> tuple[Tensor, ...]:
        return tuple(dict.fromkeys((*self.init, *self.update)))

    @property
    def whole_inputs(self) -> tuple[Tensor, ...]:
        """The tensors that `with_inputs` replaces."""
        return (*self.init, *self.update)

    def with_inputs(self, inputs: list[Tensor]) -> ScanOp:
        """The same scan with other initial rows and steps."""
        count = len(self.init)
        return ScanOp(
            self.name,
            self.tag,
            self.attrs,
            self.scan_axis,
            inputs[:count],
            inputs[count:],
            self.state_placeholder,
            self.inputs,
            self.spatial_axis_,
        )


def scan(
    init: Any,
    update: Any,
    state_placeholder: Any,
    inputs: Any = None,
    name: str = "scan",
    tag: str = "",
    attrs: Any = None,
) -> Any:
    """Tensors computed step by step along their first dimension.

    The result's first rows are ``init``; row ``t`` of the others is row ``t`` of ``update``, which
    reads earlier rows of the result through ``state_placeholder``.

    Parameters
    ----------
    init : Tensor or list of Tensor
        The first rows, shape ``(k, ...)``.
    update : Tensor or list of Tensor
        One step, of the result's shape.
    state_placeholder : Tensor or list of Tensor
        Placeholders of the result's shape, which stand for the result in ``update``.
    inputs : list of Tensor, optional
        What the steps read besides; stages between these and ``update`` run inside the steps.
    name : str
        Name in messages and printed programs.
    tag, attrs
        As in `compute`.

    Returns
    -------
    Tensor or list of Tensor

    Raises
    ------
    ValueError
        If shapes do not fit or the lists differ in length.
    TypeError
        If an element type differs between the three tensors of a state.

    Examples
    --------
    >>> from tvm import te
    >>> m, n = te.var("m"), te.var("n")
    >>> X = te.placeholder((m, n), name="X")
    >>> state = te.placeholder((m, n))
    >>> init = te.compute((1, n), lambda _, i: X[0, i])
    >>> update = te.compute((m, n), lambda t, i: state[t - 1, i] + X[t, i])
    >>> te.scan(init, update, state, inputs=[X]).ndim
    2
    """
    scope = TagScope.get_current()
    if scope is not None:
        if tag:
            raise ValueError_(f"{name}: tag {tag!r} is given inside tag_scope({scope.tag!r})")
        tag = scope.tag
    inits = _tensors(name, "init", init)
    updates = _tensors(name, "update", update)
    states = _tensors(name, "state_placeholder", state_placeholder)
    others = _tensors(name, "inputs", inputs or [])
    if not len(inits) == len(updates) == len(states) or not inits:
        raise ValueError_(
            f"{name}: expected as many inits as updates and state placeholders, one at least, but "
            f"got {len(inits)}, {len(updates)} and {len(states)}"
        )
    for position, (first, step, state) in enumerate(zip(inits, updates, states)):
        _check_state(name, position, first, step, state)
        if not _same(first.shape[0], inits[0].shape[0]) or not _same(
            step.shape[0], updates[0].shape[0]
        ):
            raise ValueError_(
                f"{name}: state {position}: expected as many initial rows and steps as of the "
                f"first state, {inits[0].shape[0]} and {updates[0].shape[0]}, but got "
                f"{first.shape[0]} and {step.shape[0]}"
            )
    begin, end = inits[0].shape[0], updates[0].shape[0]
    begin = begin if begin.dtype == end.dtype else tir.cast(begin, end.dtype)
    dom = Range.from_min_extent(begin, end - begin)
    axis = IterVar(dom, tir.Var(name + ".idx", end.dtype), IterVar.Ordered)
    spatial = [
        IterVar(
            Range.from_min_extent(tir.IntImm(extent.dtype, 0), extent),
            tir.Var(f"{name}.out{position}.i{k}", extent.dtype),
            IterVar.DimInfo,
        )
        for position, state in enumerate(states)
        for k, extent in enumerate(state.shape)
        if k
    ]
    op = ScanOp(name, tag, attrs, axis, inits, updates, states, others, spatial)
    outputs = [op.output(k) for k in range(len(updates))]
    return outputs if isinstance(update, (list, tuple)) and len(outputs) > 1 else outputs[0]


def _tensors(name: str, what: str, value: Any) -> list[Tensor]:
    items = list(value) if isinstance(value, (list, tuple)) else [value]
    for item in items:
        if not isinstance(item, Tensor):
            raise TypeError_(f"{name}: {what}: expected tensors, but got {type(item).__name__}")
    return items


def _check_state(name: str, position: int, init: Tensor, update: Tensor, state: Tensor) -> None:
    what = f"{name}: state {position}"
    if not isinstance(state.op, PlaceholderOp):
        raise TypeError_(
            f"{what}: expected te.placeholder as the state placeholder, but {state.name} is a "
            f"{type(state.op).__name__}"
        )
    if not init.dtype == update.dtype == state.dtype:
        raise TypeError_(
            f"{what}: init, update and state placeholder must have one dtype, but got "
            f"{init.dtype}, {update.dtype} and {state.dtype}"
        )
    if not init.ndim == update.ndim == state.ndim or not state.ndim:
        raise ValueError_(
            f"{what}: init, update and state placeholder must have as many dimensions, one at "
            f"least, but got {init.ndim}, {update.ndim} and {state.ndim}"
        )
    for k, (wanted, given) in enumerate(zip(state.shape, update.shape)):
        if not _same(wanted, given):
            raise ValueError_(
                f"{what}: dimension {k} of the update is {given}, but {wanted} of the state "
                "placeholder"
            )
    for k, (wanted, given) in enumerate(zip(state.shape, init.shape)):
        if k and not _same(wanted, given):
            raise ValueError_(
                f"{what}: dimension {k} of the init is {given}, but {wanted} of the state "
                "placeholder"
            )


def _same(a: PrimExpr, b: PrimExpr) -> bool:
    if a is b:
        return True
    from tvm.arith.index_algebra import Algebra, add

    algebra = Algebra()
    return not add(algebra.poly(a), algebra.poly(b), -1)
