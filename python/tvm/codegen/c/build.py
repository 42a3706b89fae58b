"""From an IRModule to C, and to a runtime module that the C compiler makes when it is called."""

from __future__ import annotations

import threading

from ... import error
from ...ir.deep import call_deep
from ...tir.arg_table import ArgTable
from ...tir.function import PrimFunc
from ...tir.transform.lower_intrin import lower_intrin
from ...tir.transform.make_packed_api import make_packed_api
from .code import string_literal
from .dialect import C99
from .function import write_function
from .names import is_plain, word_of
from .packed import write_packed
from .unit import Unit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...ir.module import IRModule
    from ...runtime.module import Module
    from ...target import Target

ENTRY = "__tvm_main__"
# Says to a loader that tensors need no more than the alignment of their elements.
ALIGNMENT_MARK = "__tvm_element_alignment__"


class Function:
    """One function of a C module.

    Attributes
    ----------
    name : str
        Its name for callers.
    table : ArgTable
        What it expects of a call.
    body : str
        The C name of ``int32_t body(const uint64_t* slots)``.
    """

    __slots__ = ("body", "name", "table")

    def __init__(self, name: str, table: ArgTable, body: str) -> None:
        self.name = name
        self.table = table
        self.body = body


class CCode:
    """What stands behind a module of target "c": its text, and the library made of it.

    Attributes
    ----------
    text : str
        The C file.
    functions : list of Function
    uses_fma : bool
        Whether fused multiply-adds occur, which want a processor that has them.
    foreign : frozenset of str
        Functions from outside that the program calls.
    """

    type_key = "c"
    format = "c"

    def __init__(self, text: str, functions: list[Function], unit: Unit) -> None:
        self.text_without_entry = text
        self.text = text + "\n" + entry_mark(functions[0].name)
        self.functions = functions
        self.uses_fma = unit.uses_fma
        self.foreign = frozenset(unit.foreign)
        self.context = 0
        self._lock = threading.Lock()
        self._addresses: dict[str, int] | None = None
        self._loaded: Any = None

    def get_source(self, fmt: str = "") -> str:
        """The C text."""
        if fmt not in ("", "c", "cc"):
            raise error.ValueError_(
                f"get_source: a C module has no text in format {fmt!r}; expected c"
            )
        return self.text

    def save(self, path: str, fmt: str = "") -> None:
        """Write the text ("c"), or an object file made of it ("o")."""
        kind = fmt or "c"
        if kind in ("c", "cc"):
            with open(path, "w", encoding="utf-8") as file:
                file.write(self.text)
        elif kind in ("o", "obj"):
            self.compile(path)
        else:
            raise error.ValueError_(f"save: a C module has no format {fmt!r}; expected c or o")

    def export_library(self, module: Module, file_name: Any, **options: Any) -> Any:
        """Write the module and its imports as a library."""
        from ..export import export_library

        return export_library(module, file_name, **options)

    def function_names(self) -> list[str]:
        """Names of the functions."""
        return [item.name for item in self.functions]

    @property
    def needs_math_library(self) -> bool:
        """Whether a compiler may make library calls of correctly rounded functions."""
        return True

    def write_parts(self, folder: str, stem: str, is_root: bool, source: bool) -> list[str]:
        """Write the files that a library is linked from."""
        import os

        from ..export import check_undefined

        text = self.text if is_root else self.text_without_entry
        path = os.path.join(folder, f"{stem}.c")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        if source:
            return [path]
        made = os.path.join(folder, f"{stem}.o")
        self._compile_file(path, made)
        with open(made, "rb") as file:
            check_undefined(file.read(), self.foreign, "the C module")
        return [made]

    def compile(self, output: str, shared: bool = False, options: Any = ()) -> None:
        """Make an object file or a library of the text, by the machine's C compiler."""
        import os
        import tempfile

        with tempfile.TemporaryDirectory(prefix="tvm-c-") as folder:
            source = os.path.join(folder, "lib.c")
            self.save(source, "c")
            self._compile_file(source, output, shared, options)

    def _compile_file(
        self, source: str, output: str, shared: bool = False, options: Any = ()
    ) -> None:
        from ..export import compile_c

        compile_c(source, output, shared, self.uses_fma, options)

    def address_of(self, name: str) -> int:
        """Address of a function's body; the first call compiles the file."""
        with self._lock:
            if self._addresses is None:
                self._addresses = self._load()
            return self._addresses[name]

    def _load(self) -> dict[str, int]:
        import ctypes
        import os
        import tempfile

        from ..._ffi import _core
        from ..export import native_options

        with tempfile.TemporaryDirectory(prefix="tvm-c-") as folder:
            path = os.path.join(folder, "lib.so")
            self.compile(path, True, ["-DTVM_EXPORT_BODIES", *native_options()])
            # mapped from here on; local, and its own slots first, as the runtime loads libraries
            mode = os.RTLD_NOW
            # the address sanitizer refuses libraries that bind that way
            if "libasan" not in os.environ.get("LD_PRELOAD", ""):
                mode |= getattr(os, "RTLD_DEEPBIND", 0)
            try:
                library = ctypes.CDLL(path, mode=mode)
            except OSError as problem:
                # a function of call_extern that is nowhere
                raise error.TVMError(f"the compiled C module cannot be loaded: {problem}") from None
        slots = dict(_core.backend_slots())
        slots["__tvm_module_ctx"] = self.context
        for name, value in slots.items():
            try:
                ctypes.c_uint64.in_dll(library, name).value = value
            except ValueError:
                continue
        self._loaded = _Library(library)
        return {
            item.name: ctypes.cast(getattr(library, item.body), ctypes.c_void_p).value or 0
            for item in self.functions
        }


