"""How exact the math functions are: the largest errors in units in the last place.

    python benchmarks/math_errors.py [--only exp,sin] [--write docs/math.md]

float16 and bfloat16 are measured over all 65,536 numbers (functions of two: pairs of them), float32
over evenly spaced bit patterns and the usual range, against float64; float64 over random numbers
against mpmath. A result that is finite, infinite or NaN where it must not be has the error inf.
`--write` puts the table between the marks of a page. Needs mpmath and ml_dtypes.
"""

from __future__ import annotations

import argparse
import math
import pathlib
import sys

sys.path.pop(0)  # this folder: its array.py would hide the standard module array

import ml_dtypes
import mpmath
import numpy as np

WITHOUT_FMA = "llvm -mcpu=x86-64-v2"
TIGHT = [
    "exp",
    "exp2",
    "exp10",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "asin",
    "acos",
    "atan",
    "atan2",
    "erf",
    "power",
    "rsqrt",
]
LOOSE = ["tan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sigmoid"]
BINARY = ("atan2", "power")
# digits, exponent of the smallest number, largest number
FORMATS = {
    "float16": (11, -24, 65504.0),
    "bfloat16": (8, -133, float(ml_dtypes.finfo("bfloat16").max)),
    "float32": (24, -149, float(np.finfo("float32").max)),
    "float64": (53, -1074, float(np.finfo("float64").max)),
}
COLUMNS = (
    ("float32", "llvm", {name: 2 if name in TIGHT else 3 for name in TIGHT + LOOSE}),
    ("float32", WITHOUT_FMA, {name: 2.5 if name in TIGHT else 4 for name in TIGHT + LOOSE}),
    ("float64", "llvm", dict.fromkeys(TIGHT + LOOSE, 4)),
    ("float16", "llvm", dict.fromkeys(TIGHT + LOOSE, 0.501)),
    ("bfloat16", "llvm", dict.fromkeys(TIGHT + LOOSE, 0.501)),
)
BEGIN, END = "<!-- table -->", "<!-- end of table -->"
IN_FLOAT64 = {
    "exp10": lambda x: np.power(10.0, x),
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "erf": np.vectorize(math.erf, otypes=["float64"]),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}  # fmt: skip
IN_MPMATH = {
    "exp2": lambda x: mpmath.mpf(2) ** x,
    "exp10": lambda x: mpmath.mpf(10) ** x,
    "log2": lambda x: mpmath.log(x, 2),
    "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
}


def computed(name, arrays, dtype, target):
    """What the compiled function gives."""
    import tvm
    from tvm import te

    size = len(arrays[0])
    inputs = [te.placeholder((size,), dtype, name=f"x{k}") for k in range(len(arrays))]
    out = te.compute((size,), lambda i: getattr(te, name)(*[x[i] for x in inputs]), name="y")
    s = te.create_schedule(out.op)
    outer, inner = s[out].split(out.op.axis[0], 16)
    s[out].vectorize(inner)
    func = tvm.build(s, [*inputs, out], target)
    given = [tvm.nd.empty((size,), dtype) for _ in range(len(arrays) + 1)]
    for place, values in zip(given, arrays):
        place.copyfrom(values)
    func(*given)
    result = given[-1].numpy()
    return result.view(ml_dtypes.bfloat16) if dtype == "bfloat16" else result


def every(dtype):
    """All numbers of a 16-bit format, NaNs included."""
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.float16
    return np.arange(1 << 16, dtype="uint16").view(kind)


