"""Random te programs under random schedules: compiled code against the interpreter."""

import pathlib
import sys

import numpy as np
import pytest
import tvm
from tvm import te

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "te"))

from random_programs import Chooser, Program  # noqa: E402

# so that the compiled code rounds where the interpreter does
TARGET = "llvm -contract=0"


def compare(program, schedule, expected):
    arrays = [
        tvm.nd.array(item) if isinstance(item, np.ndarray) else item for item in program.arrays()
    ]
    tvm.build(schedule, program.args(), TARGET)(*arrays)
    for got, want in zip(arrays, expected, strict=True):
        if not isinstance(want, np.ndarray):
            continue
        if want.dtype.kind == "f":
            # a schedule may reorder a reduction
            np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=1e-5)
        else:
            np.testing.assert_array_equal(got.numpy(), want)


def check(seed):
    program = Program(Chooser.seeded(seed))
    expected = program.reference()
    compare(program, te.create_schedule([item.op for item in program.outputs]), expected)
    compare(program, program.schedule(), expected)


@pytest.mark.parametrize("block", range(8))
def test_seeded(block):
    for seed in range(block * 15, block * 15 + 15):
        check(seed)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(20))
def test_many(block):
    for seed in range(20_000 + block * 100, 20_100 + block * 100):
        check(seed)
