"""Each pass by itself: what it changes, what it leaves alone."""

import numpy as np
import pytest
import tvm
from tvm import tir
from tvm.tir import transform
from tvm.tir.interpreter import interpret


def function(body, *buffers, scalars=()):
    params = list(scalars)
    buffer_map = {}
    for buffer in buffers:
        handle = tir.Var(buffer.name, "handle")
        params.append(handle)
        buffer_map[handle] = buffer
    func = tir.PrimFunc(params, body, buffer_map=buffer_map, attrs={"global_symbol": "main"})
    return tvm.IRModule({"main": func})


def buffers(*names, size=16, dtype="float32"):
    return [tir.decl_buffer((size,), dtype, name) for name in names]


def loop(var, extent, body, kind=tir.ForKind.SERIAL):
    return tir.For(var, 0, extent, kind, body)


def run(mod, *arrays):
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arrays]
    interpret(mod["main"], *copies)
    return copies


def both(make_pass, mod, *arrays):
    """The module after the pass; it does what it did before."""
    after = make_pass(mod)
    for a, b in zip(run(mod, *arrays), run(after, *arrays)):
        np.testing.assert_array_equal(a, b)
    assert make_pass(after) is after
    return after


def ramp(n=16, dtype="float32"):
    return np.arange(n).astype(dtype)


# ---- vectorize
def test_vectorize_contiguous():
    A, B = buffers("A", "B")
    i = tir.Var("i")
    body = loop(i, 16, tir.BufferStore(B, A[i] * 2.0, [i]), tir.ForKind.VECTORIZED)
    after = both(transform.VectorizeLoop(), function(body, A, B), ramp(), ramp())
    store = after["main"].body
    assert isinstance(store, tir.BufferStore) and isinstance(store.indices[0], tir.Ramp)
    assert store.value.dtype == "float32x16"


@pytest.mark.parametrize("what", ["strided", "gather", "reversed", "invariant", "cast", "select"])
def test_vectorize_forms(what):
    A, B = buffers("A", "B")
    P = tir.decl_buffer((16,), "int32", "P")
    i = tir.Var("i")
    value = {
        "strided": lambda: A[i * 3],
        "gather": lambda: A[P[i]],
        "reversed": lambda: A[15 - i],
        "invariant": lambda: A[3],
        "cast": lambda: (P[i] + i).astype("float32"),
        "select": lambda: tir.Select(i < 2, A[i], A[i + 1]),
    }[what]()
    body = loop(i, 4, tir.BufferStore(B, value, [i]), tir.ForKind.VECTORIZED)
    mod = function(body, A, B, P)
    order = np.arange(16, dtype="int32")[::-1].copy()
    after = both(transform.VectorizeLoop(), mod, ramp(), ramp() * 0, order)
    assert not after["main"].body.kinds & tir.For.KIND


def test_vectorize_falls_back_lane_by_lane():
    A, B = buffers("A", "B")
    i, j = tir.Var("i"), tir.Var("j")
    guarded = tir.IfThenElse(i < 3, tir.BufferStore(B, A[i], [i]))
    plain = tir.BufferStore(B, A[i + 4], [i + 4])
    inner = loop(j, i + 1, tir.BufferStore(B, B[i + 8] + A[j], [i + 8]))
    body = loop(i, 4, tir.SeqStmt([guarded, plain, inner]), tir.ForKind.VECTORIZED)
    after = both(transform.VectorizeLoop(), function(body, A, B), ramp(), ramp() * 0)
    parts = after["main"].body.seq
    assert [type(p).__name__ for p in parts] == ["For", "BufferStore", "For"]


def test_vectorize_private_memory():
    A, B = buffers("A", "B")
    i = tir.Var("i")
    t = tir.decl_buffer((1,), "float32", "t")
    work = tir.SeqStmt([tir.BufferStore(t, A[i] + 1.0, [0]), tir.BufferStore(B, t[0] * 2.0, [i])])
    body = tir.Allocate(t.data, "float32", [1], tir.const(True), work)
    mod = function(loop(i, 8, body, tir.ForKind.VECTORIZED), A, B)
    after = both(transform.VectorizeLoop(), mod, ramp(), ramp() * 0)
    assert int(after["main"].body.extents[0]) == 8


