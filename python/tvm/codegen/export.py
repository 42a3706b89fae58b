"""Writing modules as libraries, object files and archives; the C compiler that this takes."""

from __future__ import annotations

import os
import sys

from .. import error
from ..runtime import toolchain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ..runtime.module import Module

# What generated C relies on, in the words of GCC and clang: arithmetic as written, and no calls of
# library functions that were not asked for.
C_OPTIONS = (
    "-std=c99", "-O3", "-fPIC", "-ffp-contract=off", "-fno-math-errno", "-fno-strict-aliasing",
    "-fno-stack-protector", "-U_FORTIFY_SOURCE",
)  # fmt: skip

# What an object may take from outside; everything else goes through the slots.
ALLOWED = frozenset(("memcpy", "memset", "memmove"))
# Correctly rounded functions, which compilers make one instruction of where there is one.
ROUNDED = frozenset(("sqrt", "sqrtf", "fma", "fmaf"))


def compiler() -> list[str]:
    """The command that runs a C compiler: the machine's, else that of the package ziglang.

    Raises
    ------
    TVMError
        When there is none; says what to install.
    """
    found = toolchain.find_compiler()
    if found is not None:
        return [found]
    from importlib.util import find_spec

    if find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc"]
    raise error.TVMError(
        "cannot find a C compiler: none of CC, CXX, "
        f"{', '.join(toolchain.COMPILERS)} is on PATH, and the package ziglang is not installed. "
        "Install gcc or clang, or run: pip install ziglang"
    )


def native_options() -> list[str]:
    """Options for code that is only going to run on this machine."""
    return ["-march=native"]


def compile_c(
    source: str, output: str, shared: bool, uses_fma: bool, options: Sequence[str] = ()
) -> None:
    """Compile a generated C file to an object or a shared library."""
    import platform

    command = [*compiler(), *C_OPTIONS]
    if uses_fma and platform.machine().lower() in ("x86_64", "amd64"):
        command.append("-mfma")
    command += [*options, "-shared" if shared else "-c", "-o", output, source]
    if shared:
        command.append("-lm")
    toolchain.run(command)


def check_undefined(data: bytes, foreign: frozenset[str], what: str) -> None:
    """Refuse an object that takes functions from outside that generated code must not call."""
    from .llvm.objects import undefined_symbols

    strange = sorted(undefined_symbols(data) - ALLOWED - ROUNDED - foreign)
    if strange:
        raise error.InternalError(
            f"{what} calls {', '.join(strange)} of the C library; generated code must not. Please "
            "report this with the program that was compiled"
        )


def parts_of(module: Module) -> list[Any]:
    """The holders of a module and of all that it imports, the module's own first.

    Raises
    ------
    TVMError
        When one of them cannot become part of a library; names it.
    """
    from .._ffi import _core

    found: list[Any] = []
    seen: set[int] = set()

    def visit(item: Any) -> None:
        if item.handle_value in seen:
            return
        seen.add(item.handle_value)
        holder = _core.module_holder(item)
        if getattr(holder, "write_parts", None) is None:
            raise error.TVMError(
                f"export_library: a module of kind {item.type_key!r} cannot become part of a "
                "library; those of target llvm and c can. Load it by itself, and join the two with "
                "import_module"
            )
        found.append(holder)
        for other in item.imported_modules:
            visit(other)

    visit(module)
    return found


def _check_names(parts: list[Any]) -> None:
    seen: set[str] = set()
    for part in parts:
        for name in part.function_names():
            if name in seen:
                raise error.ValueError_(
                    f"export_library: two functions are named {name!r}, of the module and of one "
                    "that it imports; build them with different names"
                )
            seen.add(name)


def export_library(
    module: Module,
    file_name: Any,
    fcompile: Callable[..., Any] | None = None,
    addons: Any = None,
    workspace_dir: Any = None,
    **options: Any,
) -> Any:
    """Write a module and all that it imports as one file that `load_module` reads.

    Parameters
    ----------
    module : Module
        Of target ``llvm`` or ``c``.
    file_name : str or path-like
        Where to. The ending decides what: ``.o`` one object file, ``.tar`` an archive of object
        files, anything else a shared library.
    fcompile : callable, optional
        ``fcompile(file_name, files, **options)``, such as one of `tvm.contrib.cc.cross_compiler`;
        by default the machine's C compiler links.
    addons : list of str, optional
        More files to be linked.
    workspace_dir : str, optional
        Folder for what is made on the way; by default one that is removed.
    options : optional
        For `fcompile`; the default one takes ``options`` (list of str) and ``cc`` (str).

    Returns
    -------
    What `fcompile` returns; None by default.

    Raises
    ------
    TVMError
        When a module cannot become part of a library, there is no compiler, or it fails.
    """
    path = os.fspath(file_name)
    parts = parts_of(module)
    _check_names(parts)
    kind = os.path.splitext(path)[1]
    if workspace_dir is None:
        import tempfile

        with tempfile.TemporaryDirectory(prefix="tvm-export-") as folder:
            return _export(parts, path, kind, fcompile, addons, folder, options)
    folder = os.fspath(workspace_dir)
    os.makedirs(folder, exist_ok=True)
    return _export(parts, path, kind, fcompile, addons, folder, options)


def _export(
    parts: list[Any], path: str, kind: str, fcompile: Any, addons: Any, folder: str, options: Any
) -> Any:
    # somebody else's compiler is given C source: it may be for another machine
    source = fcompile is not None
    files: list[str] = []
    for number, part in enumerate(parts):
        files += part.write_parts(folder, f"lib{number}", number == 0, source)
    files += [os.fspath(item) for item in _listed(addons)]
    if fcompile is not None:
        return fcompile(path, files, **options)
    extra = _listed(options.pop("options", None))
    chosen = options.pop("cc", None)
    if options:
        raise error.TypeError_(
            f"export_library: unknown options {', '.join(sorted(options))}; without fcompile those "
            "there are: options, cc"
        )
    command = [os.fspath(chosen)] if chosen is not None else None
    if kind == ".tar":
        _pack(path, files)
    elif kind == ".o":
        if len(files) == 1:
            _copy(files[0], path)
        else:
            toolchain.run([*(command or compiler()), "-r", "-nostdlib", "-o", path, *files])
    else:
        run = [*(command or compiler()), "-shared", "-fPIC", "-o", path, *files, *extra]
        if any(part.needs_math_library for part in parts):
            run.append("-lm")
        toolchain.run(run)
    return None


def _listed(values: Any) -> list[Any]:
    if values is None:
        return []
    return [values] if isinstance(values, (str, os.PathLike)) else list(values)


def _copy(source: str, path: str) -> None:
    import shutil

    shutil.copyfile(source, path)


def _pack(path: str, files: list[str]) -> None:
    """A tar archive of files, without what differs from run to run."""
    import tarfile

    with tarfile.open(path, "w") as archive:
        for item in files:
            with open(item, "rb") as file:
                entry = tarfile.TarInfo(os.path.basename(item))
                entry.size = os.path.getsize(item)
                archive.addfile(entry, file)
