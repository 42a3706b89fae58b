"""Random programs with virtual threads, prefetches and double buffers, compiled."""

import pathlib
import sys

import numpy as np
import pytest
import tvm

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "te"))

from random_programs import Chooser, Program  # noqa: E402


def check(seed):
    choose = Chooser.seeded(seed)
    program = Program(choose)
    expected = program.reference()
    log = []
    schedule = program.schedule(log, hints=True)
    # so that the compiled code rounds where the interpreter does
    target = "llvm -contract=0" + (" -bounds" if choose.chance(40) else "")
    arrays = [
        tvm.nd.array(item) if isinstance(item, np.ndarray) else item for item in program.arrays()
    ]
    tvm.build(schedule, program.args(), target)(*arrays)
    for got, want in zip(arrays, expected):
        if isinstance(want, np.ndarray):
            np.testing.assert_allclose(
                got.numpy(), want, rtol=1e-5, atol=1e-5, err_msg="\n".join(log)
            )


@pytest.mark.parametrize("block", range(6))
def test_seeded(block):
    for seed in range(block * 15, block * 15 + 15):
        check(30_000 + seed)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(20))
def test_many(block):
    for seed in range(40_000 + block * 100, 40_100 + block * 100):
        check(seed)
