"""An evaluation as JSON for programs: numbers, ids, no narrative text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from inverse_deid.evaluation.counts import SafeKind
from inverse_deid.evaluation.curves import Curve, Reliability, ScoreFigures
from inverse_deid.evaluation.evaluation import Evaluation, Intervals, intervals_of
from inverse_deid.evaluation.figures import FIGURES, Share, over_masking
from inverse_deid.evaluation.groups import GROUPS, GroupKind, group_number
from inverse_deid.evaluation.report import note_lines
from inverse_deid.evaluation.uncertainty import Interval

FORMAT_NAME = "inverse-deid evaluation"
FORMAT_VERSION = 2


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
    """All of it; the threshold that masks everything is None."""
    thresholds = [value if math.isfinite(value) else None for value in curve.thresholds.tolist()]
    return {
        "average_precision": curve.average_precision,
        "thresholds": len(curve),
        "points": {
            "threshold": thresholds,
            "recall": curve.recall.tolist(),
            "precision": curve.precision.tolist(),
            "safe_kept": curve.safe_kept.tolist(),
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
