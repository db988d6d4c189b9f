"""Exact-match scores of an extractor, and what masking costs it.

A found concept is right if both ends and the type are those of the gold. Scores equal those of seqeval in
its default mode (a test compares both). Counts are kept by document, to compare two systems in pairs.

The cost: an extractor reads the original and the masked texts. Both results are compared with the same
gold, in offsets of the original. In the masked text every mask is one marker.

Source: Lange, Adel and Strötgen 2020, sections 4.1 and 4.3 (the question and the test).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import AnnotationError
from inverse_deid.evaluation.added_reports import ConceptRecord
from inverse_deid.evaluation.counts import Range
from inverse_deid.evaluation.plain_text import align
from inverse_deid.evaluation.resampling import PairedTest, paired_ratio_test
from inverse_deid.research.extraction.concepts import CONCEPTS, ConceptDocument, ConceptSpan, select_gold
from inverse_deid.research.extraction.views import rewrite

if TYPE_CHECKING:
    from inverse_deid.research.extraction.tagger import Tagger

ALL = "ALL"
MARKER = "PHI"
_N_PERMUTATIONS = 2**20
"""The number of the paper; up to 20 differing documents these are all permutations."""
_MOST_ENUMERATED = 20

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ConceptScore:
    """Precision, recall and F1; None where undefined."""

    n_gold: int
    n_found: int
    n_right: int

    @property
    def precision(self) -> float | None:
        """Share of the found concepts that is right."""
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

    def score(self, kind: str | None = None) -> ConceptScore:
        """Return the score of one type, or of all together (micro average)."""
        columns = slice(None) if kind is None else self.types.index(kind)
        return ConceptScore(*(int(table[:, columns].sum()) for table in (self.gold, self.found, self.right)))

    def ratio_parts(self, kind: str | None = None) -> npt.NDArray[np.float64]:
        """Return float64 (n_documents, 2): F1 is the ratio of the sums of both columns."""
        columns = list(range(len(self.types))) if kind is None else [self.types.index(kind)]
        gold, found, right = (table[:, columns].sum(1) for table in (self.gold, self.found, self.right))
        return np.stack([2.0 * right, gold + found], axis=1)


def count_concepts(
    gold: Sequence[Sequence[ConceptSpan]], found: Sequence[Sequence[ConceptSpan]], types: Sequence[str]
) -> ConceptCounts:
    """Count what was found, document by document.

    Args:
        gold: Concepts of each document.
        found: Those that a system found there, in the same offsets.
        types: The types that count.

    Example:
        >>> rash, fever = ConceptSpan(0, 4, "Effect"), ConceptSpan(9, 14, "Effect")
        >>> count_concepts([[rash, fever]], [[rash]], ["Effect"]).score().f1
        0.6666666666666666
    """
    counts = np.zeros((3, len(gold), len(types)), np.int64)
    for row, (wanted, given) in enumerate(zip(gold, found, strict=True)):
        for table, spans in zip(counts, (set(wanted), set(given), set(wanted) & set(given)), strict=True):
            by_type = Counter(span.type for span in spans)
            table[row] = [by_type[kind] for kind in types]
    return ConceptCounts(tuple(types), *counts)


def compare_f1(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> PairedTest | None:
    """Test over documents whether F1 differs between the `ratio_parts` of two systems."""
    return paired_ratio_test(a, b, n_permutations=_N_PERMUTATIONS, most_enumerated=_MOST_ENUMERATED)


@dataclass(frozen=True, slots=True, eq=False)
class ConceptUtility:
    """Extraction from original and from masked texts.

    Args:
        original: Counts on the original texts.
        masked: Counts on the masked texts.
        touched: By type and `ALL`, gold concepts that lost a character to a mask.
        tests: By type and `ALL`, whether F1 differs; None = undefined.
    """

    original: ConceptCounts
    masked: ConceptCounts
    touched: Mapping[str, int] = field(repr=False)
    tests: Mapping[str, PairedTest | None] = field(repr=False)

    def records(self) -> dict[str, ConceptRecord]:
        """Return the figures of `ALL` and of each type, unrounded; an undefined one is None."""
        records = {}
        for kind, test in self.tests.items():
            column = None if kind == ALL else kind
            original, masked = self.original.score(column), self.masked.score(column)
            records[kind] = ConceptRecord(
                gold=original.n_gold,
                touched=self.touched[kind],
                f1_original=original.f1,
                f1_masked=masked.f1,
                recall_original=original.recall,
                recall_masked=masked.recall,
                precision_original=original.precision,
                precision_masked=masked.precision,
                difference=None if test is None else test.difference,
                p_value=None if test is None else test.p_value,
            )
        return records

    def plain_lines(self) -> Iterator[str]:
        """Yield the figures as aligned text."""
        columns = ("F1 original", "F1 masked", "difference", "p", "concepts", "masked in part")
        rows: list[tuple[str, ...]] = [("extraction, exact match", *columns)]
        for kind, row in self.records().items():
            figures = (
                (row.f1_original, ".4f"),
                (row.f1_masked, ".4f"),
                (row.difference, "+.4f"),
                (row.p_value, ".4f"),
                (row.gold, ","),
                (row.touched, ","),
            )
            cells = ("-" if value is None else format(value, form) for value, form in figures)
            rows.append(("all concepts" if kind == ALL else f"  {kind}", *cells))
        yield from align(rows)


def measure_utility(
    docs: Sequence[ConceptDocument],
    masks: Mapping[str, Sequence[Range]],
    extractor: Tagger,
) -> ConceptUtility:
    """Let an extractor read original and masked texts, and compare.

    Args:
        docs: With gold concepts.
        masks: Ranges of the original text, by id; a document without masks stays as it is.
        extractor: Reads both; it should have been trained on other documents.

    Raises:
        AnnotationError: A mask is outside its text, or the gold has no concepts of the extractor's types.
    """
    kinds = extractor.types.get(CONCEPTS, ())
    gold = select_gold(docs, CONCEPTS, kinds)
    if not any(gold):
        raise AnnotationError(
            f"the gold has no concepts of the extractor's types ({', '.join(kinds) or 'none'}). Give other "
            "documents, or the extractor of these types"
        )
    new = [rewrite(doc.doc.text, masks.get(doc.id, ()), lambda number: MARKER) for doc in docs]
    on_original = [found.get(CONCEPTS, ()) for found in extractor.find([doc.doc.text for doc in docs])]
    on_masked = [
        one.restore_concepts(found.get(CONCEPTS, ()))
        for found, one in zip(extractor.find([one.text for one in new]), new, strict=True)
    ]
    original, masked = (count_concepts(gold, found, kinds) for found in (on_original, on_masked))
    touched, tests = {}, {}
    for kind in (ALL, *kinds):
        touched[kind] = sum(
            one.count_touched([span for span in spans if kind in (ALL, span.type)])
            for spans, one in zip(gold, new, strict=True)
        )
        column = None if kind == ALL else kind
        tests[kind] = compare_f1(masked.ratio_parts(column), original.ratio_parts(column))
    return ConceptUtility(original, masked, touched, tests)
