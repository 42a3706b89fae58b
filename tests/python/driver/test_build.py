"""build: from a schedule to a function that runs."""

import numpy as np
import pytest
import tvm
from tvm import te


def add_one(n=64, dtype="float32"):
    A = te.placeholder((n,), dtype, name="A")
    B = te.compute((n,), lambda i: A[i] + tvm.tir.const(1, dtype), name="B")
    return A, B, te.create_schedule(B.op)


@pytest.mark.parametrize("n", [1, 2, 15, 16, 31, 32, 33, 64, 100])
@pytest.mark.parametrize("symbolic", [False, True])
def test_add_one(n, symbolic):
    A, B, s = add_one(te.var("n") if symbolic else n)
    f = tvm.build(s, [A, B], "llvm")
    x, y = tvm.nd.array(np.random.rand(n).astype("float32")), tvm.nd.empty((n,))
    f(x, y)
    np.testing.assert_array_equal(y.numpy(), x.numpy() + np.float32(1))


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int16", "int32", "int64", "uint32", "float16", "float64"]
)
def test_dtypes(dtype):
    A, B, s = add_one(37, dtype)
    f = tvm.build(s, [A, B])
    x = np.arange(37).astype(dtype)
    out = tvm.nd.array(np.zeros(37, dtype))
    f(tvm.nd.array(x), out)
    np.testing.assert_array_equal(out.numpy(), x + np.array(1, dtype))


def test_scalar_argument_and_name():
    A = te.placeholder((8,), name="A")
    a = te.var("a", "float32")
    B = te.compute((8,), lambda i: A[i] * a, name="B")
    mod = tvm.build(te.create_schedule(B.op), [a, A, B], name="scale")
    x, y = tvm.nd.array(np.ones(8, "float32")), tvm.nd.empty((8,))
    mod["scale"](2.5, x, y)
    mod(2.5, x, y)
    assert (y.numpy() == 2.5).all()


def test_several_functions():
    A, B, s = add_one()
    f1 = tvm.lower(s, [A, B], name="f1")
    C = te.compute((64,), lambda i: A[i] * 2.0, name="C")
    f2 = tvm.lower(te.create_schedule(C.op), [A, C], name="f2")
    mod = tvm.build([f1, f2], "llvm")
    x, y = tvm.nd.array(np.ones(64, "float32")), tvm.nd.empty((64,))
    mod["f1"](x, y)
    assert (y.numpy() == 2).all()
    mod["f2"](x, y)
    assert (y.numpy() == 2).all()
    with pytest.raises(ValueError, match="two functions are named 'f1'"):
        tvm.build([f1, f1], "llvm")
    mod = tvm.build({"llvm": f1})
    mod["f1"](x, y)


def test_out_of_bounds_is_refused():
    K = te.compute((3,), lambda i: tvm.tir.const(1.0, "float32"), name="K")
    k = te.reduce_axis((0, 64), name="k")
    R = te.compute((1,), lambda _: te.sum(K[k], axis=k), name="R")
    s = te.create_schedule(R.op)
    tvm.lower(s, [R])
    with pytest.raises(ValueError, match="K out of bounds: dimension 0 has extent 3.*0 to 63"):
        tvm.build(s, [R])


def test_guarded_reads_are_not_refused():
    A = te.placeholder((3,), name="A")
    B = te.compute((5,), lambda i: te.if_then_else(i < 3, A[i], 0.0), name="B")
    C = te.compute((5,), lambda i: te.Select(i < 3, A[i], 0.0), name="C")
    D = te.compute((5,), lambda i: te.Select(tvm.tir.all(i >= 1, i < 4), A[i - 1], 0.0), name="D")
    f = tvm.build(te.create_schedule([B.op, C.op, D.op]), [A, B, C, D])
    a = tvm.nd.array(np.array([1, 2, 3], "float32"))
    outs = [tvm.nd.empty((5,)) for _ in range(3)]
    f(a, *outs)
    assert [o.numpy().tolist() for o in outs] == [
        [1, 2, 3, 0, 0],
        [1, 2, 3, 0, 0],
        [0, 1, 2, 3, 0],
    ]


def test_current_target_and_bad_targets():
    A, B, s = add_one()
    with tvm.target.Target("llvm -mcpu=x86-64"):
        tvm.build(s, [A, B])
    with pytest.raises(ValueError, match="unknown target kind 'nothing'"):
        tvm.build(s, [A, B], "nothing")
    with pytest.raises(ValueError, match="args"):
        tvm.build(s)
    with pytest.raises(TypeError, match="PrimFunc or an IRModule"):
        tvm.build(3)
    with pytest.warns(DeprecationWarning, match="target_host"):
        tvm.build(s, [A, B], "llvm", target_host="llvm")


@pytest.mark.parametrize("seed", range(24))
def test_random_programs(seed):
    """What the interpreter says, the machine does, scheduled by chance or by nobody."""
    import sys
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).parents[1] / "te"))
    from random_programs import Chooser, Program

    program = Program(Chooser.seeded(5000 + seed))
    want = program.reference()
    plain = te.create_schedule([t.op for t in program.outputs])
    for s in (plain, program.schedule()):
        f = tvm.build(s, program.args(), "llvm")
        arrays = [tvm.nd.array(a) if isinstance(a, np.ndarray) else a for a in program.arrays()]
        f(*arrays)
        for w, got in zip(want, arrays):
            if isinstance(w, int):
                continue
            if w.dtype.kind == "f":
                np.testing.assert_allclose(got.numpy(), w, rtol=1e-5, atol=1e-5)
            else:
                np.testing.assert_array_equal(got.numpy(), w)
