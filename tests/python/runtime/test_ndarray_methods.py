"""Attributes and methods of NDArray."""

import gc
import inspect
import sys
import threading
import time
import weakref

import numpy as np
import pytest
import tvm


def strided(shape=(2, 3), dtype="float32"):
    """An array with gaps, and the NumPy array that it shares memory with."""
    base = np.arange(2 * int(np.prod(shape))).astype(dtype).reshape(*shape, 2)
    x = base[..., 0]
    return tvm.nd.from_dlpack(x), x


def read_only(values=(1.0, 2.0, 3.0)):
    x = np.array(values)
    x.flags.writeable = False
    return tvm.nd.from_dlpack(x)


# ---- attributes ---------------------------------------------------------------------------------


def test_attributes_of_a_compact_array():
    a = tvm.nd.empty((2, 3), "int16")
    assert type(a.shape) is tuple and all(type(n) is int for n in a.shape)
    assert (a.ndim, a.size, a.nbytes, a.byte_offset) == (2, 6, 12, 0)
    assert a.strides is None and a.is_view is False and a._read_only is False
    assert a.dtype == "int16" and a.device == tvm.cpu(0)
    for name in ("shape", "dtype", "device", "strides", "nbytes"):
        with pytest.raises(AttributeError):
            setattr(a, name, 1)


def test_attributes_of_a_strided_array():
    a, x = strided()
    assert a.strides == (6, 2) and a.nbytes == 24 and a.size == 6
    assert tvm.nd.from_dlpack(x[:, ::-1]).strides == (6, -2)


def test_handle():
    a = tvm.nd.empty((2, 3), "int16")
    tensor = a.handle.contents
    assert str(tensor.dtype) == "int16"
    assert tensor.device == tvm.cpu(0)
    assert list(tensor.shape[: tensor.ndim]) == [2, 3]


def test_identity_not_content():
    a = tvm.nd.array([1, 2, 3])
    b = tvm.nd.array([1, 2, 3])
    same = tvm.nd.NDArray(a)
    assert a != b and (a == b) is False and not a.same_as(b)
    assert a == same and a.same_as(same) and hash(a) == hash(same) and a is not same
    assert len({a, b, same}) == 2
    for other in (None, 1, "a", a.numpy(), [1, 2, 3]):
        assert (a == other) is False and (a != other) is True and a.same_as(other) is False
    assert (a.numpy() == a) is False or (a.numpy() == a).all()  # numpy's own rule, no crash
    with pytest.raises(TypeError):
        a < b  # noqa: B015


def test_no_arithmetic():
    a = tvm.nd.array([1.0])
    for operation in (lambda: a + a, lambda: a * 2, lambda: -a, lambda: a @ a, lambda: abs(a)):
        with pytest.raises(TypeError):
            operation()


def test_len_and_iteration():
    assert len(tvm.nd.empty((3, 2))) == 3 and len(tvm.nd.empty((0,))) == 0
    with pytest.raises(TypeError):
        len(tvm.nd.empty(()))
    with pytest.raises(TypeError):
        iter(tvm.nd.empty((3,)))


def test_weakref_and_release():
    a = tvm.nd.empty((4,))
    gone = []
    r = weakref.ref(a, gone.append)
    assert r() is a
    del a
    assert r() is None and gone == [r]


def test_subclass():
    class Tagged(tvm.nd.NDArray):
        def __init__(self, source, tag):
            self.tag = tag

        def __new__(cls, source, tag):
            return super().__new__(cls, source)

    base = tvm.nd.array([1.0, 2.0])
    t = Tagged(base, "x")
    assert t.tag == "x" and t == base and isinstance(t, tvm.nd.NDArray)
    assert t.numpy().tolist() == [1.0, 2.0]
    assert tvm.nd.array(t).numpy().tolist() == [1.0, 2.0]
    t.copyfrom([3.0, 4.0])
    assert base.numpy().tolist() == [3.0, 4.0]
    r = weakref.ref(t)
    t.self = t  # a cycle: the subclass is garbage-collected
    del t
    gc.collect()
    assert r() is None
    del base


def test_constructor_takes_arrays_only():
    for args in ((), (1,), ([1.0],), (np.zeros(2),)):
        with pytest.raises(TypeError, match=r"tvm\.nd\.array"):
            tvm.nd.NDArray(*args)


def test_methods_have_signatures():
    assert str(inspect.signature(tvm.nd.NDArray.copyto)) == "(self, /, target, mem_scope=None)"
    for name in ("numpy", "copyfrom", "copyto", "_create_view", "__dlpack__", "same_as"):
        assert getattr(tvm.nd.NDArray, name).__doc__


