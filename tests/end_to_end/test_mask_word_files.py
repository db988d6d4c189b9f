"""`inverse-deid mask` and `review init` with Word files."""

import io
import re
from dataclasses import replace

from case_maskers import masker_of, spans_by
from click.testing import CliRunner
from fake_maskers import CANARY, FakeMasker
from hostile_files import numbered
from word_files import hostile, paragraph, simple, unpacked, zipped

from inverse_deid.cli.main import main
from inverse_deid.formats.docx import FORMAT
from inverse_deid.formats.records import ReadOptions

LETTER = zipped(simple(paragraph("seen by ", CANARY[:3], CANARY[3:]) + paragraph("well")))


def text_of(path):
    return FORMAT.open(io.BytesIO(path.read_bytes()), ReadOptions(), "x").doc.text


class AddsWords(FakeMasker):
    """Returns more text than its masks explain."""

    def mask_many(self, docs):
        return [replace(one, text=f"{one.text} {CANARY}") for one in super().mask_many(docs)]


def test_a_text_that_does_not_fit_the_file_is_not_written(command, given, out, fake_assemble):
    (given / "a.docx").write_bytes(LETTER)
    fake_assemble[0] = AddsWords(str.islower)
    result = command("mask", given, "--out", out)
    assert result.status == 2
    assert "does not fit" in result.stderr
    assert not list(out.rglob("*.docx"))


def test_dates_ages_and_surrogates_are_those_of_a_text_file(command, given, out, fake_assemble, tmp_path):
    fake_assemble[0] = masker_of(
        spans_by(NAME=r"\b(Zebulonova)", DATE=r"(\d\d-[A-Z]{3}-\d{4})", AGE=r"(\d\d)-year")
    )
    (tmp_path / "key").write_text("0123456789abcdef0123456789abcdef\n")
    text = "Zebulonova, 47-year-old, fell on 12-OCT-2019 and 19-OCT-2019. Zebulonova left."
    (given / "a.docx").write_bytes(
        zipped(simple(paragraph(*(text[i : i + 3] for i in range(0, len(text), 3)))))
    )
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "a.docx").write_text(text)
    options = (
        "--key",
        tmp_path / "key",
        "--replace",
        "surrogate",
        "--dates",
        "shift",
        "--ages",
        "band",
        "--age-bands",
        "10-years",
    )
    assert command("mask", given, "--out", out, *options).status == 0
    same = command("mask", tmp_path / "text", "--out", tmp_path / "plain", "--format", "text", *options)
    assert same.status == 0
    shown = text_of(out / "a.docx")
    assert shown == (tmp_path / "plain" / "a.docx").read_text()
    assert not re.search("Zebulonova|12-OCT-2019|47", shown)
    assert re.search(r"\d\d-[A-Z]{3}-\d{4}", shown)


def test_the_real_rules_mask_a_name_in_several_runs_and_its_other_mention_in_a_footnote(tmp_path):
    parts = hostile(numbered()[0])
    body = paragraph("Mrs. Zeb", "ulonova took aspirin and had a ", "rash.")
    parts["word/document.xml"] = simple(body)["word/document.xml"]
    (tmp_path / "a.docx").write_bytes(zipped(parts))
    order = ("mask", tmp_path / "a.docx", "--out", tmp_path / "out", "--rules-only")
    done = CliRunner().invoke(main, list(map(str, order)))
    assert done.exit_code == 0, done.stderr
    written = unpacked((tmp_path / "out" / "a.docx").read_bytes())
    assert CANARY.encode() not in b"".join(written.values())
    assert "rash" in text_of(tmp_path / "out" / "a.docx")
    assert "aspirin" in text_of(tmp_path / "out" / "a.docx")
