"""Changed copies: what changes, and that the marks follow their characters."""

import json
import random

import pytest
from change import CHANGES, change_document, change_documents, write_changed

TEXT = 'Dr. Iľko Straße\'s "note" of 3 May.\n' + "the patient felt unwell and called Oslo General " * 4


def document(text, *marked):
    spans = [
        {"start": text.index(piece), "end": text.index(piece) + len(piece), "type": "CITY"}
        for piece in marked
    ]
    return {"id": "a", "text": text, "spans": spans, "meta": {"kind": "b"}}


def changed(name, text=TEXT, *marked):
    return change_document(document(text, *marked), name, random.Random(7))


def pieces(doc):
    return [doc["text"][span["start"] : span["end"]] for span in doc["spans"]]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("lower", ["iľko", "straße", "3 may"]),
        ("upper", ["IĽKO", "STRAßE", "3 MAY"]),
        ("hyphens", ["Iľko", "Straße", "3 May"]),
        ("mojibake", ["IÄ¾ko", "StraÃŸe", "3 May"]),
    ],
)
def test_marks_follow_their_characters(name, expected):
    assert pieces(changed(name, TEXT, "Iľko", "Straße", "3 May")) == expected


def test_straight_quotes_become_typographic_and_are_read_wrongly():
    assert changed("mojibake", "a 'b' \"c\"")["text"] == "a â€™bâ€™ â€\ufffdcâ€\ufffd"


def test_lines_break_within_words_at_60_columns():
    text = "x" * 59 + "yz and 7" + "w" * 70
    doc = changed("hyphens", text, "yz", "y")
    assert doc["text"] == "x" * 59 + "y-\n" + "z and 7" + "w" * 53 + "-\n" + "w" * 17
    assert pieces(doc) == ["y-\nz", "y"]
    assert changed("hyphens", "X" * 70 + "\n" + "y" * 20)["text"] == "X" * 70 + "\n" + "y" * 20


def test_ocr_confuses_about_three_of_a_hundred_similar_characters():
    text = "colon" * 4000
    new = changed("ocr1", text)["text"]
    different = sum(old != other for old, other in zip(text, new, strict=True))
    assert 0.02 < different / len(text) < 0.04
    assert {(old, other) for old, other in zip(text, new, strict=True) if old != other} == {
        ("c", "e"),
        ("o", "0"),
        ("l", "1"),
        ("n", "u"),
    }
    assert changed("ocr1", "RRR" * 500)["text"] == "RRR" * 500


@pytest.mark.parametrize("name", CHANGES)
def test_copies_keep_everything_else_and_are_the_same_each_time(name, tmp_path):
    docs = [document(TEXT, "Oslo"), document(TEXT[::-1])]
    gold = tmp_path / "gold.jsonl"
    gold.write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    write_changed(gold, name, tmp_path / "out.jsonl")
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
    assert written == list(change_documents(docs, name))
    assert [(doc["id"], doc["meta"]) for doc in written] == [("a", {"kind": "b"})] * 2
    assert any(doc["text"] != old["text"] for doc, old in zip(written, docs, strict=True))
