"""Programs as JSON text, in the classic schema {root, nodes, b64ndarrays, attrs}."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def save_json(node: Any) -> str:
    """`node` and all that it refers to, as JSON text."""
    from .json_graph import save

    return save(node)


def load_json(json_str: str) -> Any:
    """The node that `save_json` wrote."""
    from .json_graph import load

    return load(json_str)
