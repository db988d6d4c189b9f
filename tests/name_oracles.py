"""The attack of a name oracle: put every name of a list where the marker is, mask that, and compare the outputs.

An attacker with the packaged model can rule out each name that gives another output than the one they hold.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SURNAMES = [
    "Okonkwo",
    "Lindqvist",
    "Petrovic",
    "Featherstone",
    "Marchetti",
    "Obi",
    "Haugland",
    "Wu",
    "Novakova",
    "Delacroix",
    "Ferreira",
    "Yamamoto",
    "Kowalczyk",
    "Brannigan",
    "Abernathy",
    "Papadopoulos",
    "Szymanski",
    "Castellanos",
    "Oduya",
    "Thistlewood",
    "Jankowski",
    "Mbeki",
    "Ostrowski",
    "Villanueva",
    "Grigoryan",
    "Holmgren",
    "Takahashi",
    "Eriksen",
    "Bergstrom",
    "Quigley",
]

SENTENCES = (
    "Mr. {} had a rash after the second dose of influenza vaccine.",
    "Dr. {} saw her on the ward and gave cetirizine 10 mg.",
    "Mrs {} developed a fever of 38.9 C two hours later.",
    "The patient, Mr. {}, has recovered without sequelae.",
    "Seen by Dr. {} for urticaria; prednisone was tapered.",
    "Ms. {} reported headache and nausea after ibuprofen 200 mg.",
    "Report received from Dr {} about anaphylaxis in a child.",
    "Mr {} was admitted with chest pain and treated with aspirin.",
    "Discussed with Dr. {}, who thinks that the rash is related.",
    "Nurse {} gave epinephrine 0.3 mg into the left thigh.",
    "Dear Dr. {}, thank you for seeing this patient with asthma.",
    "Mrs. {} took amoxicillin for five days and had diarrhoea.",
    "Prof. {} performed the biopsy; the result was normal.",
    "Miss {} has a history of migraine and takes propranolol.",
    "Mr. {} stopped the drug and the symptoms resolved.",
)

WORDS_PER_NAME = 100
"""A long document names its person again after so many words."""

_END_OF_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])|\n+")


@dataclass(frozen=True, slots=True)
class Learnt:
    """What the outputs for all names of a list tell of the one that was masked.

    Args:
        n_names: Those that are masked.
        n_outputs: Different outputs.
        n_ruled_out: Names that the attacker rules out, on average over the true name.
        bits: The information about the name, at most log2(n_names).
        most_ruled_out: For the true name that is worst protected.
    """

    n_names: int
    n_outputs: int
    n_ruled_out: float
    bits: float
    most_ruled_out: int


def learn(outputs: Sequence[str]) -> Learnt:
    """Return what an attacker learns who knows the output of every name.

    Example:
        >>> learn(["a", "a", "a", "b"])
        Learnt(n_names=4, n_outputs=2, n_ruled_out=1.5, bits=0.8112781244591328, most_ruled_out=3)
    """
    n = len(outputs)
    sizes = Counter(outputs).values()
    if not sizes:
        return Learnt(0, 0, 0.0, 0.0, 0)
    bits = sum(size / n * math.log2(n / size) for size in sizes)
    return Learnt(n, len(sizes), sum(size * (n - size) for size in sizes) / n, bits, n - min(sizes))


def clean_sentences(gold: Path) -> list[str]:
    """Return the sentences of annotated documents (JSON Lines) without a mark, of 6 to 40 words."""
    found = []
    for line in gold.read_text(encoding="utf-8").splitlines():
        doc = json.loads(line)
        start = 0
        for piece in _END_OF_SENTENCE.split(doc["text"]):
            start = doc["text"].index(piece, start)
            end = start + len(piece)
            is_marked = any(span["start"] < end and start < span["end"] for span in doc["spans"])
            if not is_marked and 6 <= len(piece.split()) <= 40 and piece.rstrip().endswith((".", "!", "?")):
                found.append(" ".join(piece.split()))
            start = end
    return list(dict.fromkeys(found))


def invent_documents(sentences: Sequence[str], n_words: int, n: int, seed: int) -> list[str]:
    """Return documents of about `n_words` words, with {} in the place of one surname.

    Each begins with a sentence that names a person and has clean sentences after it. The person is named
    again after every `WORDS_PER_NAME` words.
    """
    rng = random.Random(seed)
    documents = []
    for number in range(n):
        pieces, left = [SENTENCES[number % len(SENTENCES)]], n_words - 15
        until_name = WORDS_PER_NAME
        while left > 0:
            sentence = rng.choice(sentences).replace("{", "(").replace("}", ")")
            if until_name <= 0:
                sentence, until_name = rng.choice(SENTENCES), WORDS_PER_NAME
            pieces.append(sentence)
            left -= len(sentence.split())
            until_name -= len(sentence.split())
        documents.append(" ".join(pieces))
    return documents