class _Library:
    """Keeps a library open for as long as it lives."""

    def __init__(self, library: Any) -> None:
        import _ctypes

        self._handle = library._handle
        self._close: Any = getattr(_ctypes, "dlclose", None)

    def __del__(self) -> None:
        close, self._close = self._close, None
        if close is not None:
            close(self._handle)


def uses_fma(target: Target | None) -> bool:
    """Whether math functions may use fused multiply-add: as "llvm" decides for this machine."""
    attrs = target.attrs if target is not None else {}
    features = tuple(attrs.get("mattr", ()) or ())
    if "+fma" in features or "-fma" in features:
        return "+fma" in features
    if attrs.get("mtriple") or attrs.get("mcpu") or attrs.get("march"):
        return str(attrs.get("mtriple", "")).startswith(("aarch64", "arm64", "riscv64"))
    return _host_has_fma()


def _host_has_fma() -> bool:
    import platform

    machine = platform.machine().lower()
    if machine in ("aarch64", "arm64", "riscv64"):
        return True
    if machine not in ("x86_64", "amd64", "i686", "i386"):
        return False
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith("flags"):
                    return "fma" in line.split()
    except OSError:
        pass
    return False


def generate(mod: IRModule, target: Target | None) -> CCode:
    """The C file of a module's functions."""
    unit = Unit(C99)
    functions: list[Function] = []
    fma = uses_fma(target)
    for var, func in mod.functions.items():
        if not isinstance(func, PrimFunc):
            raise error.TypeError_(
                f"build: expected PrimFunc functions, but {var.name_hint} is a "
                f"{type(func).__name__}"
            )
        name = str(func.attrs.get("global_symbol", var.name_hint))
        table = ArgTable.from_prim_func(func)
        body = unit.unique(f"{word_of(name)}_compute_")
        functions.append(Function(name, table, body))
        packed = make_packed_api(func)
        write_function(unit, lower_intrin(func, fma, False, False), name, body, table)
        plain = is_plain(name, unit.dialect)
        symbol = unit.unique(name if plain else f"{word_of(name)}_packed")
        if symbol != name:
            quoted = string_literal(f'"{name}"')
            label = f"{string_literal(name)}, {quoted}"
            unit.functions.append(
                "int " + symbol + f"(void*, int*, int, void*, int*, void*) TVM_SYMBOL({label});\n"
            )
        write_packed(unit, packed, name, symbol, body, table)
    if not functions:
        raise error.ValueError_("build: the module has no function")
    unit.functions.append(
        "/* tensors need no more than the alignment of their elements */\n"
        f"TVM_WEAK const char {ALIGNMENT_MARK} = 1;\n"
    )
    return CCode(unit.text(), functions, unit)


def entry_mark(name: str) -> str:
    """The symbol that names a library's entry function."""
    return (
        "/* name of the function that a call of the whole library means */\n"
        f"TVM_WEAK const char {ENTRY}[{len(name.encode()) + 1}] = {string_literal(name)};\n"
    )


def build(mod: IRModule, target: Target | None = None) -> Module:
    """A runtime module of the functions of `mod`, written in C.

    It is compiled when one of its functions is called for the first time, or when it is saved as an
    object or a library. That needs a C compiler.

    Parameters
    ----------
    mod : IRModule
        Lowered functions.
    target : Target, optional
        Decides whether math functions use fused multiply-add; by default as on this machine.
    """
    from ...runtime.module import table_module

    depth = max((func.depth for func in mod.functions.values()), default=0)
    code: CCode = call_deep(depth + 400, generate, mod, target)
    entries: list[Any] = [(item.name, None, item.table.to_bytes()) for item in code.functions]
    module = table_module(entries, code, entry=entries[0][0])
    code.context = module.handle_value
    return module
