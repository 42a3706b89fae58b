"""Calls of packed functions by name, through the runtime's slots.

The arguments go into two arrays on the stack, 64-bit cells and their type tags; a tensor is a
`DLTensor` on the stack. The function's handle is looked up once and kept in the module.
"""

from __future__ import annotations

from ... import error
from ...ir.dtype import info
from ...tir import expr as _expr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .stmt import Statements

# tags of the classic calling convention
INT, FLOAT, HANDLE, DLTENSOR, STRING = 0, 2, 3, 7, 11
_CODES = {"int": 0, "uint": 1, "bool": 1, "float": 2, "handle": 3, "bfloat": 4}
_FP8_CODES = {"e4m3_float8": 6, "e5m2_float8": 7}
_TENSOR_BYTES = 48
# offsets of a DLTensor's data, device, ndim, dtype, shape, strides and byte_offset, by the bits of
# a pointer
_OFFSETS = {64: (0, 8, 16, 20, 24, 32, 40), 32: (0, 4, 12, 16, 20, 24, 32)}


def call_packed(self: Statements, node: Any) -> str:
    """The result of `tvm_call_packed(name, arguments...)`."""
    head, *args = node.args
    if type(head) is not _expr.StringImm:
        raise error.TypeError_(
            f"target llvm, function {self.function_name}: call_packed needs the function's name "
            f"as its first argument, but got {head}"
        )
    count = len(args)
    cells = self.at_entry(f"alloca [{count + 1} x i64], align 8", "cells")
    tags = self.at_entry(f"alloca [{count + 1} x i32], align 4", "tags")
    for place, item in enumerate(args):
        kind, value, tag = _argument(self, item)
        self.do(f"store {kind} {value}, ptr {_at(self, cells, 8 * place)}, align 8")
        self.do(f"store i32 {tag}, ptr {_at(self, tags, 4 * place)}, align 4")
    result, result_tag = _at(self, cells, 8 * count), _at(self, tags, 4 * count)
    self.do(f"store i64 0, ptr {result}, align 8")
    self.do(f"store i32 4, ptr {result_tag}, align 4")
    handle = _function(self, head.value)
    code = self.call_slot(
        "__TVMFuncCall",
        "i32",
        f"ptr {handle}, ptr {cells}, ptr {tags}, i32 {count}, ptr {result}, ptr {result_tag}",
    )
    self.fail_unless_zero(code)
    found = info(node.dtype)
    if found.kind == "void":
        return "0"
    if found.kind == "handle":
        return self.effect(f"load ptr, ptr {result}, align 8")
    if found.is_float:
        value = self.effect(f"load double, ptr {result}, align 8")
        return self.cast(value, "float64", node.dtype)
    return self.cast(self.effect(f"load i64, ptr {result}, align 8"), "int64", node.dtype)


def _at(self: Statements, pointer: str, offset: int) -> str:
    if not offset:
        return pointer
    return self.pure(f"getelementptr inbounds i8, ptr {pointer}, i64 {offset}")


def _function(self: Statements, name: str) -> str:
    """The function's handle: from the module's cache, else looked up and kept."""
    cache = self.unit.function_cache(name)
    known = self.effect(f"load ptr, ptr {cache}, align 8")
    missing = self.pure(f"icmp eq ptr {known}, null")
    find, done = self.new_block("find"), self.new_block("found")
    before = self.block
    self.branch(missing, find, done)
    self.start(find)
    self.push()
    context = self.effect(f"load ptr, ptr {self.unit.slot('__tvm_module_ctx')}, align 8")
    code = self.call_slot(
        "__TVMBackendGetFuncFromEnv",
        "i32",
        f"ptr {context}, ptr {self.unit.string(name)}, ptr {cache}",
    )
    self.fail_unless_zero(code)
    fresh = self.effect(f"load ptr, ptr {cache}, align 8")
    after = self.block
    self.jump(done)
    self.pop()
    self.start(done)
    return self.effect(f"phi ptr [ {known}, %{before} ], [ {fresh}, %{after} ]")


def _argument(self: Statements, item: Any) -> tuple[str, str, int]:
    """LLVM type, value and tag of an argument."""
    name = getattr(getattr(item, "op", None), "name", "")
    if name == "tir.tvm_stack_make_array":
        return "ptr", _tensor(self, item), DLTENSOR
    if type(item) is _expr.StringImm:
        return "ptr", self.unit.string(item.value), STRING
    found = info(item.dtype)
    if found.lanes > 1:
        raise error.TypeError_(
            f"target llvm, function {self.function_name}: a packed function takes no vector, but "
            f"got {item} of dtype {item.dtype}"
        )
    if found.kind == "handle":
        return "ptr", self.value(item), HANDLE
    if found.is_float:
        return "double", self.cast(self.value(item), item.dtype, "float64"), FLOAT
    return "i64", self.index(item), INT


def _tensor(self: Statements, node: Any) -> str:
    """A DLTensor on the stack, of a call of `tvm_stack_make_array`."""
    data, shape, strides, ndim, element, offset = node.args
    found = info(element.dtype)
    pointer = self.at_entry(f"alloca [{_TENSOR_BYTES} x i8], align 8", "tensor")
    bits = 8 if found.is_bool else found.bits
    code = _FP8_CODES.get(found.scalar, _CODES.get(found.kind, 0))
    dtype = code | found.bits << 8 | found.lanes << 16
    base, number = self.position(offset)
    size = bits * found.lanes
    start = str(number * size // 8)
    if base:
        scaled = self.pure(f"mul nsw i64 {self.whole((base, number))}, {size}")
        start = self.pure(f"ashr i64 {scaled}, 3")
    rank = _rank(shape, ndim)
    fields = (
        ("ptr", self.value(data)),
        # device (1, 0): the CPU
        ("i64", "1"),
        ("i32", str(rank)),
        ("i32", str(dtype)),
        ("ptr", _row(self, shape)),
        ("ptr", _row(self, strides)),
        ("i64", start),
    )
    for (kind, value), where in zip(fields, _OFFSETS[self.machine.pointer_bits]):
        self.do(f"store {kind} {value}, ptr {_at(self, pointer, where)}, align 4")
    return pointer


def _rank(shape: Any, ndim: Any) -> int:
    if type(ndim) is _expr.IntImm:
        return int(ndim.value)
    return len(shape.args)


def _row(self: Statements, node: Any) -> str:
    """A row of 64-bit integers on the stack, or null."""
    name = getattr(getattr(node, "op", None), "name", "")
    if name != "tir.tvm_stack_make_shape" or not node.args:
        return "null"
    row = self.at_entry(f"alloca [{len(node.args)} x i64], align 8", "row")
    for place, item in enumerate(node.args):
        value = self.index(item)
        self.do(f"store i64 {value}, ptr {_at(self, row, 8 * place)}, align 8")
    return row
