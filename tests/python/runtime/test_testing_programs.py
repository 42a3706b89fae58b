"""tvm.testing.CompareBeforeAfter, used as tests use it."""

import pytest
import tvm
import tvm.testing
from tvm import tir


def program(value):
    A = tir.decl_buffer((4,), "int32", name="A")
    return tir.PrimFunc([A], tir.BufferStore(A, value, [0]), attrs={"global_symbol": "main"})


class TestFolding(tvm.testing.CompareBeforeAfter):
    transform = tvm.tir.transform.Simplify()

    def before(self):
        x = tir.Mul(tir.const(6), tir.const(7))
        return program(x)

    def expected(self):
        return program(tir.const(42))


class TestWithParameters(tvm.testing.CompareBeforeAfter):
    value = tvm.testing.parameter(1, 2)

    def transform(self):
        return tvm.tir.transform.Simplify()

    def before(self, value):
        return program(tir.Add(tir.const(value), tir.const(1)))

    def expected(self, value):
        return program(tir.const(value + 1))


class TestPlainPrograms(tvm.testing.CompareBeforeAfter):
    transform = tvm.tir.transform.RemoveNoOp()
    before = program(tir.const(3))
    expected = program(tir.const(3))


class TestRefused(tvm.testing.CompareBeforeAfter):
    before = program(tir.const(3))
    expected = ValueError

    def transform(self):
        def refuse(mod):
            raise ValueError("no")

        return refuse


def test_a_difference_is_an_error_that_shows_the_program():
    with pytest.raises(ValueError, match="(?s)StructuralEqual check failed.*before:"):
        tvm.testing.CompareBeforeAfter().test_compare(
            program(tir.const(1)), program(tir.const(2)), tvm.tir.transform.Simplify()
        )
