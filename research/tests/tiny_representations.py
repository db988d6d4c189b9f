"""A small vocabulary, invented documents and networks of a few units, for tests of shared representations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.network.encoding import WordVectors, quantise
from inverse_deid_research.representations.sentences import Sentence, sentences_of

if TYPE_CHECKING:
    from inverse_deid_research.representations.training import Material

NAMES = ("okonkwo", "lindero", "zora", "velmora", "tamsin", "brask")
SAFE = ("the", "patient", "had", "a", "rash", "was", "seen", "by", "fever", "mild", "and", "cough")
DIM = 6


def vectors() -> WordVectors:
    """Names lie together, and so do the other words."""
    rng = np.random.default_rng(3)
    centres = [np.eye(DIM)[0] * 3] * len(NAMES) + [np.eye(DIM)[1] * 3] * len(SAFE)
    return quantise((*NAMES, *SAFE), (np.array(centres) + rng.normal(size=(18, DIM))).astype(np.float32))


def annotated(text: str, identity: str = "case-1") -> Document:
    """A document whose words in square brackets are names."""
    plain, spans = "", []
    for part in re.split(r"(\[[^]]*\])", text):
        if part.startswith("["):
            spans.append(PhiSpan(len(plain), len(plain) + len(part) - 2, PhiType.PATIENT))
        plain += part.strip("[]") if part.startswith("[") else part
    return Document(identity, plain, tuple(spans))


def documents(n_documents: int = 6, seed: int = 1) -> list[Document]:
    """Each of a few sentences, with a name in most."""
    rng = np.random.default_rng(seed)
    docs = []
    for number in range(n_documents):
        lines = []
        for _ in range(4):
            name, sign = str(rng.choice(NAMES)).title(), str(rng.choice(("rash", "fever", "cough")))
            lines.append(f"[{name}] had a mild {sign}." if rng.random() < 0.8 else f"The {sign} was mild.")
        docs.append(annotated(" ".join(lines), f"case-{seed}-{number}"))
    return docs


def sentences(n_documents: int = 6, seed: int = 1) -> list[Sentence]:
    """The documents as sentences."""
    return sentences_of(documents(n_documents, seed), vectors().numbers())


def material(train: Sequence[Sentence], validation: Sequence[Sentence], n_neighbours: int) -> Material:
    """The sentences with the neighbours of their PHI tokens."""
    from inverse_deid_research.representations.pseudonyms import phi_neighbours
    from inverse_deid_research.representations.training import Material

    matrix = vectors().matrix()
    return Material(train, validation, matrix, phi_neighbours(matrix, [*train, *validation], n_neighbours))
