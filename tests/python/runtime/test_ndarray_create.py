"""Making arrays: tvm.nd.array, tvm.nd.empty and their names in the function registry."""

import array as stdlib_array
import inspect
import subprocess
import sys

import numpy as np
import pytest
import tvm

PLAIN = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "float16", "float32", "float64"]  # fmt: skip


def ramp(shape, dtype):
    n = int(np.prod(shape, dtype=np.int64))
    return (
        (np.arange(n) % 2 == 0 if dtype == "bool" else np.arange(n) - n // 3)
        .astype(dtype)
        .reshape(shape)
    )


@pytest.mark.parametrize("dtype", PLAIN)
@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 4), (2, 3, 5), (0,), (2, 0, 3)])
def test_round_trip(dtype, shape):
    x = ramp(shape, dtype)
    a = tvm.nd.array(x)
    assert type(a) is tvm.nd.NDArray
    assert (a.shape, a.dtype, a.device) == (shape, dtype, tvm.cpu(0))
    y = a.numpy()
    assert y.dtype == x.dtype and y.shape == shape and y.flags.c_contiguous and y.flags.writeable
    np.testing.assert_array_equal(y, x)


def test_array_always_copies():
    x = np.arange(6.0)
    a = tvm.nd.array(x)
    b = tvm.nd.array(a)
    x[:] = -1
    a[:] = np.zeros(6)
    assert b.numpy().tolist() == [0, 1, 2, 3, 4, 5]
    assert a.numpy().tolist() == [0] * 6
    assert b != a


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "uint64", "bool"])
@pytest.mark.parametrize(
    "slices",
    [
        np.s_[::2],
        np.s_[::-1],
        np.s_[:, ::-1],
        np.s_[1:3, ::-2],
        np.s_[:, 1, ::3],
        np.s_[..., 0],
        np.s_[1:1],
    ],
)
def test_strided_sources(dtype, slices):
    base = ramp((4, 5, 6), dtype)
    for x in (base[slices], base[slices].T):
        np.testing.assert_array_equal(tvm.nd.array(x).numpy(), x)


def test_transposed_fortran_and_broadcast_sources():
    x = ramp((3, 4, 5), "float32")
    for y in (x.T, x.transpose(1, 0, 2), np.asfortranarray(x), np.broadcast_to(x, (2, 3, 4, 5))):
        np.testing.assert_array_equal(tvm.nd.array(y).numpy(), y)


def test_read_only_source():
    x = ramp((5,), "int32")
    x.flags.writeable = False
    a = tvm.nd.array(x)
    a[:] = np.zeros(5, "int32")
    assert a.numpy().tolist() == [0] * 5


@pytest.mark.parametrize("dtype", [">i4", ">f8", "<u2", ">u8", ">f2"])
def test_byte_orders(dtype):
    x = np.array([1, 2, 300], dtype)
    a = tvm.nd.array(x)
    assert a.dtype == x.dtype.newbyteorder("=").name
    assert a.numpy().tolist() == [1, 2, 300]


def test_field_of_records_and_misaligned_sources():
    records = np.array([(1, 2.5), (3, 4.5)], np.dtype([("a", "i1"), ("b", "f8")]))
    assert tvm.nd.array(records["b"]).numpy().tolist() == [2.5, 4.5]
    raw = np.zeros(41, np.uint8)
    misaligned = raw[1:].view(np.float64)
    misaligned[:] = [1, 2, 3, 4, 5]
    assert not misaligned.flags.aligned
    assert tvm.nd.array(misaligned).numpy().tolist() == [1, 2, 3, 4, 5]


def test_rank_64():
    if np.lib.NumpyVersion(np.__version__) < "2.0.0":
        pytest.skip("this numpy stops at 32 axes")
    x = np.arange(4).reshape((2,) * 2 + (1,) * 62)
    a = tvm.nd.array(x)
    assert a.ndim == 64
    np.testing.assert_array_equal(a.numpy(), x)
    y = np.lib.stride_tricks.as_strided(np.arange(8), (2,) + (1,) * 62 + (2,), (32,) + (8,) * 63)
    np.testing.assert_array_equal(tvm.nd.array(y).numpy(), y)


