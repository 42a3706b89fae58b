"""Modules: compiled functions by name, and what can be done with them as a whole."""

from __future__ import annotations

from tvm._ffi import _core
from tvm._ffi._core import Module as Module
from tvm._ffi._core import PackedFunc as PackedFunc
from tvm.error import OSError_, TVMError, TypeError_, ValueError_

from .profiling import BenchmarkResult as BenchmarkResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, NoReturn

__all__ = [
    "BenchmarkResult",
    "Module",
    "ModulePropertyMask",
    "enabled",
    "load_module",
    "load_static_library",
    "num_threads",
    "system_lib",
    "table_module",
]


class ModulePropertyMask:
    """Bits of `Module.get_property_mask`."""

    BINARY_SERIALIZABLE = 1
    RUNNABLE = 2
    DSO_EXPORTABLE = 4


def table_module(
    functions: Sequence[tuple[str, int, bytes]],
    holder: object,
    entry: str | None = None,
    type_key: str | None = None,
) -> Module:
    """A module over functions that are in memory.

    Parameters
    ----------
    functions : sequence of (str, int, bytes)
        Name, address of the body and argument table of each.
    holder : object
        Kept alive as long as any function lives. It may have `get_source(fmt)`,
        `save(path, fmt)`, `export_library(module, path, **options)` and `type_key`.
    entry : str, optional
        The function that a call of the module itself means.
    type_key : str, optional
        Kind of the module; by default what the holder says, else "table".

    Returns
    -------
    Module
    """
    if type_key is None:
        type_key = getattr(holder, "type_key", "table")
    return _core.table_module(type_key, list(functions), entry=entry, holder=holder)


# ---- methods of Module -------------------------------------------------------------------------


def _ask_holder(self: Module, what: str) -> Any:
    holder = _core.module_holder(self)
    return getattr(holder, what, None)


def _get_source(self: Module, fmt: str = "") -> str:
    """The source of the module as text.

    Parameters
    ----------
    fmt : str
        Which text, where there are several; for compiled code "ll" (the default) or "asm".

    Raises
    ------
    TVMError
        When the module has none.
    """
    ask = _ask_holder(self, "get_source")
    if ask is None:
        raise TVMError(f"a module of kind {self.type_key!r} has no source text")
    return ask(fmt)  # type: ignore[no-any-return]


def _save(self: Module, file_name: Any, fmt: str = "") -> None:
    """Write the module to a file.

    Parameters
    ----------
    file_name : str or path-like
        Where to write.
    fmt : str
        "o" (object file), "ll" (LLVM text) or "s" (assembly); by default the ending of `file_name`.

    Raises
    ------
    TVMError
        When a module of this kind cannot be saved.
    """
    import os

    ask = _ask_holder(self, "save")
    if ask is None:
        raise TVMError(f"a module of kind {self.type_key!r} cannot be saved")
    path = os.fspath(file_name)
    ask(path, fmt or os.path.splitext(path)[1].lstrip("."))


def _export_library(
    self: Module,
    file_name: Any,
    *,
    fcompile: Any = None,
    addons: Any = None,
    workspace_dir: Any = None,
    **options: Any,
) -> Any:
    """Write the module and all that it imports as one library that `load_module` reads.

    Parameters
    ----------
    file_name : str or path-like
        Where to write.
    fcompile : callable, optional
        Links: called with the path of the library, the object files, and the remaining options.
    addons : list of str, optional
        Object files that become part of the library.
    workspace_dir : str, optional
        Folder for intermediate files; a temporary one by default.
    **options
        Go to `fcompile`.

    Raises
    ------
    TVMError
        When a module of this kind cannot be exported.
    """
    ask = _ask_holder(self, "export_library")
    if ask is not None:
        return ask(
            self,
            file_name,
            fcompile=fcompile,
            addons=addons,
            workspace_dir=workspace_dir,
            **options,
        )
    saved = "get_source() gives its text"
    if _ask_holder(self, "save") is not None:
        saved += ", save(path) writes an object file"
    raise TVMError(
        f"export_library: writing a module of kind {self.type_key!r} as a library is not there "
        f"yet. What works: {saved}, and the module can be called in this process"
    )


