"""A graph executor that runs node by node: times, values, a trace for the browser."""

from __future__ import annotations

from tvm._ffi._core import Module
from tvm.contrib.graph_executor import GraphModule, make_executor
from tvm.error import ValueError_

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tvm.runtime.ndarray import NDArray

__all__ = ["GraphModuleDebug", "NodeTimes", "create"]


def create(
    graph_json_str: Any, libmod: Module, device: Any, dump_root: Any = None
) -> GraphModuleDebug:
    """Make a debug executor; see `tvm.contrib.graph_executor.create`.

    Parameters
    ----------
    dump_root : str or path-like, optional
        Folder where `run` leaves the trace of its times, trace.json.
    """
    module = make_executor("tvm.graph_executor_debug.create", graph_json_str, libmod, device)
    return GraphModuleDebug(module, device, graph_json_str, dump_root)


class NodeTimes:
    """Start and duration of each node of one or more runs.

    Attributes
    ----------
    names : list of str
        Nodes in the order in which they ran.
    starts, durations : list of list of int
        One list a run, one number a node, in nanoseconds.
    """

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.starts: list[list[int]] = []
        self.durations: list[list[int]] = []

    def best(self) -> dict[str, float]:
        """Shortest time of each node, in seconds."""
        columns = zip(*self.durations, strict=True)
        return {n: min(c) * 1e-9 for n, c in zip(self.names, columns, strict=True)}

    def chrome_trace(self) -> str:
        """JSON text that chrome://tracing and Perfetto show."""
        import json

        first = self.starts[0][0] if self.names and self.starts else 0
        events = [
            {
                "name": name,
                "ph": "X",
                "ts": (start - first) / 1e3,
                "dur": duration / 1e3,
                "pid": 0,
                "tid": 0,
                "args": {"run": run},
            }
            for run, (starts, durations) in enumerate(zip(self.starts, self.durations, strict=True))
            for name, start, duration in zip(self.names, starts, durations, strict=True)
        ]
        return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"})

    def table(self) -> Any:
        """A `rich.table.Table`: node, time in microseconds, share of the whole."""
        from rich.table import Table

        best = self.best()
        whole = sum(best.values()) or 1.0
        table = Table("node", title="time of nodes")
        table.add_column("us", justify="right")
        table.add_column("%", justify="right")
        for name, seconds in sorted(best.items(), key=lambda item: -item[1]):
            table.add_row(name, f"{seconds * 1e6:.3f}", f"{seconds / whole * 100:.1f}")
        return table


class GraphModuleDebug(GraphModule):
    """A `GraphModule` that can run one node at a time."""

    def __init__(
        self, module: Module, device: Any = None, graph_json_str: Any = None, dump_root: Any = None
    ) -> None:
        super().__init__(module)
        self.dump_root = dump_root
        self._execute = module["execute_node"]
        count = module["get_num_nodes"]()
        self.nodes: list[str] = [module["get_node_name"](i) for i in range(count)]
        inputs = {module["get_input_name"](i) for i in range(self.get_num_inputs())}
        self._ops = [i for i, name in enumerate(self.nodes) if name not in inputs]

    def profile(self, runs: int = 1, **input_dict: Any) -> NodeTimes:
        """Run the graph node by node with a clock beside it.

        Parameters
        ----------
        runs : int
            How often.
        **input_dict
            Inputs to set before.

        Returns
        -------
        NodeTimes
        """
        from time import perf_counter_ns

        if runs < 1:
            raise ValueError_(f"profile: runs must be at least 1, got {runs}")
        self.set_input(None, None, **input_dict)
        times = NodeTimes([self.nodes[i] for i in self._ops])
        for _ in range(runs):
            starts, durations = [], []
            for index in self._ops:
                start = perf_counter_ns()
                self._execute(index)
                durations.append(perf_counter_ns() - start)
                starts.append(start)
            times.starts.append(starts)
            times.durations.append(durations)
        return times

    def run(self, **input_dict: Any) -> None:
        """Run the graph node by node; with `dump_root`, the trace is written there."""
        times = self.profile(**input_dict)
        if self.dump_root is not None:
            import os

            os.makedirs(self.dump_root, exist_ok=True)
            with open(os.path.join(self.dump_root, "trace.json"), "w", encoding="utf-8") as file:
                file.write(times.chrome_trace())

    def run_individual(self, number: int = 1, repeat: int = 1, **_: Any) -> list[list[float]]:
        """Times of the nodes: one list a repeat, mean of `number` runs a node, in seconds."""
        results = []
        for _repeat in range(repeat):
            times = self.profile(number)
            columns = zip(*times.durations, strict=True)
            results.append([sum(column) / number * 1e-9 for column in columns])
        return results

    def execute_node(self, node: str | int) -> None:
        """Run one node on the arrays as they are."""
        self._execute(node)

    def get_node_output(
        self, node: str | int, output: int = 0, out: NDArray | None = None
    ) -> NDArray:
        """An output of any node, as it is now: memory is shared, so a later node may have used it.

        Run the nodes up to this one with `execute_node`, or use `debug_get_output`, which does.
        """
        if out is None:
            return self.module["get_node_output"](node, output)  # type: ignore[no-any-return]
        self.module["get_node_output"](node, output, out)
        return out

    def debug_get_output(
        self, node: str | int, out: NDArray | None = None, output: int = 0
    ) -> NDArray:
        """Run the graph up to a node and return (a copy of) its output."""
        last = self.nodes.index(node) if isinstance(node, str) and node in self.nodes else node
        if not isinstance(last, int) or not 0 <= last < len(self.nodes):
            raise ValueError_(
                f"debug_get_output: the graph has no node {node!r}; its nodes are {self.nodes}"
            )
        for index in self._ops:
            if index <= last:
                self._execute(index)
        value = self.get_node_output(last, output)
        return value.copyto(out if out is not None else value.device)
