"""Make the corpora of `configs/default.toml` from public downloads and the marks in `narratives/`.

    python scripts/prepare_training_data.py DOWNLOADS... [--out runs] [--partial]
    python scripts/prepare_training_data.py --strip ANNOTATED.jsonl MARKS.jsonl
    python scripts/prepare_training_data.py --list CARRIERS.jsonl.gz LIST.tsv

DOWNLOADS are folders or files. These are read, also inside zip files. All others are ignored.

{sources}
- JSON Lines of any of these narratives (*.jsonl, *.jsonl.gz), each line with "id" and "text".

A narrative is taken if its hash is that of the marks, so the order and the age of the downloads do not
matter. The first form counts what is missing or has another text, and does not write a corpus that lacks
documents. With --partial it writes what it found. The other two forms take the texts out again.

Exit status: 0 all corpora written. 1 documents are missing. 2 refused.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import json
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from lxml import etree

NARRATIVES = Path(__file__).resolve().parent.parent / "narratives"
YEARS = (*range(1990, 2007), 2021, 2022)
SOURCES = f"""\
- VAERS: {YEARS[0]}VAERSDATA.csv to 2006VAERSDATA.csv, 2021VAERSDATA.csv and 2022VAERSDATA.csv, with
  NonDomesticVAERSDATA.csv for reports from abroad. https://vaers.hhs.gov/data/datasets.html
- MTSamples: mtsamples.csv. https://www.kaggle.com/datasets/tboyle10/medicaltranscriptions
- PsyTAR: PsyTAR_dataset.xlsx, or its sheet "Sample" as psytar.csv.
  https://www.askapatient.com/research/pharmacovigilance/corpus-ades-psychiatric-medications.asp
- MEDDOCAN, for the studies that name it: meddocan.zip. https://doi.org/10.5281/zenodo.4279323"""
EXPECTED = (*(f"{year}VAERSDATA.csv" for year in YEARS), "mtsamples.csv", "PsyTAR_dataset.xlsx or psytar.csv")
MARKED = {
    "adr-train": "adr-train-marks.jsonl",
    "adr-dev": "adr-dev-marks.jsonl",
    "vaers-marked": "vaers-marks.jsonl",
}
CARRIERS = ("vaers_1990_2006_long", "vaers_1990_2006_short", "vaers_2020_2021", "mtsamples", "psytar")
SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
Row = dict[str, str]


def hash_of(text: str) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def number_of(doc_id: str) -> str:
    """Return an id without the zeros that some years of VAERS put before a number."""
    return re.sub(r"-0+(?=\d)", "-", doc_id)


def read_table(stream: IO[bytes]) -> Iterator[Row]:
    """Read the rows of a CSV file, bytes as Latin-1 characters."""
    csv.field_size_limit(2**31 - 1)
    with io.TextIOWrapper(stream, encoding="latin-1", newline="") as text:
        rows = csv.DictReader(text)
        rows.fieldnames = [name.removeprefix("ï»¿").strip() for name in rows.fieldnames or ()]
        yield from rows


def read_sheet(stream: IO[bytes], name: str) -> Iterator[Row]:
    """Read the rows of one sheet of an Excel workbook, whose first row names the columns."""
    book = zipfile.ZipFile(io.BytesIO(stream.read()))
    links = {
        link.get("Id"): link.get("Target")
        for link in etree.fromstring(book.read("xl/_rels/workbook.xml.rels"))
    }
    sheets = etree.fromstring(book.read("xl/workbook.xml")).iter(SHEET + "sheet")
    key = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
    path = next(links[sheet.get(key)] for sheet in sheets if sheet.get("name") == name)
    shared = etree.fromstring(book.read("xl/sharedStrings.xml")).iter(SHEET + "si")
    texts = ["".join(item.itertext(SHEET + "t")) for item in shared]
    columns: Row = {}
    for row in etree.fromstring(book.read("xl/" + path.removeprefix("/xl/"))).iter(SHEET + "row"):
        cells = {}
        for cell in row.iter(SHEET + "c"):
            value, letters = cell.find(SHEET + "v"), cell.get("r").rstrip("0123456789")
            if value is not None:
                cells[letters] = texts[int(value.text)] if cell.get("t") == "s" else value.text
        if columns:
            yield {columns[letters]: text for letters, text in cells.items() if letters in columns}
        columns = columns or cells


def decode(text: str) -> list[str]:
    """Return the readings of a cell, stripped: VAERS is Latin-1, copies may be Windows-1252 or UTF-8."""
    readings = [text]
    for encoding in ("utf-8", "cp1252"):
        try:
            readings.append(text.encode("latin-1").decode(encoding))
        except UnicodeError:
            continue
    return [reading.strip() for reading in readings]


