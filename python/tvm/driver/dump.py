"""Looking at what passes do: ``TVM_DUMP_IR=dir`` writes a file for each pass."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tvm.ir.module import IRModule
    from tvm.ir.transform import Pass

_folder = os.environ.get("TVM_DUMP_IR", "")
_count = 0


def record(name: str, text: str) -> None:
    """Write a numbered file if the environment asks for it."""
    if not _folder:
        return
    global _count
    os.makedirs(_folder, exist_ok=True)
    with open(os.path.join(_folder, f"{_count:02d}_{name}.txt"), "w", encoding="utf-8") as file:
        file.write(text + "\n")
    _count += 1


def begin(mod: IRModule) -> None:
    """Write the program as it is before the first pass."""
    if _folder:
        record("schedule_ops", str(mod))


def _peak(name: str, mod: IRModule) -> str:
    """What the temporaries need, after storage was decided."""
    if name != "StorageRewrite":
        return ""
    from tvm.error import ValueError_
    from tvm.tir import PrimFunc
    from tvm.tir.analysis import peak_memory

    lines = []
    for var, func in mod.functions.items():
        if isinstance(func, PrimFunc):
            try:
                lines.append(f"\n# {var.name_hint}: temporaries need {peak_memory(func)} bytes")
            except ValueError_:
                lines.append(f"\n# {var.name_hint}: what temporaries need depends on sizes")
    return "".join(lines)


def observed(item: Pass, mod: IRModule) -> IRModule:
    """Run a pass and write its result; a pass that changed nothing writes ``(unchanged)``."""
    out = item(mod)
    if _folder:
        short = item.info.name.rpartition(".")[2]
        name = "".join("_" + c.lower() if c.isupper() else c for c in short).lstrip("_")
        record(name, "(unchanged)" if out is mod else str(out) + _peak(short, out))
    return out
