"""Random changes of graphs, parameters and factory modules; run as a script.

    python fuzz_graph.py SEED COUNT

Errors are fine; the process must not crash, hang, or take memory (it has a limit).
"""

import json
import random
import resource
import sys

import numpy as np
import tvm
from tvm import te
from tvm.contrib import graph_executor

PIECES = [b"[", b"]", b"{", b"}", b",", b":", b'"', b"-1", b"0", b"1", b"99999999999", b"1e400",
          b"4294967296", b"9223372036854775807", b'"null"', b'"tvm_op"', b'"__nop"', b'"__copy"',
          b"\\u", b"\xff\xff\xff\xff", b"\0\0\0\0\0\0\0\0"]  # fmt: skip


def kernel():
    A, W = te.placeholder((4,), name="A"), te.placeholder((4,), name="W")
    C = te.compute((4,), lambda i: A[i] + W[i], name="C")
    return tvm.build(te.create_schedule(C.op), [A, W, C], "llvm", name="addw")


def graph_text():
    attrs = {"func_name": "addw", "num_inputs": "2", "num_outputs": "1", "flatten_data": "0"}
    copy = {"func_name": "__copy", "num_inputs": "1", "num_outputs": "1", "flatten_data": "1"}
    return json.dumps({
        "nodes": [
            {"op": "null", "name": "x", "inputs": []},
            {"op": "null", "name": "w", "inputs": []},
            {"op": "tvm_op", "name": "s", "inputs": [[0, 0, 0], [1, 0, 0]], "attrs": attrs},
            {"op": "tvm_op", "name": "c", "inputs": [[2, 0, 0]], "attrs": copy},
        ],
        "arg_nodes": [0, 1], "heads": [[3, 0, 0], [2, 0]], "node_row_ptr": [0, 1, 2, 3, 4],
        "attrs": {
            "dltype": ["list_str", ["float32"] * 4], "shape": ["list_shape", [[4]] * 4],
            "storage_id": ["list_int", [0, 1, 2, 3]], "device_index": ["list_int", [1] * 4],
        },
    })  # fmt: skip


def mutate(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice((0, 1, 1, 2, 8)))
        kind = rng.randrange(5)
        if kind == 0:
            data[at:end] = rng.choice(PIECES)
        elif kind == 1:
            data[at:end] = bytes(rng.randrange(256) for _ in range(end - at))
        elif kind == 2:
            del data[at:end]
        elif kind == 3 and data:
            data[min(at, len(data) - 1)] ^= 1 << rng.randrange(8)
        else:
            start = rng.randrange(len(data) + 1)
            data[at:at] = data[start : start + rng.choice((1, 4, 16, 64))]
    return bytes(data)


def main(seed, count):
    rng = random.Random(seed)
    lib = kernel()
    text = graph_text()
    ones = tvm.nd.array(np.ones(4, "float32"))
    small = tvm.nd.array(np.arange(4, dtype="int8"))
    blob = bytes(tvm.runtime.save_param_dict({"w": ones, "é": small}))
    save = tvm.get_global_func("runtime.module.savebinary_GraphExecutorFactory")
    stored = save(graph_executor.factory(text, lib, {"w": ones}))
    executor = graph_executor.create(text, lib, tvm.cpu())
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (512 << 20), resource.RLIM_INFINITY))
    good = 0
    for run in range(count):
        try:
            if run % 2 == 0:
                damaged = mutate(rng, text.encode()).decode("utf-8", "replace").replace("\0", " ")
                made = graph_executor.create(damaged, lib, tvm.cpu())
                made.run()
            elif run % 4 == 1:
                executor.load_params(mutate(rng, blob))
            else:
                made = graph_executor.load_binary("GraphExecutorFactory", mutate(rng, stored))
                made.import_module(lib)
                made["default"](tvm.cpu())
            good += 1
        except (tvm.TVMError, ValueError, MemoryError, AttributeError, UnicodeDecodeError):
            pass
        if run % 8 == 7:
            try:
                tvm.runtime.load_param_dict(mutate(rng, blob))
            except (tvm.TVMError, MemoryError):
                pass
    print(f"{count} runs, {good} of them without an error")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
