"""Memory of the interpreter: bytes that are read and written as elements of any type."""

from __future__ import annotations

from .. import error
from ..ir import dtype as _dtype
from . import numeric

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Storage:
    """A piece of memory. `name` is for messages."""

    __slots__ = ("_views", "base", "name", "raw")

    def __init__(self, raw: Any, name: str, base: int = 0) -> None:
        self.raw = raw
        self.name = name
        # Byte position to which a pointer points.
        self.base = base
        self._views: dict[str, Any] = {}

    @staticmethod
    def allocate(elements: int, dtype: str, name: str) -> Storage:
        """Fresh memory with a content that nobody expects."""
        import numpy as np

        found = _dtype.info(dtype)
        size = found.bits if found.bits >= 8 else 8 if found.is_bool else found.bits
        return Storage(np.full((elements * found.lanes * size + 7) // 8, 0xCD, np.uint8), name)

    @staticmethod
    def of_array(array: Any, name: str) -> Storage:
        """The memory of an array: the bytes from its first element to its last."""
        import numpy as np

        if not isinstance(array, np.ndarray):
            array = _as_numpy(array)
        if any(step < 0 for step in array.strides):
            raise error.ValueError_(f"{name}: negative strides are not possible here")
        if array.size == 0:
            return Storage(np.zeros(0, np.uint8), name)
        last = sum((size - 1) * step for size, step in zip(array.shape, array.strides))
        raw = np.lib.stride_tricks.as_strided(
            _first_byte(array),
            shape=(last + array.itemsize,),
            strides=(1,),
        )
        return Storage(raw, name)

    def view(self, text: str) -> Any:
        """The memory from `base` on as a flat NumPy array of a type."""
        found = self._views.get(text)
        if found is None:
            raw = self.raw[self.base :]
            import numpy as np

            kind = np.dtype(text)
            found = raw[: len(raw) // kind.itemsize * kind.itemsize].view(kind)
            self._views[text] = found
        return found


def _first_byte(array: Any) -> Any:
    import numpy as np

    pointer = array.__array_interface__["data"]

    class _Bytes:
        __array_interface__ = {
            "data": pointer,
            "shape": (1,),
            "typestr": "|u1",
            "version": 3,
        }

        def __init__(self, owner: Any) -> None:
            self.owner = owner

    return np.asarray(_Bytes(array))


def _as_numpy(array: Any) -> Any:
    """A view of an array of ours, as the nearest type that NumPy knows."""
    import numpy as np

    if not hasattr(array, "__dlpack__"):
        raise error.TypeError_(f"expected an array, but got {type(array).__name__}")
    names = {"bfloat16": "uint16", "e4m3_float8": "uint8", "e5m2_float8": "uint8", "bool": "uint8"}
    other = names.get(str(getattr(array, "dtype", "")))
    if other is not None and hasattr(array, "_create_view"):
        array = array._create_view(array.shape, other)
    return np.from_dlpack(array)


_NUMPY = {
    "int8": "int8", "int16": "int16", "int32": "int32", "int64": "int64", "uint8": "uint8",
    "uint16": "uint16", "uint32": "uint32", "uint64": "uint64", "float16": "float16",
    "float32": "float32", "float64": "float64", "handle": "uint64",
}  # fmt: skip


class Element:
    """How one element type is read and written."""

    __slots__ = ("bits", "found", "view")

    def __init__(self, scalar: str) -> None:
        self.found = _dtype.info(scalar)
        self.bits = 8 if self.found.is_bool else self.found.bits
        if self.bits not in (4, 8, 16, 32, 64):
            raise error.NotImplementedError_(f"no memory holds elements of dtype {scalar}")
        self.view = _NUMPY.get(scalar) or {4: "uint8", 8: "uint8", 16: "uint16"}[self.bits]

    def count(self, storage: Storage) -> int:
        """Elements that the memory holds."""
        return len(storage.view(self.view)) * (2 if self.bits == 4 else 1)

    def load(self, storage: Storage, position: int) -> Any:
        """The element at a position."""
        view = storage.view(self.view)
        kind = self.found.kind
        if self.bits == 4:
            nibble = int(view[position >> 1]) >> (4 * (position & 1)) & 15
            return numeric.wrap(nibble, self.found)
        value = view.item(position)
        if kind in ("bfloat", "fp8"):
            return numeric.bits_to_float(value, self.found.text)
        if kind == "bool":
            return int(value != 0)
        return value

    def store(self, storage: Storage, position: int, value: Any) -> None:
        """Write the element at a position."""
        view = storage.view(self.view)
        kind = self.found.kind
        if self.bits == 4:
            shift = 4 * (position & 1)
            byte = int(view[position >> 1]) & ~(15 << shift)
            view[position >> 1] = byte | (value & 15) << shift
            return
        if kind in ("bfloat", "fp8"):
            value = numeric.float_to_bits(value, self.found.text)
        view[position] = value


_elements: dict[str, Element] = {}


def element(scalar: str) -> Element:
    """How elements of a scalar type are read and written."""
    found = _elements.get(scalar)
    if found is None:
        found = _elements[scalar] = Element(scalar)
    return found
