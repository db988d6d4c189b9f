"""`inverse-deid mask` and the file system around it: clashing paths, links, inputs that change."""

import json
import os
import stat
from pathlib import Path

import pytest
from fake_maskers import CANARY, FakeMasker
from masked_folders import MASKED, NOTE

from inverse_deid.engine.jobs.journal import JOURNAL_NAME

VICTIM = "not yours\n"


@pytest.fixture
def victim(tmp_path) -> Path:
    path = tmp_path / "elsewhere" / "victim.txt"
    path.parent.mkdir()
    path.write_text(VICTIM)
    return path


def write_key(path: Path) -> Path:
    path.write_text("0123456789abcdef0123456789abcdef")
    return path


# ---- a finished run


def test_a_finished_run_resumed_says_so(command, given, out):
    (given / "a.txt").write_text(NOTE)
    (given / "b.txt").write_text(NOTE)
    assert command("mask", given, "--out", out).status == 0
    for _ in range(2):
        result = command("mask", given, "--out", out, "--resume")
        said = f"Nothing is left to do: all 2 files are complete. They are in: {out}\n"
        assert (result.status, result.stderr) == (0, said)
    assert command("mask", given, "--out", out, "--resume", "--quiet").stderr == ""


def test_a_finished_run_with_failed_documents_lists_them_again(command, given, out):
    (given / "a.jsonl").write_text(json.dumps({"text": NOTE}) + "\nno JSON\n")
    first = command("mask", given, "--out", out)
    again = command("mask", given, "--out", out, "--resume")
    assert first.status == again.status == 1
    assert "a.jsonl line 2" in first.stderr
    assert "a.jsonl line 2" in again.stderr
    assert f"Nothing new was masked: the file is complete. It is in: {out}" in again.stderr


@pytest.mark.parametrize("change", ["input", "output", "settings"])
def test_a_finished_run_is_not_called_so_when_something_changed(command, given, out, change):
    (given / "a.txt").write_text(NOTE)
    assert command("mask", given, "--out", out).status == 0
    if change != "settings":
        path = (given if change == "input" else out) / "a.txt"
        path.write_text(path.read_text().upper())
    more = ("--marker", "XXX") if change == "settings" else ()
    result = command("mask", given, "--out", out, "--resume", *more)
    assert result.status == 2
    assert "Nothing is left" not in result.stderr


def test_copies_of_the_originals_are_not_taken_for_a_finished_run(command, given, out):
    (given / "a.txt").write_text(NOTE)
    out.mkdir()
    (out / "a.txt").write_text(NOTE)
    assert command("mask", given, "--out", out, "--resume").status == 2


def test_a_finished_run_with_a_run_report_can_be_resumed(command, given, out, tmp_path):
    (given / "a.txt").write_text(NOTE)
    report = tmp_path / "report.json"
    options = ("mask", given, "--out", out, "--run-report", report)
    assert command(*options).status == 0
    before = report.read_bytes()
    assert command(*options, "--resume").status == 0
    assert report.read_bytes() == before
    report.unlink()
    assert command(*options, "--resume").status == 2


# ---- links that somebody put into the output folder


def test_the_journal_is_not_written_through_a_link(command, given, out, victim):
    (given / "a.txt").write_text(NOTE)
    (given / "b.txt").write_bytes(b"\xff")
    out.mkdir()
    (out / JOURNAL_NAME).symlink_to(victim)
    assert command("mask", given, "--out", out).status == 1
    assert victim.read_text() == VICTIM
    journal = out / JOURNAL_NAME
    assert stat.S_ISREG(journal.lstat().st_mode)
    assert journal.stat().st_mode & 0o777 == 0o600
    assert "a.txt" not in journal.read_text()


def test_the_journal_is_not_appended_to_a_second_name_of_another_file(command, given, out, victim):
    (given / "a.txt").write_text(NOTE)
    out.mkdir()
    os.link(victim, out / JOURNAL_NAME)
    assert command("mask", given, "--out", out).status == 0
    assert victim.read_text() == VICTIM


