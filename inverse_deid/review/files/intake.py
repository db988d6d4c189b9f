"""Add files to a store, also while people work in it: every case is masked and stored with its decisions.

Cases are masked outside of any transaction and wait, encrypted, until their file is complete. A short
transaction then writes the file with all its cases and its entry in the trail. So a file is in the store
whole or not at all, whatever happens, and nobody waits for the network.
"""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

from sqlalchemy import func, select

from inverse_deid.core.batches import BATCH_CHARS, FIRST_BATCH_CHARS, cut_batches
from inverse_deid.core.child_process import InThisProcess, Worker
from inverse_deid.core.errors import (
    ConfigurationError,
    InputError,
    InverseDeidError,
    KeptColumnError,
    StageError,
    UnreadableInputError,
)
from inverse_deid.core.files import output_errors
from inverse_deid.core.thresholds import Thresholds
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.core.wording import _
from inverse_deid.engine.jobs.planning import count_found
from inverse_deid.engine.run_report import hash_with_key
from inverse_deid.engine.serial import OnProgress
from inverse_deid.engine.tally import Tally
from inverse_deid.files.finding import FileFinder, FoundFile
from inverse_deid.files.given import GivenFile
from inverse_deid.files.reading import ReadRecord, read_cases
from inverse_deid.formats.beside.known_values import KnownOfDocuments
from inverse_deid.formats.icsr.standard.profiles import DEFAULT_PROFILE, Profile, builtin_profile
from inverse_deid.formats.records import Format, ReadOptions
from inverse_deid.formats.registry import input_errors, open_input
from inverse_deid.masking.assemble import MaskingSettings
from inverse_deid.masking.case_masker import DocumentMasker
from inverse_deid.masking.kept.columns import KeptColumns
from inverse_deid.replacement.settings import AgeMode, CaseSettings, DateMode
from inverse_deid.review.files.carrying import Carried, carry_over
from inverse_deid.review.flow.contents import (
    CaseContent,
    Listed,
    join_texts,
    pack_content,
    rank_case,
    seal_packed,
)
from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.keys import Sealer
from inverse_deid.review.store.opening import ReviewStore, Transaction
from inverse_deid.review.store.sources import (
    DistinctNames,
    LastNumbers,
    OutputSettings,
    hash_digest,
    hash_file,
    hash_masking,
    lock_numbers,
    seal_facts,
    store_masking,
    store_numbers,
)
from inverse_deid.review.store.tables import CASES, CONTENTS, INTAKES, SOURCES, place_of
from inverse_deid.review.store.values import CaseState, CopiedValue, MaskingFacts, ReviewPolicy

MAX_SOURCE_BYTES = 512 * 1024 * 1024

_ROWS_AT_ONCE = 200
_IN_MEMORY_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class FileProgress:
    """How far a file is: its cases that are masked, and how many of its bytes (unpacked) were read.

    `name` is the file as the user knows it.
    """

    name: str
    n_cases: int
    n_bytes_read: int
    n_bytes: int
    is_stored: bool = False


