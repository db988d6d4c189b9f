"""Documents counted by hand: every count is written out."""

import io
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from inverse_deid.core.errors import AnnotationError, StageError
from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.evaluation.evaluation import evaluate_masks
from inverse_deid.evaluation.measures.counts import (
    GROUPS,
    Counts,
    GroupKind,
    HarmlessTokens,
    SafeKind,
    count_document,
    find_gold_tokens,
    group_number,
    read_harmless,
)
from inverse_deid.evaluation.measures.figures import FIGURES, Share, measure_over_masking
from inverse_deid.formats.i2b2_xml import read_gold_i2b2_xml
from inverse_deid.text.tokenizer import tokenize

NOTHING_HARMLESS = HarmlessTokens({})
CANARY = "Zebulonova"


def ranges(text, pieces):
    """Where the pieces stand, one after the other."""
    found, position = [], 0
    for piece in pieces:
        start = text.index(piece, position)
        position = start + len(piece)
        found.append((start, position))
    return found


def annotated(doc_id, text, *marked):
    """A document with (piece, type) marked, in text order."""
    places = ranges(text, [piece for piece, _ in marked])
    spans = [PhiSpan(*place, PhiType(name)) for place, (_, name) in zip(places, marked, strict=True)]
    return Document(doc_id, text, tuple(spans))


# 18 tokens, 10 of them PHI; the last letter of 3May2019x is outside of the mark.
VISIT = annotated(
    "visit",
    "Mr Ann Li (40 years old) of Velmo saw Dr Wu on 3May2019x. Ann Li took 40mg aspirin.",
    ("Ann Li", "PATIENT"),
    ("40 years old", "AGE"),
    ("Velmo", "CITY"),
    ("Wu", "DOCTOR"),
    ("3May2019", "DATE"),
    ("Ann Li", "PATIENT"),
)
# Missed: years, old, Wu, the second Li. Masked without need: 40mg and the x of 3May2019x.
VISIT_MASKS = ranges(VISIT.text, ["Ann Li", "40", "Velmo", "3May2019x", "Ann", "40mg"])
# 6 tokens, 1 of them PHI, nothing missed, 2 masked without need.
CHECK = annotated("check", "No change. Seen by nurse Okonkwo.", ("Okonkwo", "DOCTOR"))
CHECK_MASKS = ranges(CHECK.text, ["No change", "Okonkwo"])
WELL = Document("well", "Well.")


@pytest.fixture
def evaluation():
    masks = {"visit": VISIT_MASKS, "check": CHECK_MASKS, "well": []}
    return evaluate_masks(
        [VISIT, CHECK, WELL], masks, clinical=lambda words: np.isin(words, ["aspirin", "40mg"])
    )


def test_tokens_are_counted_by_document(evaluation):
    counts = evaluation.counts
    assert counts.tokens.tolist() == [18, 6, 1]
    assert counts.masked.tolist() == [7, 3, 0]
    assert counts.inexact_masks.tolist() == [1, 0, 0]


def test_safe_tokens_are_counted_by_kind(evaluation):
    kinds = [SafeKind.WORD, SafeKind.CLINICAL, SafeKind.NUMBER, SafeKind.MIXED]
    assert evaluation.counts.safe[:, kinds].tolist() == [[6, 1, 0, 1], [5, 0, 0, 0], [1, 0, 0, 0]]
    assert evaluation.counts.false_masks[:, kinds].tolist() == [[0, 0, 0, 1], [2, 0, 0, 0], [0, 0, 0, 0]]
    assert measure_over_masking(evaluation.counts)[SafeKind.WORD] == Share(2, 12)


@pytest.mark.parametrize(
    ("name", "part", "whole"),
    [
        ("recall_hipaa", 5, 6),
        ("recall_hipaa_corrected", 5, 6),
        ("recall_all", 7, 11),
        ("recall_all_corrected", 9, 11),
        ("recall_short_names", 3, 5),
        ("precision", 7, 10),
        ("precision_overlap", 7, 11),
        ("safe_kept", 11, 14),
        ("documents_without_leak", 1, 2),
        ("documents_without_hipaa_leak", 0, 1),
        ("entities_masked", 3, 6),
    ],
)
def test_figures(evaluation, name, part, whole):
    assert evaluation.figure(name) == Share(part, whole)


