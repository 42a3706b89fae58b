"""te.scan: steps along the first dimension, under schedules, against NumPy."""

import numpy as np
import pytest
import tvm
from tvm import te


def cumsum(shape=None, inputs=True, last=None):
    m, n = shape or (te.var("m"), te.var("n"))
    X = te.placeholder((m, n), name="X")
    state = te.placeholder((m, n), name="state")
    init = te.compute((1, n), lambda _, i: X[0, i], name="init")
    update = te.compute((m, n), lambda t, i: state[t - 1, i] + X[t, i], name="update")
    out = te.scan(init, update, state, inputs=[X] if inputs else None)
    return X, state, init, update, out


def both(run, s, args, *arrays, atol=0):
    """The last array after the interpreter and after compiled code, which must agree."""
    want = run(s, args, *arrays)[-1]
    given = [tvm.nd.array(a) for a in arrays]
    tvm.build(s, args, "llvm")(*given)
    np.testing.assert_allclose(given[-1].numpy(), want, rtol=1e-6, atol=atol)
    return want


@pytest.mark.parametrize("shape", [(5, 7), (1, 3), (6, 1)])
def test_sums(run, shape):
    X, _, init, update, out = cumsum()
    x = np.random.rand(*shape).astype("float32")
    s = te.create_schedule(out.op)
    np.testing.assert_allclose(both(run, s, [X, out], x, x * 0), x.cumsum(0), rtol=1e-5)
    s[update].vectorize(s[update].split(update.op.axis[1], factor=4)[1])
    s[init].split(init.op.axis[1], factor=3)
    np.testing.assert_allclose(both(run, s, [X, out], x, x * 0), x.cumsum(0), rtol=1e-5)
    s = te.create_schedule(out.op)
    s[out].split(out.op.scan_axis, factor=4)
    np.testing.assert_allclose(both(run, s, [X, out], x, x * 0), x.cumsum(0), rtol=1e-5)


def test_attributes():
    X, state, init, update, out = cumsum()
    op = out.op
    assert isinstance(op, te.ScanOp) and op.init == (init,) and op.update == (update,)
    assert op.state_placeholder == (state,) and op.inputs == (X,)
    assert op.input_tensors == (init, update) and out.shape == state.shape
    s = te.create_schedule(op)
    assert s[out].leaf_iter_vars == [op.scan_axis]
    assert s[out].all_iter_vars == [op.scan_axis, op.spatial_axis_[0]]
    assert s[update].group.attach_type == te.Stage.SCAN_UPDATE
    assert s[init].group is None


def test_stages_inside(run):
    """The cell of a small recurrent network: a matrix product inside each step."""
    t, n, k = 4, 3, 5
    X = te.placeholder((t, n, k), name="X")
    W = te.placeholder((k, k), name="W")
    state = te.placeholder((t, n, k), name="state")
    init = te.compute((1, n, k), lambda _, i, j: X[0, i, j], name="init")
    r = te.reduce_axis((0, k), name="r")
    product = te.compute(
        (t, n, k), lambda s, i, j: te.sum(state[s - 1, i, r] * W[r, j], axis=r), name="product"
    )
    update = te.compute(
        (t, n, k), lambda s, i, j: te.tanh(product[s, i, j] + X[s, i, j]), name="update"
    )
    out = te.scan(init, update, state, inputs=[X])
    doubled = te.compute((t, n, k), lambda s, i, j: out[s, i, j] * 2.0, name="doubled")
    x = np.random.rand(t, n, k).astype("float32") - 0.5
    w = np.random.rand(k, k).astype("float32") - 0.5
    want = x.copy()
    for step in range(1, t):
        want[step] = np.tanh(want[step - 1] @ w + x[step])
    args, arrays = [X, W, doubled], (x, w, x * 0)

    s = te.create_schedule(doubled.op)
    body = tvm.lower(s, args)["main"]
    np.testing.assert_allclose(both(run, s, args, *arrays, atol=1e-6), want * 2, rtol=1e-4)
    assert str(body).count("T.allocate") == 2  # the product of one step, and all rows
    assert "T.allocate([15]" in str(body)

    s[product].compute_at(s[update], update.op.axis[1])
    assert "T.allocate([5]" in str(tvm.lower(s, args)["main"])
    np.testing.assert_allclose(both(run, s, args, *arrays, atol=1e-6), want * 2, rtol=1e-4)
    s[update].parallel(update.op.axis[1])
    copied = s.cache_read(W, "local", [product])
    s[copied].compute_at(s[product], product.op.axis[2])
    held = s.cache_read(state, "local", [product])
    np.testing.assert_allclose(both(run, s, args, *arrays, atol=1e-6), want * 2, rtol=1e-4)
    s[held].compute_at(s[update], update.op.axis[1])
    cached = s.cache_write(update, "local")
    s[cached].compute_at(s[update], update.op.axis[2])
    np.testing.assert_allclose(both(run, s, args, *arrays, atol=1e-6), want * 2, rtol=1e-4)
    # the whole scan for each row of the consumer is more work, but the same result
    s = te.create_schedule(doubled.op)
    s[out].compute_at(s[doubled], doubled.op.axis[0])
    np.testing.assert_allclose(both(run, s, args, *arrays, atol=1e-6), want * 2, rtol=1e-4)
    s[init].compute_at(s[doubled], doubled.op.axis[0])
    np.testing.assert_allclose(both(run, s, args, *arrays, atol=1e-6), want * 2, rtol=1e-4)


