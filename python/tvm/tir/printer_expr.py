"""Text of expressions, types and values."""

from __future__ import annotations

from ..ir import base as _base
from ..ir import dtype as _dtype
from ..ir.attrs import DictAttrs
from ..ir.expr import GlobalVar, PrimExpr, Range
from ..ir.op import Op
from ..ir.type import FuncType, PointerType, PrimType, TupleType, Type
from . import expr as E
from . import stmt as S
from .buffer import Buffer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Binding strengths, as in Python.
_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _UNARY, _ATOM = range(1, 9)

_INFIX = {
    E.Add: ("+", _SUM),
    E.Sub: ("-", _SUM),
    E.Mul: ("*", _PRODUCT),
    E.FloorDiv: ("//", _PRODUCT),
    E.FloorMod: ("%", _PRODUCT),
    E.EQ: ("==", _COMPARE),
    E.NE: ("!=", _COMPARE),
    E.LT: ("<", _COMPARE),
    E.LE: ("<=", _COMPARE),
    E.GT: (">", _COMPARE),
    E.GE: (">=", _COMPARE),
    E.And: ("and", _AND),
    E.Or: ("or", _OR),
}

# Operators whose result type is written, first or last.
_DTYPE_FIRST = frozenset(
    (
        "call_extern",
        "call_pure_extern",
        "call_llvm_intrin",
        "call_llvm_pure_intrin",
        "reinterpret",
        "vectorlow",
        "vectorhigh",
        "vectorcombine",
        "type_annotation",
        "ptx_mma",
        "mma_fill",
        "anylist_getitem",
        "tvm_warp_shuffle_down",
    )  # fmt: skip
)
_DTYPE_LAST = frozenset(("tvm_struct_get",))
_ALIASES = {"tvm_call_packed": "call_packed", "tvm_call_cpacked": "call_cpacked", "fabs": "fabs"}

_ITER_TYPES = ("DataPar", "ThreadIndex", "CommReduce", "Ordered", "DimInfo", "Unrolled",
               "Vectorized", "Parallelized", "Tensorized")  # fmt: skip


def quote(text: str) -> str:
    """`text` in double quotes."""
    made = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{made}"'


def number_text(value: float) -> str:
    """A float with the digits that tell it from its neighbours, `1` for 1.0."""
    return f"{value:.17g}"


def const_text(value: float, dtype: str) -> str:
    """A constant of a type."""
    if dtype == "int32":
        return str(value)
    if dtype == "bool":
        return f"T.bool({bool(value)})"
    if isinstance(value, float):
        if value != value:
            return f'T.{dtype}("nan")'
        if value in (float("inf"), float("-inf")):
            return f'T.{dtype}("{"-" if value < 0 else ""}inf")'
        return f"T.{dtype}({number_text(value)})"
    return f"T.{dtype}({value})"


