"""Elements that a loop updates over and over are kept in registers while it runs.

    for k in range(n):                     t = C[i]
        C[i] = C[i] + A[i, k]     ->       for k in range(n): t = t + A[i, k]
                                           C[i] = t

The temporary is a stack slot that LLVM's cheapest pass turns into a register.
"""

from __future__ import annotations

from ...ir.dtype import info
from ...tir import expr as _expr
from ...tir import stmt as _stmt
from ...tir.stmt_functor import StmtExprVisitor, uses_var
from ...tir.transform.vectorize_innermost import ONCE
from .types import register_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .stmt import Statements

# More temporaries than this would not fit into registers.
MOST = 32
# Without conditions: what is stored at all is stored for certain, and may be read before.
_STATEMENTS = (_stmt.For, _stmt.SeqStmt, _stmt.LetStmt, _stmt.BufferStore)
_SERIAL = (_stmt.ForKind.SERIAL, _stmt.ForKind.UNROLLED)


class _Accesses(StmtExprVisitor):
    """The accesses in a loop's body, the variables defined there, and whether all is plain."""

    def __init__(self) -> None:
        self.found: dict[Any, list[Any]] = {}
        self.written: dict[Any, None] = {}
        self.defined: set[Any] = set()
        self.plain = True

    def visit_stmt(self, stmt: Any) -> None:
        if not isinstance(stmt, _STATEMENTS):
            self.plain = False
        if self.plain:
            super().visit_stmt(stmt)

    def visit_for_(self, op: Any) -> None:
        extent = op.extent
        if op.kind not in _SERIAL or type(extent) is not _expr.IntImm or extent.value < 1:
            self.plain = False
        self.defined.add(op.loop_var)
        super().visit_for_(op)

    def visit_let_stmt_(self, op: Any) -> None:
        self.defined.add(op.var)
        super().visit_let_stmt_(op)

    def visit_let_(self, op: Any) -> None:
        self.defined.add(op.var)
        super().visit_let_(op)

    def visit_buffer_store_(self, op: Any) -> None:
        self.written[op.buffer.data] = None
        self.found.setdefault(op.buffer.data, []).append(op)
        super().visit_buffer_store_(op)

    def visit_buffer_load_(self, op: Any) -> None:
        self.found.setdefault(op.buffer.data, []).append(op)
        super().visit_buffer_load_(op)

    def visit_var_(self, op: Any) -> None:
        if op.dtype == "handle":
            self.plain = False

    def visit_call_(self, op: Any) -> None:
        name = getattr(op.op, "name", "")
        # what is called may look at the memory itself
        if not name.startswith("tir.") or name in ONCE:
            self.plain = False
        super().visit_call_(op)


def find_sums(self: Statements, node: Any) -> list[tuple[Any, Any, str]]:
    """(access, index, temporary) of the elements that a loop may keep in registers.

    All accesses of their memory in the loop are to places that do not move with it, and either are
    the same or do not overlap.
    """
    if not _is_innermost_store(node.body):
        return []
    look = _Accesses()
    look.defined.add(node.loop_var)
    look.visit_stmt(node.body)
    if not look.plain:
        return []
    out: list[tuple[Any, Any, str]] = []
    for data in look.written:
        if not (self.pointers.is_distinct(data) or data in self.allocated) or any(
            data is place[0] for place in self.sums
        ):
            continue
        places = _places(self, look.found[data], look.defined)
        if places is None or len(places) + len(out) > MOST:
            continue
        for place, (access, index) in places.items():
            kind = register_type(_dtype(access))
            temporary = self.at_entry(f"alloca {kind}, align 64", "sum")
            self.sums[place] = temporary
            out.append((access, index, temporary))
    if out:
        self.unit.has_temporaries = True
        self.straight = False
    return out


def _is_innermost_store(body: Any) -> bool:
    """Whether the first statement is a store; cheap, and false for nearly all loops over others."""
    while True:
        if isinstance(body, (_stmt.LetStmt, _stmt.For)):
            body = body.body
        elif isinstance(body, _stmt.SeqStmt):
            body = body.seq[0]
        else:
            return isinstance(body, _stmt.BufferStore)


def _dtype(access: Any) -> str:
    return str(access.value.dtype if isinstance(access, _stmt.BufferStore) else access.dtype)


def _places(
    self: Statements, accesses: list[Any], defined: set[Any]
) -> dict[tuple[Any, ...], tuple[Any, Any]] | None:
    """The different places of some accesses, or None if one moves or some may overlap."""
    places: dict[tuple[Any, ...], tuple[Any, Any]] = {}
    for access in accesses:
        index = self.one_index(access.buffer, access.indices)
        if index.kinds & _expr.DATA or uses_var(index, defined.__contains__):
            return None
        bits = info(access.buffer.dtype)
        if bits.lanes > 1 or (bits.is_int and bits.bits < 8 and not bits.is_bool):
            return None
        if info(_dtype(access)).lanes != info(index.dtype).lanes:
            return None
    for access in accesses:
        index = self.one_index(access.buffer, access.indices)
        place = self.sum_place(access.buffer, index)
        if place is None:
            return None
        places.setdefault(place, (access, index))
        if _dtype(places[place][0]) != _dtype(access):
            return None
    stored = {
        self.sum_place(access.buffer, self.one_index(access.buffer, access.indices))
        for access in accesses
        if isinstance(access, _stmt.BufferStore)
    }
    if len(stored) != len(places):
        return None
    spans: dict[str, list[tuple[int, int]]] = {}
    for _, (base, constant), lanes in places:
        spans.setdefault(base, []).append((constant, lanes))
    if len(spans) > 1:
        return None
    row = sorted(next(iter(spans.values())))
    for (first, lanes), (second, _) in zip(row, row[1:]):
        if first + lanes > second:
            return None
    return places


def load_sums(self: Statements, sums: list[tuple[Any, Any, str]]) -> None:
    """Before the loop: bring the elements into their temporaries."""
    held, self.sums = self.sums, {}
    for access, index, temporary in sums:
        value = self.load(_expr.BufferLoad(access.buffer, [index]))
        self.do(f"store {register_type(_dtype(access))} {value}, ptr {temporary}, align 64")
    self.sums = held


def store_sums(self: Statements, sums: list[tuple[Any, Any, str]]) -> None:
    """After the loop: bring them back to memory."""
    ours = {temporary for *_, temporary in sums}
    self.sums = {place: item for place, item in self.sums.items() if item not in ours}
    held, self.sums = self.sums, {}
    for access, index, temporary in sums:
        value = self.effect(f"load {register_type(_dtype(access))}, ptr {temporary}, align 64")
        self.store_value(access.buffer, index, value)
    self.sums = held