def _time_evaluator(
    self: Module,
    func_name: str,
    dev: Any,
    number: int = 10,
    repeat: int = 1,
    min_repeat_ms: float = 0,
    limit_zero_time_iterations: int = 100,
    cooldown_interval_ms: float = 0,
    repeats_to_cooldown: int = 1,
    cache_flush_bytes: int = 0,
    f_preproc: str = "",
) -> Callable[..., BenchmarkResult]:
    """A function that measures a function of this module.

    Parameters
    ----------
    func_name : str
        Which function.
    dev : Device
        The device it runs on, waited for before the clock is read.
    number : int
        Runs a repeat; the result of a repeat is their mean.
    repeat : int
        How often to measure.
    min_repeat_ms : float
        Least duration of a repeat in milliseconds; `number` grows until it is reached.
    limit_zero_time_iterations : int
        How often a repeat that took no measurable time is tried again.
    cooldown_interval_ms : float
        Pause in milliseconds after every `repeats_to_cooldown` repeats.
    repeats_to_cooldown : int
        See there.
    cache_flush_bytes : int
        Bytes that are read and written before each repeat, to put the caches in a known state.
    f_preproc : str
        Global function that is called with the same arguments before each repeat.

    Returns
    -------
    callable
        Takes the arguments of the function, returns a `BenchmarkResult`. The function runs once
        before the first repeat.

    Raises
    ------
    ValueError
        When `number` or `repeat` is below 1, or another figure is negative.
    AttributeError
        When the module has no such function.
    """
    from .devices import device
    from .profiling import time_evaluator

    func = self.get_function(func_name, query_imports=True)
    return time_evaluator(
        func,
        device(dev),
        number,
        repeat,
        min_repeat_ms,
        limit_zero_time_iterations,
        cooldown_interval_ms,
        repeats_to_cooldown,
        cache_flush_bytes,
        f_preproc,
    )


def _implements_function(self: Module, name: str, query_imports: bool = False) -> bool:
    """Whether the module has a function of this name."""
    try:
        self.get_function(name, query_imports)
    except AttributeError:
        return False
    return True


def _format(self: Module) -> str:
    """Format of the module's file, such as "so"."""
    return "so" if self.type_key == "library" else str(_ask_holder(self, "format") or "")


def _property_mask(self: Module) -> int:
    """What can be done with the module, as bits of `ModulePropertyMask`."""
    mask = ModulePropertyMask.RUNNABLE
    if _ask_holder(self, "save") is not None:
        mask |= ModulePropertyMask.DSO_EXPORTABLE
    return mask


def _is_runnable(self: Module) -> bool:
    """Whether functions of the module can be called."""
    return bool(_property_mask(self) & ModulePropertyMask.RUNNABLE)


def _is_dso_exportable(self: Module) -> bool:
    """Whether the module can become part of a shared library."""
    return bool(_property_mask(self) & ModulePropertyMask.DSO_EXPORTABLE)


def _is_binary_serializable(self: Module) -> bool:
    """Whether the module can be stored as bytes inside a library."""
    return bool(_property_mask(self) & ModulePropertyMask.BINARY_SERIALIZABLE)


def _is_device_module(self: Module) -> bool:
    """Whether the module is code for a device other than the CPU."""
    return bool(_ask_holder(self, "is_device_module"))


def _entry_func(self: Module) -> PackedFunc | None:
    """The function that a call of the module means, None when there is none."""
    name = self.entry_name
    return self.get_function(name) if _implements_function(self, name) else None


def _refuse_pickle(self: Module, protocol: Any) -> NoReturn:
    raise TypeError_(
        "a Module cannot be pickled: compiled code belongs to its process. Save it with "
        "export_library and load it where it is needed with tvm.runtime.load_module"
    )


def _attach() -> None:
    methods = {
        "get_source": _get_source,
        "save": _save,
        "export_library": _export_library,
        "time_evaluator": _time_evaluator,
        "implements_function": _implements_function,
        "get_property_mask": _property_mask,
        "__reduce_ex__": _refuse_pickle,
    }
    for name, method in methods.items():
        method.__name__ = name
        method.__qualname__ = f"Module.{name}"
        setattr(Module, name, method)
    getters = {
        "format": _format,
        "is_runnable": _is_runnable,
        "is_dso_exportable": _is_dso_exportable,
        "is_binary_serializable": _is_binary_serializable,
        "is_device_module": _is_device_module,
        "entry_func": _entry_func,
    }
    for name, getter in getters.items():
        setattr(Module, name, property(getter, doc=getter.__doc__))


_attach()

# ---- functions about modules -------------------------------------------------------------------


