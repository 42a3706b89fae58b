"""Containers of the IR, under the name that programs know."""

from ..runtime.container import Array, Map, ShapeTuple, String

__all__ = ["Array", "Map", "ShapeTuple", "String"]
