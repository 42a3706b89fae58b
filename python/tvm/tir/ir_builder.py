"""Programs written statement by statement.

Examples
--------
>>> import tvm
>>> ib = tvm.tir.ir_builder.create()
>>> A = ib.pointer("float32", name="A")
>>> with ib.for_range(0, 10, name="i") as i:
...     A[i] = A[i] + 1.0
>>> type(ib.get()).__name__
'For'
"""

from __future__ import annotations

from .. import error
from ..ir import dtype as _dtype
from ..ir.type import PointerType, PrimType
from . import stmt as _stmt
from .buffer import Buffer, decl_buffer
from .expr import IntImm, Ramp, StringImm, Var, const_of, convert
from .op import cast, likely

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_KINDS = {
    "serial": 0, "parallel": 1, "vectorize": 2, "vectorized": 2, "unroll": 3, "unrolled": 3,
}  # fmt: skip


class WithScope:
    """`with` around statements; gives a value to the name after `as`."""

    def __init__(self, enter_value: Any, exit_cb: Callable[[], None]) -> None:
        self._value = enter_value
        self._exit = exit_cb

    def __enter__(self) -> Any:
        return self._value

    def __exit__(self, kind: object, value: object, trace: object) -> None:
        if value is None:
            self._exit()


class BufferVar:
    """Memory that is read and written by index."""

    def __init__(self, builder: IRBuilder, buffer: Buffer, content_type: str) -> None:
        self._builder = builder
        self._buffer = buffer
        self._content_type = content_type

    def asobject(self) -> Var:
        """The data pointer."""
        return self._buffer.data

    @property
    def dtype(self) -> str:
        """What an access reads or writes; with lanes for vectors."""
        return self._content_type

    def _indices(self, index: Any) -> list[Any]:
        items = list(index) if isinstance(index, (tuple, list)) else [index]
        made = [convert(item) for item in items]
        if len(made) == 1 and len(self._buffer.shape) > 1:
            raise error.ValueError_(
                f"{self._buffer.name}: expected {len(self._buffer.shape)} indices, but got 1"
            )
        wanted = _dtype.info(self._content_type).lanes
        lanes = wanted // _dtype.info(self._buffer.dtype).lanes
        if lanes > 1 and _dtype.info(made[-1].dtype).lanes == 1:
            last = made[-1]
            made[-1] = Ramp(last * lanes, const_of(1, last.dtype), lanes)
        return made

    def __getitem__(self, index: Any) -> Any:
        from .expr import BufferLoad

        return BufferLoad(self._buffer, self._indices(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        indices = self._indices(index)
        value = _stmt.convert_to(value, self._content_type)
        if value.dtype != self._content_type:
            raise error.ValueError_(
                f"{self._buffer.name}: expected a value of dtype {self._content_type}, but got "
                f"{value.dtype}; convert it with .astype"
            )
        self._builder.emit(_stmt.BufferStore(self._buffer, value, indices))


class IRBuilder:
    """Collects statements; made by `create`."""

    def __init__(self) -> None:
        self._seq_stack: list[list[Any]] = [[]]
        self.nidx = 0

    def _pop_seq(self) -> Any:
        """The innermost statements as one."""
        seq = self._seq_stack.pop()
        if not seq or callable(seq[-1]) and not isinstance(seq[-1], _stmt.Stmt):
            seq.append(_stmt.Evaluate(0))
        body = None
        pending: list[Any] = []
        # A function in the list opens a scope over all that follows it.
        for item in reversed(seq):
            if isinstance(item, _stmt.Stmt):
                pending.insert(0, item)
            else:
                body = item(_stmt.stmt_seq(*pending))
                pending = [body]
        return _stmt.stmt_seq(*pending)

    def emit(self, stmt: Any) -> None:
        """Add a statement, an expression, or a function that wraps all that follows."""
        if not isinstance(stmt, _stmt.Stmt) and not callable(stmt):
            stmt = _stmt.Evaluate(stmt)
        self._seq_stack[-1].append(stmt)

    def scope_attr(self, node: Any, attr_key: str, value: Any) -> None:
        """Say something about `node` for all that follows in this scope."""
        if isinstance(node, str):
            node = StringImm(node)
        if isinstance(value, str):
            value = StringImm(value)
        self.emit(lambda body: _stmt.AttrStmt(node, attr_key, value, body))

    def for_range(
        self, begin: Any, end: Any, name: str = "i", dtype: str | None = None, kind: str = "serial"
    ) -> WithScope:
        """A loop from `begin` to `end`; "serial", "parallel", "vectorize" or "unroll".

        Examples
        --------
        >>> import tvm
        >>> ib = tvm.tir.ir_builder.create()
        >>> with ib.for_range(0, 4, kind="unroll") as i:
        ...     ib.emit(i)
        """
        if kind not in _KINDS:
            raise error.ValueError_(
                f"for_range: unknown kind {kind!r}, expected one of {', '.join(_KINDS)}"
            )
        if name == "i":
            name = chr(ord(name) + self.nidx) if self.nidx < 3 else f"i_{self.nidx - 3}"
            self.nidx += 1
        begin, end = convert(begin), convert(end)
        if dtype is None:
            dtype = "int64" if "int64" in (begin.dtype, end.dtype) else end.dtype
        begin, end = cast(begin, dtype), cast(end, dtype)
        var = Var(name, dtype)
        extent = end if isinstance(begin, IntImm) and begin.value == 0 else end - begin
        self._seq_stack.append([])

        def close() -> None:
            self.emit(_stmt.For(var, begin, extent, _KINDS[kind], self._pop_seq()))

        return WithScope(var, close)

    def while_loop(self, condition: Any) -> WithScope:
        """A loop as long as a condition holds."""
        self._seq_stack.append([])
        return WithScope(None, lambda: self.emit(_stmt.While(condition, self._pop_seq())))

    def if_scope(self, cond: Any) -> WithScope:
        """Statements that run where a condition holds."""
        self._seq_stack.append([])
        return WithScope(None, lambda: self.emit(_stmt.IfThenElse(cond, self._pop_seq(), None)))

    def else_scope(self) -> WithScope:
        """Statements that run where the condition of the `if_scope` just before does not hold."""
        if not self._seq_stack[-1] or not isinstance(self._seq_stack[-1][-1], _stmt.IfThenElse):
            raise error.ValueError_("else_scope can only follow an if_scope")
        before = self._seq_stack[-1].pop()
        self._seq_stack.append([])

        def close() -> None:
            self.emit(_stmt.IfThenElse(before.condition, before.then_case, self._pop_seq()))

        return WithScope(None, close)

    def new_scope(self) -> WithScope:
        """A scope of its own for allocations and attributes."""
        self._seq_stack.append([])
        return WithScope(None, lambda: self.emit(self._pop_seq()))

    def let(self, var_name: str, value: Any) -> Var:
        """A name for a value, for all that follows in this scope."""
        value = convert(value)
        var = Var(var_name, value.dtype)
        self.emit(lambda body: _stmt.LetStmt(var, value, body))
        return var

    def allocate(
        self,
        dtype: str,
        shape: Any,
        name: str = "buf",
        axis_separators: Any = None,
        scope: str = "",
    ) -> BufferVar:
        """Memory for all that follows in this scope."""
        if not isinstance(shape, (list, tuple)):
            shape = [shape]
        data = Var(name, PointerType(PrimType(dtype), scope))
        buffer = decl_buffer(
            shape, dtype, name, data=data, scope=scope, axis_separators=axis_separators
        )
        self.emit(lambda body: _stmt.Allocate(data, dtype, shape, True, body))
        return BufferVar(self, buffer, dtype)

    def pointer(self, content_type: str, name: str = "ptr", scope: str = "") -> BufferVar:
        """Memory that is given from outside, of unknown length."""
        buffer = decl_buffer([1 << 30], content_type, name, scope=scope)
        return BufferVar(self, buffer, content_type)

    def buffer_ptr(self, buf: Buffer, shape: Any = None) -> BufferVar:
        """A buffer, to be read and written by index."""
        if shape is not None:
            buf = decl_buffer(shape, buf.dtype, buf.name, data=buf.data, scope=buf.scope())
        return BufferVar(self, buf, buf.dtype)

    def likely(self, expr: Any) -> Any:
        """A condition that is nearly always true."""
        return likely(expr)

    def get(self) -> Any:
        """The whole program as one statement."""
        if len(self._seq_stack) != 1:
            raise error.ValueError_("get: a scope is still open")
        return self._pop_seq()


def create() -> IRBuilder:
    """A new builder."""
    return IRBuilder()