def test_several_states(run):
    m, n = te.var("m"), te.var("n")
    X = te.placeholder((m, n), name="X")
    a, b = te.placeholder((m, n), name="a"), te.placeholder((m,), name="b")
    a0 = te.compute((2, n), lambda t, i: X[t, i], name="a0")
    b0 = te.compute((2,), lambda t: X[t, 0], name="b0")
    a1 = te.compute((m, n), lambda t, i: a[t - 2, i] + X[t, i] * b[t - 1], name="a1")
    b1 = te.compute((m,), lambda t: b[t - 1] * 0.5 + a[t - 1, 0], name="b1")
    A, B = te.scan([a0, b0], [a1, b1], [a, b], inputs=[X], name="two")
    assert A.op is B.op and A.name == "two.v0"
    x = np.random.rand(6, 4).astype("float32")
    wa, wb = x.copy(), x[:, 0].copy()
    for t in range(2, 6):
        wa[t] = wa[t - 2] + x[t] * wb[t - 1]
        wb[t] = wb[t - 1] * np.float32(0.5) + wa[t - 1, 0]
    s = te.create_schedule(A.op)
    got = run(s, [X, A, B], x, x * 0, wb * 0)
    np.testing.assert_allclose(got[1], wa, rtol=1e-5)
    np.testing.assert_allclose(got[2], wb, rtol=1e-5)
    C = te.compute((m,), lambda t: A[t, 0] + B[t], name="C")
    got = both(run, te.create_schedule(C.op), [X, C], x, wb * 0)
    np.testing.assert_allclose(got, wa[:, 0] + wb, rtol=1e-5)


def test_first_rows_that_live_elsewhere(run):
    """Initial rows that are an argument, or serve two scans, are copied."""
    m, n = 5, 3
    X = te.placeholder((m, n), name="X")
    I = te.placeholder((1, n), name="I")
    state, other = te.placeholder((m, n)), te.placeholder((m, n))
    up = te.compute((m, n), lambda t, i: state[t - 1, i] * 0.5 + X[t, i], name="up")
    first = te.scan(I, up, state, name="first")
    down = te.compute((m, n), lambda t, i: other[t - 1, i] - X[t, i], name="down")
    second = te.scan(I, down, other, name="second")
    both_ = te.compute((m, n), lambda t, i: first[t, i] * second[t, i], name="both")
    x, start = np.random.rand(m, n).astype("float32"), np.random.rand(1, n).astype("float32")
    wa, wb = x.copy(), x.copy()
    wa[0] = wb[0] = start
    for t in range(1, m):
        wa[t], wb[t] = wa[t - 1] * np.float32(0.5) + x[t], wb[t - 1] - x[t]
    s = te.create_schedule(both_.op)
    got = both(run, s, [X, I, both_], x, start, x * 0)
    np.testing.assert_allclose(got, wa * wb, rtol=1e-5)

    Z = te.compute((1, n), lambda _, i: X[0, i] * 3.0, name="Z")
    a = te.scan(Z, te.compute((m, n), lambda t, i: state[t - 1, i] + X[t, i]), state)
    b = te.scan(Z, te.compute((m, n), lambda t, i: other[t - 1, i] * X[t, i]), other)
    C = te.compute((m, n), lambda t, i: a[t, i] - b[t, i] + Z[0, i], name="C")
    wa, wb = x.copy(), x.copy()
    wa[0] = wb[0] = x[0] * 3
    for t in range(1, m):
        wa[t], wb[t] = wa[t - 1] + x[t], wb[t - 1] * x[t]
    got = both(run, te.create_schedule(C.op), [X, C], x, x * 0)
    np.testing.assert_allclose(got, wa - wb + wa[0], rtol=1e-5)


