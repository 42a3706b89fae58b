"""Functions that make expressions: math, casts, calls, reductions."""

from __future__ import annotations

from ..ir.op import Op
from . import op_table as _op_table
from .expr import Call, const
from .op_calls import (
    address_of,
    assume,
    call_cpacked,
    call_extern,
    call_intrin,
    call_llvm_intrin,
    call_llvm_pure_intrin,
    call_packed,
    call_pure_extern,
    dp4a,
    isnullptr,
    lookup_param,
    ret,
    trace,
    tvm_access_ptr,
    tvm_call_cpacked,
    tvm_call_packed,
    tvm_check_return,
    tvm_stack_alloca,
    tvm_stack_make_array,
    tvm_stack_make_shape,
    tvm_struct_get,
    tvm_struct_set,
    tvm_thread_allreduce,
    tvm_throw_last_error,
    tvm_tuple,
    type_annotation,
    undef,
    vectorcombine,
    vectorhigh,
    vectorlow,
    vscale,
)
from .op_device import *  # noqa: F403
from .op_device import __all__ as _device_names
from .op_math import (
    abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    ceil,
    clz,
    copysign,
    cos,
    cosh,
    erf,
    exp,
    exp2,
    exp10,
    floor,
    fma,
    fmod,
    hypot,
    if_then_else,
    isfinite,
    isinf,
    isnan,
    ldexp,
    likely,
    log,
    log1p,
    log2,
    log10,
    nearbyint,
    nextafter,
    popcount,
    pow,
    power,
    q_multiply_shift,
    reinterpret,
    round,
    rsqrt,
    sigmoid,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trunc,
)
from .op_reduce import comm_reducer, max, min, prod, sum
from .op_values import (
    add,
    all,
    any,
    ceildiv,
    div,
    floordiv,
    floormod,
    indexdiv,
    indexmod,
    infinity,
    max_value,
    min_value,
    multiply,
    subtract,
)
from .operators import (
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    cast,
    shift_left,
    shift_right,
    truncdiv,
    truncmod,
)

__all__ = [
    "abs", "acos", "acosh", "add", "address_of", "all", "any", "asin", "asinh", "assume", "atan",
    "atan2", "atanh", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "call_cpacked",
    "call_extern", "call_intrin", "call_llvm_intrin", "call_llvm_pure_intrin", "call_packed",
    "call_pure_extern", "cast", "ceil", "ceildiv", "clz", "comm_reducer", "const", "copysign",
    "cos", "cosh", "div", "dp4a", "erf", "exp", "exp10", "exp2", "floor", "floordiv", "floormod",
    "fma", "fmod", "hypot", "if_then_else", "indexdiv", "indexmod", "infinity", "isfinite",
    "isinf", "isnan", "isnullptr", "ldexp", "likely", "log", "log10", "log1p", "log2",
    "lookup_param", "max", "max_value", "min", "min_value", "multiply", "nearbyint", "nextafter",
    "popcount", "pow", "power", "prod", "q_multiply_shift", "reinterpret", "ret", "round", "rsqrt",
    "shift_left", "shift_right", "sigmoid", "sin", "sinh", "sqrt", "subtract", "sum", "tan",
    "tanh", "trace", "trunc", "truncdiv", "truncmod", "tvm_access_ptr", "tvm_call_cpacked",
    "tvm_call_packed", "tvm_check_return", "tvm_stack_alloca", "tvm_stack_make_array",
    "tvm_stack_make_shape", "tvm_struct_get", "tvm_struct_set", "tvm_thread_allreduce",
    "tvm_throw_last_error", "tvm_tuple", "type_annotation", "undef", "vectorcombine",
    "vectorhigh", "vectorlow", "vscale",
]  # fmt: skip
__all__ += _device_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

del _op_table


def is_op(expr: Any, name: str) -> bool:
    """Whether `expr` is a call of the operator "tir.<name>"."""
    return type(expr) is Call and type(expr.op) is Op and expr.op.name == "tir." + name
