"""Make packed API: a function over typed parameters becomes one in the classic packed form.

    def add_one(A: T.Buffer((n,)), n: T.int32)
    ->
    def add_one(args: handle, arg_type_ids: handle, num_args: int32, out_ret_value: handle,
                out_ret_tcode: handle, resource_handle: handle)

The new body checks the call against the function's argument table, in the order in which the
runtime checks a call in process, binds the parameters, and runs the old body inside of an attribute
"compute_scope". The message of a failing check says what was expected; generated code adds what
came, where the runtime that loads it can tell.
"""

from __future__ import annotations

from tvm.ir.dtype import info, int_range
from tvm.ir.transform import PassInfo
from tvm.tir import expr as _expr
from tvm.tir import stmt as _stmt
from tvm.tir.arg_table import (
    BIND,
    CONST,
    EXPR,
    FLOAT,
    HANDLE,
    INT,
    PUSH_CONST,
    PUSH_SLOT,
    TENSOR,
    ArgTable,
    Argument,
    Dim,
)
from tvm.tir.buffer import decl_buffer
from tvm.tir.function import PrimFunc

from .function_pass import PrimFuncPass
from .packed_parts import (
    BITS,
    CODE,
    DATA,
    DEVICE_TYPE,
    LANES,
    NDIM,
    OFFSET,
    SHAPE,
    STRIDES,
    VALUE,
    TensorChecks,
    address,
    all_of,
    any_of,
    call,
    cast,
    device_name,
    false,
    field,
    int_imm,
    is_null,
    is_one,
    tuple_text,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Type tags of the classic calling convention.
_TAG_INT, _TAG_FLOAT, _TAG_HANDLE, _TAG_NULL, _TAG_TENSOR, _TAG_ARRAY, _TAG_BOOL = (
    0, 2, 3, 4, 7, 13, 15,
)  # fmt: skip
_BINARY = {
    2: _expr.Add, 3: _expr.Sub, 4: _expr.Mul, 5: _expr.FloorDiv, 6: _expr.FloorMod, 7: _expr.Div,
    8: _expr.Mod, 9: _expr.Min, 10: _expr.Max,
}  # fmt: skip
_CODES = {"int": 0, "uint": 1, "float": 2, "handle": 3, "bfloat": 4, "e4m3_float": 6,
          "e5m2_float": 7}  # fmt: skip
_INT32 = (-(1 << 31), (1 << 31) - 1)


class _Maker:
    """Collects bindings and checks in order; `finish` wraps them around the body."""

    def __init__(self, func: PrimFunc) -> None:
        self.func = func
        self.table = ArgTable.from_prim_func(func)
        self.args = _expr.Var("args", "handle")
        self.codes = _expr.Var("arg_type_ids", "handle")
        self.count = _expr.Var("num_args", "int32")
        self.steps: list[tuple[Any, Any]] = []
        self.tensors: list[TensorChecks] = []
        self.code_buffer = decl_buffer(
            (max(len(self.table.args), 1),), "int32", "arg_type_ids", data=self.codes
        )

    # ---- steps
    def let(self, name: str, value: Any) -> Any:
        var = _expr.Var(name, value.dtype)
        self.bind(var, value)
        return var

    def bind(self, var: Any, value: Any) -> None:
        self.steps.append((var, value))

    def check(self, condition: Any, kind: str, text: str) -> None:
        self.steps.append((None, (condition, f"{kind}: {self.table.name}: {text}")))

    def finish(self) -> PrimFunc:
        body: Any = _stmt.AttrStmt(
            _expr.StringImm(self.table.name),
            "compute_scope",
            _expr.StringImm(f"{self.table.name}_compute_"),
            self.func.body,
        )
        for var, value in reversed(self.steps):
            if var is not None:
                body = _stmt.LetStmt(var, value, body)
            else:
                body = _stmt.AssertStmt(value[0], _expr.StringImm(value[1]), body)
        params = [
            self.args,
            self.codes,
            self.count,
            _expr.Var("out_ret_value", "handle"),
            _expr.Var("out_ret_tcode", "handle"),
            _expr.Var("resource_handle", "handle"),
        ]
        attrs = {**dict(self.func.attrs), "calling_conv": 1}
        attrs.setdefault("global_symbol", self.table.name)
        return PrimFunc(params, body, None, None, attrs)

    # ---- the checks, in the runtime's order
    def run(self) -> PrimFunc:
        table = self.table
        names = ", ".join(arg.name for arg in table.args)
        count = len(table.args)
        self.check(
            _expr.EQ(self.count, int_imm(count, "int32")),
            "TypeError",
            f"expects {count} argument{'' if count == 1 else 's'}"
            + (f" ({names})" if names else ""),
        )
        for index, arg in enumerate(table.args):
            code = self.let(
                f"{arg.name}_code", _expr.BufferLoad(self.code_buffer, [int_imm(index, "int32")])
            )
            _ARGUMENT[arg.kind](self, index, arg, code)
        for tensor in self.tensors:
            self.read_sizes(tensor)
        for tensor in self.tensors:
            self.check_tensor(tensor)
        self.check_overlaps()
        return self.finish()

    def where(self, arg: Argument) -> str:
        return f"argument {self.table.args.index(arg)} ({arg.name})"

    def tag_is(self, code: Any, *tags: int) -> Any:
        return any_of([_expr.EQ(code, int_imm(tag, "int32")) for tag in tags])

    def int_argument(self, index: int, arg: Argument, code: Any) -> None:
        self.check(
            self.tag_is(code, _TAG_INT, _TAG_BOOL),
            "TypeError",
            f"{self.where(arg)}: expected an int ({arg.dtype})",
        )
        value = field(self.args, VALUE, "int64", index)
        low, high = int_range(info(arg.dtype))
        high = min(high, (1 << 63) - 1)
        if (low, high) != (-(1 << 63), (1 << 63) - 1):
            value = self.let(f"{arg.name}_value", value)
            self.check(
                _expr.And(_expr.GE(value, int_imm(low)), _expr.LE(value, int_imm(high))),
                "ValueError",
                f"{self.where(arg)}: expected a value of {arg.dtype} ({low} to {high})",
            )
        self.bind(arg.var, cast(arg.dtype, value))

    def float_argument(self, index: int, arg: Argument, code: Any) -> None:
        self.check(
            self.tag_is(code, _TAG_FLOAT, _TAG_INT, _TAG_BOOL),
            "TypeError",
            f"{self.where(arg)}: expected a float ({arg.dtype})",
        )
        value = call(
            "float64",
            "if_then_else",
            self.tag_is(code, _TAG_FLOAT),
            field(self.args, VALUE, "float64", index),
            _expr.Cast("float64", field(self.args, VALUE, "int64", index)),
        )
        self.bind(arg.var, cast(arg.dtype, value))

    def handle_argument(self, index: int, arg: Argument, code: Any) -> None:
        handle = self.let(f"{arg.name}_handle", field(self.args, VALUE, "handle", index))
        is_tensor = _expr.And(
            self.tag_is(code, _TAG_TENSOR, _TAG_ARRAY), _expr.Not(is_null(handle))
        )
        self.check(
            _expr.Or(self.tag_is(code, _TAG_HANDLE, _TAG_NULL), is_tensor),
            "TypeError",
            f"{self.where(arg)}: expected a handle",
        )
        null = call("handle", "reinterpret", int_imm(0))
        inside = address(field(handle, DATA, "handle"), field(handle, OFFSET, "int64"))
        pointer = call(
            "handle", "if_then_else", self.tag_is(code, _TAG_NULL), null,
            call("handle", "if_then_else", self.tag_is(code, _TAG_HANDLE), handle, inside),
        )  # fmt: skip
        self.bind(arg.var, pointer)

    def tensor_argument(self, index: int, arg: Argument, code: Any) -> None:
        handle = self.let(f"{arg.name}_handle", field(self.args, VALUE, "handle", index))
        expected = (
            f"{self.where(arg)}: expected a tensor of dtype {arg.dtype} and shape "
            f"{tuple_text([dim.text for dim in arg.shape])}"
        )
        self.check(
            _expr.And(self.tag_is(code, _TAG_TENSOR, _TAG_ARRAY), _expr.Not(is_null(handle))),
            "TypeError",
            expected,
        )
        found = info(arg.dtype)
        self.check(
            all_of([
                _expr.EQ(field(handle, NDIM, "int32"), int_imm(len(arg.shape), "int32")),
                _expr.EQ(field(handle, CODE, "uint8"), int_imm(_CODES[found.base], "uint8")),
                _expr.EQ(field(handle, BITS, "uint8"), int_imm(found.bits, "uint8")),
                _expr.EQ(field(handle, LANES, "uint16"), int_imm(found.lanes, "uint16")),
            ]),
            "TypeError",
            expected,
        )  # fmt: skip
        device = arg.device_type
        self.check(
            _expr.EQ(field(handle, DEVICE_TYPE, "int32"), int_imm(device, "int32")),
            "ValueError",
            f"{self.where(arg)}: expected a tensor on device {device_name(device)}",
        )
        self.tensors.append(TensorChecks(arg, handle))

    def read_sizes(self, tensor: TensorChecks) -> None:
        """Sizes, strides and offset into variables; those that bind a parameter do so."""
        arg, handle = tensor.arg, tensor.handle
        rank = max(len(arg.shape), 1)
        shape = self._row(f"{arg.name}_shape", field(handle, SHAPE, "handle"), rank)
        strides = self._row(f"{arg.name}_strides", field(handle, STRIDES, "handle"), rank)
        for axis, dim in enumerate(arg.shape):
            size = self.let(f"{arg.name}_shape_{axis}", self._load(shape, axis))
            tensor.shape.append(size)
            self._bind_size(arg, dim, size, f"shape[{axis}]")
        empty = [_expr.EQ(size, int_imm(0)) for size in tensor.shape]
        tensor.is_empty = self.let(f"{arg.name}_is_empty", any_of(empty) if empty else false())
        compact: list[Any] = []
        run: Any = int_imm(1)
        for size in reversed(tensor.shape):
            compact.insert(0, run)
            run = _expr.Mul(run, size) if run.dtype == size.dtype and not is_one(run) else size
        matches = []
        for axis, size in enumerate(tensor.shape):
            given = call(
                "int64", "if_then_else", is_null(strides.data), compact[axis],
                self._load(strides, axis),
            )  # fmt: skip
            stride = self.let(f"{arg.name}_stride_{axis}", given)
            tensor.strides.append(stride)
            if arg.strides is not None:
                self._bind_size(arg, arg.strides[axis], stride, f"strides[{axis}]")
            matches.append(_expr.Or(_expr.EQ(size, int_imm(1)), _expr.EQ(stride, compact[axis])))
        tensor.is_compact = (
            any_of([tensor.is_empty, all_of(matches)]) if matches else _expr.Not(false())
        )
        if arg.strides is not None:
            tensor.is_compact = self.let(f"{arg.name}_is_compact", tensor.is_compact)
        if arg.offset is not None and not tensor.folds_offset:
            self._bind_size(arg, arg.offset, self._offset(tensor), "the element offset")

    def _offset(self, tensor: TensorChecks) -> Any:
        """The byte offset in elements."""
        scaled = _expr.Mul(field(tensor.handle, OFFSET, "int64"), int_imm(8))
        return _expr.Div(scaled, int_imm(tensor.bits))

    def _row(self, name: str, pointer: Any, rank: int) -> Any:
        return decl_buffer((rank,), "int64", name, data=self.let(name, pointer))

    def _load(self, row: Any, axis: int) -> Any:
        return _expr.BufferLoad(row, [int_imm(axis, "int32")])

    def _bind_size(self, arg: Argument, dim: Dim, value: Any, what: str) -> None:
        if dim.op != BIND:
            return
        if dim.expr.dtype == "int32":
            self.check(
                _expr.And(_expr.GE(value, int_imm(_INT32[0])), _expr.LE(value, int_imm(_INT32[1]))),
                "ValueError",
                f"{self.where(arg)}: {what} does not fit the int32 variable {dim.text}",
            )
        self.bind(dim.expr, cast(dim.expr.dtype, value))

    def expected(self, dim: Dim) -> Any:
        """What a size must be, None when it is whatever the call gives."""
        if dim.op == CONST:
            return int_imm(dim.value)
        if dim.op == BIND:
            return None
        if dim.op != EXPR:
            return cast("int64", dim.expr)
        stack: list[Any] = []
        for opcode, operand in dim.code:
            if opcode == PUSH_CONST:
                stack.append(int_imm(operand))
            elif opcode == PUSH_SLOT:
                stack.append(cast("int64", self.table.slots[operand]))
            else:
                right = stack.pop()
                stack.append(_BINARY[opcode](stack.pop(), right))
        return stack[0]

    def check_tensor(self, tensor: TensorChecks) -> None:
        arg, where = tensor.arg, self.where(tensor.arg)
        for axis, (dim, size) in enumerate(zip(arg.shape, tensor.shape)):
            expected = self.expected(dim)
            if expected is not None:
                self.check(
                    _expr.EQ(size, expected),
                    "ValueError",
                    f"{where}: shape[{axis}] expected {dim.text}: the whole shape is expected to "
                    f"be {tuple_text([item.text for item in arg.shape])}",
                )
        if arg.strides is None:
            self.check(
                tensor.is_compact,
                "ValueError",
                f"{where}: expected a compact (C-contiguous) tensor; copy it first, for instance "
                "tvm.nd.array(x)",
            )
        for axis, dim in enumerate(arg.strides or ()):
            expected = self.expected(dim)
            if expected is not None:
                unused = _expr.Or(tensor.is_empty, _expr.EQ(tensor.shape[axis], int_imm(1)))
                self.check(
                    _expr.Or(unused, _expr.EQ(tensor.strides[axis], expected)),
                    "ValueError",
                    f"{where}: strides[{axis}] expected {dim.text}",
                )
        offset = field(tensor.handle, OFFSET, "int64")
        if arg.offset is not None and not tensor.folds_offset:
            rest = _expr.Mod(_expr.Mul(offset, int_imm(8)), int_imm(tensor.bits))
            self.check(
                _expr.EQ(rest, int_imm(0)),
                "ValueError",
                f"{where}: expected a byte offset of whole elements",
            )
            expected = self.expected(arg.offset)
            if expected is not None:
                self.check(
                    _expr.EQ(self._offset(tensor), expected),
                    "ValueError",
                    f"{where}: the element offset expected {arg.offset.text}",
                )
        data = self.let(f"{arg.name}_data", field(tensor.handle, DATA, "handle"))
        pointer: Any = data
        if tensor.folds_offset:
            pointer = address(data, offset)
        self.bind(arg.buffer.data, pointer)  # type: ignore[union-attr]
        number = call("int64", "reinterpret", arg.buffer.data)  # type: ignore[union-attr]
        if arg.alignment > 1:
            self.check(
                any_of([
                    _expr.EQ(call("int64", "bitwise_and", number, int_imm(arg.alignment - 1)),
                             int_imm(0)),
                    tensor.is_empty, is_null(data),
                ]),
                "ValueError",
                f"{where}: expected data aligned to {arg.alignment} bytes, but its address is not "
                f"a multiple of {arg.alignment}; copy it first, for instance tvm.nd.array(x)",
            )  # fmt: skip
        self.check(
            _expr.Or(_expr.Not(is_null(data)), tensor.is_empty),
            "ValueError",
            f"{where}: expected data, but got a NULL pointer",
        )
        if arg.written:
            code = _expr.BufferLoad(
                self.code_buffer, [int_imm(self.table.args.index(arg), "int32")]
            )
            locked = call("bool", "tvm_is_read_only", tensor.handle)
            self.check(
                _expr.Not(_expr.And(_expr.EQ(code, int_imm(_TAG_ARRAY, "int32")), locked)),
                "ValueError",
                f"{where}: is written by the function, but the array is read-only",
            )

    # ---- memory that arguments share
    def span(self, tensor: TensorChecks) -> None:
        """The bytes that a tensor covers: variables for the first and for the one past the last."""
        if tensor.low is not None:
            return
        arg = tensor.arg
        base = call("int64", "reinterpret", arg.buffer.data)  # type: ignore[union-attr]
        if not tensor.folds_offset:
            base = _expr.Add(base, field(tensor.handle, OFFSET, "int64"))
        low: Any = int_imm(0)
        high: Any = int_imm(1)
        if arg.strides is None:
            for size in tensor.shape:
                high = size if is_one(high) else _expr.Mul(high, size)
        else:
            for size, stride in zip(tensor.shape, tensor.strides):
                reach = _expr.Mul(_expr.Sub(size, int_imm(1)), stride)
                low = _expr.Add(low, _expr.Min(reach, int_imm(0)))
                high = _expr.Add(high, _expr.Max(reach, int_imm(0)))
        if arg.strides is not None:
            base = _expr.Add(base, self._bytes(tensor, low))
        tensor.low = self.let(f"{arg.name}_begin", base)
        length = self._bytes(tensor, _expr.Sub(high, low))
        tensor.high = self.let(f"{arg.name}_end", _expr.Add(tensor.low, length))

    def _bytes(self, tensor: TensorChecks, elements: Any) -> Any:
        if tensor.bits % 8 == 0:
            return _expr.Mul(elements, int_imm(tensor.bits // 8))
        bits = _expr.Add(_expr.Mul(elements, int_imm(tensor.bits)), int_imm(7))
        return _expr.FloorDiv(bits, int_imm(8))

    def check_overlaps(self) -> None:
        tensors = self.tensors
        for number, first in enumerate(tensors):
            for second in tensors[number + 1 :]:
                if not first.arg.written and not second.arg.written:
                    continue
                if first.arg.device_type != 1 or second.arg.device_type != 1:
                    # only the device's own driver knows what its pointers mean
                    continue
                written, other = (second, first) if second.arg.written else (first, second)
                self.check_pair(written, other)

    def check_pair(self, written: TensorChecks, other: TensorChecks) -> None:
        self.span(written)
        self.span(other)
        fine = [
            written.is_empty,
            other.is_empty,
            _expr.LE(written.high, other.low),
            _expr.LE(other.high, written.low),
        ]
        if self._allows(written, other) and self._allows(other, written):
            same = [_expr.EQ(written.low, other.low), _expr.EQ(written.high, other.high)]
            layout = self._same_layout(written, other)
            fine.append(all_of([*same, layout] if layout is not None else same))
        self.check(
            any_of(fine),
            "ValueError",
            f"{self.where(written.arg)}: is written, and its memory overlaps that of "
            f"{self.where(other.arg)}; they must not share memory",
        )

    def _allows(self, one: TensorChecks, other: TensorChecks) -> bool:
        place = self.table.args.index(other.arg)
        return not one.arg.written or (place < 64 and bool(one.arg.alias_ok >> place & 1))

    def _same_layout(self, one: TensorChecks, other: TensorChecks) -> Any:
        """Whether the same bytes are the same elements, None if they always are."""
        if one.arg.strides is None and other.arg.strides is None:
            return None
        both = _expr.And(one.is_compact, other.is_compact)
        if len(one.shape) != len(other.shape):
            return both
        parts: list[Any] = []
        for axis, size in enumerate(one.shape):
            parts.append(_expr.EQ(size, other.shape[axis]))
            parts.append(
                _expr.Or(
                    _expr.EQ(size, int_imm(1)), _expr.EQ(one.strides[axis], other.strides[axis])
                )
            )
        return _expr.Or(both, all_of(parts)) if parts else both


_ARGUMENT: dict[int, Any] = {
    INT: _Maker.int_argument,
    FLOAT: _Maker.float_argument,
    HANDLE: _Maker.handle_argument,
    TENSOR: _Maker.tensor_argument,
}


def make_packed_api(func: PrimFunc) -> PrimFunc:
    """The function in the packed form; itself if it has that form already.

    Parameters
    ----------
    func : PrimFunc
        A lowered function.

    Returns
    -------
    PrimFunc
        With the six parameters of the classic calling convention and the attribute
        ``calling_conv``.
    """
    if func.attrs.get("calling_conv") is not None:
        return func
    return _Maker(func).run()


def MakePackedAPI() -> PrimFuncPass:
    """The pass ``tir.MakePackedAPI``.

    Examples
    --------
    >>> import tvm
    >>> from tvm import te
    >>> A = te.placeholder((8,), name="A")
    >>> B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    >>> mod = tvm.lower(te.create_schedule(B.op), [A, B])
    >>> [param.name for param in tvm.tir.transform.MakePackedAPI()(mod)["main"].params][:3]
    ['args', 'arg_type_ids', 'num_args']
    """
    return PrimFuncPass(
        lambda func, mod, context: make_packed_api(func), PassInfo(0, "tir.MakePackedAPI")
    )
