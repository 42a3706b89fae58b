"""One LLVM module in the making: what its functions share."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .machine import Machine

# The type of the runtime function behind each slot (the classic backend API).
SLOT_TYPES = {
    "__TVMFuncCall": "i32 (ptr, ptr, ptr, i32, ptr, ptr)",
    "__TVMAPISetLastError": "void (ptr)",
    "__TVMBackendGetFuncFromEnv": "i32 (ptr, ptr, ptr)",
    "__TVMBackendAllocWorkspace": "ptr (i32, i32, i64, i32, i32)",
    "__TVMBackendFreeWorkspace": "i32 (i32, i32, ptr)",
    "__TVMBackendParallelLaunch": "i32 (ptr, ptr, i32)",
    "__TVMBackendParallelBarrier": "i32 (i32, ptr)",
    "__tvm_module_ctx": "",
}


class Unit:
    """Declarations, constants, slots and metadata of a module.

    The runtime is reached through *slots*: pointer variables that whoever loads the module fills.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.functions: list[str] = []
        self.slots: set[str] = set()
        # names that call_extern asks for, and LLVM text that pragma import_llvm brings
        self.foreign: set[str] = set()
        self.imported: list[str] = []
        # What decides which of LLVM's passes run: innermost loops over scalars, vector stores,
        # and vectors that are summed up in memory.
        self.scalar_loops = False
        self.has_vectors = False
        self.has_sums = False
        # arrays on the stack that want to be registers
        self.has_temporaries = False
        self._globals: list[str] = []
        self._declared: dict[str, str] = {}
        self._strings: dict[bytes, str] = {}
        self._metadata: list[str] = []
        self._names: set[str] = set()
        self._helpers: set[str] = set()
        self._caches: dict[str, str] = {}
        self._empty: str | None = None
        self._nontemporal: str | None = None

    def slot(self, name: str) -> str:
        """The slot variable of this name."""
        self.slots.add(name)
        return f"@{name}"

    def declare(self, name: str, signature: str) -> str:
        """Declare a function once; `signature` has `@` where the name goes."""
        self._declared.setdefault(name, "declare " + signature.replace("@", f"@{name}", 1))
        return f"@{name}"

    def string(self, text: str) -> str:
        """A NUL-terminated constant."""
        data = text.encode("utf-8", "replace").replace(b"\0", b"?") + b"\0"
        name = self._strings.get(data)
        if name is None:
            name = f"@.str{len(self._strings)}"
            self._strings[data] = name
            body = "".join(
                chr(byte) if 32 <= byte < 127 and byte not in (34, 92) else f"\\{byte:02X}"
                for byte in data
            )
            self._globals.append(
                f'{name} = private unnamed_addr constant [{len(data)} x i8] c"{body}"'
            )
        return name

    def function_cache(self, name: str) -> str:
        """The variable that keeps the handle of a packed function."""
        found = self._caches.get(name)
        if found is None:
            found = self._caches[name] = f"@.packed{len(self._caches)}"
            self._globals.append(f"{found} = internal global ptr null, align 8")
        return found

    def add_global(self, line: str) -> None:
        self._globals.append(line)

    def metadata(self, text: str) -> str:
        """A new metadata node; `!self` in the text stands for itself."""
        name = f"!{len(self._metadata)}"
        self._metadata.append(f"{name} = {text.replace('!self', name)}")
        return name

    def empty_metadata(self) -> str:
        """The metadata node without content."""
        if self._empty is None:
            self._empty = self.metadata("!{}")
        return self._empty

    def nontemporal(self) -> str:
        """The metadata of a store that goes round the caches."""
        if self._nontemporal is None:
            self._nontemporal = self.metadata("!{i32 1}")
        return self._nontemporal

    def unique(self, name: str) -> str:
        """`name`, or `name` with a number when it is taken."""
        found, number = name, 0
        while found in self._names:
            number += 1
            found = f"{name}_{number}"
        self._names.add(found)
        return found

    def helper(self, name: str, text: str) -> str:
        """Add a private function once."""
        if name not in self._helpers:
            self._helpers.add(name)
            self.functions.append(text)
        return f"@{name}"

    @property
    def wants_loop_passes(self) -> bool:
        """Whether LLVM's whole pipeline is worth its time, which is several times the rest.

        It vectorises and unrolls scalar loops and moves sums into registers. In a function that
        has vectors already, the scalar loops are tails.
        """
        return self.has_sums or (self.scalar_loops and not self.has_vectors)

    def text(self) -> str:
        """The whole module."""
        machine = self.machine
        parts = [
            f'target triple = "{machine.triple}"',
            f'target datalayout = "{machine.data_layout}"',
        ]
        # weak, as classic loaders expect to find and fill them
        parts += [f"@{name} = weak global ptr null, align 8" for name in sorted(self.slots)]
        parts += self._globals
        parts += self.functions
        parts += self._declared.values()
        # the lists of features are long: only what is used
        for group, words in (("#0", ""), ("#1", "noinline optnone ")):
            if any(f" {group} {{" in item[: item.find("\n")] for item in self.functions):
                parts.append(f"attributes {group} = {{ {words}{machine.attributes} }}")
        parts += self._metadata
        return "\n".join(parts) + "\n"


def quote(name: str) -> str:
    """`name` as a global symbol's name in LLVM text."""
    plain = name.replace("_", "a").replace(".", "a").replace("$", "a").isalnum() and name.isascii()
    # a name that begins with a digit would be a number
    if plain and not name[0].isdigit():
        return name
    return '"' + "".join(c if c.isalnum() or c in "_. " else f"\\{ord(c):02X}" for c in name) + '"'
