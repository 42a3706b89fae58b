"""Passes of a few lines: assertions, assumptions, undefined stores, serial loops, SSA."""

from __future__ import annotations

from tvm import tir
from tvm.tir import ForKind, PrimFunc
from tvm.tir.stmt_functor import StmtExprMutator

from .fresh import fresh_copy
from .function_pass import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _calls(stmt: Any, name: str) -> bool:
    value = getattr(stmt, "value", None)
    return type(value) is tir.Call and getattr(value.op, "name", "") == name


class _SkipAssert(StmtExprMutator):
    def visit_assert_stmt_(self, op: Any) -> Any:
        return self.visit(op.body)


def skip_assert(func: PrimFunc) -> PrimFunc:
    """Drop assertions; what stands inside of them stays."""
    return func.with_body(_SkipAssert()(func.body))


class _RemoveAssume(StmtExprMutator):
    def visit_evaluate_(self, op: Any) -> Any:
        return tir.Evaluate(0) if _calls(op, "tir.assume") else op


def remove_assume(func: PrimFunc) -> PrimFunc:
    """Drop what the program promises to the compiler (``T.assume``)."""
    return func.with_body(_RemoveAssume()(func.body))


class _RemoveUndef(StmtExprMutator):
    def visit_buffer_store_(self, op: Any) -> Any:
        return tir.Evaluate(0) if _calls(op, "tir.undef") else op


def remove_store_undef(func: PrimFunc) -> PrimFunc:
    """Drop stores of undefined values."""
    return func.with_body(_RemoveUndef()(func.body))


class _Serial(StmtExprMutator):
    def visit_for_(self, op: Any) -> Any:
        op = super().visit_for_(op)
        if op.kind is not ForKind.PARALLEL:
            return op
        return tir.For(
            op.loop_var, op.min, op.extent, ForKind.SERIAL, op.body, op.thread_binding,
            op.annotations,
        )  # fmt: skip


def convert_for_loops_to_serial(func: PrimFunc) -> PrimFunc:
    """Run parallel loops in order."""
    return func.with_body(_Serial()(func.body))


def convert_ssa(func: PrimFunc) -> PrimFunc:
    """Define each variable once: later definitions of one variable get new ones."""
    from tvm.tir.analysis import verify_ssa

    return func if verify_ssa(func) else func.with_body(fresh_copy(func.body))


def decorate_device_scope(func: PrimFunc) -> PrimFunc:
    """Say that the whole body runs on the device."""
    body = tir.AttrStmt(tir.StringImm("device"), "device_scope", 0, func.body)
    return func.with_body(body)


SkipAssert = named("SkipAssert", skip_assert)
RemoveAssume = named("RemoveAssume", remove_assume)
RemoveStoreUndef = named("RemoveStoreUndef", remove_store_undef)
ConvertForLoopsToSerial = named("ConvertForLoopsToSerial", convert_for_loops_to_serial)
ConvertSSA = named("ConvertSSA", convert_ssa)
DecorateDeviceScope = named("DecorateDeviceScope", decorate_device_scope)