def _ignore(_progress: FileProgress) -> None:
    """Notify nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSettings:
    """How files are read, masked and written out again; each addition to a store has its own.

    `cases` replace dates, ages and ids when cases are released, and `profile` treats the structured fields of
    case reports. `known` are identifiers that documents must not show, by the id of the document, and
    `listed` the words that the masker was given to keep and to mask. After every batch, `on_progress` gets
    its documents and tokens, and `on_file` gets each of its files. `on_refused_column` gets the name of a
    kept column for which a file was refused. The `policy` is that of a new store; a store in use has one.
    The `worker` reads the files. A file takes the place of the one whose number `replaces` is, with the work
    of readers that fits (`carrying`), and `on_carried` stores in the same transaction what became of it.
    """

    policy: ReviewPolicy = field(default_factory=ReviewPolicy)
    facts: MaskingFacts
    cases: CaseSettings
    profile: Profile = field(default_factory=lambda: builtin_profile(DEFAULT_PROFILE))
    read_options: ReadOptions = field(default_factory=ReadOptions)
    known: KnownOfDocuments = field(default_factory=dict, repr=False)
    listed: Listed = field(default_factory=Listed, repr=False)
    on_progress: OnProgress = field(default=lambda _documents, _tokens: None)
    on_file: Callable[[FileProgress], None] = field(default=_ignore)
    on_refused_column: Callable[[str], None] = field(default=lambda _name: None)
    worker: Worker = field(default_factory=InThisProcess, repr=False)
    name_key: int = 0  # of the file that waits, 0 = each file gets its own
    replaces: int = 0  # 0 = none
    on_carried: Callable[[Transaction, Carried], None] = field(default=lambda _transaction, _carried: None)

    @property
    def output(self) -> OutputSettings:
        """How the files are written."""
        return OutputSettings(self.cases, self.profile, self.read_options)


def state_facts(masker: DocumentMasker, masking: MaskingSettings, key: bytes | None = None) -> MaskingFacts:
    """Return how a masker with these settings masks; with a key, the fingerprint tells no word of a list."""
    made_of: dict[str, Any] = dict(getattr(masker, "made_of", {}))
    has_lists = bool(masking.deny or masking.allow)
    thresholds = made_of.get("thresholds")
    return MaskingFacts(
        fingerprint=(hash_with_key(key, masker.fingerprint) if has_lists else None) or masker.fingerprint,
        model_sha256=made_of.get("model_sha256"),
        lexicon_sha256=made_of.get("lexicon_sha256") or "",
        thresholds=None if thresholds is None else Thresholds.from_json(thresholds),
        marker=masking.marker,
        category_markers=masking.replace == "category",
        categories=tuple(made_of.get("categories") or ()),
        n_deny=len(masking.deny),
        n_allow=len(masking.allow),
    )


def plan_cases(inputs: Sequence[Path], kind: Format | None = None) -> tuple[list[FoundFile], Tally]:
    """Return the files with cases, and a tally of all other files."""
    finder = FileFinder(kind)
    files = list(finder.find(inputs))
    return files, count_found(finder, len(files))


def never() -> bool:
    """Do not stop."""
    return False


def add_cases(
    store: ReviewStore,
    jobs: Sequence[FoundFile | GivenFile],
    masker: DocumentMasker,
    settings: LoadSettings,
    *,
    by: str,
    stop: Callable[[], bool] = never,
) -> Tally:
    """Mask the cases in the files of jobs from `plan_cases`, and add them to a store that may be in use.

    A file is added whole or not at all. One that cannot be read, has no cases or was added before (the same
    name and contents) is listed in the tally; so is a case that is left out because it cannot be read. If
    the model fails on a case, all of it is masked and it comes first in the work list. `by` is for the trail.
    Before every batch, `stop` says whether to end; files that are not complete then leave nothing.

    Raises:
        StageError: The masker broke its contract. Files that were complete before are in the store.
        OutputError: The store cannot be written.
    """
    intake = _Intake(store, masker, settings, by)
    try:
        intake.add(jobs, stop)
    finally:
        intake.drop_open()
    return intake.tally


class _Waiting:
    """Masked cases of one file until it is complete: encrypted with a key that is nowhere else."""

    def __init__(self) -> None:
        self._sealer = Sealer(os.urandom(32))
        self._stream = tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES)  # noqa: SIM115 - closed with its file
        self._sizes: list[int] = []
        self.cases: list[dict[str, object]] = []

    def add(self, case: dict[str, object], *contents: bytes) -> None:
        """Keep a row of `cases` without its ids, and the packed contents of the case."""
        self.cases.append(case)
        with output_errors(Path(tempfile.gettempdir())):
            for content in contents:
                self._sizes.append(self._stream.write(self._sealer.seal(content, "waiting")))

    def contents(self) -> Iterator[bytes]:
        self._stream.seek(0)
        for size in self._sizes:
            yield self._sealer.open(self._stream.read(size), "waiting")

    def close(self) -> None:
        self._stream.close()


class _IncomingFile:
    """One file on its way into the store."""

    def __init__(self, job: FoundFile | GivenFile, data: bytes, content_hash: str) -> None:
        self.job = job
        self.data = data
        self.content_hash = content_hash
        self.n_bytes_read = 0
        self.tally = Tally()
        self.waiting = _Waiting()
        self.is_refused = False
        self.kept: KeptColumns | None = None  # checks its kept columns, None = it has none so far
        self.numbered: set[int] = set()  # records without an id

    @property
    def given(self) -> GivenFile:
        """The file in memory."""
        return GivenFile(self.job.name, self.job.format, self.data)

    def names_case(self, number: int) -> bool:
        """Whether a case has no id of its own, but is named after the file."""
        kind = self.job.format
        return kind.is_single_document or kind.holds_cases or number in self.numbered

    def describe(self, *, is_stored: bool = False) -> FileProgress:
        """Return how far it is; formats may read some of their bytes twice."""
        n_bytes = len(self.data)
        n_read = n_bytes if is_stored else min(self.n_bytes_read, n_bytes)
        return FileProgress(
            name=self.job.shown,
            n_cases=len(self.waiting.cases),
            n_bytes_read=n_read,
            n_bytes=n_bytes,
            is_stored=is_stored,
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Item:
    """One case to mask."""

    file: _IncomingFile
    number: int
    name: str
    docs: tuple[Document, ...]
    record: ReadRecord


class _Intake:
    """Masks cases in batches, over the ends of files, and writes every file that is complete."""

    def __init__(self, store: ReviewStore, masker: DocumentMasker, settings: LoadSettings, by: str) -> None:
        self._store = store
        self._masker = masker
        self._settings = settings
        self._by = by
        self._open: set[_IncomingFile] = set()
        self._complete: list[_IncomingFile] = []
        self.tally = Tally()

    def add(self, jobs: Sequence[FoundFile | GivenFile], stop: Callable[[], bool]) -> None:
        """Add the files of jobs, until `stop` says so."""
        for batch in self._batches(jobs):
            if stop():
                return
            self._mask(self._refuse_kept([item for item in batch if not item.file.is_refused]))
            self._write()
        if self._complete and not stop():
            self._write()

    def drop_open(self) -> None:
        """Forget the files that were not stored."""
        for file in self._open:
            file.waiting.close()

    def _drop(self, file: _IncomingFile) -> None:
        file.waiting.close()
        self._open.discard(file)

    def _batches(self, jobs: Sequence[FoundFile | GivenFile]) -> Iterator[list[_Item]]:
        """Group the cases of all files; the first batch is small, so that something is seen soon."""
        items = chain.from_iterable(map(self._items, jobs))
        return cut_batches(
            items,
            lambda item: sum(len(doc.text) for doc in item.docs),
            most=BATCH_CHARS,
            first=FIRST_BATCH_CHARS,
        )

    def _items(self, job: FoundFile | GivenFile) -> Iterator[_Item]:
        """Yield the cases of one file; it is complete after the last one, or refused."""
        file: _IncomingFile | None = None
        n_cases = 0
        problem: InverseDeidError | None = None
        try:
            file = self._read(job)
            for item in self._cases(file):
                n_cases += 1
                yield item
                if file.is_refused:
                    return
        except (InputError, ConfigurationError) as error:  # the latter: a package for this format is missing
            problem = error.add_prefix("")
        if n_cases and problem is None and file is not None:
            self._complete.append(file)
            return
        if problem is None and (file is None or not file.tally.n_failures):
            problem = InputError(_("contains no cases. It was left out"))
        if file is not None:
            self._refuse(file, problem)
        elif problem is not None:
            self.tally.fail(job.shown, problem)

    def _read(self, job: FoundFile | GivenFile) -> _IncomingFile:
        if isinstance(job, GivenFile):
            data = job.data
        else:
            with open_input(job.input) as stream, input_errors():
                data = stream.read(MAX_SOURCE_BYTES + 1)
        if len(data) > MAX_SOURCE_BYTES:
            raise UnreadableInputError(
                _("is larger than {max_source_bytes} MiB. Split it", max_source_bytes=MAX_SOURCE_BYTES >> 20)
            )
        content_hash = hash_file(self._store.file_key, data)
        with self._store.reading() as transaction:
            problem = _find_known(transaction, job.name, content_hash, but=self._settings.replaces)
        if problem:
            raise UnreadableInputError(problem)
        file = _IncomingFile(job, data, content_hash)
        self._open.add(file)
        return file

    def _cases(self, file: _IncomingFile) -> Iterator[_Item]:
        """Yield the cases of a file, and note what was left out."""
        file.kept = KeptColumns(self._masker, self._settings.cases.day_first)
        talk = self._settings.worker.talk(
            read_cases, file.given, self._settings.read_options, n_bytes=len(file.data)
        )
        try:
            while True:
                batch = next(talk)
                file.n_bytes_read = batch.n_bytes_read
                for record in batch.records:
                    yield from self._take(file, record)
        except StopIteration as stop:
            facts = Tally()
            facts.add_facts(stop.value)
            file.tally.merge(facts.rename(file.job.name, file.job.shown))
        finally:
            talk.close()

    def _take(self, file: _IncomingFile, record: ReadRecord) -> Iterator[_Item]:
        """Yield the case of a record, if it has one; one without an id has its place as a name."""
        if record.is_frame:
            return
        if record.problem:
            where = f"{file.job.shown} {record.place}"
            file.tally.fail(where, _("{problem}. It was left out", problem=record.problem), record.remedies)
        elif (texts := record.texts) is None:
            self._check_kept(file, [record])
        elif record.is_report:
            name = _("{job} case {number}", job=file.job.name, number=record.number)
            yield _Item(file, record.number, name, texts.docs, record)
        else:
            name = texts.docs[0].id
            known = self._settings.known.get(name, ())
            docs = tuple(
                dataclasses.replace(doc, id=column, known=(*doc.known, *known))
                for doc, column in zip(texts.docs, record.columns or (name,), strict=True)
            )
            if record.is_numbered:
                file.numbered.add(record.number)
                name = f"{file.job.name} {record.place}"
            yield _Item(file, record.number, name, docs, record)

    def _check_kept(self, file: _IncomingFile, records: Sequence[ReadRecord]) -> None:
        """Refuse a file with a kept column that must not leave; `records` are some of it.

        Raises:
            KeptColumnError: Names the record.
        """
        cases = self._settings.cases
        replaces_dates, replaces_ages = cases.dates is not DateMode.MASK, cases.ages is not AgeMode.MASK
        if file.kept is not None:
            file.kept.judge(records)
            file.kept.refuse_masked(records, dates=replaces_dates, ages=replaces_ages)

    def _refuse_kept(self, items: Sequence[_Item]) -> list[_Item]:
        """Return the cases of files whose kept columns may leave; other files are refused as a whole."""
        by_file: dict[_IncomingFile, list[ReadRecord]] = {}
        for item in items:
            by_file.setdefault(item.file, []).append(item.record)
        for file, records in by_file.items():
            problem: KeptColumnError | None = None
            try:
                self._check_kept(file, records)
            except KeptColumnError as error:
                problem = error.add_prefix("")
            if problem is not None:
                self._refuse(file, problem)
        return [item for item in items if not item.file.is_refused]

    def _refuse(self, file: _IncomingFile, problem: InverseDeidError | None) -> None:
        """Forget a file, and say why, None = its records say it."""
        file.is_refused = True
        self._drop(file)
        if file in self._complete:
            self._complete.remove(file)
        self.tally.merge(Tally(n_failures=file.tally.n_failures, failures=file.tally.failures))
        if problem is not None:
            self.tally.fail(file.job.shown, problem)
        if isinstance(problem, KeptColumnError) and problem.column:
            self._settings.on_refused_column(problem.column)

    def _mask(self, items: Sequence[_Item]) -> None:
        """Mask a batch of cases; they wait until their file is complete."""
        docs = [doc for item in items for doc in item.docs]
        results = self._masker.mask_many(docs) if docs else []
        if [doc.id for doc in docs] != [result.id for result in results]:
            raise StageError(
                _(
                    "the masker returned other documents than it was given ({n_results} for {n_docs})",
                    n_results=len(results),
                    n_docs=len(docs),
                )
            )
        masked = iter(results)
        for item in items:
            found = [next(masked) for _ in item.docs]
            _keep(item, found, join_texts(item.docs, found, self._list_copied(item), self._settings.listed))
        if items:
            self._settings.on_progress(len(items), sum(len(one.tokens) for one in results))
        for file in dict.fromkeys(item.file for item in items):
            self._settings.on_file(file.describe())

    def _list_copied(self, item: _Item) -> tuple[CopiedValue, ...]:
        """Return what is released beside the texts of a case; readers see it."""
        cells = [cell for cell in item.record.copied or item.record.kept if cell.value]
        replaced = item.file.kept.find_replaced(item.record.kept) if item.file.kept is not None else {}
        unchecked = set(self._settings.read_options.keep_unchecked)
        return tuple(
            CopiedValue(cell.column, "", replaced[cell])
            if cell in replaced and cell.column not in unchecked
            else CopiedValue(cell.column, cell.value)
            for cell in cells
        )

    def _write(self) -> None:
        """Write the files that are complete, in one transaction."""
        files, self._complete = self._complete, []
        if not files:
            return
        facts, output = self._settings.facts.as_json(), self._settings.output.dump()
        made_with = f"settings {hash_masking(facts, output)}"
        events: list[TrailEvent] = []
        problems: dict[_IncomingFile, str] = {}
        with self._store.writing() as transaction:
            numbers = lock_numbers(transaction)
            replaced = self._settings.replaces
            others = select(INTAKES.c.export_name).where(INTAKES.c.source_id != replaced)
            taken = transaction.execute(others).scalars().all()
            names = DistinctNames(map(transaction.names.open, taken))
            masking_id = store_masking(transaction, facts, output)
            for file in files:
                # Another process may have added it while it was masked here.
                if problem := _find_known(transaction, file.job.name, file.content_hash, but=replaced):
                    problems[file] = problem
                    continue
                name = names.take(str(file.job.format.written_name(PurePosixPath(file.job.name))))
                key_id = self._settings.name_key or transaction.names.add_key()
                self._insert(transaction, file, name, masking_id, numbers, key_id)
                event = f"file {numbers.source} added: {len(file.waiting.cases)} cases"
                if replaced:
                    carried = carry_over(transaction, replaced, numbers.source, by=self._by)
                    self._settings.on_carried(transaction, carried)
                    event += f", masked again instead of file {replaced}: {carried.describe()}"
                sealed = transaction.names.seal(key_id, name)
                events.append(TrailEvent(user=self._by, event=event, name=sealed, new=made_with))
            store_numbers(transaction, numbers)
            transaction.record(*events, facts=self._settings.facts)
        for file in files:
            self._drop(file)
            if file in problems:
                self.tally.fail(file.job.shown, problems[file])
                continue
            self.tally.merge(file.tally)
            self._settings.on_file(file.describe(is_stored=True))

    def _insert(
        self,
        transaction: Transaction,
        file: _IncomingFile,
        name: str,
        masking_id: int,
        numbers: LastNumbers,
        key_id: int,
    ) -> None:
        """Write a file and its cases; their numbers continue those of the store."""
        store, job, seal_name = self._store, file.job, partial(transaction.names.seal, key_id)
        numbers.source += 1
        source_id = numbers.source
        sealed = store.sealer.seal(file.data, place_of(SOURCES.c.sealed, {"id": source_id}))
        row = {"id": source_id, "name": seal_name(job.name), "name_key": key_id, "format": job.format.name}
        transaction.insert(SOURCES, {**row, "sealed": sealed})
        intake = {
            "source_id": source_id,
            "masking_id": masking_id,
            "export_name": seal_name(name),
            "content_hash": file.content_hash,
            "added_at": store.now(),
            "added_by": self._by,
            "sealed_facts": seal_facts(transaction, source_id, file.tally.facts),
        }
        transaction.insert(INTAKES, intake)
        contents = file.waiting.contents()
        for begin in range(0, len(file.waiting.cases), _ROWS_AT_ONCE):
            cases, sealed_rows = [], []
            for case in file.waiting.cases[begin : begin + _ROWS_AT_ONCE]:
                numbers.case += 1
                case_name = str(case["name"])
                if file.names_case(int(str(case["number"]))):
                    case_name = name + case_name.removeprefix(job.name)
                cases.append(
                    {**case, "id": numbers.case, "source_id": source_id, "name": seal_name(case_name)}
                )
                sealed_rows.append(seal_packed(next(contents), next(contents), numbers.case, store.sealer))
            transaction.insert_all(CASES, cases)
            transaction.insert_all(CONTENTS, sealed_rows)


def _keep(item: _Item, masked: Sequence[MaskedDocument], content: CaseContent) -> None:
    """Let a masked case wait for the end of its file, and count it."""
    is_failed = any(one.failed for one in masked)
    tally = item.file.tally
    tally.add_case(masked)
    if is_failed:
        tally.fail(item.name, _("could not be analysed and was masked completely. It comes first."))
    doubt, n_doubtful = rank_case(content, is_failed=is_failed)
    case: dict[str, object] = {
        "number": item.number,
        "name": item.name,
        "state": CaseState.NEW.value,
        "doubt": doubt,
        "n_tokens": len(content.tokens),
        "n_doubtful": n_doubtful,
        "is_failed": is_failed,
        "n_approvals": 0,
    }
    item.file.waiting.add(case, *pack_content(content))


def find_source(store: ReviewStore, name: str, digest: bytes, but: int = 0) -> tuple[int, int] | None:
    """Return the id and number of cases of a file of this name and SHA-256, None = it was not added.

    The file `but` does not count.
    """
    with store.reading() as transaction:
        source_id = _find_id(transaction, name, hash_digest(store.file_key, digest), but)
        if source_id is None:
            return None
        found = select(func.count()).select_from(CASES).where(CASES.c.source_id == source_id)
        return source_id, int(transaction.execute(found).scalar_one())


def has_name_key(store: ReviewStore, source_id: int, name_key: int) -> bool:
    """Whether a file is in the store and came from the upload with this key of its name."""
    found = select(SOURCES.c.name_key).where(SOURCES.c.id == source_id)
    with store.reading() as transaction:
        return bool(transaction.execute(found).scalar() == name_key)


def _find_id(transaction: Transaction, name: str, content_hash: str, but: int = 0) -> int | None:
    found = select(SOURCES.c.id, SOURCES.c.name).join(INTAKES, INTAKES.c.source_id == SOURCES.c.id)
    same = (INTAKES.c.content_hash == content_hash) & (SOURCES.c.id != but)
    rows = transaction.execute(found.where(same).order_by(SOURCES.c.id)).all()
    return next((row.id for row in rows if transaction.names.find(row.name) == name), None)


def _find_known(transaction: Transaction, name: str, content_hash: str, but: int = 0) -> str:
    """Return why a file is in the store already, "" = it is not, or only as the file `but`."""
    source_id = _find_id(transaction, name, content_hash, but)
    if source_id is None:
        return ""
    return _(
        "is already in the store (file {source_id}, the same name and contents), so it was not added again",
        source_id=source_id,
    )
