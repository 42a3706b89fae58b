"""Errors in both directions across the border."""

import ctypes
import gc
import threading
import traceback
import weakref

import native_calls as c
import numpy as np
import pytest
import tvm
from tvm._ffi import _core


class Strange(Exception):
    """Cannot be made from one text."""

    def __init__(self, code, detail):
        super().__init__(code, detail)
        self.code = code


def raise_(exc):
    raise exc


def forwarding(handle):
    """A native body that calls another function and hands its failure on."""

    def body(values, tags, n, ret):
        got, code = c.Value(), ctypes.c_int()
        return c.lib.TVMFuncCall(
            ctypes.c_void_p(handle), values, tags, n, ctypes.byref(got), ctypes.byref(code)
        )

    return body


@pytest.fixture(params=["python", "native"])
def through(request):
    """Calls a Python callable as a function, directly or with native code in between."""

    def call(callable_, *args):
        inner = _core.convert_function(callable_)
        if request.param == "python":
            return inner(*args)
        with c.native_function(forwarding(inner.handle)) as outer:
            return outer(*args)

    return call


@pytest.mark.parametrize(
    "exc",
    [
        ValueError("text", 3),
        KeyError("k"),
        Strange(1, "d"),
        tvm.TVMError("ours"),
        KeyboardInterrupt(),
        SystemExit(3),
        StopIteration(1),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
        BaseException("bare"),
    ],
    ids=lambda e: type(e).__name__,
)
def test_python_exception_arrives_as_itself(through, exc):
    with pytest.raises(BaseException) as caught:
        through(lambda: raise_(exc))
    assert caught.value is exc


def test_traceback_shows_both_sides(through):
    def inner_most():
        raise ValueError("here")

    def middle():
        inner_most()

    try:
        through(middle)
    except ValueError as e:
        names = [frame.name for frame in traceback.extract_tb(e.__traceback__)]
    assert names[0] == "test_traceback_shows_both_sides"
    assert names[-2:] == ["middle", "inner_most"]


def test_cause_and_notes_survive(through):
    def chained():
        try:
            raise KeyError("first")
        except KeyError as e:
            raise RuntimeError("second") from e

    with pytest.raises(RuntimeError, match="second") as caught:
        through(chained)
    assert isinstance(caught.value.__cause__, KeyError)


def test_many_layers(through):
    def down(n):
        if n == 0:
            raise Strange(7, "deep")
        return through(down, n - 1)

    with pytest.raises(Strange) as caught:
        through(down, 20)
    assert caught.value.code == 7


def test_exceptions_are_not_kept(through):
    class Thing:
        pass

    def fail(thing):
        raise ValueError(thing)

    for _ in range(3):
        thing = Thing()
        died = weakref.ref(thing)
        try:
            through(fail, thing)
        except ValueError as e:
            assert e.args[0] is thing
        del thing
        gc.collect()
        assert died() is None


def swallow_an_error():
    """A native function ignores the failure of a callback: a weak reference to the exception."""
    exc = Strange(1, "swallowed")
    inner = _core.convert_function(lambda: raise_(exc))

    def swallow(values, tags, n, ret):
        assert c.call(inner)[0] == -2
        return 0

    with c.native_function(swallow) as f:
        assert f() is None
    return weakref.ref(exc)


def test_swallowed_error_does_not_leak_into_the_next():
    def fail(values, tags, n, ret):
        c.lib.TVMAPISetLastError(b"ValueError: another one")
        return -1

    died = swallow_an_error()
    with c.native_function(fail) as g, pytest.raises(ValueError, match="another one") as caught:
        g()
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    c._kept.clear()
    gc.collect()
    assert died() is None


@pytest.mark.parametrize(
    "text, kind, message",
    [
        ("ValueError: v", ValueError, "v"),
        ("TypeError: t: more", TypeError, "t: more"),
        ("AttributeError: a", AttributeError, "a"),
        ("IndexError: i", IndexError, "i"),
        ("OverflowError: o", OverflowError, "o"),
        ("MemoryError: m", MemoryError, "m"),
        ("InternalError: bug", tvm.error.InternalError, "bug"),
        ("plain text", tvm.TVMError, "plain text"),
        ("no class: here", tvm.TVMError, "no class: here"),
        ("Unheard0fError: x", tvm.TVMError, "Unheard0fError: x"),
        ("", tvm.TVMError, ""),
    ],
)
def test_native_errors_have_their_class(text, kind, message):
    def fail(values, tags, n, ret):
        c.lib.TVMAPISetLastError(text.encode())
        return -1

    with c.native_function(fail) as f, pytest.raises(kind) as caught:
        f()
    assert isinstance(caught.value, tvm.TVMError)
    assert str(caught.value).startswith(message)


def test_native_error_that_is_no_utf8():
    def fail(values, tags, n, ret):
        c.lib.TVMAPISetLastError(b"broken \xff text")
        return -1

    with c.native_function(fail) as f, pytest.raises(tvm.TVMError, match="broken . text"):
        f()


