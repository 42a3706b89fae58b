"""Functions of the low-level language."""

from __future__ import annotations

from .. import error
from ..ir.attrs import DictAttrs
from ..ir.base import Node
from ..ir.expr import BaseFunc
from ..ir.type import TupleType, Type
from .buffer import Buffer
from .expr import Var
from .stmt import Evaluate, Stmt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_tensor_intrins: dict[str, TensorIntrin] = {}


class PrimFunc(BaseFunc):
    """A function over scalars and buffers.

    Parameters
    ----------
    params : list of Var or Buffer
        The parameters; a buffer given here gets a handle parameter.
    body : Stmt
        What it does.
    ret_type : Type, optional
        The type of the result; none by default.
    buffer_map : dict of Var to Buffer, optional
        The buffers that handle parameters stand for.
    attrs : dict or DictAttrs, optional
        For instance {"global_symbol": "main", "tir.noalias": True}.
    """

    __slots__ = ("attrs", "body", "buffer_map", "params", "ret_type")
    type_key = "tir.PrimFunc"
    FIELDS = "params:ds ret_type:r buffer_map:r body:s attrs:r"

    def __init__(
        self,
        params: Any,
        body: Any,
        ret_type: Type | None = None,
        buffer_map: Any = None,
        attrs: Any = None,
        span: object = None,
    ) -> None:
        mapping: dict[Var, Buffer] = dict(buffer_map) if buffer_map else {}
        names: list[Var] = []
        for item in params:
            if isinstance(item, Buffer):
                handle = Var(item.name, "handle")
                mapping[handle] = item
                names.append(handle)
            elif isinstance(item, Var):
                names.append(item)
            else:
                raise error.TypeError_(
                    f"PrimFunc: expected Var or Buffer parameters, but got {type(item).__name__}"
                )
        if not isinstance(body, Stmt):
            body = Evaluate(body)
        self.params = tuple(names)
        self.body = body
        self.ret_type = TupleType() if ret_type is None else ret_type
        self.buffer_map = mapping
        self.attrs = attrs if isinstance(attrs, DictAttrs) else DictAttrs(attrs or {})

    @property
    def depth(self) -> int:  # type: ignore[override]
        """Depth of the body."""
        return self.body.depth  # type: ignore[no-any-return]

    @property
    def kinds(self) -> int:  # type: ignore[override]
        """Kinds that occur in the body."""
        return self.body.kinds  # type: ignore[no-any-return]

    def with_body(self, new_body: Any, span: object = None) -> PrimFunc:
        """The same function with another body; itself if the body is the same."""
        if new_body is self.body:
            return self
        return PrimFunc(self.params, new_body, self.ret_type, self.buffer_map, self.attrs)

    def with_attr(self, attr_key_or_dict: Any, attr_value: Any = None) -> PrimFunc:
        """The same function with one more attribute, or several given as a dict."""
        attrs = dict(self.attrs)
        if isinstance(attr_key_or_dict, dict):
            attrs.update(attr_key_or_dict)
        else:
            attrs[attr_key_or_dict] = attr_value
        return PrimFunc(self.params, self.body, self.ret_type, self.buffer_map, attrs)

    def without_attr(self, attr_key: str) -> PrimFunc:
        """The same function without an attribute."""
        attrs = {key: value for key, value in self.attrs.items() if key != attr_key}
        return PrimFunc(self.params, self.body, self.ret_type, self.buffer_map, attrs)

    def specialize(self, param_map: Any) -> PrimFunc:
        """The function with some parameters fixed to constants, or buffers to given ones."""
        from .specialize import specialize

        return specialize(self, param_map)


class TensorIntrin(Node):
    """A computation and a function that does the same with special instructions.

    Parameters
    ----------
    desc : PrimFunc
        The computation.
    impl : PrimFunc
        What may stand in its place; it takes the same parameters.
    """

    __slots__ = ("desc", "impl")
    type_key = "tir.TensorIntrin"
    FIELDS = "desc:r impl:r"

    def __init__(self, desc: PrimFunc, impl: PrimFunc) -> None:
        for name, func in (("desc", desc), ("impl", impl)):
            if not isinstance(func, PrimFunc):
                raise error.TypeError_(
                    f"TensorIntrin: expected a PrimFunc as {name}, but got {type(func).__name__}"
                )
        if len(desc.params) != len(impl.params):
            raise error.ValueError_(
                f"TensorIntrin: the description has {len(desc.params)} parameters, but the "
                f"implementation {len(impl.params)}"
            )
        for mine, other in zip(desc.params, impl.params):
            if mine.dtype != other.dtype:
                raise error.ValueError_(
                    f"TensorIntrin: the parameter {mine.name} is of dtype {mine.dtype} in the "
                    f"description, but of {other.dtype} in the implementation"
                )
        self.desc = desc
        self.impl = impl

    @staticmethod
    def register(name: str, desc: PrimFunc, impl: PrimFunc, override: bool = False) -> TensorIntrin:
        """Make an intrinsic known by name.

        Raises
        ------
        ValueError
            When there is one of that name, unless `override` is set.
        """
        if name in _tensor_intrins and not override:
            raise error.ValueError_(
                f"TensorIntrin.register: {name!r} is registered already; pass override=True to "
                "replace it"
            )
        made = _tensor_intrins[name] = TensorIntrin(desc, impl)
        return made

    @staticmethod
    def get(name: str, allow_missing: bool = False) -> TensorIntrin | None:
        """The intrinsic of this name; None when there is none and `allow_missing` is set.

        Raises
        ------
        ValueError
            When there is none.
        """
        found = _tensor_intrins.get(name)
        if found is None and not allow_missing:
            raise error.ValueError_(f"TensorIntrin.get: there is no intrinsic named {name!r}")
        return found
