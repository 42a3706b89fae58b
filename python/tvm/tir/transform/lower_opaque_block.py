"""Lower opaque block: blocks become their bodies, their buffers live around them.

with block("root"):                       realize T([0 : 8])
    T = alloc_buffer((8,))        ->          T[i] = ...
    T[i] = ...
"""

from __future__ import annotations

from tvm import tir
from tvm.error import ValueError_
from tvm.ir.expr import Range
from tvm.tir import IntImm, PrimFunc
from tvm.tir.stmt_functor import StmtExprMutator

from .function_pass import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Lower(StmtExprMutator):
    def visit_block_realize_(self, op: Any) -> Any:
        block = op.block
        if block.iter_vars or block.init is not None:
            raise ValueError_(
                f"LowerOpaqueBlock: block {block.name_hint} has axes or an init statement; run "
                "LowerInitBlock and ConvertBlocksToOpaque first"
            )
        if block.match_buffers:
            raise ValueError_(
                f"LowerOpaqueBlock: block {block.name_hint} matches buffers, which is not supported"
            )
        body = self.visit(block.body)
        predicate = self.visit(op.predicate)
        if not (isinstance(predicate, IntImm) and predicate.value):
            body = tir.IfThenElse(predicate, body)
        for key, value in block.annotations.items():
            if str(key).startswith("pragma_"):
                body = tir.AttrStmt(block.name_hint, str(key), value, body)
        for buffer in reversed(block.alloc_buffers):
            bounds = [Range.from_min_extent(IntImm(e.dtype, 0), e) for e in buffer.shape]
            body = tir.BufferRealize(buffer, bounds, True, body)
        return body


def lower_opaque_block(func: PrimFunc) -> PrimFunc:
    """Replace blocks without axes by their bodies."""
    return func.with_body(_Lower()(func.body))


LowerOpaqueBlock = named("LowerOpaqueBlock", lower_opaque_block)

__all__ = ["LowerOpaqueBlock", "lower_opaque_block"]
