"""Operations whose body the program writes itself, over buffers."""

from __future__ import annotations

from tvm import tir
from tvm.error import TypeError_, ValueError_
from tvm.ir.dtype import canonical
from tvm.tir import Buffer, PrimExpr

from .operation import Operation, _shape
from .tag import TagScope
from .tensor import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class ExternOp(Operation):
    """Outputs computed by a statement over buffers.

    Attributes
    ----------
    inputs : tuple of Tensor
        What it reads, each as a whole.
    input_placeholders, output_placeholders : tuple of Buffer
        What stands for the inputs and outputs in the body.
    body : Stmt
        The statement.
    """

    __slots__ = ("inputs", "input_placeholders", "output_placeholders", "body")

    type_key = "ExternOp"
    FIELDS = "name:n tag:x attrs:r inputs:r input_placeholders:ds output_placeholders:ds body:s"

    def __init__(
        self,
        name: str,
        tag: str,
        attrs: Any,
        inputs: Any,
        input_placeholders: Any,
        output_placeholders: Any,
        body: Any,
    ) -> None:
        self._set(name, tag, attrs or {})
        self.inputs = tuple(inputs)
        self.input_placeholders = tuple(input_placeholders)
        self.output_placeholders = tuple(output_placeholders)
        self.body = body

    @property
    def num_outputs(self) -> int:  # type: ignore[override]
        return len(self.output_placeholders)

    def output_shape(self, index: int) -> tuple[PrimExpr, ...]:
        return tuple(self.output_placeholders[index].shape)

    def output_dtype(self, index: int) -> str:
        return str(self.output_placeholders[index].dtype)

    def _find_inputs(self) -> tuple[Tensor, ...]:
        return tuple(dict.fromkeys(self.inputs))

    @property
    def whole_inputs(self) -> tuple[Tensor, ...]:
        """The tensors that `with_inputs` replaces."""
        return self.inputs

    def with_inputs(self, inputs: list[Tensor]) -> ExternOp:
        """The same body over other tensors."""
        return ExternOp(
            self.name,
            self.tag,
            self.attrs,
            inputs,
            self.input_placeholders,
            self.output_placeholders,
            self.body,
        )


def extern(
    shape: Any,
    inputs: Any,
    fcompute: Callable[..., Any],
    name: str = "extern",
    dtype: Any = None,
    in_buffers: Any = None,
    out_buffers: Any = None,
    tag: str = "",
    attrs: Any = None,
) -> Any:
    """Tensors computed by a statement over buffers.

    Parameters
    ----------
    shape : tuple, or list of tuples
        Shape of the output, or of each output.
    inputs : list of Tensor
        What the statement reads.
    fcompute : callable
        ``fcompute(ins, outs)`` takes the buffers of inputs and outputs and returns a statement, or
        an expression that is evaluated for its effect.
    name : str
        Name in messages and printed programs.
    dtype : str or list of str, optional
        Element types of the outputs; the inputs' by default.
    in_buffers, out_buffers : Buffer or list of Buffer, optional
        Buffers to use in place of compact ones.
    tag, attrs
        As in `compute`.

    Returns
    -------
    Tensor or list of Tensor

    Examples
    --------
    >>> from tvm import te, tir
    >>> A = te.placeholder((4,), name="A")
    >>> def double(ins, outs):
    ...     ib = tir.ir_builder.create()
    ...     a, b = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
    ...     with ib.for_range(0, 4) as i:
    ...         b[i] = a[i] * 2.0
    ...     return ib.get()
    >>> B = te.extern((4,), [A], double, name="B")  # doctest: +SKIP
    """
    scope = TagScope.get_current()
    if scope is not None:
        if tag:
            raise ValueError_(f"{name}: tag {tag!r} is given inside tag_scope({scope.tag!r})")
        tag = scope.tag
    inputs = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    for position, tensor in enumerate(inputs):
        if not isinstance(tensor, Tensor):
            raise TypeError_(
                f"{name}: input {position}: expected a tensor, but got {type(tensor).__name__}"
            )
    ins = _buffers(in_buffers, [t.shape for t in inputs], [t.dtype for t in inputs],
                   [t.name for t in inputs], name)  # fmt: skip
    if out_buffers is None:
        several = isinstance(shape, list) or (
            isinstance(shape, tuple) and bool(shape) and isinstance(shape[0], (list, tuple))
        )
        shapes = [_shape(s, name) for s in (shape if several else [shape])]
        dtypes = _dtypes(dtype, inputs, len(shapes), name)
        names = [name] if len(shapes) == 1 else [f"{name}.v{k}" for k in range(len(shapes))]
        outs = _buffers(None, shapes, dtypes, names, name)
    else:
        outs = list(out_buffers) if isinstance(out_buffers, (list, tuple)) else [out_buffers]
    body = fcompute(ins, outs)
    if isinstance(body, PrimExpr):
        body = tir.Evaluate(body)
    if not isinstance(body, tir.Stmt):
        raise ValueError_(
            f"{name}: expected fcompute to return a statement or an expression, but got "
            f"{type(body).__name__}"
        )
    op = ExternOp(name, tag, attrs, inputs, ins, outs, body)
    results = [op.output(k) for k in range(len(outs))]
    return results[0] if len(results) == 1 else results


def _buffers(given: Any, shapes: Any, dtypes: Any, names: Any, name: str) -> list[Buffer]:
    if given is not None:
        given = list(given) if isinstance(given, (list, tuple)) else [given]
        if len(given) != len(shapes):
            raise ValueError_(f"{name}: expected {len(shapes)} buffers, but got {len(given)}")
        return given  # type: ignore[no-any-return]
    return [tir.decl_buffer(s, d, n) for s, d, n in zip(shapes, dtypes, names)]


def _dtypes(dtype: Any, inputs: list[Tensor], count: int, name: str) -> list[str]:
    if dtype is None:
        kinds = {tensor.dtype for tensor in inputs}
        if len(kinds) != 1:
            raise ValueError_(
                f"{name}: dtype is missing, and the inputs' types do not tell it: "
                f"{', '.join(sorted(kinds)) or 'no inputs'}"
            )
        return [kinds.pop()] * count
    if isinstance(dtype, (list, tuple)):
        if len(dtype) != count:
            raise ValueError_(f"{name}: expected {count} dtypes, but got {len(dtype)}")
        return [canonical(d) for d in dtype]
    return [canonical(dtype)] * count
