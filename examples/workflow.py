"""The whole workflow on the CPU: make arrays, share them, compile a function, run it, check it.

Run with ``python examples/workflow.py``. Each step prints what it did and how long it took.
"""

import time

start = time.perf_counter()
import tvm  # noqa: E402

import_ms = (time.perf_counter() - start) * 1e3

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402
from tvm import te  # noqa: E402

console = Console(width=110, highlight=False)


class Step:
    """Prints the title of a step, what it found, and its time."""

    count = 0

    def __init__(self, title):
        self.title = title
        self.notes = []

    def note(self, text):
        self.notes.append(text)

    def __enter__(self):
        self.start = time.perf_counter()
        return self.note

    def __exit__(self, kind, value, trace):
        took = (time.perf_counter() - self.start) * 1e3
        Step.count += 1
        console.print(f"[bold]{Step.count}. {self.title}[/] [dim]({took:.2f} ms)[/]")
        for line in self.notes:
            console.print(f"   {line}")


def device_table():
    """Every kind of device: is it there, and what is missing if not."""
    table = Table(title="devices", title_justify="left")
    for column in ("device", "there", "what it says"):
        table.add_column(column)
    kinds = (
        "cpu cuda rocm opencl metal vulkan vpi hexagon webgpu ext_dev"  # the guide's constructors
    )
    for kind in kinds.split():
        dev = getattr(tvm, kind)(0)
        if dev.exist:
            memory = dev.total_global_memory
            text = f"{dev.device_name or kind}, {memory / 2**30:.1f} GiB"
        else:
            try:
                tvm.nd.empty((1,), device=dev)
                text = "could be used after all"
            except RuntimeError as error:
                text = str(error).splitlines()[0]
        table.add_row(str(dev), "yes" if dev.exist else "no", text)
    console.print(table)


console.print(f"tvm-lite {tvm.__version__}, imported in {import_ms:.1f} ms")

with Step("make an array from NumPy (copies)") as note:
    x_np = np.random.randint(0, 10, size=(3, 4)).astype("float32")
    x = tvm.nd.array(x_np, device=tvm.cpu(0))
    assert isinstance(x, tvm.nd.NDArray)
    assert x.shape == x_np.shape and x.dtype == x_np.dtype
    note(f"shape {x.shape}, dtype {x.dtype}, device {x.device}")

with Step("move it between devices") as note:
    there = tvm.cuda(0) if tvm.cuda(0).exist else tvm.cpu(0)
    moved = x.copyto(there)
    back = moved.copyto(tvm.cpu(0))
    np.testing.assert_equal(back.numpy(), x_np)
    note(f"cpu(0) -> {there} -> cpu(0), the same values")

n = 100
with Step("describe and compile B = A + 1") as note:
    A = te.placeholder((n,), dtype="float32")
    B = te.compute((n,), lambda i: A[i] + 1.0)
    func = tvm.build(te.create_schedule([B.op]), [A, B], "llvm")
    note("te.placeholder, te.compute, te.create_schedule, tvm.build (the first build loads LLVM)")

with Step("describe and compile it once more, now warm") as note:
    C = te.compute((n,), lambda i: A[i] * 2.0)
    tvm.build(te.create_schedule([C.op]), [A, C], "llvm")

with Step("run it") as note:
    in_arr = tvm.nd.array(np.random.randn(n).astype("float32"))
    out_arr = tvm.nd.empty((n,), dtype="float32")
    func(in_arr, out_arr)
    note("arrays are the arguments; the result is written into the last one")

with Step("check with NumPy") as note:
    np.testing.assert_allclose(out_arr.numpy(), in_arr.numpy() + 1.0)
    note("equal to in_arr + 1")

with Step("share memory through DLPack, without copying") as note:
    seen_by_numpy = np.from_dlpack(out_arr)
    shared = tvm.nd.from_dlpack(seen_by_numpy)
    shared[:] = np.zeros(n, "float32")
    assert seen_by_numpy[0] == 0.0 and out_arr.numpy()[0] == 0.0
    note("NumPy, and the array itself, see what is written through the shared one")
    try:
        import torch
    except ImportError:
        note("torch is not installed; torch.from_dlpack(out_arr) works the same way")
    else:
        torch_t = torch.arange(6).reshape(2, 3)
        tvm_arr = tvm.nd.from_dlpack(torch_t)
        tvm_arr[:] = torch_t.numpy() * 2
        assert torch_t[1, 2].item() == 10
        note("torch sees what is written through the shared array")

with Step("symbolic size, two threads") as note:
    m = te.var("m")
    X = te.placeholder((m,), name="X")
    Y = te.compute((m,), lambda i: te.exp(X[i]), name="Y")
    s = te.create_schedule(Y.op)
    outer, inner = s[Y].split(Y.op.axis[0], factor=1024)
    s[Y].parallel(outer)
    s[Y].vectorize(inner)
    f = tvm.build(s, [X, Y], "llvm", name="exp")
    data = np.random.randn(1_000_003).astype("float32")
    xs, ys = tvm.nd.array(data), tvm.nd.empty(data.shape)
    f(xs, ys)
    np.testing.assert_allclose(ys.numpy(), np.exp(data), rtol=1e-6)
    mean = f.time_evaluator("exp", tvm.cpu(0), number=5, repeat=3)(xs, ys).mean
    note(f"exp of {data.size} numbers: {mean * 1e3:.2f} ms on {tvm.runtime.num_threads()} threads")

with Step("look for devices") as note:
    pass
device_table()
print("workflow complete")
