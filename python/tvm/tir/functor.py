"""The machinery of visitors and mutators.

A functor has one method a node class, named after it: `visit_add_`, `visit_buffer_load_`,
`visit_for_`. The defaults are made from the field tables. Two properties make passes cheap:

* a mutator that changes nothing below a node returns that very node;
* subtrees in which no overridden method can be reached are not entered at all (`node.kinds`).
"""

from __future__ import annotations

from ..ir.base import NODE_CLASSES
from ..ir.deep import call_deep
from ..ir.expr import PrimExpr, Range
from . import stmt as _stmt
from .expr import DATA, IterVar
from .function import PrimFunc
from .stmt import Stmt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    class Methods:
        """What is made from the field tables, spelled out for type checkers."""

        def visit_var_(self, op: Any) -> Any: ...
        def visit_size_var_(self, op: Any) -> Any: ...
        def visit_int_imm_(self, op: Any) -> Any: ...
        def visit_float_imm_(self, op: Any) -> Any: ...
        def visit_string_imm_(self, op: Any) -> Any: ...
        def visit_add_(self, op: Any) -> Any: ...
        def visit_sub_(self, op: Any) -> Any: ...
        def visit_mul_(self, op: Any) -> Any: ...
        def visit_div_(self, op: Any) -> Any: ...
        def visit_mod_(self, op: Any) -> Any: ...
        def visit_floor_div_(self, op: Any) -> Any: ...
        def visit_floor_mod_(self, op: Any) -> Any: ...
        def visit_min_(self, op: Any) -> Any: ...
        def visit_max_(self, op: Any) -> Any: ...
        def visit_eq_(self, op: Any) -> Any: ...
        def visit_ne_(self, op: Any) -> Any: ...
        def visit_lt_(self, op: Any) -> Any: ...
        def visit_le_(self, op: Any) -> Any: ...
        def visit_gt_(self, op: Any) -> Any: ...
        def visit_ge_(self, op: Any) -> Any: ...
        def visit_and_(self, op: Any) -> Any: ...
        def visit_or_(self, op: Any) -> Any: ...
        def visit_not_(self, op: Any) -> Any: ...
        def visit_cast_(self, op: Any) -> Any: ...
        def visit_select_(self, op: Any) -> Any: ...
        def visit_ramp_(self, op: Any) -> Any: ...
        def visit_broadcast_(self, op: Any) -> Any: ...
        def visit_shuffle_(self, op: Any) -> Any: ...
        def visit_buffer_load_(self, op: Any) -> Any: ...
        def visit_producer_load_(self, op: Any) -> Any: ...
        def visit_call_(self, op: Any) -> Any: ...
        def visit_let_(self, op: Any) -> Any: ...
        def visit_any_(self, op: Any) -> Any: ...
        def visit_reduce_(self, op: Any) -> Any: ...
        def visit_let_stmt_(self, op: Any) -> Any: ...
        def visit_assert_stmt_(self, op: Any) -> Any: ...
        def visit_for_(self, op: Any) -> Any: ...
        def visit_while_(self, op: Any) -> Any: ...
        def visit_buffer_store_(self, op: Any) -> Any: ...
        def visit_buffer_realize_(self, op: Any) -> Any: ...
        def visit_producer_store_(self, op: Any) -> Any: ...
        def visit_producer_realize_(self, op: Any) -> Any: ...
        def visit_prefetch_(self, op: Any) -> Any: ...
        def visit_allocate_(self, op: Any) -> Any: ...
        def visit_allocate_const_(self, op: Any) -> Any: ...
        def visit_decl_buffer_(self, op: Any) -> Any: ...
        def visit_attr_stmt_(self, op: Any) -> Any: ...
        def visit_seq_stmt_(self, op: Any) -> Any: ...
        def visit_if_then_else_(self, op: Any) -> Any: ...
        def visit_evaluate_(self, op: Any) -> Any: ...
        def visit_block_(self, op: Any) -> Any: ...
        def visit_block_realize_(self, op: Any) -> Any: ...
else:
    Methods = object

_NAMES = {"EQ": "eq", "NE": "ne", "LT": "lt", "LE": "le", "GT": "gt", "GE": "ge", "Any_": "any"}


def method_name(cls: type) -> str:
    """The functor method for a node class."""
    name = _NAMES.get(cls.__name__)
    if name is None:
        name = "".join("_" + c.lower() if c.isupper() else c for c in cls.__name__).lstrip("_")
    return f"visit_{name}_"


