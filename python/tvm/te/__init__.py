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
from tvm.tir import Select as Select  # noqa: I001
from tvm.tir import decl_buffer as decl_buffer

from . import operation, schedule, tensor
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
from .schedule import Schedule, create_schedule
from .stage import Stage
from .tag import tag_scope
from .tensor import Tensor, TensorSlice

tensor.Operation = Operation  # type: ignore[misc,attr-defined]
tensor.PlaceholderOp = PlaceholderOp  # type: ignore[attr-defined]
tensor.ComputeOp = ComputeOp  # type: ignore[attr-defined]
