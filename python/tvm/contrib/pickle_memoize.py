"""Results of slow functions, kept between runs: reference outputs of tests above all."""

from __future__ import annotations

import atexit
import functools
import os
import pathlib
import pickle
import tempfile
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _folder() -> pathlib.Path:
    """Where results lie: a folder of the user's own, since what is read from it is run."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(base) / "tvm-lite" / "memoize"


class Cache:
    """The results of one function, in memory and, when asked for, in a file.

    Parameters
    ----------
    key : str
        Name of the file.
    save_at_exit : bool
        Whether results are written when the process ends.
    """

    caches: dict[str, Cache] = {}  # noqa: RUF012

    def __init__(self, key: str, save_at_exit: bool) -> None:
        self.path = _folder() / f"{_file_name(key)}.pickle"
        self.lock = threading.Lock()
        self.results: dict[Any, Any] = {}
        self.changed = False
        self.save_at_exit = save_at_exit
        try:
            if os.stat(self.path).st_uid == os.getuid():
                self.results = dict(pickle.loads(self.path.read_bytes()))  # noqa: S301
        except Exception:
            # no file, or none that can be read any more: what is lost is computed again
            self.results = {}

    def save(self) -> None:
        """Write the results, if there are new ones; a reader sees the old file or the new one."""
        if not self.changed:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self.lock:
            data = pickle.dumps(self.results)
            self.changed = False
        handle, name = tempfile.mkstemp(dir=self.path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(name, self.path)
        except BaseException:
            os.unlink(name)
            raise


def _file_name(key: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else f"%{ord(c):x}" for c in key)


@atexit.register
def _save_all() -> None:
    for cache in Cache.caches.values():
        if cache.save_at_exit:
            cache.save()


def memoize(
    key: str, save_at_exit: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compute a function once for each set of arguments.

    Parameters
    ----------
    key : str
        Name of the results; functions of the same name share them.
    save_at_exit : bool, optional
        Whether results are kept for the next run, under ``$XDG_CACHE_HOME/tvm-lite/memoize``.

    Returns
    -------
    callable
        A decorator. The function takes positional arguments that can be pickled; what it reads
        of its closure belongs to them.

    Raises
    ------
    TypeError
        When called: an argument cannot be pickled.

    Examples
    --------
    >>> from tvm.contrib.pickle_memoize import memoize
    >>> calls = []
    >>> @memoize("docs.square")
    ... def square(x):
    ...     calls.append(x)
    ...     return x * x
    >>> square(3), square(3), calls
    (9, 9, [3])
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        cache = Cache.caches.get(key)
        if cache is None:
            cache = Cache.caches[key] = Cache(key, save_at_exit)
        cache.save_at_exit = cache.save_at_exit or save_at_exit

        @functools.wraps(function)
        def call(*args: Any) -> Any:
            closure = [cell.cell_contents for cell in function.__closure__ or ()]
            try:
                asked = pickle.dumps((args, [c for c in closure if _is_plain(c)]))
            except (pickle.PicklingError, AttributeError, TypeError) as cause:
                raise TypeError(
                    f"memoize {key!r}: the arguments cannot be pickled: {cause}"
                ) from cause
            with cache.lock:
                if asked in cache.results:
                    return cache.results[asked]
            result = function(*args)
            with cache.lock:
                cache.results[asked] = result
                cache.changed = True
            return result

        return call

    return decorate


def _is_plain(value: Any) -> bool:
    """Whether a value of a closure decides the result: numbers, texts and tuples of them do."""
    if isinstance(value, (tuple, frozenset)):
        return all(_is_plain(item) for item in value)
    return isinstance(value, (int, float, complex, str, bytes, type(None)))
