"""Parameters and fixtures of tests, as pytest fixtures."""

from __future__ import annotations

import functools
import itertools
import os
import sys

from tvm.error import TypeError_, ValueError_

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_numbers = itertools.count()


def parameter(
    *values: Any, ids: Sequence[str] | None = None, by_dict: dict[str, Any] | None = None
) -> Any:
    """A parameter of tests: those that take it run once for each value.

    Assign it to a name in a test file or a test class; tests take an argument of this name.

    Parameters
    ----------
    *values
        The values.
    ids : sequence of str, optional
        Their names in the report.
    by_dict : dict, optional
        Names and values at once.

    Returns
    -------
    a pytest fixture

    Examples
    --------
    >>> import tvm.testing
    >>> size = tvm.testing.parameter(1, 16, 1024)
    """
    import pytest

    if by_dict is not None:
        if values or ids:
            raise TypeError_("parameter: give values, or by_dict, not both")
        ids, values = list(by_dict), tuple(by_dict.values())
    if not values:
        raise ValueError_("parameter: expected at least one value")

    # in a class the fixture is a method, whose first argument is of no interest
    @pytest.fixture(params=values, ids=ids)
    def as_fixture(*_self: Any, request: Any) -> Any:
        return request.param

    return as_fixture


def parameters(*value_sets: Sequence[Any], ids: Sequence[str] | None = None) -> list[Any]:
    """Several parameters that change together.

    Parameters
    ----------
    *value_sets
        Tuples of equal length: the values of all the parameters in one run.
    ids : sequence of str, optional
        Names of the sets in the report.

    Returns
    -------
    list of pytest fixtures
        One a parameter; assign them to names, as with `parameter`.

    Examples
    --------
    >>> import tvm.testing
    >>> size, dtype = tvm.testing.parameters((1, "float32"), (16, "int8"))
    """
    import pytest

    if not value_sets:
        raise ValueError_("parameters: expected at least one set of values")
    sets = [tuple(values) for values in value_sets]
    count = len(sets[0])
    for values in sets:
        if len(values) != count:
            raise ValueError_(
                f"parameters: the sets must be equally long, got {sets[0]!r} and {values!r}"
            )
    # The fixtures share one hidden parameter, which has to be where pytest looks for fixtures: in
    # the module or the class whose body is being run.
    hidden = f"_tvm_parameters_{next(_numbers)}"

    @pytest.fixture(params=sets, ids=ids, name=hidden)
    def shared(*_self: Any, request: Any) -> Any:
        return request.param

    sys._getframe(1).f_locals[hidden] = shared
    return [_element(hidden, index) for index in range(count)]


def _element(hidden: str, index: int) -> Any:
    """A fixture for one of several values; it depends on the hidden one by its argument's name."""
    import pytest

    scope: dict[str, Any] = {}
    # pytest reads the names of arguments, so that they have to be in the function's text
    exec(f"def as_fixture(*_self, {hidden}):\n    return {hidden}[{index}]\n", scope)  # noqa: S102
    return pytest.fixture(scope["as_fixture"])


def fixture(func: Any = None, *, cache_return_value: bool = False) -> Any:
    """A pytest fixture whose value may be computed once for equal arguments.

    Parameters
    ----------
    func : callable
        The fixture's function.
    cache_return_value : bool
        Whether the value is kept for tests with equal arguments; each test gets a deep copy.
        TVM_TEST_DISABLE_CACHE=1 turns this off.

    Returns
    -------
    a pytest fixture, or the decorator that makes one
    """
    import pytest

    def decorate(f: Callable[..., Any]) -> Any:
        if cache_return_value and os.environ.get("TVM_TEST_DISABLE_CACHE", "0") in ("", "0"):
            f = _cached(f)
        return pytest.fixture(f)

    return decorate if func is None else decorate(func)


def _cached(func: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its results kept by argument, where the arguments can be compared."""
    import copy

    results: dict[Any, Any] = {}

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        # the test's instance, when the fixture is in a class, is another one each time
        own = args[1:] if args and getattr(type(args[0]), func.__name__, None) else args
        key = (own, tuple(sorted(kwargs.items())))
        try:
            known = key in results
        except TypeError:
            return func(*args, **kwargs)
        if not known:
            results[key] = func(*args, **kwargs)
        try:
            return copy.deepcopy(results[key])
        except TypeError as problem:
            raise TypeError_(
                f"fixture {func.__name__}: cache_return_value needs a value that can be copied, "
                f"so that tests cannot disturb each other: {problem}"
            ) from problem

    return wrapper
