"""Conversion of Python values to objects, with the node constructors that the compiler installs."""

from __future__ import annotations

from tvm.error import InternalError, TypeError_, ValueError_

from .container import Array, Map, ShapeTuple, String
from .object import Object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_int_imm: Callable[[str, int], Any] | None = None
_float_imm: Callable[[str, float], Any] | None = None
_load_nodes: Callable[[], object] | None = None
# Classes of the extension, which pass through; filled when the extension is loaded.
_native_types: tuple[type, ...] = ()


def set_node_constructors(int_imm: Callable[..., Any], float_imm: Callable[..., Any]) -> None:
    """Install the constructors of integer and float constants, called as f(dtype, value)."""
    global _int_imm, _float_imm
    _int_imm = int_imm
    _float_imm = float_imm


def set_node_loader(load: Callable[[], object]) -> None:
    """Install what imports the compiler's nodes, which then call `set_node_constructors`.

    The package's root does this, so that the runtime need not know who is above it.
    """
    global _load_nodes
    _load_nodes = load


def set_native_types(types: tuple[type, ...]) -> None:
    """Tell which classes of the extension are objects already."""
    global _native_types
    _native_types = types


class ObjectGeneric:
    """Base of Python classes that turn into an object when converted."""

    def asobject(self) -> Any:
        """The object that stands for this value."""
        raise NotImplementedError(f"{type(self).__name__} does not define asobject()")


def _constructors() -> tuple[Callable[..., Any], Callable[..., Any]]:
    if _int_imm is None and _load_nodes is not None:
        _load_nodes()
    if _int_imm is None or _float_imm is None:
        raise InternalError("the constructors of IR constants were not installed")
    return _int_imm, _float_imm


def scalar_dtype(value: Any) -> str:
    """The dtype that a scalar has as an IR constant.

    NumPy scalars keep theirs; a bool is bool, a float float32, an int int32, or int64 when it
    does not fit.
    """
    dtype = getattr(value, "dtype", None)
    if dtype is not None:
        return str(dtype)
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, float):
        return "float32"
    if isinstance(value, int):
        if -(1 << 31) <= value < 1 << 31:
            return "int32"
        if -(1 << 63) <= value < 1 << 63:
            return "int64"
        if value < 1 << 64:
            return "uint64"
        raise ValueError_(f"the constant {value} does not fit 64 bits")
    raise TypeError_(
        f"cannot make a constant of {value!r}, which is of type {type(value).__name__}"
    )


def const(value: Any, dtype: Any = None, span: object = None) -> Any:
    """A constant of the IR.

    Parameters
    ----------
    value : bool, int, float or numpy scalar
        The value.
    dtype : str, optional
        Its type. By default a NumPy scalar keeps its own, a bool is bool, a float float32, and an
        int int32, or int64 when it does not fit.
    span : optional
        Accepted for older programs; not kept.

    Returns
    -------
    tvm.tir.IntImm or tvm.tir.FloatImm

    Examples
    --------
    >>> import tvm
    >>> tvm.runtime.const(1).dtype, tvm.runtime.const(1.5).dtype
    ('int32', 'float32')
    """
    int_imm, float_imm = _constructors()
    dtype = scalar_dtype(value) if dtype is None else str(dtype)
    if dtype.startswith(("float", "bfloat", "e4m3", "e5m2")):
        return float_imm(dtype, float(value))
    return int_imm(dtype, int(value))


def convert_to_object(value: Any, span: object = None) -> Any:
    """The object for a Python value; see `convert`."""
    if isinstance(value, (Object, Array, Map, String, ShapeTuple)) or value is None:
        return value
    if isinstance(value, _native_types):
        return value
    if isinstance(value, (bool, int, float)):
        return const(value)
    if isinstance(value, str):
        return String(value)
    if isinstance(value, (list, tuple)):
        return Array([convert_to_object(item) for item in value])
    if isinstance(value, dict):
        return Map({_convert_key(key): convert_to_object(item) for key, item in value.items()})
    if isinstance(value, ObjectGeneric):
        return value.asobject()
    if hasattr(value, "asobject"):
        return value.asobject()
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        return const(value)
    if callable(value):
        from .packed_func import convert_to_tvm_func

        return convert_to_tvm_func(value)
    raise TypeError_(
        f"convert: cannot make an object of a {type(value).__module__}.{type(value).__name__}; "
        "expected a number, str, list, tuple, dict, None, a callable or an object of this package"
    )


def _convert_key(key: Any) -> Any:
    if isinstance(key, str):
        return key if isinstance(key, String) else String(key)
    if isinstance(key, (Object, int, *_native_types)):
        return key
    raise TypeError_(
        f"convert: the keys of a dict must be str or objects, got {key!r} "
        f"of type {type(key).__name__}"
    )


def convert(value: Any, span: object = None) -> Any:
    """Convert a Python value to an object that the compiler and the runtime understand.

    Parameters
    ----------
    value : object
        int becomes an `IntImm` of int32 (int64 if it does not fit), float a `FloatImm` of float32,
        str a `String`, list and tuple an `Array`, dict a `Map`, each with its elements converted;
        a callable becomes a `PackedFunc`; None and objects of this package stay as they are.
    span : optional
        Accepted for older programs; not kept.

    Returns
    -------
    object

    Raises
    ------
    TypeError
        For other values.

    Examples
    --------
    >>> import tvm
    >>> tvm.runtime.convert(["a", "b"])
    ["a", "b"]
    """
    return convert_to_object(value)
