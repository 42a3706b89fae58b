"""Whether a function ends within microseconds, whatever it is given."""

from __future__ import annotations

from ..ir.dtype import info
from .expr import CallEffect, IntImm
from .function import PrimFunc
from .stmt import ForKind
from .stmt_functor import StmtExprVisitor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Loads and stores of single elements; a call of a mathematical function counts as ten.
MOST_WORK = 4096
CALL = 10


class _Work(StmtExprVisitor):
    """Adds up work; stops looking once it is too much or unknown."""

    def __init__(self) -> None:
        self.work = 0
        self._trips = 1

    def _add(self, work: int) -> None:
        self.work += work * self._trips

    def visit_seq_stmt_(self, op: Any) -> None:
        for stmt in op.seq:
            if self.work > MOST_WORK:
                return
            self.visit(stmt)

    def visit_for_(self, op: Any) -> None:
        if type(op.extent) is not IntImm or op.kind in (ForKind.PARALLEL, ForKind.THREAD_BINDING):
            self._add(MOST_WORK + 1)
            return
        outer = self._trips
        self._trips *= max(0, op.extent.value)
        super().visit_for_(op)
        self._trips = outer

    def visit_while_(self, op: Any) -> None:
        self._add(MOST_WORK + 1)

    def visit_allocate_(self, op: Any) -> None:
        # memory may come from the system, which may take its time
        self._add(MOST_WORK + 1)

    def visit_attr_stmt_(self, op: Any) -> None:
        # extern scopes, launches: what they mean is not known here
        self._add(MOST_WORK + 1)

    def visit_call_(self, op: Any) -> None:
        get_attr = getattr(op.op, "get_attr", None)
        effect = get_attr("TCallEffectKind") if get_attr is not None else None
        if effect is None or effect > CallEffect.ReadState or "extern" in op.op.name:
            self._add(MOST_WORK + 1)  # may wait for something, or never come back
            return
        self._add(CALL * info(op.dtype).lanes)
        super().visit_call_(op)

    def visit_buffer_load_(self, op: Any) -> None:
        self._add(info(op.dtype).lanes)
        super().visit_buffer_load_(op)

    def visit_buffer_store_(self, op: Any) -> None:
        self._add(info(op.value.dtype).lanes)
        super().visit_buffer_store_(op)


def is_brief(func: PrimFunc) -> bool:
    """Whether the function surely ends within microseconds and waits for nothing.

    Its caller then need not let other Python threads run meanwhile: giving the interpreter lock
    away and taking it back would cost more than the function itself.

    Parameters
    ----------
    func : PrimFunc
        Before or after its loops were vectorised.

    Returns
    -------
    bool
        Loops have constant extents, the work adds up to at most `MOST_WORK` elements, and
        nothing is called but mathematical functions.
    """
    work = _Work()
    work(func.body)
    return work.work <= MOST_WORK
