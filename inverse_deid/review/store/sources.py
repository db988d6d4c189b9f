"""The files of a store: how each is masked and written, its name in exports, and the list of them."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import msgspec
from sqlalchemy import Connection, func, select

from inverse_deid.core.errors import ConfigurationError, ReviewError
from inverse_deid.formats.icsr.standard.profiles import Profile
from inverse_deid.formats.records import ReadOptions
from inverse_deid.replacement.settings import CaseSettings
from inverse_deid.review.store.opening import MaskingFacts, ReviewStore
from inverse_deid.review.store.tables import CASES, INTAKES, MASKINGS, SOURCES
from inverse_deid.review.store.values import CaseState

_IDS_AT_ONCE = 1000


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


def read_facts(connection: Connection, store: ReviewStore, case_id: int) -> MaskingFacts:
    """Return how a case was masked; fails as `read_facts_of`."""
    return read_facts_of(connection, store, [case_id])[case_id]


def read_facts_of(
    connection: Connection, store: ReviewStore, case_ids: Sequence[int]
) -> dict[int, MaskingFacts]:
    """Return how cases were masked, by their numbers.

    Raises:
        ReviewError: A case does not exist.
        UnreadableInputError: The settings of its file were altered.
    """
    parsed: dict[int, MaskingFacts] = {}
    facts: dict[int, MaskingFacts] = {}
    for begin in range(0, len(case_ids), _IDS_AT_ONCE):
        found = select(CASES.c.id.label("case_id"), MASKINGS)
        found = found.join(INTAKES, INTAKES.c.source_id == CASES.c.source_id)
        found = found.join(MASKINGS, MASKINGS.c.id == INTAKES.c.masking_id)
        found = found.where(CASES.c.id.in_(case_ids[begin : begin + _IDS_AT_ONCE]))
        for row in connection.execute(found):
            if row.id not in parsed:
                parsed[row.id] = MaskingFacts.from_json(json.loads(store.rows.check(MASKINGS, row).facts))
            facts[row.case_id] = parsed[row.id]
    for case_id in case_ids:
        if case_id not in facts:
            raise ReviewError(f"the store has no case {case_id}")
    return facts


def read_masking(connection: Connection, store: ReviewStore, source_id: int) -> SourceMasking:
    """Return how a file is masked and written.

    Raises:
        ReviewError: The file does not exist, or a newer program added it: its settings could hide something.
    """
    found = select(MASKINGS, INTAKES).join(INTAKES, INTAKES.c.masking_id == MASKINGS.c.id)
    rows = store.rows.read(connection, found.where(INTAKES.c.source_id == source_id), MASKINGS, INTAKES)
    if not rows:
        raise ReviewError(f"the store has no file {source_id}")
    (row,) = rows
    with suppress(TypeError, KeyError, msgspec.ValidationError, ConfigurationError):
        output = OutputSettings.load(json.loads(row.output), store.case_key)
        return SourceMasking(MaskingFacts.from_json(json.loads(row.facts)), output, row.fingerprint)
    raise ReviewError(f"the settings of file {source_id} are of a newer program. Install a newer one")


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
