"""Many functions in one C file: compared with LLVM's code, which other tests compare with the
interpreter."""

import numpy as np
import tvm
from codegen_helpers import same_bits
from tvm.codegen import export
from tvm.ir import IRModule

STRICT = ("-Wall", "-Wextra", "-pedantic", "-Werror")


def strict_compiler(monkeypatch):
    """Warnings are errors, and less time goes into optimisation."""
    options = tuple("-O1" if item == "-O3" else item for item in export.C_OPTIONS)
    monkeypatch.setattr(export, "C_OPTIONS", options + STRICT)


class Batch:
    """Functions with the arrays to call them with."""

    def __init__(self):
        self.cases = []

    def add(self, name, func, *arrays):
        self.cases.append((name, func.with_attr("global_symbol", name), arrays))

    def check(self):
        """Both compilers' code must leave the same bits in every array."""
        mod = IRModule({name: func for name, func, _ in self.cases})
        assert len(mod.functions) == len(self.cases)
        c, llvm = (tvm.codegen.build_module(mod, item) for item in ("c", "llvm -contract=0"))
        wrong = []
        for name, _, arrays in self.cases:
            results = []
            for module in (c, llvm):
                given = [tvm.nd.array(item) for item in arrays]
                module[name](*given)
                results.append([item.numpy() for item in given])
            for got, want, start in zip(*results, arrays, strict=True):
                got, want = got.view(start.dtype), want.view(start.dtype)
                if not same_bits(got, want):
                    at = next(k for k in np.ndindex(got.shape) if not same_bits(got[k], want[k]))
                    inputs = [item[at] for item in arrays if item.shape == got.shape]
                    wrong.append((name, at, got[at], want[at], inputs))
        assert not wrong, wrong
