"""From LLVM text to machine code."""

from __future__ import annotations

from ... import error
from ..._ffi.libinfo import __version__
from . import disk_cache
from .machine import Machine, llvmlite_version
from .objects import undefined_symbols
from .unit import Unit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What an object may take from outside; everything else goes through the slots.
ALLOWED = frozenset(("memcpy", "memset", "memmove"))


class Compiled:
    """A compiled module.

    Attributes
    ----------
    text : str
        LLVM text before LLVM's passes.
    object_code : bytes
        The object file.
    undefined : frozenset of str
        Symbols that the object takes from outside.
    """

    def __init__(self, unit: Unit, optimize: bool | None = None) -> None:
        self.machine: Machine = unit.machine
        self.text = unit.text()
        self.slots = frozenset(unit.slots)
        self._imported = list(unit.imported)
        # Explicit vectors need no more than their temporaries in registers.
        self.optimize = unit.wants_loop_passes if optimize is None else optimize
        self._has_temporaries = unit.has_temporaries
        self.object_code: bytes = self._object()
        self.undefined = undefined_symbols(self.object_code)
        strange = sorted(self.undefined - ALLOWED - self.machine.divisions - unit.foreign)
        if strange:
            raise error.InternalError(
                f"the compiled module calls {', '.join(strange)} of the C library; generated code "
                "must not. Please report this with the program that was compiled"
            )
        missing = sorted(self.undefined & unit.foreign)
        if missing:
            self._refuse_foreign(missing)

    def _object(self) -> bytes:
        """The object file: from the cache on disk if there is one and it is there."""
        path = disk_cache.folder()
        if path is None:
            return self._emit()
        llvm = self.machine.llvm
        key = disk_cache.key_of(
            self.text,
            *self._imported,
            f"{int(self.optimize)}{int(self._has_temporaries)} {self.machine.abi}",
            f"{self.machine.triple} {self.machine.cpu} {self.machine.feature_text}",
            f"{__version__} {llvmlite_version()} {llvm.llvm_version_info}",
        )
        found = disk_cache.load(path, key)
        if found is None:
            found = self._emit()
            disk_cache.store(path, key, found)
        return found

    def _emit(self) -> bytes:
        module = self._module()
        try:
            return bytes(self.machine.target_machine(2).emit_object(module))
        finally:
            module.close()

    def _refuse_foreign(self, missing: list[str]) -> None:
        raise error.ValueError_(
            f"call_extern of {', '.join(missing)}: no such function is part of the module. Bring "
            "it with pragma import_llvm, or call a registered function with call_packed"
        )

    def _module(self) -> Any:
        """The parsed, checked and optimised LLVM module."""
        llvm = self.machine.llvm
        context = llvm.create_context()
        try:
            module = llvm.parse_assembly(self.text, context)
            module.verify()
        except RuntimeError as cause:
            raise error.InternalError(
                f"the LLVM generator wrote a module that LLVM refuses: {cause}. Please report "
                "this with the program that was compiled"
            ) from cause
        for text in self._imported:
            try:
                other = llvm.parse_assembly(text, context)
                other.verify()
            except RuntimeError as cause:
                raise error.ValueError_(f"pragma import_llvm: {cause}") from cause
            module.link_in(other)
        machine = self.machine.target_machine(2)
        if self.optimize:
            options = llvm.create_pipeline_tuning_options(speed_level=2)
            options.loop_vectorization = True
            options.loop_interleaving = True
            options.slp_vectorization = False
            options.loop_unrolling = True
            builder = llvm.create_pass_builder(machine, options)
            passes = builder.getModulePassManager()
            passes.run(module, builder)
        elif self._has_temporaries or self._imported:
            builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(2))
            functions = llvm.create_new_function_pass_manager()
            functions.add_sroa_pass()
            for function in module.functions:
                if not function.is_declaration:
                    functions.run(function, builder)
        return module

    def optimized_text(self) -> str:
        """LLVM text after LLVM's passes."""
        module = self._module()
        try:
            return str(module)
        finally:
            module.close()

    def assembly(self) -> str:
        """The machine's assembly."""
        module = self._module()
        try:
            return str(self.machine.target_machine(2).emit_assembly(module))
        finally:
            module.close()
