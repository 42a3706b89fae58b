"""What an integer is modulo something: coeff * k + base for some integer k.

Index expressions are mathematical, so that any modulus is meaningful. Data expressions wrap, which
keeps them right modulo powers of two only.
"""

from __future__ import annotations

from math import gcd

from tvm import tir
from tvm.ir.dtype import info
from tvm.ir.op import Op
from tvm.runtime.object import Object

from .const_bound import is_index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# (coeff, base) with 0 <= base < coeff; coeff 0 is the constant base.
Modular = tuple[int, int]

ANY: Modular = (1, 0)


class ModularSet(Object):
    """The integers coeff * k + base."""

    __slots__ = ("base", "coeff")
    type_key = "arith.ModularSet"

    def __init__(self, coeff: int, base: int) -> None:
        self.coeff = int(coeff)
        self.base = int(base)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModularSet) and (self.coeff, self.base) == (
            other.coeff,
            other.base,
        )

    def __hash__(self) -> int:
        return hash((self.coeff, self.base))

    def __repr__(self) -> str:
        return f"ModularSet({self.coeff}, {self.base})"


def normal(coeff: int, base: int) -> Modular:
    """The pair with 0 <= base < coeff."""
    coeff = abs(coeff)
    return (coeff, base % coeff) if coeff else (0, base)


def union(a: Modular, b: Modular) -> Modular:
    """The least set that holds both."""
    return normal(gcd(gcd(a[0], b[0]), a[1] - b[1]), a[1])


class ModularAnalysis:
    """Modular sets under what is known of variables."""

    def __init__(self, known: dict[Any, Modular]) -> None:
        self.known = known

    def of(self, expr: Any) -> Modular:
        """The modular set of a scalar integer expression."""
        found = info(expr.dtype)
        method = _METHODS.get(type(expr))
        if method is None or not found.is_int or found.lanes != 1:
            return ANY
        coeff, base = method(self, expr)
        if is_index(expr) or type(expr) in (tir.IntImm, tir.Var, tir.SizeVar):
            return coeff, base
        # Wrapping adds a multiple of 2^bits, which also turns one constant into another.
        return normal(gcd(coeff, 1 << found.bits), base)

    def _constant(self, expr: Any) -> Modular:
        return 0, expr.value

    def _var(self, expr: Any) -> Modular:
        return self.known.get(expr, ANY)

    def _add(self, expr: Any) -> Modular:
        a, b = self.of(expr.a), self.of(expr.b)
        return normal(gcd(a[0], b[0]), a[1] + b[1])

    def _sub(self, expr: Any) -> Modular:
        a, b = self.of(expr.a), self.of(expr.b)
        return normal(gcd(a[0], b[0]), a[1] - b[1])

    def _mul(self, expr: Any) -> Modular:
        (p, x), (q, y) = self.of(expr.a), self.of(expr.b)
        return normal(gcd(gcd(p * q, p * y), q * x), x * y)

    def _floordiv(self, expr: Any) -> Modular:
        (p, x), (q, y) = self.of(expr.a), self.of(expr.b)
        if q == 0 and y != 0 and p % y == 0 and is_index(expr):
            return normal(p // y, x // y)
        return ANY

    def _floormod(self, expr: Any) -> Modular:
        (p, x), (q, y) = self.of(expr.a), self.of(expr.b)
        if q == 0 and y != 0 and is_index(expr):
            return normal(gcd(p, y), x) if p % y else (0, x % y)
        return ANY

    def _either(self, expr: Any) -> Modular:
        return union(self.of(expr.a), self.of(expr.b))

    def _select(self, expr: Any) -> Modular:
        return union(self.of(expr.true_value), self.of(expr.false_value))

    def _cast(self, expr: Any) -> Modular:
        source, target = info(expr.value.dtype), info(expr.dtype)
        if not source.is_int or source.is_bool or target.is_bool:
            return ANY
        coeff, base = self.of(expr.value)
        return normal(gcd(coeff, 1 << min(source.bits, target.bits)), base)

    def _call(self, expr: Any) -> Modular:
        if not isinstance(expr.op, Op):
            return ANY
        name, args = expr.op.name, expr.args
        amount = args[1].value if len(args) > 1 and isinstance(args[1], tir.IntImm) else -1
        if name == "tir.shift_left" and 0 <= amount < info(expr.dtype).bits:
            coeff, base = self.of(args[0])
            return normal(coeff << amount, base << amount)
        if name == "tir.if_then_else":
            return union(self.of(args[1]), self.of(args[2]))
        return ANY


_METHODS: dict[type, Any] = {
    tir.IntImm: ModularAnalysis._constant,
    tir.Var: ModularAnalysis._var,
    tir.SizeVar: ModularAnalysis._var,
    tir.Add: ModularAnalysis._add,
    tir.Sub: ModularAnalysis._sub,
    tir.Mul: ModularAnalysis._mul,
    tir.FloorDiv: ModularAnalysis._floordiv,
    tir.FloorMod: ModularAnalysis._floormod,
    tir.Min: ModularAnalysis._either,
    tir.Max: ModularAnalysis._either,
    tir.Select: ModularAnalysis._select,
    tir.Cast: ModularAnalysis._cast,
    tir.Call: ModularAnalysis._call,
}
