"""From tensors to a function of blocks, and from a function to a tensor.

B = compute((8,), lambda i: A[i] + 1)     ->    for i in range(8):
                                                    with block("B"):
                                                        v_i = axis.spatial(8, i)
                                                        B[v_i] = A[v_i] + 1
"""

from __future__ import annotations

from tvm import tir
from tvm.error import NotImplementedError_, TypeError_, ValueError_
from tvm.ir.expr import Range
from tvm.tir import Buffer, IntImm, IterVar, PrimFunc, Reduce, Var, stmt_functor
from tvm.tir.stmt_functor import StmtExprMutator
from tvm.tir.transform.convert_blocks_to_opaque import convert_blocks_to_opaque
from tvm.tir.transform.lower_init_block import lower_init_block
from tvm.tir.transform.lower_opaque_block import lower_opaque_block

from .extern_op import ExternOp, extern
from .operation import ComputeOp, Operation, PlaceholderOp
from .scan_op import _same
from .tensor import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tvm.tir import BufferRegion, Stmt


def create_prim_func(ops: Any, index_dtype_override: str | None = None) -> PrimFunc:
    """A function of blocks that computes tensors.

    Parameters
    ----------
    ops : list of Tensor or Var
        The function's parameters: placeholders, outputs, scalars.
    index_dtype_override : str, optional
        The integer type of loops and indices, for instance ``"int64"``; each tensor's own by
        default.

    Returns
    -------
    PrimFunc
        Ready for ``tvm.build``.

    Raises
    ------
    ValueError
        If a placeholder that is read is no parameter.
    NotImplementedError
        For operations that have no blocks, te.scan for instance.

    Examples
    --------
    >>> from tvm import te
    >>> A = te.placeholder((8,), name="A")
    >>> B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    >>> len(te.create_prim_func([A, B]).params)
    2
    """
    args = list(ops) if isinstance(ops, (list, tuple)) else [ops]
    return _Builder(index_dtype_override).build(args)


class _ToLoads(StmtExprMutator):
    """Reads of tensors as reads of buffers."""

    def __init__(self, buffers: dict[Tensor, Buffer], dtype: str | None) -> None:
        self._buffers = buffers
        self._dtype = dtype

    def visit_producer_load_(self, op: Any) -> Any:
        buffer = self._buffers.get(op.producer)
        if buffer is None:
            raise ValueError_(
                f"create_prim_func: tensor {op.producer.name} is read, but is not among the "
                "parameters"
            )
        indices: Any = self._mutate_all(op.indices)
        if self._dtype is not None:
            indices = [tir.cast(index, self._dtype) for index in indices]
        return tir.BufferLoad(buffer, indices)


