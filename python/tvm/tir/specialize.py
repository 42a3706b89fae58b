"""Functions with some of their parameters fixed."""

from __future__ import annotations

from .. import error
from .buffer import Buffer
from .expr import Var, convert
from .function import PrimFunc
from .stmt_functor import replace_buffer, substitute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def specialize(func: PrimFunc, param_map: Any) -> PrimFunc:
    """The function with some parameters fixed.

    Parameters
    ----------
    func : PrimFunc
        The function.
    param_map : dict of Var to PrimExpr or Buffer
        A scalar parameter gets a value and disappears. A parameter that stands for a buffer gets a
        buffer, whose sizes are given to the variables in the sizes of the old one.
    """
    values: dict[Any, Any] = {}
    for param, given in param_map.items():
        if param not in func.params:
            raise error.ValueError_(f"specialize: {param} is not a parameter of the function")
        buffer = func.buffer_map.get(param)
        if buffer is None:
            value = convert(given)
            if value.dtype != param.dtype:
                raise error.TypeError_(
                    f"specialize: {param.name} is of dtype {param.dtype}, not {value.dtype}"
                )
            values[param] = value
        else:
            _match(param, buffer, given, values)
    buffers = {
        param: _rewritten(buffer, values)
        for param, buffer in func.buffer_map.items()
    }  # fmt: skip
    body = substitute(func.body, values)
    params = [param for param in func.params if param not in values]
    return PrimFunc(params, body, func.ret_type, buffers, func.attrs)


def _match(param: Any, old: Buffer, new: Any, values: dict[Any, Any]) -> None:
    """What the variables in the old sizes are by the new ones."""
    if not isinstance(new, Buffer):
        raise error.TypeError_(
            f"specialize: {param.name} stands for a buffer, expected a Buffer, but got "
            f"{type(new).__name__}"
        )
    if len(new.shape) != len(old.shape) or new.dtype != old.dtype:
        raise error.ValueError_(
            f"specialize: expected {len(old.shape)} dimensions of {old.dtype} for {old.name}, but "
            f"got {len(new.shape)} of {new.dtype}"
        )
    for before, after in zip(old.shape, new.shape):
        if isinstance(before, Var) and before not in values:
            values[before] = after


def _rewritten(buffer: Buffer, values: dict[Any, Any]) -> Buffer:
    shape = tuple(substitute(item, values) for item in buffer.shape)
    strides = tuple(substitute(item, values) for item in buffer.strides)
    pairs = [*zip(shape, buffer.shape), *zip(strides, buffer.strides)]
    if all(new is old for new, old in pairs):
        return buffer
    return replace_buffer(buffer, shape=shape, strides=strides)
