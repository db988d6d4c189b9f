"""`inverse-deid mask` and `review` with PDF, RTF, HTML, Markdown, Word and Excel files."""

import gzip
import io
import json
import re
import sys
from datetime import date

import excel_files
import pypdfium2
import pytest
import word_files
from excel_files import workbook_of
from fake_maskers import CANARY
from hostile_files import numbered
from masked_folders import visible
from pdf_files import below, of_nested_forms, of_pages, of_text, shown
from review_stores import FACTS, KEY, review, store_of, user
from rtf_files import of_text as rtf_of
from test_real_pipeline import finish_within
from test_real_pipeline import start as start_real
from word_files import paragraph, simple, unpacked, zipped

from inverse_deid.core.child_process import LimitedProcess
from inverse_deid.formats.pdf.writing import _load_font
from inverse_deid.formats.records import ReadOptions
from inverse_deid.formats.registry import FORMATS
from inverse_deid.replacement.settings import CaseSettings
from inverse_deid.review.files.exporting import export_released
from inverse_deid.review.files.loading import LoadSettings
from inverse_deid.review.store.values import ReviewPolicy

FILES = {
    "a.pdf": of_text(f"seen by {CANARY}", "and well"),
    "b.rtf": rtf_of(f"seen by {CANARY}\nand well"),
    "c.html": f"<p title='{CANARY}'>seen by Zebu<b>lonova</b></p><p>and well</p>".encode(),
    "d.md": f"---\nauthor: {CANARY}\n---\n# seen\n<!-- {CANARY} -->\n[by](https://example.org/{CANARY})\n".encode(),
    "e.docx": zipped(simple(paragraph("seen by ", CANARY[:3], CANARY[3:]) + paragraph("and well"))),
    "f.xlsx": workbook_of(["id", "text", "age"], [1, f"seen by {CANARY}", 43], [2, "and well", 44]),
}
HEADER = "Quillfeather"
"""A word that is also the name of a column, which the summary may show."""
OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + CANARY.encode()
"""A file of an Office before 2007, or an encrypted one."""
MASKED = {
    "a.pdf": "seen by PHI\n\f\nand well",
    "b.rtf": "seen by PHI\nand well",
    "c.html": "seen by PHI\nand well",
    "d.md": "---\nauthor: PHI\n---\n# seen\n<!-- PHI -->\n[by](https://example.org/PHI)\n",
    "e.docx": "seen by PHI\nand well",
    "f.xlsx": "seen by PHI\nand well",
}
KINDS = {
    "a.pdf": "pdf",
    "b.rtf": "rtf",
    "c.html": "html",
    "d.md": "text",
    "e.docx": "docx",
    "f.xlsx": "xlsx",
}


def text_of(path):
    kind = FORMATS[KINDS[path.name]]
    records = kind.open(io.BytesIO(path.read_bytes()), ReadOptions(), "x").records()
    return "\n".join(record.doc.text for record in records)


def test_files_of_a_folder_are_masked_and_what_was_removed_is_said(command, given, out, tmp_path):
    (given / "sub").mkdir()
    others = {
        "H.DOCX": FILES["e.docx"],
        "i.xlsx.gz": gzip.compress(FILES["f.xlsx"]),
        "sub/j.docx": zipped(word_files.hostile(numbered()[0])),
        "sub/k.xlsx": zipped(excel_files.hostile(numbered(HEADER)[0])),
    }
    for name, data in (FILES | others).items():
        (given / name).write_bytes(data)
    report = tmp_path / "report.json"
    result = command("mask", given, "--out", out, "--explain", "--run-report", report)
    assert result.status == 0, result.stderr
    written = [name.removesuffix(".gz") for name in FILES | others]
    assert visible(out) == sorted([*written, *(f"{name}.explain.jsonl" for name in written)])
    assert {name: text_of(out / name) for name in FILES} == MASKED
    for name in written:
        data = (out / name).read_bytes()
        parts = unpacked(data) if data.startswith(b"PK") else {}
        explained = (out / f"{name}.explain.jsonl").read_bytes()
        everything = b"".join([data, explained, *parts.values(), *map(str.encode, parts)])
        assert not any(word.encode() in everything for word in (CANARY, HEADER))
    assert re.search(r"Removed parts of files: .*macro \(\d\).*tooltip \(1\)", result.stderr, re.DOTALL)
    assert re.search(r"dropped: .*age", result.stderr)
    noted = json.loads(report.read_text())
    assert noted["total"]["removed_parts"]["name of a range"] == 1
    assert noted["total"]["removed_parts"]["sheet without the text column"] == 1
    kinds = [*KINDS.values(), "docx", "xlsx", "docx", "xlsx"]
    assert sorted(file["format"] for file in noted["files"]) == sorted(kinds)
    assert CANARY not in result.stderr + report.read_text()


