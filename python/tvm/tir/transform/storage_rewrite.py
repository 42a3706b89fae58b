"""Storage rewrite: temporaries whose lives do not overlap share memory.

    P = allocate([100])                       P = allocate([100])
    Q = allocate([100])                       Q = allocate([100])
    for i: P[i] = A[i] + 1                    for i: P[i] = A[i] + 1
    R = allocate([100])                 ->    for i: Q[i] = P[99 - i]
    for i: Q[i] = P[99 - i]                   for i: P[i] = Q[99 - i]
    for i: R[i] = Q[99 - i]                   for i: B[i] = P[i]
    for i: B[i] = R[i]

A temporary takes over the memory of another one whose last use comes before its own first. Both
may be the same statement only if that computes each element from the element at the same position,
and elements have the same size. Temporaries of at most `REGISTER_BYTES` are left alone: they end
up in registers.
"""

from __future__ import annotations

from tvm import tir
from tvm.ir.deep import call_deep
from tvm.ir.dtype import info
from tvm.ir.structural import exactly_equal
from tvm.tir import IntImm, PrimFunc, Var
from tvm.tir.access import Access, function_access
from tvm.tir.stmt_functor import StmtExprMutator, StmtExprVisitor, substitute

from .function_pass import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tvm.tir import Allocate, Buffer, Stmt

REGISTER_BYTES = 64
_SHARED_SCOPES = ("", "global", "shared")
_ALLOCATE = tir.Allocate.KIND
_BODY = (tir.AttrStmt, tir.LetStmt, tir.DeclBuffer, tir.AssertStmt, tir.AllocateConst)


def bytes_of(node: Allocate) -> int | None:
    """Bytes of an allocation, None if they are not constant."""
    count = 1
    for extent in node.extents:
        if not isinstance(extent, IntImm):
            return None
        count *= max(extent.value, 0)
    found = info(node.dtype)
    bits = 8 if found.is_bool else found.bits
    return (count * bits * found.lanes + 7) // 8


class _HandedOn(StmtExprVisitor):
    """Pointers that get another name, so that their memory may be used later."""

    def __init__(self) -> None:
        self.found: set[Var] = set()

    def visit_let_stmt_(self, op: Any) -> None:
        if op.var.dtype == "handle":
            self.found.update(function_access(tir.Evaluate(op.value)))
        super().visit_let_stmt_(op)

    def visit_let_(self, op: Any) -> None:
        if op.var.dtype == "handle":
            self.found.update(function_access(tir.Evaluate(op.value)))
        super().visit_let_(op)

    def visit_attr_stmt_(self, op: Any) -> None:
        if isinstance(op.node, Var):
            self.found.add(op.node)
        super().visit_attr_stmt_(op)


class _Life:
    """One allocation: where it stands, when it is used."""

    __slots__ = ("node", "number", "end", "first", "last", "size")

    def __init__(self, node: Allocate, number: int) -> None:
        self.node = node
        # those numbered from here up to `end` stand inside of it
        self.number = number
        self.end = -1
        self.first = -1
        self.last = -1
        self.size = bytes_of(node)


class _Frame:
    """What happens in one loop body (or function, or branch) in order."""

    def __init__(self) -> None:
        self.lives: list[_Life] = []
        self.events: list[Stmt] = []
        self.accesses: list[dict[Any, Access]] = []
        self.escaped: set[Var] = set()

    def collect(self, stmt: Any) -> None:
        """Note the allocations and the other statements of a frame in order."""
        opened: list[_Life] = []
        while True:
            kind = type(stmt)
            if kind is tir.Allocate:
                opened.append(_Life(stmt, len(self.lives)))
                self.lives.append(opened[-1])
            elif kind in _BODY:
                self.escaped.update(_named(stmt))
            else:
                break
            stmt = stmt.body
        if kind is tir.SeqStmt:
            for part in stmt.seq:
                self.collect(part)
        else:
            self.events.append(stmt)
        for life in opened:
            life.end = len(self.lives)

    def plan(self) -> tuple[dict[Var, Var], dict[Var, int]]:
        """Which pointer becomes which, and the sizes in bytes of those that grow."""
        lives = {life.node.buffer_var: life for life in self.lives}
        for number, event in enumerate(self.events):
            handed_on = _HandedOn()
            handed_on(event)
            self.escaped |= handed_on.found
            access = function_access(event)
            self.accesses.append(access)
            for var in access:
                life = lives.get(var)
                if life is not None:
                    life.first = number if life.first < 0 else life.first
                    life.last = number
        return self._assign([life for life in self.lives if self._is_candidate(life)])

    def _is_candidate(self, life: _Life) -> bool:
        node = life.node
        if node.buffer_var in self.escaped or life.first < 0 or node.annotations:
            return False
        if not isinstance(node.condition, IntImm) or _scope(node.buffer_var) not in _SHARED_SCOPES:
            return False
        return life.size is None or life.size > REGISTER_BYTES

    def _assign(self, lives: list[_Life]) -> tuple[dict[Var, Var], dict[Var, int]]:
        renamed: dict[Var, Var] = {}
        sizes: dict[Var, int] = {}
        # owner of memory -> the temporary that used it last
        holders: dict[_Life, _Life] = {}
        for life in sorted(lives, key=lambda item: item.first):
            best: _Life | None = None
            for owner, holder in holders.items():
                if not self._fits(life, owner, holder):
                    continue
                if best is None or _waste(life, owner, sizes) < _waste(life, best, sizes):
                    best = owner
            if best is None:
                holders[life] = life
                continue
            holders[best] = life
            owner_var = best.node.buffer_var
            renamed[life.node.buffer_var] = owner_var
            if life.size is not None and best.size is not None:
                sizes[owner_var] = max(life.size, sizes.get(owner_var, best.size))
        known = {life.node.buffer_var: life.size for life in lives}
        return renamed, {var: size for var, size in sizes.items() if size != known[var]}

    def _fits(self, life: _Life, owner: _Life, holder: _Life) -> bool:
        if not owner.number < life.number < owner.end:
            return False
        if _scope(owner.node.buffer_var) != _scope(life.node.buffer_var):
            return False
        if holder.last > life.first:
            return False
        if life.size is None or owner.size is None:
            same = owner.node.dtype == life.node.dtype and _same_extents(owner.node, life.node)
            if not same:
                return False
        if holder.last < life.first:
            return True
        return _in_place(self.accesses[life.first], holder.node.buffer_var, life.node.buffer_var)


