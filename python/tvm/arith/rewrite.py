"""Rewriting of expressions to simpler ones.

Every rule is of one of two kinds. Rules that hold for integers modulo 2^bits apply everywhere; the
others apply to index expressions only, or carry a proof by bounds that nothing wraps. Index
expressions are besides brought into the normal form of `index_algebra`. Of floats only what is
exact in IEEE arithmetic is rewritten.
"""

from __future__ import annotations

from tvm import error, tir
from tvm.ir.dtype import info, wrap
from tvm.tir import Broadcast, Cast, FloatImm, IntImm, Ramp, numeric
from tvm.tir.stmt_functor import StmtExprMutator

from .const_bound import NEG_INF, POS_INF, is_index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .analyzer import Analyzer

_IMM = (IntImm, FloatImm)
_SWAPPED = {tir.GT: tir.LT, tir.GE: tir.LE}
_NEGATED = {tir.LT: tir.GE, tir.LE: tir.GT, tir.GT: tir.LE, tir.GE: tir.LT, tir.EQ: tir.NE,
            tir.NE: tir.EQ}  # fmt: skip


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is not type(b) or a.dtype != b.dtype or a.depth != b.depth or a.kinds != b.kinds:
        return False
    return tir.analysis.expr_deep_equal(a, b) and tir.analysis.side_effect(a) <= 2


def fold(node: Any, a: Any, b: Any) -> Any:
    """Two constants combined in their own width; None where an index would leave its type."""
    name = node.__name__
    found = info(a.dtype)
    if type(a) is FloatImm:
        x, y = numeric.round_float(a.value, a.dtype), numeric.round_float(b.value, a.dtype)
        if name in numeric.COMPARISONS:
            return IntImm("bool", int(numeric.COMPARISONS[name](x, y)))
        return FloatImm(a.dtype, numeric.binary(name, x, y, a.dtype))
    if name in numeric.COMPARISONS:
        return IntImm("bool", int(numeric.COMPARISONS[name](a.value, b.value)))
    value = numeric.INT_OPERATIONS[name](a.value, b.value)
    wrapped = wrap(value, found)
    if value != wrapped and a.dtype in ("int32", "int64"):
        return None
    return IntImm(a.dtype, wrapped)


