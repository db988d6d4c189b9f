"""What reviewers say of the leaks: direct, indirect or no identifier, and how far they agree.

Agreement is observed and beyond chance (Cohen's kappa, unweighted and with linear
weights: one step apart is half as far as two). Leaks of one document are not
independent, so the intervals come from drawing whole documents again.

Source: Cohen 1960 (kappa), Cohen 1968 (weighted kappa).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import AnnotationError
from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import BoolArray
from inverse_deid.evaluation.figures import Share
from inverse_deid.evaluation.gold_tokens import Int64Array
from inverse_deid.evaluation.leaks import ListedLeak, named_rows, read_leak_list
from inverse_deid.evaluation.plain_text import aligned, percent
from inverse_deid.evaluation.resampling import N_RESAMPLES
from inverse_deid.evaluation.uncertainty import CONFIDENCE, Float64Array

FORMAT_NAME = "inverse-deid leak grades"
FORMAT_VERSION = 1

_MAX_UNDEFINED = 0.05
"""An interval is left out if more than this share of the resamples leaves kappa undefined."""


class Grade(IntEnum):
    """What a leak gives away; the order is that of severity and of the tables."""

    DIRECT = 0
    INDIRECT = 1
    NONE = 2


_UNGRADED = -1
_WRITTEN: Mapping[str, int] = MappingProxyType(
    {
        "": _UNGRADED,
        **{grade.name.lower(): grade for grade in Grade},
        **{grade.name[0].lower(): grade for grade in Grade},
    }
)
_SAME = 1.0 - np.eye(len(Grade))
_STEPS = np.abs(np.subtract.outer(np.arange(len(Grade)), np.arange(len(Grade)))) / (len(Grade) - 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class GradedList:
    """A list of leaks as one reviewer graded it.

    Args:
        leaks: In the order of the list.
        grades: int64 (n_leaks,), values of `Grade`, -1 = not graded.
    """

    leaks: tuple[ListedLeak, ...] = field(repr=False)
    grades: Int64Array


@dataclass(frozen=True, slots=True)
class Kappa:
    """Agreement beyond chance, in [-1, 1].

    Args:
        value: None if chance alone leaves no room for disagreement.
        low: Lower end of the interval; None if there are too few documents for one.
        high: Upper end.
    """

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Agreement:
    """What two reviewers say of the leaks that both graded.

    Args:
        observed: Leaks with the same grade from both.
        kappa: Every disagreement counts alike.
        linear_kappa: A disagreement of direct and none counts twice.
        table: Leaks by the grade of the first (rows) and the second reviewer (columns).
    """

    observed: Share
    kappa: Kappa
    linear_kappa: Kappa
    table: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class GroupGrades:
    """The grades of the leaks of one PHI type, or of all.

    Args:
        name: The type, or `ALL`.
        n_leaks: Graded or not.
        n_documents: That hold such a leak.
        by_grade: For each reviewer the leaks of each `Grade`.
        ungraded: For each reviewer the leaks without a grade.
        direct_to_any: Leaks that at least one reviewer calls direct.
        direct_to_all: Leaks that every reviewer calls direct.
        agreement: None with a single reviewer.
    """

    name: str
    n_leaks: int
    n_documents: int
    by_grade: tuple[tuple[int, ...], ...]
    ungraded: tuple[int, ...]
    direct_to_any: int
    direct_to_all: int
    agreement: Agreement | None


def read_grades(path: Path, *, allow_ungraded: bool = False) -> GradedList:
    """Read the list that a reviewer graded: direct, indirect, none, or their first letters, in any case.

    Raises:
        InputError: See `read_leak_list`.
        AnnotationError: A grade is unknown or, unless they are allowed, missing.
    """
    leaks = tuple(read_leak_list(path))
    written = {leak.row: leak.cells["grade"].strip().lower() for leak in leaks}
    if unknown := sorted(row for row, grade in written.items() if grade not in _WRITTEN):
        raise AnnotationError(
            f"{path}: {named_rows(unknown)}: an unknown grade; give direct, indirect or none (or d, i, n)"
        )
    if not allow_ungraded and (empty := sorted(row for row, grade in written.items() if not grade)):
        raise AnnotationError(
            f"{path}: {named_rows(empty)}: not graded; grade them, or leave them out with --allow-ungraded"
        )
    return GradedList(leaks, np.array([_WRITTEN[written[leak.row]] for leak in leaks], np.int64))


def check_same_list(first: GradedList, second: GradedList) -> None:
    """Refuse two lists that are not copies of one.

    Raises:
        AnnotationError: Names the rows of the second that are not those of the first.
    """
    if len(first.leaks) != len(second.leaks):
        raise AnnotationError(
            f"the second list has {len(second.leaks):,} leaks, the first {len(first.leaks):,}; "
            "give copies of one list"
        )
    pairs = zip(first.leaks, second.leaks, strict=True)
    if foreign := sorted(b.row for a, b in pairs if (a.id, a.type) != (b.id, b.type)):
        raise AnnotationError(
            f"second list, {named_rows(foreign)}: other leaks than in the first; give copies of one list"
        )


def graded_groups(
    first: GradedList, second: GradedList | None = None, *, seed: int
) -> tuple[GroupGrades, ...]:
    """The grades of all leaks and, after them, of every PHI type that leaked.

    Args:
        first: Of one reviewer.
        second: Of another, a copy of the same list; None: there is one reviewer.
        seed: Of the resampling of documents.

    Raises:
        AnnotationError: The lists are not copies of one.
    """
    if second is not None:
        check_same_list(first, second)
    grades = np.stack([first.grades] if second is None else [first.grades, second.grades])
    documents = np.array([leak.document for leak in first.leaks], np.str_)
    types = np.array([leak.type.value for leak in first.leaks], np.str_)
    of_type = {fine.value: types == fine.value for fine in PhiType}
    wanted = {"ALL": np.ones(len(types), np.bool_), **{t: rows for t, rows in of_type.items() if rows.any()}}
    return tuple(_group(name, grades[:, rows], documents[rows], seed) for name, rows in wanted.items())


def _group(name: str, grades: Int64Array, documents: npt.NDArray[np.str_], seed: int) -> GroupGrades:
    """Grades are int64 (n_reviewers, n_leaks), documents (n_leaks,)."""
    is_direct = grades == Grade.DIRECT
    _, numbers = np.unique(documents, return_inverse=True)
    return GroupGrades(
        name,
        grades.shape[1],
        int(numbers.max(initial=-1)) + 1,
        tuple(tuple(int((row == grade).sum()) for grade in Grade) for row in grades),
        tuple(int((row == _UNGRADED).sum()) for row in grades),
        int(is_direct.any(0).sum()),
        int(is_direct.all(0).sum()),
        _agreement(grades, numbers, seed) if len(grades) == 2 else None,
    )


def _agreement(grades: Int64Array, documents: Int64Array, seed: int) -> Agreement:
    both: BoolArray = (grades != _UNGRADED).all(0)
    first, second = grades[:, both]
    _, numbers = np.unique(documents[both], return_inverse=True)
    tables = np.zeros((int(numbers.max(initial=-1)) + 1, len(Grade), len(Grade)))
    np.add.at(tables, (numbers, first, second), 1)
    drawn = _drawn_again(tables, seed)
    table = tables.sum(0)
    return Agreement(
        Share(int(np.trace(table)), int(table.sum())),
        _kappa(table, drawn, _SAME),
        _kappa(table, drawn, _STEPS),
        tuple(tuple(int(n) for n in row) for row in table),
    )


def _drawn_again(tables: Float64Array, seed: int) -> Float64Array:
    """The table of each resample of documents, (n_resamples, 3, 3); none if there are fewer than two."""
    n_documents = len(tables)
    if n_documents < 2:
        return tables[:0]
    evenly = np.full(n_documents, 1 / n_documents)
    times = np.random.default_rng(seed).multinomial(n_documents, evenly, N_RESAMPLES)
    return np.asarray(np.tensordot(times.astype(np.float64), tables, 1), np.float64)


def _kappa(table: Float64Array, drawn: Float64Array, weights: Float64Array) -> Kappa:
    value = _kappas(table, weights)
    resampled = _kappas(drawn, weights)
    defined = resampled[~np.isnan(resampled)]
    if np.isnan(value):
        return Kappa(None)
    if len(defined) < (1 - _MAX_UNDEFINED) * N_RESAMPLES or np.ptp(defined) == 0:
        return Kappa(float(value))
    low, high = np.quantile(defined, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Kappa(float(value), float(low), float(high))


def _kappas(tables: Float64Array, weights: Float64Array) -> Float64Array:
    """Kappa of each table (..., 3, 3); NaN where it is undefined."""
    n = tables.sum((-2, -1))
    by_chance = tables.sum(-1)[..., :, None] * tables.sum(-2)[..., None, :]
    found, expected = (weights * tables).sum((-2, -1)) * n, (weights * by_chance).sum((-2, -1))
    undefined = expected == 0
    return np.asarray(np.where(undefined, np.nan, 1 - found / np.where(undefined, 1, expected)), np.float64)


def cohen_kappa(table: Sequence[Sequence[int]], *, linear: bool = False) -> float | None:
    """Cohen's kappa of a table of leaks by the grades of two reviewers; None if it is undefined.

    Args:
        table: Counts, (n_grades, n_grades), as in `Agreement.table`.
        linear: A disagreement counts by how many steps it is apart.

    Example:
        >>> cohen_kappa([[20, 5, 0], [10, 15, 0], [0, 0, 0]])
        0.4
    """
    value = _kappas(np.asarray(table, np.float64), _STEPS if linear else _SAME)
    return None if np.isnan(value) else float(value)


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
