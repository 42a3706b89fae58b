"""A virtual device: a device, a target and a memory scope, each of them perhaps unknown."""

from __future__ import annotations

from tvm.runtime.object import Object

from .target import Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class VirtualDevice(Object):
    """Where something lives and what its code is compiled for.

    Parameters
    ----------
    device : Device, optional
        The device; unknown without.
    target : Target, optional
        The target.
    memory_scope : str
        The memory, such as ``"global"``.

    Examples
    --------
    >>> import tvm
    >>> place = tvm.target.VirtualDevice(tvm.cpu(0), tvm.target.Target("llvm"), "global")
    >>> place.device_type, place.virtual_device_id, place.memory_scope
    (1, 0, 'global')
    """

    __slots__ = ("device_type_int", "virtual_device_id", "target", "memory_scope")

    type_key = "VirtualDevice"

    def __init__(self, device: Any = None, target: Any = None, memory_scope: str = "") -> None:
        self.device_type_int = -1 if device is None else int(device.device_type)
        self.virtual_device_id = -1 if device is None else int(device.device_id)
        self.target = None if target is None else Target(target)
        self.memory_scope = memory_scope
        if device is None and self.target is not None:
            self.device_type_int = self.target.get_target_device_type()

    @property
    def device_type(self) -> int:
        """The number of the device's type, -1 if unknown."""
        return self.device_type_int

    def _key(self) -> tuple[Any, ...]:
        return self.device_type_int, self.virtual_device_id, self.target, self.memory_scope

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VirtualDevice) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        parts = [f"device_type={self.device_type_int}"]
        if self.virtual_device_id >= 0:
            parts.append(f"virtual_device_id={self.virtual_device_id}")
        if self.target is not None:
            parts.append(f"target={self.target}")
        if self.memory_scope:
            parts.append(f"memory_scope={self.memory_scope!r}")
        return f"VirtualDevice({', '.join(parts)})"
