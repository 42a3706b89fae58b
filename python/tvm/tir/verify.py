"""The rules that every program keeps, checked node by node.

Constructors refuse what is wrong by itself; here is what depends on the place: that every variable
and buffer is defined before it is used and not defined twice on one path, that values fit where
they are stored, that conditions and sizes are of the right types.
"""

from __future__ import annotations

from .. import error
from ..ir import dtype as _dtype
from ..ir.expr import GlobalVar
from ..ir.module import IRModule
from ..ir.op import Op
from . import expr as E
from . import stmt as S
from .buffer import Buffer
from .function import PrimFunc
from .stmt_functor import EXPR_CLASSES, STMT_CLASSES, StmtExprVisitor, method_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class VerifyError(error.ValueError_):
    """A program breaks a rule of the language."""


def verify(program: Any) -> None:
    """Check a function, or all functions of a module.

    Raises
    ------
    VerifyError
        With the function, the rule and the text of the node that breaks it.
    """
    if isinstance(program, IRModule):
        for var, func in program.functions.items():
            if isinstance(func, PrimFunc):
                _verify(func, var.name_hint, program)
        return
    _verify(program, str(program.attrs.get("global_symbol", "main")), None)


def is_valid(program: Any) -> bool:
    """Whether `verify` accepts a program."""
    try:
        verify(program)
    except VerifyError:
        return False
    return True


def _verify(func: PrimFunc, name: str, module: IRModule | None) -> None:
    checker = _Checker(name, module)
    checker.signature(func)
    checker(func.body)


class _Checker(StmtExprVisitor):
    def __init__(self, name: str, module: IRModule | None) -> None:
        self._name = name
        self._module = module
        self._defined: set[Any] = set()

    def fail(self, node: Any, reason: str) -> None:
        """Report that `node` breaks a rule."""
        text = str(node)
        if len(text) > 400:
            text = text[:400] + " ..."
        raise VerifyError(f"{self._name}: {reason}, in {node.type_key}: {text}")

    # --- definitions ---

    def signature(self, func: PrimFunc) -> None:
        """Parameters and what their buffers define."""
        for param in func.params:
            if param in self._defined:
                self.fail(param, f"the parameter {param.name} occurs twice")
            self._defined.add(param)
        for param in func.buffer_map:
            if param not in self._defined:
                self.fail(param, f"buffer_map names {param.name}, which is no parameter")
        for buffer in func.buffer_map.values():
            self._defined.add(buffer.data)
            for size in (*buffer.shape, *buffer.strides, buffer.elem_offset):
                if isinstance(size, E.Var):
                    self._defined.add(size)
        for buffer in func.buffer_map.values():
            self.buffer_parts(buffer)

    def buffer_parts(self, buffer: Buffer) -> None:
        """The sizes of a buffer: known ints."""
        for size in (*buffer.shape, *buffer.strides, buffer.elem_offset):
            self.integer(buffer, "a size", size)
            self.visit(size)
        if buffer.strides and len(buffer.strides) != len(buffer.shape):
            self.fail(buffer, "as many strides as dimensions are needed")

    def within(self, node: Any, items: Any, body: Callable[[], None]) -> None:
        """Run `body` with some more variables defined."""
        for item in items:
            if item in self._defined:
                self.fail(node, f"{item.name} is defined already")
            self._defined.add(item)
        body()
        self._defined.difference_update(items)

    def use(self, node: Any, var: Any) -> None:
        """A variable must be defined."""
        if var not in self._defined:
            self.fail(node, f"{var.name} is used but not defined")

    # --- types ---

    def integer(self, node: Any, what: str, value: Any) -> None:
        """A scalar of an int type."""
        found = _dtype.info(value.dtype)
        if not found.is_int or found.is_bool or found.lanes != 1:
            self.fail(node, f"{what} must be a scalar int, but is of dtype {value.dtype}")

    def boolean(self, node: Any, what: str, value: Any) -> None:
        """A scalar bool."""
        if value.dtype != "bool":
            self.fail(node, f"{what} must be a scalar bool, but is of dtype {value.dtype}")

    def access(self, node: Any, buffer: Any, indices: Any) -> str:
        """Indices that fit a buffer; returns the dtype of what is accessed."""
        if len(indices) != len(buffer.shape):
            self.fail(node, f"{buffer.name} has {len(buffer.shape)} dimensions, not {len(indices)}")
        for index in indices[:-1]:
            self.integer(node, "an index before the last", index)
        if indices and not _dtype.info(indices[-1].dtype).is_int:
            self.fail(node, f"an index must be an int, but is of dtype {indices[-1].dtype}")
        return E.load_dtype(buffer.dtype, list(indices))

    def buffer_use(self, node: Any, buffer: Any) -> None:
        """The memory of a buffer must exist."""
        self.use(node, buffer.data)
        for size in (*buffer.shape, *buffer.strides, buffer.elem_offset):
            self.visit(size)


