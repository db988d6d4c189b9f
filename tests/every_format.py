"""Texts as files of every format, and files with words wherever a format has room for them."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path

import excel_files
import html_files
import outlook_files
import pdf_files
import pyarrow as pa
import pyarrow.parquet as pq
import rtf_files
import slide_files
import word_files
from icsr_canaries import R2_DOCTYPE
from icsr_messages import invent
from scan_files import HAS_READER, picture_of

from inverse_deid.formats import converted

UNTRIED = {*(one.name for one in converted.FORMATS), *(() if HAS_READER else ("scan",))}
"""Formats without a file here: LibreOffice makes those of one before they are the same as others."""
COLUMNS = ("id", "text", "dob", "age", "outcome")


def write_formats(folder: Path, texts: Sequence[str]) -> None:
    """Write a file of every format into a new folder; the same texts give files with the same words."""
    files = {
        **plain_files(texts),
        **table_files(texts),
        **office_files(texts),
        **case_reports(texts),
        **full_files(),
    }
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)


def plain_files(texts: Sequence[str]) -> dict[str, bytes]:
    both = "\n\n".join(texts[:3])
    i2b2 = f"<deIdi2b2><TEXT>{escape(both, quote=False)}</TEXT><TAGS></TAGS></deIdi2b2>"
    return {
        "letter.txt": texts[0].encode(),
        "letter-cp1252.txt": texts[1].encode("cp1252", "replace"),
        "notes.md": f"# Notes\n\n- {texts[0]}\n- {texts[1]}\n".encode(),
        "packed.txt.gz": gzip.compress(texts[2].encode(), mtime=0),
        "annotated.xml": i2b2.encode(),
    }


def table_files(texts: Sequence[str]) -> dict[str, bytes]:
    rows = [
        (f"case-{n}", text, f"19{50 + n % 50}-03-0{1 + n % 9}", 20 + n, ("recovered", "unknown")[n % 2])
        for n, text in enumerate(texts)
    ]
    objects = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    table = {name: [one[name] for one in objects] for name in COLUMNS}
    parquet = io.BytesIO()
    pq.write_table(pa.table(table), parquet)
    return {
        "cases.jsonl": "".join(json.dumps(one) + "\n" for one in objects).encode(),
        "cases.json": json.dumps(objects).encode(),
        "cases.csv": _separated(rows, ",").encode(),
        "cases.tsv": _separated(rows, "\t").encode(),
        "cases-cp1252.csv": _separated(rows, ";").encode("cp1252", "replace"),
        "cases.parquet": parquet.getvalue(),
        "cases.xlsx": excel_files.workbook_of(COLUMNS, *rows, more=[COLUMNS, *rows[:2]]),
    }


def _separated(rows: Sequence[Sequence[object]], delimiter: str) -> str:
    target = io.StringIO()
    csv.writer(target, delimiter=delimiter).writerows([COLUMNS, *rows])
    return target.getvalue()


def office_files(texts: Sequence[str]) -> dict[str, bytes]:
    document = word_files.zipped(word_files.simple("".join(map(word_files.paragraph, texts[:10]))))
    pages = [_printable(text) for text in texts[:4]]
    mail = (
        "From: Ann Orvik <ann@example.org>\nTo: b@example.org\nSubject: rash\nMIME-Version: 1.0\n"
        "Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/plain; charset=utf-8\n"
        f"Content-Transfer-Encoding: 8bit\n\n{texts[0]}\n--x\nContent-Type: text/html; charset=utf-8\n"
        f"Content-Transfer-Encoding: 8bit\n\n<p>{escape(texts[1])}</p>\n--x--\n"
    )
    archive = {"inner/letter.docx": document, "inner/letter.txt": texts[2].encode()}
    message = outlook_files.message(
        outlook_files.text(0x001A, "IPM.Note"),
        outlook_files.text(0x0037, "rash"),
        outlook_files.text(0x1000, texts[3]),
        outlook_files.attachment(
            0,
            (outlook_files.stream(0x3701, 0x0102), texts[4].encode()),
            outlook_files.text(0x3707, "letter.txt"),
        ),
    )
    return {
        "letter.docx": document,
        "letter.rtf": rtf_files.of_text(texts[0]),
        "letter.html": f"<title>x</title><h1>Case</h1><p>{escape(texts[0])}</p><p>{escape(texts[1])}".encode(),
        "letter.pdf": pdf_files.of_text(*pages),
        "letter.eml": mail.encode(),
        "letter.msg": outlook_files.compound(message),
        "letters.zip": word_files.zipped(archive),
        "slides.pptx": slide_files.presentation_of(*map(escape, texts[:3])),
        **({"letter.png": picture_of(texts[0][:45], texts[1][:45])} if HAS_READER else {}),
    }


def _printable(text: str) -> str:
    # Lines of 90 characters, 50 a page, in the signs that the font has.
    words = text.encode("cp1252", "ignore").decode("cp1252").split()
    line = " ".join(words)
    return "\n".join(line[start : start + 90] for start in range(0, min(len(line), 4500), 90))


def case_reports(texts: Sequence[str]) -> dict[str, bytes]:
    given = {"H.1": texts[0][:19_000]}
    r2 = invent("r2", 3, given=given).xml
    return {
        "reports-r3.xml": invent("r3", 3, given=given).data,
        "reports-r2.xml": f"{R2_DOCTYPE}\n{r2}".encode(),
    }


def full_files() -> dict[str, bytes]:
    """Return files with another word in every place that can hold one."""
    numbers = itertools.count()

    def word() -> str:
        return f"Orvik{next(numbers)}"

    return {
        "full.docx": word_files.zipped(word_files.hostile(word)),
        "full.xlsx": word_files.zipped(excel_files.hostile(word)),
        "full.rtf": rtf_files.hostile(word, word),
        "full.html": html_files.hostile(word, word).encode(),
        "full.pdf": pdf_files.hostile(word, word),
    }
