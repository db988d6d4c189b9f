"""Export released masked text, each file in its original format.

A case is exported only if it is released and every token of it is decided under the policy. Any mismatch
(a missing approval, another text than the one that was reviewed) holds it back and is listed.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, func, select

from inverse_deid.core.errors import InverseDeidError, OutputExistsError, RefusedRecordError, ReviewError
from inverse_deid.core.files import PartialFile
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.formats.icsr.profiles import Profile
from inverse_deid.formats.records import ReadOptions, Record, Sink
from inverse_deid.formats.registry import FORMATS
from inverse_deid.masking.case_masker import CaseMasker
from inverse_deid.masking.case_reports import replacements_of, texts_of
from inverse_deid.masking.pipeline import mask_everything
from inverse_deid.replacement.case_texts import CaseTexts
from inverse_deid.replacement.markers import fixed_marker
from inverse_deid.replacement.replacers import MaskedCase
from inverse_deid.replacement.settings import CaseSettings
from inverse_deid.review.contents import read_content
from inverse_deid.review.layers import read_final, render_part
from inverse_deid.review.store import ReviewStore
from inverse_deid.review.tables import CASES, SOURCES
from inverse_deid.review.trail import TrailEvent, append
from inverse_deid.review.values import CaseState

MAX_PROBLEMS = 100

Cases = Mapping[int, Row[Any]]
"""The cases of one file by their number in it."""


@dataclass(frozen=True, slots=True)
class OutputSettings:
    """How a store was made, as far as an export needs to know; JSON in the store.

    Args:
        cases: Replacements of dates, ages and ids.
        profile: Treatment of the structured fields of case reports.
        read_options: How files are read.
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
        return msgspec.convert(given, cls, builtin_types=[bytes])


@dataclass(frozen=True, slots=True)
class Exported:
    """Result of an export.

    Args:
        n_cases: Cases in the files.
        n_left_out: Cases that are not released.
        problems: One sentence for each case or file that could not be written.
        files: The files written.
        columns: The `ColumnFate` of each column of tables.
    """

    n_cases: int
    n_left_out: int
    problems: tuple[str, ...]
    files: tuple[Path, ...]
    columns: Mapping[str, str] = field(default_factory=dict)


def export_released(
    store: ReviewStore, folder: Path, *, force: bool = False, by: str = "command"
) -> Exported:
    """Write the masked text of all released cases, each file in its original format.

    Raises:
        OutputExistsError: A file exists and `force` is False.
        OutputError: A file cannot be written.
    """
    with store.reading() as connection:
        released = select(CASES.c.source_id).where(CASES.c.state == CaseState.RELEASED.value)
        found = select(SOURCES.c.id, SOURCES.c.name, SOURCES.c.format).where(SOURCES.c.id.in_(released))
        sources: Any = connection.execute(found.order_by(SOURCES.c.id)).all()
        n_left_out = connection.execute(
            select(func.count()).select_from(CASES).where(CASES.c.state != CaseState.RELEASED.value)
        ).scalar_one()
        targets = [_choose_target(folder, source.name, force=force) for source in sources]
        out = _Releases(connection, store)
        written = [
            target for source, target in zip(sources, targets, strict=True) if out.write(source, target)
        ]
    event = f"released text exported: {out.n_cases} cases"
    with store.writing() as connection:
        append(connection, store, [TrailEvent(user=by, event=event)])
    problems = tuple(out.problems[:MAX_PROBLEMS])
    return Exported(out.n_cases, n_left_out, problems, tuple(written), out.columns)


def _choose_target(folder: Path, name: str, *, force: bool) -> Path:
    """Return the path to write; a name in the store never leads out of the folder."""
    place = PurePosixPath(name)
    if place.is_absolute() or ".." in place.parts or "\\" in name:
        raise ReviewError("a file name in the store leads out of the folder: the store was altered")
    target = folder / place
    if target.exists() and not force:
        raise OutputExistsError(f"{target} already exists. Use --force to overwrite it.")
    return target


