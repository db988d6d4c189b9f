"""Every surface shows the same facts of a file: what it says of one, all say."""

import io
import json
import zipfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import excel_files
import outlook_files
import pdf_files
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import rtf_files
import slide_files
import word_files
from every_format import UNTRIED
from fake_maskers import FakeMasker
from icsr_canaries import sample
from review_stores import KEY
from scan_files import HAS_READER, picture_of
from service_client import client_of

import inverse_deid
from inverse_deid.cli.masking.summary import alarm_lines, fact_lines
from inverse_deid.core.values import MaskedDocument
from inverse_deid.engine.tally import Tally
from inverse_deid.files.facts import FileFacts, list_facts
from inverse_deid.formats.registry import FORMATS
from inverse_deid.review.pages.intake_pages import describe_facts
from inverse_deid.review.store.opening import open_store
from inverse_deid.review.store.sources import list_sources, read_file_facts

pytest.importorskip("openpyxl", reason="no openpyxl; pip install '.[office]'")

FOREIGN = "nicht"
MAIL = (
    "From: a@example.org\nSubject: rash\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=x\n\n"
    "--x\nContent-Type: text/plain; charset=windows-1252\n\nseen by Okonkwo\n"
    "--x\nContent-Type: image/png\nContent-Disposition: attachment; filename=a.png\n\nabc\n--x--\n"
)


def word() -> str:
    return "Zebulonova"


def archive() -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as made:
        made.writestr("inner.docx", word_files.zipped(word_files.hostile(word)))
        made.writestr("photo.png", b"abc")
    return target.getvalue()


def parquet() -> bytes:
    target = io.BytesIO()
    pq.write_table(pa.table({"case": ["7"], "text": ["fell"]}), target)
    return target.getvalue()


def sheets() -> bytes:
    """A workbook with a second table that has no ids."""
    return excel_files.workbook_of(["case", "text"], [7, "fell"], more=(["text"], ["seen by Okonkwo"]))


FILES = {
    "a.txt": b"seen by Okonkwo",
    "b.csv": f"case;text;dob\n7;fällt {FOREIGN};1980\n8;well;1990\n".encode("cp1252"),
    "c.jsonl": b'{"case": "7", "text": "fell"}\nno object\n',
    "d.json": b'[{"case": "7", "text": "fell"}]',
    "e.docx": word_files.zipped(word_files.hostile(word)),
    "f.rtf": rtf_files.hostile(word, word),
    "g.html": b"<title>x</title><script>1</script><p>seen by Okonkwo",
    "h.eml": MAIL.encode(),
    "i.zip": archive(),
    "j.xlsx": sheets(),
    "k.xml": sample("r3"),
    "l.parquet": parquet(),
    "m.pdf": pdf_files.of_text("seen by Okonkwo"),
    "n.msg": outlook_files.compound(
        outlook_files.message(
            outlook_files.text(0x001A, "IPM.Note"),
            outlook_files.text(0x0037, "seen by Okonkwo"),
            outlook_files.attachment(
                0, (outlook_files.stream(0x3701, 0x0102), b"abc"), outlook_files.text(0x3707, "a.png")
            ),
        )
    ),
    "o.xml": b"<deIdi2b2><TEXT>seen by Okonkwo</TEXT><TAGS></TAGS></deIdi2b2>",
    "q.pptx": slide_files.presentation_of("seen by Okonkwo"),
    **({"p.png": picture_of("seen by Okonkwo")} if HAS_READER else {}),
}
"""With something to be said of most of them."""
TABLES = {"b.csv": 3, "c.jsonl": 2, "d.json": 2, "j.xlsx": 2, "l.parquet": 2}
"""The number of their columns; the first is the id, the second is masked."""
STRICT = ("c.jsonl", "i.zip")
"""The service returns nothing of a file with a record or part that cannot be read."""


def given_name(name: str) -> str:
    """Return the name of a file before it was masked."""
    for suffix in (".eml", ".txt"):
        if name.count(".") > 1:
            name = name.removesuffix(suffix)
    return name


class Foreigner(FakeMasker):
    """Finds that a text with a German word is not English."""

    def _mask(self, doc) -> MaskedDocument:
        return replace(super()._mask(doc), other_language=FOREIGN in doc.text)


def foreigner() -> FakeMasker:
    return Foreigner(str.islower)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("facts") / "in"
    made.mkdir()
    for name, data in FILES.items():
        (made / name).write_bytes(data)
    return made


@pytest.fixture
def reported(command, fake_assemble, folder, tmp_path):
    """What the run report of the command says of each file, and what the command printed."""
    fake_assemble[:] = [foreigner()]
    report = tmp_path / "report.json"
    done = command("mask", folder, "--out", tmp_path / "out", "--id-column", "case", "--run-report", report)
    assert done.status == 1, done.stderr  # one record of c.jsonl was left out
    read = json.loads(report.read_text())
    return {one["input"].rpartition("/")[2]: one for one in read["files"]}, read["total"], done.stderr


def numbers_of(report: dict) -> dict:
    return {
        "n_documents": report["n_documents"],
        "read_as": report["read_as"],
        "columns": {fate: len(names) for fate, names in report["columns"].items() if names},
        "removed": report["removed_parts"],
        "n_other_language": report["n_not_english"],
        "n_failures": report["n_failures"],
        "n_warnings": len(report["warnings"]),
    }


