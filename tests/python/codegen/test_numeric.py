"""Arithmetic and conversions, compiled against interpreted, bit for bit."""

import numpy as np
import pytest
from codegen_helpers import (
    check_against_interpreter,
    elementwise,
    float_values,
    int_pairs,
    vector_of,
)
from tvm import tir

INTS = ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float32", "float64", "float16", "bfloat16"]
LANES = [1, 16]

INT_OPS = {
    "add": tir.Add, "sub": tir.Sub, "mul": tir.Mul, "truncdiv": tir.Div, "truncmod": tir.Mod,
    "floordiv": tir.FloorDiv, "floormod": tir.FloorMod, "min": tir.Min, "max": tir.Max,
}  # fmt: skip
FLOAT_OPS = {
    "add": tir.Add, "sub": tir.Sub, "mul": tir.Mul, "div": tir.Div, "min": tir.Min, "max": tir.Max,
}  # fmt: skip
COMPARE = {"eq": tir.EQ, "ne": tir.NE, "lt": tir.LT, "le": tir.LE, "gt": tir.GT, "ge": tir.GE}


def narrow_dtype(dtype):
    if dtype in ("bfloat16", "e4m3_float8", "e5m2_float8"):
        ml_dtypes = pytest.importorskip("ml_dtypes")
        return {
            "bfloat16": ml_dtypes.bfloat16,
            "e4m3_float8": ml_dtypes.float8_e4m3fn,
            "e5m2_float8": ml_dtypes.float8_e5m2,
        }[dtype]
    return np.dtype(dtype).type


def values_of(dtype, seed=0):
    if dtype in ("bfloat16", "e4m3_float8", "e5m2_float8"):
        kind = narrow_dtype(dtype)
        if dtype == "bfloat16":
            return (float_values("float32", 400, seed).view(np.uint32) >> 16).astype(
                np.uint16
            ).view(kind)  # fmt: skip
        return np.arange(256, dtype=np.uint8).view(kind)
    if dtype == "bool":
        return np.array([False, True] * 32)
    if dtype.startswith("float"):
        return float_values(dtype, 400, seed)
    return int_pairs(dtype, seed)[0]


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("op", INT_OPS)
def test_int_operations(op, dtype, lanes):
    a, b = int_pairs(dtype)
    func = elementwise([dtype, dtype], dtype, len(a), lanes, INT_OPS[op])
    check_against_interpreter(func, a, b, np.zeros_like(a))


@pytest.mark.parametrize("divisor", [1, -1, 2, 3, -3, 8, -8, 7])
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
@pytest.mark.parametrize("op", ["truncdiv", "truncmod", "floordiv", "floormod"])
def test_int_division_by_constants(op, dtype, divisor):
    a, _ = int_pairs(dtype)
    for lanes in LANES:
        constant = tir.IntImm(dtype, divisor)
        if lanes > 1:
            constant = tir.Broadcast(constant, lanes)
        func = elementwise([dtype], dtype, len(a), lanes, lambda x, c=constant: INT_OPS[op](x, c))
        check_against_interpreter(func, a, np.zeros_like(a))


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", FLOAT_OPS)
def test_float_operations(op, dtype, lanes):
    a = values_of(dtype)
    b = np.roll(a, 5)
    func = elementwise([dtype, dtype], dtype, len(a), lanes, FLOAT_OPS[op])
    if op in ("min", "max"):
        # the sign of a zero is not specified
        a, b = a + a.dtype.type(0), b + b.dtype.type(0)
    check_against_interpreter(func, a, b, np.zeros_like(a))


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", INTS + FLOATS + ["bool"])
@pytest.mark.parametrize("op", COMPARE)
def test_comparisons(op, dtype, lanes):
    a = values_of(dtype)
    b = np.roll(a, 5)
    b[::3] = a[::3]
    func = elementwise([dtype, dtype], "bool", len(a), lanes, COMPARE[op])
    check_against_interpreter(func, a, b, np.zeros(len(a), bool))


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("target", INTS + FLOATS + ["bool", "e4m3_float8", "e5m2_float8"])
@pytest.mark.parametrize("source", INTS + FLOATS + ["bool", "e4m3_float8", "e5m2_float8"])
def test_casts(source, target, lanes):
    a = values_of(source)
    out = np.zeros(len(a), bool if target == "bool" else narrow_dtype(target))
    wanted = vector_of(target, lanes)
    func = elementwise([source], target, len(a), lanes, lambda x: tir.Cast(wanted, x))
    check_against_interpreter(func, a, out)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("target", ["float16", "bfloat16", "float32"])
def test_halfway_cases_of_float64_round_once(target, lanes):
    """Values a hair beside the middle of two neighbours: a second rounding would go wrong."""
    kind = narrow_dtype(target)
    bits = {"float16": 10, "bfloat16": 7, "float32": 23}[target]
    base = 1.0 + np.arange(16) * 2.0**-bits
    middle = base + 2.0 ** (-bits - 1)
    values = np.concatenate([middle, middle + 2.0**-50, middle - 2.0**-50, -middle - 2.0**-50])
    func = elementwise(
        ["float64"], target, len(values), lanes, lambda x: tir.Cast(vector_of(target, lanes), x)
    )
    check_against_interpreter(func, values, np.zeros(len(values), kind))


