from __future__ import annotations

import random

import pytest

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.training.corpora.surrogates import SurrogateMaker
from inverse_deid.training.corpora.synthetic import carrier_style, inject
from inverse_deid.training.corpora.weak_labels import weakly_labelled

CARRIER = (
    "The patient was seen by the doctor. Her mother reported a rash two days after the vaccine was "
    "given. She was admitted to the hospital on 3/15/2004. Follow-up was planned."
)


def _inject(doc: Document, seed: int) -> Document:
    rng = random.Random(seed)
    return inject(doc, SurrogateMaker(rng), rng)


def test_identifiers_are_planted() -> None:
    planted = [_inject(Document("c1", CARRIER), seed) for seed in range(30)]
    assert sum(bool(doc.spans) for doc in planted) > 25
    assert {span.type for doc in planted for span in doc.spans} > {
        PhiType.DOCTOR,
        PhiType.DATE,
        PhiType.HOSPITAL,
    }


def test_spans_of_the_carrier_move_along() -> None:
    start = CARRIER.index("3/15/2004")
    doc = Document("c1", CARRIER, (PhiSpan(start, start + 9, PhiType.DATE),), meta={"year": "2004"})
    for seed in range(30):
        planted = _inject(doc, seed)
        assert any(planted.text[span.start : span.end] == "3/15/2004" for span in planted.spans)
        assert planted.meta == {"year": "2004"}


def test_capitals_get_capitals() -> None:
    for seed in range(20):
        planted = _inject(Document("c2", CARRIER.upper()), seed)
        assert planted.text == planted.text.upper()


@pytest.mark.parametrize(
    ("text", "style"),
    [
        ("Information has been received from a physician.", "company"),
        ("pt recvd shot & devel rash;", "shorthand"),
        ("My arm was sore.", "lay"),
        ("Abdomen soft.", "clinical"),
    ],
)
def test_style_of_a_carrier(text: str, style: str) -> None:
    assert carrier_style(text) == style


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A 4 month old boy", [("4", "AGE")]),
        ("67-year-old woman", [("67", "AGE")]),
        ("a 41YOM fell", [("41", "AGE")]),
        ("recv vax 14JUL97 & better", [("14JUL97", "DATE")]),
        ("seen 08/24/98, then again", [("08/24/98", "DATE")]),
        ("on March 17, 2007 the", [("March 17, 2007", "DATE")]),
        ("diagnosed in 1999 with", [("1999", "DATE")]),
        ("worse on Friday night", [("Friday", "DATE")]),
        ("came from Ohio by car", [("Ohio", "STATE")]),
        ("told by Dr. Quillfeather to rest", [("Quillfeather", "DOCTOR")]),
        ("case WAES0405USA00598 is linked", [("WAES0405USA00598", "IDNUM")]),
        ("BP 120/80, pain 4/10, 3 days", []),
        ("licensed for 18 years of age and older", []),
        ("it may march on", []),
    ],
)
def test_weak_labels(text: str, expected: list[tuple[str, str]]) -> None:
    doc = weakly_labelled(Document("w", text))
    assert [(doc.text[span.start : span.end], span.type.value) for span in doc.spans] == expected


@pytest.mark.parametrize(
    ("text", "doubtful"), [("seen 4/12 again", "1"), ("BP 12/10", "0"), ("better on 3/4/2004", "0")]
)
def test_doubtful_fractions_are_counted(text: str, doubtful: str) -> None:
    assert weakly_labelled(Document("w", text)).meta["doubtful"] == doubtful
