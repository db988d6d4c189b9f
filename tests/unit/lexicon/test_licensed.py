"""The user's own MedDRA and WHODrug, as synthetic files of the right layout."""

import csv
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from inverse_deid.cli.main import main
from inverse_deid.core.errors import FormatError, InputError
from inverse_deid.lexicon import PhraseKind, WordFlag, load_lexicon
from inverse_deid.lexicon.artefact import compile_lexicon, dump_artefact
from inverse_deid.lexicon.entries import WordList
from inverse_deid.lexicon.licensed import read_meddra, read_whodrug

LLT = "90000001$Zorblitis acute$90000002$$$$$$$Y$$\n90000003$Smith's syndrome$90000004$$$$$$$Y$$\n"
PT = "90000002$Zorblitis$$90000009$$$$$$$$\n"
RECORD = "00000101001" + "3" + "T" + "87" + "00001" + "ABCDE" + "01" + "0" + "854"
FIXED = "".join(f"{RECORD[:30]:<30}{name}\n" for name in ("ZORBLAMAB", "ZORB SMITH", "SMITH"))
COLUMNS = "Record,Drug name,Country\n1,Zorblamab,XX\n2,Zorb Forte,YY\n"
HEADERLESS = '"000001","01","001","3","ZORBLAMAB"\n"000002","01","001","3","ZORB FORTE"\n'


@pytest.fixture
def meddra(tmp_path: Path) -> Path:
    folder = tmp_path / "MedAscii"
    folder.mkdir()
    (folder / "llt.asc").write_text(LLT, "utf-8")
    (folder / "pt.asc").write_text(PT, "utf-8")
    return folder


@pytest.fixture
def base(tmp_path: Path) -> Path:
    names = WordList("names", {"smith": 100, "brown": 100}, WordFlag.SURNAME, None, {"title": "Names"})
    path = tmp_path / "base.zip"
    path.write_bytes(dump_artefact(compile_lexicon([names], {}, version="1")))
    return path


def table(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "DD.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["lexicon", *map(str, arguments)])


def test_meddra_terms_are_read(meddra: Path) -> None:
    assert read_meddra(meddra) == ["Zorblitis acute", "Smith's syndrome", "Zorblitis"]


@pytest.mark.parametrize("content", [FIXED, COLUMNS, HEADERLESS, COLUMNS.replace(",", "\t")])
def test_whodrug_layouts_are_read(tmp_path: Path, content: str) -> None:
    names = read_whodrug(table(tmp_path, content))
    assert names[0].upper() == "ZORBLAMAB"
    assert all(name.upper().startswith(("ZORB", "SMITH")) for name in names)


@pytest.mark.parametrize(
    "content", ["", "a,b\n1,2\n", "no table\n", COLUMNS + "3,4\n", FIXED + "0001\n", b"PK\0\0"]
)
def test_other_tables_are_refused(tmp_path: Path, content: str | bytes) -> None:
    with pytest.raises(InputError, match=r"DD\.txt"):
        read_whodrug(table(tmp_path, content))


@pytest.mark.parametrize("line", ["1$2$3\n", "x" + PT, PT.replace("Zorblitis", " "), "term\n"])
def test_broken_meddra_is_refused(meddra: Path, line: str) -> None:
    (meddra / "pt.asc").write_text(PT + line, "utf-8")
    with pytest.raises(FormatError, match=r"pt\.asc, line 2"):
        read_meddra(meddra)


def test_old_encodings_are_read(tmp_path: Path) -> None:
    path = table(tmp_path, "Drug name;x\nZorblé;1\n".encode("cp1252"))
    assert read_whodrug(path) == ["Zorblé"]


def test_build_adds_the_words_to_a_copy(meddra: Path, base: Path, tmp_path: Path) -> None:
    out, drugs = tmp_path / "own.zip", table(tmp_path, FIXED)
    result = run("build", "--meddra", meddra, "--whodrug", drugs, "--base", base, "--out", out)
    assert result.exit_code == 0, result.output
    own = load_lexicon(out)
    assert own.flags("zorblitis") == WordFlag.MEDICAL
    assert own.flags("zorblamab") == WordFlag.DRUG
    assert own.flags("smith") == WordFlag.SURNAME | WordFlag.PHRASE_START
    assert own.longest_phrase(["smith", "s", "syndrome"]) == (PhraseKind.EPONYM, 3)
    assert not load_lexicon(base).flags("zorblitis")
    assert own.version == "1+meddra.meddra_eponyms.whodrug"


@pytest.mark.slow
def test_build_begins_with_the_packaged_lexicon(tmp_path: Path) -> None:
    out = tmp_path / "own.zip"
    assert run("build", "--whodrug", table(tmp_path, FIXED), "--out", out).exit_code == 0
    own, packaged = load_lexicon(out), load_lexicon()
    assert len(own) == len(packaged) + 1
    assert own.sources[:-1] == packaged.sources


def test_build_does_not_add_twice(meddra: Path, base: Path, tmp_path: Path) -> None:
    out = tmp_path / "own.zip"
    assert run("build", "--meddra", meddra, "--base", base, "--out", out).exit_code == 0
    result = run("build", "--meddra", meddra, "--base", out, "--out", tmp_path / "more.zip")
    assert result.exit_code == 2
    assert "already" in result.output


@pytest.mark.parametrize(
    "arguments",
    [
        ("build", "--out", "no-such-folder/x.zip"),
        ("build", "--meddra", "no-such-folder", "--out", "no-such-folder/x.zip"),
        ("build", "--whodrug", "no-such-folder/absent.txt", "--out", "no-such-folder/x.zip"),
        (
            "build",
            "--whodrug",
            "no-such-folder/absent.txt",
            "--base",
            "no-such-folder/absent.zip",
            "--out",
            "no-such-folder/x.zip",
        ),
        ("explain", "--lexicon", "no-such-folder/absent.zip", "pain"),
        ("explain", "pain", "\udcff"),
    ],
)
def test_bad_input_ends_with_one_line_and_status_2(arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert isinstance(result.exception, SystemExit)
    assert result.output.splitlines()[-1].startswith(("Error: ", "inverse-deid: "))


def test_an_unwritable_output_ends_with_status_2(meddra: Path, base: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    out = tmp_path / "file" / "own.zip"
    result = run("build", "--meddra", meddra, "--base", base, "--out", out)
    assert result.exit_code == 2
    assert "own.zip" in result.output


def test_explain_names_lists_and_licences() -> None:
    result = run("explain", "Brown", "zzzzqq")
    assert result.exit_code == 0
    assert "brown: ambiguous" in result.output
    assert "surnames_census" in result.output
    assert "public domain" in result.output
    assert "zzzzqq: neither" in result.output
    assert "unknown" in result.output


def test_no_table_is_overwritten_and_a_lexicon_only_when_asked(tmp_path, base):
    drugs = table(tmp_path, COLUMNS)
    before = drugs.read_bytes()
    given = ("build", "--whodrug", drugs, "--base", base, "--out")
    assert run(*given, drugs, "--force").exit_code == 2
    assert drugs.read_bytes() == before
    out = tmp_path / "own.zip"
    assert [run(*given, out).exit_code, run(*given, out).exit_code] == [0, 2]
    assert run(*given, out, "--force").exit_code == 0
    assert not list(tmp_path.glob(".*"))


def test_a_table_that_cannot_be_read_as_one_is_refused(tmp_path):
    limit = csv.field_size_limit(100)
    try:
        with pytest.raises(FormatError, match="quote"):
            read_whodrug(table(tmp_path, 'drug_name;x\n"' + "a" * 200))
    finally:
        csv.field_size_limit(limit)
