"""One C file in the making: what its functions share."""

from __future__ import annotations

from .code import string_literal
from .dialect import Dialect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The runtime function behind each slot; {} is where the variable's name goes.
SLOTS = {
    "__TVMFuncCall": "int (*{})(void*, void*, int*, int, void*, int*)",
    "__TVMAPISetLastError": "void (*{})(const char*)",
    "__TVMBackendGetFuncFromEnv": "int (*{})(void*, const char*, void**)",
    "__TVMBackendAllocWorkspace": "void* (*{})(int, int, uint64_t, int, int)",
    "__TVMBackendFreeWorkspace": "int (*{})(int, int, void*)",
    "__TVMBackendParallelLaunch": "int (*{})(int (*)(int, tvm_env*, void*), void*, int)",
    "__TVMBackendParallelBarrier": "int (*{})(int, tvm_env*)",
    "__TVMBackendExplainCall":
        "int (*{})(const void*, uint64_t, const void*, const int*, int)",
    "__TVMBackendIsReadOnly": "int (*{})(const void*)",
    "__tvm_module_ctx": "void* {}",
}  # fmt: skip

# Types of the runtime's interface, declared here so that a file stands for itself.
RECORDS = {
    "tvm_env": """\
/* TVMParallelGroupEnv */
typedef struct {
  void* sync_handle;
  int32_t num_task;
} tvm_env;
""",
    "tvm_value": """\
/* TVMValue */
typedef union {
  int64_t v_int64;
  double v_float64;
  void* v_handle;
  const char* v_str;
} tvm_value;
""",
    "tvm_tensor": """\
/* DLTensor */
typedef struct {
  void* data;
  int32_t device_type;
  int32_t device_id;
  int32_t ndim;
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} tvm_tensor;
""",
}

_ENV_SLOTS = ("__TVMBackendParallelLaunch", "__TVMBackendParallelBarrier")


class Unit:
    """Helpers, slots, constants and functions of a file.

    The runtime is reached through *slots*: pointer variables that whoever loads the compiled file
    fills.

    Attributes
    ----------
    foreign : set of str
        Functions from outside that the program calls.
    """

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.functions: list[str] = []
        self.slots: set[str] = set()
        self.foreign: set[str] = set()
        self.imported: list[str] = []
        self.globals: list[str] = []
        self.uses_fma = False
        self._records: set[str] = set()
        self._helpers: dict[str, str] = {}
        self._names: set[str] = set()
        self._caches: dict[str, str] = {}
        self._declared: dict[str, str] = {}

    def slot(self, name: str) -> str:
        """The slot variable of this name."""
        self.slots.add(name)
        if name in _ENV_SLOTS:
            self.record("tvm_env")
        return name

    def record(self, name: str) -> str:
        """A type of the runtime's interface."""
        self._records.add(name)
        return name

    def helper(self, name: str, result: str, parameters: str, body: str) -> str:
        """Add a helper function once; its lines are indented here."""
        if name not in self._helpers:
            from .writer import broken

            head = broken(f"{self.dialect.helper}{result} {name}({parameters}) {{")
            lines = [piece for line in body.split("\n") for piece in broken("  " + line)]
            self._helpers[name] = "\n".join([*head, *lines, "}", ""])
        return name

    def declare(self, name: str, line: str) -> None:
        """Declare a function from outside, unless an imported text has its name already."""
        self._declared.setdefault(name, line)

    def function_cache(self, name: str) -> str:
        """The variable that keeps the handle of a packed function."""
        found = self._caches.get(name)
        if found is None:
            word = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
            found = self._caches[name] = self.unique(f"{word}_packed")
            self.globals.append(f"static void* {found} = NULL;")
        return found

    def unique(self, name: str) -> str:
        """`name`, or `name` with a number when it is taken."""
        found, number = name, 0
        while found in self._names:
            number += 1
            found = f"{name}_{number}"
        self._names.add(found)
        return found

    def text(self) -> str:
        """The whole file."""
        parts = [self.dialect.prelude]
        parts += self.imported
        parts += [text for name, text in RECORDS.items() if name in self._records]
        if self.slots:
            parts.append("/* filled by whoever loads this code */")
            parts += [f"TVM_WEAK {SLOTS[name].format(name)};" for name in sorted(self.slots)]
            parts.append("")
        brought = "\n".join(self.imported)
        parts += [line for name, line in self._declared.items() if name not in brought]
        parts += self.globals
        if self.globals:
            parts.append("")
        parts += self._helpers.values()
        parts += self.functions
        return "\n".join(parts)


def fail_message(unit: Unit, text: Any) -> str:
    """A statement that sets the last error."""
    message = text if not isinstance(text, str) else string_literal(text)
    return f"{unit.slot('__TVMAPISetLastError')}({message});"
