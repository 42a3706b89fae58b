"""Where the native library and the C headers are."""

from __future__ import annotations

import os

__version__ = "0.1.0"

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def find_lib_path(name: str | None = None, optional: bool = False) -> list[str]:
    """Paths of the native runtime library, the one in use first.

    Parameters
    ----------
    name : str, optional
        File name of another library in the same folder.
    optional : bool
        Whether nothing found gives an empty list.

    Raises
    ------
    RuntimeError
        When there is none; the message lists the places that were tried.
    """
    from tvm.error import TVMError

    tried = [os.path.join(_PACKAGE, "lib", name or "libtvm_runtime.so")]
    found = [path for path in tried if os.path.exists(path)]
    if not found and not optional:
        raise TVMError(f"cannot find {name or 'libtvm_runtime.so'}; tried {', '.join(tried)}")
    return found


def find_include_path(name: str | None = None, optional: bool = False) -> list[str]:
    """Folders with the C headers.

    Raises
    ------
    RuntimeError
        When there is none; the message lists the places that were tried.
    """
    from tvm.error import TVMError

    # an installed package has them inside; a source tree beside python/
    tried = [
        name or os.path.join(_PACKAGE, "include"),
        os.path.join(os.path.dirname(os.path.dirname(_PACKAGE)), "include"),
    ]
    found = [path for path in tried if os.path.isdir(os.path.join(path, "tvm"))]
    if not found and not optional:
        raise TVMError(f"cannot find the C headers; tried {', '.join(tried)}")
    return found
