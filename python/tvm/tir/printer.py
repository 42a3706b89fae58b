"""Text of programs, TVMScript-shaped.

`T.` is the prefix of everything of the language; int32 constants are bare. Names are made unique
by number, and a statement that opens a scope (Allocate, LetStmt, AttrStmt) is indented only where
something follows its scope.
"""

from __future__ import annotations

from ..ir import base as _base
from ..ir import dtype as _dtype
from ..ir.attrs import DictAttrs
from ..ir.deep import call_deep
from ..ir.expr import GlobalVar, PrimExpr, Range
from ..ir.module import IRModule
from ..ir.op import Op
from ..ir.type import FuncType, PointerType, PrimType, TupleType, Type
from . import expr as E
from . import stmt as S
from .buffer import Buffer
from .function import PrimFunc

TYPE_CHECKING = False
if TYPE_CHECKING:
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

_LOOPS = ("range", "T.parallel", "T.vectorized", "T.unroll", "T.thread_binding")

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


class Printer:
    """Makes the text of one program; names stay the same throughout."""

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
        return method(self, node)  # type: ignore[no-any-return]

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
            return method(self, item)  # type: ignore[no-any-return]
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

    # --- statements ---

    def stmt(self, node: Any, last: bool = True) -> None:
        """A statement; `last` where nothing follows it at this level."""
        _STMT[type(node)](self, node, last)

    def _block(self, node: Any) -> None:
        self._level += 1
        before = len(self._lines)
        self.stmt(node)
        if len(self._lines) == before:
            self._line("pass")
        self._level -= 1

    def _scope(self, node: Any, last: bool, plain: str, opened: str) -> None:
        """`plain` and the body after it, or `with opened:` and the body inside."""
        if last:
            self._line(plain)
            self.stmt(node.body)
        else:
            self._line(f"with {opened}:")
            self._block(node.body)

    def _seq(self, node: Any, last: bool) -> None:
        for index, item in enumerate(node.seq):
            self.stmt(item, last and index == len(node.seq) - 1)

    def _store(self, node: Any, last: bool) -> None:
        value = self.expr(node.value)
        self._line(f"{self._access(self.name(node.buffer), node.indices)} = {value}")

    def _producer_store(self, node: Any, last: bool) -> None:
        target = self._access(self._producer(node.producer), node.indices)
        self._line(f"{target} = {self.expr(node.value)}")

    def _evaluate(self, node: Any, last: bool) -> None:
        text = self.expr(node.value)
        op = getattr(node.value, "op", None)
        plain = (
            isinstance(op, Op)
            and op.has_attr("TCallEffectKind")
            and (op.get_attr("TCallEffectKind") >= E.CallEffect.UpdateState)
        )
        self._line(text if plain or isinstance(op, GlobalVar) else f"T.evaluate({text})")

    def _grid(self, node: Any) -> list[Any]:
        """The nest of plain loops that starts here, when it can be written in one line."""
        loops = []
        while (
            type(node) is S.For
            and node.kind is S.ForKind.SERIAL
            and not node.annotations
            and node.thread_binding is None
            and type(node.min) is E.IntImm
            and node.min.value == 0
            and not any(_uses(node.extent, loop.loop_var) for loop in loops)
        ):
            loops.append(node)
            node = node.body
        return loops

    def _for(self, node: Any, last: bool) -> None:
        loops = self._grid(node)
        if len(loops) > 1:
            extents = self._list([item.extent for item in loops])
            names = ", ".join([self.name(item.loop_var) for item in loops])
            self._line(f"for {names} in T.grid({extents}):")
            self._block(loops[-1].body)
            return
        options = []
        if type(node.min) is E.IntImm and node.min.value == 0:
            bounds = self.expr(node.extent)
        else:
            bounds = f"{self.expr(node.min)}, {self.expr(node.min + node.extent)}"
        head = _LOOPS[node.kind.value]
        if node.kind is S.ForKind.THREAD_BINDING and node.thread_binding is not None:
            options.append(f"thread={quote(node.thread_binding.thread_tag)}")
        if node.annotations:
            options.append(f"annotations={self.value(node.annotations)}")
            if head == "range":
                head = "T.serial"
        text = ", ".join([bounds, *options])
        self._line(f"for {self.name(node.loop_var)} in {head}({text}):")
        self._block(node.body)

    def _while(self, node: Any, last: bool) -> None:
        self._line(f"while {self.expr(node.condition)}:")
        self._block(node.body)

    def _if(self, node: Any, last: bool) -> None:
        self._line(f"if {self.expr(node.condition)}:")
        self._block(node.then_case)
        if node.else_case is not None:
            self._line("else:")
            self._block(node.else_case)

    def _assert(self, node: Any, last: bool) -> None:
        self._line(f"assert {self.expr(node.condition)}, {self.expr(node.message)}")
        self.stmt(node.body, last)

    def _let_stmt(self, node: Any, last: bool) -> None:
        value = self.expr(node.value)
        name = self.name(node.var)
        self._scope(
            node,
            last,
            f"{name}: {self._var_type(node.var)} = {value}",
            f"T.LetStmt({value}) as {name}",
        )

    def _allocate(self, node: Any, last: bool) -> None:
        scope = node.buffer_var.type_annotation
        where = scope.storage_scope if isinstance(scope, PointerType) else ""
        parts = [f"[{self._list(node.extents)}]", quote(node.dtype), quote(where or "global")]
        if not (type(node.condition) is E.IntImm and node.condition.value):
            parts.append(f"condition={self.expr(node.condition)}")
        if node.annotations:
            parts.append(f"annotations={self.value(node.annotations)}")
        call = f"T.allocate({', '.join(parts)})"
        name = self.name(node.buffer_var)
        self._scope(node, last, f"{name} = {call}", f"{call} as {name}")

    def _allocate_const(self, node: Any, last: bool) -> None:
        data = node.data
        shown = str(data.numpy().reshape(-1).tolist()) if hasattr(data, "numpy") else str(data)
        call = f"T.allocate_const({shown}, {quote(node.dtype)}, [{self._list(node.extents)}])"
        name = self.name(node.buffer_var)
        self._scope(node, last, f"{name} = {call}", f"{call} as {name}")

    def _decl_buffer(self, node: Any, last: bool) -> None:
        options = self._buffer_options(node.buffer, False)
        if node.buffer.data in self._names or node.buffer.data in self._pointers:
            options.append(f"data={self.name(node.buffer.data)}")
        call = f"T.decl_buffer({', '.join(options)})"
        name = self._define_buffer(node.buffer)
        self._scope(node, last, f"{name} = {call}", f"{call} as {name}")

    def _attr(self, node: Any, last: bool) -> None:
        key = node.attr_key
        is_thread = key in ("thread_extent", "virtual_thread") and isinstance(node.node, E.IterVar)
        if is_thread and node.node.var not in self._names:
            tag = node.node.thread_tag or "vthread"
            self._names[node.node.var] = self._unique(node.node.var.name)
            call = f"T.launch_thread({quote(tag)}, {self.expr(node.value)})"
            name = self.name(node.node.var)
            self._scope(node, last, f"{name} = {call}", f"{call} as {name}")
            return
        about = self._attr_node(node.node)
        call = f"T.attr({about}, {quote(key)}, {self.expr(node.value)})"
        self._scope(node, last, call, call)

    def _attr_node(self, item: Any) -> str:
        if isinstance(item, Buffer):
            return self.name(item)
        if isinstance(item, E.IterVar):
            return self._iter_var(item)
        if isinstance(item, E.DataProducer):
            return self._producer(item)
        return self.value(item)

    def _buffer_realize(self, node: Any, last: bool) -> None:
        parts = [self._region(node.buffer, node.bounds)]
        parts.append(quote(node.buffer.scope()))
        if not (type(node.condition) is E.IntImm and node.condition.value):
            parts.append(self.expr(node.condition))
        call = f"T.realize({', '.join(parts)})"
        self._scope(node, last, call, call)

    def _producer_realize(self, node: Any, last: bool) -> None:
        parts = [self._region(node.producer, node.bounds), quote(node.storage_scope)]
        if not (type(node.condition) is E.IntImm and node.condition.value):
            parts.append(self.expr(node.condition))
        call = f"T.producer_realize({', '.join(parts)})"
        self._scope(node, last, call, call)

    def _prefetch(self, node: Any, last: bool) -> None:
        self._line(f"T.prefetch({self._region(node.buffer, node.bounds)})")

    def _block_stmt(self, node: Any, last: bool, values: Any = None, predicate: Any = None) -> None:
        self._line(f"with T.block({quote(node.name_hint)}):")
        self._level += 1
        for index, item in enumerate(node.iter_vars):
            kind = {2: "reduce", 3: "scan", 5: "opaque"}.get(item.iter_type, "spatial")
            given = "" if values is None else f", {self.expr(values[index])}"
            extent = self.expr(item.dom.extent)
            self._line(f"{self.name(item.var)} = T.axis.{kind}({extent}{given})")
        if predicate is not None and not (type(predicate) is E.IntImm and predicate.value):
            self._line(f"T.where({self.expr(predicate)})")
        for buffer in node.alloc_buffers:
            options = ", ".join(self._buffer_options(buffer, False))
            self._line(f"{self._define_buffer(buffer)} = T.alloc_buffer({options})")
        for label, regions in (("reads", node.reads), ("writes", node.writes)):
            text = ", ".join([self._region(item.buffer, item.region) for item in regions])
            self._line(f"T.{label}({text})")
        for item in node.match_buffers:
            source = self._region(item.source.buffer, item.source.region)
            options = ", ".join([source, *self._buffer_options(item.buffer, False)])
            self._line(f"{self._define_buffer(item.buffer)} = T.match_buffer({options})")
        if node.annotations:
            self._line(f"T.block_attr({self.value(node.annotations)})")
        if node.init is not None:
            self._line("with T.init():")
            self._block(node.init)
        self.stmt(node.body)
        self._level -= 1

    def _block_realize(self, node: Any, last: bool) -> None:
        self._block_stmt(node.block, last, node.iter_values, node.predicate)

    # --- functions and modules ---

    def function(self, func: PrimFunc, name: str | None = None) -> None:
        """A function; `name` is what its module calls it."""
        symbol = func.attrs.get("global_symbol")
        private = symbol is None and name is not None
        self._line("@T.prim_func(private=True)" if private else "@T.prim_func")
        signature, matches = self._signature(func)
        result = ""
        if not (isinstance(func.ret_type, TupleType) and not func.ret_type.fields_):
            result = f" -> {self.type(func.ret_type)}"
        called = name if name is not None else str(symbol or "main")
        self._line(f"def {called}({', '.join(signature)}){result}:")
        self._level += 1
        attrs = {
            key: value
            for key, value in func.attrs.items()
            if not (key == "global_symbol" and str(value) == called)
        }
        if attrs:
            self._line(f"T.func_attr({self.value(attrs)})")
        for text in matches:
            self._line(text)
        self._undeclared(func)
        self.stmt(func.body)
        self._level -= 1

    def _signature(self, func: PrimFunc) -> tuple[list[str], list[str]]:
        scalars = {item for item in func.params if item not in func.buffer_map}
        inline = {
            param: buffer
            for param, buffer in func.buffer_map.items()
            if _is_plain_parameter(buffer, scalars) and not _uses(func.body, param)
        }
        signature, matches = [], []
        for param in func.params:
            if param in inline:
                buffer = inline[param]
                name = self._define_buffer(buffer)
                options = ", ".join(self._buffer_options(buffer, True))
                signature.append(f"{name}: T.Buffer({options})")
            elif param in func.buffer_map:
                label = param.name
                if label == func.buffer_map[param].name:
                    label = f"var_{label}"
                self._names[param] = self._unique(label)
                signature.append(f"{self._names[param]}: T.handle")
            else:
                signature.append(f"{self.name(param)}: {self._var_type(param)}")
        for param in func.params:
            if param in func.buffer_map and param not in inline:
                matches += self._match_lines(param, func.buffer_map[param])
        return signature, matches

    def _match_lines(self, param: Any, buffer: Buffer) -> list[str]:
        lines = []
        for item in buffer.shape:
            fresh = [var for var in _variables(item) if var not in self._names]
            lines += [f"{self.name(var)} = T.{var.dtype}()" for var in dict.fromkeys(fresh)]
        options = ", ".join([self._names[param], *self._buffer_options(buffer, False)])
        name = self._define_buffer(buffer)
        for item in (*buffer.strides, buffer.elem_offset):
            if isinstance(item, E.Var) and item not in self._names:
                self._names[item] = self._unique(f"{name}_{item.name}")
        lines.append(f"{name} = T.match_buffer({options})")
        return lines

    def _undeclared(self, func: PrimFunc) -> None:
        """Declare the buffers that name the memory of parameters in another shape."""
        known = set(func.buffer_map.values())
        pointers = {item.data for item in known} | set(func.params)
        for buffer in _buffers_used(func.body):
            if buffer in known or buffer in self._declared or buffer.data not in pointers:
                continue
            options = self._buffer_options(buffer, False)
            options.append(f"data={self.name(buffer.data)}")
            self._line(f"{self._define_buffer(buffer)} = T.Buffer({', '.join(options)})")

    def module(self, mod: IRModule) -> None:
        """A module."""
        self._line("@I.ir_module")
        self._line("class Module:")
        self._level += 1
        if len(mod.attrs):
            self._line(f"I.module_attrs({self.value(dict(mod.attrs.items()))})")
        if not mod.functions:
            self._line("pass")
        for index, var in enumerate(sorted(mod.functions, key=lambda item: item.name_hint)):
            if index:
                self._lines.append("")
            func = mod.functions[var]
            if isinstance(func, PrimFunc):
                part = Printer(False)
                part._level = self._level
                part.function(func, var.name_hint)
                self._lines += part._lines
            else:
                self._line(f"{var.name_hint} = {self.value(func)}")
        self._level -= 1

    def text(self, node: Any) -> str:
        """The text of anything."""
        if isinstance(node, IRModule):
            if self._show_header:
                self._line("# from tvm.script import ir as I")
                self._line("# from tvm.script import tir as T")
                self._lines.append("")
            self.module(node)
        elif isinstance(node, PrimFunc):
            if self._show_header:
                self._line("# from tvm.script import tir as T")
                self._lines.append("")
            self.function(node)
        elif isinstance(node, S.Stmt):
            self.stmt(node)
        else:
            return self.value(node)
        return "\n".join(self._lines)

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


