"""The operators that a `Call` may name, with what each may do besides giving a result."""

from __future__ import annotations

from ..ir.op import register_op
from .expr import CallEffect

_PURE = """
abs acos acosh address_of asin asinh atan atan2 atanh bitwise_and bitwise_not bitwise_or
bitwise_xor call_llvm_pure_intrin call_pure_extern call_spirv_pure_glsl450 ceil clz copysign cos
cosh erf exp exp10 exp2 fabs floor fma fmod hypot if_then_else isfinite isinf isnan isnullptr
large_uint_imm ldexp likely log log10 log1p log2 nearbyint nextafter popcount pow q_multiply_shift
q_multiply_shift_per_axis reinterpret round rsqrt shift_left shift_right sigmoid sin sinh sqrt tan
tanh trunc tvm_static_handle tvm_tuple type_annotation undef vectorcombine vectorhigh vectorlow
vscale get_active_lane_mask dp4a
"""

_READS = """
TVMBackendAnyListSetPackedArg anylist_getitem lookup_param ptx_ldmatrix texture2d_load
tvm_access_ptr tvm_context_id tvm_load_matrix_sync tvm_struct_get tvm_thread_context
"""

_OPAQUE = """
TVMBackendAllocWorkspace TVMBackendFreeWorkspace anylist_resetitem anylist_setitem_call_cpacked
anylist_setitem_call_packed assume atomic_add call_extern call_llvm_intrin create_barriers
cuda_fmax cuda_fmin dma_copy dma_end_group dma_start_group dma_wait end_profile_intrinsic mem_copy
mma_fill mma_store prefetch ptx_arrive_barrier ptx_arrive_barrier_expect_tx ptx_commit_group
ptx_cp_async ptx_cp_async_barrier ptx_cp_async_bulk ptx_init_barrier_thread_count ptx_mma
ptx_mma_sp ptx_wait_barrier ptx_wait_group simdgroup_load simdgroup_multiply_accumulate
simdgroup_store make_filled_simdgroup_matrix start_profile_intrinsic texture2d_store tvm_bmma_sync
tvm_call_cpacked tvm_call_cpacked_lowered tvm_call_packed tvm_call_packed_lowered
tvm_call_trace_packed tvm_call_trace_packed_lowered tvm_check_return tvm_fill_fragment
tvm_global_barrier_kinit tvm_mma_sync tvm_stack_alloca tvm_stack_make_array tvm_stack_make_shape
tvm_storage_sync tvm_store_matrix_sync tvm_struct_set tvm_thread_allreduce tvm_thread_invariant
tvm_throw_last_error tvm_warp_activemask tvm_warp_shuffle tvm_warp_shuffle_down
tvm_warp_shuffle_up
"""

_JUMPS = "ret continue_loop break_loop"


def _register() -> None:
    for names, effect in (
        (_PURE, CallEffect.Pure),
        (_READS, CallEffect.ReadState),
        (_OPAQUE, CallEffect.Opaque),
        (_JUMPS, CallEffect.ControlJump),
    ):
        for name in names.split():
            register_op("tir." + name, TCallEffectKind=effect)


_register()
