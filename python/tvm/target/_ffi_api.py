"""The queries of `tvm.target.codegen` under the names by which older programs call them."""

from __future__ import annotations

from .codegen import (
    llvm_cpu_has_features,
    llvm_get_cpu_archlist,
    llvm_get_cpu_features,
    llvm_get_intrinsic_name,
    llvm_get_system_cpu,
    llvm_get_system_triple,
    llvm_get_system_x86_vendor,
    llvm_get_targets,
    llvm_lookup_intrinsic_id,
    llvm_version_major,
    target_has_features,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def llvm_cpu_has_feature(feature: str, target: Any = None) -> bool:
    """Whether a target's processor has a feature."""
    return llvm_cpu_has_features(feature, target)


def target_has_feature(feature: str, target: Any = None) -> bool:
    """Whether a target's processor has a feature."""
    return target_has_features(feature, target)


__all__ = [
    "llvm_cpu_has_feature",
    "llvm_cpu_has_features",
    "llvm_get_cpu_archlist",
    "llvm_get_cpu_features",
    "llvm_get_intrinsic_name",
    "llvm_get_system_cpu",
    "llvm_get_system_triple",
    "llvm_get_system_x86_vendor",
    "llvm_get_targets",
    "llvm_lookup_intrinsic_id",
    "llvm_version_major",
    "target_has_feature",
    "target_has_features",
]
