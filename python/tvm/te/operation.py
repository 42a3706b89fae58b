"""Operations: what tensors are outputs of, and the functions that make them."""

from __future__ import annotations

from tvm import tir
from tvm.error import TypeError_, ValueError_
from tvm.ir.base import Node
from tvm.ir.dtype import canonical, info
from tvm.ir.expr import Range
from tvm.tir import IterVar, PrimExpr, Reduce, stmt_functor

from .tag import TagScope
from .tensor import Tensor, TensorSlice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_REDUCE = Reduce.KIND & ~1  # without the bit that marks data expressions


class Operation(Node):
    """Base class of what computes tensors.

    Attributes
    ----------
    name : str
        For people; not unique.
    tag : str
        What a later schedule may know it by.
    attrs : dict
        Free attributes.
    input_tensors : tuple of Tensor
        The tensors it reads, each once, in order of first use.
    """

    __slots__ = ("name", "tag", "attrs", "_inputs")

    axis: tuple[IterVar, ...] = ()
    reduce_axis: tuple[IterVar, ...] = ()
    num_outputs = 1

    def __reduce__(self) -> tuple[Any, ...]:
        from .tensor import as_json

        return as_json(self)

    def _set(self, name: str, tag: str, attrs: Any) -> None:
        self.name = name
        self.tag = tag
        self.attrs = attrs
        self._inputs: tuple[Tensor, ...] | None = None

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        """The tensors that it reads."""
        inputs = self._inputs
        if inputs is None:
            inputs = self._inputs = self._find_inputs()
        return inputs

    def _find_inputs(self) -> tuple[Tensor, ...]:
        return ()

    def output(self, index: int) -> Tensor:
        """Output number ``index``.

        Raises
        ------
        ValueError
            If there is no such output.
        """
        if not 0 <= index < self.num_outputs:
            raise ValueError_(
                f"operation {self.name} has {self.num_outputs} output(s), there is no output "
                f"{index}"
            )
        return Tensor(self.output_shape(index), self.output_dtype(index), self, index)

    def output_shape(self, index: int) -> tuple[PrimExpr, ...]:
        """Shape of an output."""
        raise NotImplementedError

    def output_dtype(self, index: int) -> str:
        """Element type of an output."""
        raise NotImplementedError

    @property
    def root_iter_vars(self) -> tuple[IterVar, ...]:
        """The axes a schedule starts from: the outputs' dimensions, then the reduced ones."""
        return self.axis + self.reduce_axis

    def __repr__(self) -> str:
        return f"{self.type_key.rpartition('.')[2] or self.type_key}({self.name})"

    __str__ = __repr__


class PlaceholderOp(Operation):
    """A tensor that the caller brings."""

    __slots__ = ("shape", "dtype")

    type_key = "PlaceholderOp"
    FIELDS = "name:n tag:x attrs:r shape:es dtype:x"

    def __init__(self, name: str, shape: Any, dtype: str, tag: str = "", attrs: Any = None) -> None:
        self._set(name, tag, attrs or {})
        self.shape = tuple(shape)
        self.dtype = dtype

    def output_shape(self, index: int) -> tuple[PrimExpr, ...]:
        return self.shape

    def output_dtype(self, index: int) -> str:
        return self.dtype


class BaseComputeOp(Operation):
    """Base class of operations given element by element."""

    __slots__ = ()


class ComputeOp(BaseComputeOp):
    """Outputs of one shape, given by an expression of their indices.

    Attributes
    ----------
    axis : tuple of IterVar
        One for each dimension of the outputs.
    body : tuple of PrimExpr
        One for each output; either all are reductions of one combiner, or none is.
    """

    __slots__ = ("axis", "body", "reduce_axis")

    type_key = "ComputeOp"
    FIELDS = "name:n tag:x attrs:r axis:ax body:es"

    def __init__(self, name: str, tag: str, attrs: Any, axis: Any, body: Any) -> None:
        self._set(name, tag, attrs or {})
        self.axis = tuple(axis)
        self.body = tuple(body)
        first = self.body[0]
        self.reduce_axis = first.axis if isinstance(first, Reduce) else ()

    @property
    def num_outputs(self) -> int:  # type: ignore[override]
        return len(self.body)

    def output_shape(self, index: int) -> tuple[PrimExpr, ...]:
        return tuple([iv.dom.extent for iv in self.axis])

    def output_dtype(self, index: int) -> str:
        return str(self.body[index].dtype)

    def _find_inputs(self) -> tuple[Tensor, ...]:
        return tuple(dict.fromkeys([load.producer for load in loads_of(self)]))


def loads_of(op: ComputeOp) -> list[Any]:
    """The reads of tensors in an operation, each node once."""
    found: list[Any] = []

    def visit(node: Any) -> None:
        if isinstance(node, tir.ProducerLoad):
            found.append(node)

    first = op.body[0]
    if isinstance(first, Reduce):
        roots = [*first.source, *first.init, first.condition]
    else:
        roots = list(op.body)
    for root in roots:
        stmt_functor.post_order_visit(root, visit)
    return found


