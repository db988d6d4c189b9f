from __future__ import annotations

import random

import pytest

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.training.corpora.surrogates import SurrogateMaker, with_fresh_surrogates

TEXT = "Tamsin Yarrow, 44, saw Dr. Quill on 3/4/2019; Yarrow called 555-0144."


def _doc(copies: int = 1) -> Document:
    marked = [("Tamsin Yarrow", PhiType.PATIENT), ("44", PhiType.AGE), ("Quill", PhiType.DOCTOR)]
    marked += [("3/4/2019", PhiType.DATE), ("555-0144", PhiType.PHONE)]
    spans = []
    for copy in range(copies):
        offset = copy * len(TEXT)
        for word, phi_type in marked:
            start = offset + TEXT.index(word)
            spans.append(PhiSpan(start, start + len(word), phi_type))
    return Document("d1", TEXT * copies, tuple(sorted(spans)))


def _outside(doc: Document) -> str:
    pieces, position = [], 0
    for span in doc.spans:
        pieces.append(doc.text[position : span.start])
        position = span.end
    return "|".join([*pieces, doc.text[position:]])


@pytest.mark.parametrize("seed", range(20))
def test_safe_text_and_types_stay(seed: int) -> None:
    rng = random.Random(seed)
    doc = _doc()
    fresh = with_fresh_surrogates(doc, SurrogateMaker(rng), rng)
    assert _outside(fresh) == _outside(doc)
    assert [span.type for span in fresh.spans] == [span.type for span in doc.spans]


def test_keep_share_is_the_share_of_unchanged_spans() -> None:
    rng = random.Random(7)
    doc = _doc(copies=400)
    fresh = with_fresh_surrogates(doc, SurrogateMaker(rng), rng, keep_share=0.4)
    pairs = zip(doc.spans, fresh.spans, strict=True)
    same = sum(doc.text[a.start : a.end] == fresh.text[b.start : b.end] for a, b in pairs)
    assert 0.36 < same / len(doc.spans) < 0.46


def test_keep_share_one_changes_nothing() -> None:
    rng = random.Random(8)
    assert with_fresh_surrogates(_doc(), SurrogateMaker(rng), rng, keep_share=1.0) == _doc()


def test_meta_is_kept() -> None:
    rng = random.Random(9)
    doc = Document("d2", "nothing here", meta={"era": "modern"})
    assert with_fresh_surrogates(doc, SurrogateMaker(rng), rng).meta == {"era": "modern"}