def load_module(path: Any, fmt: str = "") -> Module:
    """Load a module from a file.

    Parameters
    ----------
    path : str or path-like
        A shared library; an object file or a tar archive of such is linked first, which needs a
        C compiler.
    fmt : str
        Format; by default the ending of `path`.

    Returns
    -------
    Module

    Raises
    ------
    OSError
        When there is no such file; it is a TVMError too.

    Examples
    --------
    >>> import tvm
    >>> lib = tvm.runtime.load_module("deploy.so")  # doctest: +SKIP
    """
    import os

    try:
        path = os.path.abspath(os.fspath(path))
    except TypeError as problem:
        raise TypeError_(f"load_module: the path: {problem}") from None
    if not os.path.isfile(path):
        raise OSError_(f"load_module: there is no file {path}")
    kind = fmt or os.path.splitext(path)[1].lstrip(".")
    if kind in ("o", "tar"):
        return _link_and_load(path, kind)
    if kind in ("dylib", "dll") or (not fmt and _is_library(path)):
        kind = "so"
    return _core.load_module(path, kind)


def _is_library(path: str) -> bool:
    """Whether a file is a shared library, whatever its ending."""
    with open(path, "rb") as file:
        head = file.read(18)
    # ELF, and in either byte order the type "shared object"
    return head[:4] == b"\x7fELF" and head[16:18] in (b"\x03\x00", b"\x00\x03")


def _link_and_load(path: str, kind: str) -> Module:
    """Load an object file, or an archive of some, by way of a temporary shared library."""
    import os
    import tempfile

    from . import toolchain

    with tempfile.TemporaryDirectory(prefix="tvm-load-") as folder:
        objects = [path]
        if kind == "tar":
            objects = toolchain.unpack(path, folder)
            if not objects:
                raise ValueError_(f"load_module: the archive {path} has no object files")
        library = os.path.join(folder, os.path.basename(path) + ".so")
        toolchain.create_shared(library, objects)
        return _core.load_module(library, "so")  # stays mapped when the file is gone


def system_lib(symbol_prefix: str = "") -> Module:
    """The module of the functions that are linked into this process.

    Parameters
    ----------
    symbol_prefix : str
        Prefix of the symbols, as given when the functions were compiled.

    Returns
    -------
    Module
    """
    from tvm._ffi.registry import get_global_func

    make = get_global_func("runtime.SystemLib", allow_missing=True)
    if make is None:
        raise TVMError("system_lib: this runtime was built without system libraries")
    return make(symbol_prefix)  # type: ignore[no-any-return]


def load_static_library(path: Any, func_names: Sequence[str]) -> Module:
    """A module over an object file that becomes part of the next exported library."""
    raise TVMError(
        "load_static_library: adding object files to exported libraries is not there yet. What "
        "works: load_module(path) links an object file and loads it"
    )


def num_threads() -> int:
    """How many threads parallel loops use.

    TVM_NUM_THREADS decides, then OMP_NUM_THREADS, then the processors this process may use.
    """
    return _core.num_threads()


def enabled(target: Any) -> bool:
    """Whether programs for a target can be run here.

    Parameters
    ----------
    target : str or Target
        A device or target name, such as "llvm", "c", "stackvm" or "opencl", or a target.

    Returns
    -------
    bool
        True for the CPU's names when what they need is installed (llvmlite for "llvm"); for
        another device when its support is in this runtime. Whether the hardware is there is
        what ``tvm.device(target).exist`` says.

    Examples
    --------
    >>> import tvm
    >>> tvm.runtime.enabled("cpu"), tvm.runtime.enabled("no such thing")
    (True, False)
    """
    from tvm._ffi.runtime_ctypes import MASK2STR, STR2MASK

    if not isinstance(target, str):
        kind = getattr(getattr(target, "kind", None), "name", None)
        if not isinstance(kind, str):
            raise TypeError_(
                f"enabled: expected the name of a target, got {target!r} "
                f"of type {type(target).__name__}"
            )
        target = kind
    names = target.split()
    if not names:
        return False
    name = names[0].partition(":")[0]
    if name == "llvm":
        from importlib.util import find_spec

        return find_spec("llvmlite") is not None
    mask = STR2MASK.get(name)
    if mask is None:
        return _core.get_global_func(f"codegen.build.{name}") is not None
    if mask == 1:
        return True
    return _core.get_global_func(f"device_api.{MASK2STR[mask]}") is not None


def __getattr__(name: str) -> Any:
    if name == "load":
        import warnings

        warnings.warn(
            "tvm.module.load is an older name, please use tvm.runtime.load_module",
            DeprecationWarning,
            stacklevel=2,
        )
        return load_module
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
