"""Tensor intrinsics: matching, regions, the three parts of a reduction, refusals."""

import numpy as np
import pytest
import tvm
from tvm import te, tir


def both(run, s, args, *arrays):
    """The last array after the interpreter and after compiled code, which must agree."""
    want = run(s, args, *arrays)[-1]
    given = [tvm.nd.array(a) for a in arrays]
    tvm.build(s, args, "llvm")(*given)
    np.testing.assert_allclose(given[-1].numpy(), want, rtol=1e-5)
    return want


def intrin_add(n, op=lambda a, b: a + b):
    x, y = te.placeholder((n,), name="x"), te.placeholder((n,), name="y")
    z = te.compute((n,), lambda i: op(x[i], y[i]), name="z")

    def body(ins, outs):
        kind = f"float32x{n}"
        return outs[0].vstore(0, ins[0].vload(0, kind) + ins[1].vload(0, kind))

    return te.decl_tensor_intrin(z.op, body, name="vadd")


def intrin_gemv(m, l, parts="all"):
    """m rows of a matrix times a vector; what the parts do can be told apart from each other."""
    a = te.placeholder((m, l), name="a")
    b = te.placeholder((l,), name="b")
    k = te.reduce_axis((0, l), name="k")
    c = te.compute((m,), lambda i: te.sum(a[i, k] * b[k], axis=k), name="c")
    step = te.var("step")
    A = tir.decl_buffer(a.shape, a.dtype, "A", offset_factor=1, strides=[step, 1])
    B = tir.decl_buffer(b.shape, b.dtype, "B", offset_factor=1, strides=[1])
    C = tir.decl_buffer(c.shape, c.dtype, "C", offset_factor=1, strides=[1])

    def fcompute(ins, outs):
        def reset():
            ib = tir.ir_builder.create()
            cc = ib.buffer_ptr(outs[0])
            with ib.for_range(0, m) as i:
                cc[i] = 0.0
            return ib.get()

        def update():
            ib = tir.ir_builder.create()
            aa, bb, cc = (ib.buffer_ptr(buffer) for buffer in (*ins, *outs))
            with ib.for_range(0, m) as i, ib.for_range(0, l) as j:
                cc[i] = cc[i] + aa[i, j] * bb[j]
            return ib.get()

        whole = tir.SeqStmt([reset(), update()])
        return {
            "all": (whole, reset(), update()),
            "body": whole,
            "no body": (None, reset(), update()),
            "no reset": (whole, None, update()),
        }[parts]

    return te.decl_tensor_intrin(c.op, fcompute, name="gemv", binds={a: A, b: B, c: C})


def test_elementwise(run):
    n, f = 4, 16
    A, B = te.placeholder((n * f,), name="A"), te.placeholder((n * f,), name="B")
    C = te.compute((n * f,), lambda i: A[i] + B[i], name="C")
    s = te.create_schedule(C.op)
    _, inner = s[C].split(C.op.axis[0], factor=f)
    s[C].tensorize(inner, intrin_add(f))
    assert "tensorize i.inner" in str(s)
    a, b = np.random.rand(2, n * f).astype("float32")
    np.testing.assert_array_equal(both(run, s, [A, B, C], a, b, a * 0), a + b)
    text = str(tvm.lower(s, [A, B, C])["main"])
    assert "T.vectorized" not in text and " + 16] = A[" in text


def test_two_dimensions_and_symbolic(run):
    m = te.var("m")
    A, B = te.placeholder((m, 32), name="A"), te.placeholder((m, 40), name="B")
    C = te.compute((m, 32), lambda i, j: B[i, j + 5] + A[i, 31 - 31 + j], name="C")
    s = te.create_schedule(C.op)
    _, inner = s[C].split(C.op.axis[1], factor=8)
    # operands the other way round: the computation is the same
    s[C].tensorize(inner, intrin_add(8, lambda x, y: y + x))
    s[C].parallel(C.op.axis[0])
    a, b = np.random.rand(3, 32).astype("float32"), np.random.rand(3, 40).astype("float32")
    np.testing.assert_array_equal(both(run, s, [A, B, C], a, b, a * 0), a + b[:, 5:37])


@pytest.mark.parametrize("parts", ["all", "no body", "no reset"])
@pytest.mark.parametrize("split_k", [False, True])
def test_gemv(run, parts, split_k):
    n, m, l = 3, 8, 12
    A = te.placeholder((n, l), name="A")
    B = te.placeholder((m, l), name="B")
    k = te.reduce_axis((0, l), name="k")
    C = te.compute((n, m), lambda i, j: te.sum(B[j, k] * A[i, k], axis=k), name="C")
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[1], factor=4)
    if split_k:
        ko, ki = s[C].split(k, factor=6)
        s[C].reorder(ko, outer, inner, ki)
        s[C].tensorize(inner, intrin_gemv(4, 6, parts))
    else:
        s[C].tensorize(inner, intrin_gemv(4, l, parts))
    a, b = np.random.rand(n, l).astype("float32"), np.random.rand(m, l).astype("float32")
    np.testing.assert_allclose(both(run, s, [A, B, C], a, b, np.full((n, m), 7, "float32")),
                               a @ b.T, rtol=1e-5)  # fmt: skip


