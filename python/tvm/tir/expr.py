"""Expression nodes.

The constructors build exactly the node asked for; constant folding and the matching of operand
types belong to the operators (`tvm.tir.operators`), which the classes here receive as methods.

Semantics, the same in the interpreter, the simplifier and every backend:

* integers wrap modulo 2^bits; dividing by zero at run time gives 0, the smallest int by -1 wraps;
* `Div`/`Mod` truncate toward zero (C), `FloorDiv`/`FloorMod` round toward minus infinity (Python);
* floats are IEEE in their own width; `Min`/`Max` return NaN when either operand is NaN;
* float -> int casts saturate, NaN gives 0; a cast to bool is "not equal to zero".
"""

from __future__ import annotations

from .. import error
from ..ir import dtype as _dtype
from ..ir.base import Node
from ..ir.expr import PrimExpr, Range
from ..ir.type import PrimType, Type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .buffer import Buffer

# Bits of `kinds`. Bit 0 marks *data* expressions: integer values that wrap modulo 2^bits because
# they come from memory, a call, a reduction or a cast that may lose bits. Expressions without the
# bit are *index* expressions, mathematical integers.
DATA = 1
_next_bit = 1


def new_kind() -> int:
    """A fresh bit for a class of expressions or statements."""
    global _next_bit
    bit = 1 << _next_bit
    _next_bit += 1
    return bit


def _below(items: tuple[Any, ...], kinds: int, depth: int) -> tuple[int, int]:
    """`kinds` and `depth` over some children as well."""
    for item in items:
        kinds |= item.kinds
        if item.depth > depth:
            depth = item.depth
    return kinds, depth


def convert(value: Any) -> Any:
    """`value` as an expression: int -> int32 (int64 if needed), float -> float32, str -> StringImm.

    Raises
    ------
    TypeError
        For anything that has no expression.
    """
    if isinstance(value, PrimExpr):
        return value
    if isinstance(value, bool):
        return IntImm("bool", int(value))
    if isinstance(value, int):
        return IntImm("int32" if -(1 << 31) <= value < (1 << 31) else "int64", value)
    if isinstance(value, float):
        return FloatImm("float32", value)
    if isinstance(value, str):
        return StringImm(value)
    if isinstance(value, IterVar):
        return value.var
    as_object = getattr(value, "asobject", None)
    if as_object is not None:
        return convert(as_object())
    found = getattr(value, "dtype", None)
    if found is not None and hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        return const_of(value.item(), _dtype.canonical(found))
    raise error.TypeError_(
        f"cannot make an expression of a {type(value).__name__}: expected an expression, an int, "
        "a float, a bool or a str"
    )


def const_of(value: Any, dtype: str) -> Any:
    """The constant `value` of type `dtype`; a vector type gives a Broadcast."""
    found = _dtype.info(dtype)
    if found.lanes > 1:
        return Broadcast(const_of(value, found.scalar), found.lanes)
    if found.is_float:
        return FloatImm(found.text, float(value))
    if found.is_int:
        return IntImm(found.text, int(value))
    if found.kind == "handle" and value == 0:
        return Call("handle", "tir.reinterpret", [IntImm("int64", 0)])
    raise error.ValueError_(f"there is no constant of dtype {dtype!r}")


class ExprOp:
    """The operators of expressions; `tvm.tir.operators` installs them."""

    __slots__ = ()

    if TYPE_CHECKING:

        def __add__(self, other: Any) -> Any: ...
        def __radd__(self, other: Any) -> Any: ...
        def __sub__(self, other: Any) -> Any: ...
        def __rsub__(self, other: Any) -> Any: ...
        def __mul__(self, other: Any) -> Any: ...
        def __rmul__(self, other: Any) -> Any: ...
        def __truediv__(self, other: Any) -> Any: ...
        def __rtruediv__(self, other: Any) -> Any: ...
        def __floordiv__(self, other: Any) -> Any: ...
        def __rfloordiv__(self, other: Any) -> Any: ...
        def __mod__(self, other: Any) -> Any: ...
        def __rmod__(self, other: Any) -> Any: ...
        def __neg__(self) -> Any: ...
        def __lshift__(self, other: Any) -> Any: ...
        def __rshift__(self, other: Any) -> Any: ...
        def __and__(self, other: Any) -> Any: ...
        def __or__(self, other: Any) -> Any: ...
        def __xor__(self, other: Any) -> Any: ...
        def __invert__(self) -> Any: ...
        def __lt__(self, other: Any) -> Any: ...
        def __le__(self, other: Any) -> Any: ...
        def __gt__(self, other: Any) -> Any: ...
        def __ge__(self, other: Any) -> Any: ...
        def astype(self, dtype: Any, span: object = None) -> Any: ...
        def equal(self, other: Any, span: object = None) -> Any: ...

    def __bool__(self) -> bool:
        raise error.ValueError_(
            "cannot use and / or / not / if on a symbolic expression, its value is not known yet: "
            f"use tvm.tir.all, tvm.tir.any, tvm.tir.Not or tvm.tir.if_then_else; got {self}"
        )


