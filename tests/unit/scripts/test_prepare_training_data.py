"""Marks without texts find their narratives again in files of the public layouts. All texts are invented."""

import csv
import gzip
import io
import json
import sys
import zipfile
from pathlib import Path

import prepare_training_data as prepare
import pytest

DANISH = "Patient f\u00f8lte sig d\u00e5rlig 3/4/95.  Itching."
TEXTS = {
    "vaers-0031207": "Pt recv vax 2/3/91;  fever in PM.",
    "vaers-212040": DANISH,
    "vaers-1500001": "Seen on 5 May \u2013 rash.",
    "mts-2": "SUBJECTIVE:,  Seen by Dr. Orvik on Monday.",
    "psytar-zoloft.1": "dry mouth \nI took it since May.",
    "psytar-zoloft.2": "I took it since June.",
}
ROWS = {
    "1991VAERSDATA.csv": (
        "latin-1",
        [{"VAERS_ID": "0031207", "SYMPTOM_TEXT": " Pt recv vax 2/3/91;  fever in PM. "}],
    ),
    "2004VAERSDATA.csv": ("latin-1", [{"VAERS_ID": "212040", "SYMPTOM_TEXT": DANISH + " "}]),
    "2021VAERSDATA.csv": ("cp1252", [{"VAERS_ID": "1500001", "SYMPTOM_TEXT": TEXTS["vaers-1500001"]}]),
    "mtsamples.csv": (
        "utf-8",
        [{"": "0", "transcription": ""}, {"": "1", "transcription": TEXTS["mts-2"] + "  "}],
    ),
    "psytar.csv": (
        "utf-8-sig",
        [
            {"drug_id": "zoloft.1", "side-effect": "dry mouth ", "comment": "I took it since May. "},
            {"drug_id": "zoloft.2", "side-effect": "None", "comment": "I took it since June."},
        ],
    ),
}
CORPORA = {
    "adr-train": ["vaers-0031207"],
    "adr-dev": ["vaers-212040"],
    "vaers-marked": ["mts-2", "vaers-1500001"],
}
SPAN = {"start": 0, "end": 4, "type": "DATE"}


def csv_bytes(name):
    encoding, rows = ROWS[name]
    table = io.StringIO(newline="")
    writer = csv.DictWriter(table, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    return table.getvalue().encode(encoding)


def workbook(rows):
    """An Excel workbook whose second sheet, Sample, has the rows, with shared strings and numbers."""
    columns = [*rows[0], "age"]
    cells = [columns, *([*row.values(), 40 + n] for n, row in enumerate(rows))]
    strings, lines = [], []
    for number, line in enumerate(cells, start=1):
        parts = []
        for letter, value in zip("ABCD", line, strict=True):
            if isinstance(value, int):
                parts.append(f'<c r="{letter}{number}"><v>{value}</v></c>')
            else:
                parts.append(f'<c r="{letter}{number}" t="s"><v>{len(strings)}</v></c>')
                strings.append(f"<si><r><t>{value[:3]}</t></r><r><t>{value[3:]}</t></r></si>")
        lines.append(f"<row>{''.join(parts)}</row>")
    main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    relation = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
    sheets = '<sheet name="License" sheetId="3" r:id="rId1"/><sheet name="Sample" sheetId="1" r:id="rId3"/>'
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as book:
        book.writestr("xl/workbook.xml", f"<workbook {main} {relation}><sheets>{sheets}</sheets></workbook>")
        links = '<Relationship Id="rId3" Target="worksheets/sheet7.xml"/><Relationship Id="rId1" Target="worksheets/sheet1.xml"/>'
        book.writestr("xl/_rels/workbook.xml.rels", f"<Relationships>{links}</Relationships>")
        book.writestr("xl/sharedStrings.xml", f"<sst {main}>{''.join(strings)}</sst>")
        book.writestr(
            "xl/worksheets/sheet7.xml",
            f"<worksheet {main}><sheetData>{''.join(lines)}</sheetData></worksheet>",
        )
    return data.getvalue()


@pytest.fixture(autouse=True)
def narratives(tmp_path, monkeypatch):
    """Marks and lists of the invented narratives in the place of those of the project."""
    folder = tmp_path / "narratives"
    (folder / "carriers").mkdir(parents=True)
    for corpus, ids in CORPORA.items():
        lines = [{"id": i, "sha256": prepare.hash_of(TEXTS[i]), "spans": [SPAN]} for i in ids]
        (folder / prepare.MARKED[corpus]).write_text("".join(json.dumps(line) + "\n" for line in lines))
    kinds = {
        "mtsamples": "mts",
        "psytar": "psytar",
        "vaers_1990_2006_short": "vaers-0",
        "vaers_1990_2006_long": "vaers-2",
        "vaers_2020_2021": "vaers-1",
    }
    for name, start in kinds.items():
        listed = [f"{i}\t{prepare.hash_of(text)}\n" for i, text in TEXTS.items() if i.startswith(start)]
        (folder / "carriers" / f"{name}.tsv").write_text("".join(listed))
    monkeypatch.setattr(prepare, "NARRATIVES", folder)
    return folder


@pytest.fixture
def downloads(tmp_path):
    folder = tmp_path / "downloads"
    folder.mkdir()
    for name in ROWS:
        (folder / name).write_bytes(csv_bytes(name))
    return folder


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["prepare_training_data.py", *map(str, arguments)])
    return prepare.main()


