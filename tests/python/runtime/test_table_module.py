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


# ---- modules that import modules ----------------------------------------------------------------


def test_a_module_reached_in_many_ways_is_looked_through_once():
    top = empty_module()
    for _ in range(60):
        upper = empty_module()
        upper.import_module(top)
        upper.import_module(top)
        top = upper
    with pytest.raises(AttributeError, match="no function"):
        top.get_function("missing", query_imports=True)


def test_long_chains_of_imports():
    bottom, _ = scale_module()
    top = bottom
    for _ in range(2000):
        upper = empty_module()
        upper.import_module(top)
        top = upper
    assert top.get_function("scale", query_imports=True).name == "scale"
    with pytest.raises(ValueError, match="cycle"):
        bottom.import_module(top)


def test_the_first_import_in_depth_first_order_wins():
    lower, _ = scale_module()
    middle, other = empty_module(), scale_module()[0]
    middle.import_module(lower)
    top = empty_module()
    top.import_module(middle)
    top.import_module(other)
    before = _core.get_global_func("testing.object_use_count")(lower)
    f = top.get_function("scale", query_imports=True)
    assert _core.get_global_func("testing.object_use_count")(lower) == before + 1 and f


# ---- tables that contradict themselves -----------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ([int_arg("n", 0), float_arg("a", 0)], "belongs to two arguments"),
        ([vector_arg("X", 0, 1, True), vector_arg("Y", 0, 1, False)], "belongs to two arguments"),
        ([vector_arg("X", 0, 0, True)], "is a variable's and a tensor's"),
        ([vector_arg("X", 0, 1, False)], "checked before it is bound"),
        ([vector_arg("X", 0, 2, True), vector_arg("Y", 1, 2, True)], "bound twice"),
        ([int_arg("n", 1), vector_arg("X", 0, 1, True)], "bound twice"),
    ],
)
def test_slots_are_bound_once_and_before_they_are_used(args, problem):
    with pytest.raises(ValueError, match=f"broken argument table.*{problem}"):
        _core.table_module("test", [("f", 1, table("f", args, 3))])


def test_damaged_tables_are_refused_or_explained():
    """No call of a table that was taken is refused without a reason."""
    rng = np.random.default_rng(0)
    good = table("scale", [int_arg("n", 0), vector_arg("X", 2, 4, True),
                           vector_arg("Y", 3, 4, False, flags=1)], 5)  # fmt: skip
    check = _core.get_global_func("runtime.CheckArguments")
    x, y = np.zeros(4, "float32"), np.zeros(4, "float32")
    calls = [(3, x, y), (3, x), (3, x, x[:2]), (1 << 40, x, y), ("a", None, y), (3, x[::-1], y)]
    check(good, *calls[0])
    for _ in range(5000):
        broken = bytearray(good)
        for _ in range(rng.integers(1, 4)):
            broken[rng.integers(len(broken))] = rng.choice([0, 1, 2, 3, 4, 255, rng.integers(256)])
        try:
            check(broken, *calls[rng.integers(len(calls))])
        except tvm.TVMError as error:
            assert not isinstance(error, tvm.error.InternalError), (bytes(broken), error)
