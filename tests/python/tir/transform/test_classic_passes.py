"""Passes that classic programs name, one by one: texts before and after, results, errors."""

import numpy as np
import pytest
import tvm
from tvm import te, tir
from tvm.target import Target
from tvm.tir import transform
from tvm.tir.interpreter import interpret
from tvm.tir.verify import verify

i, j, n, m = (tir.Var(name) for name in "ijnm")


def module(*params, body):
    return tvm.IRModule({"main": tir.PrimFunc(list(params), body)})


def store(buffer, value, *indices):
    return tir.BufferStore(buffer, value, list(indices))


def run(make, mod):
    out = make(mod)
    verify(out)
    return out


def test_hoist_if_then_else(golden):
    B = tir.decl_buffer((64,), "int32", "B")
    inner = tir.IfThenElse(m > 4, store(B, i, i * 8 + j), store(B, j, i * 8 + j))
    body = tir.For(i, 0, 4, 0, tir.For(j, 0, 8, 0, inner))
    mod = module(m, B, body=body)
    out = run(transform.HoistIfThenElse(), mod)
    golden("hoist_if_then_else", out)
    for value in (3, 5):
        a, b = np.zeros(64, "int32"), np.zeros(64, "int32")
        interpret(mod["main"], value, a)
        interpret(out["main"], value, b)
        np.testing.assert_array_equal(a, b)
    assert transform.HoistIfThenElse("basic")(out) is out


@pytest.mark.parametrize("cond", ["variable", "memory", "effect"])
def test_hoist_leaves_what_changes(cond):
    B = tir.decl_buffer((64,), "int32", "B")
    test = {
        "variable": i > 2,
        "memory": B[0] > 2,
        "effect": tir.call_extern("int32", "f", n) > 0,
    }[cond]
    mod = module(n, B, body=tir.For(i, 0, 4, 0, tir.IfThenElse(test, store(B, i, i))))
    assert transform.HoistIfThenElse()(mod) is mod


def test_lift_attr_scope(golden):
    B = tir.decl_buffer((64,), "int32", "B")
    scope = tir.StringImm("core")

    def marked(stmt, value=1):
        return tir.AttrStmt(scope, "coproc_scope", value, stmt)

    body = tir.SeqStmt([marked(store(B, i, i)), marked(store(B, i + 1, i + 8))])
    body = tir.For(i, 0, 4, 0, body)
    mod = module(B, body=body)
    out = run(transform.LiftAttrScope("coproc_scope"), mod)
    golden("lift_attr_scope", out)
    assert isinstance(out["main"].body, tir.AttrStmt)
    apart = tir.SeqStmt([marked(store(B, 1, 0)), marked(store(B, 2, 1), 2)])
    mod = module(B, body=apart)
    assert transform.LiftAttrScope("coproc_scope")(mod) is mod
    varies = tir.For(i, 0, 4, 0, marked(store(B, i, i), i))
    mod = module(B, body=varies)
    assert transform.LiftAttrScope("coproc_scope")(mod) is mod


def test_combine_context_call(golden):
    def use(*args):
        context = tir.Call("handle", "tir.call_extern", [tir.StringImm("context"), *args])
        thread = tir.Call("handle", "tir.tvm_thread_context", [context])
        return tir.Evaluate(tir.call_extern("int32", "use", thread, i))

    body = tir.For(i, 0, n, 0, tir.SeqStmt([use(), use(), use(7)]))
    mod = module(n, body=body)
    out = run(transform.CombineContextCall(), mod)
    golden("combine_context_call", out)
    assert str(out).count("ctx_cache_") > str(out).count('"context"') == 2
    parallel = module(n, body=tir.For(i, 0, n, 1, use()))
    out = run(transform.CombineContextCall(), parallel)
    assert isinstance(out["main"].body, tir.For)
    plain = module(n, body=tir.Evaluate(tir.call_extern("int32", "use", n)))
    assert transform.CombineContextCall()(plain) is plain


@pytest.mark.parametrize(
    "dtype, compute, memory",
    [
        ("bfloat16", transform.BF16ComputeLegalize, transform.BF16StorageLegalize),
        ("e4m3_float8", transform.FP8ComputeLegalize, transform.FP8StorageLegalize),
        ("e5m2_float8", transform.FP8ComputeLegalize, transform.FP8StorageLegalize),
    ],
)
def test_narrow_floats(golden, dtype, compute, memory):
    A = te.placeholder((64,), dtype, name="A")
    P = te.compute((64,), lambda i: A[i] * A[63 - i] + A[i], name="P")
    Q = te.compute((64,), lambda i: te.max(P[63 - i], te.exp(A[i])), name="Q")
    mod = tvm.lower(te.create_schedule(Q.op), [A, Q])
    bits = "uint16" if dtype == "bfloat16" else "uint8"
    # every finite pattern of small size
    a = np.arange(64).astype(bits) + (0x3F80 if dtype == "bfloat16" else 0x28)
    want = np.zeros(64, bits)
    interpret(mod["main"], a, want)
    wide = run(compute(), mod)
    golden(f"compute_legalize_{dtype}", wide)
    got = np.zeros(64, bits)
    interpret(wide["main"], a, got)
    np.testing.assert_array_equal(got, want)
    stored = run(memory(), wide)
    got = np.zeros(64, bits)
    interpret(stored["main"], a, got)
    np.testing.assert_array_equal(got, want)
    assert compute()(wide) is not mod and dtype not in [
        b.dtype for b in stored["main"].buffer_map.values()
    ]
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    other = tvm.lower(te.create_schedule(B.op), [A, B])
    assert compute()(other) is other and memory()(other) is other


