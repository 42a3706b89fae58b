"""Worker processes that run one function at a time and can be stopped.

A worker is a fresh Python process, which does not run the caller's script. Functions and values go
to it by pickle, so a function must be importable there (functions of the script itself go by value
where cloudpickle is installed); what must exist in every worker is made by an initializer.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from enum import IntEnum

from tvm.error import TVMError, TypeError_, ValueError_

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any


class StatusKind(IntEnum):
    """How a task of `map_with_error_catching` ended."""

    RUNNING = 0
    COMPLETE = 1
    EXCEPTION = 2
    TIMEOUT = 3


class MapResult:
    """A task's status, and its value or its exception."""

    __slots__ = ("status", "value")

    def __init__(self, status: StatusKind, value: Any) -> None:
        self.status = status
        self.value = value

    def __repr__(self) -> str:
        return f"MapResult(status={self.status.name}, value={self.value!r})"


_MAIN = "import sys; from tvm.contrib.popen_pool import _serve; _serve(int(sys.argv[1]))"


def _dumps(value: Any) -> bytes:
    """Pickle, by value what belongs to the running script where cloudpickle is installed."""
    try:
        import cloudpickle as pickler  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        import pickle as pickler
    data: bytes = pickler.dumps(value)
    return data


def _run(data: bytes) -> tuple[bool, Any]:
    """A task's outcome: whether it went well, and its value or exception."""
    import pickle

    try:
        func, args, kwargs = pickle.loads(data)
    except Exception as problem:
        return False, TypeError_(
            f"the worker process cannot find what it should call: {problem}. Functions and "
            "classes must be importable there: put them into a module, or install cloudpickle"
        )
    try:
        return True, func(*args, **(kwargs or {}))
    except Exception as problem:
        return False, problem


def _serve(fd: int) -> None:
    """Main loop of a worker process; its end of the connection is a file descriptor."""
    from multiprocessing.connection import Connection

    connection: Any = Connection(fd)
    while True:
        try:
            data = connection.recv_bytes()
        except EOFError:
            return
        outcome = _run(data)
        try:
            answer = _dumps(outcome)
        except Exception as problem:
            answer = _dumps((False, TypeError_(f"the result cannot be sent back: {problem}")))
        connection.send_bytes(answer)


