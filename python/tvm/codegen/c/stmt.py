"""Statements: one rule a node class."""

from __future__ import annotations

import math

from ... import error
from ...ir.dtype import info
from ...tir import expr as _expr
from ...tir import stmt as _stmt
from .code import ATOM, UNARY, Code, binary, call, constant, int_literal
from .expr import Expressions
from .helpers import extreme
from .memory import is_packed
from .unit import fail_message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Allocations up to this many bytes live on the stack, if their size is known.
STACK_BYTES = 16384
# ... and up to this many in one function.
STACK_TOTAL = 65536
# A loop asked to be unrolled is left rolled beyond this many copies of its body.
UNROLL_LIMIT = 64


class Statements(Expressions):
    """One rule a statement class."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.values = {}
        self.positions = {}
        self.arrays = set()
        self.pointers = {}
        self.nonnegative = set()
        # parallel loops inside of a parallel loop run serially
        self.is_parallel = False
        # workspaces that a failing exit must give back
        self._held: list[str] = []
        self._stack_bytes = 0

    def parallel(self, node: Any) -> None:
        """Run a parallel loop."""
        raise NotImplementedError

    def refuse(self, what: str) -> Any:
        where = f"target {self.dialect.name}, function {self.function_name}"
        return error.TypeError_(f"{where}: {what}")

    # ---- statements
    def stmt(self, node: Any) -> None:
        """Write a statement."""
        rule = _STMT.get(type(node))
        if rule is None:
            name = getattr(node, "type_key", type(node).__name__)
            raise self.refuse(f"no code for a statement of type {name}:\n{node}")
        rule(self, node)

    def _seq(self, node: Any) -> None:
        for item in node.seq:
            self.stmt(item)

    def _store(self, node: Any) -> None:
        self.store(node)

    def _evaluate(self, node: Any) -> None:
        value = node.value
        if type(value) is not _expr.Call:
            return
        if getattr(value.op, "name", "") == "tir.ret":
            self._return(value)
        elif info(value.dtype).lanes > 1:
            self.vector("unused", value)
        else:
            made = self.value(value)
            if made.number is None and made.text.endswith(")") and not made.text.startswith("("):
                self.line(f"(void){made};")

    def _return(self, node: Any) -> None:
        value = node.args[0] if node.args else _expr.IntImm("int32", 0)
        if type(value) is not _expr.IntImm or value.value != 0 or self.is_parallel:
            raise self.refuse(f"only ret(0) is supported, got {node}")
        self._give_back()
        self.line("return 0;")

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
                    f"target {self.dialect.name}, function {self.function_name}: axis {axis} is "
                    "bound to a device thread, which a CPU does not have; schedule it with "
                    "parallel, or build for a device target"
                )
            self.positions[node.node.var] = int_literal(0, self.dialect)
        elif key == "pragma_import_c":
            self.unit.imported.append(str(node.value.value))
        elif key == "pragma_import_llvm":
            raise error.ValueError_(
                f"pragma import_llvm: target {self.dialect.name} takes C source, by pragma import_c"
            )
        self.stmt(node.body)

    def _if(self, node: Any) -> None:
        if info(node.condition.dtype).lanes > 1:
            raise self.refuse(
                f"an if statement needs a scalar condition, but got {node.condition.dtype}"
            )
        test = self.value(node.condition)
        if test.text in ("true", "false"):
            chosen = node.then_case if test.text == "true" else node.else_case
            if chosen is not None:
                self.stmt(chosen)
            return
        self.open(f"if ({test})")
        self.stmt(node.then_case)
        if node.else_case is not None:
            self.indent -= 1
            self.open("} else")
            self.stmt(node.else_case)
        self.close()

    def _assert(self, node: Any) -> None:
        test = self.value(node.condition)
        self.open(f"if (!({test}))")
        self.fail(self.value(node.message))
        self.close()
        self.stmt(node.body)

    def fail(self, message: Any = None) -> None:
        """Leave with -1; a message is set as the last error first."""
        if message is not None:
            self.line(fail_message(self.unit, message))
        self._give_back()
        self.line("return -1;")

    def fail_unless_zero(self, made: str) -> None:
        """Leave with -1 when a runtime call returns anything but 0."""
        self.open(f"if ({made} != 0)")
        self.fail()
        self.close()

    def _give_back(self) -> None:
        free = "__TVMBackendFreeWorkspace"
        for pointer in reversed(self._held):
            self.line(f"(void){self.unit.slot(free)}(1, 0, {pointer});")

    # ---- loops
    def _for(self, node: Any) -> None:
        begin, extent = self.index(node.min), self.index(node.extent)
        kind = node.kind
        loop_var = node.loop_var
        if self.is_nonnegative(node.min):
            self.nonnegative.add(loop_var)
        known = extent.number
        if kind == _stmt.ForKind.PARALLEL and known != 1 and not self.is_parallel:
            self.parallel(node)
            return
        if kind == _stmt.ForKind.THREAD_BINDING:
            raise error.ValueError_(
                f"target {self.dialect.name}, function {self.function_name}: loop {loop_var.name} "
                "is bound to a device thread, which a CPU does not have"
            )
        if known is not None and known <= 0:
            return
        if known == 1:
            self.positions[loop_var] = Code(begin.at(ATOM), number=begin.number)
            self.stmt(node.body)
            return
        if kind == _stmt.ForKind.UNROLLED and known is not None and known <= UNROLL_LIMIT:
            for step in range(known):
                if begin.number is not None:
                    place = int_literal(begin.number + step, self.dialect)
                else:
                    place = Code(binary("+", begin, Code(str(step))).at(ATOM))
                self.positions[loop_var] = place
                self.stmt(node.body)
            return
        self.loop(loop_var, begin, extent, node.body)

    def loop(self, loop_var: Any, begin: Code, extent: Code, body: Any) -> None:
        """Run `body` for loop_var from begin, extent times."""
        name = self.name(loop_var.name)
        if begin.number is not None and extent.number is not None:
            end = int_literal(begin.number + extent.number, self.dialect)
        elif begin.number == 0:
            end = extent
        else:
            end = binary("+", begin, extent)
        if end.level != ATOM:
            # once, not at every turn
            end = Code(self.let(f"{name}_end", self.dialect.types["int64"], end))
        count = self.dialect.types["int64"]
        self.open(f"for ({count} {name} = {begin}; {name} < {end}; ++{name})")
        self.positions[loop_var] = Code(name)
        self.stmt(body)
        self.close()

    def _while(self, node: Any) -> None:
        test, lines = self.captured(lambda: self.value(node.condition))
        if not lines:
            self.open(f"while ({test})")
        else:
            self.open("for (;;)")
            self.lines += lines
            self.line(f"if (!({test})) break;")
        self.stmt(node.body)
        self.close()

    # ---- memory
    def _allocate(self, node: Any) -> None:
        found = info(node.dtype)
        extents = [self.index(item) for item in node.extents]
        scalar = self.dialect.memory(found.scalar)
        bits = 8 if found.is_bool else found.bits
        name = self.name(node.buffer_var.name)
        if all(item.number is not None for item in extents):
            count = math.prod(item.number or 0 for item in extents) * found.lanes
            size = max((count * bits + 7) // 8, 1)
            if size <= STACK_BYTES and self._stack_bytes + size <= STACK_TOTAL:
                self._stack_bytes += size
                elements = size if is_packed(node.dtype) else max(count, 1)
                # compilers suspect small arrays that are written under a condition
                start = " = {0}" if size <= 64 else ""
                self.line(f"{scalar} {name}[{elements}]{start};")
                self.values[node.buffer_var] = Code(name)
                self.pointers[node.buffer_var] = scalar
                self.stmt(node.body)
                return
            amount = int_literal(size, self.dialect)
        else:
            count_code = extents[0]
            for item in extents[1:]:
                count_code = binary("*", count_code, item)
            total = binary("*", count_code, Code(str(bits * found.lanes)))
            rounded = binary("/", binary("+", total, Code("7")), Code("8"))
            amount = call(extreme(self.unit, "max", info("int64")), rounded, Code("1"))
        code = {"int": 0, "uint": 1, "bool": 1}.get(found.kind, 2)
        allocate = self.unit.slot("__TVMBackendAllocWorkspace")
        self.line(
            f"{scalar}* {name} = ({scalar}*){allocate}(1, 0, (uint64_t){amount.at(UNARY)}, {code}, "
            f"{found.bits});"
        )
        self.open(f"if ({name} == NULL)")
        self.fail(f"{self.function_name}: out of memory for the temporary {node.buffer_var.name}")
        self.close()
        self.values[node.buffer_var] = Code(name)
        self.pointers[node.buffer_var] = scalar
        self._held.append(name)
        self.stmt(node.body)
        self._held.pop()
        free = self.unit.slot("__TVMBackendFreeWorkspace")
        self.fail_unless_zero(f"{free}(1, 0, {name})")

    def _allocate_const(self, node: Any) -> None:
        get = getattr(node.data, "numpy", None)
        if get is None:
            raise self.refuse(
                f"AllocateConst {node.buffer_var.name} needs an array, but got "
                f"{type(node.data).__name__}"
            )
        dtype = info(node.dtype).scalar
        found = info(dtype)
        scalar = self.dialect.memory(dtype)
        array = get()
        if found.is_float and found.bits >= 32:
            texts = [str(constant(dtype, float(item), self.dialect)) for item in array.ravel()]
        else:
            bits = 8 if is_packed(dtype) or found.is_bool else found.bits
            word = "i" if found.signed and not is_packed(dtype) else "u"
            formats: dict[int, Any] = {8: "bB", 16: "hH", 32: "iI", 64: "qQ"}
            flat = memoryview(array.tobytes()).cast(formats[bits][word == "u"])
            kind = f"{'' if word == 'i' else 'u'}int{bits}"
            texts = [str(constant(kind, item, self.dialect)) for item in flat]
        name = self.unit.unique(self.name(node.buffer_var.name) + "_values")
        rows = [", ".join(texts[at : at + 8]) for at in range(0, len(texts), 8)]
        body = ",\n  ".join(rows) or "0"
        self.unit.globals.append(
            f"static const {scalar} {name}[{max(len(texts), 1)}] = {{\n  {body}\n}};"
        )
        # read only, but the rules for pointers know one kind
        self.values[node.buffer_var] = Code(f"({scalar}*){name}", UNARY)
        self.pointers[node.buffer_var] = scalar
        self.stmt(node.body)

    def _body(self, node: Any) -> None:
        self.stmt(node.body)

    def _no_op(self, node: Any) -> None:
        return


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
