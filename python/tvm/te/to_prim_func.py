"""From a loop program over tensors to a function over buffers.

realize B([0 : n])          ->    BufferRealize(B, [0 : n])
    B(i) = A(i) + 1               B[i] = A[i] + 1
"""

from __future__ import annotations

from tvm import tir
from tvm.arith.index_algebra import Algebra
from tvm.error import TypeError_, ValueError_
from tvm.ir.type import PointerType, PrimType
from tvm.tir import Buffer, PrimFunc, Var
from tvm.tir.stmt_functor import StmtExprMutator, substitute

from .bind_region import Bound, bind_region
from .tensor import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tvm.tir import Stmt


def declare_buffer(tensor: Tensor, name: str | None = None, scope: str = "") -> Buffer:
    """A compact buffer for a tensor."""
    element = tensor.dtype
    label = name or tensor.name.replace(".v", "_v")
    stored = "int8" if element == "bool" else element
    data = Var(label, PointerType(PrimType(stored), scope))
    # alignment 0: the element's own, nothing more is assumed
    return tir.decl_buffer(tensor.shape, element, label, data=data, scope=scope)


class _ToBuffers(StmtExprMutator):
    def __init__(self, buffers: dict[Tensor, Buffer]) -> None:
        self.buffers = buffers
        # buffers of foreign bodies and what they stand for
        self.stand_ins: dict[Buffer, Bound] = {}
        # the part of its tensor that a buffer holds, and strides asked for
        self.realized: dict[Buffer, Any] = {}
        self.aligned: dict[Buffer, dict[int, tuple[int, int]]] = {}
        self.algebra = Algebra()

    def _buffer(self, tensor: Tensor) -> Buffer:
        found = self.buffers.get(tensor)
        if found is None:
            raise ValueError_(
                f"lower: tensor {tensor.name} is used but is neither computed nor among the "
                "arguments; add it to args"
            )
        return found

    def visit_producer_load_(self, op: Any) -> Any:
        indices = self._mutate_all(op.indices)
        return tir.BufferLoad(self._buffer(op.producer), indices)

    def visit_producer_store_(self, op: Any) -> Any:
        indices = self._mutate_all(op.indices)
        return tir.BufferStore(self._buffer(op.producer), self.visit(op.value), indices)

    def visit_producer_realize_(self, op: Any) -> Any:
        tensor = op.producer
        buffer = self.buffers.get(tensor)
        given = buffer is not None
        if buffer is None:
            buffer = self.buffers[tensor] = declare_buffer(tensor, scope=op.storage_scope)
        if not given:
            self.realized[buffer] = self._mutate_ranges(op.bounds)
            inside = op.body
            # what is said about the strides stands right inside
            while type(inside) is tir.AttrStmt:
                if inside.attr_key == "buffer_dim_align" and inside.node == tensor:
                    axis, factor, offset = [int(arg) for arg in inside.value.args]
                    self.aligned.setdefault(buffer, {})[axis] = (factor, offset)
                inside = inside.body
        body = self.visit(op.body)
        if given:
            # an intermediate tensor that is an argument lives in the caller's memory
            return body
        bounds = self.realized[buffer]
        return tir.BufferRealize(buffer, bounds, self.visit(op.condition), body)

    def _bind(self, op: Any) -> Any:
        """What stands for a tensor in a foreign body becomes the tensor's own buffer."""
        stands, tensor = op.node
        buffer = self._buffer(tensor)
        numbers = self._mutate_all(op.value.args)
        bound = bind_region(
            stands,
            buffer,
            list(zip(numbers[::2], numbers[1::2])),
            self.realized.get(buffer),
            self.aligned.get(buffer, {}),
            self.algebra,
        )
        outer = self.stand_ins.get(stands)
        self.stand_ins[stands] = bound
        # accesses first: what is left of the pointer afterwards is an argument of calls
        body = substitute(self.visit(op.body), bound.mapping)
        if outer is None:
            del self.stand_ins[stands]
        else:
            self.stand_ins[stands] = outer
        return body

    def visit_buffer_load_(self, op: Any) -> Any:
        indices = self._mutate_all(op.indices)
        bound = self.stand_ins.get(op.buffer)
        if bound is not None:
            return tir.BufferLoad(bound.buffer, bound.indices(indices))
        return op if indices is op.indices else tir.BufferLoad(op.buffer, indices)

    def visit_buffer_store_(self, op: Any) -> Any:
        indices, value = self._mutate_all(op.indices), self.visit(op.value)
        bound = self.stand_ins.get(op.buffer)
        if bound is not None:
            return tir.BufferStore(bound.buffer, value, bound.indices(indices))
        if indices is op.indices and value is op.value:
            return op
        return tir.BufferStore(op.buffer, value, indices)

    def visit_attr_stmt_(self, op: Any) -> Any:
        if op.attr_key == "buffer_bind_scope" and isinstance(op.node, tuple):
            return self._bind(op)
        node = op.node
        if isinstance(node, Tensor):
            node = self._buffer(node)
        body, value = self.visit(op.body), self.visit(op.value)
        if node is op.node and body is op.body and value is op.value:
            return op
        return tir.AttrStmt(node, op.attr_key, value, body)


class _ToBuffersOfForeign(_ToBuffers):
    """As `_ToBuffers`, for bodies that may bind buffers: it knows the ranges of the loops."""

    def visit_for_(self, op: Any) -> Any:
        self.algebra.bind(op.loop_var, op.min, op.extent)
        return super().visit_for_(op)


def to_prim_func(args: list[Any], body: Stmt, binds: dict[Tensor, Buffer]) -> PrimFunc:
    """A function of a loop program.

    Parameters
    ----------
    args : list of Tensor, Buffer or Var
        The function's parameters.
    body : Stmt
        From ``schedule_ops``.
    binds : dict of Tensor to Buffer
        Buffers that the caller declares for some tensors.
    """
    buffers: dict[Tensor, Buffer] = dict(binds)
    params: list[Var] = []
    buffer_map: dict[Var, Buffer] = {}
    for position, arg in enumerate(args):
        if isinstance(arg, Tensor):
            buffer = buffers.get(arg)
            if buffer is None:
                buffer = buffers[arg] = declare_buffer(arg)
        elif isinstance(arg, Buffer):
            buffer = arg
        elif isinstance(arg, Var):
            if any(arg is other for other in params):
                raise ValueError_(f"lower: argument {position} ({arg.name}) is given twice")
            params.append(arg)
            continue
        else:
            raise TypeError_(
                f"lower: argument {position}: expected a tensor, a buffer or a variable, but got "
                f"{type(arg).__name__}"
            )
        if any(buffer is other for other in buffer_map.values()):
            raise ValueError_(f"lower: argument {position} ({buffer.name}) is given twice")
        handle = Var(buffer.name, "handle")
        params.append(handle)
        buffer_map[handle] = buffer
    # bindings are attributes; most programs have none
    rewriter = _ToBuffersOfForeign if body.kinds & tir.AttrStmt.KIND else _ToBuffers
    body = rewriter(buffers)(body)
    return PrimFunc(
        params,
        body,
        buffer_map=buffer_map,
        attrs={"from_legacy_te_schedule": True, "global_symbol": "main", "tir.noalias": True},
    )
