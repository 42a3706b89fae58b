"""Where a stage runs and where its result lives."""

from __future__ import annotations

from tvm.error import ScheduleError, TypeError_
from tvm.runtime.object import Object
from tvm.tir import IterVar, PrimExpr
from tvm.tir.expr import convert

from .operation import PlaceholderOp
from .tensor import Tensor
from .threads import checked_scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .relations import IterVarRelation
    from .schedule import Schedule
    from .stage import Stage


class IterVarAttr(Object):
    """What a stage wants of one of its axes."""

    __slots__ = (
        "iter_type",
        "bind_thread",
        "prefetch_data",
        "prefetch_offset",
        "tensor_intrin",
        "dim_align_factor",
        "dim_align_offset",
        "pragma_keys",
        "pragma_values",
    )

    type_key = "IterVarAttr"

    def __init__(self, iter_type: int = 0) -> None:
        self.iter_type = iter_type
        self.bind_thread: IterVar | None = None
        self.prefetch_data: list[Tensor] = []
        self.prefetch_offset: list[PrimExpr] = []
        self.tensor_intrin: Any = None
        self.dim_align_factor = 0
        self.dim_align_offset = 0
        self.pragma_keys: list[PrimExpr] = []
        self.pragma_values: list[Any] = []

    def copy(self) -> IterVarAttr:
        """An equal one that can change alone."""
        other = IterVarAttr(self.iter_type)
        for name in self.__slots__:
            value = getattr(self, name)
            setattr(other, name, list(value) if isinstance(value, list) else value)
        return other


