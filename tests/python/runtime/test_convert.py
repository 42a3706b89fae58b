"""tvm.runtime.convert and const."""

import subprocess
import sys

import numpy as np
import pytest
import tvm
from tvm.runtime import Array, Map, PackedFunc, String, const, convert


def test_what_stays_as_it_is():
    a = tvm.nd.array([1.0])
    for value in (
        None,
        a,
        tvm.cpu(0),
        tvm.DataType("int8"),
        Array([1]),
        Map({"a": 1}),
        String("x"),
    ):
        assert convert(value) is value


def test_text():
    s = convert("abc")
    assert type(s) is String
    assert s == "abc"


def test_callable():
    f = convert(lambda x, y: x * 10 + y)
    assert type(f) is PackedFunc
    assert f(1, 2) == 12
    assert convert(f) is f


def test_containers_of_text():
    a = convert(["a", ("b", None)])
    assert type(a) is Array
    assert type(a[1]) is Array
    assert type(a[1][0]) is String
    m = convert({"k": ["v"]})
    assert type(m) is Map
    assert type(m["k"]) is Array


def test_numbers_become_constants():
    pytest.importorskip("tvm.tir")
    for value, dtype in [
        (1, "int32"),
        (-(1 << 31), "int32"),
        (1 << 31, "int64"),
        (True, "bool"),
        (1.5, "float32"),
        (np.float64(1.5), "float64"),
        (np.int8(3), "int8"),
        (np.bool_(True), "bool"),
    ]:
        node = convert(value)
        assert node.dtype == dtype
        assert node.value == value
        assert isinstance(node, tvm.runtime.Object)
        assert convert(node) is node
    assert [n.value for n in convert([1, 2])] == [1, 2]
    assert convert({"a": 1})["a"].dtype == "int32"


def test_const():
    pytest.importorskip("tvm.tir")
    assert const(1, "float32").dtype == "float32"
    assert const(3, "uint8").value == 3
    assert const(1 << 40).dtype == "int64"
    with pytest.raises(ValueError, match="64 bits"):
        const(1 << 70)
    with pytest.raises(TypeError, match="constant"):
        const("x")


@pytest.mark.parametrize("value", [object(), b"x", np.zeros(3), {1, 2}, {("a",): 1}])
def test_other_values(value):
    with pytest.raises(TypeError, match="convert"):
        convert(value)


def test_asobject():
    class Mine(tvm.runtime.ObjectGeneric):
        def asobject(self):
            return String("mine")

    assert convert(Mine()) == "mine"
    with pytest.raises(NotImplementedError):
        convert(tvm.runtime.ObjectGeneric())


def test_nd_array_of_converted_list():
    with pytest.raises(AttributeError):
        tvm.nd.array(convert(["a", "b"]))


def test_convert_of_text_loads_no_compiler():
    code = "import sys, tvm; tvm.runtime.convert(['a']); assert 'tvm.tir' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
