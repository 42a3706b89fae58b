"""The exception classes of this package.

Every error that the package raises about a program derives from `TVMError`, and where a built-in
class names the mistake, from that one too: `except tvm.TVMError`, `except RuntimeError` and
`except ValueError` all catch a `ValueError_`.
"""

from __future__ import annotations

import builtins as _builtins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar, overload

    _Class = TypeVar("_Class", bound=type[BaseException])

# Error kinds as the native runtime spells them, and the classes that Python programs see.
_classes: dict[str, type[BaseException]] = {}
# Tells the native runtime about a kind; installed when it is loaded.
_announce: Callable[[str], object] | None = None


if TYPE_CHECKING:

    @overload
    def register_error(func_name: _Class, cls: None = None) -> _Class: ...
    @overload
    def register_error(func_name: str, cls: _Class) -> _Class: ...
    @overload
    def register_error(
        func_name: str | None = None, cls: None = None
    ) -> Callable[[_Class], _Class]: ...


def register_error(func_name: Any = None, cls: Any = None) -> Any:
    """Make an exception class known under a kind, so that native code can raise it by name.

    Parameters
    ----------
    func_name : str or type, optional
        The kind; the class's own name when left out. The class itself when used as a bare
        decorator.
    cls : type, optional
        The class. Without it a decorator is returned.

    Returns
    -------
    type or callable
        The class, or the decorator that takes it.

    Raises
    ------
    TypeError
        When what is registered is not an exception class.

    Examples
    --------
    >>> import tvm
    >>> @tvm.error.register_error
    ... class QuotaError(tvm.TVMError):
    ...     pass
    >>> tvm.error.error_class("QuotaError") is QuotaError
    True
    """
    if isinstance(func_name, type):
        cls, func_name = func_name, None

    def register(mycls: Any) -> Any:
        if not (isinstance(mycls, type) and issubclass(mycls, BaseException)):
            raise TypeError_(f"register_error: expected an exception class, got {mycls!r}")
        kind = func_name or mycls.__name__
        _classes[kind] = mycls
        if _announce is not None:
            _announce(kind)
        return mycls

    return register if cls is None else register(cls)


def set_announcer(announce: Callable[[str], object]) -> None:
    """Install what tells the native runtime about error kinds, and tell it about those so far.

    It finds kinds in the texts of errors that C functions set: "QuotaError: too much".
    """
    global _announce
    _announce = announce
    for kind in _classes:
        announce(kind)


def error_class(kind: str) -> type[BaseException]:
    """The class for an error kind of the native runtime; `TVMError` for kinds nobody registered."""
    found = _classes.get(kind)
    if found is None:
        # kinds may arrive qualified, for instance from a peer that runs another version
        found = _classes.get(kind.rpartition(".")[2], TVMError)
    return found


@register_error
class TVMError(RuntimeError):
    """Base of every error of this package."""


_REPORT = (
    "This is a bug of tvm-lite, not of your program: "
    "please report it with the program that shows it."
)


@register_error
class InternalError(TVMError):
    """A bug of this package, not of the program that uses it."""

    def __str__(self) -> str:
        text = super().__str__()
        return text if _REPORT in text else f"{text}\n{_REPORT}"


class ValueError_(TVMError, _builtins.ValueError):
    """A value that cannot be: out of range, unknown, or in conflict with another one."""


class TypeError_(TVMError, _builtins.TypeError):
    """A value of a type that is not taken here."""


class AttributeError_(TVMError, _builtins.AttributeError):
    """A name that does not exist."""


class IndexError_(TVMError, _builtins.IndexError):
    """An index out of range."""


class KeyError_(TVMError, _builtins.KeyError):
    """A key that does not exist."""

    # KeyError shows the repr of its argument, which would garble a sentence.
    __str__ = RuntimeError.__str__


class OverflowError_(TVMError, _builtins.OverflowError):
    """A number that does not fit."""


class NotImplementedError_(TVMError, _builtins.NotImplementedError):
    """A request that is meaningful but not supported."""


class MemoryError_(TVMError, _builtins.MemoryError):
    """Memory that could not be had."""


class OSError_(TVMError, _builtins.OSError):
    """A file or a library that could not be read, written or loaded."""

    __str__ = RuntimeError.__str__


class ImportError_(TVMError, _builtins.ImportError):
    """A Python package that is needed and not installed."""

    __str__ = RuntimeError.__str__


class BufferError_(TVMError, _builtins.BufferError):
    """A tensor that cannot be exchanged in the way that was asked for."""


class TypeAttributeError(TypeError_, AttributeError_):
    """A value without the protocol that is needed; programs catch either base."""


@register_error
class ScheduleError(ValueError_):
    """A schedule that cannot be."""


@register_error
class DiagnosticError(TVMError):
    """Errors in a program text, reported together."""


@register_error
class RPCError(TVMError):
    """An error at the other end of a remote session."""


@register_error
class RPCSessionTimeoutError(RPCError, TimeoutError):
    """A remote session that took longer than it was allowed to."""

    __str__ = RuntimeError.__str__


class OpError(TVMError):
    """Base of errors about an operator of an imported model."""


@register_error
class OpNotImplemented(OpError, NotImplementedError):
    """An operator that is not implemented."""


@register_error
class OpAttributeRequired(OpError, AttributeError):
    """An operator without an attribute that it needs."""


@register_error
class OpAttributeInvalid(OpError, AttributeError):
    """An operator with an attribute value that cannot be."""


@register_error
class OpAttributeUnImplemented(OpError, NotImplementedError):
    """An operator with an attribute value that is not implemented."""


for _cls in (
    ValueError_,
    TypeError_,
    AttributeError_,
    IndexError_,
    KeyError_,
    OverflowError_,
    NotImplementedError_,
    MemoryError_,
    OSError_,
    ImportError_,
    BufferError_,
):
    _classes[_cls.__name__[:-1]] = _cls
_classes["TypeAttributeError"] = TypeAttributeError
_classes["RuntimeError"] = TVMError
_classes["KeyboardInterrupt"] = KeyboardInterrupt
_classes["SystemExit"] = SystemExit
_classes["StopIteration"] = StopIteration
_classes["AssertionError"] = AssertionError
