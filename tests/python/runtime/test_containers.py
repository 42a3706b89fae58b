"""Array, Map, String and ShapeTuple: they are tuple, dict and str, and cross the border."""

import copy
import pickle

import numpy as np
import pytest
import tvm
from tvm.runtime import Array, Map, ShapeTuple, String


@tvm.register_func("test.containers.identity", override=True)
def _identity(x):
    return x


@pytest.fixture
def identity():
    return tvm.get_global_func("test.containers.identity")


def test_array_is_a_sequence():
    a = Array([1, "b", 2.5])
    assert isinstance(a, tuple)
    assert list(a) == [1, "b", 2.5]
    assert len(a) == 3
    assert a[0] == 1
    assert a[-1] == 2.5
    assert 1 in a
    assert a.index("b") == 1
    assert a == [1, "b", 2.5] == a
    assert a == (1, "b", 2.5)
    assert a != [1]
    assert (a != [1, "b", 2.5]) is False
    assert hash(a) == hash((1, "b", 2.5))
    with pytest.raises(IndexError):
        a[3]
    with pytest.raises(TypeError):
        a["x"]
    with pytest.raises(TypeError):
        a[0] = 1


def test_array_slices_and_joins():
    a = Array([1, 2, 3])
    assert type(a[1:]) is Array
    assert a[1:] == [2, 3]
    assert a[::-1] == [3, 2, 1]
    for joined in (a + [4], a + (4,), a + Array([4])):
        assert type(joined) is Array
        assert joined == [1, 2, 3, 4]
    for joined in ([0] + a, (0,) + a):
        assert type(joined) is Array
        assert joined == [0, 1, 2, 3]
    with pytest.raises(TypeError):
        a + 1


def test_array_prints_as_classic():
    assert str(Array([1, "a", Array([2])])) == '[1, "a", [2]]'
    assert repr(Array(['it\'s "x"'])) == "['it\\'s \"x\"']"


def test_map_is_a_dict_that_stays():
    m = Map({"b": 1, "a": 2})
    assert isinstance(m, dict)
    assert m["b"] == 1
    assert list(m) == ["b", "a"]
    assert m.get("zz") is None
    assert dict(m.items()) == {"b": 1, "a": 2}
    assert m == {"a": 2, "b": 1}
    assert str(m) == '{"b": 1, "a": 2}'
    with pytest.raises(KeyError):
        m["zz"]
    for change in (
        lambda: m.__setitem__("c", 3),
        lambda: m.__delitem__("b"),
        lambda: m.update(c=3),
        lambda: m.pop("b"),
        lambda: m.popitem(),
        lambda: m.clear(),
        lambda: m.setdefault("c", 3),
        lambda: m.__ior__({"c": 3}),
    ):
        with pytest.raises(TypeError, match="cannot be changed"):
            change()
    assert m == {"a": 2, "b": 1}
    assert type(m | {"c": 3}) is Map
    assert (m | {"c": 3})["c"] == 3


def test_string_and_shape_tuple():
    s = String("abc")
    assert s == "abc"
    assert {s: 1}["abc"] == 1
    assert s.upper() == "ABC"
    t = ShapeTuple([2, np.int64(3)])
    assert t == (2, 3) == t
    assert t == [2, 3]
    assert all(type(v) is int for v in t)
    assert repr(t) == "ShapeTuple(2, 3)"
    with pytest.raises(TypeError, match="expected integers"):
        ShapeTuple([1.5])
    with pytest.raises(ValueError, match="64 bits"):
        ShapeTuple([1 << 63])


@pytest.mark.parametrize(
    "value", [Array([1, Array(["x"])]), Map({"a": Array([1])}), String("s"), ShapeTuple([1, 2])]
)
def test_pickle_copy_and_identity(value):
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        other = pickle.loads(pickle.dumps(value, protocol))
        assert type(other) is type(value)
        assert other == value
    for other in (copy.copy(value), copy.deepcopy(value)):
        assert type(other) is type(value)
        assert other == value
    assert value.same_as(value)
    assert not value.same_as(copy.deepcopy([value])[0]) or copy.deepcopy(value) is value
    assert value.handle == value.handle
    assert value.type_key


def test_same_classes_everywhere():
    assert tvm.runtime.container.Array is Array
    assert tvm.runtime.container.Map is Map


def test_ir_container_is_the_same():
    container = pytest.importorskip("tvm.ir.container")
    assert container.Array is Array
    assert container.Map is Map


def test_across_the_border(identity):
    a = identity([1, 2.5, "x", [None, b"b"]])
    assert type(a) is Array
    assert a[:3] == [1, 2.5, "x"]
    assert type(a[0]) is int
    assert a[3][0] is None
    m = identity({"a": [1], "b": {"c": 2}})
    assert type(m) is Map
    assert type(m["a"]) is Array
    assert type(m["b"]) is Map
    assert m["b"]["c"] == 2
    t = identity(ShapeTuple([2, 3]))
    assert type(t) is ShapeTuple
    assert t == (2, 3)
    assert identity(String("abc")) == "abc"
    assert identity(Array([])) == []
    assert identity({}) == {}


def test_shapes_are_taken_where_shapes_are():
    assert tvm.nd.empty(ShapeTuple([2, 3])).shape == (2, 3)
    alloc = tvm.get_global_func("runtime.TVMArrayAllocWithScope")
    assert alloc(ShapeTuple([4]), "int8", tvm.cpu(0), None).shape == (4,)


def test_nd_array_refuses_an_ir_array():
    with pytest.raises(AttributeError, match="Array") as caught:
        tvm.nd.array(Array([1, 2]))
    assert isinstance(caught.value, tvm.TVMError)
    with pytest.raises(TypeError):
        tvm.nd.array(Map({"a": 1}))


def test_adt():
    container = tvm.runtime.container
    value = container.ADT(3, [1, "a"])
    assert (value.tag, value[0], list(value)) == (3, 1, [1, "a"])
    assert pickle.loads(pickle.dumps(value)).tag == 3
    assert container.tuple_object([1]).tag == 0
    assert container.tuple_object() == ()
    with pytest.raises(TypeError, match="tag"):
        container.ADT("x", [])
