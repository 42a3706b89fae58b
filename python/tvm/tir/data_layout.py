"""Layouts of tensors by letters: "NCHW16c" is N, C / 16, H, W and 16 values of C innermost."""

from __future__ import annotations

from .. import error
from ..ir.base import Node
from .expr import convert
from .op import ceildiv, floordiv, floormod

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

UNDEFINED = "__undef__"


class Layout(Node):
    """A layout: upper-case letters are whole axes, a number and a lower-case letter a part of one.

    Parameters
    ----------
    name : str
        For instance "NCHW16c"; "__undef__" is no layout.
    dtype : str
        The type of its indices.

    Examples
    --------
    >>> import tvm
    >>> packed = tvm.tir.layout("NCHW16c")
    >>> len(packed), packed[-1], packed.factor_of("C"), packed.index_of("H")
    (5, 'c', 16, 2)
    """

    __slots__ = ("_axes", "dtype", "name")
    type_key = "tir.Layout"
    FIELDS = "name:x dtype:x"

    def __init__(self, name: str, dtype: str = "int32") -> None:
        self.name = name
        self.dtype = dtype
        # (letter, number of values of a part, 0 for whole axes)
        self._axes: list[tuple[str, int]] = [] if name == UNDEFINED else _parse(name)

    @property
    def axes(self) -> list[tuple[str, int]]:
        """The letters, each with the number of values of a part, 0 for a whole axis."""
        return list(self._axes)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._axes)

    def __len__(self) -> int:
        return len(self._axes)

    def __contains__(self, axis: object) -> bool:
        return any(letter == axis for letter, _ in self._axes)

    def __getitem__(self, index: int) -> str:
        if not -len(self._axes) <= index < len(self._axes):
            raise error.IndexError_(f"{self.name} has {len(self._axes)} axes, there is no {index}")
        return self._axes[index][0]

    def index_of(self, axis: str) -> int:
        """Where an axis is, -1 if it is not there."""
        for number, (letter, _) in enumerate(self._axes):
            if letter == axis:
                return number
        return -1

    def factor_of(self, axis: str) -> int:
        """How many values the part of an axis has (of "C" and "c" alike), -1 without a part."""
        for letter, factor in self._axes:
            if letter == axis.lower():
                return factor
        return -1

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f'Layout("{self.name}")'


def _parse(name: str) -> list[tuple[str, int]]:
    axes: list[tuple[str, int]] = []
    number = ""
    for c in name:
        if c.isdigit():
            number += c
            continue
        if not (c.isalpha() and c.isascii()):
            raise _bad(name, f"{c!r} is neither a letter nor a digit")
        if any(letter == c for letter, _ in axes):
            raise _bad(name, f"{c!r} occurs twice")
        if c.isupper() and number:
            raise _bad(name, f"{number} stands before {c!r}, a whole axis")
        if c.islower() and (not number or int(number) == 0):
            raise _bad(name, f"{c!r} has no size before it")
        axes.append((c, int(number) if number else 0))
        number = ""
    if number:
        raise _bad(name, f"no letter follows {number}")
    letters = {letter for letter, _ in axes}
    for letter, _ in axes:
        if letter.upper() not in letters:
            raise _bad(name, f"{letter!r} is a part of {letter.upper()!r}, which is not there")
    return axes


def _bad(name: str, reason: str) -> Exception:
    return error.ValueError_(f"layout {name!r}: {reason}; expected for instance NCHW or NCHW16c")


class BijectiveLayout(Node):
    """The way between two layouts of the same axes.

    Parameters
    ----------
    src, dst : Layout
        The layouts.
    """

    __slots__ = ("dst_layout", "src_layout")
    type_key = "tir.BijectiveLayout"
    FIELDS = "src_layout:r dst_layout:r"

    def __init__(self, src: Layout | str, dst: Layout | str) -> None:
        self.src_layout = layout(src)
        self.dst_layout = layout(dst)
        if not _convertible(self.src_layout, self.dst_layout):
            raise error.ValueError_(
                f"there is no way from layout {self.src_layout} to {self.dst_layout}: expected two "
                "layouts of the same axes"
            )

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> BijectiveLayout:
        return cls(values["src_layout"], values["dst_layout"])

    def forward_index(self, index: Any) -> list[Any]:
        """The index in `dst` of an index in `src`."""
        return _move_index(self.src_layout, self.dst_layout, index)

    def backward_index(self, index: Any) -> list[Any]:
        """The index in `src` of an index in `dst`."""
        return _move_index(self.dst_layout, self.src_layout, index)

    def forward_shape(self, shape: Any) -> list[Any]:
        """The shape in `dst` of a shape in `src`; what does not divide is rounded up."""
        return _move_shape(self.src_layout, self.dst_layout, shape)

    def backward_shape(self, shape: Any) -> list[Any]:
        """The shape in `src` of a shape in `dst`."""
        return _move_shape(self.dst_layout, self.src_layout, shape)


def _convertible(src: Layout, dst: Layout) -> bool:
    whole = [{letter for letter, factor in item.axes if not factor} for item in (src, dst)]
    return bool(whole[0]) and whole[0] == whole[1]


def _whole_axes(given: Layout, values: Any, what: str) -> dict[str, Any]:
    """Values of the whole axes by those of all axes; a shape's parts have their own sizes."""
    values = [convert(item) for item in values]
    if len(values) != len(given):
        raise error.ValueError_(
            f"layout {given} has {len(given)} axes, but the {what} has {len(values)}"
        )
    found = {}
    for (letter, part), value in zip(given.axes, values):
        if part:
            continue
        factor = given.factor_of(letter)
        if factor > 0:
            value = value * factor
            if what == "index":
                value = value + values[given.index_of(letter.lower())]
        found[letter] = value
    return found


def _move_index(src: Layout, dst: Layout, index: Any) -> list[Any]:
    whole = _whole_axes(src, index, "index")
    out = []
    for letter, part in dst.axes:
        value = whole[letter.upper()]
        factor = dst.factor_of(letter)
        if part:
            value = floormod(value, part)
        elif factor > 0:
            value = floordiv(value, factor)
        out.append(value)
    return out


def _move_shape(src: Layout, dst: Layout, shape: Any) -> list[Any]:
    whole = _whole_axes(src, shape, "shape")
    out = []
    for letter, part in dst.axes:
        factor = dst.factor_of(letter)
        if part:
            out.append(convert(part))
        elif factor > 0:
            out.append(ceildiv(whole[letter], factor))
        else:
            out.append(whole[letter])
    return out


def layout(layout_str: Layout | str, dtype: str = "int32") -> Layout:
    """The layout of this name; a layout stays as it is."""
    return layout_str if isinstance(layout_str, Layout) else Layout(layout_str, dtype)


def bijective_layout(src_layout: Layout | str, dst_layout: Layout | str) -> BijectiveLayout | None:
    """The way between two layouts; None when they have not the same axes.

    Examples
    --------
    >>> import tvm
    >>> way = tvm.tir.bijective_layout("NCHW", "NCHW16c")
    >>> way.forward_index([0, 18, 6, 6])
    [0, 1, 6, 6, 2]
    """
    src, dst = layout(src_layout), layout(dst_layout)
    return BijectiveLayout(src, dst) if _convertible(src, dst) else None