def test_inside_a_step(run):
    """A scan in the steps of another scan."""
    m, n = 4, 5
    X = te.placeholder((m, n), name="X")
    outer = te.placeholder((m, n), name="outer")
    inner = te.placeholder((n, m), name="inner")
    init = te.compute((1, n), lambda _, i: X[0, i], name="init")
    start = te.compute((1, m), lambda _, t: outer[t - 1, 0], name="start")
    grow = te.compute((n, m), lambda i, t: inner[i - 1, t] + outer[t - 1, i], name="grow")
    sums = te.scan(start, grow, inner, name="sums")
    step = te.compute((m, n), lambda t, i: sums[i, t] + X[t, i], name="step")
    out = te.scan(init, step, outer, inputs=[X], name="out")
    x = np.random.rand(m, n).astype("float32")
    want = x.copy()
    for t in range(1, m):
        want[t] = np.cumsum(want[t - 1]) + x[t]
    s = te.create_schedule(out.op)
    np.testing.assert_allclose(both(run, s, [X, out], x, x * 0), want, rtol=1e-5)
    # of the inner scan one column is needed in each step
    assert "T.allocate([5]" in str(tvm.lower(s, [X, out])["main"])


def test_part_of_a_scan(run):
    """A scan attached to a consumer's axis computes the columns needed there."""
    X, _, init, update, out = cumsum((6, 8))
    last = te.compute((8,), lambda i: out[5, i] * 2.0, name="last")
    s = te.create_schedule(last.op)
    outer, _ = s[last].split(last.op.axis[0], factor=4)
    s[out].compute_at(s[last], outer)
    s[init].compute_at(s[last], outer)
    assert "T.allocate([24]" in str(tvm.lower(s, [X, last])["main"])
    x = np.random.rand(6, 8).astype("float32")
    got = both(run, s, [X, last], x, x[0] * 0)
    np.testing.assert_allclose(got, x.sum(0) * 2, rtol=1e-5)
    # rows that live elsewhere are copied in the same part only
    s[init].compute_root()
    got = both(run, s, [X, last], x, x[0] * 0)
    np.testing.assert_allclose(got, x.sum(0) * 2, rtol=1e-5)
    # a step that mixes columns needs them all
    state = te.placeholder((6, 8), name="state")
    mixed = te.compute((6, 8), lambda t, i: state[t - 1, 7 - i] + X[t, i], name="mixed")
    out = te.scan(init, mixed, state)
    last = te.compute((8,), lambda i: out[5, i], name="last")
    s = te.create_schedule(last.op)
    s[out].compute_at(s[last], last.op.axis[0])
    want = x.copy()
    for t in range(1, 6):
        want[t] = want[t - 1, ::-1] + x[t]
    np.testing.assert_allclose(both(run, s, [X, last], x, x[0] * 0), want[5], rtol=1e-5)


