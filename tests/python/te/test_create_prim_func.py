"""create_prim_func and extern_primfunc: blocks, run by the interpreter and compiled."""

import numpy as np
import pytest
import tvm
from tvm import te, tir
from tvm.tir.interpreter import interpret


def both(func, *arrays):
    """All arrays after the interpreter and after compiled code, which must agree."""
    want = [a.copy() if isinstance(a, np.ndarray) else a for a in arrays]
    interpret(func, *want)
    given = [tvm.nd.array(a) if isinstance(a, np.ndarray) else a for a in arrays]
    tvm.build(func, target="llvm")(*given)
    for a, b in zip(want, given):
        if isinstance(a, np.ndarray):
            np.testing.assert_allclose(b.numpy(), a, rtol=1e-6)
    tir.verify.verify(func)
    lowered = tvm.lower(func)["main"]
    assert not lowered.kinds & (tir.Block.KIND | tir.BlockRealize.KIND)
    again = [a.copy() if isinstance(a, np.ndarray) else a for a in arrays]
    interpret(lowered, *again)
    for a, b in zip(want, again):
        np.testing.assert_array_equal(a, b)
    return want


def rand(*shape):
    return np.random.rand(*shape).astype("float32")


def test_matrix_product():
    n, m = te.var("n"), te.var("m")
    A, B = te.placeholder((n, m), name="A"), te.placeholder((m, 5), name="B")
    k = te.reduce_axis((0, m), name="k")
    C = te.compute((n, 5), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    D = te.compute((n, 5), lambda i, j: te.max(C[i, j], 0.5) + C[i, 4 - j], name="D")
    func = te.create_prim_func([A, B, D])
    a, b = rand(3, 4), rand(4, 5)
    c = a @ b
    got = both(func, a, b, np.zeros((3, 5), "float32"))[2]
    np.testing.assert_allclose(got, np.maximum(c, 0.5) + c[:, ::-1], rtol=1e-5)
    assert func.attrs["global_symbol"] == "main" and func.attrs["tir.noalias"]


def test_structure():
    A = te.placeholder((4, 3), name="A")
    k = te.reduce_axis((0, 3), name="k")
    C = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="C", attrs={"hint": 7})
    D = te.compute((4,), lambda i: C[i] * C[0], name="D")
    func = te.create_prim_func([A, D])
    root = func.body.block
    assert root.name_hint == "root" and [b.name for b in root.alloc_buffers] == ["C"]
    first, second = root.body.seq
    assert [first.loop_var.name, first.body.loop_var.name] == ["i", "k"]
    block = first.body.body.block
    assert block.name_hint == "C" and dict(block.annotations)["hint"].value == 7
    assert [iv.var.name for iv in block.iter_vars] == ["v_i", "v_k"]
    assert [iv.iter_type for iv in block.iter_vars] == [0, 2]
    assert isinstance(block.init, tir.BufferStore)
    (read,), (write,) = block.reads, block.writes
    assert read.buffer.name == "A" and [int(r.extent) for r in read.region] == [1, 1]
    assert write.buffer.name == "C" and write.region[0].min is block.iter_vars[0].var
    # C is read at two places: the whole of it
    (read,) = second.body.block.reads
    assert read.buffer.name == "C" and int(read.region[0].extent) == 4


def test_begins_conditions_starts():
    A = te.placeholder((6, 6), name="A")
    k = te.reduce_axis((2, 6), name="k")
    B = te.compute((6,), lambda i: te.sum(A[i, k], axis=k, where=k > i, init=1.5), name="B")
    a = rand(6, 6)
    want = [1.5 + sum(a[i, k] for k in range(2, 6) if k > i) for i in range(6)]
    got = both(te.create_prim_func([A, B]), a, np.zeros(6, "float32"))[1]
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_several_outputs():
    A, I = te.placeholder((3, 5), name="A"), te.placeholder((3, 5), "int32", name="I")
    argmax = te.comm_reducer(
        lambda x, y: (tir.Select(x[1] >= y[1], x[0], y[0]), tir.Select(x[1] >= y[1], x[1], y[1])),
        lambda i, v: (tir.const(-1, i), te.min_value(v)),
        name="argmax",
    )
    k = te.reduce_axis((0, 5), name="k")
    where, best = te.compute((3,), lambda i: argmax((I[i, k], A[i, k]), axis=k), name="top")
    B, C = te.compute((3,), lambda i: (best[i] * 2.0, where[i] + 1), name="BC")
    a, index = rand(3, 5), np.tile(np.arange(5, dtype="int32"), (3, 1))
    zeros = [np.zeros(3, "float32"), np.zeros(3, "int32")]
    got = both(te.create_prim_func([A, I, B, C]), a, index, *zeros)
    np.testing.assert_array_equal(got[2], a.max(1) * 2)
    np.testing.assert_array_equal(got[3], a.argmax(1) + 1)
    got = both(te.create_prim_func([A, I, where, best]), a, index, *zeros[::-1])
    np.testing.assert_array_equal(got[2], a.argmax(1))


