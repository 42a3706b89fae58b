"""Vectorize loop: loops marked vectorized become operations on vectors.

    for i in vectorized(4):     ->    B[ramp(io*4, 1, 4)] = A[ramp(io*4, 1, 4)] * broadcast(x, 4)
        B[io*4 + i] = A[io*4 + i] * x

What has no vector form (a guard that differs between lanes, an inner loop whose bounds do, a call
with effects) runs lane by lane in a serial loop.
"""

from __future__ import annotations

from tvm import tir
from tvm.error import ScheduleError
from tvm.ir.dtype import info, with_lanes
from tvm.ir.transform import PassInfo
from tvm.tir import Buffer, ForKind, IntImm, PrimFunc, Var
from tvm.tir.stmt_functor import StmtExprMutator, replace_buffer, substitute, uses_var

from .fresh import fresh_copy
from .function_pass import PrimFuncPass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Scalar(Exception):
    """Raised where only lane by lane is right."""


# calls that work on each lane by itself and have no effect
_NOT_LANEWISE = {
    "tir.if_then_else",
    "tir.tvm_access_ptr",
    "tir.address_of",
    "tir.call_llvm_intrin",
    "tir.call_llvm_pure_intrin",
    "tir.call_extern",
    "tir.call_pure_extern",
    "tir.tvm_call_packed",
    "tir.tvm_call_cpacked",
    "tir.reinterpret",
    "tir.tvm_struct_get",
    "tir.tvm_struct_set",
    "tir.ret",
    "tir.assume",
    "tir.undef",
}


def broadcast(value: Any, lanes: int) -> Any:
    """The value in every lane."""
    have = info(value.dtype).lanes
    if have == lanes:
        return value
    if have == 1:
        return tir.Broadcast(value, lanes)
    raise _Scalar


