"""Verify memory: a device's tensors are touched by its threads only.

    for i in range(n):            ->    RuntimeError: main: B is stored to outside of any thread ...
        B[i] = A[i] + 1                 Did you forget to bind?

Of a function for a device with threads of its own, every access has to stand under a bound axis.
"""

from __future__ import annotations

from tvm.error import TVMError
from tvm.ir.transform import PassInfo
from tvm.tir import ForKind, PrimFunc
from tvm.tir.stmt_functor import StmtExprVisitor

from .function_pass import PrimFuncPass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_THREADED = {"cuda", "nvptx", "rocm", "opencl", "metal", "vulkan", "webgpu"}


class _Outside(StmtExprVisitor):
    """Accesses that no thread makes."""

    def __init__(self) -> None:
        self.found: list[tuple[str, Any]] = []
        self.local: set[Any] = set()

    def visit_attr_stmt_(self, op: Any) -> None:
        if op.attr_key not in ("thread_extent", "pipeline_exec_scope", "device_scope"):
            super().visit_attr_stmt_(op)

    def visit_for_(self, op: Any) -> None:
        if op.kind is not ForKind.THREAD_BINDING:
            super().visit_for_(op)

    def visit_buffer_load_(self, op: Any) -> None:
        self.found.append(("read", op.buffer))
        super().visit_buffer_load_(op)

    def visit_buffer_store_(self, op: Any) -> None:
        self.found.append(("stored to", op.buffer))
        super().visit_buffer_store_(op)


def outside_accesses(func: PrimFunc, target: Any = None) -> list[tuple[str, Any]]:
    """What is done to which buffers outside of any thread; nothing for targets without threads."""
    target = target if target is not None else func.attrs.get("target")
    if target is None or getattr(target, "kind", None) is None:
        return []
    if target.kind.name not in _THREADED:
        return []
    visitor = _Outside()
    visitor(func.body)
    return visitor.found


def verify_memory(func: PrimFunc, target: Any = None) -> PrimFunc:
    """Refuse accesses that no thread of the device makes.

    Raises
    ------
    TVMError
        Names the function, the tensor and what is missing.
    """
    found = outside_accesses(func, target)
    if found:
        what, buffer = found[0]
        target = target if target is not None else func.attrs.get("target")
        raise TVMError(
            f"{func.attrs.get('global_symbol', 'main')}: {buffer.name} is {what} outside of any "
            f"thread, which target {target.kind.name} cannot run. Did you forget to bind? Bind an "
            "axis of each stage to a thread axis: s[stage].bind(axis, "
            "te.thread_axis('threadIdx.x'))"
        )
    return func


def VerifyMemory() -> PrimFuncPass:
    """The pass ``tir.VerifyMemory``, for functions with a ``target`` attribute (`BindTarget`)."""
    return PrimFuncPass(lambda func, mod, ctx: verify_memory(func), PassInfo(0, "tir.VerifyMemory"))


__all__ = ["VerifyMemory", "outside_accesses", "verify_memory"]
