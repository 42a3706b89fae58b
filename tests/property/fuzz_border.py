"""Random argument lists for every registered function and every method; run as a script.

    python fuzz_border.py SEED COUNT

The process must end with code 0: exceptions are fine, a crash or a hang is not. Left out are opaque
handles, functions that touch files or end processes, and huge allocations.
"""

import random
import sys
import warnings

import numpy as np
import tvm
from tvm._ffi import _core

EXCLUDED = ("upload", "download", "remove", "save", "load", "exit", "sleep", "Handle", "shutdown")


class Weird:
    """Has every protocol that the border looks at, and lies in all of them."""

    shape = "no"
    dtype = 3
    __array_interface__ = {"version": 3, "shape": (2,), "typestr": "<f4", "data": None}

    def __index__(self):
        raise RuntimeError("no index")

    def __float__(self):
        raise RuntimeError("no float")

    def __len__(self):
        return -1

    def __getitem__(self, index):
        raise IndexError(index)


class BadDLPack:
    def __dlpack__(self, **kwargs):
        return 17

    def __dlpack_device__(self):
        return "cpu"


def values(rng):
    """One random value."""
    a = tvm.nd.array(np.arange(6, dtype="float32").reshape(2, 3))
    makers = [
        lambda: rng.choice([0, 1, -1, 2, 3, 7, 64, 2**31, -(2**63), 2**63 - 1, 2**64, 10**30]),
        lambda: rng.choice([0.0, -0.0, 1.5, float("nan"), float("inf"), -1e308]),
        lambda: rng.choice(
            [
                "",
                "float32",
                "float32x4",
                "int4",
                "cpu",
                "cuda:1",
                "global",
                "x" * 300,
                "\x00",
                "é",
                "custom[a]8",
                "float-1",
                "bool",
            ]
        ),
        lambda: rng.choice([None, True, False]),
        lambda: rng.choice([b"", b"\x00\xff", bytearray(b"abc")]),
        lambda: rng.choice(
            [(), (2, 3), [4], (0,), (-1, 2), (1 << 20, 0), [1, [2]], {"a": 1}, {}, set()]
        ),
        lambda: rng.choice(
            [a, a._create_view((3, 2)), tvm.nd.empty(()), tvm.nd.empty((0, 2), "int8")]
        ),
        lambda: rng.choice(
            [
                np.arange(3.0),
                np.zeros((2, 3))[:, ::-1],
                np.array("text"),
                np.float16(3),
                np.array([1 + 2j]),
                np.zeros(3, "M8[s]"),
                np.array([None]),
                np.bool_(True),
                np.zeros(2, [("a", "i4")]),
                np.arange(4).astype(">i2"),
            ]
        ),
        lambda: rng.choice([tvm.cpu(0), tvm.cuda(3), tvm.device("ext_dev", 1), tvm.cpu(-0)]),
        lambda: rng.choice([tvm.DataType("int8"), np.dtype("f4"), np.float32, float, int, object]),
        lambda: rng.choice(
            [lambda *xs: xs[0] if xs else None, len, Weird(), BadDLPack(), object(), Weird]
        ),
        lambda: rng.choice([a.to_dlpack(), a.__dlpack__(max_version=(1, 0))]),
        lambda: tvm.runtime.ShapeTuple([1, 2]),
        lambda: tvm.runtime.convert([1, "a"]),
    ]
    return rng.choice(makers)()


def targets():
    """(name, callable factory) of everything that is called."""
    found = [
        (name, tvm.get_global_func(name))
        for name in sorted(tvm._ffi.list_global_func_names())
        if not any(word.lower() in name.lower() for word in EXCLUDED)
    ]
    found += [(f"nd.{n}", getattr(tvm.nd, n)) for n in ("array", "empty", "from_dlpack")]
    found += [
        ("device", tvm.device),
        ("convert", tvm.runtime.convert),
        ("DataType", tvm.DataType),
        ("register_func", lambda *xs: tvm.register_func("fuzz.f", *xs)),
        ("get_global_func", tvm.get_global_func),
        ("ShapeTuple", tvm.runtime.ShapeTuple),
    ]
    for owner in (_core.NDArray, _core.Device, _core.PackedFunc, _core.Module):
        for name in dir(owner):
            if name in (
                "__new__",
                "__init_subclass__",
                "__class__",
                "__subclasshook__",
                "__getattribute__",
            ):
                continue
            if callable(getattr(owner, name)):
                found.append((f"{owner.__name__}.{name}", getattr(owner, name)))
    return found


def small(args):
    """Whether a call with these arguments cannot ask for very much memory."""
    total = 1
    for arg in args:
        if isinstance(arg, (tuple, list)):
            for item in arg:
                if isinstance(item, int):
                    total *= max(1, abs(item))
        if isinstance(arg, int) and not isinstance(arg, bool):
            total *= max(1, min(abs(arg), 2**70))
    return (
        total < 2**40 or total > 2**62
    )  # absurd sizes have to be refused, large ones are left out


def main(seed, count):
    warnings.simplefilter("ignore")
    rng = random.Random(seed)
    calls = targets()
    receivers = [
        lambda: tvm.nd.array(np.arange(6, dtype="float32").reshape(2, 3)),
        lambda: tvm.cpu(0),
        lambda: tvm.get_global_func("testing.echo"),
    ]
    raised = 0
    for _ in range(count):
        name, function = rng.choice(calls)
        args = [values(rng) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4, 9]))]
        if "." in name and name.split(".")[0] in ("NDArray", "Device", "PackedFunc", "Module"):
            args.insert(0, rng.choice(receivers)() if rng.random() < 0.9 else values(rng))
        if not small(args):
            continue
        try:
            function(*args)
        except Exception as error:
            str(error)
            raised += 1
        except (SystemExit, KeyboardInterrupt):
            raise RuntimeError(f"{name} ended the process") from None
    print(f"{count} calls, {raised} raised")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
