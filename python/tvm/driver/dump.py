"""Looking at what passes do: ``TVM_DUMP_IR=dir`` writes a file for each pass."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tvm.ir.module import IRModule
    from tvm.ir.transform import Pass

_folder = os.environ.get("TVM_DUMP_IR", "")
_count = 0


def observed(item: Pass, mod: IRModule) -> IRModule:
    """Run a pass, and write its result if the environment asks for it.

    The files are numbered in the order of the passes; a pass that changed nothing writes
    ``(unchanged)``.
    """
    if not _folder:
        return item(mod)
    global _count
    out = item(mod)
    os.makedirs(_folder, exist_ok=True)
    short = item.info.name.rpartition(".")[2]
    name = "".join("_" + c.lower() if c.isupper() else c for c in short).lstrip("_")
    with open(os.path.join(_folder, f"{_count:02d}_{name}.txt"), "w", encoding="utf-8") as file:
        file.write("(unchanged)\n" if out is mod else f"{out}\n")
    _count += 1
    return out
