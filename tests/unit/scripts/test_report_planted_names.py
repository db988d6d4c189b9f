"""What is planted in narratives, and how it is counted."""

import dataclasses
import json
from hashlib import sha256

import build_planted_names
import held_out_names
import numpy as np
import pytest
import report_planted_names as report
from fake_maskers import FakeMasker
from held_out_names import Insertion, Planting, build_documents, hash_of, plant

from inverse_deid.core.phi import HyperClass, PhiType
from inverse_deid.core.values import Document, PhiSpan

TEXT = "pt was well; rash in dec."
PLANTING = Planting(
    "a",
    sha256(TEXT.encode()).hexdigest(),
    (
        Insertion(0, 2, "Wexa O", ((0, 4, PhiType.PATIENT), (5, 6, PhiType.PATIENT))),
        Insertion(12, 12, " Dr pale called;", ((4, 8, PhiType.DOCTOR),)),
    ),
)
PLANTED = "Wexa O was well; Dr pale called; rash in dec."


class Labelling(FakeMasker):
    """Labels `dec` as a date and all else as a name."""

    def _mask(self, doc):
        masked = super()._mask(doc)
        labels = [list(HyperClass).index("DATE" if word == "dec" else "NAME") for word in masked.tokens.words]
        decisions = dataclasses.replace(masked.decisions, categories=np.array(labels, np.uint8))
        return dataclasses.replace(masked, decisions=decisions)


@pytest.fixture
def docs():
    return [plant(TEXT, PLANTING), Document("b", "no rash in dec")]


def test_names_are_planted_with_their_offsets(docs):
    assert docs[0].text == PLANTED
    assert [docs[0].text[span.start : span.end] for span in docs[0].spans] == ["Wexa", "O", "pale"]
    assert docs[0].spans[2].type is PhiType.DOCTOR


def test_another_narrative_than_names_were_planted_in_is_refused():
    with pytest.raises(ValueError, match=r"^a: another text"):
        plant("pt was ill; rash in dec.", PLANTING)


@pytest.fixture
def files(monkeypatch, tmp_path):
    other = "no rash in dec"
    monkeypatch.setattr(held_out_names, "read_plantings", lambda: (PLANTING,))
    hashes = {"a": hash_of(TEXT), "b": hash_of(other)}
    monkeypatch.setattr(held_out_names, "read_hashes", lambda: hashes)
    return {"a": TEXT, "b": other, "c": "not drawn"}


def test_the_builder_writes_gold(files, tmp_path):
    source, gold = tmp_path / "narratives.jsonl", tmp_path / "gold.jsonl"
    source.write_text("".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in files.items()))
    build_planted_names.main(source, gold)
    rows = [json.loads(line) for line in gold.read_text().splitlines()]
    assert [(row["id"], len(row["spans"])) for row in rows] == [("a", 3), ("b", 0)]
    assert rows[0]["text"] == PLANTED


@pytest.mark.parametrize(("change", "problem"), [({"b": "other"}, "b: another text"), ({}, "b: missing")])
def test_the_builder_wants_the_narratives_that_were_drawn(files, change, problem):
    with pytest.raises(ValueError, match=problem):
        build_documents({"a": TEXT} | change)


def test_tokens_are_counted_by_label_length_and_narrative(docs):
    masker = Labelling(lambda word: word in {"O", "was", "well", "Dr", "called", "in", "no"})
    masked = list(report.mask(masker, docs))
    groups = report.group_names(docs)
    named = report.count(masked, groups, only_names=True)
    assert named["recall: all"] == (2, 3)  # O leaks
    assert named["precision"] == (2, 4)  # rash twice
    assert named["precision, long"] == (2, 4)
    assert named["precision, short"] == (0, 0)
    assert named["false positives"] == (2, 11)
    assert named["narratives with a miss"] == (1, 1)
    every = report.count(masked, groups, only_names=False)
    assert every["precision"] == (2, 6)
    assert every["false positives: DATE"] == (2, 11)
    assert every["false positives: NAME"] == (2, 11)


def test_a_name_counts_in_every_group_it_is_of(docs):
    groups = report.group_names(docs)
    beginning = "beginning of a sentence"
    assert groups == [
        [
            ("more than three letters", beginning, "a patient"),
            ("up to three letters", "an initial", "a patient"),
            ("more than three letters", "an English word", "lower case", "a professional"),
        ],
        [],
    ]


def test_a_beginning_follows_the_end_of_a_sentence():
    text = "ok; Wexa slept. told Wexa"
    first, last = text.index("Wexa"), text.rindex("Wexa")
    spans = tuple(PhiSpan(start, start + 4, PhiType.PATIENT) for start in (first, last))
    (groups,) = report.group_names([Document("a", text, spans)])
    assert ["beginning of a sentence" in names for names in groups] == [True, False]


def test_the_report_has_every_reader_and_no_text(docs, tmp_path):
    asked = []

    def build(settings):
        asked.append((settings.reading, len(settings.categories)))
        keeps = str.islower if settings.reading == "careful" else {"O", "was"}.__contains__
        return Labelling(keeps)

    figures = report.measure(docs, build)
    assert [reading for reading, _ in asked] == ["careful", "careful", "fast", "fast"]
    assert asked[0][1] == 1 < asked[1][1]
    text = report.render_report(figures, "report_planted_names.py", "none", 14, 150)
    assert "| fast, `--categories name`, labelled NAME | 66.67 % | 2 | 3 | 9.42 to 99.16 |" in text
    assert "| careful, `--categories all`, all masks | 66.67 % | 2 | 3 |" in text
    assert "Wexa" not in text
    assert "- computing time: 2 minutes" in text
    assert "| recall: published | 86.59 % | 155 | 179 | 80.70 to 91.22 |" in text
    assert "| recall: fast | 66.67 % | 2 | 3 | 9.42 to 99.16 |" in text
    assert "| narratives with a miss: published | 18.31 % | 13 | 71 | 10.12 to 29.28 |" in text
    report.write_csv(tmp_path / "names.csv", figures)
    lines = (tmp_path / "names.csv").read_text().splitlines()
    assert "fast,name,labelled NAME,recall: all,2,3,0.094299,0.991596" in lines
