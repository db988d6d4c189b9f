"""`inverse-deid mask` on archives: every file in them by its format, and nothing else of them."""

import io
import json
import random
import struct
import tempfile
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from excel_files import book, inline, sheet
from fake_maskers import CANARY
from icsr_messages import Invention, r3_batch, r3_case
from pdf_files import of_text
from word_files import paragraph, simple, zipped

from inverse_deid.formats.containers import archive, parts

NOTE = f"{CANARY} had urticaria on 12 May."
MASKED = "PHI had urticaria on PHI."


def pack(members: dict[str, bytes | str], **more: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        archive.comment = more.get("comment", b"")
    return packed.getvalue()


def unpack(path: Path) -> dict[str, bytes]:
    """Every file of an archive, also of archives in it."""
    return dict(unpack_bytes(path.read_bytes()))


def unpack_bytes(data: bytes, before: str = "") -> dict[str, bytes]:
    found = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        for name in archive.namelist():
            content = archive.read(name)
            found[before + name] = content
            if content.startswith(b"PK"):
                found |= unpack_bytes(content, f"{before}{name}/")
    return found


def parquet(rows: int) -> bytes:
    target = io.BytesIO()
    pq.write_table(pa.table({"id": [str(n) for n in range(rows)], "text": [NOTE] * rows}), target)
    return target.getvalue()


def test_every_file_is_masked_by_its_format(command, given, out, tmp_path):
    table = "id,name,text\n" + "".join(f"{n},{CANARY},{NOTE}\n" for n in range(700))
    members = {
        "notes/a.txt": NOTE,
        "b.csv": table,
        "c.jsonl": json.dumps({"id": 7, "text": NOTE, "name": CANARY}) + "\n",
        "letters/d.docx": zipped(simple(paragraph(NOTE))),
        "e.parquet": parquet(3),
        "f.xml": r3_batch([r3_case(Invention(random.Random(1)))], Invention(random.Random(2))),
        "deep.zip": pack({"g.txt": NOTE, "deeper.zip": pack({"h.txt": NOTE})}),
        "empty.csv": "id,text\n",
        "i.json": json.dumps([{"id": 9, "text": NOTE, CANARY: CANARY}]),
        "j.html": f"<p title='{CANARY}'>{NOTE}</p>",
        "k.rtf": "{\\rtf1 " + NOTE + "}",
        "l.pdf": of_text(NOTE),
        "m.xlsx": zipped(book(sheet(inline("A1", "text"), inline("A2", NOTE)))),
    }
    (given / "all.zip").write_bytes(pack(members))
    report = tmp_path / "report.json"
    result = command("mask", given, "--out", out, "--explain", "--run-report", report)
    assert result.status == 0, result.stderr
    found = unpack(out / "all.zip")
    inner = {"deep.zip/g.txt", "deep.zip/deeper.zip", "deep.zip/deeper.zip/h.txt"}
    assert {name for name in found if "docx/" not in name and "xlsx/" not in name} == set(members) | inner
    assert found["notes/a.txt"].decode() == MASKED
    assert found["deep.zip/deeper.zip/h.txt"].decode() == MASKED
    assert found["b.csv"].decode().splitlines() == ["id,text", *(f"{n},{MASKED}" for n in range(700))]
    assert pq.read_table(io.BytesIO(found["e.parquet"]))["text"].to_pylist() == [MASKED] * 3
    assert found["empty.csv"].decode() == "id,text\n"
    assert b"PHI" in found["letters/d.docx/word/document.xml"]
    assert b"PHI" in found["m.xlsx/xl/worksheets/sheet1.xml"]
    assert json.loads(found["i.json"]) == [{"id": 9, "text": MASKED}]
    assert found["l.pdf"].startswith(b"%PDF")
    for name, data in found.items():
        assert CANARY.encode() not in data, name
    assert "all.zip/letters/d.docx" in (out / "all.zip.explain.jsonl").read_text()
    (noted,) = json.loads(report.read_text())["files"]
    assert noted["case_reports"]["f.xml"]["n_cases"] == 1


def hostile_archive() -> bytes:
    """Canaries where an archive can hold text beside its files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        info = zipfile.ZipInfo("a.txt", (2020, 5, 12, 9, 30, 0))
        info.comment = f"comment {CANARY}".encode()
        info.extra = struct.pack("<HH", 0x7A7A, 10) + CANARY.encode()
        info.external_attr = 0o100600 << 16
        archive.writestr(info, "well\n")
        for name in ("__MACOSX/._a.txt", "sub/.DS_Store", "Thumbs.db", "._b.txt"):
            archive.writestr(name, CANARY)
        archive.writestr(f"{CANARY}/", "")
        archive.comment = f"archive {CANARY}".encode()
    return CANARY.encode() + packed.getvalue()


def test_comments_in_zips_are_counted(command, given, out):
    packed, word = io.BytesIO(), simple(paragraph(NOTE))
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("word.docx", zipped(word, comment=CANARY.encode()))
        info = zipfile.ZipInfo("a.txt")
        info.comment = CANARY.encode()
        archive.writestr(info, NOTE)
        archive.comment = CANARY.encode()
    (given / "a.zip").write_bytes(packed.getvalue())
    result = command("mask", given, "--out", out)
    assert result.status == 0, result.stderr
    assert f"comment in a zip ({len(word) + 3})" in result.stderr
    assert CANARY.encode() not in (out / "a.zip").read_bytes()


def test_what_was_found_out_and_removed_inside_is_said_by_the_run(command, given, out, tmp_path):
    story = "Frau Zöllner had fever of 38.9 °C, 5 µg doses – “mild”."
    page = f"<p>{story}</p><img src=a><img src=b>"
    inner = pack({"c.html": page.encode("cp1252"), "d.jsonl": json.dumps({"text": "well"}).encode("utf-16")})
    members = {"a.txt": story.encode("cp1252"), "b/b.txt": story.encode("utf-16"), "e.zip": inner}
    (given / "cases.zip").write_bytes(pack(members))
    (given / "alone.txt").write_bytes(story.encode("cp1252"))
    report = tmp_path / "report.json"
    result = command("mask", given, "--out", out, "--run-report", report)
    assert result.status == 0, result.stderr
    said = "utf-16-le with a byte-order mark (2 files); windows-1252 (3 files)"
    assert f"Read as: {said}" in result.stderr
    assert "Removed parts of files: attribute (2), image (2)" in result.stderr
    counts = json.loads(report.read_text())["total"]
    assert counts["read_as"] == {"utf-16-le with a byte-order mark": 2, "windows-1252": 3}
    assert counts["removed_parts"] == {"attribute": 2, "image": 2}
    files = unpack(out / "cases.zip")
    assert files["a.txt"] == files["b/b.txt"] == (out / "alone.txt").read_bytes()
    assert "µg doses – “mild”." in files["a.txt"].decode()


def test_nothing_of_an_archive_stays_but_its_files(command, given, out):
    (given / "a.zip").write_bytes(hostile_archive())
    result = command("mask", given, "--out", out)
    assert result.status == 0, result.stderr
    assert "file of the operating system (4)" in result.stderr
    data = (out / "a.zip").read_bytes()
    assert CANARY.encode() not in data
    with zipfile.ZipFile(out / "a.zip") as archive:
        (info,) = archive.infolist()
        assert (
            info.filename,
            info.date_time,
            info.extra,
            info.comment,
            info.external_attr,
            info.create_system,
        ) == (
            "a.txt",
            (1980, 1, 1, 0, 0, 0),
            b"",
            b"",
            0o600 << 16,
            0,
        )


def test_names_in_archives_are_numbered_on_request(command, given, out, tmp_path):
    inner = pack({f"{CANARY}.csv": f"id,text\n{CANARY},well\n"})
    members = {f"{CANARY}/{CANARY}.txt": NOTE, f"x/{CANARY}.zip": inner, f"{CANARY}.strange": NOTE}
    (given / f"{CANARY}.zip").write_bytes(pack(members))
    listed, report = tmp_path / "names.csv", tmp_path / "report.json"
    options = ("--rename", listed, "--explain", "--run-report", report)
    result = command("mask", given, "--out", out, *options)
    assert result.status == 1
    assert CANARY not in report.read_text()
    assert set(unpack(out / "document-0001.zip")) == {
        "part-0001.txt",
        "part-0002.zip",
        "part-0002.zip/part-0003.csv",
    }
    for path in out.rglob("*"):
        data = b"".join(unpack(path).values()) if path.suffix == ".zip" else path.read_bytes()
        assert CANARY.encode() not in data + path.name.encode()
    ids = [
        json.loads(line)["id"] for line in (out / "document-0001.zip.explain.jsonl").read_text().splitlines()
    ]
    assert ids == ["document-0001.zip/part-0001.txt", "case-0001"]
    assert f"part,document-0001.zip/{CANARY}/{CANARY}.txt,part-0001" in listed.read_text()


@pytest.mark.parametrize("n_workers", [1, 3])
def test_what_cannot_be_masked_is_left_out_and_listed(command, given, out, n_workers, monkeypatch):
    broken = bytearray(pack({"broken.csv": "id,text\n" + f"1,{NOTE}\n" * 3000}))
    place = broken.index(b"broken.csv") + 300
    broken[place : place + 8] = b"\0" * 8
    members = {
        "good.txt": "well",
        "image.png": CANARY.encode(),
        "old.doc": CANARY.encode(),
        "a.docx": b"no Word file " + CANARY.encode(),
        "lines.jsonl": json.dumps({"id": 1, "text": NOTE}) + f"\n{CANARY}\n",
        "packed.txt.gz": CANARY.encode(),
        "../out.txt": CANARY.encode(),
        "/root.txt": CANARY.encode(),
        "C:/windows.txt": CANARY.encode(),
        "GOOD.TXT": CANARY.encode(),
        "inner.zip": pack({"x.txt": "better", "y.bin": CANARY.encode()}),
        "b.zip": bytes(broken),
    }
    (given / "a.zip").write_bytes(pack(members))
    result = command("mask", given, "--out", out)
    assert result.status == 1
    assert CANARY not in result.stderr
    found = unpack(out / "a.zip")
    assert set(found) == {"good.txt", "lines.jsonl", "inner.zip", "inner.zip/x.txt"}
    assert json.loads(found["lines.jsonl"])["text"] == MASKED
    assert b".png" not in (out / ".inverse-deid.journal").read_bytes()
    failures = "\n".join(line for line in result.stderr.splitlines() if line.startswith("inverse-deid:"))
    for name in set(members) - {"good.txt", "inner.zip"}:
        assert name in failures, failures
    assert "file 11 (inner.zip)" in failures
    assert "file 2 (y.bin)" in failures


@pytest.mark.parametrize("limit", [20, 2000], ids=["before masking", "after masking"])
def test_a_large_part_is_left_out_and_never_on_a_disk(command, given, out, monkeypatch, limit):
    monkeypatch.setattr(archive, "MAX_PART_BYTES", limit)
    monkeypatch.setattr(parts, "MAX_PART_BYTES", limit)
    monkeypatch.setattr(tempfile, "SpooledTemporaryFile", None)
    long_lines = "".join(json.dumps({"id": n, "text": "A b " * 20}) + "\n" for n in range(19))
    (given / "a.zip").write_bytes(pack({"a.jsonl": long_lines, "b.txt": "well"}))
    result = command("mask", given, "--out", out)
    assert result.status == 1
    assert set(unpack(out / "a.zip")) == {"b.txt"}
    assert "is larger than 0 MiB. Mask it as a file of its own" in result.stderr


def test_links_and_encrypted_files_are_left_out(command, given, out):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.txt", "well")
        link = zipfile.ZipInfo("link.txt")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("secret.txt", "well")
    data = bytearray(packed.getvalue())
    for mark, flag in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        place = data.rindex(mark)
        data[place + flag] |= 1
    (given / "a.zip").write_bytes(data)
    result = command("mask", given, "--out", out)
    assert result.status == 1
    assert set(unpack(out / "a.zip")) == {"a.txt"}
    assert "link.txt" in result.stderr
    assert "password" in result.stderr


def nest(depth: int) -> bytes:
    data = pack({"a.txt": "well"})
    for _ in range(depth):
        data = pack({"a.zip": data})
    return data


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (pack({"a.txt": b"\0" * 5_000_000}), "unpacks to far more"),
        (pack({f"{n}.txt": b"" for n in range(10_001)}), "more than"),
        (pack({}), "no files"),
        (b"PK\x03\x04 no zip", "damaged"),
        (pack({"a.txt": "well"})[:-30], "damaged"),
        (b"", "damaged"),
        (nest(9), "inside more than"),
    ],
)
def test_archives_that_do_harm_or_are_damaged_are_refused(command, given, out, data, words):
    (given / "a.zip").write_bytes(data)
    result = command("mask", given, "--out", out)
    assert result.status == 2, result.stderr
    assert words in result.stderr
    assert "Traceback" not in result.stderr
    assert not (out / "a.zip").exists()


def test_archives_in_an_archive_share_its_limits(command, given, out, monkeypatch):
    from inverse_deid.formats import nesting

    monkeypatch.setattr(nesting.Budget.__init__, "__defaults__", (6, 10_000))
    members = {f"{n}.zip": pack({f"{m}.txt": "well" for m in range(3)}) for n in range(2)}
    (given / "a.zip").write_bytes(pack(members))
    result = command("mask", given, "--out", out)
    assert result.status == 1
    assert set(unpack(out / "a.zip")) == {"0.zip", "0.zip/0.txt", "0.zip/1.txt", "0.zip/2.txt"}
    assert "file 2 (1.zip)" in result.stderr


def test_masking_is_the_same_each_time(command, given, out, tmp_path):
    (given / "a.zip").write_bytes(pack({"b.txt": NOTE, "c.csv": f"id,text\n1,{NOTE}\n"}))
    for folder in (out, tmp_path / "again"):
        assert command("mask", given, "--out", folder).status == 0
    assert (out / "a.zip").read_bytes() == (tmp_path / "again" / "a.zip").read_bytes()


@pytest.mark.parametrize("n", range(40))
def test_damaged_archives_give_a_clear_error_or_masked_text(command, given, out, n):
    data = bytearray(pack({"b.txt": NOTE, "c.csv": f"id,text\n1,{NOTE}\n"}, comment=CANARY.encode()))
    for step in range(3):
        data[(n * 7919 + step * 104729) % len(data)] ^= 1 << (n % 8)
    (given / "a.zip").write_bytes(data[: len(data) - (n % 5) * 9])
    result = command("mask", given, "--out", out)
    assert result.status in (0, 1, 2)
    assert CANARY not in result.stderr.replace(CANARY.lower(), "")
    assert "Traceback" not in result.stderr
    if (out / "a.zip").exists():
        assert CANARY.encode() not in b"".join(unpack(out / "a.zip").values())
