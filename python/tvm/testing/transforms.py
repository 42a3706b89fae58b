"""A class of tests that compare programs before and after a pass."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class CompareBeforeAfter:
    """A test of a pass: derive from it and say `before`, `expected` and `transform`.

    `before` and `expected` are each a PrimFunc or an IRModule, a method or fixture that returns
    one, or for `expected` an exception class that the pass must raise. `transform` is a pass, or a
    method or fixture that returns one.

    Attributes
    ----------
    check_well_formed : bool
        Whether the result of the pass is verified as well.

    Examples
    --------
    >>> import tvm.testing
    >>> class TestNothing(tvm.testing.CompareBeforeAfter):
    ...     transform = tvm.tir.transform.RemoveNoOp()
    ...     def before(self):
    ...         return tvm.tir.PrimFunc([], tvm.tir.Evaluate(0))
    ...     def expected(self):
    ...         return tvm.tir.PrimFunc([], tvm.tir.Evaluate(0))
    """

    check_well_formed: bool = True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in ("before", "expected", "transform"):
            if name in cls.__dict__:
                setattr(cls, name, _as_fixture(name, cls.__dict__[name]))

    def test_compare(self, before: Any, expected: Any, transform: Any) -> None:
        """Compare the program after the pass with the expected one."""
        import pytest

        from tvm import ir, tir

        given = _module(before)
        if isinstance(expected, type) and issubclass(expected, BaseException):
            with pytest.raises(expected):
                transform(given)
            return
        after = transform(given)
        wanted = _module(expected)
        try:
            ir.assert_structural_equal(after, wanted)
        except ValueError as reason:
            raise ValueError(f"{reason}\nbefore:\n{given}") from None
        if self.check_well_formed:
            tir.verify.verify(after)


def _module(program: Any) -> Any:
    from tvm.ir.module import IRModule
    from tvm.tir import PrimFunc

    if isinstance(program, PrimFunc):
        name = str(program.attrs.get("global_symbol", "main"))
        return IRModule({name: program})
    return program


def _as_fixture(name: str, value: Any) -> Any:
    """A fixture of what may be a fixture, a function, a class of functions, or a plain value."""
    import pytest

    kind = type(value).__name__
    if hasattr(value, "_pytestfixturefunction") or kind == "FixtureFunctionDefinition":
        return value
    if isinstance(value, property):
        function: Callable[..., Any] = value.fget  # type: ignore[assignment]
    elif kind == "function":
        function = value
    else:
        plain = value

        def function(self: Any) -> Any:
            return plain

    def give(self: Any, *args: Any, **named: Any) -> Any:
        return function(self, *args, **named)

    give.__name__ = name
    # A fixture takes what its function takes.
    give.__wrapped__ = function  # type: ignore[attr-defined]
    return pytest.fixture(give)
