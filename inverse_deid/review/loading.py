"""Load files into a new store: every case is masked and stored with the model's decisions."""

from __future__ import annotations

import dataclasses
import io
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Connection, insert, inspect

from inverse_deid.core.errors import InputError, OutputExistsError, StageError, UnreadableInputError
from inverse_deid.core.files import output_errors, partial_path
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.engine.jobs import Job, PlanSettings, plan_jobs
from inverse_deid.engine.masker import Masker
from inverse_deid.engine.serial import BATCH_CHARS, OnProgress, guard_records
from inverse_deid.engine.tally import Tally
from inverse_deid.formats.icsr.profiles import DEFAULT_PROFILE, Profile, builtin_profile
from inverse_deid.formats.known_values import KnownOfDocuments
from inverse_deid.formats.records import Format, ReadOptions, Record, RemovesParts
from inverse_deid.formats.registry import input_errors, open_input
from inverse_deid.replacement.settings import CaseSettings
from inverse_deid.review.contents import join_texts, rank_case, seal_content
from inverse_deid.review.exporting import OutputSettings
from inverse_deid.review.store import (
    Clock,
    MaskingFacts,
    ReviewKey,
    ReviewStore,
    Sealer,
    make_engine,
    open_store,
    store_path,
    write_settings,
)
from inverse_deid.review.tables import CASES, CONTENTS, META, SOURCES
from inverse_deid.review.trail import begin_trail
from inverse_deid.review.values import CaseState, ReviewPolicy

MAX_SOURCE_BYTES = 512 * 1024 * 1024

_NOWHERE = Path("released cases of a review")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSettings:
    """How a store is made: the rules for release, how cases are masked, and how files are read.

    `cases` replace dates, ages and ids when cases are released, and `profile` treats the structured fields of
    case reports. `known` are identifiers that documents must not show, by the id of the document.
    `on_progress` is called after every batch.
    """

    policy: ReviewPolicy = field(default_factory=ReviewPolicy)
    facts: MaskingFacts
    cases: CaseSettings
    profile: Profile = field(default_factory=lambda: builtin_profile(DEFAULT_PROFILE))
    read_options: ReadOptions = field(default_factory=ReadOptions)
    known: KnownOfDocuments = field(default_factory=dict, repr=False)
    on_progress: OnProgress = field(default=lambda _documents, _tokens: None)


def plan_cases(inputs: Sequence[Path], kind: Format | None = None) -> tuple[list[Job], Tally]:
    """Return the files with cases, and a tally of all other files."""
    return plan_jobs(inputs, PlanSettings(out=_NOWHERE, format=kind))


def create_store(
    address: str | Path,
    key: ReviewKey,
    jobs: Sequence[Job],
    masker: Masker,
    settings: LoadSettings,
    *,
    clock: Clock = time.time,
) -> tuple[ReviewStore, Tally]:
    """Make a store of all cases in the files of jobs from `plan_cases`.

    The store appears only when it is complete. A case that cannot be read is left out and listed in
    the tally. If the model fails on a case, all of it is masked and it comes first in the work list.
    The address is the path of an SQLite file, or a URL of SQLAlchemy. The key encrypts the texts; without
    it they cannot be read again.

    Raises:
        OutputExistsError: The address already has a store.
        InputError: No case could be read.
    """
    tally = Tally()
    path = store_path(address)
    with _new_file(path) as place:
        engine = make_engine(address if path is None else place)
        try:
            with engine.connect() as connection, connection.begin():
                if inspect(connection).has_table(META.name):
                    raise OutputExistsError("the database already has a store. Use another database.")
                extra = OutputSettings(settings.cases, settings.profile, settings.read_options).dump()
                write_settings(connection, key, settings.policy, settings.facts, extra)
                begin_trail(connection, key.derive("trail"))
                _Loader(connection, Sealer(key.derive("encryption")), masker, settings, tally).load(jobs)
                if not tally.n_documents:
                    first = (
                        f": {tally.failures[0].where} {tally.failures[0].reason}" if tally.failures else ""
                    )
                    raise UnreadableInputError(f"no case could be read{first}")
        finally:
            engine.dispose()
    return open_store(address, key, clock=clock), tally


@contextmanager
def _new_file(path: Path | None) -> Iterator[Path]:
    """Yield the path to write a new store to; it gets its name when the block ends without an error."""
    if path is None:
        yield _NOWHERE
        return
    if os.path.lexists(path):
        raise OutputExistsError(f"{path} already exists, and a store is never overwritten. Use another name.")
    place = partial_path(path)
    is_complete = False
    try:
        with output_errors(path):
            place.unlink(missing_ok=True)
            os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        yield place
        with output_errors(path):
            place.rename(path)
        is_complete = True
    finally:
        for name in ("",) if is_complete else ("", "-wal", "-shm", "-journal"):
            with suppress(OSError):
                place.with_name(place.name + name).unlink()


