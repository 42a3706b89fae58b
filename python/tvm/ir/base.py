"""The base of every IR node and its field table.

A node class says once, in `FIELDS`, what it is made of; equality, hashing, JSON, the visitors, the
mutators and the verifier all read that table, so that adding a node means adding one class here
plus one line each in the printer, the interpreter and the code generators.

The table is one line of text, `"name:kind name:kind ..."`, in the order in which the fields are to
be compared (a definition must come before the uses of it). The kinds are:

====  ====================================================================================
e     an expression below this node, or None
es    a tuple of expressions below it
s     a statement below it, or None
ss    a tuple of statements below it
rs    a tuple of `Range` whose bounds are below it
ax    a tuple of `IterVar` that this node defines; their domains are below it
d     a variable or buffer that this node defines
ds    a tuple of such
r     a reference to any node or container: compared by structure, not visited by functors
x     plain data (text, number, None), compared with ==
n     a name for people: stored, never compared
====  ====================================================================================
"""

from __future__ import annotations

from .. import error
from ..runtime.object import Object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

KINDS = frozenset(("e", "es", "s", "ss", "rs", "ax", "d", "ds", "r", "x", "n"))

# Every concrete node class by its type key; JSON and make_node look classes up here.
NODE_CLASSES: dict[str, type[Node]] = {}

# Classes with `to_state` and `from_state`, by type key: objects that are no nodes and whose parts
# refer to each other in circles. JSON writes their state.
STATE_CLASSES: dict[str, Any] = {}

_printer: Callable[[Any], str] | None = None


def set_printer(function: Callable[[Any], str]) -> None:
    """Installed by `tvm.tir`: how nodes become text."""
    global _printer
    _printer = function


class Node(Object):
    """Base class of IR nodes: immutable, compared by identity unless a subclass says otherwise.

    Every node knows `kinds`, a bit mask of the kinds of expressions and statements at and below
    it, and `depth`, the length of the longest path down. A pass whose kinds do not occur returns
    at once, and the entries of the compiler move very deep programs to a larger stack.
    """

    __slots__ = ()

    FIELDS = ""
    # (name, kind) pairs of FIELDS; filled for each class.
    fields: tuple[tuple[str, str], ...] = ()
    # This class's own bit in `kinds`; only expressions and statements have one.
    KIND = 0
    type_key = "Node"
    # Defaults for the nodes that are neither expression nor statement.
    kinds = 0
    depth = 1

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "FIELDS" in cls.__dict__:
            pairs = tuple(tuple(item.split(":")) for item in cls.FIELDS.split())
            for _, kind in pairs:
                if kind not in KINDS:
                    raise error.InternalError(f"{cls.__name__}: unknown field kind {kind!r}")
            cls.fields = pairs  # type: ignore[assignment]
        if "type_key" in cls.__dict__:
            NODE_CLASSES[cls.type_key] = cls

    def same_as(self, other: object) -> bool:
        """Whether `other` is this very node."""
        return self is other

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return self.__str__()

    def __str__(self) -> str:
        if _printer is not None:
            return _printer(self)
        return f"<{self.type_key}>"

    def astext(self, show_meta_data: bool = True, annotate: object = None) -> str:
        """The text of this node, as `str` gives it."""
        return self.__str__()

    def script(self, **options: object) -> str:
        """The TVMScript-shaped text of this node."""
        return self.__str__()

    def show(self, **options: object) -> None:
        """Print the text of this node."""
        print(self.__str__())

    def __reduce__(self) -> tuple[Any, ...]:
        from .serialization import load_json, save_json

        return load_json, (save_json(self),)

    def __copy__(self) -> Node:
        return self

    def __deepcopy__(self, memo: object) -> Node:
        return self


def new_from_fields(cls: type[Node], values: dict[str, Any]) -> Node:
    """A node of class `cls` with these field values, by way of its constructor's parameters."""
    maker = cls.__dict__.get("from_fields")
    if maker is not None:
        return maker.__get__(None, cls)(values)  # type: ignore[no-any-return]
    return cls(**{name: values[name] for name in constructor_fields(cls) if name in values})


def constructor_fields(cls: type[Node]) -> tuple[str, ...]:
    """Names of the constructor's parameters that are fields."""
    code = cls.__init__.__code__
    names = code.co_varnames[1 : code.co_argcount]
    known = {name for name, _ in cls.fields}
    return tuple(name for name in names if name in known)


class Span(Node):
    """A place in a source text. Accepted everywhere; the compiler keeps none."""

    __slots__ = ("column", "end_column", "end_line", "line", "source_name")
    type_key = "Span"
    FIELDS = "source_name:x line:x end_line:x column:x end_column:x"

    def __init__(
        self, source_name: object, line: int, end_line: int, column: int, end_column: int
    ) -> None:
        self.source_name = source_name
        self.line = line
        self.end_line = end_line
        self.column = column
        self.end_column = end_column
