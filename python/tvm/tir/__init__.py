"""The low-level language: loops, buffers, scalar and vector expressions."""

from ..ir.base import set_printer as _set_printer
from ..ir.expr import PrimExpr
from ..runtime import object_generic as _object_generic
from . import buffer, expr, function, generic, numeric, op, operators, stmt, stmt_functor
from .buffer import Buffer, decl_buffer
from .expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BinaryOpExpr,
    Broadcast,
    BufferLoad,
    Call,
    CallEffect,
    Cast,
    CmpExpr,
    CommReducer,
    ConstExpr,
    DataProducer,
    Div,
    ExprOp,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    IterVar,
    Let,
    LogicalExpr,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    PrimExprWithOp,
    ProducerLoad,
    Ramp,
    Reduce,
    Select,
    Shuffle,
    SizeVar,
    StringImm,
    Sub,
    Var,
)  # fmt: skip
from .expr import Any_ as Any
from .function import PrimFunc, TensorIntrin
from .op import *  # noqa: F403
from .stmt import (
    Allocate,
    AllocateConst,
    AssertStmt,
    AttrStmt,
    Block,
    BlockRealize,
    BufferRealize,
    BufferRegion,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    MatchBufferRegion,
    Prefetch,
    ProducerRealize,
    ProducerStore,
    SeqStmt,
    Stmt,
    While,
    stmt_list,
    stmt_seq,
)  # fmt: skip

__all__ = [
    "Add", "Allocate", "AllocateConst", "And", "Any", "AssertStmt", "AttrStmt", "BinaryOpExpr",
    "Block", "BlockRealize", "Broadcast", "Buffer", "BufferLoad", "BufferRealize", "BufferRegion",
    "BufferStore", "Call", "CallEffect", "Cast", "CmpExpr", "CommReducer", "ConstExpr",
    "DataProducer", "DeclBuffer", "Div", "EQ", "Evaluate", "ExprOp", "FloatImm", "FloorDiv",
    "FloorMod", "For", "ForKind", "GE", "GT", "IfThenElse", "IntImm", "IterVar", "LE", "LT", "Let",
    "LetStmt", "LogicalExpr", "MatchBufferRegion", "Max", "Min", "Mod", "Mul", "NE", "Not", "Or",
    "Prefetch", "PrimExpr", "PrimExprWithOp", "PrimFunc", "ProducerLoad", "ProducerRealize",
    "ProducerStore", "Ramp", "Reduce", "Select", "SeqStmt", "Shuffle", "SizeVar", "Stmt",
    "StringImm", "Sub", "TensorIntrin", "Var", "While", "buffer", "decl_buffer", "expr", "function",
    "generic", "numeric", "op", "operators", "stmt", "stmt_functor", "stmt_list", "stmt_seq",
]  # fmt: skip
__all__ += op.__all__

_object_generic.set_node_constructors(IntImm, FloatImm)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import analysis as analysis
    from . import arg_table as arg_table
    from . import data_layout as data_layout
    from . import interpreter as interpreter
    from . import ir_builder as ir_builder
    from . import printer as printer
    from . import transform as transform
    from . import verify as verify
    from .data_layout import BijectiveLayout as BijectiveLayout
    from .data_layout import Layout as Layout
    from .data_layout import bijective_layout as bijective_layout
    from .data_layout import layout as layout

_LAZY = {
    "transform": "transform",
    "ir_builder": "ir_builder",
    "interpreter": "interpreter",
    "printer": "printer",
    "verify": "verify",
    "analysis": "analysis",
    "arg_table": "arg_table",
    "data_layout": "data_layout",
}


# Names whose home is a module that is loaded when it is first used.
_LATER = {
    "Layout": "tvm.tir.data_layout",
    "BijectiveLayout": "tvm.tir.data_layout",
    "layout": "tvm.tir.data_layout",
    "bijective_layout": "tvm.tir.data_layout",
    "IndexMap": "tvm.arith.index_map",
}
_ABSENT = ("Schedule", "ScheduleState", "BlockScope", "schedule", "tensor_intrin")


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _LAZY:
        return import_module(f"{__name__}.{name}")
    if name in _LATER:
        found = globals()[name] = getattr(import_module(_LATER[name]), name)
        return found
    if name in _ABSENT:
        raise AttributeError(
            f"tvm.tir.{name}: schedules of TIR blocks are not part of this package, schedules of "
            "tensor expressions are (tvm.te.create_schedule); see docs/migration.md"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _to_text(node: object) -> str:
    from .printer import to_text

    return to_text(node)


_set_printer(_to_text)
