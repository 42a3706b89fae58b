"""Runs programs slowly and exactly: the definition of what they mean.

Every node is turned into a Python function once; then the program runs. Integers wrap in their own
width, floats round in theirs after every operation (nothing is contracted), every access is checked
against the memory and the shape of its buffer.
"""

from __future__ import annotations

import math

from .. import error
from ..ir import dtype as _dtype
from ..ir.deep import call_deep
from ..ir.module import IRModule
from . import expr as E
from . import numeric
from . import stmt as S
from .buffer import Buffer
from .function import PrimFunc
from .interpreter_expr import ExprMachine, Leave
from .interpreter_outside import match_buffer
from .memory import Storage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def interpret(func: PrimFunc, *args: Any, module: IRModule | None = None) -> Any:
    """Run a function.

    Parameters
    ----------
    func : PrimFunc
        The function, before or after lowering (without te's own nodes).
    args : NumPy array, NDArray, int or float
        In the order of the parameters. Arrays are read and written in place.
    module : IRModule, optional
        Where the functions are that it calls by GlobalVar.

    Returns
    -------
    The value of `tir.ret`, None without it.

    Raises
    ------
    IndexError
        For an access outside of a buffer.

    Examples
    --------
    >>> import numpy as np, tvm
    >>> i, A = tvm.tir.Var("i"), tvm.tir.decl_buffer((3,), "int32")
    >>> loop = tvm.tir.For(i, 0, 3, 0, tvm.tir.BufferStore(A, i * i, [i]))
    >>> a = np.zeros(3, "int32")
    >>> tvm.tir.interpreter.interpret(tvm.tir.PrimFunc([A], loop), a)
    >>> a.tolist()
    [0, 1, 4]
    """
    return call_deep(func.body.depth, _Machine(module).call, func, args)


def evaluate(expr: Any, values: dict[Any, Any] | None = None) -> Any:
    """The value of an expression, with values given for its variables."""
    machine = _Machine(None)
    machine.env.update(values or {})
    return call_deep(expr.depth, lambda: machine.expr(expr)())


def run_body(func: PrimFunc, values: dict[Any, Any], module: IRModule | None = None) -> Any:
    """Run a function's body with values given for its variables and data pointers.

    Parameters
    ----------
    func : PrimFunc
        The function.
    values : dict of Var to int, float or Storage
        What the body uses but does not define.
    module : IRModule, optional
        Where the functions are that it calls by GlobalVar.

    Returns
    -------
    The value of `tir.ret`, None without it.
    """

    def run() -> Any:
        machine = _Machine(module)
        machine.env.update(values)
        body = machine.stmt(func.body)
        try:
            body()
        except Leave as result:
            return result.value
        return None

    return call_deep(func.body.depth, run)


