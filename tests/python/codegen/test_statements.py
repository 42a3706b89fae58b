"""Loops, branches, memory, parallel parts, errors: compiled against interpreted or by hand."""

import numpy as np
import pytest
import tvm
from codegen_helpers import build, check_against_interpreter
from tvm import tir
from tvm.tir import BufferLoad, BufferStore, For, ForKind, PrimFunc, Ramp, Var


def function(params, body, **attrs):
    return PrimFunc(params, body, None, None, {"global_symbol": "main", **attrs})


def loop(extent, make, kind=ForKind.SERIAL, begin=0):
    i = Var("i", "int32")
    return For(i, begin, extent, kind, make(i))


def ints(*shape):
    return np.arange(int(np.prod(shape)), dtype="int32").reshape(shape)


@pytest.mark.parametrize("kind", [ForKind.SERIAL, ForKind.PARALLEL, ForKind.UNROLLED])
@pytest.mark.parametrize(("begin", "extent"), [(0, 10), (3, 7), (0, 1), (0, 0), (-2, 5)])
def test_loops(kind, begin, extent):
    A = tir.decl_buffer((16,), "int32", "A")
    body = loop(extent, lambda i: BufferStore(A, i * 3 + 1, [i + 2]), kind, begin)
    check_against_interpreter(function([A], body), np.zeros(16, "int32"))


def test_symbolic_bounds_and_scalar_arguments():
    n, m = Var("n", "int32"), Var("m", "int64")
    x, flag = Var("x", "float32"), Var("flag", "bool")
    A = tir.decl_buffer((n,), "float32", "A")
    i = Var("i", "int32")
    value = tir.Select(flag, x + tir.Cast("float32", m), BufferLoad(A, [i]))
    func = function([A, m, x, flag], For(i, 0, n, ForKind.SERIAL, BufferStore(A, value, [i])))
    f = build(func)
    a = tvm.nd.array(np.ones(5, "float32"))
    f(a, 2, 0.1, False)
    np.testing.assert_array_equal(a.numpy(), np.ones(5, "float32"))
    f(a, -(1 << 40), 0.1, True)
    expected = np.float32(0.1) + np.float32(-(1 << 40))
    np.testing.assert_array_equal(a.numpy(), np.full(5, expected, "float32"))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "float16", "float64"])
def test_scalar_arguments_of_each_type(dtype):
    x = Var("x", dtype)
    A = tir.decl_buffer((1,), dtype, "A")
    f = build(function([A, x], BufferStore(A, x, [0])))
    a = tvm.nd.array(np.zeros(1, dtype))
    values = [0, 1, 100, 1.5, -2.25] if dtype.startswith("float") else [0, 1, 100]
    for value in values + ([-7] if not dtype.startswith("u") else []):
        f(a, value)
        assert a.numpy()[0] == value


@pytest.mark.parametrize("stride", [1, -1, 2, 3, -2, 0])
@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "float16", "float64"])
def test_vector_loads_by_stride(stride, dtype):
    A = tir.decl_buffer((64,), dtype, "A")
    B = tir.decl_buffer((16,), dtype, "B")
    start = 40 if stride < 0 else 3
    source = tir.Ramp(start, stride, 16) if stride else tir.Broadcast(tir.IntImm("int32", 5), 16)
    body = BufferStore(B, BufferLoad(A, [source]), [Ramp(0, 1, 16)])
    a = (np.arange(64) % 7).astype(dtype)
    check_against_interpreter(function([A, B], body), a, np.zeros(16, dtype))


@pytest.mark.parametrize("stride", [1, -1, 2, 3])
@pytest.mark.parametrize("dtype", ["float32", "int8", "bool"])
def test_vector_stores_by_stride(stride, dtype):
    A = tir.decl_buffer((64,), dtype, "A")
    B = tir.decl_buffer((16,), dtype, "B")
    start = 40 if stride < 0 else 3
    body = BufferStore(A, BufferLoad(B, [Ramp(0, 1, 16)]), [Ramp(start, stride, 16)])
    b = (np.arange(16) % 5).astype(dtype)
    check_against_interpreter(function([A, B], body), np.zeros(64, dtype), b)


