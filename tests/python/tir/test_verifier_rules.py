"""Every rule of the verifier refuses a node that breaks it: nodes are spoilt after being made."""

import pytest
from tvm import ir, tir
from tvm.tir.functor import EXPR_CLASSES, STMT_CLASSES
from tvm.tir.verify import RULES, VerifyError, verify

A = tir.decl_buffer((8,), "float32", name="A")
X = tir.Var("x")
F = tir.Var("f", "float32")
VECTOR = tir.decl_buffer((8,), "float32x4", name="V")
STORE = tir.BufferStore(A, F, [X])


class Producer(tir.DataProducer):
    __slots__ = ("dtype", "name", "shape")
    type_key = "test.RuleProducer"
    FIELDS = "name:x dtype:x"

    def __init__(self, name, dtype, shape):
        self.name = name
        self.dtype = dtype
        self.shape = shape


T = Producer("T", "float32", [8])


def spoilt(node, **changes):
    for name, value in changes.items():
        setattr(node, name, value)
    return node


def block(values):
    made = tir.Block([tir.IterVar((0, 8), "v")], [], [], "b", STORE)
    return spoilt(tir.BlockRealize([X], True, made), iter_values=values)


CASES = {
    "select arms": (spoilt(tir.Select(X < 1, X, X + 1), dtype="int64"), "is chosen of"),
    "select condition": (spoilt(tir.Select(X < 1, X, X), condition=X), "must be a bool"),
    "cast lanes": (spoilt(tir.Cast("float32", X), dtype="float32x4"), "changes the lanes"),
    "not": (spoilt(tir.Not(X < 1), dtype="int32"), "not of bool gives int32"),
    "float": (spoilt(tir.FloatImm("float32", 1.0), dtype="int32"), "which is no float"),
    "int": (spoilt(tir.IntImm("int8", 1), value=300), "out of the range of int8"),
    "ramp": (spoilt(tir.Ramp(X, 1, 4), lanes=8), "8 lanes, but its dtype is int32x4"),
    "broadcast": (spoilt(tir.Broadcast(X, 4), lanes=8), "8 lanes"),
    "shuffle": (spoilt(tir.Shuffle([tir.Ramp(X, 1, 4)], [0, 1]), dtype="int32"), "2 lanes"),
    "sum": (spoilt(tir.Add(X, X), dtype="int64"), "the result is int64"),
    "comparison": (spoilt(tir.LT(X, X), b=F), "operands of dtype int32 and float32"),
    "load": (spoilt(A[X], dtype="int32"), "the load gives float32"),
    "produced": (spoilt(tir.ProducerLoad(T, [X]), indices=(X, X)), "1 dimensions, not 2"),
    "undefined": (tir.Var("q") + 1, "q is used but not defined"),
    "store": (spoilt(tir.BufferStore(A, F, [X]), value=X), "float32 is stored there"),
    "produced value": (spoilt(tir.ProducerStore(T, F, [X]), value=X), "but the value is int32"),
    "realized": (
        spoilt(tir.ProducerRealize(T, [(0, 8)], True, STORE), condition=X), "must be a scalar bool",
    ),
    "prefetch": (tir.Prefetch(A, [(0, 1), (0, 1)]), "A has 1 dimensions"),
    "sequence": (spoilt(tir.SeqStmt([STORE, STORE]), seq=()), "no statements"),
    "block values": (block((X, X)), "1 block axes, but 2 values"),
    "block value": (block((F,)), "must be a scalar int"),
    "loop": (spoilt(tir.For(tir.Var("i"), 0, 4, 0, STORE), extent=F), "must be a scalar int"),
    "if": (spoilt(tir.IfThenElse(X < 1, STORE), condition=X), "must be a scalar bool"),
    "let": (
        spoilt(tir.LetStmt(tir.Var("y"), X, STORE), value=F), "y is int32, its value float32",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_broken_rule_is_found(name):
    node, reason = CASES[name]
    body = node if isinstance(node, tir.Stmt) else tir.Evaluate(node)
    func = tir.PrimFunc([A, VECTOR, X, F], body, attrs={"global_symbol": "rules"})
    with pytest.raises(VerifyError, match=reason) as found:
        verify(func)
    assert str(found.value).startswith("rules: ")


def test_every_node_has_a_rule():
    without = {cls.__name__ for cls in EXPR_CLASSES + STMT_CLASSES if cls not in RULES}
    assert without == {"StringImm", "Any_", "Evaluate"}


def test_a_correct_program_passes():
    i = tir.Var("i")
    body = tir.For(i, 0, 8, 0, tir.BufferStore(A, tir.Select(i < 4, F, F + 1.0), [i]))
    verify(tir.PrimFunc([A, F], body))
    verify(ir.IRModule({"main": tir.PrimFunc([A, F], body)}))
