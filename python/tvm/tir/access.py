"""How a function uses the memory of its buffers: what is read, written, and element by element."""

from __future__ import annotations

from ..ir.structural import exactly_equal
from . import expr as E
from . import stmt as S
from .function import PrimFunc
from .op import is_op
from .stmt_functor import StmtExprVisitor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Access:
    """How one piece of memory is used.

    `elementwise_with(other)` is whether this memory, which is written, may be the same as another
    that is read: every element is written once, by one store, and read nowhere but in the value of
    that very store.
    """

    __slots__ = ("loads", "read", "stores", "unknown", "written")

    def __init__(self) -> None:
        self.read = False
        self.written = False
        # A pointer to it went somewhere; anything may happen.
        self.unknown = False
        # (load, the store in whose value it is, or None)
        self.loads: list[tuple[Any, Any]] = []
        # (store, the loops around it)
        self.stores: list[tuple[Any, tuple[Any, ...]]] = []

    def elementwise_with(self, other: Access) -> bool:
        """Whether `other` may be the very same memory as this."""
        if self.unknown or other.unknown or other.written or len(self.stores) != 1 or self.read:
            return False
        store, loops = self.stores[0]
        for load, inside in other.loads:
            if inside is not store or not _same_indices(load.indices, store.indices):
                return False
        return not other.loads or _each_once(store.indices, loops)


def _same_indices(a: Any, b: Any) -> bool:
    return len(a) == len(b) and all(exactly_equal(x, y) for x, y in zip(a, b))


class _Collector(StmtExprVisitor):
    def __init__(self) -> None:
        self.found: dict[Any, Access] = {}
        self._store: Any = None
        self._loops: tuple[Any, ...] = ()

    def _of(self, data: Any) -> Access:
        access = self.found.get(data)
        if access is None:
            access = self.found[data] = Access()
        return access

    def visit_for_(self, op: Any) -> None:
        outer = self._loops
        self._loops = (*outer, op)
        super().visit_for_(op)
        self._loops = outer

    def visit_while_(self, op: Any) -> None:
        outer = self._loops
        self._loops = (*outer, op)
        super().visit_while_(op)
        self._loops = outer

    def visit_buffer_store_(self, op: Any) -> None:
        access = self._of(op.buffer.data)
        access.written = True
        access.stores.append((op, self._loops))
        outer = self._store
        self._store = op
        self.visit(op.value)
        self._store = None
        for index in op.indices:
            self.visit(index)
        self._store = outer

    def visit_buffer_load_(self, op: Any) -> None:
        access = self._of(op.buffer.data)
        access.read = True
        access.loads.append((op, self._store))
        outer = self._store
        self._store = None
        super().visit_buffer_load_(op)
        self._store = outer

    def visit_call_(self, op: Any) -> None:
        if is_op(op, "address_of"):
            load = op.args[0]
            access = self._of(load.buffer.data)
            access.unknown = access.read = access.written = True
            for index in load.indices:
                self.visit(index)
        elif is_op(op, "tvm_access_ptr") and isinstance(op.args[1], E.Var):
            access = self._of(op.args[1])
            mask = op.args[4].value if isinstance(op.args[4], E.IntImm) else 3
            access.unknown = True
            access.read |= bool(mask & 1)
            access.written |= bool(mask & 2)
            self.visit(op.args[2])
            self.visit(op.args[3])
        else:
            super().visit_call_(op)

    def visit_var_(self, op: Any) -> None:
        if op.dtype == "handle":
            access = self._of(op)
            access.unknown = access.read = access.written = True

    def visit_prefetch_(self, op: Any) -> None:
        self._of(op.buffer.data).read = True

    def visit_buffer_realize_(self, op: Any) -> None:
        super().visit_buffer_realize_(op)


def function_access(func: PrimFunc | S.Stmt) -> dict[Any, Access]:
    """The use of memory by data pointer, in a function or a statement."""
    collector = _Collector()
    collector(func)
    return collector.found


# --- is every element written once? ---------------------------------------------------------------


def _terms(index: Any, sign: int, found: list[tuple[Any, int, Any]]) -> bool:
    """Split a sum into (variable, constant factor, other factor or None)."""
    kind = type(index)
    if kind is E.Add or kind is E.Sub:
        second = -sign if kind is E.Sub else sign
        return _terms(index.a, sign, found) and _terms(index.b, second, found)
    if kind is E.IntImm:
        return True
    if isinstance(index, E.Var):
        found.append((index, sign, None))
        return True
    if kind is E.Cast:
        return _terms(index.value, sign, found)
    if kind is E.Mul:
        for part, factor in ((index.a, index.b), (index.b, index.a)):
            if isinstance(factor, E.IntImm):
                inner: list[tuple[Any, int, Any]] = []
                if not _terms(part, sign, inner):
                    return False
                found += [(var, scale * factor.value, other) for var, scale, other in inner]
                return True
        for part, factor in ((index.a, index.b), (index.b, index.a)):
            if isinstance(part, E.Var):
                found.append((part, sign, factor))
                return True
        return False
    return False


def _each_once(indices: Any, loops: tuple[Any, ...]) -> bool:
    """Whether a store in these loops never writes an element twice."""
    extents = {}
    for loop in loops:
        if not isinstance(loop, S.For):
            return False
        extents[loop.loop_var] = loop.extent
    seen: set[Any] = set()
    for index in indices:
        inner = 1
        if type(index) is E.Ramp:
            if not isinstance(index.stride, E.IntImm) or index.stride.value != 1:
                return False
            inner = index.lanes
            index = index.base
        found: list[tuple[Any, int, Any]] = []
        if not _terms(index, 1, found):
            return False
        used = [item for item in found if item[0] in extents]
        if len({item[0] for item in used}) != len(used) or any(item[0] in seen for item in used):
            return False
        seen.update(item[0] for item in used)
        if not _nested(used, extents, inner):
            return False
    return all(
        var in seen or (isinstance(extent, E.IntImm) and extent.value <= 1)
        for var, extent in extents.items()
    )


def _nested(terms: list[tuple[Any, int, Any]], extents: dict[Any, Any], inner: int) -> bool:
    """Whether each variable steps over all that the finer ones reach."""
    constant = sorted((item for item in terms if item[2] is None), key=lambda item: abs(item[1]))
    reach = inner - 1
    open_end: Any = None
    for var, factor, _ in constant:
        if abs(factor) <= reach or open_end is not None:
            return False
        extent = extents[var]
        if isinstance(extent, E.IntImm):
            reach += abs(factor) * (extent.value - 1)
        else:
            # An extent that is not known must be the last, unless a symbolic stride covers it.
            open_end = (extent, abs(factor))
    symbolic = [item for item in terms if item[2] is not None]
    if not symbolic:
        return True
    if len(symbolic) > 1 or abs(symbolic[0][1]) != 1:
        return False
    stride = symbolic[0][2]
    return open_end is not None and open_end[1] == 1 and bool(exactly_equal(stride, open_end[0]))
