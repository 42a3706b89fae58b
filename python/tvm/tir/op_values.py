"""Arithmetic by name, constants, the limits of types, conditions together."""

from __future__ import annotations

from .. import error
from ..ir import dtype as _dtype
from . import operators as _ops
from .expr import Broadcast, const_of, convert
from .operators import truncdiv

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


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


def broadcast(value: Any, lanes: int) -> Any:
    """`value` in every lane; itself when there is one lane only."""
    return convert(value) if lanes == 1 else Broadcast(value, lanes)
