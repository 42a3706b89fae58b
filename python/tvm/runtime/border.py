"""What the extension calls back into, installed when the runtime is first loaded."""

from __future__ import annotations

from tvm import error
from tvm._ffi import _core, dtype
from tvm._ffi.runtime_ctypes import DataType

from . import container, object_generic
from .devices import device
from .object import Object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _parse_dtype(obj: Any) -> str | tuple[int, int, int]:
    text = dtype.canonical(obj)
    # the extension knows no user types, so that their text would not tell it the code
    return dtype.parse(text) if text.startswith("custom[") else text


# NumPy is loaded with the first value that needs it.
def _array_slow(arr: Any, dev: Any, mem_scope: Any) -> Any:
    from .conversion import array_slow

    return array_slow(arr, dev, mem_scope)


def _copyfrom_slow(self: Any, src: Any) -> None:
    from .conversion import copyfrom_slow

    copyfrom_slow(self, src)


def _numpy_slow(self: Any) -> Any:
    from .conversion import numpy_slow

    return numpy_slow(self)


def install() -> None:
    """Give the extension its hooks, and the conversions the extension's classes."""
    _core.set_hooks(
        parse_dtype=_parse_dtype,
        format_custom_dtype=dtype.format,
        parse_device=device,
        array_slow=_array_slow,
        copyfrom_slow=_copyfrom_slow,
        numpy_slow=_numpy_slow,
        error_class=error.error_class,
        Array=container.Array,
        Map=container.Map,
        String=container.String,
        ShapeTuple=container.ShapeTuple,
        DataType=DataType,
        Object=Object,
    )
    announce = _core.get_global_func("runtime.RegisterErrorKind")
    if announce is not None:
        error.set_announcer(announce)
    object_generic.set_native_types(
        (_core.NDArray, _core.PackedFunc, _core.Module, _core.Device, DataType)
    )
