"""An evaluation as a table for people and as JSON for programs: numbers, ids, no narrative text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from inverse_deid.evaluation.counts import SafeKind
from inverse_deid.evaluation.curves import Curve, Reliability, ReliabilityBin, ScoreFigures, thinned
from inverse_deid.evaluation.evaluation import Evaluation, Intervals, intervals_of
from inverse_deid.evaluation.figures import FIGURES, GroupFigures, Share, group_figures, over_masking
from inverse_deid.evaluation.groups import GROUPS, GroupKind, group_number
from inverse_deid.evaluation.uncertainty import Interval, Method

FORMAT_NAME = "inverse-deid evaluation"
FORMAT_VERSION = 2
N_CURVE_POINTS = 500

_TITLES = {
    "recall_hipaa": "PHI masked, HIPAA categories (recall)",
    "recall_hipaa_corrected": "  corrected for harmless tokens",
    "recall_all": "PHI masked, all categories (recall)",
    "recall_all_corrected": "  corrected for harmless tokens",
    "recall_short_names": "names of at most 3 characters",
    "precision": "of what is masked, PHI (precision)",
    "precision_overlap": "  longer tokens right and wrong once each",
    "safe_kept": "safe tokens kept",
    "documents_without_leak": "documents without a leak, of those with PHI",
    "documents_without_hipaa_leak": "  HIPAA categories",
    "entities_masked": "identifiers with all mentions masked",
}
_KIND_TITLES = {
    SafeKind.WORD: "other words",
    SafeKind.CLINICAL: "clinical words",
    SafeKind.NUMBER: "numbers",
    SafeKind.MIXED: "letters and digits",
}
_FEW_UNITS = 20
"""Percentiles of fewer resampled units are too near to each other."""


def percent(share: Share) -> str:
    """A share in percent; 100 and 0 only if they are exact, - if it is undefined.

    Example:
        >>> percent(Share(1, 3)), percent(Share(99_999, 100_000)), percent(Share(0, 0))
        ('33.33 %', '99.99 %', '-')
    """
    if share.value is None:
        return "-"
    shown = round(100 * share.value, 2)
    if 0 < share.part < share.whole:
        shown = min(max(shown, 0.01), 99.99)
    return f"{shown:.2f} %"


def interval_text(interval: Interval | None) -> str:
    """An interval in percent, rounded outwards; * marks `Method.ALIKE`.

    Example:
        >>> interval_text(Interval(0.98777, 1.0, 0.95, Method.ALIKE)), interval_text(None)
        ('* 98.77 to 100.00', '-')
    """
    if interval is None:
        return "-"
    low = math.floor(round(10_000 * interval.low, 6)) / 100
    high = math.ceil(round(10_000 * interval.high, 6)) / 100
    return "* " * (interval.method is Method.ALIKE) + f"{low:.2f} to {high:.2f}"


def table_lines(
    evaluation: Evaluation, intervals: Intervals | None = None, scores: ScoreFigures | None = None
) -> Iterator[str]:
    """The evaluation as plain, aligned text.

    Args:
        evaluation: What was counted.
        intervals: Of this evaluation; None: by documents, with the settings that are usual.
        scores: What `p_safe` alone is worth, if it is known.
    """
    intervals = intervals_of(evaluation) if intervals is None else intervals
    yield from _head_lines(evaluation)
    yield ""
    head = ("", "share", _interval_head(intervals), "part", "of")
    yield from _aligned([head, *_figure_rows(evaluation, intervals)])
    yield ""
    yield from _aligned(list(_category_rows(evaluation, intervals)))
    yield ""
    yield from _aligned(list(_over_masking_rows(evaluation)))
    if scores is not None:
        yield ""
        yield from _score_lines(scores, _interval_head(intervals))
    yield ""
    yield from note_lines(intervals, scores)


def note_lines(intervals: Intervals, scores: ScoreFigures | None = None) -> Iterator[str]:
    """What a reader must know of the figures, a sentence a line."""
    yield "Figures count tokens: runs of letters and digits, of PHI only what lies inside the marks."
    drawn = f"drawn {intervals.n_resamples:,} times (seed {intervals.seed})"
    if intervals.unit == "document":
        yield (
            f"Tokens of one document are not independent: intervals are by documents, {drawn}; for shares of "
            f"documents they are {Method.CLOPPER_PEARSON}'s."
        )
    else:
        yield (
            "Tokens of one document, and documents of one patient, are not independent: intervals are by "
            f"patients, {drawn}."
        )
    every = [*intervals.figures.values(), *(i for named in intervals.groups.values() for i in named.values())]
    if any(interval is not None and interval.method is Method.ALIKE for interval in every):
        yield (
            f"* Draws were alike: {Method.CLOPPER_PEARSON}'s interval, with each {intervals.unit} that has "
            "something to count as one trial."
        )
    if intervals.n_units_with_phi < _FEW_UNITS:
        yield (
            f"{intervals.unit.capitalize()}s with PHI: only {intervals.n_units_with_phi}. Intervals by "
            f"drawing fewer than {_FEW_UNITS} are too narrow."
        )
    if scores is not None:
        yield (
            "p_safe alone: held against one threshold, without the rules. Its intervals take tokens as "
            "independent and are too narrow."
        )


def _interval_head(intervals: Intervals) -> str:
    return f"{100 * intervals.confidence:g} % interval"


def _figure_rows(evaluation: Evaluation, intervals: Intervals) -> Iterator[tuple[str, ...]]:
    for name, title in _TITLES.items():
        named, shown, part, whole = _share_row(title, evaluation.figure(name))
        yield named, shown, interval_text(intervals.figures[name]), part, whole


def _head_lines(evaluation: Evaluation) -> Iterator[str]:
    counts = evaluation.counts
    in_all = group_figures(counts, group_number(GroupKind.ALL))
    rows: list[tuple[str, ...]] = [
        ("documents", f"{len(counts):,}"),
        ("  with PHI", f"{in_all.documents_without_leak.whole:,}"),
        ("tokens", f"{int(counts.tokens.sum()):,}"),
        ("  masked", f"{int(counts.masked.sum()):,}"),
        ("PHI tokens", f"{in_all.recall.whole:,}"),
    ]
    if evaluation.missing:
        rows.insert(1, ("  missing", f"{len(evaluation.missing):,}"))
    yield from _aligned(rows)
    if evaluation.missing:
        yield "Missing documents are counted as unmasked."


def _share_row(title: str, share: Share) -> tuple[str, ...]:
    return title, percent(share), f"{share.part:,}", f"{share.whole:,}"


def _category_rows(evaluation: Evaluation, intervals: Intervals) -> Iterator[tuple[str, ...]]:
    """A hyper-class and, under it, its fine types; those without PHI are left out."""
    head = _interval_head(intervals)
    yield (
        "category",
        "recall",
        head,
        "corrected",
        "tokens",
        "missed",
        "documents",
        "without leak",
        head,
        "identifiers",
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
        percent(recall),
        interval_text(intervals.get("recall")),
        percent(figures.corrected_recall),
        f"{recall.whole:,}",
        f"{recall.whole - recall.part:,}",
        f"{documents.whole:,}",
        percent(documents),
        interval_text(intervals.get("documents_without_leak")),
        percent(figures.entities_masked),
    )


def _over_masking_rows(evaluation: Evaluation) -> Iterator[tuple[str, ...]]:
    yield "masked though safe", "share", "part", "of"
    shares = over_masking(evaluation.counts)
    for kind, share in shares.items():
        if kind is not SafeKind.CLINICAL or evaluation.has_clinical:
            yield _share_row(_KIND_TITLES[kind], share)
    parts = [share.part for share in shares.values()]
    yield _share_row("all", Share(sum(parts), sum(share.whole for share in shares.values())))


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """The first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
        yield "  ".join(cells).rstrip()


