"""The interpreter's calls of foreign functions, structures on the stack, matched buffers."""

import numpy as np
import pytest
import tvm
from tvm import ir, tir
from tvm.tir.interpreter import evaluate, interpret


def buffers(*names, shape=(8,), dtype="float32", **options):
    return [tir.decl_buffer(shape, dtype, name=name, **options) for name in names]


def test_foreign_functions_are_registered_ones():
    seen = []

    @tvm.register_func("test_outside_sum", override=True)
    def total(data, count, text):
        seen.append(text)
        return float(np.sum(data.numpy()[:count]))

    A, B = buffers("A", "B")
    call = tir.call_extern("float32", "test_outside_sum", A.access_ptr("r", offset=2), 3, "hi")
    func = tir.PrimFunc([A, B], tir.BufferStore(B, call, [0]))
    a, b = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    interpret(func, a, b)
    assert b[0] == 2 + 3 + 4 and [str(item) for item in seen] == ["hi"]
    with pytest.raises(NotImplementedError, match="no function 'test_outside_none': register one"):
        evaluate(tir.call_extern("int32", "test_outside_none"))


def test_results_have_the_type_of_the_call():
    tvm.register_func("test_outside_big", lambda: 300, override=True)
    assert evaluate(tir.call_pure_extern("uint8", "test_outside_big")) == 44
    tvm.register_func("test_outside_third", lambda: 1 / 3, override=True)
    assert evaluate(tir.call_pure_extern("float32", "test_outside_third")) == np.float32(1 / 3)


def test_structures_on_the_stack():
    cells = tir.Var("cells", "handle")
    A = buffers("A", dtype="int32")[0]
    body = tir.SeqStmt([
        tir.Evaluate(tir.tvm_struct_set(cells, 1, 5, tir.const(42))),
        tir.BufferStore(A, tir.tvm_struct_get(cells, 1, 5, "int32"), [0]),
    ])  # fmt: skip
    func = tir.PrimFunc([A], tir.LetStmt(cells, tir.tvm_stack_alloca("arg_value", 2), body))
    a = np.zeros(8, "int32")
    interpret(func, a)
    assert a[0] == 42
    unwritten = tir.BufferStore(A, tir.tvm_struct_get(cells, 0, 5, "int32"), [0])
    func = tir.PrimFunc([A], tir.LetStmt(cells, tir.tvm_stack_alloca("arg_value", 2), unwritten))
    with pytest.raises(ValueError, match=r"field 5 of arg_value\[0\] on the stack was never"):
        interpret(func, a)


def block_of(target, source_region, body, values=(), axes=()):
    match = tir.stmt.MatchBufferRegion(target, source_region)
    block = tir.Block(list(axes), [], [], "b", body, match_buffers=[match])
    return tir.BlockRealize(list(values), True, block)


def test_a_block_matches_a_part_of_a_buffer():
    A = tir.decl_buffer((4, 6), "int32", name="A")
    step, offset = tir.Var("step"), tir.Var("offset")
    part = tir.decl_buffer((2, 3), "int32", name="part", strides=[step, 1], elem_offset=offset)
    region = tir.stmt.BufferRegion(A, [ir.Range(1, 3), ir.Range(2, 5)])
    i, j = tir.Var("i"), tir.Var("j")
    fill = tir.For(i, 0, 2, 0, tir.For(j, 0, 3, 0, tir.BufferStore(part, i * 10 + j + 1, [i, j])))
    a = np.zeros((4, 6), "int32")
    interpret(tir.PrimFunc([A], block_of(part, region, fill)), a)
    expected = np.zeros((4, 6), "int32")
    expected[1:3, 2:5] = [[1, 2, 3], [11, 12, 13]]
    np.testing.assert_array_equal(a, expected)


def test_a_match_that_does_not_fit_is_refused():
    A = tir.decl_buffer((4, 6), "int32", name="A")
    compact = tir.decl_buffer((2, 3), "int32", name="part")
    region = tir.stmt.BufferRegion(A, [ir.Range(1, 3), ir.Range(2, 5)])
    func = tir.PrimFunc([A], block_of(compact, region, tir.Evaluate(0)))
    with pytest.raises(ValueError, match="part: the matched region of A is not compact"):
        interpret(func, np.zeros((4, 6), "int32"))
    larger = tir.decl_buffer((3, 3), "int32", name="part", strides=[6, 1])
    func = tir.PrimFunc([A], block_of(larger, region, tir.Evaluate(0)))
    with pytest.raises(ValueError, match="part: 3 of the matched region is 2"):
        interpret(func, np.zeros((4, 6), "int32"))


def test_blocks_run_with_their_axes_init_and_predicate():
    A, B = buffers("A", dtype="int32")[0], tir.decl_buffer((2,), "int32", name="B")
    i, k = tir.Var("i"), tir.Var("k")
    vi = tir.IterVar((0, 2), "vi")
    vk = tir.IterVar((0, 4), "vk", tir.IterVar.CommReduce)
    update = tir.BufferStore(B, B[vi.var] + A[vi.var * 4 + vk.var], [vi.var])
    init = tir.BufferStore(B, tir.const(100), [vi.var])
    block = tir.Block([vi, vk], [], [], "sum", update, init=init)
    nest = tir.For(i, 0, 2, 0, tir.For(k, 0, 4, 0, tir.BlockRealize([i, k], k < 3, block)))
    func = tir.PrimFunc([A, B], nest)
    tir.verify.verify(func)
    a, b = np.arange(8, dtype="int32"), np.zeros(2, "int32")
    interpret(func, a, b)
    assert b.tolist() == [100 + 0 + 1 + 2, 100 + 4 + 5 + 6]
