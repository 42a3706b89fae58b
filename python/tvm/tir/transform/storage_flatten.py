"""Storage flatten: accesses get one dimension, realised regions become allocations.

    realize B([io*4 : 4], [0 : 8])      ->    B = allocate([32])
        B[i, j] = A[i, j] + 1                 B_1[(i - io*4)*8 + j] = A_1[i*8 + j] + 1

Positions are int32 while every position of the buffer provably fits, else int64.
"""

from __future__ import annotations

from tvm import tir
from tvm.arith.index_algebra import Algebra, Poly, add, const, multiply
from tvm.ir.dtype import info
from tvm.tir import Buffer, IntImm, PrimExpr, PrimFunc, Var
from tvm.tir.stmt_functor import StmtExprMutator

from .function_pass import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_INT32_MAX = 2**31 - 1
_LINE_BITS = 64 * 8


class _Flat:
    """How a buffer lies in memory."""

    __slots__ = ("buffer", "lows", "strides", "offset", "dtype")

    def __init__(
        self, buffer: Buffer, lows: list[Poly], strides: list[Poly], offset: Poly, dtype: str
    ) -> None:
        self.buffer = buffer
        self.lows = lows
        self.strides = strides
        self.offset = offset
        self.dtype = dtype


class _Flatten(StmtExprMutator):
    def __init__(self) -> None:
        self.algebra = Algebra()
        self.flat: dict[Buffer, _Flat] = {}
        self.aligned: dict[Buffer, dict[int, tuple[int, int]]] = {}

    # ---- layouts
    def _layout(self, buffer: Buffer, extents: Any, lows: list[Poly], outside: bool) -> _Flat:
        algebra = self.algebra
        sizes = [algebra.poly(extent) for extent in extents]
        dtype = _index_type(buffer, extents)
        strides: list[Poly]
        size: Poly | None = None
        step: Poly
        if buffer.strides and outside:
            strides = [algebra.poly(stride) for stride in buffer.strides]
        else:
            strides = []
            step = const(1)
            align = self.aligned.get(buffer, {})
            for axis in range(len(sizes) - 1, -1, -1):
                if axis in align:
                    factor, shift = align[axis]
                    # the least stride >= step that is shift modulo factor
                    gap = algebra.floormod(
                        add(const(factor + shift), step, -1), const(factor), dtype
                    )
                    step = add(step, gap)
                strides.append(step)
                step = multiply(step, sizes[axis])
            strides.reverse()
            size = step
        offset = algebra.poly(buffer.elem_offset) if outside else {}
        if size is None:
            # the span of a strided buffer: the last element's position, plus one
            size = const(1)
            for extent, stride in zip(sizes, strides):
                size = add(size, multiply(add(extent, const(-1)), stride))
        total = add(size, offset)
        plain = outside and len(sizes) == 1 and not buffer.strides and not offset
        if plain:
            target = buffer
        else:
            target = Buffer(
                buffer.data,
                buffer.dtype,
                (algebra.expr(total, dtype),),
                (),
                IntImm(dtype, 0),
                buffer.name,
                buffer.data_alignment,
                1,
                1,
                (),
            )
        found = self.flat[buffer] = _Flat(target, lows, strides, offset, dtype)
        return found

    def _find(self, buffer: Buffer) -> _Flat:
        found = self.flat.get(buffer)
        if found is None:
            found = self._layout(buffer, buffer.shape, [{} for _ in buffer.shape], True)
        return found

    def _position(self, buffer: Buffer, indices: Any) -> tuple[Buffer, tuple[PrimExpr, ...]]:
        flat = self._find(buffer)
        if len(indices) == 1 and flat.buffer is buffer:
            index = indices[0]
            if index.kinds & ~_LEAVES:
                index = self._normal(index)
            return buffer, (index,)
        if any(info(index.dtype).lanes > 1 for index in indices):
            return flat.buffer, (self._vector_position(flat, indices),)
        algebra = self.algebra
        total = flat.offset
        for index, low, stride in zip(indices, flat.lows, flat.strides):
            value = algebra.poly(index)
            if low:
                value = add(value, low, -1)
            total = add(total, multiply(value, stride))
        dtype = flat.dtype
        if dtype != "int64" and any(index.dtype == "int64" for index in indices):
            dtype = "int64"
        return flat.buffer, (algebra.expr(algebra.merged(total), dtype),)

    def _normal(self, index: PrimExpr) -> PrimExpr:
        if info(index.dtype).lanes > 1:
            return index
        return self.algebra.simplify(index)

    def _vector_position(self, flat: _Flat, indices: Any) -> PrimExpr:
        lanes = max(info(index.dtype).lanes for index in indices)
        total: Any = self.algebra.expr(flat.offset, flat.dtype)
        for index, low, stride in zip(indices, flat.lows, flat.strides):
            value = tir.cast(index, flat.dtype) if info(index.dtype).lanes == 1 else index
            step = self.algebra.expr(stride, flat.dtype)
            if low:
                value = value - self.algebra.expr(low, flat.dtype)
            if type(value) is tir.Ramp:
                value = tir.Ramp(value.base * step, value.stride * step, lanes)
                total = tir.Ramp(total + value.base, value.stride, lanes)
            elif type(total) is tir.Ramp:
                total = tir.Ramp(total.base + value * step, total.stride, lanes)
            else:
                total = total + value * step
        return total  # type: ignore[no-any-return]

    # ---- nodes
    def visit_for_(self, op: Any) -> Any:
        self.algebra.bind(op.loop_var, op.min, op.extent)
        return super().visit_for_(op)

    def visit_buffer_load_(self, op: Any) -> Any:
        buffer, indices = self._position(op.buffer, self._mutate_all(op.indices))
        if buffer is op.buffer and all(a is b for a, b in zip(indices, op.indices)):
            return op
        return tir.BufferLoad(buffer, indices)

    def visit_buffer_store_(self, op: Any) -> Any:
        buffer, indices = self._position(op.buffer, self._mutate_all(op.indices))
        value = self.visit(op.value)
        if (
            buffer is op.buffer
            and value is op.value
            and all(a is b for a, b in zip(indices, op.indices))
        ):
            return op
        return tir.BufferStore(buffer, value, indices)

    def visit_prefetch_(self, op: Any) -> Any:
        """One hint for each cache line of the innermost dimension."""
        lows = [r.min for r in op.bounds]
        step = max(_LINE_BITS // max(info(op.buffer.dtype).bits, 1), 1)
        loops: list[tuple[Var, PrimExpr]] = []
        indices: list[PrimExpr] = []
        for axis, (low, r) in enumerate(zip(lows, op.bounds)):
            extent = r.extent
            scale = step if axis == len(lows) - 1 else 1
            if scale > 1:
                extent = tir.floordiv(extent + (scale - 1), scale)
            extent = self.algebra.simplify(extent)
            if isinstance(extent, IntImm) and extent.value == 1:
                indices.append(low)
                continue
            var = Var(f"line{axis}", extent.dtype)
            loops.append((var, extent))
            self.algebra.bind(var, 0, extent)
            indices.append(low + (var * scale if scale > 1 else var))
        buffer, position = self._position(op.buffer, tuple(indices))
        address = tir.Call("handle", "tir.address_of", [tir.BufferLoad(buffer, position)])
        body: Any = tir.Evaluate(tir.Call("int32", "tir.prefetch", [address, 0, 3, 1]))
        for var, extent in reversed(loops):
            body = tir.For(var, 0, extent, tir.ForKind.SERIAL, body)
        return body

    def visit_buffer_realize_(self, op: Any) -> Any:
        algebra = self.algebra
        inside = op.body
        # what is said about the strides stands right inside
        while type(inside) is tir.AttrStmt:
            if inside.attr_key == "buffer_dim_align" and inside.node is op.buffer:
                axis, factor, offset = [int(arg) for arg in inside.value.args]
                self.aligned.setdefault(op.buffer, {})[axis] = (factor, offset)
            inside = inside.body
        lows = [algebra.poly(r.min) for r in op.bounds]
        extents = [r.extent for r in op.bounds]
        flat = self._layout(op.buffer, extents, lows, False)
        body = self.visit(op.body)
        return tir.Allocate(op.buffer.data, op.buffer.dtype, flat.buffer.shape, op.condition, body)

    def visit_attr_stmt_(self, op: Any) -> Any:
        node = op.node
        if isinstance(node, Buffer):
            if op.attr_key == "buffer_dim_align":
                return self.visit(op.body)
            return tir.AttrStmt(node.data, op.attr_key, self.visit(op.value), self.visit(op.body))
        return super().visit_attr_stmt_(op)


_LEAVES = tir.Var.KIND | tir.SizeVar.KIND | tir.IntImm.KIND


def _index_type(buffer: Buffer, extents: Any) -> str:
    """int32 while every position fits, else int64."""
    wide = any(extent.dtype == "int64" for extent in extents)
    size = 1
    for extent in extents:
        if not isinstance(extent, IntImm):
            # of one dimension the position is the index itself
            return "int64" if wide or len(extents) > 1 or buffer.strides else "int32"
        size *= max(extent.value, 1)
    if buffer.strides:
        size = 1
        for extent, stride in zip(extents, buffer.strides):
            if not isinstance(stride, IntImm):
                return "int64"
            size += abs(stride.value) * max(extent.value, 1)
    return "int64" if wide or size > _INT32_MAX else "int32"


def flatten_storage(func: PrimFunc) -> PrimFunc:
    """Give every access one dimension and turn realised regions into allocations."""
    rewriter = _Flatten()
    rewriter.algebra.bind_sizes(func.buffer_map.values())
    return func.with_body(rewriter(func.body))


StorageFlatten_ = named("StorageFlatten", flatten_storage)
FlattenBuffer = named("FlattenBuffer", flatten_storage)


def StorageFlatten(cache_line_size: int = 64, create_bound_attribute: bool = False) -> Any:
    """The pass ``tir.StorageFlatten``.

    Parameters
    ----------
    cache_line_size, create_bound_attribute
        Accepted as classic programs give them; nothing depends on them.
    """
    return StorageFlatten_()


__all__ = ["FlattenBuffer", "StorageFlatten", "flatten_storage"]
