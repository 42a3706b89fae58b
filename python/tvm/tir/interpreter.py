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
from ..ir.expr import GlobalVar
from ..ir.module import IRModule
from ..ir.op import Op
from . import expr as E
from . import numeric
from . import stmt as S
from .buffer import Buffer
from .function import PrimFunc
from .intrinsics import evaluate_intrinsic
from .memory import Storage, element

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class _Return(Exception):
    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


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


class _Machine:
    """One run of one function."""

    def __init__(self, module: IRModule | None) -> None:
        self.module = module
        self.env: dict[Any, Any] = {}
        # Regions of buffers that BufferRealize opened: the mins and extents.
        self.regions: dict[Buffer, Any] = {}

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
        except _Return as result:
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

    # --- expressions ---

    def expr(self, node: Any) -> Callable[[], Any]:
        """A function that computes an expression; vectors are lists."""
        return _EXPR[type(node)](self, node)  # type: ignore[no-any-return]

    def _var(self, node: Any) -> Callable[[], Any]:
        env = self.env

        def get() -> Any:
            try:
                return env[node]
            except KeyError:
                raise error.ValueError_(f"the variable {node.name} has no value") from None

        return get

    def _int(self, node: Any) -> Callable[[], Any]:
        value = node.value
        return lambda: value

    def _float(self, node: Any) -> Callable[[], Any]:
        value = numeric.round_float(node.value, node.dtype)
        return lambda: value

    def _binary(self, node: Any) -> Callable[[], Any]:
        a, b = self.expr(node.a), self.expr(node.b)
        found = _dtype.info(node.dtype)
        name = type(node).__name__
        if found.is_int:
            operate = numeric.INT_OPERATIONS[name]
            wrap = numeric.wrap
            return _lift(lambda x, y: wrap(operate(x, y), found), a, b, found.lanes)
        compute = numeric.FLOAT_OPERATIONS[name]
        text = found.scalar
        return _lift(lambda x, y: numeric.round_float(compute(x, y), text), a, b, found.lanes)

    def _compare(self, node: Any) -> Callable[[], Any]:
        a, b = self.expr(node.a), self.expr(node.b)
        compare = numeric.COMPARISONS[type(node).__name__]
        return _lift(lambda x, y: int(compare(x, y)), a, b, _dtype.info(node.dtype).lanes)

    def _and(self, node: Any) -> Callable[[], Any]:
        a, b = self.expr(node.a), self.expr(node.b)
        if _dtype.info(node.dtype).lanes > 1:
            return _lift(lambda x, y: x & y, a, b, 2)
        return lambda: b() if a() else 0

    def _or(self, node: Any) -> Callable[[], Any]:
        a, b = self.expr(node.a), self.expr(node.b)
        if _dtype.info(node.dtype).lanes > 1:
            return _lift(lambda x, y: x | y, a, b, 2)
        return lambda: 1 if a() else b()

    def _not(self, node: Any) -> Callable[[], Any]:
        a = self.expr(node.a)
        if _dtype.info(node.dtype).lanes > 1:
            return lambda: [1 - x for x in a()]
        return lambda: 1 - a()

    def _cast(self, node: Any) -> Callable[[], Any]:
        value = self.expr(node.value)
        source, target = _dtype.info(node.value.dtype), _dtype.info(node.dtype)
        if target.lanes > 1:
            return lambda: [numeric.cast(x, source, target) for x in value()]
        return lambda: numeric.cast(value(), source, target)

    def _select(self, node: Any) -> Callable[[], Any]:
        condition = self.expr(node.condition)
        yes, no = self.expr(node.true_value), self.expr(node.false_value)
        if _dtype.info(node.condition.dtype).lanes > 1:

            def choose() -> Any:
                return [a if c else b for c, a, b in zip(condition(), yes(), no())]

            return choose
        # Only the chosen side is computed: the other may not be safe to compute before lowering
        # has made it so, and has no effect.
        return lambda: yes() if condition() else no()

    def _ramp(self, node: Any) -> Callable[[], Any]:
        base, stride = self.expr(node.base), self.expr(node.stride)
        found = _dtype.info(node.base.dtype)

        def make() -> Any:
            first, step = base(), stride()
            return [numeric.wrap(first + step * lane, found) for lane in range(node.lanes)]

        return make

    def _broadcast(self, node: Any) -> Callable[[], Any]:
        value = self.expr(node.value)
        return lambda: [value()] * node.lanes

    def _shuffle(self, node: Any) -> Callable[[], Any]:
        vectors = [self.expr(item) for item in node.vectors]
        chosen = [item.value for item in node.indices]

        def make() -> Any:
            lanes: list[Any] = []
            for item in vectors:
                value = item()
                lanes += value if isinstance(value, list) else [value]
            picked = [lanes[index] for index in chosen]
            return picked if len(picked) > 1 else picked[0]

        return make

    def _let(self, node: Any) -> Callable[[], Any]:
        value, body = self.expr(node.value), self.expr(node.body)
        env, var = self.env, node.var

        def run() -> Any:
            env[var] = value()
            return body()

        return run

    def _call(self, node: Any) -> Callable[[], Any]:
        if isinstance(node.op, GlobalVar):
            return self._call_function(node)
        name = node.op.name if isinstance(node.op, Op) else str(node.op)
        name = name[4:] if name.startswith("tir.") else name
        special = _SPECIAL.get(name)
        if special is not None:
            return special(self, node)  # type: ignore[no-any-return]
        args = [self.expr(item) for item in node.args]
        lanes = max([_dtype.info(item.dtype).lanes for item in node.args], default=1)
        kinds = [_dtype.info(_dtype.info(item.dtype).scalar) for item in node.args]
        result = _dtype.info(_dtype.info(node.dtype).scalar)
        if lanes == 1:
            return lambda: evaluate_intrinsic(name, [arg() for arg in args], kinds, result)

        def each() -> Any:
            values = [arg() for arg in args]
            columns = [v if isinstance(v, list) else [v] * lanes for v in values]
            return [evaluate_intrinsic(name, list(row), kinds, result) for row in zip(*columns)]

        return each

    def _call_function(self, node: Any) -> Callable[[], Any]:
        if self.module is None:
            raise error.ValueError_(f"the function {node.op.name_hint} is not known here")
        func = self.module[node.op]
        args = [self.expr(item) for item in node.args]
        return lambda: _Machine(self.module).call(func, [arg() for arg in args])

    def _if_then_else(self, node: Any) -> Callable[[], Any]:
        condition, yes, no = (self.expr(item) for item in node.args)
        return lambda: yes() if condition() else no()

    def _identity(self, node: Any) -> Callable[[], Any]:
        return self.expr(node.args[0])

    def _ret(self, node: Any) -> Callable[[], Any]:
        value = self.expr(node.args[0])

        def leave() -> Any:
            raise _Return(value())

        return leave

    def _address_of(self, node: Any) -> Callable[[], Any]:
        load = node.args[0]
        data = self._var(load.buffer.data)
        position = self._position(load.buffer, load.indices)
        item = element(_dtype.info(load.buffer.dtype).scalar).bits

        def make() -> Any:
            storage = data()
            first = position()
            first = first[0] if isinstance(first, list) else first
            return Storage(storage.raw, storage.name, storage.base + first * item // 8)

        return make

    def _access_ptr(self, node: Any) -> Callable[[], Any]:
        data, offset = self.expr(node.args[1]), self.expr(node.args[2])
        found = _dtype.info(node.args[0].dtype)

        def make() -> Any:
            storage = data()
            start = storage.base + offset() * found.bits * found.lanes // 8
            return Storage(storage.raw, storage.name, start)

        return make

    def _make_shape(self, node: Any) -> Callable[[], Any]:
        args = [self.expr(item) for item in node.args]
        return lambda: tuple([arg() for arg in args])

    def _make_array(self, node: Any) -> Callable[[], Any]:
        data, shape = self.expr(node.args[0]), self.expr(node.args[1])
        strides, offset = self.expr(node.args[2]), self.expr(node.args[5])
        view = element(_dtype.info(node.args[4].dtype).scalar).view

        def make() -> Any:
            import numpy as np

            flat = data().view(view)[offset() :]
            sizes, steps = shape(), strides()
            if isinstance(steps, tuple):
                size = flat.itemsize
                return np.lib.stride_tricks.as_strided(
                    flat, shape=sizes, strides=[step * size for step in steps]
                )
            return flat[: math.prod(sizes)].reshape(sizes)

        return make

    def _call_packed(self, node: Any) -> Callable[[], Any]:
        name = node.args[0].value
        args = [self.expr(item) for item in node.args[1:]]
        first = 0 if _dtype.info(node.dtype).is_int else None

        def call() -> Any:
            from ..runtime import get_global_func

            result = get_global_func(name)(*[arg() for arg in args])
            return first if result is None else result

        return call

    def _string(self, node: Any) -> Callable[[], Any]:
        value = node.value
        return lambda: value

    def _nothing(self, node: Any) -> Callable[[], Any]:
        return lambda: 0

    def _vector_part(self, node: Any) -> Callable[[], Any]:
        value = self.expr(node.args[0])
        half = _dtype.info(node.args[0].dtype).lanes // 2
        low = node.op.name.endswith("low")

        def take() -> Any:
            lanes = value()[:half] if low else value()[half:]
            return lanes if half > 1 else lanes[0]

        return take

    def _vector_combine(self, node: Any) -> Callable[[], Any]:
        a, b = self.expr(node.args[0]), self.expr(node.args[1])

        def join() -> Any:
            x, y = a(), b()
            return (x if isinstance(x, list) else [x]) + (y if isinstance(y, list) else [y])

        return join

    # --- memory ---

    def _position(self, buffer: Buffer, indices: Any) -> Callable[[], Any]:
        """The element position of an access, checked; a list where an index is a vector."""
        made = [self.expr(item) for item in indices]
        regions = self.regions
        whole: list[Any] = []

        def prepare() -> tuple[Any, Any, Any]:
            opened = regions.get(buffer)
            if opened is not None:
                return opened  # type: ignore[no-any-return]
            if not whole:
                whole.extend([
                    [self.expr(item) for item in buffer.shape],
                    [self.expr(item) for item in buffer.strides] or None,
                    self.expr(buffer.elem_offset)
                    if not isinstance(buffer.elem_offset, E.Var) or buffer.elem_offset in self.env
                    else lambda: 0,
                ])  # fmt: skip
            shape = [item() for item in whole[0]]
            strides = None if whole[1] is None else [item() for item in whole[1]]
            return [0] * len(shape), shape, (strides, whole[2]())

        broadcasts = buffer.buffer_type == 2

        def locate(values: list[int], mins: Any, shape: Any, strides: Any, offset: int) -> int:
            position = 0
            for axis, value in enumerate(values):
                inside = value - mins[axis]
                if broadcasts and shape[axis] == 1:
                    inside = 0
                if not 0 <= inside < shape[axis]:
                    raise error.IndexError_(
                        f"{buffer.name}: index {value} of dimension {axis} is out of "
                        f"{mins[axis]}..{mins[axis] + shape[axis] - 1}"
                    )
                if strides is None:
                    position = position * shape[axis] + inside
                else:
                    position += inside * strides[axis]
            return position + offset

        def compute() -> Any:
            mins, shape, rest = prepare()
            strides, offset = rest
            values = [item() for item in made]
            lanes = max([len(v) for v in values if isinstance(v, list)], default=0)
            if not lanes:
                return locate(values, mins, shape, strides, offset)
            columns = [v if isinstance(v, list) else [v] * lanes for v in values]
            return [locate(list(row), mins, shape, strides, offset) for row in zip(*columns)]

        return compute

    def _load(self, node: Any) -> Callable[[], Any]:
        buffer = node.buffer
        data, position = self._var(buffer.data), self._position(buffer, node.indices)
        found = _dtype.info(buffer.dtype)
        kind = element(found.scalar)
        lanes = found.lanes

        def load() -> Any:
            storage, where = data(), position()
            count = kind.count(storage)
            if not isinstance(where, list):
                _inside(buffer, where, count // lanes)
                if lanes == 1:
                    return kind.load(storage, where)
                where = [where]
            made = []
            for item in where:
                _inside(buffer, item, count // lanes)
                made += [kind.load(storage, item * lanes + lane) for lane in range(lanes)]
            return made

        return load

    def _store(self, node: Any) -> Callable[[], None]:
        buffer = node.buffer
        data, position = self._var(buffer.data), self._position(buffer, node.indices)
        value = self.expr(node.value)
        found = _dtype.info(buffer.dtype)
        kind = element(found.scalar)
        lanes = found.lanes

        def store() -> None:
            what, where, storage = value(), position(), data()
            count = kind.count(storage) // lanes
            if not isinstance(where, list):
                where = [where]
            if not isinstance(what, list):
                what = [what] * (len(where) * lanes)
            for index, item in enumerate(where):
                _inside(buffer, item, count)
                for lane in range(lanes):
                    kind.store(storage, item * lanes + lane, what[index * lanes + lane])

        return store

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
            if init is not None and all(env[var] == lower() for var, lower in first):
                init()
            body()

        return run

    def _block(self, node: Any) -> Callable[[], None]:
        values = [item.dom.min for item in node.iter_vars]
        return self._block_realize(S.BlockRealize(values, True, node))

    def _skip(self, node: Any) -> Callable[[], None]:
        return lambda: None


def _inside(buffer: Buffer, position: int, count: int) -> None:
    if not 0 <= position < count:
        raise error.IndexError_(
            f"{buffer.name}: position {position} is outside of its memory of {count} elements"
        )


def _lift(scalar: Callable[[Any, Any], Any], a: Any, b: Any, lanes: int) -> Callable[[], Any]:
    if lanes > 1:
        return lambda: [scalar(x, y) for x, y in zip(a(), b())]
    return lambda: scalar(a(), b())


def _variables(node: Any) -> list[Any]:
    from .stmt_functor import post_order_visit

    found: list[Any] = []
    post_order_visit(node, lambda item: found.append(item) if isinstance(item, E.Var) else None)
    return found


_EXPR: dict[type, Any] = {
    E.Var: _Machine._var,
    E.SizeVar: _Machine._var,
    E.IntImm: _Machine._int,
    E.FloatImm: _Machine._float,
    E.StringImm: _Machine._string,
    E.And: _Machine._and,
    E.Or: _Machine._or,
    E.Not: _Machine._not,
    E.Cast: _Machine._cast,
    E.Select: _Machine._select,
    E.Ramp: _Machine._ramp,
    E.Broadcast: _Machine._broadcast,
    E.Shuffle: _Machine._shuffle,
    E.Let: _Machine._let,
    E.Call: _Machine._call,
    E.BufferLoad: _Machine._load,
}
for _cls in (E.Add, E.Sub, E.Mul, E.Div, E.Mod, E.FloorDiv, E.FloorMod, E.Min, E.Max):
    _EXPR[_cls] = _Machine._binary
for _cls in (E.EQ, E.NE, E.LT, E.LE, E.GT, E.GE):
    _EXPR[_cls] = _Machine._compare

_SPECIAL: dict[str, Any] = {
    "if_then_else": _Machine._if_then_else,
    "likely": _Machine._identity,
    "ret": _Machine._ret,
    "address_of": _Machine._address_of,
    "tvm_access_ptr": _Machine._access_ptr,
    "tvm_stack_make_shape": _Machine._make_shape,
    "tvm_stack_make_array": _Machine._make_array,
    "tvm_call_packed": _Machine._call_packed,
    "tvm_call_cpacked": _Machine._call_packed,
    "vectorlow": _Machine._vector_part,
    "vectorhigh": _Machine._vector_part,
    "vectorcombine": _Machine._vector_combine,
    "prefetch": _Machine._nothing,
    "assume": _Machine._nothing,
    "undef": _Machine._nothing,
}

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
