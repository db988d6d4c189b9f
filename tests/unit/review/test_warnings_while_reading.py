"""Who reads a case is told what its file lacks, and that a text is not in the language of the tool."""

from __future__ import annotations

import dataclasses
import html
from email import policy
from email.message import EmailMessage

import pytest
from desk_visitors import desk_of
from fake_maskers import FakeMasker

from inverse_deid.review.files.waiting import UploadState

WARNING = "This text seems not to be English. Identifiers may be missed in it, and facts may be lost."
GERMAN = "die patientin bekam einen ausschlag"
LISTING = f"text\n{GERMAN}\nthe patient had a rash\n".encode()


class KnowsGerman(FakeMasker):
    def _mask(self, doc):
        masked = super()._mask(doc)
        return dataclasses.replace(masked, other_language="bekam" in masked.tokens.words)


def an_email() -> bytes:
    made = EmailMessage()
    made["Subject"] = "a case"
    made.set_content("the patient had a rash")
    made.add_attachment(b"\x00", maintype="application", subtype="octet-stream", filename="b.bin")
    return made.as_bytes(policy=policy.SMTP)


@pytest.fixture
def desk(tmp_path):
    with desk_of(tmp_path, lambda _settings: KnowsGerman(str.islower)) as made:
        yield made


def mask(desk, name, data):
    desk.add(name, data)
    (number,) = [one["id"] for one in desk.wait(UploadState.READY, UploadState.DONE) if one["name"] == name]
    desk.choose({f"column {number} 0": "masked"} if name.endswith(".csv") else None)
    desk.wait(UploadState.DONE)


def test_a_text_in_another_language_is_named_in_the_case_and_before_its_approval(desk):
    mask(desk, "cases.csv", LISTING)
    opened = [desk.ask(f"/cases/{case}/open").json() for case in (1, 2)]
    assert [one["warning"] for one in opened] == [WARNING, ""]
    for said in ({}, {"other_language": 1}, {"other_language": "true"}):
        asked = desk.ask("/cases/1/approve", revision=0, **said)
        assert (asked.status_code, asked.json()["error"]) == (428, f"{WARNING} Approve?")
    assert desk.ask("/cases/1/approve", revision=0, other_language=asked.json()["other_language"]).is_success
    assert desk.ask("/cases/2/approve", revision=0).is_success


def test_the_table_names_it_in_its_row_and_before_the_approval(desk):
    mask(desk, "cases.csv", LISTING)
    rows = desk.ask("/table/1/rows").json()["rows"]
    assert [one["warning"] for one in rows] == [WARNING, ""]
    question = desk.ask("/table/1/ask").json()["question"]
    assert question.startswith("1 of 2 documents seems not to be English. ")
    mask(desk, "english.csv", b"text\nthe patient had a rash\nand was well\n")
    assert "English" not in desk.ask("/table/2/ask").json()["question"]


def test_the_page_of_a_case_says_what_was_left_out_of_its_file(desk):
    mask(desk, "mail.eml", an_email())
    page = html.unescape(desk.client.get("/cases/1").text)
    assert '<details class="about" open>' in page
    assert (
        '<li class="warned">mail.eml attachment 1: has a file type that is not known. It was left out.'
        in page
    )
