"""The C and C++ compilers of the machine."""

from __future__ import annotations

import os

from tvm.error import TVMError
from tvm.runtime import toolchain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


def get_cc() -> str | None:
    """Path of the compiler: CC or CXX of the environment, else the first of the usual ones."""
    return toolchain.find_compiler()


def _list(values: Any) -> list[str]:
    if values is None:
        return []
    return [os.fspath(values)] if isinstance(values, (str, os.PathLike)) else list(values)


def create_shared(
    output: str,
    objects: str | Sequence[str],
    options: str | Sequence[str] | None = None,
    cc: str | None = None,
    cwd: str | None = None,
    ccache_env: Any = None,
) -> None:
    """Make a shared library.

    Parameters
    ----------
    output : str
        Path of the library.
    objects : str or sequence of str
        Object and source files.
    options : str or sequence of str, optional
        More options for the compiler.
    cc : str, optional
        The compiler.
    cwd : str, optional
        Folder to run it in.
    ccache_env : optional
        Taken for older programs; not used.

    Raises
    ------
    RuntimeError
        When there is no compiler, or it fails; the message has its output.
    """
    toolchain.create_shared(str(output), _list(objects), _list(options), cc, cwd)


def create_executable(
    output: str,
    objects: str | Sequence[str],
    options: str | Sequence[str] | None = None,
    cc: str | None = None,
    cwd: str | None = None,
    ccache_env: Any = None,
) -> None:
    """Make a program; the parameters are those of `create_shared`."""
    toolchain.create_executable(str(output), _list(objects), _list(options), cc, cwd)


def create_staticlib(output: str, inputs: Sequence[str], ar: str | None = None) -> None:
    """Put object files into a static library."""
    import shutil

    program = ar or shutil.which("ar")
    if program is None:
        raise TVMError("create_staticlib: cannot find ar; install binutils")
    toolchain.run([program, "-crs", str(output), *_list(inputs)])


def get_target_by_dump_machine(compiler: str) -> Callable[[], str | None]:
    """A function that asks a compiler for the triple it makes code for."""

    def ask() -> str | None:
        try:
            return toolchain.run([compiler, "-dumpmachine"]).strip() or None
        except TVMError:
            return None

    return ask


# ending of the files it makes, and how it names what it makes code for
create_shared.output_format = "so"  # type: ignore[attr-defined]
create_shared.get_target_triple = lambda: get_target_by_dump_machine(  # type: ignore[attr-defined]
    toolchain.require_compiler()
)()


def cross_compiler(
    compile_func: str | Callable[..., Any],
    options: str | Sequence[str] | None = None,
    output_format: str | None = None,
    get_target_triple: Callable[[], str | None] | None = None,
    add_files: str | Sequence[str] | None = None,
) -> Callable[..., Any]:
    """A function like `create_shared` for another compiler.

    Parameters
    ----------
    compile_func : str or callable
        The compiler's path, or a function like `create_shared`.
    options : sequence of str, optional
        Options that it always gets.
    output_format : str, optional
        Ending of the files; "so" unless `compile_func` says otherwise.
    get_target_triple : callable, optional
        Says what the compiler makes code for; by default the compiler is asked.
    add_files : sequence of str, optional
        Files that are always linked.

    Returns
    -------
    callable
        To be used as `fcompile` of `export_library`.
    """
    fixed = _list(options)
    files = _list(add_files)
    compiler = compile_func if isinstance(compile_func, str) else None
    make: Callable[..., Any] = create_shared if isinstance(compile_func, str) else compile_func

    def compile_with(outputs: str, objects: Any, options: Any = None, **others: Any) -> Any:
        if compiler is not None:
            others.setdefault("cc", compiler)
        return make(outputs, _list(objects) + files, fixed + _list(options), **others)

    found = getattr(compile_func, "output_format", "so")
    compile_with.output_format = output_format or found  # type: ignore[attr-defined]
    triple = get_target_triple or getattr(compile_func, "get_target_triple", None)
    if triple is None and compiler is not None:
        triple = get_target_by_dump_machine(compiler)
    compile_with.get_target_triple = triple  # type: ignore[attr-defined]
    return compile_with
