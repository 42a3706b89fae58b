"""Thread axes, virtual threads, prefetches and buffers that are filled ahead."""

import numpy as np
import pytest
import tvm
from tvm import te, tir
from tvm.error import ScheduleError
from tvm.tir.interpreter import interpret


def pair(n=64, reverse=True):
    A = te.placeholder((n,), name="A")
    P = te.compute((n,), lambda i: A[i] * 2.0, name="P")
    B = te.compute((n,), lambda i: P[i] + P[n - 1 - i] if reverse else P[i] + 1.0, name="B")
    return A, P, B, te.create_schedule(B.op)


def result(s, args, a, shape=None):
    out = np.zeros(shape or a.shape, "float32")
    interpret(tvm.lower(s, args)["main"], a, out)
    return out


A64 = np.random.default_rng(0).random(64).astype("float32")
WANT = A64 * 2 + A64[::-1] * 2


def attrs(mod, key):
    found = []
    tir.stmt_functor.post_order_visit(
        mod["main"].body,
        lambda n: found.append(n) if isinstance(n, tir.AttrStmt) and n.attr_key == key else None,
    )
    return [(a.node.thread_tag, int(a.value)) for a in found]


def test_bind(golden):
    A, P, B, s = pair()
    bx, tx = te.thread_axis("blockIdx.x"), te.thread_axis("threadIdx.x")
    for stage in (P, B):
        outer, inner = s[stage].split(stage.op.axis[0], 16)
        s[stage].bind(outer, bx)
        s[stage].bind(inner, tx)
    mod = tvm.lower(s, [A, B])
    golden("bind", mod)
    wanted = [("blockIdx.x", 4)] * 2 + [("threadIdx.x", 16)] * 2
    assert sorted(attrs(mod, "thread_extent")) == wanted
    np.testing.assert_allclose(result(s, [A, B], A64), WANT)
    assert s[B].iter_var_attrs[s[B].leaf_iter_vars[0]].bind_thread is bx


def test_bind_is_refused_by_processors():
    A, P, B, s = pair()
    s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    with pytest.raises(ValueError, match="axis threadIdx.x is bound to a device thread, which a "
                                         "CPU does not have"):  # fmt: skip
        tvm.build(s, [A, B], "llvm")


def test_bind_mistakes():
    A, P, B, s = pair()
    tx = te.thread_axis("threadIdx.x")
    outer, inner = s[B].split(B.op.axis[0], 16)
    s[B].bind(outer, tx)
    s[B].bind(inner, tx)
    with pytest.raises(ScheduleError) as caught:
        tvm.lower(s, [A, B])
    assert str(caught.value) == (
        "stage B: bind: axes i.outer and i.inner are both bound to threadIdx.x; fuse them first"
    )
    A, P, B, s = pair()
    s[B].bind(B.op.axis[0], te.thread_axis((0, 32), "threadIdx.x"))
    with pytest.raises(ScheduleError) as caught:
        tvm.lower(s, [A, B])
    assert str(caught.value) == (
        "stage B: bind: axis i has extent 64, but threadIdx.x was declared with 32 threads"
    )
    A, P, B, s = pair()
    outer, inner = s[B].split(B.op.axis[0], 16)
    s[B].bind(outer, tx)
    s[P].compute_at(s[B], outer)
    s[P].bind(P.op.axis[0], tx)
    s[P].set_scope("shared")
    with pytest.raises(ScheduleError) as caught:
        tvm.lower(s, [A, B])
    assert str(caught.value) == (
        "stage P: bind: axis i needs 64 threads of threadIdx.x, but only 4 run around it"
    )
    with pytest.raises(ScheduleError, match="expected a thread axis from te.thread_axis"):
        s[B].bind(inner, B.op.axis[0])


