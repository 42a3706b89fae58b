"""Graphs of schedules, under the names that older programs call them by.

Examples
--------
>>> import tvm
>>> from tvm import te
>>> from tvm.contrib import tedd
>>> A = te.placeholder((8,), name="A")
>>> B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
>>> text = tedd.viz_dataflow_graph(te.create_schedule(B.op), output_dot_string=True)
>>> text.startswith("digraph")
True
"""

from __future__ import annotations

from tvm.te.schedule_view import axes_dot, dataflow_dot, schedule_dot, svg

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tvm.te.schedule import Schedule


def _give(dot: str, show_svg: bool, dot_file_path: str, output_dot_string: bool) -> Any:
    if dot_file_path:
        with open(dot_file_path, "w", encoding="utf-8") as file:
            file.write(dot)
    if show_svg:
        from IPython.display import SVG, display

        display(SVG(svg(dot)))
    return dot if output_dot_string else None


def viz_dataflow_graph(
    sch: Schedule,
    show_svg: bool = False,
    dot_file_path: str = "",
    output_dot_string: bool = False,
) -> Any:
    """Which stage reads which.

    Parameters
    ----------
    sch : Schedule
        The schedule.
    show_svg : bool
        Whether to draw it in a notebook.
    dot_file_path : str
        Where to write the DOT text; nowhere if empty.
    output_dot_string : bool
        Whether to give the DOT text.
    """
    return _give(dataflow_dot(sch), show_svg, dot_file_path, output_dot_string)


def viz_schedule_tree(
    sch: Schedule,
    show_svg: bool = False,
    dot_file_path: str = "",
    output_dot_string: bool = False,
) -> Any:
    """The loops of all stages; parameters as `viz_dataflow_graph`."""
    return _give(schedule_dot(sch), show_svg, dot_file_path, output_dot_string)


def viz_itervar_relationship_graph(
    sch: Schedule,
    show_svg: bool = False,
    dot_file_path: str = "",
    output_dot_string: bool = False,
) -> Any:
    """How the axes of each stage derive; parameters as `viz_dataflow_graph`."""
    return _give(axes_dot(sch), show_svg, dot_file_path, output_dot_string)
