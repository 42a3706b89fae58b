"""Convert blocks to opaque: the axes of blocks are replaced by what they stand for.

for i in range(8):                        for i in range(8):
    with block("B"):              ->          with block("B"):
        v = axis.spatial(8, i)                    B[i] = A[i] + 1
        B[v] = A[v] + 1
"""

from __future__ import annotations

from tvm import tir
from tvm.error import ValueError_
from tvm.tir import BufferRegion, PrimFunc
from tvm.tir.stmt_functor import StmtExprMutator, substitute

from .function_pass import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Opaque(StmtExprMutator):
    def visit_block_realize_(self, op: Any) -> Any:
        made = super().visit_block_realize_(op)
        block = made.block
        if block.init is not None:
            raise ValueError_(
                f"ConvertBlocksToOpaque: block {block.name_hint} still has an init statement; run "
                "LowerInitBlock first"
            )
        if not block.iter_vars:
            return made
        mapping = {
            iv.var: tir.cast(value, iv.var.dtype)
            for iv, value in zip(block.iter_vars, made.iter_values)
        }
        opaque = tir.Block(
            [],
            [_region(region, mapping) for region in block.reads],
            [_region(region, mapping) for region in block.writes],
            block.name_hint,
            substitute(block.body, mapping),
            None,
            block.alloc_buffers,
            block.match_buffers,
            block.annotations,
        )
        return tir.BlockRealize([], substitute(made.predicate, mapping), opaque)


def _region(region: BufferRegion, mapping: Any) -> BufferRegion:
    return BufferRegion(region.buffer, [substitute(item, mapping) for item in region.region])


def convert_blocks_to_opaque(func: PrimFunc) -> PrimFunc:
    """Replace the axes of blocks by their values."""
    return func.with_body(_Opaque()(func.body))


ConvertBlocksToOpaque = named("ConvertBlocksToOpaque", convert_blocks_to_opaque)

__all__ = ["ConvertBlocksToOpaque", "convert_blocks_to_opaque"]
