"""Watching passes: how long each takes, what it does, whether it runs at all.

Examples
--------
>>> import tvm
>>> from tvm import te
>>> A = te.placeholder((8,), name="A")
>>> B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
>>> timing = tvm.instrument.PassTimingInstrument()
>>> with tvm.transform.PassContext(instruments=[timing]):
...     mod = tvm.lower(te.create_schedule(B.op), [A, B])
>>> "tir.StorageFlatten" in timing.render()
True
"""

from __future__ import annotations

import time

from tvm.error import TypeError_
from tvm.runtime.object import Object

from .module import IRModule
from .transform import PassInfo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class PassInstrument(Object):
    """Something that is told about passes. Override the methods that matter.

    A context gets it as ``PassContext(instruments=[...])``.
    """

    __slots__ = ("name",)

    type_key = "instrument.PassInstrument"

    def __init__(self, name: str | None = None) -> None:
        self.name = name or type(self).__name__

    def enter_pass_ctx(self) -> None:
        """When the context is entered."""

    def exit_pass_ctx(self) -> None:
        """When the context is left."""

    def should_run(self, mod: IRModule, info: PassInfo) -> bool:
        """Whether a pass is to run; required passes run in any case."""
        return True

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Before each pass."""

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """After each pass, with its result."""


_METHODS = ("enter_pass_ctx", "exit_pass_ctx", "should_run", "run_before_pass", "run_after_pass")


def pass_instrument(pi_cls: Any = None) -> Any:
    """Make an instrument of a class with some of the methods of `PassInstrument`.

    Raises
    ------
    TypeError
        If it is not a class.

    Examples
    --------
    >>> import tvm
    >>> @tvm.instrument.pass_instrument
    ... class Names:
    ...     def __init__(self):
    ...         self.seen = []
    ...     def run_before_pass(self, mod, info):
    ...         self.seen.append(info.name)
    >>> names = Names()
    >>> names.name
    'Names'
    """

    def make(cls: Any) -> Any:
        if not isinstance(cls, type):
            raise TypeError_(f"pass_instrument: expected a class, but got {type(cls).__name__}")
        body: dict[str, Any] = {"__doc__": cls.__doc__, "__module__": cls.__module__}

        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            PassInstrument.__init__(self, cls.__name__)
            own = vars(cls).get("__init__")
            if own is not None:
                own(self, *args, **kwargs)

        body["__init__"] = __init__
        return type(cls.__name__, (cls, PassInstrument), body)

    return make if pi_cls is None else make(pi_cls)


class _Timing:
    """One run of one pass and those that it ran itself."""

    __slots__ = ("begin", "inside", "name", "seconds")

    def __init__(self, name: str) -> None:
        self.name = name
        self.begin = time.perf_counter()
        self.seconds = 0.0
        self.inside: list[_Timing] = []


class PassTimingInstrument(PassInstrument):
    """Measures the time of each pass.

    Attributes
    ----------
    profiles : list
        One entry a pass run, with ``name``, ``seconds`` and ``inside``.
    """

    __slots__ = ("profiles", "_open")

    def __init__(self) -> None:
        super().__init__("PassTimingInstrument")
        self.profiles: list[_Timing] = []
        self._open: list[_Timing] = []

    def enter_pass_ctx(self) -> None:
        self.profiles = []
        self._open = []

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        timing = _Timing(info.name)
        (self._open[-1].inside if self._open else self.profiles).append(timing)
        self._open.append(timing)
        timing.begin = time.perf_counter()

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        end = time.perf_counter()
        if self._open:
            timing = self._open.pop()
            timing.seconds = end - timing.begin

    def rows(self) -> list[tuple[int, str, float, float]]:
        """(depth, name, seconds, seconds without the passes inside) of each pass, in order."""
        out: list[tuple[int, str, float, float]] = []

        def add(items: list[_Timing], depth: int) -> None:
            for item in items:
                own = item.seconds - sum(part.seconds for part in item.inside)
                out.append((depth, item.name, item.seconds, own))
                add(item.inside, depth + 1)

        add(self.profiles, 0)
        return out

    def render(self) -> str:
        """The times as text, one line a pass: microseconds in total, of its own, and the share.

        Returns
        -------
        str
            Empty if nothing ran.
        """
        total = sum(item.seconds for item in self.profiles)
        lines = []
        for depth, name, seconds, own in self.rows():
            share = 100 * seconds / total if total else 0.0
            lines.append(
                f"{'  ' * depth}{name}: {seconds * 1e6:.0f}us [{own * 1e6:.0f}us] ({share:.2f}%)"
            )
        return "\n".join(lines) + ("\n" if lines else "")

    def show(self) -> None:
        """Print the times as a table."""
        from rich.console import Console
        from rich.table import Table

        total = sum(item.seconds for item in self.profiles)
        table = Table(title="passes")
        table.add_column("pass")
        for name in ("us", "own us", "%"):
            table.add_column(name, justify="right")
        for depth, name, seconds, own in self.rows():
            share = 100 * seconds / total if total else 0.0
            table.add_row(
                "  " * depth + name, f"{seconds * 1e6:.0f}", f"{own * 1e6:.0f}", f"{share:.1f}"
            )
        table.add_section()
        table.add_row("all", f"{total * 1e6:.0f}", "", "100.0")
        Console().print(table)


class PassPrintingInstrument(PassInstrument):
    """Prints the module before and after some passes.

    Parameters
    ----------
    print_before_pass_names, print_after_pass_names : list of str
        The names, such as ``"tir.Simplify"``.
    """

    __slots__ = ("before", "after")

    def __init__(self, print_before_pass_names: Any = (), print_after_pass_names: Any = ()) -> None:
        super().__init__("PassPrintingInstrument")
        self.before = set(print_before_pass_names or ())
        self.after = set(print_after_pass_names or ())

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        if info.name in self.before:
            print(f"Print IR before: {info.name}\n{mod}\n")

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        if info.name in self.after:
            print(f"Print IR after: {info.name}\n{mod}\n")


class PrintAfterAll(PassInstrument):
    """Prints the module after every pass."""

    __slots__ = ()

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        print(f"After running pass: {info.name}\n{mod}\n")


class PrintBeforeAll(PassInstrument):
    """Prints the module before every pass."""

    __slots__ = ()

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        print(f"Before running pass: {info.name}\n{mod}\n")


def measure(function: Callable[[], Any]) -> tuple[Any, PassTimingInstrument]:
    """Call a function and measure the passes that it runs in a context of its own.

    Returns
    -------
    result, timing
    """
    from .transform import PassContext

    timing = PassTimingInstrument()
    outer = PassContext.current()
    with PassContext(
        outer.opt_level, outer.required_pass, outer.disabled_pass,
        [*outer.instruments, timing], outer.config,
    ):  # fmt: skip
        return function(), timing
