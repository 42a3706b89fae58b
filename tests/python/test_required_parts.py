"""What the environment variable TVM_TEST_REQUIRE names is there, so that no test skips for it."""

import importlib.util
import os
import shutil

import pytest

MODULES = [
    "torch", "jax", "mypy", "ml_dtypes", "mpmath", "array_api_strict", "tvm_ffi", "ziglang",
    "wasmtime",
]  # fmt: skip
PROGRAMS = {
    "cc": ["cc"],
    "openmp": ["g++"],
    "qemu-aarch64": ["qemu-aarch64", "aarch64-linux-gnu-gcc"],
    "qemu-riscv64": ["qemu-riscv64", "riscv64-linux-gnu-gcc"],
    "qemu-arm": ["qemu-arm", "arm-linux-gnueabihf-gcc"],
}
ELSEWHERE = ["pythons"]  # tools/wheel-smoke.sh fails by itself
REQUIRED = sorted(filter(None, os.environ.get("TVM_TEST_REQUIRE", "").split(",")))


@pytest.mark.parametrize("part", REQUIRED)
def test_part_is_there(part):
    if part in MODULES:
        assert importlib.util.find_spec(part) is not None, f"pip install {part}"
    elif part in PROGRAMS:
        for program in PROGRAMS[part]:
            assert shutil.which(program), f"{program} is missing"
    else:
        assert part in ELSEWHERE, f"TVM_TEST_REQUIRE names {part!r}, which nothing knows"


def test_parts_are_names():
    assert all(part == part.strip() for part in REQUIRED)