@pytest.mark.parametrize(
    "source",
    [3, 2.5, True, [1, 2], [[1.0, 2], [3, 4]], (1, 2), [], [[], []], [True, False], np.int16(4),
     np.float32(1.5), range(4)],
)  # fmt: skip
def test_lists_and_scalars_have_the_dtype_of_numpy(source):
    expected = np.array(source)
    a = tvm.nd.array(source)
    assert (a.dtype, a.shape) == (expected.dtype.name, expected.shape)
    np.testing.assert_array_equal(a.numpy(), expected)


def test_buffers_and_array_protocol():
    class Convertible:
        def __array__(self, dtype=None, copy=None):
            return np.array([4, 5], "int16")

    assert tvm.nd.array(memoryview(b"ab")).numpy().tolist() == [97, 98]
    assert tvm.nd.array(stdlib_array.array("d", [1.5, 2])).numpy().tolist() == [1.5, 2]
    a = tvm.nd.array(Convertible())
    assert a.dtype == "int16" and a.numpy().tolist() == [4, 5]


def test_torch_source(torch):
    t = torch.arange(6, dtype=torch.float32).reshape(2, 3).T
    a = tvm.nd.array(t)
    t[:] = 0
    assert a.shape == (3, 2) and a.numpy().tolist() == [[0, 3], [1, 4], [2, 5]]
    assert tvm.nd.array(torch.ones(2, dtype=torch.bfloat16)).numpy().tolist() == [0x3F80] * 2


def test_numpy_subclass():
    class Subclass(np.ndarray):
        pass

    a = tvm.nd.array(np.array([[1, 2], [3, 4]]).view(Subclass))
    assert a.shape == (2, 2) and type(a.numpy()) is np.ndarray


def test_ir_array_is_refused():
    ir_array = tvm.runtime.convert([1, 2, 3])
    with pytest.raises(AttributeError):
        tvm.nd.array(ir_array)


@pytest.mark.parametrize(
    ("source", "named"),
    [
        (np.zeros(2, np.dtype([("a", "i4")])), "a"),
        (np.array([object()]), "object"),
        (np.array(["x", "yz"]), "U2"),
        (np.array([b"x"]), "S1"),
        (np.array(["2020-01-01"], "datetime64[D]"), "datetime64"),
        (np.zeros(1, np.complex128), "complex128"),
        (np.zeros(1, np.longdouble), np.dtype(np.longdouble).name),
    ],
)
def test_dtypes_that_no_array_has(source, named):
    with pytest.raises(TypeError, match=named) as caught:
        tvm.nd.array(source)
    assert isinstance(caught.value, tvm.TVMError)


def test_ragged_and_senseless_sources():
    for source in ([[1, 2], [3]], None, object(), "text", {"a": 1}):
        with pytest.raises((TypeError, ValueError)) as caught:
            tvm.nd.array(source)
        assert isinstance(caught.value, tvm.TVMError), source


# ---- empty --------------------------------------------------------------------------------------


def test_empty_defaults():
    a = tvm.nd.empty((2, 3))
    assert (a.shape, a.dtype, a.device) == ((2, 3), "float32", tvm.cpu(0))
    assert a.nbytes == 24 and a.size == 6 and a.ndim == 2


@pytest.mark.parametrize(
    "shape",
    [
        (2, 3),
        [2, 3],
        np.array([2, 3]),
        (np.int64(2), np.int32(3)),
        tvm.runtime.ShapeTuple([2, 3]),
        iter([2, 3]),
    ],
)
def test_empty_shapes(shape):
    assert tvm.nd.empty(shape, "int8").shape == (2, 3)


def test_empty_of_an_int_and_of_nothing():
    assert tvm.nd.empty(4).shape == (4,)
    assert tvm.nd.empty(np.int64(4)).shape == (4,)
    assert tvm.nd.empty(()).shape == () and tvm.nd.empty(()).nbytes == 4
    assert tvm.nd.empty((3, 0)).nbytes == 0
    assert tvm.nd.empty((1,) * 100).ndim == 100


