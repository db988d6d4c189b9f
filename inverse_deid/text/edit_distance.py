"""Typos: insertions, deletions, substitutions, and exchanged neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

_LONG = 8
_MAX_SLIPS = 2
_FEW = 32
"""Up to this many pairs are faster one by one."""

_MAX_PAIRS = 1 << 17
_BITS_OF_BYTE = np.array([number.bit_count() for number in range(256)], np.uint8)


def allowed_slips(name: str) -> int:
    """Return how many typos a name may have: 1 in 5 to 7 letters, 2 in 8 or more, else 0.

    Example:
        >>> [allowed_slips(name) for name in ("Dahl", "Berger", "Lindqvist")]
        [0, 1, 2]
    """
    n_letters = len(name)
    return 2 if n_letters >= _LONG else int(n_letters >= 5)


def is_within(first: str, second: str, limit: int) -> bool:
    """Tell whether two words differ by at most `limit` typos (optimal string alignment).

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
    """Finds words that differ from some names by one or two typos, without comparing all pairs.

    Args:
        names: Without case and accents.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._of_length = {
            length: (allowed_slips(group[0]), group, _Spelled(group))
            for length, group in _by_length(name for name in names if allowed_slips(name)).items()
        }

    def __bool__(self) -> bool:
        return bool(self._of_length)

    def near(self, word: str) -> bool:
        """Tell whether a word is near one of the names (or is one)."""
        return bool(self.among([word]))

    def among(self, words: Iterable[str]) -> set[str]:
        """Return the words that are near one of the names (or are one)."""
        found: set[str] = set()
        for length, group in _by_length(words).items() if self._of_length else ():
            spelled: _Spelled | None = None
            for other in range(length - _MAX_SLIPS, length + _MAX_SLIPS + 1):
                if other not in self._of_length:
                    continue
                limit, names, of_names = self._of_length[other]
                if abs(length - other) > limit:
                    continue
                spelled = spelled or _Spelled(group)
                for rows, columns in spelled.alike(of_names, limit):
                    if len(rows) > _FEW:
                        close = _are_within(spelled.codes[rows], of_names.codes[columns], limit)
                        found.update(group[row] for row in rows[close].tolist())
                        continue
                    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
                        if group[row] not in found and is_within(group[row], names[column], limit):
                            found.add(group[row])
        return found


class _Spelled:
    """Words of one length.

    Args:
        words: At least one.
    """

    def __init__(self, words: Sequence[str]) -> None:
        joined = "".join(words).encode("utf-32-le", "surrogatepass")
        self.codes = np.frombuffer(joined, np.uint32).reshape(len(words), -1)
        bits = np.uint64(1) << (self.codes & 63).astype(np.uint64)
        self.letters = np.bitwise_or.reduce(bits, axis=1)

    def alike(self, others: _Spelled, limit: int) -> Iterator[tuple[npt.NDArray[np.intp], ...]]:
        """Yield pairs that differ in few letters, in any order: rows of these and of the others."""
        step = max(1, _MAX_PAIRS // len(others.letters))
        for first in range(0, len(self.letters), step):
            differing = self.letters[first : first + step, None] ^ others.letters[None, :]
            rows, columns = np.nonzero(_bit_counts(differing) <= 2 * limit)
            yield rows + first, columns


def _by_length(words: Iterable[str]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for word in sorted(set(words)):
        found.setdefault(len(word), []).append(word)
    return found


def _bit_counts(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint8]:
    """Return how many bits are set in each number, for any byte order."""
    of_bytes = _BITS_OF_BYTE[numbers.view(np.uint8)].reshape(*numbers.shape, 8)
    counts: npt.NDArray[np.uint8] = of_bytes.sum(axis=-1, dtype=np.uint8)
    return counts


def _are_within(
    first: npt.NDArray[np.uint32], second: npt.NDArray[np.uint32], limit: int
) -> npt.NDArray[np.bool_]:
    """Do what `is_within` does, for many pairs of words at once.

    Args:
        first: Code points of the first words, (n_pairs, n_letters).
        second: Code points of the second words, also of one length.
        limit: Of typos.
    """
    n_pairs, n_first = first.shape
    n_second = second.shape[1]
    before = np.full((2 * limit + 1, n_pairs), limit + 1, np.int8)
    last = before.copy()
    last[limit:] = np.arange(limit + 1, dtype=np.int8)[:, None]
    for i in range(1, n_first + 1):
        row = np.full_like(last, limit + 1)
        for at, j in enumerate(range(i - limit, i + limit + 1)):
            if j == 0:
                row[at] = i
            if not 1 <= j <= n_second:
                continue
            best = last[at] + (first[:, i - 1] != second[:, j - 1])
            if at < 2 * limit:
                best = np.minimum(best, last[at + 1] + 1)
            if at > 0:
                best = np.minimum(best, row[at - 1] + 1)
            if i > 1 and j > 1:
                swapped = (first[:, i - 1] == second[:, j - 2]) & (first[:, i - 2] == second[:, j - 1])
                best = np.where(swapped, np.minimum(best, before[at] + 1), best)
            row[at] = np.minimum(best, limit + 1)
        before, last = last, row
    close: npt.NDArray[np.bool_] = last[n_second - n_first + limit] <= limit
    return close
