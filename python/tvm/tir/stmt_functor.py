"""Visitors and mutators, and the functions over them.

A functor has one method a node class, named after it: `visit_add_`, `visit_buffer_load_`,
`visit_for_`. The defaults are made from the field tables. Two properties make passes cheap:

* a mutator that changes nothing below a node returns that very node;
* subtrees in which no overridden method can be reached are not entered at all (`node.kinds`).
"""

from __future__ import annotations

from ..ir.base import NODE_CLASSES
from ..ir.deep import call_deep
from ..ir.expr import PrimExpr, Range
from . import expr as _expr
from . import stmt as _stmt
from .buffer import Buffer
from .expr import DATA, BufferLoad, IterVar, Var
from .function import PrimFunc
from .stmt import Stmt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

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
        for cls in EXPR_CLASSES:
            self[cls] = functor.visit_expr  # type: ignore[attr-defined]
        for cls in STMT_CLASSES:
            self[cls] = functor.visit_stmt  # type: ignore[attr-defined]


class _Functor:
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
        code = cls.__init__.__code__
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
        method.__doc__ = f"Visit the children of a {cls.__name__}."
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


class _PostOrder(StmtExprVisitor):
    def __init__(self, function: Callable[[Any], None]) -> None:
        self._function = function
        self._seen: set[int] = set()

    def visit_expr(self, expr: Any) -> None:
        if id(expr) not in self._seen:
            self._seen.add(id(expr))
            self._dispatch[type(expr)](self, expr)
            self._function(expr)

    def visit_stmt(self, stmt: Any) -> None:
        if id(stmt) not in self._seen:
            self._seen.add(id(stmt))
            self._dispatch[type(stmt)](self, stmt)
            self._function(stmt)


def post_order_visit(stmt: Any, fvisit: Callable[[Any], None]) -> None:
    """Call `fvisit(node)` once for each node object, children before parents."""
    _PostOrder(fvisit)(stmt.body if isinstance(stmt, PrimFunc) else stmt)


class _PreOrder(StmtExprVisitor):
    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self._seen: set[int] = set()

    def visit_expr(self, expr: Any) -> None:
        if id(expr) not in self._seen:
            self._seen.add(id(expr))
            if self._function(expr) is not False:
                self._dispatch[type(expr)](self, expr)

    def visit_stmt(self, stmt: Any) -> None:
        if id(stmt) not in self._seen:
            self._seen.add(id(stmt))
            if self._function(stmt) is not False:
                self._dispatch[type(stmt)](self, stmt)


def pre_order_visit(stmt: Any, fvisit: Callable[[Any], Any]) -> None:
    """Call `fvisit(node)` before the node's children, which are left out if it returns False."""
    _PreOrder(fvisit)(stmt.body if isinstance(stmt, PrimFunc) else stmt)


class _Transform(StmtExprMutator):
    def __init__(
        self,
        preorder: Callable[[Any], Any] | None,
        postorder: Callable[[Any], Any] | None,
        only: frozenset[str] | None,
    ) -> None:
        self._preorder = preorder
        self._postorder = postorder
        self._only = only

    def _apply(self, node: Any) -> Any:
        wanted = self._only is None or node.type_key in self._only
        if wanted and self._preorder is not None:
            replaced = self._preorder(node)
            if replaced is not None:
                return replaced
        made = self._dispatch[type(node)](self, node)
        if wanted and self._postorder is not None:
            replaced = self._postorder(made)
            if replaced is not None:
                return replaced
        return made

    def visit_expr(self, expr: Any) -> Any:
        return self._apply(expr)

    def visit_stmt(self, stmt: Any) -> Any:
        return self._apply(stmt)


def ir_transform(
    stmt: Any,
    preorder: Callable[[Any], Any] | None,
    postorder: Callable[[Any], Any] | None,
    only_enable: list[str] | None = None,
) -> Any:
    """Rewrite nodes.

    Parameters
    ----------
    preorder, postorder : function or None
        Called with a node before its children are rewritten, and with the rewritten node after;
        None as result means no change. A result of `preorder` is final.
    only_enable : list of str, optional
        Type keys, as "tir.For"; other nodes are not shown to the functions.
    """
    only = None if not only_enable else frozenset(str(item) for item in only_enable)
    return _Transform(preorder, postorder, only)(stmt)


