"""Run a list of jobs: each file is finished or reported, and a killed run can be resumed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from inverse_deid.core.errors import ConfigurationError, InputError, InverseDeidError
from inverse_deid.engine.document_jobs import mask_group, open_group, write_group
from inverse_deid.engine.in_order import in_order
from inverse_deid.engine.job_files import Written
from inverse_deid.engine.jobs import Job, check_target
from inverse_deid.engine.journal import (
    Entry,
    Journal,
    check_unchanged,
    input_fingerprint,
    is_intact,
    remove_progress,
)
from inverse_deid.engine.masker import JobMasker
from inverse_deid.engine.run_settings import RunSettings
from inverse_deid.engine.serial import BATCH_CHARS, FIRST_BATCH_CHARS
from inverse_deid.engine.streams import write_stream_job
from inverse_deid.engine.tally import Tally
from inverse_deid.formats.registry import input_errors

MAX_FILES_A_GROUP = 128

LONG_FILE_BYTES = BATCH_CHARS
"""Longer files are masked one after the other, several batches of each at once; shorter ones side by side."""


def run_jobs(jobs: Sequence[Job], journal: Journal, masker: JobMasker, run: RunSettings) -> Tally:
    """Do all jobs; a file that fails is noted and the others are finished.

    Args:
        jobs: The files, in order.
        journal: Of the output folder.
        masker: Masks the documents.
        run: How.

    Raises:
        ConfigurationError: The run to be resumed had other settings.
    """
    if run.resume and journal.had_other_settings and not run.force:
        raise ConfigurationError(
            "the interrupted run had other settings or another model. "
            "Give the same ones, or add --force to start again"
        )
    inputs = frozenset(job.identity for job in jobs)
    tally = Tally()
    for is_long, some in groupby(group_jobs(jobs), key=_is_long):
        # A long file is masked several batches at once, short ones and documents side by side.
        inner = run if is_long else replace(run, n_at_once=1)
        steps = (_Step(group, journal, masker, inner, inputs) for group in some)
        for step, done in in_order(_Step.work, steps, 1 if is_long else run.n_at_once):
            tally.merge(step.finish(done))
    return tally


class _Step:
    """One group of files: planned and opened in turn, worked on beside other groups, finished in turn.

    Args:
        group: The files; several only if each is one document.
        journal: Of the output folder.
        masker: Masks them.
        run: How.
        inputs: All inputs of the run, which no output may overwrite.
    """

    def __init__(
        self,
        group: Sequence[Job],
        journal: Journal,
        masker: JobMasker,
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
        self._documents = open_group(group, self._todo, run) if is_document else None

    def _plan(self, job: Job, inputs: frozenset[tuple[int, int]]) -> None:
        """Note whether a file is to be done, is complete, or cannot be done."""
        try:
            entry = self._journal.entry(job) if self._run.resume else None
            with input_errors():
                is_complete = _is_complete(job, entry, inputs, force=self._run.force)
        except InverseDeidError as error:
            self._tally.fail(job.shown, str(error))
            return
        if entry is not None and is_complete:
            self._tally.merge(entry.tally)
            self._tally.n_found_complete += 1
            self._complete.append((job, entry))
        else:
            self._todo.append(job)

    def work(self) -> Any:  # noqa: ANN401 - what `finish` takes
        """Mask documents; write other files under another name."""
        if self._documents is not None:
            return mask_group(self._documents, self._masker)
        if not self._todo:
            return None
        job = self._todo[0]
        try:
            return write_stream_job(job, self._masker, self._run)
        except InverseDeidError as error:
            return error

    def finish(self, done: Any) -> Tally:  # noqa: ANN401 - what `work` returned
        """Write documents, give the files their names, and return what was done."""
        for job, entry in self._complete:
            self._run.on_file(job, entry)
        if self._documents is not None:
            self._tally.merge(write_group(self._documents, done, self._journal, self._run))
        elif self._todo:
            try:
                self._tally.merge(self._name_files(self._todo[0], done))
            except InverseDeidError as error:
                self._tally.fail(self._todo[0].shown, str(error))
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
        group: list[Job] = []
        n_bytes = 0
        for job in consecutive:
            group.append(job)
            n_bytes += job.n_bytes
            if not single or n_bytes >= limit or len(group) >= MAX_FILES_A_GROUP:
                yield group
                group, n_bytes, limit = [], 0, BATCH_CHARS
        if group:
            yield group


def _is_long(group: Sequence[Job]) -> bool:
    """Tell whether a group is a file that is worth several batches."""
    return not group[0].format.is_single_document and group[0].n_bytes > LONG_FILE_BYTES


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
            raise InputError("has changed since it was masked. Add --force to mask it again")
    for output in job.outputs:
        is_ours = entry is not None and is_intact(output.path, entry.files.get(output.role))
        check_target(output, inputs, force=force or is_ours)
    return False
