"""Buffers: named, shaped views of memory."""

from __future__ import annotations

from .. import error
from ..ir import dtype as _dtype
from ..ir.base import Node
from ..ir.expr import PrimExpr, Range
from ..ir.type import PointerType, PrimType
from .expr import BufferLoad, Call, IntImm, Ramp, Var, const_of, convert

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Buffer(Node):
    """A shaped view of the memory at `data`. Made by `decl_buffer`.

    Attributes
    ----------
    data : Var
        The pointer.
    dtype : str
        Element type.
    shape, strides : tuple of PrimExpr
        Sizes and element strides; no strides means compact (C-contiguous).
    elem_offset : PrimExpr
        Elements between `data` and the first element.
    data_alignment : int
        Bytes.
    offset_factor : int
        `elem_offset` is a multiple of it.
    buffer_type : int
        1, or 2 where dimensions of extent 1 broadcast.
    """

    __slots__ = ("axis_separators", "buffer_type", "data", "data_alignment", "dtype",
                 "elem_offset", "name", "offset_factor", "shape", "strides")  # fmt: skip
    type_key = "tir.Buffer"
    FIELDS = (
        "dtype:x data:d shape:es strides:es axis_separators:r elem_offset:e name:n "
        "data_alignment:x offset_factor:x buffer_type:x"
    )

    READ = 1
    WRITE = 2

    def __init__(
        self,
        data: Var,
        dtype: str,
        shape: Any,
        strides: Any,
        elem_offset: Any,
        name: str,
        data_alignment: int,
        offset_factor: int,
        buffer_type: int = 1,
        axis_separators: Any = (),
    ) -> None:
        self.data = data
        self.dtype = dtype
        self.shape = shape
        self.strides = strides
        self.elem_offset = elem_offset
        self.name = name
        self.data_alignment = data_alignment
        self.offset_factor = offset_factor
        self.buffer_type = buffer_type
        self.axis_separators = axis_separators

    def scope(self) -> str:
        """The storage scope, "global" for main memory."""
        kind = self.data.type_annotation
        return (kind.storage_scope if isinstance(kind, PointerType) else "") or "global"

    def vload(self, begin: Any, dtype: str | None = None, predicate: Any = None) -> Any:
        """The element at `begin`, or a vector of `dtype` along the last dimension."""
        return BufferLoad(self, self._vector_indices(begin, dtype))

    def vstore(self, begin: Any, value: Any, predicate: Any = None) -> Any:
        """A statement that stores `value`, a scalar or vector, at `begin`."""
        from .stmt import BufferStore

        value = convert(value)
        return BufferStore(self, value, self._vector_indices(begin, value.dtype))

    def _vector_indices(self, begin: Any, dtype: str | None) -> list[Any]:
        if isinstance(begin, (int, PrimExpr)):
            begin = [begin]
        indices = [convert(item) for item in begin]
        if dtype is not None and indices:
            lanes = _dtype.info(_dtype.canonical(dtype)).lanes // _dtype.info(self.dtype).lanes
            if lanes > 1:
                last = indices[-1]
                indices[-1] = Ramp(last, const_of(1, last.dtype), lanes)
        return indices

    def __getitem__(self, indices: Any) -> Any:
        if not isinstance(indices, (tuple, list)):
            indices = [indices]
        if any(isinstance(item, slice) for item in indices):
            return self._region(indices)
        return BufferLoad(self, [convert(item) for item in indices])

    def _region(self, indices: Any) -> Any:
        from .stmt import BufferRegion

        ranges = []
        for item, extent in zip(indices, self.shape):
            if not isinstance(item, slice):
                ranges.append(Range.from_min_extent(item, const_of(1, convert(item).dtype)))
                continue
            if item.step not in (None, 1):
                lanes = -(-(int(item.stop) - int(item.start or 0)) // int(item.step))
                step = const_of(item.step, "int32")
                made = [Ramp(item.start or 0, step, lanes) if part is item else part
                        for part in indices]  # fmt: skip
                return BufferLoad(self, made)
            start = 0 if item.start is None else item.start
            stop = extent if item.stop is None else item.stop
            ranges.append(Range(start, stop))
        return BufferRegion(self, ranges)

    def access_ptr(
        self,
        access_mask: int | str,
        ptr_type: str = "handle",
        content_lanes: int = 1,
        offset: Any = 0,
        extent: Any = None,
    ) -> Any:
        """A pointer to an element for a call, with what the callee does there ("r", "w", "rw")."""
        if isinstance(access_mask, str):
            letters = access_mask
            access_mask = 0
            for letter in letters:
                if letter not in "rw":
                    raise error.ValueError_(f"access_mask: expected r, w or rw, but got {letters}")
                access_mask |= self.READ if letter == "r" else self.WRITE
        offset = convert(offset)
        if extent is None:
            extent = IntImm("int32", 1)
            for size in self.shape:
                extent = extent * size
            extent = extent - offset
        extent = convert(extent)
        element = self.dtype
        position = self.elem_offset + offset
        if content_lanes > 1:
            extent = extent // content_lanes
            element = _dtype.with_lanes(element, _dtype.info(element).lanes * content_lanes)
            position = self.elem_offset // content_lanes + offset // content_lanes
        kind = Call(element, "tir.type_annotation", [])
        return Call(ptr_type, "tir.tvm_access_ptr",
                    [kind, self.data, position, extent, access_mask])  # fmt: skip

    def offset_of(self, indices: Any) -> list[Any]:
        """The position of an element in elements after `data`, as a list of one."""
        return [self.element_offset([convert(item) for item in indices])]

    def element_offset(self, indices: list[Any]) -> Any:
        """Elements between `data` and the element at `indices`."""
        if len(indices) != len(self.shape):
            raise error.ValueError_(
                f"buffer {self.name}: expected {len(self.shape)} indices, but got {len(indices)}"
            )
        total = None
        if self.strides:
            for index, stride in zip(indices, self.strides):
                term = index * stride
                total = term if total is None else total + term
        else:
            for index, size in zip(indices, self.shape):
                total = index if total is None else total * size + index
        if total is None:
            return self.elem_offset
        offset = self.elem_offset
        if isinstance(offset, IntImm) and offset.value == 0:
            return total
        return total + offset

    def get_flattened_buffer(self) -> Buffer:
        """The same memory as one dimension."""
        if len(self.shape) <= 1 and not self.strides:
            return self
        # The greatest extent that strides span is that of the outermost dimension.
        total: Any = IntImm("int32", 1)
        if self.strides:
            total = self.strides[0] * self.shape[0]
        else:
            for size in self.shape:
                total = total * size
        return Buffer(
            self.data,
            self.dtype,
            (convert(total),),
            (),
            self.elem_offset,
            self.name,
            self.data_alignment,
            self.offset_factor,
            self.buffer_type,
            (),
        )


def decl_buffer(
    shape: Any,
    dtype: Any = None,
    name: str = "buffer",
    data: Var | None = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "",
    data_alignment: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Any = None,
    span: object = None,
) -> Buffer:
    """Declare a buffer.

    Parameters
    ----------
    shape : tuple of PrimExpr or int
        The sizes; one alone means one dimension.
    dtype : str
        Element type, "float32" by default.
    data : Var, optional
        The pointer; made by default.
    strides : list of PrimExpr, optional
        Element strides; by default the buffer is compact.
    elem_offset : PrimExpr, optional
        Elements before the first. With `offset_factor` and without `elem_offset` a variable is
        made for it, so that any offset is accepted.
    data_alignment : int
        Bytes; -1 means the default of 64.

    Examples
    --------
    >>> A = tvm.tir.decl_buffer((4, "n"), "float32", name="A")  # doctest: +SKIP
    """
    if isinstance(shape, (int, PrimExpr)):
        shape = (shape,)
    sizes = tuple(convert(item) for item in shape)
    element = "float32" if dtype is None else _dtype.canonical(dtype)
    index = sizes[0].dtype if sizes else "int32"
    steps = () if strides is None else tuple(convert(item) for item in strides)
    if steps and len(steps) != len(sizes):
        raise error.ValueError_(f"decl_buffer {name}: {len(sizes)} sizes but {len(steps)} strides")
    if offset_factor != 0 and elem_offset is None:
        elem_offset = Var(f"{name}_elem_offset", index)
    if data is None:
        stored = "int8" if element == "bool" else element
        data = Var(name, PointerType(PrimType(stored), scope))
    if elem_offset is None:
        elem_offset = IntImm(index, 0)
    return Buffer(
        data,
        element,
        sizes,
        steps,
        convert(elem_offset),
        name,
        64 if data_alignment <= 0 else data_alignment,
        offset_factor or 1,
        2 if buffer_type == "auto_broadcast" else 1,
        tuple(axis_separators or ()),
    )
