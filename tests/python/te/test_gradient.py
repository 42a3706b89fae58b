"""te.gradient against finite differences in double precision."""

import numpy as np
import pytest
import tvm
from tvm import te, tir

rng = np.random.default_rng(7)


def evaluate(outputs, args, arrays):
    """The outputs, computed by compiled code."""
    outputs = list(outputs)
    s = te.create_schedule([t.op for t in outputs])
    f = tvm.build(s, [*args, *outputs], "llvm")
    results = [tvm.nd.array(np.zeros([int(e) for e in t.shape], t.dtype)) for t in outputs]
    f(*[tvm.nd.array(a) for a in arrays], *results)
    return [r.numpy() for r in results]


def check(output, inputs, arrays, step=1e-6, tolerance=2e-5, exact=1e-9):
    """Jacobian and product with a head against central differences."""
    args = inputs
    shape = [int(e) for e in output.shape]
    for tensor, grad in zip(inputs, te.gradient(output, inputs)):
        assert [int(e) for e in grad.shape] == shape + [int(e) for e in tensor.shape]
        assert grad.dtype == tensor.dtype
    jacobians = evaluate(te.gradient(output, inputs), args, arrays)
    numbers = rng.standard_normal(shape)
    head = te.placeholder(shape, output.dtype, name="head")
    products = evaluate(te.gradient(output, inputs, head), [*args, head], [*arrays, numbers])
    for tensor, jacobian, product in zip(inputs, jacobians, products):
        place = args.index(tensor)
        want = np.zeros_like(jacobian)
        for index in np.ndindex(arrays[place].shape):
            sides = []
            for sign in (1, -1):
                moved = [a.copy() for a in arrays]
                moved[place][index] += sign * step
                sides.append(evaluate_cached(output, args, moved))
            want[(..., *index)] = (sides[0] - sides[1]) / (2 * step)
        np.testing.assert_allclose(jacobian, want, rtol=tolerance, atol=tolerance)
        whole = np.tensordot(numbers, jacobian, axes=len(shape)) if shape else numbers * jacobian
        np.testing.assert_allclose(product, whole, rtol=exact, atol=1e-12)


_built = {}


def evaluate_cached(output, args, arrays):
    if output not in _built:
        _built.clear()
        _built[output] = tvm.build(te.create_schedule(output.op), [*args, output], "llvm")
    result = tvm.nd.array(np.zeros([int(e) for e in output.shape], output.dtype))
    _built[output](*[tvm.nd.array(a) for a in arrays], result)
    return result.numpy()


@pytest.fixture(autouse=True)
def forget():
    yield
    _built.clear()


def double(*shape, name="A"):
    return te.placeholder(shape, "float64", name=name)


def values(*shape, low=0.2, high=0.9):
    return rng.uniform(low, high, shape)


UNARY = [
    te.exp, te.exp2, te.exp10, te.log, te.log2, te.log10, te.log1p, te.sqrt, te.rsqrt, te.sin,
    te.cos, te.tan, te.sinh, te.cosh, te.tanh, te.asin, te.acos, te.atan, te.asinh, te.atanh,
    te.sigmoid, te.erf, te.abs, te.floor, te.ceil, te.trunc, te.round, te.nearbyint,
    lambda x: te.acosh(x + 1.5), lambda x: te.abs(-x), lambda x: -x, lambda x: 1.0 / x,
    lambda x: tir.fma(x, x, x), lambda x: te.ldexp(x, 3), lambda x: te.copysign(x, x - 0.5),
    lambda x: te.nextafter(x, x + 1.0) * x, lambda x: x.astype("float32").astype("float64") * x,
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(UNARY)))
def test_functions(number):
    A = double(5)
    B = te.compute((5,), lambda i: UNARY[number](A[i]), name="B")
    a = values(5, low=0.15, high=0.45)
    if number == len(UNARY) - 1:  # by way of float32
        check(B, [A], [a], 1e-4, 1e-3, exact=1e-6)
    else:
        check(B, [A], [a])


