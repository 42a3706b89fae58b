"""Devices: names, masks, errors, attributes."""

import copy
import pickle
import subprocess
import sys

import pytest
import tvm
from tvm._ffi.runtime_ctypes import MASK2STR, STR2MASK, Device

CONSTRUCTORS = {
    "cpu": 1,
    "cuda": 2,
    "rocm": 10,
    "opencl": 4,
    "cl": 4,
    "metal": 8,
    "mtl": 8,
    "vulkan": 7,
    "vpi": 9,
    "hexagon": 16,
    "webgpu": 15,
    "ext_dev": 12,
}


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_constructors(name):
    for home in (tvm, tvm.nd, tvm.runtime):
        make = getattr(home, name)
        assert make(0).device_type == CONSTRUCTORS[name]
        assert make().device_id == 0
        assert make(3).device_id == 3
        assert make(dev_id=1) == tvm.device(name, 1)
        assert make(1) != make(0)
        assert hash(make(1)) == hash(tvm.device(name, 1))


def test_gpu_is_an_older_name():
    with pytest.warns(DeprecationWarning, match="cuda"):
        assert tvm.gpu(1) == tvm.cuda(1)


def test_guide():
    assert tvm.device("cpu", 1) == tvm.cpu(1)
    assert tvm.device("cuda", 0) == tvm.cuda(0)
    assert tvm.device("cuda:2") == tvm.cuda(2)
    assert tvm.device("cuda:2", 5) == tvm.cuda(2)
    assert repr(tvm.cpu(0)) == "cpu(0)"
    assert str(tvm.cuda(2)) == "cuda(2)"


@pytest.mark.parametrize("name", sorted(STR2MASK))
def test_every_name(name):
    device = tvm.device(name, 2)
    assert device.device_type == STR2MASK[name]
    assert repr(device) == f"{MASK2STR[STR2MASK[name]]}(2)"
    assert tvm.device(STR2MASK[name], 2) == device
    assert tvm.device(device) is device
    assert isinstance(device.exist, bool)


def test_masks_of_the_guide():
    for name in ("llvm", "stackvm", "c", "test", "hybrid", "composite"):
        assert tvm.device(name) == tvm.cpu(0)
    assert tvm.device("nvptx", 1) == tvm.cuda(1)
    assert Device.STR2MASK is STR2MASK
    assert Device.kDLCPU == 1
    assert Device.kDLOpenCL == 4
    assert tvm.runtime.Device is Device is tvm.nd.Device


def test_text_of_a_target():
    assert tvm.device("llvm -mcpu=znver4") == tvm.cpu(0)
    assert tvm.device("cuda -arch=sm_90", 1) == tvm.cuda(1)


def test_remote_devices():
    remote = tvm.device(128 * 2 + 1, 3)
    assert repr(remote) == "remote[1]:cpu(3)"
    assert remote.exist is False


@pytest.mark.parametrize(
    "bad", ["gpuu", "", "cuda:x", "cuda:1:2", "cuda:", ":1", "cuda:-1", "cuda:1.5", "CPU", "cuda:²"]
)
def test_bad_names(bad):
    with pytest.raises(ValueError, match="vulkan") as caught:
        tvm.device(bad)
    assert isinstance(caught.value, tvm.TVMError)
    assert repr(bad) in str(caught.value)


def test_near_name_is_suggested():
    with pytest.raises(ValueError, match="did you mean 'vulkan'"):
        tvm.device("vulcan")


@pytest.mark.parametrize("number", [-1, 1 << 31, "0", 1.0, None, True])
def test_bad_numbers(number):
    with pytest.raises(ValueError, match="cpu"):
        tvm.device("cpu", number)


@pytest.mark.parametrize("bad", [None, 1.5, [], b"cpu", True, object()])
def test_bad_types(bad):
    with pytest.raises(ValueError, match="expected a name"):
        tvm.device(bad)
    with pytest.raises(TypeError):
        tvm.device(bad)


def test_arrays_are_no_numbers():
    import numpy as np

    assert tvm.device("cpu", np.int64(2)) == tvm.device(np.uint8(1), 2) == tvm.cpu(2)
    for call in (lambda x: tvm.device("cpu", x), tvm.device, tvm.cuda):
        with pytest.raises(ValueError):
            call(np.arange(3))


@pytest.mark.parametrize("mask", [0, -1, 5, 99, 128])
def test_bad_masks(mask):
    with pytest.raises(ValueError, match="unknown mask"):
        tvm.device(mask)


@pytest.mark.parametrize("number", [-1, 1 << 40, "0", None])
def test_constructors_check_their_number(number):
    with pytest.raises(ValueError):
        tvm.cuda(number)


def test_wherever_a_device_is_taken():
    assert tvm.nd.empty((1,), "int8", "cpu").device == tvm.cpu(0)
    assert tvm.nd.array([1, 2], device="llvm").device == tvm.cpu(0)
    with pytest.raises(ValueError, match="names are"):
        tvm.nd.empty((1,), device="gpuu")


def test_torch_devices(torch):
    assert tvm.device(torch.device("cpu")) == tvm.cpu(0)
    assert tvm.device(torch.device("cuda", 3)) == tvm.cuda(3)


def test_pickle_and_copy():
    for device in (tvm.cpu(0), tvm.cuda(100)):
        assert pickle.loads(pickle.dumps(device)) == device
        assert copy.copy(device) == device
        assert copy.deepcopy(device) == device


ATTRIBUTES = [
    *("max_threads_per_block", "warp_size", "max_shared_memory_per_block", "compute_version"),
    *("device_name", "max_clock_rate", "multi_processor_count", "max_thread_dimensions"),
    *("api_version", "driver_version", "l2_cache_size_bytes", "total_global_memory"),
    *("available_global_memory",),
]


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes_of_the_cpu_and_of_absent_devices(name):
    getattr(tvm.cpu(0), name)  # None or a figure, never an error
    if not tvm.vpi(7).exist:
        assert getattr(tvm.vpi(7), name) is None


def test_cpu_figures():
    cpu = tvm.cpu(0)
    assert cpu.exist is True
    assert cpu.multi_processor_count >= 1
    assert cpu.total_global_memory > 1 << 20
    assert 0 < cpu.available_global_memory <= cpu.total_global_memory
    assert cpu.texture_spatial_limit() is None
    assert cpu.warp_size is None


def test_available_memory_falls_and_comes_back():
    cpu = tvm.cpu(0)
    before = cpu.available_global_memory
    a = tvm.nd.empty((1 << 20,), "float32")
    assert cpu.available_global_memory <= before - (4 << 20)
    del a
    assert cpu.available_global_memory == before


def test_sync_and_streams():
    cpu = tvm.cpu(0)
    assert cpu.sync() is None
    stream = cpu.create_raw_stream()
    cpu.set_raw_stream(stream)
    cpu.sync(stream)
    cpu.set_raw_stream(None)
    cpu.free_raw_stream(stream)


@pytest.mark.parametrize("name", sorted(set(MASK2STR.values()) - {"cpu"}))
def test_absent_devices_say_what_is_missing(name):
    device = tvm.device(name, 0)
    if device.exist:
        pytest.skip(f"{name} is there")
    with pytest.raises(RuntimeError, match=name):
        tvm.nd.empty((2,), "float32", device)
    with pytest.raises(RuntimeError, match=name):
        tvm.nd.array([1.0]).copyto(device)
    with pytest.raises(RuntimeError, match=name):
        device.sync()


def test_devices_need_no_numpy():
    code = "import sys, tvm; tvm.device('cuda:1').exist; tvm.cpu(0).sync(); "
    code += "assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
