"""Opens files as their readers do: LibreOffice, pdfium and the standard library."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from email import message_from_bytes, policy
from pathlib import Path, PurePosixPath

from libreoffice import OFFICE, convert

_CONVERSIONS = {
    "txt:Text (encoded):UTF8": (".docx", ".rtf", ".html"),
    "html:HTML (StarCalc)": (".xlsx", ".csv"),
}
"""What LibreOffice converts files of some kinds to."""


def read_texts(files: Mapping[str, bytes], folder: Path) -> dict[str, str]:
    """Return the text of each file as its reader shows it; files in a zip have its name before theirs.

    LibreOffice opens what it is for, if it is installed; `folder` is for its work.
    """
    flat = dict(_list_members(files))
    texts = {name: _read_plainly(name, data) for name, data in flat.items()}
    if OFFICE is None:
        return texts
    for target, suffixes in _CONVERSIONS.items():
        chosen = {name: data for name, data in flat.items() if PurePosixPath(name).suffix in suffixes}
        texts |= _convert(chosen, target, folder)
    return texts


def _list_members(files: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    for name, data in files.items():
        if not name.endswith(".zip"):
            yield name, data
            continue
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            assert packed.testzip() is None, name
            members = {f"{name}/{one}": packed.read(one) for one in packed.namelist()}
        yield from _list_members(members)


def _read_plainly(name: str, data: bytes) -> str:
    suffix = PurePosixPath(name).suffix
    if suffix == ".pdf":
        import pypdfium2

        with pypdfium2.PdfDocument(data) as document:
            return "\n".join(page.get_textpage().get_text_range() for page in document)
    if suffix == ".eml":
        message = message_from_bytes(data, policy=policy.default)
        assert message["Subject"] and not message.defects, name
        return str(message.get_body(("plain", "html")).get_content())
    if suffix == ".jsonl":
        return "\n".join(str(json.loads(line)["text"]) for line in data.splitlines())
    if suffix == ".json":
        return str(json.loads(data))
    if suffix == ".xml":
        from lxml import etree

        return " ".join(etree.fromstring(data).itertext())
    if suffix == ".csv":
        return "\n".join(" ".join(row) for row in csv.reader(io.StringIO(data.decode("utf-8-sig"))))
    return data.decode("utf-8", "replace")


def _convert(files: Mapping[str, bytes], target: str, folder: Path) -> dict[str, str]:
    """Return the text of files that LibreOffice has opened and written again."""
    if not files:
        return {}
    kind = target.partition(":")[0]
    given = folder / "opened" / kind
    given.mkdir(parents=True)
    paths = []
    for number, (name, data) in enumerate(files.items()):
        paths.append(given / f"{number}{PurePosixPath(name).suffix}")
        paths[-1].write_bytes(data)
    written = convert(paths, target, folder / "written" / kind)
    return {name: path.read_text("utf-8-sig", "replace") for name, path in zip(files, written, strict=True)}
