"""The graph executor: inputs, outputs, parameters, memory plan, threads, errors."""

import json
import threading

import numpy as np
import pytest
import tvm
from tvm import te
from tvm.contrib import graph_builder, graph_executor
from tvm.contrib.debugger import debug_executor

ONES = np.ones(4, "float32")


def params(**arrays):
    return tvm.runtime.save_param_dict({k: tvm.nd.array(v) for k, v in arrays.items()})


def make(addw):  # no fixture: pytest would keep its arrays until after the leak check
    return graph_executor.create(*addw, tvm.cpu(0))


def add(a, b):
    A, B = (te.placeholder(a.shape, a.dtype, name=n) for n in "AB")
    C = te.compute(a.shape, lambda *i: A[i] + B[i], name="C")
    return te.create_schedule(C.op), [A, B, C]


def test_run(addw):
    executor = make(addw)
    executor.set_input("x", ONES)
    executor.set_input(1, ONES * 2)
    executor.run()
    assert executor.get_output(0).numpy().tolist() == [3.0] * 4
    out = tvm.nd.empty((4,))
    assert executor.get_output("sum", out) is out
    assert out.numpy().tolist() == [3.0] * 4
    executor.run(x=ONES * 5, unknown=ONES)
    assert executor.get_output("sum:0").numpy().tolist() == [7.0] * 4


def test_what_there_is(addw):
    executor = make(addw)
    assert executor.get_num_inputs() == 2 and executor.get_num_outputs() == 1
    assert executor.get_input_index("w") == 1 and executor.get_input_index("v") == -1
    shapes, dtypes = executor.get_input_info()
    assert shapes == {"x": (4,), "w": (4,)} and dtypes == {"x": "float32", "w": "float32"}
    assert executor.get_output_info() == ([(4,)], ["float32"])
    assert executor.module.type_key == "GraphExecutor"


def test_without_copies(addw):
    executor = make(addw)
    x, out = tvm.nd.array(ONES), tvm.nd.array(ONES * 0)
    executor.set_input_zero_copy("x", x)
    executor.set_output_zero_copy(0, out)
    executor.set_input("w", ONES)
    executor.run()
    assert out.numpy().tolist() == [2.0] * 4
    x.copyfrom(ONES * 8)
    executor.run()
    assert out.numpy().tolist() == [9.0] * 4
    assert executor.get_output(0).same_as(out)


@pytest.mark.parametrize("method", ["set_input_zero_copy", "set_output_zero_copy"])
def test_without_copies_refused(addw, method):
    executor = make(addw)
    call = getattr(executor, method)
    whole = tvm.nd.array(np.ones(5, "float32"))
    with pytest.raises(ValueError, match="aligned to 64 bytes"):
        call(0, whole._create_view((4,), "float32", 4))
    with pytest.raises(ValueError, match=r"shape \(4,\).*shape \(5,\)"):
        call(0, whole)
    with pytest.raises(TypeError, match="an NDArray"):
        call(0, None)


def test_load_params(addw):
    executor = make(addw)
    executor.load_params(params(w=ONES, more=np.zeros(9)))
    executor.run(x=ONES)
    assert executor.get_output(0).numpy().tolist() == [2.0] * 4
    with pytest.raises(ValueError, match=r'"w".*\(4,\).*\(5,\)'):
        executor.load_params(params(x=ONES * 7, w=np.ones(5, "float32")))
    assert executor.get_input("x").numpy().tolist() == [1.0] * 4  # nothing was written


def test_share_params(addw):
    executor = make(addw)
    blob = params(w=ONES * 3)
    executor.load_params(blob)
    other = graph_executor.create(*addw, tvm.cpu())
    other.share_params(executor, blob)
    assert other.get_input("w").same_as(executor.get_input("w"))
    del executor
    other.run(x=ONES)
    assert other.get_output(0).numpy().tolist() == [4.0] * 4


@pytest.mark.parametrize("name", ["input:0", "gpu_0/data_0", "a b", "é", ""])
def test_names_are_kept(addw, name):
    graph = json.loads(addw[0])
    graph["nodes"][0]["name"] = name
    executor = graph_executor.create(json.dumps(graph), addw[1], tvm.cpu())
    executor.set_input(name, ONES)
    assert executor.get_input(name).numpy().tolist() == [1.0] * 4


def test_errors_name_the_node(addw):
    graph = json.loads(addw[0])
    with pytest.raises(ValueError, match='node "sum" calls the function "nothing"'):
        graph["nodes"][2]["attrs"]["func_name"] = "nothing"
        graph_executor.create(json.dumps(graph), addw[1], tvm.cpu())
    for entry in (0, 1, 2):  # the graph says (5,), but the kernel wants (4,)
        graph = json.loads(addw[0])
        graph["attrs"]["shape"][1][entry] = [5]
        executor = graph_executor.create(json.dumps(graph), addw[1], tvm.cpu())
        with pytest.raises(ValueError, match='node "sum" .addw.: .*shape'):
            executor.run()


