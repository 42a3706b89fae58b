"""Index arithmetic in a type that holds it: promoted to int64, narrowed to int32."""

import numpy as np
import pytest
import tvm
from tvm import te, tir
from tvm.tir.interpreter import interpret
from tvm.tir.transform import NarrowDataType, PromoteIndex
from tvm.tir.transform.index_ranges import IndexRanges
from tvm.tir.verify import verify


def lowered(*args):
    outputs = [a.op for a in args if isinstance(a, te.Tensor) and a.op.input_tensors]
    if not outputs:
        outputs = [args[-1].op]
    return tvm.lower(te.create_schedule(outputs), list(args))


def test_golden(golden):
    A = te.placeholder((1 << 33,), "int8", name="A")
    B = te.compute((4,), lambda i: A[i * (1 << 30)], name="B")
    golden("promote_index", lowered(A, B))


def test_conversion_of_large_indices():
    """The value of an index is the mathematical one."""
    B = te.compute((4,), lambda i: (i * (1 << 30)).astype("float64"), name="B")
    b = np.zeros(4)
    interpret(lowered(B)["main"], b)
    np.testing.assert_array_equal(b, np.arange(4) * 2.0**30)
    out = tvm.nd.empty((4,), "float64")
    tvm.build(te.create_schedule(B.op), [B], "llvm")(out)
    np.testing.assert_array_equal(out.numpy(), b)


@pytest.mark.parametrize("build", [False, True])
def test_comparison_of_large_indices(build):
    n, m = te.var("n"), te.var("m")
    B = te.compute((4,), lambda i: te.Select(i * n < m, 1, 0), name="B")
    mod = tvm.lower(te.create_schedule(B.op), [n, m, B])
    b = np.zeros(4, "int32")
    if build:
        out = tvm.nd.array(b)
        tvm.build(te.create_schedule(B.op), [n, m, B], "llvm")(1 << 30, 1 << 30, out)
        b = out.numpy()
    else:
        interpret(mod["main"], 1 << 30, 1 << 30, b)
    # 3 * 2^30 does not fit int32
    np.testing.assert_array_equal(b, [1, 0, 0, 0])


def test_plain_positions_stay_as_they_are():
    n, m, k = te.var("n"), te.var("m"), te.var("k")
    A = te.placeholder((n,), name="A")
    B = te.compute((m,), lambda i: A[i * 2 + k], name="B")
    text = str(tvm.lower(te.create_schedule(B.op), [k, A, B]))
    assert "A[i * 2 + k]" in text and "int64" not in text


def test_quotients_of_large_products():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[te.floordiv(i * n, n)], name="B")
    verify(lowered(A, B))
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[te.floordiv(i * (1 << 30), (1 << 29) + 1)], name="B")
    a, b = np.arange(4, dtype="float32"), np.zeros(4, "float32")
    bound = [min(i * (1 << 30) // ((1 << 29) + 1), 3) for i in range(4)]
    C = te.compute(
        (4,), lambda i: A[te.min(te.floordiv(i * (1 << 30), (1 << 29) + 1), 3)], name="C"
    )
    interpret(lowered(A, C)["main"], a, b)
    np.testing.assert_array_equal(b, a[bound])
    del B


def test_data_wraps():
    A = te.placeholder((4,), "int32", name="A")
    B = te.compute((4,), lambda i: A[i] * (1 << 30), name="B")
    mod = lowered(A, B)
    assert "int64" not in str(mod) and PromoteIndex()(mod) is mod


def test_mixed_widths():
    n = te.var("n", "int64")
    A = te.placeholder((n, 4), name="A")
    k = te.reduce_axis((0, 4), name="k")
    R = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="R")
    D = te.compute((n,), lambda i: te.if_then_else(i < 2, R[i], R[i] + 1), name="D")
    s = te.create_schedule(D.op)
    s[D].vectorize(s[D].split(D.op.axis[0], 4)[1])
    a, d = np.random.rand(7, 4).astype("float32"), np.zeros(7, "float32")
    mod = tvm.lower(s, [A, D])
    verify(mod)
    interpret(mod["main"], a, d)
    np.testing.assert_allclose(d, a.sum(1) + (np.arange(7) >= 2), rtol=1e-5)


def wide(size=16):
    extent = tir.const(size, "int64")
    A = te.placeholder((extent, tir.const(8, "int64")), name="A")
    B = te.compute(
        A.shape, lambda i, j: te.if_then_else(i * 2 < j, A[i, j], A[i, j] + 1.0), name="B"
    )
    return tvm.lower(te.create_schedule(B.op), [A, B])


def test_narrow_golden(golden):
    golden("narrow_data_type", NarrowDataType(32)(wide()))


def test_narrow_result_and_limits():
    mod = NarrowDataType(32)(wide())
    verify(mod)
    a, b = np.random.rand(16, 8).astype("float32"), np.zeros((16, 8), "float32")
    interpret(mod["main"], a, b)
    i, j = np.indices((16, 8))
    np.testing.assert_array_equal(b, np.where(i * 2 < j, a, a + np.float32(1)))
    large = wide(1 << 30)
    # positions reach 2^33, but the loops themselves fit
    text = str(NarrowDataType(32)(large))
    assert "T.grid(1073741824, 8)" in text and 'T.Cast("int64", i)' in text
    verify(NarrowDataType(32)(large))
    assert "T.int16" in str(NarrowDataType(16)(wide()))
    with pytest.raises(ValueError) as caught:
        NarrowDataType(31)
    assert str(caught.value) == "NarrowDataType: expected 8, 16, 32 or 64 bits, but got 31"


def test_ranges_by_trying():
    """Every interval holds every value."""
    rng = np.random.default_rng(3)
    x, y = tir.Var("x"), tir.Var("y")
    operations = [
        tir.Add, tir.Sub, tir.Mul, tir.FloorDiv, tir.FloorMod, tir.Div, tir.Mod, tir.Min, tir.Max,
    ]  # fmt: skip
    from tvm.tir.interpreter import evaluate

    for _ in range(150):
        low = [int(v) for v in rng.integers(-5, 4, 2)]
        size = [int(v) for v in rng.integers(1, 6, 2)]
        expr = x
        for _ in range(3):
            other = y if rng.integers(2) else tir.IntImm("int32", int(rng.integers(-4, 5)) or 3)
            kind = operations[rng.integers(len(operations))]
            pair = (expr, other) if rng.integers(2) else (other, expr)
            expr = kind(*pair)
        ranges = IndexRanges()
        ranges.bind(x, tir.const(low[0]), tir.const(size[0]))
        ranges.bind(y, tir.const(low[1]), tir.const(size[1]))
        least, greatest = ranges.of(expr)
        for a in range(low[0], low[0] + size[0]):
            for b in range(low[1], low[1] + size[1]):
                value = evaluate(expr, {x: a, y: b})
                assert least <= value <= greatest, (expr, a, b, value, least, greatest)
