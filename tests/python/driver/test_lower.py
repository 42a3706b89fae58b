"""lower: texts, signatures, shapes of programs."""

import numpy as np
import pytest
import tvm
from tvm import te, tir
from tvm.tir.interpreter import interpret


def add_one(n=100):
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    return A, B, te.create_schedule(B.op)


def test_golden_add_one(golden):
    A, B, s = add_one()
    golden("add_one", tvm.lower(s, [A, B]))


def test_golden_symbolic_split(golden):
    A, B, s = add_one(te.var("n"))
    s[B].split(B.op.axis[0], 4)
    golden("symbolic_split", tvm.lower(s, [A, B]))


def gemm(n, m, k):
    A, B = te.placeholder((n, k), name="A"), te.placeholder((k, m), name="B")
    r = te.reduce_axis((0, k), name="k")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")
    s = te.create_schedule(C.op)
    io, jo, ii, ji = s[C].tile(C.op.axis[0], C.op.axis[1], 4, 8)
    ro, ri = s[C].split(r, 2)
    s[C].reorder(io, jo, ro, ii, ri, ji)
    s[C].parallel(io)
    s[C].unroll(ri)
    s[C].vectorize(ji)
    return s, [A, B, C]


def test_golden_gemm_simple(golden):
    s, args = gemm(8, 16, 4)
    golden("gemm_simple", tvm.lower(s, args, simple_mode=True))


def test_golden_gemm(golden):
    s, args = gemm(6, 16, 4)
    golden("gemm", tvm.lower(s, args))


