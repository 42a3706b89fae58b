"""Functions of the low-level language."""

from __future__ import annotations

from .. import error
from ..ir.attrs import DictAttrs
from ..ir.expr import BaseFunc
from ..ir.type import TupleType, Type
from .buffer import Buffer
from .expr import Var
from .stmt import Evaluate, Stmt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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
