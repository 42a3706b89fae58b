"""Python functions that native code calls: what they receive, what the caller gets."""

import ctypes
import gc
import shutil
import subprocess
import threading
import weakref

import native_calls as c
import numpy as np
import pytest
import tvm
from tvm._ffi import _core


def received(*cells):
    """What a Python function gets for native cells, as the list of its arguments."""
    got = []
    f = _core.convert_function(lambda *args: got.extend(args))
    rc, _, _ = c.call(f, *cells)
    assert rc == 0, c.last_error()
    return got


def result(value):
    """What a native caller gets for a Python result: (tag, Value)."""
    f = _core.convert_function(lambda: value)
    rc, tag, cell = c.call(f)
    assert rc == 0, c.last_error()
    return tag, cell


def floats(*values):
    return (ctypes.c_float * len(values))(*values)


# ---- arguments ---------------------------------------------------------------------------------


def test_plain_cells():
    raw = ctypes.create_string_buffer(b"a\0b", 3)
    bytes_ = c.Bytes(ctypes.addressof(raw), 3)
    got = received(
        (c.INT, -7),
        (c.BOOL, 1),
        (c.BOOL, 0),
        (c.FLOAT, 0.5),
        (c.NULL, None),
        (c.STR, "grün".encode()),
        (c.BYTES, ctypes.addressof(bytes_)),
        (c.DEVICE, c.Device(2, 3)),
        (c.DTYPE, c.DType(2, 32, 4)),
    )
    assert got == [-7, True, False, 0.5, None, "grün", bytearray(b"a\0b"), tvm.cuda(3), "float32x4"]
    assert [type(v) for v in got[:4]] == [int, bool, bool, float]


def test_null_cells():
    tags = [c.HANDLE, c.TENSOR, c.OBJECT, c.MODULE, c.FUNCTION, c.STR, c.BYTES, c.NDARRAY]
    assert received(*((tag, None) for tag in tags)) == [None] * len(tags)


def test_text_that_is_no_utf8():
    (got,) = received((c.STR, b"\xff\xfe"))
    assert got.encode("utf-8", "surrogateescape") == b"\xff\xfe"


def test_unknown_tag():
    f = _core.convert_function(lambda *args: args)
    rc, _, _ = c.call(f, (c.INT, 1), (77, 1))
    assert rc == -2
    assert "argument 1" in c.last_error() and "77" in c.last_error()
    c.lib.TVMErrorClear()


def test_owned_things_are_shared():
    a = tvm.nd.array(np.arange(3, dtype="float32"))
    f = _core.convert_function(lambda: 5)
    module = _core.table_module("test", [], None, None)
    got = received(
        (c.NDARRAY, a._handle_address), (c.FUNCTION, f.handle), (c.MODULE, module.handle_value)
    )
    assert got[0] == a and got[1] is f and got[2] == module
    del a, f, module
    np.testing.assert_array_equal(got[0].numpy(), [0, 1, 2])
    assert got[1]() == 5


def test_object_cells_of_the_builtin_kinds():
    """Arrays (whose object is 16 bytes before), functions, modules may arrive as plain objects."""
    a = tvm.nd.empty((2,))
    f = _core.convert_function(len)
    module = _core.table_module("test", [], None, None)
    got = received(
        (c.OBJECT, a._handle_address - 16), (c.OBJECT, f.handle), (c.OBJECT, module.handle_value)
    )
    assert got == [a, f, module]
    slot = ctypes.c_void_p(f.handle)
    assert received((c.RVALUE, ctypes.addressof(slot))) == [f]


def test_native_shape_tuple():
    handle = ctypes.c_void_p()
    values = (ctypes.c_int64 * 3)(2, -1, 2**40)
    assert c.lib.TVMShapeTupleCreate(values, ctypes.c_int64(3), ctypes.byref(handle)) == 0
    (got,) = received((c.OBJECT, handle.value))
    c.lib.TVMObjectFree(handle)
    assert type(got) is tvm.runtime.ShapeTuple and tuple(got) == (2, -1, 2**40)


