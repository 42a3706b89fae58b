"""Passes about whole functions: apply a Python function, leave some out, say what they are for."""

from __future__ import annotations

from tvm.error import TypeError_
from tvm.ir.module import IRModule
from tvm.ir.transform import ModulePass, PassContext, PassInfo
from tvm.tir import PrimFunc

from .function_pass import PrimFuncPass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def Apply(ftransform: Callable[[PrimFunc], PrimFunc | None]) -> PrimFuncPass:
    """A pass that applies a function to each PrimFunc; None drops the function.

    Parameters
    ----------
    ftransform : function of PrimFunc
        Gives the new function.

    Raises
    ------
    TypeError
        When run, if it gives neither a PrimFunc nor None.

    Examples
    --------
    >>> import tvm
    >>> rename = tvm.tir.transform.Apply(lambda f: f.with_attr("global_symbol", "other"))
    """

    def run(func: PrimFunc, mod: IRModule, context: PassContext) -> PrimFunc | None:
        made = ftransform(func)
        if made is not None and not isinstance(made, PrimFunc):
            raise TypeError_(
                f"tir.Apply: the function must give a PrimFunc or None, but gave "
                f"{type(made).__name__}"
            )
        return made

    return PrimFuncPass(run, PassInfo(0, "tir.Apply"))


def Filter(fcond: Callable[[PrimFunc], Any]) -> PrimFuncPass:
    """A pass that keeps the PrimFuncs for which a function is true.

    Parameters
    ----------
    fcond : function of PrimFunc
        Whether to keep it.
    """

    def run(func: PrimFunc, mod: IRModule, context: PassContext) -> PrimFunc | None:
        return func if fcond(func) else None

    return PrimFuncPass(run, PassInfo(0, "tir.Filter"))


def BindTarget(target: Any) -> PrimFuncPass:
    """A pass that says of each PrimFunc what it is for, as attribute ``target``.

    Parameters
    ----------
    target : Target, str or dict
        The target.
    """
    from tvm.target import Target

    wanted = target if isinstance(target, Target) else Target(target)

    def run(func: PrimFunc, mod: IRModule, context: PassContext) -> PrimFunc:
        return func if "target" in func.attrs else func.with_attr("target", wanted)

    return PrimFuncPass(run, PassInfo(0, "tir.BindTarget"))


def AnnotateEntryFunc() -> ModulePass:
    """A pass that marks the only PrimFunc of a module as its entry (``tir.is_entry_func``)."""

    def run(mod: IRModule, context: PassContext) -> IRModule:
        functions = [(v, f) for v, f in mod.functions.items() if isinstance(f, PrimFunc)]
        if len(functions) != 1 or functions[0][1].attrs.get("tir.is_entry_func"):
            return mod
        var, func = functions[0]
        table = dict(mod.functions)
        table[var] = func.with_attr("tir.is_entry_func", True)
        return IRModule(table, attrs=mod.attrs)

    return ModulePass(run, PassInfo(0, "tir.AnnotateEntryFunc"))
