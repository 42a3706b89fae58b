"""Object paths, global functions as nodes, types of functions."""

import pickle

import pytest
import tvm
from tvm import ir
from tvm.ir import object_path as ir_path
from tvm.runtime import object_path
from tvm.runtime.object_path import ObjectPath


def test_every_step_has_its_class():
    root = ObjectPath.root()
    for path, cls, text in [
        (root, "RootPath", "<root>"),
        (ObjectPath.root("a"), "RootPath", "a"),
        (root.attr("body"), "AttributeAccessPath", "<root>.body"),
        (root.attr(None), "UnknownAttributeAccessPath", "<root>.<unknown attribute>"),
        (root.array_index(5), "ArrayIndexPath", "<root>[5]"),
        (root.missing_array_element(5), "MissingArrayElementPath", "<root>[<missing element #5>]"),
        (root.map_value("k"), "MapValuePath", '<root>["k"]'),
        (root.missing_map_entry(), "MissingMapEntryPath", "<root>[<missing entry>]"),
    ]:
        assert type(path) is getattr(object_path, cls) and str(path) == repr(path) == text
        assert isinstance(path, ObjectPath)
    assert root.attr("body").attr_key == "body" and root.array_index(5).index == 5
    assert root.map_value("k").key == "k" and root.missing_array_element(4).index == 4
    assert tvm.runtime.ObjectPath is ObjectPath and ir_path.ObjectPath is ObjectPath


def test_parents_prefixes_and_equality():
    path = ObjectPath.root().attr("foo").array_index(5)
    assert path.parent == ObjectPath.root().attr("foo") and path.parent.parent == ObjectPath.root()
    assert path.parent.parent.parent is None and len(path) == 3
    assert [str(path.get_prefix(k)) for k in (1, 2, 3)] == ["<root>", "<root>.foo", "<root>.foo[5]"]
    for bad in (0, 4):
        with pytest.raises(IndexError, match=f"3 steps has no prefix of {bad}"):
            path.get_prefix(bad)
    same = ObjectPath.root().attr("foo").array_index(5)
    assert path == same and hash(path) == hash(same)
    for other in (
        ObjectPath.root().attr("foo"),
        ObjectPath.root().attr("bar").array_index(5),
        ObjectPath.root().attr("foo").array_index(6),
        ObjectPath.root().attr("foo").missing_array_element(5),
        ObjectPath.root("other").attr("foo").array_index(5),
    ):
        assert path != other
    assert path.parent.is_prefix_of(path) and path.is_prefix_of(path)
    assert not path.is_prefix_of(path.parent)


def test_global_functions_as_nodes():
    tvm.register_func("test.ir.env_func", lambda x: x + 1, override=True)
    made = ir.EnvFunc.get("test.ir.env_func")
    assert made.name == "test.ir.env_func" and made(41) == 42 and made.func(1) == 2
    back = ir.load_json(ir.save_json(made))
    assert type(back) is ir.EnvFunc and back(10) == 11
    assert '"repr_str": "test.ir.env_func"' in ir.save_json(made)
    assert ir.structural_equal(made, back) and pickle.loads(pickle.dumps(made))(1) == 2
    attrs = ir.make_node("DictAttrs", func=made, name="xyz", padding=[0, 0])
    again = ir.load_json(ir.save_json(attrs))
    assert again.func(10) == 11 and again.name == "xyz"
    with pytest.raises(ValueError, match="no global function named 'test.ir.nothing'"):
        ir.EnvFunc.get("test.ir.nothing")


def test_types_of_functions():
    param = ir.TypeVar("T")
    tvm.register_func("test.ir.relation", lambda *args: True, override=True)
    func = ir.EnvFunc.get("test.ir.relation")
    attrs = ir.make_node("DictAttrs", name="attr", padding=3)
    relation = ir.TypeRelation(func, [param, param], 1, attrs)
    made = ir.FuncType([param], ir.TupleType([param]), [param], [relation])
    assert made.type_constraints[0].num_inputs == 1 and made.type_params[0] is param
    back = ir.load_json(ir.save_json(made))
    assert ir.structural_equal(made, back, map_free_vars=True)
    assert isinstance(relation, ir.TypeConstraint)
    shorter = ir.FuncType([param], ir.TupleType([param]))
    assert shorter.type_constraints == () and shorter != made
