"""Lower init block: the start of a reduction becomes a statement of the body.

with block("C"):                          with block("C"):
    with init():                  ->          if k == 0:
        C[i] = 0                                  C[i] = 0
    C[i] = C[i] + A[i, k]                     C[i] = C[i] + A[i, k]
"""

from __future__ import annotations

from tvm import tir
from tvm.tir import IterVar, PrimFunc
from tvm.tir.stmt_functor import StmtExprMutator

from .function_pass import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _LowerInit(StmtExprMutator):
    def visit_block_(self, op: Any) -> Any:
        made = super().visit_block_(op)
        if made.init is None:
            return made
        first = [
            tir.EQ(iv.var, tir.cast(iv.dom.min, iv.var.dtype))
            for iv in made.iter_vars
            if iv.iter_type == IterVar.CommReduce
        ]
        start = tir.IfThenElse(tir.all(*first), made.init) if first else made.init
        return tir.Block(
            made.iter_vars,
            made.reads,
            made.writes,
            made.name_hint,
            tir.SeqStmt([*tir.stmt_list(start), *tir.stmt_list(made.body)]),
            None,
            made.alloc_buffers,
            made.match_buffers,
            made.annotations,
        )


def lower_init_block(func: PrimFunc) -> PrimFunc:
    """Let reductions start where their axes do."""
    return func.with_body(_LowerInit()(func.body))


LowerInitBlock = named("LowerInitBlock", lower_init_block)

__all__ = ["LowerInitBlock", "lower_init_block"]
