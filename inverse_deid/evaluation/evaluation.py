"""Gold documents and masks become an evaluation and its intervals."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from msgspec.structs import asdict

from inverse_deid.core.errors import AnnotationError, FormatError, Remedy, name_documents
from inverse_deid.core.values import Document
from inverse_deid.core.wording import N_, _
from inverse_deid.evaluation.measures.counts import (
    GROUPS,
    Counts,
    GroupKind,
    HarmlessTokens,
    Range,
    WordTest,
    count_document,
    group_number,
    read_harmless,
)
from inverse_deid.evaluation.measures.figures import FIGURES, GroupFigures, Share, group_figures
from inverse_deid.evaluation.measures.resampling import N_RESAMPLES, SEED, bootstrap_all
from inverse_deid.evaluation.measures.uncertainty import CONFIDENCE, Interval, clopper_pearson
from inverse_deid.evaluation.provenance import name_files
from inverse_deid.formats.registry import input_errors, open_input

if TYPE_CHECKING:
    import pandas as pd

_OF_DOCUMENTS = "documents_"
"""Start of the names of figures that count documents instead of tokens."""


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """The effect of masks on documents, which are in the order of the gold, one row of `counts` each."""

    ids: tuple[str, ...]
    counts: Counts
    missing: tuple[str, ...] = ()  # these documents have no masks and count as unmasked
    harmless: HarmlessTokens = field(default_factory=lambda: HarmlessTokens({}))  # for the corrected recall
    has_clinical: bool = False  # whether clinical words were counted apart

    def figure(self, name: str) -> Share:
        """Return one of `FIGURES`, exact."""
        return FIGURES[name](self.counts)

    def value(self, name: str) -> float | None:
        """Return one of `FIGURES` as a number in [0, 1], or None if it is undefined."""
        return self.figure(name).value

    def frame(self) -> pd.DataFrame:
        """Return all `FIGURES` as a data frame: figure, part, whole, value (missing if undefined)."""
        import pandas

        shares = {name: self.figure(name) for name in FIGURES}
        rows = [(name, one.part, one.whole, one.value) for name, one in shares.items()]
        return pandas.DataFrame(rows, columns=["figure", "part", "whole", "value"])

    def group(self, kind: GroupKind, name: str | None = None) -> GroupFigures:
        """Return the figures of a group, for example `group(GroupKind.HYPER, "NAME")`."""
        return group_figures(self.counts, group_number(kind, name))


def evaluate_masks(
    gold: Sequence[Document],
    masks: Mapping[str, Sequence[Range]],
    *,
    harmless: HarmlessTokens | None = None,
    clinical: WordTest | None = None,
    allow_missing: bool = False,
) -> Evaluation:
    """Compare the masks of each id, in any order, with gold documents.

    `harmless` are missed tokens that the corrected recall forgives, None is the packaged list. `clinical`
    recognises clinical words, None counts them as other words. With `allow_missing`, documents without
    masks count as unmasked.

    Raises:
        AnnotationError: An id is repeated, without masks or without gold, or a mask
            is empty, reversed or outside the text.

    Example:
        >>> from inverse_deid.core.phi import PhiType
        >>> from inverse_deid.core.values import PhiSpan
        >>> doc = Document("a", "Mr Li-Wu left", (PhiSpan(3, 8, PhiType.PATIENT),))
        >>> evaluate_masks([doc], {"a": [(3, 5)]}).figure("recall_all")
        Share(part=1, whole=2)
    """
    ids = tuple(doc.id for doc in gold)
    missing = _check_ids(ids, masks, allow_missing=allow_missing)
    harmless = read_harmless() if harmless is None else harmless
    rows = [count_document(doc, masks.get(doc.id, ()), harmless, clinical) for doc in gold]
    return Evaluation(ids, Counts.stack(rows), missing, harmless, clinical is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals:
    """The intervals of an evaluation, where None is an undefined figure."""

    figures: Mapping[str, Interval | None]  # by name
    # By column (see `group_number`) and field of `GroupFigures`, without groups that have no PHI.
    groups: Mapping[int, Mapping[str, Interval | None]]
    unit: Literal["document", "patient"]
    n_units: int
    n_units_with_phi: int
    n_units_of_group: Mapping[int, int]  # units with PHI of a group, by column
    confidence: float
    n_resamples: int
    seed: int

    def group(self, number: int, name: str) -> Interval | None:
        """Return the interval of a figure of a group, or None if it is undefined."""
        return self.groups.get(number, {}).get(name)


def intervals_of(
    evaluation: Evaluation,
    patients: Sequence[str] | None = None,
    *,
    n_resamples: int = N_RESAMPLES,
    confidence: float = CONFIDENCE,
    seed: int = SEED,
) -> Intervals:
    """Return an interval for each figure.

    Figures of tokens and identifiers are resampled by documents, or by the patient of each document.
    Shares of documents have Clopper and Pearson's interval. With patients they are resampled as
    well, because documents are then not independent either.

    Raises:
        ConfigurationError: `n_resamples` or `confidence` is out of range.
        StageError: The patients are of another number of documents.
    """
    counts = evaluation.counts
    columns = [
        number
        for number, group in enumerate(GROUPS)
        if group.kind in (GroupKind.HYPER, GroupKind.FINE) and counts.documents[:, number].any()
    ]
    found = bootstrap_all(
        counts,
        lambda rows: _shares(rows, columns),
        patients,
        n_resamples=n_resamples,
        confidence=confidence,
        seed=seed,
    )
    if patients is None:
        found |= {
            key: clopper_pearson(share.part, share.whole, confidence)
            for key, share in _shares(counts, columns).items()
            if key[1].startswith(_OF_DOCUMENTS)
        }
    units = np.arange(len(counts)) if patients is None else np.asarray(patients)
    has_phi = counts.documents[:, group_number(GroupKind.ALL)] > 0
    return Intervals(
        figures={name: found[None, name] for name in FIGURES},
        groups={
            column: {name: interval for (group, name), interval in found.items() if group == column}
            for column in columns
        },
        unit="document" if patients is None else "patient",
        n_units=len(np.unique(units)),
        n_units_with_phi=len(np.unique(units[has_phi])),
        n_units_of_group={
            column: len(np.unique(units[counts.documents[:, column] > 0])) for column in columns
        },
        confidence=confidence,
        n_resamples=n_resamples,
        seed=seed,
    )


def _shares(counts: Counts, columns: Sequence[int]) -> dict[tuple[int | None, str], Share]:
    # Column None = the overall figures.
    found: dict[tuple[int | None, str], Share] = {(None, name): f(counts) for name, f in FIGURES.items()}
    for column in columns:
        found |= {(column, name): share for name, share in asdict(group_figures(counts, column)).items()}
    return found


def read_patients(path: Path, ids: Sequence[str]) -> list[str]:
    """Read the patient of each document, in the order of `ids`, for intervals by patients.

    The file is CSV with the columns `id` and `patient`. Other columns and documents are ignored.

    Raises:
        InputError: The file cannot be read, a column or cell is missing, or a document is
            repeated or missing.
    """
    with name_files(path), input_errors(), open_input(path) as stream:
        rows = _read_rows(stream.read())
    if rows is None:
        raise FormatError(
            _(
                "{path}: not a CSV file with the columns id and patient. Separate them by commas, save "
                "as UTF-8",
                path=path,
            )
        )
    for number, row in enumerate(rows, start=2):
        if not (row["id"] and row["patient"]):
            raise FormatError(
                _("{path}: row {number} lacks its id or its patient. Fill in both", path=path, number=number)
            )
    if twice := find_repeated(row["id"] for row in rows):
        raise FormatError(
            _(
                "{path}: repeated: {documents}. Give every document one patient",
                path=path,
                documents=name_documents(twice),
            )
        )
    patients = {row["id"]: row["patient"] for row in rows}
    if absent := [doc_id for doc_id in ids if doc_id not in patients]:
        raise AnnotationError(
            _(
                "{path}: without a patient: {documents}. Give every document one patient",
                path=path,
                documents=name_documents(absent),
            )
        )
    return [patients[doc_id] for doc_id in ids]


def _read_rows(data: bytes) -> list[dict[str, str]] | None:
    # None = not CSV with the two columns.
    with suppress(UnicodeError, csv.Error):
        table = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True)
        rows = list(table)
        if {"id", "patient"} <= set(table.fieldnames or ()):
            return rows
    return None


def _check_ids(ids: Sequence[str], masks: Mapping[str, object], *, allow_missing: bool) -> tuple[str, ...]:
    if twice := find_repeated(ids):
        raise AnnotationError(
            _(
                "repeated in the gold: {documents}. Give every document its own id",
                documents=name_documents(twice),
            )
        )
    if surplus := sorted(set(masks) - set(ids)):
        raise AnnotationError(
            _(
                "masked but not in the gold: {documents}. Add them to the gold, or leave out their masks",
                documents=name_documents(surplus),
            )
        )
    missing = tuple(doc_id for doc_id in ids if doc_id not in masks)
    if missing and not allow_missing:
        raise AnnotationError(
            _("in the gold but not masked: {documents}", documents=name_documents(missing)),
            remedies=[
                Remedy(step=N_("mask them")),
                Remedy("allow_missing", step=N_("count them as unmasked with {}")),
            ],
        )
    return missing


def find_repeated(ids: Iterable[str]) -> list[str]:
    return sorted(doc_id for doc_id, n in Counter(ids).items() if n > 1)