def _score_lines(scores: ScoreFigures, interval_head: str) -> Iterator[str]:
    """Average precision and reliability of `p_safe`, without the bins that are empty."""
    found = scores.reliability
    precision = "-" if scores.curve is None else f"{scores.curve.average_precision:.4f}"
    error = found.expected_calibration_error
    yield from _aligned(
        [
            ("p_safe alone: average precision", precision),
            ("  expected calibration error", "-" if error is None else f"{error:.4f}"),
            ("  tokens without p_safe", f"{found.n_unknown:,}"),
        ]
    )
    yield ""
    yield from _aligned(
        [
            ("p_safe", "mean", "really safe", interval_head, "part", "of"),
            *(_bin_row(row) for row in found.bins if row.safe.whole),
        ]
    )


def _bin_row(row: ReliabilityBin) -> tuple[str, ...]:
    title, shown, part, whole = _share_row(f"{row.low:.2f} to {row.high:.2f}", row.safe)
    return title, f"{row.mean_p_safe:.4f}", shown, interval_text(row.interval), part, whole


def json_report(
    evaluation: Evaluation,
    intervals: Intervals | None = None,
    *,
    provenance: Mapping[str, Any] | None = None,
    scores: ScoreFigures | None = None,
) -> dict[str, Any]:
    """The evaluation with nothing rounded; what is undefined is None.

    Args:
        evaluation: What was counted.
        intervals: Of this evaluation; None: by documents, with the settings that are usual.
        provenance: What the figures were made of, as JSON values.
        scores: What `p_safe` alone is worth; adds the keys `curve` and `reliability`.

    Example:
        >>> from inverse_deid.evaluation.evaluation import evaluate_masks
        >>> report = json_report(evaluate_masks([], {}))
        >>> report["figures"]["recall_all"], report["intervals"]["recall_all"]
        ({'share': None, 'part': 0, 'whole': 0}, None)
    """
    intervals = intervals_of(evaluation) if intervals is None else intervals
    counts = evaluation.counts
    return {
        "format": FORMAT_NAME,
        "version": FORMAT_VERSION,
        "provenance": {**(provenance or {}), **_json_settings(intervals)},
        "notes": list(note_lines(intervals, scores)),
        "documents": len(counts),
        "missing": list(evaluation.missing),
        "tokens": int(counts.tokens.sum()),
        "masked_tokens": int(counts.masked.sum()),
        "inexact_masks": int(counts.inexact_masks.sum()),
        "harmless": {fine.value: sorted(words) for fine, words in evaluation.harmless.words.items()},
        "figures": {name: _json_share(evaluation.figure(name)) for name in FIGURES},
        "intervals": {name: _json_interval(intervals.figures[name]) for name in FIGURES},
        "over_masking": {
            kind.name.lower(): _json_share(share)
            for kind, share in over_masking(counts).items()
            if kind is not SafeKind.CLINICAL or evaluation.has_clinical
        },
        "categories": {
            kind.value: _json_groups(evaluation, intervals, kind)
            for kind in (GroupKind.HYPER, GroupKind.FINE)
        },
        **({} if scores is None else _json_scores(scores)),
        "by_document": _json_documents(evaluation),
    }


