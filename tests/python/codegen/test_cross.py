"""Code for other processors: run under emulators, bit for bit the same as here."""

import os
import shutil
import struct
import subprocess
import sys
import sysconfig

import numpy as np
import pytest
import tvm
from tvm import te

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", ".."))

from conftest import require  # noqa: E402

# C and no header but the standard's: arrays come through stdin and leave through stdout.
DRIVER = """\
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef struct { void* data; int32_t device_type, device_id; int32_t ndim;
  uint8_t code, bits; uint16_t lanes; int64_t* shape; int64_t* strides; uint64_t offset; } Tensor;
typedef union { int64_t i; double f; void* p; } Value;
typedef int Kernel(Value*, int*, int, Value*, int*, void*);
typedef struct { void* sync; int32_t tasks; } Env;
typedef int Task(int, Env*, void*);
static int launch(Task* task, void* closure, int count) {
  Env env = {0, count ? count : 3};
  for (int i = 0; i < env.tasks; ++i)
    if (task(i, &env, closure)) return -1;
  return 0;
}
static void* get(int type, int id, uint64_t bytes, int code, int bits) {
  void* found = 0;
  return posix_memalign(&found, 64, (size_t)bytes) ? 0 : found;
}
static int give(int type, int id, void* data) { free(data); return 0; }
static void complain(const char* text) { fprintf(stderr, "%s\\n", text); }
extern void* __TVMBackendParallelLaunch __attribute__((weak));
extern void* __TVMBackendAllocWorkspace __attribute__((weak));
extern void* __TVMBackendFreeWorkspace __attribute__((weak));
extern void* __TVMAPISetLastError __attribute__((weak));
@DECLARE@
static Kernel* kernels[] = {@NAMES@};
int main(int argc, char** argv) {
  Tensor tensors[16];
  Value values[16], result;
  int codes[16], code = 4, count = (argc - 2) / 3;
  int64_t sizes[16];
  if (&__TVMBackendParallelLaunch) __TVMBackendParallelLaunch = (void*)launch;
  if (&__TVMBackendAllocWorkspace) __TVMBackendAllocWorkspace = (void*)get;
  if (&__TVMBackendFreeWorkspace) __TVMBackendFreeWorkspace = (void*)give;
  if (&__TVMAPISetLastError) __TVMAPISetLastError = (void*)complain;
  for (int i = 0; i < count; ++i) {
    Tensor* t = &tensors[i];
    memset(t, 0, sizeof *t);
    t->code = atoi(argv[3 * i + 2]);
    t->bits = atoi(argv[3 * i + 3]);
    sizes[i] = atoll(argv[3 * i + 4]);
    t->lanes = 1;
    t->device_type = 1;
    t->ndim = 1;
    t->shape = &sizes[i];
    t->data = get(1, 0, sizes[i] * t->bits / 8, 0, 0);
    fread(t->data, t->bits / 8, sizes[i], stdin);
    values[i].p = t;
    codes[i] = 7;
  }
  if (kernels[atoi(argv[1])](values, codes, count, &result, &code, 0)) return 3;
  for (int i = 0; i < count; ++i) fwrite(tensors[i].data, tensors[i].bits / 8, sizes[i], stdout);
  return 0;
}
"""


# ---- programs: te tensors and the arrays they run on; all one-dimensional
def math_functions():
    n = te.var("n")
    x = te.placeholder((n,), name="X")
    y = te.compute((n,), lambda i: te.exp(x[i]) + te.tanh(x[i]) * te.erf(x[i]), name="Y")
    z = te.compute((n,), lambda i: te.log(te.abs(x[i])) + te.sin(x[i]), name="Z")
    values = np.linspace(-30, 30, 1003, dtype="float32")
    return te.create_schedule([y.op, z.op]), [x, y, z], [values]


def integers():
    a, b = te.placeholder((200,), "int32", name="A"), te.placeholder((200,), "int32", name="B")
    q = te.compute((200,), lambda i: te.floordiv(a[i], b[i]), name="Q")
    r = te.compute((200,), lambda i: te.truncmod(a[i], b[i]) + a[i] * b[i], name="R")
    rng = np.random.default_rng(0)
    left = rng.integers(-(2**31), 2**31, 200, dtype="int64").astype("int32")
    right = rng.integers(-5, 6, 200).astype("int32")
    left[:3], right[:3] = -(2**31), (-1, 0, 1)
    return te.create_schedule([q.op, r.op]), [a, b, q, r], [left, right]


