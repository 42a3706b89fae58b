"""From an IRModule to a runtime module of compiled functions."""

from __future__ import annotations

from ... import error
from ...ir.deep import call_deep
from ...ir.transform import PassContext
from ...tir.arg_table import ArgTable
from ...tir.function import PrimFunc
from ...tir.transform.inline_index_lets import inline_index_lets
from ...tir.transform.lower_intrin import lower_intrin
from ...tir.transform.vectorize_innermost import vectorize_innermost
from .compile import Compiled
from .function import write_function
from .jit import LoadedCode
from .machine import Machine, machine_for
from .unit import Unit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...ir.module import IRModule
    from ...runtime.module import Module
    from ...target import Target


class LLVMCode:
    """What stands behind a compiled module: its code, for as long as one of its functions lives.

    Attributes
    ----------
    functions : list of (str, ArgTable, str)
        Name, argument table and symbol of the body of each.
    """

    type_key = "llvm"
    format = "o"

    def __init__(
        self,
        compiled: Compiled,
        functions: list[tuple[str, ArgTable, str]],
        slots: dict[str, int],
        unit: Unit,
        sources: list[Any],
    ) -> None:
        self.compiled = compiled
        self.functions = functions
        self._unit = unit
        self._sources = sources
        self._packed: Compiled | None = None
        self.loaded: LoadedCode | None = None
        if compiled.machine.is_host:
            self.loaded = LoadedCode(compiled, [symbol for _, _, symbol in functions], slots)

    def entries(self) -> list[tuple[str, int, bytes]]:
        """Name, address and argument table of each function, as the runtime takes them."""
        if self.loaded is None:
            return []
        addresses = self.loaded.addresses
        return [(name, addresses[symbol], t.to_bytes()) for name, t, symbol in self.functions]

    @property
    def packed(self) -> Compiled:
        """The code with functions in the classic packed form, as it is saved and shown."""
        if self._packed is None:
            from ...tir.transform.make_packed_api import make_packed_api
            from .packed_entry import add_packed_entries

            given = [
                (make_packed_api(source), name, table, symbol)
                for source, (name, table, symbol) in zip(self._sources, self.functions)
            ]
            depth = max(func.depth for func, _, _, _ in given)
            call_deep(depth, add_packed_entries, self._unit, given)
            self._packed = Compiled(self._unit)
        return self._packed

    def get_source(self, fmt: str = "") -> str | bytes:
        """The code: "ll" before LLVM's passes, "opt.ll" after them, "asm", "obj" as bytes."""
        kind = fmt or "ll"
        if kind == "ll":
            return self.packed.text
        if kind == "opt.ll":
            return self.packed.optimized_text()
        if kind in ("asm", "s"):
            return self.packed.assembly()
        if kind in ("obj", "o"):
            return self.packed.object_code
        raise error.ValueError_(
            f"get_source: a compiled module has no text in format {fmt!r}; expected ll, opt.ll, "
            "asm, s or obj"
        )

    def save(self, path: str, fmt: str = "") -> None:
        """Write the code to a file: "o" an object, "ll" LLVM text, "s" assembly."""
        kind = fmt or "o"
        if kind in ("o", "obj"):
            data = self.packed.object_code
        elif kind in ("ll", "s", "asm"):
            data = str(self.get_source(kind)).encode()
        else:
            raise error.ValueError_(
                f"save: a compiled module has no format {fmt!r}; expected o, ll or s"
            )
        with open(path, "wb") as file:
            file.write(data)

    def export_library(self, module: Module, file_name: Any, **options: Any) -> Any:
        """Write the module and its imports as a library."""
        from ..export import export_library

        return export_library(module, file_name, **options)

    def function_names(self) -> list[str]:
        """Names of the functions."""
        return [name for name, _, _ in self.functions]

    @property
    def needs_math_library(self) -> bool:
        """Never: the generator makes instructions of everything."""
        return False

    def write_parts(self, folder: str, stem: str, is_root: bool, source: bool) -> list[str]:
        """Write the files that a library is linked from."""
        import os

        path = os.path.join(folder, f"{stem}.o")
        self.save(path, "o")
        return [path]


def generate(mod: IRModule, target: Target | None, machine: Machine) -> tuple[Unit, list[Any]]:
    """The LLVM text of a module's functions, and (name, table, symbol) of each."""
    contract = bool(target.attrs.get("contract", True)) if target is not None else True
    vectors = not PassContext.current().config.get("tir.disable_vectorize", False)
    unit = Unit(machine)
    functions: list[Any] = []
    for var, func in mod.functions.items():
        if not isinstance(func, PrimFunc):
            raise error.TypeError_(
                f"build: expected PrimFunc functions, but {var.name_hint} is a "
                f"{type(func).__name__}"
            )
        name = str(func.attrs.get("global_symbol", var.name_hint))
        symbol = f"{name}_compute_"
        func = inline_index_lets(func)
        # before loops are cut in two: it can still be seen what is element by element
        table = ArgTable.from_prim_func(func)
        if vectors:
            func = vectorize_innermost(func, machine.vectors)
        func = lower_intrin(func, machine.has_fma, contract, machine.has_rounding)
        slots = {variable: slot for slot, variable in enumerate(table.slots)}
        write_function(unit, func, name, symbol, slots)
        functions.append((name, table, symbol))
    if not functions:
        raise error.ValueError_("build: the module has no function")
    return unit, functions


def build(mod: IRModule, target: Target | None = None) -> Module:
    """A runtime module of the functions of `mod`, compiled by LLVM.

    Parameters
    ----------
    mod : IRModule
        Lowered functions.
    target : Target, optional
        The processor; by default this one.
    """
    from ..._ffi import _core
    from ...runtime.module import table_module

    machine = machine_for(target)
    depth = max((func.depth for func in mod.functions.values()), default=0)
    unit, functions = call_deep(depth, generate, mod, target, machine)
    sources = list(mod.functions.values())
    code = LLVMCode(Compiled(unit), functions, _core.backend_slots(), unit, sources)
    entries = code.entries()
    module = table_module(entries, code, entry=entries[0][0] if entries else None)
    if code.loaded is not None:
        code.loaded.fill_slot("__tvm_module_ctx", module.handle_value)
    return module
