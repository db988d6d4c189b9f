"""Small files that would take a reader without limits very long, or very much memory."""

from __future__ import annotations

import gzip
import io
import random
import struct
import zipfile
import zlib

N_PARTS = 200_000
N_ROWS = 1_048_576


def packed_zeros(n_bytes: int = 250 * 1024 * 1024) -> bytes:
    """Return a gzip file of a few hundred KB that unpacks to almost as much as a file may have."""
    target = io.BytesIO()
    with gzip.GzipFile(fileobj=target, mode="wb", mtime=0) as stream:
        for _ in range(n_bytes >> 20):
            stream.write(bytes(1 << 20))
    return target.getvalue()


def _zipped(**members: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in members.items():
            packed.writestr(name, data)
    return target.getvalue()


def nested_archive(depth: int = 6, width: int = 10, n_times: int = 1_000_000) -> bytes:
    """Return an archive of archives, each of as many, and so on, with a text at the bottom."""
    data = _zipped(**{"a.txt": b"seen by Okonkwo " * n_times})
    for _ in range(depth):
        data = _zipped(**{f"{number}.zip": data for number in range(width)})
    return data


def many_members(n_members: int = 60_000) -> bytes:
    """Return an archive of many empty files."""
    return _zipped(**{f"{number}.txt": b"" for number in range(n_members)})


_SHEET = (
    '<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
    '<dimension ref="A1:XFD{rows}"/><sheetData>{cells}</sheetData></worksheet>'
)
_BOOK = (
    '<?xml version="1.0"?><workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">'
    '<sheets><sheet name="a" sheetId="1" r:id="r1"/></sheets></workbook>'
)
_TYPES = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/xl/workbook.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>'
    '<Override PartName="/xl/worksheets/sheet1.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>'
)
_RELATIONS = (
    '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/{kind}" '
    'Target="{target}"/></Relationships>'
)


def declared_rows(n_rows: int = N_ROWS) -> bytes:
    """Return a workbook whose sheet declares a million rows of all columns, with a row at each end."""
    cells = "".join(
        f'<row r="{row}"><c r="A{row}" t="inlineStr"><is><t>text</t></is></c></row>' for row in (1, 2, n_rows)
    )
    return _workbook(_SHEET.format(rows=n_rows, cells=cells))


def empty_rows(n_rows: int = N_ROWS) -> bytes:
    """Return a workbook with a million rows that have no cell."""
    cells = '<row r="1"><c r="A1" t="inlineStr"><is><t>text</t></is></c></row>'
    return _workbook(_SHEET.format(rows=n_rows, cells=cells + "<row/>" * (n_rows - 1)))


def _workbook(sheet: str) -> bytes:
    return _zipped(
        **{
            "[Content_Types].xml": _TYPES.encode(),
            "_rels/.rels": _RELATIONS.format(kind="officeDocument", target="xl/workbook.xml").encode(),
            "xl/workbook.xml": _BOOK.encode(),
            "xl/_rels/workbook.xml.rels": _RELATIONS.format(
                kind="worksheet", target="worksheets/sheet1.xml"
            ).encode(),
            "xl/worksheets/sheet1.xml": sheet.encode(),
        }
    )


def many_parts(n_parts: int = N_PARTS) -> bytes:
    """Return a mail with many empty parts."""
    head = b"From: a@example.org\r\nSubject: x\r\nMIME-Version: 1.0\r\n"
    head += b'Content-Type: multipart/mixed; boundary="b"\r\n\r\n'
    return head + b"--b\r\n\r\n\r\n" * n_parts + b"--b--\r\n"


def deep_parts(depth: int = 20_000) -> bytes:
    """Return a mail of parts within parts."""
    lines = [b"From: a@example.org\r\nMIME-Version: 1.0\r\n"]
    lines += [
        f'Content-Type: multipart/mixed; boundary="b{i}"\r\n\r\n--b{i}\r\n'.encode() for i in range(depth)
    ]
    return b"".join(lines) + b"Content-Type: text/plain\r\n\r\nwell\r\n"


def noise_for_libreoffice(n_bytes: int = 5_000_000) -> bytes:
    """Return what begins as an old Word file, so that LibreOffice is asked to convert it."""
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + random.Random(7).randbytes(n_bytes)


def large_picture(width: int = 30_000) -> bytes:
    """Return a picture of a few hundred KB with as many rows as columns, all of one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    packer, row = zlib.compressobj(), bytes(1 + width // 8)
    points = b"".join(packer.compress(row) for _ in range(width)) + packer.flush()
    size = struct.pack(">IIBBBBB", width, width, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", size) + chunk(b"IDAT", points) + chunk(b"IEND", b"")


HOSTILE = {
    "zeros.txt.gz": packed_zeros,
    "nested.zip": nested_archive,
    "members.zip": many_members,
    "declared.xlsx": declared_rows,
    "rows.xlsx": empty_rows,
    "parts.eml": many_parts,
    "deep.eml": deep_parts,
    "noise.doc": noise_for_libreoffice,
    "large.png": large_picture,
}
"""What makes each of them, by its name."""