def test_native_failure_without_a_reason():
    def fail(values, tags, n, ret):
        c.lib.TVMErrorClear()
        return -1

    # the function is not ours, so neither is the bug
    with c.native_function(fail) as f, pytest.raises(tvm.TVMError, match="set no error") as caught:
        f()
    assert not isinstance(caught.value, tvm.error.InternalError)


def test_registered_class():
    @tvm.error.register_error
    class TestErrorsQuota(tvm.TVMError):
        pass

    def fail(values, tags, n, ret):
        c.lib.TVMErrorSet(b"TestErrorsQuota", b"over", b"")
        return -1

    with c.native_function(fail) as f, pytest.raises(TestErrorsQuota, match="over"):
        f()


@pytest.mark.parametrize(
    "exc, text",
    [
        (ValueError("v"), "ValueError: v"),
        (tvm.error.TypeError_("t"), "TypeError: t"),
        (Strange(1, "d"), "Strange: (1, 'd')"),
        (tvm.TVMError("ours"), "ours"),
        (KeyboardInterrupt(), "KeyboardInterrupt: "),
        (ValueError("sur\udc80"), "ValueError: sur\\udc80"),
    ],
)
def test_c_callers_see_kind_and_message(exc, text):
    f = _core.convert_function(lambda: raise_(exc))
    rc, tag, _ = c.call(f)
    assert rc == -2 and tag == c.NULL
    assert c.last_error() == text
    c.lib.TVMErrorClear()


def test_exception_whose_text_fails():
    class Mean(Exception):
        def __str__(self):
            raise RuntimeError("no text")

    f = _core.convert_function(lambda: raise_(Mean()))
    assert c.call(f)[0] == -2
    assert c.last_error() == "Mean: "
    c.lib.TVMErrorClear()


def test_result_that_cannot_cross(through):
    with pytest.raises(OverflowError, match="100 bits"):
        through(lambda: 2**99)
    loop = []
    loop.append(loop)
    with pytest.raises(RecursionError):
        through(lambda: loop)


def test_error_names_the_argument():
    f = _core.convert_function(len)
    with pytest.raises(OverflowError, match="len: argument 1: "):
        f(1, 2**64)


def test_tensor_that_cannot_cross(through):
    for x in (np.array([None]), np.array(["a"]), np.array([1 + 2j]), np.zeros(2, [("a", "i4")])):
        with pytest.raises(TypeError, match="argument 0: a numpy array of dtype") as caught:
            _core.get_global_func("testing.echo")(x)
        assert isinstance(caught.value, tvm.TVMError)
        with pytest.raises(TypeError, match="a numpy array of dtype"):
            through(lambda x=x: x)


def test_error_of_a_users_conversion_stays_as_it_is():
    class Bad:
        def __index__(self):
            raise Strange(5, "index")

    with pytest.raises(Strange) as caught:
        _core.convert_function(len)(Bad())
    assert caught.value.code == 5


def test_error_in_a_worker_reaches_the_launcher():
    """An exception in a callback on a pool thread comes out of the launch as itself."""
    threads = []

    def work(task):
        threads.append(threading.get_ident())
        if task == 2:
            raise Strange(task, "worker")

    inner = _core.convert_function(work)

    @c.TASK
    def run(task, env, data):
        # the barrier puts every task on a thread of its own
        c.lib.TVMBackendParallelBarrier(task, ctypes.c_void_p(env))
        return c.call(inner, (c.INT, task))[0]

    def launch(values, tags, n, ret):
        return c.lib.TVMBackendParallelLaunch(run, None, 4)

    with c.native_function(launch) as f:
        for _ in range(20):
            with pytest.raises(Strange) as caught:
                f()
            assert caught.value.code == 2
    assert len(set(threads)) >= 4


def test_pending_exception_survives_a_drop():
    """Functions that die while an exception is on its way must not lose it."""

    class Noisy:
        def __del__(self):
            try:
                raise ValueError("inside __del__")
            except ValueError:
                pass

        def __call__(self):
            return 1

    echo = _core.get_global_func("testing.echo")
    with pytest.raises(OverflowError):
        echo(Noisy(), 2**70)
    with pytest.raises(OverflowError):
        echo([Noisy()], 2**70)


def test_recursion_through_functions():
    @_core.convert_function
    def forever(n):
        return forever(n + 1)

    with pytest.raises(RecursionError):
        forever(0)


def test_missing_hooks_say_so():
    import subprocess
    import sys

    code = (
        "import importlib.util, sys, glob, os\n"
        "spec = importlib.util.spec_from_file_location('_core', sys.argv[1])\n"
        "core = importlib.util.module_from_spec(spec); spec.loader.exec_module(core)\n"
        "f = core.convert_function(lambda *a: a)\n"
        "assert f([1, 'a'], {2: 3}) == ((1, 'a'), {2: 3})\n"
        "try: core.get_global_func('testing.echo')(2**70)\n"
        "except OverflowError: pass\n"
        "try: core.array([1])\n"
        "except RuntimeError as e: assert 'array_slow' in str(e), e\n"
        "else: raise AssertionError\n"
    )
    subprocess.run([sys.executable, "-c", code, _core.__file__], check=True, timeout=60)