class ExprPrinter:
    """Makes the text of expressions; names stay the same throughout."""

    def __init__(self, show_header: bool = True) -> None:
        self._names: dict[Any, str] = {}
        self._used: set[str] = {"T", "I", "cls", "range"}
        self._lines: list[str] = []
        self._level = 0
        self._show_header = show_header
        # Data pointers that are known through a buffer's name.
        self._pointers: dict[Any, str] = {}
        self._declared: set[Any] = set()

    # --- names ---

    def _unique(self, name: str) -> str:
        clean = "".join(c if c.isalnum() or c == "_" else "_" for c in name) or "v"
        if clean[0].isdigit():
            clean = "_" + clean
        made, number = clean, 0
        while made in self._used:
            number += 1
            made = f"{clean}_{number}"
        self._used.add(made)
        return made

    def name(self, item: Any) -> str:
        """The unique name of a variable or buffer."""
        found = self._names.get(item)
        if found is None:
            found = self._pointers.get(item)
            if found is not None:
                return found
            found = self._unique(item.name)
            self._names[item] = found
        return found

    def _define_buffer(self, buffer: Buffer) -> str:
        """A new name for a buffer, by which its pointer is known from now on."""
        made = self.name(buffer)
        if buffer.data not in self._names and buffer.data not in self._pointers:
            self._pointers[buffer.data] = f"{made}.data"
        self._declared.add(buffer)
        return made

    # --- lines ---

    def _line(self, text: str) -> None:
        self._lines.append("    " * self._level + text)

    # --- expressions ---

    def expr(self, node: Any, level: int = 0) -> str:
        """An expression; in parentheses where it binds less than `level`."""
        infix = _INFIX.get(type(node))
        if infix is not None:
            return self._infix(node, infix[0], infix[1], level)
        method = _EXPR.get(type(node))
        if method is None:
            return self.value(node)
        return method(self, node)

    def _infix(self, node: Any, mark: str, strength: int, level: int) -> str:
        constants = type(node.a) in (E.IntImm, E.FloatImm) and type(node.b) is type(node.a)
        if constants:
            # Written with an operator it would read as the folded constant.
            return f"T.{type(node).__name__}({self.expr(node.a)}, {self.expr(node.b)})"
        left = strength + 1 if strength == _COMPARE else strength
        # A chain as deep as a program may be is printed without recursion down its left side.
        parts = []
        while True:
            parts.append(f" {mark} {self.expr(node.b, strength + 1)}")
            node = node.a
            infix = _INFIX.get(type(node))
            if infix is None or infix[1] != left or left == _COMPARE + 1:
                break
            if type(node.a) in (E.IntImm, E.FloatImm) and type(node.b) is type(node.a):
                break
            mark = infix[0]
        text = self.expr(node, left) + "".join(reversed(parts))
        return f"({text})" if strength < level else text

    def _list(self, items: Any) -> str:
        return ", ".join([self.expr(item) for item in items])

    def _shape(self, items: Any) -> str:
        return f"({self._list(items)},)" if len(items) == 1 else f"({self._list(items)})"

    def _var(self, node: Any) -> str:
        return self.name(node)

    def _constant(self, node: Any) -> str:
        return const_text(node.value, node.dtype)

    def _string(self, node: Any) -> str:
        return quote(node.value)

    def _function_node(self, node: Any) -> str:
        name = {E.Min: "min", E.Max: "max", E.Mod: "truncmod"}[type(node)]
        return f"T.{name}({self.expr(node.a)}, {self.expr(node.b)})"

    def _div(self, node: Any) -> str:
        if _dtype.info(node.dtype).is_int:
            return f"T.Div({self.expr(node.a)}, {self.expr(node.b)})"
        return f"{self.expr(node.a, _PRODUCT)} / {self.expr(node.b, _PRODUCT + 1)}"

    def _not(self, node: Any) -> str:
        return f"not {self.expr(node.a, _ATOM)}"

    def _cast(self, node: Any) -> str:
        return f'T.Cast("{node.dtype}", {self.expr(node.value)})'

    def _select(self, node: Any) -> str:
        return (
            f"T.Select({self.expr(node.condition)}, {self.expr(node.true_value)}, "
            f"{self.expr(node.false_value)})"
        )

    def _ramp(self, node: Any) -> str:
        return f"T.Ramp({self.expr(node.base)}, {self.expr(node.stride)}, {node.lanes})"

    def _broadcast(self, node: Any) -> str:
        return f"T.Broadcast({self.expr(node.value)}, {node.lanes})"

    def _shuffle(self, node: Any) -> str:
        return f"T.Shuffle([{self._list(node.vectors)}], [{self._list(node.indices)}])"

    def _let(self, node: Any) -> str:
        value = self.expr(node.value)
        name = self.name(node.var)
        return f"T.Let({self.expr(node.body)}, where={{{name}: {value}}})"

    def _index(self, index: Any) -> str:
        if type(index) is E.Ramp and type(index.stride) is E.IntImm:
            step = index.stride.value
            stop = index.base + index.lanes * step
            tail = "" if step == 1 else f":{step}"
            return f"{self.expr(index.base)}:{self.expr(stop)}{tail}"
        return self.expr(index)

    def _access(self, name: str, indices: Any) -> str:
        return f"{name}[{', '.join([self._index(item) for item in indices]) or '()'}]"

    def _load(self, node: Any) -> str:
        return self._access(self.name(node.buffer), node.indices)

    def _producer(self, producer: Any) -> str:
        if producer not in self._names:
            label = getattr(producer, "name", None)
            if label is None:
                label = getattr(getattr(producer, "op", None), "name", "tensor")
            self._names[producer] = self._unique(str(label))
        return self._names[producer]

    def _producer_load(self, node: Any) -> str:
        return self._access(self._producer(node.producer), node.indices)

    def _call(self, node: Any) -> str:
        args = [self.expr(item) for item in node.args]
        if isinstance(node.op, GlobalVar):
            return f"cls.{node.op.name_hint}({', '.join(args)})"
        name = node.op.name if isinstance(node.op, Op) else str(node.op)
        if not name.startswith("tir."):
            return f"T.call_intrin({', '.join([quote(node.dtype), quote(name), *args])})"
        name = name[4:]
        if name in _DTYPE_FIRST:
            args.insert(0, quote(node.dtype))
        elif name in _DTYPE_LAST:
            args.append(quote(node.dtype))
        return f"T.{_ALIASES.get(name, name)}({', '.join(args)})"

    def _reduce(self, node: Any) -> str:
        combiner = self._combiner(node.combiner)
        axes = ", ".join([self._iter_var(item) for item in node.axis])
        return (
            f"T.reduce({combiner}, source=[{self._list(node.source)}], "
            f"init=[{self._list(node.init)}], axis=[{axes}], "
            f"condition={self.expr(node.condition)}, value_index={node.value_index})"
        )

    def _combiner(self, node: Any) -> str:
        left = ", ".join([self.name(item) for item in node.lhs])
        right = ", ".join([self.name(item) for item in node.rhs])
        return (
            f"T.comm_reducer(lambda {left}, {right}: {self._shape(node.result)}, "
            f"[{self._list(node.identity_element)}])"
        )

    def _iter_var(self, node: Any) -> str:
        dom = "None" if node.dom is None else self._range(node.dom)
        kind = _ITER_TYPES[node.iter_type]
        return f"T.iter_var({self.name(node.var)}, {dom}, {quote(kind)}, {quote(node.thread_tag)})"

    def _range(self, node: Range) -> str:
        if type(node.min) is E.IntImm and node.min.value == 0:
            return f"T.Range(0, {self.expr(node.extent)})"
        return f"T.Range({self.expr(node.min)}, {self.expr(node.min + node.extent)})"

    def _region(self, buffer: Any, ranges: Any) -> str:
        parts = []
        for item in ranges:
            if type(item.extent) is E.IntImm and item.extent.value == 1:
                parts.append(self.expr(item.min))
            else:
                parts.append(f"{self.expr(item.min)}:{self.expr(item.min + item.extent)}")
        name = self.name(buffer) if isinstance(buffer, Buffer) else self._producer(buffer)
        return f"{name}[{', '.join(parts) or '()'}]"

    # --- other values ---

    def value(self, item: Any) -> str:
        """Anything that may be an attribute or an annotation."""
        if item is None or isinstance(item, (bool, int)):
            return str(item)
        if isinstance(item, float):
            return number_text(item)
        if isinstance(item, str):
            return quote(item)
        if isinstance(item, (list, tuple)):
            return f"[{', '.join([self.value(part) for part in item])}]"
        if isinstance(item, (dict, DictAttrs)):
            pairs = [f"{self.value(k)}: {self._attribute(v)}" for k, v in item.items()]
            return f"{{{', '.join(pairs)}}}"
        if isinstance(item, PrimExpr) and (type(item) in _EXPR or type(item) in _INFIX):
            return self.expr(item)
        method = _OTHER.get(type(item))
        if method is not None:
            return method(self, item)
        if isinstance(item, Type):
            return self.type(item)
        if isinstance(item, _base.Node) and type(item).__str__ is _base.Node.__str__:
            return self._generic(item)
        return str(item)

    def _attribute(self, item: Any) -> str:
        if isinstance(item, bool):
            return f"T.bool({item})"
        if isinstance(item, float):
            return f"T.float32({number_text(item)})"
        return self.value(item)

    def _generic(self, node: Any) -> str:
        if not node.fields:
            return f"<{node.type_key}>"
        parts = [f"{name}={self.value(getattr(node, name))}" for name, _ in node.fields]
        return f"{node.type_key}({', '.join(parts)})"

    def type(self, item: Any) -> str:
        """A type."""
        if isinstance(item, PrimType):
            return f"T.{item.dtype}"
        if isinstance(item, PointerType):
            inner = item.element_type
            text = quote(inner.dtype) if isinstance(inner, PrimType) else self.type(inner)
            scope = f", {quote(item.storage_scope)}" if item.storage_scope else ""
            return f"T.handle({text}{scope})"
        if isinstance(item, TupleType):
            parts = [self.type(part) for part in item.fields_]
            return f"T.Tuple({', '.join(parts)})" if parts else "None"
        if isinstance(item, FuncType):
            parts = [self.type(part) for part in item.arg_types]
            return f"T.Func([{', '.join(parts)}], {self.type(item.ret_type)})"
        return self._generic(item)

    def _var_type(self, var: Any) -> str:
        if isinstance(var.type_annotation, PointerType):
            return self.type(var.type_annotation)
        return f"T.{var.dtype}"

    def _buffer_options(self, buffer: Buffer, with_dtype: bool) -> list[str]:
        parts = [self._shape(buffer.shape)]
        if with_dtype or buffer.dtype != "float32":
            parts.append(quote(buffer.dtype))
        if buffer.strides:
            steps = [
                quote(item.name) if isinstance(item, E.Var) and item not in self._names
                else self.expr(item)
                for item in buffer.strides
            ]  # fmt: skip
            text = ", ".join(steps)
            parts.append(f"strides=({text},)" if len(steps) == 1 else f"strides=({text})")
        offset = buffer.elem_offset
        zero = type(offset) is E.IntImm and offset.value == 0
        unknown = isinstance(offset, E.Var) and offset not in self._names
        if not zero and not unknown:
            parts.append(f"elem_offset={self.expr(offset)}")
        if buffer.scope() != "global":
            parts.append(f"scope={quote(buffer.scope())}")
        if buffer.data_alignment != 64:
            parts.append(f"align={buffer.data_alignment}")
        if buffer.offset_factor != 1:
            parts.append(f"offset_factor={buffer.offset_factor}")
        if buffer.buffer_type != 1:
            parts.append('buffer_type="auto"')
        if buffer.axis_separators:
            parts.append(f"axis_separators={self.value(list(buffer.axis_separators))}")
        return parts

    def _buffer_text(self, node: Buffer) -> str:
        return self.name(node)

    def _range_text(self, node: Range) -> str:
        return f"I.Range({self.expr(node.min)}, {self.expr(node.min + node.extent)})"

    def _region_text(self, node: Any) -> str:
        return self._region(node.buffer, node.region)

    def _op_text(self, node: Op) -> str:
        return f"Op({node.name})"

    def _global_var(self, node: GlobalVar) -> str:
        return f'I.GlobalVar("{node.name_hint}")'


