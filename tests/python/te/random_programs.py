"""Random te programs and random legal schedules of them."""

from __future__ import annotations

import numpy as np
import tvm
from tvm import te, tir
from tvm.tir.interpreter import interpret
from tvm.tir.verify import verify


class Chooser:
    """Decisions: from hypothesis (which shrinks them) or from a seeded generator."""

    def __init__(self, below):
        self.below = below

    @classmethod
    def seeded(cls, seed):
        rng = np.random.default_rng(seed)
        return cls(lambda n: int(rng.integers(n)))

    @classmethod
    def drawn(cls, data):
        from hypothesis import strategies as st

        return cls(lambda n: data.draw(st.integers(0, n - 1)))

    def one_of(self, items):
        return items[self.below(len(items))]

    def chance(self, percent):
        # 0 is "no", so that shrinking makes programs plainer
        return self.below(100) >= 100 - percent


class Program:
    """Tensors of a random computation: inputs, all computed ones, outputs."""

    def __init__(self, choose, max_stages=4):
        self.choose = choose
        self.symbolic = choose.chance(30)
        self.sizes = [1 + choose.below(9) for _ in range(3)]
        self.vars = list(self.sizes)
        if self.symbolic:
            self.vars[0] = te.var("n0")
        self.dtype = choose.one_of(["float32", "int32", "float64", "int16"])
        self.inputs = []
        self.tensors = []
        self.dims = {}
        for k in range(1 + choose.below(2)):
            dims = tuple(choose.below(3) for _ in range(1 + choose.below(2)))
            tensor = te.placeholder(self._shape(dims), self.dtype, name=f"A{k}")
            self._add(self.inputs, tensor, dims)
        self.tensors += self.inputs
        self.computed = []
        for k in range(1 + choose.below(max_stages)):
            self._stage(f"T{k}")
        last = self.computed[-1]
        self.outputs = [last]
        for tensor in self.computed[:-1]:
            read = any(tensor in t.op.input_tensors for t in self.computed)
            if not read or choose.chance(10):
                self.outputs.append(tensor)

    def _shape(self, dims):
        return tuple(self.vars[d] for d in dims)

    def _add(self, into, tensor, dims):
        into.append(tensor)
        self.dims[tensor] = dims

    def _size(self, d):
        return self.vars[d]

    def _value(self, tensor, target_dims, axes):
        """A read of ``tensor`` at a position made of the axes, always inside."""
        choose = self.choose
        indices = []
        for d in self.dims[tensor]:
            same = [a for a, t in zip(axes, target_dims) if t == d]
            kind = choose.below(4)
            if not same:
                index = choose.one_of(axes) if axes else 0
                indices.append(tir.floormod(index, self._size(d)) if axes else 0)
            elif kind == 0 or not axes:
                indices.append(same[0])
            elif kind == 1:
                indices.append(choose.one_of(same))
            elif kind == 2:
                indices.append(tir.min(same[0] + 1 + choose.below(2), self._size(d) - 1))
            else:
                indices.append(self._size(d) - 1 - same[0])
        return tensor(*indices)

    def _shifted(self, tensor, target_dims, axes):
        """A read at a shifted position, under the test that it is inside."""
        choose = self.choose
        indices = []
        conds = []
        for d in self.dims[tensor]:
            same = [a for a, t in zip(axes, target_dims) if t == d]
            if not same:
                return self._value(tensor, target_dims, axes)
            shift = choose.below(5) - 2
            index = same[0] + shift
            if shift < 0:
                conds.append(index >= 0)
            if shift > 0:
                conds.append(index < self._size(d))
            indices.append(index)
        if not conds:
            return tensor(*indices)
        zero = tir.const(0, tensor.dtype)
        make = te.if_then_else if choose.chance(60) else te.Select
        return make(tir.all(*conds), tensor(*indices), zero)

    def _expr(self, target_dims, axes):
        choose = self.choose
        values = []
        for _ in range(1 + choose.below(2)):
            tensor = choose.one_of(self.tensors)
            read = self._shifted if choose.chance(40) else self._value
            values.append(read(tensor, target_dims, axes).astype(self.dtype))
        value = values[0]
        for other in values[1:]:
            combine = choose.one_of([tir.add, tir.subtract, tir.max, tir.min, tir.multiply])
            value = combine(value, other)
        extra = choose.below(4)
        if extra == 1:
            value = value + tir.const(1 + choose.below(3), self.dtype)
        elif extra == 2 and axes:
            value = value + choose.one_of(axes).astype(self.dtype)
        elif extra == 3:
            value = te.Select(value > tir.const(0, self.dtype), value, -value)
        return value

    def _stage(self, name):
        choose = self.choose
        ndim = choose.below(3) if choose.chance(20) else 1 + choose.below(2)
        dims = tuple(choose.below(3) for _ in range(ndim))
        shape = self._shape(dims)
        if choose.chance(35):
            count = 1 + choose.below(2)
            reduced = [choose.below(3) for _ in range(count)]
            rvs = [te.reduce_axis((0, self._size(d)), name=f"k{k}") for k, d in enumerate(reduced)]
            how = choose.one_of([te.sum, te.max, te.min])

            def body(*axes):
                everything = list(axes) + [rv.var for rv in rvs]
                value = self._expr(dims + tuple(reduced), everything)
                where = None
                if choose.chance(20):
                    where = tir.LT(rvs[0].var, tir.const(4, "int32"))
                return how(value, axis=rvs, where=where)
        elif choose.chance(10):
            first, second = te.compute(
                shape,
                lambda *axes: (self._expr(dims, list(axes)), self._expr(dims, list(axes))),
                name=name,
            )
            self._add(self.tensors, first, dims)
            self.computed.append(first)
            self._add(self.tensors, second, dims)
            self.computed.append(second)
            return
        else:

            def body(*axes):
                return self._expr(dims, list(axes))

        tensor = te.compute(shape, body, name=name)
        self._add(self.tensors, tensor, dims)
        self.computed.append(tensor)

    # ---- running
    def args(self):
        out = list(self.inputs)
        for tensor in self.outputs:
            for k in range(tensor.op.num_outputs):
                if tensor.op.output(k) not in out:
                    out.append(tensor.op.output(k))
        # the size is an argument too: nothing else may tell it
        return [self.vars[0], *out] if self.symbolic else out

    def arrays(self, seed=0):
        rng = np.random.default_rng(seed)
        arrays = []
        for tensor in self.args():
            if isinstance(tensor, tir.Var):
                arrays.append(self.sizes[0])
                continue
            dims = self.dims[tensor]
            shape = tuple(self.sizes[d] for d in dims)
            if tensor in self.inputs:
                arrays.append(rng.integers(-4, 5, shape).astype(tensor.dtype))
            else:
                arrays.append(np.full(shape, 77, tensor.dtype))
        return arrays

    def reference(self):
        """What the program means: the default schedule, before storage and without passes."""
        ops = [t.op for t in self.outputs]
        mod = tvm.driver.build_module.schedule_to_module(te.create_schedule(ops), self.args())
        return self.run(mod)

    def run(self, mod):
        arrays = self.arrays()
        interpret(mod["main"], *arrays)
        return arrays

    # ---- scheduling
    def schedule(self, log=None, rfactor=False, hints=False):
        """A random legal schedule.

        ``rfactor`` lets it factor reductions too, ``hints`` bind virtual threads, prefetch and
        fill buffers ahead.
        """
        choose = self.choose
        log = [] if log is None else log
        s = te.create_schedule([t.op for t in self.outputs])
        outputs = {id(t.op) for t in self.outputs}
        computed_ops = []
        for tensor in self.computed:
            if not any(tensor.op is op for op in computed_ops):
                computed_ops.append(tensor.op)
        live = [op for op in computed_ops if op in s.stage_map]
        for op in live:
            if choose.chance(12):
                scope = choose.one_of(["local", "global"])
                made = s.cache_write([op.output(k) for k in range(op.num_outputs)], scope)
                log.append(f"cache_write {op.name}, {len(made)}")
            if choose.chance(12):
                readers = [st.op for st in s.stages if s[op].op.output(0) in st.op.input_tensors]
                if readers:
                    s.cache_read(op.output(0), "local", readers)
                    log.append(f"cache_read {op.name}")
        if hints:
            for stage in [st for st in s.stages if st.is_computed]:
                self._layout(stage, log)
        if rfactor:
            for stage in [st for st in s.stages if st.is_computed]:
                self._rfactor(s, stage, log)
        for stage in reversed([st for st in s.stages if st.is_computed]):
            op = stage.op
            if (
                not op.reduce_axis
                and not stage.is_output
                and id(stage.origin_op) not in outputs
                and choose.chance(25)
            ):
                stage.compute_inline()
                log.append(f"inline {stage.name}")
                continue
            self._axes(s, stage, log)
        for stage in [st for st in s.stages if st.is_computed]:
            if stage.attach_type == te.Stage.INLINE or stage.is_output:
                continue
            if choose.chance(50):
                self._attach(s, stage, log)
        if hints:
            for stage in [st for st in s.stages if st.is_computed]:
                if stage.attach_type == te.Stage.INLINE:
                    continue
                self._hints(s, stage, log)
                if not stage.is_output and choose.chance(60):
                    if choose.chance(50):
                        stage.double_buffer()
                        log.append(f"{stage.name}: double_buffer")
                    else:
                        stage.rolling_buffer()
                        log.append(f"{stage.name}: rolling_buffer")
        return s

    def _layout(self, stage, log):
        """Other dimensions for a temporary."""
        choose, ndim = self.choose, len(stage.op.axis)
        if stage.is_output or not ndim or not choose.chance(15):
            return
        factor, axis = 1 + choose.below(4), choose.below(ndim)

        def blocked(*indices):
            rest = [index for k, index in enumerate(indices) if k != axis]
            return [indices[axis] // factor, *rest, indices[axis] % factor]

        def turned(*indices):
            return list(reversed(indices))

        if self.symbolic or choose.chance(40):
            stage.transform_layout(turned)
            log.append(f"{stage.name}: turned round")
        else:
            stage.transform_layout(blocked)
            log.append(f"{stage.name}: dimension {axis} in blocks of {factor}")

    def _rfactor(self, s, stage, log):
        choose = self.choose
        reduced = list(stage.op.reduce_axis)
        if not reduced or choose.chance(30):
            return
        if len(reduced) > 1 and choose.chance(30):
            reduced = [stage.fuse(*reduced)]
        axis = choose.one_of(reduced)
        if choose.chance(60):
            axis = choose.one_of(stage.split(axis, factor=1 + choose.below(4)))
        position = choose.below(len(stage.op.axis) + 1)
        s.rfactor(stage.op.output(0), axis, position)
        log.append(f"rfactor {stage.name} {axis.var.name} {position}")

    def _axes(self, s, stage, log):
        choose = self.choose
        for _ in range(choose.below(4)):
            leaves = list(stage.leaf_iter_vars)
            if not leaves:
                return
            what = choose.below(4)
            position = choose.below(len(leaves))
            iv = leaves[position]
            if what == 0:
                factor = 1 + choose.below(6)
                if choose.chance(25):
                    stage.split(iv, nparts=factor)
                    log.append(f"{stage.name}: split {iv.var.name} nparts={factor}")
                else:
                    stage.split(iv, factor=factor)
                    log.append(f"{stage.name}: split {iv.var.name} factor={factor}")
            elif what == 1 and position + 1 < len(leaves):
                stage.fuse(iv, leaves[position + 1])
                log.append(f"{stage.name}: fuse {iv.var.name} {leaves[position + 1].var.name}")
            elif what == 2 and len(leaves) > 1:
                other = choose.below(len(leaves))
                if other != position:
                    stage.reorder(leaves[other], iv)
                    log.append(f"{stage.name}: reorder {leaves[other].var.name} {iv.var.name}")
        for iv in list(stage.leaf_iter_vars):
            mark = choose.below(8)
            if mark == 1:
                stage.unroll(iv)
                log.append(f"{stage.name}: unroll {iv.var.name}")
            elif mark == 2:
                stage.parallel(iv)
                log.append(f"{stage.name}: parallel {iv.var.name}")
            elif (
                mark == 3
                and iv is stage.leaf_iter_vars[-1]
                and iv.iter_type != 2
                and self._constant(stage, iv)
            ):
                stage.vectorize(iv)
                log.append(f"{stage.name}: vectorize {iv.var.name}")

    def _hints(self, s, stage, log):
        """What changes how a stage runs, but never what it computes."""
        choose = self.choose
        leaves = list(stage.leaf_iter_vars)
        if choose.chance(20):
            fitting = [
                iv for iv in leaves
                if self._constant(stage, iv)
                and stage.kind_of(iv) == 0
                and not any(iv is leaf for leaf in leaves[-1:])
            ]  # fmt: skip
            if fitting:
                iv = choose.one_of(fitting)
                stage.bind(iv, te.thread_axis("vthread", name=f"vt_{stage.name}"))
                log.append(f"{stage.name}: bind {iv.var.name} vthread")
        if leaves and choose.chance(15):
            stored = [t for t in stage.op.input_tensors if s[t].attach_type == te.Stage.GROUP_ROOT]
            if stored:
                iv, tensor = choose.one_of(leaves), choose.one_of(stored)
                stage.prefetch(tensor, iv, choose.below(3))
                log.append(f"{stage.name}: prefetch {tensor.name} {iv.var.name}")

    def _constant(self, stage, iv):
        """Whether the axis has a constant extent whatever the sizes are."""
        for relation in stage.relations:
            if isinstance(relation, te.Split) and any(iv is m for m in relation.makes):
                if relation.factor is not None:
                    return iv is relation.inner
                return iv is relation.outer
        return not self.symbolic

    def _attach(self, s, stage, log):
        choose = self.choose
        consumers = [st for st in s.stages if any(t.op is stage.op for t in st.op.input_tensors)]
        if len(consumers) != 1 or consumers[0].attach_type == te.Stage.INLINE:
            return
        consumer = consumers[0]
        if not consumer.leaf_iter_vars:
            return
        iv = choose.one_of(list(consumer.leaf_iter_vars))
        stage.compute_at(consumer, iv)
        log.append(f"{stage.name}: compute_at {consumer.name} {iv.var.name}")


class VerifyEach:
    """A pass promises that the program is valid before and after it."""

    def run_before_pass(self, mod, info):
        verify(mod)

    def run_after_pass(self, mod, info):
        try:
            verify(mod)
        except Exception as err:
            raise AssertionError(f"after {info.name}: {err}") from err


def lowering(choose):
    """Random options of the lowering, and passes to run after it."""
    config = {
        "tir.instrument_bound_checkers": choose.chance(30),
        "tir.disable_storage_rewrite": choose.chance(20),
        "tir.disable_vectorize": choose.chance(20),
    }
    after = []
    if choose.chance(50):
        after.append(tir.transform.CommonSubexprElimTIR())
    if choose.chance(30):
        after.append(tir.transform.NarrowDataType(32))
    if choose.chance(20):
        after.append(tir.transform.StorageRewrite())
    return config, after


def check(choose, show=False, rfactor=False, hints=False):
    """Compare a random schedule's program with what the computation means."""
    program = Program(choose)
    log = []
    want = program.reference()
    s = program.schedule(log, rfactor, hints)
    config, after = lowering(choose) if hints else ({}, [])
    bodies = [f"{t.name} = {t.op.body}" for t in program.computed]
    note = "\n".join([str(program.sizes), *bodies, *log, str(config), str(after)])
    try:
        with tvm.transform.PassContext(config=config, instruments=[VerifyEach()]):
            mod = tvm.lower(s, program.args())
            for item in after:
                mod = item(mod)
        if show:
            print(note)
            print(mod)
        got = program.run(mod)
    except Exception as err:
        raise AssertionError(f"{type(err).__name__}: {err}\n{note}") from err
    for tensor, a, b in zip(program.args(), want, got):
        # rtol 0: nothing that these schedules do reassociates, except the order of a reduction
        if isinstance(a, int):
            continue
        if a.dtype.kind == "f":
            ok = np.allclose(a, b, rtol=1e-5, atol=1e-5, equal_nan=True)
        else:
            ok = np.array_equal(a, b)
        assert ok, f"{tensor.name} differs: want {a}, got {b}\n{note}\n{mod}"
