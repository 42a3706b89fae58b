"""Loads, stores and the arithmetic of their indices.

Indices made of variables and constants only are mathematical integers (`tvm.tir.expr.DATA` is not
set on them), so they are computed in 64 bits whatever their dtype. An index that comes from data is
computed in its own dtype, wraps there, and is extended at the end.

A vector is a loop over its lanes. Inside of it (`lane` is then the loop's variable) the rules for
vector nodes give the value of that lane.
"""

from __future__ import annotations

from ... import error
from ...ir.dtype import info
from ...ir.structural import exactly_equal
from ...tir import expr as _expr
from ...tir.stmt_functor import post_order_visit
from .. import signs as _signs
from . import helpers
from .code import ATOM, Code, binary, call, cast, int_literal
from .numeric import Numeric

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DATA = _expr.DATA
INDEX_TYPE = "int64"


def is_packed(dtype: str) -> bool:
    """Whether several elements share a byte in memory (int4 and its like)."""
    found = info(dtype)
    return found.is_int and not found.is_bool and found.bits < 8


class Memory(Numeric):
    """Access to buffers.

    Attributes
    ----------
    values : dict of Var to Code
        Variables in their own type.
    positions : dict of Var to Code
        Integer variables that are held in 64 bits.
    arrays : set of Var
        Variables that are vectors in an array.
    pointers : dict of Var to str
        What the variable of a data pointer points to.
    lane : Code or None
        The lane of the vectors at hand.
    """

    function_name = ""
    values: dict[Any, Code]
    positions: dict[Any, Code]
    arrays: set[Any]
    pointers: dict[Any, str]
    nonnegative: set[Any]
    lane: Code | None = None

    def value(self, node: Any) -> Code:
        raise NotImplementedError

    def resolve(self, node: Any) -> None:
        raise NotImplementedError

    # ---- indices
    def index(self, node: Any) -> Code:
        """An integer expression in 64 bits."""
        kind = type(node)
        if kind is _expr.IntImm:
            return int_literal(node.value, self.dialect)
        if kind is _expr.Var or kind is _expr.SizeVar:
            if node not in self.positions and node not in self.values:
                self.resolve(node)
            found = self.positions.get(node)
            return found if found is not None else self._extended(node)
        rule = None if node.kinds & DATA else _INDEX.get(kind)
        return rule(self, node) if rule is not None else self._extended(node)

    def _extended(self, node: Any) -> Code:
        return self.convert(self.value(node), node.dtype, INDEX_TYPE)

    def is_index(self, node: Any) -> bool:
        """Whether an integer expression is computed by `index`."""
        kind = type(node)
        return not node.kinds & DATA and (kind in _INDEX) and info(node.dtype).is_int

    def _sum(self, node: Any) -> Code:
        a, b = self.index(node.a), self.index(node.b)
        plus = type(node) is _expr.Add
        if a.number is not None and b.number is not None:
            return int_literal(a.number + (b.number if plus else -b.number), self.dialect)
        if b.number == 0:
            return a
        if a.number == 0 and plus:
            return b
        if b.number is not None and b.number < 0:
            return binary("-" if plus else "+", a, int_literal(-b.number, self.dialect))
        return binary("+" if plus else "-", a, b)

    def _product(self, node: Any) -> Code:
        a, b = self.index(node.a), self.index(node.b)
        if a.number is not None and b.number is not None:
            return int_literal(a.number * b.number, self.dialect)
        if b.number == 1:
            return a
        return binary("*", a, b)

    def _quotient(self, node: Any) -> Code:
        op = _QUOTIENT[type(node)]
        a, b = self.index(node.a), self.index(node.b)
        sign = "/" if op.endswith("div") else "%"
        number = b.number
        if number is not None and number > 0 and (op[0] == "t" or self.is_nonnegative(node.a)):
            return binary(sign, a, b)
        return call(helpers.divide(self.unit, op, info(INDEX_TYPE)), a, b)

    def _least(self, node: Any) -> Code:
        op = "min" if type(node) is _expr.Min else "max"
        a, b = self.index(node.a), self.index(node.b)
        return call(helpers.extreme(self.unit, op, info(INDEX_TYPE)), a, b)

    def _cast_index(self, node: Any) -> Code:
        # without DATA a cast only widens
        return self.index(node.value)

    def _ramp_index(self, node: Any) -> Code:
        if self.lane is None:
            raise error.InternalError("a vector index outside of a loop over lanes")
        base, stride = self.index(node.base), self.index(node.stride)
        step = self.lane if stride.number == 1 else binary("*", self.lane, stride)
        return step if base.number == 0 else binary("+", base, step)

    def _broadcast_index(self, node: Any) -> Code:
        return self.index(node.value)

    def is_nonnegative(self, node: Any) -> bool:
        """Whether an index expression is known not to be negative."""
        return _signs.is_nonnegative(node, self.nonnegative)

    # ---- addresses
    def pointer(self, variable: Any, dtype: str) -> Code:
        """A data pointer as a pointer to elements of a dtype."""
        if variable not in self.values:
            self.resolve(variable)
        found = self.values[variable]
        wanted = self.dialect.memory(info(dtype).scalar)
        if self.pointers.get(variable) == wanted:
            return found
        return cast(wanted + "*", found)

    def one_index(self, buffer: Any, indices: Any) -> Any:
        """The flat index of an access."""
        if len(indices) == 1:
            return indices[0]
        if not indices:
            return _expr.IntImm("int32", 0)
        return buffer.element_offset(list(indices))

    def place(self, buffer: Any, indices: Any) -> Code:
        """Number of the lane in memory that an access means, here: of the current lane."""
        index = self.one_index(buffer, indices)
        each = info(buffer.dtype).lanes
        lanes = info(index.dtype).lanes
        if each == 1:
            return self.index(index)
        if lanes > 1:
            if (
                type(index) is not _expr.Ramp
                or type(index.stride) is not _expr.IntImm
                or (index.stride.value != 1)
            ):
                raise error.TypeError_(
                    f"buffer {buffer.name}: a vector of {buffer.dtype} elements can only be "
                    "accessed where they lie side by side"
                )
            index = index.base
        first = binary("*", self.index(index), Code(str(each), number=each))
        if self.lane is None:
            raise error.InternalError("a vector element outside of a loop over lanes")
        return binary("+", first, self.lane)

    def load(self, node: Any) -> Code:
        buffer = node.buffer
        dtype = info(buffer.dtype).scalar
        pointer = self.pointer(buffer.data, dtype)
        place = self.place(buffer, node.indices)
        if is_packed(dtype):
            return call(helpers.load_packed(self.unit, info(dtype)), pointer, place)
        found = Code(f"{pointer.at(ATOM)}[{place}]")
        return binary("!=", found, Code("0")) if dtype == "bool" else found

    def store(self, node: Any) -> None:
        buffer = node.buffer
        index = self.one_index(buffer, node.indices)
        element, given = info(buffer.dtype), info(node.value.dtype)
        lanes = info(index.dtype).lanes * element.lanes
        if given.scalar != element.scalar or given.lanes != lanes:
            raise error.TypeError_(
                f"store into buffer {buffer.name}: expected {lanes} lanes of {element.scalar}, "
                f"but got {given.text}"
            )
        if lanes == 1:
            self._put(buffer, self.place(buffer, [index]), self.value(node.value))
        elif _reads_elsewhere(node.value, buffer, index):
            # every lane is read before the first is written
            name = self.vector("row", node.value)
            self.lanes(lanes, lambda: self._put(buffer, self.place(buffer, [index]), self.at(name)))
        else:
            self.prepare(node.value)
            self.lanes(
                lanes,
                lambda: self._put(buffer, self.place(buffer, [index]), self.value(node.value)),
            )

    def _put(self, buffer: Any, place: Code, value: Code) -> None:
        scalar = info(buffer.dtype).scalar
        pointer = self.pointer(buffer.data, scalar)
        if is_packed(scalar):
            function = helpers.store_packed(self.unit, info(scalar))
            self.line(f"{function}({pointer}, {place}, {value});")
        else:
            self.line(f"{pointer.at(ATOM)}[{place}] = {value};")

    # ---- vectors
    def lanes(self, count: int, write: Any) -> None:
        """A loop over lanes around what `write` writes."""
        before = self.lane
        # nested loops may use one name: the inner hides the outer only where the outer is not used
        self.lane = Code("lane")
        self.open(f"for (int lane = 0; lane < {count}; ++lane)")
        write()
        self.close()
        self.lane = before

    def at(self, name: str) -> Code:
        """This lane of a vector that is in an array."""
        return Code(f"{name}[{self.lane}]")

    def vector(self, hint: str, node: Any) -> str:
        """Name of an array with all lanes of a vector."""
        found = info(node.dtype)
        name = self.name(hint)
        self.prepare(node)
        self.line(f"{self.type_name(node.dtype)} {name}[{found.lanes}];")
        self.lanes(found.lanes, lambda: self.line(f"{name}[lane] = {self.value(node)};"))
        return name

    def prepare(self, node: Any) -> None:
        """Bring vectors into arrays whose lanes change places in an expression."""
        raise NotImplementedError


