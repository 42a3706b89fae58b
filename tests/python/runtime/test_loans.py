"""Tensors that a caller lends to a callback: what is made of them outlives the call."""

import ctypes
import gc
import threading

import native_calls as c
import numpy as np
import pytest
import tvm
from tvm._ffi import _core

DERIVE = {
    "view": lambda x: x._create_view((2,), relative_byte_offset=4),
    "view of a view": lambda x: x._create_view((3,))._create_view((2,), None, 4),
    "registered view": lambda x: tvm.get_global_func("runtime.TVMArrayCreateView")(
        x, tvm.runtime.ShapeTuple((2,)), "float32", 4
    ),
    "export": lambda x: np.from_dlpack(x)[1:3],
    "capsule": lambda x: x.__dlpack__(),
    "versioned capsule": lambda x: x.__dlpack__(max_version=(1, 0)),
    "legacy capsule": lambda x: x.to_dlpack(),
    "import": tvm.nd.from_dlpack,
    "array protocol": lambda x: x.__array__(copy=False)[1:3],
    "second object": tvm.nd.NDArray,
    "the array": lambda x: x,
}


def values_of(kept):
    if type(kept).__name__ == "PyCapsule":
        kept = tvm.nd.from_dlpack(kept)
    values = kept if isinstance(kept, np.ndarray) else kept.numpy()
    return values.tolist() if len(values) == 2 else values[1:3].tolist()


def lend(callback, *buffers, strides=None, shape=(4,)):
    """Call a Python function with tensors over ctypes buffers, as a kernel does."""
    tensors = [c.tensor(buffer, shape, strides=strides) for buffer in buffers]
    f = _core.convert_function(callback)
    return c.call(f, *((c.TENSOR, ctypes.addressof(t)) for t in tensors))[0]


def floats(*values):
    return (ctypes.c_float * len(values))(*values)


@pytest.mark.parametrize("how", DERIVE)
def test_what_is_kept_has_memory_of_its_own(how):
    buffer = floats(0, 1, 2, 3)
    kept = []
    assert lend(lambda x: kept.append(DERIVE[how](x)), buffer) == 0
    buffer[:] = [9] * 4
    assert values_of(kept[0]) == [1, 2]


@pytest.mark.parametrize("how", DERIVE)
def test_what_is_derived_is_alive_during_the_call(how):
    """The array and what is made of it are one memory, and the caller sees what was written."""
    buffer = floats(0, 1, 2, 3)

    def callback(x):
        derived = DERIVE[how](x)
        x.copyfrom(np.array([10, 11, 12, 13], "float32"))
        assert values_of(derived) == [11, 12]

    assert lend(callback, buffer) == 0, c.last_error()
    assert list(buffer) == [10, 11, 12, 13]


def test_writes_through_exports_and_views_reach_the_caller():
    buffer = floats(0, 1, 2, 3)

    def callback(x):
        np.from_dlpack(x)[0] = 7
        x._create_view((1,), None, 4).copyfrom([8])
        assert x.numpy().tolist() == [7, 8, 2, 3]

    assert lend(callback, buffer) == 0
    assert list(buffer) == [7, 8, 2, 3]


def test_writes_before_an_error_reach_the_caller():
    buffer = floats(0, 1, 2, 3)

    def callback(x):
        np.from_dlpack(x)[:] = 5
        raise KeyError

    assert lend(callback, buffer) != 0
    c.lib.TVMErrorClear()  # it holds the frame of the callback
    assert list(buffer) == [5] * 4


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_same_memory_lent_twice(order):
    """What was only read does not undo what was written through the other argument."""
    buffer = floats(0, 1, 2, 3)

    def callback(*args):
        source, target = (np.from_dlpack(args[i]) for i in order)
        target[:] = source * 2

    assert lend(callback, buffer, buffer) == 0
    assert list(buffer) == [0, 2, 4, 6]


def test_strided_tensors():
    buffer = floats(*range(8))
    kept = []

    def callback(x):
        kept.append(np.from_dlpack(x))
        kept[0][0] = 50

    assert lend(callback, buffer, strides=(2,)) == 0
    assert list(buffer) == [50, 1, 2, 3, 4, 5, 6, 7]
    buffer[:] = [0] * 8
    assert kept[0].tolist() == [50, 2, 4, 6]


def test_memory_that_must_not_be_written_is_not_written():
    """Only what has changed goes back: the caller's tensor may be read-only memory."""
    import mmap

    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ)
    address = np.frombuffer(memory, "float32").ctypes.data
    buffer = (ctypes.c_float * 4).from_address(address)
    assert lend(lambda x: np.from_dlpack(x).sum() and None, buffer) == 0


def test_nothing_is_left_behind():
    before = _core.stat(1), _core.stat(2)
    for _ in range(100):
        lend(lambda x, y: (np.from_dlpack(x), y._create_view((2,)), None)[2], floats(1, 2, 3, 4),
             floats(1, 2, 3, 4))  # fmt: skip
    gc.collect()
    assert (_core.stat(1), _core.stat(2)) == before


def test_deriving_from_many_threads():
    buffer = floats(0, 1, 2, 3)
    kept = []

    def callback(x):
        def derive():
            kept.append(tvm.nd.from_dlpack(x))

        threads = [threading.Thread(target=derive) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert lend(callback, buffer) == 0
    buffer[:] = [9] * 4
    addresses = {array.handle.contents.data for array in kept}
    assert len(kept) == 8 and len(addresses) == 1
    assert all(array.numpy().tolist() == [0, 1, 2, 3] for array in kept)


def test_null_and_negative():
    for call in (
        lambda: c.lib.TVMArrayOnLoan(None, None),
        lambda: c.lib.TVMArrayEndLoan(None),
        lambda: c.lib.TVMArrayReturnLoans(None, None, 1),
        lambda: c.lib.TVMArrayReturnLoans(None, None, -1),
    ):
        assert call() == -1 and "NULL" in c.last_error()
    assert c.lib.TVMArrayReturnLoans(None, None, 0) == 0
    c.lib.TVMErrorClear()


def test_empty_and_zero_dimensional():
    for shape, buffer in (((0,), floats(1)), ((), floats(3))):
        kept = []
        assert lend(lambda x: kept.append(np.from_dlpack(x)), buffer, shape=shape) == 0  # noqa: B023
        assert kept[0].shape == shape
