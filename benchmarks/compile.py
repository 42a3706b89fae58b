"""How long a build takes and where the time goes: lowering, LLVM text, LLVM, linking.

    python benchmarks/compile.py [--repeat N]

Times are CPU milliseconds of the building thread, the least of N builds after a warm-up. The last
column is the bound of the whole build on a quiet machine; the program ends with status 1 when one
is missed. Run times of the built kernels are in other benchmarks.
"""

from __future__ import annotations

import argparse
import sys

sys.path.pop(0)  # this folder: its array.py would hide the standard module array

import time

import tvm
from tvm import te
from tvm.codegen.llvm import build as backend
from tvm.codegen.llvm.compile import Compiled
from tvm.codegen.llvm.jit import LoadedCode
from tvm.codegen.llvm.machine import machine_for


def plus_one():
    """B = A + 1 with the default schedule."""
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] + 1.0, name="B")
    return te.create_schedule(b.op), [a, b]


def gemm(size=1024, rows=4, columns=64, lanes=16):
    """A matrix product in register tiles over a packed right side."""
    a = te.placeholder((size, size), name="A")
    b = te.placeholder((size, size), name="B")
    k = te.reduce_axis((0, size), "k")
    packed = te.compute(
        (size // columns, size, columns), lambda j, p, q: b[p, j * columns + q], name="packed"
    )
    index = tvm.tir.indexmod
    c = te.compute(
        (size, size),
        lambda i, j: te.sum(a[i, k] * packed[j // columns, k, index(j, columns)], axis=k),
        name="C",
    )
    s = te.create_schedule(c.op)
    tile = s.cache_write(c, "global")
    i_outer, j_outer, i_inner, j_inner = s[c].tile(*s[c].op.axis, rows, columns)
    s[c].reorder(j_outer, i_outer, i_inner, j_inner)
    s[tile].compute_at(s[c], i_outer)
    i, j = s[tile].op.axis
    (p,) = s[tile].op.reduce_axis
    jo, ji = s[tile].split(j, lanes)
    s[tile].reorder(p, i, jo, ji)
    s[tile].vectorize(ji)
    s[tile].unroll(i)
    s[tile].unroll(jo)
    jo, ji = s[c].split(j_inner, lanes)
    s[c].vectorize(ji)
    s[c].unroll(i_inner)
    s[c].unroll(jo)
    outer, inner = s[packed].split(s[packed].op.axis[2], lanes)
    s[packed].vectorize(inner)
    s[packed].unroll(outer)
    return s, [a, b, c]


def softmax(rows=1024, columns=1024):
    """Four stages with the default schedule."""
    x = te.placeholder((rows, columns), name="X")
    k1 = te.reduce_axis((0, columns), "k1")
    k2 = te.reduce_axis((0, columns), "k2")
    top = te.compute((rows,), lambda i: te.max(x[i, k1], axis=k1), name="top")
    e = te.compute((rows, columns), lambda i, j: te.exp(x[i, j] - top[i]), name="e")
    total = te.compute((rows,), lambda i: te.sum(e[i, k2], axis=k2), name="total")
    y = te.compute((rows, columns), lambda i, j: e[i, j] / total[i], name="Y")
    return te.create_schedule(y.op), [x, y]


# name, program, bound of the whole build in ms (None: shown only)
CASES = [
    ("B = A + 1", plus_one, 5.0),
    ("GEMM 1024, 4x64 tile", gemm, 30.0),
    ("softmax, default schedule", softmax, None),
]


def clock() -> float:
    return time.thread_time() * 1e3


def stages(schedule, args):
    """Milliseconds of each stage, and of a whole build."""
    from tvm._ffi import _core

    machine = machine_for(None)
    times = [clock()]
    mod = tvm.lower(schedule, args)
    times.append(clock())
    unit, functions = backend.generate(mod, None, machine)
    times.append(clock())
    compiled = Compiled(unit)
    times.append(clock())
    loaded = LoadedCode(compiled, [symbol for *_, symbol in functions], _core.backend_slots())
    times.append(clock())
    loaded.close()
    begin = clock()
    tvm.build(schedule, args, "llvm")
    whole = clock() - begin
    return [b - a for a, b in zip(times, times[1:])] + [whole]


def main() -> int:
    cli = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    cli.add_argument("--repeat", type=int, default=50)
    options = cli.parse_args()
    print(
        f"{'program':28} {'lower':>8} {'text':>8} {'LLVM':>8} {'link':>8} {'build':>8} {'bound':>7}"
    )
    missed = False
    for name, program, bound in CASES:
        schedule, args = program()
        stages(schedule, args)
        rows = [stages(schedule, args) for _ in range(options.repeat)]
        best = [min(column) for column in zip(*rows)]
        cells = " ".join(f"{value:8.2f}" for value in best)
        print(f"{name:28} {cells} {bound if bound is not None else '-':>7}")
        missed |= bound is not None and best[-1] > bound
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