@dataclass(frozen=True, slots=True, eq=False)
class _Item:
    """One case to mask."""

    source_id: int
    number: int
    name: str
    docs: tuple[Document, ...]


class _Loader:
    """Masks cases in batches and writes them into the tables of a new store."""

    def __init__(
        self, connection: Connection, sealer: Sealer, masker: Masker, settings: LoadSettings, tally: Tally
    ) -> None:
        self._connection = connection
        self._sealer = sealer
        self._masker = masker
        self._settings = settings
        self._tally = tally
        self._case_id = 0

    def load(self, jobs: Sequence[Job]) -> None:
        """Write the cases of all files; a file or case that cannot be read is in the tally."""
        waiting: list[_Item] = []
        n_chars = 0
        for item in self._items(jobs):
            waiting.append(item)
            n_chars += sum(len(doc.text) for doc in item.docs)
            if n_chars >= BATCH_CHARS:
                self._write(waiting)
                waiting, n_chars = [], 0
        self._write(waiting)

    def _items(self, jobs: Sequence[Job]) -> Iterator[_Item]:
        for source_id, job in enumerate(jobs, start=1):
            try:
                yield from self._of_file(source_id, job)
            except InputError as error:
                self._tally.fail(job.shown, str(error))

    def _of_file(self, source_id: int, job: Job) -> Iterator[_Item]:
        """Yield the cases of one file and store the file itself, to write it out again."""
        with open_input(job.input) as stream, input_errors():
            data = stream.read(MAX_SOURCE_BYTES + 1)
        if len(data) > MAX_SOURCE_BYTES:
            raise UnreadableInputError(f"is larger than {MAX_SOURCE_BYTES >> 20} MiB. Split it.")
        sealed = self._sealer.seal(data, f"file {source_id}")
        row = {"id": source_id, "name": job.name, "format": job.format.name, "sealed": sealed}
        self._connection.execute(insert(SOURCES), row)
        source = job.format.open(io.BytesIO(data), self._settings.read_options, job.name)
        for record in guard_records(source.records()):
            if record.is_frame:
                continue
            if record.problem:
                where = f"{job.shown} {record.place or f'{source.unit} {record.number}'}"
                self._tally.fail(where, f"{record.problem}, so it was left out")
            elif record.report is not None:
                yield _Item(source_id, record.number, f"{job.name} case {record.number}", record.docs)
            elif record.docs:
                yield self._item(source_id, record)
        self._tally.note_columns(source.columns)
        if isinstance(source, RemovesParts):
            self._tally.note_removed(source.removed)

    def _item(self, source_id: int, record: Record) -> _Item:
        """Return a document or row with the identifiers that are known of it."""
        name = record.docs[0].id
        known = self._settings.known.get(name, ())
        docs = tuple(
            dataclasses.replace(doc, id=column, known=(*doc.known, *known))
            for doc, column in zip(record.docs, record.columns or (name,), strict=True)
        )
        return _Item(source_id, record.number, name, docs)

    def _write(self, items: Sequence[_Item]) -> None:
        """Mask a batch of cases and write them."""
        docs = [doc for item in items for doc in item.docs]
        results = self._masker.mask_many(docs) if docs else []
        if [doc.id for doc in docs] != [result.id for result in results]:
            raise StageError(
                f"the masker returned other documents than it was given ({len(results)} for {len(docs)})"
            )
        masked = iter(results)
        cases, contents = [], []
        for item in items:
            case, content = self._rows(item, [next(masked) for _ in item.docs])
            cases.append(case)
            contents.append(content)
        if items:
            self._connection.execute(insert(CASES), cases)
            self._connection.execute(insert(CONTENTS), contents)
            self._settings.on_progress(len(items), sum(len(one.tokens) for one in results))

    def _rows(
        self, item: _Item, masked: Sequence[MaskedDocument]
    ) -> tuple[dict[str, object], dict[str, object]]:
        self._case_id += 1
        content = join_texts(item.docs, masked)
        is_failed = any(one.failed for one in masked)
        self._tally.add_case(masked)
        if is_failed:
            self._tally.fail(item.name, "could not be analysed and was masked completely. It comes first.")
        doubt, n_doubtful = rank_case(content.decisions, is_failed=is_failed)
        case: dict[str, object] = {
            "id": self._case_id,
            "source_id": item.source_id,
            "number": item.number,
            "name": item.name,
            "state": CaseState.NEW.value,
            "doubt": doubt,
            "n_tokens": len(content.tokens),
            "n_doubtful": n_doubtful,
            "is_failed": is_failed,
            "n_approvals": 0,
        }
        return case, seal_content(content, self._case_id, self._sealer)
