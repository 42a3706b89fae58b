"""Functions that make expressions: math, casts, calls, reductions."""

from __future__ import annotations

from .. import error
from ..ir import dtype as _dtype
from ..ir.op import Op
from . import op_table as _op_table
from . import operators as _ops
from .buffer import Buffer
from .expr import (
    Broadcast,
    Call,
    CommReducer,
    FloatImm,
    IntImm,
    IterVar,
    Reduce,
    StringImm,
    Var,
    const_of,
    convert,
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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

del _op_table


def const(value: Any, dtype: str | None = None, span: object = None) -> Any:
    """A constant; without `dtype` a bool is bool, an int int32 (or int64), a float float32.

    Raises
    ------
    ValueError
        When the value is not in the type's range.
    """
    if dtype is None:
        return convert(value)
    found = getattr(value, "item", None)
    if found is not None and not isinstance(value, (IntImm, FloatImm)):
        value = found()
    elif isinstance(value, (IntImm, FloatImm)):
        value = value.value
    return const_of(value, _dtype.canonical(dtype))


# --- calls ----------------------------------------------------------------------------------------


def call_intrin(dtype: str, func_name: Any, *args: Any, span: object = None) -> Any:
    """Call an operator of the language, given as an Op or by name."""
    return Call(dtype, func_name, args)


def call_extern(dtype: str, func_name: str, *args: Any, span: object = None) -> Any:
    """Call a C function, which may have side effects."""
    return Call(dtype, "tir.call_extern", [StringImm(func_name), *args])


def call_pure_extern(dtype: str, func_name: str, *args: Any, span: object = None) -> Any:
    """Call a C function that only computes."""
    return Call(dtype, "tir.call_pure_extern", [StringImm(func_name), *args])


def _pack(value: Any) -> Any:
    """An argument of a packed call; a buffer becomes a tensor made on the stack."""
    if not isinstance(value, Buffer):
        return value
    shape = Call("handle", "tir.tvm_stack_make_shape", list(value.shape))
    strides: Any = IntImm("int32", 0)
    if value.strides:
        strides = Call("handle", "tir.tvm_stack_make_shape", list(value.strides))
    made = [value.data, shape, strides, len(value.shape), const_of(0, value.dtype),
            value.elem_offset]  # fmt: skip
    return Call("handle", "tir.tvm_stack_make_array", made)


def call_packed(*args: Any, span: object = None) -> Any:
    """Call a packed function by name; the result is an int32."""
    return Call("int32", "tir.tvm_call_packed", [_pack(item) for item in args])


def call_cpacked(*args: Any, span: object = None) -> Any:
    """Call a function of the packed C interface by name, without a look-up at run time."""
    return Call("int32", "tir.tvm_call_cpacked", [_pack(item) for item in args])


tvm_call_packed = call_packed
tvm_call_cpacked = call_cpacked


def trace(args: Any, trace_action: str = "tvm.default_trace_action") -> Any:
    """Call a packed function and give its last argument on."""
    if not isinstance(args, list):
        raise error.TypeError_(f"trace: expected a list, but got {type(args).__name__}")
    made = [_pack(item) for item in args]
    return Call(args[-1].dtype, "tir.tvm_call_trace_packed", [StringImm(trace_action), *made])


def _llvm_intrin_id(name: Any) -> Any:
    if isinstance(name, str):
        return StringImm(name)
    return convert(name)


def call_llvm_intrin(dtype: str, name: str, *args: Any, span: object = None) -> Any:
    """Call an LLVM intrinsic by name, as "llvm.x86.avx512.vpdpbusd.512".

    The first argument may be the number of argument types that make the intrinsic's signature, as
    older programs pass it (a uint32 constant).
    """
    return Call(dtype, "tir.call_llvm_intrin", [_llvm_intrin_id(name), *args])


def call_llvm_pure_intrin(dtype: str, name: str, *args: Any, span: object = None) -> Any:
    """Call an LLVM intrinsic that only computes."""
    return Call(dtype, "tir.call_llvm_pure_intrin", [_llvm_intrin_id(name), *args])


def ret(val: Any, span: object = None) -> Any:
    """Return from the function."""
    val = convert(val)
    return Call(val.dtype, "tir.ret", [val])


def _simple(name: str, dtype: str, doc: str) -> Callable[..., Any]:
    def operate(*args: Any) -> Any:
        return Call(dtype, "tir." + name, args)

    operate.__name__ = operate.__qualname__ = name
    operate.__doc__ = doc
    return operate


tvm_stack_make_shape = _simple("tvm_stack_make_shape", "handle", "A shape on the stack.")
tvm_stack_make_array = _simple("tvm_stack_make_array", "handle", "A tensor on the stack.")
tvm_throw_last_error = _simple("tvm_throw_last_error", "handle", "Fail with the last error.")
tvm_tuple = _simple("tvm_tuple", "handle", "Values together, for attributes.")
lookup_param = _simple("lookup_param", "handle", "A parameter by name.")
vscale = _simple("vscale", "int32", "The run-time length factor of scalable vectors.")


def tvm_stack_alloca(dtype_str: str, num: Any) -> Any:
    """`num` cells of a kind ("shape", "array", "arg_value", "arg_tcode") on the stack."""
    return Call("handle", "tir.tvm_stack_alloca", [StringImm(dtype_str), num])


def tvm_check_return(expected: int, return_unexpected: int, nested_call: Any) -> Any:
    """Check the result of a call."""
    return Call("int32", "tir.tvm_check_return", [expected, return_unexpected, nested_call])


def assume(cond: Any = None) -> Any:
    """Tell the compiler that a condition holds."""
    return Call("bool", "tir.assume", [cond])


def undef() -> Any:
    """A value that may be anything."""
    return Call("int32", "tir.undef", [])


def tvm_struct_get(arr: Any, index: int, field: int, dtype: str) -> Any:
    """Read a field of the C structure at `arr[index]`."""
    return Call(dtype, "tir.tvm_struct_get", [arr, index, field])


def tvm_struct_set(arr: Any, index: int, field: int, value: Any) -> Any:
    """Write a field of the C structure at `arr[index]`."""
    return Call("int32", "tir.tvm_struct_set", [arr, index, field, value])


def tvm_thread_allreduce(*freduce_args: Any) -> Any:
    """Reduce over the threads of a block."""
    return Call("handle", "tir.tvm_thread_allreduce", freduce_args)


def tvm_access_ptr(ptype: Any, data: Any, offset: Any, extent: Any, rw_mask: int) -> Any:
    """A pointer into `data`, with the length and the kind of access."""
    return Call("handle", "tir.tvm_access_ptr", [ptype, data, offset, extent, rw_mask])


def type_annotation(dtype: str) -> Any:
    """A type as an argument of a call."""
    return Call(dtype, "tir.type_annotation", [])


def address_of(buffer_load: Any, span: object = None) -> Any:
    """The address of a buffer's element."""
    if isinstance(buffer_load, Buffer):
        buffer_load = buffer_load[tuple(0 for _ in buffer_load.shape)]
    return Call("handle", "tir.address_of", [buffer_load])


def isnullptr(x: Any, span: object = None) -> Any:
    """Whether a pointer is null."""
    return Call("bool", "tir.isnullptr", [x])


def vectorlow(dtype: str, vec: Any) -> Any:
    """The lower half of a vector."""
    return Call(dtype, "tir.vectorlow", [vec])


def vectorhigh(dtype: str, vec: Any) -> Any:
    """The upper half of a vector."""
    return Call(dtype, "tir.vectorhigh", [vec])


def vectorcombine(dtype: str, vec1: Any, vec2: Any) -> Any:
    """Two vectors one after the other."""
    return Call(dtype, "tir.vectorcombine", [vec1, vec2])


def dp4a(vec1: Any, vec2: Any, acc: Any = 0) -> Any:
    """acc plus the dot product of two vectors of four bytes."""
    vec1, vec2 = convert(vec1), convert(vec2)
    kinds = [_dtype.info(item.dtype).kind for item in (vec1, vec2)]
    return Call("uint32" if kinds == ["uint", "uint"] else "int32", "tir.dp4a", [vec1, vec2, acc])


# --- math -----------------------------------------------------------------------------------------


def _float_operand(name: str, value: Any) -> Any:
    value = convert(value)
    found = _dtype.info(value.dtype)
    if found.is_float:
        return value
    if found.is_int:
        return cast(value, _dtype.with_lanes("float32", found.lanes))
    raise error.TypeError_(f"{name}: expected a number, but got dtype {value.dtype}")


def _unary(name: str, doc: str) -> Callable[..., Any]:
    def operate(x: Any, span: object = None) -> Any:
        x = _float_operand(name, x)
        return Call(x.dtype, "tir." + name, [x])

    operate.__name__ = operate.__qualname__ = name
    operate.__doc__ = f"{doc} An integer operand becomes float32."
    return operate


exp = _unary("exp", "e to the power of x.")
exp2 = _unary("exp2", "2 to the power of x.")
exp10 = _unary("exp10", "10 to the power of x.")
log = _unary("log", "The natural logarithm.")
log2 = _unary("log2", "The logarithm to base 2.")
log10 = _unary("log10", "The logarithm to base 10.")
log1p = _unary("log1p", "log(1 + x), precise near 0.")
sqrt = _unary("sqrt", "The square root.")
rsqrt = _unary("rsqrt", "1 / sqrt(x).")
sin = _unary("sin", "The sine.")
cos = _unary("cos", "The cosine.")
tan = _unary("tan", "The tangent.")
sinh = _unary("sinh", "The hyperbolic sine.")
cosh = _unary("cosh", "The hyperbolic cosine.")
tanh = _unary("tanh", "The hyperbolic tangent.")
asin = _unary("asin", "The inverse sine.")
acos = _unary("acos", "The inverse cosine.")
atan = _unary("atan", "The inverse tangent.")
asinh = _unary("asinh", "The inverse hyperbolic sine.")
acosh = _unary("acosh", "The inverse hyperbolic cosine.")
atanh = _unary("atanh", "The inverse hyperbolic tangent.")
sigmoid = _unary("sigmoid", "1 / (1 + exp(-x)).")
erf = _unary("erf", "The error function.")


def _rounding(name: str, doc: str) -> Callable[..., Any]:
    def operate(x: Any, span: object = None) -> Any:
        x = convert(x)
        if _dtype.info(x.dtype).is_int:
            return x
        return Call(x.dtype, "tir." + name, [x])

    operate.__name__ = operate.__qualname__ = name
    operate.__doc__ = f"{doc} An integer is returned as it is."
    return operate


floor = _rounding("floor", "The greatest whole number that is not greater.")
ceil = _rounding("ceil", "The least whole number that is not less.")
trunc = _rounding("trunc", "The whole part, toward zero.")
round = _rounding("round", "The nearest whole number; halves go away from zero.")
nearbyint = _rounding("nearbyint", "The nearest whole number; halves go to the even one.")


def abs(x: Any, span: object = None) -> Any:
    """The absolute value; of the least int it wraps to itself."""
    x = convert(x)
    found = _dtype.info(x.dtype)
    if found.is_float:
        if type(x) is FloatImm:
            return FloatImm(x.dtype, -x.value if x.value < 0 else x.value + 0.0)
        return Call(x.dtype, "tir.fabs", [x])
    if not found.signed:
        return x
    zero = const_of(0, x.dtype)
    return _ops.select(_ops.greater_equal(x, zero), x, _ops.negate(x))


def _float_test(name: str, doc: str, of_int: bool) -> Callable[..., Any]:
    def operate(x: Any, span: object = None) -> Any:
        x = convert(x)
        found = _dtype.info(x.dtype)
        if found.is_int:
            return const_of(of_int, _dtype.bool_like(x.dtype))
        return Call(_dtype.bool_like(x.dtype), "tir." + name, [x])

    operate.__name__ = operate.__qualname__ = name
    operate.__doc__ = doc
    return operate


isnan = _float_test("isnan", "Whether a value is NaN.", False)
isinf = _float_test("isinf", "Whether a value is infinite.", False)
isfinite = _float_test("isfinite", "Whether a value is neither NaN nor infinite.", True)


def _binary_float(name: str, doc: str) -> Callable[..., Any]:
    def operate(x1: Any, x2: Any, span: object = None) -> Any:
        pair = _ops.match(x1, x2)
        if pair is None:
            raise error.TypeError_(f"{name}: expected expressions or numbers")
        x1, x2 = (_float_operand(name, item) for item in pair)
        return Call(x1.dtype, "tir." + name, [x1, x2])

    operate.__name__ = operate.__qualname__ = name
    operate.__doc__ = doc
    return operate


atan2 = _binary_float("atan2", "The angle of the point (x2, x1).")
fmod = _binary_float("fmod", "The remainder of x1 / x2 with the sign of x1, as in C.")
hypot = _binary_float("hypot", "sqrt(x1 * x1 + x2 * x2) without overflow.")
copysign = _binary_float("copysign", "The magnitude of x1 with the sign of x2.")
nextafter = _binary_float("nextafter", "The next value after x1 in the direction of x2.")


def ldexp(x1: Any, x2: Any, span: object = None) -> Any:
    """x1 times 2 to the power of the integer x2."""
    x1, x2 = _float_operand("ldexp", x1), convert(x2)
    lanes = _dtype.info(x1.dtype).lanes
    return Call(x1.dtype, "tir.ldexp", [x1, cast(x2, _dtype.with_lanes("int32", lanes))])


def power(x: Any, y: Any, span: object = None) -> Any:
    """x to the power of y; of two integers an integer, which wraps."""
    pair = _ops.match(x, y)
    if pair is None:
        raise error.TypeError_("power: expected expressions or numbers")
    return Call(pair[0].dtype, "tir.pow", list(pair))


pow = power


def fma(x: Any, y: Any, z: Any) -> Any:
    """x * y + z, rounded once."""
    x = _float_operand("fma", x)
    return Call(x.dtype, "tir.fma", [x, cast(y, x.dtype), cast(z, x.dtype)])


def popcount(x: Any, span: object = None) -> Any:
    """The number of set bits."""
    x = convert(x)
    return Call(x.dtype, "tir.popcount", [x])


def clz(x: Any) -> Any:
    """The number of leading zero bits, an int32; of 0 the number of bits."""
    x = convert(x)
    return Call(_dtype.with_lanes("int32", _dtype.info(x.dtype).lanes), "tir.clz", [x])


def q_multiply_shift(x: Any, y: Any, q: Any, s: Any) -> Any:
    """round(x * y * 2^-s) with y a fixed-point number of q fractional bits."""
    x = convert(x)
    return Call("int32", "tir.q_multiply_shift", [x, y, q, s])


def reinterpret(dtype: str, value: Any, span: object = None) -> Any:
    """The same bits as another type of the same size."""
    value = convert(value)
    dtype = _dtype.canonical(dtype)
    if value.dtype == dtype:
        return value
    given, wanted = _dtype.info(value.dtype), _dtype.info(dtype)
    if given.bits * given.lanes != wanted.bits * wanted.lanes:
        raise error.TypeError_(
            f"reinterpret: {given.text} has {given.bits * given.lanes} bits, but {wanted.text} "
            f"{wanted.bits * wanted.lanes}"
        )
    return Call(dtype, "tir.reinterpret", [value])


def likely(cond: Any, span: object = None) -> Any:
    """A condition that is nearly always true."""
    cond = convert(cond)
    return cond if type(cond) is IntImm else Call(cond.dtype, "tir.likely", [cond])


def if_then_else(cond: Any, t: Any, f: Any, span: object = None) -> Any:
    """One of two values; only the chosen one is evaluated.

    Raises
    ------
    TypeError
        When the condition is a vector or not bool.
    """
    pair = _ops.match(t, f)
    if pair is None:
        raise error.TypeError_("if_then_else: expected expressions or numbers")
    cond = convert(cond)
    if cond.dtype != "bool":
        raise error.TypeError_(
            f"if_then_else: expected a scalar bool condition, but got {cond.dtype}"
        )
    if type(cond) is IntImm:
        return pair[0] if cond.value else pair[1]
    return Call(pair[0].dtype, "tir.if_then_else", [cond, *pair])


# --- arithmetic by name ---------------------------------------------------------------------------


def _named(function: Callable[[Any, Any], Any], name: str) -> Callable[..., Any]:
    def operate(a: Any, b: Any, span: object = None) -> Any:
        made = function(a, b)
        if made is NotImplemented:
            # One operand brings operators of its own, a te.Tensor for instance.
            method = {"add": "__radd__", "subtract": "__rsub__", "multiply": "__rmul__",
                      "floordiv": "__rfloordiv__", "floormod": "__rmod__"}[name]  # fmt: skip
            for this, other, slot in ((a, b, method.replace("__r", "__")), (b, a, method)):
                bound = getattr(this, slot, None)
                made = NotImplemented if bound is None else bound(other)
                if made is not NotImplemented:
                    return made
            raise error.TypeError_(
                f"{name}: expected expressions or numbers, but got {type(a).__name__} and "
                f"{type(b).__name__}"
            )
        return made

    operate.__name__ = operate.__qualname__ = name
    operate.__doc__ = function.__doc__
    return operate


add = _named(_ops.add, "add")
subtract = _named(_ops.subtract, "subtract")
multiply = _named(_ops.multiply, "multiply")
floordiv = _named(_ops.floordiv, "floordiv")
floormod = _named(_ops.floormod, "floormod")


def div(a: Any, b: Any, span: object = None) -> Any:
    """a / b; two integers are divided as in C, rounding toward zero."""
    pair = _ops.match(a, b)
    if pair is None:
        raise error.TypeError_("div: expected expressions or numbers")
    if _dtype.info(pair[0].dtype).is_int:
        return truncdiv(*pair)
    return _ops.divide(*pair)


def indexdiv(a: Any, b: Any, span: object = None) -> Any:
    """a / b of two integers that are not negative."""
    return floordiv(a, b)


def indexmod(a: Any, b: Any, span: object = None) -> Any:
    """a % b of two integers that are not negative."""
    return floormod(a, b)


def ceildiv(lhs: Any, rhs: Any, span: object = None) -> Any:
    """lhs / rhs rounded up."""
    return floordiv(add(lhs, subtract(rhs, 1)), rhs)


# --- values of types ------------------------------------------------------------------------------

_FINITE = {
    "float64": 1.7976931348623157e308,
    "float32": 3.4028234663852886e38,
    "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38,
    "e4m3_float8": 448.0,
    "e5m2_float8": 57344.0,
}


def max_value(dtype: str, span: object = None) -> Any:
    """The greatest finite value of a type."""
    found = _dtype.info(_dtype.canonical(dtype))
    if found.is_float:
        return const_of(_FINITE[found.scalar], found.text)
    if found.is_int:
        return const_of(_dtype.int_range(found)[1], found.text)
    raise error.TypeError_(f"max_value: dtype {dtype} has no values")


def min_value(dtype: str, span: object = None) -> Any:
    """The least finite value of a type."""
    found = _dtype.info(_dtype.canonical(dtype))
    if found.is_float:
        return const_of(-_FINITE[found.scalar], found.text)
    if found.is_int:
        return const_of(_dtype.int_range(found)[0], found.text)
    raise error.TypeError_(f"min_value: dtype {dtype} has no values")


def infinity(dtype: str, span: object = None) -> Any:
    """Positive infinity of a float type."""
    found = _dtype.info(_dtype.canonical(dtype))
    if not found.is_float or found.scalar == "e4m3_float8":
        raise error.TypeError_(f"infinity: dtype {dtype} has none")
    return const_of(float("inf"), found.text)


# --- logic ----------------------------------------------------------------------------------------


def _combine(name: str, function: Callable[[Any, Any], Any], args: tuple[Any, ...]) -> Any:
    if not args:
        raise error.ValueError_(f"{name}: expected at least one condition")
    result = None
    for item in args:
        item = convert(item)
        if not _dtype.info(item.dtype).is_bool:
            raise error.TypeError_(f"{name}: expected bool conditions, but got {item.dtype}")
        result = item if result is None else function(result, item)
    return result


def all(*args: Any, span: object = None) -> Any:
    """Whether all conditions hold."""
    return _combine("all", _ops.logical_and, args)


def any(*args: Any, span: object = None) -> Any:
    """Whether one condition holds at least."""
    return _combine("any", _ops.logical_or, args)


# --- reductions -----------------------------------------------------------------------------------


def comm_reducer(
    fcombine: Callable[[Any, Any], Any],
    fidentity: Callable[..., Any],
    name: str = "reduce",
) -> Callable[..., Any]:
    """A reduction from a combination and its neutral element.

    Parameters
    ----------
    fcombine : function
        Of two values (or two tuples of values) to their combination.
    fidentity : function
        Of the dtype (of all dtypes, for tuples) to the neutral element (elements).
    name : str
        Names the variables.

    Returns
    -------
    function
        ``reducer(expr, axis, where=None, init=None)``; also ``reducer(a, b, ...)`` to combine
        values directly.

    Examples
    --------
    >>> import tvm
    >>> mysum = tvm.tir.comm_reducer(lambda x, y: x + y, lambda t: tvm.tir.const(0, t), "mysum")
    """

    def reduce_directly(*args: Any) -> Any:
        result = args[0]
        for item in args[1:]:
            result = fcombine(result, item)
        return result

    def make(expr: Any, axis: Any, where: Any = None, init: Any = None) -> Any:
        several = isinstance(expr, (list, tuple))
        source = [convert(item) for item in expr] if several else [convert(expr)]
        axes = axis if isinstance(axis, (list, tuple)) else [axis]
        for item in axes:
            if not isinstance(item, IterVar):
                raise error.TypeError_(
                    f"{name}: expected a reduce axis or a list of them (te.reduce_axis), but got "
                    f"{type(item).__name__}"
                )
        where = convert(True) if where is None else convert(where)
        if not _dtype.info(where.dtype).is_bool:
            raise error.TypeError_(f"{name}: expected a bool for where, but got {where.dtype}")
        reducer = _reducer(fcombine, fidentity, name, [item.dtype for item in source], several)
        starts: list[Any] = []
        if init is not None:
            given = list(init) if isinstance(init, (list, tuple)) else [init]
            if len(given) != len(source):
                raise error.ValueError_(f"{name}: {len(source)} values, but {len(given)} inits")
            starts = [_start(item, value.dtype) for item, value in zip(given, source)]
        made = tuple(
            Reduce(reducer, source, axes, where, index, starts) for index in range(len(source))
        )
        return made if several else made[0]

    def reducer(expr: Any, axis: Any, where: Any = None, init: Any = None, *args: Any) -> Any:
        if isinstance(axis, IterVar) or (
            isinstance(axis, (list, tuple)) and (not axis or isinstance(axis[0], IterVar))
        ):
            return make(expr, axis, where, init)
        rest = [item for item in (where, init, *args) if item is not None]
        return reduce_directly(expr, axis, *rest)

    reducer.__name__ = reducer.__qualname__ = name
    reducer.__doc__ = f"The reduction `{name}` of an expression over axes, where a condition holds."
    return reducer


def _start(value: Any, dtype: str) -> Any:
    """An initial value: constants take the type of the reduction."""
    value = const_of(value, dtype) if isinstance(value, (int, float)) else convert(value)
    return value if value.dtype == dtype else cast(value, dtype)


def _reducer(
    fcombine: Callable[[Any, Any], Any],
    fidentity: Callable[..., Any],
    name: str,
    dtypes: list[str],
    several: bool,
) -> CommReducer:
    if not several:
        lhs, rhs = Var("x", dtypes[0]), Var("y", dtypes[0])
        result = _typed(name, fcombine(lhs, rhs), dtypes[0])
        return CommReducer([lhs], [rhs], [result], [convert(fidentity(dtypes[0]))])
    left = [Var(f"x{i}", dtype) for i, dtype in enumerate(dtypes)]
    right = [Var(f"y{i}", dtype) for i, dtype in enumerate(dtypes)]
    combined = fcombine(left, right)
    neutral = fidentity(*dtypes)
    if len(combined) != len(dtypes) or len(neutral) != len(dtypes):
        raise error.ValueError_(
            f"{name}: {len(dtypes)} values, but {len(combined)} combined and {len(neutral)} "
            "neutral ones"
        )
    results = [_typed(name, item, dtype) for item, dtype in zip(combined, dtypes)]
    return CommReducer(left, right, results, [convert(item) for item in neutral])


def _typed(name: str, value: Any, dtype: str) -> Any:
    value = convert(value)
    if value.dtype != dtype:
        raise error.TypeError_(
            f"{name}: combining two {dtype} must give a {dtype}, but gives {value.dtype}"
        )
    return value


def _least(dtype: str) -> Any:
    """What max starts from: below every value, infinities included."""
    found = _dtype.info(dtype)
    if found.is_float and found.scalar != "e4m3_float8":
        return const_of(float("-inf"), dtype)
    return min_value(dtype)


def _greatest(dtype: str) -> Any:
    """What min starts from."""
    found = _dtype.info(dtype)
    if found.is_float and found.scalar != "e4m3_float8":
        return infinity(dtype)
    return max_value(dtype)


sum = comm_reducer(_ops.add, lambda dtype: const_of(0, dtype), "sum")
prod = comm_reducer(_ops.multiply, lambda dtype: const_of(1, dtype), "prod")
max = comm_reducer(_ops.maximum, _least, "max")
min = comm_reducer(_ops.minimum, _greatest, "min")


def is_op(expr: Any, name: str) -> bool:
    """Whether `expr` is a call of the operator "tir.<name>"."""
    return type(expr) is Call and type(expr.op) is Op and expr.op.name == "tir." + name


def broadcast(value: Any, lanes: int) -> Any:
    """`value` in every lane; itself when there is one lane only."""
    return convert(value) if lanes == 1 else Broadcast(value, lanes)
