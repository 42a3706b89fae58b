"""Schedule primitives one by one: their loops, their results, the state they leave."""

import numpy as np
import pytest
import tvm
from tvm import te, tir


def row_add(shape=(6, 5)):
    A = te.placeholder(shape, name="A")
    B = te.compute(shape, lambda i, j: A[i, j] + 1.0, name="B")
    return A, B, te.create_schedule(B.op)


def loops(s, args):
    found = []
    tir.stmt_functor.post_order_visit(
        tvm.lower(s, args, simple_mode=True)["main"].body,
        lambda n: found.append(n) if isinstance(n, tir.For) else None,
    )
    return [(f.loop_var.name, int(f.extent)) for f in reversed(found)]


def test_split_and_nparts():
    A, B, s = row_add()
    s[B].split(B.op.axis[0], nparts=2)
    s[B].split(B.op.axis[1], factor=5)
    assert loops(s, [A, B]) == [("i.outer", 2), ("i.inner", 3), ("j.inner", 5)]
    relation = s[B].relations[0]
    assert isinstance(relation, te.Split) and int(relation.nparts) == 2 and relation.factor is None


def test_fuse_many_and_none(run):
    A, B, s = row_add()
    fused = s[B].fuse(*B.op.axis)
    single = s[B].fuse()
    assert isinstance(s[B].relations[-1], te.Singleton)
    assert s[B].leaf_iter_vars == [single, fused]
    assert loops(s, [A, B]) == [("i.j.fused", 30)]
    a = np.random.rand(6, 5).astype("float32")
    np.testing.assert_array_equal(run(s, [A, B], a, a * 0)[1], a + np.float32(1))


def test_disable_predication():
    A, B, s = row_add((8, 5))
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].split(B.op.axis[0], 4, disable_predication=True)
    assert "likely" not in str(tvm.lower(s, [A, B], simple_mode=True))


def test_marks_are_recorded():
    A, B, s = row_add()
    i, j = B.op.axis
    s[B].parallel(i)
    s[B].vectorize(j)
    attrs = s[B].iter_var_attrs
    assert attrs[i].iter_type == tir.IterVar.Parallelized
    assert attrs[j].iter_type == tir.IterVar.Vectorized
    assert "parallel i" in str(s) and "vectorize j" in str(s[B])


def test_pragma():
    A, B, s = row_add()
    s[B].pragma(B.op.axis[0], "auto_unroll_max_step", 30)
    body = tvm.lower(s, [A, B])["main"].body
    assert not body.kinds & tir.For.KIND and len(body.seq) == 30


def test_storage_align(run):
    A = te.placeholder((4, 6), name="A")
    P = te.compute((4, 6), lambda i, j: A[i, j] * 2.0, name="P")
    Q = te.compute((4, 6), lambda i, j: P[i, j] + 1.0, name="Q")
    s = te.create_schedule(Q.op)
    s[P].storage_align(P.op.axis[0], 8, 1)
    assert "allocate([36]" in str(tvm.lower(s, [A, Q]))
    a = np.random.rand(4, 6).astype("float32")
    np.testing.assert_array_equal(run(s, [A, Q], a, a * 0)[1], a * 2 + 1)


def test_set_store_predicate(run):
    A, B, s = row_add()
    s[B].set_store_predicate(B.op.axis[0].var < 2)
    a = np.zeros((6, 5), "float32")
    got = run(s, [A, B], a, a - 1)[1]
    assert (got[:2] == 1).all() and (got[2:] == -1).all()


