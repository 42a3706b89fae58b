"""Objects that lie, text that is no C string, recursion, threads at the end: nothing crashes."""

import os
import subprocess
import sys
import textwrap
import threading

import native_calls as c
import numpy as np
import pytest
import tvm
from tvm._ffi import _core

echo = _core.get_global_func("testing.echo")
nop = _core.get_global_func("testing.nop")


def run_alone(program, timeout=60):
    """Run a program in a process of its own; its output. Fails when it dies."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, f"ended with {done.returncode}: {done.stderr[-2000:]}"
    return done.stdout


# ---- text --------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["hostile.known\0tail", "hostile.\ud800"])
def test_names_that_are_no_c_strings(text):
    tvm.register_func("hostile.known", lambda: 1, override=True)
    module = _core.table_module("test", [], None, None)
    for call in (
        lambda: tvm.get_global_func(text),
        lambda: tvm.register_func(text, lambda: 2),
        lambda: _core.remove_global_func(text),
        lambda: module[text],
        lambda: module.get_function(text),
        lambda: _core.table_module(text, []),
        lambda: _core.table_module("test", [], text),
        lambda: _core.load_module("x.so", text),
        lambda: tvm.nd.empty((2,), mem_scope="global" + text[-5:]),
    ):
        with pytest.raises(ValueError, match=r"NUL|surrogate") as info:
            call()
        assert isinstance(info.value, tvm.TVMError)
    assert tvm.get_global_func("hostile.known")() == 1


def test_wrong_arguments_of_builtins_are_our_errors():
    module = _core.table_module("test", [], None, None)
    for call in (
        lambda: tvm.runtime.Device(),
        lambda: tvm.runtime.Device(1, 2, 3),
        lambda: tvm.runtime.Device(1, bogus=3),
        lambda: module.get_function(),
        lambda: module.get_function(5),
        lambda: _core.get_global_func(5),
        lambda: _core.load_module(5),
        lambda: tvm.runtime.load_module(5),
        lambda: tvm.runtime.load_module(None),
        lambda: _core.table_module("test", [("name", "address", b"")]),
        lambda: _core.table_module("test", [(1, 2, b"")]),
        lambda: _core.device_attr("cpu", 0, 0),
    ):
        with pytest.raises(TypeError) as info:
            call()
        if "table_module" not in str(call.__code__.co_names):
            assert isinstance(info.value, tvm.TVMError), info.value


class Interrupting:
    def __index__(self):
        raise KeyboardInterrupt


def test_interrupts_in_index_are_not_replaced():
    array = tvm.nd.empty((4,))
    for call in (
        lambda: array._create_view((1,), None, Interrupting()),
        lambda: _core.make_device(1, Interrupting()),
        lambda: tvm.nd.empty((Interrupting(),)),
    ):
        with pytest.raises(KeyboardInterrupt):
            call()


# ---- containers --------------------------------------------------------------------------------


@pytest.mark.parametrize("items", [[1, 2], [(1,)], [(1, 2, 3)], [None]])
def test_dicts_whose_items_are_no_pairs(items):
    class Lying(dict):
        def items(self):
            return items

    for function in (echo, _core.convert_function(lambda x: x)):
        with pytest.raises(tvm.TVMError, match="not a pair"):
            function(Lying(a=1))


@pytest.mark.parametrize("shape", [{2, 3}, {2: 3}, frozenset(), {}])
def test_what_has_no_order_is_no_shape(shape):
    with pytest.raises(TypeError, match="sequence of ints"):
        tvm.nd.empty(shape)


# ---- recursion ---------------------------------------------------------------------------------


def test_recursion_stops_before_the_stack_ends():
    out = run_alone(
        """
        import sys, threading, tvm
        sys.setrecursionlimit(10**6)
        wrap = tvm.get_global_func("testing.test_wrap_callback")
        echo = tvm.get_global_func("testing.echo")
        def again():
            return through_native()
        through_native = wrap(tvm.runtime.convert(again))
        straight = tvm.runtime.convert(lambda x: straight(x + 1))
        deep = [1]
        for _ in range(10**5):
            deep = [deep]
        def attack():
            for call in (through_native, lambda: straight(0), lambda: echo(deep)):
                try:
                    call()
                except RecursionError as error:
                    print("stack" in str(error))
        attack()
        threading.stack_size(1 << 20)
        thread = threading.Thread(target=attack)
        thread.start()
        thread.join()
        """
    )
    assert out.split() == ["True"] * 6


def test_chains_of_functions_are_freed_without_recursion():
    run_alone(
        """
        import functools, tvm
        class Link:
            def __init__(self, next): self.next = next
            def method(self): pass
        for make in (lambda f: functools.partial(f, 1), lambda f: Link(f).method):
            f = tvm.runtime.convert(len)
            for _ in range(200000):
                f = tvm.runtime.convert(make(f))
            del f
        assert tvm._ffi._core.stat(3) < 1000
        """
    )


def test_long_and_deep_sources_are_told_in_short():
    deep = [1]
    for _ in range(100000):
        deep = [deep]
    for source in ([object()] * 1000000, deep, [["x"] * 1000] * 1000):
        with pytest.raises(tvm.TVMError) as info:
            tvm.nd.array(source)
        assert len(str(info.value)) < 1000


# ---- arrays that NumPy cannot show --------------------------------------------------------------


def test_every_array_prints():
    many_axes = tvm.nd.empty((1,) * 65)
    assert "65 axes" in repr(many_axes) and "65 axes" in str(many_axes)
    with pytest.raises(tvm.TVMError, match="65 axes"):
        many_axes.numpy()
    handles = tvm.nd.empty((2,), "handle")
    assert repr(handles).startswith("<tvm.nd.NDArray shape=(2,), cpu(0)>\n(")


# ---- arguments that change while the call is prepared ------------------------------------------


class Meddling:
    """A tensor whose conversion runs code first."""

    def __init__(self, action):
        self.action = action

    def __dlpack__(self, **options):
        self.action()
        return tvm.nd.array(np.ones(1, "float32")).__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)


def test_arrays_that_are_moved_while_the_call_is_prepared():
    seen = []

    def body(values, tags, n, ret):
        tensor = c.Tensor.from_address(values[0].v_handle)
        seen.append((tensor.data, tensor.shape[: tensor.ndim]))

    with c.native_function(body) as f:
        x = np.zeros(4, "float32")
        f(x, Meddling(lambda: x.resize((1 << 20,), refcheck=False)))
        assert seen.pop() == (x.ctypes.data, [1 << 20])
        x = np.zeros((4, 2), "float32")
        f(x, Meddling(lambda: setattr(x, "shape", (8,))))
        assert seen.pop() == (x.ctypes.data, [8])
        x = np.zeros(4, "float32")
        f(x, Meddling(lambda: x.setflags(write=False)))
        assert seen.pop() == (x.ctypes.data, [4])


def test_a_reshape_during_the_call_is_not_seen():
    x = np.ones((8, 8), "float32")
    stop = threading.Event()

    def reshape():
        while not stop.is_set():
            x.shape = (64,)
            x.shape = (8, 8)

    thread = threading.Thread(target=reshape)
    thread.start()
    try:
        for _ in range(2000):
            assert echo(x).shape in ((64,), (8, 8))
            assert tvm.nd.array(x.T).shape in ((64,), (8, 8))
    finally:
        stop.set()
        thread.join()


# ---- the end -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "work",
    [
        "a.copyto(b)",
        "a.numpy()",
        "tvm.nd.array(x)",
        "b.copyfrom(x)",
        "tvm.cpu(0).sync()",
        "tvm.cpu(0).device_name",
        "c()",
    ],
)
def test_daemon_threads_at_exit(work):
    run_alone(
        f"""
        import threading, time
        import numpy as np, tvm
        x = np.zeros(1 << 20, "float32")
        a, b = tvm.nd.empty(x.shape), tvm.nd.empty(x.shape)
        c = tvm.get_global_func("testing.test_wrap_callback")(tvm.runtime.convert(lambda: 1))
        def loop():
            while True:
                {work}
        for _ in range(4):
            threading.Thread(target=loop, daemon=True).start()
        time.sleep(0.1)
        """
    )


@pytest.mark.parametrize("number", ["100000", "2147483647"])
def test_more_threads_than_there_can_be(number):
    out = run_alone(
        f"""
        import ctypes, os
        os.environ["TVM_NUM_THREADS"] = "{number}"
        import tvm
        lib = ctypes.CDLL(None)
        count = []
        body = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(
            lambda task, env, data: count.append(task) or 0
        )
        assert lib.TVMBackendParallelLaunch(body, None, 0) == 0
        assert sorted(count) == list(range(tvm.runtime.num_threads()))
        print(len(count))
        """
    )
    assert int(out) == 1024


@pytest.mark.skipif(
    bool(os.environ.get("TVM_TEST_SANITIZED")),
    reason="a sanitizer needs more memory than the test leaves",
)
def test_results_that_are_too_long_for_the_memory():
    out = run_alone(
        """
        import resource, tvm
        echo = tvm.get_global_func("testing.echo")
        wrap = tvm.get_global_func("testing.test_wrap_callback")
        def fail(text):
            raise ValueError(text)
        def attempt(call):
            try:
                call()
            except (MemoryError, ValueError) as error:
                print(type(error).__name__)
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
        size = 700 << 20
        attempt(wrap(tvm.runtime.convert(lambda: "x" * size)))
        attempt(wrap(tvm.runtime.convert(lambda: b"x" * size)))
        attempt(wrap(tvm.runtime.convert(lambda: fail("x" * size))))
        attempt(lambda: echo([0] * (size // 8)))
        print("alive", echo("x"))
        """
    )
    assert out.split()[-2:] == ["alive", "x"]
    assert set(out.split()[:-2]) <= {"MemoryError", "ValueError"}
