"""The analyzer's answers that programs and passes rely on."""

import pytest
import tvm
from tvm import tir
from tvm.arith import Analyzer, ConstIntBound, IntervalSet, ModularSet


def variables(names, dtype="int32"):
    return [tir.Var(name, dtype) for name in names]


def test_splits_and_fuses_fold_away():
    outer, inner = variables(["outer", "inner"])
    analyzer = Analyzer()
    analyzer.bind(outer, tvm.ir.Range(0, 8))
    analyzer.bind(inner, tvm.ir.Range(0, 16))
    fused = outer * 16 + inner
    assert analyzer.simplify(fused // 16).same_as(outer)
    assert analyzer.simplify(fused % 16).same_as(inner)
    assert analyzer.can_prove(fused < 128)
    assert not analyzer.can_prove(fused < 127)
    assert str(analyzer.simplify(fused // 32)) == "outer // 2"
    assert str(analyzer.simplify(fused % 32 // 16)) == "outer % 2"


def test_data_is_not_rearranged_as_mathematical_integers_are():
    (i,) = variables(["i"])
    data = tir.decl_buffer((10,), "uint8", name="data")[i]
    analyzer = Analyzer()
    # 255 + 1 is 0: not provable, and 2 * x // 2 is not x.
    assert not analyzer.can_prove(data + tir.const(1, "uint8") > data)
    two = tir.const(2, "uint8")
    assert str(analyzer.simplify(data * two // two)) == str(data * two // two)
    assert analyzer.simplify(i * 2 // 2).same_as(i)
    assert analyzer.can_prove(i + 1 > i)


def test_constants_of_data_fold_modulo_their_width():
    (i,) = variables(["i"])
    data = tir.decl_buffer((10,), "uint8", name="data")[i]
    made = Analyzer().simplify(data + tir.const(255, "uint8") + tir.const(3, "uint8"))
    assert str(made) == "data[i] + T.uint8(2)"


def test_an_index_constant_that_leaves_int32_stays():
    big = tir.const(1 << 30, "int32")
    expr = tir.Mul(tir.Mul(big, big), tir.const(4, "int32"))
    assert Analyzer().const_int_bound(expr).max_value == 1 << 62
    assert not isinstance(Analyzer().simplify(tir.Mul(big, big)), tir.IntImm)


def test_const_int_bound():
    x, y = variables(["x", "y"])
    analyzer = Analyzer()
    analyzer.update(x, ConstIntBound(-9, 4))
    analyzer.update(y, ConstIntBound(4, 10))
    assert analyzer.const_int_bound(x + y) == ConstIntBound(-5, 14)
    assert analyzer.const_int_bound(x * y) == ConstIntBound(-90, 40)
    assert analyzer.const_int_bound(x - y) == ConstIntBound(-19, 0)
    assert analyzer.const_int_bound(tir.truncdiv(x, y)) == ConstIntBound(-2, 1)
    assert analyzer.const_int_bound(x // y) == ConstIntBound(-3, 1)
    assert analyzer.const_int_bound(x % 10) == ConstIntBound(0, 9)
    assert analyzer.const_int_bound(tir.Min(x, y)) == ConstIntBound(-9, 4)
    assert analyzer.const_int_bound(tir.Select(x > 1, y, y + 1)) == ConstIntBound(4, 11)
    wide = tir.Var("w", "int64")
    assert analyzer.const_int_bound(wide) == ConstIntBound(
        ConstIntBound.NEG_INF, ConstIntBound.POS_INF
    )
    assert analyzer.const_int_bound(tir.SizeVar("s")).min_value == 0


def test_data_bounds_are_the_type_where_they_may_wrap():
    (i,) = variables(["i"])
    data = tir.decl_buffer((10,), "int8", name="data")[i]
    analyzer = Analyzer()
    assert analyzer.const_int_bound(data) == ConstIntBound(-128, 127)
    assert analyzer.const_int_bound(data + tir.const(1, "int8")) == ConstIntBound(-128, 127)
    assert analyzer.const_int_bound(tir.shift_right(data, 4)) == ConstIntBound(-8, 7)
    assert analyzer.const_int_bound(data.astype("int32") + 1) == ConstIntBound(-127, 128)


def test_modular_set():
    x, y = variables(["x", "y"])
    analyzer = Analyzer()
    assert analyzer.modular_set(x * 4 + y * 6 + 1) == ModularSet(2, 1)
    with analyzer.constraint_scope(x % 3 == 2):
        assert analyzer.modular_set(x) == ModularSet(3, 2)
        assert analyzer.simplify((x + 1) % 3) == 0
    assert analyzer.modular_set(x) == ModularSet(1, 0)
    data = tir.decl_buffer((10,), "int8", name="data")[x]
    # Six times a wrapping int8 is known modulo 2 only.
    assert analyzer.modular_set(data * tir.const(6, "int8")) == ModularSet(2, 0)


def test_constraint_scope():
    x, y = variables(["x", "y"])
    analyzer = Analyzer()
    with analyzer.constraint_scope(tir.all(x >= 0, x < 10)):
        assert analyzer.const_int_bound(x) == ConstIntBound(0, 9)
        with analyzer.constraint_scope(x + 1 > y):
            assert analyzer.can_prove(x + 3 > y)
            assert analyzer.can_prove(y < 11)
        assert not analyzer.can_prove(x + 3 > y)
    assert not analyzer.can_prove(x >= 0)


def test_select_arms_know_the_condition():
    (x,) = variables(["x"])
    made = Analyzer().simplify(tir.Select(x < 5, tir.Select(x < 6, x, x + 1), x))
    assert made.same_as(x)


def test_bind_to_a_value():
    x, y = variables(["x", "y"])
    analyzer = Analyzer()
    analyzer.bind(x, y * 2 + 1)
    assert str(analyzer.simplify(x + 1)) == "y * 2 + 2"
    assert analyzer.modular_set(x) == ModularSet(2, 1)


def test_floats_keep_their_bits():
    f = tir.Var("f", "float32")
    analyzer = Analyzer()
    for expr in (f + 0.0, f - f, f * 0.0, f < f, tir.EQ(f, f), tir.Not(tir.LT(f, tir.const(1.0)))):
        assert tvm.ir.structural_equal(analyzer.simplify(expr), expr)
    assert analyzer.simplify(tir.Mul(f, tir.const(1.0, "float32"))).same_as(f)


def test_int_set_and_linear_equations():
    a, b, n = variables(["a", "b", "n"])
    analyzer = Analyzer()
    found = analyzer.int_set(a * 2 + b, {a: IntervalSet(0, n)})
    assert (str(found.min_value), str(found.max_value)) == ("b", "n * 2 + b")
    assert [str(c) for c in tvm.arith.detect_linear_equation(a * 4 + b * n + 6, [a, b])] == [
        "4", "n", "6",
    ]  # fmt: skip
    assert tvm.arith.detect_linear_equation(a * b, [a, b]) == []
    assert tvm.arith.detect_linear_equation(a // 2 + b, [a]) == []


def test_update_refuses_other_kinds_of_knowledge():
    with pytest.raises(tvm.TVMError, match="expected a ConstIntBound or a ModularSet"):
        Analyzer().update(tir.Var("x"), 3)


def test_nothing_changes_means_the_same_node():
    x, y = variables(["x", "y"])
    for expr in (x + y, x * 2, x // y, tir.Select(x < y, x, y)):
        assert Analyzer().simplify(expr).same_as(expr)


def test_a_chain_of_ten_thousand_nodes():
    x, y = variables(["x", "y"])
    expr = x
    for _ in range(5000):
        expr = tir.Add(tir.Max(expr, y), tir.IntImm("int32", 1))
    assert Analyzer().const_int_bound(expr).max_value > 0
