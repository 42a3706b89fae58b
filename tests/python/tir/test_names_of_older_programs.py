"""Layouts, tensor intrinsics by name, and what is not here and says so."""

import itertools

import pytest
import tvm
from tvm import tir
from tvm.tir.interpreter import evaluate


def test_layout():
    layout = tir.layout("NCHW16c")
    assert isinstance(layout, tir.Layout) and len(layout) == layout.ndim == 5
    assert layout.factor_of("c") == layout.factor_of("C") == 16 and layout.factor_of("N") == -1
    assert [layout.index_of(axis) for axis in "NCHWcO"] == [0, 1, 2, 3, 4, -1]
    assert all(axis in layout for axis in "NCHWc") and "O" not in layout and "n" not in layout
    assert [layout[k] for k in (0, 3, 4, -1, -5)] == ["N", "W", "c", "c", "N"]
    assert tir.layout(layout) is layout and str(layout) == "NCHW16c"
    assert tvm.ir.structural_equal(tvm.ir.load_json(tvm.ir.save_json(layout)), layout)
    with pytest.raises(IndexError, match="NCHW16c has 5 axes, there is no 5"):
        layout[5]


@pytest.mark.parametrize(
    "name, reason",
    [
        ("NCHWc", "'c' has no size before it"),
        ("NCHW16", "no letter follows 16"),
        ("NCHWW", "'W' occurs twice"),
        ("N4CHW", "4 stands before 'C', a whole axis"),
        ("NHW16c", "'c' is a part of 'C', which is not there"),
        ("N.C", "'.' is neither a letter nor a digit"),
        ("NC0c", "'c' has no size before it"),
    ],
)
def test_bad_layouts(name, reason):
    with pytest.raises(ValueError) as found:
        tir.layout(name)
    assert str(found.value) == f"layout {name!r}: {reason}; expected for instance NCHW or NCHW16c"


def test_which_layouts_there_is_a_way_between():
    for src, dst in [
        ("NCHW", "ABCD"), ("__undef__", "NCHW"), ("NCHW", "__undef__"), ("__undef__", "__undef__"),
        ("", "NCHW"), ("NCHW", ""), ("", ""), ("NCHW", "NCH"),
    ]:  # fmt: skip
        assert tir.bijective_layout(src, dst) is None
    assert isinstance(tir.bijective_layout("NCHW", "NCHW16c"), tir.BijectiveLayout)
    with pytest.raises(ValueError, match="there is no way from layout NCHW to ABCD"):
        tir.BijectiveLayout("NCHW", "ABCD")


def test_indices_and_shapes_move():
    way = tir.bijective_layout("NCHW", "NCHW16c")
    assert [int(item) for item in way.forward_shape((1, 32, 7, 7))] == [1, 2, 7, 7, 16]
    assert [int(item) for item in way.backward_shape((1, 2, 7, 7, 16))] == [1, 32, 7, 7]
    assert [int(item) for item in way.forward_index([0, 18, 6, 6])] == [0, 1, 6, 6, 2]
    assert [int(item) for item in way.backward_index([0, 1, 6, 6, 2])] == [0, 18, 6, 6]
    n = tir.Var("n")
    assert str(way.forward_shape((1, n, 7, 7))[1]) == "(n + 15) // 16"
    with pytest.raises(ValueError, match="layout NCHW has 4 axes, but the index has 2"):
        way.forward_index([0, 1])


@pytest.mark.parametrize(
    "src, dst", [("AB", "BA"), ("AB", "B4bA"), ("A2aB", "AB2b"), ("AB4b", "AB2b"), ("AB", "AB")]
)
def test_every_index_comes_back(src, dst):
    way = tir.bijective_layout(src, dst)
    whole = {"A": 4, "B": 8}
    layout = tir.layout(src)
    shape = []
    for axis in layout:
        factor = layout.factor_of(axis)
        shape.append(factor if axis.islower() else whole[axis] // max(factor, 1))
    moved = tuple(int(item) for item in way.forward_shape(shape))
    seen = set()
    for index in itertools.product(*map(range, shape)):
        there = tuple(evaluate(item) for item in way.forward_index(index))
        assert all(0 <= x < size for x, size in zip(there, moved))
        assert tuple(evaluate(item) for item in way.backward_index(there)) == index
        seen.add(there)
    assert len(seen) == 32


def test_tensor_intrinsics_by_name():
    A, B = (tir.decl_buffer((4,), name=name) for name in "AB")
    i = tir.Var("i")
    desc = tir.PrimFunc([A, B], tir.For(i, 0, 4, 0, tir.BufferStore(B, A[i], [i])))
    made = tir.TensorIntrin.register("test.copy4", desc, desc)
    assert tir.TensorIntrin.get("test.copy4") is made and made.desc is desc
    with pytest.raises(ValueError, match="'test.copy4' is registered already"):
        tir.TensorIntrin.register("test.copy4", desc, desc)
    assert tir.TensorIntrin.register("test.copy4", desc, desc, override=True) is not made
    with pytest.raises(ValueError, match="there is no intrinsic named 'test.none'"):
        tir.TensorIntrin.get("test.none")
    assert tir.TensorIntrin.get("test.none", allow_missing=True) is None
    with pytest.raises(TypeError, match="expected a PrimFunc as impl"):
        tir.TensorIntrin(desc, None)
    with pytest.raises(ValueError, match="2 parameters, but the implementation 1"):
        tir.TensorIntrin(desc, tir.PrimFunc([A], tir.Evaluate(0)))


def test_what_is_not_here_says_so():
    for name in ("Schedule", "schedule", "tensor_intrin"):
        with pytest.raises(AttributeError, match=f"tvm.tir.{name}: schedules of TIR blocks"):
            getattr(tir, name)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        tir.Nothing
