"""Automatic pseudonymisation: PHI tokens move to one of their nearest words.

It gives no guarantee: with any N a token may stay what it is, and a neighbour may contain a part of
it. `measure_survival` counts both. In texts, words without annotation stay as they are. The others keep
casing and punctuation, and where there is no vector also the number of characters.

Source: Friedrich et al. 2019, sections 4 and 9. The search is scikit-learn's.
"""

from __future__ import annotations

import dataclasses
import string
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.phi import HYPER_CLASS_OF, HyperClass
from inverse_deid.core.values import Document, FloatArray, IntArray, PhiSpan
from inverse_deid_research.representations.secret_draws import Choices, in_secret_order
from inverse_deid_research.representations.sentences import Casing, Mark, Sentence, WrittenSentence

_PART = 3
"""Characters of the shortest part of a word that counts."""
_TELLING = 4
"""Characters of the shortest number that is looked for elsewhere."""


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """The N nearest rows of some rows of a word matrix."""

    rows: IntArray = field(repr=False)  # int32 (n_rows,), sorted: the words that have an entry
    # int32 (n_rows, N); the first column is the word itself, nearer ones come first.
    nearest: IntArray = field(repr=False)

    @property
    def n(self) -> int:
        """N: the choices for each word, itself included."""
        return int(self.nearest.shape[1])

    def of(self, rows: IntArray) -> IntArray:
        """Return int32 (len(rows), N); every row must have an entry."""
        return self.nearest[np.searchsorted(self.rows, rows)]


def find_neighbours(matrix: FloatArray, rows: IntArray, n: int) -> Neighbours:
    """Find the nearest rows by cosine, the row itself first.

    Args:
        matrix: float32 (n_words + 1, word_dim); row 0 is unknown words and never a neighbour.
        rows: int32 (any,), rows to look up; may repeat, 0 is skipped.
        n: Neighbours per word, itself included; 1 to n_words.

    Raises:
        ConfigurationError: `n` is out of range.

    Example:
        >>> plane = np.array([[0, 0], [1, 0], [0, 1], [1, 0.1]], np.float32)
        >>> find_neighbours(plane, np.array([1, 1, 2], np.int32), 2).nearest.tolist()
        [[1, 3], [2, 3]]
    """
    from sklearn.neighbors import NearestNeighbors

    if not 1 <= n <= len(matrix) - 1:
        raise ConfigurationError(
            f"{n} neighbours are asked for and {len(matrix) - 1} words have a vector. Give 1 to that many"
        )
    wanted = np.unique(rows[rows > 0]).astype(np.int32)
    if not len(wanted):
        return Neighbours(wanted, np.zeros((0, n), np.int32))
    search = NearestNeighbors(n_neighbors=n, metric="cosine", algorithm="brute").fit(matrix[1:])
    found = search.kneighbors(matrix[wanted], return_distance=False).astype(np.int32) + 1
    # Words of one direction tie with the word itself: drop it where it is, or else the last one.
    is_self = found == wanted[:, None]
    is_self[~is_self.any(axis=1), -1] = True
    others = found[~is_self].reshape(len(found), -1)
    return Neighbours(wanted, np.concatenate([wanted[:, None], others], axis=1))


def phi_neighbours(matrix: FloatArray, sentences: Sequence[Sentence], n: int) -> Neighbours:
    """Return the neighbours of all PHI tokens of sentences; fails as `find_neighbours` does."""
    moved = [sentence.rows[sentence.movable] for sentence in sentences]
    return find_neighbours(matrix, np.concatenate([np.zeros(0, np.int32), *moved]), n)


