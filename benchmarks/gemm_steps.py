"""The steps of the matrix product of docs/tutorials/matmul.md, measured and plotted.

    python benchmarks/gemm_steps.py [--size 1024] [--parallel] [--plot gemm_steps.svg]

The schedules are the very functions of that page. Each contender has a process of its own, in
turn: the steps and the libraries on one thread; with `--parallel` then `threads` and the libraries
on all cores, which says something on a quiet machine only. A figure is that of the fastest call of
all rounds. `--plot` needs matplotlib.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys

sys.path.pop(0)  # this folder: its array.py would hide the standard module array

import time

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "tutorials" / "matmul.md"
LIBRARIES = ("numpy", "torch")
STEPS = ("naive", "reordered", "tiled", "registers", "packed", "threads")


def schedules():
    """The functions of the page by name; its checks run on the way, unseen."""
    import contextlib
    import io
    import re

    scope = {"__name__": "page"}
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    with contextlib.redirect_stdout(io.StringIO()):
        exec("\n".join(blocks), scope)
    return scope["STEPS"]


def least_seconds(call, budget=0.5):
    """Time of the fastest call."""
    call()
    least, stop, runs = float("inf"), time.perf_counter() + budget, 0
    while runs < 3 or time.perf_counter() < stop:
        begin = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - begin)
        runs += 1
    return least


def measure(name, size):
    """GFLOP/s of one contender in this process."""
    import numpy as np

    a, b = np.random.default_rng(0).normal(size=(2, size, size)).astype("float32")
    if name == "numpy":
        out = np.empty_like(a)
        seconds = least_seconds(lambda: np.matmul(a, b, out=out))
    elif name == "torch":
        import torch

        left, right, out = torch.tensor(a), torch.tensor(b), torch.empty((size, size))
        seconds = least_seconds(lambda: torch.mm(left, right, out=out))
    else:
        import tvm

        s, args = schedules()[name](size)
        function = tvm.build(s, args, "llvm", name="gemm")
        left, right, out = tvm.nd.array(a), tvm.nd.array(b), tvm.nd.empty((size, size))
        seconds = least_seconds(lambda: function(left, right, out))
        np.testing.assert_allclose(out.numpy(), a @ b, rtol=1e-2, atol=1e-2)
    return 2 * size**3 / seconds / 1e9


def in_a_process(name, size, threads):
    """The same in a process of its own."""
    environment = dict(os.environ)
    for variable in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        environment.pop(variable, None)
    for variable in ("OMP", "MKL", "OPENBLAS", "TVM"):
        environment[variable + "_NUM_THREADS"] = str(threads)
    command = [sys.executable, __file__, "--one", name, "--size", str(size)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr}")
    return float(done.stdout)


def plot(rows, size, path):
    """Bars by contender, ours apart from the libraries."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "gemm_steps"
    matplotlib.rcParams["svg.fonttype"] = "none"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4))
    labels = [
        name + ("" if count == 1 or name == "threads" else f"\n{count} threads")
        for name, count, _ in rows
    ]
    colours = ["#999999" if name in LIBRARIES else "#2a6f97" for name, _, _ in rows]
    bars = axes.bar(labels, [figure for _, _, figure in rows], color=colours)
    axes.bar_label(bars, fmt="%.1f", fontsize=8)
    axes.set_ylabel("GFLOP/s")
    axes.set_title(f"Matrix product, float32, {size} x {size}")
    axes.tick_params(axis="x", labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main():
    cli = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    cli.add_argument("--size", type=int, default=1024, help="a multiple of 64")
    cli.add_argument("--parallel", action="store_true", help="measure with all cores as well")
    cli.add_argument("--rounds", type=int, default=3)
    cli.add_argument("--plot", type=pathlib.Path, help="write a picture here")
    cli.add_argument("--one", help=argparse.SUPPRESS)
    options = cli.parse_args()
    if options.one:
        print(measure(options.one, options.size))
        return 0
    cores = len(os.sched_getaffinity(0))
    contenders = [(name, 1) for name in (*STEPS[:-1], *LIBRARIES)]
    if options.parallel:
        contenders += [(name, cores) for name in (STEPS[-1], *LIBRARIES)]
    best = dict.fromkeys(contenders, 0.0)
    for _ in range(options.rounds):
        for name, threads in contenders:
            figure = in_a_process(name, options.size, threads)
            best[name, threads] = max(best[name, threads], figure)
    rows = [(name, threads, best[name, threads]) for name, threads in contenders]
    for name, threads, figure in rows:
        print(f"{name:10} {threads} thread(s) {figure:8.1f} GFLOP/s")
    if options.plot:
        plot(rows, options.size, options.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
