"""The runtime: arrays, devices, functions and modules. Needs nothing of the compiler."""

from __future__ import annotations

from tvm._ffi.runtime_ctypes import DataType as DataType
from tvm._ffi.runtime_ctypes import DataTypeCode as DataTypeCode

from . import border as _border
from . import container as container
from . import module as module
from . import ndarray as ndarray
from . import object as object
from . import object_generic as object_generic
from . import packed_func as packed_func
from .container import Array as Array
from .container import Map as Map
from .container import ShapeTuple as ShapeTuple
from .container import String as String
from .module import BenchmarkResult as BenchmarkResult
from .module import Module as Module
from .module import ModulePropertyMask as ModulePropertyMask
from .module import enabled as enabled
from .module import load_module as load_module
from .module import load_static_library as load_static_library
from .module import num_threads as num_threads
from .module import system_lib as system_lib
from .ndarray import Device as Device
from .ndarray import NDArray as NDArray
from .ndarray import cl as cl
from .ndarray import cpu as cpu
from .ndarray import cuda as cuda
from .ndarray import device as device
from .ndarray import ext_dev as ext_dev
from .ndarray import gpu as gpu
from .ndarray import hexagon as hexagon
from .ndarray import metal as metal
from .ndarray import mtl as mtl
from .ndarray import opencl as opencl
from .ndarray import rocm as rocm
from .ndarray import vpi as vpi
from .ndarray import vulkan as vulkan
from .ndarray import webgpu as webgpu
from .object import Object as Object
from .object_generic import ObjectGeneric as ObjectGeneric
from .object_generic import const as const
from .object_generic import convert as convert
from .object_generic import convert_to_object as convert_to_object
from .packed_func import PackedFunc as PackedFunc
from .packed_func import convert_to_tvm_func as convert_to_tvm_func

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .object_path import ObjectPath as ObjectPath
    from .params import load_param_dict as load_param_dict
    from .params import load_param_dict_from_file as load_param_dict_from_file
    from .params import save_param_dict as save_param_dict
    from .params import save_param_dict_to_file as save_param_dict_to_file

# loaded when first used: name -> module of this package
_LATER = {
    "save_param_dict": "params",
    "load_param_dict": "params",
    "save_param_dict_to_file": "params",
    "load_param_dict_from_file": "params",
    "params": "",
    "profiling": "",
    "object_path": "",
    "ObjectPath": "object_path",
    "toolchain": "",
    "_ffi_api": "",
}

_border.install()


def __getattr__(name: str) -> Any:
    home = _LATER.get(name)
    if home is None:
        raise AttributeError(f"module 'tvm.runtime' has no attribute {name!r}")
    from importlib import import_module

    if not home:
        return import_module(f"tvm.runtime.{name}")
    value = getattr(import_module(f"tvm.runtime.{home}"), name)
    globals()[name] = value
    return value