def conversions():
    x = te.placeholder((300,), name="X")
    h = te.compute((300,), lambda i: x[i].astype("float16") * x[i].astype("float16"), name="H")
    i8 = te.compute((300,), lambda i: x[i].astype("int8"), name="I")
    u = te.compute((300,), lambda i: x[i].astype("uint32"), name="U")
    d = te.compute((300,), lambda i: te.sqrt(te.abs(h[i].astype("float64"))), name="D")
    values = np.linspace(-300, 300, 300, dtype="float32")
    values[:4] = np.nan, np.inf, -np.inf, 7e9
    return te.create_schedule([d.op, i8.op, u.op]), [x, h, i8, u, d], [values]


def softmax():
    rows, columns = 7, 50
    x = te.placeholder((rows * columns,), name="X")
    k, q = te.reduce_axis((0, columns), "k"), te.reduce_axis((0, columns), "q")
    top = te.compute((rows,), lambda i: te.max(x[i * columns + k], axis=k), name="top")
    e = te.compute((rows, columns), lambda i, j: te.exp(x[i * columns + j] - top[i]), name="e")
    total = te.compute((rows,), lambda i: te.sum(e[i, q], axis=q), name="total")
    y = te.compute(
        (rows * columns,),
        lambda i: (
            e[te.floordiv(i, columns), te.floormod(i, columns)] / total[te.floordiv(i, columns)]
        ),
        name="Y",
    )
    data = np.random.default_rng(1).normal(size=rows * columns).astype("float32")
    return te.create_schedule(y.op), [x, y], [data]