def test_foreign_holder_is_refused():
    """An object that another frontend made cannot be mistaken for one of ours."""
    drop = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda p: None)
    memory = ctypes.create_string_buffer(64)
    handle = ctypes.c_void_p()
    assert c.lib.TVMHolderCreate(memory, drop, ctypes.byref(handle)) == 0
    f = _core.convert_function(lambda x: x)
    rc, _, _ = c.call(f, (c.OBJECT, handle.value))
    assert rc == -2 and "cannot come to Python" in c.last_error()
    c.lib.TVMErrorClear()
    c.lib.TVMObjectFree(handle)


# ---- tensors of the caller ---------------------------------------------------------------------


def call_with_tensor(f, data, *args, **kwargs):
    t = c.tensor(data, *args, **kwargs)
    return c.call(_core.convert_function(f), (c.TENSOR, ctypes.addressof(t)))


def test_view_reads_and_writes_the_callers_memory():
    data = floats(1, 2, 3, 4)

    def f(a):
        assert a.shape == (2, 2) and a.dtype == "float32" and a.device == tvm.cpu(0)
        np.testing.assert_array_equal(a.numpy(), [[1, 2], [3, 4]])
        a.copyfrom(a.numpy() * 10)

    rc, tag, _ = call_with_tensor(f, data, (2, 2))
    assert (rc, tag) == (0, c.NULL)
    assert list(data) == [10, 20, 30, 40]


def test_strided_view_with_offset():
    data = floats(*range(12))
    seen = []
    rc, _, _ = call_with_tensor(
        lambda a: seen.append((a.strides, a.numpy().tolist())), data, (2, 3), strides=(6, 2),
        byte_offset=4,
    )  # fmt: skip
    assert rc == 0, c.last_error()
    assert seen == [((6, 2), [[1, 3, 5], [7, 9, 11]])]


def test_kept_view_gets_its_own_memory():
    data = floats(1, 2, 3, 4)
    kept = []
    assert call_with_tensor(kept.append, data, (2, 2))[0] == 0
    data[:] = [9, 9, 9, 9]
    np.testing.assert_array_equal(kept[0].numpy(), [[1, 2], [3, 4]])
    kept[0].copyfrom(np.zeros((2, 2), "float32"))
    assert list(data) == [9, 9, 9, 9]
    alias = _core.get_global_func("testing.echo")(kept[0])
    assert alias == kept[0]


def test_kept_strided_view_is_compact_afterwards():
    data = floats(*range(12))
    kept = []
    rc, _, _ = call_with_tensor(kept.append, data, (2, 3), strides=(6, 2), byte_offset=4)
    assert rc == 0
    data[:] = [0] * 12
    assert kept[0].strides is None and kept[0].byte_offset == 0
    np.testing.assert_array_equal(kept[0].numpy(), [[1, 3, 5], [7, 9, 11]])


@pytest.mark.parametrize("how", ["wrapper", "list", "result", "exception", "native"])
def test_every_way_to_keep_a_view(how):
    data = floats(5, 6)
    kept = []
    echo = _core.get_global_func("testing.echo")

    def f(a):
        if how == "wrapper":
            kept.append(echo(a))  # a second Python object over the same array
        elif how == "list":
            kept.append([{"x": a}])
        elif how == "result":
            return a
        elif how == "exception":
            raise ValueError(a)
        elif how == "native":
            _core.register_func("test_callbacks.keep", lambda: a)
        return None

    t = c.tensor(data, (2,))
    function = _core.convert_function(f)
    rc, tag, ret = c.call(function, (c.TENSOR, ctypes.addressof(t)))
    data[:] = [0, 0]
    if how == "exception":
        assert rc == -2
        handed_on = _core.convert_function(lambda: None)  # takes the payload out again
        with pytest.raises(ValueError) as caught, c.native_function(lambda *_: -2) as g:
            g()
        array = caught.value.args[0]
        del handed_on
    elif how == "result":
        assert (rc, tag) == (0, c.NDARRAY)
        (array,) = received((c.NDARRAY, ret.v_handle))
        c.lib.TVMArrayFree(ctypes.c_void_p(ret.v_handle))
    elif how == "native":
        array = _core.get_global_func("test_callbacks.keep")()
        _core.remove_global_func("test_callbacks.keep")
    else:
        array = kept[0] if how == "wrapper" else kept[0][0]["x"]
    np.testing.assert_array_equal(array.numpy(), [5, 6])


def test_view_that_nobody_keeps_dies_at_once():
    data = floats(1)
    died = []
    before = _core.stat(1)
    gc.disable()
    try:
        assert call_with_tensor(lambda a: died.append(weakref.ref(a)), data, (1,))[0] == 0
        assert died[0]() is None
    finally:
        gc.enable()
    assert _core.stat(1) == before


