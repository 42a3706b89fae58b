"""Modules: functions by name."""

from __future__ import annotations

from .. import error
from .attrs import DictAttrs
from .base import Node
from .expr import BaseFunc, GlobalVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class IRModule(Node):
    """Functions by name.

    Parameters
    ----------
    functions : dict of GlobalVar (or str) to function, optional
        The functions.
    attrs : dict, optional
        Attributes of the module.
    """

    __slots__ = ("attrs", "functions")
    type_key = "IRModule"
    FIELDS = "functions:r attrs:r"

    def __init__(
        self,
        functions: Any = None,
        type_definitions: object = None,
        attrs: Any = None,
        global_infos: object = None,
    ) -> None:
        self.functions: dict[GlobalVar, Any] = {}
        self.attrs = attrs if isinstance(attrs, DictAttrs) else DictAttrs(attrs)
        for var, func in (functions or {}).items():
            self[var] = func

    @property
    def functions_items(self) -> Any:
        """Pairs of name and function."""
        return list(self.functions.items())

    def get_global_var(self, name: str) -> GlobalVar:
        """The GlobalVar of this name."""
        for var in self.functions:
            if var.name_hint == name:
                return var
        names = ", ".join(sorted(var.name_hint for var in self.functions))
        raise error.ValueError_(f"there is no function {name!r} in this module, only: {names}")

    def get_global_vars(self) -> list[GlobalVar]:
        """All names."""
        return list(self.functions)

    def __setitem__(self, var: GlobalVar | str, func: BaseFunc) -> None:
        name = var if isinstance(var, str) else var.name_hint
        if not isinstance(func, BaseFunc):
            raise error.TypeError_(
                f"IRModule: expected a function for {name!r}, but got {type(func).__name__}"
            )
        for known in self.functions:
            if known.name_hint == name:
                self.functions[known] = func
                return
        self.functions[GlobalVar(var) if isinstance(var, str) else var] = func

    def __getitem__(self, var: GlobalVar | str) -> Any:
        return self.functions[self.get_global_var(var if isinstance(var, str) else var.name_hint)]

    def __delitem__(self, var: GlobalVar | str) -> None:
        del self.functions[self.get_global_var(var if isinstance(var, str) else var.name_hint)]

    def __contains__(self, var: object) -> bool:
        name = getattr(var, "name_hint", var)
        return any(known.name_hint == name for known in self.functions)

    def __len__(self) -> int:
        return len(self.functions)

    def update(self, other: IRModule) -> None:
        """Take over all functions of another module."""
        for var, func in other.functions.items():
            self[var] = func

    def update_func(self, var: GlobalVar, func: BaseFunc) -> None:
        """Set one function."""
        self[var] = func

    def with_attr(self, attr_key: str, attr_value: Any) -> IRModule:
        """The same module with one more attribute."""
        attrs = dict(self.attrs)
        attrs[attr_key] = attr_value
        return IRModule(self.functions, attrs=attrs)

    def without_attr(self, attr_key: str) -> IRModule:
        """The same module without an attribute."""
        attrs = {key: value for key, value in self.attrs.items() if key != attr_key}
        return IRModule(self.functions, attrs=attrs)

    def get_attr(self, attr_key: str) -> Any:
        """An attribute of the module, None if it is not there."""
        return self.attrs.get(attr_key)

    @staticmethod
    def from_expr(expr: BaseFunc, functions: Any = None, type_defs: object = None) -> IRModule:
        """A module of one function, named by its "global_symbol" or "main"."""
        made = IRModule(functions)
        name = expr.attrs.get("global_symbol", "main")  # type: ignore[attr-defined]
        made[str(name)] = expr
        return made

    __hash__ = Node.__hash__
