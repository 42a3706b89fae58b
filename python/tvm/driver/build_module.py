"""Lower and build: the whole pipeline on one screen."""

from __future__ import annotations

from tvm.error import TypeError_, ValueError_
from tvm.ir.module import IRModule
from tvm.ir.transform import Pass, PassContext
from tvm.target import Target
from tvm.te import schedule as te_schedule
from tvm.te.parallel_reduce import parallel_reductions
from tvm.te.schedule import Schedule
from tvm.te.tensor import Tensor
from tvm.tir import Block, Buffer, PrimFunc, Var
from tvm.tir import transform as passes

from .aliases import keep_aliases, note_aliases
from .dump import begin, observed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tvm.runtime.module import Module


def _lower_passes(simple_mode: bool, config: Mapping[str, Any]) -> list[Pass]:
    """What happens to a function, in order. A comment says where order matters."""
    added: list[list[Pass]] = [[], [], [], []]
    for phase, function in config.get("tir.add_lower_pass", ()):
        added[min(int(phase), 3)].append(function)
    vectorize = not config.get("tir.disable_vectorize", False)
    return [
        *added[0],
        # while accesses have all their dimensions
        *([passes.InstrumentBoundCheckers()] if _checks_bounds(config) else []),
        passes.PromoteIndex(),
        passes.InjectRollingBuffer(),
        passes.InjectPrefetch(),
        passes.StorageFlatten(),
        *added[1],
        # decides guards, so that only the needed ones cut loops
        passes.Simplify(),
        *([] if simple_mode else [passes.LoopPartition()]),
        # before vectors are made: a vector read has no branches left to protect it
        passes.RewriteUnsafeSelect(),
        passes.VectorizeLoop(vectorize),
        passes.InjectVirtualThread(),
        passes.InjectDoubleBuffer(),
        # after all temporaries have their final sizes
        *([] if config.get("tir.disable_storage_rewrite") else [passes.StorageRewrite()]),
        *added[2],
        # late, because every pass after it sees all the copies
        *([] if simple_mode else [passes.UnrollLoop()]),
        passes.RemoveNoOp(),
        passes.HoistIfThenElse(),
        *added[3],
    ]


def _block_passes(mod: IRModule) -> list[Pass]:
    """What makes statements of blocks, for functions that have any."""
    if not any(isinstance(f, PrimFunc) and f.kinds & Block.KIND for f in mod.functions.values()):
        return []
    return [passes.LowerInitBlock(), passes.ConvertBlocksToOpaque(), passes.LowerOpaqueBlock()]


def _checks_bounds(config: Mapping[str, Any]) -> bool:
    if config.get("tir.instrument_bound_checkers"):
        return True
    target = Target.current()
    return target is not None and bool(target.attrs.get("bounds"))


def _run(mod: IRModule, sequence: list[Pass]) -> IRModule:
    context = PassContext.current()
    begin(mod)
    for item in sequence:
        if context.allows(item.info):
            mod = observed(item, mod)
    return mod


def schedule_to_module(
    sch: Schedule, args: Any = None, name: str = "main", binds: Any = None
) -> IRModule:
    """The loop program of a schedule, before storage is decided.

    Parameters
    ----------
    sch : Schedule
        What is lowered.
    args : list of Tensor, Buffer or Var
        The parameters.
    name : str
        Name of the function.
    binds : dict of Tensor to Buffer, optional
        Buffers that the caller declares.

    Returns
    -------
    IRModule
    """
    config = PassContext.current().config
    normal = parallel_reductions(sch.normalize())
    body = te_schedule._schedule_ops(normal, bool(config.get("tir.debug_keep_trivial_loop")))
    arguments, mapping = get_binds(_current(args, sch, normal), _current_binds(binds, sch, normal))
    func = te_schedule.SchedulePostProcToPrimFunc(arguments, body, mapping)
    attrs: dict[str, Any] = {"global_symbol": name}
    if config.get("tir.noalias") is False:
        attrs["tir.noalias"] = False
    return IRModule({name: func.with_attr(attrs)})


