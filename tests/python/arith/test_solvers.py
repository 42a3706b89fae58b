"""Linear systems over the integers, tried out on all values."""

import itertools
import random

import pytest
import tvm.testing
from tvm import arith, tir
from tvm.ir import Range
from tvm.tir.interpreter import evaluate


def variables(names):
    return [tir.Var(name) for name in names]


def solutions(constraints, ranges):
    """All solutions of a system within ranges that must contain them."""
    doms = [ranges[var] for var in constraints.variables]
    rows = itertools.product(*[range(int(d.min), int(d.min) + int(d.extent)) for d in doms])
    found = set()
    for row in rows:
        env = dict(zip(constraints.variables, row))
        if all(evaluate(item, env) for item in constraints.relations) and all(
            evaluate(tir.all(var >= dom.min, var < dom.min + dom.extent), env)
            for var, dom in constraints.ranges.items()
        ):
            found.add(row)
    return found


def test_one_solution():
    x, y = variables("xy")
    made = arith.solve_linear_equations([tir.EQ(x + y, 20), tir.EQ(x - y, 10)], [x, y])
    assert made.dst.variables == [] and made.dst.relations == []
    assert made.src_to_dst[x] == 15 and made.src_to_dst[y] == 5


def test_a_free_direction():
    x, y, z = variables("xyz")
    made = arith.solve_linear_equations([tir.EQ(x + y + z, 15), tir.EQ(x + y, 10)], [x, y, z])
    (n0,) = made.dst.variables
    tvm.testing.assert_prim_expr_equal(made.src_to_dst[x], n0 + 10)
    tvm.testing.assert_prim_expr_equal(made.src_to_dst[y], -n0)
    assert made.src_to_dst[z] == 5


def test_ranges_are_carried_over():
    x, y = variables("xy")
    ranges = {x: Range.from_min_extent(-5, 10), y: Range.from_min_extent(0, 10)}
    made = arith.solve_linear_equations([tir.EQ(x + y, 0)], [x, y], ranges)
    (n0,) = made.dst.variables
    assert made.src_to_dst[x].same_as(n0)
    assert made.dst.ranges[n0].min == -9 and made.dst.ranges[n0].extent == 10
    (relation,) = made.dst.relations
    assert isinstance(relation, tir.LE) and relation.a == -5 and relation.b.same_as(n0)
    tvm.testing.check_int_constraints_trans_consistency(made)


def test_no_solution():
    x, y = variables("xy")
    for system in (
        [tir.EQ(x + y, 0), tir.EQ(x - y, 0), tir.EQ(x, 5)],
        [tir.EQ(x * 2 + y * 4, 5)],
    ):
        made = arith.solve_linear_equations(system, [x, y], {})
        assert made.dst.variables == [] and not made.src_to_dst and not made.dst_to_src
        (relation,) = made.dst.relations
        assert tvm.ir.structural_equal(relation, tir.const(False))
    made = arith.solve_linear_inequalities([tir.LE(x, 0), tir.GE(x, 1)], [x], deskew_range=True)
    assert tvm.ir.structural_equal(made.dst.relations[0], tir.const(False))
    # 3 <= 2 * x <= 3 has real solutions only.
    made = arith.solve_linear_inequalities([tir.LE(x * 2, 3), tir.GE(x * 2, 3)], [x])
    assert tvm.ir.structural_equal(made.relations[0], tir.const(False))


def test_symbolic_right_sides():
    x, y, n = variables("xyn")
    made = arith.solve_linear_equations([tir.EQ(x + y, n), tir.EQ(x - y, 0)], [x, y])
    (relation,) = made.dst.relations
    for value in range(-6, 7):
        env = {n: value}
        assert bool(evaluate(relation, env)) == (value % 2 == 0)
        if value % 2 == 0:
            assert evaluate(made.src_to_dst[x], env) == value // 2


@pytest.mark.parametrize("seed", range(6))
def test_random_equations(seed):
    rng = random.Random(seed)
    some = 0
    for _ in range(15):
        names = [tir.Var(f"x{k}") for k in range(rng.randrange(1, 4))]
        ranges = {var: Range(rng.randrange(-3, 1), rng.randrange(2, 5)) for var in names}
        system = []
        for _ in range(rng.randrange(1, 3)):
            total = tir.const(rng.randrange(-3, 4))
            for var in names:
                total = total + var * rng.randrange(-3, 4)
            system.append(tir.EQ(total, rng.randrange(-4, 5)))
        made = arith.solve_linear_equations(system, names, ranges)
        expected = solutions(made.src, ranges)
        some += bool(expected)
        if not made.src_to_dst:
            assert not expected
            continue
        wide = {var: Range(-80, 80) for var in made.dst.variables if len(made.dst.variables) < 2}
        wide = wide or {var: Range(-20, 20) for var in made.dst.variables}
        tvm.testing.check_int_constraints_trans_consistency(made, wide)
        # Every solution comes from one of the new variables, and goes there.
        for row in expected:
            env = dict(zip(names, row))
            new = {var: evaluate(made.dst_to_src[var], env) for var in made.dst.variables}
            back = tuple(evaluate(tir.expr.convert(made.src_to_dst[var]), new) for var in names)
            assert back == row and all(evaluate(item, new) for item in made.dst.relations)
    assert some > 1


