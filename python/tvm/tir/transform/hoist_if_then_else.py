"""Hoist if-then-else: a test that does not change inside a loop moves out of it.

    for i in range(n):                  if m > 4:
        for j in range(m):        ->        for i in range(n):
            if m > 4:                           for j in range(m):
                B[i*m + j] = ...                    B[i*m + j] = ...

Only a test around the whole body of a loop moves, so that nothing is copied but the loops
themselves, and only one without effects that reads no memory.
"""

from __future__ import annotations

from tvm import tir
from tvm.ir.transform import PassInfo
from tvm.tir import PrimFunc
from tvm.tir.stmt_functor import StmtExprMutator, uses_var

from .fresh import fresh_copy
from .function_pass import PrimFuncPass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_IF, _FOR = tir.IfThenElse.KIND, tir.For.KIND
_READS = (tir.BufferLoad.KIND | tir.ProducerLoad.KIND | tir.Call.KIND) & ~1


def is_steady(cond: Any) -> bool:
    """Whether a condition depends on nothing but variables."""
    if not cond.kinds & _READS:
        return True
    if type(cond) is tir.Call and getattr(cond.op, "name", "") == "tir.likely":
        return is_steady(cond.args[0])
    return False


class _Hoist(StmtExprMutator):
    def visit_for_(self, op: Any) -> Any:
        body = self.visit(op.body)
        if body is not op.body:
            op = self._loop(op, body)
        if type(body) is not tir.IfThenElse or not is_steady(body.condition):
            return op
        if uses_var(body.condition, op.loop_var) or op.thread_binding is not None:
            return op
        yes = self._loop(op, body.then_case)
        no = None
        if body.else_case is not None:
            # each variable is defined once
            no = fresh_copy(self._loop(op, body.else_case))
        return tir.IfThenElse(body.condition, yes, no)

    @staticmethod
    def _loop(op: Any, body: Any) -> Any:
        return tir.For(
            op.loop_var, op.min, op.extent, op.kind, body, op.thread_binding, op.annotations
        )


def hoist_if_then_else(func: PrimFunc) -> PrimFunc:
    """Move tests that do not change inside a loop out of it."""
    if not (func.body.kinds & _IF and func.body.kinds & _FOR):
        return func
    return func.with_body(_Hoist()(func.body))


def HoistIfThenElse(variant: str | None = None) -> PrimFuncPass:
    """The pass ``tir.HoistIfThenElse``.

    Parameters
    ----------
    variant : str, optional
        Accepted as classic programs give it (``"basic"``); there is one variant.
    """
    return PrimFuncPass(
        lambda func, mod, ctx: hoist_if_then_else(func), PassInfo(0, "tir.HoistIfThenElse")
    )
