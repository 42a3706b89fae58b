"""Detection, simplification, inversion and division of index maps made of splits and fuses."""

from __future__ import annotations

from tvm import error, tir
from tvm.ir.base import Node
from tvm.ir.expr import Range, as_expr
from tvm.tir import IntImm

from .analyzer import Analyzer
from .iter_map import IterMark, IterSplitExpr, IterSumExpr, map_expr
from .iter_rewrite import Constraint, NotAMap, Rewriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class IterMapLevel:
    """What an index map must be.

    `Bijective`: every value of the indices comes from exactly one value of the iterators.
    `Surjective`: the indices take all values of a box. `NoCheck`: neither is looked at.
    """

    Bijective = 0
    Surjective = 1
    NoCheck = 3

    @staticmethod
    def from_str(name: str) -> int:
        """The level of this name, in any case of letters."""
        found = _LEVELS.get(name.lower())
        if found is None:
            raise error.ValueError_(
                f"unknown check level {name!r}: expected one of {', '.join(sorted(_LEVELS))}"
            )
        return found


_LEVELS = {"bijective": 0, "surjective": 1, "nocheck": 3}


def _level(given: Any) -> int:
    return IterMapLevel.from_str(given) if isinstance(given, str) else int(given)


class IterMapResult(Node):
    """What `detect_iter_map` found.

    Attributes
    ----------
    indices : list of IterSumExpr
        The indices, each with one part at most; empty when the map is not of that kind.
    errors : list of str
        Why not.
    padding_predicate : PrimExpr
        Where padded iterators have values that none of the given ones has; false without padding.
    """

    __slots__ = ("errors", "indices", "padding_predicate")
    type_key = "arith.IterMapResult"
    FIELDS = "indices:r errors:x padding_predicate:r"

    def __init__(self, indices: Any, errors: Any, padding_predicate: Any) -> None:
        self.indices: list[IterSumExpr] = list(indices)
        self.errors: list[str] = list(errors)
        self.padding_predicate = padding_predicate


def _analyzer_of(input_iters: Any) -> tuple[Analyzer, dict[Any, Range]]:
    iters = {}
    analyzer = Analyzer()
    for key, dom in dict(input_iters).items():
        var: Any = getattr(key, "var", key)
        iters[var] = dom if isinstance(dom, Range) else Range(0, as_expr(dom))
        analyzer.bind(var, iters[var])
    for dom in iters.values():
        if not isinstance(dom.extent, IntImm):
            # Where an iterator has no value there is nothing to say.
            analyzer.constraint_scope(dom.extent > 0).__enter__()
    return analyzer, iters


def _detect(
    indices: Any, input_iters: Any, predicate: Any, check_level: Any, trivial: bool
) -> tuple[Rewriter, list[IterSumExpr]]:
    """The indices as sums; raises NotAMap."""
    level = _level(check_level)
    analyzer, iters = _analyzer_of(input_iters)
    rewriter = Rewriter(analyzer, iters, trivial, level != IterMapLevel.Bijective)
    constrain(rewriter, predicate)
    found = rewriter.rewrite_all([as_expr(item) for item in indices])
    if level != IterMapLevel.NoCheck:
        check_independent(rewriter, found, level == IterMapLevel.Bijective)
    return rewriter, found


def detect_iter_map(
    indices: Any,
    input_iters: Any,
    predicate: Any = True,
    check_level: Any = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
) -> IterMapResult:
    """Find out whether indices only cut and join iterators.

    Parameters
    ----------
    indices : list of PrimExpr
        The indices.
    input_iters : dict of Var to Range
        The iterators.
    predicate : PrimExpr
        What holds of them.
    check_level : IterMapLevel or str
        What the map must be. Padding is possible unless it must be bijective.
    simplify_trivial_iterators : bool
        Whether an iterator of one value counts as that value.

    Examples
    --------
    >>> import tvm
    >>> i, j = tvm.tir.Var("i"), tvm.tir.Var("j")
    >>> iters = {i: tvm.ir.Range(0, 8), j: tvm.ir.Range(0, 4)}
    >>> found = tvm.arith.detect_iter_map([(i * 4 + j) // 16, (i * 4 + j) % 16], iters)
    >>> [tvm.arith.normalize_iter_map_to_expr(item) for item in found.indices]
    [(i * 4 + j) // 16, (i * 4 + j) % 16]
    """
    try:
        rewriter, found = _detect(
            indices, input_iters, predicate, check_level, simplify_trivial_iterators
        )
    except NotAMap as reason:
        return IterMapResult([], [str(reason)], IntImm("bool", 0))
    return IterMapResult(found, [], rewriter.padding_predicate())


