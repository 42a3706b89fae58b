"""Running recursive functions on very deep programs.

A pass recurses once or twice a level. Programs deeper than `SHALLOW` run it in a helper thread
with a large stack and a raised recursion limit; that is decided once, at the entry.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Below this depth an ordinary thread is enough.
SHALLOW = 150
_FRAMES_PER_LEVEL = 12
_STACK_BYTES_PER_LEVEL = 12 * 1024

_users = 0
_before = 0
_lock: Any = None


def _enter(frames: int) -> None:
    """Raise the recursion limit; it is the whole process's, so it stays up until all are done."""
    global _users, _before
    with _lock:
        if _users == 0:
            _before = sys.getrecursionlimit()
        _users += 1
        if sys.getrecursionlimit() < frames:
            sys.setrecursionlimit(frames)


def _leave() -> None:
    global _users
    with _lock:
        _users -= 1
        if _users == 0:
            sys.setrecursionlimit(_before)


def call_deep(depth: int, function: Callable[..., Any], *args: Any) -> Any:
    """`function(*args)`, on a stack that is large enough for a program of this depth."""
    if depth <= SHALLOW:
        return function(*args)
    import threading

    global _lock
    if _lock is None:
        _lock = threading.Lock()
    here = threading.current_thread()
    if getattr(here, "levels", 0) >= depth:
        return function(*args)
    result: list[Any] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            result.append(function(*args))
        except BaseException as err:  # handed to the caller's thread
            failure.append(err)

    # Programs grow while they are lowered; leave room for that.
    levels = depth * 2 + 1000
    _enter(levels * _FRAMES_PER_LEVEL)
    try:
        with _lock:
            size = min(max(levels * _STACK_BYTES_PER_LEVEL, 64 << 20), 4 << 30)
            before = threading.stack_size(size // 4096 * 4096)
            try:
                thread = threading.Thread(target=run, name="tvm-deep")
                thread.levels = levels  # type: ignore[attr-defined]
                thread.start()
            finally:
                threading.stack_size(before)
        thread.join()
    finally:
        _leave()
    if failure:
        raise failure[0]
    return result[0]
