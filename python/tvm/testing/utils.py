"""Comparisons and small helpers for tests."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn


def assert_allclose(
    actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7, verbose: bool = True
) -> None:
    """Check that two arrays have the same shape and nearly the same values.

    Parameters
    ----------
    actual, desired : array_like
        NumPy arrays, `NDArray` or numbers. Relative errors are measured against `desired`.
    rtol, atol : float
        An element passes when ``|actual - desired| <= atol + rtol * |desired|``.
    verbose : bool
        Whether the message shows the values.

    Raises
    ------
    AssertionError
        When the shapes differ or an element does not pass.

    Examples
    --------
    >>> import tvm.testing
    >>> tvm.testing.assert_allclose([1.0, 2.0], [1.0, 2.0 + 1e-9])
    """
    import numpy as np

    actual = np.asanyarray(actual)
    desired = np.asanyarray(desired)
    assert actual.shape == desired.shape, f"shapes differ: {actual.shape} and {desired.shape}"
    np.testing.assert_allclose(actual, desired, rtol=rtol, atol=atol, verbose=verbose)


def check_numerical_grads(
    function: Callable[..., Any],
    input_values: Any,
    grad_values: Any,
    function_value: Any = None,
    delta: float = 1e-3,
    atol: float = 1e-2,
    rtol: float = 0.1,
) -> None:
    """Check gradients against central differences.

    Parameters
    ----------
    function : callable
        Takes the inputs, by position or by name, and returns a scalar.
    input_values : list or dict of numpy.ndarray
        Where to differentiate.
    grad_values : list or dict of numpy.ndarray
        The gradients to check, in the same form.
    function_value : float, optional
        Not needed; taken for older programs.
    delta : float
        Step of the differences.
    atol, rtol : float
        Tolerances; `atol` is multiplied by the largest expected gradient, at least 1.

    Raises
    ------
    AssertionError
        When a gradient is off by more than the tolerance at more than a few isolated points (a
        kink of the function may lie within one step of an input).
    """
    import numpy as np

    if isinstance(input_values, dict):
        names = list(input_values)
        inputs = [np.array(input_values[n], dtype="float64") for n in names]
        grads = [np.asarray(grad_values[n]) for n in names]

        def call(values: Any) -> float:
            return float(np.sum(function(**dict(zip(names, values)))))
    else:
        names = [f"input {i}" for i in range(len(input_values))]
        inputs = [np.array(v, dtype="float64") for v in input_values]
        grads = [np.asarray(g) for g in grad_values]
        assert len(inputs) == len(grads), f"{len(inputs)} inputs, {len(grads)} gradients"

        def call(values: Any) -> float:
            return float(np.sum(function(*values)))

    kinds = [np.asarray(g).dtype for g in grads]
    for which, (name, grad) in enumerate(zip(names, grads)):
        value = inputs[which]
        assert grad.shape == value.shape, f"{name}: gradient {grad.shape}, input {value.shape}"
        expected = np.zeros(value.shape)
        for index in np.ndindex(*value.shape):
            sides = []
            for step in (delta, -delta):
                moved = [v.copy() for v in inputs]
                moved[which][index] += step
                sides.append(call([m.astype(k) for m, k in zip(moved, kinds)]))
            expected[index] = (sides[0] - sides[1]) / (2 * delta)
        scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
        wrong = np.abs(grad - expected) > atol * scale + rtol * np.abs(expected)
        count = int(np.count_nonzero(wrong))
        assert count <= max(0, value.size // 100), (
            f"{name}: {count} of {value.size} gradients are off; got {grad[wrong][:5]}, "
            f"expected about {expected[wrong][:5]}"
        )


def main() -> NoReturn:
    """Run the tests of the calling file with pytest, and exit with its status.

    Options of the command line go to pytest.
    """
    import sys

    import pytest

    file = sys._getframe(1).f_code.co_filename
    sys.exit(pytest.main([file, *sys.argv[1:]]))


def identity_after(x: Any, sleep: float) -> Any:
    """Return `x` after some seconds; a task for worker pools in tests."""
    import time

    if sleep:
        time.sleep(sleep)
    return x


def terminate_self() -> NoReturn:
    """End the process at once; a task for worker pools in tests."""
    import os

    os._exit(-1)
