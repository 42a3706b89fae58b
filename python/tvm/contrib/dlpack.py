"""Functions of this package on the tensors of other frameworks."""

from __future__ import annotations

import functools

from tvm.error import TVMError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def convert_func(
    tvm_func: Callable[..., Any], tensor_type: type, to_dlpack_func: Callable[[Any], Any]
) -> Callable[..., Any]:
    """A function that takes tensors of another framework, which are used in place.

    Parameters
    ----------
    tvm_func : callable
        A function of this package.
    tensor_type : type
        The other framework's tensor class.
    to_dlpack_func : callable
        Makes a DLPack capsule of a tensor.

    Returns
    -------
    callable
    """
    from tvm.runtime.ndarray import from_dlpack

    @functools.wraps(getattr(tvm_func, "__wrapped__", lambda *args: None))
    def call(*args: Any) -> Any:
        return tvm_func(
            *[
                from_dlpack(to_dlpack_func(arg)) if isinstance(arg, tensor_type) else arg
                for arg in args
            ]
        )

    return call


def to_pytorch_func(tvm_func: Callable[..., Any]) -> Callable[..., Any]:
    """A function that takes PyTorch tensors, which are used in place.

    Functions of this package take PyTorch tensors anyway; this is for older programs.
    """
    try:
        import torch
    except ImportError:
        raise TVMError("to_pytorch_func needs PyTorch: pip install torch") from None
    return convert_func(tvm_func, torch.Tensor, lambda tensor: tensor.__dlpack__())
