"""Instrument bound checkers: every access that is not provably inside is tested when it runs.

    B[i] = A[i + k]      ->     assert 0 <= i + k and i + k < n, "main: A[i + k]: index i + k of
                                                    dimension 0 is out of bounds, extent n"
                                B[i] = A[i + k]

A read under ``if_then_else``, ``Select`` or a short-circuit operator is tested under its condition.
"""

from __future__ import annotations

from tvm import tir
from tvm.arith.index_algebra import Algebra, add
from tvm.ir.dtype import info
from tvm.tir import Buffer, IntImm, PrimFunc
from tvm.tir.stmt_functor import StmtExprMutator, StmtExprVisitor, substitute

from .function_pass import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ACCESS = (tir.BufferLoad.KIND | tir.BufferStore.KIND) & ~1
_LOAD = tir.BufferLoad.KIND & ~1


class _Check:
    """One access under the conditions on the way to it."""

    __slots__ = ("access", "conds", "what")

    def __init__(self, access: Any, conds: tuple[Any, ...], what: str) -> None:
        self.access = access
        self.conds = conds
        self.what = what


class _Accesses(StmtExprVisitor):
    """The accesses of an expression in the order in which they happen."""

    def __init__(self) -> None:
        self.found: list[_Check] = []
        self.conds: tuple[Any, ...] = ()
        self.values: dict[Any, Any] = {}

    def _plain(self, expr: Any) -> Any:
        return substitute(expr, self.values) if self.values else expr

    def _under(self, cond: Any, expr: Any) -> None:
        if not expr.kinds & _LOAD:
            return
        before, self.conds = self.conds, (*self.conds, self._plain(cond))
        self.visit(expr)
        self.conds = before

    def _choice(self, cond: Any, yes: Any, no: Any) -> None:
        self.visit(cond)
        if info(cond.dtype).lanes > 1:
            self.visit(yes)
            self.visit(no)
            return
        self._under(cond, yes)
        self._under(tir.Not(cond), no)

    def visit_select_(self, op: Any) -> None:
        self._choice(op.condition, op.true_value, op.false_value)

    def visit_call_(self, op: Any) -> None:
        name = getattr(op.op, "name", "")
        if name == "tir.if_then_else":
            self._choice(*op.args)
        elif name == "tir.address_of":
            for index in op.args[0].indices:
                self.visit(index)
        else:
            super().visit_call_(op)

    def visit_and_(self, op: Any) -> None:
        self.visit(op.a)
        self._under(op.a, op.b)

    def visit_or_(self, op: Any) -> None:
        self.visit(op.a)
        self._under(tir.Not(op.a), op.b)

    def visit_let_(self, op: Any) -> None:
        self.visit(op.value)
        self.values[op.var] = self._plain(op.value)
        self.visit(op.body)

    def visit_buffer_load_(self, op: Any) -> None:
        super().visit_buffer_load_(op)
        self.found.append(_Check(self._plain(op), self.conds, "read"))


class _Instrument(StmtExprMutator):
    def __init__(self, name: str) -> None:
        self.name = name
        self.algebra = Algebra()
        # buffers that live in this function: what part of them exists
        self.regions: dict[Buffer, Any] = {}

    # ---- statements
    def visit_for_(self, op: Any) -> Any:
        self.algebra.bind(op.loop_var, op.min, op.extent)
        made = super().visit_for_(op)
        return self._guard(made, (op.min, op.extent))

    def visit_buffer_realize_(self, op: Any) -> Any:
        self.regions[op.buffer] = op.bounds
        return super().visit_buffer_realize_(op)

    def visit_buffer_store_(self, op: Any) -> Any:
        visitor = _Accesses()
        for index in op.indices:
            visitor.visit(index)
        visitor.visit(op.value)
        checks = [*visitor.found, _Check(op, (), "store")]
        return self._checked(op, checks)

    def visit_evaluate_(self, op: Any) -> Any:
        return self._guard(op, (op.value,))

    def visit_let_stmt_(self, op: Any) -> Any:
        return self._guard(super().visit_let_stmt_(op), (op.value,))

    def visit_if_then_else_(self, op: Any) -> Any:
        return self._guard(super().visit_if_then_else_(op), (op.condition,))

    def visit_while_(self, op: Any) -> Any:
        # the condition is evaluated again and again: once before, and after each turn
        op = super().visit_while_(op)
        again = self._guard(tir.Evaluate(0), (op.condition,))
        if type(again) is tir.Evaluate:
            return op
        loop = tir.While(op.condition, tir.SeqStmt([op.body, again]))
        return self._guard(loop, (op.condition,))

    def visit_allocate_(self, op: Any) -> Any:
        return self._guard(super().visit_allocate_(op), op.extents)

    # ---- checks
    def _guard(self, stmt: Any, exprs: Any) -> Any:
        if not any(expr.kinds & _LOAD for expr in exprs):
            return stmt
        visitor = _Accesses()
        for expr in exprs:
            visitor.visit(expr)
        return self._checked(stmt, visitor.found)

    def _checked(self, stmt: Any, checks: list[_Check]) -> Any:
        asserts: list[tuple[Any, Any]] = []
        for check in checks:
            self._check(check, asserts)
        for cond, message in reversed(asserts):
            stmt = tir.AssertStmt(cond, message, stmt)
        return stmt

    def _check(self, check: _Check, asserts: list[tuple[Any, Any]]) -> None:
        access = check.access
        buffer = access.buffer
        bounds = self.regions.get(buffer)
        for axis, index in enumerate(access.indices):
            if bounds is not None:
                low, extent = bounds[axis].min, bounds[axis].extent
            else:
                low, extent = IntImm(index.dtype, 0), buffer.shape[axis]
            for cond in self._inside(index, low, extent):
                for outer in reversed(check.conds):
                    cond = tir.Or(tir.Not(outer), cond)
                if any(cond is other for other, _ in asserts):
                    continue
                where = ", ".join(map(str, access.indices))
                message = (
                    f"IndexError: {self.name}: {check.what} of {buffer.name}[{where}]: index "
                    f"{index} of dimension {axis} is out of bounds, extent {extent}"
                )
                asserts.append((cond, tir.StringImm(message)))

    def _inside(self, index: Any, low: Any, extent: Any) -> list[Any]:
        if type(index) is tir.Ramp:
            last = index.base + index.stride * (index.lanes - 1)
            return self._inside(index.base, low, extent) + self._inside(last, low, extent)
        if info(index.dtype).lanes > 1:
            return []
        algebra = self.algebra
        distance = add(algebra.poly(index), algebra.poly(low), -1)
        conds: list[Any] = []
        is_index = algebra.is_index(distance)
        if not (is_index and algebra.nonnegative(distance)):
            conds.append(tir.GE(*_same_type(index, low)))
        room = add(algebra.poly(extent), distance, -1)
        if not (is_index and algebra.is_index(room) and algebra.positive(room)):
            conds.append(tir.LT(*_same_type(index, low + extent)))
        return conds


def _same_type(a: Any, b: Any) -> tuple[Any, Any]:
    if a.dtype == b.dtype:
        return a, b
    return tir.cast(a, "int64"), tir.cast(b, "int64")


def instrument_bound_checkers(func: PrimFunc) -> PrimFunc:
    """Test each access that is not provably inside of its buffer."""
    if not func.body.kinds & _ACCESS:
        return func
    rewriter = _Instrument(str(func.attrs.get("global_symbol", "main")))
    rewriter.algebra.bind_sizes(func.buffer_map.values())
    return func.with_body(rewriter(func.body))


InstrumentBoundCheckers = named("InstrumentBoundCheckers", instrument_bound_checkers)
