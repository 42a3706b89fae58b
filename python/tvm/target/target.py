"""The target: a kind, its options and, for a device, the host that launches its kernels."""

from __future__ import annotations

import _thread

from tvm.error import ValueError_

from .kind import TargetKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TAGS = {
    "nvidia/nvidia-a100": "cuda -arch=sm_80 -max_shared_memory_per_block=49152",
    "nvidia/nvidia-v100": "cuda -arch=sm_70 -max_shared_memory_per_block=49152",
    "nvidia/nvidia-h100": "cuda -arch=sm_90a -max_shared_memory_per_block=49152",
    "nvidia/geforce-rtx-3090": "cuda -arch=sm_86 -max_shared_memory_per_block=49152",
    "raspberry-pi/4b-aarch64": (
        "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72 -mattr=+neon -num-cores=4"
    ),
}
_local = _thread._local()


def _scopes() -> list[Target]:
    """The targets entered in this thread."""
    try:
        return _local.scopes  # type: ignore[no-any-return]
    except AttributeError:
        _local.scopes = []
        return _local.scopes  # type: ignore[no-any-return]


class Target:
    """What a program is compiled for.

    Parameters
    ----------
    target : str, dict or Target
        Classic text (``"llvm -mcpu=znver4 -num-cores=2"``), JSON text, a dict with a ``kind``,
        or a tag.
    host : str, dict or Target, optional
        The target of the host part, for a device.

    Raises
    ------
    ValueError
        If the kind or an option is unknown, or an option's value is ill-typed. The error is a
        ``tvm.TVMError`` too.

    Examples
    --------
    >>> target = Target("llvm -mcpu=znver4 -num-cores=2")
    >>> target.kind.name, target.mcpu, target.num_cores
    ('llvm', 'znver4', 2)
    """

    __slots__ = ("kind", "keys", "attrs", "host", "tag", "__weakref__")

    kind: TargetKind
    keys: tuple[str, ...]
    attrs: dict[str, Any]
    host: Target | None
    tag: str

    def __init__(
        self,
        target: str | dict[str, Any] | Target,
        host: str | dict[str, Any] | Target | None = None,
    ) -> None:
        if isinstance(target, Target):
            self.kind, self.keys, self.attrs = target.kind, target.keys, target.attrs
            self.host, self.tag = target.host, target.tag
        elif isinstance(target, dict):
            self._from_dict(target)
        elif isinstance(target, str):
            self._from_text(target)
        else:
            raise _TypeError(
                f"Target: expected text, a dict or a Target, but got {type(target).__name__}"
            )
        if host is not None:
            self.host = Target(host)

    def _from_text(self, text: str) -> None:
        text = text.strip()
        if text in _TAGS:
            self._from_text(_TAGS[text])
            self.tag = text
            return
        if text.startswith("{"):
            import json

            try:
                config = json.loads(text)
            except json.JSONDecodeError as err:
                raise ValueError_(f"Target: {text!r} is not JSON: {err}") from err
            self._from_dict(config)
            return
        words = text.split()
        if not words:
            raise ValueError_("Target: the text is empty; expected for instance 'llvm'")
        kind = TargetKind(words[0])
        config = {"kind": words[0]}
        pending = iter(words[1:])
        for word in pending:
            if not word.startswith("-"):
                raise ValueError_(
                    f"Target {text!r}: expected an option that starts with '-', but got {word!r}"
                )
            name, equal, value = word.lstrip("-").partition("=")
            if not equal:
                # "-name value" and the flag "-name" are both classic spellings
                if kind.schema.get(name) in (bool, None):
                    value = "1"
                else:
                    value = next(pending, "")
            config[name] = value.strip("'\"")
        self._from_dict(config)

    def _from_dict(self, config: dict[str, Any]) -> None:
        config = dict(config)
        if isinstance(config.get("tag"), str) and "kind" not in config:
            tag = config.pop("tag")
            if tag not in _TAGS:
                raise ValueError_(f"unknown target tag {tag!r}; the tags are {sorted(_TAGS)}")
            base = Target(_TAGS[tag])
            config = {**base.export(), "tag": tag, **config}
        name = config.pop("kind", None)
        if not isinstance(name, str):
            raise ValueError_(f"Target: the dict needs a 'kind' that is text, but got {name!r}")
        self.kind = TargetKind(name)
        host = config.pop("host", None)
        self.host = None if host in (None, "") else Target(host)
        self.tag = config.pop("tag", "")
        attrs = dict(self.kind.defaults)
        for key, value in config.items():
            attrs[key] = self._coerce(key, value)
        keys = attrs.pop("keys", ())
        device = attrs.get("device")
        merged = list(keys)
        for key in ((device,) if device else ()) + self.kind.default_keys:
            if key not in merged:
                merged.append(key)
        self.keys = tuple(merged)
        self.attrs = attrs

    def _coerce(self, key: str, value: Any) -> Any:
        kind = self.kind.schema.get(key)
        if kind is None:
            raise ValueError_(
                f"target kind {self.kind.name!r} has no option {key!r}; its options are "
                f"{', '.join(sorted(self.kind.schema))}"
            )
        if kind is list:
            if isinstance(value, str):
                return tuple(part for part in value.split(",") if part)
            return tuple(value)
        if kind is bool:
            if isinstance(value, str):
                low = value.lower()
                if low in ("1", "true", "on", "yes"):
                    return True
                if low in ("0", "false", "off", "no"):
                    return False
                raise ValueError_(
                    f"target option -{key}: expected 0, 1, true or false, but got {value!r}"
                )
            return bool(value)
        if kind is int:
            try:
                return int(value)
            except (TypeError, ValueError):
                raise ValueError_(
                    f"target option -{key}: expected an integer, but got {value!r}"
                ) from None
        return str(value)

    # ---- queries
    def get_target_device_type(self) -> int:
        """The device type (``Device.STR2MASK``) that runs this target's code."""
        from tvm._ffi.runtime_ctypes import Device

        given = self.attrs.get("target_device_type")
        if given is not None:
            return int(given)
        mask = Device.STR2MASK
        return int(mask[self.kind.name] if self.kind.name in mask else mask["cpu"])

    device_type = property(get_target_device_type)

    @property
    def device_name(self) -> str:
        """What ``-device`` says, "" without it."""
        return str(self.attrs.get("device", ""))

    @property
    def model(self) -> str:
        """What ``-model`` says, "unknown" without it."""
        return str(self.attrs.get("model", "unknown"))

    @property
    def mcpu(self) -> str:
        """The processor, "" for the host's own."""
        return str(self.attrs.get("mcpu", ""))

    @property
    def march(self) -> str:
        """The architecture of the processor, "" when not given."""
        return str(self.attrs.get("march", ""))

    @property
    def arch(self) -> str:
        """The architecture of a GPU such as "sm_90", "" when not given."""
        return str(self.attrs.get("arch", ""))

    @property
    def mtriple(self) -> str:
        """Processor, maker and system as LLVM names them, "" for the host's."""
        return str(self.attrs.get("mtriple", ""))

    @property
    def mattr(self) -> tuple[str, ...]:
        """Features of the processor, each with a ``+`` or a ``-`` before it."""
        return tuple(self.attrs.get("mattr", ()))

    @property
    def libs(self) -> tuple[str, ...]:
        """External libraries that may be used."""
        return tuple(self.attrs.get("libs", ()))

    @property
    def num_cores(self) -> int | None:
        """Cores of the processor, None when not given."""
        return self.attrs.get("num-cores")

    @property
    def max_num_threads(self) -> int | None:
        """Most threads in one block, None for a CPU."""
        return self.attrs.get("max_num_threads")

    @property
    def max_block_size_x(self) -> int | None:
        """Most threads along the first axis of a block, None for a CPU."""
        return self.max_num_threads

    @property
    def max_shared_memory_per_block(self) -> int | None:
        """Bytes of memory that the threads of a block share, None for a CPU."""
        return self.attrs.get("max_shared_memory_per_block")

    @property
    def thread_warp_size(self) -> int | None:
        """Threads that run in lock step, None for a CPU."""
        return self.attrs.get("thread_warp_size")

    @property
    def features(self) -> frozenset[str]:
        """CPU features: those asked for with ``-mattr``, and the host's own for a bare target."""
        wanted = {name[1:] for name in self.mattr if name.startswith("+")}
        refused = {name[1:] for name in self.mattr if name.startswith("-")}
        if not self.mcpu and not self.mtriple:
            from .cpu_features import host_cpu

            wanted |= host_cpu()[1]
        return frozenset(wanted - refused)

    def with_host(self, host: str | dict[str, Any] | Target) -> Target:
        """The same target with another host."""
        return Target(self, host)

    def export(self) -> dict[str, Any]:
        """A dict from which ``Target`` makes an equal target."""
        out: dict[str, Any] = {"kind": self.kind.name, "tag": self.tag, "keys": list(self.keys)}
        for key, value in self.attrs.items():
            out[key] = list(value) if isinstance(value, tuple) else value
        if self.host is not None:
            out["host"] = self.host.export()
        return out

    @staticmethod
    def list_kinds() -> list[str]:
        """Names of all target kinds."""
        return TargetKind.names()

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """The innermost target entered with ``with``.

        Raises
        ------
        ValueError
            If there is none and ``allow_none`` is false.
        """
        scopes = _scopes()
        if scopes:
            return scopes[-1]
        if allow_none:
            return None
        raise ValueError_("no target is current; enter one with 'with tvm.target.Target(...):'")

    @staticmethod
    def canon_target(target: str | dict[str, Any] | Target | None) -> Target | None:
        """``target`` as a Target; None stays None."""
        if target is None or isinstance(target, Target):
            return target
        return Target(target)

    @staticmethod
    def canon_target_and_host(
        target: Any, target_host: Any = None
    ) -> tuple[Target | None, Target | None]:
        """Both as Targets; the target carries the host."""
        if target is None:
            return None, Target.canon_target(target_host)
        canon = Target(target, target_host)
        return canon, canon.host

    @staticmethod
    def canon_multi_target(multi_targets: Any) -> list[Target] | None:
        """One target, or several, as a list of Targets; None stays None."""
        if multi_targets is None:
            return None
        if isinstance(multi_targets, dict) and "kind" not in multi_targets:
            return [Target(item) for item in multi_targets.values()]
        if isinstance(multi_targets, (list, tuple)):
            return [Target(item) for item in multi_targets]
        return [Target(multi_targets)]

    @staticmethod
    def canon_multi_target_and_host(target: Any, target_host: Any = None) -> list[Target]:
        """One target, or several, as a list of Targets that carry the host."""
        found = Target.canon_multi_target(target)
        if found is None:
            raise ValueError_("canon_multi_target_and_host: expected a target, but got None")
        return found if target_host is None else [item.with_host(target_host) for item in found]

    @staticmethod
    def canon_target_map_and_host(
        target_map: dict[Any, Any], target_host: Any = None
    ) -> tuple[dict[Target, Any], Target | None]:
        """A dict with targets as keys, each with the host, and the host."""
        host = Target.canon_target(target_host)
        table: dict[Target, Any] = {}
        for key, value in target_map.items():
            made = Target(key, host)
            table[made] = value
            host = made.host if host is None else host
        return table, host

    @staticmethod
    def from_device(device: Any) -> Target:
        """A target for a device that is there, with the limits that it reports.

        Parameters
        ----------
        device : Device or str
            Such as ``tvm.cpu()`` or ``"cuda:0"``.

        Raises
        ------
        ValueError
            If the device is not there.
        """
        from tvm.runtime.ndarray import device as make_device

        found = make_device(device) if isinstance(device, str) else device
        if not found.exist:
            raise ValueError_(f"Target.from_device: {found} is not there")
        names = {"cpu": "llvm", "opencl": "opencl", "cuda": "cuda", "metal": "metal"}
        text = str(found).partition("(")[0]
        config: dict[str, Any] = {"kind": names.get(text, text)}
        if config["kind"] == "llvm":
            from .cpu_features import host_cpu

            config["mcpu"] = host_cpu()[0]
            return Target(config)
        for option, attribute in (
            ("max_num_threads", "max_threads_per_block"),
            ("max_threads_per_block", "max_threads_per_block"),
            ("max_shared_memory_per_block", "max_shared_memory_per_block"),
            ("thread_warp_size", "warp_size"),
        ):
            value = getattr(found, attribute, None)
            if value is not None:
                config[option] = int(value)
        if config["kind"] == "cuda" and getattr(found, "compute_version", None):
            config["arch"] = "sm_" + str(found.compute_version).replace(".", "")
        return Target(config)

    def __enter__(self) -> Target:
        _scopes().append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _scopes().pop()

    def __str__(self) -> str:
        parts = [self.kind.name, "-keys=" + ",".join(self.keys)]
        for key in sorted(self.attrs):
            value = self.attrs[key]
            if isinstance(value, tuple):
                value = ",".join(value)
            elif isinstance(value, bool):
                value = int(value)
            parts.append(f"-{key}={value}")
        return " ".join(parts)

    __repr__ = __str__

    def _key(self) -> tuple[Any, ...]:
        return (self.kind.name, self.keys, tuple(sorted(self.attrs.items())), self.host)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple[Any, ...]:
        return Target, (self.export(),)


