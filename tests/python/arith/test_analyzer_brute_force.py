"""Everything that the analyzer says is compared with all values of small domains."""

import itertools
import random

import numpy as np
import pytest
import tvm
from tvm import tir
from tvm.ir.dtype import info, int_range
from tvm.tir.interpreter import evaluate
from tvm.tir.memory import Storage

CORNER_TYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def corners(dtype):
    low, high = int_range(info(dtype))
    middle = [v for v in (-3, -2, -1, 0, 1, 2, 3, 7) if low <= v <= high]
    return sorted({low, low + 1, *middle, high - 1, high, high // 2, high // 2 + 1})


class Data:
    """Loads of one-element buffers: expressions that wrap."""

    def __init__(self, dtype, count):
        self.buffers = [tir.decl_buffer((1,), dtype, name=f"D{i}") for i in range(count)]
        self.loads = [buffer[0] for buffer in self.buffers]
        self.dtype = dtype

    def memory(self, values):
        return {
            buffer.data: Storage.of_array(np.array([value], self.dtype), buffer.name)
            for buffer, value in zip(self.buffers, values)
        }


def random_int(rng, leaves, depth, constants):
    if depth == 0 or rng.random() < 0.15:
        if rng.random() < 0.35:
            return tir.IntImm(leaves[0].dtype, rng.choice(constants))
        return rng.choice(leaves)
    kind = rng.choice(
        [
            tir.Add,
            tir.Sub,
            tir.Mul,
            tir.Min,
            tir.Max,
            tir.FloorDiv,
            tir.FloorMod,
            tir.Div,
            tir.Mod,
            "select",
            tir.Add,
            tir.Sub,
            tir.FloorDiv,
            tir.FloorMod,
        ]  # fmt: skip
    )
    a = random_int(rng, leaves, depth - 1, constants)
    if kind == "select":
        b = random_int(rng, leaves, depth - 1, constants)
        return tir.Select(random_bool(rng, leaves, depth - 1, constants), a, b)
    if kind in (tir.FloorDiv, tir.FloorMod, tir.Div, tir.Mod) and rng.random() < 0.7:
        b = tir.IntImm(a.dtype, rng.choice([c for c in constants if c > 0]))
    else:
        b = random_int(rng, leaves, depth - 1, constants)
    if leaves[0].kinds & 1 and not (a.kinds | b.kinds) & 1:
        # Constants alone would be an index expression, which may not leave its type.
        a = rng.choice(leaves)
    return kind(a, b)


def random_bool(rng, leaves, depth, constants):
    if depth > 0 and rng.random() < 0.3:
        kind = rng.choice([tir.And, tir.Or, "not"])
        a = random_bool(rng, leaves, depth - 1, constants)
        if kind == "not":
            return tir.Not(a)
        return kind(a, random_bool(rng, leaves, depth - 1, constants))
    kind = rng.choice([tir.LT, tir.LE, tir.GT, tir.GE, tir.EQ, tir.NE])
    return kind(
        random_int(rng, leaves, max(depth - 1, 0), constants),
        random_int(rng, leaves, max(depth - 1, 0), constants),
    )


def all_values(expr, environments):
    return [evaluate(expr, environment) for environment in environments]


@pytest.mark.parametrize("seed", range(12))
def test_index_expressions(seed):
    """Simplified values, bounds and modular sets of index expressions over bound variables."""
    rng = random.Random(seed)
    for _ in range(40):
        x, y, z = (tir.Var(name) for name in "xyz")
        domains = {x: range(8), y: range(-3, 4), z: range(1, 6)}
        analyzer = tvm.arith.Analyzer()
        for var, domain in domains.items():
            analyzer.bind(var, tvm.ir.Range(domain.start, domain.stop))
        make = random_int if rng.random() < 0.7 else random_bool
        expr = make(rng, [x, y, z], 4, [-4, -2, -1, 0, 1, 2, 3, 4, 6, 8])
        environments = [dict(zip(domains, row)) for row in itertools.product(*domains.values())]
        expected = all_values(expr, environments)
        made = analyzer.simplify(expr)
        assert made.dtype == expr.dtype
        assert all_values(made, environments) == expected, (str(expr), str(made))
        bound = analyzer.const_int_bound(expr)
        assert bound.min_value <= min(expected) and max(expected) <= bound.max_value, str(expr)
        modular = analyzer.modular_set(expr)
        if expr.dtype == "bool":
            assert not analyzer.can_prove(expr) or all(expected)
        elif modular.coeff:
            assert {(v - modular.base) % modular.coeff for v in expected} == {0}, str(expr)
        else:
            assert set(expected) == {modular.base}, str(expr)


@pytest.mark.parametrize("dtype", CORNER_TYPES)
@pytest.mark.parametrize("seed", range(3))
def test_data_expressions_at_the_corners(dtype, seed):
    """Rules that are applied to wrapping integers hold at every corner of every width."""
    rng = random.Random(seed * 97 + CORNER_TYPES.index(dtype))
    data = Data(dtype, 2)
    values = corners(dtype)
    environments = [data.memory(row) for row in itertools.product(values, values)]
    for _ in range(25):
        make = random_int if rng.random() < 0.7 else random_bool
        expr = make(rng, data.loads, 3, values)
        expected = all_values(expr, environments)
        analyzer = tvm.arith.Analyzer()
        made = analyzer.simplify(expr)
        assert made.dtype == expr.dtype
        assert all_values(made, environments) == expected, (str(expr), str(made))
        bound = analyzer.const_int_bound(expr)
        infinite = bound.POS_INF
        assert bound.min_value <= min(expected) or bound.min_value == -infinite, str(expr)
        assert max(expected) <= bound.max_value or bound.max_value == infinite, str(expr)
        modular = analyzer.modular_set(expr)
        if expr.dtype != "bool" and modular.coeff:
            assert {(v - modular.base) % modular.coeff for v in expected} == {0}, str(expr)


@pytest.mark.parametrize("source", CORNER_TYPES)
@pytest.mark.parametrize("middle", CORNER_TYPES)
def test_casts_of_casts(source, middle):
    data = Data(source, 1)
    environments = [data.memory((value,)) for value in corners(source)]
    for target in CORNER_TYPES:
        expr = tir.Cast(target, tir.Cast(middle, data.loads[0]))
        made = tvm.arith.Analyzer().simplify(expr)
        assert made.dtype == target
        assert all_values(made, environments) == all_values(expr, environments), str(made)


@pytest.mark.parametrize("seed", range(6))
def test_constraints(seed):
    """Under a condition, only values that meet it have to stay the same."""
    rng = random.Random(seed + 1000)
    for _ in range(40):
        x, y = tir.Var("x"), tir.Var("y")
        domain = range(-4, 9)
        analyzer = tvm.arith.Analyzer()
        analyzer.bind(x, tvm.ir.Range(-4, 9))
        analyzer.bind(y, tvm.ir.Range(-4, 9))
        constants = [-3, -1, 0, 1, 2, 3, 4, 5]
        condition = random_bool(rng, [x, y], 2, constants)
        expr = random_int(rng, [x, y], 3, constants)
        if rng.random() < 0.5:
            expr = random_bool(rng, [x, y], 2, constants)
        with analyzer.constraint_scope(condition):
            made = analyzer.simplify(expr)
        for a, b in itertools.product(domain, domain):
            env = {x: a, y: b}
            if evaluate(condition, env):
                assert evaluate(made, env) == evaluate(expr, env), (
                    str(condition), str(expr), str(made), a, b,
                )  # fmt: skip
        # What was assumed is forgotten outside.
        outside = analyzer.simplify(expr)
        for a, b in itertools.product(domain, domain):
            env = {x: a, y: b}
            assert evaluate(outside, env) == evaluate(expr, env), (str(expr), str(outside))


@pytest.mark.parametrize("seed", range(4))
def test_vectors(seed):
    rng = random.Random(seed + 50)
    for _ in range(40):
        x = tir.Var("x")
        analyzer = tvm.arith.Analyzer()
        analyzer.bind(x, tvm.ir.Range(0, 16))
        lanes = rng.choice([2, 4])
        leaves = [
            tir.Ramp(x * rng.choice([1, 2, 4]), rng.choice([-1, 1, 2, 4]), lanes),
            tir.Broadcast(x, lanes),
            tir.Broadcast(tir.IntImm("int32", rng.choice([1, 2, 4, 8])), lanes),
        ]
        expr = rng.choice(leaves)
        for _ in range(3):
            kind = rng.choice([tir.Add, tir.Sub, tir.Mul, tir.FloorDiv, tir.FloorMod, tir.Min])
            expr = kind(expr, rng.choice(leaves))
        made = analyzer.simplify(expr)
        assert made.dtype == expr.dtype
        for value in range(16):
            assert evaluate(made, {x: value}) == evaluate(expr, {x: value}), (str(expr), str(made))


def test_the_least_int_by_minus_one_wraps():
    for dtype in ("int8", "int16", "int32", "int64"):
        low = int_range(info(dtype))[0]
        data = Data(dtype, 1)
        for kind in (tir.Div, tir.FloorDiv, tir.Mod, tir.FloorMod):
            expr = kind(data.loads[0], tir.IntImm(dtype, -1))
            made = tvm.arith.Analyzer().simplify(expr)
            wanted = low if kind in (tir.Div, tir.FloorDiv) else 0
            assert evaluate(expr, data.memory((low,))) == wanted
            assert evaluate(made, data.memory((low,))) == wanted
