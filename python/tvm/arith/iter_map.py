"""Index maps made of splits and fuses: their parts, as nodes.

An index such as ``(i * 16 + j) // 4`` only cuts and joins iterators. Written as iter maps it says
which iterators those are:

* an `IterMark` is an iterator that runs over ``0 .. extent - 1``: a variable, or a sum of parts of
  other iterators that count through without gaps;
* an `IterSplitExpr` is the part ``source // lower_factor % extent * scale`` of one;
* an `IterSumExpr` is the sum of such parts, and a base.
"""

from __future__ import annotations

from tvm import tir
from tvm.ir.base import Node
from tvm.ir.expr import PrimExpr, as_expr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class IterMapExpr(PrimExpr):
    """Base class of sums and splits of iterators."""

    __slots__ = ()


class IterMark(Node):
    """An iterator.

    Parameters
    ----------
    source : PrimExpr
        Its value: an expression, a variable for instance, or an `IterSumExpr`.
    extent : PrimExpr or int
        How many values it has, from 0 on.
    """

    __slots__ = ("extent", "source")
    type_key = "arith.IterMark"
    FIELDS = "source:r extent:e"

    def __init__(self, source: Any, extent: Any) -> None:
        self.source = as_expr(source)
        self.extent = as_expr(extent)


class IterSplitExpr(IterMapExpr):
    """A part of an iterator: ``source // lower_factor % extent * scale``.

    Parameters
    ----------
    source : IterMark
        The iterator.
    lower_factor : PrimExpr or int
        How many values of the iterator go by before the part changes.
    extent : PrimExpr or int, optional
        How many values the part has; by default all that are left.
    scale : PrimExpr or int
        What it is multiplied with.
    """

    __slots__ = ("extent", "lower_factor", "scale", "source")
    type_key = "arith.IterSplitExpr"
    FIELDS = "source:r lower_factor:e extent:e scale:e"

    def __init__(
        self, source: IterMark, lower_factor: Any = 1, extent: Any = None, scale: Any = 1
    ) -> None:
        self.source = source
        self.dtype = source.source.dtype
        self.lower_factor = _typed(lower_factor, self.dtype)
        self.extent = source.extent if extent is None else _typed(extent, self.dtype)
        self.scale = _typed(scale, self.dtype)
        self.kinds = 0
        self.depth = source.source.depth + 1


class IterSumExpr(IterMapExpr):
    """A sum of parts of iterators, and a base.

    Parameters
    ----------
    args : list of IterSplitExpr
        The parts.
    base : PrimExpr or int
        What is added; no iterator is in it.
    """

    __slots__ = ("args", "base")
    type_key = "arith.IterSumExpr"
    FIELDS = "args:r base:e"

    def __init__(self, args: Any, base: Any = 0) -> None:
        self.args: tuple[IterSplitExpr, ...] = tuple(args)
        self.base = _typed(base, self.args[0].dtype) if self.args else as_expr(base)
        self.dtype = self.base.dtype
        self.kinds = 0
        self.depth = max([item.depth for item in self.args], default=0) + 1


def _typed(value: Any, dtype: str) -> Any:
    return tir.IntImm(dtype, value) if isinstance(value, int) else as_expr(value)


def mark_expr(mark: IterMark) -> Any:
    """The value of an iterator as an expression."""
    source = mark.source
    return map_expr(source) if isinstance(source, IterMapExpr) else source


def map_expr(node: Any) -> Any:
    """A sum or split as an expression."""
    if isinstance(node, IterSumExpr):
        total: Any = None
        for item in node.args:
            part = map_expr(item)
            total = part if total is None else total + part
        return node.base if total is None else total + node.base
    if not isinstance(node, IterSplitExpr):
        return node
    mark = node.source
    value = mark_expr(mark)
    if not _is_const(node.lower_factor, 1):
        value = tir.floordiv(value, node.lower_factor)
    covered = tir.op.multiply(node.lower_factor, node.extent)
    if not bool(tir.expr.EQ(covered, mark.extent)) and not _equal_consts(covered, mark.extent):
        value = tir.floormod(value, node.extent)
    return value * node.scale


def _is_const(value: Any, number: int) -> bool:
    return isinstance(value, tir.IntImm) and value.value == number


def _equal_consts(a: Any, b: Any) -> bool:
    return isinstance(a, tir.IntImm) and isinstance(b, tir.IntImm) and a.value == b.value
