"""Simplify: index expressions in normal form, decided guards gone, constants folded.

    for io in range(4):                     for io in range(4):
        for ii in range(4):                     for ii in range(4):
            if likely(io*4 + ii < 16):   ->         B[io*4 + ii] = A[io*4 + ii]
                B[io*4 + ii + 0] = ...

Index expressions are mathematical integers, so that they may be rearranged. Data expressions wrap:
of those only constants are folded, in their own type.
"""

from __future__ import annotations

from tvm import tir
from tvm.arith.index_algebra import Algebra
from tvm.ir.dtype import info
from tvm.tir import IntImm, PrimFunc, Var
from tvm.tir.stmt_functor import StmtExprMutator

from .function_pass import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_DATA = 1
_LEAVES = tir.Var.KIND | tir.SizeVar.KIND | tir.IntImm.KIND
_FOLD = {
    tir.Add: tir.add,
    tir.Sub: tir.subtract,
    tir.Mul: tir.multiply,
    tir.FloorDiv: tir.floordiv,
    tir.FloorMod: tir.floormod,
    tir.Div: tir.truncdiv,
    tir.Mod: tir.truncmod,
}
# node -> (its negation, operands swapped)
_NEGATED = {
    tir.LT: tir.GE,
    tir.LE: tir.GT,
    tir.GT: tir.LE,
    tir.GE: tir.LT,
    tir.EQ: tir.NE,
    tir.NE: tir.EQ,
}


def negation(cond: Any) -> Any:
    """The negation of a comparison, None for other conditions."""
    kind = type(cond)
    if kind is tir.Call and cond.op.name == "tir.likely":
        return negation(cond.args[0])
    other = _NEGATED.get(kind)
    return None if other is None else other(cond.a, cond.b)


class Simplifier(StmtExprMutator):
    """Simplifies under the ranges of the loops around."""

    def __init__(self) -> None:
        self.algebra = Algebra()

    # ---- expressions
    def _binary(self, op: Any) -> Any:
        if not op.kinds & (_DATA | _VECTOR) and op.dtype in ("int32", "int64"):
            return self._index(op)
        a, b = op.a, op.b
        if a.kinds & self._mask:
            a = self.visit(a)
        if b.kinds & self._mask:
            b = self.visit(b)
        kind = type(op)
        if type(a) is IntImm and type(b) is IntImm and kind in _FOLD:
            if b.value == 0 and kind not in (tir.Add, tir.Sub, tir.Mul):
                return IntImm(op.dtype, 0)
            return _FOLD[kind](a, b)
        if a is op.a and b is op.b:
            return op
        return kind(a, b)

    visit_add_ = visit_sub_ = visit_mul_ = _binary
    visit_floor_div_ = visit_floor_mod_ = visit_min_ = visit_max_ = _binary
    visit_div_ = visit_mod_ = _binary

    def _index(self, op: Any) -> Any:
        algebra = self.algebra
        new = algebra.expr(algebra.merged(algebra.poly(op)), op.dtype)
        return op if _same(new, op) else new

    def visit_ramp_(self, op: Any) -> Any:
        base, stride = self.visit(op.base), self.visit(op.stride)
        return op if base is op.base and stride is op.stride else tir.Ramp(base, stride, op.lanes)

    def visit_cast_(self, op: Any) -> Any:
        value = self.visit(op.value)
        if type(value) is IntImm or type(value) is tir.FloatImm:
            return tir.cast(value, op.dtype)
        return op if value is op.value else tir.Cast(op.dtype, value)

    def _comparison(self, op: Any) -> Any:
        new = getattr(StmtExprMutator, _METHODS[type(op)])(self, op)
        if type(new) is not type(op) or info(new.a.dtype).lanes > 1:
            return new
        decided = self.decide(new)
        return new if decided is None else IntImm("bool", decided)

    visit_lt_ = visit_le_ = visit_gt_ = visit_ge_ = visit_eq_ = visit_ne_ = _comparison

    def decide(self, cond: Any) -> bool | None:
        """Whether a condition always holds, never holds, or neither is proved."""
        if type(cond) is IntImm:
            return bool(cond.value)
        if self.algebra.prove(cond):
            return True
        opposite = negation(cond)
        if opposite is not None and self.algebra.prove(opposite):
            return False
        return None

    def visit_and_(self, op: Any) -> Any:
        a, b = self.visit(op.a), self.visit(op.b)
        if type(a) is IntImm:
            return b if a.value else a
        if type(b) is IntImm:
            return a if b.value else b
        return op if a is op.a and b is op.b else tir.And(a, b)

    def visit_or_(self, op: Any) -> Any:
        a, b = self.visit(op.a), self.visit(op.b)
        if type(a) is IntImm:
            return a if a.value else b
        if type(b) is IntImm:
            return b if b.value else a
        return op if a is op.a and b is op.b else tir.Or(a, b)

    def visit_not_(self, op: Any) -> Any:
        a = self.visit(op.a)
        if type(a) is IntImm:
            return IntImm("bool", not a.value)
        return op if a is op.a else tir.Not(a)

    def visit_select_(self, op: Any) -> Any:
        cond = self.visit(op.condition)
        if type(cond) is IntImm:
            return self.visit(op.true_value if cond.value else op.false_value)
        a, b = self.visit(op.true_value), self.visit(op.false_value)
        if cond is op.condition and a is op.true_value and b is op.false_value:
            return op
        return tir.Select(cond, a, b)

    def visit_call_(self, op: Any) -> Any:
        name = op.op.name if hasattr(op.op, "name") else ""
        if name == "tir.likely":
            cond = self.visit(op.args[0])
            if type(cond) is IntImm:
                return cond
            return op if cond is op.args[0] else tir.likely(cond)
        if name == "tir.if_then_else":
            cond = self.visit(op.args[0])
            if type(cond) is IntImm:
                return self.visit(op.args[1 if cond.value else 2])
        return super().visit_call_(op)

    # ---- statements
    def visit_for_(self, op: Any) -> Any:
        low, extent = self.visit(op.min), self.visit(op.extent)
        if type(extent) is IntImm and extent.value <= 0:
            return tir.Evaluate(0)
        if (
            type(extent) is IntImm
            and extent.value == 1
            and op.thread_binding is None
            and not op.annotations
        ):
            body = tir.stmt_functor.substitute(op.body, {op.loop_var: low})
            return self.visit(body)
        self.algebra.bind(op.loop_var, low, extent)
        body = self.visit(op.body)
        if is_no_op(body):
            return tir.Evaluate(0)
        if low is op.min and extent is op.extent and body is op.body:
            return op
        return tir.For(op.loop_var, low, extent, op.kind, body, op.thread_binding, op.annotations)

    def visit_let_stmt_(self, op: Any) -> Any:
        value = self.visit(op.value)
        if type(value) is IntImm or type(value) is Var:
            return self.visit(tir.stmt_functor.substitute(op.body, {op.var: value}))
        body = self.visit(op.body)
        if value is op.value and body is op.body:
            return op
        return tir.LetStmt(op.var, value, body)

    def visit_if_then_else_(self, op: Any) -> Any:
        cond = self.visit(op.condition)
        if type(cond) is IntImm:
            if cond.value:
                return self.visit(op.then_case)
            return tir.Evaluate(0) if op.else_case is None else self.visit(op.else_case)
        then_case = self.visit(op.then_case)
        else_case = None if op.else_case is None else self.visit(op.else_case)
        if else_case is not None and is_no_op(else_case):
            else_case = None
        if is_no_op(then_case) and else_case is None:
            return tir.Evaluate(0)
        if cond is op.condition and then_case is op.then_case and else_case is op.else_case:
            return op
        return tir.IfThenElse(cond, then_case, else_case)

    def visit_attr_stmt_(self, op: Any) -> Any:
        if op.attr_key in ("thread_extent", "virtual_thread") and hasattr(op.node, "var"):
            self.algebra.bind(op.node.var, 0, op.value)
        return super().visit_attr_stmt_(op)

    def visit_assert_stmt_(self, op: Any) -> Any:
        cond = self.visit(op.condition)
        body = self.visit(op.body)
        if type(cond) is IntImm and cond.value:
            return body
        if cond is op.condition and body is op.body:
            return op
        return tir.AssertStmt(cond, op.message, body)

    def visit_seq_stmt_(self, op: Any) -> Any:
        parts = [self.visit(part) for part in op.seq]
        if all(a is b for a, b in zip(parts, op.seq)) and not any(map(is_no_op, parts)):
            return op
        flat: list[Any] = []
        for part in parts:
            flat += part.seq if type(part) is tir.SeqStmt else [part]
        flat = [part for part in flat if not is_no_op(part)]
        if not flat:
            return tir.Evaluate(0)
        return flat[0] if len(flat) == 1 else tir.SeqStmt(flat)


