"""Modules and functions as Python sees them: loading, measuring, refusals."""

import pickle
import shutil
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
import tvm
from tvm.contrib import cc, utils
from tvm.runtime import profiling, toolchain
from tvm.runtime.module import BenchmarkResult

# Two functions with the calling convention of compiled kernels.
SOURCE = """
#include <stdint.h>
typedef union { int64_t i; double f; void* p; } Value;
int add_one(Value* args, int* tags, int n, Value* ret, int* ret_tag, void* resource) {
  ret->i = args[0].i + 1;
  *ret_tag = 0;
  return 0;
}
int64_t count = 0;
int counted(Value* args, int* tags, int n, Value* ret, int* ret_tag, void* resource) {
  ret->i = ++count;
  *ret_tag = 0;
  return 0;
}
const char __tvm_main__[] = "add_one";
__attribute__((weak)) void (*__TVMAPISetLastError)(const char*) = 0;
int fails(Value* args, int* tags, int n, Value* ret, int* ret_tag, void* resource) {
  __TVMAPISetLastError((const char*)args[0].p);
  return -1;
}
"""

needs_compiler = pytest.mark.skipif(toolchain.find_compiler() is None, reason="needs a C compiler")


@pytest.fixture(scope="module")
def folder():
    with utils.tempdir() as folder:
        with open(folder.relpath("f.c"), "w") as file:
            file.write(SOURCE)
        toolchain.run(
            [toolchain.require_compiler(), "-c", "-fPIC", "-o", "f.o", "f.c"], folder.path
        )
        cc.create_shared(folder.relpath("f.so"), folder.relpath("f.o"))
        shutil.make_archive(folder.relpath("f"), "tar", folder.path, "f.o")
        yield folder


@needs_compiler
@pytest.mark.parametrize("name", ["f.so", "f.o", "f.tar"])
def test_load_module(folder, name):
    lib = tvm.runtime.load_module(folder.relpath(name))
    assert type(lib) is tvm.runtime.Module
    assert lib["add_one"](41) == 42
    assert lib(1) == 2
    assert lib.entry_func(1) == 2
    assert lib.get_function("add_one")(1) == 2
    assert lib.implements_function("add_one")
    assert not lib.implements_function("nope")
    assert lib.imported_modules == []
    assert lib.is_runnable
    with pytest.raises(AttributeError, match="nope"):
        lib["nope"]
    with pytest.raises(tvm.TVMError, match="no source"):
        lib.get_source()
    with pytest.raises(tvm.TVMError, match="cannot be saved"):
        lib.save("x.o")
    with pytest.raises(tvm.TVMError, match="not there yet"):
        lib.export_library("x.so")


@needs_compiler
def test_errors_of_c_functions_get_their_classes(folder):
    fails = tvm.runtime.load_module(folder.relpath("f.so"))["fails"]
    for text, kind in (
        ("ValueError: a is too large", ValueError),
        ("KeyError: no b", KeyError),
        ("ScheduleError: no", tvm.error.ScheduleError),
        ("anything: else", tvm.TVMError),
    ):
        with pytest.raises(kind, match=text.partition(": ")[2]) as caught:
            fails(text)
        assert isinstance(caught.value, tvm.TVMError)

    class SurplusError(tvm.TVMError):
        pass

    with pytest.raises(tvm.TVMError) as caught:
        fails("SurplusError: too much")
    assert type(caught.value) is tvm.TVMError
    before = dict(tvm.error._classes)
    try:
        tvm.error.register_error(SurplusError)
        with pytest.raises(SurplusError, match="too much"):
            fails("SurplusError: too much")
    finally:
        tvm.error._classes.clear()
        tvm.error._classes.update(before)


@needs_compiler
def test_load_module_takes_path_objects(folder):
    import pathlib

    assert tvm.runtime.load_module(pathlib.Path(folder.path) / "f.so")["add_one"](1) == 2


