"""Targets to test on, and marks for tests that need something the machine may lack."""

from __future__ import annotations

import os
import sys

import tvm.runtime
from tvm._ffi.runtime_ctypes import STR2MASK
from tvm.error import TypeError_, ValueError_

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Tried when TVM_TEST_TARGETS is not set.
DEFAULT_TEST_TARGETS = (
    "llvm",
    "cuda",
    "nvptx",
    "vulkan -from_device=0",
    "opencl",
    "metal",
    "rocm",
    "hexagon",
)
_AARCH64 = ("aarch64", "arm64")
GPU_KINDS = frozenset(("cuda", "nvptx", "vulkan", "opencl", "metal", "rocm", "webgpu"))


def target_kind(target: Any) -> str:
    """The first word of a target, which names its kind."""
    if isinstance(target, str):
        words = target.split()
        if not words:
            raise ValueError_("expected a target such as 'llvm', got an empty text")
        return words[0].partition(":")[0]
    name = getattr(getattr(target, "kind", None), "name", None)
    if isinstance(name, str):
        return name
    if isinstance(target, dict) and isinstance(target.get("kind"), str):
        return str(target["kind"])
    raise TypeError_(f"expected a target as text, got {target!r} of type {type(target).__name__}")


def _runnable(target: str) -> bool:
    kind = target_kind(target)
    if kind not in STR2MASK or not tvm.runtime.enabled(kind):
        return False
    return bool(tvm.runtime.device(kind, 0).exist)


def _wanted() -> list[str]:
    text = os.environ.get("TVM_TEST_TARGETS", "")
    names = [item.strip() for item in text.split(";") if item.strip()]
    return list(dict.fromkeys(names)) if names else list(DEFAULT_TEST_TARGETS)


def enabled_targets() -> list[tuple[str, tvm.runtime.Device]]:
    """The targets that tests run on here.

    TVM_TEST_TARGETS names them, separated by semicolons; by default all usual ones. Those whose
    support or hardware is missing are left out.

    Returns
    -------
    list of (str, Device)

    Raises
    ------
    ValueError
        When none is left; it is a TVMError too.

    Examples
    --------
    >>> import tvm.testing
    >>> ("llvm", tvm.cpu(0)) in tvm.testing.enabled_targets()
    True
    """
    wanted = _wanted()
    found = [(t, tvm.runtime.device(target_kind(t), 0)) for t in wanted if _runnable(t)]
    if not found:
        raise ValueError_(
            f"none of the targets to test can be run here: {'; '.join(wanted)}. "
            "TVM_TEST_TARGETS names others, for instance TVM_TEST_TARGETS=llvm"
        )
    return found


def device_enabled(target: str) -> bool:
    """Whether tests run on targets of this kind here.

    Parameters
    ----------
    target : str
        A target's text, of which the kind counts.
    """
    if not isinstance(target, str):
        raise TypeError_(f"device_enabled: expected a target as text, got {type(target).__name__}")
    kind = target_kind(target)
    return any(target_kind(t) == kind and _runnable(t) for t in _wanted())


class Feature:
    """Something a test may need; a decorator for tests, and a source of marks.

    Parameters
    ----------
    name : str
        Name of the mark that tests get.
    needs : str
        What is missing when the check fails, for the reason of the skip.
    check : callable
        Says whether it is there; called when a test is decorated.
    parents : sequence of Feature
        Features that this one includes.
    """

    def __init__(
        self,
        name: str,
        needs: str,
        check: Callable[[], bool],
        parents: tuple[Feature, ...] = (),
    ) -> None:
        self.name = name
        self.needs = needs
        self._check = check
        self.parents = parents

    def available(self) -> bool:
        """Whether it is there."""
        return all(parent.available() for parent in self.parents) and bool(self._check())

    def marks(self, support_required: str = "compile-and-run") -> list[Any]:
        """The marks that a decorated test gets."""
        import pytest

        skip = pytest.mark.skipif(not self.available(), reason=f"needs {self.needs}")
        marks = [getattr(pytest.mark, self.name), skip]
        return marks + [getattr(pytest.mark, parent.name) for parent in self.parents]

    def __call__(self, func: Any = None, *, support_required: str = "compile-and-run") -> Any:
        def decorate(item: Any) -> Any:
            for mark in self.marks(support_required):
                item = mark(item)
            return item

        return decorate if func is None else decorate(func)

    def __repr__(self) -> str:
        return f"<tvm.testing.requires_{self.name}>"


def _have(module: str) -> bool:
    from importlib.util import find_spec

    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package of a dotted name is missing
        return False


def _kind_feature(kind: str, needs: str, parents: tuple[Feature, ...] = ()) -> Feature:
    return Feature(kind, needs, lambda: device_enabled(kind), parents)


