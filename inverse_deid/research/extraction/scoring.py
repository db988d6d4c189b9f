"""Exact-match scores: a found concept is right if both ends and the type are those of the gold.

Equal to seqeval in its default mode where spans are read of BIO labels (a test holds them
against each other); counts are kept by document, so that two systems can be compared in pairs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from inverse_deid.research.extraction.concepts import ConceptSpan

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Score:
    """Precision, recall and F1; None where undefined.

    Args:
        n_gold: Gold concepts.
        n_found: Concepts that were found.
        n_right: Those that are gold.
    """

    n_gold: int
    n_found: int
    n_right: int

    @property
    def precision(self) -> float | None:
        """Share of what was found that is right."""
        return self.n_right / self.n_found if self.n_found else None

    @property
    def recall(self) -> float | None:
        """Share of the gold that was found."""
        return self.n_right / self.n_gold if self.n_gold else None

    @property
    def f1(self) -> float | None:
        """Harmonic mean of both, in [0, 1]."""
        whole = self.n_gold + self.n_found
        return 2 * self.n_right / whole if whole else None


@dataclass(frozen=True, slots=True, eq=False)
class ConceptCounts:
    """Counts by document and type.

    Args:
        types: The types, in the order of the columns.
        gold: int64 (n_documents, n_types).
        found: int64 (n_documents, n_types).
        right: int64 (n_documents, n_types).
    """

    types: tuple[str, ...]
    gold: Counts = field(repr=False)
    found: Counts = field(repr=False)
    right: Counts = field(repr=False)

    def score(self, kind: str | None = None) -> Score:
        """Of one type, or of all together (micro average)."""
        columns = slice(None) if kind is None else self.types.index(kind)
        return Score(*(int(counts[:, columns].sum()) for counts in (self.gold, self.found, self.right)))

    def ratio_parts(self, kind: str | None = None) -> npt.NDArray[np.float64]:
        """float64 (n_documents, 2): F1 is the ratio of the sums of both columns."""
        columns = list(range(len(self.types))) if kind is None else [self.types.index(kind)]
        gold, found, right = (c[:, columns].sum(1) for c in (self.gold, self.found, self.right))
        return np.stack([2.0 * right, gold + found], axis=1)


def count_concepts(
    gold: Sequence[Sequence[ConceptSpan]], found: Sequence[Sequence[ConceptSpan]], types: Sequence[str]
) -> ConceptCounts:
    """Count what was found, document by document.

    Args:
        gold: Concepts of each document.
        found: What a system found there, in the same offsets.
        types: The types that count.

    Example:
        >>> rash, fever = ConceptSpan(0, 4, "Effect"), ConceptSpan(9, 14, "Effect")
        >>> count_concepts([[rash, fever]], [[rash]], ["Effect"]).score().f1
        0.6666666666666666
    """
    shape = (len(gold), len(types))
    counts = [np.zeros(shape, np.int64) for _ in range(3)]
    for row, (wanted, told) in enumerate(zip(gold, found, strict=True)):
        both = set(wanted) & set(told)
        for table, spans in zip(counts, (set(wanted), set(told), both), strict=True):
            by_type = Counter(span.type for span in spans)
            table[row] = [by_type[kind] for kind in types]
    return ConceptCounts(tuple(types), *counts)
