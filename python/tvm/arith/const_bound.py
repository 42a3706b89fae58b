"""The least and greatest value that an integer expression can have.

Index expressions are mathematical integers: their bounds may leave the range of their type (that
is how lowering finds out that it must promote). Data expressions wrap: where a result may leave the
range of its type, its bound is that whole range.
"""

from __future__ import annotations

from tvm import tir
from tvm.ir.dtype import TypeInfo, info, int_range
from tvm.ir.op import Op
from tvm.runtime.object import Object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

POS_INF = (1 << 63) - 1
NEG_INF = -POS_INF

Bound = tuple[int, int]

_LEAVES = (tir.IntImm, tir.Var, tir.SizeVar)

_DATA = 1

# Deeper expressions are not brought into normal form, which costs more than linear time.
NORMAL_DEPTH = 32


class ConstIntBound(Object):
    """A closed range of integers; `POS_INF` and `NEG_INF` are no bound."""

    __slots__ = ("max_value", "min_value")
    type_key = "arith.ConstIntBound"

    POS_INF = POS_INF
    NEG_INF = NEG_INF

    def __init__(self, min_value: int, max_value: int) -> None:
        self.min_value = int(min_value)
        self.max_value = int(max_value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConstIntBound) and (self.min_value, self.max_value) == (
            other.min_value,
            other.max_value,
        )

    def __hash__(self) -> int:
        return hash((self.min_value, self.max_value))

    def __repr__(self) -> str:
        return f"ConstIntBound[{self.min_value}, {self.max_value}]"


def clamp(value: int) -> int:
    """A bound, not beyond the infinities."""
    return max(NEG_INF, min(POS_INF, value))


def of_type(found: TypeInfo) -> Bound:
    """All that a type can hold."""
    if not found.is_int:
        return NEG_INF, POS_INF
    lower, upper = int_range(found)
    return (clamp(lower) if lower > -(1 << 63) else NEG_INF), clamp(upper)


def is_index(expr: Any) -> bool:
    """Whether an expression is a mathematical integer."""
    return not expr.kinds & _DATA and expr.dtype in ("int32", "int64")


def _plus(a: int, b: int) -> int:
    for infinite in (a, b):
        if infinite in (POS_INF, NEG_INF):
            return infinite
    return clamp(a + b)


def _times(a: int, b: int) -> int:
    if a == 0 or b == 0:
        return 0
    if a in (POS_INF, NEG_INF) or b in (POS_INF, NEG_INF):
        return POS_INF if (a > 0) == (b > 0) else NEG_INF
    return clamp(a * b)


def _negated(bound: Bound) -> Bound:
    return -bound[1], -bound[0]


def _union(*bounds: Bound) -> Bound:
    return min([low for low, _ in bounds]), max([high for _, high in bounds])


def _floor_quotient(a: int, b: int) -> int:
    if a in (POS_INF, NEG_INF):
        return a if b > 0 else -a
    if b in (POS_INF, NEG_INF):
        return 0 if (a >= 0) == (b > 0) or a == 0 else -1
    return a // b


def _trunc_quotient(a: int, b: int) -> int:
    if a in (POS_INF, NEG_INF):
        return a if b > 0 else -a
    if b in (POS_INF, NEG_INF):
        return 0
    return tir.numeric.truncdiv(a, b)


def _quotient(a: Bound, b: Bound, divide: Callable[[int, int], int]) -> Bound:
    """Over every sign of the divisor; dividing by 0 gives 0."""
    parts: list[int] = []
    if b[1] >= 1:
        positive = (max(b[0], 1), b[1])
        parts += [divide(x, y) for x in a for y in positive]
    if b[0] <= -1:
        negative = (b[0], min(b[1], -1))
        parts += [divide(x, y) for x in a for y in negative]
    if b[0] <= 0 <= b[1]:
        parts.append(0)
    return min(parts), max(parts)


