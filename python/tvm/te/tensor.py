"""Tensors of the expression language, and slices of them."""

from __future__ import annotations

from tvm import tir
from tvm.error import IndexError_, TypeError_, ValueError_
from tvm.runtime.object import Object
from tvm.tir import DataProducer, PrimExpr, ProducerLoad
from tvm.tir.expr import convert

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .operation import Operation


class TensorSlice:
    """A tensor with its first indices given; more may follow in brackets.

    A slice whose indices are complete is a ``tir.ProducerLoad``, so that this class never stands
    for a value.
    """

    __slots__ = ("tensor", "indices")

    def __init__(self, tensor: Tensor, indices: Any) -> None:
        self.tensor = tensor
        self.indices = tuple(indices) if isinstance(indices, (tuple, list)) else (indices,)

    def __getitem__(self, indices: Any) -> Any:
        more = indices if isinstance(indices, tuple) else (indices,)
        return self.tensor[self.indices + more]

    @property
    def dtype(self) -> str:
        """Element type."""
        return self.tensor.dtype

    def asobject(self) -> ProducerLoad:
        """The load this slice stands for; an error, because indices are missing."""
        return self.tensor(*self.indices)


def from_json(text: str) -> Any:
    """A tensor, operation or schedule of JSON text. Here, so that unpickling loads the classes."""
    from tvm.ir.serialization import load_json

    return load_json(text)


def as_json(value: Any) -> tuple[Any, ...]:
    """How pickle writes what belongs to this package."""
    from tvm.ir.serialization import save_json

    return from_json, (save_json(value),)


