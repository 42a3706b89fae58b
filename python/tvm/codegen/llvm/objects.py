"""What an object file takes from outside. Reads ELF, the format of every target but wasm."""

from __future__ import annotations

import struct

SYMBOL_TABLE = 2


def undefined_symbols(data: bytes) -> frozenset[str]:
    """Names of the undefined symbols of an ELF object; none for another format.

    The layout is that of the System V ABI, chapters 4 "Object files" and "Symbol table".
    """
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
