"""Hybrid scripts: computations written as loops in a part of Python.

A script runs as it stands on NumPy arrays; given tensors, it becomes an operation.

Examples
--------
>>> from tvm import te
>>> @te.hybrid.script
... def outer(a, b):
...     c = output_tensor((a.shape[0], b.shape[0]), "float32")
...     for i in range(a.shape[0]):
...         for j in range(b.shape[0]):
...             c[i, j] = a[i] * b[j]
...     return c
>>> outer(te.placeholder((4,)), te.placeholder((5,))).shape[1]  # doctest: +SKIP
5
"""

from __future__ import annotations

from tvm.error import ValueError_

from .module import HybridModule
from .runtime import HYBRID_GLOBALS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..schedule import Schedule

__all__ = ["HYBRID_GLOBALS", "HybridModule", "build", "script"]


def script(pyfunc: Callable[..., Any]) -> Callable[..., Any]:
    """Make a hybrid script of a Python function.

    Parameters
    ----------
    pyfunc : function
        Its body uses loops over ``range``, ``unroll``, ``parallel``, ``vectorize`` and
        ``const_range``, branches, assignments, ``allocate``, ``output_tensor`` and the functions
        of `HYBRID_GLOBALS`; it returns its output tensors.

    Returns
    -------
    function
        Called with tensors, a tensor or several; called with arrays, what Python computes.

    Raises
    ------
    ValueError
        At the call with tensors, for what the language does not have; with the line.
    """

    def call(*args: Any) -> Any:
        from .parser import is_symbolic, parse
        from .runtime import run_in_python

        if any(is_symbolic(arg) for arg in args):
            return parse(pyfunc, args)
        return run_in_python(pyfunc, args)

    call.__name__ = pyfunc.__name__
    call.__doc__ = pyfunc.__doc__
    call.__wrapped__ = pyfunc  # type: ignore[attr-defined]
    call.is_hybrid_script = True  # type: ignore[attr-defined]
    return call


def build(sch: Schedule, inputs: Any, outputs: Any, name: str = "hybrid_func") -> HybridModule:
    """A scheduled computation as a hybrid script.

    Parameters
    ----------
    sch : Schedule
        What is written as a script.
    inputs : list of Tensor or Var
        The script's parameters.
    outputs : list of Tensor
        What it returns.
    name : str
        The function's name.

    Returns
    -------
    HybridModule
        Holds the text and runs it.
    """
    from .dump import to_script

    if not outputs:
        raise ValueError_("hybrid.build: expected at least one output")
    return HybridModule(to_script(sch, list(inputs), list(outputs), name), name)
