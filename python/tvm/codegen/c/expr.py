"""Expressions: one rule a node class."""

from __future__ import annotations

from ... import error
from ...ir.dtype import info
from ...tir import expr as _expr
from .code import UNARY, Code, binary, cast, constant, string_literal
from .memory import DATA, Memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Expressions(Memory):
    """Values of expressions."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        # arrays of vectors whose lanes change places, and lets that are bound, by identity
        self.prepared: dict[int, str] = {}
        self.bound: set[int] = set()

    def value(self, node: Any) -> Code:
        """`node` in its own type; of a vector the current lane."""
        if node.dtype != "int64" and self.is_index(node):
            found = self.index(node)
            if found.number is not None:
                return constant(node.dtype, found.number, self.dialect)
            return cast(self.type_name(node.dtype), found)
        if self.is_index(node):
            return self.index(node)
        if self.lane is None and info(node.dtype).lanes > 1:
            raise error.InternalError(f"target {self.dialect.name}: {node} outside of a lane loop")
        rule = _VALUE.get(type(node))
        if rule is None:
            raise error.TypeError_(
                f"target {self.dialect.name}, function {self.function_name}: no code for a node of "
                f"type {getattr(node, 'type_key', type(node).__name__)}: {node}"
            )
        return rule(self, node)  # type: ignore[no-any-return]

    def resolve(self, node: Any) -> None:
        """Find a variable that is not defined here."""
        raise error.ValueError_(
            f"target {self.dialect.name}, function {self.function_name}: variable {node.name} is "
            "used but neither a parameter nor defined in the body"
        )

    def bind(self, variable: Any, value: Any) -> None:
        """Define a variable by an expression."""
        found = info(value.dtype)
        if found.lanes > 1 and self.lane is None:
            self.values[variable] = Code(self.vector(variable.name, value))
            self.arrays.add(variable)
        elif found.kind == "handle":
            code = self.value(value)
            self.values[variable] = Code(self.let(variable.name, "void*", code))
            self.pointers.pop(variable, None)
        elif not value.kinds & DATA and found.is_int and not found.is_bool:
            code = self.index(value)
            if code.number is None:
                code = Code(self.let(variable.name, self.dialect.types["int64"], code))
            self.positions[variable] = code
            if self.is_nonnegative(value):
                self.nonnegative.add(variable)
        else:
            code = self.value(value)
            name = self.let(variable.name, self.type_name(value.dtype), code)
            self.values[variable] = Code(name)

    # ---- leaves
    def variable(self, node: Any) -> Code:
        found = self.values.get(node)
        if found is None and node not in self.positions:
            self.resolve(node)
            found = self.values.get(node)
        if found is None:
            place = self.index(node)
            return self.convert(place, "int64", node.dtype)
        return self.at(found.text) if node in self.arrays else found

    def _constant(self, node: Any) -> Code:
        return constant(node.dtype, node.value, self.dialect)

    def _string(self, node: Any) -> Code:
        return Code(string_literal(node.value))

    # ---- operators
    def _arith(self, node: Any) -> Code:
        found = info(node.dtype)
        if found.is_int:
            return self.wrapped(self._unsigned(node), info(found.scalar))
        return self.real(_SIGN[type(node)], self.value(node.a), self.value(node.b), found)

    def _unsigned(self, node: Any) -> Code:
        """An integer sum, difference or product before it is brought into its type's range."""
        found = info(node.dtype)
        if type(node) in _SIGN and found.is_int and not self.is_index(node):
            return binary(_SIGN[type(node)], self._unsigned(node.a), self._unsigned(node.b))
        return self.as_unsigned(self.value(node), found)

    def _divide(self, node: Any) -> Code:
        found = info(node.dtype)
        a, b = self.value(node.a), self.value(node.b)
        if found.is_float:
            if type(node) is _expr.Div:
                return self.real("/", a, b, found)
            raise error.TypeError_(
                f"target {self.dialect.name}, function {self.function_name}: {node} of dtype "
                f"{node.dtype} must be lowered before code generation"
            )
        return self.divide(_DIVIDE[type(node)], a, b, node.dtype)

    def _extreme(self, node: Any) -> Code:
        op = "min" if type(node) is _expr.Min else "max"
        return self.extreme(op, self.value(node.a), self.value(node.b), node.dtype)

    def _compare(self, node: Any) -> Code:
        left, right = node.a, node.b
        sign = _COMPARE[type(node)]
        if not (left.kinds | right.kinds) & DATA and info(left.dtype).is_int:
            return binary(sign, self.index(left), self.index(right))
        return self.compare(sign, self.value(left), self.value(right), left.dtype)

    def _logical(self, node: Any) -> Code:
        both = type(node) is _expr.And
        a = self.value(node.a)
        b, lines = self.captured(lambda: self.value(node.b))
        if not lines:
            return binary("&&" if both else "||", a, b)
        name = self.name("test")
        self.line(f"bool {name} = {a};")
        self.line(f"if ({name if both else '!' + name}) {{")
        self.lines += lines
        self.line(f"  {name} = {b};")
        self.line("}")
        return Code(name)

    def _not(self, node: Any) -> Code:
        return Code(f"!{self.value(node.a).at(UNARY)}", UNARY)

    def _cast(self, node: Any) -> Code:
        return self.convert(self.value(node.value), node.value.dtype, node.dtype)

    def _select(self, node: Any) -> Code:
        return self.choose(node.condition, node.true_value, node.false_value, node.dtype)

    def choose(self, condition: Any, then: Any, other: Any, dtype: str) -> Code:
        """Only the chosen value is evaluated."""
        test = self.value(condition)
        if test.text in ("true", "false"):
            return self.value(then if test.text == "true" else other)
        a, first = self.captured(lambda: self.value(then))
        b, second = self.captured(lambda: self.value(other))
        if not first and not second:
            return self.pick(test, a, b)
        if info(dtype).kind == "void":
            name = ""
        else:
            name = self.name("chosen")
            self.line(f"{self.type_name(dtype)} {name};")
        self.line(f"if ({test}) {{")
        self._arm(first, name, a)
        if second or name:
            self.line("} else {")
            self._arm(second, name, b)
        self.line("}")
        return Code(name or "0")

    def _arm(self, lines: list[str], name: str, value: Code) -> None:
        self.lines += lines
        if name:
            self.line(f"  {name} = {value};")

    def _let(self, node: Any) -> Code:
        # a chain of lets is as long as a math function: no recursion along it
        while type(node) is _expr.Let:
            if id(node) not in self.bound:
                self.bind(node.var, node.value)
            node = node.body
        return self.value(node)

    # ---- vectors
    def _ramp(self, node: Any) -> Code:
        found = info(info(node.dtype).scalar)
        lane = self.lane
        assert lane is not None
        step = self.as_unsigned(self.value(node.stride), found)
        each = binary("*", cast(self.bits_word(found), lane), step)
        return self.wrapped(
            binary("+", self.as_unsigned(self.value(node.base), found), each), found
        )

    def _broadcast(self, node: Any) -> Code:
        return self.value(node.value)

    def _moved(self, node: Any) -> Code:
        """A vector whose lanes change places; the array that `prepare` has made."""
        name = self.prepared.get(id(node))
        if name is None:
            self.prepare(node)
            name = self.prepared[id(node)]
        return self.at(name) if info(node.dtype).lanes > 1 else Code(name)

    def prepare(self, node: Any) -> None:
        if _moves_lanes(node):
            self._prepare(node)

    def _prepare(self, node: Any) -> None:
        if id(node) in self.prepared:
            return
        if type(node) is _expr.Let:
            self._prepare(node.value)
            before, self.lane = self.lane, None
            self.bind(node.var, node.value)
            self.lane = before
            self.bound.add(id(node))
            self._prepare(node.body)
            return
        for item in _children(node):
            if _moves_lanes(item):
                self._prepare(item)
        if not _moves(node):
            return
        before, self.lane = self.lane, None
        self.prepared[id(node)] = self._move(node)
        self.lane = before

    def _move(self, node: Any) -> str:
        """Write the lanes of a Shuffle, or of a call that moves lanes, into an array."""
        found = info(node.dtype)
        kind = self.type_name(node.dtype)
        sources = node.vectors if type(node) is _expr.Shuffle else node.args
        every: list[str] = []
        names = []
        for item in sources:
            lanes = info(item.dtype).lanes
            if lanes == 1:
                names.append(self.let("part", self.type_name(item.dtype), self.value(item)))
                every.append(names[-1])
            else:
                names.append(self.vector("part", item))
                every += [f"{names[-1]}[{lane}]" for lane in range(lanes)]
        name = self.name("moved")
        size = f"[{found.lanes}]" if found.lanes > 1 else ""
        self.line(f"{kind} {name}{size};")
        if type(node) is _expr.Call and node.op.name == "tir.reinterpret":
            self.line(f"memcpy(&{name}, &{names[0]}, sizeof({name}));")
            return name
        for lane, index in enumerate(_order(node)):
            target = f"{name}[{lane}]" if found.lanes > 1 else name
            self.line(f"{target} = {every[index]};")
        return name

    def _call(self, node: Any) -> Code:
        from .call import call_rule

        return call_rule(self, node)


