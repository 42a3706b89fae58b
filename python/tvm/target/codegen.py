"""What LLVM knows: its version, this machine, processors, features, intrinsics.

Examples
--------
>>> import tvm
>>> tvm.target.codegen.llvm_version_major() >= 15
True
"""

from __future__ import annotations

from tvm.error import ValueError_

from .cpu_features import features_of, host_cpu
from .target import Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ARCHITECTURES = (
    "aarch64", "amdgcn", "arm", "avr", "bpf", "hexagon", "i386", "lanai", "loongarch64", "mips",
    "mips64", "msp430", "nvptx64", "ppc64", "ppc64le", "riscv32", "riscv64", "sparc", "systemz",
    "thumb", "ve", "wasm32", "wasm64", "x86_64", "xcore",
)  # fmt: skip
_processors: dict[str, tuple[str, ...]] = {}
# intrinsics that were looked up, by number - 1
_names: list[str] = []


def _llvm() -> Any:
    import llvmlite.binding as llvm

    return llvm


def llvm_version_major(allow_none: bool = False) -> int | None:
    """The major version of LLVM.

    Parameters
    ----------
    allow_none : bool
        Whether to give None when LLVM is not installed.

    Raises
    ------
    ImportError
        If LLVM is not installed.
    """
    try:
        return int(_llvm().llvm_version_info[0])
    except ImportError:
        if allow_none:
            return None
        raise


def llvm_get_system_triple() -> str:
    """The triple of this machine, such as ``"x86_64-unknown-linux-gnu"``."""
    return str(_llvm().get_default_triple())


def llvm_get_system_cpu() -> str:
    """LLVM's name of this machine's processor."""
    return host_cpu()[0]


def llvm_get_system_x86_vendor() -> str:
    """``"intel"``, ``"amd"`` or ``"unimplemented"``."""
    name = host_cpu()[0]
    if not llvm_get_system_triple().startswith(("x86_64", "i386", "i686")):
        return "unimplemented"
    amd = ("znver", "btver", "bdver", "amdfam", "k8", "athlon", "opteron")
    return "amd" if name.startswith(amd) else "intel"


def llvm_get_targets() -> list[str]:
    """The architectures that LLVM makes code for."""
    llvm = _llvm()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    found = []
    for arch in _ARCHITECTURES:
        try:
            llvm.Target.from_triple(f"{arch}-unknown-unknown")
        except RuntimeError:
            continue
        found.append(arch)
    return found


def _target_of(target: Any) -> Target:
    if target is None:
        target = Target.current()
    if target is None:
        return Target("llvm")
    return target if isinstance(target, Target) else Target(target)


def llvm_get_cpu_archlist(target: Any = None) -> list[str]:
    """The processors that LLVM knows for a target's architecture.

    Parameters
    ----------
    target : Target or str, optional
        The current target, else this machine.
    """
    triple = str(_target_of(target).attrs.get("mtriple", "")) or llvm_get_system_triple()
    arch = triple.partition("-")[0]
    if arch not in _processors:
        _processors[arch] = _ask_processors(triple)
    return list(_processors[arch])


def _ask_processors(triple: str) -> tuple[str, ...]:
    # LLVM writes the list to the error stream of the process, so that another one is asked
    import subprocess
    import sys

    program = (
        "import sys, llvmlite.binding as llvm\n"
        "llvm.initialize_all_targets()\n"
        "llvm.Target.from_triple(sys.argv[1]).create_target_machine(cpu='help')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, triple], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ValueError_(
            f"llvm_get_cpu_archlist: LLVM makes no code for {triple}; it does for "
            f"{', '.join(llvm_get_targets())}"
        )
    lines = done.stderr.partition("Available features")[0].splitlines()
    names = [line.split("-  ")[0].split(" - ")[0].strip() for line in lines if " - " in line]
    return tuple(sorted(dict.fromkeys(name for name in names if name)))


def llvm_get_cpu_features(target: Any = None) -> list[str]:
    """The features of a target's processor, those of ``-mattr`` included.

    Parameters
    ----------
    target : Target or str, optional
        The current target, else this machine.
    """
    wanted = _target_of(target)
    found = set(features_of(wanted.mcpu, str(wanted.attrs.get("mtriple", ""))))
    for item in wanted.mattr:
        (found.discard if item.startswith("-") else found.add)(item.lstrip("+-"))
    return sorted(found)


def llvm_cpu_has_features(cpu_features: Any, target: Any = None) -> bool:
    """Whether a target's processor has a feature, or all of several.

    Parameters
    ----------
    cpu_features : str or list of str
        LLVM's names, such as ``"avx2"``.
    target : Target or str, optional
        The current target, else this machine.
    """
    names = [cpu_features] if isinstance(cpu_features, str) else list(cpu_features)
    return set(map(str, names)) <= set(llvm_get_cpu_features(target))


def target_has_features(cpu_features: Any, target: Any = None) -> bool:
    """As `llvm_cpu_has_features`."""
    return llvm_cpu_has_features(cpu_features, target)


def llvm_lookup_intrinsic_id(name: str) -> int:
    """A number for an intrinsic of LLVM, 0 if it has none of that name.

    The numbers are this process's own; `llvm_get_intrinsic_name` turns them back.
    """
    if name in _names:
        return _names.index(name) + 1
    if not name.startswith("llvm.") or not all(c.isalnum() or c in "._" for c in name):
        return 0
    if not _ask_intrinsic(name):
        return 0
    _names.append(name)
    return len(_names)


def _ask_intrinsic(name: str) -> bool:
    # LLVM ends the process when it reads some intrinsics' declarations with other types than
    # theirs, so that another one is asked; the names it ends at, it knows
    import subprocess
    import sys

    program = (
        "import sys, llvmlite.binding as llvm\n"
        "text = str(llvm.parse_assembly(f'declare void @{sys.argv[1]}()'))\n"
        "sys.exit(3 if 'Unknown intrinsic' in text else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, name], capture_output=True, text=True, check=False
    )
    return done.returncode != 3


def llvm_get_intrinsic_name(intrin_id: int) -> str:
    """The name of an intrinsic.

    Raises
    ------
    ValueError
        If the number comes from nowhere.
    """
    if not 1 <= intrin_id <= len(_names):
        raise ValueError_(
            f"llvm_get_intrinsic_name: {intrin_id} is no number of llvm_lookup_intrinsic_id"
        )
    return _names[intrin_id - 1]