class _Vectorizer(StmtExprMutator):
    """Rewrites the body of one loop."""

    def __init__(self, var: Var, low: Any, lanes: int) -> None:
        self.var = var
        self.lanes = lanes
        self.ramp = tir.Ramp(low, IntImm(var.dtype, 1), lanes)
        # variables whose values differ between lanes
        self.lets: dict[Var, Var] = {}
        # memory that exists once for each lane: its pointer, and its buffers' wider forms
        self.private: set[Var] = set()
        self.wider: dict[Buffer, Buffer] = {}

    # ---- expressions
    def visit_var_(self, op: Any) -> Any:
        if op is self.var:
            return self.ramp
        return self.lets.get(op, op)

    visit_size_var_ = visit_var_

    def _affine(self, op: Any) -> Any:
        a, b = self.visit(op.a), self.visit(op.b)
        if a is op.a and b is op.b:
            return op
        return _combine(type(op), a, b)

    visit_add_ = visit_sub_ = visit_mul_ = _affine
    visit_div_ = visit_mod_ = visit_floor_div_ = visit_floor_mod_ = _affine
    visit_min_ = visit_max_ = _affine
    visit_lt_ = visit_le_ = visit_gt_ = visit_ge_ = visit_eq_ = visit_ne_ = _affine
    visit_and_ = visit_or_ = _affine

    def visit_cast_(self, op: Any) -> Any:
        value = self.visit(op.value)
        if value is op.value:
            return op
        if type(value) is tir.Broadcast:
            return tir.Broadcast(tir.Cast(op.dtype, value.value), value.lanes)
        if type(value) is tir.Ramp and _widens(value.base.dtype, op.dtype):
            return tir.Ramp(
                tir.cast(value.base, op.dtype), tir.cast(value.stride, op.dtype), value.lanes
            )
        return tir.Cast(with_lanes(op.dtype, info(value.dtype).lanes), value)

    def visit_select_(self, op: Any) -> Any:
        cond = self.visit(op.condition)
        a, b = self.visit(op.true_value), self.visit(op.false_value)
        if cond is op.condition and a is op.true_value and b is op.false_value:
            return op
        lanes = max(info(x.dtype).lanes for x in (cond, a, b))
        if info(cond.dtype).lanes > 1:
            cond = broadcast(cond, lanes)
        return tir.Select(cond, broadcast(a, lanes), broadcast(b, lanes))

    def visit_ramp_(self, op: Any) -> Any:
        if uses_var(op, self._moves):
            raise _Scalar
        return op

    visit_broadcast_ = visit_shuffle_ = visit_ramp_

    def _moves(self, var: Any) -> bool:
        return var is self.var or var in self.lets

    def visit_let_(self, op: Any) -> Any:
        value = self.visit(op.value)
        if value is not op.value and info(value.dtype).lanes > 1:
            var = Var(op.var.name, value.dtype)
            self.lets[op.var] = var
            return tir.Let(var, value, self.visit(op.body))
        body = self.visit(op.body)
        return op if value is op.value and body is op.body else tir.Let(op.var, value, body)

    def visit_call_(self, op: Any) -> Any:
        name = getattr(op.op, "name", "")
        if name == "tir.if_then_else":
            cond = self.visit(op.args[0])
            if info(cond.dtype).lanes > 1:
                raise _Scalar
            a, b = self.visit(op.args[1]), self.visit(op.args[2])
            if cond is op.args[0] and a is op.args[1] and b is op.args[2]:
                return op
            lanes = max(info(a.dtype).lanes, info(b.dtype).lanes)
            dtype = with_lanes(op.dtype, lanes)
            return tir.Call(dtype, op.op, [cond, broadcast(a, lanes), broadcast(b, lanes)])
        if name == "tir.likely":
            cond = self.visit(op.args[0])
            return op if cond is op.args[0] else tir.Call(cond.dtype, op.op, [cond])
        args = self._mutate_all(op.args)
        if args is op.args:
            # an effect happens once a lane
            if name in _NOT_LANEWISE and name not in ("tir.tvm_access_ptr", "tir.address_of"):
                return self._uniform(op)
            return op
        if name in _NOT_LANEWISE or not name.startswith("tir."):
            raise _Scalar
        lanes = max(info(arg.dtype).lanes for arg in args)
        return tir.Call(with_lanes(op.dtype, lanes), op.op, [broadcast(arg, lanes) for arg in args])

    def _uniform(self, op: Any) -> Any:
        return op

    def visit_buffer_load_(self, op: Any) -> Any:
        indices = self._mutate_all(op.indices)
        if op.buffer.data in self.private:
            return tir.BufferLoad(self._wide(op.buffer), [self._private(op, indices[0])])
        return op if indices is op.indices else tir.BufferLoad(op.buffer, indices)

    def _wide(self, buffer: Buffer) -> Buffer:
        found = self.wider.get(buffer)
        if found is None:
            size = buffer.shape[0]
            wide = _combine(tir.Mul, size, IntImm(size.dtype, self.lanes))
            found = self.wider[buffer] = replace_buffer(buffer, shape=(wide,))
        return found

    def _private(self, op: Any, index: Any) -> Any:
        """Position of this lane's copy: the lanes' elements lie next to each other."""
        if info(op.indices[0].dtype).lanes > 1:
            # an inner loop was vectorized: a vector of vectors has no position
            raise _Scalar
        lanes = IntImm(info(index.dtype).scalar, self.lanes)
        ramp = tir.Ramp(IntImm(lanes.dtype, 0), IntImm(lanes.dtype, 1), self.lanes)
        if info(index.dtype).lanes == 1:
            return tir.Ramp(_combine(tir.Mul, index, lanes), IntImm(lanes.dtype, 1), self.lanes)
        return _combine(tir.Add, _combine(tir.Mul, index, lanes), ramp)

    # ---- statements
    def visit_buffer_store_(self, op: Any) -> Any:
        indices = self._mutate_all(op.indices)
        value = self.visit(op.value)
        buffer = op.buffer
        if buffer.data in self.private:
            buffer, indices = self._wide(buffer), (self._private(op, indices[0]),)
        elif indices is op.indices and value is op.value:
            return op
        lanes = max(info(value.dtype).lanes, info(indices[-1].dtype).lanes)
        if lanes == 1:
            return tir.BufferStore(buffer, value, indices)
        if info(indices[-1].dtype).lanes == 1:
            # all lanes store to one place: the last one wins, in order
            raise _Scalar
        return tir.BufferStore(buffer, broadcast(value, lanes), indices)

    def visit_seq_stmt_(self, op: Any) -> Any:
        if self.lets or self.private:
            return super().visit_seq_stmt_(op)
        # the lanes do not depend on each other: a statement without vector form stays alone
        parts = [self._statement(part) for part in op.seq]
        return op if all(a is b for a, b in zip(parts, op.seq)) else tir.SeqStmt(parts)

    def _statement(self, stmt: Any) -> Any:
        try:
            return self.visit(stmt)
        except _Scalar:
            self.lets.clear()
            self.private.clear()
            lane = Var(self.var.name, self.var.dtype)
            body = fresh_copy(stmt, {self.var: lane})
            return tir.For(
                lane, self.ramp.base, IntImm(lane.dtype, self.lanes), ForKind.SERIAL, body
            )

    def visit_for_(self, op: Any) -> Any:
        low, extent = self.visit(op.min), self.visit(op.extent)
        if info(low.dtype).lanes > 1 or info(extent.dtype).lanes > 1:
            raise _Scalar
        body = self.visit(op.body)
        if low is op.min and extent is op.extent and body is op.body:
            return op
        return tir.For(op.loop_var, low, extent, op.kind, body, op.thread_binding, op.annotations)

    def visit_if_then_else_(self, op: Any) -> Any:
        cond = self.visit(op.condition)
        if info(cond.dtype).lanes > 1:
            raise _Scalar
        then_case = self.visit(op.then_case)
        else_case = None if op.else_case is None else self.visit(op.else_case)
        if cond is op.condition and then_case is op.then_case and else_case is op.else_case:
            return op
        return tir.IfThenElse(cond, then_case, else_case)

    def visit_let_stmt_(self, op: Any) -> Any:
        value = self.visit(op.value)
        if value is not op.value and info(value.dtype).lanes > 1:
            var = Var(op.var.name, value.dtype)
            self.lets[op.var] = var
            return tir.LetStmt(var, value, self.visit(op.body))
        body = self.visit(op.body)
        if value is op.value and body is op.body:
            return op
        return tir.LetStmt(op.var, value, body)

    def visit_allocate_(self, op: Any) -> Any:
        extents = self._mutate_all(op.extents)
        cond = self.visit(op.condition)
        if any(info(e.dtype).lanes > 1 for e in (*extents, cond)) or info(op.dtype).lanes > 1:
            raise _Scalar
        size = extents[0]
        for extent in extents[1:]:
            size = size * extent
        self.private.add(op.buffer_var)
        body = self.visit(op.body)
        return tir.Allocate(
            op.buffer_var,
            op.dtype,
            [_combine(tir.Mul, size, IntImm(size.dtype, self.lanes))],
            cond,
            body,
            op.annotations,
        )

    def visit_attr_stmt_(self, op: Any) -> Any:
        value = self.visit(op.value)
        if info(value.dtype).lanes > 1:
            raise _Scalar
        body = self.visit(op.body)
        if value is op.value and body is op.body:
            return op
        return tir.AttrStmt(op.node, op.attr_key, value, body)

    def visit_evaluate_(self, op: Any) -> Any:
        value = self.visit(op.value)
        if type(op.value) is not IntImm:
            # an effect happens once a lane
            raise _Scalar
        return op if value is op.value else tir.Evaluate(value)

    def visit_while_(self, op: Any) -> Any:
        raise _Scalar

    def visit_assert_stmt_(self, op: Any) -> Any:
        raise _Scalar


