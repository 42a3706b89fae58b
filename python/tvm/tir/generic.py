"""The operators as functions that accept tensors as well as expressions."""

from __future__ import annotations

from .op import add, cast, floordiv, multiply, subtract
from .operators import divide

__all__ = ["add", "cast", "divide", "floordiv", "multiply", "subtract"]