# ---- numpy() ------------------------------------------------------------------------------------


def test_numpy_is_a_fresh_copy():
    a = tvm.nd.array([1.0, 2.0])
    x = a.numpy()
    x[:] = 9
    assert a.numpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "int64"])
def test_numpy_of_strided_arrays(dtype):
    base = (np.arange(120) % 7).astype(dtype).reshape(4, 5, 6)
    for x in (base[::2, ::-1], base.T, base[1:, 2, ::3], base.transpose(2, 0, 1)):
        y = tvm.nd.from_dlpack(x).numpy()
        assert y.flags.c_contiguous
        np.testing.assert_array_equal(y, x)


def test_numpy_of_a_view_with_an_offset():
    a = tvm.nd.array(np.arange(10, dtype="int32"))
    assert a._create_view((3,), None, 8).numpy().tolist() == [2, 3, 4]


# ---- copyfrom -----------------------------------------------------------------------------------


def test_copyfrom_returns_self():
    a = tvm.nd.empty((2,), "int32")
    assert a.copyfrom(np.array([1, 2], "int32")) is a
    assert a.copyfrom([3, 4]) is a
    assert a.copyfrom(tvm.nd.array(np.array([5, 6], "int32"))) is a
    assert a.numpy().tolist() == [5, 6]


@pytest.mark.parametrize("source", ["int64", "float64", "uint8", "bool", ">i2", "float16"])
@pytest.mark.parametrize("target", ["int32", "float32", "float64", "uint16", "int8"])
def test_copyfrom_converts_to_the_dtype_of_the_array(source, target):
    x = np.array([[0, 1, 2], [3, 4, 100]]).astype(source)
    a = tvm.nd.empty((2, 3), target).copyfrom(x)
    np.testing.assert_array_equal(a.numpy(), x.astype(target))
    assert a.dtype == target


def test_copyfrom_strided_into_strided():
    a, x = strided((3, 4))
    y = np.arange(12.0, dtype="float32").reshape(4, 3).T
    a.copyfrom(y)
    np.testing.assert_array_equal(x, y)
    a.copyfrom(np.broadcast_to(np.float32(7), (3, 4)))
    assert (x == 7).all()


@pytest.mark.parametrize("source", [np.zeros((3, 2), "float32"), np.zeros(6), [1.0], 1.0,
                                    np.zeros((2, 3, 1)), np.zeros(())])  # fmt: skip
def test_copyfrom_of_another_shape_names_both(source):
    a = tvm.nd.empty((2, 3))
    with pytest.raises(ValueError) as caught:
        a.copyfrom(source)
    assert isinstance(caught.value, tvm.TVMError)
    assert "(2, 3)" in str(caught.value) and str(np.shape(source)) in str(caught.value)


@pytest.mark.parametrize("source", [None, "abc", object(), {"a": 1}])
def test_copyfrom_of_what_is_no_array(source):
    with pytest.raises(TypeError):
        tvm.nd.empty((2,)).copyfrom(source)


def test_copyfrom_zero_dimensional():
    a = tvm.nd.empty((), "float64")
    for source in (np.float64(1.5), 1.5, np.array(1.5), tvm.nd.array(1.5)):
        a.copyfrom(np.array(0.0))
        assert a.copyfrom(source).numpy() == 1.5


# ---- copyto -------------------------------------------------------------------------------------


def test_copyto_array():
    a = tvm.nd.array(np.arange(6, dtype="float32").reshape(2, 3))
    b = tvm.nd.empty((2, 3))
    assert a.copyto(b) is b
    assert b.numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert a.copyto(a) is a and a.numpy().tolist() == [[0, 1, 2], [3, 4, 5]]


def test_copyto_needs_equal_bytes_only():
    a = tvm.nd.array(np.array([1, 2], "float32"))
    bits = tvm.nd.empty((1, 2), "uint32")
    assert a.copyto(bits).numpy().tolist() == [[0x3F800000, 0x40000000]]


def test_copyto_another_size_names_both():
    a, b = tvm.nd.empty((2, 3)), tvm.nd.empty((4,), "int8")
    with pytest.raises(ValueError) as caught:
        a.copyto(b)
    assert isinstance(caught.value, tvm.TVMError)
    for part in ("(2, 3)", "(4,)", "float32", "int8"):
        assert part in str(caught.value)


