"""Slips of the pen: insertions, deletions, substitutions, and neighbours that changed places."""

from __future__ import annotations

from collections.abc import Iterable

_LONG = 8


def allowed_slips(name: str) -> int:
    """How many slips are looked for in a name: 1 in 5 to 7 letters, 2 from 8 on, else none.

    Example:
        >>> [allowed_slips(name) for name in ("Dahl", "Berger", "Lindqvist")]
        [0, 1, 2]
    """
    n_letters = len(name)
    return 2 if n_letters >= _LONG else int(n_letters >= 5)


def is_within(first: str, second: str, limit: int) -> bool:
    """Whether at most `limit` slips lie between two words (optimal string alignment).

    Source:
        Damerau 1964; the restricted variant, in which no piece is edited twice.

    Example:
        >>> is_within("okonkwo", "okonwko", 1), is_within("okonkwo", "okonwok", 1)
        (True, False)
    """
    if abs(len(first) - len(second)) > limit:
        return False
    before: list[int] = []
    last = list(range(len(second) + 1))
    for i, a in enumerate(first, start=1):
        row = [i]
        for j, b in enumerate(second, start=1):
            best = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a != b))
            if i > 1 and j > 1 and a == second[j - 2] and first[i - 2] == b:
                best = min(best, before[j - 2] + 1)
            row.append(best)
        if min(row) > limit:
            return False
        before, last = last, row
    return last[-1] <= limit


class NearNames:
    """Finds words that are a slip or two away from some names, without holding each against each.

    Args:
        names: Without case and accents.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._by_length: dict[int, list[tuple[str, int, int]]] = {}
        for name in sorted(set(names)):
            limit = allowed_slips(name)
            for length in range(len(name) - limit, len(name) + limit + 1) if limit else ():
                self._by_length.setdefault(length, []).append((name, _letters(name), limit))

    def __bool__(self) -> bool:
        return bool(self._by_length)

    def near(self, word: str) -> bool:
        """Whether a word is near one of the names (or is one)."""
        candidates = self._by_length.get(len(word))
        if not candidates:
            return False
        letters = _letters(word)
        return any(
            (letters ^ other).bit_count() <= 2 * limit and is_within(word, name, limit)
            for name, other, limit in candidates
        )


def _letters(word: str) -> int:
    """Which letters stand in a word, as bits; two words with few slips differ in few of them."""
    bits = 0
    for sign in word:
        bits |= 1 << (ord(sign) & 63)
    return bits
