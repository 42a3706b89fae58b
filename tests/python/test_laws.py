"""The laws of the layout: imports go down only, devices stay at home, ``import tvm`` is light."""

import ast
import pathlib
import re
import subprocess
import sys

import tvm

PACKAGE = pathlib.Path(tvm.__file__).parent
# From the bottom up. A module may import its own layer and those before it.
LAYERS = [
    "_ffi", "runtime", "ir", "target", "tir", "arith", "tir.transform", "te", "codegen", "driver",
    "topi", "contrib", "rpc", "testing",
]  # fmt: skip
# Belong to no layer: the composition root, the errors that every layer raises, and small helpers.
FREE = {"", "_legacy", "error", "support", "config", "version", "libinfo"}


def layer_of(module: str) -> str | None:
    """The layer that a module name below ``tvm`` belongs to; None for the free ones."""
    if module == "transform":  # classic alias of ir.transform
        return "ir"
    if module == "nd":
        return "runtime"
    for name in sorted(LAYERS, key=len, reverse=True):
        if module == name or module.startswith(name + "."):
            return name
    return None


def imports_of(path: pathlib.Path, module: str, is_package: bool):
    """Absolute names below ``tvm`` that a file imports, those inside functions included."""
    package = module.split(".") if is_package else module.split(".")[:-1]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            typing_only.update(ast.walk(node))
    for node in ast.walk(tree):
        if node in typing_only:
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "tvm" or alias.name.startswith("tvm."):
                    yield node.lineno, alias.name[4:]
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                base = package[: len(package) - node.level + 1]
                name = ".".join([*base, *([node.module] if node.module else [])])
            elif node.module and (node.module == "tvm" or node.module.startswith("tvm.")):
                name = node.module[4:]
            else:
                continue
            for alias in node.names:
                full = f"{name}.{alias.name}" if name else alias.name
                exists = (PACKAGE / full.replace(".", "/")).is_dir() or (
                    PACKAGE / (full.replace(".", "/") + ".py")
                ).exists()
                yield node.lineno, full if exists else name


def test_imports_go_down_only():
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
        is_package = parts[-1] == "__init__"
        module = ".".join(parts[:-1] if is_package else parts)
        layer = layer_of(module)
        if layer is None:
            if module.split(".")[0] not in FREE and not module.startswith("exec"):
                wrong.append(f"{module}: belongs to no layer")
            continue
        for line, name in imports_of(path, module, is_package):
            used = layer_of(name)
            if used is None:
                if name == "":
                    wrong.append(f"{path}:{line}: imports the root package")
            elif LAYERS.index(used) > LAYERS.index(layer):
                wrong.append(f"{path}:{line}: {layer} imports {name}")
    assert not wrong, "\n".join(wrong)


def test_cpp_knows_nothing_of_ir():
    root = pathlib.Path(__file__).parents[2]
    for path in [*root.glob("src/**/*.cc"), *root.glob("src/**/*.h")]:
        for include in re.findall(r'#include [<"]([^>"]+)', path.read_text(encoding="utf-8")):
            assert not re.search(r"\b(tir|ir|te|arith)/", include), f"{path}: {include}"


def test_runtime_library_has_no_python():
    root = pathlib.Path(__file__).parents[2]
    for path in [*root.glob("src/runtime/**/*"), *root.glob("include/**/*")]:
        if path.suffix in (".cc", ".h"):
            assert "Python.h" not in path.read_text(encoding="utf-8"), path


DEVICE_NAMES = ["cuda", "rocm", "opencl", "metal", "vulkan", "vpi", "hexagon", "webgpu"]


def test_device_names_stay_at_home():
    """In C++ a device is named in its own folder, in the table of devices, and in ABI headers."""
    root = pathlib.Path(__file__).parents[2]
    allowed = {"device_table.cc", "device_table.h", "dlpack.h", "c_runtime_api.h", "abi_checks.cc"}
    for path in [*root.glob("src/**/*.cc"), *root.glob("src/**/*.h")]:
        if path.name in allowed or path.parent.name in DEVICE_NAMES:
            continue
        code = re.sub(r"//[^\n]*|/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
        for name in DEVICE_NAMES:
            found = re.search(rf"\b(kDL)?{name}\b", code, flags=re.I)
            assert not found, f"{path} names the device {name}"


def test_import_is_light():
    heavy = ["numpy", "ctypes", "typing", "inspect", "dataclasses"]
    heavy += ["llvmlite", "torch", "ml_dtypes", "rich"]
    code = f"import sys, tvm; print([m for m in {heavy} if m in sys.modules])"
    # -S: what site-packages' own .pth files import is not ours
    site = str(PACKAGE.parent)
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {site!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
