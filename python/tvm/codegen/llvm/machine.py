"""The processor that code is made for, and LLVM's target machines, made once for each."""

from __future__ import annotations

import threading

from ... import error
from ...tir.transform.vectorize_innermost import VectorUnit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...target import Target

_lock = threading.Lock()
_started = False
_machines: dict[tuple[str, ...], Machine] = {}


def _llvm() -> Any:
    """llvmlite's binding, with its targets initialised."""
    global _started
    try:
        import llvmlite.binding as llvm
    except ImportError as cause:
        raise error.TVMError(
            'target "llvm" needs the package llvmlite (0.50 or newer): pip install llvmlite'
        ) from cause
    if not _started:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        llvm.initialize_native_asmparser()
        _started = True
    return llvm


def llvmlite_version() -> str:
    """The version of llvmlite."""
    import llvmlite

    return str(llvmlite.__version__)


class Machine:
    """A processor: triple, name, features, and what the generator wants to know of it.

    Attributes
    ----------
    is_host : bool
        Whether code for it runs in this process.
    features : frozenset of str
        LLVM's names of the features that are present.
    has_fma, has_f16c : bool
        Whether fused multiply-add, and float16 conversion, are single instructions.
    vector_bits : int
        Width of the widest vectors worth using.
    """

    def __init__(
        self, triple: str, cpu: str, features: frozenset[str], refused: frozenset[str], host: bool
    ) -> None:
        self.llvm = _llvm()
        self.triple = triple
        self.cpu = cpu
        self.features = features
        self.is_host = host
        self.arch = triple.split("-")[0]
        self.feature_text = ",".join(
            ["+" + name for name in sorted(features)] + ["-" + name for name in sorted(refused)]
        )
        x86 = self.arch in ("x86_64", "i686", "i386", "amd64")
        # A 64-bit Arm always has both in its vector unit; elsewhere the features tell.
        arm64 = self.arch in ("aarch64", "arm64")
        riscv = self.arch.startswith("riscv")
        self.has_fma = arm64 or (x86 and "fma" in features) or (riscv and {"f", "d"} <= features)
        self.has_f16c = arm64 or (x86 and "f16c" in features)
        self.has_rounding = arm64 or (x86 and "sse4.1" in features) or self.arch == "wasm32"
        self.has_gather = x86 and "avx512f" in features
        self.has_masked = x86 and "avx2" in features
        # the compilers' own library, linked into everything, divides for Arm's 32-bit processors
        self.divisions = (
            _DIVISIONS if self.arch.startswith(("arm", "thumb")) and not arm64 else (frozenset())
        )
        # WebAssembly has no thread pool: parallel loops run in order there
        self.has_threads = self.arch not in ("wasm32", "wasm64")
        # the calling convention that Linux distributions use
        self.abi = ""
        if riscv and "d" in features:
            self.abi = "lp64d" if self.arch.startswith("riscv64") else "ilp32d"
        self.pointer_bits = 32 if is_32_bit(self.arch) else 64
        if x86:
            self.vector_bits = 512 if "avx512f" in features else 256 if "avx" in features else 128
        else:
            self.vector_bits = 128
        # masked accesses of every element size, and the non-temporal stores of a whole cache line
        masks = x86 and {"avx512bw", "avx512vl"} <= features
        self.vectors = VectorUnit(self.vector_bits, masks, cache_bytes() if masks and host else 0)
        # LLVM's selector for code that is not optimised is as good as the other one only here
        self.has_fast_selection = x86
        names = [f'"target-cpu"="{cpu}"'] if cpu else []
        if self.feature_text:
            names.append(f'"target-features"="{self.feature_text}"')
        if self.vector_bits > 256:
            # LLVM's own preference on these processors is 256
            names.append(f'"prefer-vector-width"="{self.vector_bits}"')
        names.append('"no-builtins" "no-trapping-math"="true"')
        self.attributes = "nounwind " + " ".join(names)
        self._targets: dict[tuple[int, bool], Any] = {}
        self.data_layout = str(self.target_machine(2).target_data)

    def target_machine(self, level: int, jit: bool = False) -> Any:
        """llvmlite's TargetMachine for a code generation level, made once."""
        key = (level, jit)
        found = self._targets.get(key)
        if found is None:
            target = self.llvm.Target.from_triple(self.triple)
            found = target.create_target_machine(
                cpu=self.cpu,
                features=self.feature_text,
                opt=level,
                reloc="pic",
                codemodel="default",
                jit=jit,
                abiname=self.abi,
            )
            self._targets[key] = found
        return found


def is_32_bit(arch: str) -> bool:
    """Whether pointers have 32 bits on an architecture, named as in a triple."""
    return arch in ("wasm32", "i386", "i486", "i586", "i686", "riscv32") or (
        arch.startswith(("arm", "thumb")) and not arch.startswith("arm64")
    )


# What a core keeps of a large shared cache, in a machine of several tenants, at most.
CACHE_SHARE = 16 << 20


def cache_bytes() -> int:
    """Bytes from which on a loop's data does not stay in this computer's caches."""
    import os

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    share = CACHE_SHARE * (cores or 1)
    try:
        with open("/sys/devices/system/cpu/cpu0/cache/index3/size") as file:
            text = file.read().strip()
        return min(int(text.rstrip("KMG")) << {"K": 10, "M": 20, "G": 30}.get(text[-1], 0), share)
    except (OSError, ValueError):
        return share


