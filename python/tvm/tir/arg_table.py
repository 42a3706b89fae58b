"""The table against which a call of a compiled function is checked.

A function is compiled to ``int32_t body(const uint64_t* slots)``. Its table says what each argument
must be and into which slot a scalar, a data pointer or a size goes. The C++ runtime reads the table
as bytes (`ArgTable.to_bytes`); for exported libraries the same table becomes checks in the IR.

Layout of the bytes: little-endian, no padding, a text is its length as uint16 and UTF-8::

    u32 "TAT1", u16 version, u16 arguments, u32 slots, u32 flags, text name
    argument: u8 kind, u8 flags, u8 code, u8 bits, u16 lanes, u32 slot, text name
    tensor:   i32 device, u32 alignment, u64 may alias, u16 ndim, shape, u8 strided, [strides],
              offset
    size:     u8 0, i64 value | u8 1, u32 slot, text | u8 2, u32 slot, text
              | u8 3, u16 n, n x (u8 opcode, i64 operand), text
              | u8 4, u32 slot, text: as 1, for a variable of type int32 (others do not fit)

The flag 1 says that the function ends within microseconds and waits for nothing.
"""

from __future__ import annotations

import struct

from .. import error
from ..ir import dtype as _dtype
from . import expr as E
from .access import Access, function_access
from .brevity import is_brief
from .buffer import Buffer
from .function import PrimFunc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAGIC = 0x31544154
VERSION = 1

INT, FLOAT, HANDLE, TENSOR = range(4)
WRITTEN, READ, NO_SLOT = 1, 2, 4
BRIEF = 1
CONST, BIND, CHECK, EXPR, BIND32 = range(5)  # BIND32 occurs in the bytes only

_CODES = {"int": 0, "uint": 1, "float": 2, "handle": 3, "bfloat": 4, "e4m3_float": 6,
          "e5m2_float": 7}  # fmt: skip

PUSH_CONST, PUSH_SLOT = 0, 1
_OPCODES = {
    E.Add: 2, E.Sub: 3, E.Mul: 4, E.FloorDiv: 5, E.FloorMod: 6, E.Div: 7, E.Mod: 8, E.Min: 9,
    E.Max: 10,
}  # fmt: skip


class Dim:
    """A size, stride or offset: what the call must give, or the slot that receives it.

    `op` is CONST (equals `value`), BIND (stored into `slot`), CHECK (equals what `slot` holds) or
    EXPR (equals what the stack program `code` computes); `expr` is the expression it stands for.
    """

    __slots__ = ("code", "expr", "op", "slot", "text", "value")

    def __init__(self, op: int, expr: Any, value: int = 0, slot: int = 0) -> None:
        self.op = op
        self.expr = expr
        self.value = value
        self.slot = slot
        self.code: list[tuple[int, int]] = []
        self.text = str(expr)

    def to_bytes(self) -> bytes:
        """This size as bytes."""
        if self.op == CONST:
            return struct.pack("<Bq", CONST, self.value)
        if self.op in (BIND, CHECK):
            op = BIND32 if self.op == BIND and self.expr.dtype == "int32" else self.op
            return struct.pack("<BI", op, self.slot) + _text(self.text)
        parts = [struct.pack("<BH", EXPR, len(self.code))]
        parts += [struct.pack("<Bq", opcode, operand) for opcode, operand in self.code]
        return b"".join(parts) + _text(self.text)


def _text(text: str) -> bytes:
    data = text.encode()[:65535]
    return struct.pack("<H", len(data)) + data