def test_every_figure_has_a_hand_worked_value():
    marks = [mark for mark in test_figures.pytestmark if mark.name == "parametrize"]
    assert [case[0] for case in marks[0].args[1]] == list(FIGURES)


@pytest.mark.parametrize(
    ("kind", "name", "recalled", "corrected", "phi", "documents"),
    [
        (GroupKind.HYPER, "NAME", 4, 4, 6, Share(1, 2)),
        (GroupKind.FINE, "PATIENT", 3, 3, 4, Share(0, 1)),
        (GroupKind.FINE, "DOCTOR", 1, 1, 2, Share(1, 2)),
        (GroupKind.FINE, "AGE", 1, 3, 3, Share(0, 1)),
        (GroupKind.HYPER, "PLACE", 1, 1, 1, Share(1, 1)),
        (GroupKind.FINE, "DATE", 1, 1, 1, Share(1, 1)),
        (GroupKind.FINE, "PHONE", 0, 0, 0, Share(0, 0)),
    ],
)
def test_categories(evaluation, kind, name, recalled, corrected, phi, documents):
    figures = evaluation.group(kind, name)
    assert figures.recall == Share(recalled, phi)
    assert figures.corrected_recall == Share(corrected, phi)
    assert figures.documents_without_leak == documents


def test_an_identifier_is_masked_only_with_all_its_mentions(evaluation):
    assert evaluation.group(GroupKind.FINE, "PATIENT").entities_masked == Share(0, 1)
    assert evaluation.group(GroupKind.FINE, "DOCTOR").entities_masked == Share(1, 2)


def count(doc, masks):
    return count_document(doc, masks, NOTHING_HARMLESS)


def of_all(column):
    return int(column[0, group_number(GroupKind.ALL)])


# 2014 i2b2 rule: each mark is cut into tokens by itself; "123456Test" is one token of the text.
GLUED = annotated("glued", "No 123456Test end", ("123456", "MEDICALRECORD"), ("Test", "HOSPITAL"))


@pytest.mark.parametrize(
    ("masks", "recalled", "inexact"),
    [
        ([(3, 13)], 2, 1),  # one longer token: both recalled, wrong once
        ([(3, 9)], 1, 0),  # just the number
        ([(3, 8)], 0, 1),  # a part of the number is no recall
        ([(3, 10)], 1, 1),  # the number and a letter more
        ([(3, 6), (5, 9)], 1, 0),  # how masks are cut does not matter
        ([(2, 3)], 0, 0),  # a gap
    ],
)
def test_marks_that_end_within_a_token(masks, recalled, inexact):
    counts = count(GLUED, masks)
    assert of_all(counts.phi) == 2
    assert of_all(counts.recalled) == recalled
    assert counts.inexact_masks.tolist() == [inexact]
    assert counts.false_masks.sum() == 0


NOTE = """Record date: 2069-04-07

Mr. Villegas is a 41yo man seen at Oak Valley Clinic (OVC) by Dr. Q.R. Nutley.
MRN 8249813TST. Call 614-555-0123.
"""
# 28 tokens, 16 of them PHI, which the marks cut into 17 gold tokens (8249813TST is two).
NOTE_TAGS = [
    ("DATE", "DATE", "2069-04-07"),
    ("NAME", "PATIENT", "Villegas"),
    ("AGE", "AGE", "41"),
    ("LOCATION", "HOSPITAL", "Oak Valley Clinic"),
    ("LOCATION", "HOSPITAL", "OVC"),
    ("NAME", "DOCTOR", "Q.R. Nutley"),
    ("ID", "MEDICALRECORD", "8249813"),
    ("LOCATION", "HOSPITAL", "TST"),
    ("CONTACT", "PHONE", "614-555-0123"),
]
# Missed: Clinic and Q. Masked without need: man and Call. Longer tokens than marked: 41yo, 8249813TST.
NOTE_MASKS = [
    "2069-04-07",
    "Villegas",
    "41yo",
    "man",
    "Oak Valley",
    "OVC",
    "R. Nutley",
    "8249813TST",
    "Call 614-555-0123",
]