def _children(self: _Checker, node: Any) -> None:
    getattr(StmtExprVisitor, method_name(type(node)))(self, node)


def _same_types(self: _Checker, node: Any) -> None:
    if node.a.dtype != node.b.dtype:
        self.fail(node, f"operands of dtype {node.a.dtype} and {node.b.dtype}")
    _children(self, node)


def _arithmetic(self: _Checker, node: Any) -> None:
    if node.dtype != node.a.dtype:
        self.fail(node, f"the result is {node.dtype}, but the operands are {node.a.dtype}")
    _same_types(self, node)


def _constant(self: _Checker, node: Any) -> None:
    found = _dtype.info(node.dtype)
    lower, upper = _dtype.int_range(found)
    if not (found.is_int and lower <= node.value <= upper):
        self.fail(node, f"{node.value} is out of the range of {node.dtype}")


def _var(self: _Checker, node: Any) -> None:
    self.use(node, node)


def _load(self: _Checker, node: Any) -> None:
    wanted = self.access(node, node.buffer, node.indices)
    if node.dtype != wanted:
        self.fail(node, f"the load gives {wanted}, but says {node.dtype}")
    self.buffer_use(node, node.buffer)
    _children(self, node)


def _call(self: _Checker, node: Any) -> None:
    if isinstance(node.op, GlobalVar):
        if self._module is not None and node.op not in self._module:
            self.fail(node, f"the module has no function {node.op.name_hint}")
    elif not isinstance(node.op, Op):
        self.fail(node, "expected an Op or a GlobalVar to call")
    _children(self, node)


def _let(self: _Checker, node: Any) -> None:
    if node.var.dtype != node.value.dtype:
        self.fail(node, f"{node.var.name} is {node.var.dtype}, its value {node.value.dtype}")
    self.visit(node.value)
    self.within(node, [node.var], lambda: self.visit(node.body))


def _reduce(self: _Checker, node: Any) -> None:
    axes = [item.var for item in node.axis]
    for item in node.axis:
        self.visit_range(item.dom)
    combiner = node.combiner

    def inside() -> None:
        for item in (*node.source, *node.init, node.condition):
            self.visit(item)

    self.within(node, axes, inside)

    def combine() -> None:
        for item in combiner.result:
            self.visit(item)

    self.within(node, [*combiner.lhs, *combiner.rhs], combine)


def _for(self: _Checker, node: Any) -> None:
    for what, value in (("the first value", node.min), ("the extent", node.extent)):
        self.integer(node, what, value)
        if value.dtype != node.loop_var.dtype:
            self.fail(
                node, f"{what} is {value.dtype}, but {node.loop_var.name} {node.loop_var.dtype}"
            )
        self.visit(value)
    names = [node.loop_var]
    if node.thread_binding is not None and node.thread_binding.var is not node.loop_var:
        names.append(node.thread_binding.var)
    self.within(node, names, lambda: self.visit(node.body))


def _if(self: _Checker, node: Any) -> None:
    self.boolean(node, "the condition", node.condition)
    _children(self, node)


def _store(self: _Checker, node: Any) -> None:
    wanted = self.access(node, node.buffer, node.indices)
    if node.value.dtype != wanted:
        self.fail(node, f"{wanted} is stored there, but the value is {node.value.dtype}")
    self.buffer_use(node, node.buffer)
    _children(self, node)


def _allocate(self: _Checker, node: Any) -> None:
    for extent in node.extents:
        self.integer(node, "an extent", extent)
        self.visit(extent)
    if node.buffer_var.dtype != "handle":
        self.fail(node, f"{node.buffer_var.name} must be a pointer, is {node.buffer_var.dtype}")
    self.within(node, [node.buffer_var], lambda: self.visit(node.body))


def _realize(self: _Checker, node: Any) -> None:
    for item in node.bounds:
        self.visit_range(item)
    self.visit(node.condition)
    self.within(node, [node.buffer.data], lambda: self.visit(node.body))


def _decl(self: _Checker, node: Any) -> None:
    self.use(node, node.buffer.data)
    self.buffer_parts(node.buffer)
    self.visit(node.body)


def _attr(self: _Checker, node: Any) -> None:
    self.visit(node.value)
    axis = node.node
    if node.attr_key in ("thread_extent", "virtual_thread") and isinstance(axis, E.IterVar):
        # One thread axis may be named by several attributes, one in another.
        names = [] if axis.var in self._defined else [axis.var]
        self.within(node, names, lambda: self.visit(node.body))
    else:
        self.visit(node.body)


def _block(self: _Checker, node: Any) -> None:
    for item in node.iter_vars:
        self.visit_range(item.dom)
    names = [item.var for item in node.iter_vars]
    names += [buffer.data for buffer in node.alloc_buffers]
    names += [item.buffer.data for item in node.match_buffers]

    def inside() -> None:
        if node.init is not None:
            self.visit(node.init)
        self.visit(node.body)

    self.within(node, names, inside)