def _current(args: Any, sch: Schedule, normal: Schedule) -> list[Any]:
    """The arguments with tensors as the normalised schedule computes them."""
    if args is None:
        raise ValueError_("lower: a schedule needs args, the list of its parameters")
    if isinstance(args, (Tensor, Buffer, Var)):
        args = [args]
    return [_latest(arg, normal) if isinstance(arg, Tensor) else arg for arg in args]


def _current_binds(binds: Any, sch: Schedule, normal: Schedule) -> dict[Tensor, Buffer]:
    return {_latest(tensor, normal): buffer for tensor, buffer in dict(binds or {}).items()}


def _latest(tensor: Tensor, normal: Schedule) -> Tensor:
    stage = normal.stage_map.get(tensor.op)
    if stage is None or stage.op is tensor.op:
        return tensor
    if stage.origin_op is not tensor.op and stage.op.num_outputs <= tensor.value_index:
        return tensor
    return stage.op.output(tensor.value_index)  # type: ignore[no-any-return]


def get_binds(args: Any, binds: Any = None) -> tuple[list[Any], dict[Tensor, Buffer]]:
    """The parameters, and the buffer of each tensor among them.

    Parameters
    ----------
    args : list of Tensor, Buffer or Var
        The parameters.
    binds : dict of Tensor to Buffer, optional
        Buffers that the caller declares.
    """
    mapping: dict[Tensor, Buffer] = dict(binds or {})
    out: list[Any] = []
    for arg in args:
        if isinstance(arg, Tensor):
            if arg not in mapping:
                from tvm.te.to_prim_func import declare_buffer

                mapping[arg] = declare_buffer(arg)
            out.append(arg)
        elif isinstance(arg, (Buffer, Var)):
            out.append(arg)
        else:
            raise TypeError_(
                f"lower: argument {len(out)}: expected a tensor, a buffer or a variable, but got "
                f"{type(arg).__name__}"
            )
    return out, mapping


def _to_module(inp: Any, args: Any, name: str, binds: Any) -> IRModule:
    """The module of anything that can be lowered."""
    if isinstance(inp, Schedule):
        return schedule_to_module(inp, args, name, binds)
    if isinstance(inp, PrimFunc):
        symbol = inp.attrs.get("global_symbol")
        if name == "main" and symbol is not None:
            name = str(symbol)
        return IRModule({name: inp.with_attr("global_symbol", name)})
    if isinstance(inp, IRModule):
        return inp
    raise TypeError_(
        f"lower: expected a schedule, a PrimFunc or an IRModule, but got {type(inp).__name__}"
    )


def lower(
    inp: Any,
    args: Any = None,
    name: str = "main",
    binds: Any = None,
    simple_mode: bool = False,
) -> IRModule:
    """The loop program that runs.

    Parameters
    ----------
    inp : Schedule, PrimFunc or IRModule
        What is lowered.
    args : list of Tensor, Buffer or Var, optional
        The parameters; needed for a schedule.
    name : str
        Name of the function.
    binds : dict of Tensor to Buffer, optional
        Buffers that the caller declares.
    simple_mode : bool
        Whether to leave loops uncut and not written out, which reads better.

    Returns
    -------
    IRModule

    Raises
    ------
    ScheduleError
        If the schedule cannot be. It is a ``ValueError`` and a ``tvm.TVMError``.

    Examples
    --------
    >>> import tvm
    >>> from tvm import te
    >>> A = te.placeholder((100,), name="A")
    >>> B = te.compute((100,), lambda i: A[i] + 1.0, name="B")
    >>> mod = tvm.lower(te.create_schedule(B.op), [A, B])
    """
    mod = _to_module(inp, args, name, binds)
    config = PassContext.current().config
    names = [] if config.get("tir.disable_cse_tir") else [passes.CommonSubexprElimTIR()]
    sequence = [*_block_passes(mod), *_lower_passes(simple_mode, config), *names]
    return note_aliases(mod, _run(mod, sequence))


def _lower_for_build(inp: Any, args: Any, name: str, binds: Any) -> IRModule:
    """As `lower`; reads that provably leave their tensor are refused."""
    mod = _to_module(inp, args, name, binds)
    # code generators find common expressions themselves, and vectors need positions whole
    before = [passes.RestoreCommonSubexpr(), passes.VerifyBounds()]
    if isinstance(inp, Schedule):
        del before[0]
    config = PassContext.current().config
    sequence = [*_block_passes(mod), *before, *_lower_passes(False, config)]
    return keep_aliases(mod, _run(mod, sequence))