def test_producers_and_copies(run):
    """Regions of tensors that live in part, with padded rows."""
    n, m, l = 4, 8, 6
    A = te.placeholder((n, l), name="A")
    B = te.placeholder((m, l), name="B")
    P = te.compute((m, l), lambda i, j: B[i, j] + 1.0, name="P")
    k = te.reduce_axis((0, l), name="k")
    C = te.compute((n, m), lambda i, j: te.sum(P[j, k] * A[i, k], axis=k), name="C")
    D = te.compute((n, m), lambda i, j: C[i, j] * 2.0, name="D")
    s = te.create_schedule(D.op)
    outer, inner = s[C].split(C.op.axis[1], factor=4)
    s[P].compute_at(s[C], outer)
    s[P].storage_align(P.op.axis[0], 16, 3)
    s[C].compute_at(s[D], D.op.axis[0])
    s[C].tensorize(inner, intrin_gemv(4, l))
    a, b = np.random.rand(n, l).astype("float32"), np.random.rand(m, l).astype("float32")
    got = both(run, s, [A, B, D], a, b, np.zeros((n, m), "float32"))
    np.testing.assert_allclose(got, a @ (b + 1).T * 2, rtol=1e-5)
    assert "T.allocate([76]" in str(tvm.lower(s, [A, B, D])["main"])