@pytest.mark.parametrize("target", ["llvm", "llvm -mcpu=x86-64-v2"])
@pytest.mark.parametrize("lanes", [4, 16])
def test_gather_and_scatter(lanes, target):
    A = tir.decl_buffer((64,), "float32", "A")
    P = tir.decl_buffer((lanes,), "int32", "P")
    B = tir.decl_buffer((lanes,), "float32", "B")
    C = tir.decl_buffer((64,), "float32", "C")
    row = Ramp(0, 1, lanes)
    place = BufferLoad(P, [row])
    body = tir.SeqStmt([
        BufferStore(B, BufferLoad(A, [place]), [row]),
        BufferStore(C, BufferLoad(B, [row]), [place]),
    ])  # fmt: skip
    rng = np.random.default_rng(0)
    check_against_interpreter(
        function([A, P, B, C], body),
        rng.normal(size=64).astype("float32"),
        rng.integers(0, 64, lanes).astype("int32"),
        np.zeros(lanes, "float32"),
        np.zeros(64, "float32"),
        target=target,
    )


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
def test_packed_elements(dtype):
    size = 15
    A = tir.decl_buffer((size,), dtype, "A")
    B = tir.decl_buffer((size,), dtype, "B")
    body = loop(
        size, lambda i: BufferStore(B, tir.Add(BufferLoad(A, [i]), tir.IntImm(dtype, 3)), [i])
    )
    signed = dtype == "int4"
    values = (np.arange(size) % 16 - (8 if signed else 0)).astype("int8" if signed else "uint8")
    a, b = tvm.nd.empty((size,), dtype), tvm.nd.empty((size,), dtype)
    a.copyfrom(values)
    b.copyfrom(values * 0)
    build(function([A, B], body))(a, b)
    expected = (values.astype(int) + 3) % 16
    if signed:
        expected = np.where(expected > 7, expected - 16, expected)
    np.testing.assert_array_equal(b.numpy(), expected)


def test_masked_vector_choice_does_not_touch_other_memory():
    """Lanes that the condition refuses would read far outside of the buffer."""
    A = tir.decl_buffer((16,), "float32", "A")
    B = tir.decl_buffer((32,), "float32", "B")
    row = Ramp(0, 1, 32)
    far = tir.Mul(row, tir.Broadcast(tir.IntImm("int32", 1), 32))
    inside = tir.LT(row, tir.Broadcast(tir.IntImm("int32", 16), 32))
    index = tir.Select(inside, far, tir.Broadcast(tir.IntImm("int32", 1 << 30), 32))
    zero = tir.Broadcast(tir.FloatImm("float32", -1.0), 32)
    value = tir.Call("float32x32", "tir.if_then_else", [inside, BufferLoad(A, [index]), zero])
    f = build(function([A, B], BufferStore(B, value, [row])))
    b = tvm.nd.array(np.zeros(32, "float32"))
    f(tvm.nd.array(np.arange(16, dtype="float32")), b)
    np.testing.assert_array_equal(
        b.numpy(), np.r_[np.arange(16), np.full(16, -1)].astype("float32")
    )


def test_branches_protect_reads():
    A = tir.decl_buffer((8,), "int32", "A")
    B = tir.decl_buffer((16,), "int32", "B")

    def make(i):
        inside = tir.And(tir.LT(i, 8), tir.GT(BufferLoad(A, [tir.min(i, 7)]), 2))
        far = i * 100000000
        chosen = tir.Call("int32", "tir.if_then_else", [tir.LT(i, 1), BufferLoad(A, [far]), i])
        return tir.IfThenElse(
            inside, BufferStore(B, chosen + 1, [i]), BufferStore(B, chosen - 1, [i])
        )

    check_against_interpreter(function([A, B], loop(16, make)), ints(8), np.zeros(16, "int32"))


def test_and_does_not_evaluate_its_right_side_in_vain():
    A = tir.decl_buffer((8,), "int32", "A")
    B = tir.decl_buffer((16,), "int32", "B")

    def make(i):
        test = tir.And(tir.LT(i, 8), tir.GT(BufferLoad(A, [i * 1]), 2))
        other = tir.Or(tir.GE(i, 8), tir.GT(BufferLoad(A, [i * 1]), 2))
        return BufferStore(B, tir.Cast("int32", test) + tir.Cast("int32", other) * 2, [i])

    check_against_interpreter(function([A, B], loop(16, make)), ints(8), np.zeros(16, "int32"))