def _cpu_flags() -> frozenset[str]:
    """The features of this machine's processor, as the system names them."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            for line in file:
                name, _, value = line.partition(":")
                if name.strip() in ("flags", "Features"):
                    return frozenset(value.split())
    except OSError:
        pass
    return frozenset()


def _cpu_feature(name: str, *flags: str) -> Feature:
    return Feature(name, f"a processor with {', '.join(flags)}", lambda: _cpu_flags() >= {*flags})


uses_gpu = Feature("gpu", "", lambda: True)
requires_gpu = Feature(
    "gpu", "a GPU", lambda: any(device_enabled(kind) for kind in sorted(GPU_KINDS))
)
requires_llvm = _kind_feature("llvm", "the package llvmlite, and llvm among the targets to test")
requires_cuda = _kind_feature("cuda", "an NVIDIA GPU", (requires_gpu,))
requires_nvptx = _kind_feature(
    "nvptx", "an NVIDIA GPU and llvmlite", (requires_cuda, requires_llvm)
)
requires_opencl = _kind_feature("opencl", "an OpenCL device", (requires_gpu,))
requires_vulkan = _kind_feature("vulkan", "a Vulkan device", (requires_gpu,))
requires_metal = _kind_feature("metal", "a Metal device", (requires_gpu,))
requires_rocm = _kind_feature("rocm", "a ROCm device", (requires_gpu,))
requires_hexagon = _kind_feature("hexagon", "a Hexagon device")
requires_cudagraph = Feature("cudagraph", "CUDA graphs", lambda: True, (requires_cuda,))
requires_cudnn = Feature("cudnn", "cuDNN", lambda: False, (requires_cuda,))
requires_cublas = Feature("cublas", "cuBLAS", lambda: False, (requires_cuda,))
requires_nvcc = Feature("nvcc", "nvcc on PATH", lambda: _on_path("nvcc"), (requires_cuda,))
requires_rpc = Feature("rpc", "tvm.rpc", lambda: _have("tvm.rpc"))
requires_micro = Feature("micro", "tvm.micro, which is not part of this package", lambda: False)
requires_x86 = Feature("x86", "an x86-64 processor", lambda: _machine() in ("x86_64", "amd64"))
requires_aarch64 = Feature("aarch64", "a 64-bit ARM processor", lambda: _machine() in _AARCH64)
requires_avx512 = _cpu_feature("x86_avx512", "avx512f")
requires_skylake_avx512 = _cpu_feature("x86_avx512", "avx512f", "avx512bw", "avx512vl")
requires_x86_vnni = _cpu_feature("x86_vnni", "avx512_vnni")
requires_x86_avx512 = requires_skylake_avx512
requires_x86_amx = _cpu_feature("x86_amx", "amx_tile")
requires_arm_dot = _cpu_feature("arm_dot", "asimddp")


def _machine() -> str:
    import platform

    return platform.machine().lower()


def _on_path(program: str) -> bool:
    import shutil

    return shutil.which(program) is not None


def requires_package(*packages: str) -> Callable[[Any], Any]:
    """A decorator that skips a test unless all these packages are installed."""
    import pytest

    missing = [name for name in packages if not _have(name)]
    reason = f"needs the package {', '.join(missing)}: pip install {' '.join(missing)}"
    return pytest.mark.skipif(bool(missing), reason=reason)


def _skip_if(condition: bool, reason: str) -> Callable[..., Any]:
    """A decorator that skips tests when a condition holds."""

    def decorator(func: Any = None, *, reason: str = reason) -> Any:
        import pytest

        mark = pytest.mark.skipif(condition, reason=reason)
        return mark if func is None else mark(func)

    decorator.__doc__ = f"A decorator that skips a test which {reason}."
    return decorator


skip_if_32bit = _skip_if(sys.maxsize < 1 << 32, "needs a 64-bit machine")
skip_if_wheel_test = _skip_if(
    os.environ.get("WHEEL_TEST", "").lower() in ("1", "true", "yes"),
    "is not for tests of the wheel",
)


def target_marks(target: Any) -> list[Any]:
    """Marks for a test parameter that is a target: skipped unless tests run on it here."""
    import pytest

    kind = target_kind(target)
    runnable = device_enabled(target if isinstance(target, str) else kind)
    marks = [pytest.mark.skipif(not runnable, reason=f"tests do not run on {kind!r} here")]
    if kind in GPU_KINDS:
        marks.append(pytest.mark.gpu)
    return marks


def parametrize_targets(*args: Any) -> Any:
    """Run a test once for each of these targets, which it takes as `target`, with `dev`.

    As a bare decorator, for each enabled target. The `dev` argument comes from the plugin
    `tvm.testing.plugin`.
    """
    import pytest

    func = None
    if len(args) == 1 and callable(args[0]):
        func, args = args[0], ()
    targets = list(args) or [target for target, _ in enabled_targets()]
    params = [pytest.param(target, marks=target_marks(target)) for target in targets]
    mark = pytest.mark.parametrize("target", params, scope="session")
    return mark if func is None else mark(func)


def exclude_targets(*args: str) -> Any:
    """Leave these targets out when a test is run for every enabled one; needs the plugin."""
    import pytest

    return pytest.mark.tvm_excluded_targets(*args)


def known_failing_targets(*args: str) -> Any:
    """Expect a test to fail on these targets; needs the plugin."""
    import pytest

    return pytest.mark.tvm_known_failing_targets(*args)