@pytest.mark.parametrize("function", [
    te.power, te.atan2, te.fmod, te.hypot, te.copysign, lambda a, b: a * b, lambda a, b: a / b,
    lambda a, b: a - b * a, lambda a, b: tir.Max(a, b), lambda a, b: tir.Min(a, b),
    lambda a, b: tir.Select(a < b, a * a, b * a), lambda a, b: te.if_then_else(a < b, a, b * b),
])  # fmt: skip
def test_functions_of_two(function):
    A, B = double(6), double(6, name="B")
    C = te.compute((6,), lambda i: function(A[i], B[i]), name="C")
    check(C, [A, B], [values(6) * 2.3, values(6)])


def test_indices():
    A = double(6, 4)
    for shape, element in (
        ((4, 6), lambda i, j: A[j, i]),
        ((3, 4), lambda i, j: A[i * 2, j] * A[5 - i, 3 - j]),
        ((24,), lambda i: A[i // 4, i % 4] * 2.0),
        ((2, 12), lambda i, j: A[(i * 12 + j) // 4, (i * 12 + j) % 4]),
        ((12, 8), lambda i, j: A[i // 2, j // 2]),
        ((5,), lambda i: A[2, 1] * A[i, 0]),
        ((3, 3), lambda i, j: te.if_then_else(i > 0, te.log(A[i - 1, j]), 0.0)),
        ((6, 4), lambda i, j: A[(i + 2) % 6, j] * A[i, (j * 3) % 4]),
        ((3, 2), lambda i, j: A[i + j, i - i + j] + A[i, i]),
        ((9, 3), lambda i, j: A[i % 3 * 2 + 1, j + 1]),
        ((6,), lambda i: A[i % 2 * 3 + i // 2, 1]),
    ):
        check(te.compute(shape, element, name="B"), [A], [values(6, 4)])


def test_reductions():
    A, B = double(3, 4), double(4, 5, name="B")
    k = te.reduce_axis((0, 4), name="k")
    product = te.compute((3, 5), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="product")
    check(product, [A, B], [values(3, 4), values(4, 5)])


@pytest.mark.parametrize("reducer", [te.sum, te.max, te.min, tir.prod])
def test_reducers(reducer):
    A = double(3, 4)
    k = te.reduce_axis((1, 4), name="k")
    R = te.compute((3,), lambda i: reducer(te.exp(A[i, k]) + A[i, 0], axis=k), name="R")
    check(R, [A], [values(3, 4)])
    r, l = te.reduce_axis((0, 3), name="r"), te.reduce_axis((0, 4), name="l")
    R = te.compute((), lambda: reducer(A[r, l], axis=[r, l], where=l > r), name="R")
    check(R, [A], [values(3, 4)])


def test_product_with_zeros():
    A = double(4, 3)
    k = te.reduce_axis((0, 3), name="k")
    R = te.compute((4,), lambda i: tir.prod(A[i, k], axis=k), name="R")
    a = values(4, 3)
    a[1, 2] = 0
    a[2, :2] = 0
    check(R, [A], [a])


def test_ties_share():
    A = double(4)
    k = te.reduce_axis((0, 4), name="k")
    R = te.compute((), lambda: te.max(A[k], axis=k), name="R")
    (got,) = evaluate(te.gradient(R, A), [A], [np.array([1.0, 3, 3, 2])])
    assert got.tolist() == [0, 0.5, 0.5, 0]


@pytest.mark.parametrize(
    "stride, pad, size", [(1, 0, 3), (1, 1, 3), (2, 1, 3), (3, 0, 2), (2, 0, 1)]
)
def test_convolution(stride, pad, size):
    A, W = double(7), double(size, name="W")
    P = te.compute(
        (7 + 2 * pad,),
        lambda i: te.if_then_else(te.all(i >= pad, i < 7 + pad), A[i - pad], 0.0),
        name="P",
    )
    out = (7 + 2 * pad - size) // stride + 1
    r = te.reduce_axis((0, size), name="r")
    C = te.compute((out,), lambda i: te.sum(P[i * stride + r] * W[r], axis=r), name="C")
    check(C, [A, W], [values(7), values(size)])
    r = te.reduce_axis((0, size), name="r")
    M = te.compute((out,), lambda i: te.max(P[i * stride + r] * 2.0, axis=r), name="M")
    check(M, [A], [values(7)])


def test_few_iterations_for_strided_reads():
    """The gradient of a strided convolution does not sum over all outputs."""
    A, W = double(1001), double(3, name="W")
    r = te.reduce_axis((0, 3), name="r")
    C = te.compute((500,), lambda i: te.sum(A[i * 2 + r] * W[r], axis=r), name="C")
    head = double(500, name="head")
    dA, _ = te.gradient(C, [A, W], head)
    assert [int(iv.dom.extent) for iv in dA.op.reduce_axis] == [2]
    # an element-wise one does not sum at all
    D = te.compute((1001,), lambda i: te.exp(A[i]) * 2.0, name="D")
    assert not te.gradient(D, [A], D)[0].op.reduce_axis


def test_network():
    """Layers with a softmax, shared weights and a cost."""
    X, W, b = double(3, 4), double(4, 4, name="W"), double(4, name="b")

    def dense(x, name):
        k = te.reduce_axis((0, 4), name="k")
        y = te.compute((3, 4), lambda i, j: te.sum(x[i, k] * W[k, j], axis=k), name=name)
        return te.compute((3, 4), lambda i, j: te.tanh(y[i, j] + b[j]), name=name + ".tanh")

    y = dense(dense(X, "first"), "second")
    k = te.reduce_axis((0, 4), name="k")
    top = te.compute((3,), lambda i: te.max(y[i, k], axis=k), name="top")
    e = te.compute((3, 4), lambda i, j: te.exp(y[i, j] - top[i]), name="e")
    k = te.reduce_axis((0, 4), name="k")
    total = te.compute((3,), lambda i: te.sum(e[i, k], axis=k), name="total")
    p = te.compute((3, 4), lambda i, j: e[i, j] / total[i], name="p")
    i, j = te.reduce_axis((0, 3), name="i"), te.reduce_axis((0, 4), name="j")
    cost = te.compute((), lambda: te.sum(-te.log(p[i, j]) * X[i, j], axis=[i, j]), name="cost")
    check(cost, [X, W, b], [values(3, 4), values(4, 4), values(4)])
    # with respect to something in between: what comes before does not matter
    (inner,) = te.gradient(cost, [p])
    got = evaluate([inner, p], [X, W, b], arrays := [values(3, 4), values(4, 4), values(4)])
    np.testing.assert_allclose(got[0], -arrays[0] / got[1], rtol=1e-12)


def test_symbolic_and_several_outputs():
    n = te.var("n")
    A = te.placeholder((n,), "float64", name="A")
    B, C = te.compute((n,), lambda i: (A[i] * A[i], te.sin(A[i])), name="BC")
    D = te.compute((n,), lambda i: B[i] * C[i] + C[0], name="D")
    (dA,) = te.gradient(D, [A])
    f = tvm.build(te.create_schedule(dA.op), [A, dA], "llvm")
    a = values(5)
    out = tvm.nd.array(np.zeros((5, 5)))
    f(tvm.nd.array(a), out)
    want = np.diag(2 * a * np.sin(a) + a * a * np.cos(a))
    want[:, 0] += np.cos(a[0])
    np.testing.assert_allclose(out.numpy(), want, rtol=1e-12)


def test_scaling_of_shared_expressions():
    """What stands once in memory is differentiated once: 60 squarings take no time."""
    from tvm.te.autodiff_rules import derivatives

    A = double(3)
    x = A[0]
    for _ in range(60):
        x = x * x
    ((load, terms),) = derivatives(x, tir.const(1.0, "float64"), (), lambda load: True, "A")
    assert load.producer == A and len(terms) == 1


def test_what_does_not_matter():
    A, B = double(3), double(2, name="B")
    I = te.placeholder((3,), "int32", name="I")
    C = te.compute((3,), lambda i: A[i] * I[i].astype("float64"), name="C")
    dA, dB, dI, dC = te.gradient(C, [A, B, I, C])
    got = evaluate([dA, dB, dI, dC], [A, I], [values(3), np.array([1, 2, 3], "int32")])
    assert (got[0] == np.diag([1, 2, 3])).all() and not got[1].any() and not got[2].any()
    assert (got[3] == np.eye(3)).all() and got[2].dtype == "int32"


def test_refuses():
    A = double(3)
    B = te.compute((3,), lambda i: A[i] * 2.0, name="B")
    with pytest.raises(TypeError, match="tensor of floats.*int32"):
        te.gradient(te.placeholder((3,), "int32"), [A])
    with pytest.raises(TypeError, match="input 0: expected a tensor, but got int"):
        te.gradient(B, [3])
    with pytest.raises(ValueError, match=r"last dimensions of head.*\(3\).*\(4\)"):
        te.gradient(B, [A], double(4))
    with pytest.raises(TypeError, match="head of dtype float64"):
        te.gradient(B, [A], te.placeholder((3,)))
    E = te.extern((3,), [A], lambda ins, outs: tir.Evaluate(0), name="E")
    with pytest.raises(tvm.TVMError, match="E is a ExternOp"):
        te.gradient(te.compute((3,), lambda i: E[i] * 2.0), [A])
    C = te.compute((3,), lambda i: tir.call_pure_extern("float64", "f", A[i]), name="C")
    with pytest.raises(NotImplementedError, match="gradient: C: the derivative.*call_pure_extern"):
        te.gradient(C, [A])
    k = te.reduce_axis((0, 3), name="k")
    odd = te.comm_reducer(lambda x, y: x + y + x * y, lambda t: tir.const(0, t), name="odd")
    R = te.compute((), lambda: odd(A[k], axis=k), name="R")
    with pytest.raises(NotImplementedError, match="R: the derivative of this reduction"):
        te.gradient(R, [A])


def random_program(choose):
    """Two or three operations whose reads are random affine positions, quotients and remainders."""

    def position(variables, extent):
        """An index in 0..extent-1 of variables with (name, extent)."""
        kind = choose(0, 4)
        var, size = variables[choose(0, len(variables) - 1)]
        other, more = variables[choose(0, len(variables) - 1)]
        if kind == 0:
            return (var * choose(1, 3) + other) % extent
        if kind == 1:
            return tir.floormod(var // 2 + choose(0, 3), extent)
        if kind == 2 and size <= extent:
            return (size - 1) - var
        if kind == 3 and size + more - 1 <= extent:
            return var + other
        if kind == 4 and 2 * size - 1 <= extent:
            return var * 2
        return tir.floormod(var, extent) if size > extent else var

    def value(tensors, variables):
        def read():
            tensor = tensors[choose(0, len(tensors) - 1)]
            return tensor(*[position(variables, int(e)) for e in tensor.shape])

        kind = choose(0, 6)
        a, b = read(), read()
        return (
            lambda: a * b,
            lambda: te.sin(a) + b,
            lambda: a / (b * b + 1.0),
            lambda: te.if_then_else(variables[0][0] < 2, a, te.exp(b * 0.25)),
            lambda: te.tanh(a - b) * a,
            lambda: a * 3.0 - b,
            lambda: te.sqrt(a * a + b * b + 0.5),
        )[kind]()

    A, B = double(choose(2, 6), choose(2, 5)), double(choose(2, 7), name="B")
    tensors = [A, B]
    for stage in range(choose(1, 3)):
        shape = [choose(1, 5) for _ in range(choose(0, 2))]
        extent = choose(2, 4)
        reducer = (None, None, te.sum, te.max, tir.prod)[choose(0, 4)]

        def element(*i, shape=shape, extent=extent, reducer=reducer):
            variables = list(zip(i, shape))
            if reducer is None:
                return value(tensors, variables or [(tir.const(0), 1)])
            k = te.reduce_axis((0, extent), name="k")
            return reducer(value(tensors, [*variables, (k.var, extent)]), axis=k)

        tensors.append(te.compute(tuple(shape), element, name=f"T{stage}"))
    return tensors[-1], [A, B]


@pytest.mark.parametrize("seed", [*range(25), 53])
def test_random(seed):
    import random

    output, inputs = random_program(random.Random(seed).randint)
    arrays = [values(*[int(e) for e in t.shape]) for t in inputs]
    check(output, inputs, arrays, tolerance=1e-4)
