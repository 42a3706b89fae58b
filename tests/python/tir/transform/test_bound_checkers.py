"""Bound checks: what is tested when the program runs, and the whole messages."""

import numpy as np
import pytest
import tvm
from tvm import te, tir
from tvm.tir.interpreter import interpret
from tvm.tir.verify import verify


def shifted():
    n, k = te.var("n"), te.var("k")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i + k], name="B")
    return n, [k, A, B], te.create_schedule(B.op)


def checked(s, args):
    with tvm.transform.PassContext(config={"tir.instrument_bound_checkers": True}):
        mod = tvm.lower(s, args)
    verify(mod)
    return mod


MESSAGE = "main: read of A[i + k]: index i + k of dimension 0 is out of bounds, extent n"


def test_golden(golden):
    _, args, s = shifted()
    golden("instrument_bound_checkers", checked(s, args))


@pytest.mark.parametrize("k, good", [(0, True), (1, False), (-1, False)])
def test_interpreter(k, good):
    _, args, s = shifted()
    a, b = np.arange(4, dtype="float32"), np.zeros(4, "float32")
    mod = checked(s, args)
    if good:
        interpret(mod["main"], k, a, b)
        np.testing.assert_array_equal(a, b)
        return
    with pytest.raises(tvm.TVMError) as caught:
        interpret(mod["main"], k, a, b)
    assert str(caught.value) == "IndexError: " + MESSAGE


@pytest.mark.parametrize("how", ["target", "config"])
def test_compiled(how):
    _, args, s = shifted()
    if how == "target":
        f = tvm.build(s, args, "llvm -bounds", name="main")
    else:
        with tvm.transform.PassContext(config={"tir.instrument_bound_checkers": True}):
            f = tvm.build(s, args, "llvm", name="main")
    a, b = tvm.nd.array(np.arange(4, dtype="float32")), tvm.nd.empty((4,))
    f(0, a, b)
    np.testing.assert_array_equal(b.numpy(), a.numpy())
    with pytest.raises(tvm.TVMError) as caught:
        f(1, a, b)
    assert MESSAGE in str(caught.value) and isinstance(caught.value, IndexError)
    f(0, a, b)


def test_parallel_loops_report_too():
    _, args, s = shifted()
    s[args[2]].parallel(args[2].op.axis[0])
    f = tvm.build(s, args, "llvm -bounds", name="main")
    a, b = tvm.nd.array(np.arange(64, dtype="float32")), tvm.nd.empty((64,))
    with pytest.raises(IndexError):
        f(3, a, b)


def test_what_is_proved_is_not_tested():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: te.if_then_else(i > 0, A[i - 1], 0.0), name="B")
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(B.op.axis[0], 4)
    s[B].vectorize(inner)
    text = str(checked(s, [A, B]))
    # the guard around the read is part of its test
    assert "not " in text and text.count("assert") <= 4
    C = te.compute((n,), lambda i: A[i] + 1.0, name="C")
    assert "assert" not in str(checked(te.create_schedule(C.op), [A, C]))


@pytest.mark.parametrize("make", [te.if_then_else, te.Select])
def test_guarded_reads(make):
    A = te.placeholder((8,), name="A")
    k = te.var("k")
    B = te.compute((8,), lambda i: make(i >= k, A[i - k], 0.0), name="B")
    mod = checked(te.create_schedule(B.op), [k, A, B])
    a, b = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    interpret(mod["main"], 3, a, b)
    np.testing.assert_array_equal(b, [0, 0, 0, 0, 1, 2, 3, 4])
    with pytest.raises(tvm.TVMError, match="out of bounds, extent 8"):
        interpret(mod["main"], -1, a, b)


def test_gather_tests_the_inner_read_first():
    A = te.placeholder((8,), name="A")
    where = te.placeholder((8,), "int32", name="where")
    B = te.compute((8,), lambda i: A[where[i]], name="B")
    mod = checked(te.create_schedule(B.op), [A, where, B])
    a, b = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    w = np.arange(8, dtype="int32")[::-1].copy()
    interpret(mod["main"], a, w, b)
    np.testing.assert_array_equal(b, a[::-1])
    w[3] = 8
    with pytest.raises(tvm.TVMError) as caught:
        interpret(mod["main"], a, w, b)
    assert str(caught.value) == (
        "IndexError: main: read of A[where[i]]: index where[i] of dimension 0 is out of bounds, "
        "extent 8"
    )


def test_temporaries_know_their_region():
    A = te.placeholder((32,), name="A")
    P = te.compute((32,), lambda i: A[i] * 2.0, name="P")
    k = te.var("k")
    Q = te.compute((32,), lambda i: te.if_then_else(i + k < 32, P[i], 0.0), name="Q")
    s = te.create_schedule(Q.op)
    outer, _ = s[Q].split(Q.op.axis[0], 8)
    s[P].compute_at(s[Q], outer)
    a, q = np.arange(32, dtype="float32"), np.zeros(32, "float32")
    interpret(checked(s, [k, A, Q])["main"], 0, a, q)
    np.testing.assert_array_equal(q, a * 2)


def test_conditions_and_loop_extents():
    n = tir.Var("n")
    A = tir.decl_buffer((4,), "int32", "A")
    B = tir.decl_buffer((4,), "int32", "B")
    i = tir.Var("i")
    loop = tir.For(i, 0, A[n], 0, tir.BufferStore(B, i, [i]))
    func = tir.PrimFunc([n, A, B], tir.IfThenElse(A[n + 1] > 0, loop))
    mod = tir.transform.InstrumentBoundCheckers()(tvm.IRModule({"main": func}))
    verify(mod)
    a, b = np.array([4, 2, 1, 1], "int32"), np.zeros(4, "int32")
    interpret(mod["main"], 0, a, b)
    np.testing.assert_array_equal(b, [0, 1, 2, 3])
    for wrong in (-1, 3):
        with pytest.raises(tvm.TVMError, match="out of bounds, extent 4"):
            interpret(mod["main"], wrong, a, b)
