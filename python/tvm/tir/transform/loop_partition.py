"""Loop partition: the guards of non-dividing factors leave the inner loops.

    for io in range((n + 3) // 4):           for io in range(n // 4):
        for ii in range(4):                      for ii in range(4):
            if likely(io*4 + ii < n):   ->           B[io*4 + ii] = ...
                B[io*4 + ii] = ...           for io in range((n + 3) // 4 - n // 4):
                                                 for ii in range(n - (io + n // 4)*4):
                                                     B[...] = ...

Outermost loops come first. A parallel loop is not cut, its body gets both forms under one test.
"""

from __future__ import annotations

from tvm import tir
from tvm.arith.index_algebra import Algebra, Interval, Poly, add, const, constant
from tvm.ir.transform import PassInfo
from tvm.tir import ForKind, IntImm, PrimFunc, Var
from tvm.tir.stmt_functor import StmtExprMutator, StmtExprVisitor

from .fresh import fresh_copy
from .function_pass import PrimFuncPass
from .simplify import simplify_stmt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# how many copies of one statement the nested loops may make together
MAX_COPIES = 16
# loops whose parts would end at larger expressions than this stay whole
MAX_SIZE = 40
_DATA = 1
_CALL = tir.Call.KIND & ~_DATA


class _Guard:
    """A test that is true from ``low`` on, and below ``high`` of the loop's variable.

    ``exact`` says that it is false elsewhere: no inner loop takes part in it.
    """

    __slots__ = ("node", "low", "high", "exact")

    def __init__(self, node: Any, low: Poly | None, high: Poly | None, exact: bool) -> None:
        self.node = node
        self.low = low
        self.high = high
        self.exact = exact


class _FindGuards(StmtExprVisitor):
    """The likely tests inside a loop, each with the part of the loop on which it is true."""

    def __init__(self, algebra: Algebra, var: Var) -> None:
        self.algebra = algebra
        self.key = algebra.key(var)
        self.inner: dict[str, Interval] = {}
        self.found: dict[int, _Guard] = {}
        self.refused: set[int] = set()

    def visit_for_(self, op: Any) -> None:
        algebra = self.algebra
        key = algebra.key(op.loop_var)
        low = algebra.poly(op.min)
        high = add(add(low, algebra.poly(op.extent)), const(-1))
        self.inner[key] = Interval(
            algebra._interval(low, self.inner).low, algebra._interval(high, self.inner).high
        )
        super().visit_for_(op)
        del self.inner[key]

    def visit_attr_stmt_(self, op: Any) -> None:
        if op.attr_key not in ("thread_extent", "virtual_thread") or not hasattr(op.node, "var"):
            super().visit_attr_stmt_(op)
            return
        key = self.algebra.key(op.node.var)
        if key in self.inner:
            super().visit_attr_stmt_(op)
            return
        last = add(self.algebra.poly(op.value), const(-1))
        self.inner[key] = Interval({}, self.algebra._interval(last, self.inner).high)
        super().visit_attr_stmt_(op)
        del self.inner[key]

    def visit_let_stmt_(self, op: Any) -> None:
        self.visit(op.value)
        key = self.algebra.key(op.var)
        self.inner[key] = Interval(None, None)
        self.visit(op.body)
        del self.inner[key]

    def visit_call_(self, op: Any) -> None:
        if getattr(op.op, "name", "") != "tir.likely":
            super().visit_call_(op)
            return
        guard = self._solve(op)
        if guard is None or id(op) in self.refused:
            self.refused.add(id(op))
            self.found.pop(id(op), None)
        elif id(op) in self.found:
            known = self.found[id(op)]
            if known.low != guard.low or known.high != guard.high:
                self.refused.add(id(op))
                self.found.pop(id(op))
        else:
            self.found[id(op)] = guard

    def _solve(self, node: Any) -> _Guard | None:
        cond = node.args[0]
        algebra = self.algebra
        kind = type(cond)
        if cond.kinds & _DATA or kind not in (tir.LT, tir.LE, tir.GT, tir.GE):
            return None
        a, b = algebra.poly(cond.a), algebra.poly(cond.b)
        # the test is true when this is at least 1
        if kind is tir.LT:
            slack = add(b, a, -1)
        elif kind is tir.LE:
            slack = add(add(b, a, -1), const(1))
        elif kind is tir.GT:
            slack = add(a, b, -1)
        else:
            slack = add(add(a, b, -1), const(1))
        coeff = slack.get((self.key,), 0)
        if not coeff or any(self.key in m for m in slack if m != (self.key,)):
            return None
        rest = {m: c for m, c in slack.items() if m != (self.key,)}
        if algebra._depends_poly(rest, self.key):
            return None
        least = algebra._interval(rest, self.inner).low
        if least is None:
            return None
        dtype = "int64" if "int64" in (cond.a.dtype, cond.b.dtype) else cond.a.dtype
        if coeff > 0:
            # coeff * v + least >= 1
            low = algebra.floordiv(add(const(coeff), least, -1), const(coeff), dtype)
            return _Guard(node, low, None, least == rest)
        high = algebra.floordiv(add(least, const(-1)), const(-coeff), dtype)
        return _Guard(node, None, add(high, const(1)), least == rest)