def test_while_and_local_memory():
    A = tir.decl_buffer((1,), "int32", "A")
    T = tir.decl_buffer(
        (1,), "int32", "T", data=Var("T", tvm.ir.PointerType(tvm.ir.PrimType("int32")))
    )
    body = tir.Allocate(T.data, "int32", [1], tir.const(True, "bool"), tir.SeqStmt([
        BufferStore(T, 1, [0]),
        tir.While(tir.LT(BufferLoad(T, [0]), 1000),
                  BufferStore(T, BufferLoad(T, [0]) * 3, [0])),
        BufferStore(A, BufferLoad(T, [0]), [0]),
    ]))  # fmt: skip
    check_against_interpreter(function([A], body), np.zeros(1, "int32"))


@pytest.mark.parametrize("size", [4, 100000])
@pytest.mark.parametrize("kind", [ForKind.SERIAL, ForKind.PARALLEL])
def test_temporaries_on_the_stack_and_from_the_runtime(size, kind):
    n = Var("n", "int32")
    A = tir.decl_buffer((n,), "float32", "A")
    pointer = Var("T", tvm.ir.PointerType(tvm.ir.PrimType("float32")))
    T = tir.decl_buffer((size,), "float32", "T", data=pointer)
    fill = loop(size, lambda i: BufferStore(T, tir.Cast("float32", i), [i]))

    def use(i):
        return tir.Allocate(
            pointer, "float32", [size], tir.const(True, "bool"),
            tir.SeqStmt([fill, BufferStore(A, BufferLoad(T, [i % size]), [i])]),
        )  # fmt: skip

    check_against_interpreter(function([A], loop(n, use, kind)), np.zeros(7, "float32"))


def test_temporary_of_symbolic_size():
    n = Var("n", "int32")
    A = tir.decl_buffer((n,), "int32", "A")
    pointer = Var("T", tvm.ir.PointerType(tvm.ir.PrimType("int32")))
    T = tir.decl_buffer((n * 2,), "int32", "T", data=pointer)
    body = tir.Allocate(
        pointer, "int32", [n, 2], tir.const(True, "bool"),
        tir.SeqStmt([
            loop(n * 2, lambda i: BufferStore(T, i * i, [i])),
            loop(n, lambda i: BufferStore(A, BufferLoad(T, [i * 2 + 1]), [i])),
        ]),
    )  # fmt: skip
    check_against_interpreter(function([A], body), np.zeros(9, "int32"))


def test_parallel_loops_capture_everything_they_use():
    n = Var("n", "int32")
    x, flag = Var("x", "float64"), Var("flag", "bool")
    A = tir.decl_buffer((n, 4), "float64", "A")
    t = Var("t", "float64x4")
    k = Var("k", "int32")

    def make(i):
        value = tir.Add(t, tir.Broadcast(tir.Cast("float64", i + k), 4))
        return tir.IfThenElse(flag, BufferStore(flat, value, [Ramp(i * 4, 1, 4)]))

    flat = tir.decl_buffer((n * 4,), "float64", "A", data=A.data)
    body = tir.LetStmt(
        k, n * 3, tir.LetStmt(t, tir.Broadcast(x * x, 4), loop(n, make, ForKind.PARALLEL))
    )
    f = build(function([A, x, flag], body))
    for size in (1, 2, 5, 100):
        a = tvm.nd.array(np.zeros((size, 4)))
        f(a, 1.5, True)
        expected = np.broadcast_to((2.25 + np.arange(size) + 3 * size)[:, None], (size, 4))
        np.testing.assert_array_equal(a.numpy(), expected)


def test_nested_parallel_loops_run():
    A = tir.decl_buffer((6, 5), "int32", "A")
    flat = tir.decl_buffer((30,), "int32", "A", data=A.data)
    i, j = Var("i", "int32"), Var("j", "int32")
    inner = For(j, 0, 5, ForKind.PARALLEL, BufferStore(flat, i * 10 + j, [i * 5 + j]))
    f = build(function([A], For(i, 0, 6, ForKind.PARALLEL, inner)))
    a = tvm.nd.array(np.zeros((6, 5), "int32"))
    f(a)
    np.testing.assert_array_equal(a.numpy(), np.arange(6)[:, None] * 10 + np.arange(5))


@pytest.mark.parametrize("kind", [ForKind.SERIAL, ForKind.PARALLEL])
def test_failed_assertion_is_an_error_and_gives_temporaries_back(kind):
    n = Var("n", "int32")
    A = tir.decl_buffer((n,), "int32", "A")
    pointer = Var("T", tvm.ir.PointerType(tvm.ir.PrimType("int32")))

    def make(i):
        message = tir.StringImm("ValueError: i must be below 5")
        return tir.Allocate(
            pointer, "int32", [100000], tir.const(True, "bool"),
            tir.AssertStmt(tir.LT(i, 5), message, BufferStore(A, i, [i])),
        )  # fmt: skip

    f = build(function([A], loop(n, make, kind)))
    f(tvm.nd.array(np.zeros(5, "int32")))
    for _ in range(3):
        with pytest.raises(tvm.TVMError, match="i must be below 5"):
            f(tvm.nd.array(np.zeros(9, "int32")))


