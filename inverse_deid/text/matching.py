"""Comparison of words: without case and accents, as sequences, with typos."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
from rapidfuzz import process
from rapidfuzz.distance import OSA


def fold(word: str) -> str:
    """Return a word without case, accents and compatibility forms.

    Example:
        >>> fold("JOSÉ") == fold("Jose") == fold("ＪＯＳＥ")
        True
    """
    if word.isascii():
        return word.lower()
    plain = unicodedata.normalize("NFKD", word)
    return "".join(c for c in plain if not unicodedata.combining(c)).casefold()


class Sequences:
    """Finds sequences of words in a list of words, or of letters in a word, in time linear in the text.

    Args:
        sequences: Empty ones are skipped.

    Source:
        Aho and Corasick 1975, with only the longest ending of each state.

    Example:
        >>> list(Sequences(["he", "she", "hers"]).endings("ushers"))
        [(4, 3), (6, 4)]
    """

    def __init__(self, sequences: Iterable[Sequence[str]]) -> None:
        self._next: dict[tuple[int, str], int] = {}
        self._longest = [0]
        by_depth: list[list[tuple[int, int, str]]] = []
        for sequence in sequences:
            self._add(sequence, by_depth)
        self._fail = [0] * len(self._longest)
        for added in by_depth[1:]:
            for node, parent, symbol in added:
                fail = self._step(self._fail[parent], symbol)
                self._fail[node] = fail
                self._longest[node] = self._longest[node] or self._longest[fail]

    def __bool__(self) -> bool:
        return bool(self._next)

    def _add(self, sequence: Sequence[str], by_depth: list[list[tuple[int, int, str]]]) -> None:
        node = 0
        for depth, symbol in enumerate(sequence):
            child = self._next.get((node, symbol))
            if child is None:
                child = self._next[node, symbol] = len(self._longest)
                self._longest.append(0)
                if depth == len(by_depth):
                    by_depth.append([])
                by_depth[depth].append((child, node, symbol))
            node = child
        if node:
            self._longest[node] = len(sequence)

    def _step(self, node: int, symbol: str) -> int:
        child = self._next.get((node, symbol))
        while child is None and node:
            node = self._fail[node]
            child = self._next.get((node, symbol))
        return child or 0

    def endings(self, symbols: Iterable[str]) -> Iterator[tuple[int, int]]:
        """Yield the positions after which a sequence ends, and the length of the longest."""
        node = 0
        for stop, symbol in enumerate(symbols, start=1):
            node = self._step(node, symbol)
            if self._longest[node]:
                yield stop, self._longest[node]

    def among(self, symbols: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Tell which symbols belong to a sequence: bool (n_symbols,)."""
        edges = np.zeros(len(symbols) + 1, np.int64)
        for stop, length in self.endings(symbols) if self._next else ():
            edges[stop - length] += 1
            edges[stop] -= 1
        return np.cumsum(edges[:-1]) > 0


_MAX_PAIRS = 1 << 22
"""Pairs compared at once, which bounds the memory."""


def count_allowed_typos(name: str) -> int:
    """Count the typos that a name may have: 1 in 5 to 7 letters, 2 from 8 letters on, otherwise none.

    Example:
        >>> [count_allowed_typos(name) for name in ("Dahl", "Berger", "Lindqvist")]
        [0, 1, 2]
    """
    return 2 if len(name) >= 8 else int(len(name) >= 5)


class NearNames:
    """Finds words that are some names, or a typo or two away from them.

    Args:
        names: Without case and accents; names that may have no typo are ignored.

    Source:
        Damerau 1964, in the restricted variant (optimal string alignment): no piece is edited twice.

    Example:
        >>> NearNames(["okonkwo"]).among(["okonwko", "okonwok"])
        {'okonwko'}
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._by_limit: dict[int, list[str]] = {}
        for name in sorted(set(names)):
            if limit := count_allowed_typos(name):
                self._by_limit.setdefault(limit, []).append(name)

    def __bool__(self) -> bool:
        return bool(self._by_limit)

    def near(self, word: str) -> bool:
        """Return whether a word is near one of the names, or is one."""
        return bool(self.among([word]))

    def among(self, words: Iterable[str]) -> set[str]:
        """Return the words that are near one of the names, or are one."""
        distinct = sorted(set(words)) if self._by_limit else []
        found: set[str] = set()
        for limit, names in self._by_limit.items():
            step = max(1, _MAX_PAIRS // len(names))
            for first in range(0, len(distinct), step):
                some = distinct[first : first + step]
                typos = process.cdist(some, names, scorer=OSA.distance, score_cutoff=limit, dtype=np.uint8)
                found.update(some[row] for row in np.flatnonzero((typos <= limit).any(axis=1)))
        return found


_LONGEST_WITH_TYPO = 32
"""Most letters of a name or word that is compared: each is compared without each of its letters."""


class OneTypo:
    """Finds words that are one typo away from some names, in time linear in the number of words.

    Args:
        names: Folded; those that may have no typo (`count_allowed_typos`) are ignored.

    Source:
        Garbe 2012, symmetric deletion: of two words one typo apart, the same remains without one letter.

    Example:
        >>> near = OneTypo(["kowalski", "dahl"])
        >>> sorted(near.among(["kowlaski", "kowalsky", "kowalski", "dahm"]))
        ['kowalsky', 'kowlaski']
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._by_rest: dict[str, list[str]] = {}
        for name in sorted(set(names)):
            for rest in _leave_out_letters(name) if count_allowed_typos(name) else ():
                self._by_rest.setdefault(rest, []).append(name)

    def among(self, words: Iterable[str]) -> set[str]:
        """Return the words, folded, that are one typo away from a name."""
        return {word for word in set(words) if self._is_near(word)} if self._by_rest else set()

    def _is_near(self, word: str) -> bool:
        near = {name for rest in _leave_out_letters(word) for name in self._by_rest.get(rest, ())}
        return any(OSA.distance(word, name, score_cutoff=1) == 1 for name in near)


def _leave_out_letters(word: str) -> set[str]:
    if len(word) > _LONGEST_WITH_TYPO:
        return set()
    return {word, *(word[:i] + word[i + 1 :] for i in range(len(word)))}
