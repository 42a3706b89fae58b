"""Running graphs: functions of a library called in order, over arrays planned ahead.

A graph is JSON text (see ``docs/graph.md``); its functions come from a module, its parameters from
a file. `tvm.contrib.graph_builder` makes all three from compiled functions.
"""

from __future__ import annotations

from tvm._ffi._core import Module
from tvm._ffi.registry import get_global_func
from tvm.error import TypeError_, ValueError_
from tvm.runtime.devices import device as make_device
from tvm.runtime.ndarray import NDArray, array
from tvm.runtime.profiling import BenchmarkResult, time_evaluator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tvm._ffi._core import Device

__all__ = ["GraphModule", "create", "factory", "graph_text", "load_binary", "make_executor"]


def graph_text(graph: Any) -> str:
    """The JSON text of a graph that is text or a dict."""
    if isinstance(graph, str):
        return graph
    if isinstance(graph, (bytes, bytearray)):
        return bytes(graph).decode("utf-8")
    if isinstance(graph, dict):
        import json

        return json.dumps(graph)
    raise TypeError_(
        f"graph_executor: expected the graph as JSON text or a dict, got {type(graph).__name__}"
    )


def make_executor(function: str, graph: Any, lib: Module, device: Any) -> Module:
    """The module that the global function `function` makes, where the devices are."""
    devices = list(device) if isinstance(device, (list, tuple)) else [device]
    devices = [make_device(d) for d in devices]
    if not devices:
        raise ValueError_("graph_executor: expected at least one device")
    if not isinstance(lib, Module):
        raise TypeError_(
            f"graph_executor: expected a module, got {lib!r} of type {type(lib).__name__}"
        )
    session = getattr(devices[0], "_rpc_sess", None)
    make = get_global_func(function) if session is None else session.get_function(function)
    numbers: list[int] = []
    for dev in devices:
        numbers += [dev.device_type % 128, dev.device_id]
    return make(graph_text(graph), lib, *numbers)  # type: ignore[no-any-return]


def create(graph_json_str: Any, libmod: Module, device: Any) -> GraphModule:
    """Make an executor of a graph.

    Parameters
    ----------
    graph_json_str : str or dict
        The graph.
    libmod : Module
        Has the functions that the graph's nodes name, itself or in what it imports.
    device : Device or list of Device
        Where the arrays are; a graph over several kinds of device takes one of each.

    Returns
    -------
    GraphModule

    Raises
    ------
    ValueError
        When the graph is damaged, a function is missing, or it needs more memory than there is.

    Examples
    --------
    >>> import tvm
    >>> from tvm.contrib import graph_builder, graph_executor
    >>> graph = graph_builder.GraphBuilder()
    >>> x = graph.input("x", (4,))
    >>> A = tvm.te.placeholder((4,), name="A")
    >>> B = tvm.te.compute((4,), lambda i: A[i] + 1.0, name="B")
    >>> graph.output(graph.call(tvm.te.create_schedule(B.op), [A, B], [x], name="add_one"))
    >>> built = graph.build()
    >>> g = graph_executor.create(built.graph_json, built.lib, tvm.cpu())
    >>> g.set_input("x", tvm.nd.empty((4,)).copyfrom([1, 2, 3, 4]))
    >>> g.run()
    >>> g.get_output(0).numpy().tolist()
    [2.0, 3.0, 4.0, 5.0]
    """
    return GraphModule(make_executor("tvm.graph_executor.create", graph_json_str, libmod, device))


