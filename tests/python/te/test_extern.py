"""extern: bodies that the program writes itself."""

import numpy as np
import pytest
import tvm
from tvm import te, tir


def doubled(ins, outs):
    i, j = tir.Var("i"), tir.Var("j")
    n, m = ins[0].shape
    store = tir.BufferStore(outs[0], ins[0][i, j] * 2.0, [i, j])
    return tir.For(i, 0, n, 0, tir.For(j, 0, m, 0, store))


def test_between_other_stages(run):
    A = te.placeholder((3, 4), name="A")
    P = te.compute((3, 4), lambda i, j: A[i, j] + 1.0, name="P")
    E = te.extern((3, 4), [P], doubled, name="E")
    Q = te.compute((3, 4), lambda i, j: E[i, j] - 1.0, name="Q")
    assert isinstance(E.op, te.ExternOp) and E.op.input_tensors == (P,)
    a = np.random.rand(3, 4).astype("float32")
    s = te.create_schedule(Q.op)
    want = (a + np.float32(1)) * 2 - 1
    np.testing.assert_array_equal(run(s, [A, Q], a, a * 0)[1], want)
    # cached copies and other data flow reach through it
    s.cache_read(P, "local", [E])
    np.testing.assert_array_equal(run(s, [A, Q], a, a * 0)[1], want)
    s[P].compute_inline()
    np.testing.assert_array_equal(run(s, [A, Q], a, a * 0)[1], want)


def test_symbolic_and_strided(run):
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    stride = te.var("stride")
    stands = tir.decl_buffer((n, m), "float32", "stands", strides=[stride, te.var("one")])

    def body(ins, outs):
        i = tir.Var("i")
        return tir.For(i, 0, n, 0, tir.BufferStore(outs[0], stride.astype("int32") + i, [i]))

    E = te.extern((n,), [A], body, name="E", dtype="int32", in_buffers=[stands])
    got = run(te.create_schedule(E.op), [A, E], np.zeros((2, 5), "float32"), np.zeros(2, "int32"))
    assert got[1].tolist() == [5, 6]


def test_several_outputs(run):
    A = te.placeholder((3,), name="A")

    def body(ins, outs):
        i = tir.Var("i")
        stores = [tir.BufferStore(out, ins[0][i] * (k + 2.0), [i]) for k, out in enumerate(outs)]
        return tir.For(i, 0, 3, 0, tir.SeqStmt(stores))

    E, F = te.extern([(3,), (3,)], [A], body, name="EF")
    a = np.arange(3, dtype="float32")
    got = run(te.create_schedule(E.op), [A, E, F], a, a * 0, a * 0)
    assert (got[1] == a * 2).all() and (got[2] == a * 3).all()


def test_refuses():
    A = te.placeholder((3,), name="A")
    B = te.placeholder((3,), "int32", name="B")
    with pytest.raises(ValueError, match="dtype is missing.*float32, int32"):
        te.extern((3,), [A, B], lambda i, o: None, name="E")
    with pytest.raises(ValueError, match="return a statement.*NoneType"):
        te.extern((3,), [A], lambda i, o: None, name="E")
    with pytest.raises(TypeError, match="input 0"):
        te.extern((3,), [3], lambda i, o: None, name="E")
    P = te.compute((3, 4), lambda i, j: A[i] + 1.0, name="P")
    E = te.extern((3, 4), [P], doubled, name="E")
    s = te.create_schedule(E.op)
    s[P].compute_inline()
    with pytest.raises(tvm.error.ScheduleError, match="stage P.*E reads it as a whole"):
        tvm.lower(s, [A, E])
