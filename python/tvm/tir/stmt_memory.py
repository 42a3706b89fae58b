"""Statements about memory: stores, realised regions, allocations, blocks."""

from __future__ import annotations

from .. import error
from ..ir import dtype as _dtype
from ..ir.base import Node
from ..ir.expr import PrimExpr, Range
from .expr import Var, const_of, convert, new_kind
from .expr_values import below
from .stmt_control import Stmt, condition_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .buffer import Buffer


class BufferStore(Stmt):
    """buffer[indices] = value."""

    __slots__ = ("buffer", "indices", "value")
    type_key = "tir.BufferStore"
    KIND = new_kind()
    FIELDS = "buffer:r value:e indices:es"

    def __init__(self, buffer: Buffer, value: Any, indices: Any, span: object = None) -> None:
        if not isinstance(value, PrimExpr):
            value = convert_to(value, buffer.dtype)
        self.buffer = buffer
        self.value = value
        kinds = value.kinds | self.KIND
        depth = value.depth
        items = []
        for item in indices:
            if not isinstance(item, PrimExpr):
                item = convert(item)
            kinds |= item.kinds
            if item.depth > depth:
                depth = item.depth
            items.append(item)
        self.indices = tuple(items)
        self.kinds = kinds
        self.depth = depth + 1


def convert_to(value: Any, dtype: str) -> Any:
    """A Python number as a constant of `dtype`, anything else as an expression."""
    if isinstance(value, (int, float)):
        return const_of(value, dtype)
    return convert(value)


class BufferRealize(Stmt):
    """The region of a buffer that exists during `body`, before storage is decided."""

    __slots__ = ("body", "bounds", "buffer", "condition")
    type_key = "tir.BufferRealize"
    KIND = new_kind()
    FIELDS = "buffer:d bounds:rs condition:e body:s"

    def __init__(
        self, buffer: Buffer, bounds: Any, condition: Any, body: Any, span: object = None
    ) -> None:
        self.buffer = buffer
        self.bounds = tuple(_as_range(item) for item in bounds)
        self.condition = condition = condition_of("BufferRealize", condition)
        self.body = body
        self.kinds, self.depth = below((*self.bounds, condition, body), self.KIND, 0)
        self.depth += 1


def _as_range(item: Any) -> Range:
    if isinstance(item, Range):
        return item
    if isinstance(item, (list, tuple)) and len(item) == 2:
        return Range(item[0], item[1])
    raise error.TypeError_(f"expected a Range or (begin, end), but got {type(item).__name__}")


class ProducerStore(Stmt):
    """An element of a producer gets its value, before storage is decided."""

    __slots__ = ("indices", "producer", "value")
    type_key = "tir.ProducerStore"
    KIND = new_kind()
    FIELDS = "producer:r value:e indices:es"

    def __init__(self, producer: Any, value: Any, indices: Any, span: object = None) -> None:
        self.producer = producer
        self.value = convert_to(value, producer.dtype)
        self.indices = tuple(convert(item) for item in indices)
        self.kinds, self.depth = below((self.value, *self.indices), self.KIND, 0)
        self.depth += 1


class ProducerRealize(Stmt):
    """The region of a producer that exists during `body`."""

    __slots__ = ("body", "bounds", "condition", "producer", "storage_scope")
    type_key = "tir.ProducerRealize"
    KIND = new_kind()
    FIELDS = "producer:r bounds:rs condition:e body:s storage_scope:x"

    def __init__(
        self,
        producer: Any,
        bounds: Any,
        condition: Any,
        body: Any,
        storage_scope: str = "",
        span: object = None,
    ) -> None:
        self.producer = producer
        self.bounds = tuple(_as_range(item) for item in bounds)
        self.condition = condition = condition_of("ProducerRealize", condition)
        self.body = body
        self.storage_scope = str(storage_scope)
        self.kinds, self.depth = below((*self.bounds, condition, body), self.KIND, 0)
        self.depth += 1


class Prefetch(Stmt):
    """A hint that a region of a buffer is going to be read."""

    __slots__ = ("bounds", "buffer")
    type_key = "tir.Prefetch"
    KIND = new_kind()
    FIELDS = "buffer:r bounds:rs"

    def __init__(self, buffer: Buffer, bounds: Any, span: object = None) -> None:
        self.buffer = buffer
        self.bounds = tuple(_as_range(item) for item in bounds)
        self.kinds, self.depth = below(self.bounds, self.KIND, 0)
        self.depth += 1


