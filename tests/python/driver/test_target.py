"""Target: parsing, queries, scopes, errors."""

import pickle

import pytest
import tvm
from tvm.target import Target


def test_parse():
    t = Target("llvm -mcpu=znver4 -num-cores=2 -mattr=+avx2,-sse4a")
    assert (t.kind.name, t.mcpu, t.num_cores) == ("llvm", "znver4", 2)
    assert t.mattr == ("+avx2", "-sse4a") and t.keys == ("cpu",)
    assert "avx2" in t.features and "sse4a" not in t.features
    assert Target(str(t)) == t and hash(Target(str(t))) == hash(t)
    assert Target(t.export()) == t and pickle.loads(pickle.dumps(t)) == t
    assert Target('{"kind": "llvm", "mcpu": "znver4"}').mcpu == "znver4"
    assert Target({"kind": "c", "host": "llvm"}).host.kind.name == "llvm"
    assert Target("llvm -bounds").attrs["bounds"] is True
    assert Target("llvm -device=arm_cpu").keys == ("arm_cpu", "cpu")
    assert Target("cuda -arch=sm_90").arch == "sm_90"
    assert Target("nvidia/nvidia-a100").arch == "sm_80"


def test_device_type():
    assert Target("llvm").get_target_device_type() == tvm.cpu().device_type
    assert Target("cuda").get_target_device_type() == tvm.cuda().device_type
    assert Target("stackvm").get_target_device_type() == tvm.cpu().device_type


@pytest.mark.parametrize(
    "text, words",
    [
        ("nothing", "llvm"),
        ("llvm -nothing=1", "no option 'nothing'"),
        ("llvm -num-cores=many", "expected an integer"),
        ("llvm mcpu", "starts with '-'"),
        ("", "empty"),
        ("{", "not JSON"),
        ({"mcpu": "x"}, "kind"),
    ],
)
def test_refuses(text, words):
    with pytest.raises(ValueError, match=words) as info:
        Target(text)
    assert isinstance(info.value, tvm.TVMError)


def test_scopes():
    assert Target.current() is None
    with pytest.raises(ValueError):
        Target.current(allow_none=False)
    with Target("llvm") as outer:
        assert Target.current() is outer
        with Target("c"):
            assert Target.current().kind.name == "c"
        assert Target.current() is outer
    assert "llvm" in Target.list_kinds()
    with pytest.raises(TypeError):
        Target(3)


def test_canon():
    target, host = Target.canon_target_and_host("cuda", "llvm")
    assert (target.kind.name, host.kind.name) == ("cuda", "llvm")
    assert Target.canon_target(None) is None
