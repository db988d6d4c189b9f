"""Whatever a run leaves beside its output, however it ends: no word of the input, and no hash of one.

The names of the masked files are those of the inputs, and so are names of `.NAME.partial` and
`.NAME.progress.json` while a file is written (`--rename` numbers them). Everything else is searched.
"""

import gzip
import hashlib
import json
import os
import shutil
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from email.message import EmailMessage
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from excel_files import book, inline, sheet
from fake_maskers import FakeMasker
from kill_points import kill_at
from masked_folders import NOTE
from word_files import zipped

HEADER, ROW_ID, PLACE, PART = "Quillfeather", "Vandersloot", "Brimblecombe", "Ottershaw"
WORDS = (HEADER, ROW_ID, PLACE, PART)
FRENCH = "le patient a été vu par son médecin et il prend ses comprimés tous les jours à midi " * 3
MAX_STEPS, STRIDE = 60, 7


def write_csv(path: Path) -> None:
    rows = "".join(f"{ROW_ID}-{i},{NOTE},x\n" for i in range(300))
    path.write_text(f"id,text,{HEADER}\n{rows}{ROW_ID},short\n{ROW_ID},{FRENCH},y\n", encoding="utf-8")


def write_json_lines(path: Path) -> None:
    lines = [json.dumps({"id": f"{ROW_ID}-{i}", "text": NOTE, HEADER: {"x": i}}) for i in range(300)]
    broken = [HEADER, json.dumps({"id": ROW_ID, HEADER: 1}), json.dumps({"id": ROW_ID, "text": FRENCH})]
    path.write_text("\n".join([*lines, *broken]))


def write_json(path: Path) -> None:
    cases = [{"id": f"{ROW_ID}-{i}", "text": NOTE, HEADER: i} for i in range(30)]
    path.write_text(json.dumps([*cases, [HEADER], {"id": ROW_ID, HEADER: 1}]))


def write_parquet(path: Path) -> None:
    columns = {"id": [f"{ROW_ID}-{i}" for i in range(300)], "text": [NOTE] * 300, HEADER: [1] * 300}
    pyarrow.parquet.write_table(pa.table(columns), path)


def write_excel(path: Path) -> None:
    rows = [("id", "text", HEADER), (ROW_ID, NOTE, "x"), (f"{ROW_ID}2", FRENCH, "y")]
    cells = ["".join(inline(f"{'ABC'[n]}{r}", c) for n, c in enumerate(row)) for r, row in enumerate(rows, 1)]
    parts = book(sheet(*cells))
    parts["xl/workbook.xml"] = parts["xl/workbook.xml"].replace(b'name="S1"', f'name="{PLACE}"'.encode())
    path.write_bytes(zipped(parts))


def write_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{PART}/{PART}.csv", f"id,text,{HEADER}\n{ROW_ID},{NOTE},x\n{ROW_ID}\n")
        archive.writestr(f"{PART}.png", PLACE)
        archive.writestr(f"{PART}.txt", NOTE)


def write_mail(path: Path) -> None:
    mail = EmailMessage()
    mail["Subject"] = f"about {PLACE}"
    mail["From"] = f"{ROW_ID}@example.org"
    mail["X-Ward"] = HEADER
    mail.set_content(NOTE)
    mail.add_attachment(f"id,text,{HEADER}\n{ROW_ID},{NOTE},x\n", "csv", filename=f"{PART}.csv")
    mail.add_attachment(b"x", "image", "png", filename=f"{PART}.png")
    path.write_bytes(mail.as_bytes())


def write_broken(path: Path) -> None:
    path.write_text(f"{HEADER},id\n{NOTE},{ROW_ID}\n")


WRITERS: dict[str, Callable[[Path], None]] = {
    "a.csv": write_csv,
    "b.jsonl": write_json_lines,
    "c.json": write_json,
    "d.parquet": write_parquet,
    "e.xlsx": write_excel,
    "f.zip": write_zip,
    "g.eml": write_mail,
}


class Multilingual(FakeMasker):
    """Masks capitals, and takes everything for a document of another language."""

    def _mask(self, doc):
        return replace(super()._mask(doc), other_language=True)


