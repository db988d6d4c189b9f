"""Originals are put back into masked Word, Excel and PDF files, and texts of scans, that nobody has changed."""

import io
import stat
import zipfile

import pytest
import word_files
from excel_files import workbook_of
from fake_maskers import CANARY
from pdf_files import of_text
from scan_files import HAS_READER, picture_of

from inverse_deid.formats.records import ReadOptions
from inverse_deid.formats.registry import FORMATS

for package in ("openpyxl", "pypdfium2", "reportlab"):
    pytest.importorskip(package, reason=f"no {package}; pip install '.[office]'")

LETTER = (
    word_files.paragraph("seen by ", CANARY[:4], CANARY[4:], " and Bo\u200b Li"),
    word_files.paragraph("\u200b", "well since 3 May"),
    word_files.paragraph(f"{CANARY}\u200b"),
)
ROWS = (
    ["id", "text", "note"],
    [7, f"seen by {CANARY}", "Bo Li"],
    [8, "well", ""],
    [7, f"{CANARY} again", 12],
)
FILES = {
    "letter.docx": word_files.zipped(word_files.simple("".join(LETTER))),
    "full.docx": word_files.zipped(word_files.hostile(lambda: CANARY)),
    "cases.xlsx": workbook_of(*ROWS, more=(["text", "note", "id"], ["seen by Bo", "x", 9])),
    "letter.pdf": of_text(f"seen by {CANARY}\nwell since 3 May", f"second page by {CANARY}"),
    **({"fax.png": picture_of("seen by Okonkwo", "well since 3 May")} if HAS_READER else {}),
}
COLUMNS = ("--text-column", "text", "--text-column", "note")


@pytest.fixture
def keep(tmp_path):
    """The options of a map, and the folder of maps."""
    key = tmp_path / "key"
    key.write_bytes(b"an invented key of 27 bytes")
    return tmp_path / "maps", ("--key", key)


def options_of(name):
    return COLUMNS if name.endswith(".xlsx") else ()


def texts_of(name, data):
    options = ReadOptions(text_columns=("text", "note")) if name.endswith(".xlsx") else ReadOptions()
    source = FORMATS[name.rpartition(".")[2]].open(io.BytesIO(data), options, "x")
    return [doc.text for record in source.records() for doc in record.docs]


@pytest.fixture
def mask(command, given, out, keep):
    def run(name):
        (given / name).write_bytes(FILES[name])
        maps, key = keep
        result = command("mask", given, "--out", out, "--map", maps, *key, *options_of(name))
        assert result.status == 0, result.stderr
        masked = next(path for path in out.iterdir() if path.name.startswith(name))
        return masked, maps / f"{masked.name}.map"

    return run


@pytest.fixture
def reveal(command, keep, tmp_path):
    def run(masked, mapped, *more):
        back = tmp_path / "back"
        result = command("reveal", masked, "--map", mapped, *keep[1], "--out", back, *more)
        assert CANARY not in result.stdout + result.stderr
        return result, back / masked.name

    return run


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith("x")])
def test_every_text_of_a_word_or_excel_file_comes_back(mask, reveal, name):
    masked, mapped = mask(name)
    assert CANARY not in "".join(texts_of(name, masked.read_bytes()))
    assert CANARY.encode() not in mapped.read_bytes()
    result, back = reveal(masked, mapped, *options_of(name))
    assert result.status == 0, result.stderr
    assert texts_of(name, back.read_bytes()) == texts_of(name, FILES[name])
    assert stat.S_IMODE(back.stat().st_mode) == 0o600


def test_the_words_of_a_pdf_come_back(mask, reveal):
    masked, mapped = mask("letter.pdf")
    result, back = reveal(masked, mapped)
    assert result.status == 0, result.stderr
    (before,), (after,) = (
        texts_of("letter.pdf", FILES["letter.pdf"]),
        texts_of("letter.pdf", back.read_bytes()),
    )
    assert after.split() == before.split()
    assert CANARY in after


@pytest.mark.skipif(not HAS_READER, reason="no rapidocr; pip install '.[scans]'")
def test_the_text_of_a_scan_comes_back(mask, reveal):
    masked, mapped = mask("fax.png")
    assert "Okonkwo" not in masked.read_text("utf-8")
    result, back = reveal(masked, mapped)
    assert result.status == 0, result.stderr
    assert back.read_text("utf-8").split() == ["seen", "by", "Okonkwo", "well", "since", "3", "May"]


def test_one_case_of_an_excel_file_is_revealed_alone(mask, reveal):
    masked, mapped = mask("cases.xlsx")
    result, back = reveal(masked, mapped, "--case", "9", *COLUMNS)
    assert result.status == 0, result.stderr
    texts = texts_of("cases.xlsx", back.read_bytes())
    assert "seen by Bo" in texts
    assert CANARY not in "".join(texts)


def changed_docx(data):
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as read, zipfile.ZipFile(target, "w") as made:
        for one in read.namelist():
            made.writestr(one, read.read(one).replace(b"seen by", b"seen in"))
    return target.getvalue()


CHANGED = {
    "letter.docx": changed_docx,
    "cases.xlsx": lambda _data: workbook_of(["id", "text", "note"], [7, "seen in PHI", "PHI PHI"]),
    "letter.pdf": lambda _data: of_text("seen in PHI\nwell since PHI PHI", "second page by PHI"),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_file_that_was_changed_is_refused(mask, reveal, name):
    masked, mapped = mask(name)
    masked.write_bytes(CHANGED[name](masked.read_bytes()))
    result, back = reveal(masked, mapped, *options_of(name))
    assert result.status == 2
    assert "the map" in result.stderr
    assert not back.exists()


def test_a_map_of_all_cells_is_refused(command, given, out, keep):
    (given / "cases.xlsx").write_bytes(FILES["cases.xlsx"])
    maps, key = keep
    result = command("mask", given, "--out", out, "--map", maps, *key, "--all-cells")
    assert result.status == 2
    assert "--all-cells" in result.stderr
    assert not out.exists()
