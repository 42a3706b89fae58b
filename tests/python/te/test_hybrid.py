"""te.hybrid: scripts run as Python, interpreted and compiled, with one result."""

import numpy as np
import pytest
import tvm
from tvm import te
from tvm.te.hybrid import script
from tvm.te.hybrid.runtime import HYBRID_GLOBALS
from tvm.tir.interpreter import interpret


def check(function, *args, schedule=None, outputs=1, rtol=1e-6):
    """Compare the three ways to run a script; returns the operation."""
    tensors, params, arrays = [], [], []
    for position, arg in enumerate(args):
        if isinstance(arg, np.ndarray):
            tensors.append(te.placeholder(arg.shape, str(arg.dtype), name=f"a{position}"))
            params.append(tensors[-1])
            arrays.append(arg)
        elif isinstance(arg, list):
            group = [te.placeholder(x.shape, str(x.dtype), name=f"a{position}") for x in arg]
            tensors.append(group)
            params += group
            arrays += arg
        else:
            tensors.append(tvm.tir.const(arg) if isinstance(arg, int) else arg)
    want = function(*[list(a) if isinstance(a, list) else a for a in args])
    want = list(want) if isinstance(want, tuple) else [want]
    made = function(*tensors)
    made = list(made) if isinstance(made, list) else [made]
    assert len(made) == len(want) == outputs
    s = te.create_schedule(made[0].op)
    if schedule is not None:
        schedule(s, made[0].op)
    results = [np.zeros_like(w) for w in want]
    func = tvm.lower(s, [*params, *made])["main"]
    interpret(func, *arrays, *results)
    for got, expected, tensor in zip(results, want, made):
        assert tuple(int(e) for e in tensor.shape) == expected.shape
        assert tensor.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=rtol)
    given = [tvm.nd.array(a) for a in (*arrays, *[np.zeros_like(w) for w in want])]
    tvm.build(s, [*params, *made], "llvm")(*given)
    for got, expected in zip(given[len(arrays) :], want):
        np.testing.assert_allclose(got.numpy(), expected, rtol=rtol)
    return made[0].op


def rand(*shape):
    return np.random.rand(*shape).astype("float32")


@script
def outer_product(a, b):
    """A docstring is no statement."""
    c = output_tensor((a.shape[0], b.shape[0]), "float32")  # noqa: F821
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            assert i < a.shape[0] and j < b.shape[0], "index out of range!"
            c[i, j] = a[i] * b[j]
    return c


def test_outer_product():
    op = check(outer_product, rand(5), rand(7))
    assert isinstance(op, te.HybridOp) and op.name == "outer_product"
    assert [iv.var.name for iv in op.axis] == ["i", "j"]
    assert [t.name for t in op.input_tensors] == ["a0", "a1"]


@pytest.mark.parametrize("factor", [4, 5])
def test_schedules(factor):
    def split(s, op):
        io, ii = s[op].split(op.axis[0], factor=factor)
        s[op].reorder(ii, op.axis[1], io)
        s[op].parallel(ii)

    def fuse(s, op):
        fused = s[op].fuse(*op.axis)
        outer, inner = s[op].split(fused, nparts=factor)
        s[op].unroll(inner)

    def tile(s, op):
        s[op].vectorize(s[op].tile(*op.axis, factor, 4)[3])

    for schedule in (split, fuse, tile):
        check(outer_product, rand(5), rand(8), schedule=schedule)


def test_between_stages(run):
    n = te.var("n")
    A, B = te.placeholder((n,), name="A"), te.placeholder((3,), name="B")
    P = te.compute((n,), lambda i: A[i] + 1.0, name="P")
    C = outer_product(P, B)
    D = te.compute((n, 3), lambda i, j: C[i, j] * 2.0, name="D")
    s = te.create_schedule(D.op)
    a, b = rand(4), rand(3)
    got = run(s, [A, B, D], a, b, np.zeros((4, 3), "float32"))[2]
    np.testing.assert_allclose(got, np.outer(a + 1, b) * 2, rtol=1e-6)
    s[P].compute_at(s[C], C.op.axis[0])
    with pytest.raises(tvm.error.ScheduleError, match="stage P: compute_at outer_product: nothing"):
        tvm.lower(s, [A, B, D])