def matrix_product():
    n = 36
    a, b = te.placeholder((n * n,), name="A"), te.placeholder((n * n,), name="B")
    k = te.reduce_axis((0, n), "k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i * n + k] * b[k * n + j], axis=k), name="C")
    out = te.compute((n * n,), lambda i: c[te.floordiv(i, n), te.floormod(i, n)], name="O")
    s = te.create_schedule(out.op)
    i, j = s[c].op.axis
    i_outer, j_outer, i_inner, j_inner = s[c].tile(i, j, 4, 8)
    (p,) = s[c].op.reduce_axis
    s[c].reorder(i_outer, j_outer, p, i_inner, j_inner)
    s[c].vectorize(j_inner)
    s[c].unroll(i_inner)
    s[c].parallel(i_outer)
    data = np.random.default_rng(2).normal(size=(2, n * n)).astype("float32")
    return s, [a, b, out], list(data)


def lookup():
    table, where = te.placeholder((64,), "int8", name="T"), te.placeholder((90,), "int32", name="W")
    y = te.compute(
        (90,), lambda i: te.if_then_else(where[i] >= 0, table[where[i]], i.astype("int8"))
    )
    data = np.arange(64).astype("int8") - 32
    return te.create_schedule(y.op), [table, where, y], [
        data, np.random.default_rng(3).integers(-64, 64, 90).astype("int32")
    ]  # fmt: skip


PROGRAMS = [math_functions, integers, conversions, softmax, matrix_product, lookup]


def arrays_of(program):
    """Schedule, arguments, and an array for each: the inputs, then zeros."""
    schedule, args, given = program()
    size = given[0].size
    for tensor in args[len(given) :]:
        shape = tensor.shape[0]
        count = int(shape) if hasattr(shape, "value") else size
        given.append(np.zeros(count, tensor.dtype))
    return schedule, args, given


def module_for(target):
    lowered = []
    for program in PROGRAMS:
        schedule, args, _ = arrays_of(program)
        with tvm.target.Target(target):
            lowered.append(tvm.lower(schedule, args, name=program.__name__))
    return tvm.build(lowered, target=target)


_here = {}


def expected(program, reference):
    """What this machine computes, with or without fused multiply-add as the other one does."""
    key = program.__name__, reference
    if key not in _here:
        schedule, args, given = arrays_of(program)
        arrays = [tvm.nd.array(item) for item in given]
        tvm.build(schedule, args, reference)(*arrays)
        _here[key] = [item.numpy() for item in arrays]
    return _here[key]


def same(program, got, reference):
    for number, (ours, wanted) in enumerate(zip(got, expected(program, reference), strict=True)):
        both_nan = np.zeros(len(wanted), bool)
        if wanted.dtype.kind == "f":
            both_nan = np.isnan(ours) & np.isnan(wanted)
        differs = (ours.view(f"u{ours.itemsize}") != wanted.view(f"u{ours.itemsize}")) & ~both_nan
        assert not differs.any(), (program.__name__, number, np.flatnonzero(differs)[:5])


CODES = {"i": 0, "u": 1, "f": 2}
FUSED = "llvm"
SEPARATE = "llvm -mcpu=x86-64"

# name, target, C compiler, emulator with its options, reference
MACHINES = [
    ("aarch64", "llvm -mtriple=aarch64-linux-gnu", "aarch64-linux-gnu-gcc",
     ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"], FUSED),
    ("aarch64", "llvm -mtriple=aarch64-linux-gnu -mattr=+sve", "aarch64-linux-gnu-gcc",
     ["qemu-aarch64", "-cpu", "max", "-L", "/usr/aarch64-linux-gnu"], FUSED),
    ("riscv64", "llvm -mtriple=riscv64-unknown-linux-gnu", "riscv64-linux-gnu-gcc",
     ["qemu-riscv64", "-L", "/usr/riscv64-linux-gnu"], FUSED),
    ("riscv64", "llvm -mtriple=riscv64-unknown-linux-gnu -mattr=+m,+a,+f,+d,+c,+v",
     "riscv64-linux-gnu-gcc",
     ["qemu-riscv64", "-cpu", "rv64,v=true,vlen=128,vext_spec=v1.0", "-L",
      "/usr/riscv64-linux-gnu"], FUSED),
    ("arm", "llvm -mtriple=armv7a-linux-gnueabihf", "arm-linux-gnueabihf-gcc",
     ["qemu-arm", "-L", "/usr/arm-linux-gnueabihf"], SEPARATE),
]  # fmt: skip


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Programs for other machines, each linked once: target to path."""
    made = {}

    def build(target, compiler):
        if target not in made:
            folder = tmp_path_factory.mktemp("cross")
            module_for(target).save(str(folder / "kernels.o"), "o")
            names = [program.__name__ for program in PROGRAMS]
            text = DRIVER.replace("@DECLARE@", "".join(f"Kernel {name};\n" for name in names))
            (folder / "driver.c").write_text(text.replace("@NAMES@", ", ".join(names)))
            command = [compiler, "-O1", "-w", "driver.c", "kernels.o", "-o", "run"]
            subprocess.run(command, cwd=folder, check=True)
            made[target] = str(folder / "run")
        return made[target]

    return build


# QEMU 7.2 fails an assertion of its own on vector conversions of RISC-V.
EMULATED = [
    pytest.param(machine, program, id=f"{machine[1].partition('=')[2]}-{program.__name__}")
    for machine in MACHINES
    for program in PROGRAMS
    if not ("+v" in machine[1] and program is conversions)
]


@pytest.mark.parametrize(("machine", "program"), EMULATED)
def test_emulated(machine, program, built):
    name, target, compiler, emulator, reference = machine
    tools = (compiler, emulator[0])
    missing = [tool for tool in tools if shutil.which(tool) is None]
    require(f"qemu-{name}", not missing, f"no {', '.join(missing)}")
    _, _, given = arrays_of(program)
    words = [str(PROGRAMS.index(program))]
    for item in given:
        words += [str(CODES[item.dtype.kind]), str(item.itemsize * 8), str(item.size)]
    done = subprocess.run(
        [*emulator, built(target, compiler), *words],
        input=b"".join(item.tobytes() for item in given),
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    got, place = [], 0
    for item in given:
        got.append(np.frombuffer(done.stdout, item.dtype, item.size, place))
        place += item.nbytes
    same(program, got, reference)


# ---- WebAssembly
def wasm_linker():
    """The command of a WebAssembly linker, or None."""
    for version in ("", *(f"-{number}" for number in range(25, 13, -1))):
        found = shutil.which("wasm-ld" + version)
        if found:
            return [found]
    ziglang = os.path.join(sysconfig.get_path("purelib"), "ziglang")
    return [sys.executable, "-m", "ziglang", "wasm-ld"] if os.path.isdir(ziglang) else None


class Wasm:
    """A linked module in wasmtime, its memory above the heap's base given out in order."""

    def __init__(self, path):
        import wasmtime

        self.store = wasmtime.Store()
        module = wasmtime.Module.from_file(self.store.engine, path)
        self.exports = wasmtime.Instance(self.store, module, []).exports(self.store)
        self.memory = self.exports["memory"]
        self.top = (self.exports["__heap_base"].value(self.store) + 63) // 64 * 64

    def put(self, data):
        """Copy bytes into the memory; their address."""
        place = self.top
        self.top = (place + len(data) + 63) // 64 * 64
        short = self.top - self.memory.data_len(self.store)
        if short > 0:
            self.memory.grow(self.store, (short + 65535) // 65536)
        self.memory.write(self.store, data, place)
        return place

    def call(self, name, arrays):
        values, places = b"", []
        for item in arrays:
            data = self.put(item.tobytes())
            shape = self.put(struct.pack("<q", item.size))
            places.append(data)
            kind = CODES[item.dtype.kind], item.itemsize * 8, 1
            # pointers have 32 bits; the offset is aligned to 8
            tensor = struct.pack("<IiiiBBHIIxxxxQ", data, 1, 0, 1, *kind, shape, 0, 0)
            values += struct.pack("<Q", self.put(tensor))
        codes = self.put(struct.pack(f"<{len(arrays)}i", *[7] * len(arrays)))
        result = self.put(bytes(16))
        argument = self.put(values)
        run = self.exports[name]
        code = run(self.store, argument, codes, len(arrays), result, result + 8, 0)
        assert code == 0
        return [
            np.frombuffer(
                bytes(self.memory.read(self.store, place, place + item.nbytes)), item.dtype
            )
            for place, item in zip(places, arrays, strict=True)
        ]


@pytest.fixture(scope="module")
def wasm(tmp_path_factory):
    linker = wasm_linker()
    try:
        import wasmtime  # noqa: F401
    except ImportError:
        linker = None
    require("wasmtime", linker is not None, "pip install wasmtime, and wasm-ld or ziglang")
    folder = tmp_path_factory.mktemp("wasm")
    module_for("llvm -mtriple=wasm32-unknown-unknown").save(str(folder / "kernels.o"), "o")
    options = ["--no-entry", "--export-all", "--allow-undefined"]
    subprocess.run([*linker, *options, "kernels.o", "-o", "k.wasm"], cwd=folder, check=True)
    return str(folder / "k.wasm")


@pytest.mark.parametrize("program", PROGRAMS)
def test_webassembly(program, wasm):
    _, _, given = arrays_of(program)
    machine = Wasm(wasm)
    if "__TVMBackendAllocWorkspace" in machine.exports:
        pytest.fail("the programs of this test keep their temporaries on the stack")
    same(program, machine.call(program.__name__, given), SEPARATE)


def test_webassembly_imports_are_seen():
    from tvm.codegen.llvm.machine import machine_for
    from tvm.codegen.llvm.objects import undefined_symbols

    machine = machine_for(tvm.target.Target("llvm -mtriple=wasm32-unknown-unknown"))
    text = (
        f'target triple = "{machine.triple}"\n'
        "declare float @expf(float)\n"
        "define float @f(float %x) {\n  %y = call float @expf(float %x)\n  ret float %y\n}\n"
    )
    data = machine.target_machine(2).emit_object(machine.llvm.parse_assembly(text))
    assert undefined_symbols(data) == {"expf"}


@pytest.mark.parametrize("target", [machine[1] for machine in MACHINES])
def test_code_for_another_machine_does_not_run_here(target):
    schedule, args, given = arrays_of(integers)
    built = tvm.build(schedule, args, target)
    arrays = [tvm.nd.array(item) for item in given]
    with pytest.raises((AttributeError, tvm.TVMError)):
        built(*arrays)
