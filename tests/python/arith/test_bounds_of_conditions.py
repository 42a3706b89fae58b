"""Bounds by conditions, narrowed conditions, touched regions, sets: compared with all values."""

import itertools
import random

import pytest
import tvm.testing
from tvm import arith, tir
from tvm.arith import IntervalSet, deduce_bound, detect_clip_bound
from tvm.ir import Range
from tvm.tir.interpreter import evaluate


def variables(names):
    return [tir.Var(name) for name in names]


def text(interval):
    return str(interval.min_value), str(interval.max_value)


def test_deduce_with_hints():
    a, b, c, d = variables("abcd")
    hints = {b: IntervalSet(2, 3), c: IntervalSet(10, 15), d: IntervalSet(-3, -1)}
    for cond in ((-b) * a + c - d >= 0, tir.const(0) <= (-b) * a + c - d):
        found = deduce_bound(a, cond, hints, {})
        tvm.testing.assert_prim_expr_equal(found.max_value, (d - c) // (b * -1))
        assert str(found.min_value) == "neg_inf"
    found = deduce_bound(a, d * a + c - d >= 0, hints, {})
    tvm.testing.assert_prim_expr_equal(found.max_value, (d - c) // d)
    found = deduce_bound(a, a * 4 + b < c, hints, {})
    tvm.testing.assert_prim_expr_equal(found.max_value, (c - b - 1) // 4)
    relaxed = {b: hints[b], d: hints[d]}
    found = deduce_bound(a, (-b) + a * c - d >= 0, hints, relaxed)
    tvm.testing.assert_prim_expr_equal(found.min_value, 2 // c + 1)


@pytest.mark.parametrize(
    "make, low, high",
    [
        (lambda a: a // 8 > 3, 32, "pos_inf"),
        (lambda a: a // 8 <= 3, "neg_inf", 31),
        (lambda a: a // 8 > -3, -16, "pos_inf"),
        (lambda a: a // 8 <= -3, "neg_inf", -17),
        (lambda a: a // 8 // 3 >= 2, 48, "pos_inf"),
        (lambda a: tir.EQ(a // 8, 3), "pos_inf", "neg_inf"),
        (lambda a: tir.EQ(a * 4, 16), 4, 4),
        (lambda a: tir.EQ(a * 4, 15), "pos_inf", "neg_inf"),
        (lambda a: a * -3 < 10, -3, "pos_inf"),
        (lambda a: 5 - a < 10, -4, "pos_inf"),
    ],
)
def test_deduce_without_hints(make, low, high):
    (a,) = variables("a")
    assert text(deduce_bound(a, make(a), {}, {})) == (str(low), str(high))


def test_deduce_gives_nothing_where_it_cannot():
    a, b = variables("ab")
    for cond in (
        a + b,
        tir.Max(tir.const(5), a * 4) < 0,
        tir.Min(a, b) < 10,
        a % 16 < 10,
        a * 2 - a > b,
        b > 2,
        a // b > 3,
        a * b > 3,
        tir.all(a > 1, a < 5),
    ):
        assert deduce_bound(a, cond, {}, {}).is_nothing(), str(cond)


@pytest.mark.parametrize("seed", range(6))
def test_random_deductions(seed):
    """Whatever is in the set meets the condition, for all values of the relaxed variables."""
    rng = random.Random(seed)
    found = 0
    for _ in range(60):
        a, b, c = variables("abc")
        domain = range(-30, 31)
        low = rng.randrange(-4, 4)
        doms = {b: range(low, low + rng.randrange(1, 4)), c: range(1, 4)}
        expr = a
        for _ in range(rng.randrange(1, 4)):
            kind = rng.randrange(5)
            other = rng.choice([b, c, tir.const(rng.randrange(-4, 5)), b * 2 + 1])
            if kind == 0:
                expr = expr + other
            elif kind == 1:
                expr = other - expr
            elif kind == 2:
                expr = expr * rng.choice([c, tir.const(rng.choice([-3, -2, 2, 3]))])
            else:
                expr = expr // rng.choice([2, 3, 4])
        node = rng.choice([tir.LT, tir.LE, tir.GT, tir.GE, tir.EQ])
        right = rng.choice([tir.const(rng.randrange(-9, 10)), b, c * 2])
        cond = node(expr, right) if rng.random() < 0.5 else node(right, expr)
        sets = {var: IntervalSet(d.start, d.stop - 1) for var, d in doms.items()}
        relax = {var: sets[var] for var in doms if rng.random() < 0.6}
        made = deduce_bound(a, cond, sets, relax)
        if made.is_nothing():
            continue
        found += 1
        for row in itertools.product(*doms.values()):
            env = dict(zip(doms, row))
            limits = [
                bound if str(bound) in ("neg_inf", "pos_inf") else evaluate(bound, env)
                for bound in (made.min_value, made.max_value)
            ]
            for limit in (made.min_value, made.max_value):
                if str(limit) not in ("neg_inf", "pos_inf"):
                    assert not tir.stmt_functor.uses_var(limit, set(relax))
            for value in domain:
                above = str(limits[0]) == "neg_inf" or value >= limits[0]
                below = str(limits[1]) == "pos_inf" or value <= limits[1]
                if above and below:
                    assert evaluate(cond, {**env, a: value}), (str(cond), str(made), value, env)
    assert found > 15


def test_clip_bounds():
    a, b, c = variables("abc")
    equal = tvm.testing.assert_prim_expr_equal
    found = detect_clip_bound(tir.all(a * 1 < b * 6, a - 1 > 0), [a])
    equal(found[1], b * 6 - 1)
    assert found[0] == 2
    assert detect_clip_bound(tir.all(a * 1 < b * 6, a - 1 > 0), [a, b]) == []
    found = detect_clip_bound(tir.all(a + 10 * c <= 20, b - 1 > 0), [a, b])
    equal(found[1], 20 - 10 * c)
    assert found[2] == 2 and found[0] is None and found[3] is None
    found = detect_clip_bound(tir.all(tir.Not(a * 1 > b * 6), a - 1 > 0), [a])
    equal(found[1], b * 6)
    found = detect_clip_bound(tir.all(tir.Min(a, b) > 3, a < 10), [a, b])
    assert [int(item) for item in found[:3]] == [4, 9, 4] and found[3] is None
    assert detect_clip_bound(a * a < 4, [a]) == []


@pytest.mark.parametrize("seed", range(4))
def test_random_clip_bounds(seed):
    rng = random.Random(seed)
    for _ in range(60):
        a, b = variables("ab")
        parts = []
        for _ in range(rng.randrange(1, 4)):
            var = rng.choice([a, b])
            left = var * rng.choice([-3, -1, 1, 2, 4]) + rng.randrange(-4, 5)
            node = rng.choice([tir.LT, tir.LE, tir.GT, tir.GE, tir.EQ])
            parts.append(node(left, tir.const(rng.randrange(-9, 10))))
        cond = tir.all(*parts)
        found = detect_clip_bound(cond, [a, b])
        assert len(found) == 4
        for x, y in itertools.product(range(-15, 16), repeat=2):
            inside = all(
                (low is None or value >= int(low)) and (high is None or value <= int(high))
                for value, low, high in ((x, *found[:2]), (y, *found[2:]))
            )
            holds = bool(evaluate(cond, {a: x, b: y}))
            # An equation that no integer solves leaves bounds that cross.
            assert inside == holds or (inside and any(type(p) is tir.EQ for p in parts))


def test_narrowed_conditions():
    i, n = variables("in")
    unknown = tir.Var("unknown", "bool")
    narrow = arith._ffi_api.NarrowPredicateExpression
    for cond, wanted in [
        (i < n, "7 < n"),
        (n < i, "n < 0"),
        (n <= i, "n <= 0"),
        (i > n, "0 > n"),
        (n >= i, "n >= 7"),
        (tir.EQ(i, n), "7 <= n and n <= 0"),
        (tir.NE(i, n), "7 < n or n < 0"),
        (i // 4 > n, "0 > n"),
        (n < i // 4, "n < 0"),
        ((i + n) // 4 > 0, "n // 4 > 0"),
        (unknown, "unknown"),
        (tir.all(i < n, unknown), "7 < n and unknown"),
        (tir.any(i < n, unknown), "7 < n or unknown"),
        (tir.Not(tir.all(i < n, unknown)), "0 >= n or not unknown"),
        (i < 8, "T.bool(True)"),
        (i < 7, "T.bool(False)"),
    ]:
        assert str(narrow(cond, {i: Range(0, 8)})) == wanted


def random_condition(rng, leaves, depth):
    if depth and rng.random() < 0.5:
        kind = rng.randrange(3)
        a = random_condition(rng, leaves, depth - 1)
        if kind == 0:
            return tir.Not(a)
        b = random_condition(rng, leaves, depth - 1)
        return tir.And(a, b) if kind == 1 else tir.Or(a, b)

    def side():
        made = rng.choice(leaves) * rng.choice([1, 2, -1]) + rng.randrange(-4, 5)
        if rng.random() < 0.4:
            made = made + rng.choice(leaves)
        if rng.random() < 0.3:
            made = rng.choice([tir.floordiv, tir.floormod, tir.Min, tir.Max])(made, tir.const(3))
        return made

    node = rng.choice([tir.LT, tir.LE, tir.GT, tir.GE, tir.EQ, tir.NE])
    return node(side(), side())


@pytest.mark.parametrize("seed", range(6))
def test_random_narrowed_conditions(seed):
    rng = random.Random(seed)
    useful = 0
    for _ in range(50):
        i, j, n = variables("ijn")
        doms = {i: Range(0, 5), j: Range(-2, 3)}
        cond = random_condition(rng, [i, j, n], 2)
        made = arith._ffi_api.NarrowPredicateExpression(cond, doms)
        assert not tir.stmt_functor.uses_var(made, {i, j})
        for value in range(-12, 13):
            if not evaluate(made, {n: value}):
                continue
            useful += 1
            for x, y in itertools.product(range(5), range(-2, 3)):
                assert evaluate(cond, {i: x, j: y, n: value}), (str(cond), str(made), value)
    assert useful > 20


def touched(region, doms, predicate):
    """All positions that an access touches."""
    out = set()
    names = list(doms)
    sides = [range(int(d.min), int(d.min) + int(d.extent)) for d in doms.values()]
    for row in itertools.product(*sides):
        env = dict(zip(names, row))
        if not evaluate(tir.expr.convert(predicate), env):
            continue
        sides = []
        for item in region:
            first = evaluate(item.min, env)
            sides.append(range(first, first + evaluate(item.extent, env)))
        out |= set(itertools.product(*sides))
    return out


def positions(intervals):
    sides = [range(int(item.min_value), int(item.max_value) + 1) for item in intervals]
    return set(itertools.product(*sides))


def test_regions():
    i, j = variables("ij")
    lower = arith.estimate_region_lower_bound
    doms = {i: Range(0, 64)}
    assert lower([Range(i, i + 2), Range(i + 1, i + 4)], doms, True) is None
    assert lower([Range.from_min_extent(i * 4, 2)], doms, True) is None
    (found,) = lower([Range.from_min_extent(i * 4, 8)], doms, True)
    assert (int(found.min_value), int(found.max_value)) == (0, 259)
    doms = {i: Range(0, 16), j: Range(0, 4)}
    for estimate in (lower, arith.estimate_region_strict_bound, arith.estimate_region_upper_bound):
        (found,) = estimate([Range.from_min_extent(i * 4 + j, 1)], doms, i * 4 + j < 63)
        assert (int(found.min_value), int(found.max_value)) == (0, 62)
    (found,) = arith.estimate_region_upper_bound([Range.from_min_extent(i * j, 1)], doms, True)
    assert str(found.min_value) == "neg_inf" or int(found.min_value) <= 0


@pytest.mark.parametrize("seed", range(4))
def test_random_regions(seed):
    rng = random.Random(seed)
    exact = 0
    for _ in range(40):
        i, j = variables("ij")
        doms = {i: Range(rng.randrange(3), 4), j: Range(0, rng.choice([2, 4]))}
        region = []
        for _ in range(rng.randrange(1, 3)):
            kind = rng.randrange(6)
            first = [i, j, i * 4 + j, (i * 4 + j) // 2, i + j, i * rng.choice([-2, 2, 3])][kind]
            region.append(Range.from_min_extent(first + rng.randrange(3), rng.randrange(1, 4)))
        predicate = tir.const(True) if rng.random() < 0.7 else i * 4 + j < rng.randrange(5, 14)
        real = touched(region, doms, predicate)
        lower = arith.estimate_region_lower_bound(region, doms, predicate)
        strict = arith.estimate_region_strict_bound(region, doms, predicate)
        upper = arith.estimate_region_upper_bound(region, doms, predicate)
        if not real:
            continue
        if lower is not None:
            assert positions(lower) <= real
        if strict is not None:
            exact += 1
            assert positions(strict) == real
        assert real <= positions(upper)
    assert exact > 4


def test_sets():
    low, high = arith.int_set.neg_inf(), arith.int_set.pos_inf()
    x, n = tir.Var("x"), tir.SizeVar("n")
    point = arith.IntSet.single_point(x)
    assert point.min_value.same_as(x) and point.max_value.same_as(x)
    for stride, wanted in ((3, (10, 19)), (-3, (1, 10))):
        lanes = arith.IntSet.vector(tir.Ramp(tir.const(10), stride, 4))
        assert (int(lanes.min_value), int(lanes.max_value)) == wanted
    union = arith.int_set.union_lower_bound
    found = union([IntervalSet(low, 0), IntervalSet(1, high)])
    assert found.min_value.same_as(low) and found.max_value.same_as(high)
    assert text(union([IntervalSet(0, 3), IntervalSet(8, 9), IntervalSet(4, 7)])) == ("0", "9")
    assert text(union([IntervalSet(0, 3), IntervalSet(5, 9)])) == ("0", "3")
    assert text(union([IntervalSet(0, n), IntervalSet(n, n + 5)])) == ("0", "n + 5")
    assert union([]).is_nothing()
    assert IntervalSet(low, high).is_everything() and not IntervalSet(low, 4).is_everything()
