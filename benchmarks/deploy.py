"""What a deployed graph costs beyond its kernels: nanoseconds, the least of many repeats.

python benchmarks/deploy.py
"""

import json
import os
import tempfile
import timeit

import numpy as np
import tvm
from tvm.contrib import cc, graph_executor

SOURCE = """
#include <stdint.h>
int nothing(void* args, int* codes, int n, void* ret, int* ret_code, void* resource) { return 0; }
"""
BOUND = 150  # ns a node, beyond its kernel


def chain(count):
    """A graph of that many nodes, each of two inputs and one output, whose kernel does nothing."""
    attrs = {"func_name": "nothing", "num_inputs": "2", "num_outputs": "1", "flatten_data": "0"}
    nodes = [{"op": "null", "name": "x", "inputs": []}]
    for i in range(count):
        inputs = [[i, 0, 0], [0, 0, 0]]
        nodes.append({"op": "tvm_op", "name": f"n{i}", "inputs": inputs, "attrs": attrs})
    size = count + 1
    return json.dumps({
        "nodes": nodes, "arg_nodes": [0], "heads": [[count, 0, 0]],
        "node_row_ptr": list(range(size + 1)),
        "attrs": {
            "dltype": ["list_str", ["float32"] * size],
            "shape": ["list_shape", [[16]] * size],
            "storage_id": ["list_int", [0] + [1 + i % 2 for i in range(count)]],
        },
    })  # fmt: skip


def least(function, number=200, repeat=200):
    """Nanoseconds a call."""
    return min(timeit.repeat(function, number=number, repeat=repeat)) / number * 1e9


def main():
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "nothing.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(SOURCE)
        path = os.path.join(folder, "nothing.so")
        cc.create_shared(path, [source], ["-O2", "-fPIC"])
        lib = tvm.runtime.load_module(path)
        short, long = (graph_executor.create(chain(n), lib, tvm.cpu()) for n in (1, 1001))
        a_node = (least(long["run"], 5) - least(short["run"])) / 1000
        x = tvm.nd.array(np.zeros(16, "float32"))
        out = tvm.nd.empty((16,))
        text = chain(1000)
        rows = [
            (f"a node with an empty kernel (at most {BOUND})", a_node),
            ("run of one node, from Python", least(short["run"])),
            ("set_input, 64 bytes", least(lambda: short.set_input("x", x))),
            ("get_output", least(lambda: short.get_output(0))),
            ("get_output with a copy", least(lambda: short.get_output(0, out))),
            (
                "create, a node",
                least(lambda: graph_executor.create(text, lib, tvm.cpu()), 1, 30) / 1000,
            ),
        ]
    for name, value in rows:
        print(f"{name:50} {value:9.1f} ns")
    return 0 if a_node <= BOUND else 1


if __name__ == "__main__":
    raise SystemExit(main())