_VECTOR = tir.Ramp.KIND | tir.Broadcast.KIND | tir.Shuffle.KIND
_METHODS = {
    tir.LT: "visit_lt_",
    tir.LE: "visit_le_",
    tir.GT: "visit_gt_",
    tir.GE: "visit_ge_",
    tir.EQ: "visit_eq_",
    tir.NE: "visit_ne_",
}


def is_no_op(stmt: Any) -> bool:
    """Whether a statement does nothing."""
    return type(stmt) is tir.Evaluate and type(stmt.value) is IntImm


def _same(a: Any, b: Any) -> bool:
    """Whether two index expressions are one text; cheaper than structural equality."""
    if a is b:
        return True
    kind = type(a)
    if kind is not type(b) or a.dtype != b.dtype:
        return False
    if kind is IntImm:
        return bool(a.value == b.value)
    if isinstance(a, (tir.BinaryOpExpr, tir.CmpExpr)):
        return _same(a.a, b.a) and _same(a.b, b.b)
    if kind is tir.Cast:
        return _same(a.value, b.value)
    return False


def simplify_stmt(stmt: Any, func: PrimFunc | None = None) -> Any:
    """The simplified statement; the same one if nothing can be said better.

    Parameters
    ----------
    stmt : Stmt
        What is simplified.
    func : PrimFunc, optional
        The function that it is in, whose buffers' extents are known not to be negative.
    """
    simplifier = Simplifier()
    if func is not None:
        simplifier.algebra.bind_sizes(func.buffer_map.values())
    return simplifier(stmt)


def simplify(func: PrimFunc) -> PrimFunc:
    """Bring index expressions into normal form, drop decided guards, fold constants."""
    return func.with_body(simplify_stmt(func.body, func))


Simplify = named("Simplify", simplify)
