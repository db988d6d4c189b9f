"""Documents as sentences of word rows, casings and classes: all that the networks here read.

Source: Friedrich et al. 2019, section 6; the casing feature and its seven values are those of Reimers
and Gurevych 2017, "Optimal hyperparameters for deep LSTM-networks for sequence labeling tasks", section 4.
Tokens are those of this project, on which `mask` decides, so that "25yo" stays one token.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import ConfigurationError, Remedy
from inverse_deid.core.phi import HYPER_CLASS_OF, HyperClass, PhiType
from inverse_deid.core.values import BoolArray, Document, FloatArray, IntArray, PhiSpan, Tokens
from inverse_deid.network.encoding import word_numbers
from inverse_deid.text.tokenizer import span_of_token, tokenize
from inverse_deid_research.sentences import sentence_bounds

CasingArray = npt.NDArray[np.uint8]
LONGEST = 100
"""Tokens of the longest sentence; longer ones are cut."""

_CLASS_NUMBER = {name: number for number, name in enumerate(HyperClass)}
_LONG_RUN = re.compile(r"(.)\1{4,}")
_FEWEST_STEPS = 2
"""Smallest number of columns of a batch: a chain over one has no step."""
_PREDICTION_BATCH = 128


class Casing(IntEnum):
    """How a word is written. The order is part of the file format."""

    NUMERIC = 0
    MAINLY_NUMERIC = 1
    ALL_LOWER = 2
    ALL_UPPER = 3
    INITIAL_UPPER = 4
    CONTAINS_DIGIT = 5
    OTHER = 6


N_CASINGS = len(Casing)


def casing_of(word: str) -> Casing:
    """Return the casing of a word: the first of the definitions that holds.

    Example:
        >>> [casing_of(word).name for word in ("40", "400m", "rash", "ECG", "Velmo", "b12x", "pH")]
        ['NUMERIC', 'MAINLY_NUMERIC', 'ALL_LOWER', 'ALL_UPPER', 'INITIAL_UPPER', 'CONTAINS_DIGIT', 'OTHER']
    """
    n_digits = sum(map(str.isdigit, word))
    tests = (
        (Casing.NUMERIC, word.isdigit()),
        (Casing.MAINLY_NUMERIC, 2 * n_digits > len(word)),
        (Casing.ALL_LOWER, word.isalpha() and word.islower()),
        (Casing.ALL_UPPER, word.isalpha() and word.isupper()),
        (Casing.INITIAL_UPPER, word[:1].isupper() and n_digits == 0),
        (Casing.CONTAINS_DIGIT, n_digits > 0),
    )
    return next((casing for casing, holds in tests if holds), Casing.OTHER)


def casings_of(words: Sequence[str]) -> CasingArray:
    """Return the casing of each word: uint8 (n_words,), values of `Casing`."""
    return np.fromiter(map(casing_of, words), np.uint8, len(words))


@dataclass(frozen=True, slots=True, eq=False)
class Sentence:
    """A sentence as the networks read it."""

    # int32 (n_tokens,), rows of the word matrix; 0 = the word has no vector.
    rows: IntArray = field(repr=False)
    casings: CasingArray = field(repr=False)  # uint8 (n_tokens,), values of `Casing`
    classes: IntArray = field(repr=False)  # int32 (n_tokens,), index into `HyperClass`; 0 = safe
    document: int = 0  # number of its document

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
    """A sentence with its text."""

    sentence: Sentence  # as the networks read it
    words: list[str] = field(repr=False)  # as in the text, `n_tokens` strings
    lead: str = field(repr=False)  # the text before the first word
    # The text after each word. Within an annotation only punctuation and blanks, no accents apart from their
    # letter and no signs.
    gaps: list[str] = field(repr=False)
    marks: list[Mark | None] = field(repr=False)  # of each word; None = not annotated


def word_rows(words: Sequence[str], numbers: Mapping[str, int]) -> IntArray:
    """Return the row of each word's vector: int32 (n_words,), 0 = unknown.

    A word without one has that of its digits as zeros, or else of its shape.
    """
    rows = word_numbers(words, dict(numbers))
    for i in np.flatnonzero(rows == 0).tolist():
        rows[i] = next((numbers[form] for form in fallbacks_of(words[i]) if form in numbers), 0)
    return rows


def fallbacks_of(word: str) -> tuple[str, str]:
    """Return a word with zeros for digits, and its shape, of at most four characters of a kind in a row.

    Letters of a shape are upper case, so that it is never a word of a vocabulary.

    Example:
        >>> fallbacks_of("25mg"), fallbacks_of("200712345")
        (('00mg', '00XX'), ('000000000', '0000'))
    """
    zeros = "".join("0" if character.isdigit() else character for character in word.lower())
    shape = "".join("0" if character.isdigit() else "X" for character in word)
    return zeros, _LONG_RUN.sub(r"\1\1\1\1", shape)


def sentences_of(docs: Sequence[Document], numbers: Mapping[str, int]) -> list[Sentence]:
    return [one.sentence for one in written_sentences(docs, numbers)]


def written_sentences(docs: Sequence[Document], numbers: Mapping[str, int]) -> list[WrittenSentence]:
    """Read annotated documents as sentences, in order; `numbers` are from `WordVectors.numbers`.

    Raises:
        ConfigurationError: They have no PHI, or none of their words has a vector.
    """
    found = [one for number, doc in enumerate(docs) for one in _of_document(doc, number, numbers)]
    if not any((one.sentence.classes > 0).any() for one in found):
        raise ConfigurationError("the documents have no PHI to learn from. Give annotated documents")
    if not any(one.sentence.rows.any() for one in found):
        raise ConfigurationError(
            "no word of the documents has a vector",
            remedies=[Remedy("word_vectors", step="give word vectors of their language with {}")],
        )
    return found


def _of_document(doc: Document, number: int, numbers: Mapping[str, int]) -> Iterator[WrittenSentence]:
    tokens = tokenize(doc.text)
    rows = word_rows(tokens.words, numbers)
    owners = span_of_token(tokens, doc.spans)
    of_span = [_CLASS_NUMBER[HYPER_CLASS_OF[span.type]] for span in doc.spans]
    classes = np.array([*of_span, 0], np.int32)[owners]  # owner -1, no PHI, takes the last
    marks = [*(Mark(i, span.type) for i, span in enumerate(doc.spans)), None]
    casings = casings_of(tokens.words)
    gaps = _gaps(tokens, doc.spans)
    for first, last in sentence_bounds(tokens, LONGEST):
        part = slice(first, last)
        yield WrittenSentence(
            Sentence(rows[part], casings[part], classes[part], number),
            tokens.words[part],
            _split_gap(f" {gaps[first]}" if first == 0 else gaps[first])[1],
            [*gaps[first + 1 : last], _split_gap(gaps[last])[0] if last < len(tokens) else gaps[last]],
            [marks[owner] for owner in owners[part].tolist()],
        )


def _gaps(tokens: Tokens, spans: Sequence[PhiSpan]) -> list[str]:
    # `n_tokens + 1` strings.
    text = list(tokens.text)
    for span in spans:
        stop = span.end
        while stop < len(text) and unicodedata.category(text[stop]).startswith("M"):
            stop += 1  # belongs to the last letter
        for i in range(span.start, stop):
            is_punctuation = text[i] == "+" or unicodedata.category(text[i]).startswith("P")
            text[i] = text[i] if text[i].isspace() or is_punctuation else ""
    bounds = [0, *np.ravel((tokens.starts, tokens.ends), order="F").tolist(), len(text)]
    return ["".join(text[end:start]) for end, start in zip(bounds[::2], bounds[1::2], strict=True)]


def _split_gap(gap: str) -> tuple[str, str]:
    at = max((i for i, character in enumerate(gap, start=1) if character.isspace()), default=len(gap))
    return gap[:at], gap[at:]


def require_two(sentences: Sequence[Sentence]) -> None:
    """Refuse a single sentence: shuffling hides nothing, and nothing is left to hold out.

    Raises:
        ConfigurationError: There are fewer than two.
    """
    if len(sentences) < 2:
        raise ConfigurationError(
            f"the documents have {len(sentences)} sentence(s). Give at least two, because the order "
            "of sentences is part of what is hidden"
        )


@dataclass(frozen=True, slots=True, eq=False)
class VectorSentence:
    """A sentence as a sequence of vectors: of words, or private ones."""

    vectors: FloatArray = field(repr=False)  # float32 (n_tokens, dim)
    casings: CasingArray = field(repr=False)  # uint8 (n_tokens,)
    classes: IntArray = field(repr=False)  # int32 (n_tokens,), index into `HyperClass`

    def __len__(self) -> int:
        return len(self.vectors)


@dataclass(frozen=True, slots=True, eq=False)
class SentenceBatch:
    """Padded sentences."""

    vectors: FloatArray = field(repr=False)  # float32 (batch, time, dim), 0 on padding
    casings: IntArray = field(repr=False)  # int32 (batch, time)
    classes: IntArray = field(repr=False)  # int32 (batch, time)
    valid: BoolArray = field(repr=False)  # bool (batch, time)


def with_vectors(sentences: Sequence[Sentence], matrix: FloatArray) -> list[VectorSentence]:
    """Look words up in `matrix`, float32 (n_words + 1, dim), whose row 0 is zero."""
    return [VectorSentence(matrix[s.rows], s.casings, s.classes) for s in sentences]


def pad_sentences(sentences: Sequence[VectorSentence]) -> SentenceBatch:
    lengths = np.array([len(sentence) for sentence in sentences])
    longest = max(_FEWEST_STEPS, int(lengths.max()))
    return SentenceBatch(
        vectors=pad_rows([s.vectors for s in sentences], longest, np.float32),
        casings=pad_rows([s.casings for s in sentences], longest, np.int32),
        classes=pad_rows([s.classes for s in sentences], longest, np.int32),
        valid=np.arange(longest) < lengths[:, None],
    )


def pad_rows(rows: Sequence[npt.NDArray[np.generic]], longest: int, dtype: npt.DTypeLike) -> np.ndarray:
    """Stack rows of unequal length, padded with 0 to `longest`."""
    full = np.zeros((len(rows), longest, *rows[0].shape[1:]), dtype)
    for i, row in enumerate(rows):
        full[i, : len(row)] = row
    return full


def batch_numbers(lengths: Sequence[int], size: int, rng: np.random.Generator | None) -> Iterator[list[int]]:
    """Yield the numbers of `size` sentences of similar length.

    `rng` breaks ties and orders the batches; without it they are in order of length.
    """
    jitter = rng.uniform(0, 4, len(lengths)) if rng is not None else np.zeros(len(lengths))
    order = np.argsort(np.array(lengths) + jitter, kind="stable").tolist()
    groups = [order[start : start + size] for start in range(0, len(order), size)]
    for group in rng.permutation(len(groups)) if rng is not None else range(len(groups)):
        yield groups[group]


def batches(
    sentences: Sequence[VectorSentence], size: int, rng: np.random.Generator | None = None
) -> Iterator[SentenceBatch]:
    """Yield all sentences once, in batches of `size`; see `batch_numbers`."""
    for numbers in batch_numbers([len(sentence) for sentence in sentences], size, rng):
        yield pad_sentences([sentences[i] for i in numbers])


def predict_sentences(
    sentences: Sequence[VectorSentence], predict: Callable[[SentenceBatch], FloatArray]
) -> list[FloatArray]:
    """Return a float32 (n_tokens, any) per sentence, in order, of predictions (batch, time, any)."""
    found = [np.zeros((0, 0), np.float32)] * len(sentences)
    for numbers in batch_numbers([len(sentence) for sentence in sentences], _PREDICTION_BATCH, None):
        rows = predict(pad_sentences([sentences[i] for i in numbers]))
        for i, row in zip(numbers, rows, strict=True):
            found[i] = row[: len(sentences[i])]
    return found
