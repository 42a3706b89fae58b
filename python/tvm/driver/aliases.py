"""Which parameters may share memory, remembered over the passes.

A loop that writes every element once, from what it reads at that place, may work in place:
``f(a, a)``. Once the loop is cut, unrolled and vectorised that can no longer be seen, so that it is
found out before. What is compiled carries it as the attribute ``tir.alias_ok``; for what is only
lowered it is noted here, so that the text of the program stays what people expect.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from tvm.error import ValueError_
from tvm.ir.module import IRModule
from tvm.tir import PrimFunc
from tvm.tir.arg_table import alias_masks

KEY = "tir.alias_ok"

# Lowered functions -> for each parameter a mask of those that may share its memory.
_noted: WeakKeyDictionary[PrimFunc, list[int]] = WeakKeyDictionary()


def _masks(func: PrimFunc) -> list[int]:
    found = _noted.get(func)
    if found is not None:
        return found
    try:
        return alias_masks(func)
    except ValueError_:
        # A parameter that cannot be checked is refused later, with the reason.
        return []


def _known(before: IRModule, after: IRModule) -> dict[PrimFunc, list[int]]:
    """What can be seen in functions of `before`, by what became of them in `after`."""
    known = {}
    for var, func in before.functions.items():
        if isinstance(func, PrimFunc) and KEY not in func.attrs:
            masks = _masks(func)
            if any(masks):
                known[var.name_hint] = masks
    found = {}
    for var, func in after.functions.items():
        wanted = known.get(var.name_hint)
        if wanted is not None and isinstance(func, PrimFunc) and len(func.params) == len(wanted):
            found[func] = wanted
    return found


def note_aliases(before: IRModule, after: IRModule) -> IRModule:
    """`after`, of whose functions is noted what was known of those of `before`."""
    _noted.update(_known(before, after))
    return after


def keep_aliases(before: IRModule, after: IRModule) -> IRModule:
    """`after`, whose functions carry what was known of those of `before`."""
    known = _known(before, after)
    if not known:
        return after
    functions = {
        var: func.with_attr(KEY, known[func]) if func in known else func
        for var, func in after.functions.items()
    }
    return IRModule(functions, attrs=after.attrs)
