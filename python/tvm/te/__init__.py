"""The tensor-expression language: describe a computation, then say how it runs.

Examples
--------
>>> import tvm
>>> from tvm import te
>>> A = te.placeholder((100,), name="A")
>>> B = te.compute((100,), lambda i: A[i] + 1.0, name="B")
>>> s = te.create_schedule(B.op)
>>> program = tvm.lower(s, [A, B])
"""

from tvm.tir import (
    Select,
    abs,
    acos,
    acosh,
    add,
    all,
    any,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    ceil,
    ceildiv,
    clz,
    comm_reducer,
    copysign,
    cos,
    cosh,
    decl_buffer,
    div,
    erf,
    exp,
    exp2,
    exp10,
    floor,
    floordiv,
    floormod,
    fmod,
    hypot,
    if_then_else,
    indexdiv,
    indexmod,
    infinity,
    isfinite,
    isinf,
    isnan,
    ldexp,
    log,
    log1p,
    log2,
    log10,
    max,
    max_value,
    min,
    min_value,
    multiply,
    nearbyint,
    nextafter,
    popcount,
    pow,
    power,
    q_multiply_shift,
    reinterpret,
    round,
    rsqrt,
    shift_left,
    shift_right,
    sigmoid,
    sin,
    sinh,
    sqrt,
    subtract,
    sum,
    tan,
    tanh,
    trace,
    trunc,
    truncdiv,
    truncmod,
)

from . import operation, schedule, tensor
from .extern_op import ExternOp, extern
from .hybrid_op import HybridOp
from .operation import (
    ComputeOp,
    Operation,
    PlaceholderOp,
    compute,
    const,
    placeholder,
    reduce_axis,
    size_var,
    thread_axis,
    var,
)
from .relations import Fuse, Singleton, Split
from .scan_op import ScanOp, scan
from .schedule import Schedule, create_schedule
from .stage import Stage
from .tag import tag_scope
from .tensor import Tensor, TensorSlice
from .tensor_intrin import TensorIntrin, decl_tensor_intrin

tensor.Operation = Operation  # type: ignore[attr-defined]
tensor.PlaceholderOp = PlaceholderOp  # type: ignore[attr-defined]
tensor.ComputeOp = ComputeOp  # type: ignore[attr-defined]
tensor.ExternOp = ExternOp  # type: ignore[attr-defined]
tensor.HybridOp = HybridOp  # type: ignore[attr-defined]
tensor.ScanOp = ScanOp  # type: ignore[attr-defined]
operation.extern = extern  # type: ignore[attr-defined]
operation.scan = scan  # type: ignore[attr-defined]

# stands between indices of `Stage.transform_layout` that are dimensions of memory of their own
AXIS_SEPARATOR = "axis_separator"

__all__ = [
    "AXIS_SEPARATOR",
    "ComputeOp",
    "ExternOp",
    "Fuse",
    "HybridOp",
    "Operation",
    "PlaceholderOp",
    "ScanOp",
    "Schedule",
    "Select",
    "Singleton",
    "Split",
    "Stage",
    "Tensor",
    "TensorIntrin",
    "TensorSlice",
    "abs",
    "acos",
    "acosh",
    "add",
    "all",
    "any",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "ceil",
    "ceildiv",
    "clz",
    "comm_reducer",
    "compute",
    "const",
    "copysign",
    "cos",
    "cosh",
    "create_schedule",
    "decl_buffer",
    "decl_tensor_intrin",
    "div",
    "erf",
    "exp",
    "exp10",
    "exp2",
    "extern",
    "floor",
    "floordiv",
    "floormod",
    "fmod",
    "gradient",
    "hypot",
    "if_then_else",
    "indexdiv",
    "indexmod",
    "infinity",
    "isfinite",
    "isinf",
    "isnan",
    "ldexp",
    "log",
    "log10",
    "log1p",
    "log2",
    "max",
    "max_value",
    "min",
    "min_value",
    "multiply",
    "nearbyint",
    "nextafter",
    "operation",
    "placeholder",
    "popcount",
    "pow",
    "power",
    "q_multiply_shift",
    "reduce_axis",
    "reinterpret",
    "round",
    "rsqrt",
    "scan",
    "schedule",
    "shift_left",
    "shift_right",
    "sigmoid",
    "sin",
    "sinh",
    "size_var",
    "sqrt",
    "subtract",
    "sum",
    "tag_scope",
    "tan",
    "tanh",
    "tensor",
    "thread_axis",
    "trace",
    "trunc",
    "truncdiv",
    "truncmod",
    "var",
]

# name -> module here and name in it, loaded when first used; None means the module itself
_LATER: dict[str, tuple[str, str | None]] = {
    "create_prim_func": ("to_blocks", "create_prim_func"),
    "extern_primfunc": ("to_blocks", "extern_primfunc"),
    "gradient": ("autodiff", "gradient"),
    "hybrid": ("hybrid", None),
}


def __getattr__(name: str) -> object:
    later = _LATER.get(name)
    if later is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    home, member = later
    found: object = import_module(f"{__name__}.{home}")
    if member is not None:
        found = getattr(found, member)
    globals()[name] = found
    return found
