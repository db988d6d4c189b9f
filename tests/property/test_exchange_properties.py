"""Identifiers that change places: spans stay exact, types and safe text stay, digits are fresh."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.training.corpora.surrogates import identifiers_by_type, with_exchanged_identifiers

TYPES = st.sampled_from([PhiType.PATIENT, PhiType.DATE, PhiType.IDNUM])
SAFE = st.text(st.sampled_from("ab 1.,\n李é"), max_size=8)
CORE = st.text(st.sampled_from("XyZ1239-٣ñ"), min_size=1, max_size=8)
EDGE = st.sampled_from(["", "", "", " ", "\n"])
SEEDS = st.integers(0, 2**32)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """Spans glued or apart, some with white space at their ends."""
    text, spans = draw(SAFE), []
    for phi_type in draw(st.lists(TYPES, max_size=5)):
        marked = draw(EDGE) + draw(CORE) + draw(EDGE)
        spans.append(PhiSpan(len(text), len(text) + len(marked), phi_type))
        text += marked + draw(SAFE)
    return Document(draw(st.sampled_from(["a", "7"])), text, tuple(spans), meta={"era": "modern"})


def outside(doc: Document) -> list[str]:
    """The safe pieces, with the white space at the ends of spans."""
    pieces, position = [], 0
    for span in doc.spans:
        marked = doc.text[span.start : span.end]
        lead, trail = len(marked) - len(marked.lstrip()), len(marked) - len(marked.rstrip())
        pieces.append(doc.text[position : span.start + lead])
        position = span.end - trail
    return [*pieces, doc.text[position:]]


@given(st.lists(documents(), min_size=1, max_size=4), SEEDS, st.sampled_from([0.0, 0.5, 1.0]))
def test_text_outside_the_spans_and_types_stay(docs: list[Document], seed: int, keep_share: float) -> None:
    pool = identifiers_by_type(docs)
    for doc in docs:
        fresh = with_exchanged_identifiers(doc, pool, random.Random(seed), keep_share=keep_share)
        assert (fresh.id, fresh.meta) == (doc.id, doc.meta)
        assert [span.type for span in fresh.spans] == [span.type for span in doc.spans]
        assert outside(fresh) == outside(doc)
        for span in fresh.spans:
            marked = fresh.text[span.start : span.end]
            assert marked == marked.strip() != ""
        if keep_share == 1:
            assert fresh.text == doc.text


@given(st.lists(documents(), min_size=1, max_size=4), SEEDS)
def test_what_comes_in_stood_in_the_pool_but_for_its_digits(docs: list[Document], seed: int) -> None:
    pool = identifiers_by_type(docs)
    shapes = {kind: {_shape(text) for text in texts} for kind, texts in pool.items()}
    for doc in docs:
        fresh = with_exchanged_identifiers(doc, pool, random.Random(seed), keep_share=0)
        for span in fresh.spans:
            assert _shape(fresh.text[span.start : span.end]) in shapes[span.type]


def _shape(text: str) -> str:
    return "".join("9" if c.isdecimal() else c for c in text)


def test_digits_are_fresh_and_the_seed_decides_them() -> None:
    text = "A 1234567890 Z"
    doc = Document("d", text, (PhiSpan(2, 12, PhiType.IDNUM),))
    pool = identifiers_by_type([doc])
    found = {with_exchanged_identifiers(doc, pool, random.Random(s), keep_share=0).text for s in range(50)}
    assert len(found) == 50
    assert text not in found
    again = {with_exchanged_identifiers(doc, pool, random.Random(s), keep_share=0).text for s in range(50)}
    assert again == found


def test_a_type_without_others_keeps_its_text() -> None:
    doc = Document("d", "Ann", (PhiSpan(0, 3, PhiType.PATIENT),))
    assert with_exchanged_identifiers(doc, {}, random.Random(1), keep_share=0) == doc


def test_white_space_alone_is_in_no_pool() -> None:
    doc = Document("d", "Ann Li", (PhiSpan(0, 3, PhiType.PATIENT), PhiSpan(3, 4, PhiType.DATE)))
    assert dict(identifiers_by_type([doc])) == {PhiType.PATIENT: ["Ann"]}
