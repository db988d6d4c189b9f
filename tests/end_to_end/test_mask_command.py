"""`inverse-deid mask` in this process with a stand-in for the model."""

import errno
import gzip
import io
import json
import os
import re
import stat
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fake_maskers import BROKEN_STAGE, CANARY, FakeMasker
from masked_folders import MASKED, NOTE, visible

from inverse_deid.masking import assemble


def test_all_formats_of_a_folder_are_masked_and_mirrored(command, given, out):
    (given / "sub" / "deep").mkdir(parents=True)
    (given / "sub" / "deep" / "a.txt").write_text(NOTE)
    (given / "b.jsonl").write_text(json.dumps({"text": NOTE}))
    (given / "c.csv").write_text(f"text\n{NOTE}\n")
    (given / "d.xml").write_text(f"<deIdi2b2><TEXT>{NOTE}</TEXT></deIdi2b2>")
    (given / "e.ndjson.gz").write_bytes(gzip.compress(json.dumps({"text": NOTE}).encode()))
    (given / "f.tsv").write_text(f"n\ttext\n1,5\t{NOTE}\n")
    (given / "g.txt.gz").write_bytes(gzip.compress(NOTE.encode()))
    pq.write_table(pa.table({"text": [NOTE]}), given / "h.parquet")
    (given / ".hidden").write_text(NOTE)
    result = command("mask", given, "--out", out)
    assert result.status == 0, result.stderr
    assert visible(out) == sorted(
        ["sub/deep/a.txt", "b.jsonl", "c.csv", "d.xml", "e.ndjson", "f.tsv", "g.txt", "h.parquet"]
    )
    for name in visible(out):
        if name != "h.parquet":
            assert MASKED in (out / name).read_text()
    assert pq.read_table(out / "h.parquet")["text"].to_pylist() == [MASKED]
    assert result.stdout == ""
    assert "hidden file or folder (1)" in result.stderr
    assert f"Masked 8 documents. The masked files are in: {out}" in result.stderr
    assert "tokens" not in result.stderr


def broken_files(folder: Path) -> None:
    (folder / "binary.txt").write_bytes(b"\x89PNG\x00" + NOTE.encode())
    (folder / "encoding.txt").write_bytes(f"{NOTE} fièvre, café".encode() + b"\xe9")
    (folder / "empty.txt").write_bytes(b"")
    (folder / "empty.jsonl").write_bytes(b"\n\n")
    (folder / "broken.xml").write_text(f"<a><TEXT>{NOTE}</a>")
    (folder / "column.csv").write_text(f"narrative\n{NOTE}\n")
    (folder / "quote.csv").write_text(f'text\n{NOTE}\n"{NOTE}')
    (folder / "cut.txt.gz").write_bytes(gzip.compress(NOTE.encode())[:-9])
    (folder / "cut.csv.gz").write_bytes(gzip.compress(b"text\n" + NOTE.encode() * 9999)[:-9])
    (folder / "no.txt.gz").write_text(NOTE)
    (folder / "letter.docx").write_text(NOTE)
    (folder / "table.parquet").write_text(NOTE)
    (folder / "gone.txt").symlink_to(folder / "nowhere")
    (folder / "lines.jsonl").write_text(f"{NOTE}\n")
    os.mkfifo(folder / "pipe.txt")


def test_bad_files_are_named_with_a_remedy_and_the_others_finished(command, given, out):
    broken_files(given)
    names = [p.name for p in given.iterdir()]
    (given / "good.txt").write_text(NOTE)
    result = command("mask", given, "--out", out)
    assert result.status == 1
    assert [name for name in visible(out) if not name.startswith(".inverse")] == ["good.txt"]
    for name in names:
        lines = [line for line in result.stderr.splitlines() if f"/{name}" in line]
        assert len(lines) == 1, name
        fault, remedy = re.split(r"; |\. ", lines[0], maxsplit=1)
        assert fault and remedy, lines[0]
    assert CANARY not in result.stderr + result.stdout


def test_only_bad_files_is_status_2(command, given, out):
    broken_files(given)
    result = command("mask", given, "--out", out)
    assert result.status == 2
    assert not [name for name in visible(out) if not name.startswith(".inverse")] if out.exists() else True


def test_a_missing_file_is_status_2_before_the_model_is_loaded(command, fake_assemble, tmp_path, out):
    fake_assemble.clear()
    result = command("mask", tmp_path / "nowhere.txt", "--out", out)
    assert result.status == 2
    assert "does not exist" in result.stderr


def test_an_empty_folder_is_status_2(command, given, out):
    assert command("mask", given, "--out", out).status == 2


