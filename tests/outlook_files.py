"""Compound files (MS-CFB) written by hand, and e-mails of Outlook made of them (MS-OXMSG)."""

from __future__ import annotations

import struct
from collections.abc import Mapping

Tree = Mapping[str, "bytes | Tree"]

SECTOR, MINI, CUTOFF = 512, 64, 4096
END, FREE, FAT, NONE = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD, 0xFFFFFFFF


def compound(tree: Tree) -> bytes:
    """Return a compound file with these storages and streams."""
    entries: list[list] = []  # name, type, right, child, start, size
    _list_entries(entries, "Root Entry", tree, 5)
    sectors: list[bytes] = []
    following: list[int] = []  # the number of the next sector of each
    minis: list[bytes] = []
    mini_fat: list[int] = []
    for entry in entries:
        data = entry[5]
        if entry[1] == 2:
            is_large = len(data) >= CUTOFF
            room = (sectors, following, SECTOR) if is_large else (minis, mini_fat, MINI)
            entry[4], entry[5] = _store(data, *room), len(data)
    entries[0][4] = _store(b"".join(minis), sectors, following, SECTOR)
    entries[0][5] = MINI * len(minis)
    mini_start = _store(struct.pack(f"<{len(mini_fat)}I", *mini_fat), sectors, following, SECTOR)
    directory = _store(b"".join(_entry(*entry) for entry in entries), sectors, following, SECTOR)
    n_fat = next(n for n in range(1, 109) if (len(sectors) + n) * 4 <= n * SECTOR)
    fat_sectors = list(range(len(sectors), len(sectors) + n_fat))
    table = [*following, *[FAT] * n_fat]
    table += [FREE] * (n_fat * SECTOR // 4 - len(table))
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6)
    numbers = (0, n_fat, directory, 0, CUTOFF, mini_start, -(-len(mini_fat) * 4 // SECTOR), END, 0)
    header += bytes(6) + struct.pack("<9I", *numbers)
    header += struct.pack("<109I", *fat_sectors, *[FREE] * (109 - n_fat))
    return header + b"".join(sectors) + struct.pack(f"<{len(table)}I", *table)


def _list_entries(entries: list[list], name: str, content: bytes | Tree, kind: int) -> int:
    """Add a storage or stream and all in it; the entries of a storage are a chain, each right of the one before."""
    index = len(entries)
    entries.append([name, kind, NONE, NONE, END, content if isinstance(content, bytes) else b""])
    previous = None
    inner = () if isinstance(content, bytes) else content.items()
    for one, value in sorted(inner, key=lambda pair: (len(pair[0]), pair[0].upper())):
        number = _list_entries(entries, one, value, 2 if isinstance(value, bytes) else 1)
        if previous is None:
            entries[index][3] = number
        else:
            entries[previous][2] = number
        previous = number
    entries[index][5] = content if kind == 2 else 0
    return index


def _store(data: bytes, blocks: list[bytes], following: list[int], size: int) -> int:
    """Add data in blocks of a size, and return the number of the first."""
    first = len(blocks)
    added = [data[i : i + size].ljust(size, b"\0") for i in range(0, len(data), size)]
    blocks += added
    following += [*range(first + 1, first + len(added)), END][: len(added)]
    return first if added else END


def _entry(name: str, kind: int, right: int, child: int, start: int, size: int) -> bytes:
    encoded = (name + "\0").encode("utf-16-le")
    return (
        encoded.ljust(64, b"\0")
        + struct.pack("<HBBIII", len(encoded), kind, 1, NONE, right, child)
        + bytes(36)
        + struct.pack("<IQ", start, size)
    )


def stream(number: int, kind: int) -> str:
    return f"__substg1.0_{number:04X}{kind:04X}"


def text(number: int, words: str) -> tuple[str, bytes]:
    """Return the stream of a Unicode text."""
    return stream(number, 0x001F), words.encode("utf-16-le")


def properties(n_header_bytes: int, numbers: Mapping[int, int]) -> bytes:
    """Return the stream of the fixed properties: whole numbers."""
    listed = (struct.pack("<HHIII", 3, number, 6, value, 0) for number, value in numbers.items())
    return bytes(n_header_bytes) + b"".join(listed)


def message(*streams: tuple[str, bytes | Tree], is_inner: bool = False, code_page: int = 1252) -> Tree:
    """Return a message with these streams and storages."""
    fixed = properties(24 if is_inner else 32, {0x3FDE: code_page, 0x3FFD: code_page, 0x340D: 0x40000})
    return {"__properties_version1.0": fixed, **dict(streams)}


def attachment(number: int, *streams: tuple[str, bytes | Tree], method: int = 1) -> tuple[str, Tree]:
    """Return the storage of an attachment."""
    fixed = properties(8, {0x3705: method})
    return f"__attach_version1.0_#{number:08X}", {"__properties_version1.0": fixed, **dict(streams)}


def recipient(number: int, *streams: tuple[str, bytes]) -> tuple[str, Tree]:
    """Return the storage of a recipient."""
    return f"__recip_version1.0_#{number:08X}", {
        "__properties_version1.0": properties(8, {}),
        **dict(streams),
    }
