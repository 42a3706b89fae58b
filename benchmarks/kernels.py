"""How fast compiled kernels run beside NumPy and torch: one process a contender, in turn.

    python benchmarks/kernels.py [--only gemm,exp] [--threads 1,2] [--rounds 2] [--budget 0.15]

Every contender computes the same thing into memory that exists already; ours is checked against
NumPy first. A figure is the least time of all rounds: what the code can do when the machine lets
it. The bound is how many times faster than the peer the kernel has to be, on a quiet machine; the
program ends with status 1 when one is missed. `pool.py` measures the launch of parallel loops.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys

sys.path.pop(0)  # this folder: its array.py would hide the standard module array

import time
from math import ceil

GEMM_SIZES = (256, 512, 1024, 2048)
STREAM_SIZES = (10**4, 10**5, 10**6, 10**7, 10**8)

# ---- the kernels as te programs with their schedules -------------------------------------------


def gemm(size, dtype="float32", rows=4, columns=64, lanes=16):
    """A matrix product: the right side packed into panels, register tiles of rows x columns."""
    from tvm import te

    a = te.placeholder((size, size), name="A")
    b = te.placeholder((size, size), name="B")
    k = te.reduce_axis((0, size), "k")
    packed = te.compute(
        (size // columns, size, columns), lambda j, p, q: b[p, j * columns + q], name="packed"
    )
    c = te.compute(
        (size, size),
        lambda i, j: te.sum(
            a[i, k] * packed[te.floordiv(j, columns), k, te.floormod(j, columns)], axis=k
        ),
        name="C",
    )
    s = te.create_schedule(c.op)
    tile = s.cache_write(c, "global")
    i_outer, j_outer, i_inner, j_inner = s[c].tile(*s[c].op.axis, rows, columns)
    s[c].reorder(j_outer, i_outer, i_inner, j_inner)
    s[c].parallel(j_outer)
    s[tile].compute_at(s[c], i_outer)
    i, j = s[tile].op.axis
    (p,) = s[tile].op.reduce_axis
    j_out, j_in = s[tile].split(j, lanes)
    s[tile].reorder(p, i, j_out, j_in)
    s[tile].vectorize(j_in)
    s[tile].unroll(i)
    s[tile].unroll(j_out)
    j_out, j_in = s[c].split(j_inner, lanes)
    s[c].vectorize(j_in)
    s[c].unroll(i_inner)
    s[c].unroll(j_out)
    panel, _, column = s[packed].op.axis
    s[packed].parallel(panel)
    outer, inner = s[packed].split(column, lanes)
    s[packed].vectorize(inner)
    s[packed].unroll(outer)
    return s, [a, b, c]


def gemm_u8s8(size, rows=8, columns=32, lanes=16):
    """uint8 x int8 -> int32 by the processor's four-way dot products; the right side packed."""
    import tvm
    from tvm import te

    a = te.placeholder((size, size), "uint8", name="A")
    b = te.placeholder((size, size), "int8", name="B")
    deep = size // 4

    def pack(ins, outs):
        """Four rows at a time, interleaved so that a column's four bytes lie side by side."""
        ir = tvm.tir
        build = ir.ir_builder.create()

        def interleaved(u, v, unit, count):
            order = [place + part * count for place in range(0, count, unit) for part in (0, 1)]
            order = [place + more for place in order for more in range(unit)]
            return ir.Shuffle([u, v], [ir.const(place, "int32") for place in order])

        panels = build.for_range(0, size // lanes, "j", kind="parallel")
        with panels as j, build.for_range(0, deep, "p") as p:
            rows_of = [
                build.let(
                    f"row{r}",
                    ir.BufferLoad(ins[0], [p * 4 + r, ir.Ramp(j * lanes, 1, lanes)]),
                )
                for r in range(4)
            ]
            low = build.let("low", interleaved(*rows_of[:2], 1, lanes))
            high = build.let("high", interleaved(*rows_of[2:], 1, lanes))
            value = interleaved(low, high, 2, 2 * lanes)
            build.emit(ir.BufferStore(outs[0], value, [j, p, ir.Ramp(0, 1, 4 * lanes)]))
        return build.get()

    shape = (size // lanes, deep, lanes * 4)
    packed = te.extern(shape, [b], pack, dtype="int8", name="packed")
    wide = columns // lanes
    vector = f"int32x{lanes}"

    def body(ins, outs):
        ir = tvm.tir
        left, right = ins
        build = ir.ir_builder.create()
        panels = build.for_range(0, size // columns, "jo", kind="parallel")
        with panels as jo, build.for_range(0, size // rows, "io") as io:
            tile = build.allocate(vector, rows * wide, "tile", scope="global")
            for place in range(rows * wide):
                tile[place] = ir.Broadcast(ir.const(0, "int32"), lanes)
            with build.for_range(0, deep, "p") as p:
                rights = []
                for q in range(wide):
                    row = ir.BufferLoad(right, [jo * wide + q, p, ir.Ramp(0, 1, lanes * 4)])
                    rights.append(build.let(f"right{q}", ir.reinterpret(vector, row)))
                for i in range(rows):
                    four = ir.BufferLoad(left, [io * rows + i, ir.Ramp(p * 4, 1, 4)])
                    each = ir.Broadcast(ir.reinterpret("int32", four), lanes)
                    for q in range(wide):
                        place = i * wide + q
                        tile[place] = ir.call_llvm_pure_intrin(
                            vector, "llvm.x86.avx512.vpdpbusd.512", ir.const(3, "uint32"),
                            tile[place], each, rights[q],
                        )  # fmt: skip
            for i in range(rows):
                for q in range(wide):
                    column = ir.Ramp(jo * columns + q * lanes, 1, lanes)
                    value = tile[i * wide + q]
                    build.emit(ir.BufferStore(outs[0], value, [io * rows + i, column]))
        return build.get()

    c = te.extern((size, size), [a, packed], body, dtype="int32", name="C")
    return te.create_schedule(c.op), [a, b, c]


def scale_and_add(size):
    """B = A * 2 + 1, as it comes."""
    from tvm import te

    a = te.placeholder((size,), name="A")
    b = te.compute((size,), lambda i: a[i] * 2.0 + 1.0, name="B")
    return te.create_schedule(b.op), [a, b]


def flat(formula, size, lanes=16):
    """An element-wise formula over one array, in parallel chunks of vectors."""
    from tvm import te

    x = te.placeholder((size,), name="X")
    y = te.compute((size,), lambda i: formula(x[i]), name="Y")
    s = te.create_schedule(y.op)
    outer, inner = s[y].split(y.op.axis[0], lanes)
    s[y].vectorize(inner)
    s[y].parallel(outer)
    return s, [x, y]


def exp(size):
    from tvm import te

    return flat(te.exp, size)


def gelu_erf(size):
    from tvm import te

    return flat(lambda v: v * 0.5 * (1.0 + te.erf(v * 0.7071067811865476)), size)


def gelu_tanh(size):
    from tvm import te

    return flat(
        lambda v: v * 0.5 * (1.0 + te.tanh(0.7978845608028654 * (v + 0.044715 * v * v * v))), size
    )


def softmax(rows, columns, lanes=16):
    """Rows in parallel; the reductions by vectors, whose lanes are halved until one is left."""
    import tvm
    from tvm import te

    width = 4 * lanes
    x = te.placeholder((rows, columns), name="X")
    deep = columns // width
    folds = []

    def reduced(reducer, pair, source, name):
        k = te.reduce_axis((0, deep), "k")
        part = te.compute(
            (rows, width), lambda i, j: reducer(source[i, k * width + j], axis=k), name=name
        )
        first, half = part, width // 2
        while half:
            part = te.compute(
                (rows, half),
                lambda i, j, part=part, half=half: pair(part[i, j], part[i, j + half]),
                name=f"{name}{half}",
            )
            folds.append((part, half))
            half //= 2
        return first, part

    top_part, top = reduced(te.max, tvm.tir.max, x, "top")
    e = te.compute((rows, columns), lambda i, j: te.exp(x[i, j] - top[i, 0]), name="e")
    sum_part, total = reduced(te.sum, lambda u, v: u + v, e, "total")
    factor = te.compute((rows,), lambda i: 1.0 / total[i, 0], name="factor")
    y = te.compute((rows, columns), lambda i, j: e[i, j] * factor[i], name="Y")
    s = te.create_schedule(y.op)
    row, column = y.op.axis
    s[y].parallel(row)
    _, inner = s[y].split(column, lanes)
    s[y].vectorize(inner)
    for part in (top_part, sum_part):
        s[part].compute_at(s[y], row)
        outer, inner = s[part].split(s[part].op.axis[1], lanes)
        s[part].reorder(s[part].op.reduce_axis[0], outer, inner)
        s[part].unroll(outer)
        s[part].vectorize(inner)
    for part, half in folds:
        s[part].compute_at(s[y], row)
        outer, inner = s[part].split(part.op.axis[1], min(half, lanes))
        s[part].unroll(outer)
        s[part].vectorize(inner)
    s[e].compute_at(s[y], row)
    _, inner = s[e].split(e.op.axis[1], lanes)
    s[e].vectorize(inner)
    s[factor].compute_at(s[y], row)
    return s, [x, y]


# ---- the table: name -> (arguments, threads, {peer: bound}) ------------------------------------


def cases():
    """Name, sizes, thread counts and bounds of every kernel."""
    for size in GEMM_SIZES:
        bounds = {
            1: {"numpy": 0.97 if size == 2048 else 1.05, "torch": None if size == 2048 else 1.1},
            2: {"numpy": None if size == 2048 else 1.0, "torch": None if size == 2048 else 1.0},
        }
        yield f"gemm {size}", bounds
    yield "gemm u8s8 1024", {1: {"torch": 0.95}}
    for size in STREAM_SIZES:
        torch_bound = 1.3 if size == STREAM_SIZES[-1] else 1.0
        yield f"A*2+1 {size:.0e}", {1: {"numpy": 1.4, "torch": torch_bound}}
    yield "softmax 1024x1024", {1: {"torch": 2.0}, 2: {"torch": 2.0}}
    yield "gelu(erf) 4096x768", {1: {"torch": 1.3}, 2: {"torch": 1.3}}
    yield "gelu(tanh) 4096x768", {1: {"torch": 3.5}, 2: {"torch": 3.5}}
    yield "exp 1e6", {1: {"numpy": 1.3, "torch": 2.5}}


def inputs(name):
    """Arrays of a kernel: the inputs, and the output as zeros."""
    import numpy as np

    rng = np.random.default_rng(0)
    kind, size = name.split(" ")[0], name.split(" ")[-1]
    if kind == "gemm":
        n = int(size)
        if "u8s8" in name:
            return [
                rng.integers(0, 256, (n, n), np.uint8), rng.integers(-128, 128, (n, n), np.int8),
                np.zeros((n, n), np.int32),
            ]  # fmt: skip
        return [*rng.normal(size=(2, n, n)).astype("float32"), np.zeros((n, n), np.float32)]
    if "x" in size:
        rows, columns = (int(part) for part in size.split("x"))
        shape = (rows, columns) if kind == "softmax" else (rows * columns,)
    else:
        shape = (int(float(size)),)
    data = rng.normal(size=min(shape[0], 1 << 20) if len(shape) == 1 else shape)
    data = np.resize(data.astype("float32"), shape)
    if kind == "exp":
        # the whole range, results that are subnormal, zero and infinite included
        data *= 40
    return [data, np.zeros(shape, np.float32)]


def expected(name, arrays):
    """What NumPy says, and how far off a result may be."""
    import numpy as np

    kind, first = name.split(" ")[0], arrays[0]
    if "u8s8" in name:
        return arrays[0].astype("float32") @ arrays[1].astype("float32"), 0
    if kind == "gemm":
        return arrays[0].astype("float64") @ arrays[1], 1e-3
    if kind == "A*2+1":
        return first * np.float32(2) + np.float32(1), 0
    x = first.astype("float64")
    if kind == "softmax":
        e = np.exp(x - x.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True), 1e-6
    if kind == "exp":
        with np.errstate(over="ignore", under="ignore"):
            return np.exp(x).astype("float32").astype("float64"), 2e-7
    if kind == "gelu(tanh)":
        return 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x**3))), 1e-6
    from math import erf

    some = x.ravel()[:4096]
    return np.array([0.5 * v * (1 + erf(v * 0.7071067811865476)) for v in some]), 1e-6


def best(call, budget):
    """Least seconds of one call, over batches of at least 200 us and the time given.

    With one thread it is that thread's CPU time, which other processes disturb less.
    """
    clock = time.thread_time if os.environ["OMP_NUM_THREADS"] == "1" else time.perf_counter
    call()
    begin = clock()
    call()
    once = clock() - begin
    batch = max(1, ceil(2e-4 / max(once, 1e-7)))
    least = once
    stop = time.perf_counter() + budget
    runs = 0
    while runs < 3 or time.perf_counter() < stop:
        begin = clock()
        for _ in range(batch):
            call()
        least = min(least, (clock() - begin) / batch)
        runs += 1
    return least


# ---- contenders --------------------------------------------------------------------------------


def ours(name):
    """The compiled kernel as a call without arguments."""
    import numpy as np
    import tvm

    kind, size = name.split(" ")[0], name.split(" ")[-1]
    arrays = inputs(name)
    if kind == "gemm":
        program = gemm_u8s8(int(size)) if "u8s8" in name else gemm(int(size))
    elif kind == "softmax":
        program = softmax(*arrays[0].shape)
    else:
        make = {"A*2+1": scale_and_add, "exp": exp, "gelu(erf)": gelu_erf, "gelu(tanh)": gelu_tanh}
        program = make[kind](arrays[0].size)
    function = tvm.build(*program, "llvm")
    given = [tvm.nd.array(item) for item in arrays]
    function(*given)
    reference, off = expected(name, arrays)
    got = given[-1].numpy().astype("float64")
    if kind == "gelu(erf)":
        got = got.ravel()[: len(reference)]
    np.testing.assert_allclose(got, reference, rtol=off, atol=off if kind != "exp" else 2e-45)
    entry = function.entry_func if hasattr(function, "entry_func") else function
    return lambda: entry(*given)


def numpy(name):
    import numpy as np

    kind = name.split(" ")[0]
    *given, out = inputs(name)
    if kind == "gemm" and "u8s8" not in name:
        return lambda: np.matmul(*given, out=out)
    if kind == "A*2+1":
        two, one = np.float32(2), np.float32(1)

        def run():
            np.multiply(given[0], two, out=out)
            np.add(out, one, out=out)

        return run
    if kind == "exp":
        np.seterr(all="ignore")
        return lambda: np.exp(given[0], out=out)
    return None


def torch(name):
    import torch as t

    t.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    kind = name.split(" ")[0]
    *given, out = (t.from_numpy(item) for item in inputs(name))
    if "u8s8" in name:
        left = given[0].view(t.int8)
        return lambda: t._int_mm(left, given[1], out=out)
    if kind == "gemm":
        return lambda: t.mm(*given, out=out)
    if kind == "A*2+1":
        one = t.tensor(1.0)
        return lambda: t.add(one, given[0], alpha=2.0, out=out)
    if kind == "exp":
        return lambda: t.exp(given[0], out=out)
    if kind == "softmax":
        return lambda: t.softmax(given[0], 1, out=out)
    gelu = t.nn.functional.gelu
    how = "tanh" if "tanh" in name else "none"
    return lambda: gelu(given[0], approximate=how)


CONTENDERS = {"ours": ours, "numpy": numpy, "torch": torch}


def work(contender, names, budget):
    """Measure one contender in this process; a line of JSON a kernel."""
    for name in names:
        call = CONTENDERS[contender](name)
        if call is not None:
            print(json.dumps([name, best(call, budget)]), flush=True)


def measure(contender, threads, names, budget):
    """Seconds of each kernel, from a process of its own."""
    environment = dict(os.environ)
    for key in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        environment.pop(key, None)
    for key in ("TVM_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        environment[key] = str(threads)
    command = [sys.executable, __file__, "--worker", contender, "--budget", str(budget)]
    done = subprocess.run(
        [*command, "--names", json.dumps(names)],
        env=environment, stdout=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{contender} failed with status {done.returncode}")
    return dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith("["))


def main():
    cli = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    cli.add_argument("--only", default="", help="beginnings of the kernels' names")
    cli.add_argument("--threads", default="1,2")
    cli.add_argument("--rounds", type=int, default=2)
    cli.add_argument("--budget", type=float, default=0.15, help="seconds a kernel and round")
    cli.add_argument("--worker", default="", help=argparse.SUPPRESS)
    cli.add_argument("--names", default="[]", help=argparse.SUPPRESS)
    options = cli.parse_args()
    if options.worker:
        work(options.worker, json.loads(options.names), options.budget)
        return 0
    wanted = tuple(part for part in options.only.split(",") if part)
    table = [(n, bounds) for n, bounds in cases() if not wanted or n.startswith(wanted)]
    print(f"{'kernel':22} {'threads':>7} {'ours us':>10} {'peer':>6} {'us':>10} {'ratio':>6} bound")
    missed = False
    for threads in (int(part) for part in options.threads.split(",")):
        names = [name for name, bounds in table if threads in bounds]
        times = {contender: {} for contender in CONTENDERS}
        for _ in range(options.rounds):
            for contender, found in times.items():
                for name, seconds in measure(contender, threads, names, options.budget).items():
                    found[name] = min(seconds, found.get(name, seconds))
        for name, bounds in table:
            for peer, bound in bounds.get(threads, {}).items():
                if name not in times[peer]:
                    continue
                mine, other = times["ours"][name], times[peer][name]
                ratio = other / mine
                low = bound is not None and ratio < bound
                missed |= low
                print(
                    f"{name:22} {threads:7} {mine * 1e6:10.1f} {peer:>6} {other * 1e6:10.1f} "
                    f"{ratio:6.2f} {bound if bound is not None else '-'}{' missed' if low else ''}"
                )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
