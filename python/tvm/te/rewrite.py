"""Replacing the loads of tensors in expressions."""

from __future__ import annotations

from tvm.tir.stmt_functor import StmtExprMutator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tvm.tir import PrimExpr, ProducerLoad


class _RewriteLoads(StmtExprMutator):
    def __init__(self, function: Callable[[ProducerLoad], PrimExpr]) -> None:
        self._function = function
        # expressions are often shared: each is rewritten once
        self._done: dict[int, tuple[Any, Any]] = {}

    def visit_producer_load_(self, op: Any) -> Any:
        found = self._done.get(id(op))
        if found is None:
            found = self._done[id(op)] = (op, self._function(super().visit_producer_load_(op)))
        return found[1]


def rewrite_loads(expr: PrimExpr, function: Callable[[ProducerLoad], PrimExpr]) -> PrimExpr:
    """``expr`` with every load of a tensor replaced, those inside indices first."""
    return _RewriteLoads(function)(expr)  # type: ignore[no-any-return]