def test_copyto_device():
    a, x = strided()
    for device in (tvm.cpu(0), tvm.cpu(1)):
        b = a.copyto(device)
        assert b.device == device and b.strides is None and b != a
        np.testing.assert_array_equal(b.numpy(), x)
    assert a.copyto(target=tvm.cpu(0), mem_scope="global").shape == (2, 3)


@pytest.mark.parametrize("target", [np.zeros(2), "cpu", 1, None, [1, 2]])
def test_copyto_elsewhere(target):
    with pytest.raises(ValueError):
        tvm.nd.empty((2,)).copyto(target)


def test_copyto_between_overlapping_views():
    a = tvm.nd.array(np.arange(10, dtype="int32"))
    a._create_view((8,), None, 0).copyto(a._create_view((8,), None, 8))
    assert a.numpy().tolist() == [0, 1, 0, 1, 2, 3, 4, 5, 6, 7]


# ---- subscripts ---------------------------------------------------------------------------------


def test_set_all():
    a = tvm.nd.empty((2, 2), "float32")
    a[:] = np.array([[1, 2], [3, 4]])
    assert a.numpy().tolist() == [[1, 2], [3, 4]]
    b = tvm.nd.empty((2, 2), "float32")
    b[:] = a
    assert b.numpy().tolist() == [[1, 2], [3, 4]]
    c = tvm.nd.empty((), "float32")
    c[:] = np.float32(2.5)
    assert c.numpy() == 2.5


@pytest.mark.parametrize("key", [0, np.s_[1:], np.s_[:1], np.s_[::2], ..., (0, 0), None, "a", True])
def test_set_a_part(key):
    a = tvm.nd.empty((2,))
    with pytest.raises(ValueError, match="Array only support set from numpy array"):
        a[key] = np.zeros(2)


@pytest.mark.parametrize("value", [1, 2.5, [1, 2], (1, 2), None, "ab"])
def test_set_from_other_types(value):
    a = tvm.nd.empty((2,))
    with pytest.raises(TypeError):
        a[:] = value


def test_set_of_another_shape():
    a = tvm.nd.empty((2,))
    with pytest.raises(ValueError):
        a[:] = np.zeros(3)
    with pytest.raises(ValueError):
        a[:] = np.float32(1)
    with pytest.raises(ValueError):
        a[:] = tvm.nd.empty((3,))


@pytest.mark.parametrize("key", [0, np.s_[:], (0, 1), ...])
def test_reading_by_subscript(key):
    with pytest.raises(TypeError, match=r"\.numpy\(\)"):
        tvm.nd.empty((2, 2))[key]


def test_delete_by_subscript():
    a = tvm.nd.empty((2,))
    with pytest.raises(TypeError):
        del a[:]


# ---- views --------------------------------------------------------------------------------------


def test_view_shares_memory_and_keeps_it():
    a = tvm.nd.array(np.arange(6, dtype="int32"))
    v = a._create_view((2, 3))
    assert (v.shape, v.dtype, v.is_view) == ((2, 3), "int32", True)
    v[:] = np.array([[6, 5, 4], [3, 2, 1]])
    assert a.numpy().tolist() == [6, 5, 4, 3, 2, 1]
    del a
    assert v.numpy().tolist() == [[6, 5, 4], [3, 2, 1]]


def test_view_with_dtype_and_offset():
    a = tvm.nd.array(np.arange(8, dtype="uint8"))
    v = a._create_view((2,), "uint16", 2)
    assert v.byte_offset == 2 and v.numpy().tolist() == [0x0302, 0x0504]
    w = v._create_view(shape=(1,), dtype="uint8", relative_byte_offset=3)
    assert w.byte_offset == 5 and w.numpy().tolist() == [5]
    assert a._create_view((0,), None, 8).numpy().size == 0
    w[:] = np.array([200], "uint8")
    assert a.numpy()[5] == 200


@pytest.mark.parametrize(
    ("shape", "dtype", "offset"),
    [((7,), None, 0), ((6,), None, 1), ((4,), "float64", 0), ((1,), "int8", 24), ((0,), None, 25),
     ((1 << 61,), None, 0), ((1,), None, (1 << 63) - 1)],
)  # fmt: skip
def test_view_outside(shape, dtype, offset):
    a = tvm.nd.empty((6,), "int32")
    with pytest.raises(ValueError) as caught:
        a._create_view(shape, dtype, offset)
    assert isinstance(caught.value, tvm.TVMError)


