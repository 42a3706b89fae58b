"""Checks of expressions, by proof and by trying all values."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def assert_prim_expr_equal(lhs: Any, rhs: Any) -> None:
    """Check that two expressions have the same value whatever their variables are.

    Parameters
    ----------
    lhs, rhs : PrimExpr
        The expressions.

    Raises
    ------
    ValueError
        When that cannot be proved.

    Examples
    --------
    >>> import tvm.testing
    >>> x = tvm.tir.Var("x")
    >>> tvm.testing.assert_prim_expr_equal(x * 2 // 2, x)
    """
    from tvm import arith, error, tir

    lhs, rhs = tir.expr.convert(lhs), tir.expr.convert(rhs)
    if not arith.Analyzer().can_prove(lhs == rhs):
        raise error.ValueError_(f"{lhs} and {rhs} are not equal")


def _values(vranges: Any) -> Any:
    """All values of variables with constant ranges, as dicts."""
    import itertools

    names, domains = [], []
    for var, dom in vranges.items():
        names.append(var)
        domains.append(range(int(dom.min), int(dom.min) + int(dom.extent)))
    for row in itertools.product(*domains):
        yield dict(zip(names, row))


def check_bool_expr_is_true(bool_expr: Any, vranges: Any, cond: Any = None) -> None:
    """Check that a condition holds for all values of its variables.

    Parameters
    ----------
    bool_expr : PrimExpr
        The condition.
    vranges : dict of Var to Range
        Constant ranges of all variables in it.
    cond : PrimExpr, optional
        Values for which this does not hold are left out.

    Raises
    ------
    AssertionError
        With the values for which it does not hold.

    Examples
    --------
    >>> import tvm.testing
    >>> x = tvm.tir.Var("x")
    >>> tvm.testing.check_bool_expr_is_true(x * x >= x, {x: tvm.ir.Range(-4, 4)})
    """
    from tvm import tir
    from tvm.tir.interpreter import evaluate

    expr = tir.expr.convert(bool_expr)
    wanted = None if cond is None else tir.expr.convert(cond)
    for row in _values(vranges):
        if wanted is not None and not evaluate(wanted, row):
            continue
        if not evaluate(expr, row):
            shown = ", ".join([f"{var.name} = {value}" for var, value in row.items()])
            raise AssertionError(f"{expr} does not hold for {shown}")


def check_int_constraints_trans_consistency(constraints_trans: Any, vranges: Any = None) -> None:
    """Check that both systems of a transformation have the same solutions.

    Parameters
    ----------
    constraints_trans : tvm.arith.IntConstraintsTransform
        The transformation.
    vranges : dict of Var to Range, optional
        Constant ranges of variables that the systems do not give one.

    Raises
    ------
    AssertionError
        With values that solve one system, but not the other when transformed, or that do not come
        back.
    """
    trans = constraints_trans
    given = dict(vranges or {})
    _one_way(trans.src, trans.dst, trans.src_to_dst, trans.dst_to_src, given)
    _one_way(trans.dst, trans.src, trans.dst_to_src, trans.src_to_dst, given)


def _one_way(first: Any, second: Any, there: Any, back: Any, given: dict[Any, Any]) -> None:
    from tvm import tir
    from tvm.tir.stmt_functor import substitute

    ranges = {**given, **first.ranges}
    holds = tir.all(tir.const(True), *first.relations)
    wanted = [substitute(item, back) for item in second.relations]
    for var, dom in second.ranges.items():
        value = substitute(tir.expr.convert(var), back)
        low = substitute(dom.min, back)
        wanted += [value >= low, value < low + substitute(dom.extent, back)]
    for var in first.variables:
        if var in there:
            wanted.append(tir.EQ(substitute(tir.expr.convert(there[var]), back), var))
    check_bool_expr_is_true(tir.all(tir.const(True), *wanted), ranges, holds)
