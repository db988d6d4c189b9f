"""Run a list of jobs: each file is finished or reported, and a killed run can be resumed.

Files of one document each are read and masked together in one batch, and each is written for itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from inverse_deid.core.batches import BATCH_CHARS, FIRST_BATCH_CHARS, cut_batches
from inverse_deid.core.errors import InputError, InverseDeidError, Remedy
from inverse_deid.core.values import MaskedDocument
from inverse_deid.core.wording import N_, _
from inverse_deid.engine.in_order import in_order
from inverse_deid.engine.jobs.files import JobFiles, Written
from inverse_deid.engine.jobs.journal import (
    Entry,
    Journal,
    check_unchanged,
    input_fingerprint,
    is_intact,
    other_settings,
    remove_progress,
)
from inverse_deid.engine.jobs.planning import Job, check_target
from inverse_deid.engine.masker import mask_records
from inverse_deid.engine.progress import FileMeter
from inverse_deid.engine.run_settings import RunSettings
from inverse_deid.engine.serial import write_batch
from inverse_deid.engine.streams import write_stream_job
from inverse_deid.engine.tally import Tally
from inverse_deid.files.reading import find_facts
from inverse_deid.formats.records import Record, Source
from inverse_deid.formats.registry import input_errors, open_input
from inverse_deid.masking.case_masker import DocumentMasker

_Opened = tuple[str, Source, Record]
"""Fingerprint of the input, its source and its one record."""


class _DocumentGroup:
    """Files of one document each that are masked together.

    The whole group is read and masked, so that the batch is the same after an interruption and so
    are all results. Only those to be done are written.
    """

    def __init__(self, group: Sequence[Job], todo: Sequence[Job], run: RunSettings) -> None:
        self._todo, self._run = todo, run
        self._tally = Tally()
        self._opened: dict[Job, _Opened] = {}
        for job in group:
            try:
                with input_errors():
                    input_print = input_fingerprint(job.input)
                    with open_input(job.input) as stream:
                        source = job.format.open(stream, run.read_options, job.doc_id)
                        record = replace(next(source.records()), new_id=job.name)
                        self._opened[job] = input_print, source, record
            except InverseDeidError as error:
                if job in todo:
                    self._tally.fail(job.shown, error)

    def mask(self, masker: DocumentMasker) -> list[tuple[MaskedDocument, ...]]:
        """Mask the documents, in order."""
        return mask_records(masker, [record for _, _, record in self._opened.values()])

    def write(self, masked: Sequence[Sequence[MaskedDocument]], journal: Journal) -> Tally:
        written: dict[Job, Written] = {}
        for (job, opened), result in zip(self._opened.items(), masked, strict=True):
            if job in self._todo:
                try:
                    check_unchanged(job, opened[0])
                    written[job] = _write_files(job, opened, result, self._run)
                except InverseDeidError as error:
                    self._tally.fail(job.shown, error)
        if written:
            self._commit(written, journal)
        return self._tally

    def _commit(self, written: Mapping[Job, Written], journal: Journal) -> None:
        """First the journal, then the names: a kill in between loses nothing."""
        try:
            journal.append({job: entry for job, (entry, _) in written.items()})
        except InverseDeidError as error:
            for job, (_ignored, files) in written.items():
                files.discard()
                self._tally.fail(job.shown, error)
            return
        for job, (entry, files) in written.items():
            try:
                files.commit()
            except InverseDeidError as error:
                self._tally.fail(job.shown, error)
            else:
                self._tally.merge(entry.tally)
                self._run.on_file(job, entry)
                self._run.on_progress(entry.tally.n_documents, entry.tally.n_tokens)


def _write_files(job: Job, opened: _Opened, masked: Sequence[MaskedDocument], run: RunSettings) -> Written:
    """Write the files of one job, complete and on the disk, but not yet under their names."""
    input_print, source, record = opened
    tally = Tally()
    files = JobFiles(job, key=run.key)
    is_complete = False
    try:
        sinks = [*files.sinks(source), *run.watchers(job)]
        write_batch([(record, masked)], sinks, tally, job.shown, source.unit)
        for sink in sinks:
            sink.finish()
        tally.add_facts(find_facts(source, job.shown))
        entry = Entry(input_print, 1, files.sync(), tally)
        is_complete = True
    finally:
        files.close() if is_complete else files.discard()
    return entry, files


MAX_FILES_A_GROUP = 128

LONG_FILE_BYTES = BATCH_CHARS
"""Longer files are masked one after the other, several batches of each at once; shorter ones side by side."""


def run_jobs(jobs: Sequence[Job], journal: Journal, masker: DocumentMasker, run: RunSettings) -> Tally:
    """Do all jobs in order; a file that fails is noted and the others are finished.

    Raises:
        ConfigurationError: The run to be resumed had other settings.
    """
    if run.resume and not run.force and journal.has_other_settings(jobs):
        raise other_settings()
    inputs = frozenset(job.identity for job in jobs)
    tally = Tally()

    def is_worth_several_batches(group: Sequence[Job]) -> bool:
        return not group[0].format.is_single_document and group[0].n_bytes > LONG_FILE_BYTES

    for is_long, some in groupby(group_jobs(jobs), key=is_worth_several_batches):
        # A long file is masked several batches at once, short ones and documents side by side.
        inner = run if is_long else replace(run, n_at_once=1)
        steps = (_Step(group, journal, masker, inner, inputs) for group in some)
        for step, done in in_order(_Step.work, steps, 1 if is_long else run.n_at_once):
            tally.merge(step.finish(done))
    return tally


class _Step:
    """One group of files: planned and opened in turn, worked on beside other groups, finished in turn.

    A group has several files only if each is one document. No output may overwrite one of `inputs`.
    """

    def __init__(
        self,
        group: Sequence[Job],
        journal: Journal,
        masker: DocumentMasker,
        run: RunSettings,
        inputs: frozenset[tuple[int, int]],
    ) -> None:
        self._journal, self._masker, self._run = journal, masker, run
        self._tally = Tally()
        self._todo: list[Job] = []
        self._complete: list[tuple[Job, Entry]] = []
        for job in group:
            self._plan(job, inputs)
        is_document = bool(self._todo) and self._todo[0].format.is_single_document
        self._documents = _DocumentGroup(group, self._todo, run) if is_document else None

    def _plan(self, job: Job, inputs: frozenset[tuple[int, int]]) -> None:
        """Note whether a file is to be done, is complete, or cannot be done."""
        try:
            entry = self._journal.entry(job) if self._run.resume else None
            with input_errors():
                is_complete = _is_complete(job, entry, inputs, force=self._run.force)
        except InverseDeidError as error:
            self._tally.fail(job.shown, error)
            self._run.on_advance(job.n_bytes, True)
            return
        if entry is not None and is_complete:
            self._run.on_advance(job.n_bytes, True)
            self._tally.merge(entry.tally)
            self._tally.n_found_complete += 1
            self._complete.append((job, entry))
        else:
            self._todo.append(job)

    def work(self) -> Any:  # noqa: ANN401 - what `finish` takes
        """Mask documents; write other files under another name."""
        if self._documents is not None:
            return self._documents.mask(self._masker)
        if not self._todo:
            return None
        job = self._todo[0]
        meter = FileMeter(job.n_bytes, self._run.on_advance)
        try:
            return write_stream_job(job, self._masker, self._run, meter)
        except InverseDeidError as error:
            return error
        finally:
            meter.finish()

    def finish(self, done: Any) -> Tally:  # noqa: ANN401 - what `work` returned
        """Write documents, give the files their names, and return what was done."""
        for job, entry in self._complete:
            self._run.on_file(job, entry)
        if self._documents is not None:
            self._tally.merge(self._documents.write(done, self._journal))
            self._run.on_advance(sum(job.n_bytes for job in self._todo), False)
        elif self._todo:
            try:
                self._tally.merge(self._name_files(self._todo[0], done))
            except InverseDeidError as error:
                self._tally.fail(self._todo[0].shown, error)
        return self._tally

    def _name_files(self, job: Job, written: Written | InverseDeidError) -> Tally:
        """Give the files of one job their names, unless nothing in them could be done."""
        if isinstance(written, InverseDeidError):
            raise written
        entry, files = written
        try:
            check_unchanged(job, entry.input)
        except InverseDeidError:
            files.discard()
            raise
        if entry.tally.n_failures and not entry.tally.n_documents:
            files.discard()
        else:
            self._journal.append({job: entry})
            files.commit()
            self._run.on_file(job, entry)
        return entry.tally


def group_jobs(jobs: Sequence[Job]) -> Iterator[list[Job]]:
    """Group files that are one document each; the groups depend on the jobs alone."""
    limit = FIRST_BATCH_CHARS
    for single, consecutive in groupby(jobs, key=lambda job: job.format.is_single_document):
        n_files = MAX_FILES_A_GROUP if single else 1
        for group in cut_batches(
            consecutive,
            lambda job: job.n_bytes,
            most=BATCH_CHARS,
            first=limit,
            n_items=n_files,
        ):
            yield group
            limit = BATCH_CHARS


def _is_complete(job: Job, entry: Entry | None, inputs: frozenset[tuple[int, int]], *, force: bool) -> bool:
    """Tell whether an earlier run finished a job.

    Raises:
        InputError: Input or output is not what it was, or another file has the name of an output.
    """
    if entry is not None:
        is_input_same = entry.input == input_fingerprint(job.input)
        if is_input_same and all(is_intact(o.path, entry.files.get(o.role)) for o in job.outputs):
            remove_progress(job.target)
            return True
        if not is_input_same and not force:
            raise InputError(
                _("has changed since it was masked"),
                remedies=[Remedy("force", step=N_("add {} to mask it again"))],
            )
    for output in job.outputs:
        is_ours = entry is not None and is_intact(output.path, entry.files.get(output.role))
        check_target(output, inputs, force=force or is_ours)
    return False
