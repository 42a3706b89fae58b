"""Common subexpression elimination: what is computed more than once gets a name.

    B[i*64 + j] = A[i*64 + j] + 1      ->     cse_var_1 = i*64 + j
                                              B[cse_var_1] = A[cse_var_1] + 1

Expressions without loads and calls count. A name is bound at the start of the innermost loop body
or branch that holds all uses; longer expressions come first, so that parts of them get names only
for uses elsewhere.
"""

from __future__ import annotations

from tvm import tir
from tvm.ir.transform import PassInfo
from tvm.tir import IntImm, PrimFunc, Var
from tvm.tir.stmt_functor import StmtExprMutator, StmtExprVisitor

from .function_pass import PrimFuncPass, named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_BINARY = (
    tir.Add, tir.Sub, tir.Mul, tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod, tir.Min, tir.Max,
)  # fmt: skip
_KINDS = (*_BINARY, tir.Cast)
_MEMORY = (tir.BufferLoad.KIND | tir.ProducerLoad.KIND | tir.Call.KIND | tir.Let.KIND) & ~1
_VECTORS = tir.Ramp.KIND | tir.Broadcast.KIND | tir.Shuffle.KIND
_UNFIT = _MEMORY | _VECTORS

# the names that classic programs look for
PREFIX = "cse_var_"
DATA = tir.expr.DATA

# the scopes around a place, outermost first
Chain = tuple[int, ...]


class _Use:
    """An expression that may get a name."""

    __slots__ = ("chain", "count", "expr", "key", "parents", "roots", "size", "var")

    def __init__(self, key: int, expr: Any, size: int) -> None:
        self.key = key
        self.expr = expr
        self.size = size
        # occurrences that are no part of another such expression, and what holds them all
        self.roots = 0
        self.chain: Chain | None = None
        # larger expressions with this one inside -> how often inside
        self.parents: dict[int, int] = {}
        self.count = 0
        self.var: Var | None = None


def _common(a: Chain | None, b: Chain) -> Chain:
    if a is None or a == b:
        return b
    length = 0
    for x, y in zip(a, b):
        if x != y:
            break
        length += 1
    return a[:length]