class PrimExprWithOp(ExprOp, PrimExpr):
    """Base class of the expression nodes."""

    __slots__ = ()

    # Equality makes nodes; identity hashes.
    __hash__ = PrimExpr.__hash__


class ConstExpr(PrimExprWithOp):
    """Base class of constants."""

    __slots__ = ()


# --- leaves ---------------------------------------------------------------------------------------


class Var(PrimExprWithOp):
    """A variable; two variables of one name are two variables.

    Parameters
    ----------
    name : str
        For people; the printer makes it unique.
    dtype : str or Type
        The type; a `PointerType` makes a "handle" whose elements are known.
    """

    __slots__ = ("name", "type_annotation")
    type_key = "tir.Var"
    KIND = new_kind()
    FIELDS = "name:n dtype:x type_annotation:r"

    def __init__(self, name: str, dtype: str | Type = "int32", span: object = None) -> None:
        self.name = name if type(name) is str else str(name)
        if isinstance(dtype, Type):
            self.type_annotation: Type | None = dtype
            self.dtype = dtype.dtype if isinstance(dtype, PrimType) else "handle"
        else:
            self.dtype = _dtype.canonical(dtype)
            self.type_annotation = None
        self.kinds = self.KIND
        self.depth = 1

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> Var:
        annotation = values.get("type_annotation")
        return cls(values["name"], values["dtype"] if annotation is None else annotation)

    @property
    def name_hint(self) -> str:
        """The name."""
        return self.name

    def copy_with_suffix(self, suffix: str) -> Var:
        """A new variable of the same type whose name has `suffix` appended."""
        return type(self)(self.name + suffix, self.type_annotation or self.dtype)


class SizeVar(Var):
    """A variable that is known not to be negative: a size."""

    __slots__ = ()
    type_key = "tir.SizeVar"
    KIND = new_kind()
    FIELDS = Var.FIELDS


class IntImm(ConstExpr):
    """An integer constant; the value must be in the type's range."""

    __slots__ = ("value",)
    type_key = "IntImm"
    KIND = new_kind()
    FIELDS = "dtype:x value:x"

    def __init__(self, dtype: str, value: int, span: object = None) -> None:
        if dtype == "int32" and type(value) is int and -0x80000000 <= value <= 0x7FFFFFFF:
            self.dtype = dtype
            self.value = value
        else:
            found = _dtype.info(_dtype.canonical(dtype))
            if not found.is_int or found.lanes != 1:
                raise error.ValueError_(f"IntImm: expected an integer dtype, but got {dtype!r}")
            if isinstance(value, IntImm):
                value = value.value
            if isinstance(value, float) and value != int(value):
                raise error.TypeError_(f"IntImm: expected an int, but got {value!r}")
            value = int(value)
            least, greatest = _dtype.int_range(found)
            if not least <= value <= greatest:
                raise error.ValueError_(
                    f"IntImm: {value} is out of the range of {found.text}, {least}..{greatest}"
                )
            self.dtype = found.text
            self.value = value
        self.kinds = self.KIND
        self.depth = 1

    def __int__(self) -> int:
        return self.value

    def __index__(self) -> int:
        return self.value

    def __bool__(self) -> bool:
        return self.value != 0

    def __float__(self) -> float:
        return float(self.value)

    __hash__ = ConstExpr.__hash__


class FloatImm(ConstExpr):
    """A floating-point constant; its meaning is `value` rounded to the type."""

    __slots__ = ("value",)
    type_key = "FloatImm"
    KIND = new_kind()
    FIELDS = "dtype:x value:x"

    def __init__(self, dtype: str, value: float, span: object = None) -> None:
        found = _dtype.info(_dtype.canonical(dtype))
        if not found.is_float or found.lanes != 1:
            raise error.ValueError_(f"FloatImm: expected a float dtype, but got {dtype!r}")
        self.dtype = found.text
        self.value = float(value)
        self.kinds = self.KIND
        self.depth = 1

    def __float__(self) -> float:
        return self.value

    def __int__(self) -> int:
        return int(self.value)


