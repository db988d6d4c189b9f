"""A stand-in for a trained extractor: finds the words it is told, wherever they stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inverse_deid.text.tokenizer import tokenize
from inverse_deid_research.extraction.concepts import ConceptSpan

DICTIONARY = {"Velmo": "Drug", "aspirin": "Drug", "rash": "Effect", "fever": "Effect"}


class FakeExtractor:
    """Finds single words of a dictionary."""

    types: Mapping[str, tuple[str, ...]] = {"concepts": ("Drug", "Effect")}

    def __init__(self, dictionary: Mapping[str, str] = DICTIONARY) -> None:
        self._dictionary = dictionary

    def find(self, texts: Sequence[str]) -> list[dict[str, tuple[ConceptSpan, ...]]]:
        return [{"concepts": self._in(text)} for text in texts]

    def _in(self, text: str) -> tuple[ConceptSpan, ...]:
        tokens = tokenize(text)
        return tuple(
            ConceptSpan(int(start), int(end), self._dictionary[word])
            for word, start, end in zip(tokens.words, tokens.starts, tokens.ends, strict=True)
            if word in self._dictionary
        )