@pytest.mark.parametrize("shape", [(8, 16, 4), (7, 9, 5), (1, 1, 1), (4, 8, 2)])
def test_gemm_result(shape):
    s, args = gemm(*shape)
    n, m, k = shape
    a, b = np.random.rand(n, k).astype("float32"), np.random.rand(k, m).astype("float32")
    c = np.zeros((n, m), "float32")
    interpret(tvm.lower(s, args)["main"], a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_golden_stencil_compute_at(golden):
    A = te.placeholder((22,), name="A")
    P = te.compute((22,), lambda i: A[i] * 2.0, name="P")
    Q = te.compute((20,), lambda i: P[i] + P[i + 1] + P[i + 2], name="Q")
    s = te.create_schedule(Q.op)
    outer, _ = s[Q].split(Q.op.axis[0], 7)
    s[P].compute_at(s[Q], outer)
    golden("stencil_compute_at", tvm.lower(s, [A, Q]))


def test_no_guard_is_left_in_the_main_loop():
    A, B, s = add_one(te.var("n"))
    outer, inner = s[B].split(B.op.axis[0], 8)
    s[B].vectorize(inner)
    body = tvm.lower(s, [A, B])["main"].body
    assert not body.kinds & tir.IfThenElse.KIND


def test_split_factor_beyond_the_extent():
    A, B, s = add_one(2)
    s[B].split(B.op.axis[0], 64)
    assert "64" not in str(tvm.lower(s, [A, B]))


def test_attributes_and_names():
    A, B, s = add_one()
    mod = tvm.lower(s, [A, B])
    func = mod["main"]
    assert bool(func.attrs["from_legacy_te_schedule"]) and bool(func.attrs["tir.noalias"])
    assert func.attrs["global_symbol"] == "main"
    assert tvm.lower(s, [A, B], "llvm").get_global_vars()[0].name_hint == "llvm"
    assert [p.name for p in func.params] == ["A", "B"]


def test_schedule_is_left_alone():
    """Lowering twice gives the same program; nothing of it stays in the schedule."""
    A, B, s = add_one()
    C = te.compute((100,), lambda i: B[i] * 2.0, name="C")
    s = te.create_schedule(C.op)
    s[B].compute_inline()
    first = tvm.lower(s, [A, C])
    assert s[B].attach_type == te.Stage.INLINE
    tvm.ir.assert_structural_equal(first, tvm.lower(s, [A, C]))


def test_intermediate_tensor_as_argument():
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((4,), lambda i: B[i] * 2.0, name="C")
    a, b, c = np.arange(4, dtype="float32"), np.zeros(4, "float32"), np.zeros(4, "float32")
    interpret(tvm.lower(te.create_schedule(C.op), [A, B, C])["main"], a, b, c)
    np.testing.assert_array_equal(b, a + 1)
    np.testing.assert_array_equal(c, (a + 1) * 2)


def test_binds_with_strides():
    A = te.placeholder((3, 4), name="A")
    B = te.compute((3, 4), lambda i, j: A[i, j] + 1.0, name="B")
    buffer = tir.decl_buffer((3, 4), "float32", "A", strides=[te.var("s0"), te.var("s1")])
    mod = tvm.lower(te.create_schedule(B.op), [A, B], binds={A: buffer})
    a = np.arange(12, dtype="float32").reshape(4, 3).T
    b = np.zeros((3, 4), "float32")
    interpret(mod["main"], a, b)
    np.testing.assert_array_equal(b, a + 1)


def test_int64_positions_of_large_tensors():
    A = te.placeholder((1 << 20, 1 << 12), "int8", name="A")
    B = te.compute((1 << 20, 1 << 12), lambda i, j: A[i, j], name="B")
    body = tvm.lower(te.create_schedule(B.op), [A, B])["main"].body
    stores = []
    tir.stmt_functor.post_order_visit(
        body, lambda n: stores.append(n) if isinstance(n, tir.BufferStore) else None
    )
    assert [s.indices[0].dtype for s in stores] == ["int64"]


def test_zero_extents():
    A = te.placeholder((0, 4), name="A")
    B = te.compute((0, 4), lambda i, j: A[i, j] + 1.0, name="B")
    mod = tvm.lower(te.create_schedule(B.op), [A, B])
    # nothing is left to do, and doing it is possible
    assert isinstance(mod["main"].body, tir.Evaluate)
    interpret(mod["main"], np.zeros((0, 4), "float32"), np.zeros((0, 4), "float32"))


def test_pass_context():
    A, B, s = add_one(16)
    s[B].vectorize(B.op.axis[0])
    with tvm.transform.PassContext(config={"tir.disable_vectorize": True}):
        assert "range(16)" in str(tvm.lower(s, [A, B]))
    assert "range(16)" not in str(tvm.lower(s, [A, B]))
    seen = []

    @tir.transform.prim_func_pass(opt_level=0)
    def look(func, mod, ctx):
        seen.append(func)
        return func

    for phase in range(4):
        with tvm.transform.PassContext(config={"tir.add_lower_pass": [(phase, look)]}):
            tvm.lower(s, [A, B])
    assert len(seen) == 4
    with tvm.transform.PassContext(disabled_pass=["tir.VectorizeLoop"]):
        assert "vectorized" in str(tvm.lower(s, [A, B]))
    with pytest.raises(AttributeError, match="unknown option 'tir.nothing'"):
        tvm.transform.PassContext(config={"tir.nothing": 1})
    with pytest.raises(AttributeError, match="expected bool"):
        tvm.transform.PassContext(config={"tir.disable_vectorize": "yes"})


def test_instruments():
    A, B, s = add_one()
    names = []

    class Watch:
        def enter_pass_ctx(self):
            names.append("enter")

        def run_before_pass(self, mod, info):
            names.append(info.name)

        def exit_pass_ctx(self):
            names.append("exit")

    with tvm.transform.PassContext(instruments=[Watch()]):
        tvm.lower(s, [A, B])
    assert names[0] == "enter" and names[-1] == "exit" and "tir.StorageFlatten" in names


def test_passes_verify_and_keep_identity():
    """Each pass gives a valid program, and gives the very same one when run again."""
    s, args = gemm(7, 9, 5)
    mod = tvm.lower(s, args)
    names = "Simplify LoopPartition RewriteUnsafeSelect VectorizeLoop UnrollLoop RemoveNoOp"
    for name in names.split():
        assert getattr(tir.transform, name)()(mod) is mod, name


def test_fused_position_beyond_int32():
    A = te.placeholder((1 << 20, 1 << 12), "int8", name="A")
    B = te.compute((1 << 20, 1 << 12), lambda i, j: A[i, j], name="B")
    s = te.create_schedule(B.op)
    fused = s[B].fuse(*B.op.axis)
    assert fused.var.dtype == "int64"
    loop = tvm.lower(s, [A, B])["main"].body
    assert int(loop.extent) == 1 << 32 and loop.loop_var.dtype == "int64"
    s = te.create_schedule(B.op)
    _, inner = s[B].split(B.op.axis[1], 16)
    assert s[B].fuse(B.op.axis[0], s[B].leaf_iter_vars[1]).var.dtype == "int32"


@pytest.mark.parametrize("fused", [False, True])
def test_long_chains_of_stages(fused):
    """Many stages and deep expressions lower, in time that grows with their number only."""
    A = te.placeholder((4,), name="A")
    T = A
    for k in range(300):
        T = te.compute((4,), lambda i, T=T: T[i] + 1.0, name=f"T{k}")
    s = te.create_schedule(T.op)
    if fused:
        te.schedule.AutoInlineInjective(s)
    a, out = np.zeros(4, "float32"), np.zeros(4, "float32")
    interpret(tvm.lower(s, [A, T])["main"], a, out)
    assert (out == 300).all()


def test_deep_expression():
    A = te.placeholder((2,), name="A")

    def body(i):
        value = A[i]
        for _ in range(5000):
            value = value + A[i]
        return value

    B = te.compute((2,), body, name="B")
    a, out = np.ones(2, "float32"), np.zeros(2, "float32")
    interpret(tvm.lower(te.create_schedule(B.op), [A, B])["main"], a, out)
    assert (out == 5001).all()
