"""Targets: what a program is compiled for. Data and queries only, nothing is compiled here."""

from .kind import TargetKind
from .target import Target, arm_cpu, cuda, hexagon, intel_graphics, mali, riscv_cpu, rocm

__all__ = [
    "Target",
    "TargetKind",
    "arm_cpu",
    "cuda",
    "hexagon",
    "intel_graphics",
    "mali",
    "riscv_cpu",
    "rocm",
]