class StagePlace(Object):
    """The half of `Stage` that says where it is computed."""

    __slots__ = (
        "op",
        "origin_op",
        "schedule",
        "all_iter_vars",
        "leaf_iter_vars",
        "env_threads_",
        "store_predicate",
        "relations",
        "iter_var_attrs",
        "attach_type",
        "attach_ivar",
        "attach_stage",
        "scope",
        "is_output",
        "double_buffered",
        "rolling_buffered",
        "group",
        "num_child_stages",
        "layout_transforms",
    )

    GROUP_ROOT = 1
    INLINE = 2
    INLINED_ALREADY = 3
    SCOPE = 4
    SCAN_UPDATE = 5

    op: Any
    origin_op: Any
    schedule: Schedule
    all_iter_vars: list[IterVar]
    leaf_iter_vars: list[IterVar]
    env_threads_: list[IterVar]
    store_predicate: PrimExpr | None
    relations: list[IterVarRelation]
    iter_var_attrs: dict[IterVar, IterVarAttr]
    attach_type: int
    attach_ivar: IterVar | None
    attach_stage: Stage | None
    scope: str
    is_output: bool
    double_buffered: bool
    rolling_buffered: bool
    group: Stage | None
    num_child_stages: int
    layout_transforms: list[Any]

    if TYPE_CHECKING:

        @property
        def name(self) -> str:
            """Name of what it computes."""

        def _leaf_names(self) -> str: ...
        def _refuse(self, what: str, why: str) -> ScheduleError: ...

    def _check_group(self, what: str, target: Any) -> None:
        group = self.group
        if group is None:
            return
        other: Any = target
        while other is not None and other is not group:
            other = other.group
        if other is None:
            raise self._refuse(
                f"{what} {target.name}", "the stage belongs to a group and cannot leave it"
            )

    def compute_at(self, parent: Any, scope: IterVar) -> None:
        """Compute what one iteration of a consumer's axis needs, right inside it.

        Parameters
        ----------
        parent : Stage
            The consumer.
        scope : IterVar
            One of its axes.

        Raises
        ------
        ScheduleError
            If the stage is of another schedule or the axis of another stage.
        """
        if not isinstance(parent, StagePlace):
            raise TypeError_(
                f"stage {self.name}: compute_at: expected a stage (s[tensor]), but got "
                f"{type(parent).__name__}"
            )
        if isinstance(self.op, PlaceholderOp):
            raise self._refuse("compute_at", "a placeholder is not computed")
        if parent.schedule is not self.schedule:
            raise self._refuse(
                f"compute_at {parent.name}", "that stage belongs to another schedule"
            )
        if parent is self:
            raise self._refuse("compute_at", "a stage cannot be attached to itself")
        self._check_group("compute_at", parent)
        if not isinstance(scope, IterVar):
            raise TypeError_(
                f"stage {self.name}: compute_at: expected an axis (IterVar) of {parent.name}, but "
                f"got {type(scope).__name__}"
            )
        if not any(iv is scope for iv in parent.all_iter_vars):
            raise self._refuse(
                f"compute_at {parent.name}",
                f"axis {scope.var.name} does not belong to that stage, whose axes are "
                f"{parent._leaf_names()}",
            )
        self.attach_type = self.SCOPE
        self.attach_stage = parent  # type: ignore[assignment]
        self.attach_ivar = scope

    def compute_inline(self) -> None:
        """Compute each element where it is used."""
        self.attach_type = self.INLINE
        self.attach_stage = None
        self.attach_ivar = None

    def compute_root(self) -> None:
        """Compute the whole tensor in loops of its own."""
        self.attach_type = self.GROUP_ROOT
        self.attach_stage = None
        self.attach_ivar = None

    def set_scope(self, scope: str) -> None:
        """Say in which memory the result lives, for instance ``"local"`` or ``"shared"``.

        Raises
        ------
        ScheduleError
            If there is no such memory: a device's own scopes begin with a known kind, such as
            ``"local.accumulator"``, or a global function ``tvm.info.mem.<scope>`` describes them.
        """
        self.scope = checked_scope(scope, f"stage {self.name}: set_scope")

    def set_store_predicate(self, predicate: Any) -> None:
        """Store only where ``predicate`` holds: a promise that the rest is never read."""
        condition = convert(predicate)
        if getattr(condition, "dtype", None) != "bool":
            raise TypeError_(
                f"stage {self.name}: set_store_predicate: expected a condition such as "
                f"axis.var < 4, but got {predicate!r} of type {type(predicate).__name__}"
            )
        self.store_predicate = condition

    def env_threads(self, threads: Any) -> None:
        """Threads that run the whole of a scan, its steps in order.

        Parameters
        ----------
        threads : IterVar or list of IterVar
            Thread axes with a range: ``te.thread_axis((0, 64), "threadIdx.x")``.

        Raises
        ------
        ScheduleError
            If the stage is no scan, or an axis is no thread axis with a range.
        """
        from .scan_op import ScanOp

        items = list(threads) if isinstance(threads, (list, tuple)) else [threads]
        if not isinstance(self.op, ScanOp):
            raise self._refuse("env_threads", "only a scan (te.scan) is run by threads as a whole")
        for item in items:
            if not isinstance(item, IterVar) or not item.thread_tag or item.dom is None:
                raise self._refuse(
                    "env_threads", "expected thread axes with a range, such as "
                    "te.thread_axis((0, 64), 'threadIdx.x')"
                )  # fmt: skip
        self.leaf_iter_vars = items + self.leaf_iter_vars
        self.all_iter_vars += items
        self.env_threads_ = items + self.env_threads_
        for item in items:
            attr = self.iter_var_attrs[item] = IterVarAttr(item.iter_type)
            attr.bind_thread = item

    def double_buffer(self) -> None:
        """Fill one copy of the buffer while the other is read."""
        if self.is_output:
            raise self._refuse("double_buffer", "an output's memory belongs to the caller")
        self.double_buffered = True

    def rolling_buffer(self) -> None:
        """Keep what neighbouring iterations share instead of computing it again."""
        if self.is_output:
            raise self._refuse("rolling_buffer", "an output's memory belongs to the caller")
        self.rolling_buffered = True
