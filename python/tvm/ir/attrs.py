"""Attributes: named values of nodes and functions."""

from __future__ import annotations

from .. import error
from .base import NODE_CLASSES, Node, new_from_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class Attrs(Node):
    """Base class of attribute sets."""

    __slots__ = ()


class DictAttrs(Attrs):
    """Attributes by name, read as in a dict or as Python attributes."""

    __slots__ = ("values_",)
    type_key = "DictAttrs"
    FIELDS = "values_:r"

    def __init__(self, values_: Any = None) -> None:
        self.values_: dict[str, Any] = dict(values_) if values_ else {}

    def __getitem__(self, key: str) -> Any:
        return self.values_[key]

    def __getattr__(self, key: str) -> Any:
        if key in ("values_", "__setstate__"):
            raise error.AttributeError_(key)
        try:
            return self.values_[key]
        except KeyError:
            raise error.AttributeError_(
                f"no attribute {key!r} here: {sorted(self.values_)}"
            ) from None

    def get(self, key: str, default: Any = None) -> Any:
        """The value of an attribute, or `default`."""
        return self.values_.get(key, default)

    def __contains__(self, key: object) -> bool:
        return key in self.values_

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_)

    def __len__(self) -> int:
        return len(self.values_)

    def keys(self) -> Any:
        """The names."""
        return self.values_.keys()

    def items(self) -> Any:
        """Pairs of name and value."""
        return self.values_.items()

    def values(self) -> Any:
        """The values."""
        return self.values_.values()


def make_node(type_key: str, **kwargs: Any) -> Any:
    """Make a node of any registered class from its fields.

    Raises
    ------
    AttributeError
        For an unknown class or an unknown field, with those that there are.

    Examples
    --------
    >>> tvm.ir.make_node("IntImm", dtype="int32", value=10)  # doctest: +SKIP
    """
    if type_key == "DictAttrs":
        return DictAttrs(kwargs)
    cls = NODE_CLASSES.get(type_key)
    if cls is None:
        raise error.AttributeError_(
            f"make_node: no class has the type key {type_key!r}; there are "
            f"{', '.join(sorted(NODE_CLASSES))}"
        )
    known = [name for name, _ in cls.fields]
    for name in kwargs:
        if name not in known and name != "span":
            raise error.AttributeError_(
                f"make_node: {type_key} has no field {name!r}, its fields are {', '.join(known)}"
            )
    kwargs.pop("span", None)
    try:
        return new_from_fields(cls, kwargs)
    except (KeyError, TypeError) as err:
        if isinstance(err, error.TVMError):
            raise
        raise error.AttributeError_(
            f"make_node: {type_key} needs the fields {', '.join(known)}, but got "
            f"{', '.join(kwargs) or 'none'}"
        ) from err
