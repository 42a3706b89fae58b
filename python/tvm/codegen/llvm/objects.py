"""What an object file takes from outside. Reads ELF and WebAssembly, the formats of all targets."""

from __future__ import annotations

import struct

SYMBOL_TABLE = 2


def undefined_symbols(data: bytes) -> frozenset[str]:
    """Names of the undefined symbols of an object.

    The layout is that of the System V ABI, chapters 4 "Object files" and "Symbol table", or that of
    the WebAssembly binary format; none for another one.
    """
    if data[:4] == b"\0asm":
        return _imported_functions(data)
    if data[:4] != b"\x7fELF":
        return frozenset()
    wide = data[4] == 2
    order = "<" if data[5] == 1 else ">"
    if wide:
        (table,) = struct.unpack_from(order + "Q", data, 0x28)
        size, count = struct.unpack_from(order + "HH", data, 0x3A)
    else:
        (table,) = struct.unpack_from(order + "I", data, 0x20)
        size, count = struct.unpack_from(order + "HH", data, 0x2E)
    # name, type, flags, address, offset, size, link, info, alignment, entry size
    header = order + ("IIQQQQIIQQ" if wide else "IIIIIIIIII")
    entry = order + ("IBBHQQ" if wide else "IIIBBH")
    found = set()
    for number in range(count):
        fields = struct.unpack_from(header, data, table + number * size)
        if fields[1] != SYMBOL_TABLE:
            continue
        strings = struct.unpack_from(header, data, table + fields[6] * size)[4]
        step = struct.calcsize(entry)
        for offset in range(fields[4] + step, fields[4] + fields[5], step):
            symbol = struct.unpack_from(entry, data, offset)
            section = symbol[3] if wide else symbol[5]
            if section == 0 and symbol[0]:
                begin = strings + symbol[0]
                found.add(data[begin : data.index(b"\0", begin)].decode())
    found.discard("_GLOBAL_OFFSET_TABLE_")
    return frozenset(found)


IMPORT_SECTION = 2


def _imported_functions(data: bytes) -> frozenset[str]:
    """The functions that a WebAssembly object imports; its memory and globals do not count."""
    place = 8
    while place < len(data):
        section = data[place]
        size, place = _leb128(data, place + 1)
        if section == IMPORT_SECTION:
            return frozenset(_imports(data, place))
        place += size
    return frozenset()


def _imports(data: bytes, place: int) -> list[str]:
    count, place = _leb128(data, place)
    names = []
    for _ in range(count):
        texts = []
        for _ in range(2):
            size, place = _leb128(data, place)
            texts.append(data[place : place + size].decode())
            place += size
        kind = data[place]
        place += 1
        if kind == 0:
            names.append(texts[1])
            _, place = _leb128(data, place)
        elif kind == 3:
            # a global: its type and whether it changes
            place += 2
        else:
            # a table's element type or a memory comes with limits
            place += kind == 1
            flags, place = _leb128(data, place)
            for _ in range(1 + (flags & 1)):
                _, place = _leb128(data, place)
    return names


def _leb128(data: bytes, place: int) -> tuple[int, int]:
    """An unsigned number of variable length, and where it ends."""
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, place
