"""Damaged graphs and parameters: an error each, before memory is taken."""

import json
import random
import subprocess
import sys

import numpy as np
import pytest
import tvm
from tvm.contrib import graph_executor

FUZZ = __file__.rsplit("/", 1)[0] + "/fuzz_graph.py"


def change(text, *path, to):
    graph = json.loads(text)
    at = graph
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = to
    return json.dumps(graph)


BIG = 1 << 62
CASES = [
    (("attrs", "shape", 1, 0), [BIG, BIG], "more memory than can be addressed"),
    (("attrs", "shape", 1, 0), [1 << 50], "more memory than the"),
    (("attrs", "shape", 1, 0), [-1], 'node "x"'),
    (("attrs", "shape", 1, 0), [1.5], "expected an int"),
    (("attrs", "shape", 1, 0), [1] * 65, "at most 64"),
    (("attrs", "shape", 1), [[4]], "1 items, but the graph has 3"),
    (("attrs", "shape", 0), "list_int", "list_shape"),
    (("attrs", "dltype", 1, 2), "float3x", "float3x"),
    (("attrs", "storage_id", 1, 2), -1, "storage_id"),
    (("attrs", "storage_id", 1, 2), 1 << 40, "storage_id"),
    (("attrs",), {}, "dltype.*missing"),
    (("nodes", 2, "inputs", 0), [2, 0, 0], "input: node: 2"),
    (("nodes", 2, "inputs", 0), [0, 1, 0], 'output of node "x"'),
    (("nodes", 2, "inputs", 0), [-1, 0, 0], "input: node: -1"),
    (("nodes", 2, "inputs", 0), 3, "node, index, version"),
    (("nodes", 2, "attrs", "num_outputs"), "4000000000", "num_outputs"),
    (("nodes", 2, "attrs", "num_inputs"), "1", "num_inputs"),
    (("nodes", 2, "attrs"), None, "attrs"),
    (("nodes", 2, "op"), "relay", "relay"),
    (("nodes", 1, "name"), "x", 'two inputs named "x"'),
    (("heads", 0), [7, 0, 0], "heads"),
    (("arg_nodes", 0), 2, 'node 2 "sum" is no input'),
    (("arg_nodes", 1), 0, "twice"),
    (("node_row_ptr", 1), 5, "node_row_ptr"),
    (("node_row_ptr",), [0], "node_row_ptr"),
    (("nodes",), {}, "nodes"),
]


@pytest.mark.parametrize(("path", "value", "message"), CASES)
def test_damaged_graphs(addw, path, value, message):
    text, lib = addw
    with pytest.raises((ValueError, MemoryError), match=message):
        graph_executor.create(change(text, *path, to=value), lib, tvm.cpu())


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[" * 100000, '{"nodes": [' + "[" * 100000, "nul", "1e", "-",
        '"\\u12"', '"\\ud800"',
        '"\\u0000"', "{}x", '{"a" 1}', "[1,]", "9" * 30, '"abc', '"\x01"', "{,}",
    ],
)  # fmt: skip
def test_no_json(addw, text):
    with pytest.raises(ValueError, match="graph JSON"):
        graph_executor.create(text, addw[1], tvm.cpu())


def test_json_text_is_read_as_python_writes_it(addw):
    graph = json.loads(addw[0])
    graph["metadata"] = {"t": [True, False, None, -1.5e3, 'q"\\/\b\f\n\r\té😀']}
    name = 'q"\\/\b\f\n\r\té😀'
    graph["nodes"][0]["name"] = name
    for ascii_only in (True, False):
        text = json.dumps(graph, ensure_ascii=ascii_only, indent=2)
        executor = graph_executor.create(text, addw[1], tvm.cpu())
        assert list(executor.get_input_info()[0]) == [name, "w"]


def test_every_cut_of_a_graph_fails(addw):
    for cut in range(len(addw[0])):
        with pytest.raises(ValueError):
            graph_executor.create(addw[0][:cut], addw[1], tvm.cpu())


def test_every_cut_of_parameters_fails(addw):
    executor = graph_executor.create(*addw, tvm.cpu())
    blob = tvm.runtime.save_param_dict({"w": tvm.nd.array(np.ones(4, "float32"))})
    for cut in range(len(blob)):
        with pytest.raises(ValueError, match="load_params"):
            executor.load_params(blob[:cut])
        with pytest.raises(ValueError):
            tvm.runtime.load_param_dict(blob[:cut])
    assert (executor.get_input("w").numpy() == 0).all()


def fuzz(seed, count):
    done = subprocess.run(
        [sys.executable, FUZZ, str(seed), str(count)], capture_output=True, text=True, timeout=3000
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_mutated_files():
    assert "5000 runs" in fuzz(random.Random(1).randrange(1000), 5000)


@pytest.mark.nightly
def test_mutated_files_for_long():
    fuzz(2, 1_000_000)
