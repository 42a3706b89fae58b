"""Maps of indices and their inverses, on all indices of small shapes."""

import itertools

import numpy as np
import pytest
import tvm
from tvm import tir
from tvm.tir import IndexMap
from tvm.tir.interpreter import evaluate


def values(exprs, names, row):
    return tuple(evaluate(item, dict(zip(names, row))) for item in exprs)


def check_inverse(function, shape, expected_shape):
    """The inverse with its padding, against all indices of both shapes."""
    made = IndexMap.from_func(function)
    assert [int(item) for item in made.map_shape(shape)] == list(expected_shape)
    back, padding = made.non_surjective_inverse(shape)
    image = {}
    for row in itertools.product(*map(range, shape)):
        out = values(made.final_indices, made.initial_indices, row)
        assert out not in image
        image[out] = row
    for out in itertools.product(*map(range, expected_shape)):
        outside = bool(values([padding], back.initial_indices, out)[0])
        assert outside == (out not in image), (out, str(padding))
        if not outside:
            assert values(back.final_indices, back.initial_indices, out) == image[out]
    return made, back, padding


@pytest.mark.parametrize(
    "function, shape, expected",
    [
        (lambda i: [i // 4, i % 4], (16,), (4, 4)),
        (lambda i: [i // 4, i % 4], (15,), (4, 4)),
        (lambda i: [(i + 1) // 4, (i + 1) % 4], (15,), (4, 4)),
        (lambda i: [(i + 1) // 4, (i + 1) % 4], (14,), (4, 4)),
        (lambda i: [(i + 5) // 4, (i + 5) % 4], (7,), (3, 4)),
        (lambda i, j: [j, i], (3, 5), (5, 3)),
        (lambda i, j: [i * 5 + j], (3, 5), (15,)),
        (lambda i, j: [i // 2, j // 3, i % 2, j % 3], (5, 7), (3, 3, 2, 3)),
        (lambda i, j: [(i * 6 + j) // 4, (i * 6 + j) % 4], (3, 6), (5, 4)),
        (lambda n, h, w, c: [n, h, c // 4, w, c % 4], (2, 3, 3, 8), (2, 3, 2, 3, 4)),
        (lambda n, h: [h, 0, n], (1, 4), (4, 1, 1)),
        (lambda i: [0, i], (3,), (1, 3)),
        (lambda i: [i * 2], (3,), (5,)),
        (lambda i: [6 - i * 2], (3,), (7,)),
        (lambda i, j: [i + 2, j * 3 + 1], (3, 2), (5, 5)),
    ],
)
def test_inverses(function, shape, expected):
    made, back, padding = check_inverse(function, shape, expected)
    # Steps and offsets leave gaps, but only uneven cuts need padding.
    even = isinstance(padding, tir.IntImm) or "//" not in str(made)
    if even:
        assert made.inverse(shape).is_equivalent_to(back)
    else:
        with pytest.raises(ValueError, match="has no inverse"):
            made.inverse(shape)


def test_padding_reads_as_people_write_it():
    _, padding = IndexMap.from_func(lambda i: [i // 4, i % 4]).non_surjective_inverse([15])
    assert str(padding) == "axis0 == T.int64(3) and T.int64(3) <= axis1"


def test_maps_of_indices():
    made = IndexMap.from_func(lambda i: [i // 4, i % 4], index_dtype="int32")
    assert [int(item) for item in made.map_indices([9])] == [2, 1]
    x = tir.Var("x")
    assert [str(item) for item in made.map_indices([x * 4])] == ["x", "0"]
    n = tir.Var("n")
    assert [str(item) for item in made.map_shape([n * 4])] == ["n", "4"]
    assert made.is_equivalent_to(IndexMap.from_func(lambda q: [q // 4, q - q // 4 * 4]))
    assert not made.is_equivalent_to(IndexMap.from_func(lambda q: [q // 4, q % 5]))
    assert str(made) == "lambda i: (i // 4, i % 4)"
    assert tvm.ir.structural_equal(tvm.ir.load_json(tvm.ir.save_json(made)), made)


def test_arrays_are_mapped():
    data = tvm.nd.array(np.arange(16, dtype="int8").reshape(2, 8))
    made = IndexMap.from_func(lambda i, j: [j // 4, i, j % 4])
    expected = data.numpy().reshape(2, 2, 4).transpose(1, 0, 2)
    np.testing.assert_array_equal(made.map_ndarray(data).numpy(), expected)
    with pytest.raises(ValueError, match="does not fill"):
        made.map_ndarray(tvm.nd.array(np.zeros((2, 7))))


def test_functions_of_any_number_of_indices():
    made = IndexMap.from_func(lambda *args: [*args[1:], args[0]], ndim=3)
    assert [item.name for item in made.initial_indices] == ["args_0", "args_1", "args_2"]
    assert [int(item) for item in made.map_indices([1, 2, 3])] == [2, 3, 1]
    with pytest.raises(ValueError, match="ndim is needed"):
        IndexMap.from_func(lambda *args: args)
    with pytest.raises(ValueError, match="takes 1 indices, but ndim is 2"):
        IndexMap.from_func(lambda i: [i], ndim=2)


def test_separators():
    function = lambda i, j: [i, IndexMap.AXIS_SEPARATOR, j]
    made, where = IndexMap.from_func_with_separators(function)
    assert len(made.final_indices) == 2 and where == [1]
    with pytest.raises(ValueError, match="axis separators"):
        IndexMap.from_func(function)
    with pytest.raises(TypeError, match="got float"):
        IndexMap.from_func(lambda i: [1.5])


def test_a_given_inverse_is_used():
    made = IndexMap.from_func(
        lambda i: [(i * 3 + 2) % 10], inverse_index_map=lambda j: [((j - 2) * 7) % 10]
    )
    for value in range(10):
        (there,) = made.map_indices([value])
        assert int(made.inverse([10]).map_indices([there])[0]) == value
    with pytest.raises(ValueError, match="has no inverse"):
        IndexMap.from_func(lambda i: [(i * 3 + 2) % 10]).inverse([10])
    with pytest.raises(ValueError, match="does not depend on j|has no inverse"):
        IndexMap.from_func(lambda i, j: [i]).inverse([4, 4])
