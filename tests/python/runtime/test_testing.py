"""tvm.testing: comparisons, targets, marks, parameters; the pytest plugin in runs of its own."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import tvm
import tvm.testing
from tvm.testing import targets

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(tvm.__file__))}


@pytest.fixture(autouse=True)
def markers(pytestconfig):
    """The marks of the plugin, which this run may not have."""
    from tvm.testing import plugin

    plugin.pytest_configure(pytestconfig)


def run_pytest(tmp_path, text, *options, **env):
    """Outcomes and output of a test file that is run in a process of its own."""
    (tmp_path / "test_it.py").write_text(textwrap.dedent(text))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "tvm.testing.plugin", "-p", "no:cacheprovider"),
            *("-v", "-rA", "--strict-markers", "--rootdir", str(tmp_path), "test_it.py"),
            *options,
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**ENVIRONMENT, **env},
    )
    return done.stdout + done.stderr


def outcomes(output):
    """Test name -> outcome."""
    found = {}
    for line in output.splitlines():
        words = line.split()
        if len(words) >= 2 and words[0].startswith("test_it.py::"):
            found[words[0].removeprefix("test_it.py::")] = words[1]
    return found


# ---- comparisons ---------------------------------------------------------------------------------


def test_assert_allclose():
    a = tvm.nd.array(np.array([1.0, 2.0], "float32"))
    tvm.testing.assert_allclose(a, [1.0, 2.0])
    tvm.testing.assert_allclose(a.numpy(), a)
    tvm.testing.assert_allclose([1.0], [1.0 + 1e-3], rtol=1e-2)
    with pytest.raises(AssertionError):
        tvm.testing.assert_allclose([1.0], [1.001])
    with pytest.raises(AssertionError, match="shapes"):
        tvm.testing.assert_allclose([[1.0]], [1.0])
    with pytest.raises(AssertionError):
        tvm.testing.assert_allclose([np.nan], [1.0])


def test_check_numerical_grads():
    x = np.array([[0.5, -1.0], [2.0, 3.0]])
    y = np.array([1.5, 2.0])

    def f(x, y):
        return np.sum(x**2) + np.sum(y**3)

    tvm.testing.check_numerical_grads(f, [x, y], [2 * x, 3 * y**2])
    tvm.testing.check_numerical_grads(f, {"x": x, "y": y}, {"x": 2 * x, "y": 3 * y**2})
    with pytest.raises(AssertionError, match="input 1"):
        tvm.testing.check_numerical_grads(f, [x, y], [2 * x, 2 * y**2])


# ---- natives -------------------------------------------------------------------------------------


def test_natives():
    assert tvm.testing.echo(5) == 5
    assert tvm.testing.echo("x") == "x"
    a = tvm.nd.array([1.0])
    assert tvm.testing.echo(a).same_as(a)
    assert tvm.testing.nop(a, 1) is None
    assert tvm.testing.device_test(tvm.cuda(3), 2, 3) == tvm.cuda(3)
    assert tvm.testing.object_use_count(a) >= 1
    with pytest.raises(AttributeError, match="nonsense"):
        tvm.testing.nonsense


# ---- targets -------------------------------------------------------------------------------------


def test_enabled_targets(monkeypatch):
    monkeypatch.delenv("TVM_TEST_TARGETS", raising=False)
    assert ("llvm", tvm.cpu(0)) in tvm.testing.enabled_targets()
    assert tvm.testing.device_enabled("llvm")
    assert tvm.testing.device_enabled("llvm -mcpu=core2")
    monkeypatch.setenv("TVM_TEST_TARGETS", "c;stackvm; llvm -mcpu=core2 ;c")
    assert [t for t, _ in tvm.testing.enabled_targets()] == ["c", "stackvm", "llvm -mcpu=core2"]
    assert tvm.testing.device_enabled("llvm")
    monkeypatch.setenv("TVM_TEST_TARGETS", "c")
    assert not tvm.testing.device_enabled("llvm")
    monkeypatch.setenv("TVM_TEST_TARGETS", "nonsense")
    with pytest.raises(ValueError, match="nonsense") as caught:
        tvm.testing.enabled_targets()
    assert isinstance(caught.value, tvm.TVMError)


def test_device_enabled_refuses():
    with pytest.raises(TypeError):
        tvm.testing.device_enabled(tvm.cpu(0))
    with pytest.raises(ValueError):
        tvm.testing.device_enabled("")


def test_marks_follow_what_is_there():
    for name, feature in vars(targets).items():
        if not isinstance(feature, targets.Feature):
            continue
        marks = feature.marks()
        skip = next(mark for mark in marks if mark.name == "skipif")
        assert skip.args == (not feature.available(),), name
    assert targets.requires_llvm.available()
    assert not targets.requires_micro.available()


def test_feature_forms():
    def f():
        pass

    decorated = tvm.testing.requires_llvm(f)
    assert decorated is f
    assert {mark.name for mark in f.pytestmark} == {"llvm", "skipif"}

    @tvm.testing.requires_gpu()
    def g():
        pass

    assert {mark.name for mark in g.pytestmark} == {"gpu", "skipif"}

    @tvm.testing.requires_cuda(support_required="compile-only")
    def h():
        pass

    assert {mark.name for mark in h.pytestmark} == {"cuda", "gpu", "skipif"}


# ---- the plugin and the parameters ---------------------------------------------------------------


def test_target_and_dev(tmp_path):
    output = run_pytest(
        tmp_path,
        """
        import pytest, tvm, tvm.testing

        def test_both(target, dev):
            assert isinstance(target, str)
            assert dev == tvm.device(target.split()[0])

        def test_only_dev(dev):
            assert dev == tvm.cpu(0)

        @tvm.testing.exclude_targets("c")
        def test_without_c(target):
            assert target != "c"

        @tvm.testing.known_failing_targets("stackvm")
        def test_fails(target):
            assert target != "stackvm"

        @tvm.testing.parametrize_targets("llvm", "cuda", "stackvm -x")
        def test_listed(target, dev):
            assert target in ("llvm", "stackvm -x")

        @tvm.testing.parametrize_targets
        def test_all(target, dev):
            pass

        @pytest.mark.parametrize("target", ["mine"])
        def test_own(target):
            assert target == "mine"
        """,
        TVM_TEST_TARGETS="llvm;stackvm;c",
    )
    assert outcomes(output) == {
        "test_both[llvm]": "PASSED",
        "test_both[stackvm]": "PASSED",
        "test_both[c]": "PASSED",
        "test_only_dev[llvm]": "PASSED",
        "test_only_dev[stackvm]": "PASSED",
        "test_only_dev[c]": "PASSED",
        "test_without_c[llvm]": "PASSED",
        "test_without_c[stackvm]": "PASSED",
        "test_fails[llvm]": "PASSED",
        "test_fails[stackvm]": "XFAIL",
        "test_fails[c]": "PASSED",
        "test_listed[llvm]": "PASSED",
        "test_listed[cuda]": "SKIPPED",
        "test_listed[stackvm": "-x]",  # the name has a blank
        "test_all[llvm]": "PASSED",
        "test_all[stackvm]": "PASSED",
        "test_all[c]": "PASSED",
        "test_own[mine]": "PASSED",
    }, output


def test_parameters(tmp_path):
    output = run_pytest(
        tmp_path,
        """
        import tvm.testing

        size = tvm.testing.parameter(1, 2)
        named = tvm.testing.parameter(by_dict={"small": 1, "large": 9})
        x, y = tvm.testing.parameters((1, "a"), (2, "b"), ids=["first", "second"])

        def test_one(size):
            assert size in (1, 2)

        def test_two(size, named):
            assert named in (1, 9)

        def test_together(x, y):
            assert (x, y) in [(1, "a"), (2, "b")]

        def test_half(y):
            assert y in ("a", "b")

        class TestClass:
            inner = tvm.testing.parameter(3, 4)
            p, q = tvm.testing.parameters((5, 6), (7, 8))

            def test_inner(self, inner, size):
                assert inner in (3, 4)

            def test_pair(self, p, q):
                assert q == p + 1
        """,
    )
    assert set(outcomes(output).values()) == {"PASSED"}, output
    names = sorted(outcomes(output))
    assert [n for n in names if n.startswith("test_one")] == ["test_one[1]", "test_one[2]"]
    assert len([n for n in names if n.startswith("test_two")]) == 4
    assert "test_two[1-small]" in names
    assert [n for n in names if n.startswith("test_together")] == [
        "test_together[first]",
        "test_together[second]",
    ]
    assert len([n for n in names if n.startswith("test_half")]) == 2
    assert len([n for n in names if "test_inner" in n]) == 4
    assert len([n for n in names if "test_pair" in n]) == 2


def test_parameter_mistakes():
    with pytest.raises(ValueError, match="at least one"):
        tvm.testing.parameter()
    with pytest.raises(TypeError, match="by_dict"):
        tvm.testing.parameter(1, by_dict={"a": 1})
    with pytest.raises(ValueError, match="equally long"):
        tvm.testing.parameters((1, 2), (1,))


def test_fixture_cache(tmp_path):
    text = """
        import tvm.testing

        calls = []
        size = tvm.testing.parameter(1, 2)

        @tvm.testing.fixture
        def plain(size):
            calls.append("plain")
            return [size]

        @tvm.testing.fixture(cache_return_value=True)
        def kept(size):
            calls.append("kept")
            return [size]

        def test_a(plain, kept, size):
            assert kept == [size]
            kept.append(0)

        def test_b(plain, kept, size):
            assert kept == [size]  # not what test_a made of it

        def test_calls():
            assert calls.count("plain") == 4
            assert calls.count("kept") == EXPECTED
    """
    for expected, disable in ((2, "0"), (4, "1")):
        output = run_pytest(
            tmp_path, text.replace("EXPECTED", str(expected)), TVM_TEST_DISABLE_CACHE=disable
        )
        assert set(outcomes(output).values()) == {"PASSED"}, output


def test_features_in_a_run(tmp_path):
    output = run_pytest(
        tmp_path,
        """
        import tvm.testing

        @tvm.testing.requires_llvm
        def test_llvm():
            pass

        @tvm.testing.requires_micro
        def test_micro():
            raise RuntimeError

        @tvm.testing.requires_package("numpy")
        def test_numpy():
            pass

        @tvm.testing.requires_package("numpy", "no_such_package.part")
        def test_missing():
            raise RuntimeError

        @tvm.testing.uses_gpu
        def test_uses():
            pass

        @tvm.testing.skip_if_32bit
        @tvm.testing.skip_if_wheel_test
        def test_here():
            pass

        @tvm.testing.skip_if_wheel_test(reason="mine")
        def test_also_here():
            pass

        @tvm.testing.requires_llvm
        class TestClass:
            def test_method(self):
                pass
        """,
    )
    assert outcomes(output) == {
        "test_llvm": "PASSED",
        "test_micro": "SKIPPED",
        "test_numpy": "PASSED",
        "test_missing": "SKIPPED",
        "test_uses": "PASSED",
        "test_here": "PASSED",
        "test_also_here": "PASSED",
        "TestClass::test_method": "PASSED",
    }, output
    assert "pip install no_such_package.part" in output


def test_main(tmp_path):
    (tmp_path / "test_main_it.py").write_text(
        textwrap.dedent(
            """
            import tvm.testing

            def test_passes():
                pass

            def test_fails():
                assert False

            if __name__ == "__main__":
                tvm.testing.main()
            """
        )
    )
    base = [sys.executable, "test_main_it.py", "-p", "no:cacheprovider"]
    good = subprocess.run(
        [*base, "-k", "passes"], cwd=tmp_path, capture_output=True, text=True, env=ENVIRONMENT
    )
    assert good.returncode == 0, good.stdout + good.stderr
    assert "1 passed" in good.stdout
    bad = subprocess.run(base, cwd=tmp_path, capture_output=True, text=True, env=ENVIRONMENT)
    assert bad.returncode == 1
    assert "1 failed" in bad.stdout
