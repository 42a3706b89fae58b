"""Libraries, object files, archives: written, loaded again, the same results, the same errors."""

import ctypes
import os
import shutil
import subprocess
import sys
import tarfile

import numpy as np
import pytest
import tvm
from tvm import te, tir
from tvm.codegen import export
from tvm.codegen.llvm.objects import undefined_symbols
from tvm.contrib import cc
from tvm.runtime import load_module, toolchain

pytestmark = pytest.mark.skipif(
    toolchain.find_compiler() is None, reason="linking takes a C compiler"
)

TARGETS = ["llvm", "c"]


def scale(target, name="scale", factor=2.0, dtype="float32"):
    """B = A * factor + n, element by element."""
    n = te.var("n")
    A = te.placeholder((n,), dtype, name="A")
    B = te.compute((n,), lambda i: A[i] * tir.const(factor, dtype) + n.astype(dtype), name="B")
    return tvm.build(te.create_schedule(B.op), [A, B], target, name=name)


def check_scale(module, factor=2.0, name="scale"):
    a = np.arange(7, dtype="float32")
    b = tvm.nd.empty((7,))
    module.get_function(name, True)(a, b)
    np.testing.assert_array_equal(b.numpy(), a * np.float32(factor) + 7)


@pytest.mark.parametrize("ending", ["lib.so", "lib.o", "lib.tar", "noending", "lib.so.1", "a b.so"])
@pytest.mark.parametrize("target", TARGETS)
def test_written_and_loaded_again(target, ending, tmp_path):
    path = tmp_path / ending
    assert scale(target).export_library(path) is None
    loaded = load_module(path)
    check_scale(loaded)
    # the entry function
    b = tvm.nd.empty((3,))
    loaded(np.zeros(3, "float32"), b)
    np.testing.assert_array_equal(b.numpy(), 3)


@pytest.mark.parametrize("target", TARGETS)
def test_exporting_twice_and_the_module_goes_on_working(target, tmp_path):
    module = scale(target)
    check_scale(module)
    module.export_library(str(tmp_path / "one.so"))
    module.export_library(str(tmp_path / "two.so"))
    check_scale(module)
    check_scale(load_module(tmp_path / "two.so"))


@pytest.mark.parametrize("target", TARGETS)
def test_what_an_object_takes_from_outside(target, tmp_path):
    scale(target).export_library(tmp_path / "lib.o")
    data = (tmp_path / "lib.o").read_bytes()
    assert undefined_symbols(data) <= {"memcpy", "memset", "memmove"}
    for mark in (b"__tvm_main__", b"__tvm_element_alignment__", b"__TVMBackendExplainCall"):
        assert mark in data
    # bodies take no checked call: nobody may find them by name
    scale(target).export_library(tmp_path / "lib.so")
    loaded = load_module(tmp_path / "lib.so")
    with pytest.raises(AttributeError, match="scale_compute_"):
        loaded["scale_compute_"]


@pytest.mark.parametrize("ending", ["so", "o", "tar"])
@pytest.mark.parametrize("first", TARGETS)
@pytest.mark.parametrize("second", TARGETS)
def test_imported_modules_become_one_library(first, second, ending, tmp_path):
    root, other = scale(first, "f", 2.0), scale(second, "g", 3.0)
    root.import_module(other)
    root.export_library(tmp_path / f"both.{ending}")
    loaded = load_module(tmp_path / f"both.{ending}")
    check_scale(loaded, 2.0, "f")
    check_scale(loaded, 3.0, "g")
    # the entry is the root's
    b = tvm.nd.empty((1,))
    loaded(np.ones(1, "float32"), b)
    assert b.numpy()[0] == 3.0


def test_two_functions_of_one_name_are_refused(tmp_path):
    root = scale("llvm", "f")
    root.import_module(scale("llvm", "f"))
    with pytest.raises(ValueError, match="two functions are named 'f'"):
        root.export_library(tmp_path / "x.so")


