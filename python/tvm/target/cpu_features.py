"""What the host's processor can do, asked of LLVM once and kept."""

from __future__ import annotations

_host: tuple[str, frozenset[str]] | None = None


def host_cpu() -> tuple[str, frozenset[str]]:
    """Name and features of the processor this process runs on.

    Returns
    -------
    name : str
        LLVM's name of the processor, such as ``"znver4"``.
    features : frozenset of str
        LLVM's names of the features that are present, such as ``"avx2"``.

    Examples
    --------
    >>> name, features = host_cpu()
    >>> isinstance(name, str)
    True
    """
    global _host
    if _host is None:
        import llvmlite.binding as llvm

        _host = (
            llvm.get_host_cpu_name(),
            frozenset(name for name, has in llvm.get_host_cpu_features().items() if has),
        )
    return _host
