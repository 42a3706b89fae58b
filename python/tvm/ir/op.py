"""Operators of the language, known by name, with attributes that anyone may attach."""

from __future__ import annotations

from .. import error
from .expr import RelayExpr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_ops: dict[str, Op] = {}


class Op(RelayExpr):
    """An operator, for instance "tir.exp". One object per name."""

    __slots__ = ("attributes", "name", "num_inputs")
    type_key = "Op"
    FIELDS = "name:x"

    name: str
    num_inputs: int
    attributes: dict[str, Any]

    def __init__(self, name: str = "") -> None:
        raise error.TVMError("an Op is not made, it is looked up: tvm.ir.Op.get(name)")

    @staticmethod
    def get(op_name: str) -> Op:
        """The operator of this name.

        Raises
        ------
        AttributeError
            When there is none.
        """
        found = _ops.get(op_name)
        if found is None:
            close = [name for name in _ops if name.endswith("." + op_name.rpartition(".")[2])]
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise error.AttributeError_(f"there is no operator named {op_name!r}{hint}")
        return found

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> Op:
        return Op.get(values["name"])

    @staticmethod
    def list_op_names() -> list[str]:
        """The names of all operators."""
        return sorted(_ops)

    def get_attr(self, attr_name: str) -> Any:
        """The value of an attribute, None if it was never set."""
        return self.attributes.get(attr_name)

    def has_attr(self, attr_name: str) -> bool:
        """Whether an attribute was set."""
        return attr_name in self.attributes

    def set_attr(self, attr_name: str, value: Any, plevel: int = 10) -> None:
        """Set an attribute."""
        self.attributes[attr_name] = value

    def reset_attr(self, attr_name: str) -> None:
        """Forget an attribute."""
        self.attributes.pop(attr_name, None)

    def __reduce__(self) -> tuple[Any, ...]:
        return Op.get, (self.name,)


def register_op(op_name: str, num_inputs: int = -1, **attributes: Any) -> Op:
    """Make an operator known; the existing one gets the attributes as well."""
    found = _ops.get(op_name)
    if found is None:
        found = Op.__new__(Op)
        found.name = op_name
        found.num_inputs = num_inputs
        found.attributes = {}
        _ops[op_name] = found
    found.attributes.update(attributes)
    return found


def register_op_attr(op_name: str, attr_key: str, value: Any = None, level: int = 10) -> Any:
    """Set an attribute of an operator, made if it is new; without `value`, a decorator."""

    def install(given: Any) -> Any:
        register_op(op_name).set_attr(attr_key, given, level)
        return given

    return install if value is None else install(value)


def register_intrin_lowering(
    op_name: str, target: str, *, f: Callable[[Any], Any] | None = None, level: int = 10
) -> Any:
    """Say how calls of an operator are rewritten for a target; `f(call)` returns the new call."""
    return register_op_attr(op_name, f"{target}.FLowerIntrinsic", f, level)