def _is_plain_parameter(buffer: Buffer, scalars: set[Any]) -> bool:
    """Whether a buffer can be written in the signature: everything in it is known there."""
    for item in (*buffer.shape, *buffer.strides, buffer.elem_offset):
        if any(var not in scalars for var in _variables(item)):
            return False
    return True


def _variables(node: Any) -> list[Any]:
    from .stmt_functor import post_order_visit

    found: list[Any] = []
    if isinstance(node, E.Var):
        return [node]
    if node.kinds & (E.Var.KIND | E.SizeVar.KIND):
        post_order_visit(node, lambda item: found.append(item) if isinstance(item, E.Var) else None)
    return found


def _uses(node: Any, var: Any) -> bool:
    from .stmt_functor import uses_var

    return uses_var(node, var)


def _buffers_used(body: Any) -> list[Buffer]:
    from .stmt_functor import post_order_visit

    found: dict[Buffer, None] = {}

    def look(node: Any) -> None:
        if type(node) in (E.BufferLoad, S.BufferStore):
            found.setdefault(node.buffer)

    post_order_visit(body, look)
    return list(found)


_EXPR = {
    E.Var: Printer._var,
    E.SizeVar: Printer._var,
    E.IntImm: Printer._constant,
    E.FloatImm: Printer._constant,
    E.StringImm: Printer._string,
    E.Min: Printer._function_node,
    E.Max: Printer._function_node,
    E.Mod: Printer._function_node,
    E.Div: Printer._div,
    E.Not: Printer._not,
    E.Cast: Printer._cast,
    E.Select: Printer._select,
    E.Ramp: Printer._ramp,
    E.Broadcast: Printer._broadcast,
    E.Shuffle: Printer._shuffle,
    E.Let: Printer._let,
    E.BufferLoad: Printer._load,
    E.ProducerLoad: Printer._producer_load,
    E.Call: Printer._call,
    E.Reduce: Printer._reduce,
    E.Any_: lambda self, node: "T.Any()",
}

