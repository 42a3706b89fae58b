"""Threads of a device: which axes they run, and which memory each of them has.

    s[B].bind(outer, te.thread_axis("blockIdx.x"))   ->   # attr [blockIdx.x] thread_extent = 4
    s[B].bind(inner, te.thread_axis("threadIdx.x"))       # attr [threadIdx.x] thread_extent = 32
                                                              B[blockIdx.x*32 + threadIdx.x] = ...

A stage inside bound axes computes what one thread needs, unless its memory is shared by several
threads: then it computes what all of these need together.
"""

from __future__ import annotations

from tvm import tir
from tvm._ffi import get_global_func
from tvm.error import ScheduleError, TypeError_
from tvm.ir.expr import Range
from tvm.tir import IntImm, IterVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tvm.tir import Stmt

    from .bounds import Place
    from .stage import Stage

# who shares memory of a scope: 0 all threads, 1 those of a block, more: a thread alone
_SCOPE_RANKS = {"": 0, "global": 0, "shared": 1, "warp": 2, "local": 3}
_DEFAULT_SCOPES = {-1: "", 0: "shared", 1: "local"}


# first words of scopes; what follows a dot names a memory of that kind
_SCOPE_KINDS = (
    "global", "shared", "local", "warp", "wmma", "texture", "amx", "m16n8k8", "metal",
)  # fmt: skip


def checked_scope(scope: Any, where: str) -> str:
    """A memory scope that exists: of a known kind, or described by ``tvm.info.mem.<scope>``."""
    if not isinstance(scope, str):
        raise TypeError_(
            f"{where}: expected the name of a memory scope, but got {scope!r} of type "
            f"{type(scope).__name__}"
        )
    text = str(scope)
    if not text or text.split(".", 1)[0] in _SCOPE_KINDS:
        return text
    if get_global_func(f"tvm.info.mem.{text}", allow_missing=True) is None:
        raise ScheduleError(
            f"{where}: there is no memory scope {text!r}; expected one that begins with "
            f"{', '.join(_SCOPE_KINDS)}, or one that the function tvm.info.mem.{text} describes"
        )
    return text


def thread_rank(thread: IterVar) -> int:
    """0 for an axis of blocks, 1 for an axis of the threads in a block."""
    return 0 if thread.thread_tag.startswith("blockIdx") else 1


def is_virtual(thread: IterVar) -> bool:
    """Whether one thread does the work of several."""
    return thread.thread_tag.startswith(("vthread", "cthread"))


def bound_thread(stage: Stage, iv: IterVar) -> IterVar | None:
    """The thread axis that runs an axis of a stage."""
    attr = stage.iter_var_attrs.get(iv)
    return None if attr is None else attr.bind_thread


def _threads_around(path: list[Place]) -> list[tuple[Stage, IterVar, IterVar]]:
    found = []
    for parent, position in path:
        for iv in parent.leaf_iter_vars[: position + 1]:
            thread = bound_thread(parent, iv)
            if thread is not None:
                found.append((parent, iv, thread))
    return found


def scope_of(stage: Stage, path: list[Place]) -> str:
    """The memory of a stage: what was asked for, else what fits the threads around it."""
    if stage.scope:
        return stage.scope
    around = _threads_around(path)
    if not around:
        return ""
    return _DEFAULT_SCOPES[max(thread_rank(thread) for _, _, thread in around)]


def shared_axes(stage: Stage, path: list[Place]) -> set[IterVar]:
    """Axes around a stage whose threads share its memory."""
    around = _threads_around(path)
    if not around:
        return set()
    rank = _SCOPE_RANKS.get(scope_of(stage, path).partition(".")[0], 0)
    return {iv for _, iv, thread in around if rank <= thread_rank(thread)}


class Threads:
    """The bound axes of one stage while its loops are built."""

    def __init__(self, stage: Stage, path: list[Place], ranges: dict[IterVar, Range]) -> None:
        self.stage = stage
        self.ranges = ranges
        self.outer: dict[Any, Any] = {}
        for parent, iv, thread in _threads_around(path):
            del parent
            self.outer.setdefault(thread.var, ranges[iv].extent)
        seen: dict[Any, IterVar] = {}
        for iv in stage.leaf_iter_vars:
            own = bound_thread(stage, iv)
            if own is None:
                continue
            if own.var in seen:
                raise ScheduleError(
                    f"stage {stage.name}: bind: axes {seen[own.var].var.name} and {iv.var.name} "
                    f"are both bound to {own.thread_tag}; fuse them first"
                )
            seen[own.var] = iv
            self._check_extent(iv, own)

    def _check_extent(self, iv: IterVar, thread: IterVar) -> None:
        extent = self.ranges[iv].extent
        if thread.dom is None or not isinstance(extent, IntImm):
            return
        wanted = thread.dom.extent
        if isinstance(wanted, IntImm) and wanted.value < extent.value:
            raise ScheduleError(
                f"stage {self.stage.name}: bind: axis {iv.var.name} has extent {extent.value}, "
                f"but {thread.thread_tag} was declared with {wanted.value} threads"
            )

    def enter(self, iv: IterVar, thread: IterVar, body: Stmt) -> Stmt:
        """A body run by the threads of an axis."""
        extent = self.ranges[iv].extent
        if thread.var in self.outer:
            outside = self.outer[thread.var]
            same = isinstance(outside, IntImm) and isinstance(extent, IntImm)
            if same and outside.value <= extent.value:
                if outside.value < extent.value:
                    raise ScheduleError(
                        f"stage {self.stage.name}: bind: axis {iv.var.name} needs {extent.value} "
                        f"threads of {thread.thread_tag}, but only {outside.value} run around it"
                    )
                return body
            if tir.analysis.expr_deep_equal(outside, extent):
                return body
            return tir.IfThenElse(tir.LT(thread.var, tir.cast(extent, thread.var.dtype)), body)
        if thread.dom is not None and iv is not thread:
            declared = thread.dom.extent
            if not tir.analysis.expr_deep_equal(declared, extent):
                body = tir.IfThenElse(tir.LT(thread.var, tir.cast(extent, thread.var.dtype)), body)
                extent = declared
        kind = "virtual_thread" if is_virtual(thread) else "thread_extent"
        axis = IterVar(
            Range.from_min_extent(IntImm(thread.var.dtype, 0), tir.cast(extent, thread.var.dtype)),
            thread.var,
            IterVar.ThreadIndex,
            thread.thread_tag,
        )
        return tir.AttrStmt(axis, kind, extent, body)
