"""Calls of packed functions by name, and functions in the packed form.

The arguments of a call go into two arrays, 64-bit cells and their type tags; a tensor is a
`DLTensor` on the stack. The function's handle is looked up once and kept in the file.
"""

from __future__ import annotations

from ... import error
from ...ir.dtype import info
from ...tir import expr as _expr
from ...tir import stmt as _stmt
from ...tir.transform.packed_parts import VALUE
from . import helpers
from .code import ATOM, EQUAL, UNARY, Code, cast, string_literal
from .names import word_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .stmt import Statements

# tags of the classic calling convention
INT, FLOAT, HANDLE, NULL, DLTENSOR, STRING = 0, 2, 3, 4, 7, 11
_CODES = {"int": 0, "uint": 1, "bool": 1, "float": 2, "handle": 3, "bfloat": 4}
_FP8_CODES = {"e4m3_float8": 6, "e5m2_float8": 7}
_MEMBERS = {
    1: "data", 2: "shape", 3: "strides", 4: "ndim", 5: "code", 6: "bits", 7: "lanes",
    8: "byte_offset", 9: "device_id", 10: "device_type",
}  # fmt: skip


def call_packed(self: Statements, node: Any) -> Code:
    """The result of `tvm_call_packed(name, arguments...)`."""
    head, *args = node.args
    if type(head) is not _expr.StringImm:
        raise error.TypeError_(
            f"target {self.dialect.name}, function {self.function_name}: call_packed needs the "
            f"function's name as its first argument, but got {head}"
        )
    unit = self.unit
    count = len(args)
    handle = unit.function_cache(head.value)
    find, context = unit.slot("__TVMBackendGetFuncFromEnv"), unit.slot("__tvm_module_ctx")
    self.fail_unless_zero(
        f"{handle} == NULL && {find}({context}, {string_literal(head.value)}, &{handle})"
    )
    passed = [_argument(self, item) for item in args]
    cells, tags = self.name("cells"), self.name("tags")
    self.line(f"{unit.record('tvm_value')} {cells}[{count + 1}];")
    row = ", ".join(str(tag) for _, _, tag in passed)
    self.line(f"int {tags}[{count + 1}] = {{{row}{', ' if row else ''}{NULL}}};")
    for place, (member, value, _) in enumerate(passed):
        self.line(f"{cells}[{place}].{member} = {value};")
    result = f"{cells}[{count}]"
    self.line(f"{result}.v_int64 = 0;")
    function = unit.slot("__TVMFuncCall")
    self.fail_unless_zero(
        f"{function}({handle}, {cells}, {tags}, {count}, &{result}, &{tags}[{count}])"
    )
    found = info(node.dtype)
    if found.kind == "void":
        return Code("0", number=0)
    if found.kind == "handle":
        return Code(f"{result}.v_handle")
    if found.is_float:
        return self.convert(Code(f"{result}.v_float64"), "float64", node.dtype)
    return self.convert(Code(f"{result}.v_int64"), "int64", node.dtype)


def _argument(self: Statements, item: Any) -> tuple[str, str, int]:
    """Member of the cell, value and tag of an argument."""
    name = getattr(getattr(item, "op", None), "name", "")
    if name == "tir.tvm_stack_make_array":
        return "v_handle", _tensor(self, item), DLTENSOR
    if type(item) is _expr.StringImm:
        return "v_str", string_literal(item.value), STRING
    found = info(item.dtype)
    if found.lanes > 1:
        raise error.TypeError_(
            f"target {self.dialect.name}, function {self.function_name}: a packed function takes "
            f"no vector, but got {item} of dtype {item.dtype}"
        )
    if found.kind == "handle":
        return "v_handle", str(self.value(item)), HANDLE
    if found.is_float:
        return "v_float64", str(self.convert(self.value(item), item.dtype, "float64")), FLOAT
    return "v_int64", str(self.index(item)), INT


