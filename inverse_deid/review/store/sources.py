"""The files of a store: how each is masked and written, its name in exports, and the list of them."""

from __future__ import annotations

import hashlib
import hmac
import json
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import msgspec
from sqlalchemy import Row, func, select

from inverse_deid.core.errors import ConfigurationError, ReviewError, UnreadableInputError
from inverse_deid.core.wording import _
from inverse_deid.files.facts import FileFacts
from inverse_deid.formats.icsr.standard.profiles import Profile
from inverse_deid.formats.records import ReadOptions
from inverse_deid.replacement.settings import CaseSettings
from inverse_deid.review.store.opening import FILE_HASHES, ReviewStore, Transaction
from inverse_deid.review.store.rows import refuse_row
from inverse_deid.review.store.tables import (
    CASES,
    INTAKES,
    LAST_CASE,
    LAST_SOURCE,
    MASKINGS,
    META,
    SOURCES,
    place_of,
)
from inverse_deid.review.store.values import CaseState, MaskingFacts


@dataclass(frozen=True, slots=True)
class OutputSettings:
    """How the cases of a file are read and written; JSON in the store."""

    cases: CaseSettings  # replaces dates, ages and ids
    profile: Profile  # treats the structured fields of case reports
    read_options: ReadOptions

    def dump(self) -> dict[str, Any]:
        """Return the settings as JSON, without the key."""
        stored: dict[str, Any] = msgspec.to_builtins(self)
        del stored["cases"]["key"]
        return stored

    @classmethod
    def load(cls, stored: dict[str, Any], key: bytes) -> OutputSettings:
        """Read the JSON of `dump`, with the key for shifts and pseudonyms."""
        given = {**stored, "cases": {**stored["cases"], "key": key}}
        loaded = msgspec.convert(given, cls, builtin_types=[bytes])
        if any(stored[part].keys() - known.keys() for part, known in loaded.dump().items()):
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