class _Keys:
    """Numbers for expressions: equal ones have the same."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.uses: dict[int, _Use] = {}
        self.by_id: dict[int, int] = {}
        # by_id names objects by address: they must stay
        self.held: list[Any] = []

    def _number(self, what: Any) -> int:
        return self.numbers.setdefault(what, len(self.numbers))

    def key(self, expr: Any) -> int:
        """The number of an expression."""
        found = self.by_id.get(id(expr))
        if found is not None:
            return found
        kind = type(expr)
        if kind is tir.Cast:
            inside = [expr.value]
        elif kind in _BINARY:
            inside = [expr.a, expr.b]
        else:
            inside = []
        if inside:
            below = [self.key(part) for part in inside]
            made = self._number((kind, expr.dtype, *below))
            if made not in self.uses:
                sizes = [self.uses[k].size if k in self.uses else 1 for k in below]
                self.uses[made] = _Use(made, expr, 1 + sum(sizes))
                for k in below:
                    if k in self.uses:
                        parents = self.uses[k].parents
                        parents[made] = parents.get(made, 0) + 1
        elif kind is IntImm or kind is tir.FloatImm:
            made = self._number((kind, expr.dtype, repr(expr.value)))
        else:
            made = self._number((kind, id(expr)))
        self.by_id[id(expr)] = made
        self.held.append(expr)
        return made


class _Scopes:
    """Numbers for loop bodies and branches, the same in every walk over one program."""

    chain: Chain
    _next: int

    def start(self) -> None:
        """Before a walk."""
        self.chain = (0,)
        self._next = 1

    def inside(self, run: Callable[[], Any]) -> Any:
        """Run something in a new scope."""
        outer = self.chain
        self.chain = (*outer, self._next)
        self._next += 1
        result = run()
        self.chain = outer
        return result


def _defined_twice(body: Any) -> set[Var]:
    """Variables with several definitions, a thread axis of two kernels for instance."""
    seen: set[Var] = set()
    twice: set[Var] = set()

    def look(node: Any) -> None:
        var = None
        if type(node) is tir.For:
            var = node.loop_var
        elif type(node) is tir.LetStmt:
            var = node.var
        elif type(node) is tir.AttrStmt:
            var = getattr(node.node, "var", None)
        if var is not None:
            (twice if var in seen else seen).add(var)

    _EachStatement(look)(body)
    return twice


class _EachStatement(StmtExprVisitor):
    def __init__(self, look: Callable[[Any], None]) -> None:
        self.look = look

    def visit_for_(self, op: Any) -> None:
        self.look(op)
        super().visit_for_(op)

    def visit_let_stmt_(self, op: Any) -> None:
        self.look(op)
        super().visit_let_stmt_(op)

    def visit_attr_stmt_(self, op: Any) -> None:
        self.look(op)
        super().visit_attr_stmt_(op)


class _Collect(StmtExprVisitor, _Scopes):
    def __init__(self, keys: _Keys, unfit: set[Var]) -> None:
        self.keys = keys
        self.unfit = unfit
        self.depth: dict[Var, int] = {}
        self.start()

    def _is_known(self, expr: Any) -> bool:
        todo = [expr]
        while todo:
            node = todo.pop()
            if isinstance(node, Var):
                if node not in self.depth:
                    return False
            elif type(node) is tir.Cast:
                todo.append(node.value)
            elif type(node) in _BINARY:
                todo += (node.a, node.b)
            elif node.kinds & ~1 & ~(IntImm.KIND | tir.FloatImm.KIND):
                todo += [
                    getattr(node, name) for name, kind in node.fields
                    if kind == "e" and getattr(node, name) is not None
                ]  # fmt: skip
        return True

    def visit_expr(self, expr: Any) -> None:
        if type(expr) in _KINDS and not expr.kinds & _UNFIT and self._is_known(expr):
            use = self.keys.uses[self.keys.key(expr)]
            use.roots += 1
            use.chain = _common(use.chain, self.chain)
            return
        super().visit_expr(expr)

    def _define(self, var: Var, body: Any) -> None:
        def run() -> None:
            if var not in self.unfit:
                self.depth[var] = len(self.chain)
            self.visit(body)

        self.inside(run)

    def visit_for_(self, op: Any) -> None:
        self.visit(op.min)
        self.visit(op.extent)
        self._define(op.loop_var, op.body)

    def visit_let_stmt_(self, op: Any) -> None:
        self.visit(op.value)
        self._define(op.var, op.body)

    def visit_if_then_else_(self, op: Any) -> None:
        self.visit(op.condition)
        self.inside(lambda: self.visit(op.then_case))
        if op.else_case is not None:
            self.inside(lambda: self.visit(op.else_case))

    def visit_while_(self, op: Any) -> None:
        self.inside(lambda: self.visit(op.body))

    def visit_attr_stmt_(self, op: Any) -> None:
        var = getattr(op.node, "var", None)
        if op.attr_key in ("thread_extent", "virtual_thread") and var is not None:
            self._define(var, op.body)
        else:
            self.visit(op.body)

    def visit_allocate_(self, op: Any) -> None:
        self.visit(op.body)


def _choose(keys: _Keys) -> dict[Chain, list[_Use]]:
    """The expressions that get a name, by the scope that binds them."""
    chosen: dict[Chain, list[_Use]] = {}
    for use in sorted(keys.uses.values(), key=lambda item: (-item.size, item.key)):
        count, chain = use.roots, use.chain
        for number, times in use.parents.items():
            parent = keys.uses[number]
            if parent.chain is None:
                continue
            count += times * (1 if parent.var is not None else parent.count)
            chain = _common(chain, parent.chain)
        use.count, use.chain = count, chain
        if count > 1 and chain is not None:
            use.var = Var("cse_var", use.expr.dtype)
            chosen.setdefault(chain, []).append(use)
    return chosen


class _Replace(StmtExprMutator, _Scopes):
    def __init__(self, keys: _Keys, chosen: dict[Chain, list[_Use]]) -> None:
        self.keys = keys
        self.chosen = chosen
        self.names = 0
        self.start()

    def visit_expr(self, expr: Any) -> Any:
        number = self.keys.by_id.get(id(expr))
        if number is not None:
            use = self.keys.uses.get(number)
            if use is not None and use.var is not None:
                return use.var
        return super().visit_expr(expr)

    def scope(self, stmt: Any) -> Any:
        """The statement of a scope, with its names bound around."""
        uses = sorted(self.chosen.get(self.chain, ()), key=lambda item: (item.size, item.key))
        values = []
        for use in uses:
            # parts of it that have names are bound before
            values.append(super().visit_expr(use.expr))
            self.names += 1
            use.var = Var(f"{PREFIX}{self.names}", use.expr.dtype)
        stmt = self.visit(stmt)
        for use, value in zip(reversed(uses), reversed(values)):
            assert use.var is not None
            stmt = tir.LetStmt(use.var, value, stmt)
        return stmt

    def visit_for_(self, op: Any) -> Any:
        low, extent = self.visit(op.min), self.visit(op.extent)
        body = self.inside(lambda: self.scope(op.body))
        if low is op.min and extent is op.extent and body is op.body:
            return op
        return tir.For(op.loop_var, low, extent, op.kind, body, op.thread_binding, op.annotations)

    def visit_let_stmt_(self, op: Any) -> Any:
        value = self.visit(op.value)
        body = self.inside(lambda: self.scope(op.body))
        if value is op.value and body is op.body:
            return op
        return tir.LetStmt(op.var, value, body)

    def visit_if_then_else_(self, op: Any) -> Any:
        cond = self.visit(op.condition)
        yes = self.inside(lambda: self.scope(op.then_case))
        no = op.else_case
        if no is not None:
            no = self.inside(lambda: self.scope(op.else_case))
        if cond is op.condition and yes is op.then_case and no is op.else_case:
            return op
        return tir.IfThenElse(cond, yes, no)

    def visit_while_(self, op: Any) -> Any:
        body = self.inside(lambda: self.scope(op.body))
        return op if body is op.body else tir.While(op.condition, body)

    def visit_attr_stmt_(self, op: Any) -> Any:
        if op.attr_key in ("thread_extent", "virtual_thread") and hasattr(op.node, "var"):
            body = self.inside(lambda: self.scope(op.body))
        else:
            body = self.visit(op.body)
        return op if body is op.body else tir.AttrStmt(op.node, op.attr_key, op.value, body)

    def visit_allocate_(self, op: Any) -> Any:
        body = self.visit(op.body)
        if body is op.body:
            return op
        return tir.Allocate(op.buffer_var, op.dtype, op.extents, op.condition, body, op.annotations)


def eliminate_common_subexpressions(func: PrimFunc) -> PrimFunc:
    """Compute expressions that occur more than once only once."""
    keys = _Keys()
    collect = _Collect(keys, _defined_twice(func.body))
    for param in func.params:
        collect.depth[param] = 0
    for buffer in func.buffer_map.values():
        for size in (*buffer.shape, *buffer.strides, buffer.elem_offset):
            if isinstance(size, Var):
                collect.depth[size] = 0
    collect(func.body)
    chosen = _choose(keys)
    if not chosen:
        return func
    from tvm.ir.deep import call_deep

    replace = _Replace(keys, chosen)
    return func.with_body(call_deep(func.body.depth, replace.scope, func.body))


def CommonSubexprElimTIR(
    enable_cse_tir: bool = True, identify_equiv_terms: bool = False
) -> PrimFuncPass:
    """The pass ``tir.CommonSubexprElimTIR``.

    Parameters
    ----------
    enable_cse_tir : bool
        Whether it does anything.
    identify_equiv_terms : bool
        Accepted as classic programs give it: index expressions are in normal form already, so
        that equal ones look alike.
    """

    def run(func: PrimFunc, mod: Any, ctx: Any) -> PrimFunc:
        return eliminate_common_subexpressions(func) if enable_cse_tir else func

    return PrimFuncPass(run, PassInfo(0, "tir.CommonSubexprElimTIR"))


class _Restore(StmtExprMutator):
    def __init__(self) -> None:
        self.values: dict[Var, Any] = {}

    def visit_var_(self, op: Any) -> Any:
        return self.values.get(op, op)

    def visit_let_stmt_(self, op: Any) -> Any:
        if not op.var.name.startswith(PREFIX) or op.value.kinds & DATA:
            return super().visit_let_stmt_(op)
        self.values[op.var] = self.visit(op.value)
        return self.visit(op.body)


def restore_common_subexpressions(func: PrimFunc) -> PrimFunc:
    """Put named expressions back where they are used, as before `CommonSubexprElimTIR`.

    Code generators find what is common themselves, and other passes want to see positions whole.
    """
    if not func.body.kinds & tir.LetStmt.KIND:
        return func
    return func.with_body(_Restore()(func.body))


RestoreCommonSubexpr = named("RestoreCommonSubexpr", restore_common_subexpressions)

__all__ = [
    "CommonSubexprElimTIR",
    "RestoreCommonSubexpr",
    "eliminate_common_subexpressions",
    "restore_common_subexpressions",
]