@pytest.mark.parametrize(
    "name", [".a.jsonl.progress.json.new", ".a.jsonl.progress.json", ".a.jsonl.partial", "a.jsonl"]
)
def test_nothing_of_a_file_is_written_through_a_link(command, given, out, victim, name):
    (given / "a.jsonl").write_text(json.dumps({"text": NOTE}))
    out.mkdir()
    (out / name).symlink_to(victim)
    assert command("mask", given, "--out", out, "--force", "--resume").status == 0
    assert victim.read_text() == VICTIM
    assert MASKED in (out / "a.jsonl").read_text()
    assert not (out / "a.jsonl").is_symlink()


def test_a_linked_partial_file_is_not_continued(command, given, out, victim, monkeypatch):
    lines = [json.dumps({"text": f"{NOTE} {i}"}) for i in range(900)]
    (given / "a.jsonl").write_text("\n".join(lines))
    with monkeypatch.context() as patch:
        stop_at_batch(patch, 3, KeyboardInterrupt)
        assert command("mask", given, "--out", out).status == 130
    partial = out / ".a.jsonl.partial"
    victim.write_bytes(partial.read_bytes() + b"more")
    partial.unlink()
    partial.symlink_to(victim)
    before = victim.read_bytes()
    assert command("mask", given, "--out", out, "--resume").status == 2
    assert victim.read_bytes() == before


def test_the_run_report_replaces_a_link(command, given, out, victim, tmp_path):
    (given / "a.txt").write_text(NOTE)
    for name in (".report.json.partial", "report.json"):
        (tmp_path / name).symlink_to(victim)
    result = command("mask", given, "--out", out, "--run-report", tmp_path / "report.json", "--force")
    assert result.status == 2
    assert victim.read_text() == VICTIM


@pytest.mark.parametrize("where", ["out", "maps", "annotations"])
def test_no_output_goes_through_a_linked_folder(command, given, out, victim, tmp_path, where):
    note = given / "sub" / "a.xml"
    note.parent.mkdir()
    note.write_text(f"<deIdi2b2><TEXT><![CDATA[{NOTE}]]></TEXT><TAGS></TAGS></deIdi2b2>")
    folder = {"out": out, "maps": tmp_path / "maps", "annotations": tmp_path / "annotations"}[where]
    folder.mkdir()
    (folder / "sub").symlink_to(victim.parent)
    options = [] if where == "out" else [{"maps": "--map", "annotations": "--annotations"}[where], folder]
    key = write_key(tmp_path / "key")
    result = command("mask", given, "--out", out, "--key", key, *options)
    assert result.status == 2
    assert "is a link that leads out of" in result.stderr
    assert [path.name for path in victim.parent.iterdir()] == ["victim.txt"]


# ---- one file for two things


CLASHES = [
    ("--run-report", "out/a.txt"),
    ("--run-report", "out/A.TXT"),
    ("--run-report", "out/sub/../a.txt"),
    ("--run-report", "link/a.txt"),
    ("--run-report", "out/a.txt.explain.jsonl"),
    ("--run-report", "out/.a.txt.partial"),
    ("--run-report", f"out/{JOURNAL_NAME}"),
    ("--run-report", "maps/a.txt.map"),
    ("--run-report", "out"),
    ("--run-report", "maps"),
    ("--run-report", "key"),
    ("--run-report", "same-as-key"),
    ("--run-report", "known.csv"),
    ("--run-report", "in/a.txt"),
    ("--known", "in/known.csv"),
    ("--known", "out/a.txt"),
    ("--key", "in/a.txt"),
    ("--key", "in/key.txt"),
    ("--allow", "in/a.txt"),
    ("--deny", "in/a.txt"),
    ("--deny", "words.txt"),
]


