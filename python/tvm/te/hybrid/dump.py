"""The loops of a schedule as a hybrid script."""

from __future__ import annotations

from tvm import tir
from tvm.error import NotImplementedError_
from tvm.ir.module import IRModule
from tvm.tir import Buffer, ForKind, IntImm, Var
from tvm.tir.transform import Simplify

from ..schedule import Schedule, ScheduleOps
from ..tensor import Tensor
from ..to_prim_func import declare_buffer, to_prim_func

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_RANGES = {
    ForKind.SERIAL: "range",
    ForKind.PARALLEL: "parallel",
    ForKind.VECTORIZED: "vectorize",
    ForKind.UNROLLED: "unroll",
}
_OPERATORS: dict[type, str] = {
    tir.Add: "+", tir.Sub: "-", tir.Mul: "*", tir.FloorDiv: "//", tir.FloorMod: "%", tir.Div: "/",
    tir.EQ: "==", tir.NE: "!=", tir.LT: "<", tir.LE: "<=", tir.GT: ">", tir.GE: ">=",
    tir.And: "and", tir.Or: "or",
}  # fmt: skip


def to_script(sch: Schedule, inputs: list[Any], outputs: list[Tensor], name: str) -> str:
    """The text of a function that computes ``outputs`` from ``inputs``."""
    from ..bounds import infer_bound

    normal = sch.normalize()
    body = ScheduleOps(normal, infer_bound(normal), True)
    latest = [normal.stage_map[t.op].op.output(t.value_index) for t in outputs]
    buffers = {t: declare_buffer(t) for t in [*inputs, *latest] if isinstance(t, Tensor)}
    func = to_prim_func([*inputs, *latest], body, buffers)
    func = Simplify()(IRModule({"main": func}))["main"]
    return _Writer(name).function(inputs, latest, buffers, func.body)


