"""Inline index lets: names of index expressions give way to the expressions.

    let c = i * 4                   ->    B[i * 4 + 1] = A[i * 4]
    B[c + 1] = A[c]

A name hides how an index moves with a loop; what looks at indices wants them whole. Only integers
made of variables and constants are inlined: they cost nothing to compute again, and code
generators compute what is the same once.
"""

from __future__ import annotations

from tvm.ir.dtype import info
from tvm.ir.transform import PassInfo
from tvm.tir import expr as E
from tvm.tir import stmt as S
from tvm.tir.function import PrimFunc
from tvm.tir.stmt_functor import StmtExprMutator

from .function_pass import PrimFuncPass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _is_index(value: Any) -> bool:
    found = info(value.dtype)
    return found.is_int and not found.is_bool and found.lanes == 1 and not value.kinds & E.DATA


class _Inline(StmtExprMutator):
    def __init__(self) -> None:
        self.values: dict[Any, Any] = {}

    def visit_var_(self, op: Any) -> Any:
        return self.values.get(op, op)

    visit_size_var_ = visit_var_

    def visit_let_stmt_(self, op: Any) -> Any:
        if not _is_index(op.value):
            return super().visit_let_stmt_(op)
        self.values[op.var] = self.visit(op.value)
        return self.visit(op.body)


def inline_index_lets(func: PrimFunc) -> PrimFunc:
    """The function without names of index expressions.

    Parameters
    ----------
    func : PrimFunc
        A function; one without let statements is returned itself.
    """
    if not func.body.kinds & S.LetStmt.KIND:
        return func
    return func.with_body(_Inline()(func.body))


def InlineIndexLets() -> PrimFuncPass:
    """The pass ``tir.InlineIndexLets``."""

    def run(func: PrimFunc, mod: Any, context: Any) -> PrimFunc:
        return inline_index_lets(func)

    return PrimFuncPass(run, PassInfo(0, "tir.InlineIndexLets"))