_EXPR: dict[type, Callable[[Any, Any], str]] = {
    E.Var: ExprPrinter._var,
    E.SizeVar: ExprPrinter._var,
    E.IntImm: ExprPrinter._constant,
    E.FloatImm: ExprPrinter._constant,
    E.StringImm: ExprPrinter._string,
    E.Min: ExprPrinter._function_node,
    E.Max: ExprPrinter._function_node,
    E.Mod: ExprPrinter._function_node,
    E.Div: ExprPrinter._div,
    E.Not: ExprPrinter._not,
    E.Cast: ExprPrinter._cast,
    E.Select: ExprPrinter._select,
    E.Ramp: ExprPrinter._ramp,
    E.Broadcast: ExprPrinter._broadcast,
    E.Shuffle: ExprPrinter._shuffle,
    E.Let: ExprPrinter._let,
    E.BufferLoad: ExprPrinter._load,
    E.ProducerLoad: ExprPrinter._producer_load,
    E.Call: ExprPrinter._call,
    E.Reduce: ExprPrinter._reduce,
    E.Any_: lambda self, node: "T.Any()",
}

_OTHER: dict[type, Callable[[Any, Any], str]] = {
    E.IterVar: ExprPrinter._iter_var,
    E.CommReducer: ExprPrinter._combiner,
    Buffer: ExprPrinter._buffer_text,
    Range: ExprPrinter._range_text,
    S.BufferRegion: ExprPrinter._region_text,
    Op: ExprPrinter._op_text,
    GlobalVar: ExprPrinter._global_var,
}
