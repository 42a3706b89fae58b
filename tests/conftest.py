"""Fixtures for all tests: nothing may leak, and a required part may not be skipped."""

import gc
import importlib.util
import os

import pytest

REQUIRED = set(filter(None, os.environ.get("TVM_TEST_REQUIRE", "").split(",")))


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew")


@pytest.fixture
def golden(request):
    """Compare a text with the file golden/<name>.txt beside the test; see --update-golden."""

    def compare(name, text):
        path = request.path.parent / "golden" / f"{name}.txt"
        text = str(text).rstrip() + "\n"
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{path} is missing: run pytest --update-golden"
        assert text == path.read_text(encoding="utf-8")

    return compare


def pytest_collection_modifyitems(config, items):
    """Leave out what is marked nightly, unless TVM_NIGHTLY is set."""
    if os.environ.get("TVM_NIGHTLY"):
        return
    nightly = [item for item in items if item.get_closest_marker("nightly")]
    if nightly:
        config.hook.pytest_deselected(items=nightly)
        items[:] = [item for item in items if not item.get_closest_marker("nightly")]


def require(part: str, available: bool, reason: str) -> None:
    """Skip the test when a part is missing, or fail it when the part is in TVM_TEST_REQUIRE."""
    if available:
        return
    if part in REQUIRED:
        pytest.fail(f"{part} is required here: {reason}", pytrace=False)
    pytest.skip(f"needs {part}: {reason}")


@pytest.fixture
def torch():
    require("torch", importlib.util.find_spec("torch") is not None, "pip install torch")
    import torch

    return torch


@pytest.fixture
def mypy():
    require("mypy", importlib.util.find_spec("mypy") is not None, "pip install mypy")


@pytest.fixture
def jax():
    require("jax", importlib.util.find_spec("jax") is not None, "pip install jax")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax

    return jax


def live_counts() -> dict[str, int]:
    """Arrays and bytes that the runtime holds now."""
    from tvm._ffi import _core

    return {"arrays": _core.stat(1), "bytes": _core.stat(2)}


@pytest.fixture(autouse=True)
def no_leaks(request):
    """Every test gives back the arrays and the bytes that it took."""
    before = live_counts()
    yield
    if live_counts() != before:
        gc.collect()
        after = live_counts()
        grown = {k: after[k] - before[k] for k in after if after[k] > before[k]}
        assert not grown, f"left behind: {grown}"
