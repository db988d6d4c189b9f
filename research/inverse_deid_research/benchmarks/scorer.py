"""Score masks by characters, apart from the evaluation of the product: nothing of it is imported here.

Three figures, as other systems report them:

- identifying characters masked: of the characters inside marked spans, those inside masks
- other text removed: of the characters outside marked spans, those inside masks
- documents fully masked: of the documents with marked characters, those where all of them are masked

By default, letters and digits are counted: spaces and signs identify nobody, and whether a mask covers the
space between two masked words is a matter of layout. With `every`, all characters are counted, and masks
with no letter or digit between them are joined first. With `titles` false, titles inside marks are not
counted at all: other sets, and other rules of annotation, leave them out of names.

Documents are the units of all intervals: resampled for the first two figures, Wilson's for the third. Where
all resamples are alike because nothing or everything is masked, the interval is Wilson's over the documents.

Source: Wilson 1927 (interval of a share); the definitions are those of `meddeid-eval` on PyPI (character
recall, redaction of other text) and of the README of `outis` on PyPI.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Range = tuple[int, int]
"""Half-open code-point offsets."""
N_RESAMPLES = 2_000
_NORMAL_QUANTILE = 1.959963984540054
_TAILS = (2.5, 97.5)
_Counts = npt.NDArray[np.int64]
_Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A text with its marked spans: start, end and the type as the set names it.

    Raises:
        ValueError: A span is empty or outside the text.
    """

    id: str
    text: str = field(repr=False)
    spans: tuple[tuple[int, int, str], ...]
    titles: tuple[Range, ...] = ()  # within spans

    def __post_init__(self) -> None:
        _check(self.id, "span", [*(span[:2] for span in self.spans), *self.titles], len(self.text))


@dataclass(frozen=True, slots=True)
class CharacterCounts:
    """What became of the characters of one document."""

    n_masked: int
    n_identifying: int
    n_removed: int
    n_other: int
    by_type: Mapping[str, Range]  # masked and all


@dataclass(frozen=True, slots=True)
class Figure:
    """A share with its 95 % interval; None = undefined."""

    part: int
    whole: int
    low: float | None
    high: float | None

    @property
    def share(self) -> float | None:
        return self.part / self.whole if self.whole else None


def count_characters(
    doc: MarkedText, masks: Sequence[Range], *, every: bool = False, titles: bool = True
) -> CharacterCounts:
    """Count the characters of one document.

    Raises:
        ValueError: A mask is empty or outside the text.

    Example:
        >>> doc = MarkedText("a", "Mr Li-Wu left", ((3, 8, "NAME"),))
        >>> count_characters(doc, [(3, 5), (9, 13)])
        CharacterCounts(n_masked=2, n_identifying=4, n_removed=4, n_other=6, by_type={'NAME': (2, 4)})
        >>> count_characters(doc, [(3, 5), (6, 8)], every=True).by_type
        {'NAME': (5, 5)}
    """
    _check(doc.id, "mask", masks, len(doc.text))
    is_word = np.fromiter(map(str.isalnum, doc.text), np.bool_, len(doc.text))
    is_masked = _cover(len(doc.text), masks)
    if every:
        _join(is_masked, is_word)
    counted = np.ones_like(is_word) if every else is_word
    if not titles:
        counted &= ~_cover(len(doc.text), doc.titles)
    is_marked = _cover(len(doc.text), [span[:2] for span in doc.spans])
    masked: Counter[str] = Counter()
    of: Counter[str] = Counter()
    for name in dict.fromkeys(span[2] for span in doc.spans):
        of_type = _cover(len(doc.text), [span[:2] for span in doc.spans if span[2] == name]) & counted
        masked[name], of[name] = int((of_type & is_masked).sum()), int(of_type.sum())
    return CharacterCounts(
        int((is_marked & counted & is_masked).sum()),
        int((is_marked & counted).sum()),
        int((~is_marked & counted & is_masked).sum()),
        int((~is_marked & counted).sum()),
        {name: (masked[name], n) for name, n in of.items()},
    )


def _check(doc_id: str, what: str, ranges: Sequence[Range], n_chars: int) -> None:
    for start, end in ranges:
        if not 0 <= start < end <= n_chars:
            raise ValueError(
                f"document {doc_id}: {what} {start}-{end} is not in a text of {n_chars} characters"
            )


def _cover(n_chars: int, ranges: Sequence[Range]) -> _Flags:
    covered = np.zeros(n_chars, np.bool_)
    for start, end in ranges:
        covered[start:end] = True
    return covered


def _join(is_masked: _Flags, is_word: _Flags) -> None:
    """Mask what is between two masks if it has no letter or digit."""
    edges = np.flatnonzero(is_masked)
    for before, after in pairwise(edges):
        if after > before + 1 and not is_word[before + 1 : after].any():
            is_masked[before:after] = True


def score(counts: Sequence[CharacterCounts], seed: int) -> dict[str, Figure]:
    """Return the three figures of some documents, then those of each type, by name."""
    complete = [one.n_masked == one.n_identifying for one in counts if one.n_identifying]
    found = {
        IDENTIFYING: _resample(counts, lambda one: (one.n_masked, one.n_identifying), seed),
        OTHER: _resample(counts, lambda one: (one.n_removed, one.n_other), seed),
        COMPLETE: Figure(sum(complete), len(complete), *wilson(sum(complete), len(complete))),
    }
    for name in sorted({name for one in counts for name in one.by_type}):
        found[name] = _resample(counts, lambda one, name=name: one.by_type.get(name, (0, 0)), seed)  # type: ignore[misc]
    return found


IDENTIFYING = "identifying characters masked"
OTHER = "other text removed"
COMPLETE = "documents fully masked"
FIGURES = (IDENTIFYING, OTHER, COMPLETE)


def wilson(part: int, whole: int) -> tuple[float, float] | tuple[None, None]:
    """Return Wilson's 95 % interval of a share.

    Example:
        >>> tuple(round(bound, 4) for bound in wilson(8, 10))
        (0.4902, 0.9433)
        >>> wilson(0, 0)
        (None, None)
    """
    if not whole:
        return None, None
    share, square = part / whole, _NORMAL_QUANTILE**2
    middle = (share + square / (2 * whole)) / (1 + square / whole)
    spread = share * (1 - share) / whole + square / (4 * whole**2)
    half = _NORMAL_QUANTILE * math.sqrt(spread) / (1 + square / whole)
    return (0.0 if not part else middle - half), (1.0 if part == whole else middle + half)


def _resample(
    counts: Sequence[CharacterCounts], pick: Callable[[CharacterCounts], Range], seed: int
) -> Figure:
    """Return a share of characters with the percentiles of resampled documents."""
    pairs = np.array([pick(one) for one in counts], np.int64).reshape(-1, 2)
    pairs = pairs[pairs[:, 1] > 0]
    part, whole = map(int, pairs.sum(axis=0))
    n_docs = len(pairs)
    if part in (0, whole):
        return Figure(part, whole, *wilson(n_docs if part else 0, n_docs))
    draws = np.random.default_rng(seed).multinomial(n_docs, np.full(n_docs, 1 / n_docs), size=N_RESAMPLES)
    sums = draws @ pairs
    low, high = np.percentile(sums[:, 0] / sums[:, 1], _TAILS)
    return Figure(part, whole, float(low), float(high))