def normalize_to_iter_sum(index: Any, input_iters: Any) -> IterSumExpr:
    """An index as a sum of parts, those with the greatest factors first.

    What does not cut or join iterators becomes an iterator of its own; the rest is the base.

    Raises
    ------
    ValueError
        When the index is no sum of parts at all.
    """
    analyzer, iters = _analyzer_of(input_iters)
    rewriter = Rewriter(analyzer, iters, True, False)
    try:
        found = rewriter.sum_of(as_expr(index))
    except NotAMap as reason:
        raise error.ValueError_(f"normalize_to_iter_sum: {reason}") from None

    def order(item: IterSplitExpr) -> int:
        return item.scale.value if isinstance(item.scale, IntImm) else 1 << 62

    args = sorted(found.args, key=order, reverse=True)
    return IterSumExpr(args, found.base)


def normalize_iter_map_to_expr(expr: Any) -> Any:
    """A sum or part of iterators as an ordinary expression."""
    return Analyzer().simplify(map_expr(expr))


def iter_map_simplify(
    indices: Any,
    input_iters: Any,
    predicate: Any = True,
    check_level: Any = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
) -> list[Any]:
    """The indices, simplified by what is known of the iterators.

    Each is rewritten by itself; one that is no iter map is simplified as any expression is.
    """
    analyzer, iters = _analyzer_of(input_iters)
    indices = [as_expr(item) for item in indices]
    try:
        _, found = _detect(indices, input_iters, predicate, check_level, simplify_trivial_iterators)
        return [analyzer.simplify(map_expr(item)) for item in found]
    except NotAMap:
        out = []
        for item in indices:
            rewriter = Rewriter(analyzer, iters, simplify_trivial_iterators, False)
            try:
                constrain(rewriter, predicate)
                out.append(analyzer.simplify(map_expr(rewriter.fused(rewriter.sum_of(item)))))
            except NotAMap:
                out.append(analyzer.simplify(item))
        return out


# --- predicates -----------------------------------------------------------------------------------


def _comparisons(cond: Any) -> list[Any]:
    cond = as_expr(cond)
    if type(cond) is tir.And:
        return _comparisons(cond.a) + _comparisons(cond.b)
    if type(cond) is tir.Call and getattr(cond.op, "name", "") == "tir.likely":
        return _comparisons(cond.args[0])
    return [cond]


def constrain(rewriter: Rewriter, predicate: Any) -> None:
    """Tell a rewriter what a predicate says of its iterators.

    Raises
    ------
    NotAMap
        When it says something else than how far a sum of iterators runs.
    """
    pad, rewriter.pad = rewriter.pad, False
    for total in sorted(_bounds(rewriter, predicate), key=lambda item: len(item.args)):
        _constrain_one(rewriter, total)
    rewriter.pad = pad


def _bounds(rewriter: Rewriter, predicate: Any) -> list[IterSumExpr]:
    """The sums that a predicate says are not positive."""
    found = []
    for cond in _comparisons(predicate):
        if isinstance(cond, IntImm):
            if not cond.value:
                raise NotAMap("the predicate never holds")
            continue
        kind = type(cond)
        if kind not in (tir.LT, tir.LE, tir.GT, tir.GE):
            raise NotAMap(f"{cond} in the predicate is no bound")
        less, more = (cond.a, cond.b) if kind in (tir.LT, tir.LE) else (cond.b, cond.a)
        total = rewriter.sum_of(less - more + (1 if kind in (tir.LT, tir.GT) else 0))
        if total.args:
            found.append(total)
            continue
        held = rewriter.analyzer.simplify(total.base <= 0)
        if not isinstance(held, IntImm):
            rewriter.free_conditions.append(held)
        elif not held.value:
            raise NotAMap("the predicate never holds")
    return found