class GraphModule:
    """An executor of a graph with its arrays.

    Calls from several threads wait for each other. Arrays that `get_input` and `get_output` return
    are the executor's own memory: the next `run` writes them.

    Parameters
    ----------
    module : Module
        What ``tvm.graph_executor.create`` or a factory module (``lib["default"](dev)``) returned.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self._set_input = module["set_input"]
        self._run = module["run"]
        self._get_output = module["get_output"]
        self._get_input = module["get_input"]
        self._index = module["get_input_index"]

    def set_input(self, key: str | int | None = None, value: Any = None, **params: Any) -> None:
        """Copy arrays into inputs.

        Parameters
        ----------
        key : str or int, optional
            Name or number of an input.
        value : NDArray or array_like
            What to copy; shape and dtype must be the input's.
        **params
            More inputs by name; those that the graph does not have are skipped.

        Raises
        ------
        ValueError
            When there is no such input, or shape or dtype differ.
        """
        if key is not None:
            self._set_input(key, value if isinstance(value, NDArray) else array(value))
        for name, item in params.items():
            if self._index(name) >= 0:
                self._set_input(name, item if isinstance(item, NDArray) else array(item))

    def set_input_zero_copy(
        self, key: str | int | None = None, value: Any = None, **params: Any
    ) -> None:
        """Use arrays as inputs without copying them.

        The arrays must be compact, aligned to 64 bytes, on the graph's device, and of the input's
        shape and dtype. They stay alive as long as the executor uses them.
        """
        if key is not None:
            self.module["set_input_zero_copy"](key, value)
        for name, item in params.items():
            if self._index(name) >= 0:
                self.module["set_input_zero_copy"](name, item)

    def set_output_zero_copy(self, key: str | int, value: NDArray) -> None:
        """Let the graph write an output into an array of the caller; as `set_input_zero_copy`."""
        self.module["set_output_zero_copy"](key, value)

    def run(self, **input_dict: Any) -> None:
        """Run all nodes, after setting the given inputs."""
        if input_dict:
            self.set_input(None, None, **input_dict)
        self._run()

    def get_num_outputs(self) -> int:
        """How many outputs the graph has."""
        return self.module["get_num_outputs"]()  # type: ignore[no-any-return]

    def get_num_inputs(self) -> int:
        """How many inputs the graph has, parameters included."""
        return self.module["get_num_inputs"]()  # type: ignore[no-any-return]

    def get_input(self, index: str | int, out: NDArray | None = None) -> NDArray:
        """An input's array, or `out` with a copy of it."""
        return _get(self._get_input, index, out)

    def get_output(self, index: str | int, out: NDArray | None = None) -> NDArray:
        """An output's array, or `out` with a copy of it.

        Outputs have numbers, and names: that of their node, or "node:i" for one of several.
        """
        return _get(self._get_output, index, out)

    def get_input_index(self, name: str) -> int:
        """Number of an input, -1 when there is none of this name."""
        return self._index(name)  # type: ignore[no-any-return]

    def get_input_info(self) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
        """Shapes and dtypes of the inputs by name."""
        arrays = {}
        for index in range(self.get_num_inputs()):
            arrays[self.module["get_input_name"](index)] = self._get_input(index)
        shapes = {name: tuple(a.shape) for name, a in arrays.items()}
        return shapes, {name: str(a.dtype) for name, a in arrays.items()}

    def get_output_info(self) -> tuple[list[tuple[int, ...]], list[str]]:
        """Shapes and dtypes of the outputs by number."""
        arrays = [self._get_output(index) for index in range(self.get_num_outputs())]
        return [tuple(a.shape) for a in arrays], [str(a.dtype) for a in arrays]

    def load_params(self, params_bytes: Any) -> None:
        """Copy the arrays of a parameter file into the inputs of the same names.

        Parameters
        ----------
        params_bytes : bytes-like
            What `tvm.runtime.save_param_dict` makes. Arrays that are no input of the graph are
            skipped; nothing is written when the file is damaged or an array does not fit.
        """
        self.module["load_params"](_bytes(params_bytes))

    def share_params(self, other: GraphModule, params_bytes: Any) -> None:
        """Use the parameters of another executor, without a copy.

        Parameters
        ----------
        other : GraphModule
            Has the arrays.
        params_bytes : bytes-like
            A parameter file; its names say which.
        """
        self.module["share_params"](other.module, _bytes(params_bytes))

    def __getitem__(self, key: str) -> Any:
        """A function of the executor's module."""
        return self.module[key]

    def benchmark(
        self,
        device: Device,
        func_name: str = "run",
        repeat: int = 5,
        number: int = 5,
        min_repeat_ms: float | None = None,
        limit_zero_time_iterations: int = 100,
        end_to_end: bool = False,
        cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1,
        **kwargs: Any,
    ) -> BenchmarkResult:
        """Measure how long a run takes.

        Parameters
        ----------
        device : Device
            Waited for before the clock is read.
        func_name : str
            The function that is measured.
        repeat, number : int
            How many results, and how many runs make one.
        min_repeat_ms : float, optional
            Least duration of a result in milliseconds.
        limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown
            As for `Module.time_evaluator`.
        end_to_end : bool
            Count the copies of the inputs and outputs too.
        **kwargs
            Inputs by name.

        Returns
        -------
        BenchmarkResult
            In seconds.
        """
        inputs = {k: v if isinstance(v, NDArray) else array(v) for k, v in kwargs.items()}
        self.set_input(None, None, **inputs)
        func = self.module[func_name]
        if end_to_end:
            outputs = [self.get_output(i) for i in range(self.get_num_outputs())]

            def run() -> None:
                self.set_input(None, None, **inputs)
                func()
                for output in outputs:
                    output.numpy()

        else:
            run = func
        return time_evaluator(
            run,
            make_device(device),
            number,
            repeat,
            min_repeat_ms or 0,
            limit_zero_time_iterations,
            cooldown_interval_ms,
            repeats_to_cooldown,
        )()


def _get(function: Any, index: str | int, out: NDArray | None) -> NDArray:
    if out is None:
        return function(index)  # type: ignore[no-any-return]
    function(index, out)
    return out


def _bytes(data: Any) -> bytearray | bytes:
    return data if isinstance(data, (bytes, bytearray)) else bytes(data)


def factory(
    graph: Any, lib: Module, params: Any = None, name: str = "default", **more: Any
) -> Module:
    """A graph, its library and its parameters as one module.

    Parameters
    ----------
    graph : str or dict
        The graph.
    lib : Module
        Its functions.
    params : mapping of str to array, optional
        Its parameters.
    name : str
        The function of the result that makes an executor.

    Returns
    -------
    Module
        ``GraphModule(result[name](device))`` is an executor with the parameters set.
    """
    pairs: list[Any] = []
    for key, value in {**(params or {}), **more}.items():
        pairs += [key, value if isinstance(value, NDArray) else array(value)]
    make = get_global_func("tvm.graph_executor_factory.create")
    return make(graph_text(graph), lib, name, *pairs)  # type: ignore[no-any-return]


def load_binary(key: str, data: bytes | bytearray) -> Module:
    """The module of kind `key` that is stored in bytes."""
    return get_global_func(f"runtime.module.loadbinary_{key}")(bytes(data))  # type: ignore[no-any-return]
