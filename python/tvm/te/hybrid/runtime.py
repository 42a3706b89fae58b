"""What a hybrid script finds when it runs as plain Python, on NumPy arrays.

Every name in `HYBRID_GLOBALS` has a meaning for the parser too, so that both give one result.
"""

from __future__ import annotations

import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


class bind:
    """A loop over the threads of a device; in Python an ordinary one."""

    def __init__(self, tag: str, extent: int) -> None:
        self.tag = tag
        self.extent = extent

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.extent))


def allocate(shape: Any, dtype: str = "float32", scope: str = "local") -> Any:
    """An array of zeros; ``scope`` matters to compiled code only."""
    import numpy

    return numpy.zeros(shape, dtype=dtype)


def output_tensor(shape: Any, dtype: str = "float32") -> Any:
    """An array of zeros that the script returns."""
    return allocate(shape, dtype)


def ceil_div(a: int, b: int) -> int:
    """a / b rounded up."""
    return -(-a // b)


def max_num_threads(allow_none: bool = True) -> int:
    """The current target's number of threads in a block; 1 in plain Python."""
    return 1


def _of_numpy(name: str) -> Callable[..., Any]:
    def function(*args: Any) -> Any:
        import numpy

        return getattr(numpy, name)(*args)

    function.__name__ = name
    return function


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + _of_numpy("exp")(-x))


def _rsqrt(x: Any) -> Any:
    return 1 / _of_numpy("sqrt")(x)


def _popcount(x: Any) -> int:
    return bin(int(x)).count("1")


def _round(x: Any) -> Any:
    size = math.floor(abs(x) + 0.5)
    return math.copysign(size, x)


def _select(cond: Any, yes: Any, no: Any) -> Any:
    return yes if cond else no


HYBRID_GLOBALS: dict[str, Any] = {
    "unroll": range,
    "vectorize": range,
    "parallel": range,
    "serial": range,
    "const_range": range,
    "bind": bind,
    "allocate": allocate,
    "output_tensor": output_tensor,
    "ceil_div": ceil_div,
    "max_num_threads": max_num_threads,
    "likely": lambda cond: cond,
    "select": _select,
    "if_then_else": _select,
    "sigmoid": _sigmoid,
    "rsqrt": _rsqrt,
    "popcount": _popcount,
    "round": _round,
    "erf": lambda x: math.erf(x),
    "power": _of_numpy("power"),
    "asin": _of_numpy("arcsin"),
    "acos": _of_numpy("arccos"),
    "atan": _of_numpy("arctan"),
    **{
        name: _of_numpy(name)
        for name in (
            *("sqrt", "log", "log2", "log10", "log1p", "exp", "exp2", "sin", "cos", "tan"),
            *("sinh", "cosh", "tanh", "floor", "ceil", "trunc"),
            *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
            *("float16", "float32", "float64"),
        )
    },
}


def run_in_python(function: Any, args: Any) -> Any:
    """Call a script as the Python function that it is, with the script's names visible."""
    names = function.__globals__
    added = [name for name in HYBRID_GLOBALS if name not in names]
    for name in added:
        names[name] = HYBRID_GLOBALS[name]
    try:
        return function(*args)
    finally:
        for name in added:
            del names[name]
