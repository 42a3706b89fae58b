"""The worker threads in a Python process: their number, idleness, fork and exit.

Each test runs in a child process, because the number of workers is settled once a process.
"""

import os
import subprocess
import sys
import textwrap

import pytest

PRELUDE = """
import ctypes, os, sys, threading, time
import tvm
from tvm._ffi.libinfo import find_lib_path

lib = ctypes.CDLL(find_lib_path()[0])
LAMBDA = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
lib.TVMBackendParallelLaunch.argtypes = [LAMBDA, ctypes.c_void_p, ctypes.c_int]

def launch(num_task=0):
    ran = []
    body = LAMBDA(lambda task, env, data: ran.append(task) or 0)
    assert lib.TVMBackendParallelLaunch(body, None, num_task) == 0
    return sorted(ran)

def threads():
    return len(os.listdir("/proc/self/task"))
"""

VARIABLES = ("TVM_NUM_THREADS", "OMP_NUM_THREADS", "TVM_BIND_THREADS", "TVM_THREAD_POOL_SPIN_COUNT")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def child(code, **variables):
    env = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    env.update(variables)
    command = [sys.executable, "-c", PRELUDE + textwrap.dedent(code)]
    result = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize(
    "variables, expected",
    [
        ({"TVM_NUM_THREADS": "3"}, 3),
        ({"TVM_NUM_THREADS": "1", "OMP_NUM_THREADS": "4"}, 1),
        ({"OMP_NUM_THREADS": "4,2"}, 4),
        ({"TVM_NUM_THREADS": "none", "OMP_NUM_THREADS": "2"}, 2),
    ],
)
def test_number_of_threads_is_honoured(variables, expected):
    code = f"""
    before = threads()
    assert tvm.runtime.num_threads() == {expected}
    assert launch() == list(range({expected}))
    assert threads() == before + {expected} - 1
    """
    child(code, **variables)


def test_default_follows_the_affinity_mask():
    code = """
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    assert tvm.runtime.num_threads() == 1
    before = threads()
    assert launch() == [0]
    assert threads() == before
    """
    child(code)


def test_idle_workers_use_no_cpu_time():
    code = """
    launch()
    begin = time.process_time()
    time.sleep(0.5)
    used = time.process_time() - begin
    assert used < 0.05, used
    """
    child(code, TVM_NUM_THREADS="4")


def test_callers_do_not_add_workers():
    code = """
    launch()
    before = threads()
    for _ in range(40):
        t = threading.Thread(target=launch)
        t.start()
        t.join()
    # a thread that was joined may still be on its way out of the kernel
    deadline = time.monotonic() + 5
    while threads() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threads() <= before, (before, threads())
    """
    child(code, TVM_NUM_THREADS="3")


def test_many_callers_at_once():
    code = """
    failures = []
    def work():
        for n in range(50):
            if launch(n % 5 + 1) != list(range(n % 5 + 1)):
                failures.append(n)
    callers = [threading.Thread(target=work) for _ in range(8)]
    for t in callers: t.start()
    for t in callers: t.join()
    assert not failures
    """
    child(code, TVM_NUM_THREADS="4")


def test_fork_after_use():
    code = """
    assert launch() == [0, 1, 2, 3]
    pid = os.fork()
    if pid == 0:
        ok = launch() == [0, 1, 2, 3] and tvm.runtime.num_threads() == 4
        os._exit(0 if ok else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert launch() == [0, 1, 2, 3]
    """
    child(code, TVM_NUM_THREADS="4")


def test_exit_from_a_caller_that_is_not_the_main_thread():
    code = """
    threading.Thread(target=launch).start()
    """
    for _ in range(3):
        child(code, TVM_NUM_THREADS="4")