def test_there_is_something_to_be_said_of_the_files(reported):
    files, total, _ = reported
    assert files.keys() == FILES.keys()
    numbers = [numbers_of(one) for one in files.values()]
    for field in ("read_as", "columns", "removed", "n_other_language", "n_failures", "n_warnings"):
        assert any(one[field] for one in numbers), field
    assert total["n_documents"] == sum(one["n_documents"] for one in numbers)


def test_the_command_line_prints_what_the_report_says(reported):
    _, total, printed = reported
    found = Tally(
        n_documents=total["n_documents"],
        n_failures=total["n_failures"],
        columns={name: fate for fate, names in total["columns"].items() for name in names},
        removed=total["removed_parts"],
        read_as=total["read_as"],
        n_other_language=total["n_not_english"],
    )
    lines = [*fact_lines(found), *alarm_lines(found, keeps_all=False)]
    assert len(lines) > 3
    for line in lines:
        assert line in printed, line


def test_the_store_of_a_team_keeps_what_the_report_says(reported, command, folder, tmp_path):
    files, total, _ = reported
    path, key = tmp_path / "review.db", tmp_path / "key"
    key.write_bytes(KEY.secret)
    key.chmod(0o600)
    given = ("--store", path, "--key", key, "--approvals", "1", "--id-column", "case")
    made = command("review", "init", folder, *given)
    assert made.status == 1, made.stderr
    with open_store(path, KEY) as store:
        names = {row.id: row.name for row in list_sources(store)}
        kept = read_file_facts(store, list(names))
    assert {given_name(names[one]): facts.as_numbers() for one, facts in kept.items()} == {
        name: numbers_of(one) for name, one in files.items()
    }
    for kind, n in total["removed_parts"].items():
        assert f"{kind} ({n:,})" in made.stderr


def test_the_desk_shows_what_the_report_says(reported, tmp_path):
    pytest.importorskip("starlette")
    from desk_visitors import desk_of

    files, _, _ = reported
    (tmp_path / "desk").mkdir()
    with desk_of(tmp_path / "desk", lambda _settings: foreigner()) as desk:
        columns = {}
        for name, data in FILES.items():
            added = desk.add(name, data).json()
            assert added["state"] == "ready", added
            for number in range(TABLES.get(name, 0)):
                fate = ("id", "masked", "dropped")[number]
                columns[f"column {added['id']} {number}"] = fate
        page = desk.client.get("/choices").text
        assert "Read as: semicolon, windows-1252 (1 file)." in page and "image (" in page
        assert desk.choose(columns).status_code == 303
        shown = {one["name"]: one for one in desk.wait("done", "failed", seconds=180)}
        kept = read_file_facts(desk.store, [row.id for row in list_sources(desk.store)])
        names = {row.id: row.name for row in list_sources(desk.store)}
        listed = desk.client.get("/files").text
    for source_id, facts in kept.items():
        name = given_name(names[source_id])
        assert facts.as_numbers() == numbers_of(files[name]), name
        assert shown[name]["facts"] == describe_facts(facts), name
        for one in describe_facts(facts):
            assert str(one["text"]).replace("'", "&#39;") in listed, one
    assert len(kept) == len(FILES)


def test_the_service_says_what_the_report_says(reported):
    from inverse_deid.choices.table import PERMITS
    from inverse_deid.service.choices import Operator

    files, _, _ = reported
    n_checked = 0
    with client_of(foreigner(), operator=Operator(permits=frozenset(PERMITS))) as client:
        for name, data in FILES.items():
            if name in STRICT:
                continue
            fields = {"id_column": "case"} if name in TABLES else {}
            answer = client.post("/mask-file", files={"file": (name, data)}, data=fields)
            assert answer.status_code == 200, (name, answer.text)
            counts = json.loads(answer.headers["inverse-deid-counts"])
            expected = numbers_of(files[name])
            assert {field: counts[field] for field in expected} == expected, name
            n_checked += 1
    assert n_checked == len(FILES) - len(STRICT)


def test_python_says_what_would_be_left_out(reported, folder):
    files, _, _ = reported
    assert {name: inverse_deid.survey(folder / name).format for name in FILES} == {
        name: one["format"] for name, one in files.items()
    }
    for name, one in files.items():
        facts = inverse_deid.survey(folder / name).facts
        assert facts.n_documents == one["n_documents"], name
        assert facts.read_as == one["read_as"], name
        assert facts.n_failures == one["n_failures"], name
        if name not in TABLES:
            assert facts.removed == one["removed_parts"], name


def test_a_fact_that_is_added_gets_a_sentence():
    """A field of `FileFacts` without a sentence would be hidden on every surface."""
    full = FileFacts(
        n_documents=2,
        read_as={"utf-8": 1},
        columns={"text": "masked"},
        removed={"image": 1},
        n_other_language=1,
        other_language=("7",),
        n_failures=1,
        failures=(("a", "is broken", ()),),
        warnings=(("a", "has no ids", ()),),
    )
    said = Counter(one.field for one in list_facts(full))
    unsaid = {"n_documents", "other_language", "n_failures"}  # said with the others
    assert {*said, *unsaid} == set(FileFacts.__struct_fields__)


def test_every_format_is_tried():
    tried = {inverse_deid.files.survey.survey_file(*one).format for one in FILES.items()}
    assert tried == set(FORMATS) - UNTRIED
