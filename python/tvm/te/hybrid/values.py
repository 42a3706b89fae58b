"""Names and expressions of hybrid scripts."""

from __future__ import annotations

import ast
import operator

from tvm import tir
from tvm.error import ValueError_
from tvm.ir import dtype as _dtype
from tvm.tir import Buffer, IntImm, IterVar, PrimExpr
from tvm.tir.expr import const_of, convert

from ..tensor import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip

_CASTS = (
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64",
)  # fmt: skip


def symbolic(args: Any) -> bool:
    """Whether one of several values is an expression."""
    return any(isinstance(arg, PrimExpr) for arg in args)


def _extreme(python: Any, expression: Any) -> Callable[..., Any]:
    return lambda *args: (expression if symbolic(args) else python)(*args)


def _caster(dtype: str) -> Callable[[Any], Any]:
    return lambda x: tir.cast(x, dtype) if isinstance(x, PrimExpr) else const_of(x, dtype)


def _power(x: Any, y: Any) -> Any:
    return tir.power(x, y) if symbolic((x, y)) else x**y


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(tir, name)
        for name in (
            *("sqrt", "rsqrt", "log", "log2", "log10", "log1p", "exp", "exp2", "sigmoid", "erf"),
            *("sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "floor"),
            *("ceil", "trunc", "round", "popcount", "likely", "if_then_else"),
        )
    },
    **{name: _caster(name) for name in _CASTS},
    "int": _caster("int32"),
    "float": _caster("float32"),
    "bool": _caster("bool"),
    "power": _power,
    "pow": _power,
    "select": lambda c, a, b: tir.Select(*_pair_after(c, a, b)),
    "abs": lambda x: tir.abs(x) if isinstance(x, PrimExpr) else abs(x),
    "max": _extreme(max, tir.max),
    "min": _extreme(min, tir.min),
    "ceil_div": lambda a, b: tir.ceildiv(a, b) if symbolic((a, b)) else -(-a // b),
}


def _pair_after(cond: Any, a: Any, b: Any) -> tuple[Any, Any, Any]:
    a, b = _matched(a, b)
    return convert(cond), a, b


def _matched(a: Any, b: Any) -> tuple[Any, Any]:
    from tvm.tir.operators import match

    pair = match(a, b)
    return (convert(a), convert(b)) if pair is None else pair


class Element:
    """A name that holds a value in memory."""

    __slots__ = ("buffer",)

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer


class Loop:
    """The variable of a loop."""

    __slots__ = ("axis", "value")

    def __init__(self, axis: IterVar, value: Any) -> None:
        self.axis = axis
        self.value = value


