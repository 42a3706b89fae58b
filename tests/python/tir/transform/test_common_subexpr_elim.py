"""Common subexpressions: names as classic programs show them, same results."""

import numpy as np
import tvm
from tvm import te, tir
from tvm.tir.interpreter import interpret
from tvm.tir.transform import CommonSubexprElimTIR
from tvm.tir.verify import verify


def stencil():
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    B = te.compute(
        (n, m), lambda i, j: A[i, j] * 2.0 + te.if_then_else(j > 0, A[i, j - 1], 0.0), name="B"
    )
    s = te.create_schedule(B.op)
    s[B].split(B.op.axis[1], 4)
    return s, [A, B]


def eliminated(mod):
    out = CommonSubexprElimTIR()(mod)
    verify(out)
    return out


def lets(mod):
    found = []
    tir.stmt_functor.post_order_visit(
        mod["main"].body,
        lambda n: found.append(n.var.name) if isinstance(n, tir.LetStmt) else None,
    )
    return found


def test_golden(golden):
    s, args = stencil()
    golden("common_subexpr_elim", eliminated(tvm.lower(s, args, simple_mode=True)))


def test_result():
    s, args = stencil()
    a = np.random.rand(3, 10).astype("float32")
    b = np.zeros((3, 10), "float32")
    mod = eliminated(tvm.lower(s, args))
    assert lets(mod) and all(name.startswith("cse_var_") for name in lets(mod))
    interpret(mod["main"], a, b)
    want = a * 2
    want[:, 1:] += a[:, :-1]
    np.testing.assert_allclose(b, want, rtol=1e-6)
    x, y = tvm.nd.array(a), tvm.nd.array(b * 0)
    tvm.build(mod, target="llvm")(x, y)
    np.testing.assert_allclose(y.numpy(), want, rtol=1e-6)


def store(buffer, value, *indices):
    return tir.BufferStore(buffer, value, list(indices))


def test_nothing_to_do_changes_nothing():
    A = tir.decl_buffer((16,), "int32", "A")
    i = tir.Var("i")
    func = tir.PrimFunc([A], tir.For(i, 0, 4, 0, store(A, i, i * 4)))
    mod = tvm.IRModule({"main": func})
    assert CommonSubexprElimTIR()(mod) is mod
    twice = tir.PrimFunc([A], tir.For(i, 0, 4, 0, store(A, i * 4 + 1, i * 4 + 1)))
    mod = tvm.IRModule({"main": twice})
    assert CommonSubexprElimTIR(False)(mod) is mod
    assert lets(eliminated(mod)) == ["cse_var_1"]


def test_longer_ones_first():
    """i*4 + 1 is named once; i*4 gets a name only for its use elsewhere."""
    A = tir.decl_buffer((64,), "int32", "A")
    i = tir.Var("i")
    long = i * 4 + 1
    body = tir.SeqStmt([store(A, long, long), store(A, i * 4, i)])
    mod = tvm.IRModule({"main": tir.PrimFunc([A], tir.For(i, 0, 4, 0, body))})
    out = eliminated(mod)
    assert len(lets(out)) == 2
    a, b = np.zeros(64, "int32"), np.zeros(64, "int32")
    interpret(mod["main"], a)
    interpret(out["main"], b)
    np.testing.assert_array_equal(a, b)


def test_bound_where_all_uses_see_it():
    A = tir.decl_buffer((64,), "int32", "A")
    n, i, j, k = (tir.Var(name) for name in "nijk")
    one = tir.For(j, 0, 2, 0, store(A, n * 3 + 1, j))
    two = tir.For(k, 0, 2, 0, store(A, n * 3 + 1, k))
    func = tir.PrimFunc([n, A], tir.For(i, 0, 2, 0, tir.SeqStmt([one, two])))
    out = eliminated(tvm.IRModule({"main": func}))
    loop = out["main"].body
    assert isinstance(loop, tir.For) and isinstance(loop.body, tir.LetStmt)


def test_different_types_are_different():
    A = tir.decl_buffer((64,), "int64", "A")
    i = tir.Var("i")
    wide = tir.Cast("int64", i)
    func = tir.PrimFunc([A], tir.For(i, 0, 4, 0, store(A, wide * 2, i * 2)))
    mod = tvm.IRModule({"main": func})
    assert CommonSubexprElimTIR()(mod) is mod


def test_reads_are_never_named():
    """Memory may change between two reads."""
    A = tir.decl_buffer((4,), "int32", "A")
    body = tir.SeqStmt([store(A, A[0] + A[0] * 2, 0), store(A, A[0] * 2, 1)])
    mod = tvm.IRModule({"main": tir.PrimFunc([A], body)})
    assert CommonSubexprElimTIR()(mod) is mod


def test_after_each_other():
    s, args = stencil()
    mod = eliminated(tvm.lower(s, args))
    again = eliminated(mod)
    a, b = np.random.rand(3, 10).astype("float32"), np.zeros((3, 10), "float32")
    c = b.copy()
    interpret(mod["main"], a, b)
    interpret(again["main"], a, c)
    np.testing.assert_array_equal(b, c)


def test_variables_of_several_loops():
    """One variable may belong to two loops; nothing of it holds outside of them."""
    A = tir.decl_buffer((64,), "int32", "A")
    i = tir.Var("i")
    one = tir.For(i, 0, 4, 0, store(A, i * 4 + 1, i * 4 + 1))
    two = tir.For(i, 4, 4, 0, store(A, i * 4 + 1, i))
    mod = tvm.IRModule({"main": tir.PrimFunc([A], tir.SeqStmt([one, two]))})
    out = eliminated(mod)
    a, b = np.zeros(64, "int32"), np.zeros(64, "int32")
    interpret(mod["main"], a)
    interpret(out["main"], b)
    np.testing.assert_array_equal(a, b)
