"""Algebra of integer expressions."""

from . import int_set, iter_affine_map, linear
from .analyzer import Analyzer, ConstraintScope, ProofStrength
from .const_bound import ConstIntBound
from .int_set import IntervalSet, IntSet
from .iter_affine_map import (
    IterMapLevel,
    IterMapResult,
    detect_iter_map,
    inverse_affine_iter_map,
    iter_map_simplify,
    normalize_iter_map_to_expr,
    normalize_to_iter_sum,
)
from .iter_divide import subspace_divide
from .iter_map import IterMapExpr, IterMark, IterSplitExpr, IterSumExpr
from .linear import detect_linear_equation
from .modular import ModularSet

__all__ = [
    "Analyzer",
    "ConstIntBound",
    "ConstraintScope",
    "IntSet",
    "IntervalSet",
    "IterMapExpr",
    "IterMapLevel",
    "IterMapResult",
    "IterMark",
    "IterSplitExpr",
    "IterSumExpr",
    "ModularSet",
    "ProofStrength",
    "detect_iter_map",
    "detect_linear_equation",
    "int_set",
    "inverse_affine_iter_map",
    "iter_affine_map",
    "iter_map_simplify",
    "linear",
    "normalize_iter_map_to_expr",
    "normalize_to_iter_sum",
    "subspace_divide",
]
