"""Instruments: times of passes, printing, own classes."""

import pytest
import tvm
from tvm import te
from tvm.ir.instrument import (
    PassInstrument,
    PassPrintingInstrument,
    PassTimingInstrument,
    PrintAfterAll,
    PrintBeforeAll,
    measure,
    pass_instrument,
)


def lower():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    return tvm.lower(te.create_schedule(B.op), [A, B])


def test_timing():
    timing = tvm.instrument.PassTimingInstrument()
    assert timing.render() == ""
    nested = tvm.transform.Sequential(
        [tvm.tir.transform.Simplify(), tvm.tir.transform.RemoveNoOp()], name="both"
    )
    with tvm.transform.PassContext(instruments=[timing]):
        nested(lower())
        text = timing.render()
    names = [line.split(":")[0] for line in text.splitlines()]
    assert "tir.StorageFlatten" in names
    at = names.index("both")
    assert names[at + 1 : at + 3] == ["  tir.Simplify", "  tir.RemoveNoOp"]
    rows = timing.rows()
    assert all(seconds >= own >= 0 for _, _, seconds, own in rows)
    both = rows[at]
    assert both[2] >= rows[at + 1][2] + rows[at + 2][2]
    with tvm.transform.PassContext(instruments=[timing]):
        assert timing.render() == ""


def test_table(capsys):
    _, timing = measure(lower)
    timing.show()
    text = capsys.readouterr().out
    assert "tir.Simplify" in text and "own us" in text and "all" in text


def test_printing(capsys):
    with tvm.transform.PassContext(
        instruments=[PassPrintingInstrument(["tir.Simplify"], ["tir.UnrollLoop"])]
    ):
        lower()
    text = capsys.readouterr().out
    assert text.count("Print IR") == 2
    assert "Print IR before: tir.Simplify" in text and "Print IR after: tir.UnrollLoop" in text
    with tvm.transform.PassContext(instruments=[PrintBeforeAll(), PrintAfterAll()]):
        lower()
    text = capsys.readouterr().out
    assert text.count("Before running pass") == text.count("After running pass") > 5


def test_own_instruments():
    @pass_instrument
    class Skip:
        """Leaves one pass out."""

        def __init__(self, name):
            self.left_out = name
            self.entered = 0

        def enter_pass_ctx(self):
            self.entered += 1

        def should_run(self, mod, info):
            return info.name != self.left_out

    skip = Skip("tir.StorageFlatten")
    assert isinstance(skip, PassInstrument) and skip.name == "Skip"
    assert Skip.__doc__ == "Leaves one pass out."
    timing = PassTimingInstrument()
    with tvm.transform.PassContext(instruments=[skip, timing]):
        lower()
        assert "tir.StorageFlatten" not in timing.render()
    assert skip.entered == 1
    with tvm.transform.PassContext(
        instruments=[skip, timing], required_pass=["tir.StorageFlatten"]
    ):
        lower()
        assert "tir.StorageFlatten" in timing.render()
    with pytest.raises(TypeError, match="pass_instrument: expected a class, but got int"):
        pass_instrument(3)