class _Builder:
    def __init__(self, dtype: str | None) -> None:
        self.dtype = dtype
        self.buffers: dict[Tensor, Buffer] = {}
        self.local: list[Buffer] = []
        self.names: dict[str, int] = {}

    def build(self, args: list[Any]) -> PrimFunc:
        from .schedule import PostDFSOrder

        params: list[Var] = []
        mapping: dict[Var, Buffer] = {}
        for position, arg in enumerate(args):
            if isinstance(arg, Var):
                params.append(arg)
                continue
            if not isinstance(arg, Tensor):
                raise TypeError_(
                    f"create_prim_func: parameter {position}: expected a tensor or a variable, "
                    f"but got {type(arg).__name__}"
                )
            if arg in self.buffers:
                raise ValueError_(f"create_prim_func: {arg.name} is given twice")
            buffer = self.buffers[arg] = self._declare(arg)
            handle = Var("var_" + buffer.name, "handle")
            params.append(handle)
            mapping[handle] = buffer
        order = PostDFSOrder([arg.op for arg in args if isinstance(arg, Tensor)])
        stages: list[Stmt] = []
        for op in order:
            if isinstance(op, PlaceholderOp):
                if op.output(0) not in self.buffers:
                    raise ValueError_(
                        f"create_prim_func: placeholder {op.name} is read, but is not among the "
                        "parameters"
                    )
                continue
            for k in range(op.num_outputs):
                tensor = op.output(k)
                if tensor not in self.buffers:
                    self.buffers[tensor] = self._declare(tensor)
                    self.local.append(self.buffers[tensor])
            stages += self._stage(op)
        body = tir.stmt_seq(*stages) if stages else tir.Evaluate(0)
        root = tir.Block([], [], [], "root", body, None, self.local)
        return PrimFunc(
            params,
            tir.BlockRealize([], True, root),
            buffer_map=mapping,
            attrs={"global_symbol": "main", "tir.noalias": True},
        )

    def _declare(self, tensor: Tensor) -> Buffer:
        shape = list(tensor.shape)
        if self.dtype is not None:
            shape = [tir.cast(extent, self.dtype) for extent in shape]
        name = self._unique(tensor.name.replace(".", "_"))
        return tir.decl_buffer(shape, tensor.dtype, name)

    def _unique(self, name: str) -> str:
        count = self.names.get(name, 0)
        self.names[name] = count + 1
        return f"{name}_{count}" if count else name

    # ---- stages
    def _stage(self, op: Operation) -> list[Stmt]:
        if isinstance(op, ComputeOp):
            if isinstance(op.body[0], Reduce):
                return [self._block(op, range(op.num_outputs))]
            # outputs that are no reduction are blocks of their own
            return [self._block(op, [k]) for k in range(op.num_outputs)]
        if isinstance(op, ExternOp):
            return [self._extern(op)]
        raise NotImplementedError_(
            f"create_prim_func: {op.name} is a {type(op).__name__}, which has no blocks"
        )

    def _block(self, op: ComputeOp, outputs: Any) -> Stmt:
        loops: list[Var] = []
        axes: list[IterVar] = []
        names: dict[Var, Any] = {}
        for iv in op.root_iter_vars:
            dtype = self.dtype or iv.var.dtype
            low, extent = (tir.cast(x, dtype) for x in (iv.dom.min, iv.dom.extent))
            dom = Range.from_min_extent(low, extent)
            loop, var = Var(iv.var.name, dtype), Var("v_" + iv.var.name, dtype)
            loops.append(loop)
            axes.append(IterVar(dom, var, iv.iter_type))
            names[iv.var] = tir.cast(var, iv.var.dtype)
        indices = [iv.var for iv in axes[: len(op.axis)]]
        to_loads = _ToLoads(self.buffers, self.dtype)

        def value(expr: Any) -> Any:
            return to_loads(stmt_functor.substitute(expr, names))

        init: Stmt | None = None
        if isinstance(op.body[0], Reduce):
            init, body = self._reduction(op, indices, value)
        else:
            body = tir.stmt_seq(
                *[
                    tir.BufferStore(self.buffers[op.output(k)], value(op.body[k]), indices)
                    for k in outputs
                ]
            )
        reads, writes = _accesses([body] if init is None else [body, init])
        written = {region.buffer for region in writes}
        reads = [region for region in reads if region.buffer not in written]
        made = tir.Block(axes, reads, writes, op.name, body, init, annotations=_annotations(op))
        body = tir.BlockRealize(
            [loop + iv.dom.min if _nonzero(iv.dom.min) else loop for loop, iv in zip(loops, axes)],
            True,
            made,
        )
        for loop, iv in reversed(list(zip(loops, axes))):
            body = tir.For(loop, IntImm(loop.dtype, 0), iv.dom.extent, 0, body)
        return body

    def _reduction(self, op: ComputeOp, indices: list[Any], value: Any) -> tuple[Stmt, Stmt]:
        first = op.body[0]
        combiner = first.combiner
        buffers = [self.buffers[op.output(k)] for k in range(op.num_outputs)]
        start = first.init or combiner.identity_element
        init = tir.stmt_seq(
            *[tir.BufferStore(b, value(x), indices) for b, x in zip(buffers, start)]
        )
        operands: dict[Var, Any] = {}
        for k, buffer in enumerate(buffers):
            operands[combiner.lhs[k]] = tir.BufferLoad(buffer, indices)
            operands[combiner.rhs[k]] = value(first.source[k])
        results = [stmt_functor.substitute(x, operands) for x in combiner.result]
        if len(results) == 1:
            body: Stmt = tir.BufferStore(buffers[0], results[0], indices)
        else:
            # all new values are computed before the first is stored
            held = [Var(f"v_{b.name}", x.dtype) for b, x in zip(buffers, results)]
            body = tir.SeqStmt([tir.BufferStore(b, v, indices) for b, v in zip(buffers, held)])
            for var, result in zip(reversed(held), reversed(results)):
                body = tir.LetStmt(var, result, body)
        condition = first.condition
        if not (isinstance(condition, IntImm) and condition.value):
            body = tir.IfThenElse(value(condition), body)
        return init, body

    def _extern(self, op: ExternOp) -> Stmt:
        pairs = list(zip(op.input_placeholders, op.inputs))
        outputs = [op.output(k) for k in range(op.num_outputs)]
        pairs += list(zip(op.output_placeholders, outputs))
        stand_ins = {buffer: self.buffers[tensor] for buffer, tensor in pairs}
        names: dict[Var, Any] = {}
        for stands, buffer in stand_ins.items():
            names[stands.data] = buffer.data
            names.update(
                {w: extent for w, extent in zip(stands.shape, buffer.shape) if isinstance(w, Var)}
            )
            if stands.strides or isinstance(stands.elem_offset, Var):
                raise NotImplementedError_(
                    f"create_prim_func: {op.name}: buffer {stands.name} has strides or an offset"
                )
        body = _Stands(stand_ins)(op.body)
        body = stmt_functor.substitute(body, names)
        reads = [_whole(self.buffers[t]) for t in op.inputs]
        writes = [_whole(self.buffers[t]) for t in outputs]
        block = tir.Block([], reads, writes, op.name, body, annotations=_annotations(op))
        return tir.BlockRealize([], True, block)


