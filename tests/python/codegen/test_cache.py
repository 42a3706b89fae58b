"""The cache of objects on disk: hits, keys, damage, its bound, who may write there."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest
import tvm
from tvm import te
from tvm.codegen.llvm import disk_cache
from tvm.codegen.llvm.compile import Compiled


@pytest.fixture
def cache(tmp_path, monkeypatch):
    path = tmp_path / "cache"
    monkeypatch.setenv("TVM_CACHE_DIR", str(path))
    return path


@pytest.fixture
def emitted(monkeypatch):
    """How often machine code was made."""
    count = []
    emit = Compiled._emit

    def counting(self):
        count.append(self)
        return emit(self)

    monkeypatch.setattr(Compiled, "_emit", counting)
    return count


def build(add=1.0, target="llvm"):
    a = te.placeholder((40,), name="A")
    b = te.compute((40,), lambda i: a[i] + add, name="B")
    return tvm.build(te.create_schedule(b.op), [a, b], target)


def run(function):
    a, b = tvm.nd.array(np.arange(40, dtype="float32")), tvm.nd.empty((40,))
    function(a, b)
    return b.numpy()


def files(path):
    return sorted(path.glob("*" + disk_cache.SUFFIX))


def test_the_second_build_makes_no_code(cache, emitted):
    first = run(build())
    assert len(emitted) == 1
    assert len(files(cache)) == 1
    np.testing.assert_array_equal(run(build()), first)
    assert len(emitted) == 1


def test_without_the_variable_nothing_is_kept(tmp_path, monkeypatch, emitted):
    monkeypatch.delenv("TVM_CACHE_DIR", raising=False)
    run(build())
    run(build())
    assert len(emitted) == 2


def test_other_programs_and_other_processors_have_other_keys(cache, emitted):
    run(build())
    run(build(add=2.0))
    run(build(target="llvm -mcpu=x86-64"))
    build(target="llvm -mtriple=aarch64-linux-gnu")
    assert len(emitted) == 4
    assert len(files(cache)) == 4


def test_versions_are_part_of_the_key(cache, emitted, monkeypatch):
    run(build())
    monkeypatch.setattr("tvm.codegen.llvm.compile.__version__", "99.0")
    run(build())
    assert len(emitted) == 2


def test_parts_of_a_key_do_not_run_together():
    assert disk_cache.key_of("a", "bc") != disk_cache.key_of("ab", "c")
    assert disk_cache.key_of(b"a") == disk_cache.key_of("a")


@pytest.mark.parametrize("damage", [lambda d: d[:-1], lambda d: b"", lambda d: d[:99] + b"?"])
def test_a_damaged_file_is_made_anew(cache, emitted, damage):
    expected = run(build())
    (name,) = files(cache)
    name.write_bytes(damage(name.read_bytes()))
    np.testing.assert_array_equal(run(build()), expected)
    assert len(emitted) == 2
    run(build())
    assert len(emitted) == 2


def test_the_folder_stays_within_its_bound(cache, monkeypatch):
    cache.mkdir(mode=0o700)
    for number in range(6):
        disk_cache.store(str(cache), f"key{number}", bytes(1000))
        os.utime(cache / f"key{number}{disk_cache.SUFFIX}", (number, number))
    disk_cache.load(str(cache), "key0")
    each = files(cache)[0].stat().st_size
    disk_cache.shrink(str(cache), 3 * each)
    # the newest two, and the one just used
    names = [name.name.removesuffix(disk_cache.SUFFIX) for name in files(cache)]
    assert names == ["key0", "key4", "key5"]


def test_a_bound_that_is_no_number(monkeypatch):
    monkeypatch.setenv("TVM_CACHE_BYTES", "1GB")
    with pytest.raises(ValueError, match="TVM_CACHE_BYTES: expected a number of bytes"):
        disk_cache.most_bytes()


def test_a_folder_that_others_may_write_to_is_refused(cache):
    cache.mkdir()
    cache.chmod(0o777)
    with pytest.raises(tvm.TVMError, match="others may write to"):
        build()


def test_a_file_in_place_of_the_folder_is_refused(cache):
    cache.write_text("")
    with pytest.raises(ValueError, match="TVM_CACHE_DIR: expected a folder"):
        build()


def test_another_process_hits(cache):
    text = (
        "import tvm\nfrom tvm import te\nfrom tvm.codegen.llvm.compile import Compiled\n"
        "Compiled._emit = None\n"
        "a = te.placeholder((40,), name='A')\n"
        "b = te.compute((40,), lambda i: a[i] + 1.0, name='B')\n"
        "tvm.build(te.create_schedule(b.op), [a, b], 'llvm')\n"
    )
    build()
    subprocess.run([sys.executable, "-c", text], check=True)


def test_a_hit_is_quick(cache):
    """Hash, read, checksum: the least of 20, of a bound of 0.5 ms with room for slow machines."""
    cache.mkdir(mode=0o700)
    text, data = "x" * 20_000, bytes(2_000)
    disk_cache.store(str(cache), disk_cache.key_of(text), data)

    def hit():
        begin = time.thread_time()
        assert disk_cache.load(disk_cache.folder(), disk_cache.key_of(text)) == data
        return time.thread_time() - begin

    assert min(hit() for _ in range(20)) < 5e-4


def test_object_as_source():
    data = build().get_source("obj")
    assert isinstance(data, bytes)
    assert data[:4] in (b"\x7fELF", b"\xcf\xfa\xed\xfe")