@script
def control(a, n):
    b = output_tensor((a.shape[0], 4), a.dtype)  # noqa: F821
    total = 0.0
    for i in serial(0, n):  # noqa: F821
        half = i // 2
        value = a[i]
        if i % 3 == 0 and not i > 6:
            value = value * 2.0
        elif i > 4 or half == 1:
            value += float32(half)  # noqa: F821
        else:
            pass
        for k in const_range(4):  # noqa: F821
            if k == 2:
                b[i, k] = value if value > 1.0 else -value
            else:
                b[i, k] = value**2 + k
        total += value
        b[i, 0] = total
    step = n - 1
    while step > 0:
        b[step, 3] = max(b[step, 1], b[step, 2]) - min(total, 1.0)
        step = step - 2
    return b


def test_control_flow():
    check(control, rand(9), 9, rtol=1e-5)


@script
def functions(a):
    b = output_tensor((12, a.shape[0]), "float32")  # noqa: F821
    for i in range(a.shape[0]):
        b[0, i] = sqrt(a[i])  # noqa: F821
        b[1, i] = log(a[i])  # noqa: F821
        b[2, i] = exp(a[i])  # noqa: F821
        b[3, i] = tanh(a[i])  # noqa: F821
        b[4, i] = sigmoid(a[i])  # noqa: F821
        b[5, i] = power(a[i], a[i])  # noqa: F821
        b[6, i] = float32(popcount(i))  # noqa: F821
        b[7, i] = round(a[i] * 10.0)
        b[8, i] = likely(a[i] > 0.5) and a[i] < 0.7  # noqa: F821
        b[9, i] = abs(a[i] - 0.5)
        b[10, i] = int32(a[i] * 10.0)  # noqa: F821
        b[11, i] = ceil_div(i, 3)  # noqa: F821
    return b


def test_functions():
    check(functions, rand(6) + 0.01, rtol=2e-5)


@script
def blur(a):
    """Rows that are kept in memory of their own, and steps."""
    out = output_tensor((a.shape[0] - 2, a.shape[1] - 2), "float32")  # noqa: F821
    for i in range(1, a.shape[0] - 1):
        row = allocate((a.shape[1],), "float32", "local")  # noqa: F821
        for j in range(0, a.shape[1], 1):
            row[j] = a[i - 1, j] + a[i, j] + a[i + 1, j]
        for j in range(1, a.shape[1] - 1, 2):
            out[i - 1, j - 1] = (row[j - 1] + row[j] + row[j + 1]) / 9.0
    return out


def test_memory_and_steps():
    check(blur, rand(6, 9), rtol=1e-5)


@script
def group(tensors):
    total = output_tensor((4,), "float32")  # noqa: F821
    other = output_tensor((4,), "int32")  # noqa: F821
    for i in parallel(4):  # noqa: F821
        total[i] = tensors[0][i] + tensors[1][i]
        other[i] = len(tensors)
        p = tensors[0][i]
        q = tensors[1][i]
        p, q = q, p
        total[i] += p * 2.0 - q
    return total, other


def test_groups_and_several_outputs():
    check(group, [rand(4), rand(4)], outputs=2)


SIZE = 6


def test_names_from_outside(run):
    scale, B = 2.5, te.placeholder((SIZE,), name="B")

    @script
    def scaled(a):
        b = output_tensor((SIZE,), "float32")  # noqa: F821
        for i in range(SIZE):
            b[i] = a[i] * scale + B[i]
        return b

    A = te.placeholder((SIZE,), name="A")
    C = scaled(A)
    assert [t.name for t in C.op.input_tensors] == ["A", "B"]
    a, b = rand(SIZE), rand(SIZE)
    got = run(te.create_schedule(C.op), [A, B, C], a, b, a * 0)[2]
    np.testing.assert_allclose(got, a * np.float32(scale) + b, rtol=1e-6)


@script
def twice(a):
    b = output_tensor(a.shape, a.dtype)  # noqa: F821
    for i in range(a.shape[0]):
        b[i] = a[i] * 2.0
    return b


@script
def nested(a):
    b = output_tensor(a.shape, a.dtype)  # noqa: F821
    c = twice(a)
    for i in range(a.shape[0]):
        b[i] = c[i] + 1.0
    return b


def test_scripts_call_scripts():
    op = check(nested, rand(5))
    assert [t.op.name for t in op.input_tensors] == ["a0", "twice"]


def test_globals_are_visible_only_inside():
    assert "output_tensor" in HYBRID_GLOBALS and "output_tensor" not in globals()
    np.testing.assert_array_equal(twice(np.ones(3, "float32")), [2, 2, 2])
    assert "output_tensor" not in globals()


