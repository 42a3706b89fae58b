"""How much memory the temporaries of a program need at most at one time."""

from __future__ import annotations

from .. import error
from ..ir import dtype as _dtype
from . import expr as E
from . import stmt as S
from .function import PrimFunc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def _bytes(node: Any, values: Mapping[Any, int]) -> int:
    from .interpreter import evaluate
    from .stmt_functor import post_order_visit

    count = 1
    for extent in node.extents:
        if isinstance(extent, E.IntImm):
            count *= max(extent.value, 0)
            continue
        missing: list[str] = []

        def look(item: Any, missing: list[str] = missing) -> None:
            if isinstance(item, E.Var) and item not in values:
                missing.append(item.name)

        post_order_visit(extent, look)
        if missing:
            raise error.ValueError_(
                f"peak_memory: the size of {node.buffer_var.name} depends on "
                f"{', '.join(dict.fromkeys(missing))}; give values for it, "
                "as in peak_memory(func, {var: 100})"
            )
        count *= max(evaluate(extent, dict(values)), 0)
    found = _dtype.info(node.dtype)
    bits = 8 if found.is_bool else found.bits
    return (count * bits * found.lanes + 7) // 8


def peak_memory(func: PrimFunc, values: Mapping[Any, int] | None = None) -> int:
    """Bytes of the temporaries that exist at one time, at most.

    Allocations inside a parallel loop count once: each thread has its own.

    Parameters
    ----------
    func : PrimFunc
        A lowered function.
    values : dict of Var to int, optional
        Values for the sizes that the function has as parameters.

    Returns
    -------
    int
        Bytes.

    Raises
    ------
    ValueError
        If a size depends on a variable without a value.

    Examples
    --------
    >>> import tvm
    >>> from tvm import te
    >>> A = te.placeholder((100,), name="A")
    >>> B = te.compute((100,), lambda i: A[i] + 1.0, name="B")
    >>> C = te.compute((100,), lambda i: B[99 - i] * 2.0, name="C")
    >>> mod = tvm.lower(te.create_schedule(C.op), [A, C])
    >>> tvm.tir.analysis.peak_memory(mod["main"])
    400
    """
    known = values or {}

    def peak(node: Any) -> int:
        if not node.kinds & S.Allocate.KIND:
            return 0
        own = _bytes(node, known) if type(node) is S.Allocate else 0
        below = [
            item
            for name, kind in node.fields
            if kind in ("s", "ss")
            for item in _items(getattr(node, name))
        ]
        return own + max(map(peak, below), default=0)

    return peak(func.body)


def _items(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    return value if isinstance(value, tuple) else (value,)
