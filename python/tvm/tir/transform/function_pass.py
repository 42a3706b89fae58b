"""Passes that rewrite each function of a module by itself."""

from __future__ import annotations

from tvm.error import AttributeError_
from tvm.ir.module import IRModule
from tvm.ir.transform import Pass, PassContext, PassInfo
from tvm.tir.function import PrimFunc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class PrimFuncPass(Pass):
    """Applies a function ``(func, mod, ctx) -> func`` to every PrimFunc of a module."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., PrimFunc | None], info: PassInfo) -> None:
        super().__init__(info)
        self.function = function

    def run(self, mod: IRModule, context: PassContext) -> IRModule:
        changed: dict[Any, Any] = {}
        same = True
        for var, func in mod.functions.items():
            if isinstance(func, PrimFunc):
                new = self.function(func, mod, context)
                if new is None:
                    same = False
                    continue
                if new is not func:
                    same = False
                    func = new
            changed[var] = func
        return mod if same else IRModule(changed, attrs=mod.attrs)


def prim_func_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Any = None,
    traceable: bool = False,
) -> Any:
    """Make a pass of a function ``(func, mod, ctx) -> func``, or of a class with such a method.

    Examples
    --------
    >>> import tvm
    >>> @tvm.tir.transform.prim_func_pass(opt_level=0)
    ... def keep(func, mod, ctx):
    ...     return func
    >>> keep.info.name
    'keep'
    """
    if opt_level is None:
        raise AttributeError_("prim_func_pass: opt_level is missing")

    def make(function: Any) -> Any:
        info = PassInfo(opt_level, name or function.__name__, required, traceable)
        if isinstance(function, type):

            def construct(*args: Any, **kwargs: Any) -> PrimFuncPass:
                return PrimFuncPass(function(*args, **kwargs).transform_function, info)

            construct.__name__ = function.__name__
            construct.__doc__ = function.__doc__
            return construct
        return PrimFuncPass(function, info)

    return make if pass_func is None else make(pass_func)


def named(name: str, function: Callable[[PrimFunc], PrimFunc]) -> Callable[[], PrimFuncPass]:
    """The maker of a pass ``tir.<name>`` from a function of one PrimFunc."""
    info = PassInfo(0, f"tir.{name}")

    def make() -> PrimFuncPass:
        return PrimFuncPass(lambda func, mod, ctx: function(func), info)

    make.__name__ = name
    make.__doc__ = function.__doc__
    return make
