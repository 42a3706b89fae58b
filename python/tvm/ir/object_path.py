"""Paths from the root of a program to something inside it."""

from ..runtime.object_path import ObjectPath

__all__ = ["ObjectPath"]
