"""Expressions that reach out: loads, calls, bindings, reductions."""

from __future__ import annotations

from .. import error
from ..ir import dtype as _dtype
from ..ir.base import Node
from ..ir.expr import PrimExpr, Range
from .expr_values import DATA, ExprOp, PrimExprWithOp, Var, below, convert, new_kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .buffer import Buffer


class BufferLoad(PrimExprWithOp):
    """An element of a buffer, or several where an index is a vector."""

    __slots__ = ("buffer", "indices")
    type_key = "tir.BufferLoad"
    KIND = new_kind() | DATA
    FIELDS = "dtype:x buffer:r indices:es"

    def __init__(self, buffer: Buffer, indices: Any, span: object = None) -> None:
        items = []
        kinds = self.KIND
        depth = 0
        for item in indices:
            if not isinstance(item, PrimExpr):
                item = convert(item)
            kinds |= item.kinds
            if item.depth > depth:
                depth = item.depth
            items.append(item)
        self.buffer = buffer
        self.indices = tuple(items)
        self.kinds = kinds
        self.depth = depth + 1
        self.dtype = load_dtype(buffer.dtype, items)


def load_dtype(element: str, indices: list[Any]) -> str:
    """The type read by an access with these indices: the lanes of the last index multiply."""
    if not indices or indices[-1].dtype == "int32":
        return element
    lanes = _dtype.info(indices[-1].dtype).lanes
    if lanes == 1:
        return element
    return _dtype.with_lanes(element, lanes * _dtype.info(element).lanes)


class DataProducer(Node):
    """Something that gives one value a multi-dimensional position; `te.Tensor` is one."""

    __slots__ = ()


class ProducerLoad(PrimExprWithOp):
    """An element of a producer, before storage is decided."""

    __slots__ = ("indices", "producer")
    type_key = "tir.ProducerLoad"
    KIND = new_kind() | DATA
    FIELDS = "dtype:x producer:r indices:es"

    def __init__(self, producer: Any, indices: Any, span: object = None) -> None:
        self.producer = producer
        self.indices = tuple(convert(item) for item in indices)
        self.dtype = producer.dtype
        self.kinds, self.depth = below(self.indices, self.KIND, 0)
        self.depth += 1


class Call(PrimExprWithOp):
    """A call of an operator of the language, of a function of the module, or of an outside one.

    Parameters
    ----------
    dtype : str
        The type of the result; "void" or "int32" where nobody looks at it.
    op : Op, GlobalVar or str
        An `ir.Op`, or its name as "tir.exp".
    args : list of PrimExpr
        The arguments.
    """

    __slots__ = ("args", "op")
    type_key = "tir.Call"
    KIND = new_kind() | DATA
    FIELDS = "dtype:x op:r args:es"

    def __init__(self, dtype: str, op: Any, args: Any, span: object = None) -> None:
        if type(op) is str:
            from ..ir.op import Op

            op = Op.get(op)
        items = []
        kinds = self.KIND
        depth = 0
        for item in args:
            if not isinstance(item, PrimExpr):
                item = convert_argument(item)
            kinds |= item.kinds
            if item.depth > depth:
                depth = item.depth
            items.append(item)
        self.dtype = _dtype.canonical(dtype)
        self.op = op
        self.args = tuple(items)
        self.kinds = kinds
        self.depth = depth + 1


def convert_argument(value: Any) -> Any:
    """An argument of a call; a buffer stands for its data pointer."""
    data = getattr(value, "data", None)
    if isinstance(data, Var) and not isinstance(value, PrimExpr):
        return data
    return convert(value)


class CallEffect:
    """What a call may do beside its result."""

    ExprAnnotation = 0
    Pure = 1
    ReadState = 2
    UpdateState = 3
    Opaque = UpdateState
    SpecialCallArg = 4
    EmbedInfo = 5
    ControlJump = 6


class Let(PrimExprWithOp):
    """The value of `body` with `var` standing for `value`."""

    __slots__ = ("body", "value", "var")
    type_key = "tir.Let"
    KIND = new_kind()
    FIELDS = "dtype:x value:e var:d body:e"

    def __init__(self, var: Var, value: Any, body: Any, span: object = None) -> None:
        value = convert(value)
        body = convert(body)
        if value.dtype != var.dtype:
            raise error.TypeError_(
                f"tir.Let: {var.name} is of dtype {var.dtype}, but its value of {value.dtype}"
            )
        self.var = var
        self.value = value
        self.body = body
        self.dtype = body.dtype
        self.kinds = value.kinds | body.kinds | self.KIND
        self.depth = max(value.depth, body.depth) + 1


