"""Time the array runtime against NumPy, torch and apache-tvm-ffi: ours, peer, ratio, bound.

    python benchmarks/array.py            # the table
    python benchmarks/array.py --callgrind  # instruction counts beside (needs valgrind)
    python benchmarks/array.py --markdown   # as in docs/performance.md

All figures of a line come from one process, ours and the peer's measured in turn; the minimum of
many repeats counts. Every operation is called through a lambda, on both sides, and every function
is bound to a name first: looking it up in its module costs as much as some of the operations.
"""

import sys

sys.path.pop(0)  # this folder: its array.py would hide the standard module array

import argparse
import gc
import glob
import os
import re
import subprocess
import tempfile
import time
import timeit

import numpy as np
import tvm
from tvm import te

try:
    import torch
except ImportError:
    torch = None
try:
    import tvm_ffi
except ImportError:
    tvm_ffi = None

SHAPE = (8, 8)
MB256 = 1 << 26  # float32 elements


class Row:
    """One operation, ours against a peer's, with the largest ratio that is acceptable."""

    def __init__(self, name, ours, peer, bound, peer_name, large=False):
        self.name, self.ours, self.peer, self.bound = name, ours, peer, bound
        self.peer_name, self.large = peer_name, large


def compiled_add(rows=SHAPE[0]):
    """A kernel of two 8x8 tensors that does next to nothing: what is measured is the call."""
    A = te.placeholder((rows, SHAPE[1]), name="A")
    B = te.compute(A.shape, lambda i, j: A[i, j] + 1.0, name="B")
    return tvm.build(te.create_schedule(B.op), [A, B], "llvm")["default_function"]


def rows(large=True):
    """All lines whose peer is installed."""
    x = np.ones(SHAPE, "float32")
    y = np.ones(SHAPE, "float32")
    a, b = tvm.nd.array(x), tvm.nd.array(x)
    f = compiled_add()
    g = compiled_add(te.var("n"))  # may run long, so the GIL is released
    empty, array, from_dlpack = tvm.nd.empty, tvm.nd.array, tvm.nd.from_dlpack
    np_empty, np_array, np_copyto, np_from_dlpack = np.empty, np.array, np.copyto, np.from_dlpack
    float32 = np.float32
    out = [
        Row(
            "nd.empty",
            lambda: empty(SHAPE),
            lambda: np_empty(SHAPE, float32),
            0.45,
            "np.empty",
        ),
        Row("nd.array(x)", lambda: array(x), lambda: np_array(x), 0.55, "np.array(x)"),
        Row("a.numpy()", lambda: a.numpy(), lambda: np_array(x), 0.55, "np.array(x)"),
        Row("a.copyfrom(x)", lambda: a.copyfrom(x), lambda: np_copyto(y, x), 0.5, "np.copyto"),
        Row("a.copyto(b)", lambda: a.copyto(b), lambda: np_copyto(y, x), 0.5, "np.copyto"),
        Row(
            "from_dlpack(np)",
            lambda: from_dlpack(x),
            lambda: np_from_dlpack(x),
            0.6,
            "np.from_dlpack(np)",
        ),
        Row(
            "np.from_dlpack(a)",
            lambda: np_from_dlpack(a),
            lambda: np_from_dlpack(x),
            1.1,
            "np.from_dlpack(np)",
        ),
        Row("a.shape", lambda: a.shape, lambda: x.shape, 2.0, "x.shape"),
    ]
    if tvm_ffi is not None:
        nop = tvm_ffi.get_global_func("testing.nop")
        ffi_from_dlpack = tvm_ffi.from_dlpack
        fa, fb = tvm_ffi.from_dlpack(x), tvm_ffi.from_dlpack(y)
        out.append(Row("f(a, b)", lambda: f(a, b), lambda: nop(fa, fb), 0.8, "tvm_ffi nop(a, b)"))
        out.append(
            Row(
                "f(a, b), GIL released", lambda: g(a, b), lambda: nop(fa, fb), 0.8,
                "tvm_ffi nop(a, b)",
            )
        )  # fmt: skip
        out.append(Row("f(np, np)", lambda: f(x, y), lambda: nop(x, y), 0.7, "tvm_ffi nop(np, np)"))
        if torch is not None:
            t, u = torch.ones(SHAPE), torch.ones(SHAPE)
            out.append(
                Row(
                    "f(torch, torch)",
                    lambda: f(t, u),
                    lambda: nop(t, u),
                    0.7,
                    "tvm_ffi nop(torch, torch)",
                )
            )
            out.append(
                Row(
                    "from_dlpack(torch)",
                    lambda: from_dlpack(t),
                    lambda: ffi_from_dlpack(t),
                    0.7,
                    "tvm_ffi.from_dlpack(torch)",
                )
            )
    if not large:
        return out
    big, big2 = np.ones(MB256, "float32"), np.ones(MB256, "float32")
    c, d = tvm.nd.array(big), tvm.nd.array(big)
    out += [
        Row(
            "256 MB copyfrom",
            lambda: c.copyfrom(big),
            lambda: np.copyto(big2, big),
            1.1,
            "np.copyto (warm)",
            large=True,
        ),
        Row(
            "256 MB copyto",
            lambda: c.copyto(d),
            lambda: np.copyto(big2, big),
            1.1,
            "np.copyto (warm)",
            large=True,
        ),
        Row(
            "256 MB nd.array",
            lambda: tvm.nd.array(big),
            lambda: np.array(big),
            1.5,
            "np.array (fresh)",
            large=True,
        ),
        Row(
            "256 MB numpy()",
            lambda: c.numpy(),
            lambda: np.array(big),
            1.5,
            "np.array (fresh)",
            large=True,
        ),
    ]
    return out