def test_view_without_elements_and_without_axes():
    assert call_with_tensor(lambda a: float(a.numpy()), floats(3), ())[2].v_float64 == 3
    t = c.tensor(floats(0), (0, 4))
    t.data = None
    kept = []
    f = _core.convert_function(kept.append)
    assert c.call(f, (c.TENSOR, ctypes.addressof(t)))[0] == 0
    assert kept[0].shape == (0, 4) and kept[0].numpy().shape == (0, 4)


# ---- results -----------------------------------------------------------------------------------


def test_plain_results():
    assert (result(5)[0], result(5)[1].v_int64) == (c.INT, 5)
    assert (result(True)[0], result(True)[1].v_int64) == (c.INT, 1)
    assert (result(np.int8(-4))[0], result(np.int8(-4))[1].v_int64) == (c.INT, -4)
    assert (result(0.5)[0], result(0.5)[1].v_float64) == (c.FLOAT, 0.5)
    assert result(None)[0] == c.NULL
    assert (result("text")[0], result("text")[1].v_str) == (c.STR, b"text")
    tag, cell = result(tvm.cuda(2))
    assert (tag, cell.v_device.device_type, cell.v_device.device_id) == (c.DEVICE, 2, 2)
    assert (result(np.dtype("int8"))[0], result(np.dtype("int8"))[1].v_str) == (c.STR, b"int8")
    assert result(ctypes.c_void_p(64))[1].v_handle == 64


@pytest.mark.parametrize("value", [b"a\0b", bytearray(b"xyz"), b""])
def test_bytes_results(value):
    tag, cell = result(value)
    assert tag == c.BYTES
    got = ctypes.cast(cell.v_handle, ctypes.POINTER(c.Bytes)).contents
    assert ctypes.string_at(got.data, got.size) == value


def test_owned_results_carry_a_reference():
    array = tvm.nd.array(np.arange(3, dtype="float32"))
    before = _core.stat(1)
    tag, cell = result(array)
    assert (tag, cell.v_handle) == (c.NDARRAY, array._handle_address)
    del array
    assert _core.stat(1) == before  # still alive
    c.lib.TVMArrayFree(ctypes.c_void_p(cell.v_handle))
    assert _core.stat(1) == before - 1

    class Thing:
        pass

    thing = Thing()
    died = weakref.ref(thing)
    tag, cell = result(thing)
    assert tag == c.OBJECT
    del thing
    gc.collect()
    assert died() is not None
    c.lib.TVMObjectFree(ctypes.c_void_p(cell.v_handle))
    assert died() is None


def test_numpy_result_owns_its_memory():
    died = []

    def make():
        x = np.arange(4, dtype="int16")
        died.append(weakref.ref(x))
        return x

    got = _core.convert_function(make)()
    np.testing.assert_array_equal(got.numpy(), [0, 1, 2, 3])
    tag, cell = c.call(_core.convert_function(make))[1:]
    assert tag == c.NDARRAY
    (array,) = received((c.NDARRAY, cell.v_handle))
    c.lib.TVMArrayFree(ctypes.c_void_p(cell.v_handle))
    np.testing.assert_array_equal(array.numpy(), [0, 1, 2, 3])
    assert died[1]() is not None
    del array, got
    assert died[0]() is None and died[1]() is None


def test_function_results_can_be_called_by_the_caller():
    tag, cell = result(lambda x: x + 1)
    assert tag == c.FUNCTION
    rc, tag, ret = c.call(cell.v_handle, (c.INT, 41))
    assert (rc, tag, ret.v_int64) == (0, c.INT, 42)
    c.lib.TVMFuncFree(ctypes.c_void_p(cell.v_handle))


def test_caller_that_wants_no_result():
    died = []

    class Thing:
        def __init__(self):
            died.append(weakref.ref(self))

    f = _core.convert_function(Thing)
    assert c.lib.TVMFuncCall(ctypes.c_void_p(f.handle), None, None, 0, None, None) == 0
    assert died[0]() is None


# ---- ways of calling ---------------------------------------------------------------------------


def test_many_arguments():
    got = received(*((c.INT, i) for i in range(50)))
    assert got == list(range(50))


