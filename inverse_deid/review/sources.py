"""The files of a store: how each is masked and written, its name in exports, and the list of them."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import msgspec
from sqlalchemy import Connection, func, select

from inverse_deid.core.errors import ReviewError
from inverse_deid.formats.icsr.profiles import Profile
from inverse_deid.formats.records import ReadOptions
from inverse_deid.replacement.settings import CaseSettings
from inverse_deid.review.store import MaskingFacts, ReviewStore
from inverse_deid.review.tables import CASES, INTAKES, MASKINGS, SOURCES
from inverse_deid.review.values import CaseState


@dataclass(frozen=True, slots=True)
class OutputSettings:
    """How the cases of a file are read and written; JSON in the store.

    `cases` replace dates, ages and ids, and `profile` treats the structured fields of case reports.
    """

    cases: CaseSettings
    profile: Profile
    read_options: ReadOptions

    def dump(self) -> dict[str, Any]:
        """Return the settings as JSON, without the key."""
        stored: dict[str, Any] = msgspec.to_builtins(self)
        del stored["cases"]["key"]
        return stored

    @classmethod
    def load(cls, stored: dict[str, Any], key: bytes) -> OutputSettings:
        """Read the JSON of `dump`, with the key for shifts and pseudonyms."""
        options = dict(stored["read_options"])
        if "text_column" in options:
            # A store of an older version names one text column, and drops all others now.
            options["text_columns"] = [options.pop("text_column")]
        given = {**stored, "cases": {**stored["cases"], "key": key}, "read_options": options}
        loaded = msgspec.convert(given, cls, builtin_types=[bytes])
        known = loaded.dump()
        if any(stored[part].keys() - known[part].keys() for part in ("cases", "profile")) or (
            options.keys() - known["read_options"].keys()
        ):
            raise TypeError("settings of a newer version")  # they may hide what this version would show
        return loaded


@dataclass(frozen=True, slots=True)
class SourceMasking:
    """How the cases of a file were masked, and how the file is written. The fingerprint names all of it."""

    facts: MaskingFacts
    output: OutputSettings
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRow:
    """One file of a store. `name` is that of exports; `added_at` is in seconds since 1970, UTC."""

    id: int
    name: str
    format: str
    added_at: float
    added_by: str
    n_cases: int
    n_released: int


def read_facts(connection: Connection, case_id: int) -> MaskingFacts:
    """Return how a case was masked.

    Raises:
        ReviewError: The case does not exist.
    """
    found = select(MASKINGS.c.facts).join(INTAKES, INTAKES.c.masking_id == MASKINGS.c.id)
    found = found.join(CASES, CASES.c.source_id == INTAKES.c.source_id).where(CASES.c.id == case_id)
    stored = connection.execute(found).scalar_one_or_none()
    if stored is None:
        raise ReviewError(f"the store has no case {case_id}")
    return MaskingFacts.from_json(json.loads(stored))


def read_masking(connection: Connection, store: ReviewStore, source_id: int) -> SourceMasking:
    """Return how a file is masked and written.

    Raises:
        ReviewError: The file does not exist.
    """
    found = select(MASKINGS).join(INTAKES, INTAKES.c.masking_id == MASKINGS.c.id)
    row = connection.execute(found.where(INTAKES.c.source_id == source_id)).one_or_none()
    if row is None:
        raise ReviewError(f"the store has no file {source_id}")
    output = OutputSettings.load(json.loads(row.output), store.case_key)
    return SourceMasking(MaskingFacts.from_json(json.loads(row.facts)), output, row.fingerprint)


def list_sources(store: ReviewStore) -> tuple[SourceRow, ...]:
    """Return all files in the order in which they were added."""
    is_released = CASES.c.state == CaseState.RELEASED.value
    columns = (SOURCES.c.id, SOURCES.c.format, INTAKES.c.export_name, INTAKES.c.added_at, INTAKES.c.added_by)
    found = (
        select(
            *columns,
            func.count(CASES.c.id).label("n_cases"),
            func.count(CASES.c.id).filter(is_released).label("n_released"),
        )
        .join(INTAKES, INTAKES.c.source_id == SOURCES.c.id)
        .outerjoin(CASES, CASES.c.source_id == SOURCES.c.id)
        .group_by(*columns)
        .order_by(SOURCES.c.id)
    )
    with store.reading() as connection:
        return tuple(
            SourceRow(
                id=row.id,
                name=row.export_name,
                format=row.format,
                added_at=row.added_at,
                added_by=row.added_by,
                n_cases=row.n_cases,
                n_released=row.n_released,
            )
            for row in connection.execute(found)
        )


class DistinctNames:
    """Gives each file a name that no other file has, even where capitals do not count.

    Example:
        >>> names = DistinctNames(["a/cases.csv"])
        >>> names.take("a/Cases.csv"), names.take("a/cases.csv"), names.take("b/cases.csv")
        ('a/Cases (2).csv', 'a/cases (3).csv', 'b/cases.csv')
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(map(_fold, taken))

    def take(self, name: str) -> str:
        """Return the name, with a number if it is taken."""
        path, n, chosen = PurePosixPath(name), 1, name
        while _fold(chosen) in self._taken:
            n += 1
            chosen = str(path.with_name(f"{path.stem} ({n}){path.suffix}"))
        self._taken.add(_fold(chosen))
        return chosen


def _fold(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()