def test_refuses():
    X, state, init, update, out = cumsum((5, 7))
    s = te.create_schedule(out.op)
    for what in ("vectorize", "parallel"):
        with pytest.raises(tvm.error.ScheduleError, match="steps of a scan depend"):
            getattr(s[out], what)(out.op.scan_axis)
    outer, inner = s[out].split(out.op.scan_axis, factor=2)
    with pytest.raises(tvm.error.ScheduleError, match="steps of a scan depend"):
        s[out].reorder(inner, outer)
    s[init].compute_at(s[out], outer)
    with pytest.raises(tvm.error.ScheduleError, match="stage init: .*first rows"):
        tvm.lower(s, [X, out])
    s = te.create_schedule(out.op)
    s[update].compute_inline()
    with pytest.raises(tvm.error.ScheduleError, match="stage update: compute_inline.*whole"):
        tvm.lower(s, [X, out])
    ahead = te.compute((5, 7), lambda t, i: state[t, i] + X[t, i], name="ahead")
    with pytest.raises(tvm.error.ScheduleError, match="ahead reads row t of the state"):
        te.create_schedule(te.scan(init, ahead, state).op)
    late = te.compute((5, 7), lambda t, i: update[t, i] + out[t, i], name="late")
    with pytest.raises(tvm.error.ScheduleError, match="update is computed inside the steps"):
        te.create_schedule(late.op)
    wide = te.placeholder((5, 8))
    with pytest.raises(ValueError, match="dimension 1 of the update is 7, but 8"):
        te.scan(init, update, wide)
    with pytest.raises(ValueError, match="1, 1 and 0"):
        te.scan(init, update, [])
    with pytest.raises(TypeError, match="one dtype.*float32, float32 and int32"):
        te.scan(init, update, te.placeholder((5, 7), "int32"))
    with pytest.raises(TypeError, match="expected te.placeholder"):
        te.scan(init, update, te.compute((5, 7), lambda i, j: X[i, j]))


def test_bounds_inside_a_step():
    m, n = te.var("m"), te.var("n")
    X = te.compute((m, n), lambda i, j: tvm.tir.const(1, "float32"), name="x")
    state = te.placeholder((m, n))
    init = te.compute((1, n), lambda _, i: X[0, i])
    update = te.compute((m, n), lambda t, i: state[t - 1, i] + X[t, i])
    out = te.scan(init, update, state)
    s = te.create_schedule(out.op)
    copied = s.cache_read(X, "local", update)
    outer, _ = s[update].split(update.op.axis[1], factor=4)
    s[copied].compute_at(s[update], outer)
    s = s.normalize()
    bounds = te.schedule.InferBound(s)
    assert bounds[copied.op.axis[1]].extent.value == 4
    assert bounds[copied.op.axis[0]].extent.value == 1


def test_attach_path_and_body():
    X, state, init, update, out = cumsum()
    m, n = X.shape
    Y = te.compute((m, n), lambda i, j: X[i, j] + 1.0, name="Y")
    update = te.compute((m, n), lambda t, i: state[t - 1, i] + Y[t, i], name="update")
    out = te.scan(init, update, state)
    s = te.create_schedule(out.op)
    s[Y].compute_at(s[update], update.op.axis[0])
    paths = te.schedule.CreateAttachPath(s)
    assert paths[update.op] == (out.op.scan_axis,)
    assert paths[Y.op] == (update.op.axis[0], out.op.scan_axis)
    assert te.schedule.ScanGetBody(out.op) == (update.op,)


def test_fix_points():
    l, m, n = te.var("l"), te.var("m"), te.var("n")
    X = te.compute((l, m, n), lambda *i: tvm.tir.const(1, "float32"), name="x")
    state = te.placeholder((l, m, n))
    init = te.compute((1, m, n), lambda _, i, j: X[0, i, j])

    def analysis(update):
        op = te.scan(init, update, state).op
        found = te.schedule.ScanFixPointAnalysis(op)
        return [found[iv].value for iv in op.spatial_axis_]

    assert analysis(te.compute((l, m, n), lambda t, i, j: X[t, j, i] + state[t - 1, i, j])) == [
        1,
        1,
    ]
    assert analysis(te.compute((l, m, n), lambda t, i, j: X[t, j, i] + state[t - 1, j, i])) == [
        0,
        0,
    ]
    h1 = te.compute((l, n, m), lambda t, j, i: state[t - 1, i, j])
    h2 = te.compute((l, m, n), lambda t, i, j: state[t - 1, i, 10] * 2.0)
    step = te.compute((l, m, n), lambda t, i, j: h1[t, j, i] + h2[t, i, j])
    assert analysis(step) == [1, 0]
    h1 = te.compute((l, n, m), lambda t, j, i: state[t - 1, j, j])
    h2 = te.compute((l, m, n), lambda t, i, j: state[t - 1, i, j] * 2.0)
    step = te.compute((l, m, n), lambda t, i, j: h1[t, j, i] + h2[t, i, j])
    assert analysis(step) == [0, 0]