class Rewriter(StmtExprMutator):
    """Simplifies expressions, children first."""

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer

    # --- arithmetic ---

    def _binary(self, op: Any) -> Any:
        a, b = self.visit(op.a), self.visit(op.b)
        kind = type(op)
        made = self._rules(kind, a, b)
        if made is None:
            made = op if a is op.a and b is op.b else kind(a, b)
        if is_index(made) and made.depth > 1:
            return self._analyzer.normal_form(made)
        return made

    visit_add_ = visit_sub_ = visit_mul_ = visit_floor_div_ = visit_floor_mod_ = _binary
    visit_min_ = visit_max_ = visit_div_ = visit_mod_ = _binary

    def _rules(self, kind: Any, a: Any, b: Any) -> Any:
        """The simpler form of kind(a, b), None if there is none."""
        if type(a) in _IMM and type(b) is type(a):
            return fold(kind, a, b)
        found = info(a.dtype)
        if found.lanes > 1:
            made = self._vector(kind, a, b)
            if made is not None:
                return made
        if found.is_float:
            return self._float(kind, a, b)
        return _RULES[kind](self, a, b)

    def _float(self, kind: Any, a: Any, b: Any) -> Any:
        value = b.value if type(b) is FloatImm else None
        if kind is tir.Mul and value == 1.0:
            return a
        if kind is tir.Mul and type(a) is FloatImm and a.value == 1.0:
            return b
        if kind is tir.Div and value == 1.0:
            return a
        if kind is tir.Sub and value == 0.0 and str(value) == "0.0":
            return a
        if kind in (tir.Min, tir.Max) and _same(a, b):
            return a
        return None

    def _vector(self, kind: Any, a: Any, b: Any) -> Any:
        lanes = info(a.dtype).lanes
        if type(a) is Broadcast and type(b) is Broadcast:
            return Broadcast(self.visit(kind(a.value, b.value)), lanes)
        if kind in (tir.Add, tir.Sub) and Ramp in (type(a), type(b)):
            # Holds modulo 2^bits, lane by lane.
            base_a, step_a = _as_ramp(a)
            base_b, step_b = _as_ramp(b)
            if base_a is not None and base_b is not None:
                stride = self.visit(kind(step_a, step_b))
                base = self.visit(kind(base_a, base_b))
                if type(stride) is IntImm and stride.value == 0:
                    return Broadcast(base, lanes)
                return Ramp(base, stride, lanes)
        if kind is tir.Mul and Ramp in (type(a), type(b)) and Broadcast in (type(a), type(b)):
            ramp, factor = (a, b.value) if type(a) is Ramp else (b, a.value)
            return Ramp(self.visit(ramp.base * factor), self.visit(ramp.stride * factor), lanes)
        if kind in (tir.FloorDiv, tir.FloorMod) and type(a) is Ramp and type(b) is Broadcast:
            return self._ramp_by_constant(kind, a, b.value, lanes)
        return None

    def _ramp_by_constant(self, kind: Any, a: Any, divisor: Any, lanes: int) -> Any:
        """Index only: a quotient of a wrapping sum is not the sum of the quotients."""
        if not (is_index(a.base) and type(divisor) is IntImm and divisor.value > 0):
            return None
        if type(a.stride) is not IntImm:
            return None
        c = divisor.value
        if a.stride.value % c == 0:
            if kind is tir.FloorMod:
                return Broadcast(self.visit(tir.floormod(a.base, divisor)), lanes)
            stride = IntImm(a.stride.dtype, a.stride.value // c)
            base = self.visit(tir.floordiv(a.base, divisor))
            return Broadcast(base, lanes) if stride.value == 0 else Ramp(base, stride, lanes)
        coeff, rest = self._analyzer.modular(a.base)
        last = rest % c + a.stride.value * (lanes - 1)
        if coeff % c == 0 and 0 <= last < c:
            # All lanes lie between two multiples of c.
            if kind is tir.FloorDiv:
                return Broadcast(self.visit(tir.floordiv(a.base, divisor)), lanes)
            return Ramp(self.visit(tir.floormod(a.base, divisor)), a.stride, lanes)
        return None

    def _add(self, a: Any, b: Any) -> Any:
        # All hold modulo 2^bits.
        if type(b) is IntImm:
            if b.value == 0:
                return a
            if type(a) is tir.Add and type(a.b) is IntImm:
                joined = fold(tir.Add, a.b, b)
                return None if joined is None else self._again(tir.Add, a.a, joined)
            if type(a) is tir.Sub and type(a.b) is IntImm:
                joined = fold(tir.Sub, b, a.b)
                return None if joined is None else self._again(tir.Add, a.a, joined)
            return None
        if type(a) is IntImm:
            return self._again(tir.Add, b, a)
        if type(a) is tir.Sub and _same(a.b, b):
            return a.a
        if type(b) is tir.Sub and _same(b.b, a):
            return b.a
        return None

    def _sub(self, a: Any, b: Any) -> Any:
        # All hold modulo 2^bits.
        if type(b) is IntImm:
            if b.value == 0:
                return a
            if type(a) is tir.Add and type(a.b) is IntImm:
                joined = fold(tir.Sub, a.b, b)
                return None if joined is None else self._again(tir.Add, a.a, joined)
            return None
        if _same(a, b):
            return tir.const(0, a.dtype)
        if type(a) is tir.Add:
            if _same(a.b, b):
                return a.a
            if _same(a.a, b):
                return a.b
        if type(a) is tir.Sub and _same(a.a, b):
            return None
        return None

    def _mul(self, a: Any, b: Any) -> Any:
        # All hold modulo 2^bits.
        if type(a) is IntImm and type(b) is not IntImm:
            a, b = b, a
            swapped = True
        else:
            swapped = False
        if type(b) is IntImm:
            if b.value == 0 and tir.analysis.side_effect(a) <= 2:
                return b
            if b.value == 1:
                return a
            if type(a) is tir.Mul and type(a.b) is IntImm:
                joined = fold(tir.Mul, a.b, b)
                return None if joined is None else self._again(tir.Mul, a.a, joined)
        return tir.Mul(a, b) if swapped else None

    def _again(self, kind: Any, a: Any, b: Any) -> Any:
        made = self._rules(kind, a, b)
        return kind(a, b) if made is None else made

    def _floordiv(self, a: Any, b: Any) -> Any:
        if type(b) is IntImm:
            if b.value == 0:
                return tir.const(0, a.dtype)
            if b.value == 1:
                return a
        low, high = self._analyzer.bound(a)
        least, greatest = self._analyzer.bound(b)
        if least > 0 and low >= 0 and high < least:
            # By bounds: the quotient is 0 in every regime.
            return tir.const(0, a.dtype)
        finite = low > NEG_INF and high < POS_INF and greatest < POS_INF
        if finite and least == greatest and least > 0 and low // least == high // least:
            return tir.const(low // least, a.dtype)
        return None

    def _floormod(self, a: Any, b: Any) -> Any:
        if type(b) is IntImm:
            if b.value in (0, 1):
                return tir.const(0, a.dtype)
            coeff, base = self._analyzer.modular(a)
            if coeff % b.value == 0:
                return tir.const(base % b.value, a.dtype)
        low, high = self._analyzer.bound(a)
        least, _ = self._analyzer.bound(b)
        if low >= 0 and high < least:
            return a
        return None

    def _div(self, a: Any, b: Any) -> Any:
        if type(b) is IntImm and b.value == 0:
            return tir.const(0, a.dtype)
        if type(b) is IntImm and b.value == 1:
            return a
        low, high = self._analyzer.bound(a)
        least, _ = self._analyzer.bound(b)
        if low >= 0 and least > 0:
            # Truncating and rounding down are the same there.
            return (
                tir.const(0, a.dtype)
                if high < least
                else (self.visit(tir.FloorDiv(a, b)) if is_index(a) and is_index(b) else None)
            )
        return None

    def _mod(self, a: Any, b: Any) -> Any:
        if type(b) is IntImm and b.value in (0, 1, -1):
            return tir.const(0, a.dtype)
        low, high = self._analyzer.bound(a)
        least, _ = self._analyzer.bound(b)
        if low >= 0 and least > 0:
            return (
                a
                if high < least
                else (self.visit(tir.FloorMod(a, b)) if is_index(a) and is_index(b) else None)
            )
        return None

    def _min(self, a: Any, b: Any) -> Any:
        if _same(a, b):
            return a
        x, y = self._analyzer.bound(a), self._analyzer.bound(b)
        if x[1] <= y[0] and x[1] < POS_INF:
            return a
        if y[1] <= x[0] and y[1] < POS_INF:
            return b
        return None

    def _max(self, a: Any, b: Any) -> Any:
        if _same(a, b):
            return a
        x, y = self._analyzer.bound(a), self._analyzer.bound(b)
        if x[0] >= y[1] and y[1] < POS_INF:
            return a
        if y[0] >= x[1] and x[1] < POS_INF:
            return b
        return None

    # --- comparisons and logic ---

    def _compare(self, op: Any) -> Any:
        a, b = self.visit(op.a), self.visit(op.b)
        kind = type(op)
        made = op if a is op.a and b is op.b else kind(a, b)
        if type(a) in _IMM and type(b) is type(a):
            return fold(kind, a, b)
        found = info(a.dtype)
        if found.lanes > 1:
            if type(a) is Broadcast and type(b) is Broadcast:
                return Broadcast(self.visit(kind(a.value, b.value)), found.lanes)
            return made
        if not found.is_int:
            return made
        decided = self._analyzer.decide(made)
        if decided is not None:
            return IntImm("bool", int(decided))
        if _same(a, b):
            return IntImm("bool", int(kind in (tir.EQ, tir.LE, tir.GE)))
        return self._analyzer.normal_comparison(made)

    visit_eq_ = visit_ne_ = visit_lt_ = visit_le_ = visit_gt_ = visit_ge_ = _compare

    def visit_and_(self, op: Any) -> Any:
        a = self.visit(op.a)
        if type(a) is IntImm:
            return self.visit(op.b) if a.value else a
        with self._analyzer.constraint_scope(a):
            b = self.visit(op.b)
        if type(b) is IntImm:
            return a if b.value else b
        if _same(a, b):
            return a
        return op if a is op.a and b is op.b else tir.And(a, b)

    def visit_or_(self, op: Any) -> Any:
        a = self.visit(op.a)
        if type(a) is IntImm:
            return a if a.value else self.visit(op.b)
        with self._analyzer.constraint_scope(self._negation(a)):
            b = self.visit(op.b)
        if type(b) is IntImm:
            return b if b.value else a
        if _same(a, b):
            return a
        return op if a is op.a and b is op.b else tir.Or(a, b)

    def _negation(self, cond: Any) -> Any:
        other = _NEGATED.get(type(cond))
        if other is not None and info(cond.a.dtype).is_int:
            return other(cond.a, cond.b)
        return tir.Not(cond)

    def visit_not_(self, op: Any) -> Any:
        a = self.visit(op.a)
        if type(a) is IntImm:
            return IntImm("bool", 1 - a.value)
        if type(a) is tir.Not:
            return a.a
        other = _NEGATED.get(type(a))
        if other is not None and info(a.a.dtype).is_int:
            # Not of floats: with NaN neither a < b nor a >= b holds.
            return other(a.a, a.b)
        return op if a is op.a else tir.Not(a)

    def visit_select_(self, op: Any) -> Any:
        condition = self.visit(op.condition)
        if type(condition) is IntImm:
            return self.visit(op.true_value if condition.value else op.false_value)
        if info(condition.dtype).lanes == 1:
            with self._analyzer.constraint_scope(condition):
                yes = self.visit(op.true_value)
            with self._analyzer.constraint_scope(self._negation(condition)):
                no = self.visit(op.false_value)
        else:
            yes, no = self.visit(op.true_value), self.visit(op.false_value)
        if _same(yes, no):
            return yes
        if condition is op.condition and yes is op.true_value and no is op.false_value:
            return op
        return tir.Select(condition, yes, no)

    def visit_cast_(self, op: Any) -> Any:
        value = self.visit(op.value)
        if value.dtype == op.dtype:
            return value
        if type(value) in _IMM:
            return tir.cast(value, op.dtype)
        if type(value) is Broadcast:
            return Broadcast(self.visit(Cast(info(op.dtype).scalar, value.value)), value.lanes)
        if type(value) is Cast:
            inner = value.value
            first, second, third = info(inner.dtype), info(value.dtype), info(op.dtype)
            ints = first.is_int and second.is_int and third.is_int and not second.is_bool
            keeps = second.bits > first.bits and (second.signed or not first.signed)
            same_sign = second.signed == first.signed and second.bits >= first.bits
            if ints and not third.is_bool and (keeps or same_sign or third.bits <= second.bits):
                # The middle type kept the value, or the bits that are left.
                return self.visit(Cast(op.dtype, inner)) if inner.dtype != op.dtype else inner
        return op if value is op.value else Cast(op.dtype, value)

    def visit_call_(self, op: Any) -> Any:
        name = getattr(op.op, "name", "")
        if name == "tir.likely":
            value = self.visit(op.args[0])
            if type(value) is IntImm:
                return value
            return op if value is op.args[0] else tir.likely(value)
        if name == "tir.if_then_else":
            condition = self.visit(op.args[0])
            if type(condition) is IntImm:
                return self.visit(op.args[1] if condition.value else op.args[2])
            with self._analyzer.constraint_scope(condition):
                yes = self.visit(op.args[1])
            with self._analyzer.constraint_scope(self._negation(condition)):
                no = self.visit(op.args[2])
            if _same(yes, no):
                return yes
            if condition is op.args[0] and yes is op.args[1] and no is op.args[2]:
                return op
            return tir.Call(op.dtype, op.op, [condition, yes, no])
        made = super().visit_call_(op)
        function = _BITS.get(name)
        if function is not None and all(type(item) is IntImm for item in made.args):
            try:
                return function(*made.args)
            except error.ValueError_:
                return made
        return made

    def visit_var_(self, op: Any) -> Any:
        found = self._analyzer.value_of(op)
        return op if found is None else found

    visit_size_var_ = visit_var_

    def visit_let_(self, op: Any) -> Any:
        value = self.visit(op.value)
        if type(value) in _IMM or isinstance(value, tir.Var):
            return self.visit(tir.stmt_functor.substitute(op.body, {op.var: value}))
        body = self.visit(op.body)
        if not tir.stmt_functor.uses_var(body, op.var) and tir.analysis.side_effect(value) <= 2:
            return body
        return op if value is op.value and body is op.body else tir.Let(op.var, value, body)

    def visit_reduce_(self, op: Any) -> Any:
        for axis in op.axis:
            self._analyzer.bind(axis.var, axis.dom)
        return super().visit_reduce_(op)


def _as_ramp(value: Any) -> tuple[Any, Any]:
    if type(value) is Ramp:
        return value.base, value.stride
    if type(value) is Broadcast:
        return value.value, tir.const(0, value.value.dtype)
    return None, None


_RULES: dict[Any, Any] = {
    tir.Add: Rewriter._add,
    tir.Sub: Rewriter._sub,
    tir.Mul: Rewriter._mul,
    tir.FloorDiv: Rewriter._floordiv,
    tir.FloorMod: Rewriter._floormod,
    tir.Div: Rewriter._div,
    tir.Mod: Rewriter._mod,
    tir.Min: Rewriter._min,
    tir.Max: Rewriter._max,
}
_BITS = {
    "tir.bitwise_and": tir.bitwise_and,
    "tir.bitwise_or": tir.bitwise_or,
    "tir.bitwise_xor": tir.bitwise_xor,
    "tir.bitwise_not": tir.bitwise_not,
    "tir.shift_left": tir.shift_left,
    "tir.shift_right": tir.shift_right,
}
