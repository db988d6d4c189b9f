"""Planted identifiers leave concepts as they are."""

from inverse_deid.core.values import Document
from inverse_deid_research.extraction.concepts import ConceptDocument, ConceptSpan
from inverse_deid_research.extraction.views import inject_identifiers

TEXTS = (
    "The patient developed a rash after the patient received Velmo at the hospital.",
    "A 45-year-old man with fever was admitted and later died of renal failure.",
    "He was seen by the physician; she was given Velmo and the mother reported a severe rash in March 1998.",
)
PIECES = {
    "rash": "Effect",
    "Velmo": "Drug",
    "the hospital": "Place",
    "fever": "Effect",
    "renal failure": "Effect",
    "severe rash": "Effect",
}


def documents():
    for number in range(60):
        text = TEXTS[number % len(TEXTS)]
        concepts = [
            ConceptSpan(text.index(p), text.index(p) + len(p), kind)
            for p, kind in PIECES.items()
            if p in text
        ]
        yield ConceptDocument(Document(f"d{number}", text), tuple(sorted(concepts)))


def test_concepts_stay_and_identifiers_come():
    docs = list(documents())
    planted = list(inject_identifiers(docs, 1, {"Drug", "Effect"}))
    n_spans = 0
    for doc, new in zip(docs, planted, strict=True):
        wanted = sorted(s.type + doc.doc.text[s.start : s.end] for s in doc.concepts if s.type != "Place")
        nested = "Effectsevere rash" in wanted
        found = sorted(s.type + new.doc.text[s.start : s.end] for s in new.concepts)
        assert found == [w for w in wanted if not (nested and w == "Effectrash")]
        for span in new.doc.spans:
            assert all(span.end <= c.start or c.end <= span.start for c in new.concepts)
        n_spans += len(new.doc.spans)
    assert n_spans > len(docs)


def test_the_seed_and_the_id_decide():
    docs = list(documents())
    one, again, other = (list(inject_identifiers(docs, seed, {"Drug"})) for seed in (1, 1, 2))
    assert one == again
    assert one != other
    assert one[30:] == list(inject_identifiers(docs[30:], 1, {"Drug"}))


def test_age_of_the_carrier_is_marked():
    docs = list(inject_identifiers(list(documents())[1:2], 1, {"Effect"}))
    assert "45" in {docs[0].doc.text[s.start : s.end] for s in docs[0].doc.spans}
