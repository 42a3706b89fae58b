"""Tags: short names for whole targets.

Examples
--------
>>> import tvm
>>> "nvidia/nvidia-a100" in tvm.target.list_tags()
True
"""

from __future__ import annotations

from tvm.error import ValueError_

from .target import _TAGS, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def list_tags() -> dict[str, Target]:
    """All tags and their targets."""
    return {name: Target(name) for name in sorted(_TAGS)}


def register_tag(name: str, config: str | dict[str, Any], override: bool = False) -> Target:
    """Give a target a tag.

    Parameters
    ----------
    name : str
        The tag, such as ``"vendor/board"``.
    config : str or dict
        The target.
    override : bool
        Whether an existing tag may change.

    Returns
    -------
    Target

    Raises
    ------
    ValueError
        If the tag exists and ``override`` is false, or the target is bad.
    """
    if name in _TAGS and not override:
        raise ValueError_(
            f"register_tag: the tag {name!r} exists already; give override=True to change it"
        )
    _TAGS[name] = str(Target(config))
    return Target(name)
