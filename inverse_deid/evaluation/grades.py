"""The grades that reviewers give leaks (direct, indirect, none), and the agreement of two reviewers.

Agreement is observed and beyond chance (Cohen's kappa, unweighted and with linear
weights: one step apart is half as far as two). Grades in one document are not
independent, so intervals come from resampled documents.

Source: Cohen 1960 (kappa), Cohen 1968 (weighted kappa).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import AnnotationError, Remedy
from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import BoolArray
from inverse_deid.core.wording import N_, _
from inverse_deid.evaluation.leaks import ListedLeak, name_rows, read_leak_list
from inverse_deid.evaluation.measures.counts import Int64Array
from inverse_deid.evaluation.measures.figures import ReportPart, Share
from inverse_deid.evaluation.measures.resampling import N_RESAMPLES
from inverse_deid.evaluation.measures.uncertainty import CONFIDENCE, Float64Array
from inverse_deid.evaluation.plain_text import align, format_share
from inverse_deid.evaluation.provenance import Provenance

NOT_JUDGED = -1

_MAX_UNDEFINED = 0.05
"""An interval is left out if more than this share of the resamples leaves kappa undefined."""


@dataclass(frozen=True, slots=True)
class Kappa:
    """Agreement beyond chance, in [-1, 1], with its interval.

    The value is None if chance alone leaves no room for disagreement, the ends if documents are too few.
    """

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Agreement:
    """The judgements of things that two people both judged."""

    observed: Share
    kappa: Kappa  # every disagreement counts equally
    linear_kappa: Kappa  # disagreements count by their number of steps
    table: tuple[tuple[int, ...], ...]  # things by the judgement of the first (rows) and the second (columns)


def measure_agreement(judgements: Int64Array, documents: Int64Array, *, n_steps: int, seed: int) -> Agreement:
    """Compare the judgements of two people on a scale of `n_steps`, with intervals over resampled documents.

    The judgements, int64 (2, n), are in [0, n_steps), or `NOT_JUDGED`, each of a thing in the document of a
    number, int64 (n,).
    """
    both: BoolArray = (judgements != NOT_JUDGED).all(0)
    first, second = judgements[:, both]
    _, numbers = np.unique(documents[both], return_inverse=True)
    tables = np.zeros((int(numbers.max(initial=-1)) + 1, n_steps, n_steps))
    np.add.at(tables, (numbers, first, second), 1)
    drawn = _resample_tables(tables, seed)
    distances = np.abs(np.subtract.outer(np.arange(n_steps), np.arange(n_steps)))
    by_step = np.asarray(distances / max(n_steps - 1.0, 1.0), np.float64)
    table = tables.sum(0)
    return Agreement(
        Share(int(np.trace(table)), int(table.sum())),
        _estimate_kappa(table, drawn, (distances > 0).astype(np.float64)),
        _estimate_kappa(table, drawn, by_step),
        tuple(tuple(int(n) for n in row) for row in table),
    )


def _resample_tables(tables: Float64Array, seed: int) -> Float64Array:
    """Return the tables of resamples, (n_resamples, n_steps, n_steps). One document has no resamples."""
    n_documents = len(tables)
    if n_documents < 2:
        return tables[:0]
    evenly = np.full(n_documents, 1 / n_documents)
    times = np.random.default_rng(seed).multinomial(n_documents, evenly, N_RESAMPLES)
    return np.asarray(np.tensordot(times.astype(np.float64), tables, 1), np.float64)


def _estimate_kappa(table: Float64Array, drawn: Float64Array, weights: Float64Array) -> Kappa:
    value = _compute_kappas(table, weights)
    resampled = _compute_kappas(drawn, weights)
    defined = resampled[~np.isnan(resampled)]
    if np.isnan(value):
        return Kappa(None)
    if len(defined) < (1 - _MAX_UNDEFINED) * N_RESAMPLES or np.ptp(defined) == 0:
        return Kappa(float(value))
    low, high = np.quantile(defined, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Kappa(float(value), float(low), float(high))


def _compute_kappas(tables: Float64Array, weights: Float64Array) -> Float64Array:
    """Return kappa of each table (..., n_steps, n_steps), NaN where it is undefined."""
    n = tables.sum((-2, -1))
    by_chance = tables.sum(-1)[..., :, None] * tables.sum(-2)[..., None, :]
    found, expected = (weights * tables).sum((-2, -1)) * n, (weights * by_chance).sum((-2, -1))
    undefined = expected == 0
    return np.asarray(np.where(undefined, np.nan, 1 - found / np.where(undefined, 1, expected)), np.float64)


FORMAT_NAME = "inverse-deid leak grades"


class Grade(IntEnum):
    """The identifiers that a leak reveals, in the order of severity and of the tables."""

    DIRECT = 0
    INDIRECT = 1
    NONE = 2


_WRITTEN: Mapping[str, int] = {
    "": NOT_JUDGED,
    **{grade.name.lower(): grade for grade in Grade},
    **{grade.name[0].lower(): grade for grade in Grade},
}


@dataclass(frozen=True, slots=True, eq=False)
class GradedList:
    """A list of leaks with the grades of one reviewer: values of `Grade`, or `NOT_JUDGED`."""

    leaks: tuple[ListedLeak, ...] = field(repr=False)
    grades: Int64Array


class ReviewerGrades(ReportPart, frozen=True):
    """The leaks of each grade of one reviewer."""

    direct: int
    indirect: int
    none: int
    ungraded: int


class GroupGrades(ReportPart, frozen=True):
    """The grades of the leaks of one PHI type, or of all. A single reviewer has no agreement."""

    leaks: int
    documents: int
    by_reviewer: list[ReviewerGrades]
    direct_to_any: int
    direct_to_all: int
    agreement: Agreement | None


def read_grades(path: Path, *, allow_ungraded: bool = False) -> GradedList:
    """Read a graded list. Grades are direct, indirect, none, or their first letters, in any case.

    Raises:
        InputError: See `read_leak_list`.
        AnnotationError: A grade is unknown or, unless they are allowed, missing.
    """
    leaks = tuple(read_leak_list(path))
    written = {leak.row: leak.cells["grade"].strip().lower() for leak in leaks}
    if unknown := sorted(row for row, grade in written.items() if grade not in _WRITTEN):
        raise AnnotationError(
            _(
                "{path}: {rows}: unknown grade. Give direct, indirect or none (or d, i, n)",
                path=path,
                rows=name_rows(unknown),
            )
        )
    if not allow_ungraded and (empty := sorted(row for row, grade in written.items() if not grade)):
        raise AnnotationError(
            _("{path}: {rows}: not graded", path=path, rows=name_rows(empty)),
            remedies=[
                Remedy(step=N_("grade them")),
                Remedy("allow_ungraded", step=N_("leave them out with {}")),
            ],
        )
    return GradedList(leaks, np.array([_WRITTEN[written[leak.row]] for leak in leaks], np.int64))


def _check_same_list(first: GradedList, second: GradedList) -> None:
    if len(first.leaks) != len(second.leaks):
        raise AnnotationError(
            _(
                "the second list has {n_leaks:,} leaks, the first {n_leaks_2:,}. Give copies of one list",
                n_leaks=len(second.leaks),
                n_leaks_2=len(first.leaks),
            )
        )
    pairs = zip(first.leaks, second.leaks, strict=True)
    if foreign := sorted(b.row for a, b in pairs if (a.id, a.type) != (b.id, b.type)):
        raise AnnotationError(
            _(
                "second list, {rows}: other leaks than in the first. Give copies of one list",
                rows=name_rows(foreign),
            )
        )


def group_grades(first: GradedList, second: GradedList | None = None, *, seed: int) -> dict[str, GroupGrades]:
    """Return the grades of ALL leaks and, after them, of every PHI type that leaked.

    Raises:
        AnnotationError: The lists are not copies of one list.
    """
    if second is not None:
        _check_same_list(first, second)
    grades = np.stack([first.grades] if second is None else [first.grades, second.grades])
    documents = np.array([leak.document for leak in first.leaks], np.str_)
    types = np.array([leak.type.value for leak in first.leaks], np.str_)
    of_type = {fine.value: types == fine.value for fine in PhiType}
    wanted = {"ALL": np.ones(len(types), np.bool_), **{t: rows for t, rows in of_type.items() if rows.any()}}
    return {name: _count_group(grades[:, rows], documents[rows], seed) for name, rows in wanted.items()}


def _count_group(grades: Int64Array, documents: npt.NDArray[np.str_], seed: int) -> GroupGrades:
    """Count grades, int64 (n_reviewers, n_leaks), of leaks in documents (n_leaks,)."""
    is_direct = grades == Grade.DIRECT
    _, numbers = np.unique(documents, return_inverse=True)
    return GroupGrades(
        leaks=grades.shape[1],
        documents=int(numbers.max(initial=-1)) + 1,
        by_reviewer=[_count_grades(row) for row in grades],
        direct_to_any=int(is_direct.any(0).sum()),
        direct_to_all=int(is_direct.all(0).sum()),
        agreement=measure_agreement(grades, numbers, n_steps=len(Grade), seed=seed)
        if len(grades) == 2
        else None,
    )


def _count_grades(row: Int64Array) -> ReviewerGrades:
    direct, indirect, none, ungraded = (int((row == grade).sum()) for grade in (*Grade, NOT_JUDGED))
    return ReviewerGrades(direct=direct, indirect=indirect, none=none, ungraded=ungraded)


class GradeReport(ReportPart, frozen=True, kw_only=True, tag_field="format", tag=FORMAT_NAME):
    """The grades as JSON. Nothing is rounded, and undefined is None. Contains no text of a leak."""

    version: Literal[1] = 1
    reviewers: int
    grades: list[str]
    confidence: float
    resamples: int
    seed: int
    groups: dict[str, GroupGrades]
    provenance: Provenance


def report_grades(groups: dict[str, GroupGrades], *, seed: int, provenance: Provenance) -> GradeReport:
    """Return the report of graded groups. Arguments as for `group_grades`."""
    return GradeReport(
        reviewers=len(groups["ALL"].by_reviewer),
        grades=[grade.name.lower() for grade in Grade],
        confidence=CONFIDENCE,
        resamples=N_RESAMPLES,
        seed=seed,
        groups=groups,
        provenance=provenance,
    )


def grade_lines(groups: Mapping[str, GroupGrades]) -> Iterator[str]:
    """Yield the grades as aligned plain text. The reviewers are A and B."""
    everything = groups["ALL"]
    yield _(
        "leaks: {leaks:,}, documents with a leak: {documents:,}",
        leaks=everything.leaks,
        documents=everything.documents,
    )
    yield ""
    yield from align(list(_count_rows(groups)))
    if everything.agreement is None:
        return
    yield ""
    yield from align(list(_agreement_rows(groups)))
    yield ""
    yield _("Grades of A and B side by side (d direct, i indirect, n none):")
    yield from align(list(_table_rows(groups)))
    yield ""
    yield _(
        "Intervals: {confidence:g} %, from {n_resamples:,} resamples of whole documents. With only a",
        confidence=100 * CONFIDENCE,
        n_resamples=N_RESAMPLES,
    )
    yield _("few documents they are not reliable. - means undefined. Weighted: direct against none counts")
    yield "twice."


def _count_rows(groups: Mapping[str, GroupGrades]) -> Iterator[tuple[str, ...]]:
    reviewers = "AB"[: len(groups["ALL"].by_reviewer)]
    of_reviewer = [
        f"{who} {what}" for who in reviewers for what in (_("direct"), _("indirect"), _("none"), _("open"))
    ]
    is_pair = len(reviewers) == 2
    yield _("type"), _("leaks"), *of_reviewer, *((_("direct to A or B"), _("to both")) if is_pair else ())
    for name, group in groups.items():
        counts = [n for row in group.by_reviewer for n in (row.direct, row.indirect, row.none, row.ungraded)]
        pair = (group.direct_to_any, group.direct_to_all) if is_pair else ()
        yield name, *(f"{n:,}" for n in (group.leaks, *counts, *pair))


def _agreement_rows(groups: Mapping[str, GroupGrades]) -> Iterator[tuple[str, ...]]:
    yield _("type"), _("both graded"), _("agree"), _("kappa"), _("interval"), _("weighted"), _("interval")
    for name, group in groups.items():
        if group.agreement is not None:
            kappas = (group.agreement.kappa, group.agreement.linear_kappa)
            cells = []
            for kappa in kappas:
                low, high = _format_kappa(kappa.low), _format_kappa(kappa.high)
                cells += [
                    _format_kappa(kappa.value),
                    "-" if kappa.low is None else _("{low} to {high}", low=low, high=high),
                ]
            observed = group.agreement.observed
            yield name, f"{observed.whole:,}", format_share(observed), *cells


def _table_rows(groups: Mapping[str, GroupGrades]) -> Iterator[tuple[str, ...]]:
    letters = [grade.name[0].lower() for grade in Grade]
    yield _("type"), *(f"{a}-{b}" for a in letters for b in letters)
    for name, group in groups.items():
        if group.agreement is not None:
            yield name, *(f"{n:,}" for row in group.agreement.table for n in row)


def _format_kappa(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
