"""Every node class: made, printed, compared, written as JSON and read, left alone by a mutator."""

import copy
import pickle

import pytest
import tvm
from tvm import ir, tir
from tvm.tir.stmt_functor import EXPR_CLASSES, STMT_CLASSES, StmtExprMutator, StmtExprVisitor

X = tir.Var("x")
Y = tir.Var("y")
F = tir.Var("f", "float32")
P = tir.Var("p", ir.PointerType(ir.PrimType("float32")))
A = tir.decl_buffer((8,), "float32", name="A")
B = tir.decl_buffer((8, 4), "float32", name="B")
TRUE = tir.const(True)
STORE = tir.BufferStore(A, A[X] + 1.0, [X])


class Producer(tir.DataProducer):
    __slots__ = ("dtype", "name")
    type_key = "test.Producer"
    FIELDS = "name:x dtype:x"

    def __init__(self, name, dtype):
        self.name = name
        self.dtype = dtype


T = Producer("T", "float32")
AXIS = tir.IterVar((0, 4), "k", tir.IterVar.CommReduce)
BINARY = [
    tir.Add, tir.Sub, tir.Mul, tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod, tir.Min, tir.Max,
    tir.EQ, tir.NE, tir.LT, tir.LE, tir.GT, tir.GE,
]  # fmt: skip
BLOCK = tir.Block(
    [tir.IterVar((0, 8), "v")], [], [tir.stmt.BufferRegion(A, [(0, 8)])], "block", STORE,
    init=tir.BufferStore(A, tir.const(0.0), [X]), alloc_buffers=[B], annotations={"k": 1},
)  # fmt: skip

EXPRS = [
    X, tir.SizeVar("n"), tir.IntImm("int64", -3), tir.FloatImm("float16", 0.5),
    tir.StringImm('a "b"\n'), *[cls(X, Y) for cls in BINARY], tir.And(X < Y, Y < X),
    tir.Or(X < Y, Y < X), tir.Not(X < Y), tir.Cast("float32", X), tir.Select(X < Y, X, Y),
    tir.Ramp(X, 2, 4), tir.Broadcast(F, 4), tir.Shuffle([tir.Ramp(X, 1, 4)], [0, 3]), A[X],
    tir.ProducerLoad(T, [X]), tir.exp(F), tir.Let(Y, X + 1, Y * 2), tir.Any(),
    tir.sum(A[AXIS.var], AXIS),
]  # fmt: skip
STMTS = [
    STORE, tir.LetStmt(Y, X + 1, STORE), tir.AssertStmt(X < Y, "no", STORE),
    tir.For(Y, 0, X, tir.ForKind.PARALLEL, STORE, annotations={"a": "b"}),
    tir.For(Y, 0, 8, tir.ForKind.THREAD_BINDING, STORE, tir.IterVar(None, "t", 1, "threadIdx.x")),
    tir.While(X < Y, STORE), tir.BufferRealize(B, [(0, 8), (0, 4)], True, STORE),
    tir.ProducerStore(T, F, [X]), tir.ProducerRealize(T, [ir.Range(0, X)], True, STORE, "local"),
    tir.Prefetch(A, [(0, 4)]), tir.Allocate(P, "float32", [X], True, STORE, {"k": 2}),
    tir.AllocateConst(P, "float32", [2], tvm.nd.array([1.0, 2.0]), STORE),
    tir.DeclBuffer(A, STORE), tir.AttrStmt(AXIS, "key", X, STORE), tir.SeqStmt([STORE, STORE]),
    tir.IfThenElse(X < Y, STORE, STORE), tir.Evaluate(X), BLOCK,
    tir.BlockRealize([X], X < Y, BLOCK),
]  # fmt: skip
OTHERS = [
    ir.Range(0, X), AXIS, A, T, tir.stmt.BufferRegion(A, [(0, 4)]), EXPRS[-1].combiner,
    tir.stmt.MatchBufferRegion(A, tir.stmt.BufferRegion(B, [(0, 8), (0, 1)])),
    ir.PrimType("int32"), P.type_annotation, ir.TupleType(), ir.GlobalVar("g"),
    ir.FuncType([ir.PrimType("int32")], ir.TupleType()), ir.TypeVar("V"),
    ir.TensorType([1, 2]), ir.DictAttrs({"a": 1, "b": [X], "c": "d", "e": 1.5, "f": True}),
    ir.Span("file", 1, 2, 3, 4), ir.Op.get("tir.exp"),
    tir.PrimFunc([A, X], STORE, attrs={"global_symbol": "main"}),
    ir.IRModule({"main": tir.PrimFunc([A, X], STORE)}),
]  # fmt: skip
ALL = EXPRS + STMTS + OTHERS


def key(node):
    return node.type_key


def test_the_samples_are_complete():
    assert {type(node) for node in EXPRS} == set(EXPR_CLASSES)
    assert {type(node) for node in STMTS} == set(STMT_CLASSES)


