"""Scopes belong to threads, compiling is safe from several; dumps show every pass."""

import os
import subprocess
import sys
import threading

import numpy as np
import tvm
from tvm import te
from tvm.target import Target


def test_scopes_belong_to_threads():
    seen = []
    with Target("c"), tvm.transform.PassContext(opt_level=0), te.tag_scope("here"):

        def look():
            seen.append(Target.current())
            seen.append(tvm.transform.PassContext.current().opt_level)
            A = te.placeholder((2,), name="A")
            seen.append(te.compute((2,), lambda i: A[i], name="B").op.tag)

        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    assert seen == [None, 2, ""]


def test_build_from_several_threads():
    failures = []

    def work(number):
        try:
            for round_ in range(4):
                n = 8 + number + round_
                A = te.placeholder((n,), name="A")
                B = te.compute((n,), lambda i, A=A: A[i] * float(number + 1), name="B")
                f = tvm.build(te.create_schedule(B.op), [A, B], "llvm")
                x, y = tvm.nd.array(np.ones(n, "float32")), tvm.nd.empty((n,))
                f(x, y)
                assert (y.numpy() == number + 1).all()
        except BaseException as err:
            failures.append(err)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_dumps(tmp_path):
    code = (
        "import tvm\n"
        "from tvm import te\n"
        "A = te.placeholder((10,), name='A')\n"
        "B = te.compute((10,), lambda i: A[i] + 1.0, name='B')\n"
        "s = te.create_schedule(B.op)\n"
        "s[B].split(B.op.axis[0], 4)\n"
        "tvm.lower(s, [A, B])\n"
    )
    env = {**os.environ, "TVM_DUMP_IR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], env=env, check=True)
    files = {p.name.partition("_")[2]: p.read_text() for p in tmp_path.iterdir()}
    assert sorted(tmp_path.iterdir())[0].name == "00_schedule_ops.txt"
    assert "likely" in files["storage_flatten.txt"]
    assert files["simplify.txt"] == "(unchanged)\n"
    assert "likely" not in files["loop_partition.txt"]


def test_dump_says_what_temporaries_need(tmp_path):
    code = (
        "import tvm\n"
        "from tvm import te\n"
        "A = te.placeholder((100,), name='A')\n"
        "T = A\n"
        "for k in range(4):\n"
        "    T = te.compute((100,), lambda i, T=T: T[99 - i] + 1.0, name=f'T{k}')\n"
        "tvm.lower(te.create_schedule(T.op), [A, T])\n"
    )
    env = {**os.environ, "TVM_DUMP_IR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], env=env, check=True)
    (path,) = tmp_path.glob("*_storage_rewrite.txt")
    assert path.read_text().endswith("# main: temporaries need 800 bytes\n")
