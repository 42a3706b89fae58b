"""Graphs to run."""

import json

import pytest
import tvm
from tvm import te


@pytest.fixture(scope="session")
def addw():
    """The text and module of a one-node graph: out = x + w."""
    A, W = te.placeholder((4,), name="A"), te.placeholder((4,), name="W")
    C = te.compute((4,), lambda i: A[i] + W[i], name="C")
    mod = tvm.build(te.create_schedule(C.op), [A, W, C], "llvm", name="addw")
    attrs = {"func_name": "addw", "num_inputs": "2", "num_outputs": "1", "flatten_data": "0"}
    graph = {
        "nodes": [
            {"op": "null", "name": "x", "inputs": []},
            {"op": "null", "name": "w", "inputs": []},
            {"op": "tvm_op", "name": "sum", "inputs": [[0, 0, 0], [1, 0, 0]], "attrs": attrs},
        ],
        "arg_nodes": [0, 1],
        "heads": [[2, 0, 0]],
        "node_row_ptr": [0, 1, 2, 3],
        "attrs": {
            "dltype": ["list_str", ["float32"] * 3],
            "shape": ["list_shape", [[4]] * 3],
            "storage_id": ["list_int", [0, 1, 2]],
        },
    }
    return json.dumps(graph), mod
