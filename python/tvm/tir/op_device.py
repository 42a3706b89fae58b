"""Calls that only some devices have: barriers, asynchronous copies, matrix units, workspaces.

Each makes a call; what it means is up to the code generator of the device.
"""

from __future__ import annotations

from .expr import Call, convert

__all__ = [
    "TVMBackendAllocWorkspace", "TVMBackendFreeWorkspace", "anylist_getitem", "anylist_resetitem",
    "anylist_setitem_call_cpacked", "anylist_setitem_call_packed", "create_barriers",
    "end_profile_intrinsic", "make_filled_simdgroup_matrix", "mma_fill", "mma_store",
    "ptx_arrive_barrier", "ptx_arrive_barrier_expect_tx", "ptx_commit_group", "ptx_cp_async",
    "ptx_cp_async_barrier", "ptx_cp_async_bulk", "ptx_init_barrier_thread_count", "ptx_ldmatrix",
    "ptx_mma", "ptx_mma_sp", "ptx_wait_barrier", "ptx_wait_group", "q_multiply_shift_per_axis",
    "simdgroup_load", "simdgroup_multiply_accumulate", "simdgroup_store",
    "start_profile_intrinsic", "tvm_bmma_sync", "tvm_fill_fragment", "tvm_load_matrix_sync",
    "tvm_mma_sync", "tvm_store_matrix_sync",
]  # fmt: skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# --- workspaces and lists ---


def TVMBackendAllocWorkspace(
    device_type: int, device_id: int, nbytes: Any, dtype_code_hint: int, dtype_bits_hint: int
) -> Any:
    """Memory of `nbytes` bytes on a device; the last two say what it is going to hold."""
    args = [device_type, device_id, nbytes, dtype_code_hint, dtype_bits_hint]
    return Call("handle", "tir.TVMBackendAllocWorkspace", args)


def TVMBackendFreeWorkspace(device_type: int, device_id: int, ptr: Any) -> Any:
    """Give such memory back; 0 when that worked."""
    return Call("int32", "tir.TVMBackendFreeWorkspace", [device_type, device_id, ptr])


def anylist_getitem(list_handle: Any, index: Any) -> Any:
    """An element of a list of values of any type."""
    return Call("handle", "tir.anylist_getitem", [list_handle, index])


def anylist_resetitem(list_handle: Any, index: Any) -> Any:
    """Forget an element of such a list."""
    return Call("int32", "tir.anylist_resetitem", [list_handle, index])


def anylist_setitem_call_packed(list_handle: Any, index: Any, func_name: str, *args: Any) -> Any:
    """Store the result of a packed call in such a list."""
    return Call("int32", "tir.anylist_setitem_call_packed", [list_handle, index, func_name, *args])


def anylist_setitem_call_cpacked(list_handle: Any, index: Any, func_name: str, *args: Any) -> Any:
    """As `anylist_setitem_call_packed`, by the C interface without a look-up."""
    return Call("int32", "tir.anylist_setitem_call_cpacked", [list_handle, index, func_name, *args])


def start_profile_intrinsic(id: int) -> Any:
    """The begin of a measured section."""
    return Call("handle", "tir.start_profile_intrinsic", [id])


def end_profile_intrinsic(id: int) -> Any:
    """The end of a measured section."""
    return Call("handle", "tir.end_profile_intrinsic", [id])


def q_multiply_shift_per_axis(
    x: Any, y: Any, ls: Any, rs: Any, q: Any, is_lshift_required: Any, is_rshift_required: Any
) -> Any:
    """As `q_multiply_shift`, with shifts to the left and to the right that differ by axis."""
    x = convert(x)
    args = [x, y, ls, rs, q, is_lshift_required, is_rshift_required]
    return Call(x.dtype, "tir.q_multiply_shift_per_axis", args)


# --- barriers and asynchronous copies ---


def create_barriers(barrier_count: int) -> Any:
    """Make `barrier_count` barriers in shared memory."""
    return Call("void", "tir.create_barriers", [barrier_count])


def ptx_init_barrier_thread_count(barrier_id: int, thread_count: int) -> Any:
    """Say for how many threads a barrier waits."""
    return Call("void", "tir.ptx_init_barrier_thread_count", [barrier_id, thread_count])


