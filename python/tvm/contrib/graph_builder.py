"""Graphs from tensor expressions: calls of compiled functions, in order, over planned memory."""

from __future__ import annotations

from tvm.error import TypeError_, ValueError_

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tvm._ffi._core import Module

__all__ = ["BuiltGraph", "GraphBuilder", "Value"]


class Value:
    """An array of a graph under construction.

    Attributes
    ----------
    shape : tuple of int
    dtype : str
    """

    def __init__(self, node: int, index: int, shape: Any, dtype: str) -> None:
        self.node = node
        self.index = index
        self.shape = tuple(int(extent) for extent in shape)
        self.dtype = str(dtype)

    def __repr__(self) -> str:
        return f"Value(node={self.node}, index={self.index}, {self.shape}, {self.dtype})"


class BuiltGraph:
    """What `GraphBuilder.build` returns.

    Attributes
    ----------
    graph_json : str
    lib : Module
        The functions.
    params : dict of str to NDArray
    """

    def __init__(self, graph_json: str, lib: Module, params: dict[str, Any]) -> None:
        self.graph_json = graph_json
        self.lib = lib
        self.params = params

    def factory(self, name: str = "default") -> Module:
        """All three as one module; see `tvm.contrib.graph_executor.factory`."""
        from .graph_executor import factory

        return factory(self.graph_json, self.lib, self.params, name)


