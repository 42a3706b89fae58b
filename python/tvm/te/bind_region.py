"""Buffers that stand for a region of a tensor: where they begin and how they step.

buffer_bind_scope (a, A) [io*4 : 4], [ko*8 : 8]
    f(a.access_ptr("r"), a.strides[0])    ->    f(&A[io*4, ko*8], 64)
"""

from __future__ import annotations

from tvm import tir
from tvm.arith.index_algebra import Algebra, add
from tvm.error import ScheduleError
from tvm.tir import Buffer, IntImm, PrimExpr, Var

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Bound:
    """What a stand-in is: a buffer, and where the region begins in each of its dimensions."""

    __slots__ = ("buffer", "begins", "mapping")

    def __init__(
        self, buffer: Buffer, begins: list[PrimExpr], mapping: dict[Var, PrimExpr]
    ) -> None:
        self.buffer = buffer
        self.begins = begins
        # variables of the stand-in: pointer, sizes, strides, offset
        self.mapping = mapping

    def indices(self, indices: Any) -> list[PrimExpr]:
        """Indices of the buffer for those of the stand-in."""
        leading = len(self.begins) - len(indices)
        return self.begins[:leading] + [
            _shifted(begin, index) for begin, index in zip(self.begins[leading:], indices)
        ]


def _shifted(begin: Any, index: Any) -> Any:
    if isinstance(begin, IntImm) and begin.value == 0:
        return index
    if isinstance(index, tir.Ramp):
        return tir.Ramp(begin + index.base, index.stride, index.lanes)
    return begin + index


def _strides(buffer: Buffer, extents: Any, aligned: dict[int, tuple[int, int]]) -> list[Any]:
    """Element strides of the memory, as StorageFlatten lays it out."""
    if buffer.strides:
        return list(buffer.strides)
    strides: list[Any] = []
    step: Any = 1
    for axis in range(len(extents) - 1, -1, -1):
        if axis in aligned:
            factor, offset = aligned[axis]
            step = step + tir.floormod(factor + offset - step, factor)
        strides.append(step)
        step = step * extents[axis]
    return strides[::-1]


def bind_region(
    stands: Buffer,
    buffer: Buffer,
    region: list[tuple[PrimExpr, PrimExpr]],
    realized: Any,
    aligned: dict[int, tuple[int, int]],
    algebra: Algebra,
) -> Bound:
    """Let a buffer stand for a region of another one.

    Parameters
    ----------
    stands : Buffer
        As the statement was written; its variables get their values here.
    buffer : Buffer
        The memory.
    region : list of (begin, extent)
        One for each dimension of ``buffer``; leading ones of extent 1 may be missing in ``stands``.
    realized : list of Range or None
        The part of the tensor that ``buffer`` holds; None for all.
    aligned : dict of int to (factor, offset)
        What storage_align asked for.

    Raises
    ------
    ScheduleError
        If a size, stride or offset that ``stands`` fixes is another one.
    """
    leading = len(buffer.shape) - len(stands.shape)
    what = f"lower: buffer {stands.name} cannot stand for a part of {buffer.name}"
    if stands.dtype != buffer.dtype or leading < 0:
        raise ScheduleError(
            f"lower: buffer {stands.name} of {stands.dtype} and {len(stands.shape)} dimensions "
            f"cannot stand for tensor {buffer.name} of {buffer.dtype} and {len(buffer.shape)} "
            "dimensions"
        )
    for axis, (_, extent) in enumerate(region[:leading]):
        if not _equal(algebra, extent, 1):
            raise ScheduleError(
                f"{what}: dimension {axis}, which it does not have, has extent {extent} there"
            )
    mapping: dict[Var, PrimExpr] = {stands.data: buffer.data}

    def fix(name: str, wanted: Any, value: Any, advice: str = "") -> None:
        if isinstance(wanted, Var) and wanted not in mapping:
            mapping[wanted] = tir.cast(algebra.simplify(tir.expr.convert(value)), wanted.dtype)
            return
        wanted = mapping.get(wanted, wanted) if isinstance(wanted, Var) else wanted
        if not _equal(algebra, wanted, value):
            text = algebra.simplify(value) if isinstance(value, PrimExpr) else value
            raise ScheduleError(f"{what}: its {name} is {wanted}, but {text} there{advice}")

    for axis, (wanted, (_, extent)) in enumerate(zip(stands.shape, region[leading:])):
        fix(f"shape[{axis}]", wanted, extent)
    extents = buffer.shape if realized is None else [r.extent for r in realized]
    actual = _strides(buffer, extents, aligned)
    compact: list[Any] = []
    step: Any = 1
    for _, extent in reversed(region[leading:]):
        compact.append(step)
        step = step * extent
    steps = list(stands.strides) or compact[::-1]
    for axis, (wanted, value, (_, extent)) in enumerate(
        zip(steps, actual[leading:], region[leading:])
    ):
        single = not isinstance(wanted, Var) and _equal(algebra, extent, 1)
        if not single:
            advice = "" if stands.strides else "; declare it with strides=[te.var(...), ...]"
            fix(f"strides[{axis}]", wanted, value, advice)
    lows: list[Any] = [0] * len(region) if realized is None else [r.min for r in realized]
    offset: Any = buffer.elem_offset if realized is None else 0
    starts: list[Any] = [begin for begin, _ in region]
    for begin, low, stride in zip(starts, lows, actual):
        offset = offset + (begin - low) * stride
    offset = algebra.simplify(tir.expr.convert(offset))
    fix("elem_offset", stands.elem_offset, offset, "; declare it with offset_factor=1")
    factor = stands.offset_factor
    if factor > 1 and not _equal(algebra, tir.floormod(offset, factor), 0):
        raise ScheduleError(
            f"{what}: its elem_offset is a multiple of {factor}, but {offset} there"
        )
    return Bound(buffer, [begin for begin, _ in region], mapping)


def _equal(algebra: Algebra, a: Any, b: Any) -> bool:
    return not add(algebra.poly(a), algebra.poly(b), -1)
