"""Statement nodes."""

from __future__ import annotations

from .stmt_control import (
    AssertStmt,
    AttrStmt,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    While,
    flatten_seq,
    is_no_op,
    max_depth,
    stmt_list,
    stmt_seq,
)
from .stmt_memory import (
    Allocate,
    AllocateConst,
    Block,
    BlockRealize,
    BufferRealize,
    BufferRegion,
    BufferStore,
    DeclBuffer,
    MatchBufferRegion,
    Prefetch,
    ProducerRealize,
    ProducerStore,
    convert_to,
)

__all__ = [
    "Allocate", "AllocateConst", "AssertStmt", "AttrStmt", "Block", "BlockRealize", "BufferRealize",
    "BufferRegion", "BufferStore", "DeclBuffer", "Evaluate", "For", "ForKind", "IfThenElse",
    "LetStmt", "MatchBufferRegion", "Prefetch", "ProducerRealize", "ProducerStore", "SeqStmt",
    "Stmt", "While", "convert_to", "flatten_seq", "is_no_op", "max_depth", "stmt_list", "stmt_seq",
]  # fmt: skip
