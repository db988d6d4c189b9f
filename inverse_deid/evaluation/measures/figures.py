"""The figures of an evaluation, each a part and a whole taken from the counts.

A share of nothing is undefined: `None`, neither 0 nor 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import msgspec

from inverse_deid.evaluation.measures.counts import Counts, GroupKind, Int64Array, SafeKind, group_number

_ALL = group_number(GroupKind.ALL)
_HIPAA = group_number(GroupKind.HIPAA)
_SHORT_NAMES = group_number(GroupKind.SHORT_NAMES)


Proportion = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Share:
    """A part of a whole. JSON reports contain its value as well.

    Example:
        >>> Share(3, 4).value, Share(0, 0).value
        (0.75, None)
    """

    __slots__ = ("part", "whole")

    def __init__(self, part: int, whole: int) -> None:
        self.part = part
        self.whole = whole

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Share) and (self.part, self.whole) == (other.part, other.whole)

    def __hash__(self) -> int:
        return hash((self.part, self.whole))

    def __repr__(self) -> str:
        return f"Share(part={self.part}, whole={self.whole})"

    @property
    def value(self) -> float | None:
        """The share in [0, 1], or None if the whole is 0."""
        return self.part / self.whole if self.whole else None


class ReportPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a JSON report. Commands write it, and `evaluate --add` reads it."""


def encode_record(record: ReportPart) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(record, enc_hook=_encode_share)
    return plain


def decode_share(wanted: type, value: Any) -> Share:  # noqa: ANN401 - as msgspec declares it
    """Return a share of a JSON report, for `dec_hook` of msgspec.

    Raises:
        ValueError: It is not a share, or its value is not that of part and whole.
    """
    part, whole = (value.get(name) if isinstance(value, dict) else None for name in ("part", "whole"))
    if type(part) is int and type(whole) is int and 0 <= part <= whole:
        share = Share(part, whole)
        if value == _encode_share(share):
            return share
    raise ValueError("not a share of a whole")


def _encode_share(share: Share) -> dict[str, float | int | None]:
    return {"share": share.value, "part": share.part, "whole": share.whole}


class GroupFigures(ReportPart, frozen=True):
    """The figures of one group of PHI."""

    recall: Share  # gold tokens masked
    corrected_recall: Share  # missed tokens on the harmless list count as masked
    documents_without_leak: Share  # of those with PHI of the group
    entities_masked: Share  # distinct identifiers of which all mentions are masked


def group_figures(counts: Counts, group: int) -> GroupFigures:
    """Return the figures of the group in a column, see `group_number`."""

    def total(column: Int64Array) -> int:
        return int(column[:, group].sum())

    phi, recalled, documents = total(counts.phi), total(counts.recalled), total(counts.documents)
    return GroupFigures(
        recall=Share(recalled, phi),
        corrected_recall=Share(recalled + total(counts.harmless_missed), phi),
        documents_without_leak=Share(documents - total(counts.leaking), documents),
        entities_masked=Share(total(counts.entities_masked), total(counts.entities)),
    )


def _measure_precision(counts: Counts) -> Share:
    masked = int(counts.masked.sum())
    return Share(masked - int(counts.false_masks.sum()), masked)


def _measure_precision_overlap(counts: Counts) -> Share:
    # A masked token that is longer than its gold token counts once as right and once as wrong.
    recalled = int(counts.recalled[:, _ALL].sum())
    return Share(recalled, recalled + int(counts.false_masks.sum() + counts.inexact_masks.sum()))


def _measure_safe_kept(counts: Counts) -> Share:
    safe = int(counts.safe.sum())
    return Share(safe - int(counts.false_masks.sum()), safe)


FIGURES: Mapping[str, Callable[[Counts], Share]] = {
    "recall_hipaa": lambda counts: group_figures(counts, _HIPAA).recall,
    "recall_hipaa_corrected": lambda counts: group_figures(counts, _HIPAA).corrected_recall,
    "recall_all": lambda counts: group_figures(counts, _ALL).recall,
    "recall_all_corrected": lambda counts: group_figures(counts, _ALL).corrected_recall,
    "recall_short_names": lambda counts: group_figures(counts, _SHORT_NAMES).recall,
    "precision": _measure_precision,
    "precision_overlap": _measure_precision_overlap,
    "safe_kept": _measure_safe_kept,
    "documents_without_leak": lambda counts: group_figures(counts, _ALL).documents_without_leak,
    "documents_without_hipaa_leak": lambda counts: group_figures(counts, _HIPAA).documents_without_leak,
    "entities_masked": lambda counts: group_figures(counts, _ALL).entities_masked,
}
"""The overall figures by name.

`precision` is the share of masked tokens that a gold span touches. `precision_overlap`
follows the thesis: the share of recalled gold tokens in these plus every masked token
that is not exactly a gold token.
"""


def measure_over_masking(counts: Counts) -> dict[SafeKind, Share]:
    """Return the share of safe tokens of each kind that was masked."""
    return {
        kind: Share(int(counts.false_masks[:, kind].sum()), int(counts.safe[:, kind].sum()))
        for kind in SafeKind
    }
