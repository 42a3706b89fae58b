"""Programs written with the builder mean what they say."""

import numpy as np
import pytest
import tvm
from tvm import tir
from tvm.tir.interpreter import interpret
from tvm.tir.verify import verify


def test_loops_branches_and_allocations():
    n = tir.Var("n")
    a = tir.decl_buffer((n,), "int32", name="A")
    ib = tir.ir_builder.create()
    out = ib.buffer_ptr(a)
    scratch = ib.allocate("int32", n, name="scratch")
    with ib.for_range(0, n, name="i") as i:
        with ib.if_scope(i % 2 == 0):
            scratch[i] = i * 10
        with ib.else_scope():
            scratch[i] = -i
    with ib.for_range(0, n, name="j") as j:
        double = ib.let("double", scratch[j] * 2)
        out[j] = double + 1
    func = tir.PrimFunc([a], ib.get())
    verify(func)
    values = np.zeros(5, "int32")
    interpret(func, values)
    assert values.tolist() == [1, -1, 41, -5, 81]


def test_while_and_attributes():
    a = tir.decl_buffer((1,), "int32", name="A")
    ib = tir.ir_builder.create()
    out = ib.buffer_ptr(a)
    ib.scope_attr("here", "pragma_note", 1)
    with ib.while_loop(out[0] < 10):
        out[0] = out[0] + 3
    body = ib.get()
    assert isinstance(body, tir.AttrStmt) and isinstance(body.body, tir.While)
    values = np.zeros(1, "int32")
    interpret(tir.PrimFunc([a], body), values)
    assert values[0] == 12


def test_mistakes_are_refused():
    ib = tir.ir_builder.create()
    with pytest.raises(ValueError, match="unknown kind 'fast'"):
        ib.for_range(0, 4, kind="fast")
    with pytest.raises(ValueError, match="else_scope can only follow"):
        ib.else_scope()
    pointer = ib.pointer("float32", name="P")
    with pytest.raises(tvm.TVMError, match="expected a value of dtype float32, but got int32"):
        pointer[0] = tir.Var("x")
