"""Objects on disk, for builds that were done before.

With `TVM_CACHE_DIR` set, an object is kept under the hash of all that decides its bytes: the LLVM
text (which holds the program, the processor and its features), the passes, and the versions. A file
is its own checksum and the object; one that is damaged counts as missing. Files come by renaming,
so that several processes may share a folder. `TVM_CACHE_BYTES` bounds the folder (1 GiB if not
set); what was not used for the longest time goes first.
"""

from __future__ import annotations

import hashlib
import os
import threading

from ... import error

MAGIC = b"TVMOBJ1\n"
SUFFIX = ".tvmobj"
# Writes of this process between two looks at the folder's size.
WRITES_PER_LOOK = 32

_lock = threading.Lock()
_checked: set[str] = set()
_writes = 0


def folder() -> str | None:
    """The folder of the cache, made if need be; None if there is no cache.

    Raises
    ------
    ValueError
        If somebody else could put code there, or it is no folder.
    """
    path = os.environ.get("TVM_CACHE_DIR", "")
    if not path or path in _checked:
        return path or None
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        found = os.stat(path)
    except OSError as cause:
        raise error.ValueError_(
            f"TVM_CACHE_DIR: expected a folder, but {path!r} cannot be one: {cause.strerror}"
        ) from cause
    if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & 0o022):
        raise error.ValueError_(
            f"TVM_CACHE_DIR: others may write to {path!r}, and what is there is run as code; "
            "choose a folder of your own, or take their permission away (chmod go-w)"
        )
    _checked.add(path)
    return path


def key_of(*parts: str | bytes) -> str:
    """The name under which an object is kept."""
    digest = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode()
        # the lengths keep ("a", "bc") and ("ab", "c") apart
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def load(path: str, key: str) -> bytes | None:
    """The object of this key, if there is one that is whole."""
    name = os.path.join(path, key + SUFFIX)
    try:
        with open(name, "rb") as file:
            data = file.read()
    except OSError:
        return None
    head = len(MAGIC) + hashlib.sha256().digest_size
    whole = data[head:]
    if data[:head] != MAGIC + hashlib.sha256(whole).digest():
        return None
    try:
        # its age is the time since it was used
        os.utime(name)
    except OSError:
        pass
    return whole


def store(path: str, key: str, data: bytes) -> None:
    """Keep an object; a folder that cannot be written to is no error."""
    global _writes
    name = os.path.join(path, key + SUFFIX)
    draft = f"{name}.{os.getpid()}.{threading.get_ident()}"
    try:
        with open(draft, "xb") as file:
            file.write(MAGIC + hashlib.sha256(data).digest() + data)
        os.replace(draft, name)
    except OSError:
        try:
            os.unlink(draft)
        except OSError:
            pass
        return
    with _lock:
        look = _writes % WRITES_PER_LOOK == 0
        _writes += 1
    if look:
        shrink(path, most_bytes())


def most_bytes() -> int:
    """The bound of the folder's size."""
    text = os.environ.get("TVM_CACHE_BYTES", "")
    if not text:
        return 1 << 30
    if not text.isdigit():
        raise error.ValueError_(
            f"TVM_CACHE_BYTES: expected a number of bytes such as 1073741824, but got {text!r}"
        )
    return int(text)


def shrink(path: str, most: int) -> None:
    """Delete what was not used for the longest time until the rest fits."""
    try:
        with os.scandir(path) as items:
            found = [(item.stat(), item.path) for item in items if SUFFIX in item.name]
    except OSError:
        return
    total = sum(item.st_size for item, _ in found)
    for item, name in sorted(found, key=lambda pair: pair[0].st_mtime_ns):
        if total <= most:
            return
        try:
            os.unlink(name)
        except OSError:
            pass
        total -= item.st_size
