"""What this build of the package has."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# the options that classic programs ask for, with the device whose support they stand for
_DEVICE_OPTIONS = {
    "USE_CUDA": "cuda",
    "USE_OPENCL": "opencl",
    "USE_VULKAN": "vulkan",
    "USE_METAL": "metal",
    "USE_ROCM": "rocm",
    "USE_HEXAGON": "hexagon",
    "USE_WEBGPU": "webgpu",
}
# parts of the classic build that this package never has
_NEVER = (
    *("USE_CUDNN", "USE_CUBLAS", "USE_CUTLASS", "USE_THRUST", "USE_NCCL", "USE_CURAND"),
    *("USE_MIOPEN", "USE_ROCBLAS", "USE_MKL", "USE_DNNL", "USE_BLAS", "USE_NNPACK"),
    *("USE_TENSORRT_CODEGEN", "USE_TENSORRT_RUNTIME", "USE_ETHOSN", "USE_ETHOSU", "USE_CMSISNN"),
    *("USE_ARM_COMPUTE_LIB", "USE_ARM_COMPUTE_LIB_GRAPH_EXECUTOR", "USE_COREML", "USE_BNNS"),
    *("USE_LIBTORCH", "USE_TFLITE", "USE_TF_TVMDSOOP", "USE_PT_TVMDSOOP", "USE_VITIS_AI"),
    *(
        "USE_RELAY_DEBUG",
        "USE_MICRO",
        "USE_MICRO_STANDALONE_RUNTIME",
        "USE_GRAPH_EXECUTOR_CUDA_GRAPH",
    ),
    *(
        "USE_AOT_EXECUTOR",
        "USE_TARGET_ONNX",
        "USE_KHRONOS_SPIRV",
        "USE_SPIRV_KHR_INTEGER_DOT_PRODUCT",
    ),
    *("USE_ANTLR", "USE_BYODT_POSIT", "USE_CCACHE", "USE_CLML", "USE_CLML_GRAPH_EXECUTOR"),
    *("USE_EDGETPU", "USE_EXAMPLE_NPU_CODEGEN", "USE_EXAMPLE_NPU_RUNTIME", "USE_FALLBACK_STL_MAP"),
    *("USE_GTEST", "USE_IOS_RPC", "USE_MRVL", "USE_MSCCL", "USE_MSVC_MT", "USE_NVTX", "USE_PAPI"),
    *("USE_RANDOM", "USE_SORT", "USE_STACKVM_RUNTIME", "USE_UMA", "USE_VERILATOR", "USE_OPENMP"),
    *("USE_RPC", "USE_CPP_RPC", "USE_GRAPH_EXECUTOR", "USE_OPENCL_GTEST", "USE_THREADS_POOL"),
)


def libinfo() -> dict[str, str]:
    """What the runtime and the compiler can do here, in the keys of classic builds.

    Returns
    -------
    dict of str to str
        "ON" or "OFF" for options such as ``USE_LLVM``, and texts for versions.

    Examples
    --------
    >>> import tvm
    >>> tvm.support.libinfo()["USE_LLVM"] in ("ON", "OFF")
    True
    """
    from importlib.util import find_spec

    from . import __version__
    from ._ffi import _core
    from ._ffi.libinfo import find_lib_path

    def on(value: object) -> str:
        return "ON" if value else "OFF"

    def have(module: str) -> bool:
        return find_spec(f"tvm.{module}") is not None

    info = dict.fromkeys(_NEVER, "OFF")
    for option, device in _DEVICE_OPTIONS.items():
        info[option] = on(_core.get_global_func(f"device_api.{device}"))
    llvm = find_spec("llvmlite") is not None
    info.update(
        {
            "USE_LLVM": on(llvm),
            "LLVM_VERSION": _llvm_version() if llvm else "NOT-FOUND",
            "USE_RPC": on(have("rpc")),
            "USE_CPP_RPC": on(False),
            "USE_PROFILER": on(have("runtime.profiling")),
            "USE_GRAPH_EXECUTOR": on(have("contrib.graph_executor")),
            "USE_STACKVM_RUNTIME": on(have("codegen.stackvm")),
            "USE_THREADS": "ON",
            "USE_LIBBACKTRACE": "OFF",
            "USE_ALTERNATIVE_LINKER": "OFF",
            "BUILD_STATIC_RUNTIME": "OFF",
            "HIDE_PRIVATE_SYMBOLS": "ON",
            "INSTALL_DEV": "ON",
            "SUMMARIZE": "OFF",
            "INDEX_DEFAULT_I64": "OFF",
            "GIT_COMMIT_HASH": "NOT-FOUND",
            "GIT_COMMIT_TIME": "NOT-FOUND",
            "CUDA_VERSION": "NOT-FOUND",
            "RUST_VERSION": "NOT-FOUND",
            "TVM_CXX_COMPILER_PATH": "NOT-FOUND",
            "TVM_VERSION": __version__,
            "TVM_LIBRARY_PATH": (find_lib_path(optional=True) or ["NOT-FOUND"])[0],
        }
    )
    return dict(sorted(info.items()))


def _llvm_version() -> str:
    import llvmlite.binding as llvm

    return ".".join(map(str, llvm.llvm_version_info))


def describe() -> None:
    """Print what a bug report should say about this machine."""
    import platform
    import sys

    from .runtime import num_threads

    print(f"Python {sys.version.split()[0]} on {platform.platform()}")
    print(f"threads: {num_threads()}")
    for name, value in libinfo().items():
        if value != "OFF":
            print(f"{name}: {value}")


class FrontendTestModule:
    """A module whose functions are Python callables, for tests that need no compiler.

    Examples
    --------
    >>> import tvm
    >>> m = tvm.support.FrontendTestModule("main")
    >>> m.add_function("main", lambda x: x + 1)
    >>> m(1), m["main"](2)
    (2, 3)
    """

    def __init__(self, entry_name: str | None = None) -> None:
        self.entry_name = entry_name or "main"
        self._functions: dict[str, Any] = {}

    def add_function(self, name: str, func: Any) -> None:
        """Add a function under a name."""
        from .runtime import convert

        self._functions[name] = convert(func)

    def get_function(self, name: str, query_imports: bool = False) -> Any:
        """The function of a name."""
        try:
            return self._functions[name]
        except KeyError:
            raise AttributeError(
                f"module has no function {name!r}; it has {', '.join(sorted(self._functions))}"
            ) from None

    __getitem__ = get_function

    def __call__(self, *args: Any) -> Any:
        return self.get_function(self.entry_name)(*args)
