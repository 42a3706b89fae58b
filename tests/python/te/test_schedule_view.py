"""Schedules as text, graphs, JSON and pickles."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import tvm
from random_programs import Chooser, Program
from tvm import te
from tvm.contrib import tedd
from tvm.te import schedule_view
from tvm.tir.interpreter import interpret


def blocked():
    n = 64
    A, B = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    D = te.compute((n, n), lambda i, j: C[i, j] + 1.0, name="D")
    s = te.create_schedule(D.op)
    AL = s.cache_read(A, "local", [C])
    io, jo, ii, ji = s[D].tile(*D.op.axis, 8, 16)
    s[D].parallel(io)
    s[D].vectorize(ji)
    s[C].compute_at(s[D], jo)
    ko, ki = s[C].split(k, 4)
    s[C].unroll(ki)
    s[AL].compute_at(s[C], ko)
    return s, [A, B, D]


def test_tree(golden, capsys):
    s, _ = blocked()
    text = schedule_view.tree_text(s)
    golden("schedule_tree", text)
    s.show()
    shown = capsys.readouterr().out
    for line in text.splitlines():
        assert line.strip() in shown


def test_graphs(golden, tmp_path):
    s, _ = blocked()
    golden("dataflow_dot", tedd.viz_dataflow_graph(s, output_dot_string=True))
    golden("schedule_dot", tedd.viz_schedule_tree(s, output_dot_string=True))
    path = tmp_path / "axes.dot"
    assert tedd.viz_itervar_relationship_graph(s, dot_file_path=str(path)) is None
    golden("axes_dot", path.read_text())


@pytest.mark.parametrize("seed", range(12))
def test_graphs_of_any_schedule(seed):
    """Every edge joins nodes that are there, brackets match."""
    program = Program(Chooser.seeded(seed))
    s = program.schedule(rfactor=True, hints=True)
    for make in (schedule_view.dataflow_dot, schedule_view.schedule_dot, schedule_view.axes_dot):
        dot = make(s)
        assert dot.count("{") == dot.count("}")
        lines = [line.strip() for line in dot.splitlines()]
        nodes = {line.split(" ")[0] for line in lines if " [label=" in line and " -> " not in line}
        for line in lines:
            if " -> " in line:
                begin, _, end = line.partition(" -> ")
                assert begin in nodes and end.split(" ")[0] in nodes
    assert str(s)


def test_svg():
    s, _ = blocked()
    dot = schedule_view.dataflow_dot(s)
    try:
        drawn = schedule_view.svg(dot)
    except ImportError as err:
        assert "graphviz" in str(err).lower()
    else:
        assert "<svg" in drawn


def run(s, args, arrays):
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arrays]
    interpret(tvm.lower(s, args)["main"], *copies)
    return copies


@pytest.mark.parametrize("how", ["json", "pickle"])
def test_round_trip(how):
    s, args = blocked()
    if how == "json":
        bundle = tvm.ir.load_json(tvm.ir.save_json({"schedule": s, "args": args}))
    else:
        text = tvm.ir.save_json({"schedule": s, "args": args})
        bundle = pickle.loads(pickle.dumps(text))
        bundle = tvm.ir.load_json(bundle)
    other = bundle["schedule"]
    assert schedule_view.tree_text(other) == schedule_view.tree_text(s)
    assert other is not s and other.stages[0].op is not s.stages[0].op
    one = tvm.lower(s, args)
    two = tvm.lower(other, list(bundle["args"]))
    tvm.ir.assert_structural_equal(one, two)
    # it can be scheduled further
    stage = other[bundle["args"][2]]
    stage.unroll(stage.leaf_iter_vars[2])
    assert other.stages[-1].relations and other.outputs[0] is stage.op


@pytest.mark.parametrize("seed", range(25))
def test_pickles_of_random_schedules(seed):
    program = Program(Chooser.seeded(seed))
    s = program.schedule(rfactor=True, hints=True)
    other = pickle.loads(pickle.dumps(s))
    assert schedule_view.tree_text(other) == schedule_view.tree_text(s)
    bundle = tvm.ir.load_json(tvm.ir.save_json([s, program.args()]))
    want, got = program.run(tvm.lower(s, program.args())), program.run(tvm.lower(*bundle))
    for a, b in zip(want, got):
        np.testing.assert_array_equal(a, b)


def test_unpickling_elsewhere():
    s, args = blocked()
    data = pickle.dumps((s, args[0], args[2].op))
    code = (
        "import pickle, sys\n"
        "s, tensor, op = pickle.loads(sys.stdin.buffer.read())\n"
        "print(len(s.stages), tensor.op.name, op.name)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True)
    assert done.stdout.decode().split() == ["5", "A", "D"], done.stderr.decode()
