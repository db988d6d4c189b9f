"""Export released cases: masked text in the original formats, as files or a zip, and annotated documents.

Annotated documents contain the ORIGINAL text with the masks of the reviewers as spans: keep them as safe
as the originals.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO

import numpy as np
from sqlalchemy import Row, func, select

from inverse_deid import __version__
from inverse_deid.core.errors import (
    OVERWRITE,
    AnnotationError,
    InverseDeidError,
    NotAllowedError,
    OutputExistsError,
    ReviewError,
    UnreadableInputError,
)
from inverse_deid.core.files import PartialFile, write_whole
from inverse_deid.core.values import Document
from inverse_deid.core.wording import _, ngettext
from inverse_deid.engine.run_report import describe_profile, hash_with_key
from inverse_deid.files.facts import list_facts
from inverse_deid.files.given import GivenFile
from inverse_deid.files.reading import list_names
from inverse_deid.files.workers import borrow_worker
from inverse_deid.formats.beside.brat import brat_annotations, brat_text, read_gold_brat
from inverse_deid.formats.beside.rename_list import list_rows, read_renames, write_renames
from inverse_deid.formats.i2b2_xml import gold_i2b2_xml
from inverse_deid.formats.records import Writable
from inverse_deid.formats.registry import FORMATS, input_errors
from inverse_deid.formats.renames import Renames
from inverse_deid.formats.tables.json_lines import gold_json_line
from inverse_deid.review.files.release_page import write_page
from inverse_deid.review.files.releases import SourceRelease, read_original
from inverse_deid.review.files.spool import open_spool
from inverse_deid.review.flow.contents import CaseContent, read_content
from inverse_deid.review.flow.editing import take_steps
from inverse_deid.review.flow.layers import (
    LayerStep,
    apply_steps,
    find_changes,
    find_runs,
    find_spans,
    read_final,
)
from inverse_deid.review.flow.oversight import disclose_all
from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.opening import ReviewStore, Transaction
from inverse_deid.review.store.rows import select_sealed
from inverse_deid.review.store.sources import (
    DistinctNames,
    SourceFile,
    SourceMasking,
    open_names,
    read_facts_of,
    read_masking,
)
from inverse_deid.review.store.tables import CASES, INTAKES, SOURCES
from inverse_deid.review.store.trail import check_for_export
from inverse_deid.review.store.values import CATEGORIES, CaseState, Edited, LayerRevision, LayerTokens
from inverse_deid.text.tokenizer import span_of_token
from inverse_deid.training.corpus import read_annotated

REPORT_NAME = "run-report.json"
PAGE_NAME = "release-report.html"
REPORT_FORMAT = "inverse-deid release report"
MAX_PROBLEMS = 100

_IN_MEMORY_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Exported:
    """Result of an export: cases in the files, and cases left out because they are not released.

    `problems` has one sentence for each case or file that could not be written. `files` are the paths, in a
    zip the names. `columns` is the `ColumnFate` of each column of tables.
    """

    n_cases: int
    n_left_out: int
    problems: tuple[str, ...]
    files: tuple[Path, ...]
    columns: Mapping[str, str] = field(default_factory=dict)


def export_released(
    store: ReviewStore,
    folder: Path,
    *,
    force: bool = False,
    by: str = "command",
    rename: Path | None = None,
) -> Exported:
    """Write the masked text of all released cases, each file in its original format.

    `rename` is the list of old and new names, which is continued if it exists. None = names are copied.

    Raises:
        OutputExistsError: A file exists and `force` is False.
        OutputError: A file cannot be written.
        InputError: `rename` is not such a list.
    """
    renames = None if rename is None else read_renames(rename)
    with store.reading(snapshot=True) as transaction:
        out = _Releases(transaction, renames=renames)
        sources = out.list_sources()
        targets = [_choose_target(folder, out.name_of(source), force=force) for source in sources]
        if renames is not None and rename is not None:
            write_renames(renames, rename)
        written = []
        for source, target in zip(sources, targets, strict=True):
            file, n_cases = PartialFile(target), 0
            try:
                n_cases = out.write(source, file)
                file.sync()
            finally:
                file.commit() if n_cases else file.discard()
            written += [target] if n_cases else []
    return _conclude(store, out, written, f"released text exported: {out.n_cases} cases", by)


def released_zip(
    store: ReviewStore,
    target: BinaryIO,
    *,
    case_ids: Collection[int] | None = None,
    by: str = "command",
    renames: bool = False,
) -> Exported:
    """Write a zip of the masked text of released cases, each file in its original format, with two reports.

    `case_ids` chooses among them, None = all. A file of which only a part is released is named so, such as
    `cases (20 of 300).csv`. The reports, JSON and a page, state settings, counts and hashes, and no text.
    With `renames`, files and ids have the numbers of `write_old_names`.

    Raises:
        ReviewError: No case can be written; what was written of the zip is not valid.
    """
    with (
        store.reading(snapshot=True) as transaction,
        zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        out = _Releases(transaction, case_ids, Renames() if renames else None)
        names, written = DistinctNames([REPORT_NAME, PAGE_NAME]), []
        for source in out.list_sources():
            with open_spool(_IN_MEMORY_BYTES) as file:
                if not out.write(source, file):
                    continue
                name = names.take(out.name_part(check_name(out.name_of(source))))
                with packed.open(_zip_entry(store, name), "w", force_zip64=True) as entry:
                    out.note_file(name, *_copy(file, entry))
            written.append(Path(name))
        if not written:
            raise ReviewError(out.problems[0] if out.problems else _("no case is released yet"))
        report = out.report(by)
        text = json.dumps(report, indent=1, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        packed.writestr(_zip_entry(store, REPORT_NAME), text)
        packed.writestr(_zip_entry(store, PAGE_NAME), write_page(report))
    return _conclude(store, out, written, f"released text downloaded: {out.n_cases} cases", by)


def released_file(
    store: ReviewStore, source_id: int, target: BinaryIO, *, by: str = "command", renames: bool = False
) -> Exported:
    """Write the masked text of the released cases of one file, in its original format.

    If these are a part of it, its name says so, as in `released_zip`. With `renames`, the file and its ids
    have the numbers of `write_old_names`.

    Raises:
        ReviewError: No case of the file can be written; nothing was written then.
    """
    with store.reading(snapshot=True) as transaction:
        out = _Releases(transaction, renames=Renames() if renames else None)
        sources = [one for one in out.list_sources() if one.id == source_id]
        if not sources:
            raise ReviewError(_("file {source_id} has no released case", source_id=source_id))
        with open_spool(_IN_MEMORY_BYTES) as file:
            if not out.write(sources[0], file):
                raise ReviewError(out.problems[0])
            name = Path(out.name_part(check_name(out.name_of(sources[0]))))
            _copy(file, target)
    event = f"released text of file {source_id} downloaded: {out.n_cases} cases"
    return _conclude(store, out, [name], event, by)


def write_old_names(store: ReviewStore, target: BinaryIO, *, by: str) -> None:
    """Write the list of old and new names of all files and ids, released or not. It is confidential.

    They are numbered in the order in which they came, so files that come later change no number.

    Raises:
        ReviewError: Somebody altered a file in the store.
    """
    with store.reading() as transaction:
        renames = Renames()
        out = _Releases(transaction, renames=renames)
        out.list_sources()
        if problems := out.problems + out.unnumbered:
            raise ReviewError(problems[0])
        target.writelines(list_rows(renames))
    with store.writing() as transaction:
        transaction.record(TrailEvent(user=by, event="list of old names downloaded"))


def _copy(file: IO[bytes], target: IO[bytes]) -> tuple[str, int]:
    """Copy a whole file; return its SHA-256 and its size in bytes."""
    digest = hashlib.sha256()
    n_bytes = file.tell()
    file.seek(0)
    while block := file.read(1 << 20):
        digest.update(block)
        target.write(block)
    return digest.hexdigest(), n_bytes


def _conclude(store: ReviewStore, out: _Releases, files: Sequence[Path], event: str, by: str) -> Exported:
    with store.writing() as transaction:
        numbered = " with numbered names" if out.is_renamed else ""
        transaction.record(TrailEvent(user=by, event=event + numbered))
    return Exported(
        out.n_cases, out.n_left_out, tuple(out.problems[:MAX_PROBLEMS]), tuple(files), out.columns
    )


def check_name(name: str) -> str:
    """Return the name of a file in the store, which never leads out of a folder.

    Raises:
        ReviewError: It does.
    """
    place = PurePosixPath(name)
    if place.is_absolute() or ".." in place.parts or "\\" in name:
        raise ReviewError(_("a file name in the store leads out of the folder: the store was altered"))
    return name


def _choose_target(folder: Path, name: str, *, force: bool) -> Path:
    """Return the path to write; a name in the store never leads out of the folder."""
    target = folder / check_name(name)
    if target.exists() and not force:
        raise OutputExistsError(_("{target} already exists", target=target), remedies=[OVERWRITE])
    return target


def _zip_entry(store: ReviewStore, name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, datetime.fromtimestamp(store.now(), UTC).timetuple()[:6])
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o600 << 16
    return entry


class _Releases:
    """Writes the released cases of files, and counts them."""

    def __init__(
        self,
        transaction: Transaction,
        case_ids: Collection[int] | None = None,
        renames: Renames | None = None,
    ) -> None:
        self._transaction = transaction
        self._store = transaction.store
        self._case_ids = None if case_ids is None else frozenset(case_ids)
        self._held_back = check_for_export(transaction)
        self._renames = renames
        self._new_names: dict[int, str] = {}
        self._maskings: dict[str, dict[str, Any]] = {}
        self._files: list[dict[str, Any]] = []
        self.n_cases = 0
        self.n_left_out = 0
        self.problems = [*self._held_back.sources.values(), *self._held_back.cases.values()]
        self.unnumbered: list[str] = []
        self.columns: dict[str, str] = {}

    def _is_wanted(self, case: Row[Any]) -> bool:
        is_chosen = self._case_ids is None or case.id in self._case_ids
        return (
            is_chosen
            and case.id not in self._held_back.cases
            and bool(case.state == CaseState.RELEASED.value)
        )

    def list_sources(self) -> Sequence[SourceFile]:
        """Return the files with cases to write, and count the other cases."""
        rows = self._transaction.execute(select(CASES)).all()
        wanted = {row.source_id for row in rows if self._is_wanted(row)}
        self.n_left_out = sum(not self._is_wanted(row) for row in rows)
        found = select(*select_sealed(SOURCES), INTAKES)
        found = found.join(INTAKES, INTAKES.c.source_id == SOURCES.c.id).order_by(SOURCES.c.id)
        rows = self._transaction.execute(found).all()
        rows = [row for row in rows if self._renames is not None or row.id in wanted]
        rows = [row for row in rows if row.id not in self._held_back.sources]
        files = [open_names(self._transaction, row) for row in rows]
        if self._renames is not None:
            for file in files:
                self._number(file, self._renames)
            self._renames.is_complete = True
        return [file for file in files if file.id in wanted]

    @property
    def is_renamed(self) -> bool:
        """Whether files and ids get numbers instead of their names."""
        return self._renames is not None

    def name_of(self, source: SourceFile) -> str:
        return self._new_names.get(source.id) or source.export_name

    def name_part(self, name: str) -> str:
        """Return the name of the last file that was written, which says so if only a part of it was."""
        last = self._files[-1]
        n_cases, n_all = last["n_cases"], last["n_cases"] + last["n_cases_left_out"]
        if n_cases == n_all:
            return name
        path = PurePosixPath(name)
        return str(path.with_name(f"{path.stem} ({n_cases} of {n_all}){path.suffix}"))

    def _number(self, source: SourceFile, renames: Renames) -> None:
        """Number a file, and the ids in it; one that cannot be read is a problem when it is written."""
        form, number = FORMATS[source.format], renames.name("file", source.export_name)
        new_name = number + form.suffix_of(PurePosixPath(source.name))
        self._new_names[source.id] = str(form.written_name(PurePosixPath(new_name)))
        try:
            masking = self._add_names(source, read_masking(self._transaction, source.id))
            file = GivenFile(source.name, form, read_original(self._transaction, source.id))
            with borrow_worker() as worker:
                options = replace(masking.output.read_options, renames=None)
                found = worker.call(list_names, file, options, n_bytes=len(file.data))
            for kind, names in found.items():
                for one in names:
                    renames.name(kind, one)
        except InverseDeidError as error:
            self.unnumbered.append(f"{source.export_name}: {error}")

    def _add_names(self, source: SourceFile, masking: SourceMasking) -> SourceMasking:
        """Return how a file is written with new names, if there are any."""
        options = replace(
            masking.output.read_options, renames=self._renames, new_name=self._new_names.get(source.id, "")
        )
        return replace(masking, output=replace(masking.output, read_options=options))

    def write(self, source: SourceFile, file: Writable) -> int:
        """Write one file; return how many cases are in it, 0 = none can be written: discard the file."""
        found = select(CASES).where(CASES.c.source_id == source.id)
        rows = self._transaction.execute(found).all()
        cases = {row.number: row for row in rows if self._is_wanted(row)}
        try:
            masking = read_masking(self._transaction, source.id)
        except (ReviewError, UnreadableInputError) as error:
            self.problems.append(f"{source.export_name}: {error}")
            return 0
        n_left_out = len(rows) - len(cases)
        named = self._add_names(source, masking)
        release = SourceRelease(self._transaction, source, named, cases, n_left_out)
        release.write(file)
        self.problems += release.problems
        self.n_cases += release.n_cases
        if release.n_cases:
            self.columns |= release.columns
            self._maskings.setdefault(masking.fingerprint, self._describe(masking))
            original = hashlib.sha256(release.data).hexdigest()
            self._files.append(
                {
                    "file": self.name_of(source),
                    "format": source.format,
                    "n_cases": release.n_cases,
                    "n_cases_left_out": len(rows) - release.n_cases,
                    "settings": list(self._maskings).index(masking.fingerprint) + 1,
                    "n_words": release.n_words,
                    "n_masked": release.n_masked,
                    "approved_by": release.count_approvals(),
                    "found": self._list_found(source.id),
                    "original_hmac_sha256": hash_with_key(self._store.case_key, original),
                }
            )
        return release.n_cases

    def _list_found(self, source_id: int) -> list[str]:
        """Return what was found in a file and what was left out of it; parts are counted, not named."""
        facts = read_facts_of(self._transaction, [source_id])[source_id]
        found = [one.text for one in list_facts(facts) if one.field not in ("warnings", "failures")]
        if n := facts.n_failures:
            found.append(
                ngettext(
                    "{n:,} record, attachment or other part was left out or masked completely",
                    "{n:,} records, attachments or other parts were left out or masked completely",
                    n,
                    n=n,
                )
            )
        if n := len(facts.warnings):
            found.append(
                ngettext(
                    "{n:,} part was masked with a warning", "{n:,} parts were masked with a warning", n, n=n
                )
            )
        return found

    def _describe(self, masking: SourceMasking) -> dict[str, Any]:
        """Return everything that shapes the files; the fingerprint could tell words of lists."""
        facts, output = masking.facts.as_json(), masking.output.dump()
        facts["fingerprint_hmac_sha256"] = hash_with_key(self._store.case_key, facts.pop("fingerprint"))
        options = output["read_options"]
        columns = ("text_columns", "id_column", "keep_columns", "keep_all_columns", "keep_unchecked")
        return {
            "masking": facts,
            "cases": output["cases"],
            **{name: options[name] for name in columns},
            "profile": describe_profile(masking.output.profile),
        }

    def note_file(self, name: str, sha256: str, n_bytes: int) -> None:
        """Note what was written of the last file, and under which name."""
        self._files[-1] |= {"file": name, "sha256": sha256, "bytes": n_bytes}

    def report(self, by: str) -> dict[str, Any]:
        """Return the run report: settings, counts, hashes. No count tells the words under a mask."""
        return {
            "format": REPORT_FORMAT,
            "version": 1,
            "tool": f"inverse-deid {__version__}",
            "made_at": datetime.fromtimestamp(self._store.now(), UTC).isoformat(timespec="seconds"),
            "made_by": by,
            "policy": asdict(self._store.policy),
            "n_cases": self.n_cases,
            "n_cases_left_out": self.n_left_out,
            "n_problems": len(self.problems),
            "problems": [] if self.is_renamed else self.problems[:MAX_PROBLEMS],
            "settings": list(self._maskings.values()),
            "files": self._files,
        }


_MAX_STEM_CHARS = 100


class AnnotationFormat(StrEnum):
    """File formats of annotated documents."""

    JSON_LINES = "jsonl"
    I2B2 = "i2b2"
    BRAT = "brat"


def iterate_annotated(store: ReviewStore, way: str, by: str = "command") -> Iterator[Document]:
    """Yield the original texts of all released cases, with the masks of the reviewers as spans.

    Before the first one, the trail records each case, that `by` is shown it, and the `way`.

    Raises:
        ReviewError: A released case has an undecided token; it is not yielded.
    """
    released = select(CASES).where(CASES.c.state == CaseState.RELEASED.value).order_by(CASES.c.id)
    with store.reading(snapshot=True) as transaction:
        held_back = check_for_export(transaction)
        if problems := [*held_back.sources.values(), *held_back.cases.values()]:
            raise NotAllowedError(
                _("{problem}. Run inverse-deid review verify, and restore a backup", problem=problems[0])
            )
        cases = transaction.read(released, CASES)
    disclose_all(store, by, [case.id for case in cases], way)
    with store.reading(snapshot=True) as transaction:
        for case in cases:
            content = read_content(transaction, case.id)
            final = read_final(transaction, case.id, content)
            for part in content.parts:
                text = content.text[part.start : part.end]
                name = transaction.names.open(case.name)
                doc_id = name if len(content.parts) == 1 else f"{name} {part.name}"
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
        raise OutputExistsError(_("{path} already exists", path=path), remedies=[OVERWRITE])
    docs = iterate_annotated(store, f"export {form.value}", by)
    if is_file:
        write_whole(path, map(gold_json_line, docs), private=True)
    files = [path] if is_file else list(_write_folder(path, docs, form))
    with store.writing() as transaction:
        found = select(CASES.c.state, func.count()).group_by(CASES.c.state)
        counts = {row[0]: int(row[1]) for row in transaction.execute(found)}
        n_cases = counts.pop(CaseState.RELEASED.value, 0)
        event = f"annotated documents exported: {n_cases} cases"
        transaction.record(TrailEvent(user=by, event=event))
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
            raise error.add_prefix(f"{path}: ") from None
    return docs


def adopt_annotations(store: ReviewStore, at: LayerRevision, doc: Document) -> Edited:
    """Apply the spans of an annotated document (corrected elsewhere) as one action in the user's layer.

    Raises:
        ReviewError: The case has another text than the document, or nothing changes; also fails as `act`.
    """
    return take_steps(store, at, lambda content, now: _plan_steps(content, now, doc))


def _plan_steps(content: CaseContent, now: LayerTokens, doc: Document) -> list[LayerStep]:
    part = next((p for p in content.parts if content.text[p.start : p.end] == doc.text), None)
    if part is None:
        raise ReviewError(_("the annotated document has another text than the case, so nothing was imported"))
    first, stop = np.searchsorted(content.tokens.starts, [part.start, part.end]).tolist()
    spans = [type(span)(span.start + part.start, span.end + part.start, span.type) for span in doc.spans]
    owners = span_of_token(content.tokens, spans)
    keep, categories = now.keep.copy(), now.categories.copy()
    keep[first:stop] = owners[first:stop] < 0
    for token in (np.flatnonzero(owners[first:stop] >= 0) + first).tolist():
        categories[token] = CATEGORIES.index(spans[owners[token]].type)
    wanted = apply_steps(LayerTokens(keep, categories, np.ones(len(keep), np.bool_)), ())
    return [
        LayerStep(run.first, run.stop, bool(keep[run.first]), int(categories[run.first]))
        for run in find_runs(find_changes(now, wanted), keep, categories)
    ]


def list_numbers(store: ReviewStore) -> dict[str, list[int]]:
    """Return the numbers of all cases by their ids."""
    found: dict[str, list[int]] = {}
    with store.reading() as transaction:
        for row in transaction.execute(select(CASES.c.name, CASES.c.id).order_by(CASES.c.id)):
            found.setdefault(transaction.names.open(row.name), []).append(row.id)
    return found
