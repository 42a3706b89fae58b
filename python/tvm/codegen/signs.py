"""Which index expressions cannot be negative, for every code generator.

A division of two such numbers needs no correction towards minus infinity, and may be unsigned.
"""

from __future__ import annotations

from ..tir import expr as _expr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from typing import Any

_BOTH = (_expr.Add, _expr.Mul, _expr.Min, _expr.FloorDiv, _expr.Div)


def is_nonnegative(node: Any, known: Container[Any]) -> bool:
    """Whether an index expression is known not to be negative; of a vector, each lane.

    Parameters
    ----------
    node : PrimExpr
        The expression.
    known : container of Var
        The variables that are not negative.

    Returns
    -------
    bool
        False when nothing is known.
    """
    kind = type(node)
    if kind is _expr.IntImm:
        return bool(node.value >= 0)
    if kind is _expr.Var:
        return node in known or node.dtype.startswith("uint")
    if kind is _expr.SizeVar:
        return True
    if kind in _BOTH:
        return is_nonnegative(node.a, known) and is_nonnegative(node.b, known)
    if kind is _expr.Max:
        return is_nonnegative(node.a, known) or is_nonnegative(node.b, known)
    if kind is _expr.FloorMod:
        return is_nonnegative(node.b, known)
    if kind is _expr.Cast and not node.kinds & _expr.DATA:
        return is_nonnegative(node.value, known)
    if kind is _expr.Ramp:
        return is_nonnegative(node.base, known) and is_nonnegative(node.stride, known)
    return kind is _expr.Broadcast and is_nonnegative(node.value, known)
