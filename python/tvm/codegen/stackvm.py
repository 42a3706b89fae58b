"""Target "stackvm": lowered functions run by the interpreter, without any machine code.

Slow, exact and checked: every access outside of a tensor's memory is an error.
"""

from __future__ import annotations

from .. import error
from ..ir import dtype as _dtype
from ..tir.arg_table import FLOAT, HANDLE, TENSOR, ArgTable
from ..tir.function import PrimFunc
from ..tir.interpreter import evaluate, run_body
from ..tir.memory import Storage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..ir.module import IRModule
    from ..runtime.module import Module
    from ..target import Target

# Far beyond any allocation: how far a pointer of unknown length may be read.
_UNKNOWN_LENGTH = 1 << 40


class _Program:
    """One function with its table, called with the slots that a call has filled."""

    def __init__(self, func: PrimFunc, module: IRModule) -> None:
        self.func = func
        self.table = ArgTable.from_prim_func(func)
        self._module = module

    def _memory(self, arg: Any, address: int, values: dict[Any, Any]) -> Storage:
        """The memory of a tensor, as far as its shape and strides reach."""
        found = _dtype.info(arg.dtype)
        shape = [int(evaluate(dim.expr, values)) for dim in arg.shape]
        offset = int(evaluate(arg.offset.expr, values))
        if 0 in shape:
            count = 0
        elif arg.strides is None:
            count = offset + 1
            step = 1
            for size in reversed(shape):
                count += (size - 1) * step
                step *= size
        else:
            steps = [int(evaluate(dim.expr, values)) for dim in arg.strides]
            count = offset + 1 + sum((size - 1) * step for size, step in zip(shape, steps))
        bits = 8 if found.is_bool else found.bits
        return _bytes_at(address, (count * bits * found.lanes + 7) // 8, arg.name)

    def run(self, slots: Any) -> None:
        """Run the body; `slots` are the 64-bit cells of the call."""
        import struct

        values: dict[Any, Any] = {}
        tensors = []
        for arg in self.table.args:
            cell = int(slots[arg.slot])
            if arg.kind == TENSOR:
                tensors.append((arg, cell))
            elif arg.kind == FLOAT:
                values[arg.var] = struct.unpack("<d", struct.pack("<Q", cell))[0]
            elif arg.kind == HANDLE:
                values[arg.var] = _bytes_at(cell, _UNKNOWN_LENGTH, arg.name)
            else:
                values[arg.var] = _dtype.wrap(cell, _dtype.info(arg.dtype))
        pointers = {self.table.slots[arg.slot]: (arg, cell) for arg, cell in tensors}
        for slot, var in enumerate(self.table.slots):
            if var not in values and var not in pointers:
                values[var] = _dtype.wrap(int(slots[slot]), _dtype.info(var.dtype))
        memory = {data: self._memory(arg, cell, values) for data, (arg, cell) in pointers.items()}
        run_body(self.func, {**values, **memory}, self._module)


def _bytes_at(address: int, size: int, name: str) -> Storage:
    import ctypes

    import numpy as np

    if not address or not size:
        return Storage(np.zeros(0, np.uint8), name)
    cells = (ctypes.c_uint8 * size).from_address(address)
    return Storage(np.frombuffer(memoryview(cells), np.uint8), name)


class _Holder:
    """Keeps the programs of a module alive."""

    type_key = "stackvm"

    def __init__(self, text: str) -> None:
        self._text = text
        self.programs: list[_Program] = []
        self.callbacks: list[Any] = []

    def get_source(self, fmt: str = "") -> str:
        """The lowered functions as text."""
        return self._text

    def save(self, path: str, fmt: str = "") -> None:
        """There is nothing that could be saved."""
        raise error.ValueError_(
            "a module of target 'stackvm' cannot be saved or exported; build for 'llvm' or 'c'"
        )


def _entry(program: _Program, set_error: Any, body_type: Any) -> Any:
    def body(slots: Any) -> int:
        try:
            program.run(slots)
        except BaseException as problem:
            set_error(f"{_kind_of(problem)}: {problem}".encode())
            return -1
        return 0

    return body_type(body)


def _kind_of(problem: BaseException) -> str:
    """The name by which the border knows the class of an exception."""
    name = type(problem).__name__.rstrip("_")
    return name if name.endswith("Error") else "InternalError"


def build(mod: IRModule, target: Target) -> Module:
    """A module whose functions the interpreter runs.

    Parameters
    ----------
    mod : IRModule
        Lowered functions.
    target : Target
        The target, of kind "stackvm".
    """
    import ctypes

    from .._ffi import _core
    from ..runtime.module import table_module

    body_type = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(ctypes.c_uint64))
    slots = _core.backend_slots()
    set_error = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(slots["__TVMAPISetLastError"])
    holder = _Holder(str(mod))
    functions = []
    for var, func in mod.functions.items():
        if not isinstance(func, PrimFunc):
            continue
        program = _Program(func.with_attr("global_symbol", var.name_hint), mod)
        callback = _entry(program, set_error, body_type)
        holder.programs.append(program)
        holder.callbacks.append(callback)
        address = ctypes.cast(callback, ctypes.c_void_p).value
        functions.append((var.name_hint, int(address or 0), program.table.to_bytes()))
    entry = functions[0][0] if len(functions) == 1 else None
    return table_module(functions, holder, entry)
