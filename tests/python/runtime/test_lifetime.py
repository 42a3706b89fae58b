"""Who keeps what alive: weakrefs, cycles, threads, the end of the process."""

import ctypes
import gc
import shutil
import subprocess
import sys
import textwrap
import threading
import weakref

import native_calls as c
import numpy as np
import pytest
import tvm
from tvm._ffi import _core


class Thing:
    """Something whose end can be watched."""


@pytest.fixture
def no_collector():
    """Reference counts alone decide."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def closure_over(thing):
    return lambda *args: (thing, args)


def test_function_dies_with_its_last_reference(no_collector):
    thing = Thing()
    died = weakref.ref(thing)
    before = _core.stat(3)
    f = _core.convert_function(closure_over(thing))
    same = _core.convert_function(f)
    assert _core.stat(3) == before + 1
    del thing, f
    assert died() is not None and same(1)[1] == (1,)
    del same
    assert died() is None and _core.stat(3) == before


def test_arguments_and_results_are_not_kept(no_collector):
    echo = _core.get_global_func("testing.echo")
    python = _core.convert_function(lambda x: x)
    for f in (echo, python):
        for make in (
            Thing,
            lambda: closure_over(Thing()),
            lambda: [Thing()],
            lambda: {"a": Thing()},
        ):
            before = _core.stat(0), _core.stat(3)
            thing = make()
            got = f(thing)
            again = f(got)
            del got, again, thing
            assert (_core.stat(0), _core.stat(3)) == before


def test_weakrefs():
    f = _core.convert_function(lambda: 1)
    module = _core.table_module("test", [], None, None)
    called = []
    refs = [weakref.ref(f, called.append), weakref.ref(module, called.append)]
    assert refs[0]() is f and refs[1]() is module
    del f, module
    assert len(called) == 2 and refs[0]() is None


def make_cycle():
    """A callback that refers to the function over it, and to a thing: (function, weakref)."""
    thing = Thing()
    cell = []

    def callback():
        return "alive" if cell and thing else "cleared"

    cell.append(_core.convert_function(callback))
    return cell[0], weakref.ref(thing)


def test_cycle_of_callback_and_function_is_collected():
    gc.collect()
    before = _core.stat(3)
    f, died = make_cycle()
    gc.collect()
    assert f() == "alive" and _core.stat(3) == before + 1
    del f
    assert died() is not None
    gc.collect()
    assert died() is None and _core.stat(3) == before


def test_cycle_through_an_attribute_of_a_subclass():
    class Mine(tvm.runtime.PackedFunc):
        pass

    f = Mine(lambda: None)
    f.me = f
    died = weakref.ref(f)
    del f
    gc.collect()
    assert died() is None


def test_cycle_held_by_native_code_survives():
    """The table of global functions is a root, even when the callback refers to its wrapper."""
    name = "test_lifetime.rooted"
    f, died = make_cycle()
    _core.register_func(name, f)
    del f
    gc.collect()
    assert died() is not None and _core.get_global_func(name)() == "alive"
    gc.collect()
    assert _core.get_global_func(name)() == "alive"
    _core.remove_global_func(name)
    gc.collect()
    assert died() is None


def test_function_called_by_a_finalizer_of_its_own_cycle():
    """Finalizers run before anything is cleared."""
    seen = []

    class Last:
        def __del__(self):
            seen.append(self.f())

    def make():
        last = Last()
        last.f = _core.convert_function(lambda: last is not None)

    make()
    gc.collect()
    assert seen == [True]


def test_function_called_after_the_collector_cleared_it():
    """A weakref callback may see a half-cleared cycle: an error, not a crash."""
    seen = []
    echo = _core.get_global_func("testing.echo")

    class Loop:
        def __call__(self):
            return 1

        def __del__(self):
            # runs when the cycle is taken apart: the function's callable is this object
            seen.append(echo(self.f) is not None)

    loop = Loop()
    loop.f = _core.convert_function(loop)
    del loop
    gc.collect()
    assert seen == [True]


def test_holder_of_a_module_lives_as_long_as_its_functions(no_collector):
    holder = Thing()
    holder.body = c.BODY(lambda slots: 0)
    died = weakref.ref(holder)
    blob = bytes.fromhex("54415431 0100 0000 00000000 00000000 0100") + b"f"
    address = ctypes.cast(holder.body, ctypes.c_void_p).value
    module = _core.table_module("test", [("f", address, blob)], "f", holder)
    f = module["f"]
    module()
    del holder, module
    assert died() is not None and f() is None
    del f
    assert died() is None


def test_dropped_on_another_python_thread():
    thing = Thing()
    died = weakref.ref(thing)
    box = [_core.convert_function(closure_over(thing))]
    del thing
    thread = threading.Thread(target=box.clear)
    thread.start()
    thread.join()
    assert died() is None


@pytest.mark.parametrize("kind", ["function", "object", "container"])
def test_dropped_by_threads_without_the_gil(kind):
    """Native threads let go of the last references while Python runs."""
    things = [Thing() for _ in range(64)]
    died = [weakref.ref(t) for t in things]
    keep = _core.convert_function(lambda x: x)
    handles = []
    for t in things:
        value = {"function": closure_over(t), "object": t, "container": [t]}[kind]
        f = _core.convert_function(lambda value=value: value)
        rc, tag, cell = c.call(f)
        assert rc == 0
        handles.append(cell.v_handle)
        del f, value
    del things, t, keep

    @c.TASK
    def run(task, env, data):
        for handle in handles[task * 16 : task * 16 + 16]:
            c.lib.TVMObjectFree(ctypes.c_void_p(handle))
        return 0

    assert c.lib.TVMBackendParallelLaunch(run, None, 4) == 0
    gc.collect()
    assert [d() for d in died] == [None] * 64


def test_identity_of_wrappers_under_threads():
    """Wrappers of one function come and go on many threads."""
    name = "test_lifetime.hammer"
    _core.register_func(name, lambda x: x + 1)
    wrong = []

    def work():
        for i in range(2000):
            f = _core.get_global_func(name)
            if f(i) != i + 1:
                wrong.append(i)
            del f

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    _core.remove_global_func(name)
    assert not wrong


def test_counters_are_flat():
    echo = _core.get_global_func("testing.echo")
    python = _core.convert_function(lambda *xs: xs[0])

    def fail(*args):
        raise ValueError

    bad = _core.convert_function(fail)
    x = np.ones(3, "float32")

    def round_trip():
        for f in (echo, python):
            f([1, (2, {"a": x})])
            f(lambda: 1)
            f(x)
            f(b"bytes")
            f(tvm.runtime.ShapeTuple([1, 2]))
        for args in ((x,), ([1],), (2**70,)):
            with pytest.raises((ValueError, OverflowError)):
                bad(*args)

    round_trip()
    gc.collect()
    before = [_core.stat(i) for i in range(4)]
    for _ in range(200):
        round_trip()
    gc.collect()
    assert [_core.stat(i) for i in range(4)] == before


def test_type_references_are_balanced():
    f = _core.convert_function(len)
    module = _core.table_module("test", [], None, None)
    types = [type(f), type(module)]
    before = [sys.getrefcount(t) for t in types]
    for _ in range(100):
        _core.convert_function(lambda: 1)
        _core.table_module("test", [], None, None)
    assert [sys.getrefcount(t) for t in types] == before


# ---- the end of the process --------------------------------------------------------------------

PREAMBLE = """
import sys, os, gc, threading, atexit, time, ctypes
sys.path.insert(0, sys.argv[1])
import tvm
import native_calls as c
from tvm._ffi import _core
"""


def run(code, timeout=120):
    """Run a script in a fresh process; it must end by itself, with code 0 and nothing on stderr."""
    here = str(__import__("pathlib").Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", PREAMBLE + textwrap.dedent(code), here],
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[-3000:]
    return done.stdout


def test_exit_with_functions_everywhere():
    out = run("""
        class Loud:
            def __init__(self, name): self.name = name
            def __call__(self): return self.name
            def __del__(self): print("del", self.name)
        keep = _core.convert_function(Loud("module global"))
        _core.register_func("exit.registered", Loud("registered"))
        cycle = []
        cycle.append(_core.convert_function(lambda: cycle))
        array = tvm.nd.array([1.0, 2.0])
        holder = _core.get_global_func("testing.echo")([Loud("in a container")])
        builtin_list = sys.modules; builtin_list["x.keep"] = keep
        print("end")
    """)
    assert out.splitlines()[0] == "end"


def test_exit_with_calls_in_atexit_and_del():
    out = run("""
        f = _core.convert_function(lambda: "called")
        atexit.register(lambda: print(f()))
        class Late:
            def __init__(self): self.f = f
            def __del__(self): print("late", self.f())
        late = Late()
    """)
    assert out.splitlines() == ["called", "late called"]


def test_exit_while_daemon_threads_call():
    run("""
        echo = _core.get_global_func("testing.echo")
        f = _core.convert_function(lambda x: [x])
        def work():
            while True:
                f([1, 2]); echo(lambda: 1); echo(object())
        for _ in range(4): threading.Thread(target=work, daemon=True).start()
        time.sleep(0.2)
    """)


def test_exit_while_daemon_threads_run_python_below_native_code():
    """The interpreter ends these threads inside a callback, and inside a finalizer."""
    run("""
        def spin():
            until = time.perf_counter() + 0.002
            while time.perf_counter() < until: pass
        class Slow:
            def __del__(self): spin()
        echo = _core.get_global_func("testing.echo")
        wrapped = _core.get_global_func("testing.test_wrap_callback")(spin)
        def call():
            while True: wrapped()
        def drop():
            while True: echo([Slow()])
        for work in (call, drop) * 2: threading.Thread(target=work, daemon=True).start()
        time.sleep(0.1)
    """)


def test_exit_while_native_threads_hold_python_objects():
    """Pool threads with Python references, and an error nobody fetched, outlive the interpreter."""
    run("""
        def fail(task): raise ValueError(object())
        f = _core.convert_function(fail)
        def run(task, env, data):
            c.call(f, (c.INT, task))
            return 0
        task = c.TASK(run)
        c._kept.append(task)
        assert c.lib.TVMBackendParallelLaunch(task, None, 4) == 0
        c.call(f, (c.INT, 0))
    """)


LATE_CALL = """
#include <stdio.h>
#include <stdlib.h>
int TVMFuncCall(void*, void*, int*, int, void*, int*);
const char* TVMGetLastError(void);
int TVMObjectFree(void*);
static void* function;
static void run(void) {
  long long value;
  int tag;
  int rc = TVMFuncCall(function, NULL, NULL, 0, &value, &tag);
  printf("%d %s\\n", rc, TVMGetLastError());
  fflush(stdout);
  TVMObjectFree(function);
}
void call_late(void* f) {
  function = f;
  atexit(run);
}
"""


def test_call_after_the_interpreter_has_ended(tmp_path):
    """A C program's exit handler calls a Python function: an error comes back, no crash."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    source, library = tmp_path / "late.c", tmp_path / "late.so"
    source.write_text(LATE_CALL)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    out = run(f"""
        f = _core.convert_function(lambda: 1)
        c.lib.TVMObjectRetain(ctypes.c_void_p(f.handle))
        ctypes.CDLL({str(library)!r}).call_late(ctypes.c_void_p(f.handle))
        print(f(), flush=True)
    """)
    assert out.splitlines() == [
        "1",
        "-1 RuntimeError: a Python function was called after the interpreter had ended",
    ]