def test_a_loaded_library_cannot_become_part_of_another(tmp_path):
    scale("llvm").export_library(tmp_path / "one.so")
    root = scale("llvm", "f")
    root.import_module(load_module(tmp_path / "one.so"))
    with pytest.raises(tvm.TVMError, match=r"kind 'library'.*import_module"):
        root.export_library(tmp_path / "two.so")


# ---- bad calls: the table in the runtime and the code in a library say the same -----------------


def both_entries(func, target, tmp_path):
    """The function checked by the runtime's table, and the one that carries its own checks."""
    module = tvm.build(tvm.ir.IRModule({"f": func}), target=target)
    path = tmp_path / f"{target}.so"
    module.export_library(path)
    return module, load_module(path)


def outcome(function, args):
    try:
        function(*args)
    except tvm.TVMError as error:
        return type(error), str(error)
    return None


def check_same(modules, calls, count):
    """Every call ends alike in both; returns the messages, of which there must be `count`."""
    found = []
    for args in calls:
        first, second = (outcome(module["f"], args) for module in modules)
        assert first == second, args
        if first is not None:
            found.append(first[1])
    assert len(found) == count, found
    return found


def function(params, body=None, **attrs):
    body = tir.Evaluate(0) if body is None else body
    return tir.PrimFunc(params, body, None, None, {"global_symbol": "f", **attrs})


def array(shape, dtype="float32"):
    return tvm.nd.array(np.zeros(shape, dtype))


def locked(shape, dtype="float32"):
    made = np.zeros(shape, dtype)
    made.flags.writeable = False
    return made


@pytest.mark.parametrize("target", TARGETS)
def test_bad_calls_of_tensors(target, tmp_path):
    n = tir.Var("n", "int32")
    A = tir.decl_buffer((n, 4), "float32", "A")
    B = tir.decl_buffer((n,), "float32", "B")
    body = tir.BufferStore(B, tir.BufferLoad(A, [n - 1, 3]), [n - 1])
    modules = both_entries(function([A, B], body), target, tmp_path)
    good = (array((5, 4)), array(5))
    shared = array(40)
    calls = [
        good,
        (),
        (good[0],),
        (*good, 1),
        (1, good[1]),
        (2.5, good[1]),
        ("text", good[1]),
        (None, good[1]),
        (good[0], [1, 2]),
        (array((5, 4), "float64"), good[1]),
        (array((5, 4), "int32"), good[1]),
        (array(20), good[1]),
        (array((5, 4, 1)), good[1]),
        (array((5, 3)), good[1]),
        (good[0], array(4)),
        (good[0], locked(5)),
        (locked((5, 4)), good[1]),
        (np.zeros((4, 5), "float32").T, array(5)),
        (np.zeros((5, 8), "float32")[:, ::2], array(5)),
        (shared._create_view([5, 4]), shared._create_view([5])),
        (np.frombuffer(bytearray(81), "float32", 20, 1).reshape(5, 4), array(5)),
    ]
    said = check_same(modules, calls, len(calls) - 2)
    wanted = ["expects 2 arguments (A, B), but got 0", "but got str", "got None", "float64",
              "shape[1] expected 4, but got 3", "shape[0] expected 5 (n), but got 4", "read-only",
              "strides (1, 5)", "overlaps partly", "aligned to 4 bytes"]  # fmt: skip
    for part in wanted:
        assert any(part in text for text in said), (part, said)


