"""What every expression shares, and the leaves: variables and constants."""

from __future__ import annotations

from .. import error
from ..ir import dtype as _dtype
from ..ir.expr import PrimExpr
from ..ir.type import PrimType, Type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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


def below(items: tuple[Any, ...], kinds: int, depth: int) -> tuple[int, int]:
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
    from .expr_access import IterVar

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
        from .expr_operators import Broadcast

        return Broadcast(const_of(value, found.scalar), found.lanes)
    if found.is_float:
        return FloatImm(found.text, float(value))
    if found.is_int:
        return IntImm(found.text, int(value))
    if found.kind == "handle" and value == 0:
        from .expr_access import Call

        return Call("handle", "tir.reinterpret", [IntImm("int64", 0)])
    raise error.ValueError_(f"there is no constant of dtype {dtype!r}")


def const(value: Any, dtype: str | None = None, span: object = None) -> Any:
    """A constant; without `dtype` a bool is bool, an int int32 (or int64), a float float32.

    Raises
    ------
    ValueError
        When the value is not in the type's range.
    """
    if dtype is None:
        return convert(value)
    found = getattr(value, "item", None)
    if found is not None and not isinstance(value, (IntImm, FloatImm)):
        value = found()
    elif isinstance(value, (IntImm, FloatImm)):
        value = value.value
    return const_of(value, _dtype.canonical(dtype))


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

    def __eq__(self, other: object) -> bool:
        return self.value == (other.value if isinstance(other, StringImm) else other)

    def __ne__(self, other: object) -> bool:
        return not self.__eq__(other)

    def __hash__(self) -> int:
        return hash(self.value)
