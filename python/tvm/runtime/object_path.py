"""Paths from the root of a program to something inside it."""

from __future__ import annotations

from .object import Object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "ArrayIndexPath", "AttributeAccessPath", "MapValuePath", "MissingArrayElementPath",
    "MissingMapEntryPath", "ObjectPath", "RootPath", "UnknownAttributeAccessPath",
]  # fmt: skip


class ObjectPath(Object):
    """A way down: attributes by name, elements of arrays by index, values of maps by key.

    Every step is an object of its own class, which knows the path before it as `parent`.

    Examples
    --------
    >>> import tvm
    >>> print(tvm.runtime.object_path.ObjectPath.root().attr("body").array_index(2))
    <root>.body[2]
    """

    __slots__ = ("_step", "parent")
    type_key = "ObjectPath"

    def __init__(self, parent: ObjectPath | None, step: Any) -> None:
        self.parent = parent
        self._step = step

    @staticmethod
    def root(root_name: str | None = None) -> RootPath:
        """The root itself."""
        return RootPath(None, root_name)

    def attr(self, attr_key: str | None) -> ObjectPath:
        """The attribute of this name; None where it is not known."""
        if attr_key is None:
            return UnknownAttributeAccessPath(self, None)
        return AttributeAccessPath(self, attr_key)

    def array_index(self, index: int) -> ArrayIndexPath:
        """The element of this index."""
        return ArrayIndexPath(self, index)

    def missing_array_element(self, index: int) -> MissingArrayElementPath:
        """The place where an element would be."""
        return MissingArrayElementPath(self, index)

    def map_value(self, key: Any) -> MapValuePath:
        """The value of this key."""
        return MapValuePath(self, key)

    def missing_map_entry(self) -> MissingMapEntryPath:
        """The place where an entry would be."""
        return MissingMapEntryPath(self, None)

    def _steps(self) -> list[ObjectPath]:
        steps: list[ObjectPath] = []
        node: ObjectPath | None = self
        while node is not None:
            steps.append(node)
            node = node.parent
        return steps[::-1]

    def _same_step(self, other: ObjectPath) -> bool:
        return type(self) is type(other) and bool(self._step == other._step)

    def get_parent(self) -> ObjectPath | None:
        """The path before the last step, None of the root."""
        return self.parent

    def get_prefix(self, length: int) -> ObjectPath:
        """The first `length` steps, the root included.

        Raises
        ------
        IndexError
            If there are not as many, or none is asked for.
        """
        from .. import error

        steps = self._steps()
        if not 1 <= length <= len(steps):
            raise error.IndexError_(f"a path of {len(steps)} steps has no prefix of {length}")
        return steps[length - 1]

    def is_prefix_of(self, other: ObjectPath) -> bool:
        """Whether `other` starts with this path."""
        mine, longer = self._steps(), other._steps()
        return len(mine) <= len(longer) and all(a._same_step(b) for a, b in zip(mine, longer))

    def __len__(self) -> int:
        return len(self._steps())

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ObjectPath) and len(self) == len(other) and self.is_prefix_of(other)
        )

    def __ne__(self, other: object) -> bool:
        return not self.__eq__(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def _text(self) -> str:
        raise NotImplementedError

    def __str__(self) -> str:
        return "".join([step._text() for step in self._steps()])

    __repr__ = __str__


class RootPath(ObjectPath):
    """The root."""

    __slots__ = ()
    type_key = "RootPath"

    def _text(self) -> str:
        return "<root>" if self._step is None else str(self._step)


class AttributeAccessPath(ObjectPath):
    """An attribute."""

    __slots__ = ()
    type_key = "AttributeAccessPath"

    @property
    def attr_key(self) -> str:
        """Its name."""
        return str(self._step)

    def _text(self) -> str:
        return f".{self._step}"


class UnknownAttributeAccessPath(ObjectPath):
    """An attribute whose name is not known."""

    __slots__ = ()
    type_key = "UnknownAttributeAccessPath"

    def _text(self) -> str:
        return ".<unknown attribute>"


class ArrayIndexPath(ObjectPath):
    """An element of an array."""

    __slots__ = ()
    type_key = "ArrayIndexPath"

    @property
    def index(self) -> int:
        """Its index."""
        return int(self._step)

    def _text(self) -> str:
        return f"[{self._step}]"


class MissingArrayElementPath(ObjectPath):
    """An element that one of two compared arrays does not have."""

    __slots__ = ()
    type_key = "MissingArrayElementPath"

    @property
    def index(self) -> int:
        """Its index."""
        return int(self._step)

    def _text(self) -> str:
        return f"[<missing element #{self._step}>]"


class MapValuePath(ObjectPath):
    """A value of a map."""

    __slots__ = ()
    type_key = "MapValuePath"

    @property
    def key(self) -> Any:
        """Its key."""
        return self._step

    def _text(self) -> str:
        key = f'"{self._step}"' if isinstance(self._step, str) else str(self._step)
        return f"[{key}]"


class MissingMapEntryPath(ObjectPath):
    """An entry that one of two compared maps does not have."""

    __slots__ = ()
    type_key = "MissingMapEntryPath"

    def _text(self) -> str:
        return "[<missing entry>]"
