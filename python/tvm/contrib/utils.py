"""Temporary folders and files."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile


class TempDirectory:
    """A temporary folder that goes with the object, or at the latest with the process.

    Parameters
    ----------
    custom_path : str, optional
        Where to make it; it must not exist.
    keep_for_debug : bool, optional
        Whether the folder stays; by default what TVM_KEEP_TEMPDIR=1 says.

    Examples
    --------
    >>> from tvm.contrib import utils
    >>> folder = utils.tempdir()
    >>> folder.relpath("a.txt").endswith("a.txt")
    True
    """

    _alive: dict[int, str] = {}  # noqa: RUF012

    def __init__(self, custom_path: str | None = None, keep_for_debug: bool | None = None) -> None:
        if keep_for_debug is None:
            keep_for_debug = os.environ.get("TVM_KEEP_TEMPDIR", "0") not in ("", "0")
        if custom_path is not None:
            os.makedirs(custom_path)
            self.temp_dir = custom_path
        else:
            self.temp_dir = tempfile.mkdtemp(prefix="tvm-")
        self._owner = os.getpid()
        if not keep_for_debug:
            self._alive[id(self)] = self.temp_dir

    def remove(self) -> None:
        """Remove the folder now."""
        path = self._alive.pop(id(self), None)
        # a forked child has the object too, but not the folder
        if path is not None and self._owner == os.getpid():
            shutil.rmtree(path, ignore_errors=True)

    @property
    def path(self) -> str:
        """Path of the folder."""
        return self.temp_dir

    def relpath(self, name: str) -> str:
        """Path of a file in the folder."""
        return os.path.join(self.temp_dir, name)

    def listdir(self) -> list[str]:
        """Names of what is in the folder."""
        return os.listdir(self.temp_dir)

    def __enter__(self) -> TempDirectory:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()

    def __fspath__(self) -> str:
        return self.temp_dir

    def __del__(self) -> None:
        if shutil is not None and getattr(self, "_owner", None) is not None:
            self.remove()


_root = os.getpid()


@atexit.register
def _remove_all() -> None:
    if os.getpid() == _root:
        for path in list(TempDirectory._alive.values()):
            shutil.rmtree(path, ignore_errors=True)


def tempdir(custom_path: str | None = None, keep_for_debug: bool | None = None) -> TempDirectory:
    """Make a temporary folder; see `TempDirectory`."""
    return TempDirectory(custom_path=custom_path, keep_for_debug=keep_for_debug)


class FileLock:
    """A lock that processes share through a file; use it in a `with` statement."""

    def __init__(self, path: str) -> None:
        import fcntl

        self.lock_file = open(path, "w")  # noqa: SIM115
        fcntl.lockf(self.lock_file, fcntl.LOCK_EX)

    def release(self) -> None:
        """Give the lock back."""
        if self.lock_file is not None:
            self.lock_file.close()
            self.lock_file = None  # type: ignore[assignment]

    def __enter__(self) -> FileLock:
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()


def filelock(path: str) -> FileLock:
    """Wait for the lock of a file, and hold it."""
    return FileLock(path)


def is_source_path(path: str) -> bool:
    """Whether a text is a path of a file rather than a piece of source code."""
    if os.path.exists(path):
        return True
    if "\n" in path:
        return False
    ending = path.rpartition(".")[2]
    return "." in path and ending.isalnum() and " " not in path


def which(exec_name: str) -> str | None:
    """Path of a program, None when there is none."""
    return shutil.which(exec_name)
