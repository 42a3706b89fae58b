"""Programs as JSON: a list of nodes that refer to each other by number.

The schema is the classic one,
``{"root": i, "nodes": [...], "b64ndarrays": [...], "attrs": {...}}``.
Node 0 is "nothing". A node is ``{"type_key": k, "attrs": {field: text}}``, where the text of a
field that holds a node is that node's number; arrays have "data", maps "keys" and "data" (or
alternating keys and values in "data" when the keys are nodes), texts "repr_str".
"""

from __future__ import annotations

import json

from .. import error
from .base import NODE_CLASSES, STATE_CLASSES, Node, new_from_fields
from .deep import call_deep
from .env_func import EnvFunc
from .op import Op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Fields whose text is a number or a dtype, not the number of a node.
_INTS = frozenset(
    (
        "lanes",
        "value_index",
        "iter_type",
        "data_alignment",
        "offset_factor",
        "buffer_type",
        "line",
        "end_line",
        "column",
        "end_column",
    )  # fmt: skip
)
_RENAMED = {("TupleType", "fields_"): "fields", ("DictAttrs", "values_"): "__dict__"}
# Written by the classic schema's later versions for plain numbers in attributes.
_BOXES = {"runtime.BoxBool": bool, "runtime.BoxInt": int, "runtime.BoxFloat": float}


def _plain_kind(type_key: str, name: str) -> str:
    """What the text of a field is: "int", "float", "dtype", "kind" or "node"."""
    if name == "dtype":
        return "dtype"
    if name in _INTS or (type_key == "IntImm" and name == "value"):
        return "int"
    if type_key == "FloatImm" and name == "value":
        return "float"
    if name == "kind":
        return "kind" if type_key == "tir.For" else "int"
    return "node"


class _Writer:
    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = [{"type_key": ""}]
        self.arrays: list[str] = []
        self._numbers: dict[Any, int] = {}
        # Numbers go by id; what they name must live as long as this.
        self._held: list[Any] = []

    def number(self, value: Any) -> int:
        """The number of the node for a value, which is written if it is new."""
        if value is None:
            return 0
        if isinstance(value, (str, bool, int, float)):
            key: Any = (type(value), repr(value))
        else:
            key = id(value)
        found = self._numbers.get(key)
        if found is None:
            record = self._record(value)
            found = len(self.nodes)
            self.nodes.append(record)
            self._numbers[key] = found
            self._held.append(value)
        return found

    def _record(self, value: Any) -> dict[str, Any]:
        if isinstance(value, str):
            return {"type_key": "runtime.String", "repr_str": str(value)}
        for name, kind in _BOXES.items():
            if type(value) is kind:
                number: Any = value
                text = _float_text(number) if kind is float else str(int(number))
                return {"type_key": name, "attrs": {"value": text}}
        if isinstance(value, Op):
            return {"type_key": "Op", "repr_str": value.name}
        if isinstance(value, EnvFunc):
            return {"type_key": "EnvFunc", "repr_str": value.name}
        if isinstance(value, Node):
            return self._node(value)
        if getattr(value, "type_key", "") in STATE_CLASSES:
            state = str(self.number(value.to_state()))
            return {"type_key": value.type_key, "attrs": {"state": state}}
        if isinstance(value, (list, tuple)):
            return {"type_key": "Array", "data": [self.number(item) for item in value]}
        if isinstance(value, dict):
            return self._map(value)
        if hasattr(value, "numpy") and hasattr(value, "copyto"):
            return self._array(value)
        raise error.TypeError_(
            f"save_json: a {type(value).__module__}.{type(value).__qualname__} cannot be written"
        )

    def _map(self, value: dict[Any, Any]) -> dict[str, Any]:
        if all(isinstance(key, str) for key in value):
            keys = sorted(value, key=str)
            return {
                "type_key": "Map",
                "keys": [str(key) for key in keys],
                "data": [self.number(value[key]) for key in keys],
            }
        data = []
        for key, item in value.items():
            data += [self.number(key), self.number(item)]
        return {"type_key": "Map", "data": data}

    def _array(self, value: Any) -> dict[str, Any]:
        from base64 import b64encode

        from ..runtime import save_param_dict

        self.arrays.append(b64encode(bytes(save_param_dict({"": value}))).decode())
        return {"type_key": "runtime.NDArray", "attrs": {"index": str(len(self.arrays) - 1)}}

    def _node(self, value: Any) -> dict[str, Any]:
        if not value.fields and value.type_key not in NODE_CLASSES:
            raise error.TypeError_(f"save_json: a {type(value).__qualname__} cannot be written")
        attrs = {}
        for name, _ in value.fields:
            item = getattr(value, name)
            kind = _plain_kind(value.type_key, name)
            if kind == "node":
                text = str(self.number(item))
            elif kind == "float":
                text = _float_text(item)
            elif kind == "dtype":
                text = item
            else:
                text = str(int(item))
            attrs[_RENAMED.get((value.type_key, name), name)] = text
        return {"type_key": value.type_key, "attrs": attrs}