class _Stands(StmtExprMutator):
    def __init__(self, buffers: dict[Buffer, Buffer]) -> None:
        self._buffers = buffers

    def visit_buffer_load_(self, op: Any) -> Any:
        made = super().visit_buffer_load_(op)
        buffer = self._buffers.get(made.buffer)
        return made if buffer is None else tir.BufferLoad(buffer, made.indices)

    def visit_buffer_store_(self, op: Any) -> Any:
        made = super().visit_buffer_store_(op)
        buffer = self._buffers.get(made.buffer)
        return made if buffer is None else tir.BufferStore(buffer, made.value, made.indices)


def _nonzero(low: Any) -> bool:
    return not (isinstance(low, IntImm) and low.value == 0)


def _annotations(op: Operation) -> dict[str, Any]:
    return {str(key): tir.expr.convert(value) for key, value in dict(op.attrs).items()}


def _whole(buffer: Buffer) -> BufferRegion:
    return tir.BufferRegion(
        buffer, [Range.from_min_extent(IntImm(e.dtype, 0), e) for e in buffer.shape]
    )


def _accesses(stmts: list[Stmt]) -> tuple[list[BufferRegion], list[BufferRegion]]:
    """What statements read and write: a position where all accesses agree, else a dimension."""
    found: tuple[dict[Buffer, list[Any]], dict[Buffer, list[Any]]] = ({}, {})

    def visit(node: Any) -> None:
        if isinstance(node, (tir.BufferLoad, tir.BufferStore)):
            table = found[isinstance(node, tir.BufferStore)]
            known = table.get(node.buffer)
            if known is None:
                table[node.buffer] = list(node.indices)
                return
            for axis, index in enumerate(node.indices):
                if known[axis] is not None and not _same(known[axis], index):
                    known[axis] = None

    for stmt in stmts:
        stmt_functor.post_order_visit(stmt, visit)
    out: tuple[list[BufferRegion], list[BufferRegion]] = ([], [])
    for regions, table in zip(out, found):
        for buffer, known in table.items():
            ranges = [
                Range.from_min_extent(IntImm(extent.dtype, 0), extent)
                if index is None
                else Range.from_min_extent(index, IntImm(index.dtype, 1))
                for index, extent in zip(known, buffer.shape)
            ]
            regions.append(tir.BufferRegion(buffer, ranges))
    return out