def pseudonymise(
    sentences: Sequence[Sentence], table: Neighbours, rng: Choices, *, alike: bool = False
) -> list[Sentence]:
    """Replace every PHI token that has a vector by a random one of its neighbours, itself included.

    A PHI token without a vector stays unknown (row 0), which is all that a network sees of it.

    Args:
        sentences: Any.
        table: Neighbours of all their PHI tokens; with N = 1 nothing changes.
        rng: Draws the neighbours.
        alike: All mentions of a word in a document move to the same neighbour.
    """
    drawn: dict[tuple[int, int], int] = {}
    moved = []
    for sentence in sentences:
        rows, at = sentence.rows.copy(), np.flatnonzero(sentence.movable)
        choices = []
        for row in rows[at].tolist():
            choice = int(rng.integers(table.n))
            choices.append(drawn.setdefault((sentence.document, row), choice) if alike else choice)
        rows[at] = table.of(rows[at])[np.arange(len(at)), np.array(choices, np.intp)]
        moved.append(dataclasses.replace(sentence, rows=rows))
    return moved


@dataclass(frozen=True, slots=True)
class Survival:
    """What is left of the PHI tokens of a corpus after pseudonymisation."""

    n_tokens: int  # PHI tokens
    n_unknown: int  # tokens without a vector: only their casing is seen
    n_same: int  # tokens that stayed what they were
    n_part: int  # tokens that moved to a word that contains the original, or the reverse
    # Mean number of a word's N neighbours (other than itself) that contain it, over distinct PHI words; None
    # without any.
    neighbours_with_original: float | None


def measure_survival(
    before: Sequence[Sentence], after: Sequence[Sentence], table: Neighbours, words: Sequence[str]
) -> Survival:
    """Count how often an original, or a part of it, survived.

    `after` are the same sentences, moved by `table`; row `i + 1` of the vocabulary is `words[i]`.
    """
    is_phi = [sentence.classes > 0 for sentence in before]
    old = np.concatenate([s.rows[phi] for s, phi in zip(before, is_phi, strict=True)])
    new = np.concatenate([s.rows[phi] for s, phi in zip(after, is_phi, strict=True)])
    moved = (old > 0) & (old != new)
    distinct = np.unique(old[old > 0])
    containing = [
        sum(words[row - 1] in words[near - 1] for near in nearest[1:])
        for row, nearest in zip(distinct, table.of(distinct), strict=True)
    ]
    return Survival(
        n_tokens=len(old),
        n_unknown=int((old == 0).sum()),
        n_same=int(((old > 0) & (old == new)).sum()),
        n_part=sum(_is_part(words[a - 1], words[b - 1]) for a, b in zip(old[moved], new[moved], strict=True)),
        neighbours_with_original=float(np.mean(containing)) if containing else None,
    )


def _is_part(one: str, other: str) -> bool:
    shorter, longer = sorted((one, other), key=len)
    return len(shorter) >= _PART and shorter in longer


@dataclass(frozen=True, slots=True, eq=False)
class PseudonymousCorpus:
    """What pseudonymisation made of a corpus."""

    docs: list[Document] = field(repr=False)  # a sentence each, in random order, numbered in that order
    survival: Survival  # how much of the originals is left
    # Words without annotation that are annotated elsewhere in their document, as a name (of two letters or
    # more) or with a digit (of four characters or more). They may have been overlooked, and stay as they are.
    n_overlooked: int
    n_neighbours: int  # N

    def summary(self) -> list[str]:
        """Return lines on how much is left; numbers only."""
        left = self.survival
        lines = [
            f"{left.n_tokens:,} annotated words: {left.n_same:,} stayed the same, {left.n_part:,} "
            f"became a word that contains a part of them, and {left.n_unknown:,} without a vector became "
            "other letters and digits",
            f"{self.n_overlooked:,} words were left as they are because they have no annotation there, "
            "although their document annotates them elsewhere as a name or number"
            + (". Check the annotations" if self.n_overlooked else ""),
        ]
        if left.neighbours_with_original is not None:
            lines.append(
                f"of the {self.n_neighbours:,} words that a word can become, a mean of "
                f"{left.neighbours_with_original:.2f} contain it"
            )
        return lines


