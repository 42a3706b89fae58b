"""Worker processes that run one function at a time and can be stopped.

A worker is a fresh Python process. Functions and values go to it by pickle, so a function must be
importable there; what must exist in every worker is made by an initializer.
"""

from __future__ import annotations

import multiprocessing
import os
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


def _serve(connection: Any, initializer: Any, initargs: Any, quiet: bool) -> None:
    """Main loop of a worker process."""
    if quiet:
        for number in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    if initializer is not None:
        initializer(*initargs)
    while True:
        try:
            func, args, kwargs = connection.recv()
        except EOFError:
            return
        try:
            answer = (True, func(*args, **(kwargs or {})))
        except Exception as problem:
            answer = (False, problem)
        try:
            connection.send(answer)
        except Exception as problem:
            connection.send((False, TypeError_(f"the result cannot be sent back: {problem}")))


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
        None keeps the output; anything else, such as ``subprocess.DEVNULL``, drops it.

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
        self._quiet = stdout is not None or stderr is not None
        self._maximum_uses = maximum_uses
        self._uses = 0
        self._process: Any = None
        self._connection: Any = None
        self._deadline: float | None = None

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve,
            args=(theirs, self._initializer, self._initargs, self._quiet),
            daemon=True,
        )
        self._process.start()
        theirs.close()
        self._connection = ours
        self._uses = 0

    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and bool(self._process.is_alive())

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
        self._deadline = None if timeout is None else time.monotonic() + timeout
        self._connection.send((fn, args, kwargs))

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
            good, value = self._connection.recv()
        except (EOFError, ConnectionResetError):
            code = self._exit_code()
            self.kill()
            raise ChildProcessError(f"the worker process ended with exit code {code}") from None
        if good:
            return value
        raise value

    def _exit_code(self) -> int | None:
        self._process.join(1)
        code: int | None = self._process.exitcode
        return code

    def kill(self) -> None:
        """Stop the process."""
        process, self._process = self._process, None
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        if process is not None:
            process.kill()
            process.join()
            process.close()

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
