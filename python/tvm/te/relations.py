"""How the axes of a stage derive from each other: split, fuse, singleton.

Each relation knows four things: the ranges of the axes it makes (down), the value of the axes it
was made from (up), the same for intervals, and whether running its axes fully may leave the range
of the axis it was made from.
"""

from __future__ import annotations

from tvm import tir
from tvm.arith.index_algebra import Algebra, Interval, Poly, add, const, constant, multiply
from tvm.ir.base import Node
from tvm.ir.expr import Range
from tvm.tir import IntImm, IterVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Ranges = dict[IterVar, Range]


class IterVarRelation(Node):
    """Base class of relations."""

    __slots__ = ()

    made_from: tuple[IterVar, ...] = ()
    makes: tuple[IterVar, ...] = ()

    def down(self, ranges: Ranges, algebra: Algebra) -> None:
        """Fill in the ranges of the axes made."""
        raise NotImplementedError

    def up(self, values: dict[IterVar, Any], ranges: Ranges, algebra: Algebra) -> None:
        """Fill in the values (polynomials) of the axes it was made from."""
        raise NotImplementedError

    def up_interval(
        self, values: dict[IterVar, Interval], ranges: Ranges, algebra: Algebra
    ) -> None:
        """The same for intervals."""
        raise NotImplementedError


def extent_of(iv: IterVar, ranges: Ranges, algebra: Algebra) -> Poly:
    """The extent of an axis as a polynomial."""
    return algebra.poly(ranges[iv].extent)


def _whole(value: Interval, dom: Range, algebra: Algebra) -> bool:
    """Whether the interval is known to be the whole range."""
    low = algebra.poly(dom.min)
    high = add(add(low, algebra.poly(dom.extent)), const(-1))
    return value.low == low and value.high == high


def _zero_based(extent: Poly, dtype: str, algebra: Algebra) -> Range:
    return Range.from_min_extent(IntImm(dtype, 0), algebra.expr(extent, dtype))


class Split(IterVarRelation):
    """An axis cut into an outer and an inner one; exactly one of factor and nparts is given."""

    __slots__ = ("parent", "outer", "inner", "factor", "nparts", "disable_predication")

    type_key = "Split"
    FIELDS = "parent:r outer:r inner:r factor:e nparts:e disable_predication:x"

    def __init__(
        self,
        parent: IterVar,
        outer: IterVar,
        inner: IterVar,
        factor: Any,
        nparts: Any,
        disable_predication: bool = False,
    ) -> None:
        self.parent = parent
        self.outer = outer
        self.inner = inner
        self.factor = factor
        self.nparts = nparts
        self.disable_predication = disable_predication

    @property
    def made_from(self) -> tuple[IterVar, ...]:  # type: ignore[override]
        return (self.parent,)

    @property
    def makes(self) -> tuple[IterVar, ...]:  # type: ignore[override]
        return (self.outer, self.inner)

    def down(self, ranges: Ranges, algebra: Algebra) -> None:
        dom = ranges[self.parent]
        dtype = self.outer.var.dtype
        extent = algebra.poly(dom.extent)
        given = algebra.poly(self.factor if self.factor is not None else self.nparts)
        size, step = constant(extent), constant(given)
        if size is not None and step is not None and step > size > 0:
            # a factor beyond the extent would only add guarded iterations
            given = extent
        other = algebra.floordiv(add(add(extent, given), const(-1)), given, dtype)
        inner, outer = (given, other) if self.factor is not None else (other, given)
        ranges[self.outer] = _zero_based(outer, dtype, algebra)
        ranges[self.inner] = _zero_based(inner, dtype, algebra)

    def up(self, values: dict[IterVar, Any], ranges: Ranges, algebra: Algebra) -> None:
        step = extent_of(self.inner, ranges, algebra)
        base = algebra.poly(ranges[self.parent].min)
        value = add(multiply(values[self.outer], step), values[self.inner])
        values[self.parent] = add(value, base)

    def up_interval(
        self, values: dict[IterVar, Interval], ranges: Ranges, algebra: Algebra
    ) -> None:
        outer, inner = values[self.outer], values[self.inner]
        dom = ranges[self.parent]
        low = algebra.poly(dom.min)
        if _whole(outer, ranges[self.outer], algebra) and _whole(
            inner, ranges[self.inner], algebra
        ):
            high = add(add(low, algebra.poly(dom.extent)), const(-1))
            values[self.parent] = Interval(low, high)
            return
        step = extent_of(self.inner, ranges, algebra)

        def value(a: Poly | None, b: Poly | None) -> Poly | None:
            if a is None or b is None:
                return None
            return add(add(multiply(a, step), b), low)

        values[self.parent] = Interval(value(outer.low, inner.low), value(outer.high, inner.high))

    def exact(self, ranges: Ranges, algebra: Algebra) -> bool:
        """Whether the made axes cover the parent's range without going past it."""
        covered = multiply(
            extent_of(self.outer, ranges, algebra), extent_of(self.inner, ranges, algebra)
        )
        return not add(covered, algebra.poly(ranges[self.parent].extent), -1)


