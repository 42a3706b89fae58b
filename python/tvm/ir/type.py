"""Types of variables and functions."""

from __future__ import annotations

from . import dtype as _dtype
from .base import Node


class Type(Node):
    """Base class of all types. `==` compares structure."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        from .structural import structural_equal

        return isinstance(other, Type) and bool(structural_equal(self, other))

    def __ne__(self, other: object) -> bool:
        return not self.__eq__(other)

    def __hash__(self) -> int:
        from .structural import structural_hash

        return structural_hash(self)


class TypeKind:
    """What a type variable stands for."""

    Type = 0
    ShapeVar = 1
    BaseType = 2
    Constraint = 4
    AdtHandle = 5
    TypeData = 6


class PrimType(Type):
    """The type of a scalar or vector value."""

    __slots__ = ("dtype",)
    type_key = "PrimType"
    FIELDS = "dtype:x"

    def __init__(self, dtype: object) -> None:
        self.dtype = _dtype.canonical(dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PrimType) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)


class PointerType(Type):
    """The type of a pointer to elements, in a storage scope.

    Parameters
    ----------
    element_type : Type or str
        What is pointed to.
    storage_scope : str
        "" and "global" are main memory.
    """

    __slots__ = ("element_type", "storage_scope")
    type_key = "PointerType"
    FIELDS = "element_type:r storage_scope:x"

    def __init__(self, element_type: Type | str, storage_scope: str = "") -> None:
        if isinstance(element_type, str):
            element_type = PrimType(element_type)
        self.element_type = element_type
        self.storage_scope = str(storage_scope)


class TupleType(Type):
    """The type of several values together; of none for a function without a result."""

    __slots__ = ("fields_",)
    type_key = "TupleType"
    FIELDS = "fields_:r"

    def __init__(self, fields_: object = ()) -> None:
        self.fields_: tuple[Type, ...] = tuple(fields_)  # type: ignore[arg-type]


class TypeVar(Type):
    """A named type parameter."""

    __slots__ = ("kind", "name_hint")
    type_key = "TypeVar"
    FIELDS = "name_hint:x kind:x"

    def __init__(self, name_hint: str, kind: int = TypeKind.Type) -> None:
        self.name_hint = name_hint
        self.kind = kind

    # Two variables of one name are two variables.
    __eq__ = Node.same_as
    __hash__ = Node.__hash__

    @property
    def name(self) -> str:
        """The name."""
        return self.name_hint


class TypeConstraint(Type):
    """Base class of what must hold between types."""

    __slots__ = ()


class TypeRelation(TypeConstraint):
    """A function that relates types, of which the first `num_inputs` are given.

    Parameters
    ----------
    func : EnvFunc
        The function.
    args : list of Type
        The types.
    num_inputs : int
        How many of them are given.
    attrs : Attrs
        What else the function gets.
    """

    __slots__ = ("args", "attrs", "func", "num_inputs")
    type_key = "TypeRelation"
    FIELDS = "func:r args:r num_inputs:x attrs:r"

    def __init__(self, func: object, args: object, num_inputs: int, attrs: object) -> None:
        self.func = func
        self.args: tuple[Type, ...] = tuple(args)  # type: ignore[arg-type]
        self.num_inputs = int(num_inputs)
        self.attrs = attrs


class FuncType(Type):
    """The type of a function.

    Parameters
    ----------
    arg_types : list of Type
        Those of the parameters.
    ret_type : Type
        That of the result.
    type_params : list of TypeVar, optional
        What the types may depend on.
    type_constraints : list of TypeConstraint, optional
        What must hold between them.
    """

    __slots__ = ("arg_types", "ret_type", "type_constraints", "type_params")
    type_key = "FuncType"
    FIELDS = "type_params:r arg_types:r ret_type:r type_constraints:r"

    def __init__(
        self,
        arg_types: object,
        ret_type: Type,
        type_params: object = (),
        type_constraints: object = (),
    ) -> None:
        self.arg_types: tuple[Type, ...] = tuple(arg_types)  # type: ignore[arg-type]
        self.ret_type = ret_type
        self.type_params: tuple[Type, ...] = tuple(type_params or ())  # type: ignore[arg-type]
        constraints: object = type_constraints or ()
        self.type_constraints: tuple[Type, ...] = tuple(constraints)  # type: ignore[arg-type]


class TensorType(Type):
    """The type of a tensor: shape and element type."""

    __slots__ = ("dtype", "shape")
    type_key = "TensorType"
    FIELDS = "shape:es dtype:x"

    def __init__(self, shape: object, dtype: object = "float32") -> None:
        self.shape: tuple[Node, ...] = tuple(shape)  # type: ignore[arg-type]
        self.dtype = _dtype.canonical(dtype)
