"""Machine code in this process.

One LLJIT for ever keeps some kilobytes of every module it has seen, even after the module is
unlinked; one for each module costs a millisecond. So 64 modules share one, which is closed with the
last of them.
"""

from __future__ import annotations

import ctypes
import threading

from ... import error
from .compile import Compiled
from .machine import Machine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MODULES_PER_JIT = 64

# Re-entrant, because the collector may close a module while another is being linked.
_lock = threading.RLock()
_current: _Shared | None = None
_serial = 0


class _Shared:
    """An LLJIT and the number of modules that it has seen and still holds."""

    def __init__(self, machine: Machine) -> None:
        self.jit: Any = machine.llvm.create_lljit_compiler(machine.target_machine(2, jit=True))
        self.seen = 0
        self.live = 0

    def release(self) -> None:
        with _lock:
            self.live -= 1
            if self.live == 0 and self.seen >= MODULES_PER_JIT and self.jit is not None:
                jit, self.jit = self.jit, None
                jit.close()


def _shared(machine: Machine) -> _Shared:
    global _current
    if _current is None or _current.seen >= MODULES_PER_JIT or _current.jit is None:
        _current = _Shared(machine)
    _current.seen += 1
    _current.live += 1
    return _current


def live_jits() -> int:
    """Number of LLJITs that hold modules; for tests of memory."""
    import gc

    return sum(1 for item in gc.get_objects() if type(item) is _Shared and item.jit is not None)


class LoadedCode:
    """A module's machine code in this process, for as long as this object lives.

    Parameters
    ----------
    compiled : Compiled
        The module; it must be for this machine.
    names : list of str
        The functions whose addresses are wanted.
    slots : dict of str to int
        Addresses for the slots that the module uses.

    Attributes
    ----------
    addresses : dict of str to int
        The functions.
    slot_addresses : dict of str to int
        The slot variables, for what is only known later (`__tvm_module_ctx`).
    """

    def __init__(self, compiled: Compiled, names: list[str], slots: dict[str, int]) -> None:
        global _serial
        self._tracker: Any = None
        self._shared: _Shared | None = None
        machine = compiled.machine
        if not machine.is_host:
            raise error.ValueError_(
                f"code for {machine.triple} {machine.cpu} cannot run in this process; save it with "
                "Module.save or export_library, or build for the host with target llvm"
            )
        missing = [name for name in compiled.slots if name not in slots]
        missing = [name for name in missing if name != "__tvm_module_ctx"]
        if missing:
            raise error.InternalError(f"the runtime offers no {', '.join(sorted(missing))}")
        builder = machine.llvm.JITLibraryBuilder()
        builder.add_object_img(compiled.object_code)
        for name in compiled.undefined:
            builder.import_symbol(name, _c_function(name))
        for name in [*names, *compiled.slots]:
            builder.export_symbol(name)
        with _lock:
            shared = _shared(machine)
            _serial += 1
            try:
                self._tracker = builder.link(shared.jit, f"tvm{_serial}")
            except RuntimeError as cause:
                shared.release()
                raise error.InternalError(f"linking compiled code failed: {cause}") from cause
            self._shared = shared
        self.addresses = {name: self._tracker[name] for name in names}
        self.slot_addresses = {name: self._tracker[name] for name in compiled.slots}
        for name in compiled.slots:
            if name in slots:
                self.fill_slot(name, slots[name])

    def fill_slot(self, name: str, value: int) -> None:
        """Write a slot, if the module has it."""
        address = self.slot_addresses.get(name)
        if address is not None:
            ctypes.c_uint64.from_address(address).value = value

    def close(self) -> None:
        """Unload; no function of the module may run any more."""
        with _lock:
            tracker, self._tracker = self._tracker, None
            shared, self._shared = self._shared, None
            if tracker is not None:
                tracker.close()
            if shared is not None:
                shared.release()

    def __del__(self) -> None:
        # at exit llvmlite may be gone already, and the process gives everything back
        try:
            self.close()
        except Exception:
            pass


_c_functions: dict[str, int] = {}


def _c_function(name: str) -> int:
    """Address of one of the three memory functions of C."""
    found = _c_functions.get(name)
    if found is None:
        function = getattr(ctypes.CDLL(None), name)
        found = ctypes.cast(function, ctypes.c_void_p).value or 0
        _c_functions[name] = found
    return found
