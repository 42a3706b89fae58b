"""Questions about programs."""

from __future__ import annotations

from ..ir.expr import PrimExpr
from ..ir.op import Op
from ..ir.structural import exactly_equal
from . import expr as E
from .function import PrimFunc
from .peak_memory import peak_memory
from .stmt_functor import StmtExprVisitor, post_order_visit
from .verify import is_valid as verify_well_formed
from .verify import verify

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["calculate_workspace_bytes", "expr_deep_equal", "peak_memory", "side_effect",
           "undefined_vars", "verify", "verify_ssa", "verify_well_formed"]  # fmt: skip


def expr_deep_equal(lhs: PrimExpr, rhs: PrimExpr) -> bool:
    """Whether two expressions are the same node for node, every variable being itself."""
    return exactly_equal(lhs, rhs)


class _Effects(StmtExprVisitor):
    def __init__(self) -> None:
        self.worst = E.CallEffect.Pure

    def visit_call_(self, op: Any) -> None:
        effect = E.CallEffect.Opaque
        if isinstance(op.op, Op):
            given = op.op.get_attr("TCallEffectKind")
            effect = E.CallEffect.Opaque if given is None else given
        self.worst = max(self.worst, effect)
        super().visit_call_(op)

    def visit_buffer_load_(self, op: Any) -> None:
        self.worst = max(self.worst, E.CallEffect.ReadState)
        super().visit_buffer_load_(op)

    def visit_producer_load_(self, op: Any) -> None:
        self.worst = max(self.worst, E.CallEffect.ReadState)
        super().visit_producer_load_(op)


def side_effect(expr: PrimExpr) -> int:
    """The strongest effect of evaluating an expression, a `CallEffect`."""
    visitor = _Effects()
    visitor(expr)
    return visitor.worst


class _Definitions(StmtExprVisitor):
    """Whether every variable has one definition."""

    def __init__(self) -> None:
        self.single = True
        self._seen: set[Any] = set()

    def define(self, var: Any) -> None:
        """Note a definition."""
        if var in self._seen:
            self.single = False
        self._seen.add(var)

    def visit_for_(self, op: Any) -> None:
        self.define(op.loop_var)
        super().visit_for_(op)

    def visit_let_(self, op: Any) -> None:
        self.define(op.var)
        super().visit_let_(op)

    def visit_let_stmt_(self, op: Any) -> None:
        self.define(op.var)
        super().visit_let_stmt_(op)

    def visit_allocate_(self, op: Any) -> None:
        self.define(op.buffer_var)
        super().visit_allocate_(op)


def verify_ssa(func: PrimFunc) -> bool:
    """Whether every variable of a function is defined once."""
    visitor = _Definitions()
    for param in func.params:
        visitor.define(param)
    visitor(func)
    return visitor.single


def undefined_vars(node: Any, defs: Any = ()) -> list[Any]:
    """The variables that a statement or expression uses and does not define, in order of use."""
    bound = set(defs)
    used: dict[Any, None] = {}

    def look(item: Any) -> None:
        for name, kind in item.fields:
            if kind == "d":
                value = getattr(item, name)
                bound.add(getattr(value, "data", value))
            elif kind == "ax":
                bound.update(axis.var for axis in getattr(item, name))
        if isinstance(item, E.Var):
            used.setdefault(item)
        buffer = getattr(item, "buffer", None)
        if buffer is not None and hasattr(buffer, "data"):
            used.setdefault(buffer.data)

    post_order_visit(node, look)
    return [var for var in used if var not in bound]


def calculate_workspace_bytes(func: PrimFunc, workspace_byte_alignment: int = 1) -> int:
    """Bytes of all constant-size allocations together."""
    from ..ir import dtype as _dtype

    total = 0

    def look(item: Any) -> None:
        nonlocal total
        if item.type_key != "tir.Allocate":
            return
        count = 1
        for extent in item.extents:
            if not isinstance(extent, E.IntImm):
                return
            count *= extent.value
        found = _dtype.info(item.dtype)
        size = count * max(8, found.bits) * found.lanes // 8
        step = workspace_byte_alignment
        total += (size + step - 1) // step * step

    post_order_visit(func, look)
    return total
