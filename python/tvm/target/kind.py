"""The table of target kinds: default keys and the options that each kind takes."""

from __future__ import annotations

from tvm.error import ValueError_

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# option name -> type; a list means "comma-separated text or a list"
_COMMON: dict[str, Any] = {
    "keys": list,
    "device": str,
    "model": str,
    "libs": list,
    "tag": str,
    "from_device": int,
    "target_device_type": int,
    "system-lib": bool,
    "runtime": str,
    "link-params": bool,
}
_CPU: dict[str, Any] = {
    "mcpu": str,
    "march": str,
    "mtriple": str,
    "mattr": list,
    "mfloat-abi": str,
    "mabi": str,
    "num-cores": int,
    "workspace-byte-alignment": int,
    "constants-byte-alignment": int,
}
_GPU: dict[str, Any] = {
    "max_num_threads": int,
    "max_threads_per_block": int,
    "max_shared_memory_per_block": int,
    "max_local_memory_per_block": int,
    "thread_warp_size": int,
    "registers_per_block": int,
    "max_function_args": int,
    "texture_spatial_limit": int,
    "image_base_address_alignment": int,
    "arch": str,
    "mcpu": str,
    "mtriple": str,
    "mattr": list,
    "l2_cache_size_bytes": int,
}

# kind -> (default keys, own options, defaults)
_KINDS: dict[str, tuple[tuple[str, ...], dict[str, Any], dict[str, Any]]] = {
    "llvm": (
        ("cpu",),
        {
            **_CPU,
            "bounds": bool,
            "fast-math": bool,
            "fast-math-nnan": bool,
            "fast-math-ninf": bool,
            "fast-math-nsz": bool,
            "fast-math-arcp": bool,
            "fast-math-contract": bool,
            "fast-math-reassoc": bool,
            "fast": bool,
            "contract": bool,
            "opt-level": int,
            "cl-opt": list,
            "jit": str,
            "vector-width": int,
            "interface-api": str,
            "unpacked-api": bool,
        },
        {},
    ),
    "c": (
        ("cpu",),
        {**_CPU, "bounds": bool, "executor": str, "interface-api": str, "unpacked-api": bool},
        {},
    ),
    "stackvm": (("cpu",), {"bounds": bool}, {}),
    "hybrid": (("cpu",), {}, {}),
    "ext_dev": ((), {}, {}),
    "composite": ((), {"devices": list}, {}),
    "test": ((), {}, {}),
    "cuda": (
        ("cuda", "gpu"),
        _GPU,
        {"max_num_threads": 1024, "thread_warp_size": 32},
    ),
    "nvptx": (("cuda", "gpu"), _GPU, {"max_num_threads": 1024, "thread_warp_size": 32}),
    "rocm": (("rocm", "gpu"), _GPU, {"max_num_threads": 256, "thread_warp_size": 64}),
    "opencl": (("opencl", "gpu"), _GPU, {"max_num_threads": 256, "thread_warp_size": 1}),
    "metal": (("metal", "gpu"), _GPU, {"max_num_threads": 256, "thread_warp_size": 16}),
    "vulkan": (
        ("vulkan", "gpu"),
        {
            **_GPU,
            "supports_float16": bool,
            "supports_float32": bool,
            "supports_float64": bool,
            "supports_int8": bool,
            "supports_int16": bool,
            "supports_int32": bool,
            "supports_int64": bool,
            "vulkan_api_version": int,
        },
        {"max_num_threads": 256, "thread_warp_size": 1},
    ),
    "webgpu": (("webgpu", "gpu"), _GPU, {"max_num_threads": 256}),
    "hexagon": (
        ("hexagon", "cpu"),
        {**_CPU, "vtcm-capacity": int, "num-cores": int, "llvm-options": list},
        {},
    ),
}


class TargetKind:
    """A kind of target, such as ``llvm`` or ``cuda``.

    Attributes
    ----------
    name : str
        The kind's name.
    default_keys : tuple of str
        The dispatch keys a target of this kind has.
    options : dict of str to str
        Option name to the name of its type.
    """

    __slots__ = ("name", "default_keys", "schema", "defaults")

    def __init__(self, name: str) -> None:
        if name not in _KINDS:
            raise ValueError_(
                f"unknown target kind {name!r}; the kinds are {', '.join(sorted(_KINDS))}"
            )
        self.name = name
        self.default_keys, own, self.defaults = _KINDS[name]
        self.schema = {**_COMMON, **own}

    @property
    def options(self) -> dict[str, str]:
        """The options of this kind, and the type of each."""
        return {name: kind.__name__ for name, kind in self.schema.items()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TargetKind) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"TargetKind({self.name!r})"

    @staticmethod
    def names() -> list[str]:
        """Names of all kinds."""
        return list(_KINDS)