def test_build_and_module(tmp_path):
    n, m = 6, 8
    A, B = te.placeholder((n, m), name="A"), te.placeholder((m,), name="B")
    P = te.compute((n, m), lambda i, j: te.exp(A[i, j]) + B[j], name="P")
    k = te.reduce_axis((0, m), name="k")
    C = te.compute((n,), lambda i: te.sum(te.max(P[i, k], 1.5), axis=k), name="C")
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], factor=4)
    s[P].compute_at(s[C], inner)
    module = te.hybrid.build(s, [A, B], [C], "summed")
    assert isinstance(module, te.hybrid.HybridModule)
    text = module.get_source()
    assert text.startswith("def summed(A, B):\n    C = output_tensor((6,), 'float32')")
    a, b = rand(n, m), rand(m)
    want = np.maximum(np.exp(a) + b, 1.5).sum(1)
    np.testing.assert_allclose(module(a, b), want, rtol=1e-5)
    # the text is a script again
    path = str(tmp_path / "summed")
    module.save(path)
    again = te.hybrid.HybridModule()
    again.load(path + ".py")
    made = again(A, B)
    out = tvm.nd.array(np.zeros(n, "float32"))
    f = tvm.build(te.create_schedule(made.op), [A, B, made], "llvm")
    f(tvm.nd.array(a), tvm.nd.array(b), out)
    np.testing.assert_allclose(out.numpy(), want, rtol=1e-5)


def bad(source):
    return te.hybrid.HybridModule(source)(te.placeholder((4,), name="A"))


@pytest.mark.parametrize("body, message", [
    ("b[0] = a[0]\n return b", "b is not defined"),
    ("b = output_tensor((4,), 'float32')\n b[0] = a[0]", "expected `return`"),
    ("b = output_tensor((4,), 'float32')\n return a", "names of output tensors"),
    ("b = output_tensor((4,), 'float32')\n c = output_tensor((4,), 'float32')\n return b",
     "must be returned: c"),
    ("b = output_tensor((4,), 'float32')\n a[0] = 1.0\n return b", "A is an input"),
    ("b = output_tensor((4,), 'float32')\n b[0, 0] = 1.0\n return b", "1 dimensions, but got 2"),
    ("b = output_tensor((4,), 'float32')\n for i in range(4):\n  i = 3\n return b",
     "variable of a loop"),
    ("b = output_tensor((4,), 'float32')\n for i in range(4):\n  x = a[i]\n b[0] = x\n return b",
     "x is used outside of the block"),
    ("b = output_tensor((4,), 'float32')\n for i in odd(4):\n  b[i] = a[i]\n return b",
     "unknown kind of loop odd"),
    ("b = output_tensor((4,), 'float32')\n b[0] = odd(a[0])\n return b", "unknown function odd"),
    ("b = output_tensor((4,), 'float32')\n import os\n return b", "Import statements"),
    ("b = output_tensor((4,), 'float32')\n b[0] = [x for x in a]\n return b", "ListComp"),
    ("b = output_tensor((4,), 'float32')\n b[0] = a\n return b", "expected a number"),
    ("b = output_tensor((4,), 'float32')\n return b\n b[0] = 1.0", "nothing may stand after"),
    ("assert 1 > 2, 'never'\n b = output_tensor((4,), 'float32')\n return b", "failed: never"),
])  # fmt: skip
def test_refuses(body, message):
    with pytest.raises(ValueError, match=rf"hybrid script f, line \d+: .*{message}"):
        bad(f"def f(a):\n {body}\n")


def test_refuses_calls():
    with pytest.raises(TypeError, match=r"outer_product: expected 2 arguments \(a, b\), but got 1"):
        outer_product(te.placeholder((4,)))
    with pytest.raises(ValueError, match="defines no function g; it defines f"):
        te.hybrid.HybridModule("def f(a):\n    return a\n", "g")
    with pytest.raises(ValueError, match="the module is empty"):
        te.hybrid.HybridModule()(3)
    C = outer_product(te.placeholder((4,)), te.placeholder((4,)))
    D = control(te.placeholder((9,)), tvm.tir.const(9))
    s = te.create_schedule(D.op)
    with pytest.raises(tvm.error.ScheduleError, match="does not belong"):
        s[D].split(C.op.axis[0], factor=2)
