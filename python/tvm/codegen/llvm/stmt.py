"""Statements and whole functions."""

from __future__ import annotations

from ... import error
from ...ir.dtype import info
from ...tir import expr as _expr
from ...tir import stmt as _stmt
from ...tir.stmt_functor import uses_var
from .expr import Expressions
from .memory import Pointers, Position
from .types import element_bits, register_type
from .unit import SLOT_TYPES, Unit, quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Allocations up to this many bytes live on the stack, if their size is known.
STACK_BYTES = 16384
# ... and up to this many in one function.
STACK_TOTAL = 65536
# An innermost loop of at most this many turns, a tail for instance, is not worth LLVM's passes.
SHORT_LOOP = 32
# A loop asked to be unrolled is left rolled beyond this many copies of its body.
UNROLL_LIMIT = 4096


class _Loop:
    """A loop that is being written, and what decides whether LLVM's loop passes are worth it."""

    __slots__ = ("has_inner", "scalar_store", "short", "var")

    def __init__(self, var: Any, short: bool) -> None:
        self.var = var
        self.short = short
        self.has_inner = False
        self.scalar_store = False


class FunctionWriter(Expressions):
    """Writes one LLVM function: a PrimFunc's body, or the body of a parallel loop in it."""

    def __init__(
        self,
        unit: Unit,
        function_name: str,
        pointers: Pointers,
        parent: FunctionWriter | None = None,
    ) -> None:
        super().__init__(unit)
        self.function_name = function_name
        self.pointers = pointers
        self.parent = parent
        self.values: dict[Any, str] = {}
        self.positions: dict[Any, Position] = {}
        self.nonnegative: set[Any] = parent.nonnegative if parent is not None else set()
        # captured variables: (type, operand in the parent, offset in the closure)
        self.captures: list[tuple[str, str, int]] = []
        self.closure_bytes = 0
        # workspaces that a failing exit must give back
        self._held: list[str] = []
        self._stack_bytes = 0
        self._loops: list[_Loop] = []
        # data pointers of memory on the stack
        self._local: set[Any] = set()
        self.block = "start"

    # ---- whole functions
    def finish(self, name: str, parameters: str, linkage: str = "") -> str:
        """The function's text."""
        body = "\n".join(self.lines)
        entry = "\n".join([*self.entry, "  br label %start"])
        return (
            f"define {linkage}i32 @{quote(name)}({parameters}) #0 {{\n"
            f"entry:\n{entry}\nstart:\n{body}\n}}\n"
        )

    def load_slot(self, variable: Any, slot: int) -> None:
        """Define a parameter from the slot array."""
        address = (
            self.at_entry(f"getelementptr inbounds i64, ptr %slots, i64 {slot}")
            if slot
            else "%slots"
        )
        note = f", align 8, !invariant.load {self.unit.empty_metadata()}"
        found = info(variable.dtype)
        if found.kind == "handle":
            self.values[variable] = self.at_entry(f"load ptr, ptr {address}{note}", "arg")
        elif found.is_int:
            value = self.at_entry(f"load i64, ptr {address}{note}", "arg")
            if found.is_bool:
                self.values[variable] = self.at_entry(f"icmp ne i64 {value}, 0")
            else:
                self.positions[variable] = (value, 0)
        else:
            value = self.at_entry(f"load double, ptr {address}{note}", "arg")
            self.values[variable] = self.cast(value, "float64", variable.dtype)

    def resolve(self, node: Any) -> None:
        """Bring a variable of the enclosing function into this parallel body."""
        parent = self.parent
        if parent is None:
            super().resolve(node)
            return
        if node not in parent.values and node not in parent.positions:
            parent.resolve(node)
        place = parent.positions.get(node)
        if place is not None:
            if not place[0]:
                self.positions[node] = place
                return
            self.positions[node] = (self._capture("i64", parent.whole(place), 8), 0)
            return
        operand = parent.values[node]
        if not operand.startswith("%"):
            self.values[node] = operand
            return
        found = info(node.dtype)
        kind = register_type(node.dtype)
        size = 8 if found.lanes == 1 else max(8, (found.bits * found.lanes + 7) // 8)
        self.values[node] = self._capture(kind, operand, size)

    def _capture(self, kind: str, operand: str, size: int) -> str:
        align = 8 if size <= 8 else 64
        offset = -(-self.closure_bytes // align) * align
        self.closure_bytes = offset + size
        self.captures.append((kind, operand, offset))
        address = self.at_entry(f"getelementptr inbounds i8, ptr %closure, i64 {offset}")
        return self.at_entry(f"load {kind}, ptr {address}, align 8", "cap")

    # ---- statements
    def stmt(self, node: Any) -> None:
        """Write a statement."""
        rule = _STMT.get(type(node))
        if rule is None:
            raise error.TypeError_(
                f"target llvm, function {self.function_name}: no code for a statement of type "
                f"{getattr(node, 'type_key', type(node).__name__)}:\n{node}"
            )
        rule(self, node)

    def _seq(self, node: Any) -> None:
        for item in node.seq:
            self.stmt(item)

    def _store(self, node: Any) -> None:
        self.store(node)
        vectors = info(node.value.dtype).lanes > 1
        self.unit.has_vectors |= vectors
        if not self._loops:
            return
        if not vectors:
            self._loops[-1].scalar_store = True
        elif (
            not self._loops[-1].short
            and node.buffer.data not in self._local
            and not uses_var(node.indices[0], self._loops[-1].var)
        ):
            # a sum kept in memory: LLVM's loop passes move it into a register
            self.unit.has_sums = True

    def _evaluate(self, node: Any) -> None:
        value = node.value
        if type(value) is _expr.Call:
            name = getattr(value.op, "name", "")
            if name == "tir.ret":
                self._return(value)
                return
            self.value(value)

    def _return(self, node: Any) -> None:
        value = node.args[0] if node.args else _expr.IntImm("int32", 0)
        if type(value) is not _expr.IntImm or value.value != 0 or self.parent is not None:
            raise error.TypeError_(
                f"target llvm, function {self.function_name}: only ret(0) is supported, got {node}"
            )
        self._give_back()
        self.do("ret i32 0")
        self.start(self.new_block("dead"))

    def _let_stmt(self, node: Any) -> None:
        while type(node) is _stmt.LetStmt:
            self.bind(node.var, node.value)
            node = node.body
        self.stmt(node)

    def _attr(self, node: Any) -> None:
        key = node.attr_key
        if key in ("thread_extent", "virtual_thread"):
            size = node.value
            if type(size) is not _expr.IntImm or size.value != 1:
                axis = getattr(node.node, "thread_tag", "") or key
                raise error.ValueError_(
                    f"target llvm, function {self.function_name}: axis {axis} is bound to a "
                    "device thread, which a CPU does not have; schedule it with parallel, or "
                    "build for a device target"
                )
            self.positions[node.node.var] = ("", 0)
        elif key == "pragma_import_llvm":
            self.unit.imported.append(str(node.value.value))
        elif key == "pragma_import_c":
            raise error.ValueError_(
                "pragma import_c: target llvm takes LLVM text; compile the C source with "
                "tvm.contrib.clang.create_llvm and use pragma import_llvm"
            )
        self.stmt(node.body)

    def _if(self, node: Any) -> None:
        lanes = info(node.condition.dtype).lanes
        if lanes > 1:
            raise error.TypeError_(
                f"target llvm, function {self.function_name}: an if statement needs a scalar "
                f"condition, but got {node.condition.dtype}"
            )
        test = self.value(node.condition)
        if test in ("true", "false"):
            chosen = node.then_case if test == "true" else node.else_case
            if chosen is not None:
                self.stmt(chosen)
            return
        yes, done = self.new_block("then"), self.new_block("join")
        no = self.new_block("else") if node.else_case is not None else done
        self.branch(test, yes, no)
        self.start(yes)
        self.push()
        self.stmt(node.then_case)
        self.jump(done)
        self.pop()
        if node.else_case is not None:
            self.start(no)
            self.push()
            self.stmt(node.else_case)
            self.jump(done)
            self.pop()
        self.start(done)

    def _assert(self, node: Any) -> None:
        test = self.value(node.condition)
        fail, good = self.new_block("fail"), self.new_block("good")
        self.branch(test, good, fail)
        self.start(fail)
        self.push()
        self.fail(self.value(node.message))
        self.pop()
        self.start(good)
        self.stmt(node.body)

    def call_slot(self, name: str, result: str, arguments: str) -> str:
        """Call the runtime through a slot."""
        function = self.effect(f"load ptr, ptr {self.unit.slot(name)}, align 8")
        kinds = SLOT_TYPES[name]
        signature = kinds[kinds.index("(") :]
        call = f"call {result} {signature} {function}({arguments})"
        if result == "void":
            self.do(call)
            return ""
        return self.effect(call)

    def fail(self, message: str | None = None) -> None:
        """Leave with -1; a message is set as the last error first."""
        if message is not None:
            self.call_slot("__TVMAPISetLastError", "void", f"ptr {message}")
        self._give_back()
        self.do("ret i32 -1")

    def fail_unless_zero(self, code: str) -> None:
        """Leave with -1 when a runtime call returned anything but 0."""
        fail, good = self.new_block("fail"), self.new_block("good")
        bad = self.pure(f"icmp ne i32 {code}, 0")
        self.branch(bad, fail, good)
        self.start(fail)
        self.push()
        self.fail()
        self.pop()
        self.start(good)

    def _give_back(self) -> None:
        for pointer in reversed(self._held):
            self.call_slot("__TVMBackendFreeWorkspace", "i32", f"i32 1, i32 0, ptr {pointer}")

    # ---- loops
    def _for(self, node: Any) -> None:
        begin, extent = self.position(node.min), self.position(node.extent)
        kind = node.kind
        loop_var = node.loop_var
        if type(node.min) is _expr.IntImm and node.min.value >= 0 or self.is_nonnegative(node.min):
            self.nonnegative.add(loop_var)
        known = extent[1] if not extent[0] else None
        if kind == _stmt.ForKind.PARALLEL and known != 1 and self.parent is None:
            self._parallel(node, begin, extent)
            return
        if kind == _stmt.ForKind.THREAD_BINDING:
            raise error.ValueError_(
                f"target llvm, function {self.function_name}: loop {loop_var.name} is bound to a "
                "device thread, which a CPU does not have"
            )
        if known is not None and known <= 0:
            return
        if known == 1:
            self.positions[loop_var] = begin
            self.stmt(node.body)
            return
        if kind == _stmt.ForKind.UNROLLED and known is not None and known <= UNROLL_LIMIT:
            base, number = begin
            for step in range(known):
                self.positions[loop_var] = (base, number + step)
                self.stmt(node.body)
            return
        self.loop(loop_var, begin, extent, node.body, _at_most(node.extent) <= SHORT_LOOP)

    def loop(
        self,
        loop_var: Any,
        begin: Position,
        extent: Position,
        body: Any,
        short: bool = False,
    ) -> None:
        """Run `body` for loop_var from begin, extent times; `short` loops are left as they are."""
        known = extent[1] if not extent[0] else None
        first = self.whole(begin)
        if begin == ("", 0):
            end = self.whole(extent)
        elif not begin[0] and known is not None:
            end = str(begin[1] + known)
        else:
            end = self.pure(f"add nsw i64 {first}, {self.whole(extent)}")
        head, done = self.new_block("loop"), self.new_block("done")
        if known is None:
            some = self.pure(f"icmp slt i64 {first}, {end}")
            self.branch(some, head, done)
        else:
            self.jump(head)
        before = self.block
        self.start(head)
        counter = self.name("i")
        place = len(self.lines)
        self.lines.append("")
        for outer in self._loops:
            outer.has_inner = True
        here = _Loop(loop_var, short)
        self._loops.append(here)
        self.push()
        self.positions[loop_var] = (counter, 0)
        self.stmt(body)
        self.pop()
        self._loops.pop()
        if here.scalar_store and not here.has_inner and not short:
            self.unit.scalar_loops = True
        step = self.effect(f"add nsw i64 {counter}, 1")
        more = self.effect(f"icmp slt i64 {step}, {end}")
        self.branch(more, head, done)
        self.lines[place] = (
            f"  {counter} = phi i64 [ {first}, %{before} ], [ {step}, %{self.block} ]"
        )
        self.start(done)

    def _while(self, node: Any) -> None:
        head, body, done = (self.new_block(hint) for hint in ("while", "body", "done"))
        self.jump(head)
        self.start(head)
        self.push()
        self._loops.append(_Loop(None, True))
        self.branch(self.value(node.condition), body, done)
        self.start(body)
        self.stmt(node.body)
        self.jump(head)
        self._loops.pop()
        self.pop()
        self.start(done)

    def _parallel(self, node: Any, begin: Position, extent: Position) -> None:
        """Move a loop into a function of its own, which the runtime calls once a task."""
        name = self.unit.unique("__tvm_parallel_lambda")
        inner = FunctionWriter(self.unit, self.function_name, self.pointers, self)
        place = inner.at_entry("getelementptr inbounds i8, ptr %env, i64 8")
        tasks32 = inner.at_entry(f"load i32, ptr {place}, align 4", "tasks")
        tasks = inner.at_entry(f"sext i32 {tasks32} to i64")
        task = inner.at_entry("sext i32 %task to i64")
        size = _Known("extent")
        first = _Known("begin")
        # the bounds travel like any captured variable
        self.positions[size], self.positions[first] = extent, begin
        total = inner.whole(inner.position_of(size))
        sum_ = inner.pure(f"add nsw i64 {total}, {tasks}")
        sum_ = inner.pure(f"sub nsw i64 {sum_}, 1")
        chunk = inner.pure(f"sdiv i64 {sum_}, {tasks}")
        low = inner.extreme("min", inner.pure(f"mul nsw i64 {task}, {chunk}"), total, "int64")
        high = inner.extreme("min", inner.pure(f"add nsw i64 {low}, {chunk}"), total, "int64")
        count = inner.pure(f"sub nsw i64 {high}, {low}")
        start = inner.position_of(first)
        if start[0]:
            low = inner.pure(f"add nsw i64 {low}, {start[0]}")
        inner.loop(node.loop_var, (low, start[1]), (count, 0), node.body)
        inner.do("ret i32 0")
        self.unit.functions.append(
            inner.finish(
                name,
                "i32 %task, ptr noalias readonly %env, ptr noalias readonly %closure",
                "internal ",
            )
        )
        closure = "null"
        if inner.captures:
            closure = self.at_entry(f"alloca [{inner.closure_bytes} x i8], align 64", "closure")
            for kind, operand, offset in inner.captures:
                address = self.pure(f"getelementptr inbounds i8, ptr {closure}, i64 {offset}")
                self.do(f"store {kind} {operand}, ptr {address}, align 8")
        code = self.call_slot(
            "__TVMBackendParallelLaunch", "i32", f"ptr @{quote(name)}, ptr {closure}, i32 0"
        )
        self.fail_unless_zero(code)

    def position_of(self, variable: Any) -> Position:
        """The position that a variable stands for."""
        if variable not in self.positions:
            self.resolve(variable)
        return self.positions[variable]

    # ---- memory
    def _allocate(self, node: Any) -> None:
        bits = element_bits(node.dtype) * info(node.dtype).lanes
        base, number = "", 1
        for extent in node.extents:
            a, m = self.position(extent)
            if not a and not base:
                number *= m
            else:
                left = self.whole((base, number if not base else 0))
                base, number = self.pure(f"mul nsw i64 {left}, {self.whole((a, m))}"), 0
        if not base:
            size = max((number * bits + 7) // 8, 1)
            if size <= STACK_BYTES and self._stack_bytes + size <= STACK_TOTAL:
                self._stack_bytes += size
                self._local.add(node.buffer_var)
                self.values[node.buffer_var] = self.at_entry(
                    f"alloca [{size} x i8], align 64", "local"
                )
                self.stmt(node.body)
                return
            amount = str(size)
        else:
            scaled = self.pure(f"mul nsw i64 {base}, {bits}")
            scaled = self.pure(f"add nsw i64 {scaled}, 7")
            amount = self.extreme("max", self.pure(f"ashr i64 {scaled}, 3"), "1", "int64")
        code = {"int": 0, "uint": 1, "bool": 1}.get(info(node.dtype).kind, 2)
        pointer = self.call_slot(
            "__TVMBackendAllocWorkspace",
            "ptr",
            f"i32 1, i32 0, i64 {amount}, i32 {code}, i32 {info(node.dtype).bits}",
        )
        none = self.pure(f"icmp eq ptr {pointer}, null")
        fail, good = self.new_block("fail"), self.new_block("good")
        self.branch(none, fail, good)
        self.start(fail)
        self.push()
        text = f"{self.function_name}: out of memory for the temporary {node.buffer_var.name}"
        self.fail(self.unit.string(text))
        self.pop()
        self.start(good)
        self.values[node.buffer_var] = pointer
        self._held.append(pointer)
        self.stmt(node.body)
        self._held.pop()
        code_back = self.call_slot(
            "__TVMBackendFreeWorkspace", "i32", f"i32 1, i32 0, ptr {pointer}"
        )
        self.fail_unless_zero(code_back)

    def _allocate_const(self, node: Any) -> None:
        data = node.data
        get = getattr(data, "numpy", None)
        if get is None:
            raise error.TypeError_(
                f"target llvm: AllocateConst {node.buffer_var.name} needs an array, but got "
                f"{type(data).__name__}"
            )
        raw = get().tobytes()
        name = self.unit.unique(f".const.{self.function_name}")
        body = "".join(f"\\{byte:02X}" for byte in raw)
        self.unit.add_global(
            f'@{quote(name)} = private constant [{len(raw)} x i8] c"{body}", align 64'
        )
        self.values[node.buffer_var] = f"@{quote(name)}"
        self.stmt(node.body)

    def _body(self, node: Any) -> None:
        self.stmt(node.body)

    def _no_op(self, node: Any) -> None:
        return


def _at_most(extent: Any) -> int:
    """A number that an extent does not exceed; a very large one if nothing is known."""
    if type(extent) is _expr.IntImm:
        return int(extent.value)
    if type(extent) is _expr.Min:
        return min(_at_most(extent.a), _at_most(extent.b))
    if type(extent) is _expr.FloorMod and type(extent.b) is _expr.IntImm and extent.b.value > 0:
        return int(extent.b.value) - 1
    return 1 << 62


class _Known:
    """A key for a value that travels into a parallel body without being a variable of the program."""

    dtype = "int64"

    def __init__(self, name: str) -> None:
        self.name = name


def write_function(unit: Unit, func: Any, name: str, symbol: str, slots: dict[Any, int]) -> None:
    """Add the body `int32 symbol(const uint64_t* slots)` of a PrimFunc to the module.

    Parameters
    ----------
    unit : Unit
        The module.
    func : PrimFunc
        The lowered function.
    name : str
        Its name, for messages.
    symbol : str
        Name of the body.
    slots : dict of Var to int
        Where the body finds its scalars, data pointers and sizes.
    """
    pointers = Pointers(unit)
    writer = FunctionWriter(unit, name, pointers)
    handles = [item for item in slots if item.dtype == "handle"]
    if bool(func.attrs.get("tir.noalias", True)):
        pointers.set_distinct(handles)
    for variable, slot in slots.items():
        writer.load_slot(variable, slot)
    writer.stmt(func.body)
    writer.do("ret i32 0")
    count = max(slots.values(), default=-1) + 1
    unit.functions.append(
        writer.finish(symbol, f"ptr noalias readonly align 8 dereferenceable({8 * count}) %slots")
        if count
        else writer.finish(symbol, "ptr %slots")
    )


_STMT: dict[type, Any] = {
    _stmt.SeqStmt: FunctionWriter._seq,
    _stmt.BufferStore: FunctionWriter._store,
    _stmt.Evaluate: FunctionWriter._evaluate,
    _stmt.LetStmt: FunctionWriter._let_stmt,
    _stmt.AttrStmt: FunctionWriter._attr,
    _stmt.IfThenElse: FunctionWriter._if,
    _stmt.AssertStmt: FunctionWriter._assert,
    _stmt.For: FunctionWriter._for,
    _stmt.While: FunctionWriter._while,
    _stmt.Allocate: FunctionWriter._allocate,
    _stmt.AllocateConst: FunctionWriter._allocate_const,
    _stmt.DeclBuffer: FunctionWriter._body,
    _stmt.Prefetch: FunctionWriter._no_op,
}
