"""Which functions are said to end within microseconds: only those that surely do."""

import struct

import pytest
import tvm
from tvm import te, tir
from tvm.tir.arg_table import ArgTable
from tvm.tir.brevity import MOST_WORK, is_brief


def lowered(make, *shape, schedule=None):
    A = te.placeholder(shape, name="A")
    B = make(A)
    s = te.create_schedule(B.op)
    if schedule is not None:
        schedule(s, B)
    return tvm.lower(s, [A, B])["main"]


def add_one(A):
    return te.compute(A.shape, lambda *i: A[i] + 1.0, name="B")


@pytest.mark.parametrize(
    ("shape", "brief"),
    [((8, 8), True), ((0, 5), True), ((MOST_WORK // 2,), True), ((MOST_WORK // 2 + 1,), False)],
)
def test_work_is_counted(shape, brief):
    assert is_brief(lowered(add_one, *shape)) is brief


def test_vectors_count_as_many_elements():
    def vectorize(s, B):
        s[B].vectorize(s[B].split(B.op.axis[0], 8)[1])

    assert is_brief(lowered(add_one, MOST_WORK // 2, schedule=vectorize))
    assert not is_brief(lowered(add_one, MOST_WORK, schedule=vectorize))


def test_long_sequences_are_added_up():
    def unroll(s, B):
        s[B].unroll(B.op.axis[0])

    assert not is_brief(lowered(add_one, 200, 100, schedule=unroll))


def test_unknown_extents_loops_and_threads():
    assert not is_brief(lowered(add_one, te.var("n")))
    assert not is_brief(lowered(add_one, 8, schedule=lambda s, B: s[B].parallel(B.op.axis[0])))
    x = tir.Var("x", "handle")
    assert not is_brief(tir.PrimFunc([x], tir.While(tir.const(1, "bool"), tir.Evaluate(0))))


@pytest.mark.parametrize(
    ("call", "brief"),
    [
        (lambda: tir.exp(tir.const(1.0, "float32")), True),
        (lambda: tir.call_extern("int32", "sleep", 1), False),
        (lambda: tir.call_pure_extern("int32", "sleep", 1), False),
        (lambda: tir.call_packed("testing.echo", 1), False),
        (lambda: tir.call_intrin("int32", "tir.tvm_storage_sync", "shared"), False),
    ],
)
def test_what_may_wait_is_not_brief(call, brief):
    assert is_brief(tir.PrimFunc([], tir.Evaluate(call()))) is brief


def test_mathematics_weighs_more():
    def exps(A):
        return te.compute(A.shape, lambda *i: te.exp(A[i]), name="B")

    assert is_brief(lowered(exps, 300))
    assert not is_brief(lowered(exps, MOST_WORK // 10))


def test_the_table_says_it():
    for shape, flag in (((8,), 1), ((100000,), 0)):
        data = ArgTable.from_prim_func(lowered(add_one, *shape)).to_bytes()
        assert struct.unpack_from("<I", data, 12) == (flag,)
