"""Paths from the root of a program to something inside it."""

from __future__ import annotations

from ..runtime.object import Object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class ObjectPath(Object):
    """A way down: attributes by name, elements of arrays by index, values of maps by key.

    Examples
    --------
    >>> print(ObjectPath.root().attr("body").array_index(2))
    <root>.body[2]
    """

    __slots__ = ("_step", "parent")
    type_key = "ObjectPath"

    def __init__(self, parent: ObjectPath | None, step: tuple[str, Any] | None) -> None:
        self.parent = parent
        self._step = step

    @staticmethod
    def root(root_name: str | None = None) -> ObjectPath:
        """The root itself."""
        return ObjectPath(None, None if root_name is None else ("root", root_name))

    def attr(self, attr_key: str) -> ObjectPath:
        """The attribute of this name."""
        return ObjectPath(self, ("attr", attr_key))

    def array_index(self, index: int) -> ObjectPath:
        """The element of this index."""
        return ObjectPath(self, ("index", index))

    def missing_array_element(self, index: int) -> ObjectPath:
        """The place where an element would be."""
        return ObjectPath(self, ("missing index", index))

    def map_value(self, key: Any) -> ObjectPath:
        """The value of this key."""
        return ObjectPath(self, ("key", key))

    def missing_map_entry(self) -> ObjectPath:
        """The place where an entry would be."""
        return ObjectPath(self, ("missing key", None))

    def _steps(self) -> list[tuple[str, Any]]:
        steps = []
        node: ObjectPath | None = self
        while node is not None:
            if node._step is not None:
                steps.append(node._step)
            node = node.parent
        return steps[::-1]

    def is_prefix_of(self, other: ObjectPath) -> bool:
        """Whether `other` starts with this path."""
        mine, longer = self._steps(), other._steps()
        return len(mine) <= len(longer) and mine == longer[: len(mine)]

    def __len__(self) -> int:
        return len([kind for kind, _ in self._steps() if kind != "root"]) + 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectPath) and self._steps() == other._steps()

    def __ne__(self, other: object) -> bool:
        return not self.__eq__(other)

    def __hash__(self) -> int:
        return hash(tuple([(kind, str(value)) for kind, value in self._steps()]))

    def __str__(self) -> str:
        text = "<root>"
        for kind, value in self._steps():
            if kind == "root":
                text = str(value)
            elif kind == "attr":
                text += f".{value}"
            elif kind == "index":
                text += f"[{value}]"
            elif kind == "missing index":
                text += f"[<missing element #{value}>]"
            else:
                text += f"[{value!r}]" if kind == "key" else "[<missing entry>]"
        return text

    __repr__ = __str__
