"""Random annotated documents with random masks, for tests of the evaluation."""

from __future__ import annotations

from hypothesis import strategies as st

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan

TEXTS = st.text(st.sampled_from("abs1 _.-é李\n"), max_size=40) | st.sampled_from(
    ["Ann of Velmo, 40 years old", "3May2019x", "of s years old"]
)
TYPES = st.sampled_from(["PATIENT", "DOCTOR", "AGE", "DATE", "CITY", "PROFESSION", "IDNUM"]).map(PhiType)


@st.composite
def masks_of(draw: st.DrawFn, text: str) -> list[tuple[int, int]]:
    """Ranges of the text in any order; they may overlap."""
    if not text:
        return []
    offsets = st.integers(0, len(text))
    pairs = st.tuples(offsets, offsets).map(lambda pair: (min(pair), max(pair)))
    return draw(st.lists(pairs.filter(lambda pair: pair[0] < pair[1]), max_size=4))


@st.composite
def documents(draw: st.DrawFn, doc_id: str = "a") -> Document:
    """A document with disjoint spans."""
    text = draw(TEXTS)
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=8)))
    spans = [PhiSpan(start, end, draw(TYPES)) for start, end in zip(cuts[::2], cuts[1::2], strict=False)]
    return Document(doc_id, text, tuple(spans))


@st.composite
def masked_corpora(draw: st.DrawFn) -> tuple[list[Document], dict[str, list[tuple[int, int]]]]:
    """A few documents and the masks of each."""
    docs = [draw(documents(f"d{i}")) for i in range(draw(st.integers(0, 4)))]
    return docs, {doc.id: draw(masks_of(doc.text)) for doc in docs}