def test_callback_that_unregisters_itself():
    name = "test_callbacks.once"

    def once():
        _core.remove_global_func(name)
        gc.collect()
        return "done"

    _core.register_func(name, once)
    del once
    assert _core.get_global_func(name)() == "done"
    assert _core.get_global_func(name) is None


def test_calls_from_foreign_threads():
    """Threads that Python has never seen call a Python function at the same time."""
    lock = threading.Lock()
    total = [0]
    idents = set()

    def add(n):
        with lock:
            total[0] += n
            idents.add(threading.get_ident())

    f = _core.convert_function(add)

    @c.TASK
    def run(task, env, data):
        # the barrier puts every task on a thread of its own
        c.lib.TVMBackendParallelBarrier(task, ctypes.c_void_p(env))
        for _ in range(100):
            if c.call(f, (c.INT, task))[0] != 0:
                return -1
        return 0

    assert c.lib.TVMBackendParallelLaunch(run, None, 4) == 0
    assert total[0] == 100 * (0 + 1 + 2 + 3)
    assert len(idents) == 4


PARALLEL_PLUGIN = """
#include <stddef.h>
typedef union { long long i; double d; void* p; } Value;
int TVMFuncCall(void*, Value*, int*, int, Value*, int*);
int TVMFuncCreateFromCFunc(int (*)(Value*, int*, int, void*, void*), void*, void*, void**);
int TVMBackendParallelLaunch(int (*)(int, void*, void*), void*, int);
int TVMBackendParallelBarrier(int, void*);
static int task(int id, void* env, void* callback) {
  Value arg, ret;
  int tag = 0, ret_tag;
  TVMBackendParallelBarrier(id, env);
  arg.i = id;
  return TVMFuncCall(callback, &arg, &tag, 1, &ret, &ret_tag);
}
static int run(Value* args, int* tags, int n, void* ret, void* self) {
  return TVMBackendParallelLaunch(task, args[0].p, 4);
}
int make(void** out) { return TVMFuncCreateFromCFunc(run, NULL, NULL, out); }
"""


def test_c_function_whose_threads_call_back(tmp_path):
    """The caller's GIL must be free while a C function waits for threads that need it."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    source, library = tmp_path / "plugin.c", tmp_path / "plugin.so"
    source.write_text(PARALLEL_PLUGIN)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    handle = ctypes.c_void_p()
    assert ctypes.CDLL(str(library)).make(ctypes.byref(handle)) == 0
    (f,) = received((c.FUNCTION, handle.value))
    c.lib.TVMFuncFree(handle)
    seen = []
    f(seen.append)
    assert sorted(seen) == [0, 1, 2, 3]


def test_eight_python_threads():
    echo = _core.get_global_func("testing.echo")
    twice = _core.convert_function(lambda x: x * 2)
    wrong = []

    def work(i):
        a = tvm.nd.array(np.full(8, i, "float32"))
        for n in range(300):
            if twice(n) != 2 * n or echo(a) != a or list(echo([n, "x"])) != [n, "x"]:
                wrong.append(i)  # noqa: PERF401

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_back_and_forth():
    """Native and Python frames in turn, to a depth that a small stack must stand."""
    inner = {}

    def down(n):
        return n if n == 0 else 1 + inner["f"](n - 1)

    python = _core.convert_function(down)

    def body(values, tags, n, ret):
        rc, tag, value = c.call(python, (tags[0], values[0].v_int64))
        if rc == 0:
            c.set_return(ret, tag, value.v_int64)
        return rc

    with c.native_function(body) as f:
        inner["f"] = f
        assert python(60) == 60
        del inner["f"]


# ---- calls that C programs get wrong ------------------------------------------------------------


def test_moved_references_that_are_null():
    with c.native_function(lambda values, tags, n, ret: c.set_return(ret, c.RVALUE, None)) as f:
        assert f() is None
    value, code = c.Value(), ctypes.c_int(c.RVALUE)
    assert c.lib.TVMCbArgToReturn(ctypes.byref(value), ctypes.byref(code)) == 0
    assert value.v_handle is None


def test_a_negative_number_of_arguments():
    f = _core.convert_function(lambda: None)
    assert c.lib.TVMFuncCall(ctypes.c_void_p(f.handle), None, None, -1, None, None) != 0
    assert "called with -1 arguments" in c.last_error()
    c.lib.TVMErrorClear()