@pytest.mark.parametrize("target", TARGETS)
def test_bad_calls_of_scalars(target, tmp_path):
    names = ["i8", "u8", "i32", "u32", "i64", "u64", "b", "x32", "x16"]
    types = ["int8", "uint8", "int32", "uint32", "int64", "uint64", "bool", "float32", "float16"]
    params = [tir.Var(name, dtype) for name, dtype in zip(names, types)]
    O = tir.decl_buffer((9,), "float64", "O")
    stores = [
        tir.BufferStore(O, tir.Cast("float64", param), [place])
        for place, param in enumerate(params)
    ]
    modules = both_entries(function([*params, O], tir.SeqStmt(stores)), target, tmp_path)
    values = [-5, 200, -70000, 3000000000, -(2**40), 2**40, True, 0.1, 0.1]
    for module in modules:
        out = tvm.nd.empty((9,), "float64")
        module["f"](*values, out)
        want = [*map(float, values[:7]), float(np.float32(0.1)), float(np.float16(0.1))]
        np.testing.assert_array_equal(out.numpy(), want)
    out = tvm.nd.empty((9,), "float64")
    calls = []
    for place in range(9):
        for bad in ("text", None, out, 1.5, 3, -1, 128, 2**31, -(2**63), False, float("nan")):
            call = [*values, out]
            call[place] = bad
            calls.append(tuple(call))
    said = check_same(modules, calls, 58)
    assert any("expected a value of int8 (-128 to 127), but got 128" in text for text in said)
    assert any("expected an int (bool), but got float" in text for text in said)


@pytest.mark.parametrize("target", TARGETS)
def test_sizes_that_are_expressions_and_repeat(target, tmp_path):
    n, m = tir.Var("n", "int64"), tir.Var("m", "int32")
    A = tir.decl_buffer((n, m), "int8", "A")
    B = tir.decl_buffer((tir.floordiv(n * m, 3) + 1, tir.max(n, 2)), "int8", "B")
    C = tir.decl_buffer((m - n, tir.floormod(n, tir.Cast("int64", m))), "int8", "C")
    modules = both_entries(function([A, B, C]), target, tmp_path)
    calls = [
        (array(a, "int8"), array(b, "int8"), array(c, "int8"))
        for a in ((3, 5), (1, 1), (0, 4), (7, 2))
        for b in ((6, 3), (1, 2), (2, 2), (5, 7))
        for c in ((2, 3), (0, 0), (4, 0), (5, 1))
    ]
    check_same(modules, calls, len(calls) - 3)


@pytest.mark.parametrize("target", TARGETS)
def test_strides_offsets_and_alignment(target, tmp_path):
    n, s, o = (tir.Var(name, "int32") for name in "nso")
    A = tir.decl_buffer((n, 4), "int16", "A", strides=[s, 1], elem_offset=o)
    B = tir.decl_buffer((2,), "int16", "B", data_alignment=16)
    store = [
        tir.BufferStore(B, tir.Cast("int16", s), [0]),
        tir.BufferStore(B, tir.Cast("int16", o), [1]),
    ]
    modules = both_entries(function([A, B], tir.SeqStmt(store)), target, tmp_path)
    base = np.zeros((6, 10), "int16")
    big = np.zeros(80, "int16")
    at = -big.ctypes.data % 16 // 2
    fine, askew = big[at : at + 2], big[at + 1 : at + 3]
    calls = [
        (base[:, :4], fine),
        (base[:, ::2][:, :4], fine),
        (base[::-1, :4], fine),
        (base[:1, :4], fine),
        (base[:0, :4], fine),
        (base.T[:, :4], fine),
        (base[:, :4], askew),
        (array((3, 4), "int16"), fine),
        (array((3, 8), "int16")._create_view([3, 4]), fine),
        (array(100, "int16")._create_view([3, 4], relative_byte_offset=10), fine),
        (base[:, :3], fine),
    ]
    check_same(modules, calls, 4)
    shown = []
    for module in modules:
        view = array(100, "int16")._create_view([3, 4], relative_byte_offset=10)
        out = tvm.nd.empty((2,), "int16")
        module["f"](view, out)
        shown.append(out.numpy().tolist())
    assert shown[0] == shown[1] == [4, 5]


