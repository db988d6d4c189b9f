"""Annotated documents as pseudonymous sentences: text that a network can be trained on.

Words that no annotation touches stay as they are. Of others casing and punctuation stay, and the
number of characters where there is no vector.

Source: Friedrich et al. 2019, section 4.
"""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from inverse_deid.core.phi import HYPER_CLASS_OF, HyperClass
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.research.representations.casing import Casing
from inverse_deid.research.representations.neighbours import Neighbours
from inverse_deid.research.representations.pseudonyms import Survival, pseudonymised, survival
from inverse_deid.research.representations.secret_draws import Choices, in_secret_order
from inverse_deid.research.representations.sentences import Mark, WrittenSentence

_TELLING = 4
"""Characters of the shortest number that is looked for elsewhere."""


@dataclass(frozen=True, slots=True, eq=False)
class Pseudonymous:
    """What pseudonymisation made of a corpus.

    Args:
        docs: Each a sentence, in random order, numbered in that order.
        survival: How much of the originals is left.
        n_overlooked: Words that nobody annotated, and that are annotated elsewhere in their document,
            as a name (of two letters or more) or with a digit (of four characters or more): perhaps
            overlooked. They stay as they are.
        n_neighbours: N.
    """

    docs: list[Document] = field(repr=False)
    survival: Survival
    n_overlooked: int
    n_neighbours: int

    def told(self) -> list[str]:
        """Lines on how much is left; numbers only."""
        left = self.survival
        lines = [
            f"of {left.n_tokens:,} annotated words {left.n_same:,} stayed what they were and {left.n_part:,} "
            f"became a word that holds a part of them; {left.n_unknown:,} without a vector became other "
            "letters and digits",
            f"{self.n_overlooked:,} words that nobody annotated are annotated elsewhere in their document, "
            "as a name or number, and stayed" + ("; check the annotations" if self.n_overlooked else ""),
        ]
        if left.neighbours_with_original is not None:
            holding = f"{left.neighbours_with_original:.2f}"
            lines.append(
                f"of {self.n_neighbours:,} words that a word can become, {holding} hold it in the mean"
            )
        return lines


def pseudonymous(
    written: Sequence[WrittenSentence],
    table: Neighbours,
    words: Sequence[str],
    rng: Choices,
    *,
    alike: bool = False,
) -> Pseudonymous:
    """Replace every annotated word: by a neighbour, or by other characters where it has no vector.

    Args:
        written: The sentences of a corpus.
        table: Neighbours of all their PHI tokens.
        words: The vocabulary: row `i + 1` is `words[i]`.
        rng: Draws neighbours and characters.
        alike: All mentions of a word in a document become the same.
    """
    before = [one.sentence for one in written]
    after = pseudonymised(before, table, rng, alike=alike)
    made: dict[tuple[int, str], str] = {}

    def word_of(number: int, token: int) -> str:
        original, old, new = written[number].words[token], before[number], after[number]
        row = int(new.rows[token])
        if not new.classes[token] or (row and row == old.rows[token]):
            return original
        if row:
            return _cased(words[row - 1], Casing(int(new.casings[token])))
        if not alike:
            return other_characters(original, rng)
        found = made.setdefault((new.document, original.lower()), other_characters(original, rng))
        return _cased_as(found, original)

    texts = [
        _document(one, [word_of(number, token) for token in range(len(one.words))])
        for number, one in enumerate(written)
    ]
    docs = [Document(str(i), text, spans) for i, (text, spans) in enumerate(in_secret_order(texts), start=1)]
    return Pseudonymous(docs, survival(before, after, table, words), _n_overlooked(written), table.n)


def _document(one: WrittenSentence, words: Sequence[str]) -> tuple[str, tuple[PhiSpan, ...]]:
    """The text with other words, and its spans."""
    pieces = [piece for pair in zip(words, one.gaps, strict=True) for piece in pair]
    offsets = np.cumsum([len(one.lead), *map(len, pieces)]).tolist()
    places = [(offsets[2 * i], offsets[2 * i + 1]) for i in range(len(words))]
    spans = []
    for mark, group in groupby(range(len(words)), key=one.marks.__getitem__):
        tokens = list(group)
        if mark is not None:
            spans.append(PhiSpan(places[tokens[0]][0], places[tokens[-1]][1], mark.type))
    return (one.lead + "".join(pieces)).rstrip(), tuple(spans)


def _cased(word: str, casing: Casing) -> str:
    """A word of the vocabulary, which is in lower case, as the original was written."""
    if casing is Casing.ALL_UPPER:
        return word.upper()
    return word.capitalize() if casing is Casing.INITIAL_UPPER else word


def _cased_as(word: str, original: str) -> str:
    """Of the same length, letter by letter."""
    pairs = zip(word, original.ljust(len(word)), strict=False)
    return "".join(one.upper() if other.isupper() else one.lower() for one, other in pairs)


def other_characters(word: str, rng: Choices) -> str:
    """Another word of the same length: digits for digits, letters of a to z for letters.

    Example:
        >>> other_characters("Ab9", np.random.default_rng(1))
        'Mn7'
    """
    while _plain(found := "".join(_other_characters(word, rng))) == _plain(word):
        pass
    return found


def _other_characters(word: str, rng: Choices) -> Iterator[str]:
    for character in word:
        if character.isdigit():
            choices = string.digits
        else:
            choices = string.ascii_uppercase if character.isupper() else string.ascii_lowercase
        yield choices[int(rng.integers(len(choices)))]


def _plain(word: str) -> str:
    """As it is read: digits of any script by their value, letters of any width."""
    plain = unicodedata.normalize("NFKC", word).lower()
    return "".join(str(unicodedata.digit(character, character)) for character in plain)


def _n_overlooked(written: Sequence[WrittenSentence]) -> int:
    annotated = {
        (one.sentence.document, word.lower())
        for one in written
        for word, mark in one.marked()
        if mark is not None and _is_telling(word, mark)
    }
    return sum(
        mark is None and (one.sentence.document, word.lower()) in annotated
        for one in written
        for word, mark in one.marked()
    )


def _is_telling(word: str, mark: Mark) -> bool:
    """Whether it should not be found elsewhere: parts of names, words with digits except ages and days."""
    if HYPER_CLASS_OF[mark.type] is HyperClass.NAME:
        return len(word) > 1
    return len(word) >= _TELLING and any(map(str.isdigit, word))