class StringImm(ConstExpr):
    """A text constant, an argument of calls and attributes. Equal to the same Python text."""

    __slots__ = ("value",)
    type_key = "tir.StringImm"
    KIND = new_kind()
    FIELDS = "value:x"

    def __init__(self, value: str, span: object = None) -> None:
        self.value = str(value)
        self.dtype = "handle"
        self.kinds = self.KIND
        self.depth = 1

    def __eq__(self, other: object) -> bool:  # type: ignore[override]
        return self.value == (other.value if isinstance(other, StringImm) else other)

    def __ne__(self, other: object) -> bool:  # type: ignore[override]
        return not self.__eq__(other)

    def __hash__(self) -> int:
        return hash(self.value)


# --- operators ------------------------------------------------------------------------------------


class UnaryOpExpr(PrimExprWithOp):
    """Base class of one-operand nodes."""

    __slots__ = ()


class BinaryOpExpr(PrimExprWithOp):
    """Base class of two-operand nodes; both operands have the node's type."""

    __slots__ = ("a", "b")
    FIELDS = "dtype:x a:e b:e"

    a: Any
    b: Any

    def __init__(self, a: Any, b: Any, span: object = None) -> None:
        try:
            dtype = a.dtype
            kinds = a.kinds | b.kinds
            if dtype != b.dtype:
                raise AttributeError
        except AttributeError:
            a, b = _operand_pair(type(self).__name__, a, b)
            dtype = a.dtype
            kinds = a.kinds | b.kinds
        self.a = a
        self.b = b
        self.dtype = dtype
        self.kinds = kinds | self.KIND
        depth = a.depth
        other = b.depth
        self.depth = (depth if depth > other else other) + 1


class CmpExpr(PrimExprWithOp):
    """Base class of comparisons and logic: two operands of one type, a bool result."""

    __slots__ = ("a", "b")
    FIELDS = "dtype:x a:e b:e"

    a: Any
    b: Any

    def __init__(self, a: Any, b: Any, span: object = None) -> None:
        try:
            dtype = a.dtype
            kinds = a.kinds | b.kinds
            if dtype != b.dtype:
                raise AttributeError
        except AttributeError:
            a, b = _operand_pair(type(self).__name__, a, b)
            dtype = a.dtype
            kinds = a.kinds | b.kinds
        self.a = a
        self.b = b
        self.dtype = "bool" if dtype == "int32" else _dtype.bool_like(dtype)
        self.kinds = kinds | self.KIND
        depth = a.depth
        other = b.depth
        self.depth = (depth if depth > other else other) + 1


def _operand_pair(name: str, a: Any, b: Any) -> tuple[Any, Any]:
    """Both operands as expressions of one type; a Python number takes the type of the other."""
    if not isinstance(a, PrimExpr) and isinstance(b, PrimExpr) and isinstance(a, (int, float)):
        a = const_of(a, b.dtype)
    a = convert(a)
    b = const_of(b, a.dtype) if isinstance(b, (int, float)) else convert(b)
    if a.dtype != b.dtype:
        raise error.TypeError_(
            f"tir.{name}: both operands must have one dtype, but got {a.dtype} and {b.dtype}"
        )
    return a, b


class Add(BinaryOpExpr):
    """a + b, wrapping."""

    __slots__ = ()
    type_key = "tir.Add"
    KIND = new_kind()


class Sub(BinaryOpExpr):
    """a - b, wrapping."""

    __slots__ = ()
    type_key = "tir.Sub"
    KIND = new_kind()


class Mul(BinaryOpExpr):
    """a * b, wrapping."""

    __slots__ = ()
    type_key = "tir.Mul"
    KIND = new_kind()


class Div(BinaryOpExpr):
    """a / b: ints truncate toward zero, and dividing by 0 gives 0; floats are IEEE."""

    __slots__ = ()
    type_key = "tir.Div"
    KIND = new_kind()


class Mod(BinaryOpExpr):
    """The remainder of `Div`: it has the sign of a; by 0 it gives 0."""

    __slots__ = ()
    type_key = "tir.Mod"
    KIND = new_kind()


class FloorDiv(BinaryOpExpr):
    """The quotient rounded toward minus infinity; dividing by 0 gives 0."""

    __slots__ = ()
    type_key = "tir.FloorDiv"
    KIND = new_kind()


class FloorMod(BinaryOpExpr):
    """The remainder of `FloorDiv`: it has the sign of b; by 0 it gives 0."""

    __slots__ = ()
    type_key = "tir.FloorMod"
    KIND = new_kind()


