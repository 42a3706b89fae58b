"""What the host's processor can do, asked of LLVM once and kept."""

from __future__ import annotations

_host: tuple[str, frozenset[str]] | None = None


def host_cpu() -> tuple[str, frozenset[str]]:
    """Name and features of the processor this process runs on.

    Returns
    -------
    name : str
        LLVM's name of the processor, such as ``"znver4"``.
    features : frozenset of str
        LLVM's names of the features that are present, such as ``"avx2"``.

    Examples
    --------
    >>> name, features = host_cpu()
    >>> isinstance(name, str)
    True
    """
    global _host
    if _host is None:
        import llvmlite.binding as llvm

        _host = (
            llvm.get_host_cpu_name(),
            frozenset(name for name, has in llvm.get_host_cpu_features().items() if has),
        )
    return _host


# processor -> level of x86-64; llvmlite does not list what a named processor has
_LEVELS = {
    "x86-64": 1, "generic": 1, "i686": 1, "core2": 1, "x86-64-v2": 2, "nehalem": 2, "corei7": 2,
    "westmere": 2, "silvermont": 2, "goldmont": 2, "tremont": 2, "sandybridge": 2, "ivybridge": 2,
    "x86-64-v3": 3, "haswell": 3, "core-avx2": 3, "broadwell": 3, "skylake": 3, "alderlake": 3,
    "raptorlake": 3, "meteorlake": 3, "znver1": 3, "znver2": 3, "znver3": 3, "x86-64-v4": 4,
    "skylake-avx512": 4, "cascadelake": 4, "cooperlake": 4, "cannonlake": 4, "icelake-client": 4,
    "icelake-server": 4, "tigerlake": 4, "rocketlake": 4, "sapphirerapids": 4, "emeraldrapids": 4,
    "graniterapids": 4, "znver4": 4, "znver5": 4,
}  # fmt: skip
_LEVEL_FEATURES = (
    (),
    ("64bit", "cmov", "cx8", "fxsr", "mmx", "sse", "sse2", "x87"),
    ("cx16", "crc32", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"),
    ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"),
    ("avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl", "evex512"),
)
_AVX_ONLY = ("sandybridge", "ivybridge")
_VNNI = (
    "cascadelake", "cooperlake", "icelake-client", "icelake-server", "tigerlake", "rocketlake",
    "sapphirerapids", "emeraldrapids", "graniterapids", "znver4", "znver5",
)  # fmt: skip
_BF16 = ("cooperlake", "sapphirerapids", "emeraldrapids", "graniterapids", "znver4", "znver5")
_AMX = ("sapphirerapids", "emeraldrapids", "graniterapids")
_ARM_NAMES = {
    "cortex-a53": ("crc",), "cortex-a57": ("crc",), "cortex-a72": ("crc",),
    "cortex-a55": ("crc", "dotprod", "fullfp16", "lse", "rdm"),
    "cortex-a76": ("crc", "dotprod", "fullfp16", "lse", "rdm"),
    "neoverse-n1": ("crc", "dotprod", "fullfp16", "lse", "rdm"),
    "neoverse-v1": ("bf16", "crc", "dotprod", "fullfp16", "i8mm", "lse", "rdm", "sve"),
    "neoverse-n2": ("bf16", "crc", "dotprod", "fullfp16", "i8mm", "lse", "rdm", "sve", "sve2"),
    "neoverse-v2": ("bf16", "crc", "dotprod", "fullfp16", "i8mm", "lse", "rdm", "sve", "sve2"),
    "a64fx": ("crc", "fullfp16", "lse", "rdm", "sve"),
    "apple-m1": ("crc", "dotprod", "fullfp16", "lse", "rdm"),
}  # fmt: skip


def features_of(cpu: str, triple: str = "") -> frozenset[str]:
    """Features of a named processor, as far as they matter to generated code.

    Parameters
    ----------
    cpu : str
        LLVM's name of the processor; the empty text is the plainest one of the triple, or this
        machine's own if there is no triple either.
    triple : str
        The target triple.

    Returns
    -------
    frozenset of str
        Empty for a processor that is not known.
    """
    if not triple and cpu in ("", "native"):
        return host_cpu()[1]
    arch = triple.partition("-")[0]
    if arch in ("aarch64", "arm64") or (not arch and cpu in _ARM_NAMES):
        return frozenset(("fp-armv8", "neon", *_ARM_NAMES.get(cpu, ())))
    if arch.startswith("arm"):
        return frozenset(("neon",)) if cpu.startswith("cortex-a") else frozenset()
    if arch not in ("", "x86_64", "i386", "i686", "x86"):
        return frozenset()
    if not triple and cpu == host_cpu()[0]:
        return host_cpu()[1]
    level = _LEVELS.get(cpu, 1 if arch == "x86_64" else 0)
    found: set[str] = set()
    for features in _LEVEL_FEATURES[: level + 1]:
        found.update(features)
    if cpu in _AVX_ONLY:
        found |= {"avx", "xsave"}
    if cpu == "ivybridge":
        found.add("f16c")
    if cpu in _VNNI:
        found.add("avx512vnni")
    if cpu in _BF16:
        found.add("avx512bf16")
    if cpu in _AMX:
        found |= {"amx-bf16", "amx-int8", "amx-tile", "avxvnni"}
    return frozenset(found)
