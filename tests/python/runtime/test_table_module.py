"""Modules of compiled functions: bodies behind argument tables."""

import ctypes
import struct
import threading
import weakref

import native_calls as c
import numpy as np
import pytest
import tvm
from tvm._ffi import _core


def text(value):
    raw = value.encode()
    return struct.pack("<H", len(raw)) + raw


def table(name, args, num_slots):
    head = struct.pack("<IHHII", 0x31544154, 1, len(args), num_slots, 0)
    return head + text(name) + b"".join(args)


def int_arg(name, slot, bits=32):
    return struct.pack("<BBBBHI", 0, 2, 0, bits, 1, slot) + text(name)


def float_arg(name, slot):
    return struct.pack("<BBBBHI", 1, 2, 2, 64, 1, slot) + text(name)


def vector_arg(name, slot, n_slot, first, flags=2):
    dim = struct.pack("<BI", 1 if first else 2, n_slot) + text("n")
    offset = struct.pack("<Bq", 0, 0)
    return (
        struct.pack("<BBBBHI", 3, flags, 2, 32, 1, slot)
        + text(name)
        + struct.pack("<iIQH", 1, 4, 0, 1)
        + dim
        + b"\0"
        + offset
    )


def empty_module():
    return _core.table_module("test", [], None, None)


class Holder:
    """Keeps ctypes callbacks as a compiler keeps its code."""

    def __init__(self, *bodies):
        self.bodies = [c.BODY(body) for body in bodies]

    def address(self, i):
        return ctypes.cast(self.bodies[i], ctypes.c_void_p).value


def scale_module():
    """scale(n: int32, a: float64, X: float32[m], Y: float32[m]) -> Y = a * X + n."""

    def scale(slots):
        n = ctypes.c_int64(slots[0]).value
        (a,) = struct.unpack("<d", struct.pack("<Q", slots[1]))
        m = slots[4]
        x = (ctypes.c_float * m).from_address(slots[2])
        y = (ctypes.c_float * m).from_address(slots[3])
        for i in range(m):
            y[i] = a * x[i] + n
        return 0

    def fail(slots):
        c.lib.TVMAPISetLastError(b"ValueError: the body failed")
        return -1

    holder = Holder(scale, fail)
    blob = table("scale", [int_arg("n", 0), float_arg("a", 1), vector_arg("X", 2, 4, True),
                           vector_arg("Y", 3, 4, False, flags=1)], 5)  # fmt: skip
    functions = [
        ("scale", holder.address(0), blob),
        ("fail", holder.address(1), table("fail", [], 0)),
    ]
    return _core.table_module("test", functions, "scale", holder), holder


def test_compiled_function():
    module, holder = scale_module()
    assert module.type_key == "test" and _core.module_holder(module) is holder
    x = np.arange(4, dtype="float32")
    want = 0.5 * x - 3
    f = module["scale"]
    assert f.name == "scale"
    for out in (np.zeros(4, "float32"), tvm.nd.empty((4,))):
        f(-3, 0.5, tvm.nd.array(x), out)
        np.testing.assert_array_equal(out if isinstance(out, np.ndarray) else out.numpy(), want)
    out = tvm.nd.empty((4,))
    module(-3, 0.5, x, out)  # the entry
    np.testing.assert_array_equal(out.numpy(), want)
    f(np.int8(-3), 1, x, out)  # an int for a float parameter
    np.testing.assert_array_equal(out.numpy(), x - 3)


def test_compiled_function_checks_its_arguments():
    module, _ = scale_module()
    f = module["scale"]
    a, b = tvm.nd.empty((4,)), tvm.nd.empty((5,))
    with pytest.raises(TypeError, match=r"scale: expects 4 arguments \(n, a, X, Y\), but got 1"):
        f(1)
    with pytest.raises(TypeError, match=r"scale: argument 0 \(n\)"):
        f(1.5, 1.0, a, a)
    with pytest.raises(TypeError, match=r"scale: argument 2 \(X\).*but got str"):
        f(1, 1.0, "no", a)
    with pytest.raises(ValueError, match=r"scale: argument 3 \(Y\): shape\[0\] expected 4"):
        f(1, 1.0, a, b)
    with pytest.raises(ValueError, match=r"scale: argument 0 \(n\)"):
        f(2**40, 1.0, a, tvm.nd.empty((4,)))
    frozen = np.zeros(4, "float32")
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match=r"argument 3 \(Y\).*read-only"):
        f(1, 1.0, a, frozen)
    f(1, 1.0, frozen, a)
    np.testing.assert_array_equal(a.numpy(), 1)
    with pytest.raises(tvm.TVMError, match="the body failed") as caught:
        module["fail"]()
    assert isinstance(caught.value, ValueError)


def test_module_functions():
    module, _ = scale_module()
    assert module.get_function("scale").name == module["scale"].name == "scale"
    for missing in (lambda: module["nope"], lambda: module.get_function("nope")):
        with pytest.raises(AttributeError, match="no function 'nope'; it has 'scale', 'fail'"):
            missing()
    with pytest.raises(AttributeError, match="no function '__tvm_main__'"):
        empty_module()()
    with pytest.raises(TypeError, match="expected the name of a function"):
        module[3]
    with pytest.raises(TypeError, match="keyword"):
        module(n=1)
    outer = empty_module()
    outer.import_module(module)
    assert list(outer.imported_modules) == [module] and list(module.imported_modules) == []
    with pytest.raises(ValueError, match="the body failed"):
        outer.get_function("fail", query_imports=True)()
    with pytest.raises(AttributeError):
        outer.get_function("fail")
    with pytest.raises(TypeError, match="expected a Module"):
        outer.import_module(3)
    assert module.handle_value != outer.handle_value and module != outer and hash(module) != 0


def test_bad_tables_are_refused():
    holder = Holder(lambda slots: 0)
    good = table("f", [int_arg("n", 0)], 1)
    for blob in (b"", b"nonsense", good[:-1], good + b"x", table("f", [int_arg("n", 9)], 1)):
        keep = Holder()
        died = weakref.ref(keep)
        with pytest.raises((ValueError, tvm.TVMError)):
            _core.table_module("test", [("f", holder.address(0), blob)], None, keep)
        del keep
        assert died() is None
    with pytest.raises(TypeError, match="expected .name, address, table."):
        _core.table_module("test", [3], None, None)
    with pytest.raises(TypeError, match="must be bytes"):
        _core.table_module("test", [("f", holder.address(0), "text")], None, None)
    with pytest.raises(ValueError, match="has no code"):
        _core.table_module("test", [("f", 0, good)], None, None)


def test_gil_is_released_in_compiled_code():
    started, go_on = threading.Event(), threading.Event()

    def body(slots):  # a ctypes callback takes the GIL itself, which only works if it is free
        started.set()
        return 0 if go_on.wait(10) else -1

    holder = Holder(body)
    module = _core.table_module("test", [("f", holder.address(0), table("f", [], 0))], "f", holder)
    thread = threading.Thread(target=module)
    thread.start()
    assert started.wait(10)
    go_on.set()
    thread.join(10)
    assert not thread.is_alive()
