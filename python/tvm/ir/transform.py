"""Passes over modules, and the context that they run in."""

from __future__ import annotations

import _thread

from tvm.error import AttributeError_, TypeError_
from tvm.runtime.object import Object

from .module import IRModule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# option -> type; passes add their own
_OPTIONS: dict[str, type] = {
    "tir.UnrollLoop": dict,
    "tir.LoopPartition": dict,
    "tir.InjectDoubleBuffer": dict,
    "tir.HoistIfThenElse": dict,
    "tir.ReduceBranchingThroughOvercompute": dict,
    "tir.Simplify": dict,
    "tir.RemoveNoOp": dict,
    "tir.add_lower_pass": list,
    "tir.disable_vectorize": bool,
    "tir.disable_storage_rewrite": bool,
    "tir.disable_cse_tir": bool,
    "tir.enable_equiv_terms_in_cse_tir": bool,
    "tir.instrument_bound_checkers": bool,
    "tir.instrument_lwp": bool,
    "tir.noalias": bool,
    "tir.debug_keep_trivial_loop": bool,
    "tir.detect_global_barrier": bool,
    "tir.is_entry_func": bool,
    "tir.merge_static_smem": bool,
    "tir.use_async_copy": bool,
    "tir.usmp.enable": bool,
    "tir.contrib.ethos-u.copy_compute_reads_threshold": int,
    "testing.immutable_module": bool,
}


def register_config_option(name: str, kind: type) -> None:
    """Make an option of `PassContext` known."""
    _OPTIONS[name] = kind


class PassInfo(Object):
    """What a pass says of itself: ``opt_level``, ``name``, ``required``."""

    __slots__ = ("opt_level", "name", "required", "traceable")

    type_key = "transform.PassInfo"

    def __init__(
        self, opt_level: int, name: str, required: Any = None, traceable: bool = False
    ) -> None:
        self.opt_level = opt_level
        self.name = name
        self.required = list(required or [])
        self.traceable = traceable

    def __repr__(self) -> str:
        return f"PassInfo({self.name!r}, opt_level={self.opt_level})"


class PassContext(Object):
    """What passes may know: the optimisation level, options and instruments.

    Parameters
    ----------
    opt_level : int
        Passes of a higher level are left out.
    required_pass, disabled_pass : list of str, optional
        Names of passes that run, or do not run, in any case.
    instruments : list, optional
        Objects with some of ``enter_pass_ctx``, ``exit_pass_ctx``, ``should_run``,
        ``run_before_pass`` and ``run_after_pass``.
    config : dict, optional
        Options, see ``PassContext.list_configs``.

    Raises
    ------
    AttributeError
        If an option is unknown or ill-typed. The error is a ``tvm.TVMError`` too.

    Examples
    --------
    >>> import tvm
    >>> with tvm.transform.PassContext(config={"tir.disable_vectorize": True}):
    ...     tvm.transform.PassContext.current().config["tir.disable_vectorize"]
    True
    """

    __slots__ = (
        "opt_level",
        "required_pass",
        "disabled_pass",
        "instruments",
        "config",
        "trace",
    )

    type_key = "transform.PassContext"

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Any = None,
        disabled_pass: Any = None,
        instruments: Any = None,
        config: Any = None,
        trace: Any = None,
        trace_stack: Any = None,
        make_traceable: Any = None,
        num_evals: int = 0,
        tuning_api_database: Any = None,
    ) -> None:
        for name, value in (("required_pass", required_pass), ("disabled_pass", disabled_pass)):
            if value is not None and not isinstance(value, (list, tuple, set)):
                raise TypeError_(
                    f"PassContext: expected {name} to be a list of names, but got "
                    f"{type(value).__name__}"
                )
        self.opt_level = opt_level
        self.required_pass = list(required_pass or [])
        self.disabled_pass = list(disabled_pass or [])
        self.instruments = list(instruments or [])
        self.config = _checked(config or {})
        self.trace = trace

    def __enter__(self) -> PassContext:
        _stack().append(self)
        for instrument in self.instruments:
            hook = getattr(instrument, "enter_pass_ctx", None)
            if hook is not None:
                hook()
        return self

    def __exit__(self, *exc: object) -> None:
        _stack().pop()
        for instrument in self.instruments:
            hook = getattr(instrument, "exit_pass_ctx", None)
            if hook is not None:
                hook()

    def override_instruments(self, instruments: Any) -> None:
        """Use other instruments from now on."""
        self.instruments = list(instruments or [])

    def allows(self, info: PassInfo) -> bool:
        """Whether a pass is to run."""
        if info.name in self.disabled_pass:
            return False
        return info.name in self.required_pass or info.opt_level <= self.opt_level

    @staticmethod
    def current() -> PassContext:
        """The innermost context, or the default one."""
        stack = _stack()
        return stack[-1] if stack else _default

    @staticmethod
    def list_configs() -> dict[str, dict[str, str]]:
        """All options and the names of their types."""
        return {name: {"type": kind.__name__} for name, kind in sorted(_OPTIONS.items())}