def build(
    inputs: Any,
    args: Any = None,
    target: Any = None,
    target_host: Any = None,
    runtime: Any = None,
    name: str = "default_function",
    binds: Any = None,
) -> Module:
    """Machine code.

    Parameters
    ----------
    inputs : Schedule, PrimFunc, IRModule, list of IRModule, or dict of target to IRModule
        What is compiled.
    args : list of Tensor, Buffer or Var, optional
        The parameters; needed for a schedule.
    target : str, dict or Target, optional
        The current target, else ``llvm``.
    target_host : str or Target, optional
        The host of a device's code. Deprecated: give ``Target(target, host=...)``.
    runtime : object, optional
        Accepted as classic programs give it; there is one runtime.
    name : str
        Name of the function.
    binds : dict of Tensor to Buffer, optional
        Buffers that the caller declares.

    Returns
    -------
    tvm.runtime.Module

    Raises
    ------
    ScheduleError
        If the schedule cannot be.
    ValueError
        If a read or a store provably leaves its tensor, or the target is bad. All of them are
        ``tvm.TVMError`` too.

    Examples
    --------
    >>> import tvm
    >>> from tvm import te
    >>> n = te.var("n")
    >>> A = te.placeholder((n,), name="A")
    >>> B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    >>> f = tvm.build(te.create_schedule(B.op), [A, B], "llvm")  # doctest: +SKIP
    """
    if isinstance(args, (str, Target)) and target is None:
        # build([f1, f2], "llvm")
        args, target = None, args
    if isinstance(inputs, Schedule) and args is None:
        raise ValueError_("build: a schedule needs args, the list of its parameters")
    if target_host is not None:
        from warnings import warn

        warn(
            "target_host= is deprecated, give Target(target, host=...)",
            DeprecationWarning,
            stacklevel=2,
        )
    modules = _by_target(inputs, args, target, name, binds)
    from tvm import codegen

    built = []
    for wanted, mod in modules:
        with Target(wanted, target_host) as current:
            _verify_threads(mod, current)
            built.append(codegen.build_module(mod, current))
    for other in built[1:]:
        built[0].import_module(other)
    return built[0]


def _verify_threads(mod: IRModule, target: Target) -> None:
    """Refuse what no thread of a device would run."""
    if "gpu" not in target.keys:
        return
    from tvm.tir.transform.verify_memory import verify_memory

    for func in mod.functions.values():
        if isinstance(func, PrimFunc):
            verify_memory(func, target)


def _by_target(
    inputs: Any, args: Any, target: Any, name: str, binds: Any
) -> list[tuple[Target, IRModule]]:
    """Lowered modules with what each is for, the host's first."""
    if isinstance(inputs, dict):
        out = []
        for key, value in inputs.items():
            wanted = Target(key)
            with wanted:
                out.append((wanted, _merge(value, args, name, binds)))
        return sorted(out, key=lambda pair: pair[0].get_target_device_type() != 1)
    wanted = _target(target)
    with wanted:
        return [(wanted, _merge(inputs, args, name, binds))]


def _target(target: Any) -> Target:
    if target is None:
        return Target.current() or Target("llvm")
    return target if isinstance(target, Target) else Target(target)


def _merge(inputs: Any, args: Any, name: str, binds: Any) -> IRModule:
    """One module of one or several inputs; two functions of one name are refused."""
    if not isinstance(inputs, (list, tuple)):
        return _lower_for_build(inputs, args, name, binds)
    merged: dict[Any, Any] = {}
    for item in inputs:
        mod = _lower_for_build(item, args, name, binds)
        for var, func in mod.functions.items():
            if any(var.name_hint == other.name_hint for other in merged):
                raise ValueError_(f"build: two functions are named {var.name_hint!r}")
            merged[var] = func
    if not merged:
        raise ValueError_("build: expected at least one function")
    return IRModule(merged)


__all__ = ["build", "get_binds", "lower", "schedule_to_module"]