_OTHER = {
    E.IterVar: Printer._iter_var,
    E.CommReducer: Printer._combiner,
    Buffer: Printer._buffer_text,
    Range: Printer._range_text,
    S.BufferRegion: Printer._region_text,
    Op: Printer._op_text,
    GlobalVar: Printer._global_var,
}

_STMT = {
    S.SeqStmt: Printer._seq,
    S.BufferStore: Printer._store,
    S.ProducerStore: Printer._producer_store,
    S.Evaluate: Printer._evaluate,
    S.For: Printer._for,
    S.While: Printer._while,
    S.IfThenElse: Printer._if,
    S.AssertStmt: Printer._assert,
    S.LetStmt: Printer._let_stmt,
    S.Allocate: Printer._allocate,
    S.AllocateConst: Printer._allocate_const,
    S.DeclBuffer: Printer._decl_buffer,
    S.AttrStmt: Printer._attr,
    S.BufferRealize: Printer._buffer_realize,
    S.ProducerRealize: Printer._producer_realize,
    S.Prefetch: Printer._prefetch,
    S.Block: Printer._block_stmt,
    S.BlockRealize: Printer._block_realize,
}


def to_text(node: Any) -> str:
    """The text of a node, a function or a module."""
    return call_deep(node.depth, Printer().text, node)  # type: ignore[no-any-return]
