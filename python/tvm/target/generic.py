"""Functions that do something else for each target: the key of the current one decides.

Examples
--------
>>> import tvm
>>> @tvm.target.generic_func
... def schedule():
...     return "default"
>>> @schedule.register("gpu")
... def schedule_gpu():
...     return "gpu"
>>> with tvm.target.Target("cuda"):
...     schedule()
'gpu'
>>> schedule()
'default'
"""

from __future__ import annotations

from tvm.error import ValueError_
from tvm.runtime.object import Object

from .target import Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_functions: dict[str, GenericFunc] = {}


class GenericFunc(Object):
    """A function with a variant for each key of a target."""

    __slots__ = ("name", "default", "variants")

    type_key = "GenericFunc"

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.default: Callable[..., Any] | None = None
        self.variants: dict[str, Callable[..., Any]] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.chosen()(*args, **kwargs)

    def chosen(self) -> Callable[..., Any]:
        """The variant for the current target.

        Raises
        ------
        ValueError
            If no variant fits and there is no default.
        """
        target = Target.current()
        for key in target.keys if target is not None else ():
            found = self.variants.get(key)
            if found is not None:
                return found
        if self.default is None:
            where = "without a target" if target is None else f"for target {target.kind.name}"
            raise ValueError_(
                f"generic function {self.name}: there is no variant {where}, and no default; there "
                f"are {', '.join(sorted(self.variants)) or 'none'}"
            )
        return self.default

    def set_default(self, func: Callable[..., Any], allow_override: bool = False) -> None:
        """What runs for targets without a variant.

        Raises
        ------
        ValueError
            If there is a default already and ``allow_override`` is false.
        """
        if self.default is not None and not allow_override:
            raise ValueError_(
                f"generic function {self.name}: the default is set already; give "
                "allow_override=True to replace it"
            )
        self.default = func

    def register(self, func: Any, key_list: Any = None, allow_override: bool = False) -> Any:
        """Add a variant: ``f.register(function, ["cpu"])`` or as decorator ``@f.register("cpu")``.

        Raises
        ------
        ValueError
            If there is a variant for a key already and ``allow_override`` is false.
        """
        if key_list is None or isinstance(func, (str, list, tuple)):
            keys = [func] if isinstance(func, str) else list(func)

            def add(function: Callable[..., Any]) -> Callable[..., Any]:
                self._add(function, keys, allow_override)
                return function

            return add
        keys = [key_list] if isinstance(key_list, str) else list(key_list)
        self._add(func, keys, allow_override)
        return func

    def _add(self, function: Callable[..., Any], keys: list[str], allow_override: bool) -> None:
        for key in keys:
            if key in self.variants and not allow_override:
                raise ValueError_(
                    f"generic function {self.name}: there is a variant for {key!r} already; give "
                    "allow_override=True to replace it"
                )
            self.variants[key] = function

    def get_packed_func(self) -> Callable[..., Any]:
        """The variant for the current target."""
        return self.chosen()

    def __repr__(self) -> str:
        return f"GenericFunc({self.name!r}, {sorted(self.variants)})"


def get_native_generic_func(name: str) -> GenericFunc:
    """The generic function of a name; made if there is none."""
    found = _functions.get(name)
    if found is None:
        found = _functions[name] = GenericFunc(name)
    return found


def generic_func(fdefault: Callable[..., Any]) -> GenericFunc:
    """Make a function generic, with itself as the default."""
    made = GenericFunc(fdefault.__name__)
    made.set_default(fdefault)
    return made


def override_native_generic_func(func_name: str) -> Callable[[Callable[..., Any]], Any]:
    """Make a function the default of the generic function of a name.

    The result has ``register`` for variants, as that of `generic_func`.
    """

    def make(fdefault: Callable[..., Any]) -> GenericFunc:
        made = get_native_generic_func(func_name)
        made.set_default(fdefault, allow_override=True)
        return made

    return make
