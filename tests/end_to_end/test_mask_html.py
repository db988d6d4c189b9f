"""`inverse-deid mask --html`: one confidential page of a run, for every format."""

import json

import pytest
from fake_maskers import CANARY
from icsr_canaries import sample
from word_files import paragraph, simple, zipped

TEXT = f"seen by Dr. {CANARY} <today>"
FILES = {
    "a.txt": TEXT.encode(),
    "b.jsonl": (json.dumps({"id": 1, "text": TEXT}) + "\n").encode() * 3,
    "c.csv": f"id,text\n1,{TEXT}\n2,{TEXT}\n".encode(),
    "d.docx": zipped(simple(paragraph("seen by Dr. ", CANARY[:3], CANARY[3:]))),
}


def shown(page):
    return page.read_text(encoding="utf-8").partition("<main")[2]


def test_the_page_has_every_document_of_every_format(command, given, out, tmp_path):
    for name, content in FILES.items():
        (given / name).write_bytes(content)
    page = tmp_path / "page.html"
    result = command("mask", given, "--out", out, "--html", page, "--explain")
    assert (result.status, CANARY in result.stdout + result.stderr) == (0, False)
    assert f"CONFIDENTIAL: {page} contains the original texts" in result.stderr
    assert page.stat().st_mode & 0o777 == 0o600
    html = shown(page)
    assert html.count("<article") == 7
    assert html.count(f"{CANARY}<sup>") == 7
    assert "&lt;today&gt;" in html
    assert "The page shows all 7 documents of the run" in html
    assert not list(out.rglob("*.html"))


def test_the_texts_of_a_case_report_are_shown(command, given, out, tmp_path):
    (given / "r3.xml").write_bytes(sample("r3"))
    page = tmp_path / "page.html"
    assert command("mask", given, "--out", out, "--html", page).status == 0
    assert shown(page).count("<article") >= 1


def test_columns_and_files_are_named(command, given, out, tmp_path):
    (given / "c.csv").write_bytes(f"id,note,more\n1,{TEXT},well\n".encode())
    page = tmp_path / "page.html"
    columns = ("--text-column", "note", "--text-column", "more")
    assert command("mask", given, "--out", out, "--html", page, *columns).status == 0
    assert ", 2, note" in shown(page)
    assert ", 2, more" in shown(page)


def test_only_an_earlier_page_is_overwritten_and_only_when_asked(command, given, out, tmp_path):
    (given / "a.txt").write_bytes(FILES["a.txt"])
    page = tmp_path / "page.html"
    page.write_text("<!doctype html>mine")
    for options in ((), ("--force",)):
        assert command("mask", given, "--out", out, "--html", page, *options).status == 2
        assert page.read_text() == "<!doctype html>mine"
        assert not out.exists()
    page.unlink()
    assert command("mask", given, "--out", out, "--html", page).status == 0
    assert command("mask", given, "--out", out / "new", "--html", page).status == 2
    assert command("mask", given, "--out", out, "--html", page, "--force").status == 0


def test_a_refused_command_leaves_no_page_in_the_way_of_the_corrected_one(command, given, out, tmp_path):
    (given / "c.csv").write_bytes(f"id,note\n1,{TEXT}\n".encode())
    page, names = tmp_path / "page.html", tmp_path / "names.csv"
    options = (given, "--out", out, "--html", page, "--rename", names)
    refused = command("mask", *options)
    assert refused.status == 2
    assert not page.exists()
    assert "original texts" not in refused.stderr
    assert command("mask", *options, "--text-column", "note").status == 0
    assert "<article" in shown(page)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--html", "{out}/page.html"), "outside of --out"),
        (("--html", "{page}", "--run-report", "{page}"), "name the same file"),
        (("--html", "{given}/a.txt"), "is another kind of file"),
        (("--html", "{page}", "--engine", "ray"), "Leave out --html"),
    ],
)
def test_what_is_refused(command, given, out, tmp_path, options, said):
    (given / "a.txt").write_bytes(FILES["a.txt"])
    places = {"out": out, "given": given, "page": tmp_path / "page.html"}
    result = command("mask", given, "--out", out, *(one.format(**places) for one in options))
    assert (result.status, said in result.stderr) == (2, True), result.stderr
    assert (given / "a.txt").read_bytes() == FILES["a.txt"]
    assert not (tmp_path / "page.html").exists()


def test_a_finished_run_has_no_page(command, given, out, tmp_path):
    (given / "b.jsonl").write_bytes(FILES["b.jsonl"])
    assert command("mask", given, "--out", out).status == 0
    result = command("mask", given, "--out", out, "--resume", "--html", tmp_path / "page.html")
    assert (result.status, "For a page mask again with --force" in result.stderr) == (2, True), result.stderr


def test_a_pipe_has_no_page(command, tmp_path):
    result = command("mask", "-", "--html", tmp_path / "page.html")
    assert (result.status, "are for files" in result.stderr) == (2, True)


def test_failures_are_counted_on_the_page(command, given, out, tmp_path):
    (given / "c.csv").write_bytes(f"id,text\n1,{TEXT}\n2\n".encode())
    page = tmp_path / "page.html"
    assert command("mask", given, "--out", out, "--html", page).status == 1
    assert "<strong>Failures: 1.</strong>" in shown(page)
    assert shown(page).count("<article") == 1