def is_note(path: Path) -> bool:
    """Whether it is neither a masked file nor the beginning of one."""
    return path.name.startswith(".") and not path.name.endswith(".partial")


def hashes_of(word: str) -> set[bytes]:
    """What somebody who guesses a word would compare."""
    plain = [getattr(hashlib, name) for name in ("md5", "sha1", "sha224", "sha256", "sha512", "blake2b")]
    spellings = (word, word.lower(), f'"{word}"', f"id,text,{word}")
    return {make(one.encode()).hexdigest()[:32].encode() for make in plain for one in spellings}


def words_in(folder: Path, words: tuple[str, ...] = WORDS, named: tuple[str, ...] = ()) -> list[str]:
    """Words of the input in the notes: in their bytes, unpacked, as hash; `named` are those of file names."""
    found = []
    for path in filter(is_note, (p for p in folder.rglob("*") if p.is_file())):
        data = path.read_bytes()
        with suppress(OSError, EOFError):
            data += gzip.decompress(data)
        with suppress(ValueError):
            data += b"".join(bytes.fromhex(one) for one in data.decode().split('"') if len(one) > 40)
        for word in (*words, *named):
            spellings = {word.encode(), word.lower().encode(), word.encode("utf-16-le")}
            if any(one in data for one in spellings | hashes_of(word)):
                found.append(f"{path.name}: {word}")
    return found


def notes(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.rglob("*") if p.is_file() and is_note(p))


ENDS = ["success", "failure", "nothing"]
GOOD = ("d.parquet", "e.xlsx")


@pytest.mark.parametrize("keyed", [False, True], ids=["no key", "key"])
@pytest.mark.parametrize("end", ENDS)
def test_a_run_that_ends_leaves_no_word(command, fake_assemble, given, out, tmp_path, end, keyed):
    fake_assemble[0] = Multilingual(str.islower)
    (given / PLACE).mkdir()
    for name in {"success": GOOD, "failure": WRITERS, "nothing": ()}[end]:
        WRITERS[name](given / PLACE / name)
    if end != "success":
        write_broken(given / f"{PART}.csv")
    (tmp_path / "key").write_text("0123456789abcdef0123456789abcdef")
    options = ["--key", tmp_path / "key"] if keyed else []
    result = command("mask", given, "--out", out, "--explain", *options)
    assert result.status == ENDS.index(end), result.stderr
    assert words_in(out, named=(f"{PART}.csv",)) == []
    assert (notes(out) == [".inverse-deid.journal"]) == (end != "nothing")
    again = command("mask", given, "--out", out, "--explain", "--resume", *options)
    assert again.status == result.status
    assert words_in(out, named=(f"{PART}.csv",)) == []


def killed(call: Callable[[], object], point: str) -> bool:
    child = os.fork()
    if not child:
        kill_at(point)
        with suppress(BaseException):
            call()
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(one, marks=[] if one in ("a.csv", "f.zip", "g.eml") else [pytest.mark.slow])
        for one in WRITERS
    ],
)
def test_a_run_that_is_killed_leaves_no_word_and_is_resumed(command, fake_assemble, given, out, name):
    fake_assemble[0] = Multilingual(str.islower)
    WRITERS[name](given / name)
    (given / "z.txt").write_text(NOTE)
    whole, report = out.with_name("whole"), out.with_name("report.json")
    options = ("mask", given, "--explain", "--run-report", report, "--out")
    expected = command(*options, whole).status
    total = json.loads(report.read_bytes())["total"]
    n_with_notes = 0
    for n_steps in range(1, MAX_STEPS, STRIDE):
        report.unlink()
        if not killed(lambda: command(*options, out), str(n_steps)):
            break
        assert words_in(out) == [], n_steps
        n_with_notes += bool(notes(out))
        result = command(*options, out, "--resume")
        assert result.status == expected, (n_steps, result.stderr)
        assert json.loads(report.read_bytes())["total"] == total, n_steps
        assert words_in(out) == [], n_steps
        shutil.rmtree(out)
    assert n_with_notes > 1