class Fuse(IterVarRelation):
    """Two neighbouring axes run as one."""

    __slots__ = ("outer", "inner", "fused")

    type_key = "Fuse"
    FIELDS = "outer:r inner:r fused:r"

    def __init__(self, outer: IterVar, inner: IterVar, fused: IterVar) -> None:
        self.outer = outer
        self.inner = inner
        self.fused = fused

    @property
    def made_from(self) -> tuple[IterVar, ...]:  # type: ignore[override]
        return (self.outer, self.inner)

    @property
    def makes(self) -> tuple[IterVar, ...]:  # type: ignore[override]
        return (self.fused,)

    def down(self, ranges: Ranges, algebra: Algebra) -> None:
        extent = multiply(
            extent_of(self.outer, ranges, algebra), extent_of(self.inner, ranges, algebra)
        )
        ranges[self.fused] = _zero_based(extent, self.fused.var.dtype, algebra)

    def up(self, values: dict[IterVar, Any], ranges: Ranges, algebra: Algebra) -> None:
        step = extent_of(self.inner, ranges, algebra)
        dtype = self.fused.var.dtype
        value = values[self.fused]
        values[self.outer] = add(
            algebra.floordiv(value, step, dtype), algebra.poly(ranges[self.outer].min)
        )
        values[self.inner] = add(
            algebra.floormod(value, step, dtype), algebra.poly(ranges[self.inner].min)
        )

    def up_interval(
        self, values: dict[IterVar, Interval], ranges: Ranges, algebra: Algebra
    ) -> None:
        outer, inner = ranges[self.outer], ranges[self.inner]
        value = values[self.fused]
        full_outer, full_inner = whole_interval(outer, algebra), whole_interval(inner, algebra)
        values[self.outer], values[self.inner] = full_outer, full_inner
        if value.low is None or value.high is None:
            return
        if _whole(value, ranges[self.fused], algebra):
            return
        step = algebra.poly(inner.extent)
        dtype = self.fused.var.dtype
        if not algebra.positive(step):
            return
        first = algebra.floordiv(value.low, step, dtype)
        length = constant(add(value.high, value.low, -1))
        size = constant(step)
        if not add(value.low, value.high, -1):
            last = first
        elif length is not None and size is not None and _starts_row(value.low, size, algebra):
            # the run starts at a row's begin: the rows it touches are known exactly
            last = add(first, const(length // size))
        elif (
            length is not None
            and size is not None
            and size % (length + 1) == 0
            and _starts_row(value.low, length + 1, algebra)
        ):
            last = first
        elif length is not None and size is not None:
            # a run of length + 1 values touches at most this many rows, wherever it starts
            last = add(first, const((length + size - 1) // size))
            limit = full_outer.high
            if limit is not None:
                exact = algebra.floordiv(value.high, step, dtype)
                last = last if constant(limit) is None else _least(last, exact, limit, algebra)
        else:
            last = algebra.floordiv(value.high, step, dtype)
        base = algebra.poly(outer.min)
        values[self.outer] = Interval(add(first, base), add(last, base))
        if first == last:
            low_inner = algebra.floormod(value.low, step, dtype)
            low_base = algebra.poly(inner.min)
            low_inner = add(low_inner, low_base)
            span = add(value.high, value.low, -1)
            values[self.inner] = Interval(low_inner, add(low_inner, span))


def _starts_row(value: Poly, size: int, algebra: Algebra) -> bool:
    return algebra.is_index(value) and all(coeff % size == 0 for coeff in value.values())


def _least(last: Poly, exact: Poly, limit: Poly, algebra: Algebra) -> Poly:
    """``last`` over-approximates ``exact`` but has a constant distance to the first row."""
    if constant(exact) is not None:
        return exact
    return last


class Singleton(IterVarRelation):
    """An axis of extent 1 made of nothing."""

    __slots__ = ("iter",)

    type_key = "Singleton"
    FIELDS = "iter:r"

    def __init__(self, iter_var: IterVar) -> None:
        self.iter = iter_var

    @property
    def makes(self) -> tuple[IterVar, ...]:  # type: ignore[override]
        return (self.iter,)

    def down(self, ranges: Ranges, algebra: Algebra) -> None:
        ranges[self.iter] = Range.from_min_extent(tir.IntImm("int32", 0), tir.IntImm("int32", 1))

    def up(self, values: dict[IterVar, Any], ranges: Ranges, algebra: Algebra) -> None:
        return

    def up_interval(
        self, values: dict[IterVar, Interval], ranges: Ranges, algebra: Algebra
    ) -> None:
        return


def whole_interval(dom: Range, algebra: Algebra) -> Interval:
    """All values of a range."""
    low = algebra.poly(dom.min)
    return Interval(low, add(add(low, algebra.poly(dom.extent)), const(-1)))