def placeholder(shape: Any, dtype: Any = None, name: str = "placeholder") -> Tensor:
    """A tensor that the caller brings.

    Parameters
    ----------
    shape : int, PrimExpr or tuple of them
        Extents; a bare expression is a one-dimensional shape.
    dtype : str, optional
        Element type, float32 by default.
    name : str
        Name in messages and printed programs.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> from tvm import te
    >>> n = te.var("n")
    >>> te.placeholder((n, 4), name="A").shape[1]
    4
    """
    return PlaceholderOp(
        name, _shape(shape, name), "float32" if dtype is None else canonical(dtype)
    ).output(0)


def _shape(shape: Any, name: str) -> tuple[PrimExpr, ...]:
    if isinstance(shape, PrimExpr) or not hasattr(shape, "__iter__"):
        shape = (shape,)
    dims = []
    for extent in shape:
        if isinstance(extent, PrimExpr):
            if not info(extent.dtype).is_int:
                raise TypeError_(
                    f"{name}: expected integer extents, but got {extent} of type {extent.dtype}"
                )
            dims.append(extent)
        elif isinstance(extent, IterVar):
            dims.append(extent.var)
        elif hasattr(extent, "__index__"):
            value = extent.__index__()
            if value < 0:
                raise ValueError_(f"{name}: extent {value} is negative")
            dims.append(tir.const(value, "int32" if value < 2**31 else "int64"))
        else:
            raise TypeError_(
                f"{name}: expected integers or integer expressions as the shape, but got "
                f"{extent!r} of type {type(extent).__name__}"
            )
    return tuple(dims)


def _parameters(function: Any) -> tuple[list[str], str | None]:
    """Names of a function's positional parameters, and of ``*args`` if it takes them."""
    code = getattr(function, "__code__", None)
    if code is None or hasattr(function, "__self__"):
        import inspect

        names, rest = [], None
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind is parameter.VAR_POSITIONAL:
                rest = parameter.name
            elif parameter.kind is parameter.VAR_KEYWORD:
                continue
            elif parameter.default is parameter.empty:
                names.append(parameter.name)
        return names, rest
    count = code.co_argcount
    required = count - len(function.__defaults__ or ())
    rest = None
    if code.co_flags & 0x04:  # CO_VARARGS
        rest = code.co_varnames[count + code.co_kwonlyargcount]
    return list(code.co_varnames[:required]), rest


def compute(
    shape: Any,
    fcompute: Any,
    name: str = "compute",
    tag: str = "",
    attrs: Any = None,
    varargs_names: Any = None,
) -> Any:
    """Tensors given by an expression of their indices.

    Parameters
    ----------
    shape : int, PrimExpr or tuple of them
        Extents of the outputs.
    fcompute : callable
        Takes one index variable for each dimension; returns an expression, or a list or tuple of
        them for several outputs.
    name : str
        Name in messages and printed programs.
    tag : str
        What a later schedule may know it by.
    attrs : dict, optional
        Free attributes.
    varargs_names : list of str, optional
        Names of the index variables that ``*args`` of ``fcompute`` stands for.

    Returns
    -------
    Tensor or list of Tensor

    Raises
    ------
    ValueError
        If the number of parameters does not fit the shape, or a reduction stands inside another
        expression. The error is a ``tvm.TVMError`` too.

    Examples
    --------
    >>> from tvm import te
    >>> A = te.placeholder((4, 3), name="A")
    >>> B = te.compute((3, 4), lambda i, j: A[j, i] + 1.0, name="B")
    >>> [axis.var.name for axis in B.op.axis]
    ['i', 'j']
    """
    scope = TagScope.get_current()
    if scope is not None:
        if tag:
            raise ValueError_(f"{name}: tag {tag!r} is given inside tag_scope({scope.tag!r})")
        tag = scope.tag
    dims = _shape(shape, name)
    names, rest = _parameters(fcompute)
    if rest is not None:
        missing = len(dims) - len(names)
        if varargs_names is not None:
            if len(varargs_names) != missing:
                raise ValueError_(
                    f"{name}: varargs_names has {len(varargs_names)} names for {missing} dimensions"
                )
            names = names + list(varargs_names)
        else:
            names = names + [f"i{k}" for k in range(len(names), len(dims))]
    elif varargs_names is not None:
        raise ValueError_(f"{name}: varargs_names is given, but fcompute takes no *args")
    elif not names and len(dims) == 1:
        names = ["i0"]
        only = fcompute
        fcompute = lambda _index: only()  # noqa: E731
    if len(names) != len(dims):
        raise ValueError_(
            f"{name}: the shape has {len(dims)} dimensions, but fcompute takes "
            f"{len(names)} parameters ({', '.join(names)})"
        )
    axis = tuple(
        [
            IterVar(Range.from_min_extent(_zero(extent), extent), tir.Var(n, extent.dtype), 0)
            for n, extent in zip(names, dims)
        ]
    )
    value = fcompute(*[iv.var for iv in axis])
    several = isinstance(value, (tuple, list))
    body = tuple([_value(v, name) for v in (value if several else (value,))])
    if not body:
        raise ValueError_(f"{name}: fcompute returned no expression")
    _verify_body(name, body)
    op = ComputeOp(name, tag, attrs, axis, body)
    outputs = [op.output(i) for i in range(len(body))]
    return outputs if several and len(outputs) > 1 else outputs[0]