@pytest.mark.parametrize("bound", [False, True])
def test_store_predicate_of_a_reduction_axis(run, bound):
    A = te.placeholder((4, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    B = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    if bound:
        thread = te.thread_axis("threadIdx.x")
        s[B].bind(k, thread)
        s[B].set_store_predicate(thread.var < 3)
    else:
        s[B].set_store_predicate(k.var < 3)
    func = tvm.lower(s, [A, B])["main"]
    tvm.tir.analysis.verify(func)  # the identity is stored outside the loop of k, without question
    a = np.random.rand(4, 8).astype("float32")
    if not bound:
        got = run(s, [A, B], a, a[:, 0] - 7)[1]
        np.testing.assert_allclose(got, a[:, :3].sum(1), rtol=1e-6)


def test_scope_and_cache_stages(run):
    A, B, s = row_add()
    BL = s.cache_write(B, "local")
    AL = s.cache_read(A, "shared", [BL])
    assert (BL.op.name, AL.op.name) == ("B.local", "A.shared")
    assert (s[BL].scope, s[AL].scope) == ("local", "shared")
    assert [st.op.name for st in s.stages] == ["A", "A.shared", "B.local", "B"]
    assert s[B].op is not B.op and s[B].origin_op is B.op
    outer, _ = s[B].split(B.op.axis[0], 4)
    s[BL].compute_at(s[B], outer)
    s[AL].compute_at(s[BL], BL.op.axis[0])
    a = np.random.rand(6, 5).astype("float32")
    np.testing.assert_array_equal(run(s, [A, B], a, a * 0)[1], a + np.float32(1))
    text = str(tvm.lower(s, [A, B]))
    assert '"local"' in text and '"shared"' in text and "allocate([20]" in text


def test_rfactor_variants(run):
    A = te.placeholder((3, 4, 13), name="A")
    k1, k2 = te.reduce_axis((0, 4), name="k1"), te.reduce_axis((0, 13), name="k2")
    R = te.compute((3,), lambda i: te.sum(A[i, k1, k2], axis=[k1, k2]), name="R")
    a = np.random.randint(0, 9, (3, 4, 13)).astype("float32")
    for factor_axis in (0, 1, -1):
        for what in ("whole", "inner", "fused"):
            s = te.create_schedule(R.op)
            if what == "whole":
                axis = k1
            elif what == "inner":
                axis = s[R].split(k2, 5)[1]
            else:
                axis = s[R].split(s[R].fuse(k1, k2), nparts=3)[0]
            partial = s.rfactor(R, axis, factor_axis)
            assert partial.op.name == "R.rf" and partial.ndim == 2
            s[partial].parallel(partial.op.axis[factor_axis])
            got = run(s, [A, R], a, np.zeros(3, "float32"))[1]
            np.testing.assert_array_equal(got, a.sum((1, 2)))


@pytest.mark.parametrize("size", [1, 7, 16, 64, 100, "n"])
def test_parallel_reduction(run, size):
    n = te.var("n") if size == "n" else size
    size = 37 if size == "n" else size
    A = te.placeholder((4, n), name="A")
    k = te.reduce_axis((0, n), name="k")
    R = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="R")
    B = te.compute((4,), lambda i: R[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[R].parallel(k)
    a = np.random.randint(0, 9, (4, size)).astype("float32")
    got = run(s, [A, R, B], a, np.zeros(4, "float32"), np.zeros(4, "float32"))
    np.testing.assert_array_equal(got[1], a.sum(1))
    np.testing.assert_array_equal(got[2], a.sum(1) + 1)
    if size > 1:
        text = str(tvm.lower(s, [A, R, B]))
        assert "T.parallel" in text and "R_rf" in text


def test_parallel_reduction_among_other_requests(run):
    """Loops that were scheduled otherwise stay, and the sum is right all the same."""
    A = te.placeholder((4, 64), name="A")
    k = te.reduce_axis((0, 64), name="k")
    R = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="R")
    s = te.create_schedule(R.op)
    s[R].parallel(k)
    s[R].vectorize(R.op.axis[0])
    s[R].reorder(k, R.op.axis[0])
    a = np.random.randint(0, 9, (4, 64)).astype("float32")
    np.testing.assert_array_equal(run(s, [A, R], a, np.zeros(4, "float32"))[1], a.sum(1))


def test_reduction_fused_with_a_dimension(run):
    A = te.placeholder((4, 6), name="A")
    k = te.reduce_axis((0, 6), name="k")
    R = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="R")
    s = te.create_schedule(R.op)
    s[R].split(s[R].fuse(R.op.axis[0], k), 5)
    a = np.random.randint(0, 9, (4, 6)).astype("float32")
    np.testing.assert_array_equal(run(s, [A, R], a, np.zeros(4, "float32"))[1], a.sum(1))


def test_group(run):
    A = te.placeholder((8,), name="A")
    P = te.compute((8,), lambda i: A[i] + 1.0, name="P")
    Q = te.compute((8,), lambda i: P[i] * 2.0, name="Q")
    R = te.compute((8,), lambda i: Q[i] - 1.0, name="R")
    s = te.create_schedule(R.op)
    group = s.create_group(outputs=Q, inputs=A, include_inputs=False)
    assert s[P].group is group and s[Q].group is group and group.num_child_stages == 2
    outer, _ = s[R].split(R.op.axis[0], 4)
    group.compute_at(s[R], outer)
    with pytest.raises(tvm.error.ScheduleError, match="belongs to a group"):
        s[P].compute_at(s[R], outer)
    a = np.random.rand(8).astype("float32")
    got = run(s, [A, R], a, a * 0)[1]
    np.testing.assert_array_equal(got, (a + np.float32(1)) * 2 - 1)
    assert str(tvm.lower(s, [A, R])).count("allocate([4]") == 2


def test_automatic_inlining():
    A = te.placeholder((4, 4), name="A")
    P = te.compute((4, 4), lambda i, j: A[i, j] + 1.0, name="P")
    Q = te.compute((4, 4), lambda i, j: P[j, i] * 2.0, name="Q")
    R = te.compute((4, 4), lambda i, j: Q[i, 0] - 1.0, name="R")
    S = te.compute((4, 4), lambda i, j: R[i, j] - 1.0, name="S")

    def inlined(auto):
        s = te.create_schedule(S.op)
        auto(s)
        return [st.op.name for st in s.stages if st.attach_type == te.Stage.INLINE]

    assert inlined(te.schedule.AutoInlineInjective) == ["P", "Q", "R"]
    assert inlined(te.schedule.AutoInlineElemWise) == ["P"]
    assert inlined(te.schedule.AutoInlineBroadcast) == ["P", "R"]


def test_classic_steps_one_by_one():
    A, B, s = row_add()
    s = s.normalize()
    bounds = te.schedule.InferBound(s)
    assert int(bounds[B.op.axis[0]].extent) == 6
    body = te.schedule.ScheduleOps(s, bounds)
    assert isinstance(body, tir.For)
    func = te.schedule.SchedulePostProcToPrimFunc([A, B], body, None)
    assert isinstance(func, tir.PrimFunc) and len(func.buffer_map) == 2
    mod = tvm.driver.build_module.schedule_to_module(s, [A, B])
    mod = tir.transform.StorageFlatten(64)(mod)
    assert len(mod["main"].params) == 2
    assert te.schedule.PostDFSOrder([B.op]) == [A.op, B.op]
    assert te.schedule.CreateReadGraph([B.op])[B.op] == (A,)


def test_trivial_loops_on_request():
    A, B, s = row_add((1, 5))
    body = te.schedule.ScheduleOps(s.normalize(), te.schedule.InferBound(s), True)
    assert isinstance(body, tir.For) and int(body.extent) == 1
    assert loops(s, [A, B]) == [("j", 5)]


def test_vectors_inside_of_vectors(run):
    """A producer that is vectorized inside a vectorized axis: one of both loops stays a loop."""
    A = te.placeholder((8,), name="A")
    Q = te.compute((8,), lambda i: A[i] + 1.0, name="Q")
    D = te.compute((4, 8), lambda t, i: Q[0] + Q[7] * 2.0 + Q[i], name="D")
    s = te.create_schedule(D.op)
    s[Q].vectorize(Q.op.axis[0])
    s[Q].compute_at(s[D], D.op.axis[1])
    s[D].vectorize(D.op.axis[1])
    a = np.random.rand(8).astype("float32")
    got = run(s, [A, D], a, np.zeros((4, 8), "float32"))[1]
    np.testing.assert_allclose(got, np.tile(a + a[0] + a[7] * 2 + 4, (4, 1)), rtol=1e-6)
