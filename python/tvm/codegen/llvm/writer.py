"""Writes the text of one LLVM function.

Text is the fastest way from Python into LLVM: appending a line costs a fraction of building the
instruction through an API. Pure instructions are numbered by their text, so that the same
computation in the same or an enclosing block is written once; this does the work of LLVM's early
common-subexpression pass before LLVM sees the function.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .unit import Unit


class Writer:
    """Lines, register names, blocks and value numbers of one function.

    Attributes
    ----------
    unit : Unit
        The module being written: declarations, strings and slots that the function asks for.
    entry : list of str
        Instructions at the function's start: allocas and loads of arguments.
    lines : list of str
        The rest, in order.
    """

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.machine = unit.machine
        self.entry: list[str] = []
        self.lines: list[str] = []
        self.block = "entry"
        # number of the first line of the current block
        self.block_begin = 0
        self._count = 0
        self._known: dict[str, str] = {}
        self._scopes: list[list[str]] = []
        self._added: list[str] = []

    def name(self, hint: str = "v") -> str:
        """A register name that is not in use."""
        self._count += 1
        return f"%{hint}{self._count}"

    def pure(self, text: str) -> str:
        """The register that holds the result of an instruction without side effects."""
        found = self._known.get(text)
        if found is None:
            self._count += 1
            found = f"%v{self._count}"
            self.lines.append(f"  {found} = {text}")
            self._known[text] = found
            self._added.append(text)
        return found

    def note_value(self, text: str, register: str) -> None:
        """Say that a pure instruction's result is in a register already."""
        self._known[text] = register
        self._added.append(text)

    def effect(self, text: str) -> str:
        """The register that holds the result of a load or a call."""
        self._count += 1
        found = f"%v{self._count}"
        self.lines.append(f"  {found} = {text}")
        return found

    def do(self, text: str) -> None:
        """An instruction without a result."""
        self.lines.append("  " + text)

    def at_entry(self, text: str, hint: str = "e") -> str:
        """An instruction at the start of the function."""
        found = self.name(hint)
        self.entry.append(f"  {found} = {text}")
        return found

    def new_block(self, hint: str) -> str:
        """Name of a block to come."""
        self._count += 1
        return f"{hint}{self._count}"

    def start(self, label: str) -> None:
        """Begin a block; the block before must have ended in a branch or return."""
        self.lines.append(f"{label}:")
        self.block = label
        self.block_begin = len(self.lines)

    def jump(self, label: str) -> None:
        self.lines.append(f"  br label %{label}")

    def branch(self, condition: str, then: str, other: str) -> None:
        self.lines.append(f"  br i1 {condition}, label %{then}, label %{other}")

    def push(self) -> None:
        """Enter code that need not dominate what comes later: its values are forgotten by `pop`."""
        self._scopes.append(self._added)
        self._added = []

    def pop(self) -> None:
        known = self._known
        for text in self._added:
            del known[text]
        self._added = self._scopes.pop()
