"""Systems of integer constraints, and systems that are equivalent in other variables."""

from __future__ import annotations

from tvm import tir
from tvm.ir.base import Node
from tvm.ir.expr import Range, as_expr
from tvm.tir.stmt_functor import post_order_visit

from .index_algebra import Algebra, Poly

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class IntConstraints(Node):
    """Variables, their ranges, and relations that hold between them.

    Parameters
    ----------
    variables : list of Var
        The unknowns.
    ranges : dict of Var to Range
        Ranges of some of them.
    relations : list of PrimExpr
        Conditions.
    """

    __slots__ = ("ranges", "relations", "variables")
    type_key = "arith.IntConstraints"
    FIELDS = "variables:r ranges:r relations:r"

    def __init__(self, variables: Any, ranges: Any, relations: Any) -> None:
        self.variables: list[Any] = [getattr(item, "var", item) for item in variables or ()]
        self.ranges: dict[Any, Range] = {
            getattr(var, "var", var): dom for var, dom in dict(ranges or {}).items()
        }
        self.relations: list[Any] = [as_expr(item) for item in relations or ()]


class IntConstraintsTransform(Node):
    """A system and an equivalent one.

    Parameters
    ----------
    src, dst : IntConstraints
        Both systems.
    src_to_dst : dict of Var to PrimExpr
        The variables of `src` in terms of those of `dst`.
    dst_to_src : dict of Var to PrimExpr
        The variables of `dst` in terms of those of `src`.
    """

    __slots__ = ("dst", "dst_to_src", "src", "src_to_dst")
    type_key = "arith.IntConstraintsTransform"
    FIELDS = "src:r dst:r src_to_dst:r dst_to_src:r"

    def __init__(
        self, src: IntConstraints, dst: IntConstraints, src_to_dst: Any, dst_to_src: Any
    ) -> None:
        self.src = src
        self.dst = dst
        self.src_to_dst: dict[Any, Any] = dict(src_to_dst)
        self.dst_to_src: dict[Any, Any] = dict(dst_to_src)


class IntGroupBounds(Node):
    """What inequalities say of one variable, times `coef`.

    Attributes
    ----------
    coef : PrimExpr
        The positive factor of the variable.
    lower, equal, upper : list of PrimExpr
        What it is at least, exactly and at most.
    """

    __slots__ = ("coef", "equal", "lower", "upper")
    type_key = "arith.IntGroupBounds"
    FIELDS = "coef:r lower:r equal:r upper:r"

    def __init__(self, coef: Any, lower: Any, equal: Any, upper: Any) -> None:
        self.coef = as_expr(coef)
        self.lower = [as_expr(item) for item in lower]
        self.equal = [as_expr(item) for item in equal]
        self.upper = [as_expr(item) for item in upper]


def contradiction(src: IntConstraints) -> IntConstraintsTransform:
    """The answer for a system that nothing solves."""
    return IntConstraintsTransform(src, IntConstraints([], {}, [False]), {}, {})


def _conjuncts(cond: Any) -> list[Any]:
    cond = as_expr(cond)
    if type(cond) is tir.And:
        return _conjuncts(cond.a) + _conjuncts(cond.b)
    return [cond]


def system_of(equations: Any, variables: Any, ranges: Any) -> IntConstraints:
    """The arguments of both solvers as one system."""
    if isinstance(equations, IntConstraints):
        return equations
    relations = [part for item in equations for part in _conjuncts(item)]
    if variables is None:
        found: dict[Any, None] = {}

        def look(node: Any) -> None:
            if isinstance(node, tir.Var):
                found.setdefault(node)

        for item in relations:
            post_order_visit(item, look)
        variables = list(found)
    return IntConstraints(variables, ranges, relations)


class Linear:
    """Expressions as polynomials, of which it is known whether they are linear in variables."""

    def __init__(self, variables: list[Any]) -> None:
        self.algebra = Algebra()
        self.dtype = variables[0].dtype if variables else "int32"
        self.keys = [self.algebra.key(var) for var in variables]

    def split(self, poly: Poly) -> tuple[list[int], Poly] | None:
        """Coefficients of the variables and the rest; None if it is not linear in them."""
        rest = dict(poly)
        coefficients = [rest.pop((key,), 0) for key in self.keys]
        for mono in rest:
            for part in mono:
                for key in self.keys:
                    if part == key or self.algebra._depends_poly({(part,): 1}, key):
                        return None
        return coefficients, rest

    def expr(self, poly: Poly) -> Any:
        """A polynomial as an expression."""
        return self.algebra.expr(poly, self.dtype)
