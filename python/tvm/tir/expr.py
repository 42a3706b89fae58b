"""Expression nodes.

The constructors build exactly the node asked for; constant folding and the matching of operand
types belong to the operators (`tvm.tir.operators`), which the classes here receive as methods.
"""

from __future__ import annotations

from ..ir.expr import PrimExpr
from .expr_access import (
    Any_,
    BufferLoad,
    Call,
    CallEffect,
    CommReducer,
    DataProducer,
    IterVar,
    Let,
    ProducerLoad,
    Reduce,
    convert_argument,
    load_dtype,
)
from .expr_operators import (
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
    Cast,
    CmpExpr,
    Div,
    FloorDiv,
    FloorMod,
    LogicalExpr,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Ramp,
    Select,
    Shuffle,
    Sub,
    UnaryOpExpr,
)
from .expr_values import (
    DATA,
    ConstExpr,
    ExprOp,
    FloatImm,
    IntImm,
    PrimExprWithOp,
    SizeVar,
    StringImm,
    Var,
    const,
    const_of,
    convert,
    new_kind,
)

__all__ = [
    "Add", "And", "Any_", "BinaryOpExpr", "Broadcast", "BufferLoad", "Call", "CallEffect", "Cast",
    "CmpExpr", "CommReducer", "ConstExpr", "DATA", "DataProducer", "Div", "EQ", "ExprOp",
    "FloatImm", "FloorDiv", "FloorMod", "GE", "GT", "IntImm", "IterVar", "LE", "LT", "Let",
    "LogicalExpr", "Max", "Min", "Mod", "Mul", "NE", "Not", "Or", "PrimExpr", "PrimExprWithOp",
    "ProducerLoad", "Ramp", "Reduce", "Select", "Shuffle", "SizeVar", "StringImm", "Sub",
    "UnaryOpExpr", "Var", "const", "const_of", "convert", "convert_argument", "load_dtype",
    "new_kind",
]  # fmt: skip
