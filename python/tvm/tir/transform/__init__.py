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
from .hoist_if_then_else import HoistIfThenElse
from .inject_double_buffer import InjectDoubleBuffer
from .inject_prefetch import InjectPrefetch
from .inject_rolling_buffer import InjectRollingBuffer
from .inject_virtual_thread import InjectVirtualThread
from .loop_partition import LoopPartition
from .promote_index import PromoteIndex
from .remove_no_op import RemoveNoOp
from .rewrite_unsafe_select import RewriteUnsafeSelect
from .simplify import Simplify
from .storage_flatten import FlattenBuffer, StorageFlatten
from .storage_rewrite import StorageRewrite
from .unroll_loop import UnrollLoop
from .vectorize_loop import VectorizeLoop
from .verify_bounds import VerifyBounds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .apply import AnnotateEntryFunc as AnnotateEntryFunc
    from .apply import Apply as Apply
    from .apply import BindTarget as BindTarget
    from .apply import Filter as Filter
    from .combine_context_call import CombineContextCall as CombineContextCall
    from .common_subexpr_elim import CommonSubexprElimTIR as CommonSubexprElimTIR
    from .common_subexpr_elim import RestoreCommonSubexpr as RestoreCommonSubexpr
    from .convert_blocks_to_opaque import ConvertBlocksToOpaque as ConvertBlocksToOpaque
    from .instrument_bound_checkers import InstrumentBoundCheckers as InstrumentBoundCheckers
    from .lift_attr_scope import LiftAttrScope as LiftAttrScope
    from .lower_init_block import LowerInitBlock as LowerInitBlock
    from .lower_intrin import LowerIntrin as LowerIntrin
    from .lower_opaque_block import LowerOpaqueBlock as LowerOpaqueBlock
    from .make_packed_api import MakePackedAPI as MakePackedAPI
    from .narrow_data_type import NarrowDataType as NarrowDataType
    from .narrow_float_legalize import BF16ComputeLegalize as BF16ComputeLegalize
    from .narrow_float_legalize import BF16StorageLegalize as BF16StorageLegalize
    from .narrow_float_legalize import FP8ComputeLegalize as FP8ComputeLegalize
    from .narrow_float_legalize import FP8StorageLegalize as FP8StorageLegalize
    from .small_passes import ConvertForLoopsToSerial as ConvertForLoopsToSerial
    from .small_passes import ConvertSSA as ConvertSSA
    from .small_passes import DecorateDeviceScope as DecorateDeviceScope
    from .small_passes import RemoveAssume as RemoveAssume
    from .small_passes import RemoveStoreUndef as RemoveStoreUndef
    from .small_passes import SkipAssert as SkipAssert
    from .verify_memory import VerifyMemory as VerifyMemory

# what is not part of every lowering is loaded when it is first used: name -> file
_LATER = {
    "AnnotateEntryFunc": "apply",
    "Apply": "apply",
    "BF16ComputeLegalize": "narrow_float_legalize",
    "BF16StorageLegalize": "narrow_float_legalize",
    "BindTarget": "apply",
    "CombineContextCall": "combine_context_call",
    "CommonSubexprElimTIR": "common_subexpr_elim",
    "ConvertBlocksToOpaque": "convert_blocks_to_opaque",
    "ConvertForLoopsToSerial": "small_passes",
    "ConvertSSA": "small_passes",
    "DecorateDeviceScope": "small_passes",
    "FP8ComputeLegalize": "narrow_float_legalize",
    "FP8StorageLegalize": "narrow_float_legalize",
    "Filter": "apply",
    "InstrumentBoundCheckers": "instrument_bound_checkers",
    "LiftAttrScope": "lift_attr_scope",
    "LowerIntrin": "lower_intrin",
    "LowerInitBlock": "lower_init_block",
    "LowerOpaqueBlock": "lower_opaque_block",
    "MakePackedAPI": "make_packed_api",
    "NarrowDataType": "narrow_data_type",
    "RemoveAssume": "small_passes",
    "RemoveStoreUndef": "small_passes",
    "RestoreCommonSubexpr": "common_subexpr_elim",
    "SkipAssert": "small_passes",
    "VerifyMemory": "verify_memory",
}


def __getattr__(name: str) -> object:
    home = _LATER.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


__all__ = [
    "FlattenBuffer",
    "HoistIfThenElse",
    "InjectDoubleBuffer",
    "InjectPrefetch",
    "InjectRollingBuffer",
    "InjectVirtualThread",
    "LoopPartition",
    "PrimFuncPass",
    "PromoteIndex",
    "RemoveNoOp",
    "RewriteUnsafeSelect",
    "Simplify",
    "StorageFlatten",
    "StorageRewrite",
    "UnrollLoop",
    "VectorizeLoop",
    "VerifyBounds",
    "prim_func_pass",
]
__all__ += sorted(_LATER)
