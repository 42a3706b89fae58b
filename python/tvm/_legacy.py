"""Older spellings that still work, names that moved, and packages that are not here."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Packages of the classic project that are not part of this one.
ABSENT = frozenset(
    (
        *("relay", "relax", "autotvm", "auto_scheduler", "meta_schedule", "micro"),
        *("ansor", "autoscheduler", "nnvm"),
    )
)

# name in `tvm` -> (where it is now, the warning's advice); these work
OLD_NAMES = {
    "ndarray": ("runtime.ndarray", "tvm.nd"),
    "context": ("runtime.ndarray.device", "tvm.device"),
    "convert": ("runtime.object_generic.convert", "tvm.runtime.convert"),
    "const": ("runtime.object_generic.const", "tvm.tir.const"),
    "TVMContext": ("runtime.devices.Device", "tvm.runtime.Device"),
    "NDArray": ("runtime.ndarray.NDArray", "tvm.nd.NDArray"),
    "Device": ("runtime.devices.Device", "tvm.runtime.Device"),
    "module": ("runtime.module", "tvm.runtime.module"),
}

# name in `tvm` -> its present home; reading one raises AttributeError
MOVED = {
    **{
        name: f"tvm.te.{name}"
        for name in (
            *("placeholder", "compute", "scan", "extern", "var", "size_var", "reduce_axis"),
            *("thread_axis", "create_schedule", "tag_scope", "comm_reducer", "sum", "max", "min"),
            *("decl_tensor_intrin", "hybrid", "schedule", "tensor", "gradient"),
        )
    },
    **{
        name: f"tvm.tir.{name}"
        for name in (
            *("decl_buffer", "ir_builder", "all", "any", "call_extern", "call_intrin"),
            *("call_packed", "if_then_else", "floordiv", "floormod"),
            *("truncdiv", "truncmod", "indexdiv", "indexmod", "div", "exp", "log", "sqrt"),
            *("tanh", "sigmoid", "power", "floor", "ceil", "round", "trunc", "abs", "popcount"),
            *("max_value", "min_value", "stmt", "expr", "layout", "bijective_layout"),
        )
    },
    "select": "tvm.tir.Select",
    "make": "the node classes of tvm.tir, such as tvm.tir.Add",
    "ir_pass": "tvm.tir.transform (passes) and tvm.tir.stmt_functor (visitors)",
    "build_config": "tvm.transform.PassContext(config=...)",
    "BuildConfig": "tvm.transform.PassContext(config=...)",
    "current_build_config": "tvm.transform.PassContext.current()",
    "build_module": "tvm.driver.build_module",
    "graph_runtime": "tvm.contrib.graph_executor",
    "load_json": "tvm.ir.load_json",
    "save_json": "tvm.ir.save_json",
    "make_node": "tvm.ir.make_node",
    "make_range": "tvm.ir.Range.from_min_extent",
    "node": "tvm.ir",
    "attrs": "tvm.ir",
    "api": "tvm.te and tvm.tir",
    "intrin": "tvm.tir",
    "generic": "tvm.tir.generic",
    "call_pure_intrin": "tvm.tir.call_intrin",
    "tensor_intrin": "tvm.te.decl_tensor_intrin",
    "lower_module": "tvm.lower",
    "register_intrin_rule": "tvm.ir.register_intrin_lowering",
    "Range": "tvm.ir.Range",
    "Tensor": "tvm.te.Tensor",
    "Schedule": "tvm.te.Schedule",
    "Stage": "tvm.te.Stage",
    "Var": "tvm.tir.Var",
    "Module": "tvm.runtime.Module",
    "Function": "tvm.runtime.PackedFunc",
    "PackedFunc": "tvm.runtime.PackedFunc",
    "load_module": "tvm.runtime.load_module",
    "system_lib": "tvm.runtime.system_lib",
    "save_param_dict": "tvm.runtime.save_param_dict",
    "load_param_dict": "tvm.runtime.load_param_dict",
}


def absent_text(name: str) -> str:
    """What to tell about a package that is not here."""
    return (
        f"tvm.{name} is not part of this package, which has the array runtime and the "
        "tensor-expression compiler (tvm.nd, tvm.te, tvm.tir, tvm.build); "
        "docs/migration.md lists what is here and what is not"
    )


def lookup(name: str) -> Any:
    """What `tvm.<name>` gives for a name that the package does not define itself."""
    old = OLD_NAMES.get(name)
    if old is not None:
        import warnings
        from importlib import import_module

        path, advice = old
        warnings.warn(
            f"tvm.{name} is an older name, please use {advice}", DeprecationWarning, stacklevel=3
        )
        try:
            return import_module(f"tvm.{path}")
        except ModuleNotFoundError:
            home, _, member = path.rpartition(".")
            return getattr(import_module(f"tvm.{home}"), member)
    if name in ABSENT:
        raise AttributeError(absent_text(name))
    moved = MOVED.get(name)
    if moved is not None:
        raise AttributeError(f"module 'tvm' has no attribute {name!r}: it moved to {moved}")
    raise AttributeError(f"module 'tvm' has no attribute {name!r}")


class _LegacyFinder:
    """Last of the import system's finders: packages that are not here, modules that moved."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        """A spec for `tvm.ndarray`; ImportError for the packages in `ABSENT`; else None."""
        if not name.startswith("tvm."):
            return None
        top = name.split(".")[1]
        if top in ABSENT:
            raise ImportError(absent_text(top), name=name)
        if name == "tvm.ndarray":
            from importlib.machinery import ModuleSpec

            return ModuleSpec(name, _NdarrayLoader())  # type: ignore[arg-type]
        return None


class _NdarrayLoader:
    """Lets `import tvm.ndarray` give the module that `tvm.nd` is."""

    @staticmethod
    def create_module(spec: Any) -> None:
        """The import system makes an empty module."""

    @staticmethod
    def exec_module(module: Any) -> None:
        """Puts `tvm.nd` in its place, as the import system allows."""
        import sys

        sys.modules[module.__name__] = lookup("ndarray")


def install() -> None:
    """Put the finder behind all others, once."""
    import sys

    if not any(getattr(finder, "__name__", "") == "_LegacyFinder" for finder in sys.meta_path):
        sys.meta_path.append(_LegacyFinder)
