"""Tags: names on operations that tell a later schedule what they are."""

from __future__ import annotations

import _thread

from tvm.error import ValueError_

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


_local = _thread._local()


class TagScope:
    """Gives every operation made inside it a tag; see `tag_scope`."""

    def __init__(self, tag: str) -> None:
        self.tag = tag

    @classmethod
    def get_current(cls) -> TagScope | None:
        """The scope that this thread is in, if any."""
        return getattr(_local, "scope", None)

    def __enter__(self) -> TagScope:
        outer = TagScope.get_current()
        if outer is not None:
            raise ValueError_(
                f"tag_scope({self.tag!r}) is inside tag_scope({outer.tag!r}): "
                "tag scopes do not nest"
            )
        _local.scope = self
        return self

    def __exit__(self, *exc: object) -> None:
        _local.scope = None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def tagged(*args: Any, **kwargs: Any) -> Any:
            with TagScope(self.tag):
                return function(*args, **kwargs)

        tagged.__name__ = getattr(function, "__name__", "tagged")
        tagged.__doc__ = function.__doc__
        return tagged


def tag_scope(tag: str) -> TagScope:
    """A context manager and decorator that tags the operations made inside.

    Parameters
    ----------
    tag : str
        The tag, for instance ``"broadcast"``.

    Examples
    --------
    >>> from tvm import te
    >>> A = te.placeholder((4,), name="A")
    >>> with te.tag_scope("scaled"):
    ...     B = te.compute((4,), lambda i: A[i] * 2.0)
    >>> B.op.tag
    'scaled'
    """
    return TagScope(tag)