class PopenWorker:
    """One worker process, started with the first task.

    Parameters
    ----------
    initializer : callable, optional
        Called in the process before its first task.
    initargs : tuple
        Its arguments.
    maximum_uses : int, optional
        Tasks after which the process is replaced; by default never.
    stdout, stderr : optional
        Where output goes, as `subprocess.Popen` takes it; by default where the caller's goes.

    Examples
    --------
    >>> from tvm.contrib.popen_pool import PopenWorker
    >>> worker = PopenWorker()
    >>> worker.send(pow, (2, 5))
    >>> worker.recv()
    32
    >>> worker.kill()
    """

    def __init__(
        self,
        initializer: Callable[..., Any] | None = None,
        initargs: tuple[Any, ...] = (),
        maximum_uses: int | None = None,
        stdout: Any = None,
        stderr: Any = None,
    ) -> None:
        if initializer is not None and not callable(initializer):
            raise TypeError_(f"PopenWorker: the initializer {initializer!r} is not callable")
        self._initializer = initializer
        self._initargs = tuple(initargs)
        self._stdout = stdout
        self._stderr = stderr
        self._maximum_uses = maximum_uses
        self._uses = 0
        self._process: Any = None
        self._connection: Any = None
        self._deadline: float | None = None

    def _start(self) -> None:
        ours, theirs = multiprocessing.Pipe()
        # not by the multiprocessing module, whose workers would run the caller's script again
        self._process = subprocess.Popen(
            [sys.executable, "-c", _MAIN, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=self._stdout,
            stderr=self._stderr,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
            start_new_session=True,  # to be killed with its own children
        )
        theirs.close()
        self._connection = ours
        self._uses = 0
        if self._initializer is not None:
            self._connection.send_bytes(_dumps((self._initializer, self._initargs, None)))
            self._deadline = None
            self.recv()

    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def send(
        self,
        fn: Callable[..., Any],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        timeout: float | None = None,
    ) -> None:
        """Give the process a task.

        Parameters
        ----------
        fn : callable
            What to call.
        args, kwargs
            Its arguments.
        timeout : float, optional
            Seconds after which the process is stopped and `recv` raises TimeoutError.
        """
        if self._maximum_uses is not None and self._uses >= self._maximum_uses:
            self.kill()
        if not self.is_alive():
            self.kill()
            self._start()
        self._uses += 1
        data = _dumps((fn, args, kwargs))
        self._deadline = None if timeout is None else time.monotonic() + timeout
        self._connection.send_bytes(data)

    def recv(self) -> Any:
        """Wait for the task and return its value.

        Raises
        ------
        TimeoutError
            When it took longer than it was allowed to.
        ChildProcessError
            When the process ended.
        Exception
            What the task raised.
        """
        if self._connection is None:
            raise TVMError("PopenWorker.recv: no task was sent")
        rest = None if self._deadline is None else max(0.0, self._deadline - time.monotonic())
        if not self._connection.poll(rest):
            self.kill()
            raise TimeoutError("the task took longer than it was allowed to")
        try:
            good, value = pickle.loads(self._connection.recv_bytes())
        except (EOFError, ConnectionResetError):
            code = self._exit_code()
            self.kill()
            raise ChildProcessError(f"the worker process ended with exit code {code}") from None
        if good:
            return value
        raise value

    def _exit_code(self) -> int | None:
        try:
            code: int = self._process.wait(1)
        except subprocess.TimeoutExpired:
            return None
        return code

    def kill(self) -> None:
        """Stop the process, and those that it started."""
        process, self._process = self._process, None
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        if process is not None:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()

    def __del__(self) -> None:
        try:
            self.kill()
        except Exception:  # at exit, parts of the interpreter are gone
            pass


class PopenPoolExecutor:
    """Several worker processes with the interface of `concurrent.futures`.

    Parameters
    ----------
    max_workers : int, optional
        How many; by default one for each processor.
    timeout : float, optional
        Seconds a task may take.
    initializer, initargs, maximum_process_uses, stdout, stderr
        See `PopenWorker`.
    """

    def __init__(
        self,
        max_workers: int | None = None,
        timeout: float | None = None,
        initializer: Callable[..., Any] | None = None,
        initargs: tuple[Any, ...] = (),
        maximum_process_uses: int | None = None,
        stdout: Any = None,
        stderr: Any = None,
    ) -> None:
        count = max_workers or os.cpu_count() or 1
        if count < 1:
            raise ValueError_(f"PopenPoolExecutor: expected at least 1 worker, got {max_workers}")
        self._threads = ThreadPoolExecutor(max_workers=count)
        self._timeout = timeout
        self._make: Callable[[], PopenWorker] = lambda: PopenWorker(
            initializer, initargs, maximum_process_uses, stdout, stderr
        )
        self._lock = threading.Lock()
        self._idle: list[PopenWorker] = []

    def _run(self, fn: Any, args: Any, kwargs: Any) -> Any:
        with self._lock:
            worker = self._idle.pop() if self._idle else self._make()
        try:
            worker.send(fn, args, kwargs, self._timeout)
            return worker.recv()
        finally:
            with self._lock:
                self._idle.append(worker)

    def submit(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a function in a worker; the future has its value or its exception."""
        return self._threads.submit(self._run, fn, args, kwargs)

    def map_with_error_catching(
        self, fn: Callable[..., Any], iterator: Iterable[Any]
    ) -> Iterator[MapResult]:
        """Run a function on each element; how each ended, in order."""
        futures = [self.submit(fn, item) for item in iterator]
        for future in futures:
            try:
                yield MapResult(StatusKind.COMPLETE, future.result())
            except TimeoutError as problem:
                yield MapResult(StatusKind.TIMEOUT, problem)
            except Exception as problem:
                yield MapResult(StatusKind.EXCEPTION, problem)

    def shutdown(self, wait: bool = True) -> None:
        """Stop the workers, after their tasks if `wait`."""
        self._threads.shutdown(wait=wait)
        with self._lock:
            workers, self._idle = self._idle, []
        for worker in workers:
            worker.kill()

    def __enter__(self) -> PopenPoolExecutor:
        return self

    def __exit__(self, *exc: object) -> None:
        self.shutdown()

    def __del__(self) -> None:
        try:
            self.shutdown(wait=False)
        except Exception:  # at exit, parts of the interpreter are gone
            pass
