"""`inverse-deid mask` with CSV files as Excel writes them."""

import json

import pytest
from fake_maskers import CANARY
from review_stores import FACTS, KEY, review, store_of, user

from inverse_deid.review.files.exporting import export_released
from inverse_deid.review.files.loading import LoadSettings
from inverse_deid.review.store.values import ReviewPolicy

GERMAN = f"id;text;country\r\n1;seen by {CANARY}, “well”, in a café;x\r\n2;well;y\r\n".encode("cp1252")


def test_what_was_found_out_is_said_and_the_file_keeps_it(command, given, out, tmp_path):
    (given / "a.csv").write_bytes(GERMAN)
    (given / "b.csv").write_bytes(b"id,text\n1,well\n")
    report = tmp_path / "report.json"
    result = command("mask", given, "--out", out, "--run-report", report)
    assert result.status == 0, result.stderr
    assert (out / "a.csv").read_bytes() == (
        "id;text\r\n1;seen by PHI, “well”, in a café\r\n2;well\r\n".encode("cp1252")
    )
    assert "Read as: comma, utf-8 (1 file); semicolon, windows-1252 (1 file)" in result.stderr
    noted = json.loads(report.read_text())
    assert [file["read_as"] for file in noted["files"]] == [
        {"semicolon, windows-1252": 1},
        {"comma, utf-8": 1},
    ]


def test_usual_files_are_not_mentioned(command, given, out):
    (given / "a.csv").write_bytes(b"id,text\n1,well\n")
    assert "read as" not in command("mask", given, "--out", out).stderr


def test_a_doubtful_file_is_named_with_a_remedy_and_the_others_finished(command, given, out):
    (given / "a.csv").write_bytes(b"id,text\n1,it was 38.9 \xf7 C\n")
    (given / "b.csv").write_bytes(b"id,text\n1,well\n")
    result = command("mask", given, "--out", out)
    assert result.status == 1
    assert "a.csv: is not UTF-8, and its encoding may be cp1252, mac-roman" in result.stderr
    assert command("mask", given / "a.csv", "--out", out, "--encoding", "mac-roman").status == 0
    assert b"it was" in (out / "a.csv").read_bytes()


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_reveal_needs_no_encoding(command, given, out, tmp_path, encoding):
    data = GERMAN.decode("cp1252").encode(encoding)
    (given / "a.csv").write_bytes(data)
    (tmp_path / "key").write_text("0123456789abcdef0123456789abcdef\n")
    keys = ("--key", tmp_path / "key")
    assert command("mask", given, "--out", out, "--map", tmp_path / "maps", *keys).status == 0
    maps = ("--map", tmp_path / "maps" / "a.csv.map", "--out", tmp_path / "back")
    result = command("reveal", out / "a.csv", *maps, *keys)
    assert result.status == 0, result.stderr
    shown = (tmp_path / "back" / "a.csv").read_bytes().decode(encoding)
    assert shown == GERMAN.decode("cp1252").replace(";country", "").replace(";x", "").replace(";y", "")


def test_a_released_file_is_written_as_it_was_read(tmp_path):
    (tmp_path / "a.csv").write_bytes(GERMAN)
    settings = LoadSettings(policy=ReviewPolicy(approvals=1), facts=FACTS, cases=_cases())
    with store_of(tmp_path, inputs=[tmp_path / "a.csv"], settings=settings) as store:
        review(store, user(store, "ann"), mask=[])
        assert export_released(store, tmp_path / "out").problems == ()
    written = (tmp_path / "out" / "a.csv").read_bytes().decode("cp1252")
    assert written.startswith("id;text\r\n")
    assert "café" in written
    assert CANARY not in written


def _cases():
    from datetime import date

    from inverse_deid.replacement.settings import CaseSettings

    return CaseSettings(today=date(2024, 1, 1), key=KEY.secret)