def read(path):
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in data.splitlines()]


def check_complete(out):
    for corpus, ids in CORPORA.items():
        docs = read(out / f"{corpus}.jsonl")
        assert sorted(doc["id"] for doc in docs) == sorted(ids)
        assert all(doc == {"id": doc["id"], "text": TEXTS[doc["id"]], "spans": [SPAN]} for doc in docs)
    carriers = [doc for path in (out / "carriers").iterdir() for doc in read(path)]
    assert {doc["id"]: doc["text"] for doc in carriers} == TEXTS


def test_public_tables_give_all_corpora(downloads, tmp_path, monkeypatch):
    assert run(monkeypatch, downloads, "--out", tmp_path / "out") == 0
    check_complete(tmp_path / "out")


def test_zip_files_and_a_workbook_give_all_corpora(downloads, tmp_path, monkeypatch):
    with zipfile.ZipFile(downloads / "AllVAERSDataCSVS.zip", "w") as zipped:
        for year in (1991, 2004, 2021):
            file = downloads / f"{year}VAERSDATA.csv"
            zipped.write(file, f"years/{file.name}")
            file.unlink()
    (downloads / "psytar.csv").unlink()
    (downloads / "PsyTAR_dataset.xlsx").write_bytes(workbook(ROWS["psytar.csv"][1]))
    assert run(monkeypatch, downloads, "--out", tmp_path / "out") == 0
    check_complete(tmp_path / "out")