def test_vectorize_needs_a_constant():
    A, B = buffers("A", "B")
    i, n = tir.Var("i"), tir.Var("n")
    body = loop(i, n, tir.BufferStore(B, A[i], [i]), tir.ForKind.VECTORIZED)
    mod = function(body, A, B, scalars=[n])
    with pytest.raises(tvm.error.ScheduleError, match="extent n.*split it by a constant"):
        transform.VectorizeLoop()(mod)
    assert "range" in str(transform.VectorizeLoop(False)(mod))


# ---- unroll
def test_unroll():
    A, B = buffers("A", "B")
    i, j = tir.Var("i"), tir.Var("j")
    inner = loop(j, 2, tir.BufferStore(B, A[i * 2 + j], [i * 2 + j]))
    body = loop(i, 3, inner, tir.ForKind.UNROLLED)
    after = both(transform.UnrollLoop(), function(body, A, B), ramp(), ramp() * 0)
    loops = after["main"].body.seq
    assert len(loops) == 3 and len({id(x.loop_var) for x in loops}) == 3


def test_unroll_inside_opaque_positions():
    """The variable is replaced wherever it stands: in selects, casts and loads of positions."""
    A, B = buffers("A", "B")
    P = tir.decl_buffer((16,), "int32", "P")
    i, j = tir.Var("i"), tir.Var("j")
    at = tir.Select(i < 2, i + 1, i * 2) + tir.Div(i * 7, tir.IntImm("int32", 3))
    value = A[at] + A[P[i] + i] + i.astype("float32")
    store = tir.BufferStore(B, value, [tir.Select(j < i, i, j + i)])
    body = loop(j, 2, loop(i, 4, store, tir.ForKind.UNROLLED), tir.ForKind.UNROLLED)
    order = np.arange(16, dtype="int32")[::-1].copy()
    mod = function(body, A, B, P)
    after = both(transform.UnrollLoop(), mod, ramp(), ramp() * 0, order % 4)
    assert len(after["main"].body.seq) == 8 and not after["main"].body.kinds & tir.For.KIND


def test_unroll_automatic():
    A, B = buffers("A", "B")
    i = tir.Var("i")
    body = loop(i, 4, tir.BufferStore(B, A[i], [i]))
    mod = function(body, A, B)
    assert transform.UnrollLoop()(mod) is mod
    with tvm.transform.PassContext(config={"tir.UnrollLoop": {"auto_max_step": 4}}):
        assert len(transform.UnrollLoop()(mod)["main"].body.seq) == 4
    with tvm.transform.PassContext(config={"tir.UnrollLoop": {"auto_max_step": 3}}):
        assert transform.UnrollLoop()(mod) is mod
    marked = tir.AttrStmt(i, "pragma_auto_unroll_max_step", 8, body)
    assert len(transform.UnrollLoop()(function(marked, A, B))["main"].body.seq) == 4


# ---- simplify
def test_simplify_guards():
    A, B = buffers("A", "B")
    i, j = tir.Var("i"), tir.Var("j")
    store = tir.BufferStore(B, A[i * 4 + j], [i * 4 + j + 0])
    body = loop(i, 4, loop(j, 4, tir.IfThenElse(tir.likely(i * 4 + j < 16), store)))
    after = both(transform.Simplify(), function(body, A, B), ramp(), ramp() * 0)
    assert not after["main"].body.kinds & tir.IfThenElse.KIND
    never = loop(i, 4, tir.IfThenElse(i > 7, store))
    out = transform.Simplify()(function(never, A, B))["main"].body
    assert isinstance(out, tir.Evaluate)


def test_simplify_keeps_floats_exact():
    """x * 0, x + 0 and x - x are not 0, x, 0 for every float."""
    A, B = buffers("A", "B")
    i = tir.Var("i")
    value = (A[i] * 0.0 + 0.0) + (A[i] - A[i])
    body = loop(i, 16, tir.BufferStore(B, value, [i]))
    data = np.array([np.inf, -np.inf, np.nan, -0.0, 1] + [0] * 11, "float32")
    both(transform.Simplify(), function(body, A, B), data, np.zeros(16, "float32"))


