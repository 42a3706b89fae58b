"""Expressions: one rule a node class."""

from __future__ import annotations

from ... import error
from ...ir.dtype import info
from ...tir import expr as _expr
from .memory import DATA, Memory, Position
from .types import constant, register_type, vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LOADS_OR_CALLS = (_expr.BufferLoad.KIND | _expr.Call.KIND) & ~DATA
_LOADS = _expr.BufferLoad.KIND & ~DATA


class Expressions(Memory):
    """Values of expressions."""

    function_name = ""

    def value(self, node: Any) -> str:
        """The register or constant that holds the value of `node`."""
        rule = _VALUE.get(type(node))
        if rule is None:
            raise error.TypeError_(
                f"target llvm, function {self.function_name}: no code for a node of type "
                f"{getattr(node, 'type_key', type(node).__name__)}: {node}"
            )
        return rule(self, node)  # type: ignore[no-any-return]

    def variable(self, node: Any) -> str:
        found = self.values.get(node)
        if found is not None:
            return found
        if node not in self.positions:
            self.resolve(node)
            if node in self.values:
                return self.values[node]
        return self.from_position(self.positions[node], node.dtype)

    def from_position(self, place: Position, dtype: str) -> str:
        """A position as a value of an integer dtype."""
        if not place[0]:
            return constant(dtype, place[1])
        return self.cast(self.whole(place), "int64", dtype)

    def resolve(self, node: Any) -> None:
        """Find a variable that is not defined here."""
        raise error.ValueError_(
            f"target llvm, function {self.function_name}: variable {node.name} is used but "
            "neither a parameter nor defined in the body"
        )

    def bind(self, variable: Any, value: Any) -> None:
        """Define a variable by an expression."""
        if not value.kinds & DATA and info(value.dtype).is_int and info(value.dtype).lanes == 1:
            self.positions[variable] = self.position(value)
            if self.is_nonnegative(value):
                self.nonnegative.add(variable)
        else:
            self.values[variable] = self.value(value)

    # ---- leaves
    def _constant(self, node: Any) -> str:
        return constant(node.dtype, node.value)

    def _string(self, node: Any) -> str:
        return self.unit.string(node.value)

    # ---- operators
    def _arith(self, node: Any) -> str:
        a, b = self.value(node.a), self.value(node.b)
        return self.arith(_ARITH[type(node)], a, b, node.dtype)

    def _divide(self, node: Any) -> str:
        dtype = node.dtype
        kind = type(node)
        found = info(dtype)
        a, b = self.value(node.a), self.value(node.b)
        if found.is_float:
            if kind is _expr.Div:
                return self.arith("div", a, b, dtype)
            raise error.TypeError_(
                f"target llvm, function {self.function_name}: {node} of dtype {dtype} must be "
                "lowered before code generation"
            )
        divisor = node.b.value if type(node.b) is _expr.Broadcast else node.b
        number = divisor.value if type(divisor) is _expr.IntImm else None
        return self.divide(_DIVIDE[kind], a, b, dtype, number)

    def _extreme_value(self, node: Any) -> str:
        op = "min" if type(node) is _expr.Min else "max"
        left, right = node.a, node.b
        if _is_number(right) and not _is_number(left):
            left, right = right, left
        a, b = self.value(left), self.value(right)
        return self.extreme(op, a, b, node.dtype, _is_number(left))

    def _compare(self, node: Any) -> str:
        left, right = node.a, node.b
        op = _COMPARE[type(node)]
        dtype = left.dtype
        found = info(dtype)
        if not (left.kinds | right.kinds) & DATA and found.lanes == 1 and found.is_int:
            return self.compare(op, self.index(left), self.index(right), "int64")
        return self.compare(op, self.value(left), self.value(right), dtype)

    def _logical(self, node: Any) -> str:
        both = type(node) is _expr.And
        a = self.value(node.a)
        lanes = info(node.dtype).lanes
        if not node.b.kinds & _LOADS_OR_CALLS:
            op = "and" if both else "or"
            return self.pure(f"{op} {vector('i1', lanes)} {a}, {self.value(node.b)}")
        if lanes > 1:
            allowed = a if both else self.pure(f"xor <{lanes} x i1> {a}, splat (i1 true)")
            b = self.masked(allowed, lanes, node.b)
            return self.pure(f"{'and' if both else 'or'} <{lanes} x i1> {a}, {b}")
        more, done = self.new_block("more"), self.new_block("logic")
        before = self.block
        self.branch(a, *((more, done) if both else (done, more)))
        self.start(more)
        self.push()
        b = self.value(node.b)
        after = self.block
        self.jump(done)
        self.pop()
        self.start(done)
        shortcut = "false" if both else "true"
        return self.effect(f"phi i1 [ {shortcut}, %{before} ], [ {b}, %{after} ]")

    def _not(self, node: Any) -> str:
        lanes = info(node.dtype).lanes
        true = "true" if lanes == 1 else "splat (i1 true)"
        return self.pure(f"xor {vector('i1', lanes)} {self.value(node.a)}, {true}")

    def _cast(self, node: Any) -> str:
        source = node.value
        if not node.kinds & DATA and info(node.dtype).lanes == 1:
            # a widening of an index: no wrap in the narrower type
            return self.from_position(self.position(source), node.dtype)
        return self.cast(self.value(source), source.dtype, node.dtype)

    def _select(self, node: Any) -> str:
        condition = self.value(node.condition)
        a, b = self.value(node.true_value), self.value(node.false_value)
        kind = register_type(node.dtype)
        return self.select(condition, a, b, kind, info(node.condition.dtype).lanes)

    def masked(self, allowed: str, lanes: int, node: Any) -> str:
        """Value of `node`, whose memory accesses may only touch the allowed lanes."""
        before = self.mask, self.mask_lanes, self.mask_has_first
        if self.mask is not None and self.mask_lanes == lanes:
            allowed = self.pure(f"and <{lanes} x i1> {self.mask}, {allowed}")
        self.mask, self.mask_lanes, self.mask_has_first = allowed, lanes, False
        try:
            return self.value(node)
        finally:
            self.mask, self.mask_lanes, self.mask_has_first = before

    def if_then_else(self, node: Any) -> str:
        """Only the chosen value is evaluated; for a vector, only if some lane wants it."""
        condition, then, other = node.args
        found = info(node.dtype)
        kind = register_type(node.dtype)
        lanes = info(condition.dtype).lanes
        test = self.value(condition)
        if lanes > 1:
            return self._blend(test, then, other, kind, lanes)
        if test in ("true", "false"):
            return self.value(then if test == "true" else other)
        yes, no, done = self.new_block("then"), self.new_block("else"), self.new_block("join")
        self.branch(test, yes, no)
        self.start(yes)
        self.push()
        a = self.value(then)
        yes_end = self.block
        self.jump(done)
        self.pop()
        self.start(no)
        self.push()
        b = self.value(other)
        no_end = self.block
        self.jump(done)
        self.pop()
        self.start(done)
        if found.kind == "void":
            return ""
        return self.effect(f"phi {kind} [ {a}, %{yes_end} ], [ {b}, %{no_end} ]")

    def _blend(self, test: str, then: Any, other: Any, kind: str, lanes: int) -> str:
        contrary = self.pure(f"xor <{lanes} x i1> {test}, splat (i1 true)")
        b = self.masked(contrary, lanes, other) if other.kinds & _LOADS else self.value(other)
        if type(then) in (_expr.Broadcast, _expr.Var):
            return self.select(test, self.value(then), b, kind, lanes)
        some, done = self.new_block("some"), self.new_block("join")
        before = self.block
        self.branch(self.any_lane(test, lanes), some, done)
        self.start(some)
        self.push()
        a = self.masked(test, lanes, then) if then.kinds & _LOADS else self.value(then)
        mixed = self.select(test, a, b, kind, lanes)
        after = self.block
        self.jump(done)
        self.pop()
        self.start(done)
        return self.effect(f"phi {kind} [ {b}, %{before} ], [ {mixed}, %{after} ]")

    def _let(self, node: Any) -> str:
        # a chain of lets is as long as a math function: no recursion along it
        while type(node) is _expr.Let:
            self.bind(node.var, node.value)
            node = node.body
        return self.value(node)

    # ---- vectors
    def _ramp(self, node: Any) -> str:
        found = info(node.dtype)
        scalar = register_type(found.scalar)
        kind = register_type(node.dtype)
        base = self.broadcast(self.value(node.base), scalar, node.lanes)
        stride = node.stride
        if type(stride) is _expr.IntImm:
            row = ", ".join(
                f"{scalar} {constant(found.scalar, lane * stride.value)}"
                for lane in range(node.lanes)
            )
            steps = f"<{row}>"
        else:
            each = self.broadcast(self.value(stride), scalar, node.lanes)
            row = ", ".join(f"{scalar} {lane}" for lane in range(node.lanes))
            steps = self.pure(f"mul {kind} {each}, <{row}>")
        return self.pure(f"add {kind} {base}, {steps}")

    def _broadcast(self, node: Any) -> str:
        scalar = node.value.dtype
        if type(node.value) in (_expr.IntImm, _expr.FloatImm):
            return constant(node.dtype, node.value.value)
        return self.broadcast(self.value(node.value), register_type(scalar), node.lanes)

    def _shuffle(self, node: Any) -> str:
        found = info(node.dtype)
        scalar = register_type(found.scalar)
        order = [int(index.value) for index in node.indices]
        parts = [(self.value(item), info(item.dtype).lanes) for item in node.vectors]
        if len(parts) <= 2 and len({lanes for _, lanes in parts}) == 1 and parts[0][1] > 1:
            lanes = parts[0][1]
            kind = vector(scalar, lanes)
            second = parts[1][0] if len(parts) == 2 else "poison"
            if len(order) > 1:
                row = ", ".join(f"i32 {index}" for index in order)
                return self.pure(
                    f"shufflevector {kind} {parts[0][0]}, {kind} {second}, "
                    f"<{len(order)} x i32> <{row}>"
                )
        # every lane of every vector, in order
        every = [
            text
            if lanes == 1
            else self.pure(f"extractelement {vector(scalar, lanes)} {text}, i64 {lane}")
            for text, lanes in parts
            for lane in range(lanes)
        ]
        singles = [every[index] for index in order]
        if len(singles) == 1:
            return singles[0]
        kind = register_type(node.dtype)
        row = "poison"
        for lane, one in enumerate(singles):
            row = self.pure(f"insertelement {kind} {row}, {scalar} {one}, i64 {lane}")
        return row

    def _call(self, node: Any) -> str:
        from .call import call_rule

        return call_rule(self, node)