def _constrain_one(rewriter: Rewriter, total: IterSumExpr) -> None:
    analyzer = rewriter.analyzer
    negative = all(analyzer.can_prove(item.scale < 0) for item in total.args)
    args = [
        IterSplitExpr(x.source, x.lower_factor, x.extent,
                      analyzer.simplify(0 - x.scale) if negative else x.scale)
        for x in total.args
    ]  # fmt: skip
    for made, item in zip(args, total.args):
        made.extent = item.extent
    fused = rewriter.fused(IterSumExpr(args, IntImm(total.dtype, 0)))
    pattern = rewriter._apply_constraints(IterSumExpr(args, IntImm(total.dtype, 0)))
    split = fused.args[0]
    if not analyzer.can_prove(split.scale > 0):
        raise NotAMap(f"the factor {split.scale} of a bound is not known to be positive")
    lower: Any = IntImm(total.dtype, 0)
    upper = split.extent
    base = analyzer.simplify(fused.base)
    if negative:
        # scale * x + base >= total.base
        first = analyzer.simplify(tir.ceildiv(total.base - base, split.scale))
        if analyzer.can_prove(first <= 0):
            return
        lower = first if analyzer.can_prove(first >= 0) else tir.op.max(first, lower)
    else:
        # scale * x + base <= -total.base
        end = analyzer.simplify(tir.floordiv(0 - total.base - base, split.scale) + 1)
        if analyzer.can_prove(end >= upper):
            return
        upper = end if analyzer.can_prove(end <= upper) else tir.op.min(end, upper)
    extent = analyzer.simplify(upper - lower)
    if not analyzer.can_prove(extent >= 0):
        extent = tir.op.max(extent, 0)
    part = IterSplitExpr(split.source, split.lower_factor, split.extent, 1)
    part.extent = split.extent
    whole = split.source
    key = ("c", rewriter.split_key(split), str(lower), str(extent))
    source = IterSumExpr([part], analyzer.simplify(0 - lower))
    mark = rewriter._mark(key, source, extent)
    relative = []
    for item in pattern.args:
        factor = rewriter._exact(item.scale, split.scale)
        if factor is None:
            raise NotAMap(f"{item.scale} is not a multiple of {split.scale}")
        piece = IterSplitExpr(item.source, item.lower_factor, item.extent, factor)
        piece.extent = item.extent
        relative.append(piece)
    rewriter.constraints.append(Constraint(tuple(relative), mark, lower, whole))


# --- independence ---------------------------------------------------------------------------------


class _Use:
    """The parts of each iterator that some indices are made of."""

    def __init__(self, rewriter: Rewriter) -> None:
        self._rewriter = rewriter
        self.parts: dict[Any, list[IterSplitExpr]] = {}
        self.marks: dict[Any, IterMark] = {}

    def add(self, node: Any) -> None:
        """Note a sum, and all that its parts are made of."""
        if not isinstance(node, IterSumExpr):
            return
        for item in node.args:
            key = self._rewriter.key(item.source)
            first = key not in self.marks
            self.marks[key] = item.source
            self.parts.setdefault(key, []).append(item)
            if first:
                self.add(item.source.source)


def check_independent(rewriter: Rewriter, indices: Any, bijective: bool) -> None:
    """Whether the indices take all values of a box (each once, when `bijective`).

    Raises
    ------
    NotAMap
        If that is not known.
    """
    use = _Use(rewriter)
    for item in indices:
        use.add(item)
    for key, mark in use.marks.items():
        _check_parts(rewriter, mark, use.parts[key], bijective)
    for constraint in rewriter.constraints:
        if rewriter.key(constraint.mark) in use.marks:
            continue
        inner = _Use(rewriter)
        inner.add(IterSumExpr(constraint.args))
        if bijective or any(key in use.marks for key in inner.marks):
            raise NotAMap("the predicate ties iterators together that the indices take apart")
    if bijective:
        for mark in rewriter.marks:
            if rewriter.key(mark) not in use.marks:
                raise NotAMap("not all iterators are in the indices, the map is not bijective")


