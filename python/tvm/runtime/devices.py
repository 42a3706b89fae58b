"""Devices: the constructor, the names, and the attributes that need a query."""

from __future__ import annotations

from tvm._ffi import _core
from tvm._ffi.runtime_ctypes import MASK2STR, RPC_SESS_MASK, STR2MASK
from tvm._ffi.runtime_ctypes import Device as Device
from tvm.error import TypeError_, ValueError_

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class DeviceAttrKind:
    """Numbers of the attributes, as in the C interface."""

    kExist = 0
    kMaxThreadsPerBlock = 1
    kWarpSize = 2
    kMaxSharedMemoryPerBlock = 3
    kComputeVersion = 4
    kDeviceName = 5
    kMaxClockRate = 6
    kMultiProcessorCount = 7
    kMaxThreadDimensions = 8
    kMaxRegistersPerBlock = 9
    kGcnArch = 10
    kApiVersion = 11
    kDriverVersion = 12
    kL2CacheSizeBytes = 13
    kTotalGlobalMemory = 14
    kAvailableGlobalMemory = 15


def _names() -> str:
    return ", ".join(sorted(STR2MASK))


def device(dev_type: Any, dev_id: Any = 0) -> Device:
    """Make a device from its name or its mask.

    Parameters
    ----------
    dev_type : str, int or Device
        A name such as ``"cpu"`` or ``"cuda"``, also with a number as in ``"cuda:2"`` (which then
        wins over `dev_id`); the name of a target (``"llvm"`` means the CPU), of which a whole
        text is taken too (``"cuda -arch=sm_90"``); a mask; or a device, which passes through.
    dev_id : int
        Which device of this kind.

    Returns
    -------
    Device

    Raises
    ------
    ValueError
        For an unknown name or mask, or a bad number; the message lists the names.
    TypeError
        When `dev_type` or `dev_id` is of another type; it is a ValueError too.

    Examples
    --------
    >>> import tvm
    >>> tvm.device("cpu", 1) == tvm.cpu(1)
    True
    >>> tvm.device("cuda:2")
    cuda(2)
    """
    if isinstance(dev_type, Device):
        return dev_type
    text = dev_type
    if isinstance(dev_type, str):
        # of a target's text the kind alone matters
        name, colon, number = (dev_type.split() or [""])[0].partition(":")
        mask = STR2MASK.get(name)
        if mask is None:
            raise _unknown(dev_type, name)
        if colon:
            if not (number.isascii() and number.isdigit()):
                raise ValueError_(
                    f"device {dev_type!r}: expected a number after the colon, got {number!r}, "
                    f"as in '{name}:0'; names are {_names()}"
                )
            dev_id = int(number)
    elif isinstance(dev_type, bool) or not hasattr(dev_type, "__index__"):
        foreign = _foreign(dev_type)
        if foreign is not None:
            return foreign
        raise DeviceTypeError(
            f"device: expected a name, a mask or a Device, got {dev_type!r} of type "
            f"{type(dev_type).__name__}; names are {_names()}"
        )
    else:
        try:
            mask = dev_type.__index__()
        except TypeError as problem:
            raise DeviceTypeError(f"device: the mask: {problem}") from None
        if mask % RPC_SESS_MASK not in MASK2STR or mask < 0:
            raise ValueError_(
                f"device: unknown mask {mask}; masks are "
                + ", ".join(f"{key} ({value})" for key, value in sorted(MASK2STR.items()))
            )
    if isinstance(dev_id, bool) or not hasattr(dev_id, "__index__"):
        raise DeviceTypeError(
            f"device {text!r}: expected an int as the number, got {dev_id!r} of type "
            f"{type(dev_id).__name__}"
        )
    try:
        dev_id = dev_id.__index__()
    except TypeError as problem:  # an array with more than one element
        raise DeviceTypeError(f"device {text!r}: the number: {problem}") from None
    if not 0 <= dev_id < 1 << 31:
        raise ValueError_(
            f"device {text!r}: expected a number from 0, got {dev_id}; names are {_names()}"
        )
    return _core.make_device(mask, dev_id)


class DeviceTypeError(TypeError_, ValueError_):
    """A value that cannot name a device, since it is of the wrong type."""


