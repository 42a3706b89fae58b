"""The runtime: arrays, devices, functions and modules. Needs nothing of the compiler."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .container import Array as Array
    from .container import Map as Map
    from .container import ShapeTuple as ShapeTuple
    from .container import String as String
    from .object import Object as Object
    from .object_generic import ObjectGeneric as ObjectGeneric
    from .object_generic import const as const
    from .object_generic import convert as convert
    from .object_generic import convert_to_object as convert_to_object

# name -> the module of this package that defines it; loaded when first used
_HOME = {
    "Array": "container",
    "Map": "container",
    "ShapeTuple": "container",
    "String": "container",
    "Object": "object",
    "ObjectGeneric": "object_generic",
    "const": "object_generic",
    "convert": "object_generic",
    "convert_to_object": "object_generic",
    "PackedFunc": "packed_func",
    "NDArray": "ndarray",
    "Module": "module",
}


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'tvm.runtime' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"tvm.runtime.{home}"), name)
    globals()[name] = value
    return value
