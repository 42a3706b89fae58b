"""DLPack with NumPy, JAX and array-api-strict as consumers and producers."""

import numpy as np
import pytest
import tvm


def test_numpy_legacy_and_versioned():
    a = tvm.nd.array(np.arange(6, dtype="float32").reshape(2, 3))
    legacy, versioned = a.__dlpack__(), a.__dlpack__(max_version=(1, 0))
    assert '"dltensor"' in repr(legacy)
    assert '"dltensor_versioned"' in repr(versioned)
    for capsule in (legacy, versioned):
        b = tvm.nd.from_dlpack(capsule)
        np.testing.assert_array_equal(b.numpy(), a.numpy())
        with pytest.raises(ValueError, match="consumed"):
            tvm.nd.from_dlpack(capsule)


def test_numpy_view_is_writable_and_shared():
    a = tvm.nd.array(np.zeros(4, "float32"))
    view = np.from_dlpack(a)
    if tuple(map(int, np.__version__.split(".")[:2])) >= (2, 3):
        assert view.flags.writeable
        view[1] = 7
        assert a.numpy()[1] == 7
    a[:] = np.full(4, 3, "float32")
    np.testing.assert_array_equal(view, np.full(4, 3))


def test_read_only_both_ways():
    x = np.arange(4.0)
    x.flags.writeable = False
    a = tvm.nd.from_dlpack(x)
    np.testing.assert_array_equal(a.numpy(), x)
    for write in (lambda: a.copyfrom(np.zeros(4)), lambda: tvm.nd.array(np.zeros(4)).copyto(a)):
        with pytest.raises(ValueError, match="read-only"):
            write()
    assert x[3] == 3.0
    view = np.from_dlpack(a)
    assert not view.flags.writeable
    # a legacy capsule cannot say read-only, so there is none
    with pytest.raises(BufferError, match="read-only"):
        a.__dlpack__()


def test_bool_uses_the_dlpack_code():
    a = tvm.nd.array(np.array([True, False, True]))
    assert a.dtype == "bool"
    assert np.from_dlpack(a).dtype == np.bool_
    assert tvm.nd.from_dlpack(np.array([True])).dtype == "bool"
    assert tvm.nd.from_dlpack(np.array([1], "uint8")).dtype == "uint8"


def test_device_and_copy_arguments():
    a = tvm.nd.array(np.arange(3))
    assert a.__dlpack_device__() == (1, 0)
    shared = np.from_dlpack(a, device="cpu")
    copied = np.from_dlpack(a, copy=True)
    a[:] = np.array([7, 8, 9])
    assert shared[0] == 7 and copied[0] == 0
    with pytest.raises(BufferError, match="cuda"):
        a.__dlpack__(dl_device=(2, 0))
    a.__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises((TypeError, ValueError)):
        a.__dlpack__(max_version="1.0")


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "uint8", "bool", "complex64"])
def test_array_api_strict(dtype):
    xp = pytest.importorskip("array_api_strict")  # in the test extra
    x = xp.asarray(np.array([0, 1, 1, 0]).astype(dtype).reshape(2, 2))
    if dtype == "complex64":
        with pytest.raises((TypeError, BufferError), match="complex"):
            tvm.nd.from_dlpack(x)
        return
    a = tvm.nd.from_dlpack(x)
    assert a.dtype == dtype
    np.testing.assert_array_equal(a.numpy(), np.asarray(x))
    back = xp.from_dlpack(a)
    np.testing.assert_array_equal(np.asarray(back), a.numpy())


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float16", "float32", "bfloat16", "bool"])
def test_jax(jax, dtype):
    x = jax.numpy.asarray([[0, 1, 2], [3, 4, 5]]).astype(dtype)
    a = tvm.nd.from_dlpack(x)
    assert a.dtype == dtype and a.shape == (2, 3)
    if dtype == "bfloat16":
        np.testing.assert_array_equal(a.numpy(), np.asarray(x).view("uint16"))
    else:
        np.testing.assert_array_equal(a.numpy(), np.asarray(x))
    y = jax.numpy.from_dlpack(tvm.nd.array(a))
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(y), np.asarray(x))
    assert float(jax.numpy.sum(y.astype("float32"))) == float(np.asarray(x, "float32").sum())


class Producer:
    """A tensor that knows only the old protocol."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_old_protocol_producer():
    a = tvm.nd.from_dlpack(Producer(np.arange(5.0)))
    np.testing.assert_array_equal(a.numpy(), np.arange(5.0))


def test_producer_errors_pass_through():
    class Broken:
        def __dlpack__(self, **kwargs):
            raise RuntimeError("the tensor is on fire")

        def __dlpack_device__(self):
            return (1, 0)

    with pytest.raises(RuntimeError, match="on fire"):
        tvm.nd.from_dlpack(Broken())


def test_not_a_tensor():
    for thing in (object(), 3, "text", [1, 2]):
        with pytest.raises(TypeError, match=type(thing).__name__):
            tvm.nd.from_dlpack(thing)
        with pytest.raises(AttributeError):
            tvm.nd.from_dlpack(thing)


def test_unsupported_dtypes_are_named():
    with pytest.raises((TypeError, BufferError), match="complex"):
        tvm.nd.from_dlpack(np.zeros(3, "complex64"))
