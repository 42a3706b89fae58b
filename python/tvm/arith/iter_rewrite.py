"""Rewriting of index expressions as sums of parts of iterators."""

from __future__ import annotations

from math import lcm

from tvm import tir
from tvm.tir import IntImm
from tvm.tir.stmt_functor import uses_var

from .iter_map import IterMark, IterSplitExpr, IterSumExpr, map_expr, mark_expr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .analyzer import Analyzer


class NotAMap(Exception):
    """An index does more than to cut and join iterators; the message says what."""


class _Restart(Exception):
    """An iterator has to be padded, from the beginning."""


class Constraint:
    """Parts of iterators of whose sum the predicate says how far it runs."""

    __slots__ = ("args", "lower", "mark", "whole")

    def __init__(
        self, args: tuple[IterSplitExpr, ...], mark: IterMark, lower: Any, whole: IterMark
    ) -> None:
        self.args = args
        # The iterator that stands for the sum, less `lower`.
        self.mark = mark
        self.lower = lower
        # The same without the predicate.
        self.whole = whole


class Rewriter:
    """Index expressions over given iterators.

    Parameters
    ----------
    analyzer : Analyzer
        Knows the ranges of the iterators.
    input_iters : dict of Var to Range
        The iterators.
    trivial : bool
        Whether an iterator of one value counts as that value.
    pad : bool
        Whether an iterator may be padded so that it can be cut evenly.
    """

    def __init__(
        self, analyzer: Analyzer, input_iters: Any, trivial: bool = True, pad: bool = False
    ) -> None:
        self.analyzer = analyzer
        self.pad = pad
        self.marks: list[IterMark] = []
        self.constraints: list[Constraint] = []
        # What the predicate says of anything but the iterators.
        self.free_conditions: list[Any] = []
        # key of an iterator -> the values to leave free before it, and what must divide its length
        self.padding: dict[Any, tuple[int, int]] = {}
        # key of a padded iterator -> it, and the one inside
        self.padded: dict[Any, tuple[IterMark, IterMark, int, int]] = {}
        self._sums: dict[Any, IterSumExpr] = {}
        # Iterators by key, so that equal ones are one object.
        self._known: dict[Any, IterMark] = {}
        self._keys: dict[int, Any] = {}
        for var, dom in input_iters.items():
            extent = analyzer.simplify(dom.extent)
            if trivial and _is(extent, 1):
                self._sums[var] = IterSumExpr([], dom.min)
                continue
            mark = IterMark(var if _is(dom.min, 0) else var - dom.min, extent)
            self.marks.append(mark)
            self._keys[id(mark)] = ("v", id(var))
            self._sums[var] = IterSumExpr([IterSplitExpr(mark)], dom.min)
        self._inputs = set(input_iters)

    # --- keys ---

    def key(self, mark: IterMark) -> Any:
        """What is equal for equal iterators."""
        return self._keys[id(mark)]

    def split_key(self, split: IterSplitExpr) -> Any:
        """What is equal for equal parts, whatever their scale."""
        return self.key(split.source), str(split.lower_factor), str(split.extent)

    def _mark(self, key: Any, source: Any, extent: Any) -> IterMark:
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = IterMark(source, extent)
            self._keys[id(found)] = key
        return found

    # --- entry ---

    def rewrite_all(self, exprs: Any) -> list[IterSumExpr]:
        """All indices, each as one part and a base; padded where that is needed and allowed."""
        for _ in range(32):
            try:
                return [self.fused(self.sum_of(item)) for item in exprs]
            except _Restart:
                self.padded.clear()
        raise NotAMap("the iterators cannot be padded so that all indices cut them evenly")

    # --- sums ---

    def sum_of(self, expr: Any) -> IterSumExpr:
        """An expression as a sum of parts."""
        made = self._visit(expr)
        return IterSumExpr(made.args, self.analyzer.simplify(made.base))

    def _visit(self, expr: Any) -> IterSumExpr:
        kind = type(expr)
        if isinstance(expr, tir.Var) and expr in self._sums:
            return self._pad_all(self._sums[expr])
        if not self._inputs or not uses_var(expr, self._inputs):
            return IterSumExpr([], expr)
        if kind is tir.Add or kind is tir.Sub:
            return self._plus(
                self._visit(expr.a), self._visit(expr.b), 1 if kind is tir.Add else -1
            )
        if kind is tir.Mul:
            a, b = self._visit(expr.a), self._visit(expr.b)
            if a.args and b.args:
                raise NotAMap(f"a product of two iterators, {expr}")
            return self._times(a, b.base) if a.args else self._times(b, a.base)
        if kind is tir.FloorDiv or kind is tir.FloorMod:
            divisor = self._visit(expr.b)
            if divisor.args:
                raise NotAMap(f"the divisor of {expr} is not constant")
            return self._divide(self._visit(expr.a), divisor.base, kind is tir.FloorDiv)
        if kind is tir.Cast and expr.value.dtype in ("int32", "int64"):
            inner = self._visit(expr.value)
            if inner.args and inner.dtype != expr.dtype:
                raise NotAMap(f"iterators of {inner.dtype} in an index of {expr.dtype}")
            return inner
        raise NotAMap(f"{expr} neither cuts nor joins iterators")

    def _plus(self, a: IterSumExpr, b: IterSumExpr, sign: int) -> IterSumExpr:
        args = list(a.args)
        for item in b.args:
            item = item if sign == 1 else _scaled(item, self.analyzer.simplify(0 - item.scale))
            for number, other in enumerate(args):
                if self.split_key(other) == self.split_key(item):
                    scale = self.analyzer.simplify(other.scale + item.scale)
                    if _is(scale, 0):
                        del args[number]
                    else:
                        args[number] = _scaled(other, scale)
                    break
            else:
                args.append(item)
        base = a.base + b.base if sign == 1 else a.base - b.base
        return IterSumExpr(args, self.analyzer.simplify(base))

    def _times(self, a: IterSumExpr, factor: Any) -> IterSumExpr:
        simplify = self.analyzer.simplify
        if _is(factor, 0):
            return IterSumExpr([], factor)
        args = [_scaled(item, simplify(item.scale * factor)) for item in a.args]
        return IterSumExpr(args, simplify(a.base * factor))

    # --- joining ---

    def _apply_constraints(self, given: IterSumExpr) -> IterSumExpr:
        """Sums of which the predicate says something become one iterator."""
        args, base = list(given.args), given.base
        for constraint in self.constraints:
            first = constraint.args[0]
            for anchor in args:
                if self.split_key(anchor) != self.split_key(first):
                    continue
                ratio = self._exact(anchor.scale, first.scale)
                if ratio is None:
                    continue
                found = self._members(constraint, args, ratio)
                if found is None:
                    continue
                args = [item for item in args if not any(item is x for x in found)]
                args.append(IterSplitExpr(constraint.mark, 1, None, ratio))
                base = self.analyzer.simplify(base + ratio * constraint.lower)
                break
        return IterSumExpr(args, base)

    def _members(
        self, constraint: Constraint, args: list[IterSplitExpr], ratio: Any
    ) -> list[IterSplitExpr] | None:
        found = []
        for wanted in constraint.args:
            scale = self.analyzer.simplify(wanted.scale * ratio)
            for item in args:
                same = self.split_key(item) == self.split_key(wanted)
                if same and self.analyzer.can_prove_equal(item.scale, scale):
                    found.append(item)
                    break
            else:
                return None
        return found

    def fused(self, given: IterSumExpr) -> IterSumExpr:
        """The same sum with one part at most.

        Raises
        ------
        NotAMap
            When the parts do not count through without gaps.
        """
        given = self._pad_all(self._apply_constraints(given))
        if len(given.args) <= 1:
            return given
        ordered = self._ordered(given.args)
        first = ordered[0].scale
        args, extent = [], None
        expected: Any = first
        for item in ordered:
            if not self.analyzer.can_prove_equal(item.scale, expected):
                raise NotAMap(
                    f"the parts of {map_expr(given)} do not count through: expected the factor "
                    f"{expected}, but got {item.scale}"
                )
            relative = self._exact(item.scale, first)
            if relative is None:
                raise NotAMap(f"{item.scale} is not a multiple of {first}")
            args.append(_scaled(item, relative))
            expected = self.analyzer.simplify(item.scale * item.extent)
            extent = item.extent if extent is None else self.analyzer.simplify(extent * item.extent)
        args.reverse()
        key = tuple([(self.split_key(item), str(item.scale)) for item in args])
        mark = self._mark(key, IterSumExpr(args, IntImm(given.dtype, 0)), extent)
        return self._pad_all(IterSumExpr([IterSplitExpr(mark, 1, None, first)], given.base))

    def _ordered(self, items: Any) -> list[IterSplitExpr]:
        """The parts, each before those that it steps through."""
        left = list(items)
        constants = [item for item in left if isinstance(item.scale, IntImm)]
        if len(constants) == len(left):
            return sorted(left, key=lambda item: (abs(item.scale.value), _size(item.extent)))
        out: list[IterSplitExpr] = []
        if constants:
            out.append(min(constants, key=lambda item: abs(item.scale.value)))
        else:
            for item in left:
                rest = [other for other in left if other is not item]
                if all(self._exact(other.scale, item.scale) is not None for other in rest):
                    out.append(item)
                    break
            else:
                raise NotAMap("no factor divides all the others")
        left.remove(out[0])
        while left:
            wanted = self.analyzer.simplify(out[-1].scale * out[-1].extent)
            for item in left:
                if self.analyzer.can_prove_equal(item.scale, wanted):
                    out.append(item)
                    left.remove(item)
                    break
            else:
                raise NotAMap(f"no part has the factor {wanted}")
        return out

    def _exact(self, a: Any, b: Any) -> Any:
        """a / b where that is known to be whole, else None."""
        if isinstance(a, IntImm) and isinstance(b, IntImm):
            if b.value == 0 or a.value % b.value:
                return None
            return IntImm(a.dtype, a.value // b.value)
        if _is(b, 1) or self.analyzer.can_prove_equal(tir.floormod(a, b), 0):
            return self.analyzer.simplify(tir.floordiv(a, b))
        return None

    # --- cutting ---

    def _divide(self, given: IterSumExpr, divisor: Any, quotient: bool) -> IterSumExpr:
        simplify = self.analyzer.simplify
        if not self.analyzer.can_prove(divisor > 0):
            raise NotAMap(f"the divisor {divisor} is not known to be positive")
        if not given.args:
            node = tir.floordiv if quotient else tir.floormod
            return IterSumExpr([], simplify(node(given.base, divisor)))
        given = self._apply_constraints(given)
        whole, rest = [], []
        for item in given.args:
            factor = self._exact(item.scale, divisor)
            if factor is None:
                rest.append(item)
            else:
                whole.append(_scaled(item, factor))
        if not rest:
            if quotient:
                return IterSumExpr(whole, simplify(tir.floordiv(given.base, divisor)))
            return IterSumExpr([], simplify(tir.floormod(given.base, divisor)))
        part = self.fused(IterSumExpr(rest, given.base))
        cut = self._cut(part, divisor, quotient)
        return self._plus(cut, IterSumExpr(whole, 0), 1) if quotient and whole else cut

    def _cut(self, part: IterSumExpr, divisor: Any, quotient: bool) -> IterSumExpr:
        """(scale * x + base) by a divisor, for one part x."""
        simplify = self.analyzer.simplify
        split, base = part.args[0], part.base
        factor = self._exact(split.scale, divisor)
        if factor is not None:
            if quotient:
                return IterSumExpr([_scaled(split, factor)], simplify(tir.floordiv(base, divisor)))
            return IterSumExpr([], simplify(tir.floormod(base, divisor)))
        scale = split.scale
        steps = self._exact(divisor, scale) if self.analyzer.can_prove(scale > 0) else None
        if steps is None:
            raise NotAMap(f"neither of {scale} and {divisor} divides the other")
        # (scale * x + base) // divisor == (x + base // scale) // steps
        shift = simplify(tir.floordiv(base, scale))
        left_over = simplify(tir.floormod(base, scale))
        before = simplify(tir.floormod(shift, steps))
        turns = simplify(tir.floordiv(shift, steps))
        unit = _scaled(split, IntImm(split.dtype, 1))
        if self.analyzer.can_prove(before + split.extent <= steps):
            # All values lie between two multiples of the divisor.
            if quotient:
                return IterSumExpr([], turns)
            return IterSumExpr([_scaled(split, scale)], simplify(before * scale + left_over))
        if not _is(before, 0):
            self._need_padding(split, before, steps)
        count = self._exact(split.extent, steps)
        if count is None:
            self._need_padding(split, before, steps)
        if quotient:
            lower = simplify(split.lower_factor * steps)
            return IterSumExpr([IterSplitExpr(unit.source, lower, count, 1)], turns)
        made = IterSplitExpr(unit.source, split.lower_factor, steps, scale)
        return IterSumExpr([made], left_over)

    # --- padding ---

    def _need_padding(self, split: IterSplitExpr, before: Any, steps: Any) -> None:
        """Note that an iterator must be padded, and begin again."""
        if not (isinstance(before, IntImm) and isinstance(steps, IntImm) and self.pad):
            raise NotAMap(
                f"{map_expr(split)} with {split.extent} values is not cut evenly by {steps}"
            )
        mark = split.source
        if mark.extent is not split.extent and not self.analyzer.can_prove_equal(
            mark.extent, split.extent
        ):
            raise NotAMap(f"a part of {mark_expr(mark)} is not cut evenly by {steps}")
        if not self._extends(mark):
            raise NotAMap(f"{mark_expr(mark)} cannot go on beyond its last value")
        for inner, (padded, _, left, factor) in self.padded.items():
            if padded is mark:
                key, known = inner, (left, factor)
                break
        else:
            key, known = self.key(mark), (0, 1)
        left, factor = known
        wanted = (left + before.value, lcm(factor, steps.value))
        if wanted == known:
            raise NotAMap(f"{mark_expr(mark)} cannot be padded to be cut evenly by {steps}")
        self.padding[key] = wanted
        raise _Restart

    def _extends(self, mark: IterMark) -> bool:
        """Whether the variables can say that an iterator is beyond its values.

        The first part of a sum must be the last to turn over in its own iterator.
        """
        source = mark.source
        if not isinstance(source, IterSumExpr):
            return True
        first = source.args[0]
        whole = self.analyzer.simplify(first.lower_factor * first.extent)
        return self.analyzer.can_prove_equal(whole, first.source.extent) and self._extends(
            first.source
        )

    def _pad_all(self, given: IterSumExpr) -> IterSumExpr:
        """Whole iterators that have to be padded, padded."""
        if not self.padding:
            return given
        args, base = [], given.base
        for item in given.args:
            key = self.key(item.source)
            wanted = self.padding.get(key)
            whole = item.extent is item.source.extent
            if wanted is None or not whole:
                args.append(item)
                continue
            left, factor = wanted
            padded = self._padded(key, item.source, left, factor)
            args.append(IterSplitExpr(padded, 1, None, item.scale))
            base = self.analyzer.simplify(base - item.scale * left)
        return IterSumExpr(args, base)

    def _padded(self, key: Any, mark: IterMark, left: int, factor: int) -> IterMark:
        found = self.padded.get(key)
        if found is None:
            extent = self.analyzer.simplify(tir.ceildiv(mark.extent + left, factor) * factor)
            source = IterSumExpr([IterSplitExpr(mark)], left)
            made = self._mark(("p", key, left, factor), source, extent)
            found = self.padded[key] = (made, mark, left, factor)
        return found[0]

    def padding_predicate(self) -> Any:
        """Where the padded iterators have values that none of the given ones has."""
        result: Any = IntImm("bool", 0)
        for padded, mark, left, factor in self.padded.values():
            value = mark_expr(padded)
            turn, place = tir.floordiv(value, factor), tir.floormod(value, factor)
            if left:
                at_first = tir.all(turn < left // factor) if left >= factor else None
                first = tir.all(turn == left // factor, place < left % factor)
                result = tir.any(result, first if at_first is None else tir.any(at_first, first))
            end = self.analyzer.simplify(mark.extent + left)
            rest = self.analyzer.simplify(tir.floormod(end, factor))
            if not _is(rest, 0):
                last = self.analyzer.simplify(tir.floordiv(end, factor))
                beyond = tir.all(turn == last, rest <= place)
                if not isinstance(rest, IntImm):
                    beyond = tir.all(rest != 0, beyond)
                result = tir.any(result, beyond)
        return result


def _scaled(split: IterSplitExpr, scale: Any) -> IterSplitExpr:
    if split.scale is scale:
        return split
    made = IterSplitExpr(split.source, split.lower_factor, split.extent, scale)
    # Whether a part is all of its iterator goes by identity.
    made.extent = split.extent
    return made


def _is(value: Any, number: int) -> bool:
    return isinstance(value, IntImm) and value.value == number


def _size(extent: Any) -> float:
    return extent.value if isinstance(extent, IntImm) else float("inf")
