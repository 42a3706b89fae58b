"""Names that older programs import from here."""

from __future__ import annotations

from tvm.error import TVMError as TVMError
from tvm.error import register_error as register_error

from .libinfo import __version__ as __version__
from .libinfo import find_lib_path as find_lib_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ctypes
    from typing import Any

    _LIB: ctypes.CDLL

string_types = (str,)
integer_types = (int,)
numeric_types = (float, int)
py_str = str


def c_str(string: str) -> Any:
    """A C string, for use with `_LIB`."""
    import ctypes

    return ctypes.c_char_p(string.encode("utf-8"))


def c_array(ctype: Any, values: Any) -> Any:
    """A C array of `ctype` with these values, for use with `_LIB`."""
    return (ctype * len(values))(*values)


def check_call(ret: int) -> None:
    """Raise the runtime's last error when a function of `_LIB` failed.

    Parameters
    ----------
    ret : int
        What the function returned.
    """
    if ret != 0:
        import ctypes

        lib = __getattr__("_LIB")
        lib.TVMGetLastError.restype = ctypes.c_char_p
        text = lib.TVMGetLastError() or b"unknown error"
        raise TVMError(text.decode("utf-8", "replace"))


def __getattr__(name: str) -> Any:
    if name == "_LIB":
        import ctypes

        from . import _core  # noqa: F401  (loads the same library first, by its own path)

        lib = ctypes.CDLL(find_lib_path()[0], ctypes.RTLD_GLOBAL)
        globals()[name] = lib
        return lib
    if name == "_LIB_NAME":
        import os

        return os.path.basename(find_lib_path()[0])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
