"""The shape of fast code: masked ends, stores round the caches, sums in registers."""

import numpy as np
import pytest
import tvm
from codegen_helpers import build, check_against_interpreter
from tvm import te, tir
from tvm.codegen.llvm.machine import machine_for
from tvm.tir import BufferLoad, BufferStore, For, ForKind, PrimFunc, Var
from tvm.tir.transform.vectorize_innermost import LANE_MASK, STREAM, VectorUnit, vectorize_innermost


def function(params, body):
    return PrimFunc(params, body, None, None, {"global_symbol": "main"})


def serial(extent, make, kind=ForKind.SERIAL, begin=0):
    i = Var("i", "int32")
    return For(i, begin, extent, kind, make(i))


def plus_one(dtype="float32", kind=ForKind.SERIAL, begin=0):
    n = Var("n", "int32")
    A, B = tir.decl_buffer((n,), dtype, "A"), tir.decl_buffer((n,), dtype, "B")

    def make(i):
        return BufferStore(B, BufferLoad(A, [i]) + tir.const(1, dtype), [i])

    return function([A, B], serial(n - begin, make, kind, begin))


def annotations(func):
    """Marks of the loops and statements in a function."""
    found = []

    def visit(node):
        if isinstance(node, For):
            found.extend(node.annotations)
        elif isinstance(node, tir.AttrStmt):
            found.append(node.attr_key)

    tir.stmt_functor.post_order_visit(func.body, visit)
    return found


# ---- masked ends
@pytest.fixture
def masks():
    if not machine_for(None).vectors.masks:
        pytest.skip("this processor has no masked vectors")


def test_the_rest_is_one_masked_vector():
    marks = annotations(vectorize_innermost(plus_one(), VectorUnit(512, True)))
    assert marks.count(LANE_MASK) == 1
    assert LANE_MASK not in annotations(vectorize_innermost(plus_one(), VectorUnit(512)))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint16", "bool"])
def test_ends_of_every_length(dtype):
    n = Var("n", "int32")
    A, B = tir.decl_buffer((n,), dtype, "A"), tir.decl_buffer((n,), dtype, "B")
    func = function([A, B], serial(n, lambda i: BufferStore(B, BufferLoad(A, [i]), [i])))
    compiled = build(func)
    rng = np.random.default_rng(0)
    for size in range(70):
        given = rng.integers(0, 2, size).astype(dtype)
        whole = np.full(size + 64, 3 if dtype != "bool" else 0).astype(dtype)
        out = tvm.nd.array(whole)
        view = tvm.nd.from_dlpack(np.from_dlpack(out)[:size])
        compiled(tvm.nd.array(given), view)
        np.testing.assert_array_equal(out.numpy()[:size], given)
        np.testing.assert_array_equal(out.numpy()[size:], whole[size:])


def test_nothing_is_read_behind_the_end():
    """The last page of a mapping: a lane too much would end the process."""
    import mmap

    page = mmap.PAGESIZE
    area = mmap.mmap(-1, 2 * page)
    import ctypes

    address = ctypes.addressof(ctypes.c_char.from_buffer(area))
    libc = ctypes.CDLL(None)
    assert libc.mprotect(ctypes.c_void_p(address + page), ctypes.c_size_t(page), 0) == 0
    try:
        compiled = build(plus_one())
        for size in (1, 5, 15, 17, 31):
            row = np.frombuffer(area, "float32", size, page - 4 * size)
            row[:] = np.arange(size)
            out = tvm.nd.empty((size,))
            compiled(tvm.nd.from_dlpack(row), out)
            np.testing.assert_array_equal(out.numpy(), np.arange(size) + 1)
    finally:
        libc.mprotect(ctypes.c_void_p(address + page), ctypes.c_size_t(page), 3)
        del row


# ---- stores round the caches
@pytest.fixture
def streaming(masks, monkeypatch):
    """Loops of more than 1000 bytes count as too large for the caches."""
    monkeypatch.setattr(machine_for(None), "vectors", VectorUnit(512, True, 1000))


