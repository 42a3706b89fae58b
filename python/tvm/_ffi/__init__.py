"""The border between Python and the native runtime."""

from __future__ import annotations

try:
    from . import _core as _core
except ImportError as problem:
    import os as _os

    _here = _os.path.dirname(_os.path.abspath(__file__))
    raise ImportError(
        f"the native part of tvm cannot be loaded: {problem}. It was looked for in {_here} "
        f"(_core.abi3.so) and {_os.path.join(_os.path.dirname(_here), 'lib')} "
        "(libtvm_runtime.so). Run pip install tvm-lite again, or in a source tree "
        "tools/dev-build.sh; if the files are there, ldd tells which library they miss"
    ) from problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .registry import _init_api as _init_api
    from .registry import get_global_func as get_global_func
    from .registry import list_global_func_names as list_global_func_names
    from .registry import register_extension as register_extension
    from .registry import register_func as register_func
    from .registry import register_object as register_object
    from .registry import remove_global_func as remove_global_func

_REGISTRY = frozenset(
    (
        "_init_api",
        "get_global_func",
        "list_global_func_names",
        "register_extension",
        "register_func",
        "register_object",
        "remove_global_func",
    )
)
_MODULES = frozenset(("base", "dtype", "libinfo", "registry", "runtime_ctypes", "structs"))


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _REGISTRY:
        value: Any = getattr(import_module("tvm._ffi.registry"), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return import_module(f"tvm._ffi.{name}")
    raise AttributeError(f"module 'tvm._ffi' has no attribute {name!r}")
