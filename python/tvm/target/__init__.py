"""Targets: what a program is compiled for. Data and queries only, nothing is compiled here."""

from .kind import TargetKind
from .target import (
    Target,
    arm_cpu,
    bifrost,
    create,
    cuda,
    hexagon,
    intel_graphics,
    mali,
    riscv_cpu,
    rocm,
    vta,
)

_LATER = {
    "GenericFunc": "generic",
    "VirtualDevice": "virtual_device",
    "get_native_generic_func": "generic",
    "generic_func": "generic",
    "list_tags": "tag",
    "override_native_generic_func": "generic",
    "register_tag": "tag",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    home = _LATER.get(name)
    if home is not None:
        value = getattr(import_module(f"{__name__}.{home}"), name)
        globals()[name] = value
        return value
    if name in ("codegen", "_ffi_api", "tag", "virtual_device", "cpu_features", "generic"):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Target",
    "TargetKind",
    "arm_cpu",
    "bifrost",
    "create",
    "cuda",
    "hexagon",
    "intel_graphics",
    "mali",
    "riscv_cpu",
    "rocm",
    "vta",
]
__all__ += sorted(_LATER)
