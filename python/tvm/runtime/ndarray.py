"""Arrays and the devices they live on: the module `tvm.nd`.

`NDArray`, `array`, `empty` and `from_dlpack` are the extension's own. Here they get the methods
that nobody calls in a loop.
"""

from __future__ import annotations

from tvm._ffi._core import NDArray as NDArray
from tvm._ffi._core import array as array
from tvm._ffi._core import empty as empty
from tvm._ffi._core import from_dlpack as from_dlpack
from tvm._ffi._core import make_device as _make_device

from .devices import Device as Device
from .devices import device as device

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "Device",
    "NDArray",
    "array",
    "cl",
    "cpu",
    "cuda",
    "device",
    "empty",
    "ext_dev",
    "from_dlpack",
    "gpu",
    "hexagon",
    "metal",
    "mtl",
    "opencl",
    "rocm",
    "vpi",
    "vulkan",
    "webgpu",
]

# What older programs test with isinstance.
NDArrayBase = NDArray


def _warn(text: str) -> None:
    import warnings

    warnings.warn(text, DeprecationWarning, stacklevel=3)


def _make(mask: int, dev_id: Any) -> Device:
    if type(dev_id) is int and 0 <= dev_id < 1 << 31:
        return _make_device(mask, dev_id)
    return device(mask, dev_id)


def cpu(dev_id: int = 0) -> Device:
    """The CPU.

    Parameters
    ----------
    dev_id : int
        A number; all of them mean the same memory.

    Returns
    -------
    Device

    Examples
    --------
    >>> import tvm
    >>> tvm.cpu(0)
    cpu(0)
    """
    return _make(1, dev_id)


def cuda(dev_id: int = 0) -> Device:
    """The NVIDIA GPU number `dev_id`."""
    return _make(2, dev_id)


def gpu(dev_id: int = 0) -> Device:
    """The NVIDIA GPU number `dev_id`; an older name of `cuda`."""
    _warn("tvm.gpu() is an older name, please use tvm.cuda()")
    return _make(2, dev_id)


def rocm(dev_id: int = 0) -> Device:
    """The AMD GPU number `dev_id`, through ROCm."""
    return _make(10, dev_id)


def opencl(dev_id: int = 0) -> Device:
    """The OpenCL device number `dev_id`."""
    return _make(4, dev_id)


cl = opencl


def metal(dev_id: int = 0) -> Device:
    """The Apple GPU number `dev_id`, through Metal."""
    return _make(8, dev_id)


mtl = metal


def vulkan(dev_id: int = 0) -> Device:
    """The Vulkan device number `dev_id`."""
    return _make(7, dev_id)


def vpi(dev_id: int = 0) -> Device:
    """The simulator of hardware designs number `dev_id`."""
    return _make(9, dev_id)


def ext_dev(dev_id: int = 0) -> Device:
    """The device of a plug-in, number `dev_id`."""
    return _make(12, dev_id)


def hexagon(dev_id: int = 0) -> Device:
    """The Qualcomm Hexagon processor number `dev_id`."""
    return _make(16, dev_id)


def webgpu(dev_id: int = 0) -> Device:
    """The WebGPU device number `dev_id`."""
    return _make(15, dev_id)


# ---- methods of NDArray ------------------------------------------------------------------------


def _asnumpy(self: NDArray) -> Any:
    """A NumPy copy; an older name of `numpy`."""
    _warn("NDArray.asnumpy() is an older name, please use NDArray.numpy()")
    return self.numpy()


def _handle(self: NDArray) -> Any:
    """A ctypes pointer to the tensor struct; it keeps the array alive."""
    from tvm._ffi.structs import array_handle

    return array_handle(self._handle_address, self)


def _ctx(self: NDArray) -> Device:
    """The device; an older name of `device`."""
    _warn("NDArray.ctx is an older name, please use NDArray.device")
    return self.device


def _repr(self: NDArray) -> str:
    from .conversion import text_of

    return text_of(self, repr)


def _str(self: NDArray) -> str:
    from .conversion import text_of

    return text_of(self, str)


def _array(self: NDArray, dtype: Any = None, copy: bool | None = None) -> Any:
    """What `numpy.asarray` asks for: a copy of the elements.

    Parameters
    ----------
    dtype : numpy.dtype, optional
        Convert to it.
    copy : bool, optional
        False asks for a view of the memory instead.

    Returns
    -------
    numpy.ndarray

    Raises
    ------
    ValueError
        With ``copy=False``, when there cannot be a view: the array is not on the CPU, or NumPy has
        no such dtype.

    Examples
    --------
    >>> import numpy, tvm
    >>> numpy.asarray(tvm.nd.array([1, 2])).tolist()
    [1, 2]
    """
    from .conversion import array_protocol

    return array_protocol(self, dtype, copy)


def _reduce_ex(self: NDArray, protocol: Any) -> tuple[Any, ...]:
    from .conversion import raw_bytes

    raw: Any = raw_bytes(self)
    if protocol >= 5:
        from pickle import PickleBuffer

        raw = PickleBuffer(raw)
    else:
        raw = raw.tobytes()
    device = self.device
    return _rebuild, (raw, self.shape, self.dtype, device.device_type, device.device_id)


def _rebuild(
    raw: Any, shape: tuple[int, ...], dtype: str, device_type: int, device_id: int
) -> NDArray:
    """The array of a pickle: on its device if that is here, else on the CPU, with a warning."""
    import numpy

    from .conversion import from_raw_bytes

    target = _make_device(device_type, device_id)
    if device_type != 1 and not target.exist:
        import warnings

        warnings.warn(
            f"the array of shape {shape} was on {target}, which does not exist here: "
            "it is put on the CPU",
            RuntimeWarning,
            stacklevel=2,
        )
        target = cpu(0)
    return from_raw_bytes(numpy.frombuffer(raw, numpy.uint8), shape, dtype, target)


def _copy(self: NDArray) -> NDArray:
    out = empty(self.shape, self.dtype, self.device)
    return self.copyto(out)


def _deepcopy(self: NDArray, memo: Any) -> NDArray:
    out = _copy(self)
    memo[id(self)] = out
    return out


def _attach() -> None:
    methods = {
        "asnumpy": _asnumpy,
        "__repr__": _repr,
        "__str__": _str,
        "__array__": _array,
        "__reduce_ex__": _reduce_ex,
        "__copy__": _copy,
        "__deepcopy__": _deepcopy,
    }
    for name, method in methods.items():
        method.__name__ = name
        method.__qualname__ = f"NDArray.{name}"
        setattr(NDArray, name, method)
    NDArray.handle = property(_handle, doc=_handle.__doc__)  # type: ignore[assignment]
    NDArray.ctx = property(_ctx, doc=_ctx.__doc__)  # type: ignore[assignment]


_attach()
