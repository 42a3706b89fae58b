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


def compiled(s, args, *arrays):
    """The arrays after compiled code ran."""
    given = [tvm.nd.array(a) for a in arrays]
    tvm.build(s, args, "llvm")(*given)
    return [a.numpy() for a in given]


def test_packed_function(run):
    """A tensor, a number and a text for a packed function; what it raises arrives."""
    seen = []

    @tvm.register_func("test.extern.packed", override=True)
    def packed(source, target, number, text):
        seen.append((source.shape, source.dtype, target.shape, number, text))
        if text == "fail":
            raise LookupError("from inside")
        target.copyfrom(source.numpy()[::-1] * number)

    n = te.var("n")
    A = te.placeholder((n, 3), name="A")
    P = te.compute((n, 3), lambda i, j: A[i, j] + 1.0, name="P")

    def make(text):
        E = te.extern(
            (n, 3),
            [P],
            lambda ins, outs: tir.call_packed("test.extern.packed", ins[0], outs[0], n * 2, text),
            name="E",
        )
        return te.create_schedule(E.op), [A, E]

    a = np.random.rand(4, 3).astype("float32")
    s, args = make("hello")
    want = (a + np.float32(1))[::-1] * 8
    np.testing.assert_allclose(run(s, args, a, a * 0)[1], want, rtol=1e-6)
    np.testing.assert_allclose(compiled(s, args, a, a * 0)[1], want, rtol=1e-6)
    assert seen == [((4, 3), "float32", (4, 3), 8, "hello")] * 2
    with pytest.raises(LookupError, match="from inside"):
        compiled(*make("fail"), a, a * 0)


def test_packed_calls_of_parallel_workers():
    """Each worker has arguments of its own."""

    @tvm.register_func("test.extern.row", override=True)
    def row(source, target, number):
        target.copyfrom(source.numpy() * number)

    x = te.placeholder((1, 8), name="x")
    y = te.compute((1, 8), lambda i, j: x[i, j] * 3.0, name="y")
    intrin = te.decl_tensor_intrin(
        y.op, lambda ins, outs: tir.call_packed("test.extern.row", ins[0], outs[0], 3), name="row"
    )
    A = te.placeholder((64, 8), name="A")
    B = te.compute((64, 8), lambda i, j: A[i, j] * 3.0, name="B")
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(B.op.axis[0], factor=1)
    s[B].parallel(outer)
    s[B].tensorize(inner, intrin)
    f = tvm.build(s, [A, B], "llvm")
    for _ in range(20):
        a = np.random.rand(64, 8).astype("float32")
        b = tvm.nd.array(a * 0)
        f(tvm.nd.array(a), b)
        np.testing.assert_array_equal(b.numpy(), a * np.float32(3))


def test_program_by_the_builder(run):
    """A body made by ir_builder, with memory of its own and a loop in parallel."""
    n = te.var("n")
    A = te.placeholder((n, n), name="A")

    def transposed_sums(ins, outs):
        ib = tir.ir_builder.create()
        a, b = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, n, name="i", kind="parallel") as i:
            total = ib.allocate("float32", (1,), name="total", scope="local")
            total[0] = 0.0
            with ib.for_range(0, n, name="j") as j:
                with ib.if_scope(i < j):
                    total[0] = total[0] + a[j, i]
                with ib.else_scope():
                    total[0] = total[0] - a[j, i]
            b[i] = total[0]
        return ib.get()

    E = te.extern((n,), [A], transposed_sums, name="E", dtype="float32")
    s = te.create_schedule(E.op)
    a = np.random.rand(5, 5).astype("float32")
    sign = np.where(np.arange(5)[:, None] < np.arange(5), 1, -1)
    want = (a.T * sign).sum(1)
    zeros = np.zeros(5, "float32")
    np.testing.assert_allclose(run(s, [A, E], a, zeros)[1], want, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(compiled(s, [A, E], a, zeros)[1], want, rtol=1e-4, atol=1e-6)


def test_buffers_of_the_program(run):
    """Buffers that the program declares, and one that is read with strides of its own."""
    A = te.placeholder((2, 6), name="A")
    ab = tir.decl_buffer((2, 6), "float32", "ab", offset_factor=1, strides=[te.var("s"), 1])
    ob = tir.decl_buffer((6,), "float32", "ob")

    def body(ins, outs):
        assert ins[0] is ab and outs[0] is ob
        i = tir.Var("i")
        store = tir.BufferStore(ob, ab[0, i] + ab[1, i] * ab.strides[0].astype("float32"), [i])
        return tir.For(i, 0, 6, 0, store)

    E = te.extern((6,), [A], body, name="E", in_buffers=[ab], out_buffers=[ob])
    a = np.random.rand(2, 6).astype("float32")
    s = te.create_schedule(E.op)
    zeros = np.zeros(6, "float32")
    np.testing.assert_allclose(run(s, [A, E], a, zeros)[1], a[0] + a[1] * 6, rtol=1e-6)
    np.testing.assert_allclose(compiled(s, [A, E], a, zeros)[1], a[0] + a[1] * 6, rtol=1e-6)
    # a compact buffer cannot stand for a padded copy
    fixed = tir.decl_buffer((2, 6), "float32", "fixed")
    P = te.compute((2, 6), lambda i, j: A[i, j] + 1.0, name="P")
    E = te.extern(
        (6,), [P], lambda ins, outs: tir.call_extern("int32", "f", ins[0].data), name="E",
        in_buffers=[fixed],
    )  # fmt: skip
    s = te.create_schedule(E.op)
    s[P].storage_align(P.op.axis[0], 8, 0)
    with pytest.raises(tvm.error.ScheduleError, match=r"strides\[0\] is 6, but 8 there"):
        tvm.lower(s, [A, E])