def test_json_lines_of_the_narratives_give_the_same_bytes(downloads, tmp_path, monkeypatch):
    lines = "".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in reversed(TEXTS.items()))
    (tmp_path / "all.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    assert run(monkeypatch, downloads, "--out", tmp_path / "a") == 0
    assert run(monkeypatch, tmp_path / "all.jsonl.gz", "--out", tmp_path / "b") == 0
    files = {path.relative_to(tmp_path / "a"): path.read_bytes() for path in (tmp_path / "a").rglob("*.*")}
    assert files == {
        path.relative_to(tmp_path / "b"): path.read_bytes() for path in (tmp_path / "b").rglob("*.*")
    }
    assert len(files) == 8


def counts_of(printed, corpus):
    return next(line.split()[1:5] for line in printed.splitlines() if line.startswith(f"{corpus}.jsonl"))


def test_missing_and_changed_narratives_are_counted_and_not_written(downloads, tmp_path, monkeypatch, capsys):
    changed = csv_bytes("1991VAERSDATA.csv").replace(b"fever", b"fevers")
    (downloads / "1991VAERSDATA.csv").write_bytes(changed.replace(b"0031207", b"31207"))
    (downloads / "2021VAERSDATA.csv").unlink()
    assert run(monkeypatch, downloads, "--out", tmp_path / "out") == 1
    printed = capsys.readouterr().out
    assert counts_of(printed, "adr-train") == ["1", "0", "1", "0"]
    assert counts_of(printed, "adr-dev") == ["1", "1", "0", "0"]
    assert counts_of(printed, "vaers-marked") == ["2", "1", "0", "1"]
    assert "2021VAERSDATA.csv, 2022VAERSDATA.csv." in printed
    assert "1991VAERSDATA.csv, " not in printed.partition("not read:")[2]
    assert not any(text in printed for text in ("fever", "Orvik"))
    assert (tmp_path / "out" / "adr-dev.jsonl").exists()
    assert not (tmp_path / "out" / "vaers-marked.jsonl").exists()


def test_partial_writes_what_was_found(downloads, tmp_path, monkeypatch):
    (downloads / "2021VAERSDATA.csv").unlink()
    assert run(monkeypatch, downloads, "--out", tmp_path / "out", "--partial") == 0
    assert [doc["id"] for doc in read(tmp_path / "out" / "vaers-marked.jsonl")] == ["mts-2"]


def test_strip_and_list_leave_the_texts_out(tmp_path, monkeypatch):
    docs = [
        {"id": i, "text": text, "spans": [{**SPAN, "note": "x"}], "meta": {"era": "a"}}
        for i, text in TEXTS.items()
    ]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    assert run(monkeypatch, "--strip", tmp_path / "docs.jsonl", tmp_path / "marks.jsonl") == 0
    assert run(monkeypatch, "--list", tmp_path / "docs.jsonl", tmp_path / "list.tsv") == 0
    hashes = {i: prepare.hash_of(text) for i, text in TEXTS.items()}
    assert read(tmp_path / "marks.jsonl") == [
        {"id": i, "sha256": digest, "spans": [SPAN], "meta": {"era": "a"}} for i, digest in hashes.items()
    ]
    assert (tmp_path / "list.tsv").read_text() == "".join(f"{i}\t{digest}\n" for i, digest in hashes.items())


def test_meddocan_is_read_from_its_zip_file(downloads, tmp_path, monkeypatch):
    text = "Datos.\nNombre: Zora\u00f1a.\n"
    tag = '<NAME id="T1" start="15" end="21" text="Zora\u00f1a" TYPE="NOMBRE_SUJETO_ASISTENCIA" comment=""/>'
    xml = f"<?xml version='1.0' encoding='UTF-8'?>\n<MEDDOCAN><TEXT><![CDATA[{text}]]></TEXT><TAGS>{tag}</TAGS></MEDDOCAN>"
    with zipfile.ZipFile(downloads / "meddocan.zip", "w") as zipped:
        zipped.writestr("meddocan/dev/xml/S1.xml", xml.encode())
        zipped.writestr("meddocan/test/xml/S2.xml", xml.encode())
    assert run(monkeypatch, downloads, "--out", tmp_path / "out") == 0
    span = {"start": 15, "end": 21, "type": "NOMBRE_SUJETO_ASISTENCIA"}
    assert read(tmp_path / "out" / "meddocan" / "dev.jsonl") == [{"id": "S1", "text": text, "spans": [span]}]
    assert text[15:21] == "Zora\u00f1a"


def test_the_project_keeps_no_text_of_real_narratives():
    """The files of marks and lists have nothing but ids, hashes, offsets, types and the two words of `meta`."""
    folder = Path(__file__).parents[3] / "narratives"
    for name in prepare.MARKED.values():
        lines = list(read(folder / name))
        assert lines
        for line in lines:
            assert set(line) <= {"id", "sha256", "spans", "meta"}
            assert len(line["sha256"]) == 16
            assert all(set(span) == {"start", "end", "type"} for span in line["spans"])
            assert set(line.get("meta", {})) <= {"era", "stratum"}
            assert all(len(word) <= 9 for word in line.get("meta", {}).values())
    for name in prepare.CARRIERS:
        rows = prepare.read_list(folder / "carriers" / f"{name}.tsv")
        assert rows
        assert all(len(row["sha256"]) == 16 and len(row["id"]) < 22 for row in rows)
