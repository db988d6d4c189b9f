"""The report of an evaluation: one typed value, written as JSON, and a table for the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec
from msgspec import UNSET
from msgspec.structs import asdict

from inverse_deid.core.wording import N_, _
from inverse_deid.evaluation.evaluation import Evaluation, Intervals, intervals_of
from inverse_deid.evaluation.measures.counts import GROUPS, GroupKind, SafeKind, group_number
from inverse_deid.evaluation.measures.curves import Curve, Reliability, ScoreFigures
from inverse_deid.evaluation.measures.figures import (
    FIGURES,
    GroupFigures,
    ReportPart,
    Share,
    group_figures,
    measure_over_masking,
)
from inverse_deid.evaluation.measures.uncertainty import FEW_UNITS, Interval, Method
from inverse_deid.evaluation.plain_text import align, format_interval, format_share, share_cells
from inverse_deid.evaluation.provenance import Provenance

_TITLES = {
    "recall_hipaa": N_("PHI masked, HIPAA categories (recall)"),
    "recall_hipaa_corrected": N_("  corrected for harmless tokens"),
    "recall_all": N_("PHI masked, all categories (recall)"),
    "recall_all_corrected": N_("  corrected for harmless tokens"),
    "recall_short_names": N_("names of at most 3 characters"),
    "precision": N_("of what is masked, PHI (precision)"),
    "precision_overlap": N_("  longer tokens right and wrong once each"),
    "safe_kept": N_("safe tokens kept"),
    "documents_without_leak": N_("documents without a leak, of those with PHI"),
    "documents_without_hipaa_leak": N_("  HIPAA categories"),
    "entities_masked": N_("identifiers with all mentions masked"),
}
_KIND_TITLES = {
    SafeKind.WORD: N_("other words"),
    SafeKind.CLINICAL: N_("clinical words"),
    SafeKind.NUMBER: N_("numbers"),
    SafeKind.MIXED: N_("letters and digits"),
}


FORMAT_NAME = "inverse-deid evaluation"


class GroupRecord(GroupFigures, frozen=True):
    """The figures of a group of PHI types, and their intervals by name."""

    intervals: dict[str, Interval | None]


class CategoryRecords(ReportPart, frozen=True):
    """The groups by name: hyper-classes, and fine types."""

    hyper: dict[str, GroupRecord]
    fine: dict[str, GroupRecord]


class CurvePoints(ReportPart, frozen=True):
    """The columns of a curve. A threshold of None masks everything."""

    threshold: list[float | None]
    recall: list[float]
    precision: list[float]
    safe_kept: list[float]


class CurveRecord(ReportPart, frozen=True):
    """A `Curve`, with all of its points."""

    average_precision: float
    thresholds: int
    points: CurvePoints


class DocumentRecord(ReportPart, frozen=True):
    """The counts of one document: what a paired comparison or a resampling needs."""

    id: str
    tokens: int
    masked: int
    inexact_masks: int
    safe: int
    false_masks: int
    phi: int
    recalled: int
    phi_hipaa: int
    recalled_hipaa: int


class EvaluationReport(ReportPart, frozen=True, kw_only=True, tag_field="format", tag=FORMAT_NAME):
    """An evaluation as its JSON file and its page show it: numbers and ids, no narrative text.

    Nothing is rounded, and an undefined value is None. `curve` and `reliability` are unset
    where the probabilities are not known.
    """

    version: Literal[2] = 2
    provenance: Provenance
    notes: list[str]
    documents: int
    missing: list[str]
    tokens: int
    masked_tokens: int
    inexact_masks: int
    harmless: dict[str, list[str]]
    figures: dict[str, Share]
    intervals: dict[str, Interval | None]
    over_masking: dict[str, Share]
    categories: CategoryRecords
    curve: CurveRecord | msgspec.UnsetType | None = UNSET
    reliability: Reliability | msgspec.UnsetType = UNSET
    by_document: list[DocumentRecord]


def build_report(
    evaluation: Evaluation,
    intervals: Intervals | None = None,
    *,
    provenance: Provenance | None = None,
    scores: ScoreFigures | None = None,
) -> EvaluationReport:
    """Build the report of an evaluation.

    Without intervals, documents are drawn with the default settings. `scores` set `curve` and `reliability`.
    """
    intervals = intervals_of(evaluation) if intervals is None else intervals
    counts = evaluation.counts
    return EvaluationReport(
        provenance={
            **(provenance or {}),
            "intervals_by": intervals.unit,
            "units": intervals.n_units,
            "units_with_phi": intervals.n_units_with_phi,
            "confidence": intervals.confidence,
            "resamples": intervals.n_resamples,
            "seed": intervals.seed,
        },
        notes=list(note_lines(intervals, scores)),
        documents=len(counts),
        missing=list(evaluation.missing),
        tokens=int(counts.tokens.sum()),
        masked_tokens=int(counts.masked.sum()),
        inexact_masks=int(counts.inexact_masks.sum()),
        harmless={fine.value: sorted(words) for fine, words in evaluation.harmless.words.items()},
        figures={name: evaluation.figure(name) for name in FIGURES},
        intervals={name: intervals.figures[name] for name in FIGURES},
        over_masking={
            kind.name.lower(): share
            for kind, share in measure_over_masking(counts).items()
            if kind is not SafeKind.CLINICAL or evaluation.has_clinical
        },
        categories=CategoryRecords(
            hyper=_record_groups(evaluation, intervals, GroupKind.HYPER),
            fine=_record_groups(evaluation, intervals, GroupKind.FINE),
        ),
        curve=UNSET if scores is None else _record_curve(scores.curve),
        reliability=UNSET if scores is None else scores.reliability,
        by_document=_record_documents(evaluation),
    )


def _record_groups(evaluation: Evaluation, intervals: Intervals, kind: GroupKind) -> dict[str, GroupRecord]:
    found = {}
    for group in GROUPS:
        if group.kind is kind:
            shares = asdict(evaluation.group(kind, group.name))
            number = group_number(kind, group.name)
            found[group.name] = GroupRecord(
                **shares, intervals={name: intervals.group(number, name) for name in shares}
            )
    return found


def _record_curve(curve: Curve | None) -> CurveRecord | None:
    if curve is None:
        return None
    points = CurvePoints(
        threshold=[value if math.isfinite(value) else None for value in curve.thresholds.tolist()],
        recall=curve.recall.tolist(),
        precision=curve.precision.tolist(),
        safe_kept=curve.safe_kept.tolist(),
    )
    return CurveRecord(average_precision=curve.average_precision, thresholds=len(curve), points=points)


def _record_documents(evaluation: Evaluation) -> list[DocumentRecord]:
    counts = evaluation.counts
    in_all, hipaa = group_number(GroupKind.ALL), group_number(GroupKind.HIPAA)
    columns = {
        "tokens": counts.tokens,
        "masked": counts.masked,
        "inexact_masks": counts.inexact_masks,
        "safe": counts.safe.sum(1),
        "false_masks": counts.false_masks.sum(1),
        "phi": counts.phi[:, in_all],
        "recalled": counts.recalled[:, in_all],
        "phi_hipaa": counts.phi[:, hipaa],
        "recalled_hipaa": counts.recalled[:, hipaa],
    }
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [
        DocumentRecord(id=doc_id, **dict(zip(columns, row, strict=True)))
        for doc_id, row in zip(evaluation.ids, rows, strict=True)
    ]


def table_lines(
    evaluation: Evaluation, intervals: Intervals | None = None, scores: ScoreFigures | None = None
) -> Iterator[str]:
    """Yield the lines of an evaluation as aligned plain text. Arguments as `build_report`."""
    intervals = intervals_of(evaluation) if intervals is None else intervals
    yield from _head_lines(evaluation)
    yield ""
    rows = [("", _("share"), _interval_head(intervals), _("part"), _("of"))]
    for name, title in _TITLES.items():
        share, part, whole = share_cells(evaluation.figure(name))
        rows.append((_(title), share, format_interval(intervals.figures[name]), part, whole))
    yield from align(rows)
    yield ""
    yield from align(list(_category_rows(evaluation, intervals)))
    yield ""
    yield from align(list(_over_masking_rows(evaluation)))
    if scores is not None:
        yield ""
        yield from _score_lines(scores, _interval_head(intervals))
    yield ""
    yield from note_lines(intervals, scores)


def note_lines(intervals: Intervals, scores: ScoreFigures | None = None) -> Iterator[str]:
    """Yield what a reader must know of the figures, a note per line."""
    yield _(
        "Figures count tokens (runs of letters and digits). Of PHI, only the part inside the marks counts."
    )
    drawn = _(
        "drawn {n_resamples:,} times (seed {seed})", n_resamples=intervals.n_resamples, seed=intervals.seed
    )
    if intervals.unit == "document":
        yield (
            _(
                "Tokens of one document are not independent. Intervals are by documents, {drawn}. For shares "
                "of documents they are {clopper_pearson}'s.",
                drawn=drawn,
                clopper_pearson=Method.CLOPPER_PEARSON,
            )
        )
    else:
        yield (
            _(
                "Tokens of one document, and documents of one patient, are not independent. Intervals are by "
                "patients, {drawn}.",
                drawn=drawn,
            )
        )
    every = [*intervals.figures.values(), *(i for named in intervals.groups.values() for i in named.values())]
    if any(interval is not None and interval.method is Method.ALIKE for interval in every):
        yield (
            _(
                "* All draws were equal. This is {clopper_pearson}'s interval: each {unit} with something to "
                "count is one trial.",
                clopper_pearson=Method.CLOPPER_PEARSON,
                unit=intervals.unit,
            )
        )
    if intervals.n_units_with_phi < FEW_UNITS:
        contain = _(" contains") if intervals.n_units_with_phi == 1 else _("s contain")
        yield (
            _(
                "Only {n_units_with_phi} {unit}{contain} PHI. Intervals drawn from fewer than {few_units} "
                "are too narrow.",
                n_units_with_phi=intervals.n_units_with_phi,
                unit=intervals.unit,
                contain=contain,
                few_units=FEW_UNITS,
            )
        )
    elif few := _name_rare_categories(intervals):
        yield (
            _(
                "Fewer than {few_units} {unit}s contain {few}. Intervals drawn from so few are too narrow.",
                few_units=FEW_UNITS,
                unit=intervals.unit,
                few=", ".join(few),
            )
        )
    if scores is not None:
        yield (
            _(
                "p_safe alone is compared with one threshold, without the rules. Its intervals treat tokens "
                "as independent and are too narrow."
            )
        )


def _name_rare_categories(intervals: Intervals) -> list[str]:
    drawn = {
        number
        for number, named in intervals.groups.items()
        if any(interval is not None and interval.method is Method.BOOTSTRAP for interval in named.values())
    }
    few = [number for number, n in intervals.n_units_of_group.items() if n < FEW_UNITS and number in drawn]
    return list(dict.fromkeys(GROUPS[number].name for number in few))


def _interval_head(intervals: Intervals) -> str:
    return _("{confidence:g} % interval", confidence=100 * intervals.confidence)


def _head_lines(evaluation: Evaluation) -> Iterator[str]:
    counts = evaluation.counts
    in_all = group_figures(counts, group_number(GroupKind.ALL))
    rows: list[tuple[str, ...]] = [
        (_("documents"), f"{len(counts):,}"),
        (_("  with PHI"), f"{in_all.documents_without_leak.whole:,}"),
        (_("tokens"), f"{int(counts.tokens.sum()):,}"),
        (_("  masked"), f"{int(counts.masked.sum()):,}"),
        (_("PHI tokens"), f"{in_all.recall.whole:,}"),
    ]
    if evaluation.missing:
        rows.insert(1, (_("  missing"), f"{len(evaluation.missing):,}"))
    yield from align(rows)
    if evaluation.missing:
        yield _("Missing documents are counted as unmasked.")


def _category_rows(evaluation: Evaluation, intervals: Intervals) -> Iterator[tuple[str, ...]]:
    head = _interval_head(intervals)
    yield (
        _("category"),
        _("recall"),
        head,
        _("corrected"),
        _("tokens"),
        _("missed"),
        _("documents"),
        _("without leak"),
        head,
        _("identifiers"),
    )
    for hyper in GROUPS:
        if hyper.kind is GroupKind.HYPER:
            fine = [g for g in GROUPS if g.kind is GroupKind.FINE and g.types <= hyper.types]
            rows = [hyper, *(fine if len(fine) > 1 else ())]
            for group in rows:
                figures = evaluation.group(group.kind, group.name)
                if figures.documents_without_leak.whole:
                    of_group = intervals.groups.get(group_number(group.kind, group.name), {})
                    yield _category_row("  " * (group is not hyper) + group.name, figures, of_group)


def _category_row(
    title: str, figures: GroupFigures, intervals: Mapping[str, Interval | None]
) -> tuple[str, ...]:
    recall, documents = figures.recall, figures.documents_without_leak
    return (
        title,
        format_share(recall),
        format_interval(intervals.get("recall")),
        format_share(figures.corrected_recall),
        f"{recall.whole:,}",
        f"{recall.whole - recall.part:,}",
        f"{documents.whole:,}",
        format_share(documents),
        format_interval(intervals.get("documents_without_leak")),
        format_share(figures.entities_masked),
    )


def _over_masking_rows(evaluation: Evaluation) -> Iterator[tuple[str, ...]]:
    yield _("masked though safe"), _("share"), _("part"), _("of")
    shares = measure_over_masking(evaluation.counts)
    for kind, share in shares.items():
        if kind is not SafeKind.CLINICAL or evaluation.has_clinical:
            yield _(_KIND_TITLES[kind]), *share_cells(share)
    parts = [share.part for share in shares.values()]
    yield _("all"), *share_cells(Share(sum(parts), sum(share.whole for share in shares.values())))


def _score_lines(scores: ScoreFigures, interval_head: str) -> Iterator[str]:
    # Empty bins are left out.
    found = scores.reliability
    precision = "-" if scores.curve is None else f"{scores.curve.average_precision:.4f}"
    error = found.expected_calibration_error
    yield from align(
        [
            (_("p_safe alone: average precision"), precision),
            (_("  expected calibration error"), "-" if error is None else f"{error:.4f}"),
            (_("  tokens without p_safe"), f"{found.unknown:,}"),
        ]
    )
    yield ""
    rows = [("p_safe", _("mean"), _("really safe"), interval_head, _("part"), _("of"))]
    for row in found.bins:
        if row.safe.whole:
            share, part, whole = share_cells(row.safe)
            mean, interval = f"{row.mean_p_safe:.4f}", format_interval(row.interval)
            rows.append(
                (_("{low:.2f} to {high:.2f}", low=row.low, high=row.high), mean, share, interval, part, whole)
            )
    yield from align(rows)