def _widens(given: str, wanted: str) -> bool:
    a, b = info(given), info(wanted)
    return a.is_int and b.is_int and b.bits >= a.bits and not a.is_bool and b.signed >= a.signed


def _combine(kind: Any, a: Any, b: Any) -> Any:
    """``kind(a, b)`` lane by lane, as a ramp where it is one."""
    la, lb = info(a.dtype).lanes, info(b.dtype).lanes
    lanes = max(la, lb)
    if lanes == 1:
        if type(a) is IntImm and type(b) is IntImm and kind in (tir.Add, tir.Sub, tir.Mul):
            return _SCALAR[kind](a, b)
        return kind(a, b)
    if type(a) is tir.Broadcast:
        a, la = a.value, 1
    if type(b) is tir.Broadcast:
        b, lb = b.value, 1
    if la == 1 and lb == 1:
        return tir.Broadcast(kind(a, b), lanes)
    ra, rb = type(a) is tir.Ramp, type(b) is tir.Ramp
    if kind is tir.Add or kind is tir.Sub:
        step = _SCALAR[kind]
        if ra and lb == 1:
            return tir.Ramp(step(a.base, b), a.stride, lanes)
        if rb and la == 1 and kind is tir.Add:
            return tir.Ramp(tir.add(a, b.base), b.stride, lanes)
        if ra and rb and a.lanes == b.lanes:
            return tir.Ramp(step(a.base, b.base), step(a.stride, b.stride), lanes)
    if kind is tir.Mul:
        if ra and lb == 1:
            return tir.Ramp(tir.multiply(a.base, b), tir.multiply(a.stride, b), lanes)
        if rb and la == 1:
            return tir.Ramp(tir.multiply(b.base, a), tir.multiply(b.stride, a), lanes)
    return kind(broadcast(a, lanes), broadcast(b, lanes))


