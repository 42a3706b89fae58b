"""Interpreter, printer, verifier and argument tables on small programs."""

import struct

import numpy as np
import pytest
import tvm
from tvm import tir
from tvm.ir import IRModule
from tvm.tir.arg_table import BIND, BIND32, CHECK, CONST, EXPR, ArgTable
from tvm.tir.interpreter import evaluate, interpret
from tvm.tir.verify import VerifyError, is_valid, verify


def add_one(dtype="float32"):
    n, i = tir.Var("n"), tir.Var("i")
    a = tir.decl_buffer((n,), dtype, name="A")
    b = tir.decl_buffer((n,), dtype, name="B")
    body = tir.For(i, 0, n, 0, tir.BufferStore(b, a[i] + 1, [i]))
    return tir.PrimFunc([a, b], body).with_attr("global_symbol", "main")


def test_interpreter_runs_a_loop():
    a, b = np.arange(5, dtype="float32"), np.zeros(5, "float32")
    interpret(add_one(), a, b)
    assert b.tolist() == [1, 2, 3, 4, 5]
    with pytest.raises(ValueError, match=r"shape\[0\]: expected 5"):
        interpret(add_one(), a, np.zeros(4, "float32"))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float16", "float64"])
def test_interpreter_agrees_with_numpy(dtype):
    a, b = np.array([1, 2, 100], dtype), np.zeros(3, dtype)
    interpret(add_one(dtype), a, b)
    np.testing.assert_array_equal(b, a + np.ones(1, dtype))


def test_interpreter_checks_bounds():
    i = tir.Var("i")
    a = tir.decl_buffer((4,), "int32", name="A")
    func = tir.PrimFunc([a], tir.For(i, 0, 5, 0, tir.BufferStore(a, i, [i])))
    with pytest.raises(IndexError, match="A: index 4 of dimension 0 is out of 0..3"):
        interpret(func, np.zeros(4, "int32"))


@pytest.mark.parametrize(
    ("expr", "value"),
    [
        (tir.Cast("int8", tir.const(300.0, "float32")), 127),
        (tir.Cast("int32", tir.const(float("nan"), "float32")), 0),
        (tir.Cast("uint8", tir.const(-1, "int32")), 255),
        (tir.Cast("bool", tir.const(0.5, "float32")), 1),
        (tir.Div(tir.const(-7), tir.const(2)), -3),
        (tir.FloorDiv(tir.const(-7), tir.const(2)), -4),
        (tir.FloorMod(tir.const(7), tir.const(0)), 0),
        (tir.Div(tir.const(-128, "int8"), tir.const(-1, "int8")), -128),
        (tir.Call("float32", "tir.fma", [tir.const(v) for v in (1.1, 1.1, -1.21)]),
         float(np.float32(np.float64(np.float32(1.1)) ** 2 - np.float64(np.float32(1.21))))),
        (tir.clz(tir.const(1)), 31),
        (tir.Call("int8", "tir.shift_right", [tir.const(-1, "int8"), tir.const(9, "int8")]), -1),
        (tir.Call("float32", "tir.round", [tir.const(-2.5)]), -3.0),
        (tir.Call("float32", "tir.nearbyint", [tir.const(2.5)]), 2.0),
    ],
)  # fmt: skip
def test_semantics(expr, value):
    assert evaluate(expr) == value


@pytest.mark.parametrize("kind", [tir.Min, tir.Max])
def test_min_and_max_give_nan(kind):
    nan, one = tir.const(float("nan")), tir.const(1.0)
    for pair in ((nan, one), (one, nan)):
        result = evaluate(kind(*pair))
        assert result != result


def test_print_module():
    assert str(IRModule({"main": add_one()})) == (
        "# from tvm.script import ir as I\n"
        "# from tvm.script import tir as T\n"
        "\n"
        "@I.ir_module\n"
        "class Module:\n"
        "    @T.prim_func\n"
        "    def main(var_A: T.handle, var_B: T.handle):\n"
        "        n = T.int32()\n"
        "        A = T.match_buffer(var_A, (n,))\n"
        "        B = T.match_buffer(var_B, (n,))\n"
        "        for i in range(n):\n"
        "            B[i] = A[i] + T.float32(1)"
    )


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (lambda x, y: tir.Or(x < y, x > y), "x < y or x > y"),
        (lambda x, y: (x + y) * 2 - (y - x), "(x + y) * 2 - (y - x)"),
        (lambda x, y: x & y, "T.bitwise_and(x, y)"),
        (lambda x, y: tir.Not(tir.And(x < y, y < x)), "not (x < y and y < x)"),
        (lambda x, y: tir.const(3, "int64"), "T.int64(3)"),
        (lambda x, y: tir.infinity("float32"), 'T.float32("inf")'),
        (lambda x, y: tir.const(False), "T.bool(False)"),
        (lambda x, y: tir.truncdiv(x, y), "T.Div(x, y)"),
        (lambda x, y: tir.Add(tir.const(1), tir.const(2)), "T.Add(1, 2)"),
    ],
)
def test_print_expressions(expr, text):
    assert str(expr(tir.Var("x"), tir.Var("y"))) == text