def test_wrong_inputs(addw):
    executor = make(addw)
    with pytest.raises(ValueError, match='no input "y"; its inputs are: "x", "w"'):
        executor.set_input("y", ONES)
    with pytest.raises(ValueError, match=r"float32.*float64"):
        executor.set_input("x", ONES.astype("float64"))
    with pytest.raises(IndexError, match="there are 1"):
        executor.get_output(1)
    with pytest.raises(IndexError):
        executor.get_input(-1)


def test_memory_plan_is_honoured():
    """A chain of ten sums over two arrays of memory."""
    builder = graph_builder.GraphBuilder()
    value = x = builder.input("x", (1 << 16,))
    schedule, args = add(x, x)
    for i in range(10):
        value = builder.call(schedule, args, [value, x], f"sum{i}", func_name="sum")
    builder.output(value)
    built = builder.build()
    ids = json.loads(built.graph_json)["attrs"]["storage_id"][1]
    assert len(set(ids)) == 3
    from tvm._ffi import _core

    before = _core.stat(2)
    executor = graph_executor.create(built.graph_json, built.lib, tvm.cpu())
    assert 3 << 18 <= _core.stat(2) - before < 4 << 18
    executor.run(x=np.ones(1 << 16, "float32"))
    assert (executor.get_output(0).numpy() == 11).all()


def test_builder_branches():
    """A value that is needed late keeps its memory; an output is never used again."""
    builder = graph_builder.GraphBuilder()
    x = builder.input("x", (3,))
    w = builder.param("w", np.array([1, 2, 3], "float32"))
    schedule, args = add(x, x)
    first = builder.call(schedule, args, [x, w], "first", func_name="sum")
    second = builder.call(schedule, args, [first, first], "second", func_name="sum")
    third = builder.call(schedule, args, [second, second], "third", func_name="sum")
    last = builder.call(schedule, args, [third, first], "last", func_name="sum")
    builder.output(second, last)
    built = builder.build()
    executor = graph_executor.GraphModule(built.factory()["default"](tvm.cpu()))
    for _ in range(2):
        executor.run(x=np.zeros(3, "float32"))
        assert executor.get_output("second").numpy().tolist() == [2, 4, 6]
        assert executor.get_output(1).numpy().tolist() == [5, 10, 15]


def test_builder_refuses():
    builder = graph_builder.GraphBuilder()
    x = builder.input("x", (3,))
    with pytest.raises(ValueError, match="a node named 'x' already"):
        builder.input("x", (3,))
    with pytest.raises(ValueError, match=r"expects shape \(3,\)"):
        builder.call(*add(x, x), [x, builder.input("y", (4,))], "sum")
    with pytest.raises(ValueError, match="no output"):
        builder.build()


def test_factory(addw):
    text, lib = addw
    made = graph_executor.factory(text, lib, {"w": ONES * 2})
    assert made.type_key == "GraphExecutorFactory"
    assert made["get_graph_json"]() == text
    stored = tvm.get_global_func("runtime.module.savebinary_GraphExecutorFactory")(made)
    back = graph_executor.load_binary("GraphExecutorFactory", stored)
    with pytest.raises(ValueError, match="does not have"):
        back["default"](tvm.cpu())  # no library yet
    back.import_module(lib)
    for module in (made, back):
        executor = graph_executor.GraphModule(module["default"](tvm.cpu()))
        executor.run(x=ONES)
        assert executor.get_output(0).numpy().tolist() == [3.0] * 4
        debug = debug_executor.GraphModuleDebug(module["debug_create"]("default", tvm.cpu()))
        debug.run(x=ONES)
        assert debug.get_output(0).numpy().tolist() == [3.0] * 4
    bare = made["remove_params"]()
    assert not tvm.runtime.load_param_dict(bare["get_graph_params"]())
    assert list(tvm.runtime.load_param_dict(made["get_graph_params"]())) == ["w"]
    for cut in range(len(stored)):
        with pytest.raises(ValueError, match="loading a GraphExecutorFactory"):
            graph_executor.load_binary("GraphExecutorFactory", stored[:cut])