def _abstract(cls: type) -> bool:
    return "type_key" not in cls.__dict__


EXPR_CLASSES = tuple(
    cls for cls in NODE_CLASSES.values() if issubclass(cls, PrimExpr) and not _abstract(cls)
)
STMT_CLASSES = tuple(
    cls for cls in NODE_CLASSES.values() if issubclass(cls, Stmt) and not _abstract(cls)
)


class _Table(dict):  # type: ignore[type-arg]
    """The methods of one functor class by node class."""

    def __init__(self, functor: type) -> None:
        super().__init__()
        for cls in EXPR_CLASSES + STMT_CLASSES:
            self[cls] = getattr(functor, method_name(cls))

    def __missing__(self, cls: type) -> Any:
        raise TypeError(
            f"expected an expression or a statement, but got {cls.__module__}.{cls.__qualname__}"
        )


class _Entry(_Table):
    """As `_Table`, but every visit goes by way of the functor's own visit_expr or visit_stmt."""

    def __init__(self, functor: type) -> None:
        dict.__init__(self)
        self.update(dict.fromkeys(EXPR_CLASSES, functor.visit_expr))  # type: ignore[attr-defined]
        self.update(dict.fromkeys(STMT_CLASSES, functor.visit_stmt))  # type: ignore[attr-defined]


class _Functor(Methods):
    """What visitors and mutators share: the tables, made once for each class."""

    _mask: int = 0
    _table: dict[type, Any] = {}
    _dispatch: dict[type, Any] = {}
    # Methods that a base class made, which therefore do not count as overridden.
    _defaults: frozenset[Any] = frozenset()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._prepare()

    @classmethod
    def _prepare(cls) -> None:
        if not hasattr(cls, "visit_add_"):
            return
        cls._dispatch = _Table(cls)
        own_entry = cls.visit_expr not in cls._defaults or cls.visit_stmt not in cls._defaults
        cls._table = _Entry(cls) if own_entry else cls._dispatch
        mask = 0
        for kind, method in cls._dispatch.items():
            if method not in cls._defaults:
                mask |= kind.KIND & ~DATA
        cls._mask = -1 if own_entry else mask

    def visit_expr(self, expr: Any) -> Any:
        """Visit an expression; override to see every one."""
        return self._dispatch[type(expr)](self, expr)

    def visit_stmt(self, stmt: Any) -> Any:
        """Visit a statement; override to see every one."""
        return self._dispatch[type(stmt)](self, stmt)


def _visit_lines(cls: type) -> list[str]:
    lines = ["m = self._mask", "t = self._table"]
    for name, kind in cls.fields:  # type: ignore[attr-defined]
        if kind in ("e", "s"):
            lines += [f"c = op.{name}", "if c is not None and c.kinds & m: t[type(c)](self, c)"]
        elif kind in ("es", "ss"):
            lines += [f"for c in op.{name}:", "    if c.kinds & m: t[type(c)](self, c)"]
        elif kind == "rs":
            lines += [f"for r in op.{name}:", "    if r.kinds & m: self.visit_range(r)"]
        elif kind == "ax":
            lines += [
                f"for v in op.{name}:",
                "    if v.dom is not None and v.dom.kinds & m: self.visit_range(v.dom)",
            ]
    return lines


def _mutate_lines(cls: type) -> list[str]:
    lines = ["m = self._mask", "t = self._table"]
    changed = []
    local = {}
    for number, (name, kind) in enumerate(cls.fields):  # type: ignore[attr-defined]
        c = f"c{number}"
        if kind in ("e", "s"):
            lines += [
                f"{c} = op.{name}",
                f"if {c} is not None and {c}.kinds & m: {c} = t[type({c})](self, {c})",
            ]
        elif kind in ("es", "ss"):
            lines += [
                f"{c} = op.{name}",
                f"for x in {c}:",
                f"    if x.kinds & m: {c} = self._mutate_all({c}); break",
            ]
        elif kind == "rs":
            lines.append(f"{c} = self._mutate_ranges(op.{name})")
        elif kind == "ax":
            lines.append(f"{c} = self._mutate_axes(op.{name})")
        else:
            continue
        changed.append(f"{c} is op.{name}")
        local[name] = c
    if not changed:
        return ["return op"]
    if cls is _stmt.SeqStmt:
        made = f"make_seq({local['seq']})"
    else:
        code = cls.__init__.__code__  # type: ignore[misc]
        names = code.co_varnames[1 : code.co_argcount]
        parts = [f"{n}={local.get(n, 'op.' + n)}" for n in names if n != "span"]
        made = f"{cls.__name__}({', '.join(parts)})"
    return [*lines, f"if {' and '.join(changed)}: return op", f"return {made}"]


