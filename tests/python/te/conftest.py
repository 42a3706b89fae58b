"""Helpers of the te tests: modules beside them can be imported, programs can be run exactly."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def run():
    """Lower a schedule and run it through the interpreter; returns all arrays afterwards."""

    def lower_and_run(s, args, *arrays):
        import tvm
        from tvm.tir.interpreter import interpret

        copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arrays]
        interpret(tvm.lower(s, args)["main"], *copies)
        return copies

    return lower_and_run
