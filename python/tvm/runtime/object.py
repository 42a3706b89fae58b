"""Base class of the objects that live in Python: IR nodes, schedules, targets."""

from __future__ import annotations


class Object:
    """Base class of the objects that live in Python: IR nodes, schedules, targets.

    Equality and hash are those of identity unless a subclass says otherwise.
    """

    __slots__ = ("__weakref__",)

    type_key = "Object"

    def same_as(self, other: object) -> bool:
        """Whether `other` is this very object."""
        return self is other

    @property
    def handle(self) -> int:
        """A number that no other living object has."""
        return id(self)