def test_scalars_and_zero_dimensions():
    x = te.var("x", "float32")
    A = te.placeholder((), name="A")
    B = te.compute((), lambda: A() * x, name="B")
    func = te.create_prim_func([A, x, B])
    got = both(func, np.array(3, "float32"), 2.5, np.array(0, "float32"))
    assert got[2] == 7.5


def test_wide_indices():
    A = te.placeholder((4, 3), name="A")
    B = te.compute((3, 4), lambda i, j: A[j, i] + (i * 10 + j).astype("float32"), name="B")
    func = te.create_prim_func([A, B], index_dtype_override="int64")
    root = func.body.block.body
    assert root.loop_var.dtype == "int64" and root.extent.dtype == "int64"
    a = rand(4, 3)
    i, j = np.mgrid[:3, :4]
    got = both(func, a, np.zeros((3, 4), "float32"))[1]
    np.testing.assert_array_equal(got, a.T + (i * 10 + j).astype("float32"))


def test_extern():
    A = te.placeholder((4,), name="A")

    def body(ins, outs):
        ib = tir.ir_builder.create()
        a, b = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 4) as i:
            b[i] = a[i] * 2.0
        return ib.get()

    E = te.extern((4,), [A], body, name="E")
    B = te.compute((4,), lambda i: E[i] + 1.0, name="B")
    a = rand(4)
    got = both(te.create_prim_func([A, B]), a, a * 0)[1]
    np.testing.assert_allclose(got, a * 2 + 1, rtol=1e-6)


def test_round_trip(run):
    """A function as a tensor of another computation."""
    n = te.var("n")
    A = te.placeholder((n, 4), name="A")
    k = te.reduce_axis((0, 4), name="k")
    T = te.compute((n, 4), lambda i, j: A[i, j] * A[i, 3 - j], name="T")
    B = te.compute((n,), lambda i: te.sum(T[i, k], axis=k), name="B")
    func = te.create_prim_func([A, B])
    X = te.placeholder((3, 4), name="X")
    P = te.compute((3, 4), lambda i, j: X[i, j] * 2.0, name="P")
    Y = te.extern_primfunc([P], func, name="Y")
    Z = te.compute((3,), lambda i: Y[i] - 1.0, name="Z")
    x = rand(3, 4)
    s = te.create_schedule(Z.op)
    with_int = run(s, [X, Z], x, np.zeros(3, "float32"))[1]
    want = (x * x[:, ::-1]).sum(1) * 4 - 1
    np.testing.assert_allclose(with_int, want, rtol=1e-5)
    out = tvm.nd.array(np.zeros(3, "float32"))
    tvm.build(s, [X, Z], "llvm")(tvm.nd.array(x), out)
    np.testing.assert_allclose(out.numpy(), with_int, rtol=1e-6)


def test_refuses():
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] + 1.0, name="B")
    with pytest.raises(ValueError, match="placeholder A is read, but is not among"):
        te.create_prim_func([B])
    with pytest.raises(ValueError, match="B is given twice"):
        te.create_prim_func([A, B, B])
    with pytest.raises(TypeError, match="parameter 0: expected a tensor or a variable.*int"):
        te.create_prim_func([3])
    func = te.create_prim_func([A, B])
    with pytest.raises(ValueError, match="expected 1 tensors, for A, but got 2"):
        te.extern_primfunc([A, B], func)
    with pytest.raises(ValueError, match=r"shape \(5\), does not fit buffer A"):
        te.extern_primfunc([te.placeholder((5,), name="W")], func)
    mod = tvm.IRModule({"main": func})
    with pytest.raises(ValueError, match="LowerOpaqueBlock: block B has axes"):
        tir.transform.LowerOpaqueBlock()(mod)
