"""Expressions shared by all parts of the compiler: the base classes, ranges, global names."""

from __future__ import annotations

from .base import Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_converter: Callable[[Any], Any] | None = None


def set_converter(function: Callable[[Any], Any]) -> None:
    """Installed by `tvm.tir`: how Python values become expressions."""
    global _converter
    _converter = function


class BaseExpr(Node):
    """Base class of every expression."""

    __slots__ = ()


class PrimExpr(BaseExpr):
    """A scalar or vector value. The operators come with `tvm.tir`, whose classes derive from this.

    Attributes
    ----------
    dtype : str
        Canonical dtype of the value.
    """

    __slots__ = ("depth", "dtype", "kinds")

    dtype: str


class RelayExpr(BaseExpr):
    """Base class of expressions that are not scalars, for instance a function's name."""

    __slots__ = ()


class BaseFunc(RelayExpr):
    """Base class of functions; `attrs` is a `DictAttrs`."""

    __slots__ = ()


class CallingConv:
    """How a function is called."""

    DEFAULT = 0
    C_PACKED_FUNC = 1
    DEVICE_KERNEL_LAUNCH = 2


class GlobalVar(RelayExpr):
    """The name of a function of a module."""

    __slots__ = ("name_hint",)
    type_key = "GlobalVar"
    FIELDS = "name_hint:x"

    def __init__(self, name_hint: str, type_annot: object = None) -> None:
        self.name_hint = str(name_hint)


def as_expr(value: Any) -> Any:
    """`value` as an expression: Python numbers become constants (int32 or float32 by default)."""
    if isinstance(value, PrimExpr):
        return value
    if _converter is not None:
        return _converter(value)
    from ..runtime import convert

    return convert(value)


class Range(Node):
    """The integers `min .. min + extent - 1`.

    Parameters
    ----------
    begin : PrimExpr or int
        The first value; or, alone, the extent of a range that starts at 0.
    end : PrimExpr or int, optional
        The value after the last.

    Examples
    --------
    >>> Range(2, 6).extent
    4
    """

    __slots__ = ("depth", "extent", "kinds", "min")
    type_key = "Range"
    FIELDS = "min:e extent:e"

    def __init__(self, begin: Any, end: Any = None, span: object = None) -> None:
        begin = as_expr(begin)
        if end is None:
            lower, extent = as_expr(0), begin
            if extent.dtype != lower.dtype and extent.dtype != "handle":
                lower = lower.astype(extent.dtype)
        else:
            lower = begin
            extent = end - begin
        self._set(lower, as_expr(extent))

    def _set(self, lower: Any, extent: Any) -> None:
        self.min = lower
        self.extent = extent
        self.kinds = lower.kinds | extent.kinds
        self.depth = max(lower.depth, extent.depth) + 1

    @staticmethod
    def from_min_extent(min_value: Any, extent: Any, span: object = None) -> Range:
        """The range that starts at `min_value` and holds `extent` values."""
        made = Range.__new__(Range)
        lower, size = as_expr(min_value), as_expr(extent)
        made._set(lower, size)
        return made

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> Range:
        return cls.from_min_extent(values["min"], values["extent"])

    def __eq__(self, other: object) -> bool:
        from .structural import structural_equal

        return isinstance(other, Range) and bool(structural_equal(self, other))

    def __ne__(self, other: object) -> bool:
        return not self.__eq__(other)

    __hash__ = Node.__hash__
