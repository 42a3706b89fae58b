"""DLPack with torch, both ways: every dtype, strides, lifetime, no copies."""

import gc
import threading
import weakref

import numpy as np
import pytest
import tvm

SAME_NAME = ["int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64", "bool"]


def torch_dtype(torch, name):
    names = {"e4m3_float8": "float8_e4m3fn", "e5m2_float8": "float8_e5m2"}
    return getattr(torch, names.get(name, name))


@pytest.mark.parametrize("dtype", [*SAME_NAME, "bfloat16", "e4m3_float8", "e5m2_float8"])
def test_torch_to_array(torch, dtype):
    t = torch.tensor([0, 1, 0, 1, 1, 1]).reshape(2, 3).to(torch_dtype(torch, dtype))
    a = tvm.nd.from_dlpack(t)
    assert (a.shape, a.dtype, a.device) == ((2, 3), dtype, tvm.cpu(0))
    assert a.handle.contents.data == t.data_ptr()


@pytest.mark.parametrize("dtype", [*SAME_NAME, "bfloat16", "e4m3_float8", "e5m2_float8"])
def test_array_to_torch(torch, dtype):
    a = tvm.nd.empty((2, 3), dtype)
    t = torch.from_dlpack(a)
    assert t.dtype == torch_dtype(torch, dtype) and tuple(t.shape) == (2, 3)
    assert t.data_ptr() == a.handle.contents.data
    again = tvm.nd.from_dlpack(t)
    assert again.dtype == dtype


def test_both_see_writes(torch):
    t = torch.zeros(2, 3)
    a = tvm.nd.from_dlpack(t)
    a[:] = np.arange(6, dtype="float32").reshape(2, 3)
    assert t[1, 2].item() == 5.0
    t.mul_(2)
    assert a.numpy()[1, 2] == 10.0


def test_strided_tensor_keeps_its_strides(torch):
    t = torch.arange(24.0).reshape(4, 6).t()[1::2]
    a = tvm.nd.from_dlpack(t)
    assert a.strides == t.stride()
    np.testing.assert_array_equal(a.numpy(), t.numpy())
    np.testing.assert_array_equal(np.from_dlpack(a), t.numpy())


def test_size_one_axes_have_any_stride(torch):
    t = torch.as_strided(torch.arange(3.0), (1, 3, 1), (77, 1, 55))
    a = tvm.nd.from_dlpack(t)
    assert a.strides is None
    np.testing.assert_array_equal(a.numpy(), t.numpy())


def test_offset_slices_of_any_alignment(torch):
    t = torch.arange(100, dtype=torch.float32)
    for start in range(20):
        a = tvm.nd.from_dlpack(t[start:])
        np.testing.assert_array_equal(a.numpy(), t[start:].numpy())


def test_memory_outlives_the_producer(torch):
    a = tvm.nd.from_dlpack(torch.arange(1000))
    gc.collect()
    torch.full((1000,), -1)  # would take the freed block
    np.testing.assert_array_equal(a.numpy(), np.arange(1000))
    t = torch.from_dlpack(tvm.nd.array(np.arange(1000)))
    gc.collect()
    tvm.nd.array(np.full(1000, -1))
    assert t.sum().item() == 499500


def test_last_reference_in_another_thread(torch):
    owner = torch.arange(8)
    alive = weakref.ref(owner)
    held = [tvm.nd.from_dlpack(owner)]
    del owner
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    gc.collect()
    assert alive() is None or held == []


def test_capsules_of_torch(torch):
    from torch.utils import dlpack

    t = torch.arange(6).reshape(2, 3)
    capsule = dlpack.to_dlpack(t)
    a = tvm.nd.from_dlpack(capsule)
    np.testing.assert_array_equal(a.numpy(), t.numpy())
    with pytest.raises(ValueError, match="consumed"):
        tvm.nd.from_dlpack(capsule)
    np.testing.assert_array_equal(a.numpy(), t.numpy())


def test_torch_takes_our_legacy_capsule(torch):
    from torch.utils import dlpack

    a = tvm.nd.array(np.arange(6).reshape(2, 3))
    t = dlpack.from_dlpack(a.to_dlpack())
    np.testing.assert_array_equal(t.numpy(), a.numpy())


def test_parameters_and_tensors_with_gradients_as_arguments(torch):
    from tvm import te

    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] * 2.0, name="B")
    f = tvm.build(te.create_schedule(B.op), [A, B], "llvm")
    out = torch.zeros(4)
    f(torch.arange(4.0), out)
    assert out.tolist() == [0.0, 2.0, 4.0, 6.0]
    f(torch.nn.Parameter(torch.arange(4.0)).detach(), out)
    assert out.tolist() == [0.0, 2.0, 4.0, 6.0]


def test_steady_memory(torch):
    from tvm._ffi import _core

    before = _core.stat(1), _core.stat(2)
    for _ in range(2000):
        torch.from_dlpack(tvm.nd.from_dlpack(torch.ones(3)))
        tvm.nd.array(np.ones(3)).to_dlpack()
    gc.collect()
    assert (_core.stat(1), _core.stat(2)) == before