def test_verify_memory():
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    mod = tvm.lower(s, [A, B])
    assert transform.VerifyMemory()(mod) is mod
    for_gpu = transform.BindTarget(Target("cuda"))(mod)
    with pytest.raises(tvm.TVMError) as caught:
        transform.VerifyMemory()(for_gpu)
    message = (
        "main: B is stored to outside of any thread, which target cuda cannot run. Did you forget "
        "to bind? Bind an axis of each stage to a thread axis: s[stage].bind(axis, "
        "te.thread_axis('threadIdx.x'))"
    )
    assert str(caught.value) == message
    with pytest.raises(RuntimeError, match="Did you forget to bind?"):
        tvm.build(s, [A, B], "cuda")
    s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    for_gpu = transform.BindTarget(Target("cuda"))(tvm.lower(s, [A, B]))
    assert transform.VerifyMemory()(for_gpu) is for_gpu
    for_cpu = transform.BindTarget("llvm")(mod)
    assert transform.VerifyMemory()(for_cpu) is for_cpu


def test_functions_as_a_whole():
    B = tir.decl_buffer((4,), "int32", "B")
    one = tir.PrimFunc([B], store(B, 1, 0)).with_attr("global_symbol", "one")
    two = tir.PrimFunc([B], store(B, 2, 0)).with_attr("global_symbol", "two")
    mod = tvm.IRModule({"one": one, "two": two})
    kept = transform.Filter(lambda f: f.attrs["global_symbol"] == "two")(mod)
    assert [v.name_hint for v in kept.get_global_vars()] == ["two"]
    renamed = transform.Apply(lambda f: f.with_attr("seen", 1))(mod)
    assert all(int(f.attrs["seen"]) == 1 for f in renamed.functions.values())
    assert transform.Apply(lambda f: f)(mod) is mod
    assert not transform.Apply(lambda f: None)(mod).functions
    with pytest.raises(TypeError) as caught:
        transform.Apply(lambda f: 3)(mod)
    assert str(caught.value) == "tir.Apply: the function must give a PrimFunc or None, but gave int"
    assert transform.AnnotateEntryFunc()(mod) is mod
    entry = transform.AnnotateEntryFunc()(kept)
    assert bool(entry["two"].attrs["tir.is_entry_func"])
    assert transform.AnnotateEntryFunc()(entry) is entry
    bound = transform.BindTarget("llvm -num-cores=3")(mod)
    assert bound["one"].attrs["target"].num_cores == 3
    assert transform.BindTarget("c")(bound)["one"].attrs["target"].kind.name == "llvm"


def test_small_passes():
    B = tir.decl_buffer((4,), "int32", "B")
    checked = tir.AssertStmt(n > 0, tir.StringImm("n"), store(B, n, 0))
    mod = module(n, B, body=checked)
    assert isinstance(run(transform.SkipAssert(), mod)["main"].body, tir.BufferStore)
    assume = tir.Evaluate(tir.Call("bool", "tir.assume", [n > 0]))
    undefined = store(B, tir.Call("int32", "tir.undef", []), 1)
    mod = module(n, B, body=tir.SeqStmt([assume, undefined, store(B, n, 0)]))
    out = run(transform.RemoveStoreUndef(), run(transform.RemoveAssume(), mod))
    out = run(transform.RemoveNoOp(), out)
    assert isinstance(out["main"].body, tir.BufferStore)
    mod = module(B, body=tir.For(i, 0, 4, 1, store(B, i, i)))
    out = run(transform.ConvertForLoopsToSerial(), mod)
    assert out["main"].body.kind == tir.ForKind.SERIAL
    assert transform.ConvertForLoopsToSerial()(out) is out
    twice = tir.SeqStmt([tir.For(i, 0, 4, 0, store(B, i, i)), tir.For(i, 0, 2, 0, store(B, 0, i))])
    mod = module(B, body=twice)
    assert not tir.analysis.verify_ssa(mod["main"])
    out = run(transform.ConvertSSA(), mod)
    assert tir.analysis.verify_ssa(out["main"]) and transform.ConvertSSA()(out) is out
    device = run(transform.DecorateDeviceScope(), mod)["main"].body
    assert device.attr_key == "device_scope"


def test_unknown_names():
    with pytest.raises(AttributeError, match="has no attribute 'NoSuchPass'"):
        _ = transform.NoSuchPass
    assert set(transform.__all__) <= set(dir(transform)) | set(transform._LATER)