@pytest.mark.parametrize("target", TARGETS)
def test_memory_that_arguments_share(target, tmp_path):
    A, B = (tir.decl_buffer((4, 4), "float32", name) for name in "AB")
    i, j = tir.Var("i", "int32"), tir.Var("j", "int32")

    def loops(store):
        inner = tir.For(j, 0, 4, tir.ForKind.SERIAL, store)
        return tir.For(i, 0, 4, tir.ForKind.SERIAL, inner)

    same_place = loops(tir.BufferStore(B, tir.BufferLoad(A, [i, j]) + 1.0, [i, j]))
    turned = loops(tir.BufferStore(B, tir.BufferLoad(A, [j, i]) + 1.0, [i, j]))
    memory = array(64)
    whole = memory._create_view([4, 4])
    moved = memory._create_view([4, 4], relative_byte_offset=16)
    apart = memory._create_view([4, 4], relative_byte_offset=64)
    calls = [(whole, whole), (whole, moved), (moved, whole), (whole, apart), (apart, whole)]
    (tmp_path / "a").mkdir()
    check_same(both_entries(function([A, B], same_place), target, tmp_path / "a"), calls, 2)
    check_same(both_entries(function([A, B], turned), target, tmp_path), calls, 3)


@pytest.mark.parametrize("dtype", ["bool", "int4", "uint16", "float16", "bfloat16", "float64",
                                   "e4m3_float8", "float32x4"])  # fmt: skip
@pytest.mark.parametrize("target", TARGETS)
def test_element_types_are_told_apart(target, dtype, tmp_path):
    A = tir.decl_buffer((2,), dtype, "A")
    modules = both_entries(function([A]), target, tmp_path)
    types = ["bool", "int8", "uint8", "int4", "int16", "uint16", "float16", "bfloat16", "float64",
             "e4m3_float8", "e5m2_float8", "float32", "float32x4"]  # fmt: skip
    calls = [(tvm.nd.empty((2,), other),) for other in types]
    said = check_same(modules, calls, len(types) - 1)
    assert all(f"expected a tensor of dtype {dtype} and shape (2,)" in text for text in said)


@pytest.mark.parametrize("target", TARGETS)
def test_opaque_handles(target, tmp_path):
    p = tir.Var("p", "handle")
    O = tir.decl_buffer((1,), "int64", "O")
    store = tir.BufferStore(O, tir.Call("int64", "tir.reinterpret", [p]), [0])
    modules = both_entries(function([p, O], store), target, tmp_path)
    out = tvm.nd.empty((1,), "int64")
    a = array(5)
    view = array(8)._create_view([2], relative_byte_offset=12)
    for value, want in ((None, 0), (ctypes.c_void_p(4096), 4096), (a, None), (view, None)):
        shown = []
        for module in modules:
            module["f"](value, out)
            shown.append(int(out.numpy()[0]))
        assert shown[0] == shown[1] and want in (None, shown[0])
        assert want is not None or shown[0] != 0
    check_same(modules, [(1, out), ("x", out), (2.5, out)], 3)