def _TypeError(text: str) -> Exception:
    from tvm.error import TypeError_

    return TypeError_(text)


def _options(text: str, options: Any) -> Target:
    if options is None:
        return Target(text)
    return Target(" ".join([text, *([options] if isinstance(options, str) else options)]))


def cuda(model: str = "unknown", arch: str | None = None, options: Any = None) -> Target:
    """A target for NVIDIA devices."""
    return _options(f"cuda -model={model}" + (f" -arch={arch}" if arch else ""), options)


def rocm(model: str = "unknown", options: Any = None) -> Target:
    """A target for AMD devices."""
    return _options(f"rocm -model={model}", options)


def mali(model: str = "unknown", options: Any = None) -> Target:
    """A target for ARM Mali devices through OpenCL."""
    return _options(f"opencl -device=mali -model={model}", options)


def intel_graphics(model: str = "unknown", options: Any = None) -> Target:
    """A target for Intel graphics through OpenCL."""
    return _options(f"opencl -device=intel_graphics -model={model}", options)


def arm_cpu(model: str = "unknown", options: Any = None) -> Target:
    """A target for 64-bit ARM processors under Linux."""
    return _options(
        f"llvm -device=arm_cpu -model={model} -mtriple=aarch64-linux-gnu -mattr=+neon", options
    )


def riscv_cpu(model: str = "sifive-u54", options: Any = None) -> Target:
    """A target for 64-bit RISC-V processors under Linux."""
    return _options(
        f"llvm -device=riscv_cpu -model={model} -mtriple=riscv64-unknown-linux-gnu "
        "-mattr=+m,+a,+f,+d,+c",
        options,
    )


def hexagon(cpu_ver: str = "v68", options: Any = None) -> Target:
    """A target for Hexagon processors."""
    return _options(f"hexagon -mtriple=hexagon -mcpu=hexagon{cpu_ver}", options)


def bifrost(model: str = "unknown", options: Any = None) -> Target:
    """A target for ARM Mali devices of the Bifrost family through OpenCL."""
    return _options(f"opencl -device=bifrost -model={model}", options)


def vta(model: str = "unknown", options: Any = None) -> Target:
    """A target for the VTA accelerator."""
    return _options(f"ext_dev -keys=vta,cpu -device=vta -model={model}", options)


def create(target: str | dict[str, Any] | Target) -> Target:
    """A target. Deprecated: use ``tvm.target.Target(...)``."""
    from warnings import warn

    warn("tvm.target.create is deprecated, use tvm.target.Target", DeprecationWarning, stacklevel=2)
    return Target(target)