class Min(BinaryOpExpr):
    """The lesser operand; NaN when either is NaN."""

    __slots__ = ()
    type_key = "tir.Min"
    KIND = new_kind()


class Max(BinaryOpExpr):
    """The greater operand; NaN when either is NaN."""

    __slots__ = ()
    type_key = "tir.Max"
    KIND = new_kind()


class EQ(CmpExpr):
    """a == b. In an `if` of the host program: whether both are the same expression."""

    __slots__ = ()
    type_key = "tir.EQ"
    KIND = new_kind()

    def __bool__(self) -> bool:
        return _same_structure(self.a, self.b)

    def asobject(self) -> EQ:
        """This node."""
        return self


class NE(CmpExpr):
    """a != b. In an `if` of the host program: whether they are different expressions."""

    __slots__ = ()
    type_key = "tir.NE"
    KIND = new_kind()

    def __bool__(self) -> bool:
        return not _same_structure(self.a, self.b)

    def asobject(self) -> NE:
        """This node."""
        return self


def _same_structure(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is not type(b) or type(a) is Var:
        return False
    from ..ir.structural import exactly_equal

    return exactly_equal(a, b)


class LT(CmpExpr):
    """a < b."""

    __slots__ = ()
    type_key = "tir.LT"
    KIND = new_kind()


class LE(CmpExpr):
    """a <= b."""

    __slots__ = ()
    type_key = "tir.LE"
    KIND = new_kind()


class GT(CmpExpr):
    """a > b."""

    __slots__ = ()
    type_key = "tir.GT"
    KIND = new_kind()


class GE(CmpExpr):
    """a >= b."""

    __slots__ = ()
    type_key = "tir.GE"
    KIND = new_kind()


class LogicalExpr(CmpExpr):
    """Base class of and, or: bool operands."""

    __slots__ = ()

    def __init__(self, a: Any, b: Any, span: object = None) -> None:
        CmpExpr.__init__(self, a, b)
        if self.a.dtype != self.dtype:
            raise error.TypeError_(
                f"tir.{type(self).__name__}: expected bool operands, but got {self.a.dtype}"
            )


class And(LogicalExpr):
    """a and b; b is not evaluated where a is false."""

    __slots__ = ()
    type_key = "tir.And"
    KIND = new_kind()


class Or(LogicalExpr):
    """a or b; b is not evaluated where a is true."""

    __slots__ = ()
    type_key = "tir.Or"
    KIND = new_kind()


class Not(UnaryOpExpr):
    """not a."""

    __slots__ = ("a",)
    type_key = "tir.Not"
    KIND = new_kind()
    FIELDS = "dtype:x a:e"

    def __init__(self, a: Any, span: object = None) -> None:
        a = convert(a)
        if not _dtype.info(a.dtype).is_bool:
            raise error.TypeError_(f"tir.Not: expected a bool operand, but got {a.dtype}")
        self.a = a
        self.dtype = a.dtype
        self.kinds = a.kinds | self.KIND
        self.depth = a.depth + 1


class Cast(PrimExprWithOp):
    """`value` as another type of the same number of lanes.

    Ints wrap into narrower ints; floats saturate into ints and NaN gives 0; anything into bool is
    "not equal to zero"; narrowing floats rounds once, to nearest even.
    """

    __slots__ = ("value",)
    type_key = "tir.Cast"
    KIND = new_kind()
    FIELDS = "dtype:x value:e"

    def __init__(self, dtype: str, value: Any, span: object = None) -> None:
        value = convert(value)
        dtype = _dtype.canonical(dtype)
        to, given = _dtype.info(dtype), _dtype.info(value.dtype)
        if to.lanes != given.lanes:
            raise error.TypeError_(
                f"tir.Cast: the number of lanes cannot change, but got {given.text} to {to.text}"
            )
        self.dtype = dtype
        self.value = value
        kinds = value.kinds | self.KIND
        if not (given.kind == to.kind and given.is_int and to.bits >= given.bits):
            kinds |= DATA
        self.kinds = kinds
        self.depth = value.depth + 1


class Select(PrimExprWithOp):
    """One of two values; both may be evaluated."""

    __slots__ = ("condition", "false_value", "true_value")
    type_key = "tir.Select"
    KIND = new_kind()
    FIELDS = "dtype:x condition:e true_value:e false_value:e"

    def __init__(
        self, condition: Any, true_value: Any, false_value: Any, span: object = None
    ) -> None:
        condition = convert(condition)
        if type(condition) is IntImm and condition.dtype != "bool":
            condition = IntImm("bool", int(condition.value != 0))
        true_value, false_value = _operand_pair("Select", true_value, false_value)
        found, chosen = _dtype.info(condition.dtype), _dtype.info(true_value.dtype)
        if not found.is_bool or found.lanes not in (1, chosen.lanes):
            raise error.TypeError_(
                f"tir.Select: expected a bool condition with 1 or {chosen.lanes} lanes, but got "
                f"{condition.dtype}"
            )
        self.condition = condition
        self.true_value = true_value
        self.false_value = false_value
        self.dtype = true_value.dtype
        self.kinds = condition.kinds | true_value.kinds | false_value.kinds | self.KIND
        self.depth = max(condition.depth, true_value.depth, false_value.depth) + 1


# --- vectors --------------------------------------------------------------------------------------


def _lane_count(name: str, lanes: Any) -> int:
    if isinstance(lanes, IntImm):
        lanes = lanes.value
    if not isinstance(lanes, int) or lanes < 2:
        raise error.ValueError_(f"tir.{name}: expected 2 lanes or more, but got {lanes}")
    return lanes


class Ramp(PrimExprWithOp):
    """The vector base, base + stride, ..., base + (lanes - 1) * stride."""

    __slots__ = ("base", "lanes", "stride")
    type_key = "tir.Ramp"
    KIND = new_kind()
    FIELDS = "dtype:x base:e stride:e lanes:x"

    def __init__(self, base: Any, stride: Any, lanes: Any, span: object = None) -> None:
        base, stride = _operand_pair("Ramp", base, stride)
        found = _dtype.info(base.dtype)
        if found.lanes != 1 or not found.is_int:
            raise error.TypeError_(f"tir.Ramp: expected a scalar int base, but got {base.dtype}")
        self.base = base
        self.stride = stride
        self.lanes = _lane_count("Ramp", lanes)
        self.dtype = _dtype.with_lanes(base.dtype, self.lanes)
        self.kinds = base.kinds | stride.kinds | self.KIND
        self.depth = max(base.depth, stride.depth) + 1


class Broadcast(PrimExprWithOp):
    """The vector whose lanes are all `value`."""

    __slots__ = ("lanes", "value")
    type_key = "tir.Broadcast"
    KIND = new_kind()
    FIELDS = "dtype:x value:e lanes:x"

    def __init__(self, value: Any, lanes: Any, span: object = None) -> None:
        value = convert(value)
        if _dtype.info(value.dtype).lanes != 1:
            raise error.TypeError_(f"tir.Broadcast: expected a scalar, but got {value.dtype}")
        self.value = value
        self.lanes = _lane_count("Broadcast", lanes)
        self.dtype = _dtype.with_lanes(value.dtype, self.lanes)
        self.kinds = value.kinds | self.KIND
        self.depth = value.depth + 1


class Shuffle(PrimExprWithOp):
    """Chosen lanes of the concatenation of some vectors; the indices are constants."""

    __slots__ = ("indices", "vectors")
    type_key = "tir.Shuffle"
    KIND = new_kind()
    FIELDS = "dtype:x vectors:es indices:es"

    def __init__(self, vectors: Any, indices: Any, span: object = None) -> None:
        self.vectors = tuple(convert(item) for item in vectors)
        self.indices = tuple(convert(item) for item in indices)
        if not self.vectors or not self.indices:
            raise error.ValueError_("tir.Shuffle: expected at least one vector and one index")
        found = _dtype.info(self.vectors[0].dtype)
        total = 0
        for item in self.vectors:
            given = _dtype.info(item.dtype)
            if given.scalar != found.scalar:
                raise error.TypeError_(
                    f"tir.Shuffle: all vectors must have one element dtype, but got {found.text} "
                    f"and {given.text}"
                )
            total += given.lanes
        for index in self.indices:
            if not isinstance(index, IntImm) or not 0 <= index.value < total:
                raise error.ValueError_(
                    f"tir.Shuffle: expected constant indices in 0..{total - 1}, but got {index}"
                )
        self.dtype = _dtype.with_lanes(found.text, len(self.indices))
        self.kinds, self.depth = _below(self.vectors + self.indices, self.KIND, 0)
        self.depth += 1


# --- memory, calls, bindings ----------------------------------------------------------------------


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
        self.kinds, self.depth = _below(self.indices, self.KIND, 0)
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
        below = self.source + self.init + domains + (self.condition,)
        self.kinds, self.depth = _below(below, self.KIND, 0)
        self.depth += 1
