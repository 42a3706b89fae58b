"""Index maps made of splits and fuses: every answer is compared with all points of its domain."""

import itertools
import random

import pytest
import tvm
from tvm import arith, tir
from tvm.ir import Range
from tvm.tir.interpreter import evaluate


def variables(names):
    return [tir.Var(name) for name in names]


def points(iters, predicate=None):
    """All points of a domain of constant ranges where a predicate holds."""
    ranges = [range(int(d.min), int(d.min) + int(d.extent)) for d in iters.values()]
    rows = [dict(zip(iters, row)) for row in itertools.product(*ranges)]
    if predicate is None:
        return rows
    return [row for row in rows if evaluate(predicate, row)]


def box(indices):
    """All values of the box that indices say they fill."""
    sides = []
    for item in indices:
        base = int(item.base)
        if not item.args:
            sides.append([base])
            continue
        (part,) = item.args
        sides.append([base + int(part.scale) * t for t in range(int(part.extent))])
    return set(itertools.product(*sides))


def check(indices, iters, predicate=True, level="surjective"):
    """The result of detection, checked against all points."""
    predicate = tir.expr.convert(predicate)
    result = arith.detect_iter_map(indices, iters, predicate, level)
    if not result.indices:
        assert result.errors
        return result
    where = points(iters, predicate)
    maps = [arith.normalize_iter_map_to_expr(item) for item in result.indices]
    image = []
    for row in where:
        wanted = [evaluate(tir.expr.convert(item), row) for item in indices]
        assert [evaluate(item, row) for item in maps] == wanted, (indices, maps, row)
        image.append(tuple(wanted))
    names = [tir.Var(f"out{k}") for k in range(len(indices))]
    inverse = arith.inverse_affine_iter_map(result.indices, names)
    if level == "bijective":
        assert len(set(image)) == len(image)
        for row, out in zip(where, image):
            for var, value in inverse.items():
                assert evaluate(value, dict(zip(names, out))) == row[var]
    padded = tir.stmt_functor.substitute(result.padding_predicate, inverse)
    full = box(result.indices)
    assert set(image) <= full
    if isinstance(padded, tir.IntImm):
        assert set(image) == full
    assert not any(evaluate(result.padding_predicate, row) for row in where)
    one_to_one = len(set(image)) == len(image)
    if one_to_one and all(not tir.stmt_functor.uses_var(padded, var) for var in iters):
        rest = {out for out in full if not evaluate(padded, dict(zip(names, out)))}
        assert set(image) == rest, (indices, str(predicate), str(padded))
    return result


def pattern(result):
    """(extent, base, scale) of each index."""
    return [
        (int(item.args[0].extent), int(item.base), int(item.args[0].scale))
        if item.args
        else (1, int(item.base), 1)
        for item in result.indices
    ]


def test_one_iterator():
    (x,) = variables("x")
    assert pattern(check([x], {x: Range(0, 3)})) == [(3, 0, 1)]
    assert pattern(check([x], {x: Range(5, 9)})) == [(4, 5, 1)]
    assert pattern(check([3], {x: Range(0, 3)})) == [(1, 3, 1)]
    assert pattern(check([x], {x: Range(2, 3)})) == [(1, 2, 1)]
    assert pattern(check([64 - x * 2], {x: Range(0, 3)})) == [(3, 64, -2)]


def test_fuses():
    x, y, z = variables("xyz")
    iters = {x: Range(0, 3), y: Range(0, 4), z: Range(0, 5)}
    assert pattern(check([x * 4 + y + 1, z], iters, level="bijective")) == [(12, 1, 1), (5, 0, 1)]
    # The factor of x must be the length of what it steps over.
    assert not check([x * 3 + y], iters).indices
    assert not check([x * 5 + y], iters).indices
    assert pattern(check([x * 20 + z * 4 + y], iters, level="bijective")) == [(60, 0, 1)]


