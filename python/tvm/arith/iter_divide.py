"""Division of index maps into what some of the iterators do and what the others do."""

from __future__ import annotations

from tvm import tir
from tvm.tir import IntImm

from .iter_affine_map import IterMapLevel, _detect
from .iter_map import IterMark, IterSplitExpr, IterSumExpr, map_expr, mark_expr
from .iter_rewrite import NotAMap, Rewriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Part:
    """An iterator as outer * inner.extent + inner; either may be missing."""

    __slots__ = ("inner", "outer")

    def __init__(self, outer: IterMark | None, inner: IterMark | None) -> None:
        self.outer = outer
        self.inner = inner


class _Division:
    def __init__(self, rewriter: Rewriter, sub_iters: Any) -> None:
        self._rewriter = rewriter
        self._analyzer = rewriter.analyzer
        self._inside = {getattr(var, "var", var) for var in sub_iters}
        self._parts: dict[Any, _Part] = {}
        self._constrained = {rewriter.key(item.mark): item for item in rewriter.constraints}
        self.outer_predicate: Any = IntImm("bool", 1)
        self.inner_predicate: Any = IntImm("bool", 1)

    def divide_mark(self, mark: IterMark) -> _Part:
        """The two parts of an iterator."""
        key = self._rewriter.key(mark)
        found = self._parts.get(key)
        if found is None:
            found = self._parts[key] = self._divide_mark(key, mark)
        return found

    def _divide_mark(self, key: Any, mark: IterMark) -> _Part:
        if not isinstance(mark.source, IterSumExpr):
            var = mark.source.a if type(mark.source) is tir.Sub else mark.source
            inside = var in self._inside
            return _Part(None, mark) if inside else _Part(mark, None)
        made = self._divide_sum(mark.source.args, mark.source.dtype)
        constraint = self._constrained.get(key)
        return made if constraint is None else self._constrain(made, mark, constraint)

    def _divide_sum(self, args: Any, dtype: str) -> _Part:
        """The two parts of a sum whose parts count through, the greatest factor first."""
        outer: list[IterSplitExpr] = []
        inner: list[IterSplitExpr] = []
        inner_extent: Any = IntImm(dtype, 1)
        outer_extent: Any = IntImm(dtype, 1)
        for item in reversed(args):
            part = self.divide_split(item)
            if part.inner is not None:
                if outer:
                    raise NotAMap("an inner iterator steps over an outer one")
                inner.insert(0, IterSplitExpr(part.inner, 1, None, inner_extent))
                inner_extent = self._analyzer.simplify(inner_extent * part.inner.extent)
            if part.outer is not None:
                outer.insert(0, IterSplitExpr(part.outer, 1, None, outer_extent))
                outer_extent = self._analyzer.simplify(outer_extent * part.outer.extent)
        return _Part(self._join(outer, outer_extent, dtype), self._join(inner, inner_extent, dtype))

    @staticmethod
    def _join(args: list[IterSplitExpr], extent: Any, dtype: str) -> IterMark | None:
        if not args:
            return None
        if len(args) == 1:
            return args[0].source
        return IterMark(IterSumExpr(args, IntImm(dtype, 0)), extent)

    def divide_split(self, split: IterSplitExpr) -> _Part:
        """The two parts of a part, whatever its scale."""
        part = self.divide_mark(split.source)
        if part.inner is None or part.outer is None:
            mark = part.inner or part.outer
            if mark is None:
                return part
            whole = split.extent is split.source.extent
            made = mark if whole else _as_mark(mark, split.lower_factor, split.extent)
            return _Part(None, made) if part.inner is not None else _Part(made, None)
        if split.extent is split.source.extent:
            return part
        exact, simplify = self._rewriter._exact, self._analyzer.simplify
        inner = part.inner.extent
        lower, end = split.lower_factor, simplify(split.lower_factor * split.extent)
        if exact(inner, end) is not None:
            return _Part(None, _as_mark(part.inner, lower, split.extent))
        above = exact(lower, inner)
        if above is not None:
            return _Part(_as_mark(part.outer, above, split.extent), None)
        below, rest = exact(inner, lower), exact(end, inner)
        if below is None or rest is None:
            raise NotAMap("a split lies across the border of outer and inner iterators")
        return _Part(_as_mark(part.outer, IntImm(lower.dtype, 1), rest),
                     _as_mark(part.inner, lower, below))  # fmt: skip

    def _constrain(self, made: _Part, mark: IterMark, constraint: Any) -> _Part:
        """A sum of which the predicate says how far it runs."""
        zero = isinstance(constraint.lower, IntImm) and constraint.lower.value == 0
        if made.outer is None or made.inner is None:
            part = made.outer or made.inner
            if part is None:
                return made
            value = IterSumExpr([IterSplitExpr(part)], 0 if zero else 0 - constraint.lower)
            limited = IterMark(value, mark.extent)
            held = map_expr(value)
            cond = held < mark.extent if zero else tir.all(held >= 0, held < mark.extent)
            if made.outer is not None:
                self.outer_predicate = tir.all(self.outer_predicate, cond)
                return _Part(limited, None)
            self.inner_predicate = tir.all(self.inner_predicate, cond)
            return _Part(None, limited)
        turns = self._rewriter._exact(mark.extent, made.inner.extent)
        if not zero or turns is None:
            raise NotAMap("the predicate ties outer and inner iterators together")
        limited = IterMark(IterSumExpr([IterSplitExpr(made.outer)], 0), turns)
        cond = mark_expr(made.outer) < turns
        self.outer_predicate = tir.all(self.outer_predicate, cond)
        return _Part(limited, made.inner)


