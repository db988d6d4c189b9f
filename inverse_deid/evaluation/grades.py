"""What reviewers say of the leaks: direct, indirect or no identifier, and how far they agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import AnnotationError
from inverse_deid.core.phi import PhiType
from inverse_deid.evaluation.agreement import NOT_JUDGED, Agreement, agreement
from inverse_deid.evaluation.gold_tokens import Int64Array
from inverse_deid.evaluation.leaks import ListedLeak, named_rows, read_leak_list


class Grade(IntEnum):
    """What a leak gives away; the order is that of severity and of the tables."""

    DIRECT = 0
    INDIRECT = 1
    NONE = 2


_WRITTEN: Mapping[str, int] = MappingProxyType(
    {
        "": NOT_JUDGED,
        **{grade.name.lower(): grade for grade in Grade},
        **{grade.name[0].lower(): grade for grade in Grade},
    }
)


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
        tuple(int((row == NOT_JUDGED).sum()) for row in grades),
        int(is_direct.any(0).sum()),
        int(is_direct.all(0).sum()),
        agreement(grades, numbers, n_steps=len(Grade), seed=seed) if len(grades) == 2 else None,
    )
