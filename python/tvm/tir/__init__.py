"""The low-level language: loops, buffers, scalar and vector expressions."""

from . import buffer, expr, function, numeric, operators, stmt, stmt_functor
from .buffer import Buffer, decl_buffer
from .expr import (
    EQ, GE, GT, LE, LT, NE, Add, And, Any_ as Any, Broadcast, BufferLoad, Call, CallEffect, Cast,
    CmpExpr, BinaryOpExpr, CommReducer, ConstExpr, DataProducer, Div, ExprOp, FloatImm, FloorDiv,
    FloorMod, IntImm, IterVar, Let, LogicalExpr, Max, Min, Mod, Mul, Not, Or, PrimExprWithOp,
    ProducerLoad, Ramp, Reduce, Select, Shuffle, SizeVar, StringImm, Sub, Var,
)  # fmt: skip
from ..ir.expr import PrimExpr
from .function import PrimFunc
from .stmt import (
    Allocate, AllocateConst, AssertStmt, AttrStmt, Block, BlockRealize, BufferRealize, BufferRegion,
    BufferStore, DeclBuffer, Evaluate, For, ForKind, IfThenElse, LetStmt, MatchBufferRegion,
    Prefetch, ProducerRealize, ProducerStore, SeqStmt, Stmt, While, stmt_list, stmt_seq,
)  # fmt: skip
