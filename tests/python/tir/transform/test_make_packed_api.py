"""MakePackedAPI: the classic six parameters, checks in the runtime's order, the old body inside."""

import tvm
from tvm import te, tir
from tvm.tir.stmt_functor import post_order_visit
from tvm.tir.transform import MakePackedAPI
from tvm.tir.transform.make_packed_api import make_packed_api
from tvm.tir.verify import verify


def add_one(dtype="float32", **options):
    n = te.var("n")
    A = te.placeholder((n,), dtype, name="A")
    B = te.compute((n,), lambda i: A[i] + tir.const(1, dtype), name="B")
    return tvm.lower(te.create_schedule(B.op), [A, B], name="add_one", **options)


def chain(func):
    """The statements that are nested in one another, outermost first."""
    found = []
    node = func.body
    while isinstance(node, (tir.AssertStmt, tir.LetStmt)):
        found.append(node)
        node = node.body
    return found, node


def messages(func):
    return [item.message.value for item in chain(func)[0] if isinstance(item, tir.AssertStmt)]


def test_parameters_and_attributes():
    mod = MakePackedAPI()(add_one())
    func = mod["add_one"]
    assert [param.name for param in func.params] == [
        "args",
        "arg_type_ids",
        "num_args",
        "out_ret_value",
        "out_ret_tcode",
        "resource_handle",
    ]
    assert [param.dtype for param in func.params] == ["handle"] * 2 + ["int32"] + ["handle"] * 3
    assert func.attrs["calling_conv"] == 1 and func.attrs["global_symbol"] == "add_one"
    assert not func.buffer_map
    verify(func)


def test_twice_is_once():
    mod = MakePackedAPI()(add_one())
    assert MakePackedAPI()(mod) is mod
    assert make_packed_api(mod["add_one"]) is mod["add_one"]


def test_the_old_body_is_inside():
    mod = add_one()
    _, scope = chain(MakePackedAPI()(mod)["add_one"])
    assert isinstance(scope, tir.AttrStmt) and scope.attr_key == "compute_scope"
    assert scope.value.value == "add_one_compute_"
    assert scope.body is mod["add_one"].body


def test_checks_come_in_the_order_of_the_runtime():
    texts = messages(make_packed_api(add_one()["add_one"]))
    wanted = [
        "TypeError: add_one: expects 2 arguments (A, B)",
        "argument 0 (A): expected a tensor of dtype float32 and shape (n,)",
        "argument 0 (A): expected a tensor on device cpu",
        "argument 1 (B): expected a tensor of dtype float32 and shape (n,)",
        "argument 0 (A): shape[0] does not fit the int32 variable n",
        "argument 0 (A): expected a compact",
        "argument 0 (A): expected data aligned to 4 bytes",
        "argument 0 (A): expected data, but got a NULL pointer",
        "argument 1 (B): shape[0] expected n",
        "argument 1 (B): is written by the function, but the array is read-only",
        "argument 1 (B): is written, and its memory overlaps that of argument 0 (A)",
    ]
    places = [next(k for k, text in enumerate(texts) if part in text) for part in wanted]
    assert places == sorted(places), texts


def test_variables_are_bound_once_and_before_their_use():
    func = make_packed_api(add_one()["add_one"])
    bound = set(func.params)
    for item in chain(func)[0]:
        used = []
        value = item.value if isinstance(item, tir.LetStmt) else item.condition
        post_order_visit(
            value,
            lambda node, used=used: (
                used.append(node)
                if isinstance(node, tir.Var)
                else used.append(node.buffer.data)
                if isinstance(node, tir.BufferLoad)
                else None
            ),
        )
        assert set(used) <= bound, item
        if isinstance(item, tir.LetStmt):
            assert item.var not in bound
            bound.add(item.var)


def test_scalars_and_expressions():
    n = te.var("n")
    x = te.var("x", "float32")
    A = te.placeholder((n + 2,), name="A")
    B = te.compute((n,), lambda i: A[i + 2] * x, name="B")
    func = tvm.lower(te.create_schedule(B.op), [n, x, A, B], name="f")["f"]
    texts = messages(make_packed_api(func))
    assert "TypeError: f: argument 0 (n): expected an int (int32)" in texts
    assert (
        "ValueError: f: argument 0 (n): expected a value of int32 (-2147483648 to 2147483647)"
        in texts
    )
    assert "TypeError: f: argument 1 (x): expected a float (float32)" in texts
    assert any("argument 2 (A): shape[0] expected n + 2" in text for text in texts)


def test_a_function_without_arguments():
    func = tir.PrimFunc([], tir.Evaluate(0), None, None, {"global_symbol": "nothing"})
    assert messages(make_packed_api(func)) == ["TypeError: nothing: expects 0 arguments"]
