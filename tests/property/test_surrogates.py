"""Whatever the seed: spans of generated documents are exact, and a seed decides everything."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document
from inverse_deid.training.corpora.surrogates import SurrogateMaker, with_fresh_surrogates
from inverse_deid.training.corpora.synthetic import inject, synthetic_document
from inverse_deid.training.corpora.weak_labels import weakly_labelled

CARRIER = (
    "Pt recvd vax 14JUL97 & devel rash; mom reports fever x 2 days. Seen by MD, dx hives. The patient "
    "was taken to the ER today. A 4 month old girl got the vaccine. Follow-up in 2 weeks with Dr. at home."
)
seeds = st.integers(0, 2**32)


def _is_exact(doc: Document) -> bool:
    texts = [doc.text[span.start : span.end] for span in doc.spans]
    ordered = all(a.end <= b.start for a, b in zip(doc.spans, doc.spans[1:], strict=False))
    return ordered and all(text and text == text.strip() for text in texts)


@given(seeds)
def test_synthetic_documents_have_exact_spans(seed: int) -> None:
    rng = random.Random(seed)
    maker = SurrogateMaker(rng)
    doc = synthetic_document(rng, maker)
    assert _is_exact(doc)
    assert _is_exact(with_fresh_surrogates(doc, maker, rng))


@given(seeds)
def test_injected_documents_have_exact_spans(seed: int) -> None:
    rng = random.Random(seed)
    assert _is_exact(inject(weakly_labelled(Document("c", CARRIER)), SurrogateMaker(rng), rng))


@given(seeds)
def test_a_seed_decides_everything(seed: int) -> None:
    def run() -> list[Document]:
        rng = random.Random(seed)
        maker = SurrogateMaker(rng)
        doc = synthetic_document(rng, maker)
        return [doc, with_fresh_surrogates(doc, maker, rng), inject(Document("c", CARRIER), maker, rng)]

    assert run() == run()


@given(
    seeds, st.sampled_from(list(PhiType)), st.text(min_size=1, max_size=30).filter(lambda text: text.strip())
)
def test_any_original_gets_a_surrogate(seed: int, phi_type: PhiType, original: str) -> None:
    assert SurrogateMaker(random.Random(seed)).make(phi_type, original).strip()