class _Substitute(StmtExprMutator):
    def __init__(self, mapping: Callable[[Var], Any], pointers: bool) -> None:
        self._find = mapping
        self._pointers = pointers
        self._buffers: dict[Buffer, Buffer] = {}

    def visit_var_(self, op: Any) -> Any:
        found = self._find(op)
        return op if found is None else found

    visit_size_var_ = visit_var_

    def _buffer(self, buffer: Buffer) -> Buffer:
        if not self._pointers:
            return buffer
        made = self._buffers.get(buffer)
        if made is None:
            data = self.visit_var_(buffer.data)
            shape = self._mutate_all(buffer.shape)
            strides = self._mutate_all(buffer.strides)
            offset = self.visit(buffer.elem_offset)
            same = (data is buffer.data and shape is buffer.shape and strides is buffer.strides
                    and offset is buffer.elem_offset)  # fmt: skip
            made = (
                buffer
                if same
                else replace_buffer(
                    buffer, data=data, shape=shape, strides=strides, elem_offset=offset
                )
            )
            self._buffers[buffer] = made
        return made

    def visit_buffer_load_(self, op: Any) -> Any:
        made = super().visit_buffer_load_(op)  # type: ignore[misc]
        buffer = self._buffer(made.buffer)
        return made if buffer is made.buffer else BufferLoad(buffer, made.indices)

    def visit_buffer_store_(self, op: Any) -> Any:
        made = super().visit_buffer_store_(op)  # type: ignore[misc]
        buffer = self._buffer(made.buffer)
        if buffer is made.buffer:
            return made
        return _stmt.BufferStore(buffer, made.value, made.indices)

    def visit_decl_buffer_(self, op: Any) -> Any:
        made = super().visit_decl_buffer_(op)  # type: ignore[misc]
        buffer = self._buffer(made.buffer)
        return made if buffer is made.buffer else _stmt.DeclBuffer(buffer, made.body)

    def visit_attr_stmt_(self, op: Any) -> Any:
        made = super().visit_attr_stmt_(op)  # type: ignore[misc]
        node = made.node
        if isinstance(node, Var):
            node = self.visit_var_(node)
        elif isinstance(node, IterVar):
            var = self.visit_var_(node.var)
            if isinstance(var, Var) and var is not node.var:
                node = IterVar(node.dom, var, node.iter_type, node.thread_tag)
        elif isinstance(node, Buffer):
            node = self._buffer(node)
        if node is made.node:
            return made
        return _stmt.AttrStmt(node, made.attr_key, made.value, made.body)


def replace_buffer(buffer: Buffer, **changes: Any) -> Buffer:
    """A buffer that differs in some fields."""
    fields = {name: getattr(buffer, name) for name, _ in Buffer.fields}
    fields.update(changes)
    return Buffer(**fields)


def substitute(node: Any, vmap: Any) -> Any:
    """Replace free variables.

    Parameters
    ----------
    node : PrimExpr or Stmt
        Where.
    vmap : dict of Var to PrimExpr, or function
        By what; a function returns None for a variable that stays.
    """
    if callable(vmap):
        return _Substitute(vmap, True)(node)
    if not vmap:
        return node
    converted: Mapping[Any, Any] = {
        getattr(key, "var", key): _expr.convert(value) for key, value in vmap.items()
    }
    if isinstance(node, Range):
        rewriter = _Substitute(converted.get, True)
        return rewriter.visit_range(node)
    if isinstance(node, Buffer):
        return _Substitute(converted.get, True)._buffer(node)
    return _Substitute(converted.get, isinstance(node, Stmt))(node)


def renew_defs(func: PrimFunc) -> PrimFunc:
    """The same function with fresh variables and buffers wherever one is defined."""
    from ..ir.serialization import load_json, save_json

    return load_json(save_json(func))  # type: ignore[no-any-return]


class _UsesVar(StmtExprVisitor):
    def __init__(self, wanted: Callable[[Any], bool]) -> None:
        self.found = False
        self._wanted = wanted

    def visit_var_(self, op: Any) -> None:
        if self._wanted(op):
            self.found = True

    visit_size_var_ = visit_var_


def uses_var(node: Any, wanted: Any) -> bool:
    """Whether a variable occurs: one Var, a set of them, or those that a function accepts."""
    if isinstance(wanted, Var):
        accept: Callable[[Any], bool] = wanted.same_as
    elif callable(wanted):
        accept = wanted
    else:
        accept = wanted.__contains__
    visitor = _UsesVar(accept)
    visitor(node)
    return visitor.found
