"""Whatever goes into an array comes out again, bit for bit, from every dtype and layout."""

import copy
import pickle

import numpy as np
import pytest
import tvm
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from layouts import arrays


def same(left: np.ndarray, right: np.ndarray) -> None:
    """Equal dtype, shape and bits; NaNs of the same bits are equal."""
    right = np.ascontiguousarray(right.astype(right.dtype.newbyteorder("="))).reshape(right.shape)
    assert left.dtype == right.dtype
    assert left.shape == right.shape
    assert np.ascontiguousarray(left).tobytes() == right.tobytes()


@settings(max_examples=300, deadline=None)
@given(arrays())
def test_array_and_back(x):
    a = tvm.nd.array(x)
    assert a.shape == x.shape
    assert a.dtype == x.dtype.newbyteorder("=").name
    assert a.size == x.size and a.ndim == x.ndim and len(a.shape) == x.ndim
    same(a.numpy(), x)
    assert a.numpy().flags.c_contiguous and a.numpy().flags.writeable


@settings(max_examples=200, deadline=None)
@given(arrays(), st.data())
def test_copyfrom_and_copyto(x, data):
    a = tvm.nd.empty(x.shape, x.dtype.newbyteorder("=").name)
    assert a.copyfrom(x) is a
    same(a.numpy(), x)
    b = tvm.nd.empty(x.shape, a.dtype)
    b[:] = x
    same(b.numpy(), x)
    c = a.copyto(tvm.cpu(0))
    same(c.numpy(), x)
    d = tvm.nd.empty(x.shape, a.dtype)
    assert a.copyto(d) is d
    same(d.numpy(), x)


@settings(max_examples=200, deadline=None)
@given(arrays(layouts=("C", "F", "sliced", "negative", "transposed", "0-d", "empty", "misaligned")))
def test_shared_memory(x):
    if not x.flags.aligned and x.size:
        # NumPy itself refuses to export these or not, by version: copies only
        same(tvm.nd.array(x).numpy(), x)
        return
    a = tvm.nd.from_dlpack(x)
    same(a.numpy(), x)
    back = np.from_dlpack(a)
    same(back, x)
    if x.size:
        assert back.__array_interface__["data"][0] == x.__array_interface__["data"][0]
        flipped = ~x if x.dtype == bool else np.zeros_like(x)
        a.copyfrom(flipped)
        same(x, flipped)


@settings(max_examples=100, deadline=None)
@given(arrays())
def test_pickle_and_copy(x):
    a = tvm.nd.array(x)
    for b in (pickle.loads(pickle.dumps(a)), copy.copy(a), copy.deepcopy(a)):
        assert b.dtype == a.dtype and b.device == a.device and not b.same_as(a)
        same(b.numpy(), x)


@settings(max_examples=150, deadline=None)
@given(arrays(dtypes=("float16", "float32", "float64", "int8", "int64", "bool")),
       st.sampled_from(["float32", "float64", "int32", "uint8", "float16", "bool"]))  # fmt: skip
def test_copyfrom_converts_as_numpy_does(x, dtype):
    with np.errstate(all="ignore"):
        expected = x.astype(dtype)
    if x.dtype.kind == "f" and np.dtype(dtype).kind in "iu":
        finite = np.isfinite(x)
        info = np.iinfo(dtype)
        if not np.all(finite & (x >= info.min) & (x <= info.max)):
            return  # outside the target's range the value depends on the machine
    with np.errstate(all="ignore"):
        got = tvm.nd.empty(x.shape, dtype).copyfrom(x).numpy()
    np.testing.assert_array_equal(got, expected)


@settings(max_examples=200, deadline=None)
@given(hnp.arrays(np.int8, hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=7),
                  elements=st.integers(-8, 7)))  # fmt: skip
def test_int4_packs_and_unpacks(x):
    a = tvm.nd.empty(x.shape, "int4").copyfrom(x)
    assert a.nbytes == (x.size + 1) // 2
    same(a.numpy(), x)
    same(pickle.loads(pickle.dumps(a)).numpy(), x)


@settings(max_examples=200, deadline=None)
@given(hnp.arrays(np.float32, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=7)))
def test_bfloat16_rounds_to_nearest_even(x):
    ml_dtypes = pytest.importorskip("ml_dtypes")  # in the test extra
    got = tvm.nd.empty(x.shape, "bfloat16").copyfrom(x).numpy()
    with np.errstate(all="ignore"):
        expected = x.astype(ml_dtypes.bfloat16)
    nan = np.isnan(x)
    np.testing.assert_array_equal(got[~nan], expected.view(np.uint16)[~nan])
    assert np.all(np.isnan(got[nan].view(ml_dtypes.bfloat16).astype(np.float32)))


@pytest.mark.parametrize(
    "name,np_name", [("e4m3_float8", "float8_e4m3fn"), ("e5m2_float8", "float8_e5m2")]
)
def test_every_float8(name, np_name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    bits = np.arange(256, dtype="uint8")
    x = bits.view(getattr(ml_dtypes, np_name))
    a = tvm.nd.array(x)
    assert a.dtype == name
    assert a.numpy().dtype == x.dtype
    np.testing.assert_array_equal(a.numpy().view("uint8"), bits)
    b = tvm.nd.empty((256,), name).copyfrom(x)
    np.testing.assert_array_equal(b.numpy().view("uint8"), bits)


@settings(max_examples=100, deadline=None)
@given(hnp.arrays(np.float32, st.tuples(st.integers(0, 5), st.integers(0, 5), st.just(4))))
def test_vector_lanes_are_one_more_axis(x):
    a = tvm.nd.empty(x.shape[:-1], "float32x4").copyfrom(x)
    assert a.shape == x.shape[:-1]
    same(a.numpy(), x)
