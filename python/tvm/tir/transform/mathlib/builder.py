"""Writes expressions as formulas: operators on values, each shared value bound once by a `Let`."""

from __future__ import annotations

from ....ir.dtype import info, with_lanes
from ... import expr as _expr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

INF = float("inf")
NAN = float("nan")


class Value:
    """A value of a formula; operators record operations in its builder.

    Python numbers on the other side of an operator are constants of this value's type. `<` and its
    like are ordered comparisons, false on NaN; `.eq` and `.ne` compare for equality.
    """

    __slots__ = ("builder", "dtype", "make", "node", "operands", "uses")

    def __init__(
        self,
        builder: Builder,
        dtype: str,
        make: Callable[..., Any] | None,
        operands: tuple[Any, ...],
    ) -> None:
        self.builder = builder
        self.dtype = dtype
        self.make = make
        self.operands = operands
        self.uses = 0
        self.node: Any = None
        for item in operands:
            # a value of an enclosing formula must be bound there, so it counts twice
            item.uses += 1 if item.builder is builder else 2

    def _binary(self, other: Any, node: Any, dtype: str | None = None, swap: bool = False) -> Value:
        builder = self.builder
        right = other if type(other) is Value else builder.const(other, self.dtype)
        if right.builder is not builder and right.builder.depth > builder.depth:
            builder = right.builder
        pair = (right, self) if swap else (self, right)
        return builder.op(dtype or self.dtype, node, *pair)

    def __add__(self, other: Any) -> Value:
        return self._binary(other, _expr.Add)

    def __radd__(self, other: Any) -> Value:
        return self._binary(other, _expr.Add, swap=True)

    def __sub__(self, other: Any) -> Value:
        return self._binary(other, _expr.Sub)

    def __rsub__(self, other: Any) -> Value:
        return self._binary(other, _expr.Sub, swap=True)

    def __mul__(self, other: Any) -> Value:
        return self._binary(other, _expr.Mul)

    def __rmul__(self, other: Any) -> Value:
        return self._binary(other, _expr.Mul, swap=True)

    def __truediv__(self, other: Any) -> Value:
        return self._binary(other, _expr.Div)

    def __rtruediv__(self, other: Any) -> Value:
        return self._binary(other, _expr.Div, swap=True)

    def __neg__(self) -> Value:
        """The value with its sign bit flipped."""
        if info(self.dtype).is_float:
            # -0.0 - x is exact and flips the sign of zeros too
            return self._binary(-0.0, _expr.Sub, swap=True)
        return self._binary(0, _expr.Sub, swap=True)

    def __lt__(self, other: Any) -> Value:
        return self._binary(other, _expr.LT, "bool")

    def __le__(self, other: Any) -> Value:
        return self._binary(other, _expr.LE, "bool")

    def __gt__(self, other: Any) -> Value:
        return self._binary(other, _expr.GT, "bool")

    def __ge__(self, other: Any) -> Value:
        return self._binary(other, _expr.GE, "bool")

    def eq(self, other: Any) -> Value:
        return self._binary(other, _expr.EQ, "bool")

    def ne(self, other: Any) -> Value:
        return self._binary(other, _expr.NE, "bool")

    def __and__(self, other: Any) -> Value:
        return self._bits(other, _expr.And, "tir.bitwise_and")

    def __or__(self, other: Any) -> Value:
        return self._bits(other, _expr.Or, "tir.bitwise_or")

    def __xor__(self, other: Any) -> Value:
        return self._bits(other, None, "tir.bitwise_xor")

    def __invert__(self) -> Value:
        return self.builder.op("bool", _expr.Not, self)

    def __lshift__(self, other: Any) -> Value:
        return self._bits(other, None, "tir.shift_left")

    def __rshift__(self, other: Any) -> Value:
        """Arithmetic on signed values, logical on unsigned ones."""
        return self._bits(other, None, "tir.shift_right")

    def same(self, other: Value) -> Value:
        """Whether two bools are equal."""
        return (self & other) | ~(self | other)

    def _bits(self, other: Any, logical: Any, name: str) -> Value:
        if self.dtype == "bool":
            return self._binary(other, logical)
        return self._binary(other, self.builder.call(name, self.dtype))

    def to(self, dtype: str) -> Value:
        """The value converted."""
        lanes = self.builder.lanes
        return self.builder.op(dtype, lambda x: _expr.Cast(with_lanes(dtype, lanes), x), self)

    def bits(self, dtype: str) -> Value:
        """The same bits as another type of the same size."""
        if dtype == self.dtype:
            return self
        return self.builder.op(dtype, self.builder.call("tir.reinterpret", dtype), self)


