"""Compute with bfloat16 and fp8 in float32, rounding once after each operation.

    C[i] = A[i] + B[i] * x     ->     C[i] = T.Cast("bfloat16", T.Cast("float32", A[i])
                                          + T.Cast("float32", T.Cast("bfloat16",
                                              T.Cast("float32", B[i]) * T.Cast("float32", x))))

That is what the operations mean: the exact result, rounded to nearest even. float32 has enough bits
that rounding to it first changes nothing.
"""

from __future__ import annotations

from tvm import tir
from tvm.ir.dtype import info, with_lanes
from tvm.tir import Buffer, PrimFunc, Var
from tvm.tir.stmt_functor import StmtExprMutator

from .function_pass import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# calls whose arguments may be of any type, or that only move values
_MOVES = {
    "tir.if_then_else", "tir.likely", "tir.reinterpret", "tir.address_of", "tir.tvm_access_ptr",
    "tir.call_extern", "tir.call_pure_extern", "tir.tvm_call_packed", "tir.tvm_call_cpacked",
    "tir.call_llvm_intrin", "tir.call_llvm_pure_intrin", "tir.tvm_stack_make_array",
    "tir.type_annotation", "tir.vectorhigh", "tir.vectorlow", "tir.vectorcombine", "tir.ret",
    "tir.prefetch", "tir.undef", "tir.assume", "tir.tvm_struct_get", "tir.tvm_struct_set",
}  # fmt: skip


class _Compute(StmtExprMutator):
    """Operations on one family of types move to float32."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def _narrow(self, dtype: str) -> bool:
        return info(dtype).kind == self.kind

    @staticmethod
    def _wide(expr: Any) -> Any:
        return tir.Cast(with_lanes("float32", info(expr.dtype).lanes), expr)

    def _operation(self, op: Any) -> Any:
        a, b = self.visit(op.a), self.visit(op.b)
        if not self._narrow(op.a.dtype):
            return op if a is op.a and b is op.b else type(op)(a, b)
        made = type(op)(self._wide(a), self._wide(b))
        return tir.Cast(op.dtype, made) if self._narrow(op.dtype) else made

    visit_add_ = visit_sub_ = visit_mul_ = visit_div_ = visit_min_ = visit_max_ = _operation
    visit_mod_ = visit_floor_div_ = visit_floor_mod_ = _operation
    visit_lt_ = visit_le_ = visit_gt_ = visit_ge_ = visit_eq_ = visit_ne_ = _operation

    def visit_call_(self, op: Any) -> Any:
        made = super().visit_call_(op)
        name = getattr(made.op, "name", "")
        if name in _MOVES or not any(self._narrow(arg.dtype) for arg in made.args):
            return made
        args = [self._wide(arg) if self._narrow(arg.dtype) else arg for arg in made.args]
        if not self._narrow(made.dtype):
            return tir.Call(made.dtype, made.op, args)
        wide = with_lanes("float32", info(made.dtype).lanes)
        return tir.Cast(made.dtype, tir.Call(wide, made.op, args))


class _Uses(StmtExprMutator):
    """Whether a type of one family occurs in loads, casts or constants."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.found = False

    def _look(self, op: Any) -> Any:
        if info(op.dtype).kind == self.kind:
            self.found = True
        return op

    def visit_cast_(self, op: Any) -> Any:
        self._look(op)
        return super().visit_cast_(op)

    def visit_buffer_load_(self, op: Any) -> Any:
        self._look(op)
        return super().visit_buffer_load_(op)

    visit_float_imm_ = visit_var_ = _look


def _legalize(func: PrimFunc, kind: str) -> PrimFunc:
    uses = _Uses(kind)
    uses(func.body)
    return func.with_body(_Compute(kind)(func.body)) if uses.found else func


