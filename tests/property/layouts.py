"""NumPy arrays of every accepted dtype in every layout, for hypothesis."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64",
]  # fmt: skip
LAYOUTS = [
    "C", "F", "sliced", "negative", "broadcast", "transposed", "big_endian", "read_only",
    "misaligned", "0-d", "empty",
]  # fmt: skip


def in_layout(values: np.ndarray, layout: str) -> np.ndarray:
    """The same values (or a repetition of them) in another memory layout."""
    if values.ndim == 0 and layout in ("sliced", "negative"):
        return values  # there is nothing to slice
    if layout == "F":
        return np.asfortranarray(values)
    if layout == "sliced":
        wide = np.zeros([2 * n + 1 for n in values.shape], values.dtype)
        inner = wide[tuple(slice(1, 2 * n, 2) if n else slice(0, 0) for n in values.shape)]
        inner[...] = values
        return inner
    if layout == "negative":
        return values[tuple(slice(None, None, -1) for _ in values.shape)]
    if layout == "broadcast":
        return np.broadcast_to(values, (3, *values.shape))
    if layout == "transposed":
        return values.T
    if layout == "big_endian":
        return values.astype(values.dtype.newbyteorder(">"))
    if layout == "read_only":
        copy = values.copy()
        copy.flags.writeable = False
        return copy
    if layout == "misaligned":
        raw = np.zeros(values.nbytes + 1, "uint8")
        copy = raw[1:].view(values.dtype).reshape(values.shape) if values.size else values
        copy[...] = values
        return copy
    if layout == "0-d":
        return values.reshape(-1)[:1].reshape(()) if values.size else np.zeros((), values.dtype)
    if layout == "empty":
        return values[..., :0] if values.ndim else np.zeros((0,), values.dtype)
    return np.ascontiguousarray(values).reshape(values.shape)


@st.composite
def arrays(draw, dtypes=tuple(DTYPES), layouts=tuple(LAYOUTS)):
    """An array of a drawn dtype, shape and layout, NaN and infinities included."""
    dtype = draw(st.sampled_from(dtypes))
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=5))
    values = draw(hnp.arrays(np.dtype(dtype), shape))
    return in_layout(values, draw(st.sampled_from(layouts)))
