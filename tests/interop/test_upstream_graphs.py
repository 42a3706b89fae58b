"""Graphs and parameters that a TVM 0.16 wrote (the files in upstream/): numbers bit for bit."""

import json
import pathlib
import platform

import numpy as np
import pytest
import tvm
from tvm.contrib import graph_executor
from tvm.contrib.debugger import debug_executor

FILES = pathlib.Path(__file__).parent / "upstream"
x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="the libraries are for x86-64")


def check(executor):
    executor.set_input("data", np.load(FILES / "in_data.npy"))
    executor.run()
    expected = np.load(FILES / "out_0.npy")
    assert executor.get_output(0).numpy().tobytes() == expected.tobytes()


@x86
@pytest.mark.parametrize("create", [graph_executor.create, debug_executor.create])
def test_graph(create):
    lib = tvm.runtime.load_module(FILES / "deploy_lib.so")
    executor = create((FILES / "graph.json").read_text(), lib, tvm.cpu(0))
    executor.load_params((FILES / "params.bin").read_bytes())
    assert executor.get_num_inputs() == 6
    check(executor)


def factory_payload():
    """The stored factory module: from behind its key to where the key `_lib` begins."""
    data = (FILES / "deploy_factory.so").read_bytes()
    start = data.index(b"GraphExecutorFactory") + len("GraphExecutorFactory")
    return data[start : data.index(b"\4" + bytes(7) + b"_lib", start)]


@x86
def test_stored_factory():
    payload = factory_payload()
    module = graph_executor.load_binary("GraphExecutorFactory", payload)
    module.import_module(tvm.runtime.load_module(FILES / "deploy_lib.so"))
    check(graph_executor.GraphModule(module["default"](tvm.cpu(0))))


def test_factory_is_written_as_it_was_read():
    module = graph_executor.load_binary("GraphExecutorFactory", factory_payload())
    save = tvm.get_global_func("runtime.module.savebinary_GraphExecutorFactory")
    assert bytes(save(module)) == factory_payload()


@pytest.mark.parametrize("name", ["alldtypes", "one", "empty"])
def test_parameters_are_written_as_they_were_read(name):
    data = (FILES / f"params_{name}.bin").read_bytes()
    assert bytes(tvm.runtime.save_param_dict(tvm.runtime.load_param_dict(data))) == data


def test_the_graphs_parameters_are_written_as_they_were_read():
    data = (FILES / "params.bin").read_bytes()
    assert bytes(tvm.runtime.save_param_dict(tvm.runtime.load_param_dict(data))) == data


def test_values_of_all_dtypes():
    params = tvm.runtime.load_param_dict((FILES / "params_alldtypes.bin").read_bytes())
    about = json.loads((FILES / "params_alldtypes_expected.json").read_text())
    expected = np.load(FILES / "params_alldtypes_expected.npz")
    assert sorted(params) == sorted([*about["order"], *about["raw"]])
    for name, raw in about["raw"].items():
        view = params[name]._create_view(params[name].shape, f"uint{8 * len(raw) // 2 // 4}")
        assert view.numpy().tobytes().hex() == raw
    checked = 0
    for number, name in enumerate(about["order"]):
        key = f"k{number:02d}"
        if key not in expected:
            continue
        value = params[name].numpy()
        assert value.shape == expected[key].shape and value.tobytes() == expected[key].tobytes()
        checked += 1
    assert checked >= 17


def test_vectors_that_were_cut_off_are_refused():
    data = (FILES / "params_subbyte_lanes.bin").read_bytes()
    with pytest.raises(ValueError, match="float32x4.*kept only the first part of vector types"):
        tvm.runtime.load_param_dict(data)
