"""Numbers for distinct words, so that work per distinct word is done once.

Narratives repeat themselves: a million tokens have about forty thousand distinct words. Shape,
dictionary flags and character vectors depend only on the word. The stages keep them in arrays whose
row is the number given here.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from inverse_deid.core.values import IntArray

_GREEK_MU = "\u03bc"
_UNIT_WITH_GREEK_MU = re.compile(
    rf"\d*{_GREEK_MU}(?:g|gm|gr|l|m|mol|mole|s|v|a|w|u|iu|ml|kat|ci|sv|gy|eq|osm|bar|hz|gal)?", re.IGNORECASE
)


def read_units(words: Sequence[str]) -> list[str]:
    r"""Return words with the micro sign where a unit is written with the Greek letter mu.

    Both look the same. Without this, `μg` is a word of two scripts, which is always masked.

    Example:
        >>> [ascii(word) for word in read_units(["5\u03bcg", "\u03bcaria"])]
        ["'5\\xb5g'", "'\\u03bcaria'"]
    """
    return [
        word.replace(_GREEK_MU, "\u00b5")
        if _GREEK_MU in word and _UNIT_WITH_GREEK_MU.fullmatch(word)
        else word
        for word in words
    ]


class GrowingArray:
    """Rows that can be added and forgotten but not changed; adding costs only as much as the new rows."""

    def __init__(self, first: npt.NDArray[Any]) -> None:
        self._n_rows = 0
        self._room = np.empty((0, *first.shape[1:]), first.dtype)
        self.append(first)

    def __len__(self) -> int:
        return self._n_rows

    @property
    def rows(self) -> npt.NDArray[Any]:
        """All rows; does not change when others are added."""
        return self._room[: self._n_rows]

    def append(self, more: npt.NDArray[Any]) -> None:
        stop = self._n_rows + len(more)
        if stop > len(self._room):
            room = np.empty((max(2 * stop, 1024), *self._room.shape[1:]), self._room.dtype)
            room[: self._n_rows] = self.rows
            self._room = room
        self._room[self._n_rows : stop] = more
        self._n_rows = stop

    def keep(self, rows: IntArray) -> None:
        """Forget all rows except these, which get new numbers in this order."""
        self._room = self.rows[rows]
        self._n_rows = len(rows)


def _number_words(words: Iterable[str]) -> defaultdict[str, int]:
    # Each further word gets the next number.
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    for word in words:
        numbers[word]
    return numbers


class InternedWords:
    """Numbers distinct words in the order of their first appearance, within a bound.

    Args:
        capacity: Number of words above which `trim` forgets the rarer ones; bounds the memory of
            everything that is kept per word.

    Example:
        >>> words = InternedWords()
        >>> words.ids(["the", "cat", "the"]).tolist(), words.words_from(1)
        ([0, 1, 0], ['cat'])
    """

    def __init__(self, capacity: int = 24_576) -> None:
        self._capacity = capacity
        self._numbers = _number_words(())
        self._counts = np.zeros(capacity, np.int64)
        self._kept = np.zeros(0, np.int32)
        self.generation = 0
        """Rises whenever words get new numbers; see `survivors`."""

    def __len__(self) -> int:
        return len(self._numbers)

    def __repr__(self) -> str:
        return f"InternedWords(n_words={len(self)}, generation={self.generation})"

    def ids(self, words: Sequence[str]) -> IntArray:
        """Number each word: int32 (n_words,)."""
        found = np.fromiter(map(self._numbers.__getitem__, words), np.int32, len(words))
        if len(self) > len(self._counts):
            self._counts = np.concatenate([self._counts, np.zeros(len(self), np.int64)])
        np.add.at(self._counts, found, 1)
        return found

    def words_from(self, first: int) -> list[str]:
        """Return the words numbered `first` and above, in the order of their numbers."""
        n_new = len(self._numbers) - first
        newest = [word for word, _ in zip(reversed(self._numbers), range(n_new), strict=False)]
        return newest[::-1]

    def trim(self) -> None:
        """Forget the rarer words if the capacity is exceeded; call it only between batches."""
        n_words = len(self._numbers)
        if n_words <= self._capacity:
            return
        n_kept = int(self._capacity * 2 / 3)
        kept = np.sort(np.argsort(-self._counts[:n_words], kind="stable")[:n_kept])
        words = list(self._numbers)
        self._numbers = _number_words(words[old] for old in kept.tolist())
        counts = self._counts[kept] // 2  # words that were frequent long ago are forgotten at last
        self._counts = np.concatenate([counts, np.zeros(max(0, self._capacity - len(counts)), np.int64)])
        self._kept = kept.astype(np.int32)
        self.generation += 1

    def survivors(self, generation: int, n_rows: int) -> IntArray:
        """Return the rows, of `n_rows`, that a cache of a generation keeps, in their new order."""
        if generation == self.generation:
            return np.arange(n_rows, dtype=np.int32)
        if generation + 1 == self.generation:
            return self._kept[self._kept < n_rows]
        return np.zeros(0, np.int32)
