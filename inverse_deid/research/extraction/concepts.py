"""Documents with two kinds of gold: identifiers and medical concepts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from inverse_deid.core.errors import AnnotationError
from inverse_deid.core.values import Document


@dataclass(frozen=True, slots=True, order=True)
class ConceptSpan:
    """A marked concept: half-open code-point offsets.

    Example:
        >>> ConceptSpan(5, 12, "Drug")
        ConceptSpan(start=5, end=12, type='Drug')
    """

    start: int
    end: int
    type: str

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise AnnotationError(
                f"concept {self.start}-{self.end} is empty or negative; offsets are half-open and count "
                "code points"
            )


@dataclass(frozen=True, slots=True)
class ConceptDocument:
    """A document whose concepts are marked; its own spans are identifiers.

    Args:
        doc: Text and identifiers.
        concepts: Sorted; unlike identifiers they may overlap and nest.

    Raises:
        AnnotationError: A concept leaves the text.
    """

    doc: Document
    concepts: tuple[ConceptSpan, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        n_chars = len(self.doc.text)
        for span in self.concepts:
            if span.end > n_chars:
                raise AnnotationError(
                    f"document {self.doc.id}: concept {span.start}-{span.end} ends after the text "
                    f"({n_chars} characters); check that offsets count code points"
                )

    @property
    def id(self) -> str:
        """Of the document."""
        return self.doc.id


def flat(concepts: Sequence[ConceptSpan], types: Collection[str]) -> tuple[ConceptSpan, ...]:
    """The concepts of some types without overlaps: of two that overlap the longer one stays.

    Args:
        concepts: In any order.
        types: The types that count.

    Returns:
        Sorted and disjoint; of equally long ones the first stays.

    Example:
        >>> flat([ConceptSpan(0, 9, "Effect"), ConceptSpan(2, 5, "Drug")], {"Drug", "Effect"})
        (ConceptSpan(start=0, end=9, type='Effect'),)
    """
    wanted = sorted(
        (span for span in concepts if span.type in types),
        key=lambda span: (span.start - span.end, span.start, span.type),
    )
    kept: list[ConceptSpan] = []
    for span in wanted:
        if all(span.end <= other.start or other.end <= span.start for other in kept):
            kept.append(span)
    return tuple(sorted(kept))
