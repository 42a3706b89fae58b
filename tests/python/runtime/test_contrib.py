"""Small helpers: temporary folders, worker processes, DLPack wrappers, build information."""

import os
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
import tvm
from tvm.contrib import popen_pool, utils
from tvm.runtime import toolchain


def test_tempdir():
    folder = utils.tempdir()
    assert os.path.isdir(folder.path)
    path = folder.relpath("a.txt")
    with open(path, "w") as file:
        file.write("x")
    assert folder.listdir() == ["a.txt"]
    where = folder.path
    del folder
    assert not os.path.exists(where)
    with utils.tempdir() as folder:
        where = folder.path
    assert not os.path.exists(where)


def test_tempdir_options(tmp_path, monkeypatch):
    folder = utils.tempdir(custom_path=str(tmp_path / "mine"))
    assert folder.path == str(tmp_path / "mine")
    monkeypatch.setenv("TVM_KEEP_TEMPDIR", "1")
    kept = utils.tempdir(custom_path=str(tmp_path / "kept"))
    del folder, kept
    assert not (tmp_path / "mine").exists()
    assert (tmp_path / "kept").exists()


def test_tempdir_goes_with_the_process():
    code = "from tvm.contrib import utils; import builtins; builtins.keep = utils.tempdir(); "
    code += "print(keep.path)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip()
    assert not os.path.exists(out.stdout.strip())


def test_forked_child_leaves_the_folder():
    folder = utils.tempdir()
    pid = os.fork()
    if pid == 0:
        folder.remove()
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.path.isdir(folder.path)


def test_filelock(tmp_path):
    with utils.filelock(str(tmp_path / "lock")) as lock:
        code = "import fcntl, sys\n"
        code += "try: fcntl.lockf(open(sys.argv[1], 'w'), fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
        code += "except OSError: sys.exit(3)\n"
        command = [sys.executable, "-c", code, str(tmp_path / "lock")]
        assert subprocess.run(command).returncode == 3
        lock.release()
        assert subprocess.run(command).returncode == 0


def test_is_source_path(tmp_path):
    assert utils.is_source_path(__file__)
    assert utils.is_source_path("kernel.cl")
    assert not utils.is_source_path("int f() {\n  return a.b;\n}")


@pytest.fixture
def worker():
    worker = popen_pool.PopenWorker()
    yield worker
    worker.kill()


def test_worker(worker):
    from operator import add

    worker.send(add, (1, 2))
    assert worker.recv() == 3
    worker.send(os.getpid)
    first = worker.recv()
    assert first != os.getpid()
    worker.send(np.sum, (np.arange(4),))
    assert worker.recv() == 6
    worker.send(int, ("7",), {"base": 8})
    assert worker.recv() == 7
    worker.send(int, ("nonsense",))
    with pytest.raises(ValueError, match="nonsense"):
        worker.recv()
    worker.send(os.getpid)
    assert worker.recv() == first


def test_worker_timeout_and_death(worker):
    worker.send(time.sleep, (60,), timeout=0.5)
    start = time.monotonic()
    with pytest.raises(TimeoutError):
        worker.recv()
    assert time.monotonic() - start < 30
    assert not worker.is_alive()
    worker.send(os._exit, (3,))
    with pytest.raises(ChildProcessError, match="3"):
        worker.recv()
    worker.send(abs, (-5,))
    assert worker.recv() == 5


def test_worker_passes_arrays(worker):
    a = tvm.nd.array(np.arange(3, dtype="float32"))
    worker.send(tvm.nd.NDArray.numpy, (a,))
    assert worker.recv().tolist() == [0, 1, 2]


def test_worker_replaced_after_uses():
    worker = popen_pool.PopenWorker(maximum_uses=2)
    pids = []
    for _ in range(3):
        worker.send(os.getpid)
        pids.append(worker.recv())
    worker.kill()
    assert pids[0] == pids[1] != pids[2]


def test_worker_initializer_and_output(tmp_path):
    with open(tmp_path / "out", "w") as file:
        worker = popen_pool.PopenWorker(print, ("from the initializer",), stdout=file)
        worker.send(print, ("from the task",))
        assert worker.recv() is None
        worker.send(exec, ("import sys; sys.stdout.flush()",))
        worker.recv()
        worker.kill()
    assert (tmp_path / "out").read_text() == "from the initializer\nfrom the task\n"


