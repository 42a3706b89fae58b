"""Looking at schedules: a tree of loops as text, and three graphs in the DOT language.

* `tree`: the loops of all stages, each stage where it runs;
* `dataflow_dot`: which stage reads which;
* `schedule_dot`: the tree of loops as a graph;
* `axes_dot`: how the axes of each stage derive from each other.

DOT text needs nothing; `svg` draws it with the ``graphviz`` package where that is installed.
"""

from __future__ import annotations

from tvm.error import ImportError_

from .operation import PlaceholderOp
from .relations import Fuse, Split
from .stage import Stage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tvm.tir import IterVar

    from .schedule import Schedule

_MARKS = {5: "unroll", 6: "vectorize", 7: "parallel", 8: "tensorize"}
_KINDS = {0: "", 2: "reduce", 3: "ordered", 4: "opaque"}


def _extent(iv: IterVar) -> str:
    return "" if iv.dom is None else f" [{iv.dom.min}, {iv.dom.min + iv.dom.extent})"


def axis_text(stage: Stage, iv: IterVar) -> str:
    """An axis with what was asked of it: ``parallel i.outer``."""
    attr = stage.iter_var_attrs.get(iv)
    words = [iv.var.name]
    if attr is None:
        kind = _KINDS.get(iv.iter_type, "")
        return " ".join(filter(None, [kind, *words])) + _extent(iv)
    mark = _MARKS.get(attr.iter_type) or _KINDS.get(iv.iter_type, "")
    words = [mark, *words] if mark else words
    text = " ".join(words) + _extent(iv)
    if attr.bind_thread is not None:
        text += f" on {attr.bind_thread.thread_tag}"
    for key in attr.pragma_keys:
        text += f", pragma {key}".replace('"', "")
    for tensor in attr.prefetch_data:
        text += f", prefetch {tensor.name}"
    return text


def stage_text(stage: Stage) -> str:
    """A stage with where it lives and how it is stored."""
    notes = [f'in "{stage.scope}"'] if stage.scope else []
    if stage.is_output:
        notes.append("output")
    if stage.attach_type == Stage.INLINE:
        notes.append("inlined")
    if stage.double_buffered:
        notes.append("double buffer")
    if stage.rolling_buffered:
        notes.append("rolling buffer")
    return stage.name + (f" ({', '.join(notes)})" if notes else "")


class _Node:
    """A line of the tree: a stage or an axis."""

    __slots__ = ("children", "stage", "text")

    def __init__(self, text: str, stage: Stage | None = None) -> None:
        self.text = text
        self.stage = stage
        self.children: list[_Node] = []


def _place(schedule: Schedule) -> dict[tuple[Stage, int], list[Stage]]:
    from .bounds import attach_position

    attached: dict[tuple[Stage, int], list[Stage]] = {}
    for stage in schedule.stages:
        owner = stage
        while owner.attach_type == Stage.GROUP_ROOT and owner.group is not None:
            owner = owner.group
        if owner.attach_type in (Stage.SCOPE, Stage.SCAN_UPDATE):
            parent = owner.attach_stage
            assert parent is not None
            attached.setdefault((parent, attach_position(owner)), []).append(stage)
        elif not isinstance(stage.op, PlaceholderOp):
            attached.setdefault((stage, -2), []).append(stage)
    return attached


def tree(schedule: Schedule) -> _Node:
    """The loops of all stages, each stage inside the loop that it is attached to."""
    attached = _place(schedule)

    def build(stage: Stage) -> _Node:
        top = here = _Node(stage_text(stage), stage)
        if stage.attach_type == Stage.INLINE:
            return top
        for position, iv in enumerate(stage.leaf_iter_vars):
            inner = _Node(axis_text(stage, iv))
            here.children.append(inner)
            here = inner
            for other in attached.get((stage, position), ()):
                here.children.append(build(other))
        return top

    root = _Node("schedule")
    for stage in schedule.stages:
        if (stage, -2) in attached:
            root.children.append(build(stage))
    return root


def tree_text(schedule: Schedule) -> str:
    """The tree as plain text, two spaces a level."""
    lines: list[str] = []

    def write(node: _Node, depth: int) -> None:
        lines.append("  " * depth + node.text)
        for child in node.children:
            write(child, depth + 1)

    write(tree(schedule), 0)
    return "\n".join(lines)


