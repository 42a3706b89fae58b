"""Text of programs, TVMScript-shaped.

`T.` is the prefix of everything of the language; int32 constants are bare. Names are made unique
by number, and a statement that opens a scope (Allocate, LetStmt, AttrStmt) is indented only where
something follows its scope.
"""

from __future__ import annotations

from ..ir.deep import call_deep
from ..ir.expr import GlobalVar
from ..ir.module import IRModule
from ..ir.op import Op
from ..ir.type import PointerType, TupleType
from . import expr as E
from . import stmt as S
from .buffer import Buffer
from .function import PrimFunc
from .printer_expr import ExprPrinter, const_text, number_text, quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Printer", "const_text", "number_text", "quote", "to_text"]

_LOOPS = ("range", "T.parallel", "T.vectorized", "T.unroll", "T.thread_binding")


class Printer(ExprPrinter):
    """Makes the text of one program; names stay the same throughout."""

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
        loops: list[Any] = []
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
        if last:
            self._line(f"{name} = {call}")
            self._declare_views(node.body, {node.buffer_var})
            self.stmt(node.body)
            return
        self._line(f"with {call} as {name}:")
        self._level += 1
        self._declare_views(node.body, {node.buffer_var})
        self.stmt(node.body)
        self._level -= 1

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
        self._declared |= known
        self._declare_views(func.body, {item.data for item in known} | set(func.params))

    def _declare_views(self, body: Any, pointers: set[Any]) -> None:
        """Declare the buffers that name memory and that no statement in the body declares."""
        for buffer in _buffers_used(body):
            if buffer in self._declared or buffer.data not in pointers:
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
    declared = set()

    def look(node: Any) -> None:
        if type(node) in (E.BufferLoad, S.BufferStore):
            found.setdefault(node.buffer)
        elif type(node) is S.DeclBuffer:
            declared.add(node.buffer)

    post_order_visit(body, look)
    return [buffer for buffer in found if buffer not in declared]


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
