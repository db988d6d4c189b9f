"""What leaves unread is shown: values of kept columns, on every page that shows a case as it is released."""

import csv
import re
from datetime import date
from html import unescape

import pytest
from review_stores import FACTS, KEY, change_rows, place, review, store_of
from review_visitors import Visitor, account
from sqlalchemy import select

from inverse_deid.formats.records import ReadOptions
from inverse_deid.replacement.settings import CaseSettings, DateMode
from inverse_deid.review.files.loading import LoadSettings
from inverse_deid.review.flow.contents import pack_content, read_content
from inverse_deid.review.flow.quality import draw_sample
from inverse_deid.review.flow.reading import view_case
from inverse_deid.review.people.accounts import find_user
from inverse_deid.review.store.rows import hash_content
from inverse_deid.review.store.tables import CONTENTS
from inverse_deid.review.store.values import CopiedValue, ReviewPolicy, UserRole

NAME = "Ann <b>Okonkwo</b>"
LONG = "a remark & more " * 40
ROW = {
    "text": "seen by Okonkwo today",
    "country": "Norway",
    "onset": "2019-10-12",
    "reporter": NAME,
    "note": LONG,
}
COPIED = [
    CopiedValue("country", "Norway"),
    CopiedValue("onset", "", "date"),
    CopiedValue("reporter", NAME),
    CopiedValue("note", LONG),
]


@pytest.fixture
def kept_store(tmp_path):
    file = tmp_path / "cases.csv"
    with file.open("w", newline="", encoding="utf-8") as target:
        writer = csv.DictWriter(target, ROW)
        writer.writeheader()
        writer.writerows([ROW, {**ROW, "reporter": "", "note": ""}])
    options = ReadOptions(keep_columns=("country", "onset"), keep_unchecked=("reporter", "note"))
    settings = LoadSettings(
        policy=ReviewPolicy(approvals=1),
        facts=FACTS,
        cases=CaseSettings(today=date(2024, 1, 1), key=KEY.secret, dates=DateMode.YEAR),
        read_options=options,
    )
    with store_of(tmp_path, inputs=[file], settings=settings) as store:
        for name, role in (("ann", UserRole.REVIEWER), ("eve", UserRole.ADJUDICATOR)):
            account(store, name, role)
        yield store


def visitor(store, name):
    made = Visitor(store)
    made.log_in(name)
    return made


def test_copied_values_are_kept_with_the_case_and_sealed(kept_store):
    ann = find_user(kept_store, "ann")
    place(kept_store, ann)
    assert list(view_case(kept_store, ann, 1).copied) == COPIED
    place(kept_store, ann, 2)
    assert list(view_case(kept_store, ann, 2).copied) == COPIED[:2]
    with kept_store.reading() as transaction:
        rows = transaction.execute(select(CONTENTS)).all()
    assert not any(b"Norway" in row.sealed_text or b"Okonkwo" in row.sealed_text for row in rows)
    assert "Norway" not in repr(COPIED)


def test_the_page_of_a_case_gets_them(kept_store):
    copied = visitor(kept_store, "ann").ask("/cases/1/open").json()["copied"]
    assert [(one["column"], one["is_replaced"], one["is_long"]) for one in copied] == [
        ("country", False, False),
        ("onset", True, False),
        ("reporter", False, False),
        ("note", False, True),
    ]
    assert copied[1]["value"] == "a date, replaced as those of the text are"
    assert copied[2]["value"] == NAME


def test_print_finished_case_and_sample_show_them_escaped_and_whole(kept_store):
    ann = visitor(kept_store, "ann")
    ann.ask("/cases/1/open")
    pages = {"print": ann.get("/cases/1/print").text}
    review(kept_store, find_user(kept_store, "ann"))
    pages["finished"] = ann.get("/cases/1/finished").text
    draw_sample(kept_store, 1, by="eve")
    pages["sample"] = visitor(kept_store, "eve").get("/sample/1").text
    for name, page in pages.items():
        section = re.search(r'<section class="copied".*?</section>', page, re.DOTALL).group()
        assert "<b>" not in section
        shown = unescape(re.sub(r"<[^>]+>", "", section))
        assert NAME in shown and LONG in shown and "Norway" in shown
        assert "2019-10-12" not in shown
        assert ("<details open>" in section) == (name != "print")


def test_a_case_of_an_earlier_version_says_that_they_are_not_known(kept_store):
    ann = find_user(kept_store, "ann")
    place(kept_store, ann)
    with kept_store.reading() as transaction:
        content = read_content(transaction, 1)
    text, _ = pack_content(content)
    old = text.replace(b'"copied"', b'"of another version"')
    sealed = kept_store.sealer.seal(old, "the text of case 1")
    with kept_store.reading() as transaction:
        (row,) = transaction.execute(select(CONTENTS).where(CONTENTS.c.case_id == 1)).all()
    hashed = hash_content(sealed, row.sealed_tokens)
    change_rows(kept_store, CONTENTS, CONTENTS.c.case_id == 1, sealed_text=sealed, content_hash=hashed)
    assert view_case(kept_store, ann, 1).copied is None
    page = visitor(kept_store, "ann").get("/cases/1/print").text
    assert "an earlier version did not store their values" in page


def test_without_kept_columns_nothing_is_shown(tmp_path):
    with store_of(tmp_path) as store:
        account(store, "ann")
        ann = visitor(store, "ann")
        assert ann.ask("/cases/1/open").json()["copied"] == []
        assert "copied unmasked" not in ann.get("/cases/1/print").text