def _named(stmt: Any) -> Any:
    """The pointers in the head of a statement that stays around others."""
    if type(stmt) is tir.LetStmt:
        return function_access(tir.Evaluate(stmt.value))
    if type(stmt) is tir.AttrStmt:
        named = set(function_access(tir.Evaluate(stmt.value)))
        return named | ({stmt.node} if isinstance(stmt.node, Var) else set())
    if type(stmt) is tir.DeclBuffer:
        return (stmt.buffer.data,)
    if type(stmt) is tir.AssertStmt:
        return function_access(tir.Evaluate(stmt.condition))
    return ()


def _scope(var: Var) -> str:
    return str(getattr(var.type_annotation, "storage_scope", ""))


def _same_extents(a: Allocate, b: Allocate) -> bool:
    return len(a.extents) == len(b.extents) and all(
        exactly_equal(x, y) for x, y in zip(a.extents, b.extents)
    )


def _waste(life: _Life, owner: _Life, sizes: dict[Var, int]) -> int:
    if life.size is None or owner.size is None:
        return 0
    return abs(sizes.get(owner.node.buffer_var, owner.size) - life.size)


def _element(buffer: Buffer) -> int:
    found = info(buffer.dtype)
    return (8 if found.is_bool else found.bits) * found.lanes


def _in_place(accesses: dict[Any, Access], source: Var, target: Var) -> bool:
    """Whether a statement may write ``target`` where it reads ``source``."""
    reading, writing = accesses[source], accesses[target]
    if not writing.elementwise_with(reading):
        return False
    size = _element(writing.stores[0][0].buffer)
    return all(_element(load.buffer) == size for load, _ in reading.loads)


class _StorageRewrite(StmtExprMutator):
    def __init__(self) -> None:
        self.renamed: dict[Var, Var] = {}
        self.sizes: dict[Var, int] = {}

    def frame(self, stmt: Any) -> Any:
        """Rewrite one frame and those inside of it."""
        if not stmt.kinds & _ALLOCATE:
            return stmt
        frame = _Frame()
        frame.collect(stmt)
        if len(frame.lives) > 1:
            renamed, sizes = frame.plan()
            self.renamed.update(renamed)
            self.sizes.update(sizes)
        return self.visit(stmt)

    def visit_for_(self, op: Any) -> Any:
        body = self.frame(op.body)
        if body is op.body:
            return op
        return tir.For(
            op.loop_var, op.min, op.extent, op.kind, body, op.thread_binding, op.annotations
        )

    def visit_while_(self, op: Any) -> Any:
        body = self.frame(op.body)
        return op if body is op.body else tir.While(op.condition, body)

    def visit_if_then_else_(self, op: Any) -> Any:
        yes = self.frame(op.then_case)
        no = None if op.else_case is None else self.frame(op.else_case)
        if yes is op.then_case and no is op.else_case:
            return op
        return tir.IfThenElse(op.condition, yes, no)

    def visit_seq_stmt_(self, op: Any) -> Any:
        parts: list[Any] = []
        same = True
        items = list(reversed(op.seq))
        # where allocations go, their statements follow here; nested they would be copied each time
        while items:
            item = items.pop()
            while type(item) is tir.Allocate and item.buffer_var in self.renamed:
                item, same = item.body, False
            if type(item) is tir.SeqStmt:
                items += reversed(item.seq)
                continue
            made = self.visit(item)
            same = same and made is item
            parts.append(made)
        return op if same and len(parts) == len(op.seq) else tir.SeqStmt(parts)

    def visit_allocate_(self, op: Any) -> Any:
        body = self.visit(op.body)
        if op.buffer_var in self.renamed:
            return body
        size = self.sizes.get(op.buffer_var)
        if size is None:
            if body is op.body:
                return op
            return tir.Allocate(
                op.buffer_var, op.dtype, op.extents, op.condition, body, op.annotations
            )
        found = info(op.dtype)
        bits = (8 if found.is_bool else found.bits) * found.lanes
        extents = [IntImm("int32" if size < 2**31 else "int64", -(-size * 8 // bits))]
        return tir.Allocate(op.buffer_var, op.dtype, extents, op.condition, body, op.annotations)


def storage_rewrite(func: PrimFunc) -> PrimFunc:
    """Let temporaries whose lives do not overlap share memory.

    A shared allocation keeps the pointer and the element type of its first user; the buffers of
    later users have the same pointer and may have another element type.
    """
    if not func.body.kinds & _ALLOCATE:
        return func
    rewriter = _StorageRewrite()
    body = call_deep(func.body.depth, rewriter.frame, func.body)
    if not rewriter.renamed:
        return func
    final: dict[Var, Any] = {}
    for var in rewriter.renamed:
        to = var
        while to in rewriter.renamed:
            to = rewriter.renamed[to]
        final[var] = to
    return func.with_body(substitute(body, final))


StorageRewrite = named("StorageRewrite", storage_rewrite)
