"""Random arguments never crash or hang the process."""

import os
import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).with_name("fuzz_border.py")


@pytest.mark.parametrize("seed", range(6))
def test_random_arguments(seed):
    run(seed, 4000)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(100, 120))
def test_random_arguments_long(seed):
    run(seed, 50000)


def run(seed, count):
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(SCRIPT), str(seed), str(count)],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "TVM_NUM_THREADS": "2"},
    )
    assert done.returncode == 0, (
        f"seed {seed}: {done.returncode}\n{done.stdout}\n{done.stderr[-4000:]}"
    )
    assert "calls" in done.stdout