@pytest.mark.parametrize("node", ALL, ids=key)
def test_print(node):
    text = str(node)
    assert text and f"<{node.type_key}>" not in text
    assert repr(node) == text


@pytest.mark.parametrize("node", ALL, ids=key)
def test_json_round_trip(node):
    text = ir.save_json(node)
    back = ir.load_json(text)
    assert type(back) is type(node)
    ir.assert_structural_equal(node, back, map_free_vars=True)
    assert ir.structural_hash(node, True) == ir.structural_hash(back, True)
    assert ir.save_json(back) == text
    ir.assert_structural_equal(pickle.loads(pickle.dumps(node)), node, map_free_vars=True)
    assert copy.deepcopy(node) is node


@pytest.mark.parametrize("node", ALL, ids=key)
def test_different_nodes_differ(node):
    for other in ALL:
        if other is not node and type(other) is not type(node):
            assert not ir.structural_equal(node, other, True)


@pytest.mark.parametrize("node", EXPRS + STMTS, ids=key)
def test_a_mutator_that_changes_nothing_returns_the_same_node(node):
    class Nothing(StmtExprMutator):
        def visit_expr(self, expr):
            return super().visit_expr(expr)

    class Skipping(StmtExprMutator):
        pass

    assert Nothing()(node) is node
    assert Skipping()(node) is node
    assert tir.stmt_functor.substitute(node, {tir.Var("x"): tir.const(1)}) is node


@pytest.mark.parametrize("node", EXPRS + STMTS, ids=key)
def test_a_mutator_reaches_every_child(node):
    """Replacing x changes exactly the nodes in which the visitor finds x."""
    seen = []

    class Find(StmtExprVisitor):
        def visit_var_(self, op):
            seen.append(op)

    Find()(node)
    made = tir.stmt_functor.substitute(node, {X: Y * 3})
    assert (made is not node) == any(var is X for var in seen)
    assert type(made) is type(node) or node is X
    if made is not node and node is not X:
        again = []

        class Again(StmtExprVisitor):
            def visit_var_(self, op):
                again.append(op)

        Again()(made)
        assert not any(var is X for var in again)
        assert made.kinds & tir.Mul.KIND and made.depth >= node.depth


@pytest.mark.parametrize("node", EXPRS + STMTS, ids=key)
def test_kinds_and_depth_are_those_of_the_tree(node):
    kinds = 0

    def note(item):
        nonlocal kinds
        kinds |= item.KIND

    tir.stmt_functor.post_order_visit(node, note)
    assert kinds | 1 == node.kinds | 1
    assert node.depth >= 1


def test_structural_equality_ignores_the_names_of_definitions_only():
    a, b, free = tir.Var("a"), tir.Var("b"), tir.Var("free")
    loop_a = tir.For(a, 0, 4, 0, tir.Evaluate(a + free))
    loop_b = tir.For(b, 0, 4, 0, tir.Evaluate(b + free))
    assert ir.structural_equal(loop_a, loop_b)
    assert ir.structural_hash(loop_a) == ir.structural_hash(loop_b)
    other = tir.For(b, 0, 4, 0, tir.Evaluate(b + tir.Var("free")))
    assert not ir.structural_equal(loop_a, other)
    assert ir.structural_equal(loop_a, other, map_free_vars=True)
    # One variable cannot stand for two.
    assert not ir.structural_equal(X + X, X + Y, map_free_vars=True)
    assert not ir.structural_equal(X + Y, X + X, map_free_vars=True)


def test_the_first_mismatch_is_named():
    left = tir.SeqStmt([STORE, tir.Evaluate(X + 1)])
    right = tir.SeqStmt([STORE, tir.Evaluate(X + 2)])
    with pytest.raises(ValueError, match=r"seq\[1\]\.value\.b\.value"):
        ir.assert_structural_equal(left, right)
    path, _ = ir.get_first_structural_mismatch(left, right)
    assert str(path) == "<root>.seq[1].value.b.value"
    assert ir.get_first_structural_mismatch(left, left) is None


def test_make_node():
    made = ir.make_node("IntImm", dtype="int32", value=10)
    assert isinstance(made, tir.IntImm) and made.value == 10
    with pytest.raises(AttributeError, match="no class has the type key"):
        ir.make_node("Nothing")
    with pytest.raises(AttributeError, match="has no field 'other'"):
        ir.make_node("IntImm", dtype="int32", value=10, other=1)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"root": 5, "nodes": []}',
    '{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "What"}]}',
    '{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "tir.Add", "attrs": {"a": "1"}}]}',
])  # fmt: skip
def test_bad_json_is_refused(text):
    with pytest.raises(ValueError, match="load_json"):
        ir.load_json(text)


def test_ten_thousand_nodes_deep():
    left, right = X, X
    for _ in range(10_000):
        left = left + Y
        right = Y - right
    for expr in (left, right):
        assert len(str(expr)) > 20_000
        assert ir.structural_equal(expr, ir.load_json(ir.save_json(expr)), True)
        assert tir.stmt_functor.substitute(expr, {X: Y}).depth == expr.depth