class _Machine(ExprMachine):
    """One run of one function."""

    # --- calling ---

    def call(self, func: PrimFunc, args: Any) -> Any:
        """Bind the arguments and run the body."""
        name = str(func.attrs.get("global_symbol", "main"))
        if len(args) != len(func.params):
            raise error.TypeError_(
                f"{name}: expects {len(func.params)} arguments, but got {len(args)}"
            )
        arrays = []
        for param, arg in zip(func.params, args):
            buffer = func.buffer_map.get(param)
            if buffer is None:
                self.env[param] = self._scalar(name, param, arg)
            else:
                arrays.append((buffer, arg))
        for buffer, arg in arrays:
            self._bind(name, buffer, arg)
        run = self.stmt(func.body)
        try:
            run()
        except Leave as result:
            return result.value
        return None

    def _scalar(self, name: str, param: Any, value: Any) -> Any:
        found = _dtype.info(param.dtype)
        if isinstance(value, Storage) or found.kind == "handle":
            return value if isinstance(value, Storage) else Storage.of_array(value, param.name)
        if found.is_float:
            return numeric.round_float(float(value), found.text)
        if isinstance(value, float):
            raise error.TypeError_(
                f"{name}: expected an int of dtype {param.dtype} for {param.name}, but got a float"
            )
        least, greatest = _dtype.int_range(found)
        if not least <= int(value) <= greatest:
            raise error.ValueError_(f"{name}: {value} does not fit {param.name} ({param.dtype})")
        return int(value)

    def _bind(self, name: str, buffer: Buffer, arg: Any) -> None:
        if isinstance(arg, Storage):
            self.env[buffer.data] = arg
            return
        shape = tuple(arg.shape)
        found = _dtype.info(buffer.dtype)
        expected = len(buffer.shape)
        if found.lanes > 1 and len(shape) == expected + 1:
            shape = shape[:-1]
        if len(shape) != expected:
            raise error.TypeError_(
                f"{name}: {buffer.name} has {expected} dimensions, but the array has {len(shape)}"
            )
        for axis, (size, given) in enumerate(zip(buffer.shape, shape)):
            self._bind_size(f"{name}: {buffer.name}: shape[{axis}]", size, given)
        self.env[buffer.data] = Storage.of_array(arg, buffer.name)
        if buffer.strides:
            steps = getattr(arg, "strides", None)
            item = max(1, (8 if found.is_bool else found.bits) // 8)
            for axis, (step, given) in enumerate(zip(buffer.strides, steps or ())):
                self._bind_size(f"{name}: {buffer.name}: strides[{axis}]", step, given // item)
        if isinstance(buffer.elem_offset, E.Var):
            self.env.setdefault(buffer.elem_offset, 0)

    def _bind_size(self, where: str, size: Any, given: int) -> None:
        if isinstance(size, E.Var) and size not in self.env:
            self.env[size] = int(given)
            return
        if all(var in self.env for var in _variables(size)):
            wanted = self.expr(size)()
            if wanted != given:
                raise error.ValueError_(f"{where}: expected {wanted} ({size}), but got {given}")

    # --- statements ---

    def stmt(self, node: Any) -> Callable[[], None]:
        """A function that runs a statement."""
        return _STMT[type(node)](self, node)  # type: ignore[no-any-return]

    def _seq(self, node: Any) -> Callable[[], None]:
        items = [self.stmt(item) for item in node.seq]

        def run() -> None:
            for item in items:
                item()

        return run

    def _evaluate(self, node: Any) -> Callable[[], None]:
        return self.expr(node.value)

    def _for(self, node: Any) -> Callable[[], None]:
        lower, extent, body = self.expr(node.min), self.expr(node.extent), self.stmt(node.body)
        env = self.env
        names = [node.loop_var]
        if node.thread_binding is not None:
            names.append(node.thread_binding.var)

        def run() -> None:
            first = lower()
            for value in range(first, first + extent()):
                for name in names:
                    env[name] = value
                body()

        return run

    def _while(self, node: Any) -> Callable[[], None]:
        condition, body = self.expr(node.condition), self.stmt(node.body)

        def run() -> None:
            while condition():
                body()

        return run

    def _if(self, node: Any) -> Callable[[], None]:
        condition, yes = self.expr(node.condition), self.stmt(node.then_case)
        no = None if node.else_case is None else self.stmt(node.else_case)

        def run() -> None:
            if condition():
                yes()
            elif no is not None:
                no()

        return run

    def _let_stmt(self, node: Any) -> Callable[[], None]:
        value, body = self.expr(node.value), self.stmt(node.body)
        env, var = self.env, node.var

        def run() -> None:
            env[var] = value()
            body()

        return run

    def _assert(self, node: Any) -> Callable[[], None]:
        condition, message = self.expr(node.condition), self.expr(node.message)
        body = self.stmt(node.body)

        def run() -> None:
            if not condition():
                raise error.TVMError(str(message()))
            body()

        return run

    def _allocate(self, node: Any) -> Callable[[], None]:
        extents = [self.expr(item) for item in node.extents]
        body = self.stmt(node.body)
        env, var, dtype = self.env, node.buffer_var, node.dtype

        def run() -> None:
            sizes = [item() for item in extents]
            env[var] = Storage.allocate(math.prod(sizes), dtype, var.name)
            body()

        return run

    def _allocate_const(self, node: Any) -> Callable[[], None]:
        body = self.stmt(node.body)

        def run() -> None:
            self.env[node.buffer_var] = Storage.of_array(node.data, node.buffer_var.name)
            body()

        return run

    def _decl_buffer(self, node: Any) -> Callable[[], None]:
        return self.stmt(node.body)

    def _buffer_realize(self, node: Any) -> Callable[[], None]:
        bounds = [(self.expr(item.min), self.expr(item.extent)) for item in node.bounds]
        body = self.stmt(node.body)
        buffer = node.buffer

        def run() -> None:
            mins = [lower() for lower, _ in bounds]
            sizes = [extent() for _, extent in bounds]
            before = self.regions.get(buffer)
            self.regions[buffer] = (mins, sizes, (None, 0))
            storage = Storage.allocate(math.prod(sizes), buffer.dtype, buffer.name)
            self.env[buffer.data] = storage
            body()
            if before is None:
                del self.regions[buffer]
            else:
                self.regions[buffer] = before

        return run

    def _attr(self, node: Any) -> Callable[[], None]:
        body = self.stmt(node.body)
        if node.attr_key not in ("thread_extent", "virtual_thread"):
            return body
        extent, var, env = self.expr(node.value), node.node.var, self.env

        def run() -> None:
            if var in env:
                body()
                return
            for value in range(extent()):
                env[var] = value
                body()
            env.pop(var, None)

        return run

    def _block_realize(self, node: Any) -> Callable[[], None]:
        block = node.block
        values = [self.expr(item) for item in node.iter_values]
        predicate = self.expr(node.predicate)
        init = None if block.init is None else self.stmt(block.init)
        body = self.stmt(block.body)
        matches = [match_buffer(self, item) for item in block.match_buffers]
        first = [
            (item.var, self.expr(item.dom.min))
            for item in block.iter_vars
            if item.iter_type == E.IterVar.CommReduce
        ]
        env = self.env

        def run() -> None:
            if not predicate():
                return
            for item, value in zip(block.iter_vars, [value() for value in values]):
                env[item.var] = value
            for buffer in block.alloc_buffers:
                sizes = [self.expr(size)() for size in buffer.shape]
                env[buffer.data] = Storage.allocate(math.prod(sizes), buffer.dtype, buffer.name)
            for match in matches:
                match()
            if init is not None and all(env[var] == lower() for var, lower in first):
                init()
            body()

        return run

    def _block(self, node: Any) -> Callable[[], None]:
        values = [item.dom.min for item in node.iter_vars]
        return self._block_realize(S.BlockRealize(values, True, node))

    def _skip(self, node: Any) -> Callable[[], None]:
        return lambda: None


def _variables(node: Any) -> list[Any]:
    from .stmt_functor import post_order_visit

    found: list[Any] = []
    post_order_visit(node, lambda item: found.append(item) if isinstance(item, E.Var) else None)
    return found


_STMT: dict[type, Any] = {
    S.SeqStmt: _Machine._seq,
    S.Evaluate: _Machine._evaluate,
    S.For: _Machine._for,
    S.While: _Machine._while,
    S.IfThenElse: _Machine._if,
    S.LetStmt: _Machine._let_stmt,
    S.AssertStmt: _Machine._assert,
    S.BufferStore: _Machine._store,
    S.Allocate: _Machine._allocate,
    S.AllocateConst: _Machine._allocate_const,
    S.DeclBuffer: _Machine._decl_buffer,
    S.BufferRealize: _Machine._buffer_realize,
    S.AttrStmt: _Machine._attr,
    S.Block: _Machine._block,
    S.BlockRealize: _Machine._block_realize,
    S.Prefetch: _Machine._skip,
}
