"""Documents as sentences of word rows, casings and classes: all that the networks here read.

Source: Friedrich et al. 2019, section 6.
Tokens are those of this project, on which `mask` decides, so that "25yo" stays one token.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.phi import HYPER_CLASS_OF, HyperClass, PhiType
from inverse_deid.core.values import BoolArray, Document, IntArray, PhiSpan, Tokens
from inverse_deid.network.encoding import word_numbers
from inverse_deid.research.representations.casing import CasingArray, casings
from inverse_deid.research.sentences import sentence_bounds
from inverse_deid.text.tokenizer import span_of_token, tokenize

LONGEST = 100
"""Tokens of the longest sentence; what is longer is cut."""

_CLASS_NUMBER = {name: number for number, name in enumerate(HyperClass)}


@dataclass(frozen=True, slots=True, eq=False)
class Sentence:
    """A sentence as the networks read it.

    Args:
        rows: int32 (n_tokens,), rows of the word matrix; 0 = the word has no vector.
        casings: uint8 (n_tokens,), values of `Casing`.
        classes: int32 (n_tokens,), index into `HyperClass`; 0 = safe.
        document: Number of its document.
    """

    rows: IntArray = field(repr=False)
    casings: CasingArray = field(repr=False)
    classes: IntArray = field(repr=False)
    document: int = 0

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def movable(self) -> BoolArray:
        """The PHI tokens that have a vector, and hence neighbours: bool (n_tokens,)."""
        return (self.classes > 0) & (self.rows > 0)


class Mark(NamedTuple):
    """The annotation of a word: number of the span in its document, and type."""

    span: int
    type: PhiType


@dataclass(frozen=True, slots=True, eq=False)
class WrittenSentence:
    """A sentence with its text.

    Args:
        sentence: As the networks read it.
        words: As in the text, `n_tokens` strings.
        lead: The text before the first word.
        gaps: The text after each word. Within an annotation only punctuation and blanks, no
            accents apart from their letter and no signs.
        marks: Of each word; None = not annotated.
    """

    sentence: Sentence
    words: list[str] = field(repr=False)
    lead: str = field(repr=False)
    gaps: list[str] = field(repr=False)
    marks: list[Mark | None] = field(repr=False)

    def marked(self) -> Iterator[tuple[str, Mark | None]]:
        """Each word with its mark."""
        return zip(self.words, self.marks, strict=True)


def sentences_of(docs: Sequence[Document], numbers: Mapping[str, int]) -> list[Sentence]:
    """Read documents as sentences, in order; `written_sentences` without the text."""
    return [one.sentence for one in written_sentences(docs, numbers)]


def written_sentences(docs: Sequence[Document], numbers: Mapping[str, int]) -> list[WrittenSentence]:
    """Read documents as sentences, in order.

    Args:
        docs: Annotated documents.
        numbers: Row of each word's vector, from `WordVectors.numbers`.

    Raises:
        ConfigurationError: Nothing in them has PHI, or none of their words has a vector.
    """
    found = [one for number, doc in enumerate(docs) for one in _of_document(doc, number, numbers)]
    if not any((one.sentence.classes > 0).any() for one in found):
        raise ConfigurationError("the documents have no PHI to learn from. Give annotated documents")
    if not any(one.sentence.rows.any() for one in found):
        raise ConfigurationError(
            "no word of the documents has a vector. Give word vectors of their language with --word-vectors"
        )
    return found


def _of_document(doc: Document, number: int, numbers: Mapping[str, int]) -> Iterator[WrittenSentence]:
    tokens = tokenize(doc.text)
    rows = word_numbers(tokens.words, dict(numbers))
    owners = span_of_token(tokens, doc.spans)
    of_span = [_CLASS_NUMBER[HYPER_CLASS_OF[span.type]] for span in doc.spans]
    classes = np.array([*of_span, 0], np.int32)[owners]  # owner -1, no PHI, takes the last
    marks = [*(Mark(i, span.type) for i, span in enumerate(doc.spans)), None]
    written = casings(tokens.words)
    gaps = _gaps(tokens, doc.spans)
    for first, last in sentence_bounds(tokens, LONGEST):
        part = slice(first, last)
        yield WrittenSentence(
            Sentence(rows[part], written[part], classes[part], number),
            tokens.words[part],
            _parted(f" {gaps[first]}" if first == 0 else gaps[first])[1],
            [*gaps[first + 1 : last], _parted(gaps[last])[0] if last < len(tokens) else gaps[last]],
            [marks[owner] for owner in owners[part].tolist()],
        )


def _gaps(tokens: Tokens, spans: Sequence[PhiSpan]) -> list[str]:
    """Return the text before, between and after the tokens: `n_tokens + 1` strings."""
    text = list(tokens.text)
    for span in spans:
        stop = span.end
        while stop < len(text) and unicodedata.category(text[stop]).startswith("M"):
            stop += 1  # belongs to the last letter
        for i in range(span.start, stop):
            text[i] = text[i] if _is_blank_or_punctuation(text[i]) else ""
    bounds = [0, *np.ravel((tokens.starts, tokens.ends), order="F").tolist(), len(text)]
    return ["".join(text[end:start]) for end, start in zip(bounds[::2], bounds[1::2], strict=True)]


def _is_blank_or_punctuation(character: str) -> bool:
    return character.isspace() or character == "+" or unicodedata.category(character).startswith("P")


def _parted(gap: str) -> tuple[str, str]:
    """Between two sentences: what belongs to the first, and behind the last blank to the second."""
    at = max((i for i, character in enumerate(gap, start=1) if character.isspace()), default=len(gap))
    return gap[:at], gap[at:]


def require_two(sentences: Sequence[Sentence]) -> None:
    """Refuse a single sentence: shuffling hides nothing, and nothing is left to hold out.

    Raises:
        ConfigurationError: There are fewer than two.
    """
    if len(sentences) < 2:
        raise ConfigurationError(
            f"the documents hold {len(sentences)} sentence(s). At least two are needed, as the order "
            "of sentences is part of what is hidden"
        )
