"""What leaves a store: released masked text, each file in the format that it came in.

A case leaves only if it is released and every token of it is decided by the policy; whatever does not fit
(a missing approval, another text than the one that was reviewed) keeps it back and is listed.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from sqlalchemy import Connection, Row, Select, func, select

from inverse_deid.core.errors import InverseDeidError, OutputExistsError, ReviewError
from inverse_deid.core.files import PartialFile
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.formats.icsr.cases import Case
from inverse_deid.formats.icsr.masking import TreatedCase, mask_message
from inverse_deid.formats.registry import FORMATS, open_source
from inverse_deid.masking.cases.masker import CaseMasker
from inverse_deid.masking.cases.reports import batch_number, replacements_of, texts_of
from inverse_deid.masking.cases.texts import CaseTexts
from inverse_deid.masking.pipeline import mask_everything
from inverse_deid.replacement.markers import fixed_marker
from inverse_deid.review.contents import read_content
from inverse_deid.review.final import final_tokens, masked_part
from inverse_deid.review.load_settings import OutputSettings, output_settings
from inverse_deid.review.store import ReviewStore
from inverse_deid.review.tables import CASES, SOURCES
from inverse_deid.review.trail import TrailEvent, append
from inverse_deid.review.values import CaseState

MAX_PROBLEMS = 100

Cases = Mapping[int, Row[Any]]
"""The cases of one file by their place in it."""

_NOT_RELEASED = "is not released"


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written.

    Args:
        n_cases: Cases in the files.
        n_left_out: Cases that are not released.
        problems: Cases or files that could not be written as they should, one sentence each.
        files: What was written.
        columns: What became of each column of tables, see `ColumnFate`.
    """

    n_cases: int
    n_left_out: int
    problems: tuple[str, ...]
    files: tuple[Path, ...]
    columns: Mapping[str, str] = field(default_factory=dict)


def export_released(
    store: ReviewStore, folder: Path, *, force: bool = False, by: str = "command"
) -> Exported:
    """Write the masked text of all released cases, each file in the format that it came in.

    Args:
        store: The store.
        folder: Where to write.
        force: Overwrite files that are there.
        by: Who exports, for the trail.

    Raises:
        OutputExistsError: A file is there and `force` is False.
        OutputError: A file cannot be written.
    """
    with store.reading() as connection:
        sources = connection.execute(_sources_with_releases()).all()
        n_left_out = connection.execute(
            select(func.count()).select_from(CASES).where(CASES.c.state != CaseState.RELEASED.value)
        ).scalar_one()
        targets = [_target(folder, source.name, force=force) for source in sources]
        out = _Releases(connection, store)
        written = [
            target for source, target in zip(sources, targets, strict=True) if out.write(source, target)
        ]
    event = f"released text exported: {out.n_cases} cases"
    with store.writing() as connection:
        append(connection, store, [TrailEvent(user=by, event=event)])
    problems = tuple(out.problems[:MAX_PROBLEMS])
    return Exported(out.n_cases, n_left_out, problems, tuple(written), out.columns)


def _sources_with_releases() -> Select[Any]:
    released = CASES.c.state == CaseState.RELEASED.value
    return (
        select(SOURCES.c.id, SOURCES.c.name, SOURCES.c.format)
        .where(SOURCES.c.id.in_(select(CASES.c.source_id).where(released)))
        .order_by(SOURCES.c.id)
    )


def _target(folder: Path, name: str, *, force: bool) -> Path:
    """Where a file goes; a name in the store never leads out of the folder.

    Raises:
        OutputExistsError: It is there.
        ReviewError: Its name was altered.
    """
    place = PurePosixPath(name)
    if place.is_absolute() or ".." in place.parts or "\\" in name:
        raise ReviewError("the name of a file in the store leads out of the folder; the store was altered")
    target = folder / place
    if target.exists() and not force:
        raise OutputExistsError(f"{target} exists already; give --force to overwrite it")
    return target