def _first_call(self: Any, op: Any) -> Any:
    return compiled(type(op))(self, op)  # type: ignore[name-defined]  # noqa: F821


_FUNCTION: Any = type(_first_call)


def _make_methods(lines_of: Callable[[type], list[str]]) -> dict[str, Any]:
    """One method a node class, from the class's field table, compiled when it is first called."""
    methods: dict[str, Any] = {}
    scope: dict[str, Any] = {"make_seq": _stmt.flatten_seq}

    def compiled(cls: type) -> Any:
        name = method_name(cls)
        lines = [f"def {name}(self, op):", *["    " + line for line in lines_of(cls)]]
        made: dict[str, Any] = {}
        exec("\n".join(lines), scope, made)
        # The function stays the same object, which tables of functors already hold.
        methods[name].__code__ = made[name].__code__
        return methods[name]

    scope["compiled"] = compiled
    for cls in EXPR_CLASSES + STMT_CLASSES:
        scope[cls.__name__] = cls
        name = method_name(cls)
        method = _FUNCTION(_first_call.__code__, scope, name)
        method.__doc__ = f"Visit the children of a node of kind `{cls.__name__.rstrip('_')}`."
        methods[name] = method
    return methods


class StmtExprVisitor(_Functor):
    """Walks over statements and expressions. Override `visit_<node>_`; call super to go on."""

    def visit(self, node: Any) -> None:
        """Visit a statement, an expression or a function's body."""
        if isinstance(node, PrimFunc):
            node = node.body
        if node.kinds & self._mask:
            self._table[type(node)](self, node)

    def visit_range(self, item: Range) -> None:
        """Visit both bounds of a range."""
        for bound in (item.min, item.extent):
            if bound.kinds & self._mask:
                self._table[type(bound)](self, bound)

    def __call__(self, node: Any) -> None:
        call_deep(node.depth, self.visit, node)


class StmtExprMutator(_Functor):
    """Rewrites statements and expressions. Override `visit_<node>_`; call super to go on."""

    def visit(self, node: Any) -> Any:
        """The rewritten statement or expression, or the same one."""
        if isinstance(node, PrimFunc):
            return node.with_body(self.visit(node.body))
        if node.kinds & self._mask:
            return self._table[type(node)](self, node)
        return node

    def visit_range(self, item: Range) -> Range:
        """A range with both bounds rewritten, or the same one."""
        if not item.kinds & self._mask:
            return item
        lower, extent = self.visit(item.min), self.visit(item.extent)
        if lower is item.min and extent is item.extent:
            return item
        return Range.from_min_extent(lower, extent)

    def _mutate_all(self, items: tuple[Any, ...]) -> tuple[Any, ...]:
        mask, table = self._mask, self._table
        made = []
        same = True
        for item in items:
            if item.kinds & mask:
                new = table[type(item)](self, item)
                if new is not item:
                    same = False
                    item = new
            made.append(item)
        return items if same else tuple(made)

    def _mutate_ranges(self, items: tuple[Range, ...]) -> tuple[Range, ...]:
        made = tuple([self.visit_range(item) for item in items])
        return items if all(x is y for x, y in zip(items, made)) else made

    def _mutate_axes(self, items: tuple[IterVar, ...]) -> tuple[IterVar, ...]:
        made = []
        for item in items:
            dom = item.dom if item.dom is None else self.visit_range(item.dom)
            if dom is item.dom:
                made.append(item)
            else:
                made.append(IterVar(dom, item.var, item.iter_type, item.thread_tag))
        return items if all(x is y for x, y in zip(items, made)) else tuple(made)

    def __call__(self, node: Any) -> Any:
        return call_deep(node.depth, self.visit, node)


for _base, _lines in ((StmtExprVisitor, _visit_lines), (StmtExprMutator, _mutate_lines)):
    _methods = _make_methods(_lines)
    for _name, _method in _methods.items():
        setattr(_base, _name, _method)
    _base._defaults = frozenset([*_methods.values(), _Functor.visit_expr, _Functor.visit_stmt])
    _base._prepare()

# The names of the two halves and of the older interface.
ExprVisitor = StmtVisitor = PyStmtExprVisitor = StmtExprVisitor
ExprMutator = StmtMutator = PyStmtExprMutator = StmtExprMutator
