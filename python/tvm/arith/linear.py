"""Expressions as linear combinations."""

from __future__ import annotations

from tvm.ir.expr import as_expr

from .index_algebra import Algebra, Poly

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def detect_linear_equation(expr: Any, var_list: Any) -> list[Any]:
    """The coefficients of variables in a linear expression.

    Parameters
    ----------
    expr : PrimExpr
        The expression.
    var_list : list of Var
        The variables.

    Returns
    -------
    list of PrimExpr
        ``[c_0, ..., c_n-1, base]`` with ``expr == c_0 * v_0 + ... + base``; empty if it is not
        linear in them.

    Examples
    --------
    >>> import tvm
    >>> a, b = tvm.tir.Var("a"), tvm.tir.Var("b")
    >>> tvm.arith.detect_linear_equation(a * 4 + b + 6, [a])
    [4, b + 6]
    """
    expr = as_expr(expr)
    algebra = Algebra()
    keys = [algebra.key(getattr(var, "var", var)) for var in var_list]
    rest: Poly = dict(algebra.poly(expr))
    found: list[Any] = []
    for key in keys:
        coefficient: Poly = {}
        for mono in list(rest):
            if key in mono:
                if mono.count(key) > 1:
                    return []
                left = list(mono)
                left.remove(key)
                coefficient[tuple(left)] = rest.pop(mono)
        found.append(coefficient)
    for poly in (*found, rest):
        # Neither in another coefficient nor inside of something that is not linear.
        if any(algebra._depends_poly(poly, key) for key in keys):
            return []
    return [algebra.expr(poly, expr.dtype) for poly in (*found, rest)]