class Allocate(Stmt):
    """Memory for `extents` elements of `dtype` during `body`; `buffer_var` points to it."""

    __slots__ = ("annotations", "body", "buffer_var", "condition", "dtype", "extents")
    type_key = "tir.Allocate"
    KIND = new_kind()
    FIELDS = "extents:es condition:e dtype:x buffer_var:d annotations:r body:s"

    def __init__(
        self,
        buffer_var: Var,
        dtype: str,
        extents: Any,
        condition: Any,
        body: Any,
        annotations: Any = None,
        span: object = None,
    ) -> None:
        self.buffer_var = buffer_var
        self.dtype = _dtype.canonical(dtype)
        self.extents = tuple(convert(item) for item in extents)
        self.condition = condition = condition_of("Allocate", condition)
        self.body = body
        self.annotations = dict(annotations) if annotations else {}
        self.kinds, self.depth = below((*self.extents, condition, body), self.KIND, 0)
        self.depth += 1


class AllocateConst(Stmt):
    """Constant data during `body`; `buffer_var` points to it."""

    __slots__ = ("annotations", "body", "buffer_var", "data", "dtype", "extents")
    type_key = "tir.AllocateConst"
    KIND = new_kind()
    FIELDS = "extents:es dtype:x data:r buffer_var:d annotations:r body:s"

    def __init__(
        self,
        buffer_var: Var,
        dtype: str,
        extents: Any,
        data_or_idx: Any,
        body: Any,
        annotations: Any = None,
        span: object = None,
    ) -> None:
        self.buffer_var = buffer_var
        self.dtype = _dtype.canonical(dtype)
        self.extents = tuple(convert(item) for item in extents)
        self.data = data_or_idx
        self.body = body
        self.annotations = dict(annotations) if annotations else {}
        self.kinds, self.depth = below((*self.extents, body), self.KIND, 0)
        self.depth += 1

    @property
    def data_or_idx(self) -> Any:
        """The data."""
        return self.data

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> AllocateConst:
        return cls(values["buffer_var"], values["dtype"], values["extents"], values["data"],
                   values["body"], values.get("annotations"))  # fmt: skip


class DeclBuffer(Stmt):
    """`buffer` names memory that exists already, during `body`."""

    __slots__ = ("body", "buffer")
    type_key = "tir.DeclBuffer"
    KIND = new_kind()
    FIELDS = "buffer:d body:s"

    def __init__(self, buffer: Buffer, body: Any, span: object = None) -> None:
        self.buffer = buffer
        self.body = body
        self.kinds = body.kinds | self.KIND
        self.depth = body.depth + 1


class BufferRegion(Node):
    """A box of a buffer."""

    __slots__ = ("buffer", "region")
    type_key = "tir.BufferRegion"
    FIELDS = "buffer:r region:r"

    def __init__(self, buffer: Buffer, region: Any) -> None:
        self.buffer = buffer
        self.region = tuple(_as_range(item) for item in region)


class MatchBufferRegion(Node):
    """A buffer that names a box of another."""

    __slots__ = ("buffer", "source")
    type_key = "tir.MatchBufferRegion"
    FIELDS = "buffer:d source:r"

    def __init__(self, buffer: Buffer, source: BufferRegion) -> None:
        self.buffer = buffer
        self.source = source


class Block(Stmt):
    """A computation over block axes, with the regions that it reads and writes."""

    __slots__ = ("alloc_buffers", "annotations", "body", "init", "iter_vars", "match_buffers",
                 "name_hint", "reads", "writes")  # fmt: skip
    type_key = "tir.Block"
    KIND = new_kind()
    FIELDS = (
        "iter_vars:ax alloc_buffers:ds match_buffers:r reads:r writes:r name_hint:n "
        "annotations:r init:s body:s"
    )

    def __init__(
        self,
        iter_vars: Any,
        reads: Any,
        writes: Any,
        name_hint: str,
        body: Any,
        init: Any = None,
        alloc_buffers: Any = None,
        match_buffers: Any = None,
        annotations: Any = None,
        span: object = None,
    ) -> None:
        self.iter_vars = tuple(iter_vars)
        self.reads = tuple(reads)
        self.writes = tuple(writes)
        self.name_hint = str(name_hint)
        self.body = body
        self.init = init
        self.alloc_buffers = tuple(alloc_buffers or ())
        self.match_buffers = tuple(match_buffers or ())
        self.annotations = dict(annotations) if annotations else {}
        parts = [item.dom for item in self.iter_vars if item.dom is not None] + [body]
        if init is not None:
            parts.append(init)
        self.kinds, self.depth = below(tuple(parts), self.KIND, 0)
        self.depth += 1


class BlockRealize(Stmt):
    """A block with the values of its axes, run where `predicate` holds."""

    __slots__ = ("block", "iter_values", "predicate")
    type_key = "tir.BlockRealize"
    KIND = new_kind()
    FIELDS = "iter_values:es predicate:e block:s"

    def __init__(self, iter_values: Any, predicate: Any, block: Block, span: object = None) -> None:
        self.iter_values = tuple(convert(item) for item in iter_values)
        self.predicate = predicate = condition_of("BlockRealize", predicate)
        self.block = block
        self.kinds, self.depth = below((*self.iter_values, predicate, block), self.KIND, 0)
        self.depth += 1
