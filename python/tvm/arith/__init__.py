"""Algebra of integer expressions."""

from . import int_set, linear
from .analyzer import Analyzer, ConstraintScope, ProofStrength
from .const_bound import ConstIntBound
from .int_set import IntervalSet, IntSet
from .linear import detect_linear_equation
from .modular import ModularSet

__all__ = [
    "Analyzer",
    "ConstIntBound",
    "ConstraintScope",
    "IntSet",
    "IntervalSet",
    "ModularSet",
    "ProofStrength",
    "detect_linear_equation",
    "int_set",
    "linear",
]