def test_pointers_and_packed_call(run):
    """A body that calls a packed function on pointers made by access_ptr and strides."""
    seen = []

    @tvm.register_func("test.tensorize.scale", override=True)
    def scale(source, target):
        seen.append((source.shape, source.strides))
        target.copyfrom(source.numpy() * 3)

    x = te.placeholder((2, 4), name="x")
    y = te.compute((2, 4), lambda i, j: x[i, j] * 3.0, name="y")
    step = te.var("step")
    xb = tir.decl_buffer((2, 4), "float32", "x", offset_factor=4, strides=[step, 1])
    yb = tir.decl_buffer((2, 4), "float32", "y", offset_factor=1)

    def body(ins, outs):
        return tir.call_packed("test.tensorize.scale", ins[0], outs[0])

    intrin = te.decl_tensor_intrin(y.op, body, name="scale", binds={x: xb, y: yb})
    A = te.placeholder((4, 12), name="A")
    B = te.compute((6, 2, 4), lambda t, i, j: A[t % 2 * 2 + i, t // 2 * 4 + j] * 3.0, name="B")
    s = te.create_schedule(B.op)
    s[B].tensorize(B.op.axis[1], intrin)
    a = np.random.rand(4, 12).astype("float32")
    want = np.stack([a[t % 2 * 2 :][:2, t // 2 * 4 :][:, :4] * 3 for t in range(6)])
    out = tvm.nd.array(np.zeros((6, 2, 4), "float32"))
    tvm.build(s, [A, B], "llvm")(tvm.nd.array(a), out)
    np.testing.assert_array_equal(out.numpy(), want)
    assert seen == [((2, 4), (12, 1))] * 6
    np.testing.assert_array_equal(run(s, [A, B], a, want * 0)[1], want)


def test_llvm_intrinsic(run):
    """A fused multiply-add on vectors by its LLVM name."""
    x, y = te.placeholder((8,), name="x"), te.placeholder((8,), name="y")
    z = te.compute((8,), lambda i: x[i] * y[i] + x[i], name="z")

    def body(ins, outs):
        a, b = (buffer.vload(0, "float32x8") for buffer in ins)
        return outs[0].vstore(
            0, tir.call_llvm_pure_intrin("float32x8", "llvm.fma", tir.const(3, "uint32"), a, b, a)
        )

    intrin = te.decl_tensor_intrin(z.op, body, name="fma")
    A, B = te.placeholder((32,), name="A"), te.placeholder((32,), name="B")
    C = te.compute((32,), lambda i: A[i] * B[i] + A[i], name="C")
    s = te.create_schedule(C.op)
    s[C].tensorize(s[C].split(C.op.axis[0], factor=8)[1], intrin)
    a, b = np.random.rand(2, 32).astype("float32")
    out = tvm.nd.array(a * 0)
    f = tvm.build(s, [A, B, C], "llvm")
    f(tvm.nd.array(a), tvm.nd.array(b), out)
    exact = (a.astype("float64") * b + a).astype("float32")
    np.testing.assert_array_equal(out.numpy(), exact)
    assert "llvm.fma.v8f32" in f.get_source()


def has_vnni():
    try:
        with open("/proc/cpuinfo") as file:
            return "avx512_vnni" in file.read()
    except OSError:
        return False


@pytest.mark.skipif(not has_vnni(), reason="needs a processor with AVX512-VNNI")
def test_vnni():
    """A product of uint8 and int8 matrices: four products a lane in one instruction."""
    n, m, l = 6, 32, 16
    x = te.placeholder((4,), "uint8", name="x")
    w = te.placeholder((16, 4), "int8", name="w")
    k = te.reduce_axis((0, 4), name="k")
    y = te.compute(
        (16,), lambda i: te.sum(x[k].astype("int32") * w[i, k].astype("int32"), axis=k), name="y"
    )

    def fcompute(ins, outs):
        def step(start):
            four = tir.reinterpret("int32", ins[0].vload(0, "uint8x4"))
            weights = tir.reinterpret("int32x16", ins[1].vload((0, 0), "int8x64"))
            value = tir.call_llvm_pure_intrin(
                "int32x16", "llvm.x86.avx512.vpdpbusd.512", tir.const(3, "uint32"),
                start, tir.Broadcast(four, 16), weights,
            )  # fmt: skip
            return outs[0].vstore(0, value)

        zero = tir.const(0, "int32x16")
        return step(zero), outs[0].vstore(0, zero), step(outs[0].vload(0, "int32x16"))

    intrin = te.decl_tensor_intrin(y.op, fcompute, name="vpdpbusd")
    A = te.placeholder((n, l), "uint8", name="A")
    W = te.placeholder((m // 16, l // 4, 16, 4), "int8", name="W")
    k = te.reduce_axis((0, l), name="k")
    C = te.compute(
        (n, m),
        lambda i, j: te.sum(
            A[i, k].astype("int32") * W[j // 16, k // 4, j % 16, k % 4].astype("int32"), axis=k
        ),
        name="C",
    )
    s = te.create_schedule(C.op)
    jo, ji = s[C].split(C.op.axis[1], factor=16)
    ko, ki = s[C].split(k, factor=4)
    s[C].reorder(C.op.axis[0], jo, ko, ji, ki)
    s[C].tensorize(ji, intrin)
    a = np.random.randint(0, 255, (n, l)).astype("uint8")
    b = np.random.randint(-128, 127, (l, m)).astype("int8")
    packed = b.reshape(l // 4, 4, m // 16, 16).transpose(2, 0, 3, 1).copy()
    out = tvm.nd.array(np.zeros((n, m), "int32"))
    f = tvm.build(s, [A, W, C], "llvm")
    f(tvm.nd.array(a), tvm.nd.array(packed), out)
    np.testing.assert_array_equal(out.numpy(), a.astype("int32") @ b.astype("int32"))
    assert "vpdpbusd" in f.get_source("asm")


def gemv_stage(l=12, source=None):
    A = te.placeholder((4, l), name="A")
    B = te.placeholder((8, l), name="B")
    k = te.reduce_axis((0, l), name="k")
    source = source or (lambda i, j: B[j, k] * A[i, k])
    C = te.compute((4, 8), lambda i, j: te.sum(source(i, j), axis=k), name="C")
    return A, B, k, C, te.create_schedule(C.op)


def test_refuses():
    A, B, k, C, s = gemv_stage()
    with pytest.raises(TypeError, match="stage C: tensorize axis j: expected an intrinsic"):
        s[C].tensorize(C.op.axis[1], 3)
    s[C].tensorize(C.op.axis[1], intrin_gemv(4, 12))
    with pytest.raises(tvm.error.ScheduleError, match="expected axis extents 4 .* has 1, 8"):
        tvm.lower(s, [A, B, C])

    A, B, k, C, s = gemv_stage()
    outer, inner = s[C].split(C.op.axis[1], factor=4)
    ko, ki = s[C].split(k, factor=6)
    s[C].reorder(ko, inner, ki)
    s[C].tensorize(inner, intrin_gemv(4, 6, "body"))
    with pytest.raises(tvm.error.ScheduleError, match="needs the update part"):
        tvm.lower(s, [A, B, C])

    A, B, k, C, s = gemv_stage()
    _, inner = s[C].split(C.op.axis[1], factor=3)
    s[C].tensorize(inner, intrin_gemv(3, 12))
    with pytest.raises(tvm.error.ScheduleError, match="not always complete.*factors that divide"):
        tvm.lower(s, [A, B, C])

    P = te.placeholder((8,), name="P")
    Q = te.compute((8,), lambda i: P[i] * 2.0 + P[i], name="Q")
    s = te.create_schedule(Q.op)
    s[Q].tensorize(Q.op.axis[0], intrin_add(8))
    with pytest.raises(tvm.error.ScheduleError, match="expected 2 input"):
        tvm.lower(s, [P, Q])


def test_mismatch_shows_both():
    A, B, k, C, s = gemv_stage()
    x, y = te.placeholder((8,), name="x"), te.placeholder((8,), name="y")
    z = te.compute((8,), lambda i: x[i] * 2.0 - y[i], name="z")
    P, Q = te.placeholder((8,), name="P"), te.placeholder((8,), name="Q")
    intrin = te.decl_tensor_intrin(z.op, lambda ins, outs: tir.Evaluate(0), name="odd")
    for wrong in (
        lambda i: P[i] * 3.0 - Q[i],
        lambda i: P[i] * 2.0 + Q[i],
        lambda i: Q[i] - P[i] * 2.0,
        lambda i: P[i] * 2.0 - Q[7 - i],
        lambda i: P[i] * 2.0 - te.if_then_else(i < 7, Q[i], 0.0),
    ):
        R = te.compute((8,), wrong, name="R")
        s = te.create_schedule(R.op)
        s[R].tensorize(R.op.axis[0], intrin)
        with pytest.raises(tvm.error.ScheduleError) as caught:
            tvm.lower(s, [P, Q, R])
        message = str(caught.value)
        assert message.startswith("stage R: tensorize axis i with odd: the computations differ")
        assert f"expected: {z.op.body[0]}" in message
    # another combination of the partial results
    k = te.reduce_axis((0, 6), name="k")
    M = te.placeholder((4, 6), name="M")
    V = te.placeholder((6,), name="V")
    R = te.compute((4,), lambda i: te.max(M[i, k] * V[k], axis=k), name="R")
    s = te.create_schedule(R.op)
    s[R].tensorize(R.op.axis[0], intrin_gemv(4, 6))
    with pytest.raises(tvm.error.ScheduleError, match="computations differ"):
        tvm.lower(s, [M, V, R])


def test_region_that_does_not_fit_the_buffer():
    """Buffers that fix what the region has otherwise are refused, with the way out."""
    x = te.placeholder((2, 4), name="x")
    y = te.compute((2, 4), lambda i, j: x[i, j] * 3.0, name="y")
    A = te.placeholder((2, 8), name="A")
    B = te.compute((2, 8), lambda i, j: A[i, j] * 3.0, name="B")

    def lower(**settings):
        xb = tir.decl_buffer((2, 4), "float32", "x", **settings)
        yb = tir.decl_buffer(
            (2, 4), "float32", "y", offset_factor=1, strides=[te.var("t"), te.var("u")]
        )
        intrin = te.decl_tensor_intrin(
            y.op, lambda ins, outs: tir.call_extern("int32", "f", ins[0].access_ptr("r")),
            binds={x: xb, y: yb},
        )  # fmt: skip
        s = te.create_schedule(B.op)
        outer, inner = s[B].split(B.op.axis[1], factor=4)
        s[B].reorder(outer, B.op.axis[0], inner)
        s[B].tensorize(B.op.axis[0], intrin)
        return tvm.lower(s, [A, B])

    with pytest.raises(tvm.error.ScheduleError, match=r"strides\[0\] is 4, but 8.*strides="):
        lower(offset_factor=1)
    with pytest.raises(tvm.error.ScheduleError, match="elem_offset is 0.*offset_factor=1"):
        lower(strides=[te.var("s"), 1])
    with pytest.raises(tvm.error.ScheduleError, match="a multiple of 8, but"):
        lower(strides=[te.var("s"), 1], offset_factor=8)
    text = str(lower(strides=[te.var("s"), 1], offset_factor=4)["main"])
    assert "T.tvm_access_ptr" in text and "j_outer * 4" in text


def test_declaring_refuses():
    x = te.placeholder((4,), name="x")
    y = te.compute((4,), lambda i: x[i], name="y")
    z = te.compute((4,), lambda i: y[i], name="z")
    with pytest.raises(TypeError, match="placeholders only, but y is a ComputeOp"):
        te.decl_tensor_intrin(z.op, lambda ins, outs: None)
    with pytest.raises(TypeError, match="expected the operation of te.compute"):
        te.decl_tensor_intrin(y, lambda ins, outs: None)
    with pytest.raises(TypeError, match="one to three statements"):
        te.decl_tensor_intrin(y.op, lambda ins, outs: None)
    with pytest.raises(TypeError, match="statements or expressions, but got str"):
        te.decl_tensor_intrin(y.op, lambda ins, outs: "text")