class _Store(StmtExprMutator):
    """Temporaries and parameters of one family become unsigned integers of the same bits."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.buffers: dict[Buffer, Buffer] = {}
        self.pointers: dict[Var, Var] = {}

    def bits(self, dtype: str) -> str:
        """The integer type of the same size."""
        found = info(dtype)
        return with_lanes(f"uint{found.bits}", found.lanes)

    def narrow(self, dtype: str) -> bool:
        """Whether a type is of the family."""
        return info(dtype).kind == self.kind

    def pointer(self, var: Var, dtype: str) -> Var:
        """The pointer to the integers."""
        found = self.pointers.get(var)
        if found is None:
            from tvm.ir.type import PointerType, PrimType

            scope = getattr(var.type_annotation, "storage_scope", "")
            found = Var(var.name, PointerType(PrimType(self.bits(dtype)), scope))
            self.pointers[var] = found
        return found

    def buffer(self, buffer: Buffer) -> Buffer:
        """The buffer of integers."""
        found = self.buffers.get(buffer)
        if found is None:
            found = buffer
            if self.narrow(buffer.dtype):
                found = Buffer(
                    self.pointer(buffer.data, buffer.dtype), self.bits(buffer.dtype), buffer.shape,
                    buffer.strides, buffer.elem_offset, buffer.name, buffer.data_alignment,
                    buffer.offset_factor, buffer.buffer_type, buffer.axis_separators,
                )  # fmt: skip
            self.buffers[buffer] = found
        return found

    def visit_var_(self, op: Any) -> Any:
        return self.pointers.get(op, op)

    def visit_buffer_load_(self, op: Any) -> Any:
        made = super().visit_buffer_load_(op)
        buffer = self.buffer(made.buffer)
        if buffer is made.buffer:
            return made
        load = tir.BufferLoad(buffer, made.indices)
        return tir.Call(made.dtype, "tir.reinterpret", [load])

    def visit_buffer_store_(self, op: Any) -> Any:
        made = super().visit_buffer_store_(op)
        buffer = self.buffer(made.buffer)
        if buffer is made.buffer:
            return made
        value = tir.Call(self.bits(made.value.dtype), "tir.reinterpret", [made.value])
        return tir.BufferStore(buffer, value, made.indices)

    def visit_call_(self, op: Any) -> Any:
        if getattr(op.op, "name", "") == "tir.address_of":
            load = op.args[0]
            buffer = self.buffer(load.buffer)
            if buffer is not load.buffer:
                indices = self._mutate_all(load.indices)
                return tir.Call(op.dtype, op.op, [tir.BufferLoad(buffer, indices)])
        return super().visit_call_(op)

    def visit_allocate_(self, op: Any) -> Any:
        if not self.narrow(op.dtype):
            return super().visit_allocate_(op)
        var = self.pointer(op.buffer_var, op.dtype)
        return tir.Allocate(
            var, self.bits(op.dtype), self._mutate_all(op.extents), op.condition,
            self.visit(op.body), op.annotations,
        )  # fmt: skip

    def visit_decl_buffer_(self, op: Any) -> Any:
        return tir.DeclBuffer(self.buffer(op.buffer), self.visit(op.body))


def _store_as_bits(func: PrimFunc, kind: str) -> PrimFunc:
    rewriter = _Store(kind)
    table = {param: rewriter.buffer(buffer) for param, buffer in func.buffer_map.items()}
    body = rewriter(func.body)
    if body is func.body and all(table[p] is b for p, b in func.buffer_map.items()):
        return func
    return PrimFunc(func.params, body, func.ret_type, table, func.attrs)


def bf16_compute_legalize(func: PrimFunc) -> PrimFunc:
    """Compute with bfloat16 in float32."""
    return _legalize(func, "bfloat")


def fp8_compute_legalize(func: PrimFunc) -> PrimFunc:
    """Compute with 8-bit floats in float32."""
    return _legalize(func, "fp8")


def bf16_storage_legalize(func: PrimFunc) -> PrimFunc:
    """Keep bfloat16 in memory as 16-bit integers of the same bits."""
    return _store_as_bits(func, "bfloat")


def fp8_storage_legalize(func: PrimFunc) -> PrimFunc:
    """Keep 8-bit floats in memory as 8-bit integers of the same bits."""
    return _store_as_bits(func, "fp8")


BF16ComputeLegalize = named("BF16ComputeLegalize", bf16_compute_legalize)
BF16StorageLegalize = named("BF16StorageLegalize", bf16_storage_legalize)
FP8StorageLegalize = named("FP8StorageLegalize", fp8_storage_legalize)
_FP8Compute = named("FP8ComputeLegalize", fp8_compute_legalize)


def FP8ComputeLegalize(promote_dtype_str: str = "float32") -> Any:
    """The pass ``tir.FP8ComputeLegalize``.

    Parameters
    ----------
    promote_dtype_str : str
        Accepted as classic programs give it; operations are computed in float32.
    """
    return _FP8Compute()
