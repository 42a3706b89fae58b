"""From a schedule to a module: `lower` and `build`."""

from .build_module import build, lower

__all__ = ["build", "lower"]