@pytest.mark.parametrize("target", TARGETS)
def test_random_calls_end_alike(target, tmp_path):
    """Tensors of random shape, layout, dtype and place against a function with many conditions."""
    n, m = tir.Var("n", "int32"), tir.Var("m", "int32")
    A = tir.decl_buffer((n, m), "float32", "A")
    B = tir.decl_buffer((m, n), "float32", "B", strides=[tir.Var("s", "int32"), 1])
    C = tir.decl_buffer((n * m,), "float32", "C")
    stores = tir.SeqStmt([tir.BufferStore(C, 1.0, [0]), tir.BufferStore(B, 1.0, [0, 0])])
    body = tir.IfThenElse(tir.And(n > 0, m > 0), stores)
    modules = both_entries(function([A, B, C], body), target, tmp_path)
    rng = np.random.default_rng(5)
    pool = np.zeros(256, "float32")

    def tensor(shape):
        size = int(np.prod(shape))
        start = int(rng.integers(0, 200))
        made = pool[start : start + size]
        if made.size < size:
            made = np.zeros(size, "float32")
        made = made.reshape(shape)
        choice = rng.integers(12)
        if choice == 0:
            made = made[::-1]
        elif choice == 1 and made.ndim == 2:
            made = made.T
        elif choice == 2:
            made = made.astype("float64")
        elif choice == 3:
            made = np.zeros((*shape[:-1], shape[-1] * 2), "float32")[..., : shape[-1]]
        elif choice == 4:
            made = made.copy()
            made.flags.writeable = False
        return made

    ends = {True: 0, False: 0}
    for _ in range(400):
        n_, m_ = (int(v) for v in rng.integers(0, 5, 2))
        odd = rng.integers(8) == 0
        args = (tensor((n_, m_)), tensor((m_, n_ + int(odd))), tensor((n_ * m_,)))
        first, second = (outcome(module["f"], args) for module in modules)
        assert first == second, [(x.shape, x.strides, x.dtype, x.ctypes.data) for x in args]
        ends[first is None] += 1
    assert min(ends.values()) > 20, ends


# ---- without the runtime's help ------------------------------------------------------------------


class Value(ctypes.Union):
    _fields_ = [("i", ctypes.c_int64), ("f", ctypes.c_double), ("p", ctypes.c_void_p)]


@pytest.mark.parametrize("target", TARGETS)
def test_a_foreign_loader_gets_the_short_message(target, tmp_path):
    """A loader that knows only the classic slots: constant texts, and no crash without any slot."""
    path = tmp_path / "lib.so"
    scale(target).export_library(path)
    library = ctypes.CDLL(str(path))
    args, codes = (Value * 2)(), (ctypes.c_int * 2)(0, 0)
    assert library.scale(args, codes, 1, None, None, None) == -1
    said = []
    kind = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
    keep = kind(said.append)
    slot = ctypes.c_void_p.in_dll(library, "__TVMAPISetLastError")
    slot.value = ctypes.cast(keep, ctypes.c_void_p).value
    assert library.scale(args, codes, 1, None, None, None) == -1
    assert library.scale(args, codes, 2, None, None, None) == -1
    assert said == [
        b"TypeError: scale: expects 2 arguments (A, B)",
        b"TypeError: scale: argument 0 (A): expected a tensor of dtype float32 and shape (n,)",
    ]
    assert ctypes.c_char_p(ctypes.addressof(ctypes.c_char.in_dll(library, "__tvm_main__"))).value
    assert ctypes.c_char.in_dll(library, "__tvm_element_alignment__").value == b"\1"


PROGRAM = r"""
#include <stdio.h>
#include <string.h>
#include <tvm/runtime/c_runtime_api.h>

#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      printf("line %d: %s: %s\n", __LINE__, #condition, TVMGetLastError()); \
      return 1;                                                       \
    }                                                                 \
  } while (0)

int main(int argc, char** argv) {
  float data[6] = {0, 1, 2, 3, 4, 5}, out[6] = {0};
  int64_t shape[1] = {6}, wrong[1] = {5};
  DLTensor a, b;
  TVMModuleHandle mod;
  TVMFunctionHandle f;
  TVMValue args[2], ret;
  int codes[2] = {kTVMDLTensorHandle, kTVMDLTensorHandle}, ret_code = kTVMNullptr, i;
  (void)argc;
  memset(&a, 0, sizeof(a));
  a.device.device_type = kDLCPU;
  a.ndim = 1;
  a.dtype.code = kDLFloat;
  a.dtype.bits = 32;
  a.dtype.lanes = 1;
  a.shape = shape;
  b = a;
  a.data = data;
  b.data = out;
  CHECK(TVMModLoadFromFile(argv[1], "so", &mod) == 0);
  CHECK(TVMModGetFunction(mod, "scale", 0, &f) == 0 && f != NULL);
  args[0].v_handle = &a;
  args[1].v_handle = &b;
  CHECK(TVMFuncCall(f, args, codes, 2, &ret, &ret_code) == 0);
  for (i = 0; i < 6; ++i) CHECK(out[i] == data[i] * 2 + 6);
  b.shape = wrong;
  CHECK(TVMFuncCall(f, args, codes, 2, &ret, &ret_code) == -1);
  puts(TVMGetLastError());
  CHECK(TVMFuncFree(f) == 0 && TVMModFree(mod) == 0);
  return 0;
}
"""


