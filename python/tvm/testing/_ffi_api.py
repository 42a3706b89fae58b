"""The global functions `testing.<name>`, as attributes."""

from __future__ import annotations

from tvm._ffi.registry import prefixed

__getattr__ = prefixed(__name__, "testing")