def _json_share(share: Share) -> dict[str, float | int | None]:
    return {"share": share.value, "part": share.part, "whole": share.whole}


def _json_interval(interval: Interval | None) -> dict[str, Any] | None:
    return None if interval is None else asdict(interval)


def _json_settings(intervals: Intervals) -> dict[str, Any]:
    """How the intervals can be made again."""
    return {
        "intervals_by": intervals.unit,
        "units": intervals.n_units,
        "units_with_phi": intervals.n_units_with_phi,
        "confidence": intervals.confidence,
        "resamples": intervals.n_resamples,
        "seed": intervals.seed,
    }


def _json_groups(evaluation: Evaluation, intervals: Intervals, kind: GroupKind) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for group in GROUPS:
        if group.kind is kind:
            figures = evaluation.group(kind, group.name)
            of_group = intervals.groups.get(group_number(kind, group.name), {})
            names = [entry.name for entry in fields(figures)]
            found[group.name] = {
                **{name: _json_share(getattr(figures, name)) for name in names},
                "intervals": {name: _json_interval(of_group.get(name)) for name in names},
            }
    return found


def _json_scores(scores: ScoreFigures) -> dict[str, Any]:
    return {
        "curve": None if scores.curve is None else _json_curve(scores.curve),
        "reliability": _json_reliability(scores.reliability),
    }


def _json_curve(curve: Curve) -> dict[str, Any]:
    """The threshold that masks everything is None."""
    drawn = thinned(curve, N_CURVE_POINTS)
    thresholds = drawn.thresholds.tolist()
    return {
        "average_precision": curve.average_precision,
        "thresholds": curve.n_thresholds,
        "points": {
            "threshold": [value if math.isfinite(value) else None for value in thresholds],
            "recall": drawn.recall.tolist(),
            "precision": drawn.precision.tolist(),
            "safe_kept": drawn.safe_kept.tolist(),
        },
    }


def _json_reliability(found: Reliability) -> dict[str, Any]:
    return {
        "expected_calibration_error": found.expected_calibration_error,
        "unknown": found.n_unknown,
        "bins": [
            {
                "low": row.low,
                "high": row.high,
                "tokens": row.safe.whole,
                "mean_p_safe": row.mean_p_safe,
                "safe": _json_share(row.safe),
                "interval": _json_interval(row.interval),
            }
            for row in found.bins
        ],
    }


def _json_documents(evaluation: Evaluation) -> list[dict[str, Any]]:
    """One object a document: what a paired comparison or a resampling needs."""
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
        {"id": doc_id, **dict(zip(columns, row, strict=True))}
        for doc_id, row in zip(evaluation.ids, rows, strict=True)
    ]