@pytest.mark.parametrize("target", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("source", ["int64", "uint64"])
def test_large_integers_round_once(source, target):
    rng = np.random.default_rng(3)
    top = rng.integers(1 << 52, 1 << 62, 160).astype(source)
    values = np.concatenate([top | 1, (top >> 30) << 30, ((top >> 40) << 40) + 1])
    values = values[: len(values) // 16 * 16]
    for lanes in LANES:
        func = elementwise(
            [source],
            target,
            len(values),
            lanes,
            lambda x, n=lanes: tir.Cast(vector_of(target, n), x),
        )
        check_against_interpreter(func, values, np.zeros(len(values), narrow_dtype(target)))


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("op", ["shift_left", "shift_right", "bitwise_and", "bitwise_or",
                                "bitwise_xor"])  # fmt: skip
def test_bits(op, dtype, lanes):
    a, b = int_pairs(dtype)
    if op.startswith("shift"):
        b[::2] = b[::2] % (8 * a.itemsize)
    full = vector_of(dtype, lanes)
    func = elementwise(
        [dtype, dtype], dtype, len(a), lanes, lambda x, y: tir.Call(full, "tir." + op, [x, y])
    )
    check_against_interpreter(func, a, b, np.zeros_like(a))


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("op", ["popcount", "clz"])
@pytest.mark.parametrize("dtype", ["uint8", "int32", "uint64"])
def test_counting_bits(op, dtype, lanes):
    a, _ = int_pairs(dtype)
    full = vector_of(dtype, lanes)
    func = elementwise([dtype], dtype, len(a), lanes, lambda x: tir.Call(full, "tir." + op, [x]))
    check_against_interpreter(func, a, np.zeros_like(a))


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", ["floor", "ceil", "trunc", "nearbyint", "round", "fabs", "sqrt"])
def test_rounding(op, dtype, lanes):
    a = values_of(dtype)
    full = vector_of(dtype, lanes)
    func = elementwise([dtype], dtype, len(a), lanes, lambda x: tir.Call(full, "tir." + op, [x]))
    check_against_interpreter(func, a, np.zeros_like(a))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", ["floor", "ceil", "trunc", "nearbyint", "round"])
def test_rounding_without_rounding_instructions(op, dtype):
    """What a plain x86-64 gets; it runs here too."""
    a = values_of(dtype)
    for lanes in (1, 4):
        full = vector_of(dtype, lanes)
        func = elementwise(
            [dtype], dtype, len(a), lanes, lambda x, d=full: tir.Call(d, "tir." + op, [x])
        )
        check_against_interpreter(func, a, np.zeros_like(a), target="llvm -mcpu=x86-64", fma=False)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", ["isnan", "isinf", "isfinite"])
def test_classification(op, dtype, lanes):
    a = values_of(dtype)
    full = "bool" if lanes == 1 else f"uint1x{lanes}"
    func = elementwise([dtype], "bool", len(a), lanes, lambda x: tir.Call(full, "tir." + op, [x]))
    check_against_interpreter(func, a, np.zeros(len(a), bool))


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", ["copysign", "nextafter", "hypot", "fmod"])
def test_two_operands(op, dtype, lanes):
    a = values_of(dtype)
    b = np.roll(a, 7)
    full = vector_of(dtype, lanes)
    func = elementwise(
        [dtype, dtype], dtype, len(a), lanes, lambda x, y: tir.Call(full, "tir." + op, [x, y])
    )
    check_against_interpreter(func, a, b, np.zeros_like(a))


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ldexp(dtype, lanes):
    a = values_of(dtype)
    rng = np.random.default_rng(0)
    n = rng.integers(-2200, 2200, len(a)).astype("int32")
    n[::2] = rng.integers(-160, 160, len(n[::2]))
    full = vector_of(dtype, lanes)
    func = elementwise(
        [dtype, "int32"], dtype, len(a), lanes, lambda x, y: tir.Call(full, "tir.ldexp", [x, y])
    )
    out = np.zeros_like(a)
    check_against_interpreter(func, a, n, out)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_integer_powers(dtype):
    a, b = int_pairs(dtype)
    for lanes in LANES:
        full = vector_of(dtype, lanes)
        func = elementwise(
            [dtype, dtype], dtype, len(a), lanes,
            lambda x, y, d=full: tir.Call(d, "tir.pow", [x, y]),
        )  # fmt: skip
        check_against_interpreter(func, a, b, np.zeros_like(a))


def test_fused_multiply_add_rounds_once():
    a = values_of("float32")
    b, c = np.roll(a, 3), np.roll(a, 11)
    func = elementwise(
        ["float32"] * 3, "float32", len(a), 16,
        lambda x, y, z: tir.Call("float32x16", "tir.fma", [x, y, z]),
    )  # fmt: skip
    check_against_interpreter(func, a, b, c, np.zeros_like(a))


def test_select_and_logic():
    a, b = int_pairs("int32")

    def formula(lanes):
        def make(x, y):
            zero = tir.IntImm("int32", 0)
            zero = tir.Broadcast(zero, lanes) if lanes > 1 else zero
            both = tir.And(tir.LT(x, y), tir.Or(tir.GT(x, zero), tir.Not(tir.EQ(y, zero))))
            return tir.Select(both, x, y)

        return make

    for lanes in LANES:
        func = elementwise(["int32", "int32"], "int32", len(a), lanes, formula(lanes))
        check_against_interpreter(func, a, b, np.zeros_like(a))