def complete_triple(triple: str) -> str:
    """A triple with its vendor, which the usual spelling of three parts leaves out.

    Examples
    --------
    >>> complete_triple("aarch64-linux-gnu")
    'aarch64-unknown-linux-gnu'
    """
    parts = triple.split("-")
    if len(parts) > 1 and parts[1] in ("linux", "none", "windows", "freebsd", "wasi"):
        parts.insert(1, "unknown")
    return "-".join(parts)


def machine_for(target: Target | None) -> Machine:
    """The machine that a target describes; the host's for a bare "llvm".

    Raises
    ------
    TVMError
        If LLVM knows no such triple.
    """
    triple = str(target.attrs.get("mtriple", "") or "") if target is not None else ""
    cpu = str(target.attrs.get("mcpu", "") or "") if target is not None else ""
    attributes = tuple(target.attrs.get("mattr", ()) or ()) if target is not None else ()
    key = (triple, cpu, ",".join(attributes))
    found = _machines.get(key)
    if found is None:
        with _lock:
            found = _machines.get(key)
            if found is None:
                found = _make(triple, cpu, attributes)
                _machines[key] = found
    return found


def _make(triple: str, cpu: str, attributes: tuple[str, ...]) -> Machine:
    llvm = _llvm()
    wanted = frozenset(name[1:] for name in attributes if name.startswith("+"))
    refused = frozenset(name[1:] for name in attributes if name.startswith("-"))
    process = llvm.get_process_triple()
    triple = complete_triple(triple)
    host = not triple or triple.split("-")[0] == process.split("-")[0]
    if not triple:
        triple = process
    if not cpu and host and triple == process:
        from ...target.cpu_features import host_cpu

        cpu, present = host_cpu()
        wanted |= present
        refused |= frozenset(name for name, has in llvm.get_host_cpu_features().items() if not has)
        wanted -= refused
        return Machine(triple, cpu, wanted, refused, wanted <= present)
    if not host:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        if not cpu and not attributes:
            # what every system of that kind has, though LLVM's plainest processor has less
            wanted = _USUAL.get(triple.split("-")[0], wanted)
    try:
        llvm.Target.from_triple(triple)
    except RuntimeError as cause:
        raise error.ValueError_(f"target llvm: LLVM knows no triple {triple!r}: {cause}") from cause
    runs = host
    if host:
        from ...target.cpu_features import host_cpu

        here = host_cpu()[1]
        level = _features_of_level(cpu)
        wanted |= level - refused
        runs = wanted <= here
        extra = _extra_features(cpu) - refused
        if runs:
            # this process is going to run it: a processor of that name may have more than this one
            wanted |= extra & here
            refused |= frozenset(
                name for name, has in llvm.get_host_cpu_features().items() if not has
            )
        else:
            wanted |= extra
    return Machine(triple, cpu, wanted, refused, runs)


_DIVISIONS = frozenset(
    f"__aeabi_{name}" for name in ("idiv", "uidiv", "idivmod", "uidivmod", "ldivmod", "uldivmod")
)
_USUAL = {
    "riscv64": frozenset("mafdc"),
    "armv7a": frozenset(("neon", "vfp4")),
    "armv7": frozenset(("neon", "vfp4")),
    "wasm32": frozenset(("simd128",)),
}


def _features_of_level(cpu: str) -> frozenset[str]:
    """The features of the x86-64 level that a processor's name stands for.

    llvmlite does not list a processor's features. The levels say what matters to this generator; a
    name that is not known counts as plain x86-64.
    """
    level = _LEVELS.get(cpu, 1)
    found: set[str] = set()
    if level >= 2:
        found |= {"sse4.1", "sse4.2", "popcnt"}
    if level >= 3:
        found |= {"avx", "avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt"}
    if level >= 4:
        found |= {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
    return frozenset(found)


_LEVELS = {
    "x86-64": 1, "x86-64-v2": 2, "x86-64-v3": 3, "x86-64-v4": 4, "nehalem": 2, "westmere": 2,
    "sandybridge": 2, "ivybridge": 2, "haswell": 3, "broadwell": 3, "skylake": 3, "znver1": 3,
    "znver2": 3, "znver3": 3, "alderlake": 3, "core-avx2": 3, "skylake-avx512": 4,
    "cascadelake": 4, "cooperlake": 4, "icelake-client": 4, "icelake-server": 4,
    "sapphirerapids": 4, "emeraldrapids": 4, "graniterapids": 4, "znver4": 4, "znver5": 4,
    "cannonlake": 4,
}  # fmt: skip
_VNNI = {"cascadelake", "cooperlake", "icelake-client", "icelake-server", "sapphirerapids",
         "emeraldrapids", "graniterapids", "znver4", "znver5"}  # fmt: skip
_BF16 = {"cooperlake", "sapphirerapids", "emeraldrapids", "graniterapids", "znver4", "znver5"}


def _extra_features(cpu: str) -> frozenset[str]:
    """Features beyond the level that programs ask for by intrinsics."""
    found = set()
    if cpu in _VNNI:
        found.add("avx512vnni")
    if cpu in _BF16:
        found.add("avx512bf16")
    return frozenset(found)
