"""Queries of LLVM, generic functions, tags, virtual devices."""

import platform
import sys

import pytest
import tvm
from tvm.target import Target, VirtualDevice, codegen

x86 = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="for x86-64")


def test_this_machine():
    assert codegen.llvm_version_major() >= 15
    assert codegen.llvm_get_system_triple().count("-") >= 2
    assert codegen.llvm_get_system_cpu()
    assert codegen.llvm_get_system_x86_vendor() in ("intel", "amd", "unimplemented")
    assert tvm.target._ffi_api.llvm_get_system_cpu() == codegen.llvm_get_system_cpu()
    assert {"x86_64", "aarch64", "riscv64", "wasm32"} <= set(codegen.llvm_get_targets())


def test_processors():
    names = codegen.llvm_get_cpu_archlist("llvm -mtriple=x86_64-unknown-linux-gnu")
    assert {"haswell", "znver4", "x86-64-v3"} <= set(names) and names == sorted(names)
    names = codegen.llvm_get_cpu_archlist("llvm -mtriple=aarch64-unknown-linux-gnu")
    assert "cortex-a72" in names and "haswell" not in names
    with pytest.raises(ValueError, match="LLVM makes no code for nothing-at-all; it does for"):
        codegen.llvm_get_cpu_archlist("llvm -mtriple=nothing-at-all")


@pytest.mark.parametrize(
    "target, has, lacks",
    [
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=haswell", ["avx2", "fma", "sse4.2"], "avx512f"),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=sandybridge", ["avx", "sse4.1"], "avx2"),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=cascadelake", ["avx512vnni"], "amx-int8"),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids", ["amx-int8"], "neon"),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=haswell -mattr=-avx2,+sha", ["sha"], "avx2"),
        ("llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1", ["neon", "dotprod"], "sve"),
        ("llvm -mtriple=aarch64-linux-gnu -mattr=+sve", ["neon", "sve"], "dotprod"),
        ("llvm -mtriple=riscv64-linux-gnu -mattr=+v", ["v"], "neon"),
    ],
)
def test_features(target, has, lacks):
    found = codegen.llvm_get_cpu_features(target)
    assert set(has) <= set(found) and lacks not in found
    assert codegen.target_has_features(has, target)
    assert codegen.llvm_cpu_has_features(has[0], Target(target))
    assert not codegen.target_has_features([*has, lacks], target)
    with Target(target):
        assert tvm.target._ffi_api.target_has_feature(has[0])
        assert not tvm.target._ffi_api.llvm_cpu_has_feature(lacks)


@x86
def test_features_of_this_machine():
    assert "sse2" in codegen.llvm_get_cpu_features()
    assert codegen.target_has_features("sse2")


def test_intrinsics():
    number = codegen.llvm_lookup_intrinsic_id("llvm.x86.avx2.pmadd.wd")
    assert number and codegen.llvm_lookup_intrinsic_id("llvm.x86.avx2.pmadd.wd") == number
    assert codegen.llvm_get_intrinsic_name(number) == "llvm.x86.avx2.pmadd.wd"
    for name in ("llvm.no.such", "printf", "llvm.bad name", ""):
        assert codegen.llvm_lookup_intrinsic_id(name) == 0
    with pytest.raises(ValueError, match="100000 is no number of llvm_lookup_intrinsic_id"):
        codegen.llvm_get_intrinsic_name(100000)
    call = tvm.tir.call_llvm_pure_intrin("float32", "llvm.fabs", tvm.tir.const(1, "uint32"), 1.0)
    assert call.args[0].value == "llvm.fabs"
    assert tvm.tir.call_llvm_intrin("int32x8", number, 1).args[0].value == "llvm.x86.avx2.pmadd.wd"
    with pytest.raises(ValueError) as caught:
        tvm.tir.call_llvm_intrin("int32", "llvm.no.such", 1)
    assert str(caught.value) == "call_llvm_intrin: LLVM has no intrinsic named 'llvm.no.such'"


