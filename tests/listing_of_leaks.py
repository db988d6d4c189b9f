"""A made-up listing with planted leaks and needless masks, and a masker that makes exactly these mistakes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from fake_maskers import FakeMasker

from inverse_deid.core.values import Document, MaskedDocument, Reason
from inverse_deid.text.rendering import render
from inverse_deid.text.tokenizer import tokenize

NAMES = ("Okonkwo", "Lindqvist", "Marchetti", "Obuya", "Petrescu", "Tanaka", "Haugen", "Vasquez", "Kowalczyk")
SURE_LEAKS = ("Bergmann", "Rosewood", "Ashgrove", "Dovecote", "Falkenau", "Hartwick")
"""Names that the masker keeps without a doubt."""
DOUBTFUL_LEAKS = ("Sommerfeld", "Winterbourne", "Karlshof", "Nightingale", "Amberley", "Thornbury")
LEAKS = SURE_LEAKS + DOUBTFUL_LEAKS
NEEDLESS = {
    "Zelvoran": 12,
    "Trimiquel": 8,
    "Ostavine": 4,
    "Quellamab": 2,
    "Dermatex": 1,
    "Lipurex": 1,
    "Novastat": 1,
    "Cardelin": 1,
}
"""Drugs that the masker hides, and how often; some of them without a doubt."""
SURE_NEEDLESS = ("Zelvoran", "Dermatex", "Lipurex")
DOUBTFUL_KEPT = ("MRN", "ward", "May", "Grace")
"""Harmless words of which the masker is hardly sure enough."""
SINGLE_DOUBTS = (
    "erythema",
    "pruritus",
    "nausea",
    "dizziness",
    "syncope",
    "tremor",
    "vertigo",
    "fatigue",
    "cough",
    "oedema",
    "wheezing",
    "anorexia",
)

_OPENINGS = (
    "A {age}-year-old patient of Dr {name} had a rash after the second dose.",
    "Mrs {name} reported headache and vomiting on the third day of treatment.",
    "The nurse called: {name} was admitted with fever and a low platelet count.",
    "Follow-up by {name}: the event resolved after the drug was stopped.",
)
_ENDINGS = (
    "The outcome was recovered.",
    "The reporter saw a possible causal relation, and no rechallenge was done.",
    "Laboratory values were normal, and the patient went home.",
)


def write_listing(n_rows: int = 300) -> list[str]:
    """Return the rows of the listing; mistakes are spread over all of them."""
    needless = [word for word, n in NEEDLESS.items() for _ in range(n)]
    texts = []
    for number in range(n_rows):
        sentences = [_OPENINGS[number % 4].format(age=30 + number % 50, name=NAMES[number % len(NAMES)])]
        place, within = divmod(number, n_rows // len(LEAKS))
        if within == 7 and place < len(LEAKS):
            sentences.append(f"The sample was sent by {LEAKS[place]} on request.")
        place, within = divmod(number, n_rows // len(needless))
        if within == 3 and place < len(needless):
            sentences.append(f"The dose of {needless[place]} was reduced.")
        if number % 7 == 2:
            sentences.append(f"The {DOUBTFUL_KEPT[number // 7 % 4]} entry was checked.")
        if number % (n_rows // len(SINGLE_DOUBTS)) == 5:
            sentences.append(f"There was {SINGLE_DOUBTS[number // (n_rows // len(SINGLE_DOUBTS))]}.")
        texts.append(" ".join([*sentences, _ENDINGS[number % 3]]))
    return texts


class ForgetfulMasker(FakeMasker):
    """Masks names and ages, and makes the mistakes of the listing."""

    def __init__(self) -> None:
        super().__init__(lambda word: word not in NAMES and word not in NEEDLESS and not word.isdigit())

    def _mask(self, doc: Document) -> MaskedDocument:
        masked = super()._mask(doc)
        decisions, words = masked.decisions, np.array(tokenize(doc.text).words)
        doubtful = np.isin(words, [*DOUBTFUL_LEAKS, *DOUBTFUL_KEPT, *SINGLE_DOUBTS])
        decisions.p_safe[doubtful] = 0.9001
        needless = np.isin(words, [word for word in NEEDLESS if word not in SURE_NEEDLESS])
        decisions.p_safe[needless], decisions.thresholds[needless] = 0.8999, 0.9
        decisions.reasons[needless] = Reason.BELOW_THRESHOLD
        return masked


def mask_listing(texts: Sequence[str]) -> list[str]:
    """Return the rows as they should be released: names and ages masked, drugs kept."""
    released = []
    for text in texts:
        tokens = tokenize(text)
        keep = np.array(
            [word not in {*NAMES, *LEAKS} and not word.isdigit() for word in tokens.words], np.bool_
        )
        released.append(render(tokens, keep, lambda _first, _last: "PHI").text)
    return released
