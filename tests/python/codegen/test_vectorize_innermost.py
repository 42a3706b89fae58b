"""Loops that nobody scheduled become vector loops with the same results."""

import numpy as np
import pytest
import tvm
from codegen_helpers import build, check_against_interpreter
from tvm import tir
from tvm.tir import BufferLoad, BufferStore, For, ForKind, PrimFunc, Var
from tvm.tir.transform.inline_index_lets import inline_index_lets
from tvm.tir.transform.vectorize_innermost import VectorUnit, vectorize_innermost

VECTORS = tir.Ramp.KIND | tir.Broadcast.KIND


def function(params, body, **attrs):
    return PrimFunc(params, body, None, None, {"global_symbol": "main", **attrs})


def is_vector(func):
    return bool(vectorize_innermost(func, 512).body.kinds & VECTORS)


def plus_one(kind=ForKind.SERIAL, begin=0, dtype="float32"):
    n, i = Var("n", "int32"), Var("i", "int32")
    A, B = tir.decl_buffer((n,), dtype, "A"), tir.decl_buffer((n,), dtype, "B")
    value = BufferLoad(A, [i]) + tir.const(1, dtype)
    return function([A, B], For(i, begin, n - begin, kind, BufferStore(B, value, [i])))


@pytest.mark.parametrize("kind", [ForKind.SERIAL, ForKind.PARALLEL])
@pytest.mark.parametrize("begin", [0, 5])
@pytest.mark.parametrize("dtype", ["float32", "int8", "float64", "float16"])
def test_element_wise(kind, begin, dtype):
    func = plus_one(kind, begin, dtype)
    assert is_vector(func)
    for size in (0, 3, 5, 16, 37, 200):
        a = np.arange(size).astype(dtype)
        check_against_interpreter(func, a, np.zeros_like(a))


def test_the_same_array_twice():
    func = build(plus_one())
    a = tvm.nd.array(np.arange(37, dtype="float32"))
    func(a, a)
    np.testing.assert_array_equal(a.numpy(), np.arange(37, dtype="float32") + 1)


def test_rewritten_shape():
    made = vectorize_innermost(plus_one(), 512)
    main, tail = made.body.seq
    assert type(main) is For
    assert type(tail) is For
    assert main.body.value.dtype == "float32x16"
    assert tail.body.value.dtype == "float32"


def test_a_function_without_loops_stays_itself():
    A = tir.decl_buffer((4,), "float32", "A")
    func = function([A], BufferStore(A, 1.0, [0]))
    assert vectorize_innermost(func, 512) is func


def serial(extent, make):
    i = Var("i", "int32")
    return For(i, 0, extent, ForKind.SERIAL, make(i))


@pytest.mark.parametrize(
    "store",
    [
        lambda A, i: BufferStore(A, BufferLoad(A, [i - 1]) + 1, [i]),
        lambda A, i: BufferStore(A, BufferLoad(A, [i + 1]) + 1, [i]),
        lambda A, i: BufferStore(A, i, [tir.floordiv(i, 2)]),
        lambda A, i: BufferStore(A, i, [i * 2]),
        lambda A, i: BufferStore(A, BufferLoad(A, [0]) + i, [0]),
        lambda A, i: tir.SeqStmt([BufferStore(A, i, [i]), BufferStore(A, i, [i + 1])]),
    ],
)
def test_loops_whose_turns_depend_on_each_other_stay(store):
    A = tir.decl_buffer((200,), "int32", "A")
    i = Var("i", "int32")
    func = function([A], For(i, 1, 64, ForKind.SERIAL, store(A, i)))
    assert not is_vector(func)
    check_against_interpreter(func, np.arange(200, dtype="int32"))


def test_buffers_that_may_overlap_stay():
    func = plus_one().with_attr("tir.noalias", False)
    assert not is_vector(func)


def test_columns_of_a_matrix_product():
    m, n, k = 5, 37, 7
    A = tir.decl_buffer((m * k,), "float32", "A")
    B = tir.decl_buffer((k * n,), "float32", "B")
    C = tir.decl_buffer((m * n,), "float32", "C")

    def cell(i, j):
        here = [i * n + j]
        more = serial(k, lambda p: BufferStore(
            C, BufferLoad(C, here) + BufferLoad(A, [i * k + p]) * BufferLoad(B, [p * n + j]), here
        ))  # fmt: skip
        return tir.SeqStmt([BufferStore(C, 0.0, here), more])

    func = function([A, B, C], serial(m, lambda i: serial(n, lambda j: cell(i, j))))
    assert is_vector(func)
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=size).astype("float32") for size in (m * k, k * n, m * n)]
    check_against_interpreter(func, *arrays, target="llvm -contract=0")


def test_rows_that_would_be_gathered_stay():
    A = tir.decl_buffer((64 * 8,), "float32", "A")
    C = tir.decl_buffer((64,), "float32", "C")

    def row(i):
        return serial(8, lambda p: BufferStore(
            C, BufferLoad(C, [i]) + BufferLoad(A, [i * 8 + p]), [i]
        ))  # fmt: skip

    func = function([A, C], serial(64, row))
    assert not is_vector(func)
    a = np.random.default_rng(0).normal(size=512).astype("float32")
    check_against_interpreter(func, a, np.zeros(64, "float32"))


