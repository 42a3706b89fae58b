"""Target c: statements, the text of whole kernels, random programs, what it refuses."""

import pathlib
import subprocess
import sys

import codegen_helpers
import numpy as np
import pytest
import test_statements
import tvm
from c_helpers import STRICT, strict_compiler
from codegen_helpers import same_bits
from tvm import te, tir
from tvm.codegen.c.build import uses_fma
from tvm.runtime import toolchain
from tvm.tir.interpreter import interpret
from tvm.tir.transform.lower_intrin import lower_intrin

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "te"))

from random_programs import Chooser, Program  # noqa: E402

pytestmark = pytest.mark.skipif(toolchain.find_compiler() is None, reason="needs a C compiler")

# ---- the tests of statements, compiled as C ------------------------------------------------------

# what is about LLVM alone
_OF_LLVM = {
    "test_index_arithmetic_is_done_in_64_bits",
    "test_unsupported_nodes_are_named",
    "test_llvm_intrinsics_are_checked_before_llvm_sees_them",
    "test_import_llvm",
}
_STATEMENTS = [
    name for name in dir(test_statements) if name.startswith("test_") and name not in _OF_LLVM
]


@pytest.fixture
def as_c(monkeypatch):
    """`build` of the helpers makes C, whatever target it is asked for."""
    original = codegen_helpers.build

    def build(func, target="llvm"):
        return original(func, "c")

    monkeypatch.setattr(codegen_helpers, "build", build)
    monkeypatch.setattr(test_statements, "build", build)
    strict_compiler(monkeypatch)


def _cases():
    """Each test of the statements with each of its parameters' values."""
    from itertools import product

    for name in _STATEMENTS:
        marks = [
            mark
            for mark in getattr(getattr(test_statements, name), "pytestmark", [])
            if mark.name == "parametrize"
        ]
        choices = []
        for mark in marks:
            names = mark.args[0]
            single = isinstance(names, str)
            choices.append([
                {names: value} if single else dict(zip(names, value, strict=True))
                for value in mark.args[1]
            ])  # fmt: skip
        for number, combination in enumerate(product(*choices)):
            arguments = {}
            for part in combination:
                arguments.update(part)
            # the interpreter takes half a minute for the large ones; test_export has their like
            if arguments.get("size", 0) < 100000 and "llvm -m" not in str(
                arguments.get("target", "")
            ):
                yield pytest.param(name, arguments, id=f"{name[5:]}-{number}")


@pytest.mark.parametrize(("name", "arguments"), _cases())
def test_statements_as_c(name, arguments, as_c):
    getattr(test_statements, name)(**arguments)


# ---- text ----------------------------------------------------------------------------------------


def add_one():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    return te.create_schedule(B.op), [A, B], "add_one"


