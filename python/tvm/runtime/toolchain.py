"""The C compiler of the machine, where the runtime needs it: linking object files."""

from __future__ import annotations

import os

from tvm.error import TVMError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

COMPILERS = ("cc", "gcc", "clang", "g++", "clang++")


def find_compiler() -> str | None:
    """Path of a C compiler: what CC or CXX names, else the first of the usual ones."""
    import shutil

    for name in (os.environ.get("CC"), os.environ.get("CXX"), *COMPILERS):
        if name:
            found = shutil.which(name)
            if found is not None:
                return found
    return None


def require_compiler() -> str:
    """As `find_compiler`, raising an error that says what to install."""
    found = find_compiler()
    if found is None:
        raise TVMError(
            "cannot find a C compiler: none of CC, CXX, "
            f"{', '.join(COMPILERS)} is on PATH. Install gcc or clang, or set CC"
        )
    return found


def run(command: Sequence[str], cwd: str | None = None) -> str:
    """Run a tool; on failure an error with the command and what it printed."""
    import shlex
    import subprocess

    try:
        done = subprocess.run(
            list(command), cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
    except OSError as problem:
        raise TVMError(f"cannot run {command[0]!r}: {problem.strerror}") from None
    text = done.stdout.decode("utf-8", "replace")
    if done.returncode != 0:
        raise TVMError(
            f"{command[0]} failed with exit status {done.returncode}\n"
            f"command: {shlex.join(command)}\n{text}"
        )
    return text


def create_shared(
    output: str,
    objects: Sequence[str],
    options: Sequence[str] = (),
    compiler: str | None = None,
    cwd: str | None = None,
) -> None:
    """Link object and source files to a shared library."""
    command = [compiler or require_compiler(), "-shared", "-fPIC", "-o", output]
    run([*command, *objects, *options], cwd)


def create_executable(
    output: str,
    objects: Sequence[str],
    options: Sequence[str] = (),
    compiler: str | None = None,
    cwd: str | None = None,
) -> None:
    """Link object and source files to a program."""
    run([compiler or require_compiler(), "-o", output, *objects, *options], cwd)


def unpack(archive: str, folder: str) -> list[str]:
    """Unpack a tar archive and return the object files in it."""
    import tarfile

    with tarfile.open(archive) as tar:
        names = [item.name for item in tar.getmembers() if item.isfile()]
        for name in names:
            full = os.path.realpath(os.path.join(folder, name))
            if not full.startswith(os.path.realpath(folder) + os.sep):
                raise TVMError(f"the archive {archive} has a member outside of itself: {name!r}")
        members = [item for item in tar.getmembers() if item.isfile() or item.isdir()]
        tar.extractall(folder, members=members)
    return sorted(os.path.join(folder, name) for name in names if name.endswith(".o"))