def test_files_without_text_are_named_and_the_others_finished(command, given, out):
    strokes = "".join(  # ink that nobody can read
        f"{(37 * n) % 550} {(91 * n) % 800} m {(37 * n) % 550 + 4} {(91 * n) % 800 + 9} l S "
        for n in range(700)
    )
    (given / "scan.pdf").write_bytes(of_pages(shown(below(CANARY)), strokes, strokes))
    (given / "cut.rtf").write_bytes(FILES["b.rtf"][:-1])
    (given / "cut.docx").write_bytes(FILES["e.docx"][:-30])
    (given / "cut.xlsx").write_bytes(FILES["f.xlsx"][:-30])
    (given / "old.docx").write_bytes(OLD)
    (given / "old.xlsx").write_bytes(OLD)
    (given / "empty.html").write_bytes(b"<script>x</script>")
    (given / "good.pdf").write_bytes(FILES["a.pdf"])
    result = command("mask", given, "--out", out)
    assert result.status == 1
    assert visible(out) == ["good.pdf"]
    assert "scan.pdf: pages 2, 3 have " in result.stderr
    assert "cut.rtf: is not an RTF file or is damaged" in result.stderr
    assert "cut.docx: " in result.stderr
    assert "cut.xlsx: " in result.stderr
    assert "old.docx: is encrypted" in result.stderr
    assert "old.xlsx: is encrypted" in result.stderr
    assert "empty.html: has no text" in result.stderr
    assert CANARY not in result.stderr


@pytest.mark.parametrize("name", ["e.docx", "f.xlsx"])
def test_a_complete_run_is_resumed_and_a_missing_output_masked_again(command, given, out, name):
    (given / name).write_bytes(FILES[name])
    assert command("mask", given, "--out", out).status == 0
    written = (out / name).read_bytes()
    assert "Nothing is left" in command("mask", given, "--out", out, "--resume").stderr
    (out / name).unlink()
    assert command("mask", given, "--out", out, "--resume").status == 0
    assert (out / name).read_bytes() == written


@pytest.mark.parametrize(
    ("suffix", "remedy"),
    [
        (".docm", "Save it as .docx"),
        *((suffix, "Save it as .xlsx") for suffix in (".xlsm", ".xlsb")),
        (".doc", "save it as .docx"),
        (".xls", "save it as .xlsx"),
    ],
)
def test_other_files_of_an_office_are_refused_with_a_remedy(command, given, out, suffix, remedy):
    (given / f"a{suffix}").write_bytes(FILES["e.docx"])
    result = command("mask", given, "--out", out)
    assert (result.status, remedy in result.stderr) == (2, True)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_a_pdf_that_takes_too_much_memory_is_named_and_the_others_finished(command, given, out):
    (given / "a.pdf").write_bytes(of_nested_forms())
    (given / "b.pdf").write_bytes(FILES["a.pdf"])
    result = command("mask", given, "--out", out)
    assert result.status == 1
    assert visible(out) == ["b.pdf"]
    assert "a.pdf: could not be read within 512 MB of memory and 60 s." in result.stderr


