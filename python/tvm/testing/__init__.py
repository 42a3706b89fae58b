"""Helpers for tests: comparisons, targets, parameters, and marks for what a test needs."""

from __future__ import annotations

from .expressions import assert_prim_expr_equal as assert_prim_expr_equal
from .expressions import check_bool_expr_is_true as check_bool_expr_is_true
from .expressions import (
    check_int_constraints_trans_consistency as check_int_constraints_trans_consistency,
)
from .params import fixture as fixture
from .params import parameter as parameter
from .params import parameters as parameters
from .targets import DEFAULT_TEST_TARGETS as DEFAULT_TEST_TARGETS
from .targets import Feature as Feature
from .targets import device_enabled as device_enabled
from .targets import enabled_targets as enabled_targets
from .targets import exclude_targets as exclude_targets
from .targets import known_failing_targets as known_failing_targets
from .targets import parametrize_targets as parametrize_targets
from .targets import requires_aarch64 as requires_aarch64
from .targets import requires_arm_dot as requires_arm_dot
from .targets import requires_avx512 as requires_avx512
from .targets import requires_cublas as requires_cublas
from .targets import requires_cuda as requires_cuda
from .targets import requires_cudagraph as requires_cudagraph
from .targets import requires_cudnn as requires_cudnn
from .targets import requires_gpu as requires_gpu
from .targets import requires_hexagon as requires_hexagon
from .targets import requires_llvm as requires_llvm
from .targets import requires_metal as requires_metal
from .targets import requires_micro as requires_micro
from .targets import requires_nvcc as requires_nvcc
from .targets import requires_nvptx as requires_nvptx
from .targets import requires_opencl as requires_opencl
from .targets import requires_package as requires_package
from .targets import requires_rocm as requires_rocm
from .targets import requires_rpc as requires_rpc
from .targets import requires_skylake_avx512 as requires_skylake_avx512
from .targets import requires_vulkan as requires_vulkan
from .targets import requires_x86 as requires_x86
from .targets import requires_x86_amx as requires_x86_amx
from .targets import requires_x86_avx512 as requires_x86_avx512
from .targets import requires_x86_vnni as requires_x86_vnni
from .targets import skip_if_32bit as skip_if_32bit
from .targets import skip_if_wheel_test as skip_if_wheel_test
from .targets import uses_gpu as uses_gpu
from .transforms import CompareBeforeAfter as CompareBeforeAfter
from .utils import assert_allclose as assert_allclose
from .utils import check_numerical_grads as check_numerical_grads
from .utils import identity_after as identity_after
from .utils import main as main
from .utils import terminate_self as terminate_self

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def __getattr__(name: str) -> Any:
    # natives of the runtime's own: echo, nop, object_use_count, test_wrap_callback, ...
    if name.startswith("_") or name == "plugin":  # the import system asks for these
        raise AttributeError(f"module 'tvm.testing' has no attribute {name!r}")
    from . import _ffi_api

    try:
        value = getattr(_ffi_api, name)
    except AttributeError:
        raise AttributeError(f"module 'tvm.testing' has no attribute {name!r}") from None
    globals()[name] = value
    return value
