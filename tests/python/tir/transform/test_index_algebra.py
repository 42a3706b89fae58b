"""The algebra of index expressions against brute force on small domains."""

import itertools
import random

import pytest
from tvm import tir
from tvm.arith.index_algebra import Algebra, Interval, constant
from tvm.tir.interpreter import evaluate


def make(rng, leaves, depth):
    """A random index expression."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice([*leaves, tir.IntImm("int32", rng.randint(-6, 9))])
    kind = rng.choice("++--*/%/%mM")
    a = make(rng, leaves, depth - 1)
    if kind in "/%":
        b = tir.IntImm("int32", rng.choice([1, 2, 3, 4, 6, 8, -3]))
        return tir.FloorDiv(a, b) if kind == "/" else tir.FloorMod(a, b)
    if kind == "*":
        return tir.Mul(a, tir.IntImm("int32", rng.randint(-4, 6)))
    b = make(rng, leaves, depth - 1)
    return {"+": tir.Add, "-": tir.Sub, "m": tir.Min, "M": tir.Max}[kind](a, b)


def domain(rng):
    """Variables with ranges, the last one's extent in terms of the first."""
    x, y, z = (tir.Var(n, "int32") for n in "xyz")
    nx, ny, low = rng.randint(1, 6), rng.randint(1, 5), rng.randint(-3, 3)
    algebra = Algebra()
    algebra.bind(x, 0, nx)
    algebra.bind(y, low, ny)
    algebra.bind(z, x, x + 2)
    points = [
        {x: i, y: j, z: k}
        for i, j in itertools.product(range(nx), range(low, low + ny))
        for k in range(i, i + i + 2)
    ]
    return algebra, [x, y, z], points


@pytest.mark.parametrize("seed", range(250))
def test_normal_form_and_bounds(seed):
    rng = random.Random(seed)
    algebra, leaves, points = domain(rng)
    expr = make(rng, leaves, rng.randint(1, 5))
    values = [int(evaluate(expr, p)) for p in points]
    simple = algebra.simplify(expr)
    assert [int(evaluate(simple, p)) for p in points] == values, (expr, simple)
    low, high = algebra.bounds(algebra.poly(expr))
    assert low is None or low <= min(values), (expr, low, min(values))
    assert high is None or high >= max(values), (expr, high, max(values))


@pytest.mark.parametrize("seed", range(250))
def test_proofs(seed):
    rng = random.Random(seed)
    algebra, leaves, points = domain(rng)
    a, b = make(rng, leaves, 3), make(rng, leaves, 2)
    for kind in (tir.LT, tir.LE, tir.GT, tir.GE, tir.EQ, tir.NE):
        cond = kind(a, b)
        if algebra.prove(cond):
            assert all(evaluate(cond, p) for p in points), cond


@pytest.mark.parametrize("seed", range(250))
def test_intervals(seed):
    rng = random.Random(seed)
    algebra, leaves, points = domain(rng)
    x, y, z = leaves
    expr = make(rng, leaves, rng.randint(1, 4))
    poly = algebra.poly
    env = {
        algebra.key(y): Interval(*algebra.ranges[algebra.key(y)]),
        algebra.key(z): Interval(poly(x), poly(x + x + 1)),
    }
    found = algebra.interval(expr, env)
    for p in points:
        value = int(evaluate(expr, p))
        if found.low is not None:
            assert int(evaluate(algebra.expr(found.low, "int32"), p)) <= value, expr
        if found.high is not None:
            assert int(evaluate(algebra.expr(found.high, "int32"), p)) >= value, expr


def test_known_forms():
    algebra = Algebra()
    i, j, n = tir.Var("i"), tir.Var("j"), tir.SizeVar("n", "int32")
    algebra.bind(i, 0, 8)
    algebra.bind(j, 0, 4)
    simple = algebra.simplify
    assert simple((i * 4 + j) // 4) is i
    assert simple(tir.floormod(i * 4 + j, 4)) is j
    assert str(simple((i * 4 + j) // 8)) == "i // 2"
    assert str(simple((i + n) - (n - 3))) == "i + 3"
    assert simple(tir.FloorDiv(i, tir.IntImm("int32", 3)) * 3 + tir.floormod(i, 3)) is i
    assert constant(algebra.poly(tir.Min(i, tir.IntImm("int32", -1)))) == -1
    algebra.bind(tir.Var("k"), 0, n)
    assert algebra.prove(tir.LT(i * 4 + j, tir.IntImm("int32", 32)))
    assert not algebra.prove(tir.LT(i * 4 + j, tir.IntImm("int32", 31)))


def test_symbolic_extents():
    algebra = Algebra()
    n, m = tir.SizeVar("n", "int32"), tir.SizeVar("m", "int32")
    i, j = tir.Var("i"), tir.Var("j")
    algebra.bind(i, 0, n)
    algebra.bind(j, 0, m)
    assert algebra.prove(i < n) and algebra.prove(i * m + j < n * m)
    assert not algebra.prove(i < m)
    # the main part of a loop that was cut by a factor
    o, k = tir.Var("o"), tir.Var("k")
    algebra.bind(o, 0, n // 4)
    algebra.bind(k, 0, 4)
    assert algebra.prove(o * 4 + k < n)
    assert not algebra.prove(o * 4 + k < n - 1)


def test_data_is_not_rearranged():
    """Data wraps: division and comparison of it follow no rule of index expressions."""
    algebra = Algebra()
    buffer = tir.decl_buffer((4,), "int32", "A")
    load = tir.BufferLoad(buffer, [0])
    assert not algebra.prove(load < load + 1)
    value = tir.FloorDiv(load * 4, tir.IntImm("int32", 4))
    assert str(algebra.simplify(value)) == str(value)