def _zero(like: PrimExpr) -> PrimExpr:
    return tir.IntImm(like.dtype, 0)


def _value(value: Any, name: str) -> PrimExpr:
    if isinstance(value, PrimExpr):
        return value
    if isinstance(value, IterVar):
        return value.var
    if isinstance(value, Tensor) and value.ndim == 0:
        return value()
    if isinstance(value, (bool, int, float)) or hasattr(value, "item"):
        return tir.const(value) if not isinstance(value, Tensor) else _refuse(value, name)
    return _refuse(value, name)


def _refuse(value: Any, name: str) -> PrimExpr:
    if isinstance(value, (Tensor, TensorSlice)):
        tensor = value if isinstance(value, Tensor) else value.tensor
        given = 0 if isinstance(value, Tensor) else len(value.indices)
        raise TypeError_(
            f"{name}: fcompute returned tensor {tensor.name} with {given} of its "
            f"{tensor.ndim} indices; give all of them"
        )
    raise TypeError_(
        f"{name}: expected fcompute to return an expression, but got {type(value).__name__}"
    )


def _verify_body(name: str, body: tuple[PrimExpr, ...]) -> None:
    """Reductions stand alone, and several of them are the outputs of one combiner."""
    first = body[0]
    if isinstance(first, Reduce):
        for position, value in enumerate(body):
            if (
                not isinstance(value, Reduce)
                or value.combiner is not first.combiner
                or value.value_index != position
                or len(value.axis) != len(first.axis)
                or any(a is not b for a, b in zip(value.axis, first.axis))
            ):
                raise ValueError_(
                    f"{name}: when an output is a reduction, all outputs must be the results of "
                    "one combiner over the same axes, in order"
                )
        roots = [*first.source, *first.init, first.condition]
    else:
        roots = list(body)

    def visit(node: Any) -> None:
        if isinstance(node, Reduce):
            raise ValueError_(
                f"{name}: a reduction must be the whole expression of te.compute, but it is part "
                "of a larger one; compute the reduction first and use its tensor in a second "
                "te.compute"
            )

    for root in roots:
        if root.kinds & _REDUCE:
            stmt_functor.post_order_visit(root, visit)


def var(name: str = "tindex", dtype: str = "int32", span: object = None) -> tir.Var:
    """A scalar variable, for instance an extent that is known only at the call.

    Examples
    --------
    >>> from tvm import te
    >>> te.var("n").dtype
    'int32'
    """
    return tir.Var(name, dtype)


def size_var(name: str = "size", dtype: str = "int32", span: object = None) -> tir.SizeVar:
    """A scalar variable that is never negative."""
    return tir.SizeVar(name, dtype)


def const(value: Any, dtype: Any = None, span: object = None) -> PrimExpr:
    """A constant expression."""
    return tir.const(value, dtype)  # type: ignore[no-any-return]


def _domain(dom: Any, what: str) -> Range | None:
    if dom is None or isinstance(dom, Range):
        return dom
    if isinstance(dom, (tuple, list)):
        if len(dom) != 2:
            raise TypeError_(f"{what}: the domain needs two values (begin, end), but got {dom!r}")
        return Range(dom[0], dom[1])
    raise TypeError_(f"{what}: expected a Range or (begin, end) as the domain, but got {dom!r}")


def reduce_axis(dom: Any, name: str = "rv", thread_tag: str = "", span: object = None) -> IterVar:
    """An axis to reduce over.

    Parameters
    ----------
    dom : Range or (begin, end)
        The values it takes.
    name : str
        Name in messages and printed programs.

    Examples
    --------
    >>> from tvm import te
    >>> A = te.placeholder((4, 8), name="A")
    >>> k = te.reduce_axis((0, 8), name="k")
    >>> R = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="R")
    >>> len(R.op.reduce_axis)
    1
    """
    domain = _domain(dom, f"reduce_axis {name}")
    if domain is None:
        raise TypeError_(f"reduce_axis {name}: the domain is missing")
    return IterVar(domain, tir.Var(name, domain.extent.dtype), IterVar.CommReduce, thread_tag)


def thread_axis(dom: Any = None, tag: str = "", name: str = "", span: object = None) -> IterVar:
    """An axis that stands for the threads of a device.

    Parameters
    ----------
    dom : Range, (begin, end) or str, optional
        The values it takes; text alone is the tag.
    tag : str
        The thread's name, for instance ``"threadIdx.x"``.
    """
    if isinstance(dom, str):
        tag, dom = dom, None
    if not tag:
        raise ValueError_("thread_axis: the tag is missing, for instance 'threadIdx.x'")
    domain = _domain(dom, f"thread_axis {tag}")
    dtype = domain.extent.dtype if domain is not None else "int32"
    return IterVar(domain, tir.Var(name or tag, dtype), IterVar.ThreadIndex, tag)
