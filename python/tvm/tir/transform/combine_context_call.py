"""Combine context call: a device context is asked for once, where it is used many times.

    for i in range(n):                               ctx_cache = T.call_extern("get_ctx")
        f(T.tvm_thread_context(get_ctx()), i)  ->    for i in range(n):
                                                         f(ctx_cache, i)

A context belongs to a thread, so that the body of a parallel loop asks anew.
"""

from __future__ import annotations

from tvm import tir
from tvm.ir.structural import exactly_equal
from tvm.tir import ForKind, PrimFunc, Var
from tvm.tir.stmt_functor import StmtExprMutator

from .function_pass import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Combine(StmtExprMutator):
    def __init__(self) -> None:
        # (context expression, the variable that holds it)
        self.known: list[tuple[Any, Var]] = []

    def visit_call_(self, op: Any) -> Any:
        if getattr(op.op, "name", "") != "tir.tvm_thread_context":
            return super().visit_call_(op)
        wanted = op.args[0]
        for expr, var in self.known:
            if exactly_equal(expr, wanted):
                return var
        var = Var("ctx_cache_", wanted.dtype)
        self.known.append((wanted, var))
        return var

    def scope(self, body: Any) -> Any:
        """A body with the contexts that it uses bound around it."""
        outer, self.known = self.known, []
        body = self.visit(body)
        for expr, var in reversed(self.known):
            body = tir.LetStmt(var, expr, body)
        self.known = outer
        return body

    def visit_for_(self, op: Any) -> Any:
        if op.kind is not ForKind.PARALLEL:
            return super().visit_for_(op)
        return self._inside(op)

    def _inside(self, op: Any) -> Any:
        body = self.scope(op.body)
        if body is op.body:
            return op
        return tir.For(
            op.loop_var, op.min, op.extent, op.kind, body, op.thread_binding, op.annotations
        )

    def visit_attr_stmt_(self, op: Any) -> Any:
        if op.attr_key not in ("thread_extent", "coproc_uop_scope"):
            return super().visit_attr_stmt_(op)
        body = self.scope(op.body)
        return op if body is op.body else tir.AttrStmt(op.node, op.attr_key, op.value, body)


def combine_context_call(func: PrimFunc) -> PrimFunc:
    """Ask for each device context once."""
    if not func.body.kinds & tir.Call.KIND:
        return func
    return func.with_body(_Combine().scope(func.body))


CombineContextCall = named("CombineContextCall", combine_context_call)