def test_padding_reads_only_what_exists():
    n = Var("n", "int32")
    A, B = tir.decl_buffer((n,), "float32", "A"), tir.decl_buffer((n + 2,), "float32", "B")

    def make(i):
        inside = tir.And(tir.GE(i, 1), tir.LT(i, n + 1))
        value = tir.Call(
            "float32", "tir.if_then_else", [inside, BufferLoad(A, [i - 1]), tir.const(0.0)]
        )
        return BufferStore(B, value, [i])

    func = function([A, B], serial(n + 2, make))
    assert is_vector(func)
    for size in (1, 14, 30, 100):
        a = np.arange(1, size + 1, dtype="float32")
        check_against_interpreter(func, a, np.zeros(size + 2, "float32"))


def test_empty_and_negative_extents():
    n = Var("n", "int32")
    A = tir.decl_buffer((64,), "int32", "A")
    func = function([A, n], serial(n, lambda i: BufferStore(A, i + 1, [i])))
    assert is_vector(func)
    f = build(func)
    for value in (-3, 0, 2, 33):
        a = tvm.nd.array(np.zeros(64, "int32"))
        f(a, value)
        expected = np.zeros(64, "int32")
        expected[: max(value, 0)] = np.arange(1, max(value, 0) + 1)
        np.testing.assert_array_equal(a.numpy(), expected)


def test_option_switches_it_off():
    with tvm.transform.PassContext(config={"tir.disable_vectorize": True}):
        text = build(plus_one()).get_source()
    assert "x float>" not in text
    assert "x float>" in build(plus_one()).get_source()


def test_names_of_indices_do_not_hide_dependences():
    """B[i + c] with c = k: turns of i depend on each other, which the name c hides."""
    A, B = tir.decl_buffer((200,), "int32", "A"), tir.decl_buffer((200,), "int32", "B")
    c = Var("c", "int32")

    def cell(i):
        def step(k):
            here = [i + c]
            store = BufferStore(B, BufferLoad(B, here) * 3 + BufferLoad(A, [i]), here)
            return tir.LetStmt(c, k * 2, store)

        return serial(5, step)

    func = function([A, B], serial(64, cell))
    arrays = np.arange(200, dtype="int32"), np.ones(200, "int32")
    check_against_interpreter(func, *arrays)


def test_named_indices_are_vectorised_all_the_same():
    A, B = tir.decl_buffer((64,), "float32", "A"), tir.decl_buffer((64,), "float32", "B")
    c = Var("c", "int32")

    def turn(i):
        return tir.LetStmt(c, i + 0, BufferStore(B, BufferLoad(A, [c]) * 2.0, [c]))

    func = function([A, B], serial(64, turn))
    assert "x float>" in build(func).get_source()
    check_against_interpreter(func, np.arange(64, dtype="float32"), np.zeros(64, "float32"))


@pytest.mark.parametrize("shape", [(5, 3), (4, 7, 3), (1, 33), (6, 1, 2), (0, 4), ("m", "n")])
@pytest.mark.parametrize("kind", [ForKind.SERIAL, ForKind.PARALLEL])
def test_nests_over_whole_arrays_are_one_loop(shape, kind):
    sizes = [Var(item, "int32") if isinstance(item, str) else item for item in shape]
    A = tir.decl_buffer(sizes, "float32", "A")
    B = tir.decl_buffer(sizes, "float32", "B")
    variables = [Var(f"i{axis}", "int32") for axis in range(len(shape))]
    body = BufferStore(B, BufferLoad(A, variables) * 2.0, variables)
    for axis, (var, size) in reversed(list(enumerate(zip(variables, sizes, strict=True)))):
        body = For(var, 0, size, ForKind.SERIAL if axis else kind, body)
    func = function([A, B], body)
    flat = inline_index_lets(tvm.lower(func)["main"])
    loops = []
    made = vectorize_innermost(flat, VectorUnit(512, True))
    tir.stmt_functor.post_order_visit(
        made.body, lambda node: loops.append(node) if isinstance(node, For) else None
    )
    if 0 not in shape and np.prod([3 if isinstance(x, str) else x for x in shape]) >= 4:
        assert len(loops) <= 1
    for extents in [(2, 3), (9, 5), (1, 70), (3, 0)] if "m" in shape else [shape]:
        data = np.random.default_rng(0).normal(size=extents).astype("float32")
        out = tvm.nd.empty(extents)
        tvm.build(func, target="llvm")(tvm.nd.array(data), out)
        np.testing.assert_array_equal(out.numpy(), data * 2)


def test_what_does_not_go_through_memory_in_order_stays_a_nest():
    A = tir.decl_buffer((60,), "float32", "A")
    B = tir.decl_buffer((60,), "float32", "B")
    rng = np.random.default_rng(0)
    data = rng.normal(size=60).astype("float32")
    for value in (
        lambda i, j: BufferLoad(A, [j]),
        lambda i, j: BufferLoad(A, [j * 5 + i]),
        lambda i, j: BufferLoad(A, [i * 12 + j]) + j.astype("float32"),
        lambda i, j: BufferLoad(A, [i * 11 + j]),
    ):
        func = function(
            [A, B],
            serial(5, lambda i, value=value: serial(
                12, lambda j: BufferStore(B, value(i, j), [i * 12 + j])
            )),
        )  # fmt: skip
        check_against_interpreter(func, data, np.zeros(60, "float32"))
