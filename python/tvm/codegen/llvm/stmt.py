"""Statements and whole functions."""

from __future__ import annotations

from ... import error
from ...ir.dtype import info
from ...tir import expr as _expr
from ...tir import stmt as _stmt
from ...tir.stmt_functor import uses_var
from ...tir.transform.vectorize_innermost import LANE_MASK, STEP, STREAM
from .expr import Expressions
from .memory import Pointers, Position
from .sums import find_sums, load_sums, store_sums
from .types import element_bits
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
# A straight line of more instructions than this is cut into several blocks.
BLOCK_LINES = 400
# A loop of at most this many instructions, with so many vector constants in them, needs none of
# LLVM's work on loops.
STRAIGHT_LINES = 48
STRAIGHT_CONSTANTS = 4
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


class Statements(Expressions):
    """One rule a statement class."""

    def __init__(self, unit: Unit, function_name: str, pointers: Pointers) -> None:
        super().__init__(unit)
        self.function_name = function_name
        self.pointers = pointers
        self.values = {}
        self.positions = {}
        self.nonnegative = set()
        self.first_parameter = "%slots"
        self._never = ""
        # parallel loops inside of a parallel loop run serially
        self.is_parallel = False
        # workspaces that a failing exit must give back
        self._held: list[str] = []
        self._stack_bytes = 0
        self._loops: list[_Loop] = []
        # whether there are only short loops without loops in them
        self.straight = True
        # data pointers of memory on the stack, and of all temporary memory
        self._local: set[Any] = set()
        self.allocated: set[Any] = set()
        self.sums = {}
        self.block = "start"

    def parallel(self, node: Any, begin: Position, extent: Position) -> None:
        """Run a parallel loop."""
        raise NotImplementedError

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
            if len(self.lines) - self.block_begin > BLOCK_LINES:
                self.cut_block()

    def cut_block(self) -> None:
        """Go on in a new block: LLVM's time grows with the square of a block's length.

        A plain jump would be undone, so the jump depends on something that never holds.
        """
        if not self._never:
            self._never = self.at_entry(
                f"icmp eq ptr {self.first_parameter}, inttoptr (i64 1 to ptr)"
            )
        rest = self.new_block("part")
        self.branch(self._never, "never", rest)
        self.start(rest)

    def _store(self, node: Any) -> None:
        vectors = info(node.value.dtype).lanes > 1
        self.unit.has_vectors |= vectors
        if self.sums and self.store_sum(node):
            if not vectors and self._loops and info(node.value.dtype).is_int:
                # LLVM sums integers up in vectors
                self._loops[-1].scalar_store = True
            return
        self.store(node)
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
        if type(value) is not _expr.IntImm or value.value != 0 or self.is_parallel:
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
        if key == LANE_MASK:
            self._masked(node)
            return
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

    def _masked(self, node: Any) -> None:
        """A statement whose memory accesses touch some lanes only, the first among them."""
        self.mask, self.mask_lanes = self.value(node.value), info(node.value.dtype).lanes
        self.mask_has_first = True
        self.stmt(node.body)
        self.mask, self.mask_has_first = None, False

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
        threads = self.machine.has_threads and not self.is_parallel
        if kind == _stmt.ForKind.PARALLEL and known != 1 and threads:
            self.parallel(node, begin, extent)
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
                if len(self.lines) - self.block_begin > BLOCK_LINES:
                    self.cut_block()
            return
        self.loop(node, begin, extent)

    def loop(self, node: Any, begin: Position, extent: Position) -> None:
        """Run a loop's body from begin, extent times."""
        loop_var, body = node.loop_var, node.body
        # LLVM's loop passes have nothing to gain in a short loop
        short = _at_most(node.extent) <= SHORT_LOOP
        known = extent[1] if not extent[0] else None
        # counting in multiples saves a multiplication a turn
        each = node.annotations.get(STEP, 1) if begin == ("", 0) else 1
        if each > 1:
            extent = (
                (self.pure(f"mul nsw i64 {self.whole(extent)}, {each}"), 0)
                if extent[0]
                else ("", extent[1] * each)
            )
        first = self.whole(begin)
        if begin == ("", 0):
            end = self.whole(extent)
        elif not begin[0] and known is not None:
            end = str(begin[1] + known)
        else:
            end = self.pure(f"add nsw i64 {first}, {self.whole(extent)}")
        head, done = self.new_block("loop"), self.new_block("done")
        sums = find_sums(self, node)
        self.push()
        if known is None:
            some = self.pure(f"icmp slt i64 {first}, {end}")
            enter = self.new_block("enter") if sums else head
            self.branch(some, enter, done)
            if sums:
                self.start(enter)
        if sums:
            load_sums(self, sums)
        if known is not None or sums:
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
        if each > 1:
            turn = self.pure(f"sdiv exact i64 {counter}, {each}")
            self.positions[loop_var] = (turn, 0)
            self.note_value(f"mul nsw i64 {turn}, {each}", counter)
        streamed, self.streamed = self.streamed, node.annotations.get(STREAM, self.streamed)
        self.stmt(body)
        self.pop()
        self._loops.pop()
        if here.scalar_store and not here.has_inner and not short:
            self.unit.scalar_loops = True
        if here.has_inner or not _is_straight(self.lines, place):
            self.straight = False
        step = self.effect(f"add nsw i64 {counter}, {each}")
        more = self.effect(f"icmp slt i64 {step}, {end}")
        leave = self.new_block("leave") if sums else done
        self.branch(more, head, leave)
        self.lines[place] = (
            f"  {counter} = phi i64 [ {first}, %{before} ], [ {step}, %{self.block} ]"
        )
        if sums:
            self.start(leave)
            store_sums(self, sums)
            self.jump(done)
        self.pop()
        self.start(done)
        if self.streamed is not streamed:
            # stores round the caches become visible before anything that comes later
            self.unit.declare("llvm.x86.sse.sfence", "void @()")
            self.do("call void @llvm.x86.sse.sfence()")
            self.streamed = streamed

    def _while(self, node: Any) -> None:
        head, body, done = (self.new_block(hint) for hint in ("while", "body", "done"))
        self.jump(head)
        self.start(head)
        self.push()
        self._loops.append(_Loop(None, True))
        self.straight = False
        self.branch(self.value(node.condition), body, done)
        self.start(body)
        self.stmt(node.body)
        self.jump(head)
        self._loops.pop()
        self.pop()
        self.start(done)

    # ---- memory
    def _allocate(self, node: Any) -> None:
        self.allocated.add(node.buffer_var)
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
                self.unit.has_temporaries = True
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


