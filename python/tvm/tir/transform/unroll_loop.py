"""Unroll loop: loops marked unrolled are written out.

    for i in unroll(3):         ->    B[0] = A[0]
        B[i] = A[i]                   B[1] = A[1]
                                      B[2] = A[2]

A loop whose extent is not constant stays; so does one that would need more than `MAX_STATEMENTS`.
"""

from __future__ import annotations

from tvm import tir
from tvm.arith.index_algebra import Algebra, add, const
from tvm.ir.transform import PassInfo
from tvm.tir import ForKind, IntImm, PrimFunc
from tvm.tir.stmt_functor import StmtExprMutator

from .fresh import DEFINES, fresh_copy
from .function_pass import PrimFuncPass
from .simplify import Simplifier, simplify_stmt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_STATEMENTS = 1 << 14
_FOR = tir.For.KIND


class _Copy(Simplifier):
    """Copies a statement with a variable's value put in, simplified at once."""

    def __init__(self, algebra: Algebra) -> None:
        self.algebra = algebra

    def visit_var_(self, op: Any) -> Any:
        algebra = self.algebra
        value = algebra.values.get(algebra.key(op))
        return op if value is None else algebra.expr(value, op.dtype)

    visit_size_var_ = visit_var_


class _Unroll(StmtExprMutator):
    def __init__(self, auto_max_step: int, auto_max_depth: int, explicit: bool) -> None:
        self.algebra = Algebra()
        self.auto_max_step = auto_max_step
        self.auto_max_depth = auto_max_depth
        self.explicit = explicit
        # leaf statements of the body that was visited last
        self.count = 0
        self.changed = False

    def visit_attr_stmt_(self, op: Any) -> Any:
        if op.attr_key == "pragma_auto_unroll_max_step":
            before, self.auto_max_step = self.auto_max_step, int(op.value)
            body = self.visit(op.body)
            self.auto_max_step = before
            return body
        if op.attr_key == "pragma_unroll_explicit":
            before_explicit, self.explicit = self.explicit, bool(int(op.value))
            body = self.visit(op.body)
            self.explicit = before_explicit
            return body
        return super().visit_attr_stmt_(op)

    def visit_buffer_store_(self, op: Any) -> Any:
        self.count += 1
        return op

    def visit_evaluate_(self, op: Any) -> Any:
        self.count += 1
        return op

    def visit_for_(self, op: Any) -> Any:
        outer, self.count = self.count, 0
        self.algebra.bind(op.loop_var, op.min, op.extent)
        body = self.visit(op.body)
        inside = self.count
        extent = op.extent.value if isinstance(op.extent, IntImm) else -1
        asked = op.kind is ForKind.UNROLLED
        auto = (
            op.kind is ForKind.SERIAL and extent >= 0 and 0 < extent * inside <= self.auto_max_step
        )
        fits = extent >= 0 and extent * max(inside, 1) <= MAX_STATEMENTS
        if fits and (asked or (auto and self.explicit)):
            self.count = outer + inside * extent
            return self._write_out(op, body, extent)
        self.count = outer + inside
        if body is op.body and not (auto and not self.explicit):
            return op
        kind = ForKind.UNROLLED if auto and not self.explicit else op.kind
        return tir.For(
            op.loop_var, op.min, op.extent, kind, body, op.thread_binding, op.annotations
        )

    def _write_out(self, op: Any, body: Any, extent: int) -> Any:
        if extent == 0:
            return tir.Evaluate(0)
        parts: list[Any] = []
        algebra = self.algebra
        plain = not body.kinds & DEFINES
        key, low, copier = algebra.key(op.loop_var), algebra.poly(op.min), _Copy(algebra)
        for k in range(extent):
            if plain:
                algebra.values[key] = add(low, const(k))
                part = copier.visit(body)
                del algebra.values[key]
            else:
                self.changed = True
                value = tir.add(op.min, IntImm(op.loop_var.dtype, k))
                part = fresh_copy(body, {op.loop_var: value})
            parts += part.seq if isinstance(part, tir.SeqStmt) else [part]
        return parts[0] if len(parts) == 1 else tir.SeqStmt(parts)


def unroll(func: PrimFunc, config: dict[str, Any]) -> PrimFunc:
    """Write out the loops marked unrolled, and small ones if ``auto_max_step`` asks for it."""
    if not func.body.kinds & _FOR:
        return func
    rewriter = _Unroll(
        int(config.get("auto_max_step", 0)),
        int(config.get("auto_max_depth", 8)),
        bool(int(config.get("explicit_unroll", 1))),
    )
    rewriter.algebra.bind_sizes(func.buffer_map.values())
    body = rewriter(func.body)
    if rewriter.changed:
        body = simplify_stmt(body, func)
    return func.with_body(body)


def UnrollLoop() -> PrimFuncPass:
    """The pass ``tir.UnrollLoop``; options in ``config["tir.UnrollLoop"]``."""
    return PrimFuncPass(
        lambda func, mod, ctx: unroll(func, ctx.config.get("tir.UnrollLoop", {})),
        PassInfo(0, "tir.UnrollLoop"),
    )