def test_view_outside_names_the_sizes():
    with pytest.raises(ValueError) as caught:
        tvm.nd.empty((6,), "int32")._create_view((4,), "int32", 12)
    for part in ("12", "28", "16", "24"):  # the range asked for, its size, and the base's size
        assert part in str(caught.value)


@pytest.mark.parametrize("offset", [-1, 1 << 64, -(1 << 70)])
def test_view_with_a_senseless_offset(offset):
    with pytest.raises(ValueError):
        tvm.nd.empty((6,), "int8")._create_view((1,), None, offset)
    with pytest.raises(TypeError):
        tvm.nd.empty((6,), "int8")._create_view((1,), None, 1.5)


def test_view_of_an_array_with_gaps():
    a, _ = strided()
    with pytest.raises(ValueError, match="strides"):
        a._create_view((6,))


def test_view_of_compact_strides():
    x = np.arange(6.0).reshape(1, 6)[:, :6]
    assert tvm.nd.from_dlpack(x)._create_view((3, 2)).numpy().tolist() == [[0, 1], [2, 3], [4, 5]]


# ---- read-only ----------------------------------------------------------------------------------


def test_read_only_arrays_refuse_writes():
    a = read_only()
    assert a._read_only and a._create_view((3,))._read_only
    writes = (
        lambda: a.copyfrom(np.zeros(3)),
        lambda: a.copyfrom([0, 0, 0]),
        lambda: a.copyfrom(tvm.nd.array(np.zeros(3))),
        lambda: tvm.nd.array(np.zeros(3)).copyto(a),
        lambda: a.__setitem__(slice(None), np.zeros(3)),
        lambda: a._create_view((3,)).copyfrom(np.zeros(3)),
    )
    for write in writes:
        with pytest.raises(ValueError, match="read-only") as caught:
            write()
        assert isinstance(caught.value, tvm.TVMError)
    assert a.numpy().tolist() == [1, 2, 3]
    assert not tvm.nd.array(a)._read_only and not a.copyto(tvm.cpu())._read_only


# ---- size and threads ---------------------------------------------------------------------------


def test_large_arrays():
    x = np.arange(1 << 20, dtype="float64")
    a = tvm.nd.array(x)
    np.testing.assert_array_equal(a.numpy(), x)
    np.testing.assert_array_equal(tvm.nd.array(x[::-1]).numpy(), x[::-1])
    b = tvm.nd.empty(x.shape, "float64")
    a.copyto(b)
    np.testing.assert_array_equal(b.numpy(), x)
    b.copyfrom(x[::-1])
    np.testing.assert_array_equal(b.numpy(), x[::-1])


def test_large_copies_let_other_threads_run():
    a = tvm.nd.empty((1 << 25,), "uint8")
    x = np.ones(1 << 25, "uint8")
    steps = 0
    done = threading.Event()

    def count():
        nonlocal steps
        while not done.is_set():
            steps += 1
            time.sleep(0)  # gives the interpreter back at once

    interval = sys.getswitchinterval()
    sys.setswitchinterval(10)  # only a voluntary release lets the other thread run
    thread = threading.Thread(target=count)
    try:
        thread.start()
        before = steps
        for _ in range(20):
            a.copyfrom(x)
            if steps > before:
                break
    finally:
        sys.setswitchinterval(interval)
        done.set()
        thread.join()
    assert steps > before
    assert a.numpy()[-1] == 1


def test_many_threads_on_arrays_of_their_own():
    problems = []

    def work(seed):
        x = np.full((8, 8), seed, "float32")
        for _ in range(300):
            a = tvm.nd.array(x)
            b = tvm.nd.from_dlpack(x)
            if (a.numpy() != seed).any() or (b.numpy() != seed).any() or a.dtype != "float32":
                problems.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not problems


def test_reference_counts_stay():
    x = np.zeros((3, 3), "float32")
    a = tvm.nd.array(x)
    objects = (x, a, a.device, a.dtype)
    before = [sys.getrefcount(o) for o in objects]
    for _ in range(100):
        tvm.nd.array(x)
        tvm.nd.array(x, tvm.cpu(0))
        tvm.nd.from_dlpack(x)
        a.copyfrom(x)
        a.copyto(a)
        a.copyto(tvm.cpu(0))
        a.numpy()
        a._create_view((9,))
        assert (a.shape, a.dtype, a.device, a.strides) == ((3, 3), "float32", tvm.cpu(), None)
        for bad in (lambda: a.copyfrom(x[0]), lambda: a._create_view((10,)), lambda: a[0]):
            with pytest.raises((ValueError, TypeError)):
                bad()
    assert [sys.getrefcount(o) for o in objects] == before
