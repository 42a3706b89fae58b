"""Global functions as parts of programs."""

from __future__ import annotations

from .. import error
from .base import Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..runtime.packed_func import PackedFunc


class EnvFunc(Node):
    """A global function, known by its name: two of one name are equal, and saved as the name.

    Examples
    --------
    >>> import tvm
    >>> @tvm.register_func("docs.twice", override=True)
    ... def twice(x):
    ...     return 2 * x
    >>> tvm.ir.EnvFunc.get("docs.twice")(21)
    42
    """

    __slots__ = ("func", "name")
    type_key = "EnvFunc"
    FIELDS = "name:x"

    def __init__(self, name: str) -> None:
        from .._ffi.registry import get_global_func

        found = get_global_func(name, allow_missing=True)
        if found is None:
            raise error.ValueError_(f"there is no global function named {name!r}")
        self.name = name
        self.func: PackedFunc = found

    @staticmethod
    def get(name: str) -> EnvFunc:
        """The global function of this name.

        Raises
        ------
        ValueError
            When there is none.
        """
        return EnvFunc(name)

    def __call__(self, *args: Any) -> Any:
        return self.func(*args)
