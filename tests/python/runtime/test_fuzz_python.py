"""Random arguments to everything that can be called: exceptions only, and nothing left behind."""

import gc
import warnings

import numpy as np
import pytest
import tvm
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tvm._ffi import _core
from tvm.runtime import Array, Map, ShapeTuple, String

# sizes stay small, so that no call asks for much memory
small_ints = st.one_of(st.integers(-3, 9), st.sampled_from([1 << 62, 1 << 63, -(1 << 63), 1 << 70]))
names = st.sampled_from(
    [
        *(
            "",
            "float32",
            "int4",
            "float32x4",
            "bool",
            "handle",
            "void",
            "bfloat16",
            "cpu",
            "cuda:1",
        ),
        *("global", "nonsense", "cpu:x", "\0", "\ud800", "é", "runtime.NumThreads", "llvm"),
    ]
)
shapes = st.lists(st.integers(-1, 4), max_size=4)


@st.composite
def arrays(draw):
    """Arrays of all kinds: ours, views, NumPy's in odd layouts, of odd dtypes."""
    x = np.arange(24).astype(draw(st.sampled_from(["float32", "int8", ">i4", "bool", "uint16"])))
    x = x.reshape(draw(st.sampled_from([(24,), (4, 6), (2, 3, 4)])))
    x = draw(st.sampled_from([x, x[::2], x.T, x[::-1], x[:0], x[0]]))
    kind = draw(st.integers(0, 5))
    if kind == 0:
        return x
    if kind == 1:
        return tvm.nd.array(x)
    if kind == 2:
        return tvm.nd.array(x)._create_view((2,), "int8", 1) if x.nbytes > 3 else tvm.nd.array(x)
    if kind == 3:
        x = np.ascontiguousarray(x, x.dtype.newbyteorder("="))
        return tvm.nd.from_dlpack(x)
    if kind == 4:
        return tvm.nd.empty((2, 3), draw(st.sampled_from(["int4", "float32x4", "e5m2_float8"])))
    return np.array(draw(st.sampled_from([["a"], [None], [1 + 2j]])))


scalars = st.one_of(
    st.none(),
    st.booleans(),
    small_ints,
    st.floats(),
    names,
    st.binary(max_size=4),
    st.sampled_from([np.float32(1), np.int64(2), np.dtype("int8"), np.float16, object(), int, ...]),
    st.sampled_from([tvm.cpu(0), tvm.cuda(0), tvm.device(130), tvm.DataType("int8"), slice(None)]),
    st.sampled_from([String("s"), ShapeTuple([2, 3]), Array([1]), Map({"a": 1})]),
    st.builds(lambda: lambda *args: args),
)
values = st.one_of(
    scalars,
    shapes,
    arrays(),
    st.recursive(
        scalars,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.tuples(inner, inner),
            st.dictionaries(st.one_of(names, small_ints), inner, max_size=2),
        ),
        max_leaves=6,
    ),
)
positional = st.lists(values, max_size=5)
keywords = st.dictionaries(
    st.sampled_from(["device", "dtype", "mem_scope", "shape", "stream", "copy", "x", "ctx"]),
    values,
    max_size=2,
)
calls = st.tuples(positional, keywords)
fuzz = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def call(function, args, options):
    """Call, and let exceptions pass, but not errors that say that the package is wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(*args, **options)
        except tvm.error.InternalError:
            raise
        except Exception as problem:
            assert not isinstance(problem, (SystemError, RecursionError)), problem
            str(problem)


# end the process, read memory at a given address, or change what other tests use
LEFT_OUT = {"table_module", "set_hooks", "remove_global_func", "load_module", "register_func"}
# streams are addresses
LEFT_OUT |= {"stream_free", "stream_set", "stream_wait", "synchronize"}
FUNCTIONS = sorted(
    name
    for name, value in vars(_core).items()
    if callable(value) and not isinstance(value, type) and name not in LEFT_OUT
)


@pytest.mark.parametrize("name", FUNCTIONS)
@fuzz
@given(calls)
def test_functions_of_the_extension(name, arguments):
    call(getattr(_core, name), *arguments)


GLOBALS = sorted(
    name
    for name in tvm._ffi.list_global_func_names()
    if name.startswith(("runtime.", "testing.")) and "RegisterErrorKind" not in name
)


@pytest.mark.parametrize("name", GLOBALS)
@fuzz
@given(positional)
def test_global_functions(name, arguments):
    call(tvm.get_global_func(name), arguments, {})


METHODS = sorted(
    name
    for name in dir(_core.NDArray)
    if callable(getattr(_core.NDArray, name))
    and name not in ("__class__", "__init_subclass__", "__subclasshook__", "__new__", "__del__")
    and not name.startswith(("__setattr", "__delattr"))
)


@pytest.mark.parametrize("name", METHODS)
@fuzz
@given(arrays(), calls)
def test_methods_of_arrays(name, array, arguments):
    if not isinstance(array, tvm.nd.NDArray):
        array = tvm.nd.empty((2, 3))
    call(getattr(array, name), *arguments)


@fuzz
@given(st.sampled_from([_core.NDArray, _core.Device, _core.PackedFunc, _core.Module]), calls)
def test_classes(cls, arguments):
    call(cls, *arguments)


@fuzz
@given(st.sampled_from(METHODS), values, calls)
def test_methods_on_other_objects(name, other, arguments):
    args, options = arguments
    call(getattr(_core.NDArray, name), [other, *args], options)


PYTHON = {
    "device": tvm.device,
    "cuda": tvm.cuda,
    "DataType": tvm.DataType,
    "convert": tvm.runtime.convert,
    "enabled": tvm.runtime.enabled,
    "load_param_dict": tvm.runtime.load_param_dict,
    "ShapeTuple": ShapeTuple,
    "Array": Array,
    "Map": Map,
    "get_global_func": tvm.get_global_func,
}


@pytest.mark.parametrize("name", sorted(PYTHON))
@fuzz
@given(positional)
def test_python_functions(name, arguments):
    call(PYTHON[name], arguments, {})


@fuzz
@given(values)
def test_values_cross_and_come_back(value):
    """What a callback gets and returns is what the caller gets, however often it crosses."""
    identity = tvm.runtime.convert(lambda x: x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            once = identity(value)
        except (OverflowError, TypeError, ValueError):
            return
        again = identity(once)
    assert type(again) is type(once)
    if isinstance(once, tvm.nd.NDArray):
        assert again.same_as(once)


def test_nothing_is_left_behind():
    gc.collect()
    before = _core.stat(1), _core.stat(2)
    identity = tvm.runtime.convert(lambda *x: x)
    for _ in range(300):
        call(identity, [[np.zeros(3), {"a": tvm.nd.empty((2,))}], "x", 1 << 70], {})
        call(tvm.nd.array, [[[1], [2, 3]]], {})
        call(tvm.nd.empty, [(2, 3), "float33"], {})
        call(tvm.nd.empty((2,)).copyfrom, [np.zeros(3)], {})
        call(tvm.nd.empty((2,))._create_view, [(99,)], {})
    gc.collect()
    assert (_core.stat(1), _core.stat(2)) == before
