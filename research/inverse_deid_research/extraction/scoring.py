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
from inverse_deid.evaluation.measures.counts import Range
from inverse_deid.evaluation.measures.resampling import PairedTest, paired_ratio_test
from inverse_deid.evaluation.plain_text import align
from inverse_deid_research.extraction.concepts import CONCEPTS, ConceptDocument, ConceptSpan, select_gold
from inverse_deid_research.extraction.views import rewrite

if TYPE_CHECKING:
    from inverse_deid_research.extraction.tagger import Tagger

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
        return self.n_right / self.n_found if self.n_found else None

    @property
    def recall(self) -> float | None:
        return self.n_right / self.n_gold if self.n_gold else None

    @property
    def f1(self) -> float | None:
        whole = self.n_gold + self.n_found
        return 2 * self.n_right / whole if whole else None


@dataclass(frozen=True, slots=True, eq=False)
class ConceptCounts:
    """Counts by document and type: int64 (n_documents, n_types), the columns as in `types`."""

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
    """Count what a system found in each document, by the types that count. Gold and found share offsets.

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


def measure_utility(
    docs: Sequence[ConceptDocument], masks: Mapping[str, Sequence[Range]], extractor: Tagger
) -> dict[str, ConceptRecord]:
    """Return the figures of `ALL` and of each type, unrounded, from original and from masked texts.

    Masks are ranges of the original text, by id; a document without masks stays as it is. The extractor
    should have been trained on other documents.

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
    records = {}
    for kind in (ALL, *kinds):
        column = None if kind == ALL else kind
        counts = [count_concepts(gold, found, kinds) for found in (on_original, on_masked)]
        original, masked = (one.score(column) for one in counts)
        test = compare_f1(*(one.ratio_parts(column) for one in reversed(counts)))
        records[kind] = ConceptRecord(
            gold=original.n_gold,
            touched=sum(
                one.count_touched([span for span in spans if kind in (ALL, span.type)])
                for spans, one in zip(gold, new, strict=True)
            ),
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


def render_utility(records: Mapping[str, ConceptRecord]) -> Iterator[str]:
    columns = ("F1 original", "F1 masked", "difference", "p", "concepts", "masked in part")
    rows: list[tuple[str, ...]] = [("extraction, exact match", *columns)]
    forms = (".4f", ".4f", "+.4f", ".4f", ",", ",")
    for kind, row in records.items():
        figures = (row.f1_original, row.f1_masked, row.difference, row.p_value, row.gold, row.touched)
        cells = ("-" if x is None else format(x, form) for x, form in zip(figures, forms, strict=True))
        rows.append(("all concepts" if kind == ALL else f"  {kind}", *cells))
    yield from align(rows)
