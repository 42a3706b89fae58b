"""Storage rewrite: who shares memory, who does not, and how much is needed at one time."""

import numpy as np
import pytest
import tvm
from tvm import te, tir
from tvm.tir.analysis import peak_memory
from tvm.tir.interpreter import interpret
from tvm.tir.transform import StorageRewrite
from tvm.tir.transform.storage_rewrite import storage_rewrite
from tvm.tir.verify import verify


def chain(steps, size=100, dtypes=("float32",), reverse=True):
    """A chain of stages, each reading the one before."""
    A = te.placeholder((size,), dtypes[0], name="A")
    T = A
    for k in range(steps):
        dtype = dtypes[(k + 1) % len(dtypes)]
        T = te.compute(
            (size,),
            lambda i, T=T, dtype=dtype: (
                (T[size - 1 - i] if reverse else T[i]).astype(dtype) + tir.const(1, dtype)
            ),
            name=f"T{k}",
        )
    return A, T


def without(s, args):
    with tvm.transform.PassContext(config={"tir.disable_storage_rewrite": True}):
        return tvm.lower(s, args)


def allocations(func):
    found = []
    tir.stmt_functor.post_order_visit(
        func.body, lambda n: found.append(n) if isinstance(n, tir.Allocate) else None
    )
    return found


@pytest.mark.parametrize("dtypes", [("float32",), ("int8", "float32"), ("float64", "int16")])
@pytest.mark.parametrize("reverse", [False, True])
def test_chain(dtypes, reverse):
    A, T = chain(6, 100, dtypes, reverse)
    s = te.create_schedule(T.op)
    plain, shared = without(s, [A, T]), tvm.lower(s, [A, T])
    verify(shared)
    a = np.arange(100).astype(A.dtype)
    want, got = np.zeros(100, T.dtype), np.zeros(100, T.dtype)
    interpret(plain["main"], a, want)
    interpret(shared["main"], a, got)
    np.testing.assert_array_equal(want, got)
    assert peak_memory(shared["main"]) < peak_memory(plain["main"])
    assert len(allocations(plain["main"])) == 5
    # element by element one piece of memory is enough, unless elements change their size
    in_place = not reverse and len(dtypes) == 1
    assert len(allocations(shared["main"])) == (1 if in_place else 2)


def test_golden(golden):
    A, T = chain(4, 40, ("int8", "float32"))
    golden("storage_rewrite", tvm.lower(te.create_schedule(T.op), [A, T]))


def test_different_element_sizes_are_not_in_place():
    """int8 -> float32 element by element would overwrite what is still to be read."""
    A = te.placeholder((257,), "int8", name="A")
    P = te.compute((257,), lambda i: A[i] + tir.const(1, "int8"), name="P")
    Q = te.compute((257,), lambda i: P[i].astype("float32") * 2.0, name="Q")
    R = te.compute((257,), lambda i: Q[256 - i] + 1.0, name="R")
    mod = tvm.lower(te.create_schedule(R.op), [A, R])
    assert len(allocations(mod["main"])) == 2
    a, r = (np.arange(257) % 50).astype("int8"), np.zeros(257, "float32")
    interpret(mod["main"], a, r)
    np.testing.assert_array_equal(r, ((a + 1) * 2.0)[::-1] + 1)


def test_read_again_later_keeps_its_memory():
    A = te.placeholder((100,), name="A")
    P = te.compute((100,), lambda i: A[i] + 1.0, name="P")
    Q = te.compute((100,), lambda i: P[99 - i] + 1.0, name="Q")
    R = te.compute((100,), lambda i: P[i] * Q[i], name="R")
    mod = tvm.lower(te.create_schedule(R.op), [A, R])
    assert len(allocations(mod["main"])) == 2
    assert StorageRewrite()(mod) is mod


def test_broadcast_is_not_in_place():
    """One element makes several: the first store would destroy it."""
    A = te.placeholder((20,), name="A")
    P = te.compute((20,), lambda i: A[i] + 1.0, name="P")
    Q = te.compute((20, 20), lambda i, j: P[i] + 1.0, name="Q")
    R = te.compute((20, 20), lambda i, j: Q[j, i] + 1.0, name="R")
    mod = tvm.lower(te.create_schedule(R.op), [A, R])
    assert len(allocations(mod["main"])) == 2


def test_symbolic_sizes():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    T = A
    for k in range(5):
        T = te.compute((n,), lambda i, T=T: T[n - 1 - i] + 1.0, name=f"T{k}")
    mod = tvm.lower(te.create_schedule(T.op), [A, T])
    assert len(allocations(mod["main"])) == 2
    assert peak_memory(mod["main"], {n: 10}) == 80
    with pytest.raises(ValueError) as caught:
        peak_memory(mod["main"])
    assert str(caught.value) == (
        "peak_memory: the size of T0 depends on n; give values for it, "
        "as in peak_memory(func, {var: 100})"
    )
    a, t = np.arange(7, dtype="float32"), np.zeros(7, "float32")
    interpret(mod["main"], a, t)
    np.testing.assert_array_equal(t, a[::-1] + 5)


def test_in_parallel_loops_and_branches():
    A = te.placeholder((8, 40), name="A")
    T = A
    stages = []
    for k in range(5):
        T = te.compute((8, 40), lambda i, j, T=T: T[i, 39 - j] + 1.0, name=f"T{k}")
        stages.append(T)
    s = te.create_schedule(T.op)
    s[T].parallel(T.op.axis[0])
    for stage in stages[:-1]:
        s[stage].compute_at(s[T], T.op.axis[0])
    mod = tvm.lower(s, [A, T])
    assert peak_memory(mod["main"]) == 2 * 40 * 4
    x, y = tvm.nd.array(np.random.rand(8, 40).astype("float32")), tvm.nd.empty((8, 40))
    tvm.build(s, [A, T], "llvm")(x, y)
    np.testing.assert_allclose(y.numpy(), x.numpy()[:, ::-1] + 5, rtol=1e-6)


def test_pointers_that_get_another_name_stay():
    p, q, other = (tir.Var(name, "handle") for name in ("P", "Q", "other"))
    first = tir.Evaluate(tir.call_extern("int32", "fill", p))
    second = tir.Evaluate(tir.call_extern("int32", "fill", q))
    third = tir.Evaluate(tir.call_extern("int32", "read", other))

    def program(body):
        inner = tir.Allocate(q, "float32", [40], True, body)
        return tir.PrimFunc([], tir.Allocate(p, "float32", [40], True, inner))

    plain = program(tir.SeqStmt([first, second]))
    assert len(allocations(storage_rewrite(plain))) == 1
    renamed = program(tir.LetStmt(other, p, tir.SeqStmt([first, second, third])))
    assert storage_rewrite(renamed) is renamed


def test_small_and_local_temporaries_stay_apart():
    A, T = chain(5, 8)
    assert len(allocations(tvm.lower(te.create_schedule(T.op), [A, T])["main"])) == 4
    A, T = chain(5, 100)
    s = te.create_schedule(T.op)
    for stage in s.stages[1:-1]:
        stage.set_scope("local")
    assert len(allocations(tvm.lower(s, [A, T])["main"])) == 4
