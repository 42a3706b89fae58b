"""Operators of expressions: matching of types, folding, refusals."""

import numpy as np
import pytest
import tvm
from tvm import tir
from tvm.ir.dtype import info, int_range
from tvm.tir import numeric

x = tir.Var("x")
y = tir.Var("y")


def var(dtype):
    return tir.Var("v", dtype)


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        ("int32", "float32", "float32"), ("int64", "float16", "float16"),
        ("int8", "int32", "int32"), ("int32", "uint32", "uint32"), ("int64", "uint32", "int64"),
        ("float16", "float32", "float32"), ("float16", "bfloat16", "float32"),
        ("bool", "int8", "int8"), ("int32x4", "int32", "int32x4"),
    ],
)  # fmt: skip
def test_mixed_operands(left, right, result):
    assert (var(left) + var(right)).dtype == result
    assert (var(right) * var(left)).dtype == result


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "float16", "float32", "bfloat16"])
def test_python_numbers_are_weak(dtype):
    assert (var(dtype) + 1).dtype == dtype
    assert (1 - var(dtype)).dtype == dtype
    if info(dtype).is_float:
        assert (var(dtype) * 0.5).dtype == dtype
    else:
        assert (var(dtype) * 0.5).dtype == "float32"


def test_numpy_scalars_bring_their_type():
    assert (var("int8") + np.int64(1)).dtype == "int64"
    assert (np.float32(1) + x).dtype == "float32"


def test_slash_on_two_ints_is_refused_with_the_choices():
    with pytest.raises(RuntimeError, match="truncdiv.*floordiv"):
        x / y
    assert (x / 2.0).dtype == "float32"


@pytest.mark.parametrize("function", [tir.floordiv, tir.floormod, tir.truncdiv, tir.truncmod])
def test_division_by_constant_zero(function):
    with pytest.raises(tvm.TVMError, match="division by the constant 0"):
        function(x, 0)


def test_shifts_out_of_range_and_constants_out_of_range():
    for amount in (-1, 32):
        with pytest.raises(tvm.TVMError, match="amount must be in 0..31"):
            x << amount
    with pytest.raises(tvm.TVMError, match="out of the range of uint8"):
        tir.const(256, "uint8")


def test_no_truth_value():
    with pytest.raises(ValueError, match="tvm.tir.all"):
        x < y and y < x
    with pytest.raises(ValueError, match="None"):
        bool(x == None)  # noqa: E711
    with pytest.raises(ValueError, match="at least one"):
        tir.all()
    with pytest.raises(tvm.TVMError, match="bool"):
        tir.all(x, y)


def test_equality_in_an_if_is_that_of_expressions():
    assert x + 1 == x + 1
    assert x != y
    assert not x == y  # noqa: SIM201
    assert tir.const(3) == 3
    assert x in (y, x)
    a, b = (tir.decl_buffer((4,), name=name) for name in "ab")
    assert a[x] != b[x]
    assert len({x: 1, y: 2}) == 2


def test_overflow_of_an_index_constant_is_not_folded_but_data_wraps():
    big = tir.const(0x7FFFFFFF)
    assert isinstance(big + 1, tir.Add)
    assert (tir.const(255, "uint8") + 1).value == 0


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64"])
def test_integer_folding_is_c_and_python(dtype):
    low, high = int_range(info(dtype))
    for a in (low, low + 1, -7, -1, 0, 1, 7, high):
        for b in (low, -3, -1, 1, 3, high):
            if not (low <= a <= high and low <= b <= high and b):
                continue
            assert numeric.floordiv(a, b) == a // b
            assert numeric.truncdiv(a, b) * b + numeric.truncmod(a, b) == a
            assert abs(numeric.truncmod(a, b)) < abs(b)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "e4m3_float8", "e5m2_float8"])
def test_small_floats_round_as_ml_dtypes_does(dtype):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    kind = {
        "float16": np.float16, "bfloat16": ml_dtypes.bfloat16,
        "e4m3_float8": ml_dtypes.float8_e4m3fn, "e5m2_float8": ml_dtypes.float8_e5m2,
    }[dtype]  # fmt: skip
    width = np.dtype(kind).itemsize
    raw = {1: np.uint8, 2: np.uint16}[width]
    patterns = np.arange(1 << (8 * width), dtype=np.uint32).astype(raw)
    values = patterns.view(kind).astype(np.float64)
    for bits, value in zip(patterns.tolist(), values.tolist()):
        ours = numeric.bits_to_float(bits, dtype)
        assert ours == value or (ours != ours and value != value)
        if ours == ours:
            assert numeric.float_to_bits(ours, dtype) == bits
    # Every midpoint of two neighbours goes to the even one.
    finite = np.unique(values[np.isfinite(values)])
    step = max(1, len(finite) // 2000)
    for low, high in zip(finite[:-1:step].tolist(), finite[1::step].tolist()):
        middle = (low + high) / 2
        assert numeric.round_float(middle, dtype) in (low, high)
        even = low if numeric.float_to_bits(low, dtype) % 2 == 0 else high
        assert numeric.round_float(middle, dtype) == even
        assert numeric.round_float(np.nextafter(middle, np.inf), dtype) == high
        assert numeric.round_float(np.nextafter(middle, -np.inf), dtype) == low