def _unknown(text: str, name: str) -> ValueError_:
    from difflib import get_close_matches

    near = get_close_matches(name, STR2MASK, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return ValueError_(f"unknown device {text!r}: {hint}names are {_names()}")


def _foreign(obj: object) -> Device | None:
    """Another framework's device object, which has a kind and an index."""
    kind = getattr(obj, "type", None)
    index = getattr(obj, "index", None)
    if isinstance(kind, str) and kind in STR2MASK and (index is None or isinstance(index, int)):
        return device(kind, index or 0)
    if isinstance(getattr(obj, "device_type", None), int):
        return device(obj.device_type, getattr(obj, "device_id", 0))  # type: ignore[attr-defined]
    return None


def _attribute(kind: int, doc: str) -> property:
    def get(self: Device) -> Any:
        return _core.device_attr(self.device_type, self.device_id, kind)

    return property(get, doc=doc)


def _exist(self: Device) -> bool:
    """Whether the device is there and can be used. Never raises."""
    try:
        return bool(_core.device_attr(self.device_type, self.device_id, DeviceAttrKind.kExist))
    except Exception:
        return False


def _max_thread_dimensions(self: Device) -> list[int] | None:
    """The largest number of threads in each dimension of a block."""
    value = _core.device_attr(self.device_type, self.device_id, DeviceAttrKind.kMaxThreadDimensions)
    if isinstance(value, str):
        return [int(item) for item in value.strip("[] ").split(",")]
    return None


def _texture_spatial_limit(self: Device) -> int | None:
    """The largest width and height of a texture, None where there are none."""
    query = _core.get_global_func("device_api.texture_spatial_limit")
    return None if query is None else int(query(self))


def _create_raw_stream(self: Device) -> int | None:
    """Make a stream; give it back with `free_raw_stream`."""
    return _core.stream_create(self.device_type, self.device_id)


def _free_raw_stream(self: Device, stream: int | None) -> None:
    """Give a stream back."""
    _core.stream_free(self.device_type, self.device_id, stream)


def _set_raw_stream(self: Device, stream: int | None) -> None:
    """Make a stream the one that this thread's work on the device goes to."""
    _core.stream_set(self.device_type, self.device_id, stream)


def _sync(self: Device, stream: int | None = None) -> None:
    """Wait until the device has done all that was asked of it on a stream."""
    _core.synchronize(self.device_type, self.device_id, stream)


def _attach() -> None:
    kinds = DeviceAttrKind
    figures = {
        "max_threads_per_block": (kinds.kMaxThreadsPerBlock, "Most threads in one block."),
        "warp_size": (kinds.kWarpSize, "Threads that run in lock step."),
        "max_shared_memory_per_block": (
            kinds.kMaxSharedMemoryPerBlock,
            "Bytes of memory that the threads of a block share.",
        ),
        "compute_version": (kinds.kComputeVersion, "Version of the instruction set, as text."),
        "device_name": (kinds.kDeviceName, "Name that the maker gave."),
        "max_clock_rate": (kinds.kMaxClockRate, "Highest clock rate in kHz."),
        "multi_processor_count": (kinds.kMultiProcessorCount, "Number of processors."),
        "api_version": (kinds.kApiVersion, "Version of the programming interface."),
        "driver_version": (kinds.kDriverVersion, "Version of the driver, as text."),
        "l2_cache_size_bytes": (kinds.kL2CacheSizeBytes, "Bytes of second-level cache."),
        "total_global_memory": (kinds.kTotalGlobalMemory, "Bytes of memory."),
        "available_global_memory": (
            kinds.kAvailableGlobalMemory,
            "Bytes of memory that are free now.",
        ),
    }
    for name, (kind, text) in figures.items():
        setattr(Device, name, _attribute(kind, f"{text} None where there is no such figure."))
    Device.exist = property(_exist, doc=_exist.__doc__)  # type: ignore[assignment]
    Device.max_thread_dimensions = property(  # type: ignore[assignment]
        _max_thread_dimensions, doc=_max_thread_dimensions.__doc__
    )
    for method in (
        _texture_spatial_limit,
        _create_raw_stream,
        _free_raw_stream,
        _set_raw_stream,
        _sync,
    ):
        name = method.__name__[1:]
        method.__name__ = name
        method.__qualname__ = f"Device.{name}"
        setattr(Device, name, method)


_attach()