def _block_realize(self: _Checker, node: Any) -> None:
    if len(node.iter_values) != len(node.block.iter_vars):
        self.fail(
            node, f"{len(node.block.iter_vars)} block axes, but {len(node.iter_values)} values"
        )
    for value in node.iter_values:
        self.integer(node, "the value of a block axis", value)
    self.boolean(node, "the predicate", node.predicate)
    _children(self, node)


def _float(self: _Checker, node: Any) -> None:
    if not _dtype.info(node.dtype).is_float:
        self.fail(node, f"{node.value} is of dtype {node.dtype}, which is no float")


def _lanes(self: _Checker, node: Any) -> None:
    wanted = node.lanes if hasattr(node, "lanes") else len(node.indices)
    if _dtype.info(node.dtype).lanes != wanted:
        self.fail(node, f"{wanted} lanes, but its dtype is {node.dtype}")
    _children(self, node)


def _not(self: _Checker, node: Any) -> None:
    if not _dtype.info(node.a.dtype).is_bool or node.dtype != node.a.dtype:
        self.fail(node, f"not of {node.a.dtype} gives {node.dtype}")
    _children(self, node)


def _cast(self: _Checker, node: Any) -> None:
    if _dtype.info(node.dtype).lanes != _dtype.info(node.value.dtype).lanes:
        self.fail(node, f"a cast from {node.value.dtype} to {node.dtype} changes the lanes")
    _children(self, node)


def _select(self: _Checker, node: Any) -> None:
    if not _dtype.info(node.condition.dtype).is_bool:
        self.fail(node, f"the condition must be a bool, but is of dtype {node.condition.dtype}")
    if not node.true_value.dtype == node.false_value.dtype == node.dtype:
        self.fail(
            node,
            f"{node.dtype} is chosen of {node.true_value.dtype} and {node.false_value.dtype}",
        )
    _children(self, node)


def _produced(self: _Checker, node: Any) -> None:
    shape = getattr(node.producer, "shape", None)
    if shape is not None and len(shape) != len(node.indices):
        self.fail(node, f"the producer has {len(shape)} dimensions, not {len(node.indices)}")
    for index in node.indices:
        if not _dtype.info(index.dtype).is_int:
            self.fail(node, f"an index must be an int, but is of dtype {index.dtype}")
    value = getattr(node, "value", None)
    if value is not None and value.dtype != node.producer.dtype:
        self.fail(node, f"{node.producer.dtype} is produced, but the value is {value.dtype}")
    _children(self, node)


def _realized(self: _Checker, node: Any) -> None:
    self.boolean(node, "the condition", node.condition)
    for item in node.bounds:
        self.integer(node, "a bound", item.min)
        self.integer(node, "a bound", item.extent)
    _children(self, node)


def _prefetch(self: _Checker, node: Any) -> None:
    if len(node.bounds) != len(node.buffer.shape):
        self.fail(node, f"{node.buffer.name} has {len(node.buffer.shape)} dimensions")
    self.buffer_use(node, node.buffer)
    _children(self, node)


def _sequence(self: _Checker, node: Any) -> None:
    if not node.seq:
        self.fail(node, "a sequence has no statements")
    _children(self, node)


# Rules by class. What is not here can be nothing else than its constructor made: StringImm, Any and
# Evaluate, whose children have rules.
RULES: dict[type, Callable[[_Checker, Any], None]] = {
    E.Var: _var,
    E.SizeVar: _var,
    E.IntImm: _constant,
    E.BufferLoad: _load,
    E.Call: _call,
    E.Let: _let,
    E.Reduce: _reduce,
    S.LetStmt: _let,
    S.For: _for,
    S.IfThenElse: _if,
    S.While: _if,
    S.AssertStmt: _if,
    S.BufferStore: _store,
    S.Allocate: _allocate,
    S.AllocateConst: _allocate,
    S.BufferRealize: _realize,
    S.DeclBuffer: _decl,
    S.AttrStmt: _attr,
    S.Block: _block,
    S.BlockRealize: _block_realize,
    S.ProducerStore: _produced,
    S.ProducerRealize: _realized,
    S.Prefetch: _prefetch,
    S.SeqStmt: _sequence,
    E.FloatImm: _float,
    E.Ramp: _lanes,
    E.Broadcast: _lanes,
    E.Shuffle: _lanes,
    E.Not: _not,
    E.Cast: _cast,
    E.Select: _select,
    E.ProducerLoad: _produced,
}
_cls: type
for _cls in (E.Add, E.Sub, E.Mul, E.Div, E.Mod, E.FloorDiv, E.FloorMod, E.Min, E.Max):
    RULES[_cls] = _arithmetic
for _cls in (E.EQ, E.NE, E.LT, E.LE, E.GT, E.GE, E.And, E.Or):
    RULES[_cls] = _same_types

for _cls in EXPR_CLASSES + STMT_CLASSES:
    if _cls in RULES:
        setattr(_Checker, method_name(_cls), RULES[_cls])
_Checker._prepare()