def replace_words(
    written: Sequence[WrittenSentence],
    table: Neighbours,
    words: Sequence[str],
    rng: Choices,
    *,
    alike: bool = False,
) -> PseudonymousCorpus:
    """Replace every annotated word: by a neighbour, or by other characters where it has no vector.

    Args:
        written: The sentences of a corpus.
        table: Neighbours of all their PHI tokens.
        words: The vocabulary: row `i + 1` is `words[i]`.
        rng: Draws neighbours and characters.
        alike: All mentions of a word in a document become the same.
    """
    before = [one.sentence for one in written]
    after = pseudonymise(before, table, rng, alike=alike)
    made: dict[tuple[int, str], str] = {}

    def word_of(number: int, token: int) -> str:
        original, old, new = written[number].words[token], before[number], after[number]
        row = int(new.rows[token])
        if not new.classes[token] or (row and row == old.rows[token]):
            return original
        if row:
            return _write_as(words[row - 1], Casing(int(new.casings[token])))
        if not alike:
            return other_characters(original, rng)
        found = made.setdefault((new.document, original.lower()), other_characters(original, rng))
        letters = zip(found, original.ljust(len(found)), strict=False)
        return "".join(one.upper() if other.isupper() else one.lower() for one, other in letters)

    texts = [
        _write_document(one, [word_of(number, token) for token in range(len(one.words))])
        for number, one in enumerate(written)
    ]
    docs = [Document(str(i), text, spans) for i, (text, spans) in enumerate(in_secret_order(texts), start=1)]
    survival = measure_survival(before, after, table, words)
    return PseudonymousCorpus(docs, survival, _count_overlooked(written), table.n)


def _write_document(one: WrittenSentence, words: Sequence[str]) -> tuple[str, tuple[PhiSpan, ...]]:
    pieces = [piece for pair in zip(words, one.gaps, strict=True) for piece in pair]
    offsets = np.cumsum([len(one.lead), *map(len, pieces)]).tolist()
    places = [(offsets[2 * i], offsets[2 * i + 1]) for i in range(len(words))]
    spans = []
    for mark, group in groupby(range(len(words)), key=one.marks.__getitem__):
        tokens = list(group)
        if mark is not None:
            spans.append(PhiSpan(places[tokens[0]][0], places[tokens[-1]][1], mark.type))
    return (one.lead + "".join(pieces)).rstrip(), tuple(spans)


def _write_as(word: str, casing: Casing) -> str:
    if casing is Casing.ALL_UPPER:
        return word.upper()
    return word.capitalize() if casing is Casing.INITIAL_UPPER else word


def other_characters(word: str, rng: Choices) -> str:
    """Return another word of the same length: digits for digits, letters of a to z for letters.

    Example:
        >>> other_characters("Ab9", np.random.default_rng(1))
        'Mn7'
    """
    found = word
    while _normalise(found) == _normalise(word):
        choices = [
            string.digits
            if c.isdigit()
            else string.ascii_uppercase
            if c.isupper()
            else string.ascii_lowercase
            for c in word
        ]
        found = "".join(some[int(rng.integers(len(some)))] for some in choices)
    return found


def _normalise(word: str) -> str:
    # Digits of any script by their value, letters of any width.
    plain = unicodedata.normalize("NFKC", word).lower()
    return "".join(str(unicodedata.digit(character, character)) for character in plain)


def _count_overlooked(written: Sequence[WrittenSentence]) -> int:
    words = [
        (one.sentence.document, word, mark)
        for one in written
        for word, mark in zip(one.words, one.marks, strict=True)
    ]
    annotated = {
        (document, word.lower())
        for document, word, mark in words
        if mark is not None and _is_telling(word, mark)
    }
    return sum(mark is None and (document, word.lower()) in annotated for document, word, mark in words)


def _is_telling(word: str, mark: Mark) -> bool:
    # Parts of names and words with digits, except ages and days, should not be found elsewhere.
    if HYPER_CLASS_OF[mark.type] is HyperClass.NAME:
        return len(word) > 1
    return len(word) >= _TELLING and any(map(str.isdigit, word))
