"""The figures of an evaluation, each a part and a whole taken from the counts.

Undefined is `None`: a share of nothing is neither 0 nor 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from inverse_deid.evaluation.counts import Counts, SafeKind
from inverse_deid.evaluation.gold_tokens import Int64Array
from inverse_deid.evaluation.groups import GroupKind, group_number

_ALL = group_number(GroupKind.ALL)
_HIPAA = group_number(GroupKind.HIPAA)
_SHORT_NAMES = group_number(GroupKind.SHORT_NAMES)


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a whole.

    Example:
        >>> Share(3, 4).value, Share(0, 0).value
        (0.75, None)
    """

    part: int
    whole: int

    @property
    def value(self) -> float | None:
        """In [0, 1]; None if there is no whole."""
        return self.part / self.whole if self.whole else None


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """The figures of one group of PHI.

    Args:
        recall: Gold tokens that are masked.
        corrected_recall: The same, where a missed token on the harmless list counts as masked.
        documents_without_leak: Of the documents with PHI of the group, those where none was missed.
        entities_masked: Of the distinct identifiers, those with all mentions masked.
    """

    recall: Share
    corrected_recall: Share
    documents_without_leak: Share
    entities_masked: Share


def group_figures(counts: Counts, group: int) -> GroupFigures:
    """The figures of one group.

    Args:
        counts: Of any number of documents.
        group: Column of the group, see `group_number`.
    """

    def of_group(column: Int64Array) -> int:
        return int(column[:, group].sum())

    phi, recalled = of_group(counts.phi), of_group(counts.recalled)
    documents, entities = of_group(counts.documents), of_group(counts.entities)
    return GroupFigures(
        Share(recalled, phi),
        Share(recalled + of_group(counts.harmless_missed), phi),
        Share(documents - of_group(counts.leaking), documents),
        Share(of_group(counts.entities_masked), entities),
    )


def _precision(counts: Counts) -> Share:
    masked = int(counts.masked.sum())
    return Share(masked - int(counts.false_masks.sum()), masked)


def _precision_overlap(counts: Counts) -> Share:
    """A masked token that is longer than its gold token counts once as right and once as wrong."""
    recalled = int(counts.recalled[:, _ALL].sum())
    return Share(recalled, recalled + int(counts.false_masks.sum() + counts.inexact_masks.sum()))


def _safe_kept(counts: Counts) -> Share:
    safe = int(counts.safe.sum())
    return Share(safe - int(counts.false_masks.sum()), safe)


FIGURES: Mapping[str, Callable[[Counts], Share]] = MappingProxyType(
    {
        "recall_hipaa": lambda counts: group_figures(counts, _HIPAA).recall,
        "recall_hipaa_corrected": lambda counts: group_figures(counts, _HIPAA).corrected_recall,
        "recall_all": lambda counts: group_figures(counts, _ALL).recall,
        "recall_all_corrected": lambda counts: group_figures(counts, _ALL).corrected_recall,
        "recall_short_names": lambda counts: group_figures(counts, _SHORT_NAMES).recall,
        "precision": _precision,
        "precision_overlap": _precision_overlap,
        "safe_kept": _safe_kept,
        "documents_without_leak": lambda counts: group_figures(counts, _ALL).documents_without_leak,
        "documents_without_hipaa_leak": lambda counts: group_figures(counts, _HIPAA).documents_without_leak,
        "entities_masked": lambda counts: group_figures(counts, _ALL).entities_masked,
    }
)
"""The overall figures by name.

`precision` is the share of masked tokens that a gold span touches. `precision_overlap`
follows the thesis: recalled gold tokens against these plus every masked token that is
not just a gold token.
"""


def over_masking(counts: Counts) -> dict[SafeKind, Share]:
    """The safe tokens that were masked, of all safe tokens of their kind."""
    return {
        kind: Share(int(counts.false_masks[:, kind].sum()), int(counts.safe[:, kind].sum()))
        for kind in SafeKind
    }
