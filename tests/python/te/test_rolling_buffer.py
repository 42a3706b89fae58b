"""Rolling buffers: what the iteration before computed is kept."""

import numpy as np
import pytest
import tvm
from tvm import te
from tvm.error import ScheduleError
from tvm.tir.interpreter import interpret


def stencil(size=20, width=3, step=1):
    A = te.placeholder((size * step + width,), name="A")
    P = te.compute((size * step + width,), lambda i: A[i] * 2.0, name="P")
    B = te.compute(
        (size,), lambda i: sum((P[i * step + k] for k in range(1, width)), P[i * step]), name="B"
    )
    s = te.create_schedule(B.op)
    return A, P, B, s


def run(s, args, a, shape):
    out = np.zeros(shape, "float32")
    interpret(tvm.lower(s, args)["main"], a, out)
    return out


def test_golden(golden):
    A, P, B, s = stencil()
    s[P].compute_at(s[B], B.op.axis[0])
    s[P].rolling_buffer()
    golden("rolling_buffer", tvm.lower(s, [A, B]))


@pytest.mark.parametrize("width, step", [(3, 1), (4, 2), (5, 3), (2, 2), (1, 1), (3, 4)])
@pytest.mark.parametrize("split", [None, 4, 3])
def test_result(width, step, split):
    A, P, B, s = stencil(18, width, step)
    axis = B.op.axis[0]
    if split:
        axis, _ = s[B].split(axis, split)
    s[P].compute_at(s[B], axis)
    s[P].rolling_buffer()
    a = np.random.rand(18 * step + width).astype("float32")
    want = sum(a[k : k + 18 * step : step] * 2 for k in range(width))
    np.testing.assert_allclose(run(s, [A, B], a, 18), want, rtol=1e-5)
    x, y = tvm.nd.array(a), tvm.nd.empty((18,))
    tvm.build(s, [A, B], "llvm")(x, y)
    np.testing.assert_allclose(y.numpy(), want, rtol=1e-5)


def test_fewer_elements_are_computed():
    """Each element of the temporary is computed once."""
    seen = []

    @tvm.register_func("test.rolling_buffer.count", override=True)
    def count(i):
        seen.append(i)
        return 0

    A = te.placeholder((12,), "int32", name="A")
    P = te.compute(
        (12,),
        lambda i: A[i] + tvm.tir.call_packed("test.rolling_buffer.count", i),
        name="P",
    )
    B = te.compute((10,), lambda i: P[i] + P[i + 1] + P[i + 2], name="B")
    a, b = np.arange(12, dtype="int32"), np.zeros(10, "int32")
    for rolled, calls in ((False, 30), (True, 12)):
        s = te.create_schedule(B.op)
        s[P].compute_at(s[B], B.op.axis[0])
        if rolled:
            s[P].rolling_buffer()
        seen.clear()
        interpret(tvm.lower(s, [A, B])["main"], a, b)
        np.testing.assert_array_equal(b, a[:10] + a[1:11] + a[2:12])
        assert len(seen) == calls


@pytest.mark.parametrize("inner", [0, 1])
def test_two_dimensions(inner):
    A = te.placeholder((10, 12), name="A")
    P = te.compute((10, 12), lambda i, j: A[i, j] * 2.0, name="P")
    B = te.compute((8, 10), lambda i, j: P[i, j] + P[i + 1, j + 1] + P[i + 2, j + 2], name="B")
    s = te.create_schedule(B.op)
    s[P].compute_at(s[B], B.op.axis[inner])
    s[P].rolling_buffer()
    a = np.random.rand(10, 12).astype("float32")
    got = run(s, [A, B], a, (8, 10))
    want = 2 * (a[:8, :10] + a[1:9, 1:11] + a[2:, 2:])
    np.testing.assert_allclose(got, want, rtol=1e-5)
    assert "% 3" in str(tvm.lower(s, [A, B]))


def test_reduction_and_nested():
    A = te.placeholder((12, 5), name="A")
    k = te.reduce_axis((0, 5), name="k")
    P = te.compute((12,), lambda i: te.sum(A[i, k], axis=k), name="P")
    Q = te.compute((11,), lambda i: P[i] + P[i + 1], name="Q")
    B = te.compute((10,), lambda i: Q[i] + Q[i + 1], name="B")
    s = te.create_schedule(B.op)
    s[Q].compute_at(s[B], B.op.axis[0])
    s[P].compute_at(s[B], B.op.axis[0])
    s[Q].rolling_buffer()
    s[P].rolling_buffer()
    a = np.random.rand(12, 5).astype("float32")
    p = a.sum(1)
    np.testing.assert_allclose(run(s, [A, B], a, 10), p[:10] + 2 * p[1:11] + p[2:], rtol=1e-5)


def test_parallel_loops_do_not_share():
    A, P, B, s = stencil()
    s[P].compute_at(s[B], B.op.axis[0])
    s[P].rolling_buffer()
    s[B].parallel(B.op.axis[0])
    a = np.random.rand(23).astype("float32")
    assert "% 3" not in str(tvm.lower(s, [A, B]))
    want = 2 * (a[:20] + a[1:21] + a[2:22])
    np.testing.assert_allclose(run(s, [A, B], a, 20), want, rtol=1e-5)


def test_outputs_are_refused():
    A, P, B, s = stencil()
    with pytest.raises(ScheduleError, match="an output's memory belongs to the caller"):
        s[B].rolling_buffer()


def test_what_does_not_overlap_stays_in_its_place():
    """Other stages in the same loop are not touched."""
    A = te.placeholder((20,), name="A")
    O = te.compute((20,), lambda i: A[i] * 3.0, name="O")  # noqa: E741
    P = te.compute((20,), lambda i: O[i] * 2.0, name="P")
    B = te.compute((20,), lambda i: P[i] + O[i], name="B")
    s = te.create_schedule(B.op)
    for stage in (P, O):
        s[stage].compute_at(s[B], B.op.axis[0])
        s[stage].rolling_buffer()
    a = np.random.rand(20).astype("float32")
    np.testing.assert_allclose(run(s, [A, B], a, 20), a * 9, rtol=1e-5)
