"""Lower intrinsics: math functions become arithmetic, a * b + c becomes one operation.

    B[i] = T.exp(A[i])    ->    B[i] = T.Let(..., where={t0: A[i], t1: t0 * 1.4427 + ...})
    C[i] = C[i] + A[i] * B[i]    ->    C[i] = T.fma(A[i], B[i], C[i])

The results depend on the machine only through "has fused multiply-add": every backend that runs
this pass with the same answer computes the same bits. What is left are operators that are
instructions: sqrt, fabs, floor, ceil, trunc, nearbyint, copysign, fma, and those on integers.

float16, bfloat16 and fp8 are computed in float32 and rounded once.
"""

from __future__ import annotations

from tvm.ir.dtype import info, with_lanes
from tvm.ir.transform import PassInfo
from tvm.tir import expr as _expr
from tvm.tir.function import PrimFunc
from tvm.tir.stmt_functor import StmtExprMutator

from .function_pass import PrimFuncPass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tvm.target import Target

_DATA = _expr.DATA
_CALL = _expr.Call.KIND & ~_DATA
_ADD, _SUB, _MUL = _expr.Add.KIND, _expr.Sub.KIND, _expr.Mul.KIND

# Functions of `mathlib.float32` and `mathlib.float64`, by the operator's name.
MATH = frozenset(
    f"tir.{name}"
    for name in (
        "exp", "exp2", "exp10", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh",
        "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "atan2", "sigmoid",
        "erf", "pow", "rsqrt",
    )
)  # fmt: skip
_ROUNDING = ("tir.floor", "tir.ceil", "tir.trunc", "tir.nearbyint")
_SIMPLE = ("tir.round", "tir.ldexp", "tir.hypot", "tir.nextafter", "tir.q_multiply_shift",
           "tir.abs")  # fmt: skip
_ALL = frozenset((*MATH, *_ROUNDING, *_SIMPLE))


class _Lower(StmtExprMutator):
    def __init__(self, fma: bool, contract: bool, rounding: bool) -> None:
        self.fma = fma
        self.contract = contract and fma
        self.rounding = rounding

    def visit_call_(self, op: Any) -> Any:
        made = super().visit_call_(op)
        name = getattr(made.op, "name", None)
        if name not in _ALL or (name in _ROUNDING and self.rounding):
            return made
        return lower_call(made, self.fma, self.rounding)

    def visit_add_(self, op: Any) -> Any:
        made = super().visit_add_(op)
        if not self.contract or made.dtype not in _CONTRACTED and not _contracts(made.dtype):
            return made
        for product, other in ((made.a, made.b), (made.b, made.a)):
            if type(product) is _expr.Mul:
                return _expr.Call(made.dtype, "tir.fma", [product.a, product.b, other])
        return made

    def visit_sub_(self, op: Any) -> Any:
        made = super().visit_sub_(op)
        if not self.contract or made.dtype not in _CONTRACTED and not _contracts(made.dtype):
            return made
        if type(made.a) is _expr.Mul:
            return _expr.Call(made.dtype, "tir.fma", [made.a.a, made.a.b, _minus(made.b)])
        if type(made.b) is _expr.Mul:
            return _expr.Call(made.dtype, "tir.fma", [_minus(made.b.a), made.b.b, made.a])
        return made


_CONTRACTED = {"float32", "float64"}


def _contracts(dtype: str) -> bool:
    if info(dtype).scalar in ("float32", "float64"):
        _CONTRACTED.add(dtype)
        return True
    return False


def _minus(value: Any) -> Any:
    """The value with its sign bit flipped."""
    zero = _expr.const_of(-0.0, value.dtype)
    return _expr.Sub(zero, value)


def lower_call(call: Any, fma: bool = True, rounding: bool = True) -> Any:
    """A call of a math function as arithmetic.

    Parameters
    ----------
    call : Call
        Of one of the operators that this pass lowers.
    fma : bool
        Whether fused multiply-add is an instruction.
    rounding : bool
        Whether rounding to integers is one.
    """
    found = info(call.dtype)
    if found.is_float and found.bits < 32:
        wide = with_lanes("float32", found.lanes)
        args = [_expr.Cast(wide, item) if item.dtype == call.dtype else item for item in call.args]
        return _expr.Cast(call.dtype, lower_call(_expr.Call(wide, call.op, args), fma, rounding))
    from .mathlib import simple
    from .mathlib.builder import Builder

    name = call.op.name[4:]
    builder = Builder(found.lanes, fma)
    inputs = [builder.input(item) for item in call.args]
    if call.op.name in MATH and found.is_float:
        result = _library(found.scalar, name)(builder, *inputs)
    elif name == "pow":
        result = simple.int_pow(builder, *inputs)
    elif name == "abs":
        result = builder.abs(*inputs) if found.is_float else simple.int_abs(builder, *inputs)
    elif name == "round":
        x = inputs[0]
        if rounding:
            cut = builder.op(x.dtype, builder.call("tir.trunc", x.dtype), x)
        else:
            cut = simple.trunc(builder, x)
        result = simple.round_away(builder, x, cut)
    elif name == "q_multiply_shift":
        result = simple.multiply_shift(builder, *inputs)
    else:
        result = getattr(simple, name)(builder, *inputs)
    return builder.finish(result)


def _library(scalar: str, name: str) -> Any:
    if scalar == "float64":
        from .mathlib import float64

        return getattr(float64, name)
    from .mathlib import float32

    return getattr(float32, name)


def lower_intrin(
    func: PrimFunc, fma: bool = True, contract: bool = True, rounding: bool = True
) -> PrimFunc:
    """The function with its math functions written as arithmetic.

    Parameters
    ----------
    func : PrimFunc
        A lowered function.
    fma : bool
        Whether the machine has fused multiply-add; the math functions use it.
    contract : bool
        Whether the program's own a * b + c may be rounded once instead of twice.
    rounding : bool
        Whether rounding to integers (floor and the like) is an instruction.
    """
    kinds = func.body.kinds
    if not kinds & _CALL and not (contract and fma and kinds & _MUL and kinds & (_ADD | _SUB)):
        return func
    return func.with_body(_Lower(fma, contract, rounding)(func.body))


def has_fma(target: Target) -> bool:
    """Whether a target's processor has fused multiply-add."""
    if target.kind.name != "llvm":
        return False
    if target.mtriple.startswith(("aarch64", "arm64", "riscv64")):
        return True
    return "fma" in target.features


def LowerIntrin() -> PrimFuncPass:
    """The pass ``tir.LowerIntrin``, for the function's target, else the current one."""

    def run(func: PrimFunc, mod: Any, context: Any) -> PrimFunc:
        from tvm.target import Target

        target = func.attrs.get("target") or Target.current() or Target("llvm")
        contract = bool(target.attrs.get("contract", True))
        return lower_intrin(func, has_fma(target), contract)

    return PrimFuncPass(run, PassInfo(0, "tir.LowerIntrin"))
