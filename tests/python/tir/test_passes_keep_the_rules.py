"""The program verifies before and after every pass of the pipeline."""

import random

import pytest
import tvm
from tvm import te, tir


class VerifyEach:
    """Verifies what every pass gets and what it makes."""

    def __init__(self):
        self.names = []

    def run_before_pass(self, mod, info):
        tir.verify.verify(mod)

    def run_after_pass(self, mod, info):
        tir.verify.verify(mod)
        self.names.append(info.name)

    def should_run(self, mod, info):
        return True

    def enter_pass_ctx(self):
        pass

    def exit_pass_ctx(self):
        pass


def matmul(rng):
    n = rng.choice([5, 8, 13, te.var("n")])
    A, B = te.placeholder((n, 8), name="A"), te.placeholder((8, 12), name="B")
    k = te.reduce_axis((0, 8), "k")
    C = te.compute((n, 12), lambda i, j: te.sum(A[i, k] * B[k, j], k), name="C")
    D = te.compute((n, 12), lambda i, j: te.if_then_else(i > 2, C[i, j], 0.0), name="D")
    s = te.create_schedule(D.op)
    xo, yo, xi, yi = s[D].tile(*D.op.axis, rng.choice([2, 3]), rng.choice([4, 5]))
    s[C].compute_at(s[D], rng.choice([xo, yo, xi]))
    ko, ki = s[C].split(C.op.reduce_axis[0], rng.choice([2, 3]))
    if rng.random() < 0.5:
        s[C].unroll(ki)
    if rng.random() < 0.7:
        s[D].vectorize(yi)
    if rng.random() < 0.5:
        s[D].parallel(xo)
    return s, [A, B, D]


def stencil(rng):
    n = rng.choice([7, 16, te.var("n")])
    A = te.placeholder((n + 2,), name="A", dtype="int16")
    B = te.compute((n,), lambda i: A[i] + A[i + 1] * A[i + 2], name="B")
    C = te.compute((n,), lambda i: te.max(B[i], te.const(0, "int16")), name="C")
    s = te.create_schedule(C.op)
    if rng.random() < 0.5:
        s[B].compute_inline()
    else:
        s[B].double_buffer()
    o, i = s[C].split(C.op.axis[0], factor=rng.choice([3, 4]))
    if rng.random() < 0.5:
        s[C].vectorize(i)
    return s, [A, C]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("make", [matmul, stencil])
def test_every_pass_keeps_the_rules(make, seed):
    s, args = make(random.Random(seed))
    each = VerifyEach()
    with tvm.transform.PassContext(instruments=[each]):
        tvm.lower(s, args)
    assert len(each.names) > 5, each.names
