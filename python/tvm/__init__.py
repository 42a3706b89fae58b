"""Arrays, devices and a tensor-expression compiler in one small package.

`tvm.nd` holds the arrays, `tvm.te` describes computations, `tvm.build` compiles them.
"""

from __future__ import annotations

from . import error as error
from . import runtime as runtime
from .error import TVMError as TVMError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"

_SUBPACKAGES = frozenset(
    (
        "te",
        "tir",
        "ir",
        "arith",
        "target",
        "driver",
        "topi",
        "rpc",
        "contrib",
        "testing",
        "support",
        "codegen",
    )
)
_HOME = {
    "nd": ("tvm.runtime.ndarray", None),
    "build": ("tvm.driver.build_module", "build"),
    "lower": ("tvm.driver.build_module", "lower"),
    "IRModule": ("tvm.ir", "IRModule"),
    "transform": ("tvm.ir.transform", None),
    "container": ("tvm.ir.container", None),
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _SUBPACKAGES:
        return import_module(f"tvm.{name}")
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'tvm' has no attribute {name!r}")
    value: Any = import_module(home[0])
    if home[1] is not None:
        value = getattr(value, home[1])
    globals()[name] = value
    return value


def _load_nodes() -> None:
    import tvm.tir  # noqa: F401


from .runtime import object_generic as _object_generic  # noqa: E402

_object_generic.set_node_loader(_load_nodes)
