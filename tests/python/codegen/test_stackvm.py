"""Target "stackvm": the interpreter behind the same calls as compiled code."""

import gc

import numpy as np
import pytest
import tvm
from tvm import te, tir


def test_a_kernel_with_everything_a_call_has():
    n, scale = te.var("n"), te.var("scale", "float64")
    A = te.placeholder((n, 3), name="A", dtype="int8")
    B = te.compute((n,), lambda i: (A[i, 0] + A[i, 2]).astype("float64") * scale, name="B")
    f = tvm.build(te.create_schedule(B.op), [A, scale, B], "stackvm", name="weigh")
    a = np.array([[100, 0, 100], [1, 2, 3]], "int8")
    b = tvm.nd.array(np.zeros(2))
    f(tvm.nd.array(a), 0.5, b)
    # int8 wraps.
    np.testing.assert_array_equal(b.numpy(), [-28.0, 2.0])
    assert f.type_key == "stackvm" and tvm.runtime.enabled("stackvm")
    assert "def weigh" in f.get_source()
    with pytest.raises(TypeError, match=r"weigh: expects 3 arguments \(A, scale, B\), but got 1"):
        f(b)
    with pytest.raises(ValueError, match=r"shape\[0\] expected 2"):
        f(tvm.nd.array(a), 0.5, tvm.nd.array(np.zeros(3)))


def test_errors_of_the_program_reach_the_caller():
    A = tir.decl_buffer((4,), "int32", name="A")
    k = tir.Var("k")
    func = tir.PrimFunc([A, k], tir.BufferStore(A, k, [k]), attrs={"global_symbol": "put"})
    f = tvm.build(func, target="stackvm")
    a = tvm.nd.array(np.zeros(4, "int32"))
    f(a, 3)
    assert a.numpy().tolist() == [0, 0, 0, 3]
    with pytest.raises(IndexError, match=r"A: index 4 of dimension 0 is out of 0\.\.3"):
        f(a, 4)
    # And the next call works.
    f(a, 1)
    assert a.numpy().tolist() == [0, 1, 0, 3]


def test_several_functions_and_their_life():
    A = te.placeholder((8,), name="A")
    mods = []
    for number in (1, 2):
        B = te.compute((8,), lambda i, number=number: A[i] * float(number), name="B")
        mods.append(tvm.lower(te.create_schedule(B.op), [A, B], name=f"times{number}"))
    module = tvm.build(mods, target="stackvm")
    f = module["times2"]
    del module
    gc.collect()
    a, b = tvm.nd.array(np.arange(8, dtype="float32")), tvm.nd.array(np.zeros(8, "float32"))
    f(a, b)
    np.testing.assert_array_equal(b.numpy(), a.numpy() * 2)


def test_parallel_loops_and_timing():
    A = te.placeholder((64,), name="A", dtype="int32")
    B = te.compute((64,), lambda i: A[i] // 3, name="B")
    s = te.create_schedule(B.op)
    s[B].parallel(B.op.axis[0])
    f = tvm.build(s, [A, B], "stackvm")
    a = np.arange(-32, 32, dtype="int32")
    x, y = tvm.nd.array(a), tvm.nd.array(a * 0)
    timed = f.time_evaluator(f.entry_name, tvm.cpu(), number=2)(x, y)
    np.testing.assert_array_equal(y.numpy(), a // 3)
    assert timed.mean > 0


def test_it_cannot_be_exported(tmp_path):
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    f = tvm.build(te.create_schedule(B.op), [A, B], "stackvm")
    with pytest.raises(tvm.TVMError, match="stackvm"):
        f.export_library(str(tmp_path / "lib.so"))
