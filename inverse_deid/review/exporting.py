"""Export released cases: masked text in the original formats, and annotated documents.

A case is exported only if it is released and every token of it is decided under the policy. Any mismatch
(a missing approval, another text than the one that was reviewed) holds it back and is listed.

Annotated documents contain the ORIGINAL text with the masks of the reviewers as spans: keep them as safe
as the originals.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
import numpy as np
from sqlalchemy import Connection, Row, func, select

from inverse_deid.core.errors import (
    AnnotationError,
    InverseDeidError,
    OutputExistsError,
    RefusedRecordError,
    ReviewError,
)
from inverse_deid.core.files import PartialFile, write_whole
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.formats.brat import brat_annotations, brat_text, read_gold_brat
from inverse_deid.formats.i2b2_xml import gold_i2b2_xml
from inverse_deid.formats.icsr.profiles import Profile
from inverse_deid.formats.json_lines import gold_json_line
from inverse_deid.formats.records import ReadOptions, Record, Sink
from inverse_deid.formats.registry import FORMATS, input_errors
from inverse_deid.masking.case_masker import CaseMasker
from inverse_deid.masking.case_reports import replacements_of, texts_of
from inverse_deid.masking.pipeline import mask_everything
from inverse_deid.replacement.case_texts import CaseTexts
from inverse_deid.replacement.markers import fixed_marker
from inverse_deid.replacement.replacers import MaskedCase
from inverse_deid.replacement.settings import CaseSettings
from inverse_deid.review.contents import CaseContent, read_content
from inverse_deid.review.editing import take_steps
from inverse_deid.review.layers import (
    Step,
    apply_steps,
    find_changes,
    find_runs,
    find_spans,
    read_final,
    render_part,
)
from inverse_deid.review.store import ReviewStore
from inverse_deid.review.tables import CASES, SOURCES
from inverse_deid.review.trail import TrailEvent, append
from inverse_deid.review.values import CATEGORIES, CaseState, Edited, LayerRevision, LayerTokens
from inverse_deid.text.tokenizer import span_of_token
from inverse_deid.training.corpus import read_annotated

MAX_PROBLEMS = 100

Cases = Mapping[int, Row[Any]]
"""The cases of one file by their number in it."""


@dataclass(frozen=True, slots=True)
class OutputSettings:
    """How a store was made, as far as an export needs to know; JSON in the store.

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
class Exported:
    """Result of an export: cases in the files, and cases left out because they are not released.

    `problems` has one sentence for each case or file that could not be written. `columns` is the `ColumnFate`
    of each column of tables.
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


_MAX_STEM_CHARS = 100


class AnnotationFormat(StrEnum):
    """File formats of annotated documents."""

    JSON_LINES = "jsonl"
    I2B2 = "i2b2"
    BRAT = "brat"


def iterate_annotated(store: ReviewStore) -> Iterator[Document]:
    """Yield the original texts of all released cases, with the masks of the reviewers as spans.

    Raises:
        ReviewError: A released case has an undecided token; it is not yielded.
    """
    with store.reading() as connection:
        found = select(CASES).where(CASES.c.state == CaseState.RELEASED.value).order_by(CASES.c.id)
        for case in connection.execute(found).all():
            content = read_content(connection, case.id, store.sealer)
            final = read_final(connection, store, case.id, content)
            for part in content.parts:
                text = content.text[part.start : part.end]
                doc_id = case.name if len(content.parts) == 1 else f"{case.name} {part.name}"
                yield Document(doc_id, text, find_spans(content, final, part))


def export_annotated(
    store: ReviewStore, path: Path, form: AnnotationFormat, *, force: bool = False, by: str = "command"
) -> Exported:
    """Write all released cases with spans: one JSON Lines file, or a folder of XML or brat files (mode 600).

    `inverse-deid fine-tune --gold` reads the first two.

    Raises:
        OutputExistsError: The file exists, or the folder is not empty, and `force` is False.
        OutputError: It cannot be written.
        AnnotationError: A text contains characters that XML cannot contain.
    """
    is_file = form is AnnotationFormat.JSON_LINES
    if path.exists() and not force and (is_file or any(path.iterdir())):
        raise OutputExistsError(f"{path} already exists. Use --force to overwrite it.")
    docs = iterate_annotated(store)
    if is_file:
        write_whole(path, map(gold_json_line, docs), private=True)
    files = [path] if is_file else list(_write_folder(path, docs, form))
    with store.writing() as connection:
        found = select(CASES.c.state, func.count()).group_by(CASES.c.state)
        counts = {row[0]: int(row[1]) for row in connection.execute(found)}
        n_cases = counts.pop(CaseState.RELEASED.value, 0)
        event = f"annotated documents exported: {n_cases} cases"
        append(connection, store, [TrailEvent(user=by, event=event)])
    return Exported(n_cases, sum(counts.values()), (), tuple(files))


def _write_folder(folder: Path, docs: Iterator[Document], form: AnnotationFormat) -> Iterator[Path]:
    taken: Counter[str] = Counter()
    for doc in docs:
        stem = _make_stem(doc.id, taken)
        files = (
            {f"{stem}.xml": gold_i2b2_xml(doc)}
            if form is AnnotationFormat.I2B2
            else {f"{stem}.txt": brat_text(doc), f"{stem}.ann": brat_annotations(doc)}
        )
        for name, data in files.items():
            write_whole(folder / name, [data], private=True)
            yield folder / name


def _make_stem(doc_id: str, taken: Counter[str]) -> str:
    """Return a file name for an id: without folders, not beginning with a dot, and unique."""
    plain = re.sub(r"[^\w.-]+", "_", doc_id).removesuffix(".xml").removesuffix(".txt").lstrip(".")
    stem = plain[:_MAX_STEM_CHARS] or "case"
    taken[stem.casefold()] += 1
    n = taken[stem.casefold()]
    return stem if n == 1 else f"{stem}__{n}"


def read_annotations(path: Path) -> list[Document]:
    """Read files of `export_annotated` or corrected by another tool: JSON Lines, i2b2 XML or brat.

    Raises:
        InputError: Names the file and the remedy.
    """
    pairs = sorted(path.glob("*.ann")) if path.is_dir() else []
    if not pairs:
        return read_annotated(path)
    docs = []
    for pair in pairs:
        try:
            with input_errors():
                text = pair.with_suffix(".txt").read_bytes()
                docs.append(read_gold_brat(text, pair.read_bytes(), pair.stem))
        except AnnotationError as error:
            raise AnnotationError(f"{path}: {error}") from None
    return docs


def adopt_annotations(store: ReviewStore, at: LayerRevision, doc: Document) -> Edited:
    """Apply the spans of an annotated document (corrected elsewhere) as one action in the user's layer.

    Raises:
        ReviewError: The case has another text than the document, or nothing changes; also fails as `act`.
    """
    return take_steps(store, at, lambda content, now: _plan_steps(content, now, doc))


def _plan_steps(content: CaseContent, now: LayerTokens, doc: Document) -> list[Step]:
    """Return the steps from a layer to the spans of a document."""
    part = next((p for p in content.parts if content.text[p.start : p.end] == doc.text), None)
    if part is None:
        raise ReviewError("the annotated document has another text than the case, so nothing was imported")
    first, stop = np.searchsorted(content.tokens.starts, [part.start, part.end]).tolist()
    spans = [type(span)(span.start + part.start, span.end + part.start, span.type) for span in doc.spans]
    owners = span_of_token(content.tokens, spans)
    keep, categories = now.keep.copy(), now.categories.copy()
    keep[first:stop] = owners[first:stop] < 0
    for token in (np.flatnonzero(owners[first:stop] >= 0) + first).tolist():
        categories[token] = CATEGORIES.index(spans[owners[token]].type)
    wanted = apply_steps(LayerTokens(keep, categories, np.ones(len(keep), np.bool_)), ())
    return [
        (run.first, run.stop, bool(keep[run.first]), int(categories[run.first]))
        for run in find_runs(find_changes(now, wanted), keep, categories)
    ]


def list_numbers(store: ReviewStore) -> dict[str, list[int]]:
    """Return the numbers of all cases by their ids."""
    found: dict[str, list[int]] = {}
    with store.reading() as connection:
        for row in connection.execute(select(CASES.c.name, CASES.c.id).order_by(CASES.c.id)):
            found.setdefault(row.name, []).append(row.id)
    return found