def samples(name, dtype, count):
    """Arrays of arguments."""
    rng = np.random.default_rng(0)
    if dtype in ("float16", "bfloat16"):
        x = every(dtype)
        return [rng.permutation(np.repeat(x, 8)) for _ in range(2)] if name in BINARY else [x]
    if dtype == "float32":
        bits = np.arange(0, 1 << 32, (1 << 32) // count, dtype="uint64").astype("uint32")
        near = np.linspace(-120, 120, count // 2), np.linspace(-1.01, 1.01, count // 2)
        x = np.concatenate([bits.view("float32"), *(part.astype("float32") for part in near)])
    else:
        wild = np.ldexp(rng.uniform(-2, 2, count), rng.integers(-1000, 1000, count))
        x = np.concatenate(
            [rng.uniform(-1.01, 1.01, count), rng.uniform(-800, 800, count), wild[: count // 2]]
        )
    if name == "atan2":
        return [x, rng.permutation(x)]
    if name == "power":
        # results all over the range: the logarithm of the result is uniform
        reach = 720.0 if dtype == "float64" else 90.0
        x = np.abs(x)
        with np.errstate(all="ignore"):
            y = rng.uniform(-reach, reach, len(x)) / np.log(x.astype("float64"))
        return [x, y.astype(dtype)]
    return [x]


def exact(name, arrays, dtype):
    """The true values; for float64 as (float64, rest), since they have more digits than it."""
    if dtype != "float64":
        with np.errstate(all="ignore"):
            wide = [a.astype("float64") for a in arrays]
            return IN_FLOAT64.get(name, getattr(np, name, None))(*wide), None
    function = IN_MPMATH.get(name) or getattr(mpmath, name)
    high, low = np.empty(len(arrays[0])), np.empty(len(arrays[0]))
    # as many digits as the argument of a sine may have in front of the point
    with mpmath.workprec(1200 if name in ("sin", "cos", "tan") else 160):
        for n, values in enumerate(zip(*arrays)):
            try:
                true = function(*[mpmath.mpf(float(v)) for v in values])
            except (ValueError, ZeroDivisionError):
                true = mpmath.nan
            if isinstance(true, mpmath.mpc):
                true = mpmath.nan
            high[n] = float(true)
            low[n] = float(true - high[n]) if math.isfinite(high[n]) else 0.0
    return high, low


def largest_error(name, dtype, target, count):
    """In units in the last place; infinite where the kind of number is wrong."""
    digits, least, top = FORMATS[dtype]
    arrays = samples(name, dtype, count)
    with np.errstate(invalid="ignore"):
        got = computed(name, arrays, dtype, target).astype("float64")
    true, rest = exact(name, arrays, dtype)
    with np.errstate(all="ignore"):
        limit = top * (1 + 2.0 ** -(digits + 1)) if dtype != "float64" else np.inf
        rounded = np.where(np.abs(true) >= limit, np.copysign(np.inf, true), true)
        wrong = np.isnan(got) != np.isnan(rounded)
        finite = np.isfinite(rounded)
        wrong |= ~finite & ~np.isnan(rounded) & (got != rounded) | finite & ~np.isfinite(got)
        if name == "power" or name == "atan2":
            wrong &= ~np.isnan(arrays[0].astype("float64")) & ~np.isnan(arrays[1].astype("float64"))
        unit = np.ldexp(1.0, np.maximum(np.frexp(np.abs(true))[1] - digits, least))
        difference = got - true if rest is None else (got - true) - rest
        errors = np.abs(difference) / unit
    worst = float(np.max(np.where(finite & ~wrong, errors, 0.0), initial=0.0))
    if wrong.any():
        place = int(np.argmax(wrong))
        print(name, dtype, target, [a[place] for a in arrays], got[place], true[place])
        return np.inf
    return worst


def main():
    cli = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    cli.add_argument("--only", default=",".join(TIGHT + LOOSE), help="functions, by comma")
    cli.add_argument("--count", type=int, default=1 << 20, help="samples of float32")
    cli.add_argument("--count64", type=int, default=1 << 11, help="samples of float64")
    cli.add_argument("--write", type=pathlib.Path, help="a page whose table is replaced")
    options = cli.parse_args()
    lines = [
        "| function | float32 | float32 without fma | float64 | float16 | bfloat16 |",
        "|---|---|---|---|---|---|",
    ]
    missed = 0
    for name in options.only.split(","):
        cells = []
        for dtype, target, bounds in COLUMNS:
            count = options.count64 if dtype == "float64" else options.count
            error = largest_error(name, dtype, target, count)
            missed += not error <= bounds[name]
            cells.append(f"{error:.3f} (<= {bounds[name]})")
        lines.append(f"| {name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    if options.write:
        text = options.write.read_text(encoding="utf-8")
        before, after = text.split(BEGIN)[0], text.split(END)[1]
        table = "\n".join([BEGIN, "", *lines, "", END])
        options.write.write_text(before + table + after, encoding="utf-8")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