def test_load_module_of_what_is_not_there(tmp_path):
    for kind in (OSError, RuntimeError, tvm.TVMError):
        with pytest.raises(kind, match="no file"):
            tvm.runtime.load_module(str(tmp_path / "no.so"))
    (tmp_path / "bad.so").write_bytes(b"no library")
    with pytest.raises(tvm.TVMError, match=r"bad\.so"):
        tvm.runtime.load_module(tmp_path / "bad.so")
    (tmp_path / "x.unknown").write_bytes(b"")
    with pytest.raises(tvm.TVMError, match="unknown"):
        tvm.runtime.load_module(tmp_path / "x.unknown")
    with pytest.raises(tvm.TVMError, match="load_module"):
        tvm.runtime.load_static_library(tmp_path / "bad.so", ["f"])


@needs_compiler
def test_archive_cannot_write_outside_of_itself(folder, tmp_path):
    import tarfile

    with tarfile.open(tmp_path / "evil.tar", "w") as tar:
        tar.add(folder.relpath("f.o"), "../../evil.o")
    with pytest.raises(tvm.TVMError, match="outside"):
        tvm.runtime.load_module(tmp_path / "evil.tar")


@needs_compiler
def test_pickle_says_what_to_do(folder):
    lib = tvm.runtime.load_module(folder.relpath("f.so"))
    with pytest.raises(TypeError, match="export_library"):
        pickle.dumps(lib)
    for f in (lib["add_one"], tvm.runtime.convert(lambda: 1)):
        with pytest.raises(TypeError, match="register the function"):
            pickle.dumps(f)


@needs_compiler
def test_time_evaluator(folder):
    lib = tvm.runtime.load_module(folder.relpath("f.so"))
    before = lib["counted"]()
    result = lib.time_evaluator("counted", tvm.cpu(0), number=7, repeat=3)()
    # one run before, then number runs a repeat, then ours
    assert lib["counted"]() == before + 1 + 7 * 3 + 1
    assert isinstance(result, BenchmarkResult)
    assert len(result.results) == 3
    assert 0 < result.min <= result.median <= result.max < 1e-3
    assert lib.time_evaluator("add_one", "cpu")(1).mean > 0
    with pytest.raises(AttributeError, match="nope"):
        lib.time_evaluator("nope", tvm.cpu(0))


def test_time_evaluator_measures_time():
    def slow(seconds):
        time.sleep(seconds)

    result = profiling.time_evaluator(slow, tvm.cpu(0), number=2, repeat=2)(0.01)
    assert 0.01 <= result.min < 0.2


def test_min_repeat_ms():
    calls = []
    start = time.perf_counter()
    profiling.time_evaluator(lambda: calls.append(0), tvm.cpu(0), number=1, min_repeat_ms=20)()
    assert time.perf_counter() - start >= 0.02
    assert len(calls) > 100


def test_cooldown_preproc_and_cache_flush():
    seen = []

    @tvm.register_func("test.module.preproc", override=True)
    def preproc(x):
        seen.append(x)

    start = time.perf_counter()
    measure = profiling.time_evaluator(
        lambda x: None,
        tvm.cpu(0),
        number=1,
        repeat=4,
        cooldown_interval_ms=20,
        repeats_to_cooldown=2,
        cache_flush_bytes=4096,
        f_preproc="test.module.preproc",
    )
    measure(5)
    assert time.perf_counter() - start >= 0.02
    assert seen == [5] * 4
    with pytest.raises(ValueError, match=r"no\.such"):
        profiling.time_evaluator(print, tvm.cpu(0), f_preproc="no.such")