def random_scan(choose):
    """A scan with one or two states, cells between them, under a random schedule."""
    m, n = choose(3, 7), choose(2, 9)
    depth = choose(1, 2)
    X = te.placeholder((m, n), name="X")
    count = choose(1, 2)
    states = [te.placeholder((m, n), name=f"state{k}") for k in range(count)]
    inits = [
        te.compute((depth, n), lambda t, i, k=k: X[t, i] * (k + 1.0), name=f"init{k}")
        for k in range(count)
    ]
    back = [choose(1, depth) for _ in range(3)]
    mirror, mixed = choose(0, 1), choose(0, 1)
    k = te.reduce_axis((0, n), name="k")
    cells = [
        te.compute(
            (m, n), lambda t, i: te.sum(states[0][t - back[0], k] * X[t, k], axis=k), name="cell"
        ),
        te.compute(
            (m, n),
            lambda t, i: states[-1][t - back[1], n - 1 - i if mirror else i] * 0.5,
            name="shift",
        ),
    ]
    updates = [
        te.compute(
            (m, n),
            lambda t, i, k=k: (
                cells[k][t, i] * 0.25
                + states[k][t - back[2], i]
                + (cells[1][t, n - 1 - i] if mixed else X[t, i])
            ),
            name=f"update{k}",
        )
        for k in range(count)
    ]
    outs = te.scan(inits, updates, states, inputs=[X])
    outs = outs if isinstance(outs, list) else [outs]
    D = te.compute((m, n), lambda t, i: outs[0][t, i] - outs[-1][t, n - 1 - i], name="D")

    def reference(x):
        value = [x * (k + 1.0) for k in range(count)]
        for t in range(depth, m):
            cell = np.repeat((value[0][t - back[0]] * x[t]).sum(), n)
            shift = value[-1][t - back[1]] * 0.5
            shift = shift[::-1] if mirror else shift
            row = [
                (cell, shift)[k] * 0.25 + value[k][t - back[2]] + (shift[::-1] if mixed else x[t])
                for k in range(count)
            ]
            for k in range(count):
                value[k][t] = row[k]
        return value[0] - value[-1][:, ::-1]

    s = te.create_schedule(D.op)
    for stage in [*inits, *updates, D]:
        axis = stage.op.axis[1]
        if choose(0, 1):
            outer, axis = s[stage].split(axis, factor=choose(1, 5))
            if choose(0, 1):
                s[stage].parallel(outer)
        (s[stage].vectorize, s[stage].unroll, lambda iv: None)[choose(0, 2)](axis)
    inside = [c for c in cells if any(c.op is op for op in te.schedule.ScanGetBody(outs[0].op))]
    users = {c: [u for u in updates if c in u.op.input_tensors] for c in inside}
    for cell in inside:
        if len(users[cell]) == 1 and choose(0, 1):
            user = users[cell][0]
            s[cell].compute_at(s[user], s[user].leaf_iter_vars[choose(0, 1)])
    if choose(0, 1):
        readers = [op for op in te.schedule.ScanGetBody(outs[0].op) if X in op.input_tensors]
        if readers:
            s.cache_read(X, "local", readers)
    if choose(0, 1):
        readers = [
            op for op in te.schedule.ScanGetBody(outs[0].op) if states[0] in op.input_tensors
        ]
        s.cache_read(states[0], "local", readers)
    if choose(0, 1):
        s[outs[0]].split(outs[0].op.scan_axis, factor=choose(1, 4))
    place = choose(0, 3)
    if place < 2:
        s[outs[0]].compute_at(s[D], s[D].leaf_iter_vars[place])
    elif place == 2:
        for init in inits:
            s[init].compute_root()
    return s, [X, D], (m, n), reference


@pytest.mark.parametrize("seed", range(40))
def test_random(run, seed):
    import random

    draw = random.Random(seed)
    s, args, shape, reference = random_scan(draw.randint)
    x = np.random.default_rng(seed).random(shape).astype("float32")
    want = reference(x.astype("float64"))
    size = np.abs(want).max() * 1e-5 + 1e-5
    np.testing.assert_allclose(both(run, s, args, x, x * 0, atol=size), want, rtol=1e-4, atol=size)
