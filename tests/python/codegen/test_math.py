"""Math functions: errors in units in the last place against mpmath, special values against C's."""

import math

import numpy as np
import pytest
import tvm
from codegen_helpers import build, elementwise, vector_of
from tvm import tir
from tvm.tir.transform.lower_intrin import MATH

mpmath = pytest.importorskip("mpmath")

# ulp bounds: float32 with fma, float32 without, float64
BOUNDS = {
    "exp": (2, 2.5, 4), "exp2": (2, 2.5, 4), "exp10": (2, 2.5, 4), "log": (2, 2.5, 4),
    "log2": (2, 2.5, 4), "log10": (2, 2.5, 4), "log1p": (2, 2.5, 4), "sin": (2, 2.5, 4),
    "cos": (2, 2.5, 4), "asin": (2, 2.5, 4), "acos": (2, 2.5, 4), "atan": (2, 2.5, 4),
    "atan2": (2, 2.5, 4), "erf": (2, 2.5, 4), "pow": (2, 2.5, 4), "rsqrt": (2, 2.5, 4),
    "tan": (3, 4, 4), "sinh": (3, 4, 4), "cosh": (3, 4, 4), "tanh": (3, 4, 4),
    "asinh": (3, 4, 4), "acosh": (3, 4, 4), "atanh": (3, 4, 4), "sigmoid": (3, 4, 4),
}  # fmt: skip
REFERENCE = {
    "exp2": lambda x: mpmath.mpf(2) ** x,
    "exp10": lambda x: mpmath.mpf(10) ** x,
    "log2": lambda x: mpmath.log(x, 2),
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "pow": mpmath.power,
}
PLAIN = "llvm -mcpu=x86-64-v2"
WIDTH = 16


def compiled(op, dtype, size, operands, target="llvm", lanes=WIDTH):
    full = vector_of(dtype, lanes)
    func = elementwise(
        [dtype] * operands, dtype, size, lanes, lambda *x: tir.Call(full, "tir." + op, x)
    )
    return build(func, target)


def run(op, dtype, *arrays, target="llvm", lanes=WIDTH):
    func = compiled(op, dtype, len(arrays[0]), len(arrays), target, lanes)
    out = tvm.nd.array(np.zeros_like(arrays[0]))
    func(*[tvm.nd.array(item) for item in arrays], out)
    return out.numpy()


def points(op, dtype, count, seed):
    rng = np.random.default_rng(seed)
    top = 1023 if dtype == "float64" else 127
    parts = [
        rng.normal(size=count) * 10.0 ** rng.uniform(-3, 3, count),
        rng.uniform(-1, 1, count),
        np.ldexp(rng.uniform(1, 2, count), rng.integers(-top, top, count))
        * rng.choice([-1, 1], count),
        rng.uniform(-90, 90, count),
    ]
    x = np.stack(parts)[rng.integers(0, 4, count), np.arange(count)].astype(dtype)
    if op == "atan2":
        return [x, np.roll(x, 1)]
    if op == "pow":
        x = np.abs(x)
        size = 700 if dtype == "float64" else 85
        with np.errstate(all="ignore"):
            y = rng.uniform(-size, size, count) / np.log(x.astype("float64"))
        y = np.where(np.isfinite(y) & (rng.random(count) < 0.8), y, np.roll(x, 1))
        return [x, y.astype(dtype)]
    return [x]


def worst_error(op, dtype, target, seed, count=480):
    arrays = points(op, dtype, count, seed)
    got = run(op, dtype, *arrays, target=target)
    digits, least = (53, -1074) if dtype == "float64" else (24, -149)
    huge = mpmath.mpf(float(np.finfo(dtype).max)) * (1 + mpmath.mpf(2) ** -(digits + 1))
    function = REFERENCE.get(op) or getattr(mpmath, op)
    worst, place = 0.0, None
    # the argument of sin may be 2^1023: as many digits are needed
    with mpmath.workprec(1300 if op in ("sin", "cos", "tan") else 200):
        for n in range(count):
            args = [mpmath.mpf(float(item[n])) for item in arrays]
            try:
                expected = function(*args)
            except (ValueError, ZeroDivisionError):
                continue
            if isinstance(expected, mpmath.mpc) or mpmath.isnan(expected):
                assert np.isnan(got[n]), (op, args, got[n])
                continue
            if abs(expected) > huge:
                assert np.isinf(got[n]), (op, args, got[n])
                continue
            assert np.isfinite(got[n]), (op, args, got[n], expected)
            exponent = mpmath.frexp(abs(expected))[1] if expected else least
            unit = mpmath.mpf(2) ** max(exponent - digits, least)
            error = float(abs(mpmath.mpf(float(got[n])) - expected) / unit)
            if error > worst:
                worst, place = error, [float(item[n]) for item in arrays]
    return worst, place


