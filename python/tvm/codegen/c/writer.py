"""Lines, indentation and names of one C function."""

from __future__ import annotations

from .code import Code
from .dialect import Dialect
from .unit import Unit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Writer:
    """Text of one function.

    Attributes
    ----------
    unit : Unit
        The file being written: helpers, constants and slots that the function asks for.
    entry : list of str
        Declarations at the function's start: parameters and captured variables, where used.
    lines : list of str
        The rest, in order.
    """

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.dialect: Dialect = unit.dialect
        self.entry: list[str] = []
        self.lines: list[str] = []
        self.indent = 1
        self._names: set[str] = set()
        # the name that a line declares and does nothing else, by the line
        self._declared: dict[str, str] = {}

    def line(self, text: str) -> None:
        self.lines.append("  " * self.indent + text)

    def open(self, text: str) -> None:
        """A line that begins a block."""
        self.line(text + " {")
        self.indent += 1

    def close(self, text: str = "}") -> None:
        self.indent -= 1
        self.line(text)

    def name(self, hint: str) -> str:
        """A name that nothing else in the function has."""
        word = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in hint)
        if not word or word[0].isdigit() or word.startswith("_"):
            word = f"v{word}"
        if word.endswith("_t") or word.startswith(("tvm_", "TVM")):
            # those of the headers and of the helpers
            word += "_"
        found, number = word, 0
        while found in self._names or found in self.dialect.reserved:
            number += 1
            found = f"{word}_{number}"
        self._names.add(found)
        return found

    def let(self, hint: str, type_name: str, value: Code) -> str:
        """Declare a constant; its line goes when nothing uses it."""
        name = self.name(hint)
        kind = f"{type_name} const" if type_name.endswith("*") else f"const {type_name}"
        self.line(f"{kind} {name} = {value};")
        self._declared[self.lines[-1]] = name
        return name

    def captured(self, write: Any) -> tuple[Any, list[str]]:
        """What `write` returns, and the lines that it would have added, one level deeper."""
        before, self.lines = self.lines, []
        self.indent += 1
        try:
            result = write()
        finally:
            lines, self.lines = self.lines, before
            self.indent -= 1
        return result, lines

    def body(self) -> list[str]:
        """All lines, without declarations that nothing uses, broken to the width of the page."""
        import re

        words: set[str] = set()
        kept: list[str] = []
        # uses come after declarations, so one look from the end is enough
        for text in reversed([*self.entry, *self.lines]):
            name = self._declared.get(text)
            if name is not None and name not in words:
                continue
            words.update(re.findall(r"[A-Za-z_]\w*", text))
            kept.append(text)
        return [piece for text in reversed(kept) for piece in broken(text)]


WIDTH = 100
_OPERATORS = (" + ", " - ", " * ", " ? ", " : ", " && ", " || ", " & ", " | ", " == ", " < ")


def broken(text: str) -> list[str]:
    """A line in pieces that fit the page, where there are good places to break it."""
    if len(text) <= WIDTH or '"' in text:
        return [text]
    indent = " " * (len(text) - len(text.lstrip()) + 4)
    pieces = []
    rest = text
    while len(rest) > WIDTH:
        at = max(
            rest.rfind(mark, len(indent) + 20, WIDTH) + len(mark) - 1 for mark in (", ", " = ")
        )
        operator = max(rest.rfind(mark, len(indent) + 20, WIDTH) for mark in _OPERATORS)
        at = max(at, operator)
        if at <= len(indent) + 20:
            break
        pieces.append(rest[:at].rstrip())
        rest = indent + rest[at:].lstrip()
    return [*pieces, rest]