def test_fork():
    out = run("""
        f = _core.convert_function(lambda x: x + 1)
        echo = _core.get_global_func("testing.echo")
        pid = os.fork()
        ok = f(1) == 2 and list(echo([1])) == [1]
        if pid == 0: os._exit(0 if ok else 1)
        assert ok and os.waitpid(pid, 0)[1] == 0
        print("both")
    """)
    assert out == "both\n"


def test_second_import_gives_the_same_types():
    run("""
        import importlib.util
        first = sys.modules.pop("tvm._ffi._core")
        spec = importlib.util.spec_from_file_location("tvm._ffi._core", first.__file__)
        second = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(second)
        assert second.PackedFunc is first.PackedFunc and second.NDArray is first.NDArray
        assert second.convert_function(len)("abc") == 3
    """)


def test_other_interpreters_are_refused():
    """An ImportError, before anything of this process can be mixed up."""
    out = run("""
        code = "import sys\\nsys.path[:] = " + repr(sys.path) + "\\n"
        code += "try: import tvm.runtime.ndarray\\nexcept ImportError as e: print(e, flush=True)"
        if sys.version_info >= (3, 13):
            import _interpreters
            failed = _interpreters.run_string(_interpreters.create("legacy"), code)
        else:
            import _xxsubinterpreters
            failed = _xxsubinterpreters.run_string(_xxsubinterpreters.create(isolated=False), code)
        assert failed is None, failed
        assert _core.convert_function(len)("abc") == 3
    """)
    assert "main interpreter" in out


def test_interrupt_during_a_call():
    out = run("""
        import signal
        f = _core.convert_function(lambda: time.sleep(0.05))
        # a process started in the background may have been told to ignore it
        signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            for _ in range(200): f()
        except KeyboardInterrupt: print("interrupted")
        print(_core.convert_function(lambda: 3)())
    """)
    assert out.splitlines() == ["interrupted", "3"]