def measure(row, seconds=0.6):
    """Best time of both sides in seconds, taken in turn."""
    number = 1 if row.large else 2000
    best = [float("inf"), float("inf")]
    end = time.perf_counter() + (4 * seconds if row.large else seconds)
    while time.perf_counter() < end:
        for side, op in enumerate((row.ours, row.peer)):
            best[side] = min(best[side], timeit.timeit(op, number=number) / number)
    return best


CALLS = 2000


def loop_all(only):
    """What valgrind watches: every small row on both sides, a call of getppid around each loop."""
    for row in rows(large=False):
        if only in row.name:
            for op in (row.ours, row.peer):
                for _ in range(300):  # caches fill, code specialises
                    op()
                gc.collect()
                os.getppid()
                for _ in range(CALLS):
                    op()
                os.getppid()


def callgrind_instructions(only):
    """Instructions per call, {row name: (ours, peer)}; valgrind dumps counts at each getppid."""
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "out")
        command = ["valgrind", "--tool=callgrind", "--dump-before=getppid"]
        command += [f"--callgrind-out-file={log}", sys.executable, __file__, "--loop", only]
        subprocess.run(command, capture_output=True, text=True, check=True)
        parts = sorted(glob.glob(log + ".*"), key=lambda path: int(path.rsplit(".", 1)[1]))
        totals = []
        for part in parts:
            with open(part) as file:
                totals.append(int(re.search(r"^(?:totals|summary): (\d+)", file.read(), re.M)[1]))
    names = [row.name for row in rows(large=False) if only in row.name]
    # the parts with odd numbers are the loops, the others what lies between them
    per_call = [total / CALLS for total in totals[1::2]]
    return {name: (per_call[2 * i], per_call[2 * i + 1]) for i, name in enumerate(names)}


def import_milliseconds():
    """Time of ``import tvm`` beyond an empty interpreter, best of many processes in turn."""
    best = {}
    for _ in range(15):
        for code in ("pass", "import tvm"):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            took = time.perf_counter() - start
            best[code] = min(best.get(code, took), took)
    return (best["import tvm"] - best["pass"]) * 1e3


def main():
    cli = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    cli.add_argument("--callgrind", action="store_true", help="count instructions, too")
    cli.add_argument("--markdown", action="store_true", help="print a Markdown table")
    cli.add_argument("--only", default="", help="only rows whose name contains this")
    cli.add_argument("--loop", help=argparse.SUPPRESS)
    options = cli.parse_args()
    if options.loop is not None:
        loop_all(options.loop)
        return 0
    counts = callgrind_instructions(options.only) if options.callgrind else {}
    names = {"NumPy": np.__version__}
    for label, module in (("torch", torch), ("apache-tvm-ffi", tvm_ffi)):
        names[label] = getattr(module, "__version__", "not installed")
    print("peers: " + ", ".join(f"{k} {v}" for k, v in names.items()) + "\n")
    if options.markdown:
        print("| operation | ours | peer | peer's | ratio | at most | instructions, ours / peer |")
        print("|---|---|---|---|---|---|---|")
    failed = 0
    for row in rows():
        if options.only not in row.name:
            continue
        ours, peer = measure(row)
        ratio = ours / peer
        failed += ratio > row.bound
        unit, scale = ("ms", 1e3) if row.large else ("ns", 1e9)
        count = "{:.0f} / {:.0f}".format(*counts[row.name]) if row.name in counts else ""
        mark = "" if ratio <= row.bound else "  <-- above the bound"
        if options.markdown:
            cells = [f"`{row.name}`", f"{ours * scale:.0f} {unit}", row.peer_name]
            cells += [f"{peer * scale:.0f} {unit}", f"{ratio:.2f}", str(row.bound), count]
            print("| " + " | ".join(cells) + " |")
        else:
            sides = f"{ours * scale:8.0f} {unit}  {row.peer_name:28} {peer * scale:8.0f} {unit}"
            print(f"{row.name:20} {sides}  {ratio:5.2f} (<= {row.bound}) {count}{mark}")
    if not options.only:
        took = import_milliseconds()
        failed += took > 40
        print(f"\nimport tvm: {took:.1f} ms beyond an empty interpreter (<= 40)")
    print(f"{failed} above their bound" if failed else "all within their bounds")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