def test_worker_of_an_unguarded_script(tmp_path):
    """The worker does not run the script again; its own functions need cloudpickle."""
    (tmp_path / "script.py").write_text(
        textwrap.dedent(
            """
            import importlib.util
            from tvm.contrib.popen_pool import PopenWorker

            print("once")

            def mine(x):
                return x + 1

            worker = PopenWorker()
            worker.send(pow, (2, 3))
            print(worker.recv())
            worker.send(mine, (1,))
            try:
                assert worker.recv() == 2
                assert importlib.util.find_spec("cloudpickle") is not None
            except TypeError as problem:
                assert "cloudpickle" in str(problem)
            """
        )
    )
    home = os.path.dirname(os.path.dirname(tvm.__file__))
    done = subprocess.run(
        [sys.executable, str(tmp_path / "script.py")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": home},
    )
    assert (done.returncode, done.stdout) == (0, "once\n8\n"), done.stderr


def test_worker_takes_its_children_along(worker):
    worker.send(subprocess.check_output, (["sh", "-c", "sleep 60 >/dev/null & echo $!"],))
    pid = int(worker.recv())
    assert os.path.exists(f"/proc/{pid}")
    worker.kill()
    deadline = time.monotonic() + 10
    while _running(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _running(pid)


def _running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_worker_mistakes(worker):
    with pytest.raises(tvm.TVMError, match="no task"):
        worker.recv()
    with pytest.raises(TypeError, match="callable"):
        popen_pool.PopenWorker(initializer=3)


def test_pool():
    with popen_pool.PopenPoolExecutor(max_workers=2, timeout=20) as pool:
        assert pool.submit(pow, 2, 5).result() == 32
        results = list(pool.map_with_error_catching(int, ["1", "x", "3"]))
    kinds = [r.status.name for r in results]
    assert kinds == ["COMPLETE", "EXCEPTION", "COMPLETE"]
    assert results[2].value == 3
    assert isinstance(results[1].value, ValueError)


def test_to_pytorch_func(torch):
    from tvm.contrib.dlpack import to_pytorch_func

    @tvm.runtime.convert
    def double(x, y):
        y.copyfrom(x.numpy() * 2)

    f = to_pytorch_func(double)
    x = torch.arange(4, dtype=torch.float32)
    y = torch.zeros(4)
    f(x, y)
    assert y.tolist() == [0, 2, 4, 6]


def test_libinfo():
    info = tvm.support.libinfo()
    assert info["USE_LLVM"] == "ON"
    assert info["USE_CUDNN"] == "OFF"
    assert info["TVM_VERSION"] == tvm.__version__
    for key in ("USE_RPC", "USE_PROFILER", "USE_CUDA", "USE_OPENCL", "USE_GRAPH_EXECUTOR"):
        assert info[key] in ("ON", "OFF")
    assert all(isinstance(v, str) for v in info.values())
    assert info["LLVM_VERSION"].split(".")[0].isdigit()


def test_describe(capsys):
    tvm.support.describe()
    assert "USE_LLVM: ON" in capsys.readouterr().out


def test_frontend_test_module():
    m = tvm.support.FrontendTestModule("main")
    m.add_function("main", lambda x: x + 1)
    assert m(1) == m["main"](1) == 2
    with pytest.raises(AttributeError, match="main"):
        m["nope"]


def test_config():
    def ask(*options):
        return subprocess.run(
            [sys.executable, "-m", "tvm.config", *options], capture_output=True, text=True
        )

    assert ask("--version").stdout.strip() == tvm.__version__
    assert "-ltvm_runtime" in ask("--libs").stdout
    assert ask("--cflags").stdout.startswith("-I")
    assert ask().returncode == 2


@pytest.mark.skipif(toolchain.find_compiler() is None, reason="needs a C compiler")
def test_config_builds_a_program(tmp_path):
    (tmp_path / "main.c").write_text(
        """
        #include <stdio.h>
        #include <tvm/runtime/c_runtime_api.h>
        int main(void) {
          int64_t shape[1] = {3};
          TVMArrayHandle array;
          if (TVMArrayAlloc(shape, 1, 2, 32, 1, 1, 0, &array) != 0) return 1;
          printf("%d\\n", (int)array->shape[0]);
          return TVMArrayFree(array);
        }
        """
    )
    import shlex

    flags = []
    for option in ("--cflags", "--libs"):
        done = subprocess.run(
            [sys.executable, "-m", "tvm.config", option], capture_output=True, text=True, check=True
        )
        flags += shlex.split(done.stdout)
    program = str(tmp_path / "main")
    toolchain.run([toolchain.require_compiler(), str(tmp_path / "main.c"), "-o", program, *flags])
    done = subprocess.run([program], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "3"), done.stderr
