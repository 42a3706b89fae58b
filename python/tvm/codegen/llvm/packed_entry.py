"""The classic function of six arguments around a body, for libraries and object files.

In process the runtime checks a call against the argument table and calls the body; whoever else
loads a library calls this function, which carries the same checks (`MakePackedAPI`).
"""

from __future__ import annotations

from ...ir.dtype import info
from ...tir import stmt as _stmt
from ...tir.transform.packed_parts import VALUE
from .call import RULES
from .function import FunctionWriter
from .memory import Pointers
from .types import memory_type
from .unit import SLOT_TYPES, Unit, quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .expr import Expressions

ENTRY = "__tvm_main__"
# Says to a loader that tensors need no more than the alignment of their elements.
ALIGNMENT_MARK = "__tvm_element_alignment__"

# Slots of our own: a loader that does not know them leaves them null.
SLOT_TYPES.setdefault("__TVMBackendExplainCall", "i32 (ptr, i64, ptr, ptr, i32)")
SLOT_TYPES.setdefault("__TVMBackendIsReadOnly", "i32 (ptr)")

# offsets in a DLTensor, by the numbers that `tvm_struct_get` knows its fields by; with pointers of
# 64 and of 32 bits
_OFFSETS = {
    64: {1: 0, 2: 24, 3: 32, 4: 16, 5: 20, 6: 21, 7: 22, 8: 40, 9: 12, 10: 8},
    32: {1: 0, 2: 20, 3: 24, 4: 12, 5: 16, 6: 17, 7: 18, 8: 32, 9: 8, 10: 4},
}

_REFUSE = """\
define internal i32 @__tvm_refuse(ptr %text, ptr %table, i64 %size, ptr %args, ptr %tags, i32 %n)
    #0 {
  %explain = load ptr, ptr @__TVMBackendExplainCall, align 8
  %silent = icmp eq ptr %explain, null
  br i1 %silent, label %plain, label %whole
whole:
  %code = call i32 %explain(ptr %table, i64 %size, ptr %args, ptr %tags, i32 %n)
  ret i32 %code
plain:
  %set = load ptr, ptr @__TVMAPISetLastError, align 8
  %mute = icmp eq ptr %set, null
  br i1 %mute, label %done, label %say
say:
  call void (ptr) %set(ptr %text)
  br label %done
done:
  ret i32 -1
}
"""


def _struct_get(self: Expressions, node: Any) -> str:
    handle, index, kind = node.args
    offset = (
        8 * index.value if kind.value == VALUE else _OFFSETS[self.machine.pointer_bits][kind.value]
    )
    pointer = self.value(handle)
    if offset:
        pointer = self.pure(f"getelementptr inbounds i8, ptr {pointer}, i64 {offset}")
    size = 8 if node.dtype == "handle" else info(node.dtype).bits // 8
    return self.effect(f"load {memory_type(node.dtype)}, ptr {pointer}, align {size}")


def _is_null(self: Expressions, node: Any) -> str:
    return self.pure(f"icmp eq ptr {self.value(node.args[0])}, null")


def _is_read_only(self: Expressions, node: Any) -> str:
    """Whether an array must not be written, if the runtime can tell."""
    name = "__TVMBackendIsReadOnly"
    pointer = self.value(node.args[0])
    function = self.effect(f"load ptr, ptr {self.unit.slot(name)}, align 8")
    known = self.pure(f"icmp ne ptr {function}, null")
    ask, done = self.new_block("ask"), self.new_block("asked")
    before = self.block
    self.branch(known, ask, done)
    self.start(ask)
    self.push()
    code = self.effect(f"call {SLOT_TYPES[name]} {function}(ptr {pointer})")
    answer = self.pure(f"icmp ne i32 {code}, 0")
    after = self.block
    self.jump(done)
    self.pop()
    self.start(done)
    return self.effect(f"phi i1 [ false, %{before} ], [ {answer}, %{after} ]")


