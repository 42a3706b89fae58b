"""The registry of global functions and of object classes."""

from __future__ import annotations

from tvm.error import TypeError_, ValueError_

from . import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal, TypeVar, overload

    from ._core import PackedFunc

    _Function = TypeVar("_Function", bound=Callable[..., Any])
    _Class = TypeVar("_Class", bound=type)

# Classes registered by `register_object`, by type key, and by `register_extension`, by type code.
_object_classes: dict[str, type] = {}
_extensions: dict[int, tuple[type, Callable[..., Any] | None]] = {}


if TYPE_CHECKING:

    @overload
    def register_func(func_name: _Function) -> _Function: ...
    @overload
    def register_func(func_name: str, f: _Function, override: bool = False) -> _Function: ...
    @overload
    def register_func(
        func_name: str | None = None, f: None = None, override: bool = False
    ) -> Callable[[_Function], _Function]: ...


def register_func(func_name: Any = None, f: Any = None, override: bool = False) -> Any:
    """Register a function under a name by which compiled code and other languages call it.

    Parameters
    ----------
    func_name : str or callable, optional
        The name; the function's own when left out or when used as a bare decorator.
    f : callable, optional
        The function. Without it a decorator is returned.
    override : bool
        Whether a function that has this name already is replaced.

    Returns
    -------
    callable
        The function as it was given, or the decorator that takes it.

    Raises
    ------
    ValueError
        When the name is taken and `override` is false.
    TypeError
        When `f` is not callable.

    Examples
    --------
    >>> import tvm
    >>> @tvm.register_func("docs.add", override=True)
    ... def add(a, b):
    ...     return a + b
    >>> tvm.get_global_func("docs.add")(1, 2)
    3
    """
    if callable(func_name) and not isinstance(func_name, str):
        f, func_name = func_name, None
    if func_name is not None and not isinstance(func_name, str):
        raise TypeError_(
            f"register_func: expected a name, got {func_name!r} of type {type(func_name).__name__}"
        )

    def register(myf: Any) -> Any:
        if not callable(myf):
            raise TypeError_(
                f"register_func: expected a callable, got {myf!r} of type {type(myf).__name__}"
            )
        name = func_name
        if name is None:
            name = getattr(myf, "__name__", None)
            if name is None:
                raise TypeError_(f"register_func: {myf!r} has no name of its own, please give one")
        _core.register_func(name, myf, bool(override))
        return myf

    return register if f is None else register(f)


if TYPE_CHECKING:

    @overload
    def get_global_func(name: str, allow_missing: Literal[False] = False) -> PackedFunc: ...
    @overload
    def get_global_func(name: str, allow_missing: bool) -> PackedFunc | None: ...


def get_global_func(name: str, allow_missing: bool = False) -> PackedFunc | None:
    """Look a global function up.

    Parameters
    ----------
    name : str
        The name it was registered under.
    allow_missing : bool
        Whether an unknown name gives None.

    Returns
    -------
    PackedFunc or None

    Raises
    ------
    ValueError
        For an unknown name; the message has similar names that exist.

    Examples
    --------
    >>> import tvm
    >>> tvm.get_global_func("no.such.function", allow_missing=True) is None
    True
    """
    if not isinstance(name, str):
        raise TypeError_(
            f"get_global_func: expected a name, got {name!r} of type {type(name).__name__}"
        )
    found = _core.get_global_func(name)
    if found is None and not allow_missing:
        from difflib import get_close_matches

        near = get_close_matches(name, _core.list_global_func_names(), n=3)
        hint = f"; similar names are {', '.join(near)}" if near else ""
        raise ValueError_(
            f"Cannot find global function {name!r}: nothing that is loaded registered it{hint}"
        )
    return found


def list_global_func_names() -> list[str]:
    """The names of all global functions, sorted."""
    return sorted(_core.list_global_func_names())


def remove_global_func(name: str) -> None:
    """Remove a global function.

    Raises
    ------
    ValueError
        When no function has this name.
    """
    if not _core.remove_global_func(name):
        raise ValueError_(f"Cannot find global function {name!r}, so it was not removed")


if TYPE_CHECKING:

    @overload
    def register_object(type_key: _Class) -> _Class: ...
    @overload
    def register_object(type_key: str | None = None) -> Callable[[_Class], _Class]: ...


def register_object(type_key: Any = None) -> Any:
    """Register a Python class under a type key.

    Parameters
    ----------
    type_key : str or type, optional
        The key; the class's name when left out. The class itself when used as a bare decorator.

    Examples
    --------
    >>> import tvm
    >>> @tvm.register_object("docs.Pair")
    ... class Pair(tvm.Object):
    ...     pass
    >>> Pair.type_key
    'docs.Pair'
    """

    def register(cls: type) -> type:
        key = type_key if isinstance(type_key, str) else cls.__name__
        cls.type_key = key  # type: ignore[attr-defined]
        _object_classes[key] = cls
        return cls

    return register(type_key) if isinstance(type_key, type) else register


def register_extension(cls: Any, fcreate: Any = None) -> Any:
    """Register a class of another library, whose values cross to functions as they are.

    Compiled and native functions get the address `_tvm_handle` of an object whose class has
    `_tvm_tcode` 3 (opaque handle), 7 (``DLTensor*``) or 13 (an array's handle); Python functions
    get the object.

    Parameters
    ----------
    cls : type
        The class. `_tvm_tcode`, if it has one, is kept with it.
    fcreate : callable, optional
        Makes a value from a handle; kept for programs that look it up.

    Returns
    -------
    type
        The class.
    """
    if not isinstance(cls, type):
        raise TypeError_(f"register_extension: expected a class, got {cls!r}")
    code = getattr(cls, "_tvm_tcode", None)
    if code is not None:
        if not isinstance(code, int):
            raise TypeError_(f"register_extension: {cls.__name__}._tvm_tcode must be an int")
        _extensions[code] = (cls, fcreate)
    elif fcreate is not None:
        raise ValueError_(f"register_extension: {cls.__name__} needs _tvm_tcode to use fcreate")
    return cls


def prefixed(module_name: str, prefix: str) -> Callable[[str], Any]:
    """A module's `__getattr__` that finds the global functions `<prefix>.<name>`."""

    def lookup(name: str) -> Any:
        found = None if name.startswith("__") else _core.get_global_func(f"{prefix}.{name}")
        if found is None:
            raise AttributeError(
                f"module {module_name!r} has no attribute {name!r}: "
                f"no global function is called {prefix}.{name}"
            )
        return found

    return lookup


def _init_api(namespace: str, target_module_name: str | None = None) -> None:
    """Put the global functions `<namespace>.<name>` into a module, under `<name>`."""
    import sys

    module = sys.modules[target_module_name or namespace]
    prefix = namespace.removeprefix("tvm.") + "."
    for name in _core.list_global_func_names():
        short = name.removeprefix(prefix)
        if short != name and "." not in short:
            setattr(module, short, _core.get_global_func(name))