@pytest.mark.parametrize("target", TARGETS)
def test_a_c_program_without_python(target, tmp_path):
    from tvm._ffi.libinfo import find_include_path, find_lib_path

    scale(target).export_library(tmp_path / "lib.so")
    (tmp_path / "main.c").write_text(PROGRAM)
    runtime = find_lib_path()[0]
    includes = [f"-I{path}" for path in find_include_path()]
    cc.create_executable(
        str(tmp_path / "main"),
        [str(tmp_path / "main.c"), runtime],
        ["-std=c99", "-Wall", "-Wextra", "-Werror", *includes,
         f"-Wl,-rpath,{os.path.dirname(runtime)}"],
    )  # fmt: skip
    done = subprocess.run(
        [tmp_path / "main", tmp_path / "lib.so"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip() == (
        "ValueError: scale: argument 1 (B): shape[0] expected 6 (n), but got 5: the whole shape "
        "is (5,), expected (n,)"
    )


@pytest.mark.parametrize("target", TARGETS)
def test_a_fresh_process_loads_it_without_the_compiler_packages(target, tmp_path):
    scale(target).export_library(tmp_path / "lib.so")
    code = (
        "import sys, numpy as np, tvm\n"
        f"f = tvm.runtime.load_module({str(tmp_path / 'lib.so')!r})['scale']\n"
        "b = tvm.nd.empty((2,))\n"
        "f(np.zeros(2, 'float32'), b)\n"
        "assert b.numpy().tolist() == [2.0, 2.0]\n"
        "assert not {'llvmlite', 'tvm.tir', 'tvm.codegen'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# ---- what programs do in libraries ---------------------------------------------------------------


def double_it(x, y):
    np.multiply(x.numpy(), 2, out=np.from_dlpack(y))


@pytest.mark.parametrize("target", TARGETS)
def test_parallel_loops_temporaries_and_packed_calls(target, tmp_path):
    tvm.register_func("test.export.double", double_it, override=True)
    A = te.placeholder((300, 70), name="A")
    D = te.extern(
        (300, 70),
        [A],
        lambda ins, outs: tir.call_packed("test.export.double", ins[0], outs[0]),
        name="D",
    )
    T = te.compute((300, 70), lambda i, j: te.tanh(D[i, j]) + 1.0, name="T")
    k = te.reduce_axis((0, 70))
    B = te.compute((300,), lambda i: te.sum(T[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    s[B].parallel(B.op.axis[0])
    s[T].parallel(T.op.axis[0])
    module = tvm.build(s, [A, B], target, name="f")
    module.export_library(tmp_path / "lib.so")
    loaded = load_module(tmp_path / "lib.so")
    a = np.random.default_rng(0).normal(size=(300, 70)).astype("float32")
    rows = []
    for item in (module, loaded, loaded):
        b = tvm.nd.empty((300,))
        item["f"](a, b)
        rows.append(b.numpy())
    np.testing.assert_array_equal(rows[0], rows[1])
    np.testing.assert_array_equal(rows[0], rows[2])
    np.testing.assert_allclose(rows[0], (np.tanh(2 * a) + 1).sum(1), rtol=1e-5)


@pytest.mark.parametrize("target", TARGETS)
def test_errors_of_packed_functions_keep_their_class(target, tmp_path):
    def fails(*_):
        raise KeyError("from inside")

    tvm.register_func("test.export.fails", fails, override=True)
    call = tir.Evaluate(
        tir.Call("int32", "tir.tvm_call_packed", [tir.StringImm("test.export.fails")])
    )
    for module in both_entries(function([], call), target, tmp_path):
        with pytest.raises(KeyError, match="from inside"):
            module["f"]()


@pytest.mark.parametrize("target", TARGETS)
def test_many_functions_and_strange_names(target, tmp_path):
    names = ["main", "exp", "printf", "my.function", "größe", "int", "slots", "a b", "9lives"]
    A = tir.decl_buffer((1,), "int32", "A")
    mod = tvm.ir.IRModule({
        name: tir.PrimFunc(
            [A], tir.BufferStore(A, number, [0]), None, None, {"global_symbol": name}
        )
        for number, name in enumerate(names)
    })  # fmt: skip
    module = tvm.build(mod, target=target)
    module.export_library(tmp_path / "lib.so")
    for item in (module, load_module(tmp_path / "lib.so")):
        for number, name in enumerate(names):
            a = tvm.nd.empty((1,), "int32")
            item[name](a)
            assert a.numpy()[0] == number, name


@pytest.mark.parametrize("target", TARGETS)
def test_libraries_in_one_process_keep_apart(target, tmp_path):
    for number in range(3):
        scale(target, factor=number).export_library(tmp_path / f"{number}.so")
    loaded = [load_module(tmp_path / f"{number}.so") for number in range(3)]
    for number in (2, 0, 1):
        check_scale(loaded[number], number)


# ---- files and tools -----------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
def test_options_of_the_export(target, tmp_path):
    module = scale(target)
    work = tmp_path / "work"
    module.export_library(tmp_path / "a.so", workspace_dir=work, options=["-Wl,-soname,liba.so"])
    assert sorted(os.listdir(work))[-1] == "lib0.o"
    assert b"liba.so\0" in (tmp_path / "a.so").read_bytes()
    module.export_library(tmp_path / "b.so", cc=toolchain.require_compiler())
    check_scale(load_module(tmp_path / "b.so"))
    (tmp_path / "more.c").write_text("int more(void) { return 5; }\n")
    module.export_library(tmp_path / "c.so", addons=[tmp_path / "more.c"])
    assert ctypes.CDLL(str(tmp_path / "c.so")).more() == 5
    with pytest.raises(TypeError, match=r"unknown options optoins"):
        module.export_library(tmp_path / "d.so", optoins=[])
    with pytest.raises(tvm.TVMError, match="no-such-flag"):
        module.export_library(tmp_path / "d.so", options=["-no-such-flag"])


@pytest.mark.parametrize("target", TARGETS)
def test_fcompile(target, tmp_path):
    seen = []

    def link(output, files, options=None):
        seen.append([os.path.basename(item) for item in files])
        cc.create_shared(output, files, [*(options or []), "-lm"])
        return "done"

    assert scale(target).export_library(tmp_path / "a.so", fcompile=link, options=["-g"]) == "done"
    # a compiler of the caller's may be for another machine: it gets C as C
    assert seen == [["lib0.c" if target == "c" else "lib0.o"]]
    check_scale(load_module(tmp_path / "a.so"))
    gcc = cc.cross_compiler(toolchain.require_compiler(), options=["-lm"])
    scale(target).export_library(tmp_path / "b.so", fcompile=gcc)
    check_scale(load_module(tmp_path / "b.so"))


@pytest.mark.parametrize("target", TARGETS)
def test_archives_do_not_depend_on_the_time(target, tmp_path):
    module = scale(target)
    for name in ("a.tar", "b.tar"):
        module.export_library(tmp_path / name)
        os.utime(tmp_path, (1, 1))
    assert (tmp_path / "a.tar").read_bytes() == (tmp_path / "b.tar").read_bytes()
    with tarfile.open(tmp_path / "a.tar") as archive:
        assert archive.getnames() == ["lib0.o"]


def test_without_a_compiler(monkeypatch, tmp_path):
    monkeypatch.setattr(toolchain, "find_compiler", lambda: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    module = scale("c")
    assert "scale" in module.get_source()
    with pytest.raises(tvm.TVMError, match=r"cannot find a C compiler.*gcc or clang.*ziglang"):
        module(np.zeros(1, "float32"), tvm.nd.empty((1,)))
    with pytest.raises(tvm.TVMError, match=r"cannot find a C compiler"):
        scale("llvm").export_library(tmp_path / "a.so")
    # an object file and an archive of one need no linker
    scale("llvm").export_library(tmp_path / "a.o")
    monkeypatch.undo()
    check_scale(module)
    check_scale(load_module(tmp_path / "a.o"))


def test_the_package_ziglang_is_a_compiler(monkeypatch, tmp_path):
    pytest.importorskip("ziglang")
    monkeypatch.setattr(toolchain, "find_compiler", lambda: None)
    assert export.compiler()[-2:] == ["ziglang", "cc"]


@pytest.mark.nightly  # it first builds its own support library, which takes minutes
def test_libraries_made_by_ziglang(monkeypatch, tmp_path):
    pytest.importorskip("ziglang")
    monkeypatch.setattr(toolchain, "find_compiler", lambda: None)
    monkeypatch.setenv("ZIG_GLOBAL_CACHE_DIR", str(tmp_path / "zig"))
    monkeypatch.setenv("ZIG_LOCAL_CACHE_DIR", str(tmp_path / "zig"))
    scale("c").export_library(tmp_path / "lib.so")
    check_scale(load_module(tmp_path / "lib.so"))


def broken_files(library, tmp_path):
    data = library.read_bytes()
    other = bytearray(data)
    other[18:20] = (243).to_bytes(2, "little")
    script = bytearray(data)
    script[16:18] = (2).to_bytes(2, "little")
    files = {
        "short.so": (data[:40], "no ELF header"),
        "empty.so": (b"", "no ELF header"),
        "text.so": (b"not a library at all" * 10, "no ELF header"),
        "headers.so": (data[:100], "cut off"),
        "half.so": (data[: len(data) // 3], "cut off"),
        "other.so": (bytes(other), "ELF machine 243"),
        "program.so": (bytes(script), "not a shared library"),
        "what.xyz": (b"abc", '"xyz" is not known; the formats are: so'),
    }
    for name, (content, text) in files.items():
        path = tmp_path / name
        path.write_bytes(content)
        yield path, text


def test_files_that_are_no_libraries(tmp_path):
    scale("llvm").export_library(tmp_path / "lib.so")
    for path, text in broken_files(tmp_path / "lib.so", tmp_path):
        with pytest.raises(tvm.TVMError) as caught:
            load_module(path)
        assert text in str(caught.value) and path.name in str(caught.value)
    scale("llvm").export_library(tmp_path / "lib.o")
    shutil.copy(tmp_path / "lib.o", tmp_path / "object.so")
    with pytest.raises(tvm.TVMError, match="it is an object file"):
        load_module(tmp_path / "object.so")
    with pytest.raises(OSError, match="no file .*missing.so"):
        load_module(tmp_path / "missing.so")


def test_any_cut_of_a_library_is_refused_or_works(tmp_path):
    """Never a crash: the system's loader maps what a header says, whether it is there or not."""
    scale("llvm").export_library(tmp_path / "lib.so")
    data = (tmp_path / "lib.so").read_bytes()
    loaded = 0
    for number, length in enumerate(range(0, len(data), max(1, len(data) // 60))):
        path = tmp_path / f"cut{number}.so"
        path.write_bytes(data[:length])
        try:
            module = load_module(path)
        except tvm.TVMError:
            continue
        check_scale(module)
        loaded += 1
    assert loaded < 60
