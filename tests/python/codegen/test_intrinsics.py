"""Intrinsics by name: what LLVM would end the process for is looked at first."""

import numpy as np
import pytest
import tvm
from tvm import te, tir
from tvm.codegen.llvm.machine import machine_for

VNNI = "llvm.x86.avx512.vpdpbusd.512"


def test_names_with_types_of_their_own_are_looked_up_safely():
    from tvm.target.codegen import llvm_lookup_intrinsic_id

    assert llvm_lookup_intrinsic_id(VNNI)
    assert llvm_lookup_intrinsic_id("llvm.fma")
    assert llvm_lookup_intrinsic_id("llvm.no.such.thing") == 0


def test_dot_products_of_bytes():
    if "avx512vnni" not in machine_for(None).features:
        pytest.skip("this processor has no AVX-512 VNNI")
    a, b = te.placeholder((64,), "uint8", name="A"), te.placeholder((64,), "int8", name="B")

    def body(ins, outs):
        build = tir.ir_builder.create()
        every = tir.Ramp(0, 1, 64)
        left, right = (tir.reinterpret("int32x16", tir.BufferLoad(item, [every])) for item in ins)
        zero = tir.Broadcast(tir.const(0, "int32"), 16)
        value = tir.call_llvm_pure_intrin(
            "int32x16", VNNI, tir.const(3, "uint32"), zero, left, right
        )
        build.emit(tir.BufferStore(outs[0], value, [tir.Ramp(0, 1, 16)]))
        return build.get()

    c = te.extern((16,), [a, b], body, dtype="int32", name="C")
    function = tvm.build(te.create_schedule(c.op), [a, b, c], "llvm")
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 256, 64, "uint8"), rng.integers(-128, 128, 64, "int8")
    out = tvm.nd.empty((16,), "int32")
    function(tvm.nd.array(x), tvm.nd.array(y), out)
    expected = (x.astype("int32") * y).reshape(16, 4).sum(1)
    np.testing.assert_array_equal(out.numpy(), expected)


def test_a_processor_without_it_is_refused():
    a = te.placeholder((16,), "int32", name="A")

    def body(ins, outs):
        build = tir.ir_builder.create()
        row = tir.BufferLoad(ins[0], [tir.Ramp(0, 1, 16)])
        value = tir.call_llvm_pure_intrin("int32x16", VNNI, tir.const(3, "uint32"), row, row, row)
        build.emit(tir.BufferStore(outs[0], value, [tir.Ramp(0, 1, 16)]))
        return build.get()

    c = te.extern((16,), [a], body, dtype="int32", name="C")
    with pytest.raises(ValueError, match="needs the processor features avx512vnni"):
        tvm.build(te.create_schedule(c.op), [a, c], "llvm -mcpu=x86-64-v3")