def vaers_texts(rows: Iterable[Row]) -> Iterator[tuple[str, list[str]]]:
    """Return the id and the possible texts of each report."""
    for row in rows:
        yield f"vaers-{row['VAERS_ID'].strip()}", decode(row["SYMPTOM_TEXT"] or "")


def mtsamples_texts(rows: Iterable[Row]) -> Iterator[tuple[str, list[str]]]:
    """Return the id and the possible texts of each transcription; the ids count the rows from 1."""
    for number, row in enumerate(rows, start=1):
        yield f"mts-{number}", decode(row["transcription"] or "")


def psytar_texts(rows: Iterable[Row]) -> Iterator[tuple[str, list[str]]]:
    """Return the id and the possible texts of each review: side effects and comment, if it has them."""
    for row in rows:
        given = [row.get(column) or "" for column in ("side-effect", "comment")]
        parts = [part for part in given if part.strip() not in ("", "None")]
        both = "\n".join(parts), "\n".join(part.strip() for part in parts)
        yield f"psytar-{row.get('drug_id')}", [reading for text in both for reading in decode(text)]


def line_texts(stream: IO[bytes]) -> Iterator[tuple[str, list[str]]]:
    """Return the id and the text of each JSON line that has both."""
    for line in map(json.loads, stream):
        if isinstance(line.get("text"), str):
            yield str(line.get("id")), [line["text"]]


READERS: dict[str, Callable[[IO[bytes]], Iterator[tuple[str, list[str]]]]] = {
    r"(\d{4}|nondomestic)vaersdata\.csv": lambda stream: vaers_texts(read_table(stream)),
    r"mtsamples.*\.csv": lambda stream: mtsamples_texts(read_table(stream)),
    r"psytar.*\.csv": lambda stream: psytar_texts(read_table(stream)),
    r"psytar.*\.xlsx": lambda stream: psytar_texts(read_sheet(stream, "Sample")),
    r".*\.jsonl": line_texts,
    r".*\.jsonl\.gz": lambda stream: line_texts(gzip.GzipFile(fileobj=stream)),
}


def open_downloads(paths: Iterable[Path]) -> Iterator[tuple[str, IO[bytes]]]:
    """Open each file of files, folders and zip files; the name is that in its folder or zip file."""
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.suffix.lower() == ".zip":
                with zipfile.ZipFile(file) as unzipped:
                    for member in unzipped.infolist():
                        if not member.is_dir():
                            yield member.filename, unzipped.open(member)
            elif file.is_file():
                with file.open("rb") as stream:
                    yield str(file), stream


@dataclass
class Found:
    """What the downloads contain of the wanted narratives."""

    texts: dict[str, str] = field(default_factory=dict)
    """By hash."""
    ids: set[str] = field(default_factory=set)
    """All ids met, without zeros before the number."""
    n_rows: Counter[str] = field(default_factory=Counter)
    """By file name."""
    meddocan: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {"train": [], "dev": []})


def find(paths: Iterable[Path], wanted: set[str]) -> Found:
    """Look up the narratives with the wanted hashes."""
    found = Found()
    for name, stream in open_downloads(paths):
        file = Path(name)
        part = re.search(r"meddocan/(train|dev)/xml/[^/]+\.xml$", file.as_posix(), re.IGNORECASE)
        if part:
            found.meddocan[part[1].lower()].append(read_meddocan(stream, file.stem))
        read = next(
            (read for pattern, read in READERS.items() if re.fullmatch(pattern, file.name.lower())), None
        )
        for doc_id, texts in read(stream) if read else ():
            found.n_rows[file.name] += 1
            found.ids.add(number_of(doc_id))
            for text in texts:
                key = hash_of(text)
                if key in wanted:
                    found.texts[key] = text
                    break
    return found


def read_meddocan(stream: IO[bytes], doc_id: str) -> dict[str, Any]:
    """Read a document of MEDDOCAN with its own types; the text is as long as the offsets say."""
    root = etree.parse(stream).getroot()
    tags = root.find("TAGS")
    spans = [
        {"start": int(tag.get("start")), "end": int(tag.get("end")), "type": tag.get("TYPE")} for tag in tags
    ]
    spans.sort(key=lambda span: (span["start"], span["end"]))
    return {"id": doc_id, "text": root.findtext("TEXT"), "spans": spans}


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read JSON Lines, also gzipped."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def read_list(path: Path) -> list[dict[str, Any]]:
    """Read the ids and hashes of carriers."""
    rows = (line.split("\t") for line in path.read_text("utf-8").splitlines())
    return [{"id": doc_id, "sha256": digest} for doc_id, digest in rows]