def _is_straight(lines: list[str], begin: int) -> bool:
    """Whether a loop, which begins at this line, is as good without LLVM's loop passes."""
    if len(lines) - begin > STRAIGHT_LINES:
        return False
    return sum("splat (" in line for line in lines[begin:]) <= STRAIGHT_CONSTANTS


def _at_most(extent: Any) -> int:
    """A number that an extent does not exceed; a very large one if nothing is known."""
    if type(extent) is _expr.IntImm:
        return int(extent.value)
    if type(extent) is _expr.Min:
        return min(_at_most(extent.a), _at_most(extent.b))
    if type(extent) is _expr.FloorMod and type(extent.b) is _expr.IntImm and extent.b.value > 0:
        return int(extent.b.value) - 1
    return 1 << 62


_STMT: dict[type, Any] = {
    _stmt.SeqStmt: Statements._seq,
    _stmt.BufferStore: Statements._store,
    _stmt.Evaluate: Statements._evaluate,
    _stmt.LetStmt: Statements._let_stmt,
    _stmt.AttrStmt: Statements._attr,
    _stmt.IfThenElse: Statements._if,
    _stmt.AssertStmt: Statements._assert,
    _stmt.For: Statements._for,
    _stmt.While: Statements._while,
    _stmt.Allocate: Statements._allocate,
    _stmt.AllocateConst: Statements._allocate_const,
    _stmt.DeclBuffer: Statements._body,
    _stmt.Prefetch: Statements._no_op,
}