def test_more_threads_than_needed_are_guarded():
    A, P, B, s = pair()
    s[B].bind(B.op.axis[0], te.thread_axis((0, 100), "threadIdx.x"))
    mod = tvm.lower(s, [A, B])
    assert attrs(mod, "thread_extent") == [("threadIdx.x", 100)]
    assert "if threadIdx_x < 64" in str(mod)
    np.testing.assert_allclose(result(s, [A, B], A64), WANT)


@pytest.mark.parametrize("scope, size", [("shared", 64), ("local", 16), ("", 16), ("global", 64)])
def test_memory_belongs_to_threads_or_is_shared(scope, size):
    """Shared by virtual threads: what all of them need; else what one of them needs."""
    A, P, B, s = pair(reverse=False)
    outer, inner = s[B].split(B.op.axis[0], nparts=4)
    s[B].bind(outer, te.thread_axis("vthread"))
    s[P].compute_at(s[B], outer)
    if scope:
        s[P].set_scope(scope)
    mod = te.schedule.SchedulePostProcToPrimFunc(
        [A, B], te.schedule.ScheduleOps(s.normalize(), te.schedule.InferBound(s.normalize()))
    )
    found = []
    tir.stmt_functor.post_order_visit(
        mod.body, lambda n: found.append(n) if isinstance(n, tir.BufferRealize) else None
    )
    assert int(found[0].bounds[0].extent) == size
    assert found[0].buffer.scope() == (scope or "local")
    np.testing.assert_allclose(result(s, [A, B], A64), A64 * 2 + 1)


def test_virtual_threads(golden):
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    BL = s.cache_write(B, "local")
    thread, rest = s[B].split(B.op.axis[0], nparts=2)
    outer, _ = s[B].split(rest, 8)
    s[B].bind(thread, te.thread_axis("vthread"))
    s[BL].compute_at(s[B], outer)
    mod = tvm.lower(s, [A, B])
    golden("virtual_threads", mod)
    np.testing.assert_allclose(result(s, [A, B], A64), A64 + 1)
    x, y = tvm.nd.array(A64), tvm.nd.empty((64,))
    tvm.build(s, [A, B], "llvm")(x, y)
    np.testing.assert_allclose(y.numpy(), A64 + 1)


def test_virtual_threads_of_unknown_number():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("vthread"))
    with pytest.raises(ValueError) as caught:
        tvm.lower(s, [A, B])
    assert str(caught.value) == "virtual thread vthread: expected a constant extent, but got n"


@pytest.mark.parametrize("n, factor", [(64, 16), (50, 16), (16, 16), (20, 16)])
@pytest.mark.parametrize("vectorized", [False, True])
def test_double_buffer(n, factor, vectorized):
    A, P, B, s = pair(n, reverse=False)
    outer, _ = s[B].split(B.op.axis[0], factor)
    s[P].compute_at(s[B], outer)
    s[P].double_buffer()
    if vectorized:
        s[P].vectorize(s[P].split(P.op.axis[0], 4)[1])
    a = A64[:n]
    np.testing.assert_allclose(result(s, [A, B], a), a * 2 + 1)
    x, y = tvm.nd.array(a), tvm.nd.empty((n,))
    tvm.build(s, [A, B], "llvm")(x, y)
    np.testing.assert_allclose(y.numpy(), a * 2 + 1)


def test_double_buffer_golden(golden):
    A, P, B, s = pair(reverse=False)
    outer, _ = s[B].split(B.op.axis[0], 16)
    s[P].compute_at(s[B], outer)
    s[P].double_buffer()
    golden("double_buffer", tvm.lower(s, [A, B]))


