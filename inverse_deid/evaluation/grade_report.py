"""The grades of leaks for people and for programs: counts and agreement, no text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from inverse_deid.evaluation.agreement import Agreement, Kappa
from inverse_deid.evaluation.grades import Grade, GroupGrades
from inverse_deid.evaluation.plain_text import aligned, percent
from inverse_deid.evaluation.resampling import N_RESAMPLES
from inverse_deid.evaluation.uncertainty import CONFIDENCE

FORMAT_NAME = "inverse-deid leak grades"
FORMAT_VERSION = 1


def grade_lines(groups: Sequence[GroupGrades]) -> Iterator[str]:
    """The grades as plain, aligned text; reviewers are A and B."""
    everything = groups[0]
    yield f"leaks: {everything.n_leaks:,}; documents with a leak: {everything.n_documents:,}"
    yield ""
    yield from aligned(list(_count_rows(groups)))
    if everything.agreement is None:
        return
    yield ""
    yield from aligned(list(_agreement_rows(groups)))
    yield ""
    yield "Grades of A and B side by side (d direct, i indirect, n none):"
    yield from aligned(list(_table_rows(groups)))
    yield ""
    yield f"Intervals: {100 * CONFIDENCE:g} %, from {N_RESAMPLES:,} resamples of whole documents; a handful"
    yield "of documents gives no reliable interval. - stands for undefined. Weighted: direct against none"
    yield "counts twice."


def _count_rows(groups: Sequence[GroupGrades]) -> Iterator[tuple[str, ...]]:
    reviewers = "AB"[: len(groups[0].by_grade)]
    of_reviewer = [f"{who} {what}" for who in reviewers for what in ("direct", "indirect", "none", "open")]
    is_pair = len(reviewers) == 2
    yield "type", "leaks", *of_reviewer, *(("direct to A or B", "to both") if is_pair else ())
    for group in groups:
        counts = [n for i, row in enumerate(group.by_grade) for n in (*row, group.ungraded[i])]
        pair = (group.direct_to_any, group.direct_to_all) if is_pair else ()
        yield group.name, *(f"{n:,}" for n in (group.n_leaks, *counts, *pair))


def _agreement_rows(groups: Sequence[GroupGrades]) -> Iterator[tuple[str, ...]]:
    yield "type", "both graded", "agree", "kappa", "interval", "weighted", "interval"
    for group in groups:
        if group.agreement is not None:
            kappas = (group.agreement.kappa, group.agreement.linear_kappa)
            shown = [cell for kappa in kappas for cell in (_shown(kappa.value), _interval(kappa))]
            yield group.name, f"{group.agreement.observed.whole:,}", percent(group.agreement.observed), *shown


def _table_rows(groups: Sequence[GroupGrades]) -> Iterator[tuple[str, ...]]:
    letters = [grade.name[0].lower() for grade in Grade]
    yield "type", *(f"{a}-{b}" for a in letters for b in letters)
    for group in groups:
        if group.agreement is not None:
            yield group.name, *(f"{n:,}" for row in group.agreement.table for n in row)


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _interval(kappa: Kappa) -> str:
    return "-" if kappa.low is None else f"{_shown(kappa.low)} to {_shown(kappa.high)}"


def json_grades(groups: Sequence[GroupGrades], *, seed: int) -> dict[str, Any]:
    """The grades with nothing rounded and no text; undefined is None."""
    return {
        "format": FORMAT_NAME,
        "version": FORMAT_VERSION,
        "reviewers": len(groups[0].by_grade),
        "grades": [grade.name.lower() for grade in Grade],
        "confidence": CONFIDENCE,
        "resamples": N_RESAMPLES,
        "seed": seed,
        "groups": {group.name: _json_group(group) for group in groups},
    }


def _json_group(group: GroupGrades) -> dict[str, Any]:
    names = [grade.name.lower() for grade in Grade]
    return {
        "leaks": group.n_leaks,
        "documents": group.n_documents,
        "by_reviewer": [
            {**dict(zip(names, row, strict=True)), "ungraded": ungraded}
            for row, ungraded in zip(group.by_grade, group.ungraded, strict=True)
        ],
        "direct_to_any": group.direct_to_any,
        "direct_to_all": group.direct_to_all,
        "agreement": None if group.agreement is None else _json_agreement(group.agreement),
    }


def _json_agreement(agreement: Agreement) -> dict[str, Any]:
    observed = agreement.observed
    return {
        "observed": {"share": observed.value, "part": observed.part, "whole": observed.whole},
        "kappa": _json_kappa(agreement.kappa),
        "linear_kappa": _json_kappa(agreement.linear_kappa),
        "table": [list(row) for row in agreement.table],
    }


def _json_kappa(kappa: Kappa) -> dict[str, float | None]:
    return {"value": kappa.value, "low": kappa.low, "high": kappa.high}