class Values:
    """The half of the parser that makes expressions."""

    name: str
    first_line: int
    line: int
    outer: dict[str, Any]
    scopes: list[dict[str, Any]]
    closed: set[str]
    inputs: dict[Tensor, Buffer]

    # ---- messages
    def wrong(self, why: str, node: Any = None) -> ValueError_:
        """The error for something that the language does not have."""
        line = getattr(node, "lineno", self.line) + self.first_line
        return ValueError_(f"hybrid script {self.name}, line {line}: {why}")

    def _input(self, tensor: Tensor) -> Buffer:
        found = self.inputs.get(tensor)
        if found is None:
            found = tir.decl_buffer(tensor.shape, tensor.dtype, tensor.op.name)
            self.inputs[tensor] = found
        return found

    # ---- names
    def _find(self, name: str) -> Any:
        for scope in reversed(self.scopes):
            if name in scope:
                found = scope[name]
                return found.axis if isinstance(found, Loop) else found
        return None

    def _lookup(self, name: str) -> Any:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        if name in self.closed:
            raise self.wrong(f"{name} is used outside of the block in which it is assigned")
        if name in self.outer:
            value = self.outer[name]
            if isinstance(value, Tensor):
                return self._input(value)
            return value
        raise self.wrong(f"{name} is not defined")

    def _read(self, found: Any) -> Any:
        if isinstance(found, Element):
            return tir.BufferLoad(found.buffer, [IntImm("int32", 0)])
        if isinstance(found, Loop):
            return found.value
        return found

    # ---- expressions
    def _value(self, node: Any) -> Any:
        method = getattr(self, "_of_" + type(node).__name__.lower(), None)
        if method is None:
            raise self.wrong(f"{type(node).__name__} expressions are not part of the language")
        return method(node)

    def _of_constant(self, node: ast.Constant) -> Any:
        return node.value

    def _of_name(self, node: ast.Name) -> Any:
        value = self._read(self._lookup(node.id))
        if isinstance(value, (PrimExpr, Buffer, int, float, str, tuple, list)) or value is None:
            return value
        if isinstance(value, IterVar):
            return value.var
        raise self.wrong(f"{node.id} is a {type(value).__name__}, which has no meaning here")

    def _of_tuple(self, node: Any) -> tuple[Any, ...]:
        return tuple([self._value(item) for item in node.elts])

    _of_list = _of_tuple

    def _of_attribute(self, node: ast.Attribute) -> Any:
        value = self._value(node.value)
        if isinstance(value, Buffer) and node.attr in ("shape", "dtype"):
            return value.shape if node.attr == "shape" else value.dtype
        raise self.wrong(f"expected .shape or .dtype of an array, but got .{node.attr}")

    def _of_subscript(self, node: ast.Subscript) -> Any:
        value = self._value(node.value)
        if isinstance(value, (tuple, list)):
            index = self._value(node.slice)
            if isinstance(index, IntImm):
                index = index.value
            if not isinstance(index, int) or not -len(value) <= index < len(value):
                raise self.wrong(f"expected a constant index below {len(value)}, but got {index}")
            return value[index]
        if not isinstance(value, Buffer):
            raise self.wrong("expected an array in front of the brackets")
        return tir.BufferLoad(value, self._indices(value, node.slice))

    def _indices(self, buffer: Buffer, node: Any) -> list[Any]:
        items = node.elts if isinstance(node, ast.Tuple) else [node]
        indices = [convert(self._value(item)) for item in items]
        if len(indices) != len(buffer.shape):
            raise self.wrong(
                f"{buffer.name} has {len(buffer.shape)} dimensions, but got {len(indices)} indices"
            )
        return indices

    def _apply(self, op: Any, a: Any, b: Any) -> Any:
        for item in (a, b):
            if isinstance(item, (Buffer, tuple, list, str)) or item is None:
                raise self.wrong("expected numbers, but got an array or text")
        if isinstance(op, ast.Pow):
            return _power(a, b)
        function = _OPERATORS.get(type(op))
        if function is None:
            raise self.wrong(f"operator {type(op).__name__} is not part of the language")
        return function(a, b)

    def _of_binop(self, node: ast.BinOp) -> Any:
        return self._apply(node.op, self._value(node.left), self._value(node.right))

    def _of_unaryop(self, node: ast.UnaryOp) -> Any:
        value = self._value(node.operand)
        if isinstance(node.op, ast.Not):
            return tir.Not(value) if isinstance(value, PrimExpr) else not value
        if isinstance(node.op, ast.USub):
            return -value
        if isinstance(node.op, ast.Invert):
            return ~value
        return value

    def _of_compare(self, node: ast.Compare) -> Any:
        values = [self._value(item) for item in (node.left, *node.comparators)]
        parts = [self._compared(op, a, b) for op, a, b in zip(node.ops, values, values[1:])]
        return self._all(parts)

    def _compared(self, op: Any, a: Any, b: Any) -> Any:
        made = self._apply(op, a, b) if not isinstance(a, str) else _OPERATORS[type(op)](a, b)
        as_object = getattr(made, "asobject", None)
        return made if as_object is None else as_object()

    def _all(self, parts: list[Any]) -> Any:
        symbolic = [part for part in parts if isinstance(part, PrimExpr)]
        if not all(parts[k] for k in range(len(parts)) if not isinstance(parts[k], PrimExpr)):
            return False
        return tir.all(*symbolic) if symbolic else True

    def _of_boolop(self, node: ast.BoolOp) -> Any:
        parts = [self._condition(item) for item in node.values]
        if isinstance(node.op, ast.And):
            return self._all(parts)
        symbolic = [part for part in parts if isinstance(part, PrimExpr)]
        if any(part for part in parts if not isinstance(part, PrimExpr)):
            return True
        return tir.any(*symbolic) if symbolic else False

    def _condition(self, node: Any) -> Any:
        """A condition: a Python bool if it is known now."""
        value = self._value(node)
        if isinstance(value, IntImm):
            return bool(value.value)
        if isinstance(value, PrimExpr) and not _dtype.info(value.dtype).is_bool:
            return tir.NE(value, const_of(0, value.dtype))
        return value if isinstance(value, PrimExpr) else bool(value)

    def _of_ifexp(self, node: ast.IfExp) -> Any:
        cond = self._condition(node.test)
        if not isinstance(cond, PrimExpr):
            return self._value(node.body if cond else node.orelse)
        return tir.if_then_else(cond, self._value(node.body), self._value(node.orelse))

    def _of_call(self, node: ast.Call) -> Any:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        called = None
        if name not in FUNCTIONS and name in self.outer:
            called = self.outer[name]
        args = [self._value(arg) for arg in node.args]
        if getattr(called, "is_hybrid_script", False):
            return self._script(called, args)
        if node.keywords:
            raise self.wrong(f"{ast.unparse(node.func)}: arguments must be given by position")
        if name == "len":
            return len(args[0].shape if isinstance(args[0], Buffer) else args[0])
        if name == "max_num_threads":
            return self._max_num_threads()
        function = FUNCTIONS.get(name)
        if function is None:
            raise self.wrong(
                f"unknown function {ast.unparse(node.func)}; those there are: "
                f"{', '.join(sorted(FUNCTIONS))}"
            )
        if name in ("float",) and isinstance(args[0], str):
            return float(args[0])
        return function(*args)

    def _max_num_threads(self) -> int:
        from tvm.target import Target

        target = Target.current()
        found = None if target is None else target.attrs.get("max_num_threads")
        return int(found) if found else 1

    def _script(self, called: Any, args: list[Any]) -> Any:
        """Another script on this one's inputs: an operation of its own; its results are inputs."""
        tensors = {id(buffer): tensor for tensor, buffer in self.inputs.items()}
        given = []
        for arg in args:
            if isinstance(arg, Buffer):
                if id(arg) not in tensors:
                    raise self.wrong(
                        f"{called.__name__}: {arg.name} is computed in this script; another "
                        "script can be called on inputs only"
                    )
                arg = tensors[id(arg)]
            given.append(arg)
        return called(*given)