def write_lines(path: Path, lines: Iterable[dict[str, Any]]) -> None:
    """Write JSON Lines, gzipped if the name says so; the same lines give the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def join(marks: Iterable[dict[str, Any]], texts: dict[str, str]) -> list[dict[str, Any]]:
    """Return the marks whose texts were found, with the text in the place of the hash."""
    return [
        {
            ("text" if key == "sha256" else key): (texts[value] if key == "sha256" else value)
            for key, value in mark.items()
        }
        for mark in marks
        if mark["sha256"] in texts
    ]


def prepare(paths: list[Path], out: Path, *, partial: bool) -> bool:
    """Write the corpora and print a table of what was found.

    Returns:
        Whether all documents of all corpora were found.
    """
    lists = {
        f"carriers/{name}.jsonl.gz": read_list(NARRATIVES / "carriers" / f"{name}.tsv") for name in CARRIERS
    }
    carriers = (mark["id"] for listed in lists.values() for mark in listed)
    place = {doc_id: number for number, doc_id in enumerate(carriers)}
    # In the order of the carriers, as the packaged model was trained.
    marks = {
        f"{name}.jsonl": sorted(read_lines(NARRATIVES / file), key=lambda mark: place.get(mark["id"], -1))
        for name, file in MARKED.items()
    }
    corpora = {**marks, **lists}
    found = find(paths, {mark["sha256"] for listed in corpora.values() for mark in listed})
    for name in sorted(found.n_rows):
        print(f"read  {name}: {found.n_rows[name]} narratives")
    print(f"\n{'corpus':40} {'in all':>7} {'found':>7} {'other text':>11} {'missing':>8}")
    complete = True
    for name, listed in corpora.items():
        docs = join(listed, found.texts)
        lost = [mark for mark in listed if mark["sha256"] not in found.texts]
        n_other = sum(number_of(mark["id"]) in found.ids for mark in lost)
        complete &= not lost
        written = bool(docs) and (partial or not lost)
        if written:
            write_lines(out / name, docs)
        counts = f"{len(listed):7} {len(docs):7} {n_other:11} {len(lost) - n_other:8}"
        print(f"{name:40} {counts}{'' if written else '  not written'}")
    for part, docs in found.meddocan.items():
        if docs:
            write_lines(out / "meddocan" / f"{part}.jsonl", sorted(docs, key=lambda doc: doc["id"]))
            print(f"{f'meddocan/{part}.jsonl':40} {len(docs):7} {len(docs):7}")
    if not complete:
        read = {name.lower() for name in found.n_rows}
        absent = [name for name in EXPECTED if not read.intersection(name.lower().split(" or "))]
        print(f"\nDocuments are missing. Public files that were not read: {', '.join(absent) or 'none'}.")
        print("Where they are public:\n" + SOURCES)
    return complete


def strip_texts(annotated: Path, marks: Path) -> None:
    """Write the marks of annotated documents without their texts."""
    lines = []
    for doc in read_lines(annotated):
        spans = [{key: span[key] for key in ("start", "end", "type")} for span in doc["spans"]]
        meta = {"meta": doc["meta"]} if "meta" in doc else {}
        lines.append({"id": doc["id"], "sha256": hash_of(doc["text"]), "spans": spans, **meta})
    write_lines(marks, lines)


def list_carriers(carriers: Path, listed: Path) -> None:
    """Write the ids and hashes of narratives."""
    rows = [f"{doc['id']}\t{hash_of(doc['text'])}\n" for doc in read_lines(carriers)]
    listed.write_text("".join(rows), "utf-8")


def main() -> int:
    """Run one of the three forms."""
    parser = argparse.ArgumentParser(
        description=__doc__.format(sources=SOURCES), formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("downloads", nargs="*", type=Path, metavar="DOWNLOADS")
    parser.add_argument(
        "--out", type=Path, default=Path("runs"), help="folder of the corpora (default: runs)"
    )
    parser.add_argument("--partial", action="store_true", help="write corpora that lack documents")
    files = {"nargs": 2, "type": Path}
    parser.add_argument("--strip", **files, metavar=("ANNOTATED", "MARKS"), help="write marks without texts")
    parser.add_argument(
        "--list", **files, metavar=("CARRIERS", "LIST"), help="write ids and hashes of carriers"
    )
    given = parser.parse_args()
    if given.strip:
        strip_texts(*given.strip)
        return 0
    if given.list:
        list_carriers(*given.list)
        return 0
    if not given.downloads:
        parser.error("give the folder of the downloads")
    missing = [str(path) for path in given.downloads if not path.exists()]
    if missing:
        parser.error(f"{', '.join(missing)}: not found")
    try:
        complete = prepare(given.downloads, given.out, partial=given.partial)
    except NotImplementedError:
        parser.error("a zip file has a compression that Python does not read. Unpack it and give the folder")
    return 0 if complete or given.partial else 1


if __name__ == "__main__":
    sys.exit(main())
