"""Nodes, types, modules and the services that all of them share."""

from . import attrs, base, dtype, expr, module, op, serialization, structural, type
from .attrs import Attrs, DictAttrs, make_node
from .base import Node, Span
from .env_func import EnvFunc
from .expr import (
    BaseExpr,
    BaseFunc,
    CallingConv,
    GlobalVar,
    PrimExpr,
    Range,
    RelayExpr,
)
from .module import IRModule
from .op import Op, register_intrin_lowering, register_op, register_op_attr
from .serialization import load_json, save_json
from .structural import (
    assert_structural_equal,
    get_first_structural_mismatch,
    structural_equal,
    structural_hash,
)
from .type import (
    FuncType,
    PointerType,
    PrimType,
    TensorType,
    TupleType,
    Type,
    TypeConstraint,
    TypeKind,
    TypeRelation,
    TypeVar,
)

__all__ = [
    "Attrs", "BaseExpr", "BaseFunc", "CallingConv", "DictAttrs", "EnvFunc", "FuncType", "GlobalVar",
    "IRModule", "Node", "Op", "PointerType", "PrimExpr", "PrimType", "Range", "RelayExpr", "Span",
    "TensorType", "TupleType", "Type", "TypeConstraint", "TypeKind", "TypeRelation", "TypeVar",
    "assert_structural_equal", "attrs",
    "base", "dtype", "expr", "get_first_structural_mismatch", "load_json", "make_node", "module",
    "op", "register_intrin_lowering", "register_op", "register_op_attr", "save_json",
    "serialization", "structural", "structural_equal", "structural_hash", "type",
]  # fmt: skip

# The older home of these.
for _name in (
    *("structural_equal", "structural_hash", "assert_structural_equal"),
    *("get_first_structural_mismatch", "save_json", "load_json"),
):
    setattr(base, _name, globals()[_name])
