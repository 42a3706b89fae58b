"""Calls: of operators, functions and intrinsics, packed or not."""

from __future__ import annotations

from .. import error
from ..ir import dtype as _dtype
from .buffer import Buffer
from .expr import Call, IntImm, StringImm, const_of, convert

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


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
    from ..target import codegen

    if isinstance(name, int):
        return StringImm(codegen.llvm_get_intrinsic_name(name))
    if not isinstance(name, str):
        return convert(name)
    if name.startswith("llvm.") and not codegen.llvm_lookup_intrinsic_id(name):
        raise error.ValueError_(f"call_llvm_intrin: LLVM has no intrinsic named {name!r}")
    return StringImm(name)


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
