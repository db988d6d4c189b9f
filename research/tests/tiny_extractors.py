"""Extractors of a few units and invented sentences to train them on."""

from __future__ import annotations

from typing import Any

import numpy as np

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.network.encoding import WordVectors, quantise
from inverse_deid_research.extraction.concepts import CONCEPTS, PHI, ConceptDocument, ConceptSpan
from inverse_deid_research.extraction.config import ExtractorConfig, ExtractorTraining

DRUGS = ("Velmo", "aspirin", "Tolandin")
EFFECTS = ("rash", "mild fever", "cough")
NAMES = ("Okonkwo", "Lindero", "Zebulonova")
BOTH = {CONCEPTS: ("Drug", "Effect"), PHI: ("PATIENT",)}


def document(number: int) -> ConceptDocument:
    """`Mr NAME took DRUG and had EFFECT.`, each kind marked."""
    name, drug, effect = NAMES[number % 3], DRUGS[number // 3 % 3], EFFECTS[number // 9 % 3]
    text = f"{'Mr' if number % 2 else 'Mrs'} {name} took {drug} on day {number} and had {effect}."
    concepts = (_span(text, drug, "Drug"), _span(text, effect, "Effect"))
    start = text.index(name)
    return ConceptDocument(
        Document(f"d{number}", text, (PhiSpan(start, start + len(name), PhiType.PATIENT),)), concepts
    )


def _span(text: str, piece: str, kind: str) -> ConceptSpan:
    start = text.index(piece)
    return ConceptSpan(start, start + len(piece), kind)


def documents(first: int, last: int) -> list[ConceptDocument]:
    return [document(number) for number in range(first, last)]


def vectors() -> WordVectors:
    words = [
        "mr",
        "mrs",
        "took",
        "on",
        "day",
        "and",
        "had",
        "rash",
        "aspirin",
        "okonkwo",
        "lindero",
        "zebulonova",
    ]
    rng = np.random.default_rng(1)
    return quantise(words, rng.normal(size=(len(words), 8)).astype(np.float32))


def config(**changed: Any) -> ExtractorConfig:
    sizes = {
        "char_dim": 4,
        "char_units": 4,
        "max_characters": 8,
        "token_units": 6,
        "hidden_units": 5,
        "dropout": 0.0,
    }
    return ExtractorConfig(**{**sizes, **changed})  # type: ignore[arg-type]


def training(**changed: Any) -> ExtractorTraining:
    return ExtractorTraining(**{"epochs": 2, "batch": 8, "pretraining": 1, **changed})
