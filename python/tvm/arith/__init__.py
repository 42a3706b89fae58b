"""Algebra of integer expressions."""

from . import _ffi_api, int_set, iter_affine_map, linear
from .analyzer import Analyzer, ConstraintScope, ProofStrength
from .bound_deducer import deduce_bound, detect_clip_bound
from .const_bound import ConstIntBound
from .int_constraints import IntConstraints, IntConstraintsTransform, IntGroupBounds
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
from .linear_equations import solve_linear_equations
from .linear_inequalities import solve_linear_inequalities
from .modular import ModularSet
from .region_bound import (
    estimate_region_lower_bound,
    estimate_region_strict_bound,
    estimate_region_upper_bound,
)

__all__ = [
    "Analyzer",
    "ConstIntBound",
    "ConstraintScope",
    "IntConstraints",
    "IntConstraintsTransform",
    "IntGroupBounds",
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
    "_ffi_api",
    "deduce_bound",
    "detect_clip_bound",
    "detect_iter_map",
    "detect_linear_equation",
    "estimate_region_lower_bound",
    "estimate_region_strict_bound",
    "estimate_region_upper_bound",
    "int_set",
    "inverse_affine_iter_map",
    "iter_affine_map",
    "iter_map_simplify",
    "linear",
    "normalize_iter_map_to_expr",
    "normalize_to_iter_sum",
    "solve_linear_equations",
    "solve_linear_inequalities",
    "subspace_divide",
]