class Argument:
    """One argument: a scalar, a pointer, or a tensor."""

    __slots__ = ("alias_ok", "alignment", "buffer", "device_type", "dtype", "flags", "kind", "name",
                 "offset", "shape", "slot", "strides", "var")  # fmt: skip

    def __init__(self, kind: int, name: str, dtype: str, slot: int, var: Any) -> None:
        self.kind = kind
        self.name = name
        self.dtype = dtype
        self.slot = slot
        # The scalar's variable, or the parameter that stands for the tensor.
        self.var = var
        self.flags = 0
        self.buffer: Buffer | None = None
        self.device_type = 1
        self.alignment = 1
        self.alias_ok = 0
        self.shape: list[Dim] = []
        self.strides: list[Dim] | None = None
        self.offset: Dim | None = None

    @property
    def written(self) -> bool:
        """Whether the function writes to the tensor."""
        return bool(self.flags & WRITTEN)

    @property
    def read(self) -> bool:
        """Whether the function reads the tensor."""
        return bool(self.flags & READ)

    def to_bytes(self) -> bytes:
        """This argument as bytes."""
        found = _dtype.info(self.dtype)
        parts = [
            struct.pack("<BBBBHI", self.kind, self.flags, _CODES[found.base], found.bits,
                        found.lanes, self.slot),
            _text(self.name),
        ]  # fmt: skip
        if self.kind == TENSOR and self.offset is not None:
            head = struct.pack("<iIQH", self.device_type, self.alignment, self.alias_ok,
                               len(self.shape))  # fmt: skip
            parts.append(head)
            parts += [dim.to_bytes() for dim in self.shape]
            parts.append(struct.pack("<B", self.strides is not None))
            parts += [dim.to_bytes() for dim in self.strides or ()]
            parts.append(self.offset.to_bytes())
        return b"".join(parts)