def _checked(config: dict[str, Any]) -> dict[str, Any]:
    out = {}
    for name, value in dict(config).items():
        kind = _OPTIONS.get(name)
        if kind is None:
            raise AttributeError_(
                f"PassContext: unknown option {name!r}; the options are "
                f"{', '.join(sorted(_OPTIONS))}"
            )
        if hasattr(value, "value") and not isinstance(value, (dict, list)):
            value = value.value
        if kind is bool and type(value) is int and value in (0, 1):
            value = bool(value)
        if kind is list and isinstance(value, tuple):
            value = list(value)
        if not isinstance(value, kind) and not (kind is dict and hasattr(value, "items")):
            raise AttributeError_(
                f"PassContext: option {name!r}: expected {kind.__name__}, but got "
                f"{type(value).__name__} {value!r}"
            )
        out[name] = value
    return out


_local = _thread._local()


def _stack() -> list[PassContext]:
    """The contexts of this thread."""
    try:
        return _local.stack  # type: ignore[no-any-return]
    except AttributeError:
        _local.stack = []
        return _local.stack  # type: ignore[no-any-return]


class Pass(Object):
    """From a module to a module. Call it."""

    __slots__ = ("info",)

    type_key = "transform.Pass"

    def __init__(self, info: PassInfo) -> None:
        self.info = info

    def __call__(self, mod: IRModule) -> IRModule:
        if not isinstance(mod, IRModule):
            raise TypeError_(
                f"pass {self.info.name}: expected an IRModule, but got {type(mod).__name__}"
            )
        context = PassContext.current()
        if not context.instruments:
            return self.run(mod, context)
        return self._instrumented(mod, context)

    def _instrumented(self, mod: IRModule, context: PassContext) -> IRModule:
        info = self.info
        required = info.name in context.required_pass
        for instrument in context.instruments:
            hook = getattr(instrument, "should_run", None)
            if hook is not None and not required and not hook(mod, info):
                return mod
        for instrument in context.instruments:
            hook = getattr(instrument, "run_before_pass", None)
            if hook is not None:
                hook(mod, info)
        mod = self.run(mod, context)
        for instrument in context.instruments:
            hook = getattr(instrument, "run_after_pass", None)
            if hook is not None:
                hook(mod, info)
        return mod

    def run(self, mod: IRModule, context: PassContext) -> IRModule:
        """The pass itself."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"Pass({self.info.name})"


class ModulePass(Pass):
    """A pass given by a function of a module and the context."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., IRModule], info: PassInfo) -> None:
        super().__init__(info)
        self.function = function

    def run(self, mod: IRModule, context: PassContext) -> IRModule:
        return self.function(mod, context)


def module_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Any = None,
    traceable: bool = False,
) -> Any:
    """Make a module pass of a function ``(mod, ctx) -> mod``, or of a class with such a method.

    Examples
    --------
    >>> import tvm
    >>> @tvm.transform.module_pass(opt_level=0)
    ... def keep(mod, ctx):
    ...     return mod
    >>> keep.info.name
    'keep'
    """
    if opt_level is None:
        raise AttributeError_("module_pass: opt_level is missing")

    def make(function: Any) -> Any:
        info = PassInfo(opt_level, name or function.__name__, required, traceable)
        if isinstance(function, type):

            def construct(*args: Any, **kwargs: Any) -> ModulePass:
                return ModulePass(function(*args, **kwargs).transform_module, info)

            construct.__name__ = function.__name__
            construct.__doc__ = function.__doc__
            return construct
        return ModulePass(function, info)

    return make if pass_func is None else make(pass_func)


class Sequential(Pass):
    """Passes one after another; those that the context does not allow are left out.

    Parameters
    ----------
    passes : list of Pass
        What runs, in order.
    """

    __slots__ = ("passes",)

    def __init__(
        self,
        passes: Any = None,
        opt_level: int = 0,
        name: str = "sequential",
        required: Any = None,
        traceable: bool = False,
    ) -> None:
        super().__init__(PassInfo(opt_level, name, required, traceable))
        self.passes = list(passes or [])
        for item in self.passes:
            if not isinstance(item, Pass):
                raise TypeError_(f"Sequential: expected passes, but got {type(item).__name__}")

    def run(self, mod: IRModule, context: PassContext) -> IRModule:
        for item in self.passes:
            if context.allows(item.info):
                mod = item(mod)
        return mod


class PrintIR(ModulePass):
    """Prints the module, under a header."""

    __slots__ = ()

    def __init__(self, header: str = "", show_meta_data: bool = False) -> None:
        def show(mod: IRModule, context: PassContext) -> IRModule:
            print(f"{header}\n{mod}")
            return mod

        super().__init__(show, PassInfo(0, "PrintIR"))


_default = PassContext()