_SCALAR = {tir.Add: tir.add, tir.Sub: tir.subtract, tir.Mul: tir.multiply}


class _FindLoops(StmtExprMutator):
    def __init__(self, enable: bool) -> None:
        self.enable = enable

    def visit_for_(self, op: Any) -> Any:
        op = super().visit_for_(op)
        if op.kind is not ForKind.VECTORIZED:
            return op
        if not self.enable:
            return _serial(op)
        if not isinstance(op.extent, IntImm):
            raise ScheduleError(
                f"vectorize: the loop over {op.loop_var.name} has extent {op.extent}, which is not "
                "a constant; split it by a constant factor and vectorize the inner axis"
            )
        lanes = op.extent.value
        if lanes <= 0:
            return tir.Evaluate(0)
        if lanes == 1:
            return substitute(op.body, {op.loop_var: op.min})
        return _vectorize(op, op.body, lanes)


def _serial(op: Any) -> Any:
    return tir.For(op.loop_var, op.min, op.extent, ForKind.SERIAL, op.body)


def _vectorize(loop: Any, body: Any, lanes: int) -> Any:
    try:
        return _Vectorizer(loop.loop_var, loop.min, lanes).visit(body)
    except _Scalar:
        return tir.For(loop.loop_var, loop.min, loop.extent, ForKind.SERIAL, body)


def vectorize(func: PrimFunc, enable: bool = True) -> PrimFunc:
    """Turn the loops marked vectorized into vector operations."""
    if not func.body.kinds & tir.For.KIND:
        return func
    return func.with_body(_FindLoops(enable)(func.body))


def VectorizeLoop(enable_vectorize: bool = True) -> PrimFuncPass:
    """The pass ``tir.VectorizeLoop``.

    Parameters
    ----------
    enable_vectorize : bool
        Whether vectors are made; else the loops become serial.
    """
    return PrimFuncPass(
        lambda func, mod, ctx: vectorize(func, enable_vectorize),
        PassInfo(0, "tir.VectorizeLoop"),
    )
