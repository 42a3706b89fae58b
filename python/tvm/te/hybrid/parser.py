"""From the source of a hybrid script to an operation.

Each statement of the script becomes statements over buffers: arrays are buffers, names that are
assigned are buffers of one element, unless they are assigned once and hold a position or size.
"""

from __future__ import annotations

import ast

from tvm import tir
from tvm.error import TypeError_, ValueError_
from tvm.ir import dtype as _dtype
from tvm.ir.expr import Range
from tvm.tir import Buffer, ForKind, IntImm, IterVar, PrimExpr, Var
from tvm.tir.expr import DATA, const_of, convert

from ..hybrid_op import HybridOp
from ..operation import _shape
from ..tag import TagScope
from ..tensor import Tensor
from .values import FUNCTIONS, Element, Loop, Values, symbolic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tvm.tir import Stmt

_LOOPS: dict[str, Any] = {
    "range": ForKind.SERIAL,
    "serial": ForKind.SERIAL,
    "unroll": ForKind.UNROLLED,
    "parallel": ForKind.PARALLEL,
    "vectorize": ForKind.VECTORIZED,
    "const_range": None,
}


def is_symbolic(arg: Any) -> bool:
    """Whether an argument asks for an operation instead of values."""
    if isinstance(arg, (list, tuple)):
        return any(is_symbolic(item) for item in arg)
    return isinstance(arg, (Tensor, PrimExpr))


def parse(function: Any, args: Any) -> Any:
    """The tensors that a script computes of tensors and constants."""
    import inspect
    import textwrap

    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        raise ValueError_(
            f"hybrid script {function.__name__}: its source text is not available; scripts must "
            "stand in a file or a notebook cell"
        ) from None
    tree = ast.parse(textwrap.dedent("".join(lines)))
    definition = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    scope = inspect.getclosurevars(function)
    outer = {**function.__globals__, **scope.nonlocals}
    parser = _Parser(function.__name__, first - 1, outer)
    return parser.function(definition, args)