def test_simplify_wraps_data():
    A, B = buffers("A", "B", dtype="int8")
    i = tir.Var("i")
    value = tir.FloorDiv(A[i] * tir.IntImm("int8", 2), tir.IntImm("int8", 2))
    body = loop(i, 16, tir.BufferStore(B, value, [i]))
    data = np.arange(-128, 127, 16).astype("int8")
    both(transform.Simplify(), function(body, A, B), data, data * 0)


# ---- loop partition
@pytest.mark.parametrize("n", [0, 1, 3, 4, 7, 8, 15])
@pytest.mark.parametrize("kind", [tir.ForKind.SERIAL, tir.ForKind.PARALLEL])
def test_partition_symbolic(n, kind):
    size = tir.Var("n")
    A = tir.decl_buffer((size,), "float32", "A")
    B = tir.decl_buffer((size,), "float32", "B")
    o, i = tir.Var("o"), tir.Var("i")
    store = tir.BufferStore(B, A[o * 4 + i] + 1.0, [o * 4 + i])
    guarded = tir.IfThenElse(tir.likely(o * 4 + i < size), store)
    body = loop(o, (size + 3) // 4, loop(i, 4, guarded), kind)
    after = both(transform.LoopPartition(), function(body, A, B), ramp(n), ramp(n) * 0)
    assert "likely" not in str(after)


def test_partition_two_sided():
    A, B = buffers("A", "B")
    o, i = tir.Var("o"), tir.Var("i")
    at = o * 4 + i - 2
    cond = tir.IfThenElse(
        tir.likely(at >= 0), tir.IfThenElse(tir.likely(at < 16), tir.BufferStore(B, A[at], [at]))
    )
    body = loop(o, 5, loop(i, 4, cond))
    after = both(transform.LoopPartition(), function(body, A, B), ramp(), ramp() * 0)
    assert "likely" not in str(after)


def test_partition_leaves_data_tests_alone():
    A, B = buffers("A", "B")
    i = tir.Var("i")
    body = loop(i, 16, tir.IfThenElse(tir.likely(A[i] > 3.0), tir.BufferStore(B, A[i], [i])))
    mod = function(body, A, B)
    assert transform.LoopPartition()(mod) is mod


# ---- remove no-op, unsafe select
def test_remove_no_op():
    A, B = buffers("A", "B")
    i = tir.Var("i")
    nothing = loop(i, 4, tir.Evaluate(0))
    store = tir.BufferStore(B, A[0], [0])
    after = transform.RemoveNoOp()(function(tir.SeqStmt([nothing, store]), A, B))
    assert after["main"].body is store
    call = tir.Evaluate(tir.call_extern("int32", "f"))
    mod = function(loop(i, 4, call), A, B)
    assert transform.RemoveNoOp()(mod) is mod
    pure = tir.Evaluate(tir.exp(A[0]))
    assert isinstance(transform.RemoveNoOp()(function(pure, A))["main"].body, tir.Evaluate)


def test_rewrite_unsafe_select():
    A, B = buffers("A", "B")
    i = tir.Var("i")
    zero = tir.const(0.0, "float32")
    outside = tir.Select(i >= 1, A[i - 1], zero)
    body = loop(i, 16, tir.BufferStore(B, outside, [i]))
    after = transform.RewriteUnsafeSelect()(function(body, A, B))
    assert "if_then_else" in str(after)
    inside = tir.Select(i >= 1, A[i], zero)
    mod = function(loop(i, 16, tir.BufferStore(B, inside, [i])), A, B)
    assert transform.RewriteUnsafeSelect()(mod) is mod


# ---- pass machinery
def test_function_pass():
    A, B = buffers("A", "B")
    mod = function(tir.BufferStore(B, A[0], [0]), A, B)

    @transform.prim_func_pass(opt_level=1)
    class Mark:
        """Sets an attribute."""

        def __init__(self, value):
            self.value = value

        def transform_function(self, func, mod, ctx):
            return func.with_attr("mark", self.value)

    assert Mark(3)(mod)["main"].attrs["mark"] == 3 and "mark" not in mod["main"].attrs
    sequence = tvm.transform.Sequential([Mark(1), Mark(2)])
    assert sequence(mod)["main"].attrs["mark"] == 2
    with tvm.transform.PassContext(opt_level=0):
        assert sequence(mod) is mod
    with pytest.raises(TypeError, match="expected an IRModule"):
        Mark(1)(mod["main"])