def test_double_buffer_stays_where_it_cannot_be_filled_ahead():
    """What fills it reads what the same iteration computes."""
    A = te.placeholder((64,), name="A")
    O = te.compute((64,), lambda i: A[i] * 3.0, name="O")  # noqa: E741
    P = te.compute((64,), lambda i: O[i] * 2.0, name="P")
    B = te.compute((64,), lambda i: P[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    outer, _ = s[B].split(B.op.axis[0], 16)
    s[P].compute_at(s[B], outer)
    s[O].compute_at(s[B], outer)
    s[P].double_buffer()
    assert "% 2" not in str(tvm.lower(s, [A, B]))
    np.testing.assert_allclose(result(s, [A, B], A64), A64 * 6 + 1, rtol=1e-6)


def test_prefetch(golden):
    n = te.var("n")
    A = te.placeholder((n, 64), name="A")
    B = te.compute((n, 64), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].prefetch(A, B.op.axis[0], 2)
    golden("prefetch", tvm.lower(s, [A, B]))
    a = np.random.rand(5, 64).astype("float32")
    np.testing.assert_allclose(result(s, [A, B], a), a + 1)
    x, y = tvm.nd.array(a), tvm.nd.empty((5, 64))
    tvm.build(s, [A, B], "llvm")(x, y)
    np.testing.assert_allclose(y.numpy(), a + 1)


def test_prefetch_of_what_does_not_exist_yet():
    A, P, B, s = pair(reverse=False)
    outer, inner = s[B].split(B.op.axis[0], 16)
    s[P].compute_at(s[B], outer)
    s[B].prefetch(P, outer, 1)
    with pytest.raises(ScheduleError) as caught:
        tvm.lower(s, [A, B])
    assert str(caught.value) == (
        "stage B: prefetch P at axis i.outer: P is computed inside of this axis, so that nothing "
        "of it can be fetched ahead; prefetch what is stored before"
    )
    A, P, B, s = pair(reverse=False)
    outer, inner = s[B].split(B.op.axis[0], 16)
    s[P].compute_at(s[B], outer)
    s[B].prefetch(P, inner, 1)
    np.testing.assert_allclose(result(s, [A, B], A64), A64 * 2 + 1)


def scan():
    m, n = 5, 8
    X = te.placeholder((m, n), name="X")
    state = te.placeholder((m, n), name="state")
    init = te.compute((1, n), lambda _, i: X[0, i], name="init")
    update = te.compute((m, n), lambda t, i: state[t - 1, i] + X[t, i], name="update")
    return X, update, te.scan(init, update, state, inputs=[X])


def test_env_threads():
    X, update, out = scan()
    s = te.create_schedule(out.op)
    tx = te.thread_axis((0, 8), "threadIdx.x")
    s[out].env_threads([tx])
    s[update].bind(update.op.axis[1], tx)
    s[s[out].op.init[0]].bind(s[out].op.init[0].op.axis[1], tx)
    x = np.random.rand(5, 8).astype("float32")
    got = np.zeros((5, 8), "float32")
    mod = tvm.lower(s, [X, out])
    assert ("threadIdx.x", 8) in attrs(mod, "thread_extent")
    interpret(mod["main"], x, got)
    np.testing.assert_allclose(got, np.cumsum(x, 0), rtol=1e-5)


def test_env_threads_mistakes():
    A, P, B, s = pair()
    with pytest.raises(ScheduleError, match="env_threads: only a scan"):
        s[B].env_threads([te.thread_axis((0, 8), "threadIdx.x")])
    X, update, out = scan()
    s = te.create_schedule(out.op)
    with pytest.raises(ScheduleError, match="expected thread axes with a range"):
        s[out].env_threads([te.thread_axis("threadIdx.x")])


def test_guards_and_regions_inside_virtual_threads():
    """A virtual thread inside of a loop is run through before the loop is cut or fetched for."""
    n = te.var("n")
    A = te.placeholder((7, n), name="A")
    B = te.compute((7, n), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(B.op.axis[0], 3)
    s[B].bind(inner, te.thread_axis("vthread"))
    s[B].prefetch(A, outer, 1)
    s[B].split(B.op.axis[1], 4)
    a = np.random.rand(7, 10).astype("float32")
    np.testing.assert_allclose(result(s, [A, B], a), a + 1)
    mod = tvm.lower(s, [A, B])
    tir.verify.verify(mod)
