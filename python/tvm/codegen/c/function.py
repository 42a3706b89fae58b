"""Whole functions: a PrimFunc's body, and the bodies of its parallel loops."""

from __future__ import annotations

from ...ir.dtype import info
from .code import ATOM, Code, binary
from .helpers import extreme, from_bits
from .numeric import FLOAT64
from .stmt import Statements
from .unit import Unit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class FunctionWriter(Statements):
    """Writes one C function: a PrimFunc's body, or the body of a parallel loop in it."""

    def __init__(
        self,
        unit: Unit,
        function_name: str,
        slots: dict[Any, int],
        distinct: bool,
        parent: FunctionWriter | None = None,
    ) -> None:
        super().__init__(unit)
        self.function_name = function_name
        self.slots = slots
        self.distinct = distinct
        self.parent = parent
        if parent is not None:
            self.is_parallel = True
            self.nonnegative = parent.nonnegative
        # captured variables: (declaration in the closure, name there, value in the parent)
        self.captures: list[tuple[str, str, str]] = []
        # data pointers whose memory no other pointer reaches
        self.alone: set[Any] = set()
        # what the data pointers among the parameters point to
        self.pointees: dict[Any, str] = {}

    def finish(self, head: str) -> str:
        """The function's text."""
        # parameters in the order of their slots, whatever was used first
        self.entry.sort(key=_slot)
        body = self.body()
        return "\n".join([head + " {", *body, "}", ""])

    def resolve(self, node: Any) -> None:
        """Bring in a parameter, or a variable of the enclosing function."""
        if self.parent is not None:
            self._capture(node)
            return
        slot = self.slots.get(node)
        if slot is None:
            super().resolve(node)
            return
        found = info(node.dtype)
        name = self.name(node.name)
        cell = f"slots[{slot}]"
        types = self.dialect.types
        if found.kind == "handle":
            scalar = self.pointees.get(node, "void")
            word = f"{self.dialect.restrict} " if self.distinct and scalar != "void" else ""
            if word:
                self.alone.add(node)
            self.entry.append(f"  {scalar}* {word}const {name} = ({scalar}*)(uintptr_t){cell};")
            self.values[node] = Code(name)
            self.pointers[node] = scalar
        elif found.is_bool:
            self.entry.append(f"  const bool {name} = {cell} != 0;")
            self.values[node] = Code(name)
        elif found.is_int:
            self.entry.append(f"  const {types['int64']} {name} = ({types['int64']}){cell};")
            self.positions[node] = Code(name)
        else:
            real = Code(f"{from_bits(self.unit, FLOAT64)}({cell})")
            value = self.convert(real, "float64", node.dtype)
            self.entry.append(f"  const {self.type_name(node.dtype)} {name} = {value};")
            self.values[node] = Code(name)

    def _capture(self, node: Any) -> None:
        parent = self.parent
        assert parent is not None
        if node not in parent.values and node not in parent.positions:
            parent.resolve(node)
        place = parent.positions.get(node)
        if place is not None:
            if place.number is not None:
                self.positions[node] = place
                return
            kind = self.dialect.types["int64"]
            self.positions[node] = self._field(node.name, kind, place.text)
            return
        value = parent.values[node]
        if node in parent.arrays:
            kind = f"const {self.type_name(node.dtype)}*"
            self.arrays.add(node)
        elif info(node.dtype).kind == "handle":
            scalar = parent.pointers.get(node, "void")
            self.pointers[node] = scalar
            kind = f"{scalar}*"
            if node in parent.alone:
                self.alone.add(node)
        else:
            kind = self.type_name(node.dtype)
        self.values[node] = self._field(node.name, kind, value.text, node in self.alone)

    def _field(self, hint: str, kind: str, value: str, alone: bool = False) -> Code:
        """A member of the closure, as a variable here."""
        name = self.name(hint)
        self.captures.append((kind, name, value))
        word = f"{self.dialect.restrict} " if alone and self.dialect.restrict else ""
        const = f"{kind} {word}const" if kind.endswith("*") else f"const {kind}"
        self.entry.append(f"  {const} {name} = closure->{name};")
        return Code(name)

    def parallel(self, node: Any) -> None:
        """Move a loop into a function of its own, which the runtime calls once a task."""
        name = self.unit.unique(f"{_word(self.function_name)}_parallel")
        inner = FunctionWriter(self.unit, self.function_name, {}, False, self)
        int64 = self.dialect.types["int64"]
        least = extreme(self.unit, "min", info("int64"))
        extent, begin = inner.index(node.extent), inner.index(node.min)
        total = extent
        if extent.level != ATOM:
            total = Code(inner.let("total", int64, extent))
        first = inner.name("first")
        last = inner.name("last")
        chunk = inner.name("chunk")
        inner.line(f"const {int64} {chunk} = ({total} + env->num_task - 1) / env->num_task;")
        inner.line(f"const {int64} {first} = {least}(task_id * {chunk}, {total});")
        inner.line(f"const {int64} {last} = {least}({first} + {chunk}, {total});")
        count = binary("-", Code(last), Code(first))
        start = Code(first) if begin.number == 0 else binary("+", begin, Code(first))
        if begin.number == 0:
            variable = inner.name(node.loop_var.name)
            inner.open(f"for ({int64} {variable} = {first}; {variable} < {last}; ++{variable})")
            inner.positions[node.loop_var] = Code(variable)
            inner.stmt(node.body)
            inner.close()
        else:
            inner.loop(node.loop_var, start, count, node.body)
        inner.line("return 0;")
        closure = self._closure(name, inner)
        env = self.unit.record("tvm_env")
        self.unit.functions.append(
            inner.finish(
                f"{self.dialect.private}int {name}(int task_id, {env}* env, void* closure_pointer)"
            )
        )
        launch = self.unit.slot("__TVMBackendParallelLaunch")
        self.fail_unless_zero(f"{launch}({name}, {closure}, 0)")

    def _closure(self, name: str, inner: FunctionWriter) -> str:
        """The record of what a parallel body takes along; how its caller passes it."""
        if not inner.captures:
            inner.entry.insert(0, "  (void)closure_pointer;")
            return "NULL"
        record = f"{name}_closure"
        members = "\n".join(f"  {kind} {member};" for kind, member, _ in inner.captures)
        self.unit.functions.append(f"typedef struct {{\n{members}\n}} {record};\n")
        pointer = f"const {record}*"
        inner.entry.insert(0, f"  {pointer} const closure = ({pointer})closure_pointer;")
        variable = self.name("closure_of_task")
        self.line(f"{record} {variable};")
        for _, member, value in inner.captures:
            self.line(f"{variable}.{member} = {value};")
        return f"&{variable}"