def ptx_arrive_barrier(barrier_id: int) -> Any:
    """Arrive at a barrier."""
    return Call("void", "tir.ptx_arrive_barrier", [barrier_id])


def ptx_arrive_barrier_expect_tx(barrier_id: int, byte_count: int) -> Any:
    """Arrive at a barrier that also waits for `byte_count` bytes."""
    return Call("void", "tir.ptx_arrive_barrier_expect_tx", [barrier_id, byte_count])


def ptx_wait_barrier(barrier_id: int) -> Any:
    """Wait at a barrier."""
    return Call("void", "tir.ptx_wait_barrier", [barrier_id])


def ptx_cp_async_barrier(barrier_id: int) -> Any:
    """Let a barrier wait for the copies so far."""
    return Call("void", "tir.ptx_cp_async_barrier", [barrier_id])


def ptx_cp_async(
    dtype: str, shared_ptr: Any, shared_offset: Any, global_ptr: Any, global_offset: Any, bytes: Any
) -> Any:
    """Begin to copy `bytes` bytes from global to shared memory."""
    args = [shared_ptr, shared_offset, global_ptr, global_offset, bytes]
    return Call(dtype, "tir.ptx_cp_async", args)


def ptx_cp_async_bulk(
    dtype: str,
    shared_ptr: Any,
    shared_offset: Any,
    global_ptr: Any,
    global_offset: Any,
    bytes: Any,
    barrier_id: int,
) -> Any:
    """As `ptx_cp_async`, a bulk that a barrier counts."""
    args = [shared_ptr, shared_offset, global_ptr, global_offset, bytes, barrier_id]
    return Call(dtype, "tir.ptx_cp_async_bulk", args)


def ptx_commit_group() -> Any:
    """The copies since the last one are one group."""
    return Call("void", "tir.ptx_commit_group", [])


def ptx_wait_group(num: int) -> Any:
    """Wait until at most `num` groups are on their way."""
    return Call("void", "tir.ptx_wait_group", [num])


# --- matrix units ---


def ptx_mma(
    dtype: str,
    shape: str,
    A_layout: str,
    B_layout: str,
    A_dtype: str,
    B_dtype: str,
    C_dtype: str,
    multiplicand_a: Any,
    a_index: Any,
    multiplicand_b: Any,
    b_index: Any,
    accumulator: Any,
    c_index: Any,
    saturate: bool,
    operator: str | None = None,
) -> Any:
    """Multiply two fragments and add to a third, for instance of shape "m16n8k8"."""
    args: list[Any] = [
        shape, A_layout, B_layout, A_dtype, B_dtype, C_dtype, multiplicand_a, a_index,
        multiplicand_b, b_index, accumulator, c_index, saturate,
    ]  # fmt: skip
    if operator is not None:
        args.append(operator)
    return Call(dtype, "tir.ptx_mma", args)


def ptx_mma_sp(
    dtype: str,
    shape: str,
    A_layout: str,
    B_layout: str,
    A_dtype: str,
    B_dtype: str,
    C_dtype: str,
    multiplicand_a: Any,
    a_index: Any,
    multiplicand_b: Any,
    b_index: Any,
    accumulator: Any,
    c_index: Any,
    metadata: Any,
    meta_index: Any,
    sparse_selector: Any,
    saturate: bool,
) -> Any:
    """As `ptx_mma` with a sparse first operand."""
    args = [
        shape, A_layout, B_layout, A_dtype, B_dtype, C_dtype, multiplicand_a, a_index,
        multiplicand_b, b_index, accumulator, c_index, metadata, meta_index, sparse_selector,
        saturate,
    ]  # fmt: skip
    return Call(dtype, "tir.ptx_mma_sp", args)


def mma_store(
    dtype: str, m: Any, n: Any, dst_ptr: Any, src_ptr: Any, src_offset: Any, dst_stride: Any
) -> Any:
    """Store what `ptx_mma` left in registers."""
    args = [m, n, dst_ptr, src_ptr, src_offset, dst_stride]
    return Call(dtype, "tir.mma_store", args)


