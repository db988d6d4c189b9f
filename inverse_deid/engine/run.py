"""Running a list of jobs: each file is finished or reported, and a killed run can go on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Protocol

from inverse_deid.core.errors import ConfigurationError, InputError, InverseDeidError
from inverse_deid.engine.case_job import MasksCases, mask_case_job
from inverse_deid.engine.document_jobs import mask_document_jobs
from inverse_deid.engine.jobs import Job, check_target
from inverse_deid.engine.journal import Entry, Journal, input_fingerprint, is_intact, remove_progress
from inverse_deid.engine.masker import Masker
from inverse_deid.engine.run_settings import RunSettings
from inverse_deid.engine.serial import BATCH_CHARS, FIRST_BATCH_CHARS
from inverse_deid.engine.stream_job import mask_stream_job
from inverse_deid.engine.tally import Tally
from inverse_deid.formats.registry import SINGLE_DOCUMENT_FORMATS, FormatName, input_errors

MAX_FILES_A_GROUP = 128


class JobMasker(Masker, MasksCases, Protocol):
    """Masks documents and cases."""


def run_jobs(jobs: Sequence[Job], journal: Journal, masker: JobMasker, run: RunSettings) -> Tally:
    """Do all jobs; a file that fails is noted and the others are finished.

    Args:
        jobs: What is to be done, in this order.
        journal: Of the output folder.
        masker: Masks the documents.
        run: How.

    Raises:
        ConfigurationError: The run to be resumed had other settings.
    """
    if run.resume and journal.had_other_settings and not run.force:
        raise ConfigurationError(
            "the interrupted run had other settings or another model; "
            "give the same ones, or add --force to start again"
        )
    tally = Tally()
    inputs = frozenset(job.identity for job in jobs)
    for group in groups(jobs):
        todo = _todo(group, journal, run, (inputs, tally))
        if not todo:
            continue
        if _is_single(group[0]):
            tally.merge(mask_document_jobs(group, todo, journal, masker, run))
        elif group[0].format is FormatName.ICSR:
            tally.merge(mask_case_job(todo[0], journal, masker, run))
        else:
            tally.merge(mask_stream_job(todo[0], journal, masker, run))
    return tally


def groups(jobs: Sequence[Job]) -> Iterator[list[Job]]:
    """Files that are one document are masked together; the groups depend on the jobs alone."""
    limit = FIRST_BATCH_CHARS
    for single, consecutive in groupby(jobs, key=_is_single):
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


def _is_single(job: Job) -> bool:
    return job.format in SINGLE_DOCUMENT_FORMATS


def _todo(
    group: Sequence[Job],
    journal: Journal,
    run: RunSettings,
    context: tuple[frozenset[tuple[int, int]], Tally],
) -> list[Job]:
    """The jobs that are to be done; what is done already or cannot be done is counted."""
    inputs, tally = context
    todo: list[Job] = []
    for job in group:
        try:
            entry = journal.entry(job.name) if run.resume else None
            with input_errors():
                done = _finished(job, entry, inputs, force=run.force)
        except InverseDeidError as error:
            tally.fail(job.shown, str(error))
        else:
            if done is None:
                todo.append(job)
            else:
                tally.merge(done)
                if entry is not None:
                    run.on_file(job, entry)
    return todo


def _finished(
    job: Job, entry: Entry | None, inputs: frozenset[tuple[int, int]], *, force: bool
) -> Tally | None:
    """What an earlier run counted for a job that it finished; None: there is something to do.

    Raises:
        InputError: Input or output is not what it was, or an output stands in the way.
    """
    if entry is not None:
        is_input_same = entry.input == input_fingerprint(job.input)
        n_intact = sum(is_intact(o.path, entry.files.get(o.role)) for o in job.outputs)
        if is_input_same and n_intact == len(job.outputs):
            remove_progress(job.target)
            return entry.tally
        if not is_input_same and not force:
            raise InputError("has changed since it was masked; add --force to mask it again")
    for output in job.outputs:
        is_ours = entry is not None and is_intact(output.path, entry.files.get(output.role))
        check_target(output, inputs, force=force or is_ours)
    return None