def test_inequalities():
    x, y = variables("xy")
    ranges = {x: Range(-100, 100), y: Range(0, 10)}
    system = [tir.LE(x + y, 20), tir.GE(x - y, 10)]
    found = arith._ffi_api.SolveInequalitiesAsCondition([x, y], ranges, system)
    assert [str(item) for item in found] == ["x >= y + 10", "x <= 20 - y", "y >= 0", "y <= 5"]
    made = arith.solve_linear_inequalities(system, [x, y], ranges)
    assert made.ranges[y].min == 0 and made.ranges[y].extent == 6
    assert str(made.ranges[x].min) == "y + 10" and made.ranges[x].extent == 11
    assert [str(item) for item in made.relations] == ["x <= 20 - y"]
    made = arith.solve_linear_inequalities(system, [x, y], ranges, deskew_range=True)
    x_new, y_new = made.dst.variables
    (relation,) = made.dst.relations
    tvm.testing.assert_prim_expr_equal(relation.a, y_new * 2 + x_new)
    assert isinstance(relation, tir.LE) and relation.b == 10
    assert made.dst.ranges[x_new].min == 0 and made.dst.ranges[x_new].extent == 11
    assert str(made.dst_to_src[x_new]) == "x - y - 10"
    tvm.testing.check_int_constraints_trans_consistency(made)


def test_equal_bounds_leave_no_variable():
    x, y = variables("xy")
    system = [tir.GE(x + y, 10), tir.GE(x - y, 2), tir.LE(x, 6)]
    made = arith.solve_linear_inequalities(system, [x, y])
    assert made.ranges[x].min == 6 and made.ranges[x].extent == 1
    assert made.ranges[y].min == 4 and made.ranges[y].extent == 1
    made = arith.solve_linear_inequalities(system, [x, y], deskew_range=True)
    assert made.dst.variables == [] and made.dst.relations == []
    assert made.src_to_dst[x] == 6 and made.src_to_dst[y] == 4


def test_what_is_not_linear_stays():
    x, y, z = variables("xyz")
    system = [tir.LE(x, 6), tir.GE(x, 6), tir.GE(x - z * y, 0), tir.LE(x - z * y, 0)]
    made = arith.solve_linear_inequalities(system, [x, y, z])
    assert made.ranges[x].min == 6 and made.ranges[x].extent == 1
    assert len(made.relations) == 2


def random_inequalities(rng, names):
    system = []
    for _ in range(rng.randrange(1, 4)):
        total = tir.const(rng.randrange(-3, 4))
        for var in names:
            total = total + var * rng.randrange(-3, 4)
        node = rng.choice([tir.LT, tir.LE, tir.GT, tir.GE, tir.LE, tir.GE, tir.EQ])
        system.append(node(total, tir.const(rng.randrange(-4, 5))))
    return system


@pytest.mark.parametrize("seed", range(6))
def test_random_inequalities(seed):
    rng = random.Random(seed)
    some = 0
    for _ in range(15):
        names = [tir.Var(f"x{k}") for k in range(rng.randrange(1, 4))]
        ranges = {var: Range(rng.randrange(-3, 1), rng.randrange(2, 5)) for var in names}
        system = random_inequalities(rng, names)
        expected = solutions(arith.IntConstraints(names, ranges, system), ranges)
        some += bool(expected)
        made = arith.solve_linear_inequalities(system, names, ranges)
        assert solutions(made, ranges) == expected, [str(item) for item in system]
        conditions = arith._ffi_api.SolveInequalitiesAsCondition(names, ranges, system)
        listed = arith.IntConstraints(names, {}, conditions)
        assert solutions(listed, ranges) == expected
        moved = arith.solve_linear_inequalities(system, names, ranges, deskew_range=True)
        if not moved.src_to_dst:
            assert not expected
            continue
        tvm.testing.check_int_constraints_trans_consistency(moved)
        doms = {var: Range(0, moved.dst.ranges[var].extent) for var in moved.dst.variables}
        back = set()
        for row in solutions(moved.dst, doms):
            env = dict(zip(moved.dst.variables, row))
            back.add(tuple(evaluate(tir.expr.convert(moved.src_to_dst[var]), env) for var in names))
        assert back == expected, [str(item) for item in system]
    assert some > 1


def test_checks_fail_where_they_should():
    x, y = variables("xy")
    with pytest.raises(AssertionError, match=r"x < 3 does not hold for x = 3"):
        tvm.testing.check_bool_expr_is_true(x < 3, {x: Range(0, 5)})
    tvm.testing.check_bool_expr_is_true(x < 3, {x: Range(0, 5)}, x * 2 < 6)
    with pytest.raises(ValueError, match="are not equal"):
        tvm.testing.assert_prim_expr_equal(x + 1, x)
    wrong = arith.IntConstraintsTransform(
        arith.IntConstraints([x], {x: Range(0, 4)}, []),
        arith.IntConstraints([y], {y: Range(0, 3)}, []),
        {x: y},
        {y: x},
    )
    with pytest.raises(AssertionError, match="x = 3"):
        tvm.testing.check_int_constraints_trans_consistency(wrong)