@pytest.mark.parametrize("op", sorted(BOUNDS))
def test_error_of_float32(op):
    error, place = worst_error(op, "float32", "llvm", 0)
    assert error <= BOUNDS[op][0], place


@pytest.mark.parametrize("op", sorted(BOUNDS))
def test_error_of_float32_without_fma(op):
    error, place = worst_error(op, "float32", PLAIN, 1)
    assert error <= BOUNDS[op][1], place


@pytest.mark.parametrize("target", ["llvm", PLAIN])
@pytest.mark.parametrize("op", sorted(BOUNDS))
def test_error_of_float64(op, target):
    error, place = worst_error(op, "float64", target, 2)
    assert error <= BOUNDS[op][2], place


def test_every_function_has_a_bound():
    assert {name[4:] for name in MATH} == set(BOUNDS)


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 3.0, -3.0, math.inf, -math.inf, math.nan, 1e30,
           -1e30, 1e-40, -1e-40]  # fmt: skip


def outcome(x):
    """What kind of number this is: zeros by sign, infinities by sign, NaN, or the number's sign."""
    if math.isnan(x):
        return "nan"
    if math.isinf(x) or x == 0:
        return (abs(x), math.copysign(1.0, x))
    return math.copysign(1.0, x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", sorted(set(BOUNDS) - {"pow", "atan2"}))
def test_special_values(op, dtype):
    from tvm.tir.interpreter import evaluate

    values = np.array(SPECIAL, dtype)
    got = run(op, dtype, values)
    for x, y in zip(values, got, strict=True):
        expected = evaluate(tir.Call(dtype, "tir." + op, [tir.FloatImm(dtype, float(x))]))
        assert outcome(float(y)) == outcome(float(expected)), (op, x, y, expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", ["pow", "atan2"])
def test_special_pairs(op, dtype):
    from tvm.tir.interpreter import evaluate

    a, b = (m.ravel().astype(dtype) for m in np.meshgrid(SPECIAL, SPECIAL))
    got = run(op, dtype, a, b)
    for x, y, z in zip(a, b, got, strict=True):
        args = [tir.FloatImm(dtype, float(v)) for v in (x, y)]
        expected = float(evaluate(tir.Call(dtype, "tir." + op, args)))
        assert outcome(float(z)) == outcome(expected), (op, x, y, z, expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", sorted(BOUNDS))
def test_vector_and_scalar_code_agree(op, dtype):
    arrays = points(op, dtype, 160, 5)
    wide = run(op, dtype, *arrays)
    one = run(op, dtype, *arrays, lanes=1)
    np.testing.assert_array_equal(wide, one)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("op", ["exp", "tanh", "sin", "log"])
def test_narrow_floats_are_computed_in_float32(op, dtype):
    values = np.linspace(-8, 8, 64).astype("float32")
    narrow = tvm.nd.empty((64,), dtype)
    narrow.copyfrom(values.astype("float16") if dtype == "float16" else to_bfloat16(values))
    out = tvm.nd.empty((64,), dtype)
    compiled(op, dtype, 64, 1)(narrow, out)
    wide = widened(narrow.numpy(), dtype)
    expected = run(op, "float32", wide)
    if dtype == "float16":
        expected = expected.astype("float16").astype("float32")
    else:
        expected = widened(to_bfloat16(expected), dtype)
    np.testing.assert_array_equal(widened(out.numpy(), dtype), expected)


def to_bfloat16(values):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    return values.astype(ml_dtypes.bfloat16)


def widened(values, dtype):
    if dtype == "float16":
        return values.astype("float32")
    return (values.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
