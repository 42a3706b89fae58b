"""The exception classes: old and new `except` clauses catch them, and native kinds map to them."""

import builtins
import copy
import pickle

import pytest
import tvm
from tvm import error

DOUBLE = [
    name[:-1]
    for name, cls in vars(error).items()
    if name.endswith("_") and not name.startswith("_") and isinstance(cls, type)
]


def test_there_are_double_classes():
    assert {"ValueError", "TypeError", "AttributeError", "IndexError", "KeyError"} <= set(DOUBLE)


@pytest.mark.parametrize("name", DOUBLE)
def test_double_base(name):
    ours = getattr(error, name + "_")
    for base in (tvm.TVMError, RuntimeError, getattr(builtins, name)):
        with pytest.raises(base, match="some text"):
            raise ours("some text")
    assert error.error_class(name) is ours


@pytest.mark.parametrize("cls", sorted(set(error._classes.values()), key=str))
def test_text_and_pickle(cls):
    problem = cls("what happened: 'x'")
    assert str(problem).splitlines()[0] == "what happened: 'x'"
    for other in (pickle.loads(pickle.dumps(problem)), copy.copy(problem)):
        assert type(other) is cls
        assert str(other) == str(problem)


def test_hierarchy():
    assert issubclass(tvm.TVMError, RuntimeError)
    assert issubclass(error.InternalError, tvm.TVMError)
    assert issubclass(error.ScheduleError, tvm.TVMError)
    assert issubclass(error.ScheduleError, ValueError)
    assert issubclass(error.RPCSessionTimeoutError, error.RPCError)
    assert issubclass(error.RPCSessionTimeoutError, TimeoutError)
    assert issubclass(error.OpNotImplemented, NotImplementedError)
    assert issubclass(error.OpAttributeRequired, AttributeError)
    assert issubclass(error.TypeAttributeError, TypeError)
    assert issubclass(error.TypeAttributeError, AttributeError)


def test_internal_error_asks_for_a_report_once():
    problem = error.InternalError("impossible")
    assert "report" in str(problem)
    assert str(error.InternalError(str(problem))).count("report") == 1


def test_error_class_of_unknown_and_qualified_kinds():
    assert error.error_class("NobodyKnowsThis") is tvm.TVMError
    assert error.error_class("tvm.error.ValueError") is error.ValueError_
    assert error.error_class("KeyboardInterrupt") is KeyboardInterrupt


@pytest.fixture
def registry():
    before = dict(error._classes)
    yield error._classes
    error._classes.clear()
    error._classes.update(before)


def test_register_error_forms(registry):
    @tvm.register_error
    class QuotaError(tvm.TVMError):
        pass

    @tvm.error.register_error("Budget")
    class BudgetError(tvm.TVMError):
        pass

    class PlainError(Exception):
        pass

    assert error.register_error("Plain", PlainError) is PlainError
    assert error.error_class("QuotaError") is QuotaError
    assert error.error_class("Budget") is BudgetError
    assert error.error_class("Plain") is PlainError


def test_register_error_refuses_what_is_no_exception(registry):
    with pytest.raises(TypeError, match="exception class"):
        error.register_error("Bad", int)
    with pytest.raises(TypeError, match="exception class"):
        error.register_error(dict)
