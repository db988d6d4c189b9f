"""Which tokens a second reader reads again, and the windows of a document around them.

A second reading costs many times a first one, so only doubtful tokens are read again, with a few tokens of
context on both sides. The borders of windows are on a grid of the document. On another processor the scores
of the network differ by rounding, and a token at a limit may be doubtful on one of them alone. The grid
keeps the windows of all other tokens where they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields

import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.thresholds import read_numbers
from inverse_deid.core.values import BoolArray, FloatArray
from inverse_deid.core.wording import _

GRID_TOKENS = 4
"""Windows begin at multiples of this in a document, and end there or with the document."""
CONTEXT_TOKENS = 8
"""Least number of tokens read on either side of a doubtful one, a multiple of the grid."""
MOST_TOKENS = 128
"""Most tokens of a window, a multiple of the grid."""

_CONTEXT_CELLS = CONTEXT_TOKENS // GRID_TOKENS
_MOST_OWN_CELLS = MOST_TOKENS // GRID_TOKENS - 2 * _CONTEXT_CELLS

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Doubt:
    """The `p_safe` of doubtful tokens, both ends included.

    Tokens that the rules call safe are kept at a lower `p_safe` than others, so a lower one is beyond doubt.

    Args:
        low: The lowest, in [0, 1].
        high_of_safe: The highest of tokens that the rules call safe, in [0, 1], at least `low`.
        high: The highest of all others, at least `high_of_safe`.
        high_of_names: The highest of words that may be names, at least `high`, whatever the rules call them.

    Raises:
        ConfigurationError: Out of range or in the wrong order.
    """

    low: float = 0.0
    high_of_safe: float = 1.0
    high: float = 1.0
    high_of_names: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high_of_safe <= self.high <= self.high_of_names <= 1:
            raise ConfigurationError(
                _("limits of doubt must be 0 <= low <= high_of_safe <= high <= high_of_names <= 1")
            )

    @classmethod
    def from_json(cls, stored: object) -> Doubt:
        """Read the limits that `as_json` wrote.

        Raises:
            ConfigurationError: A value is missing, unknown, not a number or out of range.
        """
        return cls(**read_numbers(stored, _("limits of doubt"), [one.name for one in fields(cls)]))

    def as_json(self) -> dict[str, float]:
        """Return the limits as a dictionary that `from_json` reads."""
        return asdict(self)

    def among(self, p_safe: FloatArray, named: BoolArray, safe: BoolArray) -> BoolArray:
        """Tell which tokens are doubtful.

        Args:
            p_safe: float32 (n_tokens,), in [0, 1]; NaN is masked in any case, and is not read again.
            named: bool (n_tokens,), words that may be names.
            safe: bool (n_tokens,), tokens that the rules call safe.

        Example:
            >>> p_safe = np.array([0.1, 0.98, 0.98, 0.998, 0.998, 0.9997], np.float32)
            >>> named = np.array([True, False, True, False, True, True])
            >>> safe = np.array([True, True, True, False, True, False])
            >>> Doubt(0.2, 0.97, 0.999, 0.9998).among(p_safe, named, safe).tolist()
            [False, False, True, True, True, True]
        """
        of_others = np.where(safe, self.high_of_safe, self.high)
        return (p_safe >= self.low) & (p_safe <= np.where(named, self.high_of_names, of_others))


EVERYTHING = Doubt()
"""Every token is read again."""

Doubts = Mapping[str, Doubt]
"""The limits of each operating point, by name."""


def find_widest(doubts: Iterable[Doubt]) -> Doubt:
    """Return limits within which all tokens are doubtful that are so by any of these; none = everything.

    Example:
        >>> find_widest([Doubt(0.2, 0.9, 0.99, 0.99), Doubt(0.3, 0.95, 0.98, 0.999)])
        Doubt(low=0.2, high_of_safe=0.95, high=0.99, high_of_names=0.999)
    """
    found = list(doubts)
    if not found:
        return EVERYTHING
    return Doubt(
        min(one.low for one in found),
        max(one.high_of_safe for one in found),
        max(one.high for one in found),
        max(one.high_of_names for one in found),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """Windows of the tokens of all documents in one row: int64 (n_windows,) each.

    Tokens `start` to `end` are read. Those from `first` to `last` are the window's own: no other window has
    them as its own.
    """

    doc: Positions = field(repr=False)  # the document of each window
    start: Positions = field(repr=False)
    end: Positions = field(repr=False)
    first: Positions = field(repr=False)
    last: Positions = field(repr=False)

    def __len__(self) -> int:
        return len(self.doc)


def plan_windows(doubtful: BoolArray, bounds: Sequence[int]) -> Windows:
    """Plan windows around the doubtful tokens of documents.

    A document is divided into cells of `GRID_TOKENS`. Cells with doubtful tokens are read, with
    `CONTEXT_TOKENS` before and after them. Windows that overlap or touch become one. A window that would be
    longer than `MOST_TOKENS` is cut at fixed places of the document, and its parts have context of their own.

    Args:
        doubtful: bool (n_tokens,), of all documents.
        bounds: The first token of each document, and the number of tokens.

    Example:
        >>> doubtful = np.zeros(100, np.bool_)
        >>> doubtful[[20, 50, 95]] = True
        >>> windows = plan_windows(doubtful, [0, 90, 100])
        >>> [list(zip(windows.start.tolist(), windows.end.tolist())), windows.doc.tolist()]
        [[(12, 32), (40, 60), (90, 100)], [0, 0, 1]]
    """
    begins = np.asarray(bounds, np.int64)
    at = np.flatnonzero(doubtful)
    doc = np.searchsorted(begins, at, side="right") - 1
    cell = (at - begins[doc]) // GRID_TOKENS
    is_first = np.ones(len(at), np.bool_)
    is_first[1:] = (np.diff(doc) > 0) | (np.diff(cell) > 0)
    doc, cell = doc[is_first], cell[is_first]

    starts_run = np.ones(len(doc), np.bool_)
    starts_run[1:] = (np.diff(doc) > 0) | (np.diff(cell) > 2 * _CONTEXT_CELLS + 1)
    run = np.cumsum(starts_run) - 1
    ends_run = np.append(starts_run[1:], True)[: len(doc)]
    n_cells = cell[ends_run] - cell[starts_run] + 1
    # Where a run of doubt begins does not move the cuts.
    is_cut = np.zeros(len(doc), np.bool_)
    is_cut[1:] = np.diff(cell // _MOST_OWN_CELLS) != 0
    begins_own = starts_run | (is_cut & (n_cells > _MOST_OWN_CELLS)[run])
    ends_own = np.append(begins_own[1:], True)[: len(doc)]

    doc, first, last = doc[begins_own], cell[begins_own], cell[ends_own] + 1
    begin, stop = begins[doc], begins[doc + 1]
    return Windows(
        doc=doc,
        start=begin + GRID_TOKENS * np.maximum(first - _CONTEXT_CELLS, 0),
        end=np.minimum(begin + GRID_TOKENS * (last + _CONTEXT_CELLS), stop),
        first=begin + GRID_TOKENS * first,
        last=np.minimum(begin + GRID_TOKENS * last, stop),
    )