class GraphBuilder:
    """Collects inputs, parameters and calls, then compiles and plans.

    Arrays that are not needed any more give their memory to later ones.

    Examples
    --------
    >>> import tvm
    >>> from tvm.contrib.graph_builder import GraphBuilder
    >>> graph = GraphBuilder()
    >>> x, w = graph.input("x", (4,)), graph.param("w", tvm.nd.empty((4,)))
    >>> A, B = (tvm.te.placeholder((4,), name=n) for n in "AB")
    >>> C = tvm.te.compute((4,), lambda i: A[i] * B[i], name="C")
    >>> graph.output(graph.call(tvm.te.create_schedule(C.op), [A, B, C], [x, w], name="mul"))
    >>> sorted(graph.build().params)
    ['w']
    """

    def __init__(self) -> None:
        self._nodes: list[dict[str, Any]] = []
        self._values: list[list[Value]] = []  # outputs of each node
        self._outputs: list[Value] = []
        self._functions: dict[str, tuple[Any, Any]] = {}
        self._params: dict[str, Any] = {}

    def _add(self, name: str, node: dict[str, Any], kinds: list[tuple[Any, str]]) -> list[Value]:
        if any(other["name"] == name for other in self._nodes):
            raise ValueError_(f"GraphBuilder: there is a node named {name!r} already")
        self._nodes.append({"name": name, **node})
        self._values.append(
            [Value(len(self._nodes) - 1, i, s, t) for i, (s, t) in enumerate(kinds)]
        )
        return self._values[-1]

    def input(self, name: str, shape: Sequence[int], dtype: str = "float32") -> Value:
        """An input of the graph."""
        return self._add(name, {"op": "null", "inputs": []}, [(shape, dtype)])[0]

    def param(self, name: str, value: Any) -> Value:
        """An input that has a value, which is stored with the graph."""
        from tvm.runtime.ndarray import NDArray, array

        value = value if isinstance(value, NDArray) else array(value)
        made = self.input(name, value.shape, value.dtype)
        self._params[name] = value
        return made

    def call(
        self,
        schedule: Any,
        args: Sequence[Any],
        inputs: Sequence[Value],
        name: str,
        func_name: str | None = None,
    ) -> Any:
        """A call of a function.

        Parameters
        ----------
        schedule : Schedule
            Compiled by `build`.
        args : list of Tensor
            The function's arguments: as many as there are `inputs`, then the outputs.
        inputs : list of Value
            What it reads.
        name : str
            Name of the node.
        func_name : str, optional
            Name of the function, by default `name`. Nodes may share a function: the same name
            with the same schedule.

        Returns
        -------
        Value, or list of Value when there are several outputs
        """
        func = func_name or name
        if len(args) <= len(inputs):
            raise ValueError_(
                f"GraphBuilder.call: {name!r} has {len(args)} arguments and {len(inputs)} inputs, "
                "which leaves no output"
            )
        for index, (arg, given) in enumerate(zip(args, inputs, strict=False)):
            if not isinstance(given, Value):
                raise TypeError_(
                    f"GraphBuilder.call: {name!r}: input {index} must be a Value of this builder, "
                    f"got {type(given).__name__}"
                )
            expected = tuple(int(extent) for extent in arg.shape)
            if expected != given.shape or str(arg.dtype) != given.dtype:
                raise ValueError_(
                    f"GraphBuilder.call: {name!r}: input {index} expects shape {expected} and "
                    f"dtype {arg.dtype}, but is {given.shape} and {given.dtype}"
                )
        if func in self._functions and self._functions[func][0] is not schedule:
            raise ValueError_(f"GraphBuilder.call: there is another function named {func!r}")
        attrs = {
            "func_name": func,
            "num_inputs": str(len(inputs)),
            "num_outputs": str(len(args) - len(inputs)),
            "flatten_data": "0",
        }
        node = {
            "op": "tvm_op",
            "inputs": [[v.node, v.index, 0] for v in inputs],
            "attrs": attrs,
        }
        results = self._add(name, node, [(a.shape, a.dtype) for a in args[len(inputs) :]])
        self._functions[func] = (schedule, list(args))
        return results[0] if len(results) == 1 else results

    def output(self, *values: Value) -> None:
        """Make values outputs of the graph, in this order."""
        self._outputs += values

    def build(self, target: Any = "llvm") -> BuiltGraph:
        """Compile the functions and plan the memory.

        Parameters
        ----------
        target : str or Target
            For all functions.

        Returns
        -------
        BuiltGraph
        """
        import json

        from tvm.driver.build_module import build, lower
        from tvm.ir.module import IRModule

        if not self._outputs:
            raise ValueError_("GraphBuilder.build: the graph has no output")
        lowered = [lower(s, args, name=f) for f, (s, args) in self._functions.items()]
        functions: dict[Any, Any] = {}
        for part in lowered:
            functions.update(part.functions)
        lib = build(IRModule(functions), target=target)
        rows = [0]
        for values in self._values:
            rows.append(rows[-1] + len(values))
        flat = [value for values in self._values for value in values]
        graph = {
            "nodes": self._nodes,
            "arg_nodes": [i for i, n in enumerate(self._nodes) if n["op"] == "null"],
            "heads": [[v.node, v.index, 0] for v in self._outputs],
            "node_row_ptr": rows,
            "attrs": {
                "dltype": ["list_str", [v.dtype for v in flat]],
                "shape": ["list_shape", [list(v.shape) for v in flat]],
                "storage_id": ["list_int", self._plan()],
            },
        }
        return BuiltGraph(json.dumps(graph), lib, dict(self._params))

    def _plan(self) -> list[int]:
        """Storage of each array: a free one of the same size, else the next number."""
        last = {}  # the last node that reads an array
        for number, node in enumerate(self._nodes):
            for source, index, _ in node["inputs"]:
                last[source, index] = number
        for value in self._outputs:
            last[value.node, value.index] = len(self._nodes)
        ids: dict[tuple[int, int], int] = {}
        free: dict[int, list[int]] = {}
        count = 0
        for number, node in enumerate(self._nodes):
            for value in self._values[number]:
                size = _bytes(value)
                found = free.get(size) if node["op"] != "null" else None
                if found:
                    ids[number, value.index] = found.pop()
                else:
                    ids[number, value.index] = count
                    count += 1
            # Inputs keep their memory: a later run reads them again.
            done = {(n, i) for n, i, _ in node["inputs"] if self._nodes[n]["op"] != "null"}
            done |= {(number, v.index) for v in self._values[number] if node["op"] != "null"}
            for key in sorted(done):
                if last.get(key, number) == number:
                    free.setdefault(_bytes(self._values[key[0]][key[1]]), []).append(ids[key])
        return [ids[v.node, v.index] for values in self._values for v in values]


def _bytes(value: Value) -> int:
    from tvm._ffi import dtype

    _, bits, lanes = dtype.parse(value.dtype)
    size = (bits * lanes + 7) // 8
    for extent in value.shape:
        size *= extent
    return size