def _is_number(node: Any) -> bool:
    """Whether this is a float constant that is not NaN (or any int constant)."""
    if type(node) is _expr.Broadcast:
        node = node.value
    return type(node) in (_expr.FloatImm, _expr.IntImm) and node.value == node.value


_ARITH = {_expr.Add: "add", _expr.Sub: "sub", _expr.Mul: "mul"}
_DIVIDE = {
    _expr.Div: "truncdiv",
    _expr.Mod: "truncmod",
    _expr.FloorDiv: "floordiv",
    _expr.FloorMod: "floormod",
}
_COMPARE = {
    _expr.EQ: "eq",
    _expr.NE: "ne",
    _expr.LT: "lt",
    _expr.LE: "le",
    _expr.GT: "gt",
    _expr.GE: "ge",
}
_VALUE: dict[type, Any] = {
    _expr.Var: Expressions.variable,
    _expr.SizeVar: Expressions.variable,
    _expr.IntImm: Expressions._constant,
    _expr.FloatImm: Expressions._constant,
    _expr.StringImm: Expressions._string,
    **dict.fromkeys(_ARITH, Expressions._arith),
    **dict.fromkeys(_DIVIDE, Expressions._divide),
    **dict.fromkeys(_COMPARE, Expressions._compare),
    _expr.Min: Expressions._extreme_value,
    _expr.Max: Expressions._extreme_value,
    _expr.And: Expressions._logical,
    _expr.Or: Expressions._logical,
    _expr.Not: Expressions._not,
    _expr.Cast: Expressions._cast,
    _expr.Select: Expressions._select,
    _expr.Let: Expressions._let,
    _expr.BufferLoad: Expressions.load,
    _expr.Ramp: Expressions._ramp,
    _expr.Broadcast: Expressions._broadcast,
    _expr.Shuffle: Expressions._shuffle,
    _expr.Call: Expressions._call,
}