def _order(node: Any) -> list[int]:
    """Which lane of all the operands' lanes comes where."""
    if type(node) is _expr.Shuffle:
        return [int(index.value) for index in node.indices]
    lanes = info(node.dtype).lanes
    if node.op.name == "tir.vectorhigh":
        return list(range(lanes, 2 * lanes))
    return list(range(lanes))


_CALL, _SHUFFLE = _expr.Call.KIND & ~DATA, _expr.Shuffle.KIND & ~DATA


def _moves(node: Any) -> bool:
    """Whether lanes of the operands become other lanes of the result."""
    if type(node) is _expr.Shuffle:
        return True
    if type(node) is not _expr.Call:
        return False
    name = getattr(node.op, "name", "")
    if name == "tir.reinterpret":
        return info(node.dtype).lanes != info(node.args[0].dtype).lanes
    return name in ("tir.vectorlow", "tir.vectorhigh", "tir.vectorcombine")


def _moves_lanes(node: Any) -> bool:
    """Whether that happens anywhere in an expression."""
    if not node.kinds & (_CALL | _SHUFFLE):
        return False
    while type(node) is _expr.Let:
        if _moves_lanes(node.value):
            return True
        node = node.body
    return _moves(node) or any(_moves_lanes(item) for item in _children(node))


