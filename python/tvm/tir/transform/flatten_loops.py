"""Flatten loops: a nest that runs over memory in order becomes one loop.

    for i in range(m):                         ->    for f in range(m * n):
        for j in range(n):                               B[f] = A[f] + 1.0
            B[i * n + j] = A[i * n + j] + 1.0

A row that is no multiple of a vector, or shorter than one, then costs nothing. This is done when
the nest holds one store, and every access either moves on by one element with each turn or does not
move at all.
"""

from __future__ import annotations

from tvm.ir.structural import structural_equal
from tvm.tir import expr as E
from tvm.tir import stmt as S
from tvm.tir.expr import IntImm, Var
from tvm.tir.operators import multiply
from tvm.tir.stmt import ForKind
from tvm.tir.stmt_functor import StmtExprMutator, substitute, uses_var

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST = (1 << 31) - 1


class _Moving(Exception):
    """Raised at an access that does not go through memory in order."""


def _factor(index: Any, var: Any) -> Any:
    """What one step of a variable adds to an index: a number, an expression, or None if unclear."""
    kind = type(index)
    if index is var:
        return 1
    if not uses_var(index, var):
        return 0
    if kind is E.Add:
        a, b = _factor(index.a, var), _factor(index.b, var)
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        return a if b == 0 else b if a == 0 else None
    if kind is E.Mul:
        for part, other in ((index.a, index.b), (index.b, index.a)):
            if uses_var(other, var):
                continue
            inner = _factor(part, var)
            if inner == 1:
                return int(other.value) if type(other) is IntImm else other
            if isinstance(inner, int) and type(other) is IntImm:
                return inner * int(other.value)
    if kind is E.Cast and not index.kinds & E.DATA:
        # a wider type for a large array
        return _factor(index.value, var)
    return None


def _same(factor: Any, extent: Any) -> bool:
    if isinstance(factor, int):
        return type(extent) is IntImm and factor == extent.value
    while type(factor) is E.Cast:
        factor = factor.value
    return factor is not None and bool(structural_equal(factor, extent))


class _Flat(StmtExprMutator):
    """The body with the flat loop's variable in place of the two."""

    def __init__(self, outer: Any, inner: Any, var: Any) -> None:
        self.outer = outer
        self.inner = inner
        self.var = var

    def _indices(self, indices: Any) -> Any:
        if len(indices) != 1:
            raise _Moving
        index, i, j = indices[0], self.outer.loop_var, self.inner.loop_var
        step, jump = _factor(index, j), _factor(index, i)
        if step == 0 and jump == 0:
            return indices
        if step != 1 or not _same(jump, self.inner.extent):
            raise _Moving
        return (substitute(index, {i: IntImm(i.dtype, 0), j: self.var}),)

    def visit_var_(self, op: Any) -> Any:
        if op is self.outer.loop_var or op is self.inner.loop_var:
            raise _Moving
        return op

    def visit_buffer_load_(self, op: Any) -> Any:
        return E.BufferLoad(op.buffer, self._indices(op.indices))

    def visit_buffer_store_(self, op: Any) -> Any:
        return S.BufferStore(op.buffer, self.visit(op.value), self._indices(op.indices))


def flatten_loops(op: Any) -> Any:
    """The loop with the loop directly in it made one, and so on inwards; or itself.

    Parameters
    ----------
    op : For
        A loop from 0.
    """
    inner = op.body
    if type(inner) is not S.For:
        return op
    inner = flatten_loops(inner)
    if not (_is_plain(op) and _is_plain(inner)) or inner.kind is not ForKind.SERIAL:
        return op
    if type(inner.body) is not S.BufferStore or op.loop_var.dtype != inner.loop_var.dtype:
        return op
    if uses_var(inner.extent, op.loop_var):
        return op
    extent = multiply(op.extent, inner.extent)
    if type(extent) is IntImm and extent.value > _MOST:
        return op
    var = Var(f"{op.loop_var.name}_{inner.loop_var.name}", op.loop_var.dtype)
    try:
        body = _Flat(op, inner, var).visit(inner.body)
    except _Moving:
        return op
    return S.For(var, op.min, extent, op.kind, body)


def _is_plain(op: Any) -> bool:
    start = op.min
    plain = op.kind in (ForKind.SERIAL, ForKind.PARALLEL) and not op.annotations
    return plain and type(start) is IntImm and start.value == 0
