"""BIO labels, replaced ranges and scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics import f1_score
from seqeval.metrics.sequence_labeling import get_entities

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.text.tokenizer import tokenize
from inverse_deid_research.extraction.concepts import (
    ConceptDocument,
    ConceptSpan,
    find_entities,
    label_tokens,
    list_labels,
    read_labels,
    snap_spans,
)
from inverse_deid_research.extraction.scoring import count_concepts
from inverse_deid_research.extraction.views import RewrittenText, rewrite

LABELS = st.lists(st.sampled_from(list_labels(["Drug", "Effect"])), max_size=12)
TEXT = "Ann (44) took Velmo 5mg; severe skin-rash after."
TOKENS = tokenize(TEXT)


def concept(piece, kind):
    start = TEXT.index(piece)
    return ConceptSpan(start, start + len(piece), kind)


@given(LABELS)
def test_spans_of_labels_are_those_of_seqeval(labels):
    expected = [(name, first, last + 1) for name, first, last in get_entities(labels)]
    assert [(name, first, last) for first, last, name in find_entities(labels)] == expected


@given(
    st.lists(
        st.lists(st.sampled_from(list_labels(["Drug", "Effect"])), min_size=6, max_size=6).map(tuple),
        min_size=2,
        max_size=6,
    )
)
def test_f1_is_that_of_seqeval(rows):
    half = len(rows) // 2
    gold, found = [list(r) for r in rows[:half]], [list(r) for r in rows[half : 2 * half]]
    tokens = tokenize("a b c d e f")
    spans = [[read_labels(tokens, labels) for labels in part] for part in (gold, found)]
    score = count_concepts(*spans, ["Drug", "Effect"]).score()
    if score.n_gold:
        assert score.f1 == pytest.approx(f1_score(gold, found, zero_division=0))


def test_labels_there_and_back():
    spans = (concept("Velmo", "Drug"), concept("severe skin-rash", "Effect"))
    labels = label_tokens(TOKENS, spans)
    assert labels == ["O", "O", "O", "B-Drug", "O", "B-Effect", "I-Effect", "I-Effect", "O"]
    assert read_labels(TOKENS, labels) == spans


def test_a_token_that_a_concept_touches_belongs_to_the_first():
    text = "Velmorash"
    spans = (ConceptSpan(0, 5, "Drug"), ConceptSpan(5, 9, "Effect"))
    assert snap_spans(tokenize(text), spans) == (ConceptSpan(0, 9, "Drug"),)


def test_counts_go_by_document_and_type():
    rash, drug = concept("skin-rash", "Effect"), concept("Velmo", "Drug")
    wrong = ConceptSpan(rash.start, rash.end, "Drug")
    counts = count_concepts([[rash, drug], [rash]], [[drug, wrong], []], ["Drug", "Effect"])
    assert (counts.score("Drug").precision, counts.score("Effect").recall) == (0.5, 0.0)
    assert counts.score("Effect").precision is None
    assert counts.score().f1 == pytest.approx(2 / 5)
    parts = counts.ratio_parts()
    assert parts.tolist() == [[2.0, 4.0], [0.0, 1.0]]
    assert parts[:, 0].sum() / parts[:, 1].sum() == counts.score().f1


@given(st.data())
def test_ranges_go_to_the_new_text_and_back(data):
    n = 30
    cuts = sorted(data.draw(st.sets(st.integers(0, n), max_size=8)))
    masks = list(zip(cuts[::2], cuts[1::2], strict=False))
    stand_in = data.draw(st.sampled_from(["", "x", "[LONGER]"]))
    text = "".join(chr(65 + i) for i in range(n))
    new = rewrite(text, masks, lambda number: stand_in)
    start, end = sorted(data.draw(st.sets(st.integers(0, n), min_size=2, max_size=2)))
    a, b = new.to_new(start, end)
    touched = [m for m in masks if m[0] < end and start < m[1]]
    expected = (min([start, *(m[0] for m in touched)]), max([end, *(m[1] for m in touched)]))
    if not touched:
        assert new.text[a:b] == text[start:end]
    if stand_in:
        assert new.to_old(a, b) == expected


def test_overlapping_masks_become_one():
    new = rewrite("abcdef", [(3, 5), (1, 4)], lambda number: f"<{number}>")
    assert (new.text, new.masks, new.replaced) == ("a<1>f", ((1, 5),), ((1, 4),))


def test_gold_on_text_with_placeholders():
    doc = ConceptDocument(
        Document("d", TEXT, (PhiSpan(0, 3, PhiType.PATIENT), PhiSpan(5, 7, PhiType.AGE))),
        (concept("Velmo", "Drug"), concept("severe skin-rash", "Effect")),
    )
    new = rewrite(
        TEXT, [(s.start, s.end) for s in doc.doc.spans], lambda number: f"[{doc.doc.spans[number].type}]"
    )
    moved = new.carry_concepts(doc)
    assert moved.doc.text == "[PATIENT] ([AGE]) took Velmo 5mg; severe skin-rash after."
    assert [moved.doc.text[s.start : s.end] for s in moved.concepts] == ["Velmo", "severe skin-rash"]
    assert new.restore_concepts(moved.concepts) == doc.concepts


def test_a_concept_that_is_masked_is_the_marker_and_comes_back_whole():
    drug = concept("Velmo", "Drug")
    new = rewrite(TEXT, [(drug.start, drug.end + 4)], lambda number: "PHI")
    moved = new.carry_concepts(ConceptDocument(Document("d", TEXT), (drug,)))
    assert moved.doc.text[moved.concepts[0].start : moved.concepts[0].end] == "PHI"
    assert new.restore_concepts(moved.concepts) == (ConceptSpan(drug.start, drug.end + 4, "Drug"),)
    assert new.count_touched([drug]) == 1


def test_a_text_without_replacements_is_itself():
    assert RewrittenText(TEXT).to_new(3, 9) == RewrittenText(TEXT).to_old(3, 9) == (3, 9)
    assert np.array_equal(label_tokens(TOKENS, []), ["O"] * len(TOKENS))