class _Writer:
    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: list[str] = []
        self.depth = 1
        self.names: dict[Any, str] = {}
        self.taken: set[str] = set()
        # where realised buffers begin
        self.lows: dict[Buffer, list[Any]] = {}

    def function(
        self, inputs: list[Any], outputs: list[Tensor], buffers: dict[Tensor, Buffer], body: Any
    ) -> str:
        """The whole text."""
        params = []
        for item in inputs:
            if isinstance(item, Tensor):
                params.append(self._name(buffers[item], item.name))
                for axis, extent in enumerate(item.shape):
                    if isinstance(extent, Var) and extent not in self.names:
                        self.names[extent] = f"{params[-1]}.shape[{axis}]"
            else:
                params.append(self._name(item, item.name))
        head = f"def {self.name}({', '.join(params)}):"
        made = []
        for tensor in outputs:
            buffer = buffers[tensor]
            if buffer in self.names:
                made.append(self.names[buffer])
                continue
            made.append(self._name(buffer, tensor.name))
            self._line(f"{made[-1]} = output_tensor({self._shape(buffer)}, '{buffer.dtype}')")
        self._stmt(body)
        self._line(f"return {', '.join(made)}")
        return "\n".join([head, *self.lines, ""])

    def _name(self, key: Any, hint: str) -> str:
        base = "".join([c if c.isalnum() or c == "_" else "_" for c in hint]) or "v"
        name, count = base, 0
        while name in self.taken:
            count += 1
            name = f"{base}_{count}"
        self.taken.add(name)
        self.names[key] = name
        return name

    def _line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def _shape(self, buffer: Buffer, extents: Any = None) -> str:
        items = [self._expr(extent) for extent in (extents or buffer.shape)]
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"

    # ---- statements
    def _block(self, stmt: Any) -> None:
        self.depth += 1
        before = len(self.lines)
        self._stmt(stmt)
        if len(self.lines) == before:
            self._line("pass")
        self.depth -= 1

    def _stmt(self, stmt: Any) -> None:
        if isinstance(stmt, tir.SeqStmt):
            for item in stmt.seq:
                self._stmt(item)
        elif isinstance(stmt, tir.For):
            kind = _RANGES.get(stmt.kind)
            if kind is None:
                raise NotImplementedError_(f"hybrid.build: no script for a loop of {stmt.kind}")
            low = "" if _is_zero(stmt.min) else f"{self._expr(stmt.min)}, "
            high = stmt.extent if _is_zero(stmt.min) else stmt.min + stmt.extent
            bounds = low + self._expr(high)
            self._line(f"for {self._name(stmt.loop_var, stmt.loop_var.name)} in {kind}({bounds}):")
            self._block(stmt.body)
        elif isinstance(stmt, tir.IfThenElse):
            self._line(f"if {self._expr(stmt.condition)}:")
            self._block(stmt.then_case)
            if stmt.else_case is not None:
                self._line("else:")
                self._block(stmt.else_case)
        elif isinstance(stmt, tir.BufferStore):
            target = self._element(stmt.buffer, stmt.indices)
            self._line(f"{target} = {self._expr(stmt.value)}")
        elif isinstance(stmt, tir.BufferRealize):
            self.lows[stmt.buffer] = [r.min for r in stmt.bounds]
            name = self._name(stmt.buffer, stmt.buffer.name)
            shape = self._shape(stmt.buffer, [r.extent for r in stmt.bounds])
            kind = f"'{stmt.buffer.dtype}', '{stmt.buffer.scope()}'"
            self._line(f"{name} = allocate({shape}, {kind})")
            self._stmt(stmt.body)
        elif isinstance(stmt, tir.LetStmt):
            value = self._expr(stmt.value)
            self._line(f"{self._name(stmt.var, stmt.var.name)} = {value}")
            self._stmt(stmt.body)
        elif isinstance(stmt, tir.AttrStmt):
            self._stmt(stmt.body)
        elif isinstance(stmt, tir.Evaluate) and not isinstance(stmt.value, tir.Call):
            return
        else:
            raise NotImplementedError_(
                f"hybrid.build: no script for a statement of type {type(stmt).__name__}"
            )

    def _element(self, buffer: Buffer, indices: Any) -> str:
        lows = self.lows.get(buffer)
        if lows is not None:
            indices = [i if _is_zero(low) else i - low for i, low in zip(indices, lows)]
        text = ", ".join([self._expr(index) for index in indices]) or "()"
        return f"{self.names[buffer]}[{text}]"

    # ---- expressions
    def _expr(self, node: Any) -> str:
        operator = _OPERATORS.get(type(node))
        if operator is not None:
            return f"({self._expr(node.a)} {operator} {self._expr(node.b)})"
        if isinstance(node, IntImm):
            if node.dtype == "bool":
                return str(bool(node.value))
            return str(node.value) if node.dtype == "int32" else f"{node.dtype}({node.value})"
        if isinstance(node, tir.FloatImm):
            text = repr(node.value)
            if text.lstrip("-") in ("inf", "nan"):
                text = f"float('{text}')"
            return f"{node.dtype}({text})"
        if isinstance(node, Var):
            found = self.names.get(node)
            if found is None:
                raise NotImplementedError_(f"hybrid.build: variable {node.name} is no parameter")
            return found
        if isinstance(node, tir.BufferLoad):
            return self._element(node.buffer, node.indices)
        if isinstance(node, tir.Cast):
            return f"{node.dtype}({self._expr(node.value)})"
        if isinstance(node, (tir.Max, tir.Min)):
            name = type(node).__name__.lower()
            return f"{name}({self._expr(node.a)}, {self._expr(node.b)})"
        if isinstance(node, tir.Not):
            return f"(not {self._expr(node.a)})"
        if isinstance(node, tir.Select):
            parts = (node.true_value, node.condition, node.false_value)
            yes, cond, no = [self._expr(part) for part in parts]
            return f"({yes} if {cond} else {no})"
        if isinstance(node, tir.Call):
            return self._call(node)
        raise NotImplementedError_(f"hybrid.build: no script for {node}")

    def _call(self, node: Any) -> str:
        name = getattr(node.op, "name", "").removeprefix("tir.")
        args = [self._expr(arg) for arg in node.args]
        if name == "if_then_else":
            return f"({args[1]} if {args[0]} else {args[2]})"
        if name in ("shift_left", "shift_right", "bitwise_and", "bitwise_or", "bitwise_xor"):
            operator = dict(zip(("left", "right", "and", "or", "xor"), ("<<", ">>", "&", "|", "^")))
            return f"({args[0]} {operator[name.split('_')[1]]} {args[1]})"
        from .values import FUNCTIONS

        name = {"pow": "power", "fabs": "abs"}.get(name, name)
        if name not in FUNCTIONS and name != "abs":
            raise NotImplementedError_(f"hybrid.build: no script for a call of {name}")
        return f"{name}({', '.join(args)})"


def _is_zero(value: Any) -> bool:
    return isinstance(value, IntImm) and value.value == 0