def _children(node: Any) -> list[Any]:
    kind = type(node)
    if kind is _expr.Call:
        return list(node.args)
    if kind is _expr.BufferLoad:
        return list(node.indices)
    if kind is _expr.Shuffle:
        return list(node.vectors)
    names = ("a", "b", "value", "body", "condition", "true_value", "false_value", "base", "stride")
    found = [getattr(node, name, None) for name in names]
    return [item for item in found if hasattr(item, "kinds") and hasattr(item, "dtype")]


_SIGN = {_expr.Add: "+", _expr.Sub: "-", _expr.Mul: "*"}
_DIVIDE = {
    _expr.Div: "truncdiv",
    _expr.Mod: "truncmod",
    _expr.FloorDiv: "floordiv",
    _expr.FloorMod: "floormod",
}
_COMPARE = {
    _expr.EQ: "==",
    _expr.NE: "!=",
    _expr.LT: "<",
    _expr.LE: "<=",
    _expr.GT: ">",
    _expr.GE: ">=",
}
_VALUE: dict[type, Any] = {
    _expr.Var: Expressions.variable,
    _expr.SizeVar: Expressions.variable,
    _expr.IntImm: Expressions._constant,
    _expr.FloatImm: Expressions._constant,
    _expr.StringImm: Expressions._string,
    **dict.fromkeys(_SIGN, Expressions._arith),
    **dict.fromkeys(_DIVIDE, Expressions._divide),
    **dict.fromkeys(_COMPARE, Expressions._compare),
    _expr.Min: Expressions._extreme,
    _expr.Max: Expressions._extreme,
    _expr.And: Expressions._logical,
    _expr.Or: Expressions._logical,
    _expr.Not: Expressions._not,
    _expr.Cast: Expressions._cast,
    _expr.Select: Expressions._select,
    _expr.Let: Expressions._let,
    _expr.BufferLoad: Expressions.load,
    _expr.Ramp: Expressions._ramp,
    _expr.Broadcast: Expressions._broadcast,
    _expr.Shuffle: Expressions._moved,
    _expr.Call: Expressions._call,
}
