"""Measuring how long functions take."""

from __future__ import annotations

from tvm.error import TypeError_, ValueError_

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from tvm._ffi._core import Device


class BenchmarkResult:
    """Times of repeated runs, in seconds.

    Parameters
    ----------
    results : sequence of float
        One entry a repeat: the mean time of one run in it.

    Attributes
    ----------
    results : tuple of float
    mean, median, min, max, std : float
        Figures over `results`, in seconds; std is that of the population.

    Examples
    --------
    >>> from tvm.runtime.module import BenchmarkResult
    >>> BenchmarkResult([1.0, 2.0, 3.0]).median
    2.0
    """

    def __init__(self, results: Sequence[float]) -> None:
        self.results = tuple(float(x) for x in results)
        if not self.results:
            raise ValueError_("BenchmarkResult: expected at least one result")
        ordered = sorted(self.results)
        count = len(ordered)
        middle = count // 2
        self.mean = sum(ordered) / count
        self.median = ordered[middle] if count % 2 else (ordered[middle - 1] + ordered[middle]) / 2
        self.min = ordered[0]
        self.max = ordered[-1]
        self.std = (sum((x - self.mean) ** 2 for x in ordered) / count) ** 0.5

    def __repr__(self) -> str:
        return (
            f"BenchmarkResult(min={self.min}, mean={self.mean}, median={self.median}, "
            f"max={self.max}, std={self.std}, results={self.results})"
        )

    def __str__(self) -> str:
        columns = ("mean", "median", "max", "min", "std")
        head = "Execution time summary:\n" + "".join(f"{name + ' (ms)':^14}" for name in columns)
        row = "".join(f"{getattr(self, name) * 1e3:^14.4f}" for name in columns)
        return f"{head}\n{row}"


def _count(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError_(
            f"time_evaluator: {name} must be an int, got {value!r} of type {type(value).__name__}"
        )
    value = value.__index__()
    if value < least:
        raise ValueError_(f"time_evaluator: {name} must be at least {least}, got {value}")
    return int(value)


def time_evaluator(
    func: Callable[..., Any],
    dev: Device,
    number: int = 10,
    repeat: int = 1,
    min_repeat_ms: float = 0,
    limit_zero_time_iterations: int = 100,
    cooldown_interval_ms: float = 0,
    repeats_to_cooldown: int = 1,
    cache_flush_bytes: int = 0,
    f_preproc: str | Callable[..., Any] = "",
) -> Callable[..., BenchmarkResult]:
    """A function that measures `func`; see `Module.time_evaluator` for the parameters."""
    number = _count("number", number, 1)
    repeat = _count("repeat", repeat, 1)
    limit = _count("limit_zero_time_iterations", limit_zero_time_iterations, 0)
    every = _count("repeats_to_cooldown", repeats_to_cooldown, 1)
    flush = _count("cache_flush_bytes", cache_flush_bytes, 0)
    for name, value in (
        ("min_repeat_ms", min_repeat_ms),
        ("cooldown_interval_ms", cooldown_interval_ms),
    ):
        if not value >= 0:
            raise ValueError_(f"time_evaluator: {name} must not be negative, got {value!r}")
    prepare: Callable[..., Any] | None = None
    if callable(f_preproc):
        prepare = f_preproc
    elif f_preproc:
        from tvm._ffi.registry import get_global_func

        prepare = get_global_func(f_preproc)

    def evaluator(*args: Any) -> BenchmarkResult:
        from itertools import repeat as times
        from time import perf_counter_ns, sleep

        # the CPU has nothing to wait for
        sync = None if dev.device_type == 1 else dev.sync
        lines = None
        if flush:
            import numpy

            lines = numpy.zeros(flush, numpy.uint8)
        # once before all, so that what happens at the first call only is not measured
        func(*args)
        if sync is not None:
            sync()
        results = []
        runs = number
        for index in range(repeat):
            if prepare is not None:
                prepare(*args)
            zeros = 0
            while True:
                if lines is not None:
                    lines += 1
                if sync is not None:
                    sync()
                start = perf_counter_ns()
                for _ in times(None, runs):
                    func(*args)
                if sync is not None:
                    sync()
                elapsed = perf_counter_ns() - start
                zeros += elapsed == 0
                if elapsed == 0 and zeros < limit:
                    continue
                if elapsed >= min_repeat_ms * 1e6 or elapsed == 0:
                    break
                needed = min_repeat_ms * 1e6 / (elapsed / runs) + 1
                runs = int(max(needed, runs * 1.618))
            results.append(elapsed / runs * 1e-9)
            if cooldown_interval_ms and (index + 1) % every == 0 and index + 1 < repeat:
                sleep(cooldown_interval_ms * 1e-3)
        return BenchmarkResult(results)

    return evaluator