@pytest.mark.parametrize(("option", "place"), CLASHES)
def test_no_file_is_two_things(command, given, out, tmp_path, option, place):
    (given / "a.txt").write_text(NOTE)
    (given / "key.txt").write_text("0123456789abcdef0123456789abcdef")
    (given / "known.csv").write_text("id,name\na.txt,Zebulonova\n")
    write_key(tmp_path / "key")
    os.link(tmp_path / "key", tmp_path / "same-as-key")
    (tmp_path / "known.csv").write_text("id,name\na.txt,Zebulonova\n")
    (tmp_path / "words.txt").write_text("rash\n")
    (tmp_path / "link").symlink_to(out)
    if option == "--known" and place.startswith("out"):
        out.mkdir()
        (out / "a.txt").write_text("id,name\na.txt,Zebulonova\n")
    before = contents(tmp_path)
    options = {
        "--key": tmp_path / "key",
        "--known": tmp_path / "known.csv",
        "--allow": tmp_path / "words.txt",
        "--map": tmp_path / "maps",
        option: tmp_path / place,
    }
    flat = [one for pair in options.items() for one in pair]
    result = command("mask", given, "--out", out, "--explain", "--force", *flat)
    assert result.status == 2
    assert len(result.stderr.splitlines()) == 1
    assert CANARY not in result.stderr
    assert contents(tmp_path) == before


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_another_kind_of_file_is_never_the_run_report(command, given, out, tmp_path):
    (given / "a.txt").write_text(NOTE)
    (tmp_path / "notes.md").write_text("# mine")
    result = command("mask", given, "--out", out, "--run-report", tmp_path / "notes.md", "--force")
    assert (result.status, (tmp_path / "notes.md").read_text()) == (2, "# mine")


def test_an_input_with_the_name_of_a_partial_file_is_not_removed(command, out):
    out.mkdir()
    (out / "a.txt").write_text(NOTE)
    (out / ".a.txt.partial").write_text(NOTE)
    files = (out / "a.txt", out / ".a.txt.partial")
    other = out.parent / "in2" / "a.txt"
    other.parent.mkdir()
    other.write_text(NOTE)
    result = command("mask", other, files[1], "--out", out, "--format", "text", "--force")
    assert result.status == 2
    assert files[1].read_text() == NOTE


# ---- inputs that change


def stop_at_batch(monkeypatch, number: int, what) -> None:
    """Does something in place of a batch, or before it."""
    calls = 0
    real = FakeMasker.mask_many

    def mask_many(self, docs):
        nonlocal calls
        calls += 1
        if calls == number:
            if isinstance(what, type):
                raise what
            what()
        return real(self, docs)

    monkeypatch.setattr(FakeMasker, "mask_many", mask_many)


def more(path: Path) -> None:
    with path.open("a") as stream:
        stream.write("\n")


def another(path: Path) -> None:
    status = path.stat()
    data = path.read_bytes()
    path.rename(path.with_name(".older"))
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("change", [more, another, Path.unlink, lambda path: os.utime(path, (1, 1))])
@pytest.mark.parametrize("name", ["b.jsonl", "b.csv", "b.txt", "b.xml"])
def test_a_file_that_changes_during_the_run_is_not_released(command, given, out, monkeypatch, name, change):
    (given / "a.txt").write_text(NOTE)
    row = {
        "b.jsonl": json.dumps({"text": NOTE}),
        "b.csv": f'text\n"{NOTE}"',
        "b.txt": NOTE,
        "b.xml": f"<deIdi2b2><TEXT><![CDATA[{NOTE}]]></TEXT><TAGS></TAGS></deIdi2b2>",
    }
    (given / name).write_text(row[name])
    batch = 1 if name in ("b.txt", "b.xml") else 2
    with monkeypatch.context() as patch:
        stop_at_batch(patch, batch, lambda: change(given / name))
        result = command("mask", given, "--out", out)
    assert result.status == 1
    assert f"{name}: " in result.stderr
    assert sorted(path.name for path in out.iterdir()) == [JOURNAL_NAME, "a.txt"]
    if change is Path.unlink:
        (given / name).write_text(row[name])
    assert command("mask", given, "--out", out, "--resume").status == 0
    assert sorted(path.name for path in out.iterdir()) == [JOURNAL_NAME, "a.txt", name]
