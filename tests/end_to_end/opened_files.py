"""Opens files as their readers do: LibreOffice, pdfium and the standard library."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import zipfile
from email import message_from_bytes, policy
from pathlib import Path

OFFICE = shutil.which("soffice") or shutil.which("libreoffice")
"""LibreOffice, None = not installed."""

_OFFICE_KINDS = {".docx": "txt:Text", ".rtf": "txt:Text", ".html": "txt:Text", ".xlsx": "csv", ".csv": "pdf"}
"""What LibreOffice converts a file of each kind to."""


def read_text(name: str, data: bytes, folder: Path) -> str:
    """Return the text of a file as its reader shows it; of a zip, the texts of its members.

    Files of offices are only opened if LibreOffice is installed.
    """
    suffix = Path(name).suffix
    if suffix == ".zip":
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            assert packed.testzip() is None
            return "\n".join(read_text(one, packed.read(one), folder) for one in packed.namelist())
    if suffix == ".pdf":
        import pypdfium2

        with pypdfium2.PdfDocument(data) as document:
            return "\n".join(page.get_textpage().get_text_range() for page in document)
    if suffix == ".eml":
        message = message_from_bytes(data, policy=policy.default)
        assert message["From"] and not message.defects
        return str(message.get_body(("plain", "html")).get_content())
    if suffix == ".jsonl":
        return "\n".join(str(json.loads(line)["text"]) for line in data.splitlines())
    if suffix == ".json":
        return json.dumps(json.loads(data))
    if suffix == ".xml":
        from lxml import etree

        return " ".join(etree.fromstring(data).itertext())
    if suffix in _OFFICE_KINDS and OFFICE:
        return open_in_office(name, data, folder)
    if suffix == ".csv":
        return "\n".join(" ".join(row) for row in csv.reader(io.StringIO(data.decode())))
    return data.decode("utf-8", "replace")


def open_in_office(name: str, data: bytes, folder: Path) -> str:
    """Return the text of a file that LibreOffice has opened and written again."""
    place = folder / "office" / Path(name).name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    kind = _OFFICE_KINDS[place.suffix]
    done = subprocess.run(
        [
            str(OFFICE),
            f"-env:UserInstallation={(folder / 'profile').as_uri()}",
            "--headless",
            "--convert-to",
            kind,
            "--outdir",
            str(place.parent),
            str(place),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    written = place.with_suffix("." + kind.partition(":")[0])
    assert written.is_file(), done.stderr
    if written.suffix == ".pdf":
        return read_text(written.name, written.read_bytes(), folder)
    return written.read_text("utf-8", "replace")