def test_verifier():
    func = add_one()
    verify(func)
    loop = func.body
    assert is_valid(IRModule({"main": func}))
    with pytest.raises(VerifyError, match="i is used but not defined"):
        verify(func.with_body(loop.body))
    with pytest.raises(VerifyError, match="i is defined already"):
        verify(func.with_body(tir.For(loop.loop_var, 0, 4, 0, loop)))
    store = loop.body
    wrong = tir.BufferStore(store.buffer, tir.const(1, "int32"), store.indices)
    with pytest.raises(VerifyError, match="float32 is stored there, but the value is int32"):
        verify(func.with_body(tir.For(loop.loop_var, 0, 4, 0, wrong)))
    with pytest.raises(VerifyError, match="has 1 dimensions, not 2"):
        verify(func.with_body(tir.Evaluate(tir.BufferLoad(store.buffer, [0, 0]))))


class Reader:
    """Reads a table as its documentation describes it."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values if len(values) > 1 else values[0]

    def text(self):
        size = self.take("H")
        self.at += size
        return self.data[self.at - size : self.at].decode()

    def dim(self):
        op = self.take("B")
        if op == CONST:
            return op, self.take("q")
        if op in (BIND, BIND32, CHECK):
            return op, self.take("I"), self.text()
        code = [self.take("Bq") for _ in range(self.take("H"))]
        return op, code, self.text()


def test_argument_table_bytes():
    n, s, i = tir.Var("n"), tir.Var("s", "float32"), tir.Var("i")
    a = tir.decl_buffer((n, n * 2 + 1), "int8", name="A")
    b = tir.decl_buffer((n,), "float32", name="B", strides=[tir.Var("stride")])
    body = tir.For(i, 0, n, 0, tir.BufferStore(b, b[i] + s, [i]))
    func = tir.PrimFunc([a, b, s], body).with_attr("global_symbol", "f")
    table = ArgTable.from_prim_func(func)
    reader = Reader(table.to_bytes())
    assert reader.take("IHHII") == (0x31544154, 1, 3, len(table.slots), 0)
    assert reader.text() == "f"
    assert reader.take("BBBBHI") == (3, 0, 0, 8, 1, 0)
    assert reader.text() == "A"
    assert reader.take("iIQH") == (1, 1, 0, 2)
    assert reader.dim() == (BIND32, 3, "n")
    assert reader.dim() == (EXPR, [(1, 3), (0, 2), (4, 0), (0, 1), (2, 0)], "n * 2 + 1")
    assert reader.take("B") == 0
    assert reader.dim() == (CONST, 0)
    assert reader.take("BBBBHI") == (3, 3, 2, 32, 1, 1)
    assert reader.text() == "B"
    assert reader.take("iIQH")[:2] == (1, 4)
    assert reader.dim() == (CHECK, 3, "n")
    assert reader.take("B") == 1
    assert reader.dim() == (BIND32, 4, "stride")
    assert reader.dim() == (CONST, 0)
    assert reader.take("BBBBHI") == (1, 0, 2, 32, 1, 2)
    assert reader.text() == "s"
    assert reader.at == len(reader.data)
    assert table.slot_of(a.data) == 0 and table.slot_of(n) == 3


def test_a_size_that_no_argument_gives():
    n = tir.Var("n")
    a = tir.decl_buffer((n + 1,), name="A")
    with pytest.raises(tvm.TVMError, match="the size n of A is given by no argument"):
        ArgTable.from_prim_func(tir.PrimFunc([a], tir.Evaluate(0)))


def alias(store_index, load_index, extent=8):
    i, j = tir.Var("i"), tir.Var("j")
    a = tir.decl_buffer((64,), name="A")
    b = tir.decl_buffer((64,), name="B")
    store = tir.BufferStore(b, a[load_index(i, j)] + 1.0, [store_index(i, j)])
    body = tir.For(i, 0, extent, 0, tir.For(j, 0, extent, 0, store))
    return ArgTable.from_prim_func(tir.PrimFunc([a, b], body)).args[1].alias_ok


def test_only_elementwise_access_may_alias():
    def flat(i, j):
        return i * 8 + j

    assert alias(flat, flat) == 0b01
    assert alias(flat, lambda i, j: i * 8 + j + 1) == 0
    # Written several times: what is read back has changed already.
    assert alias(lambda i, j: j, lambda i, j: j) == 0
    assert alias(lambda i, j: i * 4 + j, lambda i, j: i * 4 + j) == 0


def test_specialize():
    n, m, i = tir.Var("n"), tir.Var("m"), tir.Var("i")
    a = tir.decl_buffer((n,), "int32", name="A")
    func = tir.PrimFunc([a, m], tir.For(i, 0, n, 0, tir.BufferStore(a, i * m, [i])))
    param = func.params[0]
    fixed = func.specialize({m: 3, param: tir.decl_buffer((4,), "int32")})
    verify(fixed)
    assert len(fixed.params) == 1
    assert fixed.buffer_map[param].shape[0].value == 4
    values = np.zeros(4, "int32")
    interpret(fixed, values)
    assert values.tolist() == [0, 3, 6, 9]
    with pytest.raises(ValueError, match="is not a parameter"):
        func.specialize({i: 1})
    with pytest.raises(TypeError, match="expected a Buffer"):
        func.specialize({param: 1})


def test_flattened_buffer():
    flat = tir.decl_buffer((4, 8), "int8", name="A").get_flattened_buffer()
    assert [size.value for size in flat.shape] == [32]
    one = tir.decl_buffer((4,), "int8")
    assert one.get_flattened_buffer() is one
