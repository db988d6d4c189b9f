"""What a reader who looks for concepts loses when texts are masked.

An extractor reads the original and the masked texts; what it finds in either is held against the
same gold, in offsets of the original. In the masked text every mask is one marker.

Source: Lange, Adel and Strötgen 2020, sections 4.1 and 4.3 (the question and the test).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from inverse_deid.core.errors import AnnotationError
from inverse_deid.evaluation.added_reports import ConceptRecord
from inverse_deid.evaluation.counts import Range
from inverse_deid.evaluation.plain_text import align
from inverse_deid.evaluation.resampling import PairedTest, paired_ratio_test
from inverse_deid.research.extraction.concepts import ConceptDocument, ConceptSpan
from inverse_deid.research.extraction.gold import gold_of
from inverse_deid.research.extraction.passage_inputs import CONCEPTS
from inverse_deid.research.extraction.rewriting import n_touched, original_concepts, rewrite
from inverse_deid.research.extraction.scoring import ConceptCounts, count_concepts

N_PERMUTATIONS = 2**20
"""As many as in the paper; up to 20 differing documents these are all there are."""
_MOST_ENUMERATED = 20
ALL = "ALL"
MARKER = "PHI"


class Extractor(Protocol):
    """What finds concepts in texts: a `Tagger`."""

    @property
    def types(self) -> Mapping[str, tuple[str, ...]]:
        """The types of each task."""
        ...

    def find(self, texts: Sequence[str]) -> Sequence[Mapping[str, tuple[ConceptSpan, ...]]]:
        """What is found in each text, by task."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class ConceptUtility:
    """Extraction from original and from masked texts.

    Args:
        original: Counts on the original texts.
        masked: Counts on the masked ones.
        touched: By type and `ALL`, gold concepts that lost a character to a mask.
        tests: By type and `ALL`, whether F1 differs; None = undefined.
    """

    original: ConceptCounts
    masked: ConceptCounts
    touched: Mapping[str, int] = field(repr=False)
    tests: Mapping[str, PairedTest | None] = field(repr=False)


def concept_utility(
    docs: Sequence[ConceptDocument],
    masks: Mapping[str, Sequence[Range]],
    extractor: Extractor,
    *,
    n_permutations: int = N_PERMUTATIONS,
) -> ConceptUtility:
    """Let an extractor read original and masked texts.

    Args:
        docs: With gold concepts.
        masks: Ranges of the original text, by id; a document without is as it was.
        extractor: Reads both; it should have been trained on other documents.
        n_permutations: Of the paired test, documents being the pairs.

    Raises:
        AnnotationError: A mask leaves its text, or there is no gold of the extractor's types.
    """
    kinds = extractor.types.get(CONCEPTS, ())
    gold = gold_of(docs, CONCEPTS, kinds)
    if not any(gold):
        raise AnnotationError(
            f"the gold holds no concepts of the extractor's types ({', '.join(kinds) or 'none'})"
        )
    new = [rewrite(doc.doc.text, masks.get(doc.id, ()), lambda number: MARKER) for doc in docs]
    on_original = [found.get(CONCEPTS, ()) for found in extractor.find([doc.doc.text for doc in docs])]
    on_masked = [
        original_concepts(found.get(CONCEPTS, ()), one)
        for found, one in zip(extractor.find([one.text for one in new]), new, strict=True)
    ]
    original, masked = (count_concepts(gold, found, kinds) for found in (on_original, on_masked))
    touched = {
        kind: sum(
            n_touched([span for span in spans if kind in (ALL, span.type)], one.masks)
            for spans, one in zip(gold, new, strict=True)
        )
        for kind in (ALL, *kinds)
    }
    tests = {
        kind: paired_ratio_test(
            masked.ratio_parts(column),
            original.ratio_parts(column),
            n_permutations=n_permutations,
            most_enumerated=_MOST_ENUMERATED,
        )
        for kind, column in ((ALL, None), *zip(kinds, kinds, strict=True))
    }
    return ConceptUtility(original, masked, touched, tests)


def record_concepts(found: ConceptUtility) -> dict[str, ConceptRecord]:
    """Return the figures by type and `ALL`, with nothing rounded. An undefined one is None."""
    records = {}
    for kind, test in found.tests.items():
        column = None if kind == ALL else kind
        original, masked = found.original.score(column), found.masked.score(column)
        records[kind] = ConceptRecord(
            gold=original.n_gold,
            touched=found.touched[kind],
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


def concept_lines(found: ConceptUtility) -> Iterator[str]:
    """The figures as plain, aligned text."""
    head = (
        "extraction, exact match",
        "F1 original",
        "F1 masked",
        "difference",
        "p",
        "concepts",
        "masked in part",
    )
    rows: list[tuple[str, ...]] = [head]
    for kind, row in record_concepts(found).items():
        f1s = (_number(row.f1_original, ".4f"), _number(row.f1_masked, ".4f"))
        counts = (f"{row.gold:,}", f"{row.touched:,}")
        name = "all concepts" if kind == ALL else f"  {kind}"
        rows.append((name, *f1s, _number(row.difference, "+.4f"), _number(row.p_value, ".4f"), *counts))
    yield from align(rows)


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else f"{value:{form}}"