def open_source(transaction: Transaction, source_id: int, sealed: bytes) -> bytes:
    """Decrypt a file, and compare it with the hash of what was added.

    Raises:
        UnreadableInputError: It was altered, or is another file.
    """
    place = place_of(SOURCES.c.sealed, {"id": source_id})
    data = transaction.sealer.open(sealed, place)
    found = select(INTAKES.c.content_hash).where(INTAKES.c.source_id == source_id)
    stated = str(transaction.execute(found).scalar_one_or_none())
    # While the key is changed, the hash can be one of an older key.
    keys = [one.derive(FILE_HASHES) for one in transaction.store.keys.data]
    if not any(hmac.compare_digest(hash_file(key, data), stated) for key in keys):
        raise refuse_row(place)
    return data


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file with its opened names: as it came, and in exports."""

    id: int
    name: str
    format: str
    export_name: str


def open_names(transaction: Transaction, row: Row[Any]) -> SourceFile:
    """Return a row of `SOURCES` and `INTAKES` with its names opened.

    Raises:
        UnreadableInputError: They were altered.
    """
    names = transaction.names
    return SourceFile(row.id, names.open(row.name), row.format, names.open(row.export_name))


def read_file_facts(store: ReviewStore, source_ids: Collection[int]) -> dict[int, FileFacts]:
    """Return what was found in files when they were masked, by the id of the file."""
    with store.reading() as transaction:
        return read_facts_of(transaction, source_ids)


def read_facts_around(store: ReviewStore, case_id: int) -> FileFacts:
    """Return what was found in the file of a case."""
    found = select(CASES.c.source_id).where(CASES.c.id == case_id)
    with store.reading() as transaction:
        source_id = transaction.execute(found).scalar_one()
        return read_facts_of(transaction, [source_id])[source_id]


def read_facts_of(transaction: Transaction, source_ids: Collection[int]) -> dict[int, FileFacts]:
    """Return what was found in files; damaged facts count as nothing found (`verify` names their row)."""
    found = select(INTAKES.c.source_id, INTAKES.c.sealed_facts)
    facts = dict.fromkeys(source_ids, FileFacts())
    for row in transaction.execute(found.where(INTAKES.c.source_id.in_(source_ids))):
        with suppress(UnreadableInputError, msgspec.MsgspecError):
            opened = transaction.sealer.open(row.sealed_facts, place_of(INTAKES.c.sealed_facts, row._mapping))
            facts[row.source_id] = msgspec.json.decode(opened, type=FileFacts)
    return facts


def seal_facts(transaction: Transaction, source_id: int, facts: FileFacts) -> bytes:
    """Return the sealed facts of a file."""
    place = place_of(INTAKES.c.sealed_facts, {"source_id": source_id})
    return transaction.sealer.seal(msgspec.json.encode(facts), place)


def read_facts(transaction: Transaction, case_id: int) -> MaskingFacts:
    """Return how a case was masked; fails as `Transaction.read_facts`."""
    return transaction.read_facts([case_id])[case_id]


def read_masking(transaction: Transaction, source_id: int) -> SourceMasking:
    """Return how a file is masked and written.

    Raises:
        ReviewError: The file does not exist, or a newer program added it: its settings could hide something.
    """
    found = select(MASKINGS, INTAKES).join(INTAKES, INTAKES.c.masking_id == MASKINGS.c.id)
    rows = transaction.read(found.where(INTAKES.c.source_id == source_id), MASKINGS, INTAKES)
    if not rows:
        raise ReviewError(_("the store has no file {source_id}", source_id=source_id))
    (row,) = rows
    with suppress(TypeError, KeyError, msgspec.ValidationError, ConfigurationError):
        output = OutputSettings.load(json.loads(row.output), transaction.store.case_key)
        return SourceMasking(MaskingFacts.from_json(json.loads(row.facts)), output, row.fingerprint)
    raise ReviewError(
        _("the settings of file {source_id} are of a newer program. Install a newer one", source_id=source_id)
    )


@dataclass(slots=True)
class LastNumbers:
    """The largest numbers that a case and a file of the store ever had; a deleted one is not given again."""

    case: int
    source: int


def lock_numbers(transaction: Transaction) -> LastNumbers:
    """Return the last numbers; until the transaction ends, nobody else adds or deletes files."""
    found = select(META).where(META.c.name.in_((LAST_CASE, LAST_SOURCE)))
    rows = transaction.read(found.order_by(META.c.name).with_for_update(), META)
    numbers = {row.name: int(row.value) for row in rows}
    return LastNumbers(numbers[LAST_CASE], numbers[LAST_SOURCE])


def store_numbers(transaction: Transaction, numbers: LastNumbers) -> None:
    for name, value in ((LAST_CASE, numbers.case), (LAST_SOURCE, numbers.source)):
        transaction.update(META, META.c.name == name, value=str(value))


def store_masking(transaction: Transaction, facts: Mapping[str, Any], output: Mapping[str, Any]) -> int:
    """Store a way of masking and return its id; one that the store has already gets no second row."""
    fingerprint = hash_masking(facts, output)
    found = select(MASKINGS.c.id).where(MASKINGS.c.fingerprint == fingerprint)
    known: int | None = transaction.execute(found).scalar_one_or_none()
    if known is not None:
        return known
    row = {"fingerprint": fingerprint, "facts": json.dumps(facts), "output": json.dumps(output)}
    return transaction.insert(MASKINGS, row)


def hash_masking(facts: Mapping[str, Any], output: Mapping[str, Any]) -> str:
    """Return a hash that changes with everything that shapes decisions and files."""
    return hashlib.sha256(json.dumps([facts, output], sort_keys=True).encode()).hexdigest()


def hash_file(key: bytes, data: bytes) -> str:
    """Return a hash of a file that only holders of the key can compare with another file."""
    return hash_digest(key, hashlib.sha256(data).digest())


def hash_digest(key: bytes, digest: bytes) -> str:
    """Return the same, given the SHA-256 of a file."""
    return hmac.digest(key, digest, "sha256").hex()


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
    with store.reading() as transaction:
        return tuple(
            SourceRow(
                id=row.id,
                name=transaction.names.open(row.export_name),
                format=row.format,
                added_at=row.added_at,
                added_by=row.added_by,
                n_cases=row.n_cases,
                n_released=row.n_released,
            )
            for row in transaction.execute(found)
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
        path, n, chosen = PurePosixPath(name), 1, name
        while _fold(chosen) in self._taken:
            n += 1
            chosen = str(path.with_name(f"{path.stem} ({n}){path.suffix}"))
        self._taken.add(_fold(chosen))
        return chosen


def _fold(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()