def test_constant_data():
    A = tir.decl_buffer((4,), "float32", "A")
    pointer = Var("K", tvm.ir.PointerType(tvm.ir.PrimType("float32")))
    K = tir.decl_buffer((4,), "float32", "K", data=pointer)
    data = tvm.nd.array(np.array([1, 2.5, -3, 0], "float32"))
    body = loop(4, lambda i: BufferStore(A, BufferLoad(K, [i]), [i]))
    f = build(function([A], tir.AllocateConst(pointer, "float32", [4], data, body)))
    a = tvm.nd.array(np.zeros(4, "float32"))
    f(a)
    np.testing.assert_array_equal(a.numpy(), data.numpy())


def test_index_arithmetic_is_done_in_64_bits():
    """An index beyond 2^31 that the program computes in int32 parts."""
    i = Var("i", "int32")
    A = tir.decl_buffer((1 << 33,), "int8", "A")
    text = build(
        function([A, i], BufferStore(A, tir.IntImm("int8", 1), [i * 70000 + 5]))
    ).get_source()
    # the body alone: the checks of the call around it compare 32-bit tags
    body = text[text.index("@main_compute_(") :].split("\n}")[0]
    assert "mul nsw i64" in body
    assert "i32 %" not in body


@pytest.mark.parametrize("op", [tir.FloorDiv, tir.FloorMod, tir.Div, tir.Mod])
def test_index_division(op):
    A = tir.decl_buffer((101,), "int32", "A")

    def make(i):
        k = i - 50
        parts = [op(k, tir.IntImm("int32", c)) for c in (3, -3, 8, 7)]
        total = parts[0] + parts[1] * 10 + parts[2] * 100 + parts[3] * 1000
        return BufferStore(
            A,
            total,
            [op(i, tir.IntImm("int32", 200)) + tir.max(i, 0) - op(i, tir.IntImm("int32", 200))],
        )

    check_against_interpreter(function([A], loop(101, make)), np.zeros(101, "int32"))


def test_shuffles_and_halves():
    A = tir.decl_buffer((8,), "int32", "A")
    B = tir.decl_buffer((32,), "int32", "B")
    row = BufferLoad(A, [Ramp(0, 1, 8)])
    swapped = tir.Shuffle([row], [7, 6, 5, 4, 3, 2, 1, 0])
    mixed = tir.Shuffle([row, swapped], [0, 8, 1, 9, 2, 10, 3, 11])
    singles = tir.Shuffle([tir.IntImm("int32", k) for k in (4, 2)], [0, 1])
    one = tir.Shuffle([row], [3])
    body = tir.SeqStmt([
        BufferStore(B, swapped, [Ramp(0, 1, 8)]),
        BufferStore(B, mixed, [Ramp(8, 1, 8)]),
        BufferStore(B, singles, [Ramp(16, 1, 2)]),
        BufferStore(B, one, [20]),
    ])  # fmt: skip
    check_against_interpreter(function([A, B], body), ints(8) * 3, np.zeros(32, "int32"))


def test_unsupported_nodes_are_named():
    A = tir.decl_buffer((4,), "float32", "A")
    i = Var("i", "int32")
    with pytest.raises(tvm.TVMError, match="used but neither a parameter"):
        build(function([A], BufferStore(A, 1.0, [i])))
    warp = tir.Call("float32", "tir.tvm_warp_shuffle", [0, 1, 2, 3, 4])
    with pytest.raises(tvm.TVMError, match="tvm_warp_shuffle"):
        build(function([A], BufferStore(A, warp, [0])))
    bound = For(i, 0, 4, ForKind.THREAD_BINDING, BufferStore(A, 1.0, [i]),
                tir.IterVar(None, i, 1, "threadIdx.x"))  # fmt: skip
    with pytest.raises(tvm.TVMError, match="device thread"):
        build(function([A], bound))
    call = tir.Call("int32", "tir.call_extern", [tir.StringImm("strange_name"), 1])
    with pytest.raises(tvm.TVMError, match="no such function"):
        build(function([A], tir.Evaluate(call)))