def _tensor(self: Statements, node: Any) -> str:
    """A tensor on the stack, of a call of `tvm_stack_make_array`."""
    data, shape, strides, ndim, element, offset = node.args
    found = info(element.dtype)
    bits = 8 if found.is_bool else found.bits
    code = _FP8_CODES.get(found.scalar, _CODES.get(found.kind, 0))
    place = self.index(offset)
    size = bits * found.lanes
    if place.number is not None:
        start = str(place.number * size // 8)
    else:
        start = f"(uint64_t)({place.at(ATOM)} * {size} / 8)"
    rank = ndim.value if type(ndim) is _expr.IntImm else len(shape.args)
    rows = [_row(self, shape), _row(self, strides)]
    name = self.name("tensor")
    values = f"{self.value(data)}, 1, 0, {rank}, {code}, {found.bits}, {found.lanes}"
    record = self.unit.record("tvm_tensor")
    self.line(f"{record} {name} = {{{values}, {rows[0]}, {rows[1]}, {start}}};")
    return f"&{name}"


def _row(self: Statements, node: Any) -> str:
    """A row of 64-bit integers on the stack, or NULL."""
    name = getattr(getattr(node, "op", None), "name", "")
    if name != "tir.tvm_stack_make_shape" or not node.args:
        return "NULL"
    row = self.name("row")
    values = ", ".join(str(self.index(item)) for item in node.args)
    self.line(f"{self.dialect.types['int64']} {row}[{len(node.args)}] = {{{values}}};")
    return row


# ---- the packed form of a function --------------------------------------------------------------


def struct_get(self: Statements, node: Any) -> Code:
    """A field of a tensor, or a cell of the argument array."""
    handle, index, kind = node.args
    value = self.value(handle)
    if kind.value == VALUE:
        record = self.unit.record("tvm_value")
        member = {"float64": "v_float64", "handle": "v_handle"}.get(node.dtype, "v_int64")
        return Code(f"((const {record}*){value})[{index.value}].{member}")
    record = self.unit.record("tvm_tensor")
    found = Code(f"((const {record}*){value})->{_MEMBERS[kind.value]}")
    return cast("int64_t", found) if kind.value == 8 else found


def is_null(self: Statements, node: Any) -> Code:
    return Code(f"{self.value(node.args[0])} == NULL", EQUAL)


def is_read_only(self: Statements, node: Any) -> Code:
    """Whether an array must not be written, if the runtime can tell."""
    slot = self.unit.slot("__TVMBackendIsReadOnly")
    return Code(f"({slot} != NULL && {slot}({self.value(node.args[0])}))")


PACKED_RULES: dict[str, Any] = {
    "tir.tvm_struct_get": struct_get,
    "tir.isnullptr": is_null,
    "tir.tvm_is_read_only": is_read_only,
}


def write_packed(unit: Any, func: Any, name: str, symbol: str, body: str, table: Any) -> None:
    """Add the classic function of six arguments around a body.

    Parameters
    ----------
    unit : Unit
        The file.
    func : PrimFunc
        What `MakePackedAPI` made.
    name, symbol, body : str
        Name of the function, its name in C and that of the body.
    table : ArgTable
        What the body takes.
    """
    from .function import FunctionWriter

    blob = unit.unique(f"{symbol}_table")
    data = table.to_bytes()
    rows = [", ".join(str(byte) for byte in data[at : at + 20]) for at in range(0, len(data), 20)]
    rows_text = ",\n  ".join(rows)
    unit.globals.append(
        f"/* what {word_of(name)} expects of a call, as the runtime reads it */\n"
        f"static const uint8_t {blob}[{len(data)}] = {{\n  {rows_text}\n}};"
    )
    explain = unit.slot("__TVMBackendExplainCall")
    last_error = unit.slot("__TVMAPISetLastError")
    refuse = unit.helper(
        "tvm_refuse", "int",
        "const char* text, const uint8_t* table, uint64_t size, const void* args, "
        "const int* type_codes, int num_args",
        f"if ({explain} != NULL) return {explain}(table, size, args, type_codes, num_args);\n"
        f"if ({last_error} != NULL) {last_error}(text);\n"
        "return -1;",
    )  # fmt: skip

    class Writer(FunctionWriter):
        def stmt(self, node: Any) -> None:
            kind = type(node)
            if kind is _stmt.AssertStmt:
                self.line(f"if (!({self.value(node.condition)})) {{")
                message = string_literal(node.message.value)
                self.line(f"  return {refuse}({message},")
                self.line(
                    f"                    {blob}, sizeof({blob}), args, type_codes, num_args);"
                )
                self.line("}")
                self.stmt(node.body)
            elif kind is _stmt.AttrStmt and node.attr_key == "compute_scope":
                self.call_body()
            else:
                super().stmt(node)

        def call_body(self) -> None:
            self.line(f"uint64_t slots[{max(len(table.slots), 1)}];")
            for slot, variable in enumerate(table.slots):
                found = info(variable.dtype)
                if found.is_float:
                    bits = helpers.bits_of(self.unit, info("float64"))
                    value = self.convert(self.value(variable), variable.dtype, "float64")
                    self.line(f"slots[{slot}] = {bits}({value});")
                elif found.kind == "handle":
                    self.line(f"slots[{slot}] = (uint64_t)(uintptr_t){self.value(variable)};")
                else:
                    self.line(f"slots[{slot}] = (uint64_t){self.index(variable).at(UNARY)};")
            self.line(f"return {body}(slots);")

    writer = Writer(unit, name, {}, False)
    for param, word in zip(func.params, ("args", "type_codes", "num_args")):
        writer.values[param] = Code(word)
    writer.positions[func.params[2]] = Code("num_args")
    writer.pointers[func.params[1]] = "int32_t"
    for word in ("ret_value", "ret_type_code", "resource"):
        writer.entry.append(f"  (void){word};")
    writer.entry += ["  (void)args;", "  (void)type_codes;"]
    writer.stmt(func.body)
    head = (
        f"int {symbol}(void* args, int* type_codes, int num_args, void* ret_value,\n"
        f"    int* ret_type_code, void* resource)"
    )
    unit.functions.append(writer.finish(head))
