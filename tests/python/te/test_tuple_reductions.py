"""Reductions of several values at once, compiled and interpreted, under schedules."""

import numpy as np
import pytest
import tvm
from tvm import te, tir


def both(run, s, args, *arrays, rtol=1e-5):
    """All arrays after the interpreter and after compiled code, which must agree."""
    want = run(s, args, *arrays)
    given = [tvm.nd.array(a) for a in arrays]
    tvm.build(s, args, "llvm")(*given)
    for a, b in zip(given, want):
        np.testing.assert_allclose(a.numpy(), b, rtol=rtol)
    return want


def first_greatest(x, y):
    """Of equal values the one with the smaller index: the order does not matter."""
    left = te.any(x[1] > y[1], te.all(x[1] == y[1], x[0] <= y[0]))
    return tir.Select(left, x[0], y[0]), tir.Select(left, x[1], y[1])


argmax = te.comm_reducer(
    first_greatest, lambda i, v: (tir.max_value(i), te.min_value(v)), name="argmax"
)


def top(n=6, m=16):
    A, I = te.placeholder((n, m), name="A"), te.placeholder((m,), "int32", name="I")
    k = te.reduce_axis((0, m), name="k")
    where, best = te.compute((n,), lambda i: argmax((I[k], A[i, k]), axis=k), name="top")
    return A, I, k, where, best


@pytest.mark.parametrize("change", ["none", "split", "rfactor", "parallel", "cache", "tile"])
def test_argmax(run, change):
    A, I, k, where, best = top()
    s = te.create_schedule(where.op)
    stage = s[where]
    if change == "split":
        outer, inner = stage.split(k, factor=5)
        stage.reorder(outer, where.op.axis[0], inner)
    elif change == "rfactor":
        _, inner = stage.split(k, factor=4)
        partial = s.rfactor(where, inner)
        assert len(partial) == 2
    elif change == "parallel":
        stage.parallel(where.op.axis[0])
    elif change == "cache":
        cached = s.cache_write([where, best], "local")
        s[cached[0]].compute_at(s[where], s[where].leaf_iter_vars[0])
    elif change == "tile":
        outer, inner = stage.split(where.op.axis[0], factor=4)
        stage.reorder(outer, k, inner)
        stage.vectorize(inner)
    a = np.random.randint(0, 5, (6, 16)).astype("float32")  # with ties
    index = np.arange(16, dtype="int32")
    got = both(run, s, [A, I, where, best], a, index, np.zeros(6, "int32"), np.zeros(6, "float32"))
    np.testing.assert_array_equal(got[2], a.argmax(1))
    np.testing.assert_array_equal(got[3], a.max(1))


def test_mean_and_variance(run):
    """Welford's combination: count, mean and sum of squares, of three types."""

    def combine(x, y):
        count = x[0] + y[0]
        whole = te.max(count, 1).astype("float64")
        delta = y[1] - x[1]
        share = y[0].astype("float64") / whole
        mean = x[1] + delta * share
        square = x[2] + y[2] + delta * delta * x[0].astype("float64") * share
        return count, mean, square

    welford = te.comm_reducer(
        combine, lambda *kinds: [tir.const(0, kind) for kind in kinds], name="welford"
    )
    A = te.placeholder((4, 9), "float64", name="A")
    k = te.reduce_axis((0, 9), name="k")
    one, zero = tir.const(1, "int32"), tir.const(0, "float64")
    count, mean, square = te.compute(
        (4,),
        lambda i: welford((one, A[i, k], zero), axis=k, where=A[i, k] > 0.1),
        name="moments",
    )
    V = te.compute((4,), lambda i: square[i] / count[i].astype("float64") + mean[i], name="V")
    s = te.create_schedule(V.op)
    s[count].compute_at(s[V], V.op.axis[0])
    a = np.random.rand(4, 9)
    a[:, 0] = 0.5
    want = [row[row > 0.1].var() + row[row > 0.1].mean() for row in a]
    got = both(run, s, [A, V], a, np.zeros(4), rtol=1e-9)
    np.testing.assert_allclose(got[1], want, rtol=1e-9)


def test_starts(run):
    A, I, k, _, _ = top()
    start = te.placeholder((6,), name="start")
    where, best = te.compute(
        (6,), lambda i: argmax((I[k], A[i, k]), axis=k, init=(-1, start[i])), name="top"
    )
    a, index = np.random.rand(6, 16).astype("float32"), np.arange(16, dtype="int32")
    starts = np.array([0, 2, 0, 2, 0, 2], "float32")
    s = te.create_schedule(where.op)
    got = both(run, s, [A, I, start, where, best], a, index, starts, np.zeros(6, "int32"),
               np.zeros(6, "float32"))  # fmt: skip
    np.testing.assert_array_equal(got[3], np.where(starts == 2, -1, a.argmax(1)))
    np.testing.assert_array_equal(got[4], np.maximum(a.max(1), starts))


def test_logic_and_several_outputs(run):
    """Outputs of different types from one operation, conditions joined by all and any."""
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    inside, kind, half = te.compute(
        (n,),
        lambda *i: (
            te.all(A(*i) > 0.2, A(*i) < 0.8),
            te.if_then_else(te.any(A(*i) < 0.1, A(*i) > 0.9), 2, 1),
            A(*i) * 0.5,
        ),
        varargs_names=["row"],
        name="three",
    )
    assert inside.op.axis[0].var.name == "row"
    assert [t.dtype for t in (inside, kind, half)] == ["bool", "int32", "float32"]
    B = te.compute((n,), lambda i: te.if_then_else(inside[i], half[i], kind[i]), name="B")
    a = np.random.rand(50).astype("float32")
    want = np.where((a > 0.2) & (a < 0.8), a / 2, np.where((a < 0.1) | (a > 0.9), 2, 1))
    s = te.create_schedule(B.op)
    got = both(run, s, [A, B], a, a * 0)
    np.testing.assert_allclose(got[1], want, rtol=1e-6)
    s[inside].compute_at(s[B], s[B].split(B.op.axis[0], factor=8)[0])
    np.testing.assert_allclose(both(run, s, [A, B], a, a * 0)[1], want, rtol=1e-6)


@pytest.mark.parametrize("wanted", [0, 1])
def test_one_of_several_outputs_as_an_argument(wanted):
    A = te.placeholder((3, 7), name="A")
    I = te.placeholder((7,), "int32", name="I")
    k = te.reduce_axis((0, 7), name="k")
    top = te.compute((3,), lambda i: argmax((I[k], A[i, k]), axis=k), name="top")
    a = np.random.default_rng(3).permutation(21).reshape(3, 7).astype("float32")
    expected = [a.argmax(1), a.max(1)][wanted]
    s = te.create_schedule(top[0].op)
    out = np.zeros(3, top[wanted].dtype)
    tvm.build(s, [A, I, top[wanted]], "llvm")(a, np.arange(7, dtype="int32"), out)
    assert out.tolist() == expected.tolist()