def _as_mark(mark: IterMark, lower_factor: Any, extent: Any) -> IterMark:
    """A part of an iterator as one of its own."""
    return IterMark(IterSumExpr([IterSplitExpr(mark, lower_factor, extent, 1)], 0), extent)


def subspace_divide(
    bindings: Any,
    input_iters: Any,
    sub_iters: Any,
    predicate: Any = True,
    check_level: Any = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
) -> list[list[IterMark]]:
    """Divide indices into what the iterators of a subspace do and what the others do.

    Parameters
    ----------
    bindings : list of PrimExpr
        The indices.
    input_iters : dict of Var to Range
        All iterators.
    sub_iters : list of Var
        Those of the subspace.
    predicate : PrimExpr
        What holds of the iterators.
    check_level : IterMapLevel or str
        What the map must be.
    simplify_trivial_iterators : bool
        Whether an iterator of one value counts as that value.

    Returns
    -------
    list of [IterMark, IterMark]
        For every index the outer and the inner iterator, ``index == outer * inner.extent + inner``
        (less its base), and at last two marks whose extents are the outer and inner predicates.
        Empty when that cannot be.

    Examples
    --------
    >>> import tvm
    >>> i, j = tvm.tir.Var("i"), tvm.tir.Var("j")
    >>> iters = {i: tvm.ir.Range(0, 8), j: tvm.ir.Range(0, 4)}
    >>> divided = tvm.arith.subspace_divide([i * 4 + j], iters, [j])
    >>> [(mark.source, mark.extent) for mark in divided[0]]
    [(i, 8), (j, 4)]
    """
    try:
        level = IterMapLevel.from_str(check_level) if isinstance(check_level, str) else check_level
        rewriter, found = _detect(
            bindings, input_iters, predicate, level, simplify_trivial_iterators
        )
        if rewriter.padded:
            raise NotAMap("padded iterators cannot be divided")
        division = _Division(rewriter, sub_iters)
        out = []
        for item in found:
            part = division.divide_split(item.args[0]) if item.args else _Part(None, None)
            base = item.base
            scale = item.args[0].scale if item.args else IntImm(item.dtype, 1)
            outer, inner = part.outer, part.inner
            nothing = IterMark(IterSumExpr([], IntImm(item.dtype, 0)), IntImm(item.dtype, 1))
            plain = _is(scale, 1) and _is(base, 0)
            if not plain:
                # The factor and the base go with the innermost part there is.
                if inner is not None or outer is None:
                    inner = _scaled(inner, scale, base)
                else:
                    outer = _scaled(outer, scale, base)
                if part.inner is not None and part.outer is not None and not _is(scale, 1):
                    raise NotAMap("an index with a factor has outer and inner iterators")
            out.append([outer or nothing, inner or nothing])
        for constraint in rewriter.constraints:
            division.divide_mark(constraint.mark)
    except NotAMap:
        return []
    for cond in rewriter.free_conditions:
        division.outer_predicate = tir.all(division.outer_predicate, cond)
    empty = IterSumExpr([], IntImm("int32", 0))
    predicates = (division.outer_predicate, division.inner_predicate)
    out.append([IterMark(empty, cond) for cond in predicates])
    return out


def _scaled(mark: IterMark | None, scale: Any, base: Any) -> IterMark:
    if mark is None:
        return IterMark(IterSumExpr([], base), IntImm(base.dtype, 1))
    made = IterSplitExpr(mark, 1, None, scale)
    return IterMark(IterSumExpr([made], base), mark.extent)


def _is(value: Any, number: int) -> bool:
    return isinstance(value, IntImm) and value.value == number