def _slot(line: str) -> int:
    """Which slot a declaration reads; those that read none stay where they are, before."""
    _, found, rest = line.partition("slots[")
    return int(rest.partition("]")[0]) if found else -1


def _word(name: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name) or "f"


def write_function(unit: Unit, func: Any, name: str, symbol: str, table: Any) -> None:
    """Add the body `int32_t symbol(const uint64_t* slots)` of a PrimFunc to the file.

    Parameters
    ----------
    unit : Unit
        The file.
    func : PrimFunc
        The lowered function.
    name : str
        Its name, for messages.
    symbol : str
        Name of the body.
    table : ArgTable
        Where the body finds its scalars, data pointers and sizes.
    """
    slots = {variable: slot for slot, variable in enumerate(table.slots)}
    # arguments that may be one array must not be promised to be apart
    distinct = bool(func.attrs.get("tir.noalias", True)) and not any(
        item.alias_ok for item in table.args
    )
    writer = FunctionWriter(unit, name, slots, distinct)
    for item in table.args:
        if item.buffer is not None:
            scalar = info(item.buffer.dtype).scalar
            writer.pointees[item.buffer.data] = unit.dialect.memory(scalar)
    writer.stmt(func.body)
    writer.line("return 0;")
    if not any("slots[" in line for line in writer.entry):
        writer.entry.append("  (void)slots;")
    unit.functions.append(writer.finish(f"TVM_BODY int32_t {symbol}(const uint64_t* slots)"))