def _float_text(value: float) -> str:
    return repr(value)


def save(value: Any) -> str:
    """The JSON text of a node, container or array."""
    writer = _Writer()
    depth = getattr(value, "depth", 1)
    root = call_deep(depth, writer.number, value)
    graph = {
        "root": root,
        "nodes": writer.nodes,
        "b64ndarrays": writer.arrays,
        "attrs": {"tvm_version": "0.16.0"},
    }
    return json.dumps(graph, indent=2)


class _Reader:
    def __init__(self, graph: dict[str, Any]) -> None:
        self._nodes = graph["nodes"]
        self._arrays = graph.get("b64ndarrays") or []
        self._made: dict[int, Any] = {0: None}

    def make(self, root: int) -> Any:
        """The value of a node; those that it needs come first."""
        stack = [root]
        open_nodes: set[int] = set()
        while stack:
            index = stack[-1]
            if index in self._made:
                stack.pop()
                continue
            missing = [item for item in self._needs(index) if item not in self._made]
            if not missing:
                self._made[index] = self._value(index)
                open_nodes.discard(index)
                stack.pop()
                continue
            if index in open_nodes:
                raise error.ValueError_(f"load_json: node {index} refers to itself")
            open_nodes.add(index)
            stack += missing
        return self._made[root]

    def _record(self, index: int) -> dict[str, Any]:
        if not isinstance(index, int) or not 0 <= index < len(self._nodes):
            raise error.ValueError_(
                f"load_json: there is no node {index}, only 0..{len(self._nodes) - 1}"
            )
        record = self._nodes[index]
        if not isinstance(record, dict) or "type_key" not in record:
            raise error.ValueError_(f"load_json: node {index} has no type_key")
        return record

    def _fields(self, record: dict[str, Any]) -> Any:
        """(name, kind, text) of each field that the text gives."""
        cls = NODE_CLASSES[record["type_key"]]
        attrs = record.get("attrs") or {}
        for name, _ in cls.fields:
            given = _RENAMED.get((cls.type_key, name), name)
            if given not in attrs and name == "name":
                given = "name_hint"
            if given in attrs:
                yield name, _plain_kind(cls.type_key, name), attrs[given]

    def _needs(self, index: int) -> list[int]:
        record = self._record(index)
        key = record["type_key"]
        if key in ("Array", "Map", "StrMap"):
            return list(record.get("data") or ())
        if key in STATE_CLASSES:
            return [int(record["attrs"]["state"])]
        if key in NODE_CLASSES and key not in ("Op", "EnvFunc"):
            return [int(text) for _, kind, text in self._fields(record) if kind == "node"]
        return []

    def _value(self, index: int) -> Any:
        record = self._record(index)
        key = record["type_key"]
        made = self._made
        if key == "":
            return None
        if key == "runtime.String":
            return str(record.get("repr_str", ""))
        if key in _BOXES:
            text = record["attrs"]["value"]
            return bool(int(text)) if key == "runtime.BoxBool" else _BOXES[key](text)
        if key == "Array":
            return tuple([made[item] for item in record.get("data") or ()])
        if key in ("Map", "StrMap"):
            data = record.get("data") or ()
            if "keys" in record:
                return {name: made[item] for name, item in zip(record["keys"], data)}
            return {made[k]: made[v] for k, v in zip(data[::2], data[1::2])}
        if key == "Op":
            return Op.get(record["repr_str"])
        if key == "EnvFunc":
            return EnvFunc.get(record["repr_str"])
        if key == "runtime.NDArray":
            return self._array(int(record["attrs"]["index"]))
        if key in STATE_CLASSES:
            return STATE_CLASSES[key].from_state(made[int(record["attrs"]["state"])])
        if key not in NODE_CLASSES:
            raise error.ValueError_(f"load_json: node {index} is of an unknown class {key!r}")
        return self._node(index, record)

    def _array(self, index: int) -> Any:
        from base64 import b64decode

        from ..runtime import load_param_dict

        return load_param_dict(b64decode(self._arrays[index]))[""]

    def _node(self, index: int, record: dict[str, Any]) -> Any:
        values: dict[str, Any] = {}
        for name, kind, text in self._fields(record):
            if kind == "node":
                values[name] = self._made[int(text)]
            elif kind == "float":
                values[name] = float(text)
            else:
                values[name] = text if kind == "dtype" else int(text)
        try:
            return new_from_fields(NODE_CLASSES[record["type_key"]], values)
        except (KeyError, TypeError) as err:
            raise error.ValueError_(
                f"load_json: node {index} ({record['type_key']}) is not complete: {err}"
            ) from err


def load(text: str) -> Any:
    """The value that `save` wrote."""
    try:
        graph = json.loads(text)
    except ValueError as err:
        raise error.ValueError_(f"load_json: not JSON: {err}") from err
    if not isinstance(graph, dict) or "root" not in graph or "nodes" not in graph:
        raise error.ValueError_('load_json: expected an object with "root" and "nodes"')
    return _Reader(graph).make(graph["root"])
