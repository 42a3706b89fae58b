"""Running expressions: each becomes a Python function, once."""

from __future__ import annotations

import math

from .. import error
from ..ir import dtype as _dtype
from ..ir.expr import GlobalVar
from ..ir.module import IRModule
from ..ir.op import Op
from . import expr as E
from . import numeric
from .buffer import Buffer
from .interpreter_outside import OUTSIDE
from .intrinsics import evaluate_intrinsic
from .memory import Storage, element

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Leave(Exception):
    """Leaves the function with a value."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class ExprMachine:
    """The half of the machine that computes expressions and finds memory."""

    def __init__(self, module: IRModule | None) -> None:
        self.module = module
        self.env: dict[Any, Any] = {}
        # Regions of buffers that BufferRealize opened: the mins and extents.
        self.regions: dict[Buffer, Any] = {}

    def call(self, func: Any, args: Any) -> Any:
        """Bind the arguments and run the body."""
        raise NotImplementedError

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
        return lambda: type(self)(self.module).call(func, [arg() for arg in args])

    def _if_then_else(self, node: Any) -> Callable[[], Any]:
        condition, yes, no = (self.expr(item) for item in node.args)
        return lambda: yes() if condition() else no()

    def _identity(self, node: Any) -> Callable[[], Any]:
        return self.expr(node.args[0])

    def _ret(self, node: Any) -> Callable[[], Any]:
        value = self.expr(node.args[0])

        def leave() -> Any:
            raise Leave(value())

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
            from .._ffi.registry import get_global_func

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
                inside(buffer, where, count // lanes)
                if lanes == 1:
                    return kind.load(storage, where)
                where = [where]
            made = []
            for item in where:
                inside(buffer, item, count // lanes)
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
                inside(buffer, item, count)
                for lane in range(lanes):
                    kind.store(storage, item * lanes + lane, what[index * lanes + lane])

        return store


def inside(buffer: Buffer, position: int, count: int) -> None:
    if not 0 <= position < count:
        raise error.IndexError_(
            f"{buffer.name}: position {position} is outside of its memory of {count} elements"
        )


def _lift(scalar: Callable[[Any, Any], Any], a: Any, b: Any, lanes: int) -> Callable[[], Any]:
    if lanes > 1:
        return lambda: [scalar(x, y) for x, y in zip(a(), b())]
    return lambda: scalar(a(), b())


_EXPR: dict[type, Any] = {
    E.Var: ExprMachine._var,
    E.SizeVar: ExprMachine._var,
    E.IntImm: ExprMachine._int,
    E.FloatImm: ExprMachine._float,
    E.StringImm: ExprMachine._string,
    E.And: ExprMachine._and,
    E.Or: ExprMachine._or,
    E.Not: ExprMachine._not,
    E.Cast: ExprMachine._cast,
    E.Select: ExprMachine._select,
    E.Ramp: ExprMachine._ramp,
    E.Broadcast: ExprMachine._broadcast,
    E.Shuffle: ExprMachine._shuffle,
    E.Let: ExprMachine._let,
    E.Call: ExprMachine._call,
    E.BufferLoad: ExprMachine._load,
}
_cls: type
for _cls in (E.Add, E.Sub, E.Mul, E.Div, E.Mod, E.FloorDiv, E.FloorMod, E.Min, E.Max):
    _EXPR[_cls] = ExprMachine._binary
for _cls in (E.EQ, E.NE, E.LT, E.LE, E.GT, E.GE):
    _EXPR[_cls] = ExprMachine._compare

_SPECIAL: dict[str, Any] = {
    "if_then_else": ExprMachine._if_then_else,
    "likely": ExprMachine._identity,
    "ret": ExprMachine._ret,
    "address_of": ExprMachine._address_of,
    "tvm_access_ptr": ExprMachine._access_ptr,
    "tvm_stack_make_shape": ExprMachine._make_shape,
    "tvm_stack_make_array": ExprMachine._make_array,
    "tvm_call_packed": ExprMachine._call_packed,
    "tvm_call_cpacked": ExprMachine._call_packed,
    "vectorlow": ExprMachine._vector_part,
    "vectorhigh": ExprMachine._vector_part,
    "vectorcombine": ExprMachine._vector_combine,
    "prefetch": ExprMachine._nothing,
    "assume": ExprMachine._nothing,
    "undef": ExprMachine._nothing,
    **OUTSIDE,
}