def _check_parts(
    rewriter: Rewriter, mark: IterMark, parts: list[IterSplitExpr], bijective: bool
) -> None:
    """Parts of one iterator: side by side, and when `bijective`, without gaps."""
    analyzer = rewriter.analyzer
    expected: Any = IntImm(mark.source.dtype, 1)
    left = list(parts)
    while left:
        found = None
        for item in left:
            if analyzer.can_prove_equal(item.lower_factor, expected):
                found = item
                break
        if found is None and not bijective:
            constants = [item for item in left if isinstance(item.lower_factor, IntImm)]
            if len(constants) == len(left):
                found = min(left, key=lambda item: item.lower_factor.value)
            elif len(left) == 1:
                found = left[0]
            if found is not None and rewriter._exact(found.lower_factor, expected) is None:
                found = None
        if found is None:
            raise NotAMap("indices share a part of an iterator, or leave one out")
        left.remove(found)
        expected = analyzer.simplify(found.lower_factor * found.extent)
    if bijective and not analyzer.can_prove_equal(expected, mark.extent):
        raise NotAMap("a part of an iterator is in no index, the map is not bijective")
    if not bijective and rewriter._exact(mark.extent, expected) is None:
        raise NotAMap("the parts of an iterator do not divide its length")


# --- inversion ------------------------------------------------------------------------------------


def inverse_affine_iter_map(iter_map: Any, outputs: Any) -> dict[Any, Any]:
    """The iterators in terms of the indices.

    Parameters
    ----------
    iter_map : list of IterSumExpr
        The indices, as `detect_iter_map` gives them.
    outputs : list of PrimExpr
        What stands for them.

    Returns
    -------
    dict of Var to PrimExpr
        For every variable that is an iterator.
    """
    values: dict[int, Any] = {}
    order: list[IterMark] = []
    seen: set[int] = set()

    def visit(mark: IterMark) -> None:
        if id(mark) in seen:
            return
        seen.add(id(mark))
        if isinstance(mark.source, IterSumExpr):
            for item in mark.source.args:
                visit(item.source)
        order.append(mark)

    def give(split: IterSplitExpr, value: Any) -> None:
        part = value * split.lower_factor
        known = values.get(id(split.source))
        values[id(split.source)] = part if known is None else known + part

    if len(iter_map) != len(outputs):
        raise error.ValueError_(
            f"inverse_affine_iter_map: {len(iter_map)} indices, but {len(outputs)} outputs"
        )
    for item, output in zip(iter_map, outputs):
        if len(item.args) > 1:
            raise error.ValueError_(f"inverse_affine_iter_map: {map_expr(item)} has several parts")
        for split in item.args:
            visit(split.source)
            give(split, _divided(as_expr(output) - item.base, split.scale))
    result: dict[Any, Any] = {}
    analyzer = Analyzer()
    for mark in reversed(order):
        value = analyzer.simplify(values[id(mark)])
        source = mark.source
        if isinstance(source, IterSumExpr):
            value = analyzer.simplify(value - source.base)
            for number, split in enumerate(source.args):
                part = _divided(value, split.scale)
                if number:
                    part = tir.floormod(part, split.extent)
                give(split, part)
        elif isinstance(source, tir.Var):
            result[source] = value
        elif type(source) is tir.Sub and isinstance(source.a, tir.Var):
            result[source.a] = analyzer.simplify(value + source.b)
    return result


def _divided(value: Any, scale: Any) -> Any:
    if isinstance(scale, IntImm) and scale.value == 1:
        return value
    if isinstance(scale, IntImm) and scale.value == -1:
        return 0 - value
    return tir.floordiv(value, scale)
