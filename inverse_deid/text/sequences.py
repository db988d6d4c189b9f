"""Finds many sequences at once, in time linear in the text, whatever the sequences share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt


class Sequences:
    """Finds sequences of words in a list of words, or of letters in a word.

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
        """Return the state after a symbol."""
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
