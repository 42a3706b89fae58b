"""Flags for compiling C and C++ programs against this package: ``python -m tvm.config``."""

from __future__ import annotations

import os
import shlex

from ._ffi.libinfo import find_include_path, find_lib_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def cflags() -> list[str]:
    """Options for the compiler."""
    return [f"-I{path}" for path in find_include_path()]


def libs() -> list[str]:
    """Options for the linker; the program finds the library where it is now."""
    folder = os.path.dirname(find_lib_path()[0])
    return [f"-L{folder}", f"-Wl,-rpath,{folder}", "-ltvm_runtime"]


def main(args: Sequence[str] | None = None) -> int:
    """Print what the options ask for."""
    import argparse

    parser = argparse.ArgumentParser(prog="python -m tvm.config", description=__doc__)
    parser.add_argument("--cflags", action="store_true", help="options for the compiler")
    parser.add_argument("--libs", action="store_true", help="options for the linker")
    parser.add_argument("--includedir", action="store_true", help="folder of the headers")
    parser.add_argument("--libdir", action="store_true", help="folder of the library")
    parser.add_argument("--version", action="store_true", help="version of the package")
    options = parser.parse_args(args)
    words: list[str] = []
    if options.version:
        from . import __version__

        words.append(__version__)
    if options.includedir:
        words += find_include_path()
    if options.libdir:
        words.append(os.path.dirname(find_lib_path()[0]))
    if options.cflags:
        words += cflags()
    if options.libs:
        words += libs()
    if not words:
        parser.print_help()
        return 2
    print(shlex.join(words))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
