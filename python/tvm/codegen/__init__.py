"""Code generators: from lowered functions to modules that run."""

from __future__ import annotations

from .. import error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..ir.module import IRModule
    from ..runtime.module import Module
    from ..target import Target

# target kind -> the module of this package that generates for it
GENERATORS = {"llvm": "llvm.build", "c": "c.build", "stackvm": "stackvm"}


def build_module(mod: IRModule, target: Target | str | None = None) -> Module:
    """Machine code for the lowered functions of a module.

    Parameters
    ----------
    mod : IRModule
        Lowered functions: one-dimensional buffers, scalar or vector accesses.
    target : Target or str, optional
        What for; by default the current target, else ``llvm``.

    Returns
    -------
    tvm.runtime.Module

    Raises
    ------
    ValueError
        If there is no generator for the target, or the program cannot run there.
    TypeError
        If the program holds a node or an operator that the generator has no code for.
    """
    from importlib import import_module

    from ..target import Target

    wanted = Target.canon_target(target) or Target.current() or Target("llvm")
    generator = GENERATORS.get(wanted.kind.name)
    if generator is None:
        raise error.ValueError_(
            f"build: there is no code generator for target {wanted.kind.name!r} yet; those there "
            f"are: {', '.join(sorted(GENERATORS))}"
        )
    return import_module(f"{__name__}.{generator}").build(mod, wanted)  # type: ignore[no-any-return]
