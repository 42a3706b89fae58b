"""Results of slow functions, kept between calls and between runs."""

import subprocess
import sys

import numpy as np
import pytest
from tvm.contrib import pickle_memoize
from tvm.contrib.pickle_memoize import memoize

SCRIPT = """
import sys
from tvm.contrib.pickle_memoize import memoize

@memoize("test/kept", save_at_exit=True)
def slow(x, y):
    print("computed", x)
    return x + y

print(slow(int(sys.argv[1]), 2))
"""


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(pickle_memoize.Cache, "caches", {})


def run(number):
    command = [sys.executable, "-c", SCRIPT, str(number)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.split("\n")[:-1]


def test_computed_once_for_each_set_of_arguments():
    calls = []

    @memoize("test.calls")
    def add(x, y):
        calls.append((x, y))
        return np.full(x, y)

    assert [add(2, 3).tolist(), add(2, 3).tolist(), add(3, 3).tolist()] == [[3, 3]] * 2 + [[3] * 3]
    assert calls == [(2, 3), (3, 3)]


def test_numbers_in_the_closure_belong_to_the_arguments():
    def make(n):
        @memoize("test.closure")
        def times(x):
            return n * x

        return times

    assert [make(2)(5), make(3)(5), make(2)(5)] == [10, 15, 10]


def test_kept_for_the_next_run(tmp_path):
    assert run(1) == ["computed 1", "3"]
    assert run(1) == ["3"]
    assert run(4) == ["computed 4", "6"]
    assert [run(1), run(4)] == [["3"], ["6"]]
    files = list((tmp_path / "tvm-lite" / "memoize").iterdir())
    assert [f.name for f in files] == ["test%2fkept.pickle"]


def test_a_broken_file_is_computed_again(tmp_path):
    run(1)
    (file,) = (tmp_path / "tvm-lite" / "memoize").iterdir()
    file.write_bytes(file.read_bytes()[:-3])
    assert run(1) == ["computed 1", "3"]
    assert run(1) == ["3"]


def test_arguments_that_cannot_be_pickled():
    @memoize("test.lambda")
    def f(x):
        return x

    with pytest.raises(TypeError, match=r"memoize 'test.lambda': the arguments cannot be pickled"):
        f(lambda: 0)