class _Parser(Values):
    def __init__(self, name: str, line: int, outer: dict[str, Any]) -> None:
        self.name = name
        self.first_line = line
        self.outer = outer
        # names of the script, one table a block
        self.scopes: list[dict[str, Any]] = [{}]
        # every name that was ever in a block that is closed now
        self.closed: set[str] = set()
        self.inputs: dict[Tensor, Buffer] = {}
        self.outputs: list[Buffer] = []
        self.returned: list[Buffer] | None = None
        self.axes: list[IterVar] = []
        self.assigned: dict[str, int] = {}
        self.line = 0

    # ---- the whole
    def function(self, node: ast.FunctionDef, args: Any) -> Any:
        """The tensors of the definition."""
        names = [arg.arg for arg in node.args.args]
        if len(names) != len(args) or node.args.vararg or node.args.kwarg:
            raise TypeError_(
                f"hybrid script {self.name}: expected {len(names)} arguments "
                f"({', '.join(names)}), but got {len(args)}"
            )
        for inner in ast.walk(node):
            targets = []
            if isinstance(inner, ast.Assign):
                targets = inner.targets
            elif isinstance(inner, ast.AugAssign):
                # twice: it reads and writes
                targets = [inner.target, inner.target]
            for target in targets:
                for item in ast.walk(target):
                    if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store):
                        self.assigned[item.id] = self.assigned.get(item.id, 0) + 1
        for name, arg in zip(names, args):
            self.scopes[0][name] = self._argument(name, arg)
        body = self._block(node.body)
        if self.returned is None:
            raise self.wrong("expected `return` of the output tensors at the end", node)
        scope = TagScope.get_current()
        op = HybridOp(
            self.name,
            "" if scope is None else scope.tag,
            {},
            list(self.inputs),
            list(self.inputs.values()),
            self.returned,
            body,
            self.axes,
        )
        made = [op.output(k) for k in range(len(self.returned))]
        return made[0] if len(made) == 1 else made

    def _argument(self, name: str, arg: Any) -> Any:
        if isinstance(arg, Tensor):
            return self._input(arg)
        if isinstance(arg, (list, tuple)):
            return tuple([self._argument(name, item) for item in arg])
        if isinstance(arg, (PrimExpr, int, float, str)) or arg is None:
            return arg
        raise TypeError_(
            f"hybrid script {self.name}: {name}: expected a tensor, a number or an expression, but "
            f"got {type(arg).__name__}"
        )

    # ---- blocks and statements
    def _block(self, nodes: list[ast.stmt], own: dict[str, Any] | None = None) -> Stmt:
        """The statements of a block; memory lives from where it is made to the block's end."""
        self.scopes.append(dict(own or {}))
        items: list[Any] = []
        for node in nodes:
            if self.returned is not None:
                raise self.wrong("nothing may stand after return", node)
            self.line = node.lineno
            method = getattr(self, "_do_" + type(node).__name__.lower(), None)
            if method is None:
                raise self.wrong(f"{type(node).__name__} statements are not part of the language")
            made = method(node)
            items += made if isinstance(made, list) else [made]
        self.closed.update(self.scopes.pop())
        body: Any = None
        for item in reversed(items):
            if isinstance(item, tir.Stmt):
                body = item if body is None else _sequence(item, body)
            elif item is not None:
                body = item(body if body is not None else tir.Evaluate(0))
        return body if body is not None else tir.Evaluate(0)

    def _do_pass(self, node: ast.Pass) -> None:
        return None

    def _do_expr(self, node: ast.Expr) -> Stmt | None:
        if isinstance(node.value, ast.Constant):
            return None  # a docstring
        value = self._value(node.value)
        return tir.Evaluate(value) if isinstance(value, PrimExpr) else None

    def _do_return(self, node: ast.Return) -> None:
        if len(self.scopes) != 2:
            raise self.wrong("return may stand at the end of the function only", node)
        items = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        buffers = []
        for item in items:
            value = self._lookup(item.id) if isinstance(item, ast.Name) else None
            if not isinstance(value, Buffer) or not any(value is out for out in self.outputs):
                raise self.wrong("expected the names of output tensors after return", node)
            buffers.append(value)
        left = [b.name for b in self.outputs if not any(b is other for other in buffers)]
        if left:
            raise self.wrong(f"output tensors must be returned: {', '.join(left)}", node)
        self.returned = buffers

    def _do_assert(self, node: ast.Assert) -> Any:
        cond = self._condition(node.test)
        text = "assertion failed" if node.msg is None else self._value(node.msg)
        if not isinstance(cond, PrimExpr):
            if not cond:
                raise self.wrong(f"assertion failed: {text}", node)
            return None
        return lambda body: tir.AssertStmt(cond, str(text), body)

    def _do_assign(self, node: ast.Assign) -> Any:
        if len(node.targets) != 1:
            raise self.wrong("expected one target of an assignment")
        target, source = node.targets[0], node.value
        if isinstance(target, ast.Tuple):
            values = self._value(source)
            if not isinstance(values, (list, tuple)) or len(values) != len(target.elts):
                raise self.wrong(f"expected {len(target.elts)} values to assign")
            # all values are read before the first is written
            out: list[Any] = []
            held = []
            for value in values:
                if isinstance(value, PrimExpr) and value.kinds & DATA:
                    var = Var("held", value.dtype)
                    out.append(_let(var, value))
                    value = var
                held.append(value)
            for item, value in zip(target.elts, held):
                made = self._assign(item, value)
                out += made if isinstance(made, list) else [made]
            return out
        if isinstance(source, ast.Call) and isinstance(target, ast.Name):
            called = source.func.id if isinstance(source.func, ast.Name) else ""
            if called in ("allocate", "output_tensor"):
                return self._memory(target.id, called, source)
        return self._assign(target, self._value(source))

    def _do_annassign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return None
        return self._assign(node.target, self._value(node.value))

    def _do_augassign(self, node: ast.AugAssign) -> Any:
        if isinstance(node.target, ast.Name):
            now: Any = self._read(self._lookup(node.target.id))
        else:
            target: Any = node.target
            now = self._value(ast.Subscript(target.value, target.slice, ast.Load()))
        return self._assign(node.target, self._apply(node.op, now, self._value(node.value)))

    def _memory(self, name: str, called: str, node: ast.Call) -> Any:
        args = [self._value(arg) for arg in node.args]
        options = {str(item.arg): self._value(item.value) for item in node.keywords}
        for key, value in zip(("shape", "dtype", "scope"), args):
            options.setdefault(key, value)
        if "shape" not in options or len(args) > 3:
            raise self.wrong(f"{called}: expected shape, dtype" + ", scope" * (called[0] == "a"))
        shape = options["shape"]
        dims = _shape(tuple(shape) if isinstance(shape, (list, tuple)) else shape, name)
        dtype = _dtype.canonical(options.get("dtype", "float32"))
        if self._find(name) is not None:
            raise self.wrong(f"{name} is a name already")
        if called == "output_tensor":
            if len(self.scopes) != 2:
                raise self.wrong("output_tensor may stand outside of loops and branches only")
            buffer = tir.decl_buffer(dims, dtype, name)
            self.outputs.append(buffer)
            self.scopes[-1][name] = buffer
            return None
        scope = str(options.get("scope", "local"))
        buffer = tir.decl_buffer(dims, dtype, name, scope="" if scope == "global" else scope)
        self.scopes[-1][name] = buffer
        return _realize(buffer)

    def _assign(self, target: ast.expr, value: Any) -> Any:
        if isinstance(target, ast.Subscript):
            buffer = self._value(target.value)
            if not isinstance(buffer, Buffer):
                raise self.wrong("expected an array in front of the brackets")
            if any(buffer is known for known in self.inputs.values()):
                raise self.wrong(f"{buffer.name} is an input and cannot be written")
            return self._store(buffer, value, self._indices(buffer, target.slice))
        if not isinstance(target, ast.Name):
            raise self.wrong(f"cannot assign to {ast.unparse(target)}")
        name = target.id
        known = self._find(name)
        if isinstance(value, (Tensor, Buffer, tuple, list, str)) or value is None:
            if known is not None or self.assigned.get(name, 0) != 1:
                raise self.wrong(f"{name} cannot stand for two things")
            self.scopes[-1][name] = self._input(value) if isinstance(value, Tensor) else value
            return None
        if isinstance(known, Element):
            return self._store(known.buffer, value, [IntImm("int32", 0)])
        if isinstance(known, IterVar):
            raise self.wrong(f"{name} is the variable of a loop and cannot be assigned")
        if isinstance(known, Buffer):
            raise self.wrong(f"{name} is an array; assign its elements")
        plain = not isinstance(value, PrimExpr) or not value.kinds & DATA
        if known is None and plain and self.assigned.get(name, 0) == 1:
            self.scopes[-1][name] = value
            return None
        value = convert(value)
        buffer = tir.decl_buffer((1,), value.dtype, name, scope="local")
        self.scopes[-1][name] = Element(buffer)
        return [_realize(buffer), self._store(buffer, value, [IntImm("int32", 0)])]

    def _store(self, buffer: Buffer, value: Any, indices: list[Any]) -> Stmt:
        if isinstance(value, (Buffer, Tensor, tuple, list, str)) or value is None:
            raise self.wrong(f"expected a number for an element of {buffer.name}")
        if not isinstance(value, PrimExpr):
            value = const_of(value, buffer.dtype)
        return tir.BufferStore(buffer, tir.cast(value, buffer.dtype), indices)

    def _do_if(self, node: ast.If) -> Any:
        cond = self._condition(node.test)
        if not isinstance(cond, PrimExpr):
            chosen = node.body if cond else node.orelse
            return self._block(chosen) if chosen else None
        other = self._block(node.orelse) if node.orelse else None
        return tir.IfThenElse(cond, self._block(node.body), other)

    def _do_while(self, node: ast.While) -> Stmt:
        cond = self._condition(node.test)
        return tir.While(convert(cond), self._block(node.body))

    def _do_for(self, node: ast.For) -> Any:
        if not isinstance(node.target, ast.Name) or not isinstance(node.iter, ast.Call):
            raise self.wrong("expected `for name in range(...)` or another kind of loop")
        kind_name = node.iter.func.id if isinstance(node.iter.func, ast.Name) else ""
        args = [self._value(arg) for arg in node.iter.args]
        name = node.target.id
        if node.orelse:
            raise self.wrong("a loop has no else")
        if kind_name == "bind":
            return self._bound(name, args, node)
        if kind_name not in _LOOPS:
            raise self.wrong(
                f"unknown kind of loop {kind_name}; those there are: {', '.join(_LOOPS)}, bind"
            )
        if not 1 <= len(args) <= 3:
            raise self.wrong(f"{kind_name}: expected one to three numbers, but got {len(args)}")
        low, high = (0, args[0]) if len(args) == 1 else args[:2]
        step = args[2] if len(args) == 3 else 1
        if kind_name == "const_range":
            numbers = [int(x) if isinstance(x, IntImm) else x for x in (low, high, step)]
            if symbolic(numbers):
                raise self.wrong("const_range: expected constants")
            copies = [self._block(node.body, {name: k}) for k in range(*numbers)]
            return copies or None
        if isinstance(step, PrimExpr) or step < 1:
            raise self.wrong(f"{kind_name}: expected a constant step of 1 or more, but got {step}")
        extent = high - low
        if step != 1:
            extent = FUNCTIONS["ceil_div"](extent, step)
        extent = convert(extent)
        if not _dtype.info(extent.dtype).is_int:
            raise self.wrong(f"{kind_name}: expected whole numbers")
        if isinstance(extent, IntImm) and extent.value < 0:
            extent = IntImm(extent.dtype, 0)
        kind = _LOOPS[kind_name]
        var = Var(name, extent.dtype)
        axis = IterVar(Range.from_min_extent(IntImm(extent.dtype, 0), extent), var)
        self.axes.append(axis)
        value: Any = var if step == 1 else var * step
        if isinstance(low, PrimExpr) or low != 0:
            value = low + value
        # the table holds the axis, so that an assignment to it is noticed
        body = self._block(node.body, {name: Loop(axis, value)})
        return tir.For(var, IntImm(extent.dtype, 0), extent, kind, body)

    def _bound(self, name: str, args: list[Any], node: ast.For) -> Stmt:
        if len(args) != 2 or not isinstance(args[0], str):
            raise self.wrong("bind: expected a thread tag and an extent")
        extent = convert(args[1])
        axis = IterVar(
            Range.from_min_extent(IntImm(extent.dtype, 0), extent),
            Var(name, extent.dtype),
            IterVar.ThreadIndex,
            args[0],
        )
        body = self._block(node.body, {name: Loop(axis, axis.var)})
        return tir.AttrStmt(axis, "thread_extent", extent, body)


def _sequence(first: Stmt, second: Stmt) -> Stmt:
    return tir.SeqStmt([*tir.stmt_list(first), *tir.stmt_list(second)])


def _realize(buffer: Buffer) -> Callable[[Stmt], Stmt]:
    bounds = [Range.from_min_extent(IntImm(e.dtype, 0), e) for e in buffer.shape]
    return lambda body: tir.BufferRealize(buffer, bounds, True, body)


def _let(var: Var, value: PrimExpr) -> Callable[[Stmt], Stmt]:
    return lambda body: tir.LetStmt(var, value, body)


__all__ = ["FUNCTIONS", "is_symbolic", "parse"]
