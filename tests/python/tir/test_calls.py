"""Functions that make calls, above all those that only devices give a meaning."""

import ast
import pathlib

import pytest
import tvm
from tvm import tir
from tvm.tir import op_device

P = tir.Var("p", "handle")
X = tir.Var("x")

# name, arguments, the dtype of the call and its number of arguments
DEVICE_CALLS = [
    ("TVMBackendAllocWorkspace", (1, 0, X, 2, 32), "handle", 5),
    ("TVMBackendFreeWorkspace", (1, 0, P), "int32", 3),
    ("anylist_getitem", (P, 0), "handle", 2),
    ("anylist_resetitem", (P, 0), "int32", 2),
    ("anylist_setitem_call_packed", (P, 0, "f", X), "int32", 4),
    ("anylist_setitem_call_cpacked", (P, 0, "f", X), "int32", 4),
    ("create_barriers", (16,), "void", 1),
    ("end_profile_intrinsic", (1,), "handle", 1),
    ("start_profile_intrinsic", (1,), "handle", 1),
    ("make_filled_simdgroup_matrix", (P, 0, tir.const(0.0)), "handle", 5),
    ("mma_fill", ("int32", 1, P, 0), "int32", 3),
    ("mma_store", ("int32", 1, 1, P, P, 0, 1), "int32", 6),
    ("ptx_arrive_barrier", (1,), "void", 1),
    ("ptx_arrive_barrier_expect_tx", (1, 32), "void", 2),
    ("ptx_commit_group", (), "void", 0),
    ("ptx_cp_async", ("float16", P, 0, P, 0, 16), "float16", 5),
    ("ptx_cp_async_barrier", (1,), "void", 1),
    ("ptx_cp_async_bulk", ("float16", P, 0, P, 0, 16, 1), "float16", 6),
    ("ptx_init_barrier_thread_count", (1, 32), "void", 2),
    ("ptx_ldmatrix", ("float16", False, 4, ".b16", P, 0, P, 0), "float16", 7),
    (
        "ptx_mma",
        ("float32", "m8n8k4", "row", "col", "fp16", "fp16", "fp32", P, 0, P, 0, P, 0, False),
        "float32",
        13,
    ),
    (
        "ptx_mma_sp",
        ("float32", "m16n8k16", "row", "col", "fp16", "fp16", "fp32", P, 0, P, 0, P, 0, P, 0, 0,
         False),
        "float32",
        16,
    ),
    ("ptx_wait_barrier", (1,), "void", 1),
    ("ptx_wait_group", (2,), "void", 1),
    ("q_multiply_shift_per_axis", (X, X, 1, 2, 31, True, False), "int32", 7),
    ("simdgroup_load", (P, 0, P, 8), "handle", 7),
    ("simdgroup_store", (P, 0, P, 8), "handle", 7),
    ("simdgroup_multiply_accumulate", (P, 0, P, 0, P, 0, P, 0), "handle", 8),
    ("tvm_bmma_sync", (P, 0, P, 0, P, 0, P, 0), "handle", 8),
    ("tvm_mma_sync", (P, 0, P, 0, P, 0, P, 0), "handle", 8),
    ("tvm_fill_fragment", (P, 16, 16, 16, 0, tir.const(0.0)), "handle", 6),
    ("tvm_load_matrix_sync", (P, 16, 16, 16, 0, P, 64, "row_major"), "handle", 8),
    ("tvm_store_matrix_sync", (P, 16, 16, 16, 0, P, 64, "row_major"), "handle", 8),
]  # fmt: skip


def test_every_device_call_has_a_sample():
    assert {item[0] for item in DEVICE_CALLS} == set(op_device.__all__)


@pytest.mark.parametrize("name, args, dtype, count", DEVICE_CALLS, ids=lambda item: str(item)[:30])
def test_device_calls(name, args, dtype, count):
    made = getattr(tir, name)(*args)
    assert made.op is tvm.ir.Op.get("tir." + name)
    assert made.dtype == dtype and len(made.args) == count
    # None of them may be taken for an expression without effect and dropped.
    assert tir.analysis.side_effect(made) >= tir.CallEffect.ReadState or "q_mul" in name
    assert tvm.ir.structural_equal(tvm.ir.load_json(tvm.ir.save_json(made)), made, True)
    assert f"T.{name}(" in str(made)


def test_mma_takes_an_operator_at_the_end():
    args = DEVICE_CALLS[[item[0] for item in DEVICE_CALLS].index("ptx_mma")][1]
    assert tir.ptx_mma(*args, "xor").args[-1] == "xor"


def test_functor_methods_spelled_out_for_type_checkers_are_all_there_are():
    from tvm.tir import functor

    tree = ast.parse(pathlib.Path(functor.__file__).read_text(encoding="utf-8"))
    spelled = {
        item.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name == "Methods"
        for item in node.body
        if isinstance(item, ast.FunctionDef)
    }
    classes = functor.EXPR_CLASSES + functor.STMT_CLASSES
    assert spelled == {functor.method_name(cls) for cls in classes}


def test_constants_are_found_where_older_programs_look():
    assert tir.expr.const is tir.const is tir.op.const
