"""Equality and hash of programs up to the names of what they define."""

from __future__ import annotations

from .. import error
from .base import Node
from .deep import call_deep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> bool:
    """Whether two programs are the same up to the names of variables.

    Parameters
    ----------
    lhs, rhs : Node, container or number
        What to compare.
    map_free_vars : bool
        Whether variables that neither side defines may stand for each other as well; otherwise a
        free variable equals itself only.
    """
    return _Comparison(map_free_vars).run(lhs, rhs) is None


def exactly_equal(lhs: Any, rhs: Any) -> bool:
    """Whether two expressions are the same node for node.

    Other than in `structural_equal`, every free variable and every buffer equals itself only, so
    that equal expressions have equal values.
    """
    return lhs is rhs or _Comparison(False, True).run(lhs, rhs) is None


def get_first_structural_mismatch(
    lhs: Any, rhs: Any, map_free_vars: bool = False
) -> tuple[Any, Any] | None:
    """The paths to the first difference in both programs, None if there is none."""
    found = _Comparison(map_free_vars).run(lhs, rhs)
    if found is None:
        return None
    from .object_path import ObjectPath

    path: ObjectPath = ObjectPath.root()
    for step in found.path:
        if isinstance(step, str):
            path = path.attr(step)
        elif isinstance(step, int):
            path = path.array_index(step)
        else:
            path = path.map_value(step[0])
    return path, path


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Raise ValueError, showing where and both programs, unless they are structurally equal."""
    found = _Comparison(map_free_vars).run(lhs, rhs)
    if found is not None:
        raise error.ValueError_(
            f"StructuralEqual check failed at {found.where()}: {found.reason}\nleft:\n{lhs}\n"
            f"right:\n{rhs}"
        )


def structural_hash(node: Any, map_free_vars: bool = False) -> int:
    """A number that structurally equal programs share."""
    return call_deep(_depth(node), _Hasher(map_free_vars).hash, node)  # type: ignore[no-any-return]


def _depth(node: Any) -> int:
    return getattr(node, "depth", 1)


class _Mismatch(Exception):
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path: list[Any] = []

    def where(self) -> str:
        """The path as text."""
        text = "<root>"
        for step in self.path:
            if isinstance(step, str):
                text += f".{step}"
            else:
                text += f"[{step!r}]" if isinstance(step, int) else f"[{step[0]!r}]"
        return text


def _is_variable(node: Any) -> bool:
    return node.type_key in ("tir.Var", "tir.SizeVar", "TypeVar")


class _Comparison:
    def __init__(self, map_free_vars: bool, same_buffers: bool = False) -> None:
        self._map_free = map_free_vars
        self._same_buffers = same_buffers
        self._left: dict[Any, Any] = {}
        self._right: dict[Any, Any] = {}

    def run(self, lhs: Any, rhs: Any) -> _Mismatch | None:
        """The first difference, or None."""
        try:
            call_deep(max(_depth(lhs), _depth(rhs)), self._compare, lhs, rhs, False)
        except _Mismatch as found:
            found.path.reverse()
            return found
        return None

    def _compare(self, lhs: Any, rhs: Any, defining: bool) -> None:
        if isinstance(lhs, Node):
            if not isinstance(rhs, Node) or lhs.type_key != rhs.type_key:
                raise _Mismatch(f"{_kind(lhs)} against {_kind(rhs)}")
            if _is_variable(lhs):
                self._variable(lhs, rhs, defining)
            elif lhs.type_key == "tir.Buffer":
                self._buffer(lhs, rhs)
            elif lhs.type_key == "IRModule":
                self._module(lhs, rhs)
            elif lhs.type_key == "tir.PrimFunc":
                self._function(lhs, rhs)
            elif lhs.type_key == "Op":
                if lhs is not rhs:
                    names = (getattr(item, "name", "") for item in (lhs, rhs))
                    raise _Mismatch(" against ".join(names))
            elif not lhs.fields:
                if lhs is not rhs:
                    raise _Mismatch("two different objects")
            else:
                self._fields(lhs, rhs, defining)
        elif isinstance(lhs, (list, tuple)):
            if not isinstance(rhs, (list, tuple)) or len(lhs) != len(rhs):
                raise _Mismatch(f"{_kind(lhs)} against {_kind(rhs)}")
            self._items(lhs, rhs, defining)
        elif isinstance(lhs, dict):
            self._mapping(lhs, rhs)
        else:
            self._plain(lhs, rhs)

    def _plain(self, lhs: Any, rhs: Any) -> None:
        if isinstance(rhs, (Node, dict, list, tuple)):
            raise _Mismatch(f"{lhs!r} against {_kind(rhs)}")
        if hasattr(lhs, "numpy") and hasattr(rhs, "numpy"):
            a, b = lhs.numpy(), rhs.numpy()
            if a.shape != b.shape or a.dtype != b.dtype or a.tobytes() != b.tobytes():
                raise _Mismatch("arrays of different content")
            return
        if lhs != rhs and not (lhs != lhs and rhs != rhs):
            raise _Mismatch(f"{lhs!r} against {rhs!r}")
        if isinstance(lhs, float) and isinstance(rhs, float) and repr(lhs) != repr(rhs):
            raise _Mismatch(f"{lhs!r} against {rhs!r}")

    def _items(self, lhs: Any, rhs: Any, defining: bool) -> None:
        for index, (a, b) in enumerate(zip(lhs, rhs)):
            try:
                self._compare(a, b, defining)
            except _Mismatch as found:
                found.path.append(index)
                raise

    def _mapping(self, lhs: Any, rhs: Any) -> None:
        if not isinstance(rhs, dict) or len(lhs) != len(rhs):
            raise _Mismatch(f"{_kind(lhs)} against {_kind(rhs)}")
        for key, value in lhs.items():
            other = self._left.get(key, key) if isinstance(key, Node) else key
            if other not in rhs:
                raise _Mismatch(f"the key {key} is missing on the right")
            try:
                self._compare(value, rhs[other], False)
            except _Mismatch as found:
                found.path.append((key,))
                raise

    def _fields(self, lhs: Any, rhs: Any, defining: bool) -> None:
        name = ""
        try:
            for name, kind in lhs.fields:
                if kind == "n":
                    continue
                defines = kind in ("d", "ds", "ax")
                a, b = getattr(lhs, name), getattr(rhs, name)
                if a is b and not defines and not isinstance(a, (Node, tuple)):
                    continue
                self._compare(a, b, defines)
        except _Mismatch as found:
            found.path.append(name)
            raise

    def _variable(self, lhs: Any, rhs: Any, defining: bool) -> None:
        known = self._left.get(lhs)
        if known is not None or rhs in self._right:
            if known is not rhs:
                raise _Mismatch(f"variable {lhs.name} against {rhs.name}")
            return
        if lhs is rhs:
            if defining or self._map_free:
                self._left[lhs] = rhs
                self._right[rhs] = lhs
            return
        if not (defining or self._map_free):
            raise _Mismatch(f"free variable {lhs.name} against {rhs.name}")
        if lhs.type_key == "TypeVar":
            self._plain(lhs.kind, rhs.kind)
        else:
            self._plain(lhs.dtype, rhs.dtype)
            self._compare(lhs.type_annotation, rhs.type_annotation, False)
        self._left[lhs] = rhs
        self._right[rhs] = lhs

    def _buffer(self, lhs: Any, rhs: Any) -> None:
        if self._same_buffers:
            if lhs is not rhs:
                raise _Mismatch(f"buffer {lhs.name} against {rhs.name}")
            return
        known = self._left.get(lhs)
        if known is not None or rhs in self._right:
            if known is not rhs:
                raise _Mismatch(f"buffer {lhs.name} against {rhs.name}")
            return
        self._fields(lhs, rhs, False)
        self._left[lhs] = rhs
        self._right[rhs] = lhs

    def _function(self, lhs: Any, rhs: Any) -> None:
        try:
            for name in ("params", "buffer_map", "ret_type", "body", "attrs"):
                a, b = getattr(lhs, name), getattr(rhs, name)
                self._compare(a, b, name == "params")
        except _Mismatch as found:
            found.path.append(name)
            raise

    def _module(self, lhs: Any, rhs: Any) -> None:
        left = {var.name_hint: func for var, func in lhs.functions.items()}
        right = {var.name_hint: func for var, func in rhs.functions.items()}
        if left.keys() != right.keys():
            raise _Mismatch(f"functions {sorted(left)} against {sorted(right)}")
        for name in sorted(left):
            self._compare(left[name], right[name], False)
        self._compare(lhs.attrs, rhs.attrs, False)


def _kind(value: Any) -> str:
    if isinstance(value, Node):
        return value.type_key
    if isinstance(value, (list, tuple, dict)):
        return f"{type(value).__name__} of {len(value)}"
    return repr(value)


class _Hasher:
    def __init__(self, map_free_vars: bool) -> None:
        self._map_free = map_free_vars
        self._numbers: dict[Any, int] = {}

    def hash(self, value: Any, defining: bool = False) -> int:
        """The hash of a node, container or plain value."""
        if isinstance(value, Node):
            return self._node(value, defining)
        if isinstance(value, (list, tuple)):
            return hash(tuple([self.hash(item, defining) for item in value]))
        if isinstance(value, dict):
            # Order does not count; keys that are variables are known by number.
            return hash(frozenset([(self.hash(k), self.hash(v)) for k, v in value.items()]))
        if isinstance(value, float):
            return hash(repr(value))
        if hasattr(value, "numpy"):
            return hash(value.numpy().tobytes())
        return hash(value)

    def _node(self, node: Any, defining: bool) -> int:
        key = node.type_key
        if _is_variable(node) or key == "tir.Buffer":
            number = self._numbers.get(node)
            if number is not None:
                return hash((key, number))
            if key != "tir.Buffer" and not (defining or self._map_free):
                return id(node) >> 4
            if key == "tir.Buffer":
                body = self._fields(node)
            else:
                body = hash(getattr(node, "dtype", "")) ^ self.hash(
                    getattr(node, "type_annotation", None)
                )
            self._numbers[node] = len(self._numbers)
            return hash((key, body, self._numbers[node]))
        if key == "tir.PrimFunc":
            params = self.hash(node.params, True)
            # In the order of the parameters, so that buffers get their numbers in that order.
            buffers = [self.hash(node.buffer_map[v]) for v in node.params if v in node.buffer_map]
            return hash((key, params, tuple(buffers), self.hash(node.body), self.hash(node.attrs)))
        if key == "IRModule":
            named = sorted((v.name_hint, f) for v, f in node.functions.items())
            return hash((key, tuple([(name, self.hash(func)) for name, func in named])))
        if key == "Op":
            return hash(node.name)
        if not node.fields:
            return id(node) >> 4
        return hash((key, self._fields(node)))

    def _fields(self, node: Any) -> int:
        parts = []
        for name, kind in node.fields:
            if kind != "n":
                parts.append(self.hash(getattr(node, name), kind in ("d", "ds", "ax")))
        return hash(tuple(parts))