def _reads_elsewhere(value: Any, buffer: Any, index: Any) -> bool:
    """Whether a value reads the memory that it is stored to, elsewhere than where it goes."""
    found = False

    def look(node: Any) -> None:
        nonlocal found
        if type(node) is _expr.BufferLoad and node.buffer.data is buffer.data:
            same = len(node.indices) == 1 and node.buffer.dtype == buffer.dtype
            found |= not (same and exactly_equal(node.indices[0], index))

    post_order_visit(value, look)
    return found


_QUOTIENT = {
    _expr.Div: "truncdiv",
    _expr.Mod: "truncmod",
    _expr.FloorDiv: "floordiv",
    _expr.FloorMod: "floormod",
}
_INDEX: dict[type, Any] = {
    _expr.Add: Memory._sum,
    _expr.Sub: Memory._sum,
    _expr.Mul: Memory._product,
    _expr.Div: Memory._quotient,
    _expr.Mod: Memory._quotient,
    _expr.FloorDiv: Memory._quotient,
    _expr.FloorMod: Memory._quotient,
    _expr.Min: Memory._least,
    _expr.Max: Memory._least,
    _expr.Cast: Memory._cast_index,
    _expr.Ramp: Memory._ramp_index,
    _expr.Broadcast: Memory._broadcast_index,
}