def _floor_remainder(a: Bound, b: Bound) -> Bound:
    if a[0] >= 0 and b[0] > a[1]:
        return a
    one_divisor = b[0] == b[1] and b[0] > 0 and POS_INF not in a and NEG_INF not in a
    if one_divisor and a[0] // b[0] == a[1] // b[0]:
        return a[0] % b[0], a[1] % b[0]
    low = min(0, b[0] + 1) if b[0] != NEG_INF else NEG_INF
    high = max(0, b[1] - 1) if b[1] != POS_INF else POS_INF
    if a[0] >= 0 and b[0] >= 0:
        high = min(high, a[1])
    return low, high


def _trunc_remainder(a: Bound, b: Bound) -> Bound:
    greatest = max(abs(b[0]), abs(b[1]))
    limit = POS_INF if greatest >= POS_INF else max(0, greatest - 1)
    low = 0 if a[0] >= 0 else max(a[0], -limit)
    high = 0 if a[1] <= 0 else min(a[1], limit)
    return low, high


class BoundAnalysis:
    """Bounds under what is known of variables.

    Parameters
    ----------
    known : dict of Var to (int, int)
        Bounds of variables.
    extra : function, optional
        A better bound of an index expression, or None.
    """

    def __init__(
        self, known: dict[Any, Bound], extra: Callable[[Any], Bound | None] | None = None
    ) -> None:
        self.known = known
        self._extra = extra
        # Answers so far; `forget` when what is known changes.
        self._answers: dict[Any, Bound] = {}

    def forget(self) -> None:
        """What is known has changed."""
        self._answers.clear()

    def bound(self, expr: Any) -> Bound:
        """The bound of an expression; of all lanes of a vector."""
        answer = self._answers.get(expr)
        if answer is None:
            answer = self._answers[expr] = self._find(expr)
        return answer

    def _find(self, expr: Any) -> Bound:
        found = info(expr.dtype)
        if not found.is_int:
            return NEG_INF, POS_INF
        method = _METHODS.get(type(expr))
        whole = of_type(found)
        if method is None:
            return whole
        low, high = method(self, expr)
        if is_index(expr):
            if self._extra is not None and 1 < expr.depth <= NORMAL_DEPTH:
                better = self._extra(expr)
                if better is not None:
                    low, high = max(low, better[0]), min(high, better[1])
            return low, high
        if low < whole[0] or high > whole[1]:
            return whole
        if found.bits == 64 and type(expr) not in _LEAVES and (low <= NEG_INF or high >= POS_INF):
            # Bounds stop at the infinities, beyond which 64 bits may have wrapped.
            return whole
        return low, high

    def _constant(self, expr: Any) -> Bound:
        return clamp(expr.value), clamp(expr.value)

    def _var(self, expr: Any) -> Bound:
        given = self.known.get(expr)
        whole = of_type(info(expr.dtype))
        if type(expr) is tir.SizeVar:
            whole = 0, whole[1]
        if given is None:
            return whole
        return max(given[0], whole[0]), min(given[1], whole[1])

    def _add(self, expr: Any) -> Bound:
        a, b = self.bound(expr.a), self.bound(expr.b)
        return _plus(a[0], b[0]), _plus(a[1], b[1])

    def _sub(self, expr: Any) -> Bound:
        a, b = self.bound(expr.a), _negated(self.bound(expr.b))
        return _plus(a[0], b[0]), _plus(a[1], b[1])

    def _mul(self, expr: Any) -> Bound:
        a, b = self.bound(expr.a), self.bound(expr.b)
        corners = [_times(x, y) for x in a for y in b]
        return min(corners), max(corners)

    def _floordiv(self, expr: Any) -> Bound:
        return _quotient(self.bound(expr.a), self.bound(expr.b), _floor_quotient)

    def _floormod(self, expr: Any) -> Bound:
        return _floor_remainder(self.bound(expr.a), self.bound(expr.b))

    def _div(self, expr: Any) -> Bound:
        return _quotient(self.bound(expr.a), self.bound(expr.b), _trunc_quotient)

    def _mod(self, expr: Any) -> Bound:
        return _trunc_remainder(self.bound(expr.a), self.bound(expr.b))

    def _min(self, expr: Any) -> Bound:
        a, b = self.bound(expr.a), self.bound(expr.b)
        return min(a[0], b[0]), min(a[1], b[1])

    def _max(self, expr: Any) -> Bound:
        a, b = self.bound(expr.a), self.bound(expr.b)
        return max(a[0], b[0]), max(a[1], b[1])

    def _select(self, expr: Any) -> Bound:
        return _union(self.bound(expr.true_value), self.bound(expr.false_value))

    def _cast(self, expr: Any) -> Bound:
        source, target = info(expr.value.dtype), info(expr.dtype)
        whole = of_type(target)
        if source.is_float or not source.is_int:
            return whole
        low, high = self.bound(expr.value)
        if target.is_bool:
            return (int(low > 0 or high < 0), int(not low == high == 0))
        # An index that leaves its own type is promoted before it is cast.
        return (low, high) if whole[0] <= low and high <= whole[1] else whole

    def _vector(self, expr: Any) -> Bound:
        return self.bound(expr.value)

    def _ramp(self, expr: Any) -> Bound:
        base, stride = self.bound(expr.base), self.bound(expr.stride)
        last = expr.lanes - 1
        return (
            _plus(base[0], min(0, _times(stride[0], last))),
            _plus(base[1], max(0, _times(stride[1], last))),
        )

    def _shuffle(self, expr: Any) -> Bound:
        return _union(*[self.bound(item) for item in expr.vectors])

    def _let(self, expr: Any) -> Bound:
        before = self.known.get(expr.var)
        self.known[expr.var] = self.bound(expr.value)
        self.forget()
        result = self.bound(expr.body)
        self.forget()
        if before is None:
            del self.known[expr.var]
        else:
            self.known[expr.var] = before
        return result

    def _call(self, expr: Any) -> Bound:
        found = info(expr.dtype)
        whole = of_type(found)
        if not isinstance(expr.op, Op):
            return whole
        name = expr.op.name[4:]
        args = expr.args
        if name == "likely":
            return self.bound(args[0])
        if name == "if_then_else":
            return _union(self.bound(args[1]), self.bound(args[2]))
        if name in ("popcount", "clz"):
            return 0, info(args[0].dtype).bits
        if name == "bitwise_and":
            tops = [high for low, high in map(self.bound, args) if low >= 0]
            return (0, min(tops)) if tops else whole
        amount = self.bound(args[1]) if name in ("shift_left", "shift_right") else (0, -1)
        if amount[0] != amount[1] or not 0 <= amount[0] < found.bits:
            return whole
        low, high = self.bound(args[0])
        if name == "shift_right":
            return (
                low >> amount[0] if low != NEG_INF else low,
                high >> amount[0] if high != POS_INF else high,
            )
        return _times(low, 1 << amount[0]), _times(high, 1 << amount[0])


_METHODS: dict[type, Any] = {
    tir.IntImm: BoundAnalysis._constant,
    tir.Var: BoundAnalysis._var,
    tir.SizeVar: BoundAnalysis._var,
    tir.Add: BoundAnalysis._add,
    tir.Sub: BoundAnalysis._sub,
    tir.Mul: BoundAnalysis._mul,
    tir.FloorDiv: BoundAnalysis._floordiv,
    tir.FloorMod: BoundAnalysis._floormod,
    tir.Div: BoundAnalysis._div,
    tir.Mod: BoundAnalysis._mod,
    tir.Min: BoundAnalysis._min,
    tir.Max: BoundAnalysis._max,
    tir.Select: BoundAnalysis._select,
    tir.Cast: BoundAnalysis._cast,
    tir.Broadcast: BoundAnalysis._vector,
    tir.Ramp: BoundAnalysis._ramp,
    tir.Shuffle: BoundAnalysis._shuffle,
    tir.Let: BoundAnalysis._let,
    tir.Call: BoundAnalysis._call,
}
