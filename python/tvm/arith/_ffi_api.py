"""Functions that older programs reach by this module."""

from __future__ import annotations

from .int_set import neg_inf as NegInf
from .int_set import pos_inf as PosInf
from .int_set import union_lower_bound as UnionLowerBound
from .linear_inequalities import solve_inequalities_as_condition as SolveInequalitiesAsCondition
from .narrow_predicate import narrow_predicate_expression as NarrowPredicateExpression

__all__ = ["NarrowPredicateExpression", "NegInf", "PosInf", "SolveInequalitiesAsCondition",
           "UnionLowerBound"]  # fmt: skip