class ArgTable:
    """What a compiled function expects of a call.

    Attributes
    ----------
    name : str
        The function's name, for messages.
    args : list of Argument
        In the order of the parameters.
    slots : list of Var
        What each 64-bit slot holds: a scalar, a buffer's data pointer, or a size.
    brief : bool
        Whether the function surely ends within microseconds (see `tvm.tir.brevity`).
    """

    __slots__ = ("_slot_of", "args", "brief", "name", "slots")

    def __init__(self, name: str) -> None:
        self.name = name
        self.brief = False
        self.args: list[Argument] = []
        self.slots: list[Any] = []
        self._slot_of: dict[Any, int] = {}

    @staticmethod
    def from_prim_func(func: PrimFunc, device_type: int = 1) -> ArgTable:
        """The table of a function, before or after its buffers were flattened.

        Raises
        ------
        ValueError
            When a size uses a variable that no argument gives.
        """
        table = ArgTable(str(func.attrs.get("global_symbol", "main")))
        for param in func.params:
            table._add(param, func.buffer_map.get(param))
        # Scalars bind before sizes, whatever their order.
        for arg in table.args:
            if arg.kind in (INT, FLOAT, HANDLE):
                table._slot_of[arg.var] = arg.slot
        for arg in table.args:
            if arg.buffer is not None:
                arg.device_type = device_type
                table._bind_sizes(arg, arg.buffer)
        table._finish()
        table._mark_accesses(func)
        table.brief = is_brief(func)
        return table

    def slot_of(self, var: Any) -> int | None:
        """The slot of a variable or data pointer; None if it has none."""
        return self._slot_of.get(var)

    def to_bytes(self) -> bytes:
        """The table as the runtime reads it."""
        parts = [
            struct.pack(
                "<IHHII",
                MAGIC,
                VERSION,
                len(self.args),
                len(self.slots),
                BRIEF if self.brief else 0,
            ),  # fmt: skip
            _text(self.name),
        ]
        parts += [arg.to_bytes() for arg in self.args]
        return b"".join(parts)

    def _new_slot(self, var: Any) -> int:
        self.slots.append(var)
        return len(self.slots) - 1

    def _add(self, param: Any, buffer: Buffer | None) -> None:
        if buffer is not None:
            arg = Argument(TENSOR, buffer.name, buffer.dtype, self._new_slot(buffer.data), param)
            arg.buffer = buffer
            self._slot_of[buffer.data] = arg.slot
        else:
            found = _dtype.info(param.dtype)
            kind = HANDLE if found.kind == "handle" else FLOAT if found.is_float else INT
            if found.lanes != 1:
                raise error.ValueError_(
                    f"{self.name}: the parameter {param.name} is a vector ({param.dtype}); "
                    "expected scalars, pointers and tensors"
                )
            arg = Argument(kind, param.name, param.dtype, self._new_slot(param), param)
        self.args.append(arg)

    def _size(self, expr: Any) -> Dim:
        if type(expr) is E.IntImm:
            return Dim(CONST, expr, value=expr.value)
        if isinstance(expr, E.Var):
            slot = self._slot_of.get(expr)
            if slot is not None:
                return Dim(CHECK, expr, slot=slot)
            slot = self._new_slot(expr)
            self._slot_of[expr] = slot
            return Dim(BIND, expr, slot=slot)
        return Dim(EXPR, expr)

    def _bind_sizes(self, arg: Argument, buffer: Buffer) -> None:
        arg.shape = [self._size(item) for item in buffer.shape]
        arg.strides = [self._size(item) for item in buffer.strides] if buffer.strides else None
        arg.offset = self._size(buffer.elem_offset)
        found = _dtype.info(buffer.dtype)
        element = max(1, found.bits * found.lanes // 8)
        declared = buffer.data_alignment
        # 64 is what a buffer says that says nothing.
        arg.alignment = element if declared == 64 else declared
        if element & (element - 1):
            arg.alignment = 1 if declared == 64 else declared

    def _finish(self) -> None:
        """Turn expressions into stack programs, now that every variable has its slot."""
        for arg in self.args:
            for dim in (*arg.shape, *(arg.strides or ()), arg.offset):
                if dim is not None and dim.op == EXPR:
                    self._compile(dim.expr, dim.code, arg)

    def _compile(self, expr: Any, code: list[tuple[int, int]], arg: Argument) -> None:
        if type(expr) is E.IntImm:
            code.append((PUSH_CONST, expr.value))
        elif isinstance(expr, E.Var):
            slot = self._slot_of.get(expr)
            if slot is None:
                raise error.ValueError_(
                    f"{self.name}: the size {expr.name} of {arg.name} is given by no argument: "
                    "make it a parameter, or the whole size of a dimension"
                )
            code.append((PUSH_SLOT, slot))
        elif type(expr) in _OPCODES:
            self._compile(expr.a, code, arg)
            self._compile(expr.b, code, arg)
            code.append((_OPCODES[type(expr)], 0))
        elif type(expr) is E.Cast and _dtype.info(expr.dtype).is_int:
            self._compile(expr.value, code, arg)
        else:
            raise error.ValueError_(
                f"{self.name}: the size {expr} of {arg.name} cannot be checked; expected an "
                "expression of sizes with + - * // % min max"
            )

    def _mark_accesses(self, func: PrimFunc) -> None:
        accesses = function_access(func)
        tensors = [(index, arg) for index, arg in enumerate(self.args) if arg.buffer is not None]
        for _, arg in tensors:
            access = accesses.get(arg.buffer.data)  # type: ignore[union-attr]
            if access is None:
                continue
            arg.flags |= (WRITTEN if access.written else 0) | (READ if access.read else 0)
        stored = func.attrs.get("tir.alias_ok")
        for index, arg in tensors:
            if not arg.written:
                continue
            if stored is not None:
                arg.alias_ok = int(stored[index])
                continue
            for other, target in tensors:
                if other < 64 and other != index and _may_alias(arg, target, accesses):
                    arg.alias_ok |= 1 << other


def _may_alias(arg: Argument, other: Argument, accesses: dict[Any, Access]) -> bool:
    """Whether `other` may be the very memory that `arg`, which is written, is."""
    mine = accesses[arg.buffer.data]  # type: ignore[union-attr]
    others = accesses.get(other.buffer.data)  # type: ignore[union-attr]
    if others is None:
        return True
    return arg.dtype == other.dtype and mine.elementwise_with(others)


def alias_masks(func: PrimFunc) -> list[int]:
    """For each parameter a mask of those that may share its memory; for the "tir.alias_ok"
    attribute.

    Taken before loops are split and unrolled, when it can still be seen that every element is
    written once and read just where it is written.
    """
    plain = func.without_attr("tir.alias_ok") if "tir.alias_ok" in func.attrs else func
    return [arg.alias_ok for arg in ArgTable.from_prim_func(plain).args]
