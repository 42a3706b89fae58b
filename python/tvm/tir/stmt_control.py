"""Statements that decide what runs: bindings, loops, branches, sequences."""

from __future__ import annotations

from .. import error
from ..ir import dtype as _dtype
from ..ir.base import Node
from ..ir.expr import PrimExpr
from .expr import DATA, IterVar, StringImm, Var, convert, new_kind
from .expr_values import below

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Stmt(Node):
    """Base class of statements."""

    __slots__ = ("depth", "kinds")


def _is_bool(expr: Any) -> bool:
    return bool(_dtype.info(expr.dtype).is_bool)


def condition_of(name: str, value: Any) -> Any:
    value = convert(value)
    if not _is_bool(value):
        raise error.TypeError_(f"tir.{name}: expected a bool condition, but got {value.dtype}")
    return value


class LetStmt(Stmt):
    """Run `body` with `var` standing for `value`."""

    __slots__ = ("body", "value", "var")
    type_key = "tir.LetStmt"
    KIND = new_kind()
    FIELDS = "value:e var:d body:s"

    def __init__(self, var: Var, value: Any, body: Any, span: object = None) -> None:
        value = convert(value)
        if value.dtype != var.dtype:
            raise error.TypeError_(
                f"tir.LetStmt: {var.name} is of dtype {var.dtype}, but its value of {value.dtype}"
            )
        self.var = var
        self.value = value
        self.body = body
        self.kinds = value.kinds | body.kinds | self.KIND
        self.depth = max(value.depth, body.depth) + 1


class AssertStmt(Stmt):
    """Fail with `message` unless `condition` holds, then run `body`."""

    __slots__ = ("body", "condition", "message")
    type_key = "tir.AssertStmt"
    KIND = new_kind()
    FIELDS = "condition:e message:e body:s"

    def __init__(self, condition: Any, message: Any, body: Any, span: object = None) -> None:
        self.condition = condition = condition_of("AssertStmt", condition)
        self.message = message = convert(message)
        self.body = body
        self.kinds = condition.kinds | message.kinds | body.kinds | self.KIND
        self.depth = max(condition.depth, body.depth) + 1


class ForKind:
    """How the iterations of a loop run; instances compare equal to their numbers."""

    SERIAL: ForKind
    PARALLEL: ForKind
    VECTORIZED: ForKind
    UNROLLED: ForKind
    THREAD_BINDING: ForKind

    __slots__ = ("name", "value")
    _all: list[ForKind] = []

    def __init__(self, name: str, value: int) -> None:
        self.name = name
        self.value = value
        self._all.append(self)

    @classmethod
    def of(cls, kind: ForKind | int) -> ForKind:
        """The kind with this number."""
        if isinstance(kind, ForKind):
            return kind
        if isinstance(kind, int) and 0 <= kind < len(cls._all):
            return cls._all[kind]
        raise error.ValueError_(
            f"expected a ForKind ({', '.join(item.name for item in cls._all)}), but got {kind!r}"
        )

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, int) and other == self.value)

    def __hash__(self) -> int:
        return hash(self.value)

    def __int__(self) -> int:
        return self.value

    __index__ = __int__

    def __repr__(self) -> str:
        return f"ForKind.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return ForKind.of, (self.value,)


for _number, _name in enumerate(("SERIAL", "PARALLEL", "VECTORIZED", "UNROLLED", "THREAD_BINDING")):
    setattr(ForKind, _name, ForKind(_name, _number))


class For(Stmt):
    """Run `body` for loop_var = min .. min + extent - 1."""

    __slots__ = ("annotations", "body", "extent", "kind", "loop_var", "min", "thread_binding")
    type_key = "tir.For"
    KIND = new_kind()
    FIELDS = "min:e extent:e loop_var:d kind:x thread_binding:r annotations:r body:s"

    def __init__(
        self,
        loop_var: Var,
        min: Any,
        extent: Any,
        kind: ForKind | int,
        body: Any,
        thread_binding: IterVar | None = None,
        annotations: Any = None,
        span: object = None,
    ) -> None:
        min = min if isinstance(min, PrimExpr) else _bound(min, loop_var.dtype)
        extent = extent if isinstance(extent, PrimExpr) else _bound(extent, loop_var.dtype)
        self.loop_var = loop_var
        self.min = min
        self.extent = extent
        self.kind = kind if type(kind) is ForKind else ForKind.of(kind)
        self.body = body
        self.thread_binding = thread_binding
        self.annotations = dict(annotations) if annotations else {}
        self.kinds = min.kinds | extent.kinds | body.kinds | self.KIND
        depth = body.depth
        if min.depth > depth or extent.depth > depth:
            depth = max_depth(min, extent)
        self.depth = depth + 1