def test_llvm_intrinsics_are_checked_before_llvm_sees_them():
    A = tir.decl_buffer((4,), "float32", "A")
    x = BufferLoad(A, [0])

    def call(name, *args):
        value = tir.call_llvm_pure_intrin("float32", name, tir.const(len(args), "uint32"), *args)
        return build(function([A], BufferStore(A, value, [0])))

    a = tvm.nd.array(np.array([4, 0, 0, 0], "float32"))
    call("llvm.sqrt", x)(a)
    assert a.numpy()[0] == 2
    with pytest.raises(ValueError, match="C library"):
        call("llvm.exp", x)
    with pytest.raises(ValueError, match="no intrinsic named 'llvm.nothing'"):
        call("llvm.nothing", x)
    with pytest.raises(ValueError, match="lacks"):
        build(function([A], BufferStore(A, tir.call_llvm_pure_intrin(
            "float32", "llvm.x86.avx2.phadd.d", x), [0])), "llvm -mcpu=x86-64")  # fmt: skip


def test_import_llvm():
    text = """
    define float @triple(float %x) {
      %y = fmul float %x, 3.0
      ret float %y
    }
    """
    A = tir.decl_buffer((4,), "float32", "A")
    value = tir.call_pure_extern("float32", "triple", BufferLoad(A, [0]))
    body = tir.AttrStmt(tir.IntImm("int32", 0), "pragma_import_llvm", tir.StringImm(text),
                        BufferStore(A, value, [0]))  # fmt: skip
    a = tvm.nd.array(np.array([4, 0, 0, 0], "float32"))
    build(function([A], body))(a)
    assert a.numpy()[0] == 12


def record(*args):
    seen.append(
        [item.numpy().copy() if isinstance(item, tvm.nd.NDArray) else item for item in args]
    )
    return 2.5 if args[-1] == 1.5 else 40


seen: list = []


def tensor(buffer, offset=0):
    shape = tir.Call("handle", "tir.tvm_stack_make_shape", list(buffer.shape))
    element = tir.const(0, buffer.dtype)
    parts = [buffer.data, shape, 0, len(buffer.shape), element, offset]
    return tir.Call("handle", "tir.tvm_stack_make_array", parts)


@pytest.mark.parametrize("kind", [ForKind.SERIAL, ForKind.PARALLEL])
def test_packed_functions_are_called(kind):
    n = Var("n", "int32")
    A = tir.decl_buffer((n, 2), "int16", "A")
    R = tir.decl_buffer((4,), "float32", "R")
    name = tir.StringImm("test.codegen.record")
    # here, since this file is imported twice: its tests run as C, too
    tvm.register_func("test.codegen.record", record, override=True)

    def call(i):
        whole = tir.Call("int32", "tir.tvm_call_packed", [name, tensor(A), "text", n + 1, i, 0])
        part = tir.Call(
            "float32", "tir.tvm_call_packed",
            [name, tensor(tir.decl_buffer((2,), "int16", data=A.data), 2), tir.const(1.5)],
        )  # fmt: skip
        stores = [
            BufferStore(R, tir.Cast("float32", whole), [0]), BufferStore(R, part, [1])
        ]  # fmt: skip
        return tir.SeqStmt(stores)

    f = build(function([A, R], loop(2, call, kind)))
    a = tvm.nd.array(np.arange(6, dtype="int16").reshape(3, 2))
    r = tvm.nd.array(np.zeros(4, "float32"))
    seen.clear()
    f(a, r)
    assert len(seen) == 4
    first = next(item for item in seen if len(item) == 5)
    np.testing.assert_array_equal(first[0], a.numpy())
    assert first[1:3] == ["text", 4]
    second = next(item for item in seen if len(item) == 2)
    np.testing.assert_array_equal(second[0], [2, 3])
    np.testing.assert_array_equal(r.numpy()[:2], [40, 2.5])


def test_errors_of_packed_functions_arrive():
    @tvm.register_func("test.codegen.fail", override=True)
    def fail():
        raise KeyError("from the callee")

    A = tir.decl_buffer((1,), "int32", "A")

    def call(name):
        return tir.Evaluate(tir.Call("int32", "tir.tvm_call_packed", [tir.StringImm(name)]))

    a = tvm.nd.array(np.zeros(1, "int32"))
    with pytest.raises(KeyError, match="from the callee"):
        build(function([A], call("test.codegen.fail")))(a)
    with pytest.raises(tvm.TVMError, match="not_there"):
        build(function([A], call("test.codegen.not_there")))(a)