def note_xml():
    places = ranges(NOTE, [piece for *_, piece in NOTE_TAGS])
    tags = "".join(
        f'<{element} id="P{i}" start="{start}" end="{end}" text="{piece}" TYPE="{name}" comment="" />'
        for i, ((element, name, piece), (start, end)) in enumerate(zip(NOTE_TAGS, places, strict=True))
    )
    return f'<?xml version="1.0"?><deIdi2b2><TEXT><![CDATA[{NOTE}]]></TEXT><TAGS>{tags}</TAGS></deIdi2b2>'


def i2b2_scorer_tokens(xml):
    """How the scorer of the 2014 task cuts marks: each by itself into [a-zA-Z0-9]+."""
    root = ElementTree.fromstring(xml)
    return [
        (tag.get("TYPE"), int(tag.get("start")) + match.start(), int(tag.get("start")) + match.end())
        for tag in root.find("TAGS")
        for match in re.finditer("[a-zA-Z0-9]+", tag.get("text"))
    ]


@pytest.fixture
def note():
    return read_gold_i2b2_xml(io.BytesIO(note_xml().encode()), "110-01.xml")


def test_an_i2b2_record_has_the_tokens_of_the_scorer_of_the_task(note):
    expected = i2b2_scorer_tokens(note_xml())
    gold = find_gold_tokens(note, tokenize(note.text))
    found = zip(
        [note.spans[i].type.value for i in gold.spans], gold.starts.tolist(), gold.ends.tolist(), strict=True
    )
    assert list(found) == expected
    words = " ".join(note.text[start:end] for _, start, end in expected)
    assert words == "2069 04 07 Villegas 41 Oak Valley Clinic OVC Q R Nutley 8249813 TST 614 555 0123"


def test_every_count_of_an_i2b2_record(note):
    masks = ranges(NOTE, NOTE_MASKS)
    counts = count(note, masks)
    assert counts.tokens.tolist() == [28]
    assert counts.masked.tolist() == [16]
    assert counts.inexact_masks.tolist() == [2]
    assert counts.safe.tolist() == [[12, 0, 0, 0]]
    assert counts.false_masks.tolist() == [[2, 0, 0, 0]]
    assert counts.harmless_missed.sum() == 0
    rows = {  # gold tokens, recalled, documents, leaking, identifiers, masked ones
        "ALL": (17, 15, 1, 1, 9, 7),
        "HIPAA": (8, 8, 1, 0, 4, 4),
        "SHORT_NAMES": (2, 1, 1, 1, 0, 0),
        "NAME": (4, 3, 1, 1, 2, 1),
        "PATIENT": (1, 1, 1, 0, 1, 1),
        "DOCTOR": (3, 2, 1, 1, 1, 0),
        "PLACE": (5, 4, 1, 1, 3, 2),
        "HOSPITAL": (5, 4, 1, 1, 3, 2),
        "DATE": (3, 3, 1, 0, 1, 1),
        "AGE": (1, 1, 1, 0, 1, 1),
        "CONTACT": (3, 3, 1, 0, 1, 1),
        "PHONE": (3, 3, 1, 0, 1, 1),
        "ID": (1, 1, 1, 0, 1, 1),
        "MEDICALRECORD": (1, 1, 1, 0, 1, 1),
    }
    names = ("phi", "recalled", "documents", "leaking", "entities", "entities_masked")
    for number, group in enumerate(GROUPS):
        found = tuple(int(getattr(counts, name)[0, number]) for name in names)
        assert found == rows.get(group.name, (0,) * 6), group


def test_an_i2b2_record_is_recalled_as_the_rule_of_the_task_says(note):
    masks = ranges(NOTE, NOTE_MASKS)
    hidden = {i for start, end in masks for i in range(start, end)}
    tokens = i2b2_scorer_tokens(note_xml())
    hits = [hidden.issuperset(range(start, end)) for _, start, end in tokens]
    assert Share(sum(hits), len(hits)) == Share(15, 17)
    evaluation = evaluate_masks([note], {note.id: masks})
    shares = {
        "recall_all": Share(15, 17),
        "recall_hipaa": Share(8, 8),
        "precision": Share(14, 16),
        "precision_overlap": Share(15, 19),
        "safe_kept": Share(10, 12),
        "documents_without_leak": Share(0, 1),
        "documents_without_hipaa_leak": Share(1, 1),
        "entities_masked": Share(7, 9),
    }
    assert {name: evaluation.figure(name) for name in shares} == shares