def test_threads_take_turns(addw):
    executor = make(addw)
    executor.set_input("w", ONES)
    failures = []

    def use(value):
        for _ in range(200):
            executor.set_input_zero_copy("x", tvm.nd.array(ONES * value))
            executor.run()
            if executor.get_output(0).numpy()[0] not in (2.0, 3.0):
                failures.append(value)

    threads = [threading.Thread(target=use, args=(v,)) for v in (1, 2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


def test_benchmark(addw):
    executor = make(addw)
    for end_to_end in (False, True):
        result = executor.benchmark(tvm.cpu(), end_to_end=end_to_end, repeat=2, x=ONES, w=ONES)
        assert len(result.results) == 2 and 0 < result.min < 1
    assert executor.get_output(0).numpy().tolist() == [2.0] * 4


def test_debug(addw, tmp_path):
    executor = debug_executor.create(*addw, tvm.cpu(), dump_root=tmp_path)
    executor.run(x=ONES, w=ONES)
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [e["name"] for e in events] == ["sum"] and events[0]["dur"] > 0
    assert executor.nodes == ["x", "w", "sum"]
    assert executor.debug_get_output("sum").numpy().tolist() == [2.0] * 4
    assert executor.get_node_output("w").numpy().tolist() == [1.0] * 4
    times = executor.profile(runs=3)
    assert len(times.durations) == 3 and times.best()["sum"] > 0
    assert len(executor.run_individual(2, 3)) == 3
    pytest.importorskip("rich")
    assert times.table().row_count == 1
    with pytest.raises(ValueError, match="no node"):
        executor.get_node_output("nothing")


def test_exported_library(addw, tmp_path):
    text, lib = addw
    path = tmp_path / "deploy.so"
    lib.export_library(path)
    executor = graph_executor.create(text, tvm.runtime.load_module(path), tvm.cpu())
    executor.run(x=ONES, w=ONES)
    assert executor.get_output(0).numpy().tolist() == [2.0] * 4
    graph = json.loads(text)
    graph["attrs"]["shape"][1][1] = [5]
    executor = graph_executor.create(graph, tvm.runtime.load_module(path), tvm.cpu())
    with pytest.raises(ValueError, match='node "sum" .addw.: .*shape'):
        executor.run()


def test_a_function_of_the_graph_may_not_use_the_executor(addw):
    """It would change arrays that the running node uses."""
    A = te.placeholder((4,), name="A")

    def body(ins, outs):
        return tvm.tir.call_packed("test.graph.reenter", ins[0], outs[0])

    C = te.extern((4,), [A], body, name="C", dtype="float32")
    builder = graph_builder.GraphBuilder()
    x = builder.input("x", (4,))
    builder.output(builder.call(te.create_schedule(C.op), [A, C], [x], "node"))
    built = builder.build()
    executor = graph_executor.create(built.graph_json, built.lib, tvm.cpu())
    calls = [lambda: executor.get_output(0)]

    def reenter(a, b):
        calls[0]()

    tvm.register_func("test.graph.reenter", reenter, override=True)
    with pytest.raises(RuntimeError, match="the executor is running"):
        executor.run(x=ONES)
    calls[0] = lambda: None
    executor.run()
    calls.clear()
    tvm._ffi.registry.remove_global_func("test.graph.reenter")


DTYPES = ["int8", "uint16", "int64", "float16", "float64", "bool", "bfloat16", "int4", "uint4"]


@pytest.mark.parametrize("dtype", [*DTYPES, "float32x4"])
def test_parameters_of_all_dtypes(addw, dtype):
    """The native reader gives what was written; a node copies it, flattened."""
    value = tvm.nd.empty((3, 5), dtype)
    raw = value._create_view((value.nbytes,), "uint8")
    data = np.arange(value.nbytes, dtype="uint8") * 7
    if dtype in ("bool", "int4", "uint4"):  # the last byte of packed elements is half used
        data = data % 2
    raw.copyfrom(data)
    attrs = {"func_name": "__copy", "flatten_data": "1"}
    graph = {
        "nodes": [
            {"op": "null", "name": "w", "inputs": []},
            {"op": "tvm_op", "name": "copy", "inputs": [[0, 0]], "attrs": attrs},
        ],
        "arg_nodes": [0],
        "heads": [[1, 0]],
        "attrs": {
            "dltype": ["list_str", [dtype] * 2],
            "shape": ["list_shape", [[3, 5]] * 2],
            "storage_id": ["list_int", [0, 1]],
        },
    }
    executor = graph_executor.create(graph, addw[1], tvm.cpu())
    executor.load_params(tvm.runtime.save_param_dict({"w": value}))
    executor.run()
    out = executor.get_output(0)
    assert out.shape == (3, 5) and out.dtype == dtype
    assert out.numpy().tobytes() == value.numpy().tobytes()
    factory = graph_executor.factory(graph, addw[1], {"w": value})
    again = graph_executor.GraphModule(factory["default"](tvm.cpu()))
    assert again.get_input("w").numpy().tobytes() == value.numpy().tobytes()
    params = factory["get_graph_params"]()
    assert bytes(params) == bytes(tvm.runtime.save_param_dict({"w": value}))