def _bound(value: Any, dtype: str) -> Any:
    if isinstance(value, int):
        from .expr import IntImm

        return IntImm(dtype, value)
    return convert(value)


def max_depth(*items: Any) -> int:
    """The greatest depth of some nodes."""
    return max([int(item.depth) for item in items])


class While(Stmt):
    """Run `body` as long as `condition` holds."""

    __slots__ = ("body", "condition")
    type_key = "tir.While"
    KIND = new_kind()
    FIELDS = "condition:e body:s"

    def __init__(self, condition: Any, body: Any, span: object = None) -> None:
        self.condition = condition = condition_of("While", condition)
        self.body = body
        self.kinds = condition.kinds | body.kinds | self.KIND
        self.depth = max(condition.depth, body.depth) + 1


class AttrStmt(Stmt):
    """Something that is said about `node` while `body` runs."""

    __slots__ = ("attr_key", "body", "node", "value")
    type_key = "tir.AttrStmt"
    KIND = new_kind()
    FIELDS = "node:r attr_key:x value:e body:s"

    def __init__(
        self, node: Any, attr_key: str, value: Any, body: Any, span: object = None
    ) -> None:
        self.node = node
        self.attr_key = str(attr_key)
        self.value = value = convert(value)
        self.body = body
        self.kinds = value.kinds | body.kinds | self.KIND
        self.depth = max(value.depth, body.depth) + 1


class SeqStmt(Stmt):
    """Statements one after another."""

    __slots__ = ("seq",)
    type_key = "tir.SeqStmt"
    KIND = new_kind()
    FIELDS = "seq:ss"

    def __init__(self, seq: Any, span: object = None) -> None:
        self.seq = tuple(seq)
        for item in self.seq:
            if not isinstance(item, Stmt):
                raise error.TypeError_(
                    f"SeqStmt: expected statements, but got {type(item).__name__}"
                )
        self.kinds, self.depth = below(self.seq, self.KIND, 0)
        self.depth += 1

    def __getitem__(self, index: int) -> Any:
        return self.seq[index]

    def __len__(self) -> int:
        return len(self.seq)

    def __iter__(self) -> Any:
        return iter(self.seq)


class IfThenElse(Stmt):
    """Run one of two statements; `else_case` may be None."""

    __slots__ = ("condition", "else_case", "then_case")
    type_key = "tir.IfThenElse"
    KIND = new_kind()
    FIELDS = "condition:e then_case:s else_case:s"

    def __init__(
        self, condition: Any, then_case: Any, else_case: Any = None, span: object = None
    ) -> None:
        self.condition = condition = condition_of("IfThenElse", condition)
        self.then_case = then_case
        self.else_case = else_case
        kinds = condition.kinds | then_case.kinds | self.KIND
        depth = max(condition.depth, then_case.depth)
        if else_case is not None:
            kinds |= else_case.kinds
            depth = max(depth, else_case.depth)
        self.kinds = kinds
        self.depth = depth + 1


class Evaluate(Stmt):
    """Evaluate an expression for its effect; of a constant, nothing at all."""

    __slots__ = ("value",)
    type_key = "tir.Evaluate"
    KIND = new_kind()
    FIELDS = "value:e"

    def __init__(self, value: Any, span: object = None) -> None:
        self.value = value = convert(value)
        self.kinds = value.kinds | self.KIND
        self.depth = value.depth + 1


def is_no_op(stmt: Stmt) -> bool:
    """Whether a statement does nothing: Evaluate of a constant, or an empty sequence."""
    if type(stmt) is Evaluate:
        return not stmt.value.kinds & DATA and not isinstance(stmt.value, StringImm)
    return type(stmt) is SeqStmt and all(is_no_op(item) for item in stmt.seq)


def stmt_seq(*args: Any) -> Any:
    """The given statements in order; a single one stays as it is."""
    items = [item if isinstance(item, Stmt) else Evaluate(item) for item in args]
    return items[0] if len(items) == 1 else SeqStmt(items)


def stmt_list(stmt: Any) -> list[Any]:
    """The statements of a sequence, nested sequences flattened."""
    if isinstance(stmt, SeqStmt):
        found: list[Any] = []
        for item in stmt.seq:
            found.extend(stmt_list(item))
        return found
    return [stmt]


def flatten_seq(items: Any) -> Any:
    """One statement that runs `items`: nested sequences are flattened, no-ops left out."""
    flat: list[Any] = []
    for item in items:
        if type(item) is SeqStmt:
            flat.extend(part for part in stmt_list(item) if not is_no_op(part))
        elif not is_no_op(item):
            flat.append(item)
    if not flat:
        return Evaluate(0)
    return flat[0] if len(flat) == 1 else SeqStmt(flat)