@pytest.mark.parametrize(
    "options",
    [
        {"number": 0},
        {"repeat": 0},
        {"number": -1},
        {"min_repeat_ms": -1},
        {"min_repeat_ms": float("nan")},
        {"cooldown_interval_ms": -1},
        {"repeats_to_cooldown": 0},
        {"cache_flush_bytes": -1},
        {"limit_zero_time_iterations": -1},
    ],
)
def test_time_evaluator_refuses(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        profiling.time_evaluator(lambda: None, tvm.cpu(0), **options)


def test_time_evaluator_refuses_types():
    for bad in (1.5, "3", None, True):
        with pytest.raises(TypeError, match="number"):
            profiling.time_evaluator(lambda: None, tvm.cpu(0), number=bad)


def test_errors_of_the_measured_function_pass_through():
    def fails():
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        profiling.time_evaluator(fails, tvm.cpu(0))()


def test_benchmark_result():
    r = BenchmarkResult([3.0, 1.0, 2.0, 6.0])
    assert (r.mean, r.median, r.min, r.max) == (3.0, 2.5, 1.0, 6.0)
    assert r.std == pytest.approx(np.std([3, 1, 2, 6]))
    assert r.results == (3.0, 1.0, 2.0, 6.0)
    assert "mean=3.0" in repr(r)
    assert "3000.0000" in str(r)
    with pytest.raises(ValueError, match="at least one"):
        BenchmarkResult([])


def test_enabled():
    for name in ("cpu", "llvm", "stackvm", "c", "llvm -mcpu=core2"):
        assert tvm.runtime.enabled(name) is True
    for name in ("", "nonsense", "gpuu"):
        assert tvm.runtime.enabled(name) is False
    assert tvm.runtime.enabled(tvm.target.Target("llvm")) is True
    for bad in (None, 3, b"llvm"):
        with pytest.raises(TypeError, match="enabled") as caught:
            tvm.runtime.enabled(bad)
        assert isinstance(caught.value, tvm.TVMError)


def test_num_threads_honours_the_environment():
    code = "import tvm; print(tvm.runtime.num_threads())"
    for env, expected in (
        ({"TVM_NUM_THREADS": "3", "OMP_NUM_THREADS": "5"}, "3"),
        ({"OMP_NUM_THREADS": "5"}, "5"),
    ):
        import os

        clean = {k: v for k, v in os.environ.items() if not k.endswith("NUM_THREADS")}
        out = subprocess.run(
            [sys.executable, "-c", code], env={**clean, **env}, capture_output=True, text=True
        )
        assert out.stdout.strip() == expected, out.stderr


def test_module_over_functions_in_memory():
    """The holder's methods are those of the module."""

    class Holder:
        type_key = "mine"

        def get_source(self, fmt):
            return f"text in {fmt or 'default'}"

        def save(self, path, fmt):
            with open(path, "w") as file:
                file.write(fmt)

    holder = Holder()
    m = tvm.runtime.module.table_module([], holder)
    assert m.type_key == "mine"
    assert m.get_source() == "text in default"
    assert m.get_source("asm") == "text in asm"
    with utils.tempdir() as folder:
        m.save(folder.relpath("x.ll"))
        with open(folder.relpath("x.ll")) as file:
            assert file.read() == "ll"
    assert m.is_dso_exportable
    with pytest.raises(tvm.TVMError, match=r"save\(path\)"):
        m.export_library("x.so")
    with pytest.raises(AttributeError, match="nope"):
        m["nope"]


def test_system_lib():
    if tvm.get_global_func("runtime.SystemLib", allow_missing=True) is None:
        pytest.skip("the native runtime has no system library module yet")
    assert type(tvm.runtime.system_lib()) is tvm.runtime.Module


def test_missing_compiler_says_what_to_install():
    code = """
        import os
        os.environ["PATH"] = "/nonexistent"
        os.environ.pop("CC", None); os.environ.pop("CXX", None)
        from tvm.contrib import cc
        assert cc.get_cc() is None
        try:
            cc.create_shared("x.so", "x.o")
        except RuntimeError as problem:
            assert "Install gcc" in str(problem), problem
        else:
            raise SystemExit("no error")
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


@needs_compiler
def test_compiler_errors_are_shown(tmp_path):
    (tmp_path / "bad.c").write_text("int f( {")
    with pytest.raises(tvm.TVMError, match=r"(?s)exit status.*bad\.c") as caught:
        cc.create_shared(str(tmp_path / "bad.so"), str(tmp_path / "bad.c"))
    assert "error" in str(caught.value)


@needs_compiler
def test_cross_compiler_and_executable(folder, tmp_path):
    compile_with = cc.cross_compiler(toolchain.require_compiler(), options=["-O1"])
    assert compile_with.output_format == "so"
    assert compile_with.get_target_triple()
    compile_with(str(tmp_path / "f.so"), folder.relpath("f.o"))
    assert tvm.runtime.load_module(tmp_path / "f.so")["add_one"](1) == 2
    (tmp_path / "main.c").write_text("int main(void) { return 7; }")
    cc.create_executable(str(tmp_path / "main"), [str(tmp_path / "main.c")])
    assert subprocess.run([str(tmp_path / "main")]).returncode == 7