class _Assume(StmtExprMutator):
    def __init__(self, nodes: set[int], value: bool) -> None:
        self.nodes = nodes
        self.value = value

    def visit_call_(self, op: Any) -> Any:
        if id(op) in self.nodes:
            return IntImm("bool", int(self.value))
        return super().visit_call_(op)


class _Partition(StmtExprMutator):
    def __init__(self) -> None:
        self.algebra = Algebra()
        self.copies = 1
        # how many forms of the body the last cut made
        self.factor = 1
        self.changed = False

    def visit_for_(self, op: Any) -> Any:
        if not op.body.kinds & _CALL:
            self.algebra.bind(op.loop_var, op.min, op.extent)
            return op
        parts = self._cut(op) if self.copies < MAX_COPIES else None
        if parts is None:
            self.algebra.bind(op.loop_var, op.min, op.extent)
            return super().visit_for_(op)
        self.changed = True
        before, self.copies = self.copies, self.copies * self.factor
        out: list[Any] = []
        for part, is_loop in parts:
            part = self._descend(part) if is_loop else self.visit(part)
            out += part.seq if type(part) is tir.SeqStmt else [part]
        self.copies = before
        return out[0] if len(out) == 1 else tir.SeqStmt(out)

    def _descend(self, loop: Any) -> Any:
        """Go on inside a part, which is not cut again itself."""
        self.algebra.bind(loop.loop_var, loop.min, loop.extent)
        body = self.visit(loop.body)
        if body is loop.body:
            return loop
        return tir.For(
            loop.loop_var, loop.min, loop.extent, loop.kind, body, None, loop.annotations
        )

    def _cut(self, op: Any) -> list[tuple[Any, bool]] | None:
        """The loop in parts, each with whether it is still a loop; None to leave it whole."""
        if op.kind is ForKind.THREAD_BINDING:
            return None
        algebra = self.algebra
        self.factor = 1
        finder = _FindGuards(algebra, op.loop_var)
        finder.visit(op.body)
        if not finder.found:
            return None
        dtype = op.loop_var.dtype
        begin = algebra.poly(op.min)
        end = add(begin, algebra.poly(op.extent))
        low, high = begin, end
        for bound in _distinct([guard.low for guard in finder.found.values()]):
            low = algebra.minmax(low, bound, True, dtype)
        for bound in _distinct([guard.high for guard in finder.found.values()]):
            high = algebra.minmax(high, bound, False, dtype)
        if algebra.size(low) + algebra.size(high) > MAX_SIZE:
            return None
        size = constant(add(high, low, -1))
        if size is not None and size <= 0:
            return None
        if low == begin and high == end:
            # already true everywhere: no part is left over
            return [self._part(op, begin, end, set(finder.found), True, False)]
        # lists of constant length are needed to write loops out and for vectors
        if op.kind in (ForKind.VECTORIZED, ForKind.UNROLLED) and (
            size is None or constant(add(end, begin, -1)) is None
        ):
            if op.kind is ForKind.VECTORIZED:
                op = tir.For(op.loop_var, op.min, op.extent, ForKind.SERIAL, op.body)
            else:
                return None
        if size is None:
            # the middle may be empty, and its ends may cross the loop's
            if high != end:
                high = algebra.minmax(high, begin, True, dtype)
            if low != begin:
                low = algebra.minmax(low, high, False, dtype)
        proved = set(finder.found)
        if op.kind is ForKind.PARALLEL:
            self.factor = 2
            return [(self._both(op, low, high, begin, end, proved), True)]
        guards = finder.found.values()
        parts = []
        if low != begin:
            false = _alone([g for g in guards if g.low is not None], "low")
            # where every test is false there is nothing left to copy
            self.factor += len(false) < len(guards)
            parts.append(self._part(op, begin, low, false, False, True))
        parts.append(self._part(op, low, high, proved, True, False))
        if high != end:
            false = _alone([g for g in guards if g.high is not None], "high")
            self.factor += len(false) < len(guards)
            parts.append(self._part(op, high, end, false, False, True))
        return parts

    def _part(
        self, op: Any, begin: Poly, end: Poly, known: set[int], value: bool, copy: bool
    ) -> tuple[Any, bool]:
        """The iterations from ``begin`` to ``end``, where the ``known`` tests have a value."""
        algebra = self.algebra
        dtype = op.loop_var.dtype
        extent = algebra.expr(add(end, begin, -1), dtype)
        body = _Assume(known, value).visit(op.body) if known else op.body
        if isinstance(extent, IntImm) and extent.value == 1 and not op.annotations:
            # the position is known: what is inside can be decided further
            return fresh_copy(body, {op.loop_var: algebra.expr(begin, dtype)}), False
        var = op.loop_var
        if copy or begin:
            var = Var(op.loop_var.name, dtype)
            there: Any = var if not begin else tir.add(var, algebra.expr(begin, dtype))
            rename = fresh_copy if copy else tir.stmt_functor.substitute
            body = rename(body, {op.loop_var: there})
        loop = tir.For(var, IntImm(dtype, 0), extent, op.kind, body, None, op.annotations)
        return loop, True

    def _both(
        self, op: Any, low: Poly, high: Poly, begin: Poly, end: Poly, proved: set[int]
    ) -> Any:
        """Both forms of the body under one test."""
        algebra = self.algebra
        dtype = op.loop_var.dtype
        test: Any = None
        if low != begin:
            test = tir.GE(op.loop_var, algebra.expr(low, dtype))
        if high != end:
            upper = tir.LT(op.loop_var, algebra.expr(high, dtype))
            test = upper if test is None else tir.And(test, upper)
        rest: dict[Var, Any] = {}
        if low == begin and constant(add(end, high, -1)) == 1:
            # a single iteration is left over: its position is known
            rest = {op.loop_var: algebra.expr(high, dtype)}
        body = tir.IfThenElse(test, _Assume(proved, True).visit(op.body), fresh_copy(op.body, rest))
        return tir.For(op.loop_var, op.min, op.extent, op.kind, body, None, op.annotations)


def _distinct(bounds: list[Poly | None]) -> list[Poly]:
    """Each bound once: initial values and updates have the same tests."""
    out: list[Poly] = []
    for bound in bounds:
        if bound is not None and bound not in out:
            out.append(bound)
    return out


def _alone(guards: list[_Guard], side: str) -> set[int]:
    """The tests that are false beyond the middle: exact ones that alone decide where it ends."""
    if not guards:
        return set()
    first = getattr(guards[0], side)
    if any(getattr(guard, side) != first for guard in guards):
        return set()
    return {id(guard.node) for guard in guards if guard.exact}


def partition(func: PrimFunc) -> PrimFunc:
    """Cut loops so that likely tests are true in the largest part, and leave them out there."""
    if not (func.body.kinds & _CALL and func.body.kinds & tir.For.KIND):
        return func
    rewriter = _Partition()
    rewriter.algebra.bind_sizes(func.buffer_map.values())
    body = rewriter(func.body)
    if not rewriter.changed:
        return func
    return func.with_body(simplify_stmt(body, func))


def LoopPartition() -> PrimFuncPass:
    """The pass ``tir.LoopPartition``."""
    return PrimFuncPass(lambda func, mod, ctx: partition(func), PassInfo(0, "tir.LoopPartition"))
