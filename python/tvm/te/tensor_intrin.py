"""Tensor intrinsics: a small computation, and the statement that does it on a processor."""

from __future__ import annotations

from tvm import tir
from tvm.error import TypeError_, ValueError_
from tvm.ir.base import Node
from tvm.tir import Buffer, PrimExpr, Stmt

from .operation import ComputeOp, PlaceholderOp
from .tensor import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


class TensorIntrin(Node):
    """What a stage's inner axes can be replaced by; made by `decl_tensor_intrin`.

    Attributes
    ----------
    name : str
        Name in messages.
    op : ComputeOp
        The computation that it does.
    inputs : tuple of Tensor
        What the computation reads.
    buffers : tuple of Buffer
        What stands for the inputs, then for the outputs, in the statements.
    body : Stmt or None
        Does the whole computation.
    reduce_init : Stmt or None
        Sets the outputs to what a reduction starts from.
    reduce_update : Stmt or None
        Adds the reduction to the outputs.
    """

    __slots__ = (
        "name",
        "op",
        "inputs",
        "buffers",
        "scalar_params",
        "body",
        "reduce_init",
        "reduce_update",
    )

    type_key = "TensorIntrin"
    FIELDS = "name:n op:r inputs:r buffers:r scalar_params:r body:s reduce_init:s reduce_update:s"

    def __init__(
        self,
        name: str,
        op: ComputeOp,
        inputs: Any,
        buffers: Any,
        scalar_params: Any,
        body: Stmt | None,
        reduce_init: Stmt | None = None,
        reduce_update: Stmt | None = None,
    ) -> None:
        self.name = name
        self.op = op
        self.inputs = tuple(inputs)
        self.buffers = tuple(buffers)
        self.scalar_params = tuple(scalar_params)
        self.body = body
        self.reduce_init = reduce_init
        self.reduce_update = reduce_update

    def __repr__(self) -> str:
        return f"TensorIntrin({self.name})"

    __str__ = __repr__


def decl_tensor_intrin(
    op: Any,
    fcompute: Callable[..., Any],
    name: str = "tensor_intrin",
    binds: Mapping[Tensor, Buffer] | None = None,
    scalar_params: Any = None,
    default_buffer_params: Mapping[str, Any] | None = None,
) -> TensorIntrin:
    """A statement that does a small computation, for ``Stage.tensorize``.

    Parameters
    ----------
    op : ComputeOp
        The computation; it reads placeholders only.
    fcompute : callable
        ``fcompute(ins, outs)`` takes the buffers of inputs and outputs and returns the statement
        that does the computation, or three of them: the whole, setting the outputs of a reduction
        to its start, and adding to them. What a triple lacks is None.
    name : str
        Name in messages.
    binds : dict of Tensor to Buffer, optional
        Buffers for some tensors. Without ``strides`` a buffer is compact; a buffer that may begin
        anywhere has ``offset_factor=1``.
    scalar_params : list of Var, optional
        Further parameters, given to ``fcompute`` as a third argument.
    default_buffer_params : dict, optional
        Parameters of ``tir.decl_buffer`` for the other tensors; ``offset_factor`` 1 by default.

    Returns
    -------
    TensorIntrin

    Raises
    ------
    TypeError
        If ``op`` is no te.compute of placeholders, or ``fcompute`` returns something else.

    Examples
    --------
    >>> from tvm import te, tir
    >>> x = te.placeholder((4,), name="x")
    >>> y = te.compute((4,), lambda i: x[i] * 2.0, name="y")
    >>> def double(ins, outs):
    ...     return outs[0].vstore(0, ins[0].vload(0, "float32x4") * 2.0)
    >>> te.decl_tensor_intrin(y.op, double, name="double")
    TensorIntrin(double)
    """
    if not isinstance(op, ComputeOp):
        raise TypeError_(
            f"{name}: expected the operation of te.compute (tensor.op), but got {type(op).__name__}"
        )
    inputs = op.input_tensors
    for tensor in inputs:
        if not isinstance(tensor.op, PlaceholderOp):
            raise TypeError_(
                f"{name}: an intrinsic reads placeholders only, but {tensor.name} is a "
                f"{type(tensor.op).__name__}"
            )
    given = dict(binds or {})
    settings = {"offset_factor": 1, **dict(default_buffer_params or {})}
    buffers = []
    for tensor in (*inputs, *[op.output(k) for k in range(op.num_outputs)]):
        buffer = given.get(tensor)
        if buffer is None:
            buffer = tir.decl_buffer(tensor.shape, tensor.dtype, tensor.op.name, **settings)
        elif buffer.dtype != tensor.dtype or len(buffer.shape) != tensor.ndim:
            raise ValueError_(
                f"{name}: buffer {buffer.name} of {buffer.dtype} and {len(buffer.shape)} "
                f"dimensions cannot stand for {tensor.name} of {tensor.dtype} and {tensor.ndim}"
            )
        buffers.append(buffer)
    ins, outs = buffers[: len(inputs)], buffers[len(inputs) :]
    scalars = list(scalar_params or [])
    made = fcompute(ins, outs, scalars) if scalars else fcompute(ins, outs)
    parts = list(made) if isinstance(made, (tuple, list)) else [made]
    if len(parts) > 3 or all(part is None for part in parts):
        raise TypeError_(
            f"{name}: expected fcompute to return one to three statements (body, reset, update), "
            f"but got {len(parts)}"
        )
    statements = [_statement(name, part) for part in parts]
    statements += [None] * (3 - len(statements))
    return TensorIntrin(name, op, inputs, buffers, scalars, *statements)


def _statement(name: str, part: Any) -> Stmt | None:
    if isinstance(part, PrimExpr):
        return tir.Evaluate(part)
    if part is None or isinstance(part, Stmt):
        return part
    raise TypeError_(
        f"{name}: expected fcompute to return statements or expressions, but got "
        f"{type(part).__name__}"
    )