def test_splits():
    x, y = variables("xy")
    iters = {x: Range(0, 24), y: Range(0, 2)}
    made = check([x // 6, x % 6 // 2, x % 2, y], iters, level="bijective")
    assert pattern(made) == [(4, 0, 1), (3, 0, 1), (2, 0, 1), (2, 0, 1)]
    assert not check([x // 6, x % 4, y], iters).indices
    # Leaving out a part is no bijection, but fills the box.
    assert pattern(check([x % 6 // 2], iters)) == [(3, 0, 1)]
    assert not check([x % 6 // 2], iters, level="bijective").indices


def test_the_predicate_shortens_a_fuse():
    x, y = variables("xy")
    iters = {x: Range(0, 4), y: Range(0, 4)}
    assert pattern(check([x * 4 + y], iters, x * 4 + y < 13)) == [(13, 0, 1)]
    both = tir.all(x * 4 + y < 13, x * 4 + y >= 3)
    assert pattern(check([x * 4 + y], iters, both)) == [(10, 3, 1)]
    assert pattern(check([x * 4 + y], iters, tir.likely(x * 8 + y * 2 < 13))) == [(7, 0, 1)]
    # Alone, y takes values that depend on those of x.
    assert not check([x, y], iters, x * 4 + y < 13).indices
    assert not check([y], iters, x * 4 + y < 3).indices
    assert not check([x, y], iters, x < y).indices
    assert not check([x, y], iters, tir.any(x < 2, y < 2)).indices
    assert pattern(check([x, y], iters, tir.all(x < 3, y >= 1))) == [(3, 0, 1), (3, 1, 1)]


def test_padding():
    (x,) = variables("x")
    made = check([(x + 1) // 4, (x + 1) % 4], {x: Range(0, 14)})
    assert pattern(made) == [(4, 0, 1), (4, 0, 1)]
    assert not check([(x + 1) // 4, (x + 1) % 4], {x: Range(0, 14)}, level="bijective").indices
    check([x // 4, x % 4 // 2, x % 2], {x: Range(0, 13)})
    check([(x + 9) // 4, (x + 9) % 4], {x: Range(0, 14)})
    check([(x + 3) // 4, (x + 1) % 4], {x: Range(0, 14)})


def test_symbolic_lengths():
    x, y, n, m = variables("xynm")
    iters = {x: Range(0, 7), y: Range(0, n)}
    made = arith.detect_iter_map([(x * n + y) // n, (x * n + y) % n], iters, True, "bijective")
    assert [str(item) for item in map(arith.normalize_iter_map_to_expr, made.indices)] == ["x", "y"]
    made = arith.detect_iter_map([x, y + m], iters, True, "bijective")
    assert str(made.indices[1].args[0].extent) == "n" and str(made.indices[1].base) == "m"
    assert arith.detect_iter_map([x * m + y], iters).errors


def test_what_is_no_map_is_refused_with_a_reason():
    x, y = variables("xy")
    iters = {x: Range(0, 4), y: Range(0, 4)}
    data = tir.decl_buffer((4,), "int32", name="data")
    for index, reason in [
        (x * y, "product of two iterators"),
        (x // (y + 1), "is not constant"),
        (data[x], "neither cuts nor joins"),
        (tir.Select(x < y, x, y), "neither cuts nor joins"),
        (x + y, "do not count through"),
    ]:
        assert reason in arith.detect_iter_map([index], iters).errors[0]
    with pytest.raises(ValueError, match="unknown check level 'any': expected one of bijective"):
        arith.detect_iter_map([x], iters, True, "any")


def random_index(rng, pool, depth):
    """A random expression of cuts and joins, not always sensible."""
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(pool)
    kind = rng.randrange(5)
    a = random_index(rng, pool, depth - 1)
    c = rng.choice([1, 2, 2, 3, 4, 4, 6, 8, 12])
    if kind == 0:
        return tir.floordiv(a, c)
    if kind == 1:
        return tir.floormod(a, c)
    if kind == 2:
        return a * c + random_index(rng, pool, depth - 1)
    if kind == 3:
        return a + rng.randrange(5)
    return a * c


def random_map(rng):
    """Indices that are often maps: iterators fused and split several times over."""
    count = rng.randrange(1, 4)
    iters, parts = {}, []
    for k in range(count):
        var = tir.Var(f"v{k}")
        extent = rng.choice([1, 2, 3, 4, 6, 8])
        first = rng.choice([0, 0, 0, 2])
        iters[var] = Range(first, first + extent)
        parts.append((var - first if first else var, extent))
    for _ in range(rng.randrange(4)):
        rng.shuffle(parts)
        if rng.random() < 0.5 and len(parts) > 1:
            (a, m), (b, n) = parts.pop(), parts.pop()
            parts.append((a * n + b, m * n))
        else:
            a, m = parts.pop()
            c = rng.choice([2, 3, 4])
            parts += [(tir.floordiv(a, c), (m + c - 1) // c), (tir.floormod(a, c), min(c, m))]
    indices = [item for item, _ in parts]
    if rng.random() < 0.3:
        indices = indices[: rng.randrange(1, len(indices) + 1)]
    if rng.random() < 0.2:
        indices = [item * rng.choice([1, 2, -1]) + rng.randrange(3) for item in indices]
    predicate = tir.const(True)
    if rng.random() < 0.3:
        item, extent = rng.choice(parts)
        predicate = item < rng.randrange(1, extent + 2)
        if rng.random() < 0.3:
            predicate = tir.all(predicate, item >= rng.randrange(0, 2))
    return indices, iters, predicate


@pytest.mark.parametrize("level", ["surjective", "bijective"])
@pytest.mark.parametrize("seed", range(4))
def test_random_maps(seed, level):
    rng = random.Random(seed)
    found = 0
    for _ in range(60):
        indices, iters, predicate = random_map(rng)
        if not points(iters, tir.expr.convert(predicate)):
            continue
        found += bool(check(indices, iters, predicate, level).indices)
    assert found > 15, found


@pytest.mark.parametrize("seed", range(4))
def test_random_expressions(seed):
    rng = random.Random(seed + 77)
    found = 0
    for _ in range(80):
        iters = {tir.Var(f"v{k}"): Range(0, rng.choice([2, 3, 4, 8])) for k in range(2)}
        count = rng.randrange(1, 3)
        indices = [random_index(rng, list(iters), 3) for _ in range(count)]
        found += bool(check(indices, iters).indices)
        simple = arith.iter_map_simplify(indices, iters)
        for row in points(iters):
            for before, after in zip(indices, simple):
                assert evaluate(tir.expr.convert(before), row) == evaluate(after, row)
    assert found > 8, found


def test_sums_are_ordered_by_their_factors():
    x, y, z = variables("xyz")
    iters = {x: Range(0, 8), y: Range(0, 6), z: Range(0, 5)}
    made = arith.normalize_to_iter_sum(y + x * 6 + 3 + z * 48, iters)
    assert [int(item.scale) for item in made.args] == [48, 6, 1] and int(made.base) == 3
    assert str(arith.normalize_iter_map_to_expr(made)) == "z * 48 + x * 6 + y + 3"
    with pytest.raises(ValueError, match="product of two iterators"):
        arith.normalize_to_iter_sum(x * y, iters)


def test_nodes():
    x = tir.Var("x")
    mark = arith.IterMark(x, 8)
    part = arith.IterSplitExpr(mark, lower_factor=2, extent=4, scale=3)
    total = arith.IterSumExpr([part], 5)
    assert str(arith.normalize_iter_map_to_expr(total)) == "x // 2 * 3 + 5"
    assert tvm.ir.structural_equal(total, tvm.ir.load_json(tvm.ir.save_json(total)), True)
    assert int(arith.IterSplitExpr(mark).extent) == 8
    assert isinstance(total, arith.IterMapExpr) and "IterSumExpr" in str(total)


def check_division(indices, iters, inner, predicate=True):
    """outer * inner.extent + inner is the index, and the predicates together say what it said."""
    divided = arith.subspace_divide(indices, iters, inner, predicate)
    if not divided:
        return divided
    assert len(divided) == len(indices) + 1
    outside = [var for var in iters if not any(var is item for item in inner)]
    outer_cond, inner_cond = (mark.extent for mark in divided[-1])
    sides = [
        [arith.normalize_iter_map_to_expr(mark.source) for mark in pair] for pair in divided[:-1]
    ]
    for outer, inside in sides:
        assert not tir.stmt_functor.uses_var(inside, set(outside))
        assert not tir.stmt_functor.uses_var(outer, set(inner))
    assert not tir.stmt_functor.uses_var(outer_cond, set(inner))
    assert not tir.stmt_functor.uses_var(inner_cond, set(outside))
    for row in points(iters):
        holds = evaluate(tir.expr.convert(predicate), row)
        assert bool(evaluate(outer_cond, row) and evaluate(inner_cond, row)) == bool(holds)
        if not holds:
            continue
        for index, (outer, inside), pair in zip(indices, sides, divided):
            made = evaluate(outer, row) * int(pair[1].extent) + evaluate(inside, row)
            assert made == evaluate(tir.expr.convert(index), row), (indices, str(predicate))
    return divided


def test_division_into_a_subspace():
    x, y, z = variables("xyz")
    iters = {x: Range(0, 8), y: Range(0, 4), z: Range(0, 2)}
    made = check_division([z * 4 + y, x], iters, [x])
    assert [int(mark.extent) for pair in made[:-1] for mark in pair] == [8, 1, 1, 8]
    made = check_division([z * 4 + y, x + 3], iters, [y, x])
    assert [int(mark.extent) for pair in made[:-1] for mark in pair] == [2, 4, 1, 8]
    # The inner iterator steps over the outer one.
    assert not check_division([z * 4 + y], iters, [z])
    made = check_division([(z * 32 + x * 4 + y) // 8, (z * 32 + x * 4 + y) % 8], iters, [x, y])
    assert [int(mark.extent) for pair in made[:-1] for mark in pair] == [2, 4, 1, 8]
    made = check_division([(x * 4 + y) // 2], iters, [y])
    assert [int(mark.extent) for mark in made[0]] == [8, 2]
    assert not check_division([x * 4 + y], iters, [y], x * 4 + y < 13)
    made = check_division([x * 4 + y, z], iters, [y], x * 4 + y < 12)
    assert [int(mark.extent) for mark in made[0]] == [3, 4]
    assert str(made[-1][0].extent) == "x < 3"
    made = check_division([x * 4 + y, z], iters, [y, x], x * 4 + y < 13)
    assert str(made[-1][1].extent) == "x * 4 + y < 13"


@pytest.mark.parametrize("seed", range(4))
def test_random_divisions(seed):
    rng = random.Random(seed + 5)
    found = 0
    for _ in range(60):
        indices, iters, predicate = random_map(rng)
        inner = [var for var in iters if rng.random() < 0.5]
        found += bool(check_division(indices, iters, inner, predicate))
    assert found > 12, found