def mma_fill(dtype: str, local_size: Any, local_ptr: Any, offset: Any) -> Any:
    """Set the registers of `ptx_mma` to zero."""
    return Call(dtype, "tir.mma_fill", [local_size, local_ptr, offset])


def ptx_ldmatrix(
    dtype: str,
    trans: bool,
    num: int,
    type: str,
    local_ptr: Any,
    local_offset: Any,
    smem_ptr: Any,
    smem_offset: Any,
) -> Any:
    """Load `num` matrices from shared memory into registers."""
    args = [trans, num, type, local_ptr, local_offset, smem_ptr, smem_offset]
    return Call(dtype, "tir.ptx_ldmatrix", args)


def tvm_load_matrix_sync(
    fragment: Any, m: Any, n: Any, k: Any, index: Any, buffer_ptr: Any, stride: Any, layout: str
) -> Any:
    """Load a fragment from memory, "row_major" or "col_major"."""
    args = [fragment, m, n, k, index, buffer_ptr, stride, layout]
    return Call("handle", "tir.tvm_load_matrix_sync", args)


def tvm_store_matrix_sync(
    fragment: Any, m: Any, n: Any, k: Any, index: Any, buffer_ptr: Any, stride: Any, layout: str
) -> Any:
    """Store a fragment to memory, "row_major" or "col_major"."""
    args = [fragment, m, n, k, index, buffer_ptr, stride, layout]
    return Call("handle", "tir.tvm_store_matrix_sync", args)


def tvm_fill_fragment(fragment: Any, m: Any, n: Any, k: Any, index: Any, value: Any) -> Any:
    """Set a fragment to one value."""
    return Call("handle", "tir.tvm_fill_fragment", [fragment, m, n, k, index, value])


def tvm_mma_sync(
    fragment_d: Any,
    index_d: Any,
    fragment_a: Any,
    index_a: Any,
    fragment_b: Any,
    index_b: Any,
    fragment_c: Any,
    index_c: Any,
) -> Any:
    """D = A * B + C, of fragments."""
    args = [fragment_d, index_d, fragment_a, index_a, fragment_b, index_b, fragment_c, index_c]
    return Call("handle", "tir.tvm_mma_sync", args)


def tvm_bmma_sync(
    fragment_d: Any,
    index_d: Any,
    fragment_a: Any,
    index_a: Any,
    fragment_b: Any,
    index_b: Any,
    fragment_c: Any,
    index_c: Any,
) -> Any:
    """D = A * B + C, of fragments of single bits."""
    args = [fragment_d, index_d, fragment_a, index_a, fragment_b, index_b, fragment_c, index_c]
    return Call("handle", "tir.tvm_bmma_sync", args)


def make_filled_simdgroup_matrix(d: Any, index: Any, value: Any, col: int = 8, row: int = 8) -> Any:
    """Set a matrix of a SIMD group to one value."""
    return Call("handle", "tir.make_filled_simdgroup_matrix", [d, index, value, col, row])


def simdgroup_load(
    d: Any,
    index: Any,
    ptr: Any,
    stride: Any,
    col: int = 8,
    row: int = 8,
    transpose_matrix: bool = False,
) -> Any:
    """Load a matrix of a SIMD group."""
    args = [d, index, ptr, stride, col, row, transpose_matrix]
    return Call("handle", "tir.simdgroup_load", args)


def simdgroup_store(
    d: Any,
    index: Any,
    ptr: Any,
    stride: Any,
    col: int = 8,
    row: int = 8,
    transpose_matrix: bool = False,
) -> Any:
    """Store a matrix of a SIMD group."""
    args = [d, index, ptr, stride, col, row, transpose_matrix]
    return Call("handle", "tir.simdgroup_store", args)


def simdgroup_multiply_accumulate(
    d: Any, index_d: Any, a: Any, index_a: Any, b: Any, index_b: Any, c: Any, index_c: Any
) -> Any:
    """D = A * B + C, of matrices of a SIMD group."""
    args = [d, index_d, a, index_a, b, index_b, c, index_c]
    return Call("handle", "tir.simdgroup_multiply_accumulate", args)
