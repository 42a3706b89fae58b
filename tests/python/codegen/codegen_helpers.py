"""Build a function, run it, and compare what it writes with what the interpreter writes."""

import numpy as np
import tvm
from tvm import tir
from tvm.ir import IRModule
from tvm.tir.interpreter import interpret
from tvm.tir.transform.lower_intrin import lower_intrin


def vector_of(dtype, lanes):
    return dtype if lanes == 1 else tvm.ir.dtype.with_lanes(dtype, lanes)


def elementwise(inputs, output, size, lanes, formula):
    """for i: O[i] = formula(A0[i], A1[i], ...), in vectors of `lanes`."""
    buffers = [tir.decl_buffer((size,), dtype, f"A{k}") for k, dtype in enumerate(inputs)]
    result = tir.decl_buffer((size,), output, "O")
    i = tir.Var("i", "int32")
    index = i if lanes == 1 else tir.Ramp(i * lanes, 1, lanes)
    value = formula(*[tir.BufferLoad(buffer, [index]) for buffer in buffers])
    body = tir.For(i, 0, size // lanes, tir.ForKind.SERIAL, tir.BufferStore(result, value, [index]))
    return tir.PrimFunc([*buffers, result], body, None, None, {"global_symbol": "main"})


def build(func, target="llvm"):
    return tvm.codegen.build_module(IRModule({"main": func}), target)


def same_bits(a, b):
    """Equal, where any NaN equals any NaN, and zeros are compared with their signs."""
    a, b = np.asarray(a), np.asarray(b)
    assert a.dtype == b.dtype
    if a.dtype.kind in "iub":
        return np.array_equal(a, b)
    unsigned = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[a.dtype.itemsize]
    same = a.view(unsigned) == b.view(unsigned)
    nan = np.isnan(a.astype("float64")) & np.isnan(b.astype("float64"))
    return bool((same | nan).all())


def check_against_interpreter(func, *arrays, target="llvm", fma=True):
    """Run `func` compiled and interpreted on copies; every array must end with the same bits."""
    compiled = [tvm.nd.array(item) for item in arrays]
    build(func, target)(*compiled)
    plain = [np.array(item) for item in arrays]
    interpret(lower_intrin(func, fma, False), *plain)
    for number, (got, expected) in enumerate(zip(compiled, plain, strict=True)):
        # numpy() gives the bits of a type that NumPy lacks
        got = got.numpy().view(expected.dtype)
        if not same_bits(got, expected):
            wrong = [
                index
                for index in np.ndindex(got.shape)
                if not same_bits(got[index], expected[index])
            ]
            first = wrong[0]
            inputs = [item[first] for item in arrays if item.shape == got.shape]
            raise AssertionError(
                f"array {number} differs in {len(wrong)} places, first at {first}: compiled "
                f"{got[first]!r}, interpreted {expected[first]!r}, arrays there {inputs}"
            )


INT_CORNERS = (0, 1, -1, 2, -2, 3, 7, -7, 8, 100, -100)


def int_values(dtype, count, seed=0):
    """Corners and random values of an integer type, and every corner with every corner's pair."""
    info = np.iinfo(dtype)
    corners = [v for v in INT_CORNERS if info.min <= v <= info.max]
    corners += [info.min, info.max, info.min + 1, info.max - 1]
    rng = np.random.default_rng(seed)
    more = rng.integers(info.min, info.max, count, dtype=dtype, endpoint=True)
    return np.array(corners, dtype), more


def int_pairs(dtype, seed=0):
    """Two arrays (of a length that is a multiple of 16) with all pairs of corners."""
    corners, more = int_values(dtype, 200, seed)
    a, b = np.meshgrid(corners, corners)
    left = np.concatenate([a.ravel(), more])
    right = np.concatenate([b.ravel(), np.roll(more, 3)])
    size = len(left) // 16 * 16
    return left[:size].copy(), right[:size].copy()


def float_values(dtype, count, seed=0):
    """Special values and random bit patterns."""
    info = np.finfo(dtype)
    special = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan, info.max,
               info.min, info.tiny, info.tiny / 4, 0.1, 3.7, -3.7, 1e4, 127.5, 128.0, 255.5, 65504,
               65520.0, 32767.5, 2147483647.0, 2147483648.0, -2147483648.0, 4294967296.0,
               9.2233720368547758e18, 1.8446744073709552e19, -9.3e18, 1e30]  # fmt: skip
    unsigned = {2: np.uint16, 4: np.uint32, 8: np.uint64}[np.dtype(dtype).itemsize]
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, np.iinfo(unsigned).max, count, dtype=unsigned, endpoint=True)
    near = rng.normal(size=count) * 10.0 ** rng.uniform(-4, 6, count)
    with np.errstate(over="ignore"):
        parts = [np.array(special).astype(dtype), bits.view(dtype), near.astype(dtype)]
    found = np.concatenate(parts)
    return found[: len(found) // 16 * 16].copy()