def show(schedule: Schedule) -> None:
    """Print the tree."""
    from rich.console import Console
    from rich.text import Text
    from rich.tree import Tree

    def fill(to: Any, node: _Node) -> None:
        for child in node.children:
            style = "bold" if child.stage is not None else ""
            fill(to.add(Text(child.text, style=style)), child)

    root = tree(schedule)
    drawn = Tree(root.text)
    fill(drawn, root)
    Console().print(drawn)


# ---- graphs


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _graph(name: str, lines: list[str]) -> str:
    body = "\n".join("  " + line for line in lines)
    return f"digraph {_quoted(name)} {{\n{body}\n}}\n"


def dataflow_dot(schedule: Schedule) -> str:
    """Stages, and an edge for each tensor that one reads of another."""
    names = {stage: f"s{k}" for k, stage in enumerate(schedule.stages)}
    lines = ["node [shape=box]"]
    for stage, name in names.items():
        shape = "ellipse" if isinstance(stage.op, PlaceholderOp) else "box"
        lines.append(f"{name} [label={_quoted(stage_text(stage))}, shape={shape}]")
    for stage, name in names.items():
        for tensor in stage.op.input_tensors:
            source = schedule.stage_map.get(tensor.op)
            if source in names:
                sizes = " x ".join(map(str, tensor.shape)) or "scalar"
                label = _quoted(f"{sizes} {tensor.dtype}")
                lines.append(f"{names[source]} -> {name} [label={label}]")
    return _graph("dataflow", lines)


def schedule_dot(schedule: Schedule) -> str:
    """The tree of loops: boxes are stages, ellipses axes."""
    lines: list[str] = []
    count = 0

    def write(node: _Node) -> str:
        nonlocal count
        name = f"n{count}"
        count += 1
        shape = "box" if node.stage is not None or name == "n0" else "ellipse"
        lines.append(f"{name} [label={_quoted(node.text)}, shape={shape}]")
        below = [write(child) for child in node.children]
        lines.extend(f"{name} -> {child}" for child in below)
        return name

    write(tree(schedule))
    return _graph("schedule", lines)


def axes_dot(schedule: Schedule) -> str:
    """The axes of each stage, and the splits and fusions between them."""
    lines: list[str] = []
    for number, stage in enumerate(schedule.stages):
        if isinstance(stage.op, PlaceholderOp):
            continue
        names = {iv: f"s{number}_{k}" for k, iv in enumerate(stage.all_iter_vars)}
        lines += [f"subgraph cluster_{number} {{", f"label={_quoted(stage.name)}"]
        leaves = {id(iv) for iv in stage.leaf_iter_vars}
        for iv, name in names.items():
            style = "filled" if id(iv) in leaves else "solid"
            lines.append(f"{name} [label={_quoted(axis_text(stage, iv))}, style={style}]")
        for k, relation in enumerate(stage.relations):
            middle = f"s{number}_r{k}"
            if isinstance(relation, Split):
                given = relation.factor if relation.factor is not None else relation.nparts
                word = "factor" if relation.factor is not None else "nparts"
                text = f"split {word}={given}"
            else:
                text = "fuse" if isinstance(relation, Fuse) else "singleton"
            lines.append(f"{middle} [label={_quoted(text)}, shape=diamond]")
            lines += [f"{names[iv]} -> {middle}" for iv in relation.made_from]
            lines += [f"{middle} -> {names[iv]}" for iv in relation.makes]
        lines.append("}")
    return _graph("axes", lines)


def svg(dot: str) -> str:
    """DOT text drawn as SVG.

    Raises
    ------
    ImportError
        If the ``graphviz`` package or its ``dot`` program is not installed.
    """
    try:
        from importlib import import_module

        graphviz = import_module("graphviz")
    except ImportError:
        raise ImportError_(
            "drawing needs the graphviz package: pip install graphviz, and the program dot"
        ) from None
    try:
        drawn = graphviz.Source(dot).pipe(format="svg", encoding="utf-8")
    except graphviz.ExecutableNotFound:
        raise ImportError_("drawing needs the program dot of Graphviz on the PATH") from None
    return str(drawn)
