"""Functions that any language of the runtime can call."""

from __future__ import annotations

from tvm._ffi._core import PackedFunc as PackedFunc
from tvm._ffi._core import convert_function as _convert_function
from tvm.error import TypeError_

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

__all__ = ["PackedFunc", "convert_to_tvm_func"]


def convert_to_tvm_func(pyfunc: Callable[..., Any]) -> PackedFunc:
    """Make a PackedFunc of a Python callable.

    Parameters
    ----------
    pyfunc : callable
        Called with the arguments after they crossed the border: bytes arrive as bytearray, lists
        as `Array`, NumPy scalars as int or float.

    Returns
    -------
    PackedFunc
        A PackedFunc is returned as it is.

    Examples
    --------
    >>> import tvm
    >>> tvm.runtime.convert(lambda x: x + 1)(1)
    2
    """
    return _convert_function(pyfunc)


def _refuse_pickle(self: PackedFunc, protocol: Any) -> NoReturn:
    raise TypeError_(
        "a PackedFunc cannot be pickled: compiled code and closures belong to their process. Save "
        "the module with export_library and load it where it is needed, or register the function "
        "by name there"
    )


PackedFunc.__reduce_ex__ = _refuse_pickle  # type: ignore[method-assign,assignment]