class _Releases:
    """Writes files and counts what is in them."""

    def __init__(self, connection: Connection, store: ReviewStore) -> None:
        self._connection = connection
        self._store = store
        self._settings = OutputSettings.load(store.extra, store.case_key)
        self.n_cases = 0
        self.problems: list[str] = []
        self.columns: dict[str, str] = {}

    def write(self, source: Row[Any], target: Path) -> bool:
        """Write one file; return False if none of its cases could be written."""
        found = select(CASES).where(CASES.c.source_id == source.id)
        cases = {row.number: row for row in self._connection.execute(found)}
        n_before, file, is_complete = self.n_cases, PartialFile(target), False
        try:
            sealed = select(SOURCES.c.sealed).where(SOURCES.c.id == source.id)
            stored = self._connection.execute(sealed).scalar_one()
            data = self._store.sealer.open(stored, f"file {source.id}")
            self._write_records(source, data, cases, file)
            file.sync()
            is_complete = self.n_cases > n_before
        except ReviewError as error:
            self.n_cases = n_before
            self.problems.append(f"{source.name}: {error}")
        finally:
            file.commit() if is_complete else file.discard()
        return is_complete

    def _write_records(self, source: Row[Any], data: bytes, cases: Cases, file: PartialFile) -> None:
        kind = FORMATS[source.format]
        n_waiting = sum(case.state != CaseState.RELEASED.value for case in cases.values())
        if kind.needs_all_records and n_waiting:
            raise ReviewError(f"{n_waiting} rows are not released, and a Parquet file needs all rows")
        options = replace(self._settings.read_options, profile=self._settings.profile)
        opened = kind.open(io.BytesIO(data), options, source.name)
        sink = opened.sink(file)
        for record in opened.records():
            if record.problem and not record.is_frame:
                if kind.holds_cases:
                    self.problems.append(f"{source.name} {opened.unit} {record.number}: {record.problem}")
                continue
            if not record.docs and record.report is None:
                sink.write(record, ())
                continue
            masked = self._mask(cases.get(record.number), record)
            if masked is not None:
                self._write_record(source, sink, record, masked)
            elif kind.needs_all_records:
                raise ReviewError(
                    f"row {record.number} cannot be released, and a Parquet file needs all rows"
                )
        sink.finish()
        self.columns |= opened.columns

    def _write_record(self, source: Row[Any], sink: Sink, record: Record, masked: MaskedCase) -> None:
        """Write a released case; one that is refused is noted."""
        if record.report is not None:
            marker = self._store.facts.marker
            record = replace(record, fields=replacements_of(masked, self._store.case_key, marker))
        try:
            sink.write(record, masked.docs)
        except RefusedRecordError as error:
            self.problems.append(f"{source.name} case {record.number}: {error}")
        else:
            self.n_cases += not record.is_frame

    def _mask(self, case: Row[Any] | None, record: Record) -> MaskedCase | None:
        """Return the texts of a released case with their dates and ages; None = it is not released."""
        texts = texts_of(record)
        if record.is_frame:
            # Nobody reviews the text around the cases, so all of its words are masked.
            marker = fixed_marker(self._store.facts.marker)
            reviewed: list[MaskedDocument] | None = [mask_everything(doc, marker) for doc in texts.docs]
        else:
            reviewed = self._read_reviewed(case, texts)
        if reviewed is None:
            return None
        if record.report is None and case is not None:
            known = read_content(self._connection, case.id, self._store.sealer).known
            docs = tuple(Document(doc.id, doc.text, known=known) for doc in texts.docs)
            texts = CaseTexts(id=texts.id, docs=docs)
        return CaseMasker(_ReviewedMasker(reviewed), self._settings.cases).mask_cases([texts])[0]

    def _read_reviewed(self, case: Row[Any] | None, texts: CaseTexts) -> list[MaskedDocument] | None:
        """Return the texts of a case as they were reviewed, None = they must not be exported."""
        if case is None or case.state != CaseState.RELEASED.value:
            return None
        try:
            content = read_content(self._connection, case.id, self._store.sealer)
            if [doc.text for doc in texts.docs] != [content.text[p.start : p.end] for p in content.parts]:
                raise ReviewError(f"case {case.id} has another text than the one that was reviewed")
            final = read_final(self._connection, self._store, case.id, content)
            return [render_part(content, final, part, self._store.facts) for part in content.parts]
        except InverseDeidError as error:
            self.problems.append(f"{case.name}: {error}")
        return None


class _ReviewedMasker:
    """Returns documents that were masked before (a `DocumentMasker`)."""

    fingerprint = "reviewed"

    def __init__(self, docs: Sequence[MaskedDocument]) -> None:
        self._docs = list(docs)

    def mask_many(self, docs: Sequence[Document]) -> list[MaskedDocument]:
        """Return the given documents."""
        return self._docs
