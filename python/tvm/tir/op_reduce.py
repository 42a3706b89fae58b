"""Reductions."""

from __future__ import annotations

from .. import error
from ..ir import dtype as _dtype
from . import operators as _ops
from .expr import CommReducer, IterVar, Reduce, Var, const_of, convert
from .op_values import infinity, max_value, min_value
from .operators import cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


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