@pytest.mark.parametrize("missing", ["pypdfium2", "reportlab"])
def test_a_package_that_is_missing_is_named_with_its_extra(command, given, out, monkeypatch, missing):
    (given / "a.pdf").write_bytes(FILES["a.pdf"])
    for module in [one for one in sys.modules if one.partition(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.setattr("inverse_deid.formats.pdf.writing._load_font", _load_font.__wrapped__)
    monkeypatch.setattr(LimitedProcess, "call", lambda _process, work, *given: work(*given))
    result = command("mask", given, "--out", out)
    assert result.status == 2
    assert f"needs the package {missing}" in result.stderr
    assert "'.[office]'" in result.stderr
    assert visible(out) == []


@pytest.mark.parametrize("name", [name for name in FILES if name != "d.md"])
@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--offsets",), "not JSON Lines"),
        (("--annotations", "notes"), "not i2b2 XML"),
        (("--engine", "ray", "--format"), "--engine ray"),
    ],
)
def test_what_a_file_cannot_do_is_refused(command, given, out, tmp_path, name, options, complaint):
    (given / name).write_bytes(FILES[name])
    options = [tmp_path / one if one == "notes" else one for one in options]
    kind = [KINDS[name]] if options[-1] == "--format" else []
    result = command("mask", given, "--out", out, *options, *kind)
    assert result.status == 2
    assert complaint in result.stderr
    assert not (out / name).exists()


@pytest.mark.parametrize("name", ["b.rtf", "c.html"])
def test_a_map_is_refused_for_what_cannot_be_revealed(command, given, out, tmp_path, name):
    (given / name).write_bytes(FILES[name])
    (tmp_path / "key").write_text("0123456789abcdef0123456789abcdef\n")
    result = command("mask", given, "--out", out, "--map", tmp_path / "maps", "--key", tmp_path / "key")
    assert (result.status, "Leave out --map" in result.stderr) == (2, True)
    (tmp_path / "a.map").write_bytes(b"")
    options = ("--map", tmp_path / "a.map", "--key", tmp_path / "key", "--out", tmp_path / "o")
    result = command("reveal", given / name, *options)
    assert (result.status, "cannot be put back" in result.stderr) == (2, True)


@pytest.mark.parametrize("kind", ["pdf", "rtf", "html", "docx", "xlsx"])
def test_standard_input_is_refused(command, kind):
    result = command("mask", "-", "--format", kind)
    assert (result.status, "cannot come from standard input" in result.stderr) == (2, True)


@pytest.mark.parametrize("name", [name for name in FILES if name != "f.xlsx"])
def test_files_are_reviewed_and_released(tmp_path, name):
    (tmp_path / name).write_bytes(FILES[name])
    settings = LoadSettings(
        policy=ReviewPolicy(approvals=1),
        facts=FACTS,
        cases=CaseSettings(today=date(2024, 1, 1), key=KEY.secret),
    )
    with store_of(tmp_path, inputs=[tmp_path / name], settings=settings) as store:
        review(store, user(store, "ann"), mask=[0])
        exported = export_released(store, tmp_path / "out")
        assert (exported.n_cases, exported.problems) == (1, ())
    assert text_of(tmp_path / "out" / name) == re.sub("seen|author", "PHI", MASKED[name], count=1)


MAX_MIB = 500
"""What masking a PDF of 300 full pages may take, with the network."""


@pytest.mark.slow
def test_a_file_of_300_pages_takes_little_memory(tmp_path):
    line = "The patient had a rash after the second dose, was given cetirizine 10 mg and recovered well."
    (tmp_path / "a.pdf").write_bytes(
        of_text(*("\n".join(f"{line} {page} {n}" for n in range(35)) for page in range(300)))
    )
    process = start_real(tmp_path / "a.pdf", "--out", tmp_path / "out")
    finish_within(process, MAX_MIB)
    with pypdfium2.PdfDocument(tmp_path / "out" / "a.pdf") as written:
        assert len(written) == 300
