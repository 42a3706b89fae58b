"""Every path across the border, errors included, many times over: memory stays flat."""

import gc
import os

import numpy as np
import pytest
import tvm
from tvm._ffi import _core

ITERATIONS = 100_000
SANITIZED = bool(os.environ.get("TVM_TEST_SANITIZED"))


def resident_bytes() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def error_of(call):
    try:
        call()
    except Exception:
        return
    raise AssertionError("should have raised")


def raising(*args):
    raise ValueError("from the callback")


def paths():
    """(name, operation) pairs."""
    x = np.ones((8, 8), "float32")
    a, b = tvm.nd.array(x), tvm.nd.array(x)
    echo = tvm.get_global_func("testing.echo")
    callback = _core.convert_function(lambda *xs: xs[0])
    bad = _core.convert_function(raising)
    read_only = x.copy()
    read_only.flags.writeable = False
    return {
        "empty": lambda: tvm.nd.empty((8, 8)),
        "empty_large": lambda: tvm.nd.empty((512, 512)),
        "array": lambda: tvm.nd.array(x),
        "array_strided": lambda: tvm.nd.array(x[::2, ::-1]),
        "array_list": lambda: tvm.nd.array([1, 2, 3]),
        "numpy": lambda: a.numpy(),
        "copyfrom": lambda: a.copyfrom(x),
        "copyfrom_convert": lambda: a.copyfrom(x.astype("float64")),
        "copyto": lambda: a.copyto(b),
        "copyto_device": lambda: a.copyto(tvm.cpu(0)),
        "view": lambda: a._create_view((64,)),
        "shape": lambda: a.shape,
        "dtype": lambda: a.dtype,
        "handle": lambda: a.handle.contents.ndim,
        "from_dlpack_numpy": lambda: tvm.nd.from_dlpack(x),
        "from_dlpack_read_only": lambda: tvm.nd.from_dlpack(read_only),
        "dlpack_round": lambda: tvm.nd.from_dlpack(a),
        "numpy_from_dlpack": lambda: np.from_dlpack(a),
        "capsule_dropped": lambda: (a.to_dlpack(), a.__dlpack__(max_version=(1, 0))),
        "capsule_used": lambda: tvm.nd.from_dlpack(a.to_dlpack()),
        "call_int": lambda: echo(1),
        "call_str": lambda: echo("text" * 50),
        "call_bytes": lambda: echo(b"bytes" * 50),
        "call_array": lambda: echo(a),
        "call_numpy": lambda: echo(x),
        "call_list": lambda: echo([1, "two", [3.0, None]]),
        "call_dict": lambda: echo({"one": 1, "two": [2]}),
        "call_shape": lambda: echo(tvm.runtime.ShapeTuple([1, 2, 3])),
        "call_object": lambda: echo(object()),
        "call_function": lambda: echo(len),
        "call_device": lambda: echo(tvm.cpu(0)),
        "call_many": lambda: callback(*range(20)),
        "callback_array": lambda: callback(a),
        "callback_numpy": lambda: callback(x),
        "function_made": lambda: _core.convert_function(lambda: a)(),
        "error_callback": lambda: error_of(lambda: bad(a, x, "text", [1])),
        "error_shape": lambda: error_of(lambda: tvm.nd.empty((-1, 2))),
        "error_dtype": lambda: error_of(lambda: tvm.nd.empty((1,), "float33")),
        "error_copy": lambda: error_of(lambda: a.copyfrom(np.ones(3))),
        "error_view": lambda: error_of(lambda: a._create_view((65,))),
        "error_argument": lambda: error_of(lambda: echo(2**70)),
        "error_capsule": lambda: error_of(lambda: tvm.nd.from_dlpack(object())),
        "error_device": lambda: error_of(lambda: tvm.nd.empty((1,), device=tvm.cuda(0))),
        "error_missing": lambda: error_of(lambda: tvm.get_global_func("no.such.function")),
        "convert": lambda: tvm.runtime.ShapeTuple([1, 2]),
    }


NAMES = list(paths())


@pytest.mark.parametrize("name", NAMES)
def test_flat_memory(name):
    operation = paths()[name]
    slow = name in ("array_list", "empty_large", "handle") or name.startswith("error")
    count = ITERATIONS // (100 if SANITIZED else 10 if slow else 1)
    for _ in range(200):
        operation()
    gc.collect()
    objects = [_core.stat(which) for which in (0, 1, 2, 3)]
    start = resident_bytes()
    for _ in range(count):
        operation()
    gc.collect()
    assert [_core.stat(which) for which in (0, 1, 2, 3)] == objects
    # a leak of 16 bytes an iteration would show; the allocator's own noise does not
    if not SANITIZED:
        assert resident_bytes() - start < max(1 << 20, 10 * count)
