"""transform_layout: other dimensions, the same elements."""

import numpy as np
import pytest
import tvm
from tvm import te
from tvm.error import ScheduleError
from tvm.tir.interpreter import interpret


def program(n=4, m=12):
    A = te.placeholder((n, m), name="A")
    B = te.compute((n, m), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((n, m), lambda i, j: B[i, j] * 2.0 + B[i, m - 1 - j], name="C")
    return A, B, C, te.create_schedule(C.op)


def run(s, args, *arrays):
    interpret(tvm.lower(s, args)["main"], *arrays)
    return arrays[-1]


BLOCKED = [
    lambda i, j: [j, i],
    lambda i, j: [i, j // 4, j % 4],
    lambda i, j: [j // 4, i // 2, i % 2, j % 4],
    lambda i, j: [i * 12 + j],
    lambda i, j: [i, j // 4, te.AXIS_SEPARATOR, j % 4],
]


@pytest.mark.parametrize("mapping", BLOCKED)
@pytest.mark.parametrize("scheduled", [False, True])
def test_temporary(mapping, scheduled):
    A, B, C, s = program()
    axes = s[B].transform_layout(mapping)
    assert s[B].leaf_iter_vars == axes
    if scheduled:
        _, inner = s[B].split(axes[-1], 4)
        s[B].vectorize(inner)
        s[B].parallel(s[B].leaf_iter_vars[0])
    a = np.random.rand(4, 12).astype("float32")
    b = a + np.float32(1)
    got = run(s, [A, C], a, np.zeros((4, 12), "float32"))
    np.testing.assert_allclose(got, b * 2 + b[:, ::-1], rtol=1e-6)
    x, y = tvm.nd.array(a), tvm.nd.empty((4, 12))
    tvm.build(s, [A, C], "llvm")(x, y)
    np.testing.assert_array_equal(y.numpy(), got)


@pytest.mark.parametrize("mapping", BLOCKED[:4])
def test_arguments_come_in_the_new_layout(mapping):
    A, B, C, s = program()
    assert s[A].transform_layout(mapping) == []
    s[C].transform_layout(mapping)
    a = np.random.rand(4, 12).astype("float32")
    b = a + np.float32(1)
    index_map = tvm.tir.IndexMap.from_func(mapping, index_dtype="int32")

    def moved(array):
        return index_map.map_ndarray(tvm.nd.array(array)).numpy()

    shape = [int(extent) for extent in index_map.map_shape([4, 12])]
    assert [int(e) for e in s[C].op.output(0).shape] == shape
    got = run(s, [A, C], moved(a), np.zeros(shape, "float32"))
    np.testing.assert_allclose(got, moved(b * 2 + b[:, ::-1]), rtol=1e-6)


def test_padding_is_zero():
    A = te.placeholder((10,), name="A")
    B = te.compute((10,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].transform_layout(lambda i: [i // 4, i % 4])
    a = np.arange(10, dtype="float32")
    got = run(s, [A, B], a, np.full((3, 4), 7, "float32"))
    np.testing.assert_array_equal(got.ravel(), [*(a + 1), 0, 0])


def test_reduction():
    A = te.placeholder((10, 6), name="A")
    k = te.reduce_axis((0, 6), name="k")
    R = te.compute((10,), lambda i: te.sum(A[i, k], axis=k), name="R")
    S = te.compute((10,), lambda i: R[9 - i] * 2.0, name="S")
    s = te.create_schedule(S.op)
    outer, inner = s[R].transform_layout(lambda i: [i // 4, i % 4])
    s[R].reorder(outer, s[R].op.reduce_axis[0], inner)
    a = np.random.rand(10, 6).astype("float32")
    got = run(s, [A, S], a, np.zeros(10, "float32"))
    np.testing.assert_allclose(got, a.sum(1)[::-1] * 2, rtol=1e-5)


def test_golden(golden):
    A, B, C, s = program()
    s[B].transform_layout(lambda i, j: [j // 4, i, j % 4])
    golden("transform_layout", tvm.lower(s, [A, C]))


def test_mistakes():
    A, B, C, s = program()
    s[B].split(B.op.axis[0], 2)
    with pytest.raises(ScheduleError, match="its axes were split or fused already"):
        s[B].transform_layout(lambda i, j: [j, i])
    A, B, C, s = program()
    with pytest.raises(ScheduleError, match="stage B: transform_layout: .*inverse"):
        s[B].transform_layout(lambda i, j: [i * i, j])
    with pytest.raises(ValueError, match="takes 1 indices, but ndim is 2"):
        s[B].transform_layout(lambda i: [i])


def test_elements_that_would_share_a_place():
    A = te.placeholder((16, 32), name="A")
    P = te.compute((16, 32), lambda i, j: A[i, j] * 2.0, name="P")
    B = te.compute((16, 32), lambda i, j: P[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    with pytest.raises(
        tvm.error.ScheduleError, match=r"i // 2, j\) has no inverse: several i lead"
    ):
        s[P].transform_layout(lambda i, j: [i // 2, j])
    with pytest.raises(tvm.error.ScheduleError, match="several j lead to one place"):
        s[P].transform_layout(lambda i, j: [i, j % 8])
