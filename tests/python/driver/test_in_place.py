"""Kernels that work in place: f(a, a), whatever the schedule made of the loop."""

import numpy as np
import pytest
import tvm
from tvm import te


def scheduled(n):
    """An element-wise kernel whose loop is cut, unrolled and vectorised."""
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2.0 + 1.0, name="B")
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(B.op.axis[0], factor=16)
    middle, inner = s[B].split(inner, factor=4)
    s[B].unroll(middle)
    s[B].vectorize(inner)
    return s, [A, B]


@pytest.mark.parametrize("size", [100, te.var("n")], ids=str)
@pytest.mark.parametrize("lowered", [False, True])
@pytest.mark.parametrize("target", ["llvm", "c"])
def test_element_wise_kernels_work_in_place(size, lowered, target):
    s, args = scheduled(size)
    if lowered:
        f = tvm.build(tvm.lower(s, args), target=target)
    else:
        f = tvm.build(s, args, target)
    a = np.arange(100, dtype="float32")
    x = tvm.nd.array(a)
    f(x, x)
    np.testing.assert_array_equal(x.numpy(), a * 2 + 1)


def test_what_reads_elsewhere_does_not():
    A = te.placeholder((100,), name="A")
    for read in (lambda i: A[99 - i] + 1.0, lambda i: A[i // 2] + 1.0):
        B = te.compute((100,), read, name="B")
        s = te.create_schedule(B.op)
        outer, inner = s[B].split(B.op.axis[0], factor=16)
        s[B].vectorize(inner)
        f = tvm.build(s, [A, B], "llvm")
        x = tvm.nd.array(np.zeros(100, "float32"))
        with pytest.raises(ValueError, match="must not share memory"):
            f(x, x)


def test_the_text_of_lowered_programs_stays_as_it_is():
    s, args = scheduled(100)
    mod = tvm.lower(s, args)
    assert "alias_ok" not in str(mod) and "tir.alias_ok" not in mod["main"].attrs
