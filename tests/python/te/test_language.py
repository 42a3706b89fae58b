"""placeholder, compute, reductions, tensors: what they make and what they refuse."""

import numpy as np
import pytest
import tvm
from tvm import te, tir


def test_placeholder():
    n = te.var("n")
    A = te.placeholder((n, 4), name="A")
    assert A.shape[0] is n and A.shape[1].value == 4
    assert (A.dtype, A.ndim, A.op.name, A.name) == ("float32", 2, "A", "A")
    assert isinstance(A.op, te.PlaceholderOp) and A.op.input_tensors == ()
    assert te.placeholder(5).shape[0].value == 5
    assert te.placeholder(n + 2).ndim == 1
    assert te.placeholder((), "int8").ndim == 0
    assert te.placeholder((2**33,)).shape[0].dtype == "int64"


@pytest.mark.parametrize("shape", [(-1,), (2.5,), ("x",)])
def test_placeholder_refuses(shape):
    with pytest.raises((ValueError, TypeError)) as info:
        te.placeholder(shape, name="A")
    assert isinstance(info.value, tvm.TVMError) and "A" in str(info.value)


def test_compute_axes():
    A = te.placeholder((4, 3), name="A")
    B = te.compute((3, 4), lambda i, j: A[j, i], name="B")
    assert [iv.var.name for iv in B.op.axis] == ["i", "j"]
    assert B.op.input_tensors[0] == A
    C = te.compute((3, 4), lambda *ax: B(*ax), name="C")
    assert [iv.var.name for iv in C.op.axis] == ["i0", "i1"]
    D = te.compute((3, 4), lambda a, *rest: B(a, *rest), varargs_names=["z"], name="D")
    assert [iv.var.name for iv in D.op.axis] == ["a", "z"]


def test_compute_several_outputs():
    A = te.placeholder((4,), name="A")
    B, C = te.compute((4,), lambda i: (A[i] + 1.0, A[i].astype("int32")), name="BC")
    assert B.op is C.op and (B.value_index, C.value_index) == (0, 1)
    assert (B.dtype, C.dtype) == ("float32", "int32")
    assert B != C and B.op.output(0) == B and hash(B) == hash(B.op.output(0))


def test_zero_dimensions(run):
    A = te.placeholder((3,), name="A")
    k = te.reduce_axis((0, 3), name="k")
    B = te.compute((), lambda: te.sum(A[k], axis=k), name="B")
    C = te.compute((), lambda: B() * 2.0, name="C")
    a = np.array([1, 2, 3], "float32")
    assert run(te.create_schedule(C.op), [A, C], a, np.zeros((), "float32"))[1] == 12


def test_compute_refuses():
    A = te.placeholder((4, 3), name="A")
    with pytest.raises(ValueError, match="2 dimensions.*1 parameter"):
        te.compute((4, 3), lambda i: A[i, 0])
    with pytest.raises(TypeError, match="A with 1 of its 2 indices"):
        te.compute((4,), lambda i: A[i])
    with pytest.raises(ValueError, match="expected 2 indices"):
        te.compute((4,), lambda i: A(i))
    with pytest.raises(TypeError, match="slices"):
        te.compute((4,), lambda i: A[i, :])
    with pytest.raises(ValueError, match="no truth value"):
        bool(A)
    k = te.reduce_axis((0, 3), name="k")
    with pytest.raises(tvm.TVMError, match="whole expression"):
        te.compute((4,), lambda i: te.sum(A[i, k], axis=k) + 1.0)
    with pytest.raises(TypeError, match="te.compute|iterable"):
        list(A)


def test_slices():
    A = te.placeholder((4, 3), name="A")
    row = A[2]
    assert isinstance(row, te.TensorSlice) and row.dtype == "float32"
    load = row[1]
    assert isinstance(load, tir.ProducerLoad) and load.producer == A


def test_operators_broadcast(run):
    A = te.placeholder((3, 1), name="A")
    B = te.placeholder((4,), name="B")
    C = A * 2.0 + B
    assert [int(x) for x in C.shape] == [3, 4]
    a, b = np.random.rand(3, 1).astype("float32"), np.random.rand(4).astype("float32")
    out = run(te.create_schedule(C.op), [A, B, C], a, b, np.zeros((3, 4), "float32"))[2]
    np.testing.assert_array_equal(out, a * np.float32(2) + b)
    with pytest.raises(ValueError, match="cannot broadcast"):
        te.placeholder((3,)) + te.placeholder((4,))
    D = -(te.placeholder((2,), "int32", name="E"))
    assert D.dtype == "int32" and D.astype("float32").dtype == "float32"


def test_tags():
    A = te.placeholder((4,), name="A")
    with te.tag_scope("mine"):
        B = te.compute((4,), lambda i: A[i], name="B")
    assert B.op.tag == "mine"

    @te.tag_scope("other")
    def make():
        return te.compute((4,), lambda i: A[i], name="B")

    assert make().op.tag == "other"
    with te.tag_scope("a"), pytest.raises(ValueError), te.tag_scope("b"):
        pass
    assert te.compute((4,), lambda i: A[i], tag="t", attrs={"x": 1}).op.attrs["x"] == 1


def test_tuple_reduction_reads_old_values(run):
    """Both results come from the values before the step, whatever the order of the stores."""

    def combine(x, y):
        return x[1] + y[0], x[0] + y[1]

    swap = te.comm_reducer(combine, lambda a, b: (tir.const(0, a), tir.const(0, b)), name="swap")
    A = te.placeholder((5,), "int32", name="A")
    k = te.reduce_axis((0, 5), name="k")
    P, Q = te.compute((1,), lambda i: swap((A[k], A[k] * 10), axis=k), name="PQ")
    a = np.arange(1, 6, dtype="int32")
    p = q = 0
    for x in a:
        p, q = q + x, p + x * 10
    z = np.zeros(1, "int32")
    got = run(te.create_schedule(P.op), [A, P, Q], a, z, z)
    assert (got[1][0], got[2][0]) == (p, q)


def test_reduction_where_and_init(run):
    A = te.placeholder((6,), name="A")
    B = te.placeholder((1,), name="B")
    k = te.reduce_axis((0, 6), name="k")
    R = te.compute((1,), lambda i: te.sum(A[k], axis=k, where=k < 4, init=B[i]), name="R")
    a, b = np.arange(6, dtype="float32"), np.array([100], "float32")
    got = run(te.create_schedule(R.op), [A, B, R], a, b, np.zeros(1, "float32"))[2]
    assert got[0] == 106


def test_reduce_axis_that_does_not_start_at_zero(run):
    A = te.placeholder((6,), name="A")
    k = te.reduce_axis((2, 5), name="k")
    R = te.compute((1,), lambda i: te.sum(A[k], axis=k), name="R")
    s = te.create_schedule(R.op)
    s[R].split(k, 2)
    got = run(s, [A, R], np.arange(6, dtype="float32"), np.zeros(1, "float32"))[1]
    assert got[0] == 2 + 3 + 4