class _Releases:
    """Writes files and counts what is in them."""

    def __init__(self, connection: Connection, store: ReviewStore) -> None:
        self._connection = connection
        self._store = store
        self._settings: OutputSettings = output_settings(store.extra, store.case_key)
        self.n_cases = 0
        self.problems: list[str] = []
        self.columns: dict[str, str] = {}

    def write(self, source: Row[Any], target: Path) -> bool:
        """Write one file; False: nothing of it could be written."""
        found = select(CASES).where(CASES.c.source_id == source.id)
        cases = {row.number: row for row in self._connection.execute(found)}
        n_before, file, is_complete = self.n_cases, PartialFile(target), False
        try:
            sealed = select(SOURCES.c.sealed).where(SOURCES.c.id == source.id)
            stored = self._connection.execute(sealed).scalar_one()
            data = self._store.sealer.opened(stored, f"file {source.id}")
            if FORMATS[source.format].holds_cases:
                self._write_reports(source, data, cases, file)
            else:
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
            raise ReviewError(f"{n_waiting} rows are not released; a Parquet file is written when all are")
        opened = open_source(io.BytesIO(data), source.name, kind, self._settings.read_options)
        sink = opened.sink(file)
        for record in opened.records():
            if record.problem:
                continue
            if not record.docs:
                sink.write(record, ())
                continue
            texts = CaseTexts(id=record.docs[0].id, docs=record.docs)
            masked = self._masked(cases.get(record.number), texts)
            if masked is not None:
                sink.write(record, masked)
                self.n_cases += 1
            elif kind.needs_all_records:
                raise ReviewError(
                    f"row {record.number} cannot be released, and a Parquet file needs all rows"
                )
        sink.finish()
        self.columns |= opened.columns

    def _write_reports(self, source: Row[Any], data: bytes, cases: Cases, file: PartialFile) -> None:
        batch = ""

        def treat(parts: Sequence[Case]) -> list[TreatedCase]:
            nonlocal batch
            treated = []
            for part in parts:
                batch = batch_number(part) or batch
                texts = texts_of(part, f"case {part.number}", batch, source.name)
                treated.append(self._treated(part, texts, cases))
            return treated

        report = mask_message((io.BytesIO(data), file), treat, self._settings.profile)
        self.n_cases += report.n_cases
        for problem in report.problems:
            if problem.reason != _NOT_RELEASED:
                self.problems.append(f"{source.name} case {problem.number}: {problem.reason}")

    def _treated(self, part: Case, texts: CaseTexts, cases: Cases) -> TreatedCase:
        marker = self._store.facts.marker
        if part.is_case:
            reviewed = self._reviewed(cases.get(part.number), texts)
            if reviewed is None:
                return TreatedCase([], problem=_NOT_RELEASED)
        else:
            # Nobody reviews what stands around the cases: none of its words leaves.
            reviewed = [mask_everything(doc, fixed_marker(marker)) for doc in texts.docs]
        masked = CaseMasker(_Given(reviewed), self._settings.cases).mask_cases([texts])[0]
        given = replacements_of(part, masked, self._store.case_key, marker)
        return TreatedCase([doc.text for doc in masked.docs], given)

    def _masked(self, case: Row[Any] | None, texts: CaseTexts) -> Sequence[MaskedDocument] | None:
        """The texts of a released case with what stands for dates and ages, None = it is not released."""
        reviewed = self._reviewed(case, texts)
        if reviewed is None or case is None:
            return None
        known = read_content(self._connection, case.id, self._store.sealer).known
        docs = tuple(Document(doc.id, doc.text, known=known) for doc in texts.docs)
        masker = CaseMasker(_Given(reviewed), self._settings.cases)
        return masker.mask_cases([CaseTexts(id=texts.id, docs=docs)])[0].docs

    def _reviewed(self, case: Row[Any] | None, texts: CaseTexts) -> list[MaskedDocument] | None:
        """The texts of a case as they were reviewed, None = they must not leave."""
        if case is None or case.state != CaseState.RELEASED.value:
            return None
        try:
            content = read_content(self._connection, case.id, self._store.sealer)
            if [doc.text for doc in texts.docs] != [content.text[p.start : p.end] for p in content.parts]:
                raise ReviewError(f"case {case.id} is another text than the one that was reviewed")
            final = final_tokens(self._connection, self._store, case.id, content)
            return [masked_part(content, final, part, self._store.facts) for part in content.parts]
        except InverseDeidError as error:
            self.problems.append(f"{case.name}: {error}")
        return None


class _Given:
    """Gives back documents that were masked before (a `DocumentMasker`)."""

    fingerprint = "reviewed"

    def __init__(self, docs: Sequence[MaskedDocument]) -> None:
        self._docs = list(docs)

    def mask_many(self, docs: Sequence[Document]) -> list[MaskedDocument]:
        """The documents that were given."""
        return self._docs