def test_what_streams():
    unit = VectorUnit(512, True, 1000)
    assert STREAM in annotations(vectorize_innermost(plus_one(), unit))
    # narrower than a cache line a vector, in place, inside of another loop: through the caches
    assert STREAM not in annotations(vectorize_innermost(plus_one("float16"), unit))
    A = tir.decl_buffer((4096,), "float32", "A")

    def store(i):
        return BufferStore(A, BufferLoad(A, [i]) + 1.0, [i])

    assert STREAM not in annotations(vectorize_innermost(function([A], serial(4096, store)), unit))
    B = tir.decl_buffer((4096,), "float32", "B")

    def row(i):
        return serial(64, lambda j: BufferStore(B, BufferLoad(A, [j * 64 + i]), [i * 64 + j]))

    func = function([A, B], serial(64, row))
    assert STREAM not in annotations(vectorize_innermost(func, unit))


def test_a_known_size_decides_at_once():
    unit = VectorUnit(512, True, 1000)

    def copy(size):
        A, B = tir.decl_buffer((size,), "float32", "A"), tir.decl_buffer((size,), "float32", "B")
        func = function([A, B], serial(size, lambda i: BufferStore(B, BufferLoad(A, [i]), [i])))
        return annotations(vectorize_innermost(func, unit))

    assert STREAM not in copy(100)
    assert STREAM in copy(500)


@pytest.mark.parametrize("begin", [0, 3])
@pytest.mark.parametrize("kind", [ForKind.SERIAL, ForKind.PARALLEL])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int8"])
def test_streamed_values(streaming, kind, dtype, begin):
    compiled = build(plus_one(dtype, kind, begin))
    text = compiled.get_source()
    assert "!nontemporal" in text
    assert "llvm.x86.sse.sfence" in text
    for size in (0, 4, 100, 126, 260, 1100):
        for shift in (0, 1, 5):
            room = tvm.nd.array(np.zeros(size + 2 * shift + 9, dtype))
            out = np.from_dlpack(room)[shift : shift + size]
            given = (np.arange(size) % 100).astype(dtype)
            compiled(tvm.nd.array(given), tvm.nd.from_dlpack(out))
            expected = np.zeros(size + 2 * shift + 9, dtype)
            expected[shift + begin : shift + size] = given[begin:] + 1
            np.testing.assert_array_equal(room.numpy(), expected)


def test_streamed_onto_itself(streaming):
    a = tvm.nd.array(np.arange(1000, dtype="float32"))
    build(plus_one())(a, a)
    np.testing.assert_array_equal(a.numpy(), np.arange(1000, dtype="float32") + 1)


# ---- sums in registers
def sum_of_rows(dtype="float32"):
    A = tir.decl_buffer((40 * 9,), dtype, "A")
    B = tir.decl_buffer((40,), dtype, "B")

    def row(i):
        def step(k):
            return BufferStore(B, BufferLoad(B, [i]) + BufferLoad(A, [i * 9 + k]), [i])

        return tir.SeqStmt([BufferStore(B, tir.const(0, dtype), [i]), serial(9, step)])

    return function([A, B], serial(40, row))


def test_a_sum_stays_in_a_register():
    text = build(sum_of_rows()).get_source("opt.ll")
    body = text[text.index("@main_compute_") :]
    body = body[: body.index("\n}\n")]
    (loop,) = [
        block
        for block in body.split("\n\n")
        if block.startswith("loop") and "fadd" in block
    ]  # fmt: skip
    assert "store" not in loop
    assert loop.count(" = load") == 1


@pytest.mark.parametrize("dtype", ["float32", "int8", "float16", "bool"])
def test_sums(dtype):
    if dtype == "bool":
        A, B = tir.decl_buffer((30,), "bool", "A"), tir.decl_buffer((1,), "bool", "B")

        def step(k):
            return BufferStore(B, tir.Or(BufferLoad(B, [0]), BufferLoad(A, [k])), [0])

        func = function([A, B], serial(30, step))
        for where in (0, 29, 40):
            check_against_interpreter(func, np.arange(30) == where, np.zeros(1, bool))
        return
    rng = np.random.default_rng(1)
    given = rng.integers(-9, 9, 360).astype(dtype)
    check_against_interpreter(sum_of_rows(dtype), given, np.zeros(40, dtype))


def test_a_loop_without_turns_touches_nothing():
    """The element may not even exist."""
    n = Var("n", "int32")
    A, B = tir.decl_buffer((n,), "float32", "A"), tir.decl_buffer((n,), "float32", "B")
    func = function(
        [A, B],
        serial(n, lambda k: BufferStore(B, BufferLoad(B, [0]) + BufferLoad(A, [k]), [0])),
    )
    compiled = build(func)
    empty = tvm.nd.array(np.zeros(0, "float32"))
    compiled(empty, tvm.nd.array(np.zeros(0, "float32")))
    check_against_interpreter(func, np.arange(5, dtype="float32"), np.ones(5, "float32"))


