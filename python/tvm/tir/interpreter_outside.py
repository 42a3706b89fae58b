"""The interpreter's way out: calls by name, cells on the stack, parts of buffers."""

from __future__ import annotations

from .. import error
from ..ir import dtype as _dtype
from ..ir.type import PointerType, PrimType
from . import expr as E
from . import numeric
from .memory import Storage, element
from .op import is_op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .interpreter_expr import ExprMachine


def _element_of(node: Any) -> str:
    """The type of what a pointer expression points to; bytes where nobody says."""
    if is_op(node, "address_of"):
        return str(_dtype.info(node.args[0].buffer.dtype).scalar)
    if is_op(node, "tvm_access_ptr"):
        return str(_dtype.info(node.args[0].dtype).scalar)
    annotation = getattr(node, "type_annotation", None)
    if isinstance(annotation, PointerType) and isinstance(annotation.element_type, PrimType):
        return str(_dtype.info(annotation.element_type.dtype).scalar)
    return "uint8"


def _argument(machine: ExprMachine, node: Any) -> Callable[[], Any]:
    """An argument of a foreign function; a pointer becomes a flat array of what follows it."""
    value = machine.expr(node)
    if node.dtype != "handle" or isinstance(node, E.StringImm):
        return value
    kind = element(_element_of(node)).view

    def give() -> Any:
        made = value()
        return made.view(kind) if isinstance(made, Storage) else made

    return give


def call_extern(machine: ExprMachine, node: Any) -> Callable[[], Any]:
    """A C function; a global function of the same name stands for it."""
    name = node.args[0].value
    args = [_argument(machine, item) for item in node.args[1:]]
    found = _dtype.info(node.dtype)

    def call() -> Any:
        from .._ffi.registry import get_global_func

        function = get_global_func(name, allow_missing=True)
        if function is None:
            raise error.NotImplementedError_(
                f"the interpreter has no function {name!r}: register one with "
                f'tvm.register_func("{name}")'
            )
        result = function(*[arg() for arg in args])
        if found.is_float:
            return numeric.round_float(float(result), found.text)
        if found.is_int:
            return numeric.wrap(int(result or 0), found)
        return result

    return call


class Cells:
    """Structures on the stack: values by (index, field)."""

    __slots__ = ("kind", "values")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.values: dict[tuple[int, int], Any] = {}


def stack_alloca(machine: ExprMachine, node: Any) -> Callable[[], Any]:
    """Structures on the stack."""
    kind = node.args[0].value
    return lambda: Cells(kind)


def struct_set(machine: ExprMachine, node: Any) -> Callable[[], Any]:
    """Write a field."""
    where, index, field, value = (machine.expr(item) for item in node.args)

    def write() -> int:
        _cells(where()).values[index(), field()] = value()
        return 0

    return write


def struct_get(machine: ExprMachine, node: Any) -> Callable[[], Any]:
    """Read a field that was written before."""
    where, index, field = (machine.expr(item) for item in node.args)

    def read() -> Any:
        cells, key = _cells(where()), (index(), field())
        if key not in cells.values:
            raise error.ValueError_(
                f"field {key[1]} of {cells.kind}[{key[0]}] on the stack was never written"
            )
        return cells.values[key]

    return read


def _cells(value: Any) -> Cells:
    if not isinstance(value, Cells):
        raise error.NotImplementedError_(
            "the interpreter knows the fields of structures on the stack only (tvm_stack_alloca)"
        )
    return value


def match_buffer(machine: ExprMachine, item: Any) -> Callable[[], None]:
    """A buffer that names a box of another: where it begins, and how far apart its elements are."""
    source, target = item.source.buffer, item.buffer
    position = machine._position(source, [part.min for part in item.source.region])
    extents = [machine.expr(part.extent) for part in item.source.region]
    shape = [machine.expr(size) for size in source.shape]
    steps = [machine.expr(step) for step in source.strides]
    data = machine._var(source.data)
    bits = element(_dtype.info(source.dtype).scalar).bits * _dtype.info(source.dtype).lanes
    env = machine.env

    def bind(what: Any, value: int) -> None:
        if isinstance(what, E.Var) and what not in env:
            env[what] = value
        elif machine.expr(what)() != value:
            raise error.ValueError_(
                f"{target.name}: {what} of the matched region is {value}, not "
                f"{machine.expr(what)()}"
            )

    def run() -> None:
        sizes = [size() for size in shape]
        apart = [step() for step in steps]
        if not apart:
            apart = [1] * len(sizes)
            for axis in reversed(range(len(sizes) - 1)):
                apart[axis] = apart[axis + 1] * sizes[axis + 1]
        storage = data()
        start = storage.base + position() * bits // 8
        env[target.data] = Storage(storage.raw, target.name, start)
        # Dimensions of one value at the front need not be there.
        skipped = len(apart) - len(target.shape)
        lengths = [extent() for extent in extents][skipped:]
        for what in (*target.shape, *target.strides, target.elem_offset):
            if isinstance(what, E.Var):
                env.pop(what, None)
        for what, value in zip(target.shape, lengths):
            bind(what, value)
        bind(target.elem_offset, 0)
        for what, value in zip(target.strides, apart[skipped:]):
            bind(what, value)
        if not target.strides:
            step = 1
            for length, value in zip(reversed(lengths), reversed(apart[skipped:])):
                if length > 1 and value != step:
                    raise error.ValueError_(
                        f"{target.name}: the matched region of {source.name} is not compact; "
                        "give the buffer strides"
                    )
                step *= length

    return run


OUTSIDE: dict[str, Any] = {
    "call_extern": call_extern,
    "call_pure_extern": call_extern,
    "tvm_stack_alloca": stack_alloca,
    "tvm_struct_set": struct_set,
    "tvm_struct_get": struct_get,
}
