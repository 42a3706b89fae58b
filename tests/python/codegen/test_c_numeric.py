"""Arithmetic and conversions of target c: the bits of LLVM's code, without a warning."""

import numpy as np
import pytest
from c_helpers import Batch, strict_compiler
from codegen_helpers import elementwise, int_pairs, vector_of
from test_numeric import COMPARE, FLOAT_OPS, FLOATS, INT_OPS, INTS, narrow_dtype, values_of
from tvm import tir
from tvm.runtime import toolchain
from tvm.tir.transform.lower_intrin import MATH

pytestmark = pytest.mark.skipif(toolchain.find_compiler() is None, reason="needs a C compiler")
LANES = [1, 16]
SMALL = ["e4m3_float8", "e5m2_float8"]


@pytest.fixture(autouse=True)
def strict(monkeypatch):
    strict_compiler(monkeypatch)


def out_of(dtype, count):
    return np.zeros(count, bool if dtype == "bool" else narrow_dtype(dtype))


def unary(batch, name, dtype, result, make, a=None):
    a = values_of(dtype) if a is None else a
    for lanes in LANES:
        func = elementwise([dtype], result, len(a), lanes, lambda x, n=lanes: make(x, n))
        batch.add(f"{name}_{lanes}", func, a, out_of(result, len(a)))


def binary(batch, name, dtype, result, make, a, b):
    for lanes in LANES:
        func = elementwise(
            [dtype, dtype], result, len(a), lanes, lambda x, y, n=lanes: make(x, y, n)
        )
        batch.add(f"{name}_{lanes}", func, a, b, out_of(result, len(a)))


def call(name, dtype):
    return lambda *args: tir.Call(vector_of(dtype, args[-1]), "tir." + name, list(args[:-1]))


@pytest.mark.parametrize("dtype", INTS)
def test_integers(dtype):
    batch = Batch()
    a, b = int_pairs(dtype)
    shift = b.copy()
    shift[::2] = shift[::2] % (8 * a.itemsize)
    for name, op in INT_OPS.items():
        binary(batch, name, dtype, dtype, lambda x, y, n, op=op: op(x, y), a, b)
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        binary(batch, name, dtype, dtype, call(name, dtype), a, b)
    for name in ("shift_left", "shift_right"):
        binary(batch, name, dtype, dtype, call(name, dtype), a, shift)
    for name in ("popcount", "clz", "bitwise_not"):
        unary(batch, name, dtype, dtype, call(name, dtype), a)
    for divisor in (1, -1, 2, 3, -3, 8, -8, 7):
        if divisor < 0 and dtype.startswith("u"):
            continue
        for name in ("truncdiv", "truncmod", "floordiv", "floormod"):
            number = tir.const(divisor, dtype)

            def by_constant(x, n, op=INT_OPS[name], number=number):
                return op(x, number if n == 1 else tir.Broadcast(number, n))

            unary(batch, f"{name}_{divisor}".replace("-", "m"), dtype, dtype, by_constant, a)
    # sums of products of sums: one conversion at the end must be as good as one at each step
    binary(batch, "polynomial", dtype, dtype, lambda x, y, n: (x * x - y) * (y + x) + x * y, a, b)
    batch.check()


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats(dtype):
    batch = Batch()
    a = values_of(dtype)
    b = np.roll(a, 5)
    for name, op in FLOAT_OPS.items():
        x, y = a, b
        if name in ("min", "max"):
            # the sign of a zero is not specified
            with np.errstate(all="ignore"):
                x, y = a + a.dtype.type(0), b + b.dtype.type(0)
        binary(batch, name, dtype, dtype, lambda p, q, n, op=op: op(p, q), x, y)
    for name in ("floor", "ceil", "trunc", "nearbyint", "round", "fabs", "sqrt"):
        unary(batch, name, dtype, dtype, call(name, dtype))
    for name in ("isnan", "isinf", "isfinite"):
        unary(batch, name, dtype, "bool", call(name, "bool"))
    if dtype in ("float32", "float64"):
        for name in ("copysign", "nextafter", "hypot", "fmod"):
            binary(batch, name, dtype, dtype, call(name, dtype), a, np.roll(a, 7))
    batch.check()


@pytest.mark.parametrize("dtype", [*INTS, *FLOATS, "bool"])
def test_comparisons_and_choices(dtype):
    batch = Batch()
    a = values_of(dtype)
    b = np.roll(a, 5)
    b[::3] = a[::3]
    for name, op in COMPARE.items():
        binary(batch, name, dtype, "bool", lambda x, y, n, op=op: op(x, y), a, b)
    binary(batch, "select", dtype, dtype, lambda x, y, n: tir.Select(x == y, x, y), a, b)
    binary(
        batch, "logic", dtype, "bool",
        lambda x, y, n: tir.Or(tir.And(x == y, tir.Not(x < y)), tir.Not(y >= x)), a, b,
    )  # fmt: skip
    batch.check()


@pytest.mark.parametrize("source", [*INTS, *FLOATS, "bool", *SMALL])
def test_casts(source):
    batch = Batch()
    for target in [*INTS, *FLOATS, "bool", *SMALL]:
        unary(
            batch, f"to_{target}", source, target,
            lambda x, n, t=target: tir.Cast(vector_of(t, n), x),
        )  # fmt: skip
    batch.check()


def test_reinterpreted_bits():
    batch = Batch()
    pairs = [("float32", "int32"), ("float64", "uint64"), ("float16", "int16"), ("int8", "uint8"),
             ("bfloat16", "float16")]  # fmt: skip
    for one, other in [*pairs, *[(b, a) for a, b in pairs]]:
        a = values_of(one)
        unary(batch, f"{one}_{other}", one, other, call("reinterpret", other), a)
    batch.check()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_math_functions_have_the_bits_of_llvm(dtype):
    batch = Batch()
    a = values_of(dtype)
    for name in sorted(MATH):
        short = name[4:]
        if short in ("pow", "atan2"):
            binary(batch, short, dtype, dtype, call(short, dtype), a, np.roll(a, 9))
        else:
            unary(batch, short, dtype, dtype, call(short, dtype), a)
    batch.check()


@pytest.mark.parametrize("features", ["+fma", "-fma"])
def test_fused_multiply_add_is_an_option(features):
    import tvm

    func = elementwise(["float32"], "float32", 64, 1, lambda x: tir.Call("float32", "tir.exp", [x]))
    mod = tvm.ir.IRModule({"main": func})
    module = tvm.codegen.build_module(mod, f"c -mattr={features}")
    assert ("fmaf(" in module.get_source()) == (features == "+fma")
    plain = tvm.codegen.build_module(
        mod, "llvm -contract=0" if features == "+fma" else "llvm -contract=0 -mcpu=x86-64"
    )
    a = np.linspace(-90, 90, 64, dtype="float32")
    outs = [tvm.nd.empty((64,)) for _ in range(2)]
    for item, out in zip((module, plain), outs, strict=True):
        item(a, out)
    np.testing.assert_array_equal(outs[0].numpy(), outs[1].numpy())