@pytest.mark.parametrize(
    "step",
    [
        # a neighbour that is only read, one that overlaps, one that moves, a guard
        lambda B, k: BufferStore(B, BufferLoad(B, [3]) + BufferLoad(B, [4]), [3]),
        lambda B, k: tir.SeqStmt([
            BufferStore(B, BufferLoad(B, [3]) * 2.0, [3]),
            BufferStore(B, BufferLoad(B, [k]) + 1.0, [k]),
        ]),
        lambda B, k: BufferStore(B, BufferLoad(B, [k]) + BufferLoad(B, [3]), [3]),
        lambda B, k: tir.IfThenElse(
            tir.GT(k, 2), BufferStore(B, BufferLoad(B, [3]) + 1.0, [3])
        ),
        lambda B, k: tir.SeqStmt([
            BufferStore(B, BufferLoad(B, [tir.Ramp(0, 1, 4)]) * tir.Broadcast(2.0, 4),
                        [tir.Ramp(0, 1, 4)]),
            BufferStore(B, BufferLoad(B, [tir.Ramp(2, 1, 4)]) + tir.Broadcast(1.0, 4),
                        [tir.Ramp(2, 1, 4)]),
        ]),
        lambda B, k: tir.SeqStmt([
            BufferStore(B, BufferLoad(B, [tir.Ramp(0, 1, 4)]) * tir.Broadcast(2.0, 4),
                        [tir.Ramp(0, 1, 4)]),
            BufferStore(B, BufferLoad(B, [tir.Ramp(4, 1, 4)]) + tir.Broadcast(1.0, 4),
                        [tir.Ramp(4, 1, 4)]),
        ]),
    ],
)  # fmt: skip
def test_what_does_not_stay_in_registers_is_right_too(step):
    B = tir.decl_buffer((10,), "float32", "B")
    func = function([B], serial(6, lambda k: step(B, k)))
    check_against_interpreter(func, np.arange(10, dtype="float32"))


def test_an_element_whose_address_is_taken_stays_in_memory():
    B = tir.decl_buffer((4,), "int64", "B")

    def body(value):
        func = function([B], serial(50, lambda k: BufferStore(B, value, [1])))
        return build(func).get_source().split("@main_compute_", 1)[1].split("\n}\n", 1)[0]

    address = tir.Call("handle", "tir.address_of", [BufferLoad(B, [1])])
    number = tir.Call("int64", "tir.reinterpret", [address])
    assert "alloca i64" in body(BufferLoad(B, [1]) + 1)
    assert "alloca i64" not in body(BufferLoad(B, [1]) + number)


def test_nested_reductions():
    A, B = tir.decl_buffer((7 * 20,), "float32", "A"), tir.decl_buffer((5,), "float32", "B")

    def cell(i):
        def step(k, q):
            return BufferStore(B, BufferLoad(B, [i]) + BufferLoad(A, [i * 20 + k * 5 + q]), [i])

        return serial(4, lambda k: serial(5, lambda q: step(k, q)))

    func = function([A, B], serial(5, cell))
    rng = np.random.default_rng(2)
    check_against_interpreter(func, rng.normal(size=140).astype("float32"), np.ones(5, "float32"))


# ---- cheap code generation where it is as good
def test_short_vector_loops_take_the_short_way():
    head = build(plus_one()).get_source().split("@main_compute_", 1)[1].split("\n", 1)[0]
    cheap = machine_for(None).has_fast_selection
    assert head.endswith("#1 {" if cheap else "#0 {")
    head = build(sum_of_rows()).get_source().split("@main_compute_", 1)[1].split("\n", 1)[0]
    assert head.endswith("#0 {")


def test_many_constants_are_kept_in_registers():
    a = te.placeholder((4096,), name="A")
    b = te.compute((4096,), lambda i: te.exp(a[i]), name="B")
    text = tvm.build(te.create_schedule(b.op), [a, b], "llvm", name="main").get_source()
    head = text.split("@main_compute_", 1)[1].split("\n", 1)[0]
    assert head.endswith("#0 {")
