"""Which LLVM intrinsics a program may call by name.

LLVM ends the process when it meets an intrinsic that the processor has no instruction for, and
turns some generic ones into calls of the C library. So names are checked first.
"""

from __future__ import annotations

from ... import error
from ...ir.dtype import info
from .types import mangled, register_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .machine import Machine

# Generic intrinsics that are instructions or short sequences everywhere; their one overloaded type
# is that of the first operand.
PLAIN = frozenset((
    "llvm.fabs", "llvm.sqrt", "llvm.ctpop", "llvm.bswap", "llvm.bitreverse", "llvm.smin",
    "llvm.smax", "llvm.umin", "llvm.umax", "llvm.sadd.sat", "llvm.uadd.sat", "llvm.ssub.sat",
    "llvm.usub.sat", "llvm.copysign", "llvm.fshl", "llvm.fshr",
))  # fmt: skip
ROUNDING = frozenset((
    "llvm.floor", "llvm.ceil", "llvm.trunc", "llvm.rint", "llvm.nearbyint", "llvm.roundeven",
))  # fmt: skip
LIBRARY = {
    "llvm.exp": "exp", "llvm.exp2": "exp2", "llvm.exp10": "exp10", "llvm.log": "log",
    "llvm.log2": "log2", "llvm.log10": "log10", "llvm.sin": "sin", "llvm.cos": "cos",
    "llvm.tan": "tan", "llvm.pow": "pow", "llvm.powi": "pow", "llvm.round": "round",
    "llvm.asin": "asin", "llvm.acos": "acos", "llvm.atan": "atan", "llvm.atan2": "atan2",
    "llvm.sinh": "sinh", "llvm.cosh": "cosh", "llvm.tanh": "tanh", "llvm.ldexp": "ldexp",
    "llvm.frem": "fmod",
}  # fmt: skip

# Features an x86 intrinsic needs, by the beginning of its name; the longest match counts.
X86 = {
    "llvm.x86.sse.": ("sse",),
    "llvm.x86.sse2.": ("sse2",),
    "llvm.x86.sse3.": ("sse3",),
    "llvm.x86.ssse3.": ("ssse3",),
    "llvm.x86.sse41.": ("sse4.1",),
    "llvm.x86.sse42.": ("sse4.2",),
    "llvm.x86.avx.": ("avx",),
    "llvm.x86.avx2.": ("avx2",),
    "llvm.x86.avx512.": ("avx512f", "avx512bw", "avx512dq", "avx512vl"),
    "llvm.x86.avx512.vpdpbusd.512": ("avx512vnni",),
    "llvm.x86.avx512.vpdpbusds.512": ("avx512vnni",),
    "llvm.x86.avx512.vpdpwssd.512": ("avx512vnni",),
    "llvm.x86.avx512.vpdpwssds.512": ("avx512vnni",),
    "llvm.x86.avx512.vpdp": ("avx512vnni", "avx512vl"),
    "llvm.x86.avx512bf16.": ("avx512bf16", "avx512vl"),
    "llvm.x86.avx512bf16.dpbf16ps.512": ("avx512bf16",),
    "llvm.x86.fma.": ("fma",),
}


def checked_name(machine: Machine, name: str, node: Any, args: Any) -> str:
    """The full name of an intrinsic that this processor can run.

    Raises
    ------
    TypeError, ValueError
        If it cannot, with what to write instead.
    """
    base = _base(name)
    if base in LIBRARY:
        raise error.ValueError_(
            f"target llvm: {name} would call the C library; use tvm.tir.{LIBRARY[base]} instead"
        )
    if base in PLAIN or base in ROUNDING or base == "llvm.fma":
        if base in ROUNDING and not machine.has_rounding:
            raise error.ValueError_(f"target llvm: {name} is no instruction of this processor")
        if base == "llvm.fma" and not machine.has_fma:
            raise error.ValueError_(f"target llvm: {name} is no instruction of this processor")
        found = info(args[0].dtype)
        scalar = register_type(found.scalar)
        if found.is_float and found.bits < 32:
            scalar = {"float16": "f16", "bfloat16": "bf16"}.get(found.scalar, scalar)
        return f"{base}.{mangled(scalar, found.lanes)}"
    if name.startswith("llvm.x86."):
        needed: tuple[str, ...] | None = None
        longest = 0
        for prefix, features in X86.items():
            if name.startswith(prefix) and len(prefix) > longest:
                needed, longest = features, len(prefix)
        if needed is None:
            raise error.ValueError_(f"unknown llvm intrinsic {name!r}")
        missing = [item for item in needed if item not in machine.features]
        if missing:
            raise error.ValueError_(
                f"target llvm: {name} needs the processor features {', '.join(missing)}, which "
                f"{machine.cpu or machine.triple} lacks"
            )
        return name
    if name.startswith(("llvm.aarch64.", "llvm.arm.", "llvm.riscv.", "llvm.wasm.")):
        arch = name.split(".")[1]
        fits = {"aarch64": ("aarch64", "arm64"), "arm": ("arm", "thumb")}.get(arch, (arch,))
        if machine.arch.startswith(fits):
            return name
        raise error.ValueError_(f"target llvm: {name} is not an intrinsic of {machine.arch}")
    raise error.ValueError_(
        f"unknown llvm intrinsic {name!r}: expected one of {', '.join(sorted(PLAIN | ROUNDING))}, "
        "llvm.fma, or one of the processor's own such as llvm.x86..."
    )


def _base(name: str) -> str:
    """The name without the types that it is overloaded on."""
    parts = name.split(".")
    while len(parts) > 2 and _is_type(parts[-1]):
        parts.pop()
    return ".".join(parts)


def _is_type(text: str) -> bool:
    text = text.lstrip("v")
    head = text.rstrip("0123456789")
    return head in ("f", "i", "bf", "p") or head.endswith(("f", "i")) and head[:1].isdigit()
