"""Names with typos: insertions, deletions, substitutions, and neighbouring letters that changed places."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import OSA

_LONG = 8
_MAX_PAIRS = 1 << 22
"""Pairs compared at once, which bounds the memory."""


def allowed_typos(name: str) -> int:
    """Return how many typos are looked for in a name: 1 in 5 to 7 letters, 2 from 8 on, otherwise none.

    Example:
        >>> [allowed_typos(name) for name in ("Dahl", "Berger", "Lindqvist")]
        [0, 1, 2]
    """
    n_letters = len(name)
    return 2 if n_letters >= _LONG else int(n_letters >= 5)


class NearNames:
    """Finds words that are some names, or a typo or two away from them.

    Args:
        names: Without case and accents. Short ones, in which no typo is allowed, are not looked for.

    Source:
        Damerau 1964; the restricted variant (optimal string alignment), in which no piece is edited twice.

    Example:
        >>> NearNames(["okonkwo"]).among(["okonwko", "okonwok"])
        {'okonwko'}
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._by_limit: dict[int, list[str]] = {}
        for name in sorted(set(names)):
            if limit := allowed_typos(name):
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