def test_generic_functions():
    @tvm.target.generic_func
    def what(x):
        return "default", x

    @what.register("gpu")
    def what_gpu(x):
        return "gpu", x

    @what.register(["arm_cpu", "hexagon"])
    def what_arm(x):
        return "arm", x

    assert what(1) == ("default", 1)
    with Target("cuda"):
        assert what(2) == ("gpu", 2)
    with tvm.target.arm_cpu():
        assert what(x=3) == ("arm", 3)
    with Target("llvm"):
        assert what(4) == ("default", 4)
    with pytest.raises(ValueError) as caught:
        what.register(what_arm, ["gpu"])
    assert str(caught.value) == (
        "generic function what: there is a variant for 'gpu' already; give allow_override=True to "
        "replace it"
    )
    what.register(what_arm, ["gpu"], allow_override=True)
    with Target("cuda"):
        assert what(2) == ("arm", 2)
    with pytest.raises(ValueError, match="the default is set already"):
        what.set_default(what_arm)


def test_generic_functions_by_name():
    empty = tvm.target.get_native_generic_func("test.only_gpu")
    assert tvm.target.get_native_generic_func("test.only_gpu") is empty
    empty.register(lambda: "gpu", ["gpu"])
    with Target("llvm"), pytest.raises(ValueError) as caught:
        empty()
    assert str(caught.value) == (
        "generic function test.only_gpu: there is no variant for target llvm, and no default; "
        "there are gpu"
    )

    @tvm.target.override_native_generic_func("test.named")
    def named():
        return "default"

    assert named() == "default" and isinstance(named, tvm.target.GenericFunc)
    assert tvm.GenericFunc is tvm.target.GenericFunc and callable(tvm.target.generic_func)
    assert tvm.target.get_native_generic_func("test.named") is named


def test_tags():
    assert tvm.target.list_tags()["nvidia/nvidia-a100"].arch == "sm_80"
    made = tvm.target.register_tag("test/board", "llvm -mcpu=cortex-a72 -num-cores=4")
    assert made.tag == "test/board" and Target("test/board").num_cores == 4
    with pytest.raises(ValueError, match="the tag 'test/board' exists already"):
        tvm.target.register_tag("test/board", "llvm")
    assert tvm.target.register_tag("test/board", "c", override=True).kind.name == "c"
    assert Target({"tag": "test/board"}).kind.name == "c"


def test_virtual_devices():
    place = VirtualDevice(tvm.cpu(0), Target("llvm"), "global")
    assert place == VirtualDevice(tvm.cpu(0), "llvm", "global") != VirtualDevice(tvm.cpu(0))
    assert hash(place) == hash(VirtualDevice(tvm.cpu(0), "llvm", "global"))
    assert VirtualDevice(target="cuda").device_type == tvm.cuda().device_type
    assert "memory_scope='global'" in repr(place) and VirtualDevice().device_type == -1


def test_targets_of_devices():
    target = Target.from_device(tvm.cpu())
    assert target.kind.name == "llvm" and target.mcpu
    assert Target.from_device("cpu") == target
    missing = tvm.device("opencl", 77)
    with pytest.raises(ValueError, match="is not there"):
        Target.from_device(missing)


def test_canonical_forms():
    assert [t.kind.name for t in Target.canon_multi_target(["llvm", "cuda"])] == ["llvm", "cuda"]
    assert Target.canon_multi_target(None) is None
    (one,) = Target.canon_multi_target_and_host("cuda", "llvm")
    assert one.host.kind.name == "llvm"
    with pytest.raises(ValueError):
        Target.canon_multi_target_and_host(None)
    table, host = Target.canon_target_map_and_host({"cuda": 1, "c": 2}, "llvm")
    assert sorted(t.kind.name for t in table) == ["c", "cuda"] and host.kind.name == "llvm"
    assert all(t.host == host for t in table)


def test_older_spellings():
    with pytest.warns(DeprecationWarning):
        assert tvm.target.create("llvm").kind.name == "llvm"
    assert tvm.target.bifrost().keys[0] == "bifrost" and tvm.target.mali().keys[0] == "mali"
    assert "vta" in tvm.target.vta().keys


def test_nothing_of_it_is_loaded_early():
    import subprocess

    code = "import tvm.target, sys; assert 'llvmlite' not in sys.modules; print('ok')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "ok\n", done.stderr