# ---- the other way


def extern_primfunc(input_tensors: Any, primfunc: PrimFunc, **kwargs: Any) -> Any:
    """Tensors computed by a function.

    Parameters
    ----------
    input_tensors : list of Tensor
        What stands for the buffers that the function reads and does not write, in order.
    primfunc : PrimFunc
        The function; its parameters are buffers.
    kwargs
        Further parameters of `extern`, for instance ``name``.

    Returns
    -------
    Tensor or list of Tensor
        What stands for the buffers that it writes.

    Raises
    ------
    ValueError
        If the tensors do not fit the buffers.

    Examples
    --------
    >>> from tvm import te
    >>> A = te.placeholder((8,), name="A")
    >>> double = te.create_prim_func([A, te.compute((8,), lambda i: A[i] * 2.0)])
    >>> X = te.placeholder((8,), name="X")
    >>> te.extern_primfunc([X], double, name="Y").ndim
    1
    """
    if not isinstance(primfunc, PrimFunc):
        raise TypeError_(f"extern_primfunc: expected a PrimFunc, but got {type(primfunc).__name__}")
    reads: set[Var] = set()
    writes: set[Var] = set()

    def visit(node: Any) -> None:
        if isinstance(node, tir.BufferLoad):
            reads.add(node.buffer.data)
        elif isinstance(node, tir.BufferStore):
            writes.add(node.buffer.data)
        elif isinstance(node, tir.Call) and getattr(node.op, "name", "") == "tir.tvm_access_ptr":
            mask = int(node.args[4])
            if mask & Buffer.READ:
                reads.add(node.args[1])
            if mask & Buffer.WRITE:
                writes.add(node.args[1])

    stmt_functor.post_order_visit(primfunc.body, visit)
    ordered = [primfunc.buffer_map[p] for p in primfunc.params if p in primfunc.buffer_map]
    outs = [buffer for buffer in ordered if buffer.data in writes]
    ins = [buffer for buffer in ordered if buffer.data in reads and buffer.data not in writes]
    if not outs:
        raise ValueError_("extern_primfunc: the function writes none of its buffers")
    tensors = list(input_tensors) if isinstance(input_tensors, (list, tuple)) else [input_tensors]
    if len(tensors) != len(ins):
        raise ValueError_(
            f"extern_primfunc: expected {len(ins)} tensors, for {_names(ins)}, but got "
            f"{len(tensors)}"
        )
    for tensor, buffer in zip(tensors, ins):
        fits = len(tensor.shape) == len(buffer.shape) and all(
            isinstance(b, Var) or _same(a, b) for a, b in zip(tensor.shape, buffer.shape)
        )
        if tensor.dtype != buffer.dtype or not fits:
            raise ValueError_(
                f"extern_primfunc: tensor {tensor.name} of {tensor.dtype}, shape "
                f"({', '.join(map(str, tensor.shape))}), does not fit buffer {buffer.name} of "
                f"{buffer.dtype}, shape ({', '.join(map(str, buffer.shape))})"
            )
    # sizes that the inputs tell are known in the outputs' shapes
    sizes: dict[Var, Any] = {}
    for tensor, buffer in zip(tensors, ins):
        for wanted, extent in zip(buffer.shape, tensor.shape):
            if isinstance(wanted, Var):
                sizes.setdefault(wanted, tir.cast(extent, wanted.dtype))
    made = [stmt_functor.substitute(buffer, sizes) for buffer in outs]
    body = lower_opaque_block(convert_blocks_to_opaque(lower_init_block(primfunc))).body
    body = _Stands(dict(zip(outs, made)))(body)
    return extern(
        [tuple(buffer.shape) for buffer in made],
        tensors,
        lambda _ins, _outs: body,
        in_buffers=ins,
        out_buffers=made,
        **kwargs,
    )


def _names(buffers: list[Buffer]) -> str:
    return ", ".join([buffer.name for buffer in buffers]) or "none"
