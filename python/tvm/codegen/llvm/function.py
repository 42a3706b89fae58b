"""Whole functions: a PrimFunc's body, and the bodies of its parallel loops."""

from __future__ import annotations

from ...ir.dtype import info
from .memory import Pointers, Position
from .stmt import Statements
from .types import register_type
from .unit import Unit, quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class FunctionWriter(Statements):
    """Writes one LLVM function: a PrimFunc's body, or the body of a parallel loop in it."""

    def __init__(
        self,
        unit: Unit,
        function_name: str,
        pointers: Pointers,
        parent: FunctionWriter | None = None,
    ) -> None:
        super().__init__(unit, function_name, pointers)
        self.parent = parent
        if parent is not None:
            self.is_parallel = True
            self.first_parameter = "%env"
            self.nonnegative = parent.nonnegative
            self.allocated = parent.allocated
        # captured variables: (type, operand in the parent, offset in the closure)
        self.captures: list[tuple[str, str, int]] = []
        self.closure_bytes = 0

    def finish(self, name: str, parameters: str, linkage: str = "") -> str:
        """The function's text."""
        if self._never:
            self.start("never")
            self.do("ret i32 -1")
        body = "\n".join(self.lines)
        entry = "\n".join([*self.entry, "  br label %start"])
        # LLVM's passes gain nothing on short vector loops, and cost more than all the rest
        plain = self.straight and self.machine.has_fast_selection and self.unit.has_vectors
        return (
            f"define {linkage}i32 @{quote(name)}({parameters}) #{int(plain)} {{\n"
            f"entry:\n{entry}\nstart:\n{body}\n}}\n"
        )

    def load_slot(self, variable: Any, slot: int) -> None:
        """Define a parameter from the slot array."""
        address = (
            self.at_entry(f"getelementptr inbounds i64, ptr %slots, i64 {slot}")
            if slot
            else "%slots"
        )
        note = f", align 8, !invariant.load {self.unit.empty_metadata()}"
        found = info(variable.dtype)
        if found.kind == "handle":
            self.values[variable] = self.at_entry(f"load ptr, ptr {address}{note}", "arg")
        elif found.is_int:
            value = self.at_entry(f"load i64, ptr {address}{note}", "arg")
            if found.is_bool:
                self.values[variable] = self.at_entry(f"icmp ne i64 {value}, 0")
            else:
                self.positions[variable] = (value, 0)
        else:
            value = self.at_entry(f"load double, ptr {address}{note}", "arg")
            self.values[variable] = self.cast(value, "float64", variable.dtype)

    def resolve(self, node: Any) -> None:
        """Bring a variable of the enclosing function into this parallel body."""
        parent = self.parent
        if parent is None:
            super().resolve(node)
            return
        if node not in parent.values and node not in parent.positions:
            parent.resolve(node)
        place = parent.positions.get(node)
        if place is not None:
            if not place[0]:
                self.positions[node] = place
                return
            self.positions[node] = (self._capture("i64", parent.whole(place), 8), 0)
            return
        operand = parent.values[node]
        if not operand.startswith("%"):
            self.values[node] = operand
            return
        found = info(node.dtype)
        kind = register_type(node.dtype)
        size = 8 if found.lanes == 1 else max(8, (found.bits * found.lanes + 7) // 8)
        self.values[node] = self._capture(kind, operand, size)

    def _capture(self, kind: str, operand: str, size: int) -> str:
        align = 8 if size <= 8 else 64
        offset = -(-self.closure_bytes // align) * align
        self.closure_bytes = offset + size
        self.captures.append((kind, operand, offset))
        address = self.at_entry(f"getelementptr inbounds i8, ptr %closure, i64 {offset}")
        return self.at_entry(f"load {kind}, ptr {address}, align 8", "cap")

    def parallel(self, node: Any, begin: Position, extent: Position) -> None:
        """Move a loop into a function of its own, which the runtime calls once a task."""
        name = self.unit.unique("__tvm_parallel_lambda")
        inner = FunctionWriter(self.unit, self.function_name, self.pointers, self)
        place = inner.at_entry(
            f"getelementptr inbounds i8, ptr %env, i64 {self.machine.pointer_bits // 8}"
        )
        tasks32 = inner.at_entry(f"load i32, ptr {place}, align 4", "tasks")
        tasks = inner.at_entry(f"sext i32 {tasks32} to i64")
        task = inner.at_entry("sext i32 %task to i64")
        size = _Known("extent")
        first = _Known("begin")
        # the bounds travel like any captured variable
        self.positions[size], self.positions[first] = extent, begin
        total = inner.whole(inner.position_of(size))
        sum_ = inner.pure(f"add nsw i64 {total}, {tasks}")
        sum_ = inner.pure(f"sub nsw i64 {sum_}, 1")
        chunk = inner.pure(f"sdiv i64 {sum_}, {tasks}")
        low = inner.extreme("min", inner.pure(f"mul nsw i64 {task}, {chunk}"), total, "int64")
        high = inner.extreme("min", inner.pure(f"add nsw i64 {low}, {chunk}"), total, "int64")
        count = inner.pure(f"sub nsw i64 {high}, {low}")
        start = inner.position_of(first)
        if start[0]:
            low = inner.pure(f"add nsw i64 {low}, {start[0]}")
        inner.loop(node, (low, start[1]), (count, 0))
        inner.do("ret i32 0")
        self.unit.functions.append(
            inner.finish(
                name,
                "i32 %task, ptr noalias readonly %env, ptr noalias readonly %closure",
                "internal ",
            )
        )
        closure = "null"
        if inner.captures:
            closure = self.at_entry(f"alloca [{inner.closure_bytes} x i8], align 64", "closure")
            for kind, operand, offset in inner.captures:
                address = self.pure(f"getelementptr inbounds i8, ptr {closure}, i64 {offset}")
                self.do(f"store {kind} {operand}, ptr {address}, align 8")
        code = self.call_slot(
            "__TVMBackendParallelLaunch", "i32", f"ptr @{quote(name)}, ptr {closure}, i32 0"
        )
        self.fail_unless_zero(code)

    def position_of(self, variable: Any) -> Position:
        """The position that a variable stands for."""
        if variable not in self.positions:
            self.resolve(variable)
        return self.positions[variable]


class _Known:
    """A key for a value that travels into a parallel body but is no variable of the program."""

    dtype = "int64"

    def __init__(self, name: str) -> None:
        self.name = name


def write_function(unit: Unit, func: Any, name: str, symbol: str, slots: dict[Any, int]) -> None:
    """Add the body `int32 symbol(const uint64_t* slots)` of a PrimFunc to the module.

    Parameters
    ----------
    unit : Unit
        The module.
    func : PrimFunc
        The lowered function.
    name : str
        Its name, for messages.
    symbol : str
        Name of the body.
    slots : dict of Var to int
        Where the body finds its scalars, data pointers and sizes.
    """
    pointers = Pointers(unit)
    writer = FunctionWriter(unit, name, pointers)
    handles = [item for item in slots if item.dtype == "handle"]
    if bool(func.attrs.get("tir.noalias", True)):
        pointers.set_distinct(handles)
    for variable, slot in slots.items():
        writer.load_slot(variable, slot)
    writer.stmt(func.body)
    writer.do("ret i32 0")
    count = max(slots.values(), default=-1) + 1
    unit.functions.append(
        writer.finish(symbol, f"ptr noalias readonly align 8 dereferenceable({8 * count}) %slots")
        if count
        else writer.finish(symbol, "ptr %slots")
    )
