"""Containers that cross the border to functions: `Array`, `Map`, `String`, `ShapeTuple`.

They are Python's tuple, dict and str with the names and the few extra methods that programs know.
None of them can be changed in place.
"""

from __future__ import annotations

from tvm.error import TypeError_, ValueError_

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, NoReturn


def _show(value: object) -> str:
    """Elements of containers print as IR text does: strings in double quotes."""
    if isinstance(value, str):
        quoted = str.__repr__(value + "'")  # the apostrophe makes repr choose double quotes
        return f'{quoted[:-2]}"' if quoted[0] == '"' else str.__repr__(value)
    return repr(value)


_item = tuple.__getitem__


class Array(tuple):  # type: ignore[type-arg]
    """An immutable sequence.

    Compares equal to tuples and lists with equal elements, and joins with either.

    Examples
    --------
    >>> import tvm
    >>> a = tvm.runtime.Array([1, 2])
    >>> a == [1, 2], a + [3], a[0]
    (True, [1, 2, 3], 1)
    """

    __slots__ = ()

    type_key = "Array"

    def __getitem__(self, index: Any) -> Any:
        if index.__class__ is slice:
            return Array(_item(self, index))
        try:
            return _item(self, index)
        except TypeError:
            # an integer constant of the IR indexes like a number
            value = getattr(index, "value", None)
            if isinstance(value, int):
                return _item(self, value)
            raise

    def __eq__(self, other: object) -> bool:
        if isinstance(other, list):
            other = tuple(other)
        return tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__

    def __add__(self, other: Any) -> Any:
        if isinstance(other, (tuple, list)):
            return Array((*self, *other))
        return NotImplemented

    def __radd__(self, other: Any) -> Any:
        if isinstance(other, (tuple, list)):
            return Array((*other, *self))
        return NotImplemented

    def __repr__(self) -> str:
        return f"[{', '.join(map(_show, self))}]"

    __str__ = __repr__

    def __reduce__(self) -> tuple[Any, ...]:
        return Array, (tuple(self),)

    def same_as(self, other: object) -> bool:
        """Whether `other` is this very container."""
        return self is other

    @property
    def handle(self) -> int:
        """A number that no other living object has."""
        return id(self)


class Map(dict):  # type: ignore[type-arg]
    """An immutable mapping that keeps the order of insertion.

    Examples
    --------
    >>> import tvm
    >>> m = tvm.runtime.Map({"a": 1})
    >>> m["a"], m == {"a": 1}
    (1, True)
    """

    __slots__ = ("__weakref__",)

    type_key = "Map"

    def _refuse(self, *args: object, **kwargs: object) -> NoReturn:
        """Raises TypeError: a map cannot change."""
        raise TypeError_(
            "a Map cannot be changed; make a new one, for instance Map({**m, key: value})"
        )

    __setitem__ = _refuse
    __delitem__ = _refuse
    __ior__ = _refuse
    clear = _refuse
    pop = _refuse
    popitem = _refuse
    setdefault = _refuse
    update = _refuse

    def __or__(self, other: Any) -> Any:
        return Map({**self, **other}) if isinstance(other, dict) else NotImplemented

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{_show(k)}: {_show(v)}' for k, v in self.items())}}}"

    __str__ = __repr__

    def copy(self) -> Map:
        """This very map: it cannot change."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Map, (dict(self),)

    def same_as(self, other: object) -> bool:
        """Whether `other` is this very container."""
        return self is other

    @property
    def handle(self) -> int:
        """A number that no other living object has."""
        return id(self)


class String(str):
    """Text that went through `tvm.runtime.convert`; a str in every respect.

    Examples
    --------
    >>> import tvm
    >>> tvm.runtime.String("abc") == "abc"
    True
    """

    __slots__ = ("__weakref__",)

    type_key = "runtime.String"

    def __reduce__(self) -> tuple[Any, ...]:
        return String, (str(self),)

    def same_as(self, other: object) -> bool:
        """Whether `other` is this very object."""
        return self is other

    @property
    def handle(self) -> int:
        """A number that no other living object has."""
        return id(self)


class ShapeTuple(tuple):  # type: ignore[type-arg]
    """A shape: a tuple of int that stays a shape when it crosses to a function.

    Parameters
    ----------
    shape : iterable of int
        The extents. NumPy integers and integer constants of the IR are taken.

    Raises
    ------
    TypeError
        When an extent is not an integer.

    Examples
    --------
    >>> import tvm
    >>> tvm.runtime.ShapeTuple([2, 3]) == (2, 3)
    True
    """

    __slots__ = ()

    type_key = "runtime.ShapeTuple"

    def __new__(cls, shape: Iterable[Any] = ()) -> ShapeTuple:
        values = []
        for item in shape:
            try:
                value = item.__index__()
            except (AttributeError, TypeError):
                value = getattr(item, "value", None)
                if not isinstance(value, int):
                    raise TypeError_(
                        f"ShapeTuple: expected integers, got {item!r} of type {type(item).__name__}"
                    ) from None
            if not -(1 << 63) <= value < 1 << 63:
                raise ValueError_(f"ShapeTuple: the extent {value} does not fit 64 bits")
            values.append(value)
        return tuple.__new__(cls, values)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, list):
            other = tuple(other)
        return tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__

    def __repr__(self) -> str:
        return f"ShapeTuple({', '.join(map(str, self))})"

    def __reduce__(self) -> tuple[Any, ...]:
        return ShapeTuple, (tuple(self),)

    def same_as(self, other: object) -> bool:
        """Whether `other` is this very object."""
        return self is other

    @property
    def handle(self) -> int:
        """A number that no other living object has."""
        return id(self)


class ADT(Array):
    """Fields with a tag: a value of an algebraic data type.

    Parameters
    ----------
    tag : int
        Which constructor made the value; 0 for tuples.
    fields : iterable
        The fields.
    """

    # a tuple has no room for fixed slots
    tag: int

    def __new__(cls, tag: int, fields: Iterable[Any]) -> ADT:
        if not hasattr(tag, "__index__"):
            raise TypeError_(f"ADT: expected an int as the tag, got {tag!r}")
        self = tuple.__new__(cls, fields)
        self.tag = tag.__index__()
        return self

    type_key = "runtime.ADT"

    def __reduce__(self) -> tuple[Any, ...]:
        return ADT, (self.tag, tuple(self))


def tuple_object(fields: Iterable[Any] | None = None) -> ADT:
    """Fields as a tuple object, which is an `ADT` with tag 0."""
    return ADT(0, () if fields is None else fields)


def getitem_helper(obj: Any, elem_getter: Any, length: int, idx: Any) -> Any:
    """Index a sequence by number or slice: `elem_getter(obj, i)` for each index, checked."""
    if isinstance(idx, slice):
        return [elem_getter(obj, i) for i in range(*idx.indices(length))]
    if not -length <= idx < length:
        from tvm.error import IndexError_

        raise IndexError_(f"index {idx} is out of range: the length is {length}")
    return elem_getter(obj, idx + length if idx < 0 else idx)