RULES["tir.tvm_struct_get"] = _struct_get
RULES["tir.isnullptr"] = _is_null
RULES["tir.tvm_is_read_only"] = _is_read_only


class PackedWriter(FunctionWriter):
    """Writes what `MakePackedAPI` made; where the body was, it is called."""

    def __init__(self, unit: Unit, name: str, table: Any, body: str, blob: str, size: int) -> None:
        super().__init__(unit, name, Pointers(unit))
        self.first_parameter = "%args"
        self.table = table
        self.body = body
        self.blob = blob
        self.blob_bytes = size

    def stmt(self, node: Any) -> None:
        while type(node) in (_stmt.AssertStmt, _stmt.LetStmt):
            if type(node) is _stmt.AssertStmt:
                self.demand(node)
            else:
                self.bind(node.var, node.value)
            node = node.body
        if type(node) is _stmt.AttrStmt and node.attr_key == "compute_scope":
            self.call_body()
        else:
            super().stmt(node)

    def demand(self, node: Any) -> None:
        test = self.value(node.condition)
        fail, good = self.new_block("refuse"), self.new_block("good")
        self.branch(test, good, fail)
        self.start(fail)
        text = self.unit.string(node.message.value)
        code = self.effect(
            f"call i32 @__tvm_refuse(ptr {text}, ptr {self.blob}, i64 {self.blob_bytes}, "
            "ptr %args, ptr %codes, i32 %n)"
        )
        self.do(f"ret i32 {code}")
        self.start(good)

    def call_body(self) -> None:
        slots = self.table.slots
        row = self.at_entry(f"alloca [{max(len(slots), 1)} x i64], align 8", "slots")
        for slot, variable in enumerate(slots):
            found = info(variable.dtype)
            if found.is_float:
                value = "double " + self.cast(self.value(variable), variable.dtype, "float64")
            elif found.kind == "handle":
                value = "ptr " + self.value(variable)
            else:
                value = "i64 " + self.index(variable)
            place = row
            if slot:
                place = self.pure(f"getelementptr inbounds i64, ptr {row}, i64 {slot}")
            self.do(f"store {value}, ptr {place}, align 8")
        code = self.effect(f"call i32 @{quote(self.body)}(ptr {row})")
        self.do(f"ret i32 {code}")


def add_packed_entries(unit: Unit, functions: list[tuple[Any, str, Any, str]]) -> None:
    """Add the packed form of each function to a module that has the bodies.

    Parameters
    ----------
    unit : Unit
        The module. The bodies become private to it.
    functions : list of (PrimFunc, str, ArgTable, str)
        What `MakePackedAPI` made; the function's name; its table; the body's symbol.
    """
    for name in ("__TVMBackendExplainCall", "__TVMAPISetLastError"):
        unit.slot(name)
    unit.helper("__tvm_refuse", _REFUSE)
    for func, name, table, symbol in functions:
        data = table.to_bytes()
        blob = unit.unique(f".table.{name}")
        text = "".join(f"\\{byte:02X}" for byte in data)
        unit.add_global(f'@{quote(blob)} = private constant [{len(data)} x i8] c"{text}", align 8')
        writer = PackedWriter(unit, name, table, symbol, f"@{quote(blob)}", len(data))
        for param, operand in zip(func.params, ("%args", "%codes", "%n")):
            writer.values[param] = operand
        writer.stmt(func.body)
        head = f"define i32 @{quote(symbol)}("
        unit.functions = [
            item.replace(head, head.replace("define ", "define internal "), 1)
            for item in unit.functions
        ]
        unit.functions.append(
            writer.finish(
                name, "ptr %args, ptr %codes, i32 %n, ptr %result, ptr %result_code, ptr %resource"
            )
        )
    entry = functions[0][1].encode() + b"\0"
    text = "".join(f"\\{byte:02X}" for byte in entry)
    unit.add_global(f'@{ENTRY} = weak constant [{len(entry)} x i8] c"{text}", align 1')
    unit.add_global(f"@{ALIGNMENT_MARK} = weak constant i8 1, align 1")
