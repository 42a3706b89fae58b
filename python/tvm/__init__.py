"""Arrays, devices and a tensor-expression compiler in one small package.

`tvm.nd` holds arrays, `tvm.te` describes computations, `tvm.build` compiles them. The compiler's
subpackages are loaded when they are first used.
"""

from __future__ import annotations

from . import _legacy
from . import error as error
from . import runtime as runtime
from ._ffi.registry import get_global_func as get_global_func
from ._ffi.registry import register_extension as register_extension
from ._ffi.registry import register_func as register_func
from ._ffi.registry import register_object as register_object
from ._ffi.runtime_ctypes import DataType as DataType
from ._ffi.runtime_ctypes import DataTypeCode as DataTypeCode
from .error import TVMError as TVMError
from .error import register_error as register_error
from .runtime import Object as Object
from .runtime import ndarray as _ndarray
from .runtime import object_generic as _object_generic
from .runtime.ndarray import cl as cl
from .runtime.ndarray import cpu as cpu
from .runtime.ndarray import cuda as cuda
from .runtime.ndarray import device as device
from .runtime.ndarray import ext_dev as ext_dev
from .runtime.ndarray import gpu as gpu
from .runtime.ndarray import hexagon as hexagon
from .runtime.ndarray import metal as metal
from .runtime.ndarray import mtl as mtl
from .runtime.ndarray import opencl as opencl
from .runtime.ndarray import rocm as rocm
from .runtime.ndarray import vpi as vpi
from .runtime.ndarray import vulkan as vulkan
from .runtime.ndarray import webgpu as webgpu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from . import arith as arith
    from . import codegen as codegen
    from . import contrib as contrib
    from . import driver as driver
    from . import ir as ir
    from . import support as support
    from . import target as target
    from . import te as te
    from . import testing as testing
    from . import tir as tir
    from .driver.build_module import build as build
    from .driver.build_module import lower as lower
    from .ir import transform as transform
    from .ir.module import IRModule as IRModule

__version__ = "0.1.0"

# name -> (module, name in it); None means the module itself
_LATER: dict[str, tuple[str, str | None]] = {
    **{
        name: (f"tvm.{name}", None)
        for name in (
            *("te", "tir", "ir", "arith", "target", "driver", "codegen", "topi", "rpc"),
            *("contrib", "testing", "support", "config"),
        )
    },
    "transform": ("tvm.ir.transform", None),
    "instrument": ("tvm.ir.instrument", None),
    "container": ("tvm.ir.container", None),
    "build": ("tvm.driver.build_module", "build"),
    "lower": ("tvm.driver.build_module", "lower"),
    "IRModule": ("tvm.ir.module", "IRModule"),
    "GenericFunc": ("tvm.target.generic", "GenericFunc"),
}


def __getattr__(name: str) -> Any:
    later = _LATER.get(name)
    if later is None:
        return _legacy.lookup(name)
    from importlib import import_module

    home, member = later
    try:
        value: Any = import_module(home)
    except ModuleNotFoundError as problem:
        if problem.name != home:
            raise
        raise AttributeError(f"module 'tvm' has no attribute {name!r}") from None
    if member is not None:
        value = getattr(value, member)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


def _load_nodes() -> None:
    from . import tir  # noqa: F401


nd = _ndarray
_object_generic.set_node_loader(_load_nodes)
_legacy.install()