@pytest.mark.parametrize("shape", [(-1,), (2, -3), (1 << 62, 4), (1 << 40, 1 << 40), (1 << 70,)])
def test_impossible_sizes(shape):
    with pytest.raises(ValueError) as caught:
        tvm.nd.empty(shape)
    assert isinstance(caught.value, tvm.TVMError)
    assert str(shape[0]) in str(caught.value)


@pytest.mark.parametrize("shape", [2.5, (2.0,), "ab", b"ab", None, (None,), ("2",), np.zeros(2)])
def test_senseless_shapes(shape):
    with pytest.raises(TypeError, match="shape"):
        tvm.nd.empty(shape)


def test_too_much_memory_is_an_error():
    with pytest.raises(MemoryError):
        tvm.nd.empty((1 << 50,), "int8")


def test_arguments_by_name_and_their_errors():
    a = tvm.nd.empty(shape=(2,), dtype="int32", device=tvm.cpu(0), mem_scope="global")
    assert a.dtype == "int32"
    assert tvm.nd.array(arr=[1], device=tvm.cpu(), mem_scope=None).shape == (1,)
    assert tvm.nd.empty((2,), "int32", "cpu").dtype == "int32"
    for call in (
        lambda: tvm.nd.empty(),
        lambda: tvm.nd.empty((2,), shape=(3,)),
        lambda: tvm.nd.empty((2,), colour=1),
        lambda: tvm.nd.array([1], None, None, None),
        lambda: tvm.nd.empty((2,), mem_scope=3),
    ):
        with pytest.raises(TypeError):
            call()


def test_memory_scopes():
    assert tvm.nd.array([1, 2], mem_scope="global").numpy().tolist() == [1, 2]
    with pytest.raises(ValueError, match="global"):
        tvm.nd.empty((2,), mem_scope="no-such-scope")


def test_void_has_no_arrays():
    for dtype in ("", "void"):
        with pytest.raises(ValueError):
            tvm.nd.empty((2,), dtype)


def test_missing_device():
    device = tvm.device("vpi", 0)
    assert not device.exist
    with pytest.raises(RuntimeError, match="vpi"):
        tvm.nd.empty((2,), device=device)
    with pytest.raises(RuntimeError, match="vpi"):
        tvm.nd.array([1.0], device)


def test_alignment_of_own_memory():
    for n in (1, 3, 1000, 100_000):
        a = tvm.nd.empty((n,), "uint8")
        assert a.handle.contents.data % 64 == 0


def test_registered_names():
    empty = tvm.get_global_func("runtime.TVMArrayAllocWithScope")
    a = empty(tvm.runtime.ShapeTuple([2, 3]), "float64", tvm.cpu(0), None)
    assert (a.shape, a.dtype) == ((2, 3), "float64")
    view = tvm.get_global_func("runtime.TVMArrayCreateView")
    v = view(a, tvm.runtime.ShapeTuple([6]), "float64", 0)
    a[:] = np.ones((2, 3))
    assert v.numpy().tolist() == [1.0] * 6


def test_signatures_are_shown():
    assert str(inspect.signature(tvm.nd.array)) == "(arr, device=None, mem_scope=None)"
    assert list(inspect.signature(tvm.nd.empty).parameters) == [
        "shape",
        "dtype",
        "device",
        "mem_scope",
    ]
    assert tvm.nd.array.__module__ == "tvm.runtime.ndarray"
    assert tvm.nd.NDArray.__module__ == "tvm.runtime.ndarray"


def test_numpy_is_found_when_it_is_imported_later():
    code = (
        "import sys, tvm\n"
        "a = tvm.nd.empty((2,), 'int32')\n"
        "assert 'numpy' not in sys.modules\n"
        "import numpy as np\n"
        "a.copyfrom(np.array([1, 2], 'int32'))\n"
        "assert tvm.nd.array(np.ones(2)).numpy().tolist() == [1, 1]\n"
        "assert a.numpy().tolist() == [1, 2]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_numpy_is_imported_on_first_need():
    code = (
        "import sys, tvm\n"
        "a = tvm.nd.array([1, 2])\n"
        "assert a.numpy().tolist() == [1, 2] and 'numpy' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