def test_a_failed_document_is_masked_completely_and_listed(command, given, out):
    (given / "a.jsonl").write_text(
        "\n".join(json.dumps({"text": t}) for t in ("all well", f"{BROKEN_STAGE} {CANARY} was here"))
    )
    result = command("mask", given / "a.jsonl", "--out", out)
    assert result.status == 1
    second = json.loads((out / "a.jsonl").read_text().splitlines()[1])
    assert second["text"] == "PHI"
    assert "a.jsonl line 2: could not be analysed and was masked completely" in result.stderr
    assert CANARY not in result.stderr


def test_if_all_documents_fail_the_status_is_2(command, given, out):
    (given / "a.txt").write_text(BROKEN_STAGE)
    assert command("mask", given, "--out", out).status == 2
    assert (out / "a.txt").read_text() == "PHI"


def test_a_broken_line_is_left_out(command, given, out):
    (given / "a.jsonl").write_text(f'{{"text": "ok"}}\n{{"text": "{CANARY}\n{{"text": "fine"}}\n')
    result = command("mask", given, "--out", out)
    assert result.status == 1
    assert [json.loads(line)["id"] for line in (out / "a.jsonl").read_text().splitlines()] == ["1", "3"]
    assert "a.jsonl line 2: is not valid JSON" in result.stderr
    assert CANARY not in result.stderr


def test_existing_output_is_not_overwritten_without_force(command, given, out):
    (given / "a.txt").write_text(NOTE)
    (given / "b.txt").write_text(NOTE)
    out.mkdir()
    (out / "a.txt").write_text("precious")
    result = command("mask", given, "--out", out)
    assert result.status == 1
    assert (out / "a.txt").read_text() == "precious"
    assert (out / "b.txt").read_text() == MASKED
    assert command("mask", given, "--out", out, "--force").status == 0
    assert (out / "a.txt").read_text() == MASKED


@pytest.mark.parametrize("link", [None, os.link, os.symlink])
def test_an_input_is_never_overwritten(command, given, out, link):
    file = given / "a.txt"
    file.write_text(NOTE)
    target = given
    if link is not None:
        target = out
        out.mkdir()
        link(file, out / "a.txt")
    result = command("mask", file, "--out", target, "--force")
    assert result.status == 2
    assert file.read_text() == NOTE
    assert "overwritten by its own output" in result.stderr


def test_two_inputs_do_not_become_one_output(command, given, out):
    (given / "a.txt").write_text(NOTE)
    (given / "a.txt.gz").write_bytes(gzip.compress(b"other"))
    result = command("mask", given, "--out", out)
    assert result.status == 1
    assert (out / "a.txt").read_text() == MASKED
    assert "as would" in result.stderr


def test_outputs_inside_the_input_folder_are_not_masked_again(command, given):
    (given / "a.txt").write_text(NOTE)
    assert command("mask", given, "--out", given / "masked").status == 0
    assert command("mask", given, "--out", given / "masked", "--force").status == 0
    assert visible(given) == ["a.txt", "masked/a.txt"]


def test_explanations_hold_no_text(command, given, out):
    (given / "a.txt").write_text(NOTE)
    assert command("mask", given, "--out", out, "--explain").status == 0
    explained = json.loads((out / "a.txt.explain.jsonl").read_text())
    assert explained["id"] == "a.txt"
    assert [word["decision"] for word in explained["words"]] == ["mask", "mask", "keep", "keep"]
    assert CANARY not in (out / "a.txt.explain.jsonl").read_text()


def test_explanations_with_text_are_private_and_say_so(command, given, out):
    (given / "a.txt").write_text(NOTE)
    result = command("mask", given, "--out", out, "--explain", "--with-text")
    explanation = out / "a.txt.explain.jsonl"
    assert CANARY in explanation.read_text()
    assert stat.S_IMODE(explanation.stat().st_mode) == 0o600
    assert "original words" in result.stderr


def test_annotations_lie_apart_and_are_private(command, given, out, tmp_path):
    (given / "a.xml").write_text(f"<deIdi2b2><TEXT>{NOTE}</TEXT></deIdi2b2>")
    (given / "b.txt").write_text(NOTE)
    apart = tmp_path / "annotated"
    result = command("mask", given, "--out", out, "--annotations", apart)
    assert result.status == 1
    assert "Leave out --annotations" in result.stderr
    assert NOTE in (apart / "a.xml").read_text()
    assert CANARY not in (out / "a.xml").read_text()
    assert stat.S_IMODE((apart / "a.xml").stat().st_mode) == 0o600
    assert command("mask", given, "--out", out, "--annotations", out / "x").status == 2