def gemm():
    A = te.placeholder((64, 48), name="A")
    B = te.placeholder((48, 32), name="B")
    k = te.reduce_axis((0, 48), name="k")
    C = te.compute((64, 32), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    i, j, a, b = s[C].tile(C.op.axis[0], C.op.axis[1], 16, 8)
    s[C].reorder(i, j, k, a, b)
    s[C].vectorize(b)
    s[C].parallel(i)
    return s, [A, B, C], "gemm"


def integers():
    """What wraps, divides, saturates and packs."""
    A = te.placeholder((10,), "int32", name="A")
    x = te.var("x", "float32")
    B = te.compute((10,), lambda i: (A[i] * A[i] - 7) // (A[i] + 1) + x.astype("int32"), name="B")
    C = te.compute((10,), lambda i: te.max(B[i], A[9 - i]).astype("float16"), name="C")
    return te.create_schedule([B.op, C.op]), [A, x, B, C], "integers"


@pytest.mark.parametrize("make", [add_one, gemm, integers])
def test_text_of_kernels(make, golden):
    schedule, args, name = make()
    # math functions do not occur, so the text is that of every machine
    module = tvm.build(schedule, args, "c", name=name)
    golden(name, module.get_source())


@pytest.mark.parametrize("make", [add_one, gemm, integers])
@pytest.mark.parametrize("standard", ["c99", "c11", "gnu17"])
def test_no_warnings(make, standard, tmp_path):
    schedule, args, name = make()
    module = tvm.build(schedule, args, "c", name=name)
    module.save(tmp_path / "k.c")
    command = [toolchain.require_compiler(), f"-std={standard}", "-O2", *STRICT, "-c", "-o",
               tmp_path / "k.o", tmp_path / "k.c"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_numbers_of_kernels():
    schedule, args, name = gemm()
    a, b = (np.random.default_rng(k).normal(size=s) for k, s in enumerate([(64, 48), (48, 32)]))
    a, b = a.astype("float32"), b.astype("float32")
    c = tvm.nd.empty((64, 32))
    tvm.build(schedule, args, "c", name=name)(a, b, c)
    np.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-4, atol=1e-4)
    schedule, args, name = integers()
    a = np.array([0, -1, 5, 46341, -46341, 2**31 - 1, -(2**31), 3, -9, 100], "int32")
    out, half = tvm.nd.empty((10,), "int32"), tvm.nd.empty((10,), "float16")
    tvm.build(schedule, args, "c", name=name)(a, 1e20, out, half)
    with np.errstate(all="ignore"):
        top = a * a - np.int32(7)
        below = a + np.int32(1)
        quotient = np.where(below == 0, 0, top // np.where(below == 0, 1, below))
        want = (quotient.astype("int32") + np.int32(2**31 - 1)).astype("int32")
        np.testing.assert_array_equal(out.numpy(), want)
        np.testing.assert_array_equal(
            half.numpy(), np.maximum(want, a[::-1]).astype("float64").astype("float16")
        )


def test_packed_function_caches_occur_once():
    tvm.register_func("test.c.twice", lambda *args: None, override=True)
    call = tir.Call("int32", "tir.tvm_call_packed", [tir.StringImm("test.c.twice"), 1])
    body = tir.SeqStmt([tir.Evaluate(call), tir.Evaluate(call)])
    func = tir.PrimFunc([], body, None, None, {"global_symbol": "main"})
    text = codegen_helpers.build(func, "c").get_source()
    assert text.count("static void* test_c_twice_packed") == 1
    # asked for where it is used, unless it is known
    assert text.count('"test.c.twice"') == 2


def test_compiled_on_the_first_call_only(monkeypatch):
    from tvm.codegen import export

    runs = []
    original = export.compile_c
    monkeypatch.setattr(export, "compile_c", lambda *args: (runs.append(args), original(*args))[1])
    schedule, args, name = add_one()
    module = tvm.build(schedule, args, "c", name=name)
    assert module.type_key == "c" and module.format == "c"
    module.get_source()
    f = module["add_one"]
    # a bad call is refused before anything is compiled
    with pytest.raises(TypeError, match="expects 2 arguments"):
        f(1)
    assert not runs
    for _ in range(2):
        b = tvm.nd.empty((3,))
        f(np.zeros(3, "float32"), b)
        np.testing.assert_array_equal(b.numpy(), 1)
    assert len(runs) == 1


def test_threads_that_call_first_compile_once(monkeypatch):
    import threading

    schedule, args, name = add_one()
    module = tvm.build(schedule, args, "c", name=name)
    outs = [tvm.nd.empty((100,)) for _ in range(6)]
    zeros = np.zeros(100, "float32")
    threads = [threading.Thread(target=module, args=(zeros, out)) for out in outs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for out in outs:
        np.testing.assert_array_equal(out.numpy(), 1)


def test_a_body_that_cannot_be_made():
    from tvm.tir.arg_table import ArgTable

    func = tir.PrimFunc([], tir.Evaluate(0), None, None, {"global_symbol": "f"})
    blob = ArgTable.from_prim_func(func).to_bytes()

    class Holder:
        def address_of(self, name):
            raise LookupError(f"no {name} today")

    for holder, kind, text in (
        (Holder(), LookupError, "no f today"),
        (object(), AttributeError, "address_of"),
        (None, AttributeError, "address_of"),
    ):
        module = tvm.runtime.module.table_module([("f", None, blob)], holder)
        for _ in range(2):
            with pytest.raises(kind, match=text):
                module["f"]()
        with pytest.raises(TypeError, match="expects 0 arguments"):
            module["f"](1)


# ---- C functions from outside --------------------------------------------------------------------


def test_imported_c_source():
    A = tir.decl_buffer((4,), "float32", "A")
    source = "static float triple(float x) {\n  return 3.0f * x;\n}\n"
    value = tir.Call(
        "float32", "tir.call_pure_extern", [tir.StringImm("triple"), tir.BufferLoad(A, [0])]
    )
    body = tir.AttrStmt(
        tir.const(0), "pragma_import_c", tir.StringImm(source), tir.BufferStore(A, value, [0])
    )
    func = tir.PrimFunc([A], body, None, None, {"global_symbol": "main"})
    a = tvm.nd.array(np.full(4, 2, "float32"))
    codegen_helpers.build(func, "c")(a)
    np.testing.assert_array_equal(a.numpy(), [6, 2, 2, 2])


def test_what_is_refused():
    A = tir.decl_buffer((4,), "float32", "A")

    def build(body):
        return codegen_helpers.build(
            tir.PrimFunc([A], body, None, None, {"global_symbol": "main"}), "c"
        )

    i = tir.Var("i", "int32")
    with pytest.raises(tvm.TVMError, match="used but neither a parameter"):
        build(tir.BufferStore(A, 1.0, [i]))
    warp = tir.Call("float32", "tir.tvm_warp_shuffle", [0, 1, 2, 3, 4])
    with pytest.raises(tvm.TVMError, match="target c.*tvm_warp_shuffle"):
        build(tir.BufferStore(A, warp, [0]))
    thread = tir.IterVar(None, i, 1, "threadIdx.x")
    store = tir.BufferStore(A, 1.0, [i])
    with pytest.raises(tvm.TVMError, match="device thread"):
        build(tir.For(i, 0, 4, tir.ForKind.THREAD_BINDING, store, thread))
    llvm = tir.Call("float32", "tir.call_llvm_pure_intrin", [tir.StringImm("llvm.fabs"), 1.0])
    with pytest.raises(TypeError, match="no meaning in C"):
        build(tir.BufferStore(A, llvm, [0]))
    text = tir.AttrStmt(tir.const(0), "pragma_import_llvm", tir.StringImm("; x"), tir.Evaluate(0))
    with pytest.raises(ValueError, match="pragma import_c"):
        build(text)
    nowhere = tir.Call("int32", "tir.call_extern", [tir.StringImm("strange_name"), 1])
    module = build(tir.Evaluate(nowhere))
    with pytest.raises(tvm.TVMError, match="strange_name"):
        module(tvm.nd.empty((4,)))
    with pytest.raises(ValueError, match="expected c"):
        module.get_source("ll")


# ---- random programs -----------------------------------------------------------------------------


def check_program(seed):
    program = Program(Chooser.seeded(seed))
    fma = uses_fma(None)
    schedules = [te.create_schedule([item.op for item in program.outputs]), program.schedule()]
    lowered = [
        tvm.lower(schedule, program.args(), name=f"f{number}")[f"f{number}"]
        for number, schedule in enumerate(schedules)
    ]
    mod = tvm.ir.IRModule({f"f{number}": func for number, func in enumerate(lowered)})
    built = [tvm.codegen.build_module(mod, target) for target in ("c", "llvm -contract=0")]
    for number, func in enumerate(lowered):
        plain = program.arrays()
        interpret(lower_intrin(func, fma, False, False), *plain)
        for module in built:
            arrays = [
                tvm.nd.array(item) if isinstance(item, np.ndarray) else item
                for item in program.arrays()
            ]
            module[f"f{number}"](*arrays)
            for got, want in zip(arrays, plain, strict=True):
                if isinstance(want, np.ndarray):
                    assert same_bits(got.numpy(), want), (seed, number, module)


@pytest.mark.parametrize("block", range(6))
def test_random_programs_agree_bit_for_bit(block, monkeypatch):
    strict_compiler(monkeypatch)
    for seed in range(block * 8, block * 8 + 8):
        check_program(seed)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(20))
def test_many_random_programs(block, monkeypatch):
    strict_compiler(monkeypatch)
    for seed in range(30_000 + block * 50, 30_050 + block * 50):
        check_program(seed)
