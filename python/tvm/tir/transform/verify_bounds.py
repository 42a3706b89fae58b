"""Verify bounds: an access that provably happens and leaves its buffer is refused.

    for k in range(64):         ->    ValueError: R reads K[k] out of bounds: ...
        R[0] = R[0] + K[k]            (K has 3 elements)

Only what is certain is refused: loops of constant extent, positions that are sums of loop
variables, and no test around the access.
"""

from __future__ import annotations

from tvm import tir
from tvm.arith.index_algebra import Algebra, constant
from tvm.error import ValueError_
from tvm.tir import IntImm, PrimFunc
from tvm.tir.stmt_functor import StmtExprVisitor

from .function_pass import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Verify(StmtExprVisitor):
    def __init__(self, name: str) -> None:
        self.name = name
        self.algebra = Algebra()
        self.shapes: dict[Any, Any] = {}

    # what stands under a test may not happen
    def visit_if_then_else_(self, op: Any) -> None:
        self.visit(op.condition)

    def visit_select_(self, op: Any) -> None:
        self.visit(op.condition)

    def visit_call_(self, op: Any) -> None:
        if getattr(op.op, "name", "") == "tir.if_then_else":
            self.visit(op.args[0])
            return
        super().visit_call_(op)

    def visit_while_(self, op: Any) -> None:
        return

    def visit_and_(self, op: Any) -> None:
        self.visit(op.a)

    visit_or_ = visit_and_

    def visit_for_(self, op: Any) -> None:
        low = self.algebra.bounds(self.algebra.poly(op.min))
        if not isinstance(op.extent, IntImm) or op.extent.value < 1 or None in low:
            # it may not run at all
            return
        self.algebra.bind(op.loop_var, op.min, op.extent)
        super().visit_for_(op)

    def visit_buffer_load_(self, op: Any) -> None:
        self._check(op, "read")
        super().visit_buffer_load_(op)

    def visit_buffer_store_(self, op: Any) -> None:
        self._check(op, "store")
        super().visit_buffer_store_(op)

    def _check(self, op: Any, what: str) -> None:
        algebra = self.algebra
        if len(op.indices) != len(op.buffer.shape):
            return
        for axis, (index, extent) in enumerate(zip(op.indices, op.buffer.shape)):
            size = constant(algebra.poly(extent))
            if size is None or index.kinds & ~_PLAIN:
                continue
            poly = algebra.poly(index)
            # a sum of different loop variables reaches both of its bounds
            if any(len(m) > 1 or (m and m[0] not in algebra.ranges) for m in poly):
                continue
            low, high = algebra.bounds(poly)
            if low is None or high is None or (low >= 0 and high < size):
                continue
            raise ValueError_(
                f"{self.name}: {what} of {op.buffer.name} out of bounds: dimension {axis} has "
                f"extent {size}, but index {index} takes values {low} to {high}"
            )


_PLAIN = (
    tir.Var.KIND | tir.SizeVar.KIND | tir.IntImm.KIND | tir.Add.KIND | tir.Sub.KIND | tir.Mul.KIND
)


def verify_bounds(func: PrimFunc) -> PrimFunc:
    """Refuse accesses that provably happen and leave their buffer.

    Raises
    ------
    ValueError
        Names the tensor, the dimension, its extent and the values of the index.
    """
    visitor = _Verify(str(func.attrs.get("global_symbol", "main")))
    visitor(func.body)
    return func


VerifyBounds = named("VerifyBounds", verify_bounds)