def feed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize(
    ("options", "data", "expected"),
    [
        ((), f"{NOTE}\n".encode(), f"{MASKED}\n"),
        (
            ("--format", "jsonl"),
            json.dumps({"id": 1, "text": NOTE}).encode(),
            '{"id": 1, "text": "PHI: PHI was well"}\n',
        ),
        (
            ("--format", "jsonl", "--offsets"),
            json.dumps({"id": 1, "text": NOTE}).encode(),
            '{"id": 1, "text": "PHI: PHI was well", "masks": [[0, 4], [6, 16]]}\n',
        ),
        (("--format", "csv"), f"n,text\n1,{NOTE}\n".encode(), f"text\n{MASKED}\n"),
    ],
)
def test_standard_input_to_standard_output(command, monkeypatch, options, data, expected):
    feed(monkeypatch, data)
    result = command("mask", "-", "--quiet", *options)
    assert (result.status, result.stdout, result.stderr) == (0, expected, "")


def test_empty_standard_input_is_status_2(command, monkeypatch):
    feed(monkeypatch, b"")
    result = command("mask", "-")
    assert result.status == 2
    assert "is empty" in result.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("a.txt",),
        ("-", "a.txt", "--out", "o"),
        ("-", "--out", "o"),
        ("-", "--explain"),
        ("-", "--offsets"),
        ("-", "--offsets", "--format", "csv"),
        ("a.txt", "--out", "out", "--format", "text", "--offsets"),
        ("-", "--format", "parquet"),
        ("a.txt", "--out", "o", "--with-text"),
        ("a.txt", "--out", "o", "--delimiter", "ab"),
        ("a.txt", "--out", "o", "--encoding", "nonsense"),
        ("a.txt", "--out", "o", "--low", "7"),
        ("a.txt", "--out", "o", "--format", "doc"),
        ("--out", "o"),
        (),
    ],
)
def test_contradicting_options_are_status_2(command, options):
    result = command("mask", *options)
    assert result.status == 2
    assert result.stderr
    assert "Traceback" not in result.stderr


def test_a_folder_that_cannot_be_written_is_one_line(command, given, out, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    (given / "a.txt").write_text(NOTE)
    monkeypatch.setattr(os, "open", refuse)
    result = command("mask", given, "--out", out)
    assert result.status == 2
    assert "no permission to write there" in result.stderr


def test_a_file_that_cannot_be_read_is_one_line(command, given, out, monkeypatch):
    (given / "a.txt").write_text(NOTE)
    (given / "b.txt").write_text(NOTE)
    real_open = Path.open

    def refuse(self: Path, *args: object, **options: object):
        if self.name == "a.txt" and args[:1] == ("rb",):
            raise PermissionError(errno.EACCES, "Permission denied")
        return real_open(self, *args, **options)

    monkeypatch.setattr(Path, "open", refuse)
    result = command("mask", given, "--out", out)
    assert result.status == 1
    assert "a.txt: cannot be read (no permission)" in result.stderr


def test_a_shifted_row_is_left_out_and_listed(command, given, out):
    (given / "a.csv").write_text(f"text,n\nall well,1\nfever, {CANARY} fell,2\n")
    result = command("mask", given, "--out", out)
    assert result.status == 1
    assert (out / "a.csv").read_text() == "text\nall well\n"
    assert "a.csv row 3" in result.stderr
    assert CANARY not in result.stderr


def test_an_unforeseen_error_shows_no_text(command, fake_assemble, given, out):
    class Bug(FakeMasker):
        def mask_many(self, docs):
            raise RuntimeError(f"cannot handle {docs[0].text}")

    fake_assemble[0] = Bug(str.islower)
    (given / "a.txt").write_text(NOTE)
    result = command("mask", given, "--out", out)
    assert result.status == 2
    assert "RuntimeError" in result.stderr
    assert CANARY not in result.stderr
    assert "Traceback" not in result.stderr


def test_word_lists_are_read(command, given, out, tmp_path, fake_assemble, monkeypatch):
    seen = []
    monkeypatch.setattr(assemble, "build_deidentifier", lambda given: seen.append(given) or fake_assemble[0])
    (given / "a.txt").write_text(NOTE)
    words = tmp_path / "words"
    words.write_bytes("\ufeff# mine\r\nTylenol\r\n\r\n Aspirin \r\n".encode())
    assert command("mask", given, "--out", out, "--allow", words).status == 0
    assert [settings.allow for settings in seen] == [{"Tylenol", "Aspirin"}]
    assert command("mask", given, "--out", out, "--deny", tmp_path / "none").status == 2


def test_help_and_version_load_nothing_heavy():
    import subprocess

    code = (
        "import sys\nfrom inverse_deid.cli.main import main\n"
        "try: main(['mask', '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'onnxruntime', 'pandas', 'pyarrow', 'tensorflow', 'keras'} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "--resume" in done.stdout


def test_without_arguments_the_subcommands_are_listed(command):
    result = command("--help")
    assert result.status == 0
    assert all(name in result.stdout for name in ("mask", "lexicon", "train"))
    assert command("--version").stdout.startswith("inverse-deid, version")