class Tensor(DataProducer):
    """One output of an operation.

    Attributes
    ----------
    op : Operation
        The operation that computes it.
    value_index : int
        Which output of ``op`` this is.
    shape : tuple of PrimExpr
        Extents, int32 or int64.
    dtype : str
        Element type.

    Examples
    --------
    >>> from tvm import te
    >>> A = te.placeholder((4, 3), name="A")
    >>> A.ndim, A.dtype, A.op.name
    (2, 'float32', 'A')
    """

    __slots__ = ("shape", "dtype", "op", "value_index")

    type_key = "Tensor"
    FIELDS = "shape:es dtype:x op:r value_index:x"

    def __reduce__(self) -> tuple[Any, ...]:
        return as_json(self)

    def __init__(self, shape: Any, dtype: str, op: Operation, value_index: int) -> None:
        self.shape = shape
        self.dtype = dtype
        self.op = op
        self.value_index = value_index

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def axis(self) -> Any:
        """The axes of the operation that computes it."""
        return self.op.axis

    @property
    def name(self) -> str:
        """The operation's name, with a number where it has several outputs."""
        op = self.op
        if op.num_outputs == 1:
            return op.name
        return f"{op.name}.v{self.value_index}"

    name_hint = name

    def __hash__(self) -> int:
        return hash((id(self.op), self.value_index))

    def __eq__(self, other: object) -> Any:
        if isinstance(other, Tensor):
            return self.op is other.op and self.value_index == other.value_index
        return NotImplemented

    def __ne__(self, other: object) -> Any:
        if isinstance(other, Tensor):
            return not self.__eq__(other)
        return NotImplemented

    def same_as(self, other: object) -> bool:
        return isinstance(other, Tensor) and self.__eq__(other)

    def __call__(self, *indices: Any) -> ProducerLoad:
        """The value at ``indices``, one for each dimension.

        Raises
        ------
        ValueError
            If the number of indices is not the number of dimensions, or an index is a negative
            constant or one past a constant extent.
        """
        shape = self.shape
        if len(indices) != len(shape):
            raise ValueError_(
                f"tensor {self.name}: expected {len(shape)} indices, one for each dimension, "
                f"but got {len(indices)}"
            )
        return ProducerLoad(self, tuple([_index(self, i) for i in indices]))

    def __getitem__(self, indices: Any) -> Any:
        if not isinstance(indices, tuple):
            indices = tuple(indices) if isinstance(indices, list) else (indices,)
        if len(indices) < len(self.shape):
            return TensorSlice(self, indices)
        return self(*indices)

    def __iter__(self) -> Any:
        raise TypeError_(f"tensor {self.name} is not iterable; index it inside te.compute")

    def __bool__(self) -> bool:
        raise ValueError_(f"tensor {self.name} has no truth value: it is not computed yet")

    # element-wise operators with broadcasting
    def __add__(self, other: Any) -> Any:
        return _binary(tir.add, self, other)

    def __radd__(self, other: Any) -> Any:
        return _binary(tir.add, other, self)

    def __sub__(self, other: Any) -> Any:
        return _binary(tir.subtract, self, other)

    def __rsub__(self, other: Any) -> Any:
        return _binary(tir.subtract, other, self)

    def __mul__(self, other: Any) -> Any:
        return _binary(tir.multiply, self, other)

    def __rmul__(self, other: Any) -> Any:
        return _binary(tir.multiply, other, self)

    def __truediv__(self, other: Any) -> Any:
        return _binary(lambda a, b: a / b, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _binary(lambda a, b: a / b, other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _binary(lambda a, b: a // b, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _binary(lambda a, b: a // b, other, self)

    def __mod__(self, other: Any) -> Any:
        return _binary(lambda a, b: a % b, self, other)

    def __rmod__(self, other: Any) -> Any:
        return _binary(lambda a, b: a % b, other, self)

    def __neg__(self) -> Any:
        return _elementwise(lambda x: -x, self)

    def __and__(self, other: Any) -> Any:
        return _binary(lambda a, b: a & b, self, other)

    def __or__(self, other: Any) -> Any:
        return _binary(lambda a, b: a | b, self, other)

    def __xor__(self, other: Any) -> Any:
        return _binary(lambda a, b: a ^ b, self, other)

    def __lshift__(self, other: Any) -> Any:
        return _binary(lambda a, b: a << b, self, other)

    def __rshift__(self, other: Any) -> Any:
        return _binary(lambda a, b: a >> b, self, other)

    def __lt__(self, other: Any) -> Any:
        return _binary(lambda a, b: a < b, self, other)

    def __le__(self, other: Any) -> Any:
        return _binary(lambda a, b: a <= b, self, other)

    def __gt__(self, other: Any) -> Any:
        return _binary(lambda a, b: a > b, self, other)

    def __ge__(self, other: Any) -> Any:
        return _binary(lambda a, b: a >= b, self, other)

    def equal(self, other: Any) -> Any:
        """Element-wise comparison."""
        return _binary(lambda a, b: a.equal(b), self, other)

    def astype(self, dtype: str, span: object = None) -> Tensor:
        """The tensor with every element cast to ``dtype``."""
        return _elementwise(lambda x: x.astype(dtype), self)


def _index(tensor: Tensor, index: Any) -> PrimExpr:
    if isinstance(index, PrimExpr):
        return index
    if isinstance(index, tir.IterVar):
        return index.var
    if isinstance(index, bool) or not hasattr(index, "__index__"):
        if isinstance(index, slice):
            raise TypeError_(
                f"tensor {tensor.name}: slices such as [:] are not supported; "
                "index every dimension inside te.compute"
            )
        if isinstance(index, (Object, bool)):
            return convert(index)  # type: ignore[no-any-return]
        raise TypeError_(
            f"tensor {tensor.name}: expected integer expressions as indices, but got "
            f"{type(index).__name__}"
        )
    value = index.__index__()
    if value < 0:
        raise IndexError_(f"tensor {tensor.name}: index {value} is negative")
    return tir.const(value, "int32" if value < 2**31 else "int64")  # type: ignore[no-any-return]


def _elementwise(function: Any, tensor: Tensor) -> Tensor:
    from .operation import compute

    made: Tensor = compute(
        tensor.shape, lambda *i: function(tensor(*i)), name="compute", tag="elemwise"
    )
    return made


def _binary(function: Any, lhs: Any, rhs: Any) -> Any:
    """Element-wise ``function`` with NumPy's broadcasting; scalars broadcast to anything."""
    from .operation import compute

    if not isinstance(rhs, Tensor):
        if isinstance(rhs, TensorSlice):
            return NotImplemented
        return compute(lhs.shape, lambda *i: function(lhs(*i), rhs), name="compute", tag="elemwise")
    if not isinstance(lhs, Tensor):
        return compute(rhs.shape, lambda *i: function(lhs, rhs(*i)), name="compute", tag="elemwise")
    ndim = max(lhs.ndim, rhs.ndim)
    shape: list[Any] = []
    for axis in range(-ndim, 0):
        a = lhs.shape[axis] if -axis <= lhs.ndim else None
        b = rhs.shape[axis] if -axis <= rhs.ndim else None
        if a is None or (b is not None and _is_one(a)):
            shape.append(b)
        elif b is None or _is_one(b) or _same(a, b):
            shape.append(a)
        else:
            raise ValueError_(
                f"cannot broadcast {lhs.name} of shape {_text(lhs.shape)} with {rhs.name} of "
                f"shape {_text(rhs.shape)}: {a} and {b} differ and neither is 1"
            )

    def pick(tensor: Tensor, indices: Any) -> PrimExpr:
        own = indices[ndim - tensor.ndim :]
        return tensor(
            *[
                i if not _is_one(extent) or _is_one(whole) else 0
                for i, extent, whole in zip(own, tensor.shape, shape[ndim - tensor.ndim :])
            ]
        )

    return compute(
        tuple(shape),
        lambda *i: function(pick(lhs, i), pick(rhs, i)),
        name="compute",
        tag="broadcast",
    )


def _is_one(extent: PrimExpr) -> bool:
    return isinstance(extent, tir.IntImm) and extent.value == 1


def _same(a: PrimExpr, b: PrimExpr) -> bool:
    from tvm.ir import structural_equal

    return a is b or bool(structural_equal(a, b))


def _text(shape: Any) -> str:
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"
