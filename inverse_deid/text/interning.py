"""Distinct words numbered once, so that work per distinct word is done once.

Narratives repeat themselves: a million tokens hold some forty thousand
distinct words. Shape, dictionary flags and character vectors depend on the
word alone; the stages keep them in arrays whose row is the number given here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inverse_deid.core.values import IntArray


class _NumberedWords(dict[str, int]):
    """A dict that gives an unknown word the next number."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


class InternedWords:
    """Numbers distinct words in the order of their first appearance, within a bound.

    Args:
        capacity: Words held before `trim` forgets them all; bounds the memory.

    Example:
        >>> words = InternedWords()
        >>> words.ids(["the", "cat", "the"]).tolist(), words.words_from(1)
        ([0, 1, 0], ['cat'])
    """

    def __init__(self, capacity: int = 100_000) -> None:
        self._capacity = capacity
        self._numbers = _NumberedWords()
        self.generation = 0
        """Rises whenever the numbers are given anew; a cache of another generation is void."""

    def __len__(self) -> int:
        return len(self._numbers)

    def __repr__(self) -> str:
        return f"InternedWords(n_words={len(self)}, generation={self.generation})"

    def ids(self, words: Sequence[str]) -> IntArray:
        """Number each word: int32 (n_words,)."""
        return np.fromiter(map(self._numbers.__getitem__, words), np.int32, len(words))

    def words_from(self, first: int) -> list[str]:
        """The words numbered `first` and above, in the order of their numbers."""
        n_new = len(self._numbers) - first
        newest = [word for word, _ in zip(reversed(self._numbers), range(n_new), strict=False)]
        return newest[::-1]

    def trim(self) -> None:
        """Forget everything if the capacity is exceeded; call it between batches only."""
        if len(self._numbers) > self._capacity:
            self._numbers = _NumberedWords()
            self.generation += 1