class Any_(PrimExprWithOp):
    """An unknown size."""

    __slots__ = ()
    type_key = "tir.Any"
    KIND = new_kind() | DATA
    FIELDS = "dtype:x"

    def __init__(self, span: object = None) -> None:
        self.dtype = "int32"
        self.kinds = self.KIND
        self.depth = 1

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> Any_:
        return cls()


# --- iteration and reduction ----------------------------------------------------------------------


class IterVar(ExprOp, Node):
    """A variable with the range over which it runs and the way in which it does.

    Parameters
    ----------
    dom : Range, (begin, end) or None
        The range, when known.
    var : Var or str
        The variable, or its name.
    iter_type : int
        One of the constants below.
    thread_tag : str
        For thread axes, as "threadIdx.x".
    """

    __slots__ = ("dom", "iter_type", "thread_tag", "var")
    type_key = "tir.IterVar"
    FIELDS = "dom:r var:d iter_type:x thread_tag:x"

    DataPar = 0
    ThreadIndex = 1
    CommReduce = 2
    Ordered = 3
    DimInfo = 4
    Unrolled = 5
    Vectorized = 6
    Parallelized = 7
    Tensorized = 8

    def __init__(
        self,
        dom: Any,
        var: Var | str,
        iter_type: int = 0,
        thread_tag: str = "",
        span: object = None,
    ) -> None:
        if dom is not None and not isinstance(dom, Range):
            if not isinstance(dom, (list, tuple)) or len(dom) != 2:
                raise error.TypeError_(
                    "IterVar: expected dom to be a Range, (begin, end) or None, but got "
                    f"{type(dom).__name__}"
                )
            dom = Range(dom[0], dom[1])
        if not isinstance(var, Var):
            var = Var(var, dom.extent.dtype if dom is not None else "int32")
        self.dom = dom
        self.var = var
        self.iter_type = int(iter_type)
        self.thread_tag = str(thread_tag)

    @property
    def dtype(self) -> str:
        """The variable's dtype."""
        return self.var.dtype

    __hash__ = Node.__hash__


class CommReducer(Node):
    """How values are combined: `result` in terms of `lhs` and `rhs`, and what changes nothing.

    Several results at once make a tuple reduction, argmax for instance.
    """

    __slots__ = ("identity_element", "lhs", "result", "rhs")
    type_key = "tir.CommReducer"
    FIELDS = "lhs:ds rhs:ds result:es identity_element:es"

    def __init__(
        self, lhs: Any, rhs: Any, result: Any, identity_element: Any, span: object = None
    ) -> None:
        self.lhs = tuple(lhs)
        self.rhs = tuple(rhs)
        self.result = tuple(convert(item) for item in result)
        self.identity_element = tuple(convert(item) for item in identity_element)
        sizes = {len(self.lhs), len(self.rhs), len(self.result), len(self.identity_element)}
        if len(sizes) != 1:
            raise error.ValueError_(
                "CommReducer: lhs, rhs, result and identity_element must be equally long, but got "
                f"{len(self.lhs)}, {len(self.rhs)}, {len(self.result)} and "
                f"{len(self.identity_element)}"
            )


class Reduce(PrimExprWithOp):
    """The combination of `source` over `axis`, where `condition` holds."""

    __slots__ = ("axis", "combiner", "condition", "init", "source", "value_index")
    type_key = "tir.Reduce"
    KIND = new_kind() | DATA
    FIELDS = "dtype:x combiner:r axis:ax source:es init:es condition:e value_index:x"

    def __init__(
        self,
        combiner: CommReducer,
        source: Any,
        axis: Any,
        condition: Any,
        value_index: int,
        init: Any = None,
        span: object = None,
    ) -> None:
        self.combiner = combiner
        self.source = tuple(convert(item) for item in source)
        self.axis = tuple(axis)
        self.condition = convert(True if condition is None else condition)
        self.value_index = int(value_index)
        self.init = tuple(convert(item) for item in init) if init else ()
        if not 0 <= self.value_index < len(self.source):
            raise error.ValueError_(
                f"Reduce: value_index {self.value_index} is out of 0..{len(self.source) - 1}"
            )
        self.dtype = self.source[self.value_index].dtype
        domains = tuple(item.dom for item in self.axis if item.dom is not None)
        parts = self.source + self.init + domains + (self.condition,)
        self.kinds, self.depth = below(parts, self.KIND, 0)
        self.depth += 1
