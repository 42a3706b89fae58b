"""What classic programs look for in lowered programs, schedules and stages."""

import tvm
from tvm import te, tir


def count(mod, *kinds):
    found = dict.fromkeys(kinds, 0)

    def look(node):
        for kind in kinds:
            if isinstance(node, kind):
                found[kind] += 1

    tir.stmt_functor.post_order_visit(mod["main"].body, look)
    return tuple(found.values())


def vector_add(n):
    A, B = te.placeholder((n,), name="A"), te.placeholder((n,), name="B")
    C = te.compute((n,), lambda i: A[i] + B[i], name="C")
    return [A, B, C], te.create_schedule(C.op)


def test_function_attributes_and_names():
    args, s = vector_add(16)
    mod = tvm.lower(s, args, name="add")
    func = mod["add"]
    assert func.attrs["global_symbol"] == "add"
    assert bool(func.attrs["tir.noalias"]) and bool(func.attrs["from_legacy_te_schedule"])
    assert [func.buffer_map[p].name for p in func.params] == ["A", "B", "C"]
    assert isinstance(func.body, tir.For) and isinstance(func.body.body, tir.BufferStore)


def test_loops_and_tests():
    args, s = vector_add(16)
    s[args[2]].split(args[2].op.axis[0], 4)
    assert count(tvm.lower(s, args), tir.For, tir.IfThenElse, tir.Evaluate) == (2, 0, 0)
    args, s = vector_add(te.var("n"))
    s[args[2]].split(args[2].op.axis[0], 4)
    simple = tvm.lower(s, args, simple_mode=True)
    assert count(simple, tir.For, tir.IfThenElse, tir.Evaluate) == (2, 1, 0)
    assert "T.likely" in str(simple)
    loop = simple["main"].body
    assert loop.loop_var.name == "i.outer" and loop.body.loop_var.name == "i.inner"
    # whole blocks and the rest are separate loops without tests
    assert count(tvm.lower(s, args), tir.For, tir.IfThenElse) == (4, 0)


def test_reduction():
    A = te.placeholder((8, 16), name="A")
    k = te.reduce_axis((0, 16), name="k")
    B = te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="B")
    body = tvm.lower(te.create_schedule(B.op), [A, B])["main"].body
    assert isinstance(body, tir.For) and isinstance(body.body, tir.SeqStmt)
    init, update = body.body
    assert isinstance(init, tir.BufferStore) and isinstance(update, tir.For)


def test_kinds_of_loops():
    args, s = vector_add(64)
    outer, inner = s[args[2]].split(args[2].op.axis[0], 16)
    s[args[2]].parallel(outer)
    s[args[2]].unroll(inner)
    body = tvm.lower(s, args, simple_mode=True)["main"].body
    assert body.kind == tir.ForKind.PARALLEL and body.body.kind == tir.ForKind.UNROLLED
    s[args[2]].vectorize(inner)
    body = tvm.lower(s, args)["main"].body.body
    while isinstance(body, tir.LetStmt):
        body = body.body
    assert isinstance(body, tir.BufferStore) and isinstance(body.indices[0], tir.Ramp)


def test_common_subexpressions_have_the_classic_names():
    args, s = vector_add(64)
    outer, inner = s[args[2]].split(args[2].op.axis[0], 16)
    mod = tvm.lower(s, args)
    lets = []
    tir.stmt_functor.post_order_visit(
        mod["main"].body, lambda n: lets.append(n) if isinstance(n, tir.LetStmt) else None
    )
    assert [let.var.name for let in lets] == ["cse_var_1"]
    for options in (
        {"disabled_pass": ["tir.CommonSubexprElimTIR"]},
        {"config": {"tir.disable_cse_tir": True}},
    ):
        with tvm.transform.PassContext(**options):
            assert "cse_var" not in str(tvm.lower(s, args))


def test_stage_and_schedule_attributes():
    args, s = vector_add(64)
    C = args[2]
    stage = s[C]
    outer, inner = stage.split(C.op.axis[0], 16)
    fused = stage.fuse(outer, inner)
    assert [type(r).__name__ for r in stage.relations] == ["Split", "Fuse"]
    assert stage.relations[0].parent is C.op.axis[0] and stage.relations[1].fused is fused
    assert stage.all_iter_vars == [C.op.axis[0], outer, inner, fused]
    assert stage.leaf_iter_vars[0] == fused and len(stage.leaf_iter_vars) == 1
    assert stage.op is C.op and stage.origin_op is C.op and stage.is_output
    assert stage.attach_type == 1 and stage.attach_stage is None and stage.group is None
    assert stage.num_child_stages == 0 and stage.iter_var_attrs == {}
    assert [st.op.name for st in s.stages] == ["A", "B", "C"] and s.outputs == [C.op]
    assert s.stage_map[C.op] is stage and s.groups == []