def test_a_mark_without_a_token_is_phi_that_cannot_leak():
    counts = count(annotated("a", "seen by *** today", ("***", "PATIENT")), [])
    assert (of_all(counts.phi), of_all(counts.documents), of_all(counts.leaking)) == (0, 1, 0)
    assert of_all(counts.entities) == 0


def test_tokens_are_those_of_the_tokenizer_in_any_script():
    counts = count(annotated("a", "Zoë_Łuk, 李 ok", ("Zoë_Łuk", "PATIENT"), ("李", "PATIENT")), [(0, 3)])
    assert (int(counts.tokens[0]), of_all(counts.phi), of_all(counts.recalled)) == (4, 3, 1)


@pytest.mark.parametrize("mask", [(-1, 2), (3, 3), (5, 4), (0, 11)])
def test_a_mask_that_does_not_fit_is_refused_without_text(mask):
    with pytest.raises(AnnotationError, match="document a: mask") as caught:
        count(Document("a", CANARY), [mask])
    assert CANARY not in str(caught.value)


def test_undefined_is_none():
    evaluation = evaluate_masks([], {})
    assert [evaluation.value(name) for name in FIGURES] == [None] * len(FIGURES)


def test_documents_can_be_summed_and_drawn_again(evaluation):
    counts = evaluation.counts
    assert len(counts.total()) == 1
    assert counts.total().tokens.tolist() == [25]
    twice = counts.take([0, 0, 2])
    assert FIGURES["recall_all"](twice) == Share(12, 20)
    assert FIGURES["documents_without_leak"](twice) == Share(0, 2)


def test_arrays_of_unequal_length_are_refused(evaluation):
    columns = {name: getattr(evaluation.counts, name) for name in Counts.__slots__}
    with pytest.raises(StageError, match="unequal length"):
        Counts(**{**columns, "tokens": np.zeros(9, np.int64)})


def test_no_repr_shows_a_text():
    doc = annotated(CANARY[:2], f"Mrs {CANARY} left", (CANARY, "PATIENT"))
    evaluation = evaluate_masks([doc], {doc.id: []})
    assert CANARY not in repr(evaluation) + repr(evaluation.counts)


@pytest.mark.parametrize(
    ("ids", "masked", "message"),
    [
        (["a", "b", "c"], ["b"], "in the gold but not masked: documents a, c"),
        (["a"], ["a", "z", "y"], "masked but not in the gold: documents y, z"),
        (["a", "b", "a"], ["a", "b"], "repeated in the gold: document a."),
    ],
)
def test_ids_that_do_not_match_are_named(ids, masked, message):
    with pytest.raises(AnnotationError, match=message):
        evaluate_masks([Document(doc_id, CANARY) for doc_id in ids], dict.fromkeys(masked, ()))


def test_missing_documents_count_as_unmasked_if_allowed():
    evaluation = evaluate_masks([VISIT, CHECK], {"check": CHECK_MASKS}, allow_missing=True)
    assert evaluation.missing == ("visit",)
    assert evaluation.figure("recall_all") == Share(1, 11)


def test_the_groups_are_all_hipaa_short_names_seven_hyper_classes_and_every_type():
    kinds = [group.kind for group in GROUPS]
    assert [kinds.count(kind) for kind in GroupKind] == [1, 1, 1, 7, len(PhiType)]
    with pytest.raises(ValueError, match="no group"):
        group_number(GroupKind.FINE, "PLANET")


def test_an_initial_is_never_harmless_by_default():
    harmless = read_harmless()
    assert not any(harmless.holds(PhiType(name), "S") for name in ("PATIENT", "RELATIVE", "DOCTOR"))
    assert harmless.holds(PhiType.DATE, "S")
