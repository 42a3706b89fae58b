"""Parallel launches: our thread pool against OpenMP.

Builds `pool_bench.cc` twice, once over the C API of libtvm_runtime and once with
``#pragma omp parallel``, and runs the two in turn, each in a process of its own (two pools that
spin in one process would take the cores from each other). Prints ours, peer, ratio and bound; ends
with status 1 when a bound is not met, which is to be expected on a busy machine.

Usage::

    python benchmarks/pool.py [--rounds 5] [--tasks N] [--library PATH] [--instructions]
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "benchmarks" / "pool_bench.cc"

# figure, what it is, bound in microseconds, bound of the ratio to the peer (None: shown only)
FIGURES = [
    ("warm", "launch, one after another", 1.0, 1.0),
    ("gap10us", "launch after 10 us of other work", None, 1.0),
    ("barrier", "one barrier", None, None),
    ("work", "launch of tasks of work_alone each", None, None),
    ("work_alone", "one such task, no launch", None, None),
    ("idle2ms", "launch after 2 ms asleep", None, None),
    ("work_idle2ms", "launch of such tasks after 2 ms asleep", None, None),
]
PINNED = [("warm", "launch, one after another, pinned", None, 1.0)]


def build(directory: Path, library: Path) -> tuple[Path, Path]:
    """Compiles both contenders; returns ours and the peer."""
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        raise SystemExit("pool.py: expected a C++ compiler as $CXX, c++ or g++, but found none")
    common = [compiler, "-std=c++17", "-O2", str(SOURCE)]
    ours, peer = directory / "ours", directory / "openmp"
    rpath = f"-Wl,-rpath,{library.parent}"
    include = f"-I{ROOT / 'include'}"
    subprocess.run([*common, include, str(library), rpath, "-o", str(ours)], check=True)
    subprocess.run([*common, "-DPOOL_OPENMP", "-fopenmp", "-o", str(peer)], check=True)
    return ours, peer


def run(program: Path, tasks: int, pinned: bool) -> dict[str, float]:
    """One run in a process of its own: figure -> value."""
    environment = dict(os.environ, TVM_NUM_THREADS=str(tasks), OMP_NUM_THREADS=str(tasks))
    for name in ("TVM_BIND_THREADS", "OMP_PROC_BIND", "TVM_THREAD_POOL_SPIN_COUNT"):
        environment.pop(name, None)
    if pinned:
        environment.update(TVM_BIND_THREADS="1", OMP_PROC_BIND="true")
    command = [str(program), str(tasks), "1" if pinned else "0"]
    result = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    return {name: float(value) for name, value in map(str.split, result.stdout.splitlines())}


def instructions(program: Path, tasks: int) -> float | None:
    """Instructions of all threads for one warm launch, waiting included; None without valgrind.

    Valgrind runs one thread at a time, so both contenders are told to look only a few times before
    they sleep: else the waiting would be all that is counted.
    """
    if shutil.which("valgrind") is None:
        return None
    environment = dict(
        os.environ,
        TVM_NUM_THREADS=str(tasks),
        OMP_NUM_THREADS=str(tasks),
        TVM_THREAD_POOL_SPIN_COUNT="10",
        GOMP_SPINCOUNT="10",
    )

    def total(launches: int) -> int:
        with tempfile.TemporaryDirectory() as directory:
            command = [
                *("valgrind", "--tool=callgrind", "--fair-sched=yes"),
                f"--callgrind-out-file={directory}/out",
                *(str(program), str(tasks), "0", str(launches)),
            ]
            result = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=60, check=True
            )
            line = next(x for x in result.stderr.splitlines() if "Collected" in x)
            return int(line.split(":")[1])

    try:
        return (total(1500) - total(500)) / 1000
    except subprocess.TimeoutExpired:
        return None


def table(title: str, figures: list, ours: list[dict], peer: list[dict]) -> bool:
    """Prints the medians over the rounds; whether all bounds are met."""
    print(title)
    print(f"  {'figure':<44}{'ours us':>9}{'peer us':>9}{'ratio':>7}  bound")
    met = True
    for name, text, limit, ratio_limit in figures:
        mine = statistics.median(r[name] for r in ours)
        other = statistics.median(r[name] for r in peer)
        ratio = mine / other
        bounds = []
        if limit is not None:
            bounds.append((f"<= {limit:g} us", mine <= limit))
        if ratio_limit is not None:
            bounds.append((f"<= {ratio_limit:g} x peer", ratio <= ratio_limit))
        met &= all(ok for _, ok in bounds)
        verdict = ", ".join(f"{bound} {'met' if ok else 'NOT MET'}" for bound, ok in bounds)
        print(f"  {text:<44}{mine:>9.3f}{other:>9.3f}{ratio:>7.2f}  {verdict or '-'}")
    stolen = statistics.median(r["warm_stolen"] for r in ours)
    print(f"  (of our warm tasks the launcher took {100 * stolen:.1f} % back and ran them itself)")
    return met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=min(len(os.sched_getaffinity(0)), 64))
    parser.add_argument(
        "--library", type=Path, default=ROOT / "python" / "tvm" / "lib" / "libtvm_runtime.so"
    )
    parser.add_argument("--instructions", action="store_true", help="count them with callgrind")
    options = parser.parse_args()
    if not options.library.exists():
        raise SystemExit(f"pool.py: no library at {options.library}: run tools/dev-build.sh first")
    with tempfile.TemporaryDirectory() as directory:
        ours, peer = build(Path(directory), options.library.resolve())
        met = True
        for pinned, figures in ((False, FIGURES), (True, PINNED)):
            results: tuple[list, list] = ([], [])
            for _ in range(options.rounds):
                for program, collected in zip((ours, peer), results):
                    collected.append(run(program, options.tasks, pinned))
            how = "pinned" if pinned else "not pinned"
            met &= table(f"{options.tasks} tasks, {how}", figures, *results)
        load = os.getloadavg()[0]
        print(f"medians of {options.rounds} rounds; load of the machine at the end {load:.1f}")
        if options.instructions:
            for name, program in (("ours", ours), ("peer", peer)):
                count = instructions(program, options.tasks)
                print(f"instructions a launch, all threads, waiting included: {name} {count}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