class Builder:
    """Records a formula over vectors of `lanes` (1 for scalars).

    Attributes
    ----------
    fma : bool
        Whether `self.fma` is one fused operation, or a multiplication and an addition.
    """

    def __init__(self, lanes: int = 1, fma: bool = True, depth: int = 0) -> None:
        self.lanes = lanes
        self.fused = fma
        self.depth = depth
        self.ops: list[Value] = []

    def input(self, node: Any) -> Value:
        """An expression of the program as a value; it is evaluated once."""
        dtype = info(node.dtype).scalar
        if type(node) in (_expr.Var, _expr.IntImm, _expr.FloatImm):
            found = Value(self, dtype, None, ())
            found.node = node
            return found
        return self.op(dtype, lambda: node)

    def op(self, dtype: str, make: Callable[..., Any], *operands: Value) -> Value:
        found = Value(self, dtype, make, operands)
        self.ops.append(found)
        return found

    def call(self, name: str, dtype: str) -> Callable[..., Any]:
        full = with_lanes(dtype, self.lanes)
        return lambda *args: _expr.Call(full, name, args)

    def const(self, value: Any, dtype: str) -> Value:
        """A constant in every lane."""
        found = info(dtype)
        if found.is_int and not found.is_bool:
            value &= (1 << found.bits) - 1
            if found.signed and value >> (found.bits - 1):
                value -= 1 << found.bits
            node: Any = _expr.IntImm(dtype, value)
        elif found.is_bool:
            node = _expr.IntImm("bool", int(value))
        else:
            node = _expr.FloatImm(dtype, value)
        result = Value(self, dtype, None, ())
        result.node = node if self.lanes == 1 else _expr.Broadcast(node, self.lanes)
        return result

    def _lift(self, value: Any, like: Value) -> Value:
        return value if isinstance(value, Value) else self.const(value, like.dtype)

    def fma(self, a: Any, b: Any, c: Any) -> Value:
        """a * b + c, rounded once if the machine can."""
        like = next(item for item in (a, b, c) if type(item) is Value)
        a, b, c = (self._lift(item, like) for item in (a, b, c))
        if self.fused:
            return self.op(like.dtype, self.call("tir.fma", like.dtype), a, b, c)
        return a * b + c  # type: ignore[no-any-return]

    def poly(self, x: Value, *coefficients: float) -> Value:
        """Horner's rule, from the coefficient of the highest power down."""
        total: Any = coefficients[0]
        for number in coefficients[1:]:
            total = self.fma(total, x, number)
        return total  # type: ignore[no-any-return]

    def select(self, condition: Value, a: Any, b: Any) -> Value:
        like = a if type(a) is Value else b
        a, b = self._lift(a, like), self._lift(b, like)
        return self.op(like.dtype, _expr.Select, condition, a, b)

    def constants(self, condition: Value, dtype: str, a: Any, b: Any) -> Value:
        """One of two constants."""
        return self.select(condition, self.const(a, dtype), self.const(b, dtype))

    def lazily(self, condition: Value, then: Callable[[Builder], Value], other: Value) -> Value:
        """`then` where the condition holds; it is evaluated only if some lane needs it."""
        inner = Builder(self.lanes, self.fused, self.depth + 1)
        result = then(inner)
        used = inner.outer_values()
        make = self.call("tir.if_then_else", other.dtype)

        def build(condition_node: Any, other_node: Any, *_: Any) -> Any:
            return make(condition_node, inner.finish(result), other_node)

        found = self.op(other.dtype, build, condition, other, *used)
        for item in used:
            item.uses += 1
        return found

    def outer_values(self) -> list[Value]:
        """Values of enclosing formulas that this one uses."""
        found = []
        for value in self.ops:
            for item in value.operands:
                if item.builder is not self and item.make is not None and item not in found:
                    found.append(item)
        return found

    # operators with one operand
    def _unary(self, name: str, x: Value) -> Value:
        return self.op(x.dtype, self.call("tir." + name, x.dtype), x)

    def sqrt(self, x: Value) -> Value:
        return self._unary("sqrt", x)

    def abs(self, x: Value) -> Value:
        return self._unary("fabs", x)

    def nearest(self, x: Value) -> Value:
        """x rounded to an integer, to nearest even (inputs below 2^22, or 2^51)."""
        wide = x.dtype == "float64"
        magic = float.fromhex("0x1.8p52" if wide else "0x1.8p23")
        return (x + magic) - magic

    def asint(self, x: Value) -> Value:
        return x.bits("int64" if x.dtype == "float64" else "int32")

    def asuint(self, x: Value) -> Value:
        return x.bits("uint64" if x.dtype == "float64" else "uint32")

    def asfloat(self, x: Value) -> Value:
        return x.bits("float64" if info(x.dtype).bits == 64 else "float32")

    def with_sign(self, size: Value, sign: Value) -> Value:
        """`size`, which is not negative, with the sign of `sign`."""
        lowest = 1 << (info(size.dtype).bits - 1)
        return self.asfloat(self.asuint(size) | (self.asuint(sign) & lowest))

    def finish(self, result: Value) -> Any:
        """The expression."""
        bound: list[tuple[Any, Any]] = []
        count = 0
        for value in self.ops:
            if value.uses == 0 and value is not result:
                continue
            operands = [item.node for item in value.operands]
            node = value.make(*operands)  # type: ignore[misc]
            if value.uses > 1:
                var = _expr.Var(f"t{count}", node.dtype)
                count += 1
                bound.append((var, node))
                node = var
            value.node = node
        node = result.node
        for var, definition in reversed(bound):
            node = _expr.Let(var, definition, node)
        return node


def hexes(text: str) -> tuple[float, ...]:
    """Numbers written in C's hexadecimal form, which is exact."""
    return tuple(float.fromhex(item) for item in text.split())
