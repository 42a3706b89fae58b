"""What a schedule refuses, when, and what it says."""

import pytest
import tvm
from tvm import te


def fresh():
    A = te.placeholder((4, 6), name="A")
    B = te.compute((4, 6), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    return s, A, B, *B.op.axis


def refused(call, *words):
    with pytest.raises(tvm.error.ScheduleError) as info:
        call()
    assert isinstance(info.value, ValueError) and isinstance(info.value, tvm.TVMError)
    for word in words:
        assert word in str(info.value), str(info.value)


def test_split():
    s, A, B, i, j = fresh()
    refused(lambda: s[B].split(i, 0), "stage B", "split axis i", "1 or more", "i, j")
    refused(lambda: s[B].split(i), "exactly one", "neither")
    refused(lambda: s[B].split(i, factor=2, nparts=2), "exactly one", "both")
    io, ii = s[B].split(i, 2)
    refused(lambda: s[B].split(i, 2), "became i.outer, i.inner")
    other = te.compute((4,), lambda q: A[q, 0], name="O")
    refused(lambda: s[B].split(other.op.axis[0], 2), "does not belong to this stage")
    with pytest.raises(TypeError):
        s[B].split("i", 2)
    with pytest.raises(TypeError):
        s[B].split(io, 2.5)


def test_reorder_and_fuse():
    s, A, B, i, j = fresh()
    refused(lambda: s[B].reorder(i, j, i), "reorder", "axis i is named twice")
    refused(lambda: s[B].fuse(j, i), "fuse j, i", "i does not follow j")
    io, ii = s[B].split(i, 2)
    refused(lambda: s[B].fuse(io, j), "j does not follow i.outer")
    refused(lambda: s[B].tile(j, j, 2, 2), "named twice")


def test_vectorize_reduction():
    A = te.placeholder((4, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    R = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="R")
    s = te.create_schedule(R.op)
    refused(lambda: s[R].vectorize(k), "vectorize axis k", "reduction", "data-parallel are: i")


def test_inline():
    A = te.placeholder((4, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    R = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="R")
    D = te.compute((4,), lambda i: R[i] + 1.0, name="D")
    s = te.create_schedule(D.op)
    s[R].compute_inline()
    refused(lambda: tvm.lower(s, [A, D]), "stage R", "reduction cannot be inlined")
    s = te.create_schedule(D.op)
    s[D].compute_inline()
    refused(s.normalize, "stage D", "output cannot be inlined")


def test_attach():
    s, A, B, i, j = fresh()
    P = te.compute((4, 6), lambda a, b: A[a, b] * 2.0, name="P")
    Q = te.compute((4, 6), lambda a, b: P[a, b] * 2.0, name="Q")
    E = te.compute((4, 6), lambda a, b: A[a, b] * 3.0, name="E")
    s2 = te.create_schedule([Q.op, E.op])
    refused(lambda: s2[P].compute_at(s[B], i), "another schedule")
    refused(lambda: s2[P].compute_at(s2[P], P.op.axis[0]), "itself")
    refused(lambda: s2[P].compute_at(s2[Q], P.op.axis[0]), "does not belong to that stage")
    refused(lambda: s2[B], "no stage computes B")
    s2[P].compute_at(s2[E], E.op.axis[0])
    refused(lambda: tvm.lower(s2, [A, Q, E]), "stage P", "consumer Q", "Q")
    circle = te.create_schedule([Q.op])
    R = te.compute((4, 6), lambda a, b: Q[a, b], name="R")
    circle = te.create_schedule(R.op)
    circle[P].compute_at(circle[Q], Q.op.axis[0])
    circle[Q].compute_at(circle[P], P.op.axis[0])
    refused(lambda: tvm.lower(circle, [A, R]), "circle")


def test_attach_axis_that_is_split_later(run):
    import numpy as np

    A = te.placeholder((10,), name="A")
    P = te.compute((10,), lambda i: A[i] * 2.0, name="P")
    Q = te.compute((10,), lambda i: P[i] + 1.0, name="Q")
    s = te.create_schedule(Q.op)
    s[P].compute_at(s[Q], Q.op.axis[0])
    s[Q].split(Q.op.axis[0], 3)
    a = np.arange(10, dtype="float32")
    np.testing.assert_array_equal(run(s, [A, Q], a, a * 0)[1], a * 2 + 1)


def test_cache_and_rfactor():
    s, A, B, i, j = fresh()
    C = te.compute((4, 6), lambda a, b: B[a, b], name="C")
    s = te.create_schedule(C.op)
    refused(lambda: s.cache_read(A, "local", [C]), "cache_read A", "C does not read it", "B")
    s[C].split(C.op.axis[0], 2)
    refused(lambda: s.cache_write(C, "local"), "split or fused already")
    refused(lambda: s.rfactor(B, B.op.axis[0]), "not a reduction")


def test_missing_arguments():
    s, A, B, i, j = fresh()
    with pytest.raises(ValueError, match="tensor A is used"):
        tvm.lower(s, [B])
    with pytest.raises(ValueError, match="given twice"):
        tvm.lower(s, [A, A, B])
    with pytest.raises(TypeError, match="argument 1"):
        tvm.lower(s, [A, "B"])
    with pytest.raises(ValueError, match="needs args"):
        tvm.lower(s)
    with pytest.raises(TypeError, match="create_schedule"):
        te.create_schedule("B")


def test_storage_align():
    s, A, B, i, j = fresh()
    C = te.compute((4, 6), lambda a, b: B[a, b] + 1.0, name="C")
    s = te.create_schedule(C.op)
    words = "storage_align axis a", "expected an axis of the operation, which has i, j"
    refused(lambda: s[B].storage_align(C.op.axis[0], 8, 1), *words)
    refused(lambda: s[B].storage_align("i", 8, 1), "storage_align axis 'i'")
    refused(lambda: s[B].storage_align(i, 0, 1), "factor of 1 or more", "got 0 and 1")
    s[B].split(i, 2)
    s[B].storage_align(i, 8, 1)


def test_prefetch_of_no_tensor():
    s, A, B, i, j = fresh()
    with pytest.raises(TypeError, match="prefetch axis i: expected a tensor, but got str"):
        s[B].prefetch("A", i, 1)


def test_store_predicate_that_is_no_condition():
    s, A, B, i, j = fresh()
    for wrong in ("i", i.var + 1):
        with pytest.raises(TypeError, match="stage B: set_store_predicate: expected a condition"):
            s[B].set_store_predicate(wrong)
    s[B].set_store_predicate(i.var.equal(0))


def test_memory_scopes_exist():
    s, A, B, i, _ = fresh()
    refused(lambda: s[B].set_scope("nonsense"), "stage B: set_scope", "'nonsense'", "shared, local")
    refused(lambda: s.cache_read(A, "lokal", [B]), "cache_read A", "'lokal'")
    refused(lambda: s.cache_write(B, "lokal"), "cache_write B", "'lokal'")
    for call in (
        lambda: s[B].set_scope(3),
        lambda: s.cache_read(A, 3, [B]),
        lambda: s.cache_write(B, None),
    ):
        with pytest.raises(TypeError, match="expected the name of a memory scope, but got"):
            call()
    with pytest.raises(TypeError, match="stage B: pragma: expected the name of a hint, but got 3"):
        s[B].pragma(i, 3)
    s[B].set_scope("local.accumulator")
    assert s[B].scope == "local.accumulator"


def test_memory_scope_that_a_function_describes():
    s, _, B, *_ = fresh()
    name = "tvm.info.mem.test_scratch"
    tvm.register_func(name, lambda: None)
    try:
        s[B].set_scope("test_scratch")
    finally:
        tvm._ffi.remove_global_func(name)
    assert s[B].scope == "test_scratch"
