"""A stage: the loops of one operation and where they run."""

from __future__ import annotations

from tvm import tir
from tvm.error import ScheduleError, TypeError_
from tvm.tir import IntImm, IterVar, PrimExpr
from tvm.tir.expr import convert

from .operation import ComputeOp, Operation, PlaceholderOp
from .relations import Fuse, Singleton, Split
from .stage_place import IterVarAttr, StagePlace
from .tensor import Tensor
from .tensor_intrin import TensorIntrin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .schedule import Schedule

_ATTACH_NAMES = {
    1: "root",
    2: "inlined",
    3: "inlined already",
    4: "attached",
    5: "attached to a scan",
}


class Stage(StagePlace):
    """How one operation runs.

    Attributes
    ----------
    op : Operation
        The operation it computes now.
    origin_op : Operation
        The one it was created for.
    leaf_iter_vars : list of IterVar
        The loops, outermost first.
    all_iter_vars : list of IterVar
        Every axis it ever had.
    relations : list of IterVarRelation
        How the axes derive from each other.
    iter_var_attrs : dict of IterVar to IterVarAttr
        What is wanted of each axis.
    attach_type, attach_stage, attach_ivar
        Where it runs.
    """

    __slots__ = ()

    type_key = "Stage"

    def __init__(self, op: Operation | None, schedule: Schedule) -> None:
        self.op = op
        self.origin_op = op
        self.schedule = schedule
        roots = [] if op is None else list(op.root_iter_vars)
        self.all_iter_vars = roots
        # the outer dimensions of a scan have no loops
        self.leaf_iter_vars = [iv for iv in roots if iv.iter_type != IterVar.DimInfo]
        self.env_threads_ = []
        self.store_predicate = None
        self.relations = []
        self.iter_var_attrs = {}
        self.attach_type = self.GROUP_ROOT
        self.attach_ivar = None
        self.attach_stage = None
        self.scope = ""
        self.is_output = False
        self.double_buffered = False
        self.rolling_buffered = False
        self.group = None
        self.num_child_stages = 0
        self.layout_transforms = []

    def _copy(self, schedule: Schedule) -> Stage:
        other = Stage.__new__(Stage)
        for name in StagePlace.__slots__:
            value = getattr(self, name)
            setattr(other, name, list(value) if isinstance(value, list) else value)
        other.iter_var_attrs = {iv: attr.copy() for iv, attr in self.iter_var_attrs.items()}
        other.schedule = schedule
        return other

    # ---- messages
    @property
    def name(self) -> str:
        """Name of what it computes."""
        return "group" if self.op is None else str(self.op.name)

    def _leaf_names(self) -> str:
        return ", ".join([iv.var.name for iv in self.leaf_iter_vars]) or "none"

    def _refuse(self, what: str, why: str) -> ScheduleError:
        return ScheduleError(f"stage {self.name}: {what}: {why}; its axes are {self._leaf_names()}")

    def describe(self) -> str:
        """The loops and the place on one line."""
        loops = []
        for iv in self.leaf_iter_vars:
            attr = self.iter_var_attrs.get(iv)
            kind = {5: "unroll ", 6: "vectorize ", 7: "parallel ", 8: "tensorize "}.get(
                attr.iter_type if attr is not None else 0, ""
            )
            loops.append(kind + iv.var.name)
        place = _ATTACH_NAMES[self.attach_type]
        if self.attach_type == self.SCOPE:
            place = f"at {self.attach_stage.name}, {self.attach_ivar.var.name}"  # type: ignore[union-attr]
        return f"{self.name} [{place}] ({', '.join(loops)})"

    # ---- finding axes
    def _leaf(self, iv: Any, what: str) -> int:
        """Position of a leaf axis; an error that names the choices if it is none."""
        if not isinstance(iv, IterVar):
            raise TypeError_(
                f"stage {self.name}: {what}: expected an axis (IterVar), but got "
                f"{type(iv).__name__}; its axes are {self._leaf_names()}"
            )
        for position, leaf in enumerate(self.leaf_iter_vars):
            if leaf is iv:
                return position
        if any(other is iv for other in self.all_iter_vars):
            made = [
                new.var.name
                for relation in self.relations
                if any(old is iv for old in relation.made_from)
                for new in relation.makes
            ]
            raise self._refuse(
                f"{what} axis {iv.var.name}",
                f"the axis was split or fused already and became {', '.join(made)}",
            )
        raise self._refuse(f"{what} axis {iv.var.name}", "the axis does not belong to this stage")

    def _attr(self, iv: IterVar) -> IterVarAttr:
        found = self.iter_var_attrs.get(iv)
        if found is None:
            found = self.iter_var_attrs[iv] = IterVarAttr(iv.iter_type)
        return found

    # ---- axes
    def split(
        self,
        parent: IterVar,
        factor: Any = None,
        nparts: Any = None,
        disable_predication: bool = False,
    ) -> tuple[IterVar, IterVar]:
        """Cut an axis into an outer and an inner one.

        Parameters
        ----------
        parent : IterVar
            A leaf axis.
        factor : int or PrimExpr, optional
            Extent of the inner axis.
        nparts : int or PrimExpr, optional
            Extent of the outer axis. Exactly one of both is given.
        disable_predication : bool
            Promise that the factor divides the extent, so that no guard is needed.

        Returns
        -------
        outer, inner : IterVar

        Raises
        ------
        ScheduleError
            If the axis is no leaf of this stage, both or neither of factor and nparts are given,
            or the number is not positive.

        Examples
        --------
        >>> from tvm import te
        >>> A = te.placeholder((10,), name="A")
        >>> B = te.compute((10,), lambda i: A[i] + 1.0, name="B")
        >>> s = te.create_schedule(B.op)
        >>> outer, inner = s[B].split(B.op.axis[0], factor=4)
        >>> outer.var.name, inner.var.name
        ('i.outer', 'i.inner')
        """
        if isinstance(parent, IterVar) and (factor is None) == (nparts is None):
            raise self._refuse(
                f"split axis {parent.var.name}",
                "expected exactly one of factor and nparts, but got "
                + ("neither" if factor is None else "both"),
            )
        position = self._leaf(parent, "split")
        number = self._amount(parent, factor if factor is not None else nparts)
        name, dtype = parent.var.name, parent.var.dtype
        outer = IterVar(None, tir.Var(name + ".outer", dtype), parent.iter_type)
        inner = IterVar(None, tir.Var(name + ".inner", dtype), parent.iter_type)
        self.relations.append(
            Split(
                parent,
                outer,
                inner,
                number if factor is not None else None,
                number if nparts is not None else None,
                bool(disable_predication),
            )
        )
        self.all_iter_vars += [outer, inner]
        self.leaf_iter_vars[position : position + 1] = [outer, inner]
        return outer, inner

    def _amount(self, parent: IterVar, value: Any) -> PrimExpr:
        dtype = parent.var.dtype
        if isinstance(value, PrimExpr) and not isinstance(value, IntImm):
            return value if value.dtype == dtype else tir.Cast(dtype, value)
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise TypeError_(
                f"stage {self.name}: split axis {parent.var.name}: expected an integer, but got "
                f"{value!r} of type {type(value).__name__}"
            )
        number = value.__index__()
        if number < 1:
            raise self._refuse(
                f"split axis {parent.var.name}", f"expected a factor of 1 or more, but got {number}"
            )
        return IntImm(dtype, number)

    def fuse(self, *args: Any) -> IterVar:
        """Run neighbouring axes as one.

        Parameters
        ----------
        args : IterVar
            Leaf axes next to each other, outer first. None at all gives a new axis of extent 1.

        Returns
        -------
        IterVar

        Raises
        ------
        ScheduleError
            If the axes are not neighbours in this order.
        """
        if len(args) == 1 and isinstance(args[0], (list, tuple)):
            args = tuple(args[0])
        if not args:
            single = IterVar(None, tir.Var("singleton", "int32"), 0)
            self.relations.append(Singleton(single))
            self.all_iter_vars.append(single)
            self.leaf_iter_vars.insert(0, single)
            return single
        positions = [self._leaf(iv, "fuse") for iv in args]
        for k in range(1, len(args)):
            if positions[k] != positions[k - 1] + 1:
                names = ", ".join([iv.var.name for iv in args])
                raise self._refuse(
                    f"fuse {names}",
                    f"expected neighbouring axes, outer first, but {args[k].var.name} does not "
                    f"follow {args[k - 1].var.name} directly",
                )
        fused: IterVar = args[0]
        for iv in args[1:]:
            fused = self._fuse_pair(fused, iv)
        return fused

    def _fuse_pair(self, outer: IterVar, inner: IterVar) -> IterVar:
        kinds = {outer.iter_type, inner.iter_type}
        if IterVar.ThreadIndex in kinds:
            raise self._refuse(f"fuse {outer.var.name}", "thread axes cannot be fused")
        kind = max(outer.iter_type, inner.iter_type)
        wide = "int64"
        if outer.var.dtype == inner.var.dtype:
            sizes = self._static_extent(outer), self._static_extent(inner)
            # an unknown product may leave int32
            if None not in sizes and sizes[0] * sizes[1] < 2**31:  # type: ignore[operator]
                wide = outer.var.dtype
        name = f"{outer.var.name}.{inner.var.name}.fused"
        fused = IterVar(None, tir.Var(name, wide), kind)
        position = self._leaf(outer, "fuse")
        self.relations.append(Fuse(outer, inner, fused))
        self.all_iter_vars.append(fused)
        self.leaf_iter_vars[position : position + 2] = [fused]
        return fused

    def _static_extent(self, iv: IterVar) -> int | None:
        """An upper bound of an axis's extent as far as it is known before lowering."""
        if iv.dom is not None:
            return iv.dom.extent.value if isinstance(iv.dom.extent, IntImm) else None
        for relation in self.relations:
            if not any(iv is made for made in relation.makes):
                continue
            if isinstance(relation, Singleton):
                return 1
            if isinstance(relation, Fuse):
                a, b = self._static_extent(relation.outer), self._static_extent(relation.inner)
                return None if a is None or b is None else a * b
            assert isinstance(relation, Split)
            given = relation.factor if relation.factor is not None else relation.nparts
            step = given.value if isinstance(given, IntImm) else None
            if (iv is relation.inner) == (relation.factor is not None):
                return step
            size = self._static_extent(relation.parent)
            return None if size is None or step is None else -(-size // step)
        return None

    def reorder(self, *args: Any) -> None:
        """Give some leaf axes another order; they share the places they had together.

        Raises
        ------
        ScheduleError
            If an axis is named twice or is no leaf of this stage.
        """
        if len(args) == 1 and isinstance(args[0], (list, tuple)):
            args = tuple(args[0])
        places = [self._leaf(iv, "reorder") for iv in args]
        for k, place in enumerate(places):
            if place in places[:k]:
                raise self._refuse("reorder", f"axis {args[k].var.name} is named twice")
        steps = [place for place, iv in zip(places, args) if iv.iter_type == IterVar.Ordered]
        if steps != sorted(steps):
            raise self._refuse("reorder", "the steps of a scan depend on each other")
        for place, iv in zip(sorted(places), args):
            self.leaf_iter_vars[place] = iv

    def tile(
        self, x_parent: IterVar, y_parent: IterVar, x_factor: Any, y_factor: Any
    ) -> tuple[IterVar, IterVar, IterVar, IterVar]:
        """Split two axes and order them outer, outer, inner, inner.

        Returns
        -------
        x_outer, y_outer, x_inner, y_inner : IterVar
        """
        self._leaf(y_parent, "tile")
        if x_parent is y_parent:
            raise self._refuse("tile", f"axis {x_parent.var.name} is named twice")
        x_outer, x_inner = self.split(x_parent, factor=x_factor)
        y_outer, y_inner = self.split(y_parent, factor=y_factor)
        self.reorder(x_outer, y_outer, x_inner, y_inner)
        return x_outer, y_outer, x_inner, y_inner

    def vectorize(self, var: IterVar) -> None:
        """Run an axis as vector operations.

        Raises
        ------
        ScheduleError
            If it is a reduction axis: its iterations depend on each other.
        """
        self._leaf(var, "vectorize")
        self._no_steps(var, "vectorize")
        if var.iter_type == IterVar.CommReduce:
            spatial = [
                iv.var.name for iv in self.leaf_iter_vars if iv.iter_type != IterVar.CommReduce
            ]
            raise self._refuse(
                f"vectorize axis {var.var.name}",
                "a reduction axis cannot be vectorized (data-parallel are: "
                f"{', '.join(spatial) or 'none'}; rfactor makes one of it)",
            )
        self._attr(var).iter_type = IterVar.Vectorized

    def _no_steps(self, var: IterVar, what: str) -> None:
        if var.iter_type == IterVar.Ordered:
            raise self._refuse(
                f"{what} axis {var.var.name}", "the steps of a scan depend on each other"
            )

    def unroll(self, var: IterVar) -> None:
        """Write an axis's iterations out one after another."""
        self._leaf(var, "unroll")
        self._attr(var).iter_type = IterVar.Unrolled

    def parallel(self, var: IterVar) -> None:
        """Share an axis's iterations among threads; of nested ones the outermost counts."""
        self._leaf(var, "parallel")
        self._no_steps(var, "parallel")
        self._attr(var).iter_type = IterVar.Parallelized

    def bind(self, ivar: IterVar, thread_ivar: IterVar) -> None:
        """Let the threads of a device run an axis."""
        self._leaf(ivar, "bind")
        self._no_steps(ivar, "bind")
        if not isinstance(thread_ivar, IterVar) or not thread_ivar.thread_tag:
            raise self._refuse(
                f"bind axis {ivar.var.name}", "expected a thread axis from te.thread_axis"
            )
        self._attr(ivar).bind_thread = thread_ivar

    def pragma(self, var: IterVar, pragma_type: str, pragma_value: Any = None) -> None:
        """Attach a hint to an axis, for instance ``auto_unroll_max_step``."""
        self._leaf(var, "pragma")
        if not isinstance(pragma_type, str):
            raise TypeError_(
                f"stage {self.name}: pragma: expected the name of a hint, but got "
                f"{pragma_type!r} of type {type(pragma_type).__name__}"
            )
        attr = self._attr(var)
        if pragma_type == "unroll":
            attr.iter_type = IterVar.Unrolled
        elif pragma_type == "vectorize":
            self.vectorize(var)
        else:
            value = convert(pragma_value) if pragma_value is not None else None
            attr.pragma_keys.append(tir.StringImm(pragma_type))
            attr.pragma_values.append(value)

    def tensorize(self, var: IterVar, tensor_intrin: TensorIntrin) -> None:
        """Replace an axis and those inside it by a tensor intrinsic.

        Parameters
        ----------
        var : IterVar
            The outermost axis that is replaced.
        tensor_intrin : TensorIntrin
            From `decl_tensor_intrin`. That it does the same computation is checked at lower.
        """
        self._leaf(var, "tensorize")
        self._no_steps(var, "tensorize")
        if not isinstance(tensor_intrin, TensorIntrin):
            raise TypeError_(
                f"stage {self.name}: tensorize axis {var.var.name}: expected an intrinsic from "
                f"te.decl_tensor_intrin, but got {type(tensor_intrin).__name__}"
            )
        attr = self._attr(var)
        attr.iter_type = IterVar.Tensorized
        attr.tensor_intrin = tensor_intrin

    def prefetch(self, tensor: Tensor, var: IterVar, offset: Any) -> None:
        """Fetch what a later iteration of an axis reads of a tensor."""
        self._leaf(var, "prefetch")
        if not isinstance(tensor, Tensor):
            raise TypeError_(
                f"stage {self.name}: prefetch axis {var.var.name}: expected a tensor, but got "
                f"{type(tensor).__name__}"
            )
        attr = self._attr(var)
        attr.prefetch_data.append(tensor)
        attr.prefetch_offset.append(convert(offset))

    def storage_align(self, axis: IterVar, factor: int, offset: int) -> None:
        """Make a dimension's stride ``offset`` modulo ``factor`` elements.

        Parameters
        ----------
        axis : IterVar
            An axis of the operation (``op.axis``), split or not: the dimension.
        factor, offset : int
            At least 1, at least 0.

        Raises
        ------
        ScheduleError
            If the axis is none of the operation, or a number is too small.
        """
        axes = [] if self.op is None else getattr(self.op, "axis", [])
        if not any(iv is axis for iv in axes):
            name = axis.var.name if isinstance(axis, IterVar) else repr(axis)
            raise self._refuse(
                f"storage_align axis {name}",
                "expected an axis of the operation, which has "
                + (", ".join([iv.var.name for iv in axes]) or "none"),
            )
        if int(factor) < 1 or int(offset) < 0:
            raise self._refuse(
                f"storage_align axis {axis.var.name}",
                f"expected a factor of 1 or more and an offset of 0 or more, but got {factor} and "
                f"{offset}",
            )
        attr = self._attr(axis)
        attr.dim_align_factor = int(factor)
        attr.dim_align_offset = int(offset)

    def transform_layout(self, mapping_function: Any) -> list[IterVar]:
        """Give the tensor other dimensions; what reads it reads it there.

        Parameters
        ----------
        mapping_function : function
            From the tensor's indices to the new ones, for instance
            ``lambda n, c: [n, c // 4, te.AXIS_SEPARATOR, c % 4]``. Separators say which dimensions
            belong together in memory of several dimensions; plain memory has one.

        Returns
        -------
        list of IterVar
            The new axes; none for a placeholder.

        Raises
        ------
        ScheduleError
            If axes were split or fused already, or the function cannot be turned round.

        Notes
        -----
        An argument of the function has the new shape: the caller brings it in the new layout.

        Examples
        --------
        >>> from tvm import te
        >>> A = te.placeholder((2, 8), name="A")
        >>> B = te.compute((2, 8), lambda i, j: A[i, j] + 1.0, name="B")
        >>> s = te.create_schedule(B.op)
        >>> axes = s[B].transform_layout(lambda i, j: [j // 4, i, j % 4])
        >>> [int(iv.dom.extent) for iv in axes]
        [2, 2, 4]
        """
        from .layout import transform_layout

        return transform_layout(self, mapping_function)

    # ---- for the lowering
    @property
    def root_iter_vars(self) -> tuple[IterVar, ...]:
        """The axes it had before it was scheduled."""
        return tuple(self.op.root_iter_vars)

    def kind_of(self, iv: IterVar) -> int:
        """What was asked of an axis, else its own type."""
        attr = self.iter_var_attrs.get(iv)
        return iv.iter_type if attr is None else attr.iter_type

    @property
    def is_computed(self) -> bool:
        """Whether it has loops of its own."""
        return not isinstance(self.op, PlaceholderOp) and self.op is not None

    @property
    def is_compute(self) -> bool:
        """Whether its operation is given element by element."""
        return isinstance(self.op, ComputeOp)

    def __repr__(self) -> str:
        return f"stage({self.describe()})"

    __str__ = __repr__
