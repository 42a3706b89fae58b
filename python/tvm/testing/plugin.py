"""A pytest plugin: the fixtures `target` and `dev`, and the marks of `tvm.testing`.

Use it with ``pytest_plugins = ["tvm.testing.plugin"]`` in the topmost conftest.py, or with
``-p tvm.testing.plugin``. A test that takes `target` runs once for each enabled target; `dev` is
the first device of the target.
"""

from __future__ import annotations

import pytest

import tvm.runtime
from tvm.testing import targets as _targets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MARKERS = {
    "gpu": "tests that use a GPU if there is one",
    "tvm_excluded_targets(*targets)": "targets that a test is not run for",
    "tvm_known_failing_targets(*targets)": "targets on which a test is expected to fail",
    **{
        feature.name: f"tests that need {feature.needs}"
        for feature in vars(_targets).values()
        if isinstance(feature, _targets.Feature) and feature.name != "gpu"
    },
}


def pytest_configure(config: pytest.Config) -> None:
    """Make the marks known."""
    for name, text in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {text}")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests that take `target` once for each enabled target."""
    if "target" not in metafunc.fixturenames:
        return
    for mark in metafunc.definition.iter_markers("parametrize"):
        names = mark.args[0] if mark.args else mark.kwargs.get("argnames", "")
        if isinstance(names, str):
            names = [name.strip() for name in names.split(",")]
        if "target" in names:
            return
    # a fixture of the test's own file comes before this plugin's
    own = metafunc._arg2fixturedefs.get("target", ())
    if own and own[-1].func.__module__ != __name__:
        return
    excluded = _marked(metafunc, "tvm_excluded_targets")
    failing = _marked(metafunc, "tvm_known_failing_targets")
    params = []
    for name, _ in _targets.enabled_targets():
        kind = _targets.target_kind(name)
        if excluded & {name, kind}:
            continue
        marks = _targets.target_marks(name)
        if failing & {name, kind}:
            marks.append(pytest.mark.xfail(reason=f"known to fail on {name!r}"))
        params.append(pytest.param(name, marks=marks))
    metafunc.parametrize("target", params, scope="session")


def _marked(metafunc: pytest.Metafunc, name: str) -> set[str]:
    return {str(arg) for mark in metafunc.definition.iter_markers(name) for arg in mark.args}


@pytest.fixture
def target(request: Any) -> Any:
    """The target a test runs on."""
    raise pytest.UsageError(f"{request.node.nodeid}: the test was not run for any target")


@pytest.fixture
def dev(target: Any) -> tvm.runtime.Device:
    """The first device of the target."""
    return tvm.runtime.device(_targets.target_kind(target), 0)
