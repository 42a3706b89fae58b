"""Passes over functions of the low-level language, one a file, each usable alone.

Examples
--------
>>> import tvm
>>> from tvm import te
>>> A = te.placeholder((8,), name="A")
>>> B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
>>> mod = tvm.lower(te.create_schedule(B.op), [A, B])
>>> mod = tvm.tir.transform.Simplify()(mod)
"""

from .function_pass import PrimFuncPass, prim_func_pass
from .loop_partition import LoopPartition
from .remove_no_op import RemoveNoOp
from .rewrite_unsafe_select import RewriteUnsafeSelect
from .simplify import Simplify
from .storage_flatten import FlattenBuffer, StorageFlatten
from .unroll_loop import UnrollLoop
from .vectorize_loop import VectorizeLoop
from .verify_bounds import VerifyBounds

__all__ = [
    "FlattenBuffer",
    "LoopPartition",
    "PrimFuncPass",
    "RemoveNoOp",
    "RewriteUnsafeSelect",
    "Simplify",
    "StorageFlatten",
    "UnrollLoop",
    "VectorizeLoop",
    "VerifyBounds",
    "prim_func_pass",
]
