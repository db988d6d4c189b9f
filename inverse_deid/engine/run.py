"""Running a list of jobs: each file is finished or reported, and a killed run can go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Generic, Protocol, TypeVar

from inverse_deid.core.errors import ConfigurationError, InputError, InverseDeidError
from inverse_deid.engine.case_job import write_case_job
from inverse_deid.engine.document_jobs import mask_group, open_group, write_group
from inverse_deid.engine.in_order import in_order
from inverse_deid.engine.job_files import attempted, settled
from inverse_deid.engine.jobs import Job, check_target
from inverse_deid.engine.journal import Entry, Journal, input_fingerprint, is_intact, remove_progress
from inverse_deid.engine.masker import Masker, MasksCases
from inverse_deid.engine.run_settings import RunSettings
from inverse_deid.engine.serial import BATCH_CHARS, FIRST_BATCH_CHARS
from inverse_deid.engine.stream_job import write_stream_job
from inverse_deid.engine.tally import Tally
from inverse_deid.formats.registry import input_errors

MAX_FILES_A_GROUP = 128

LONG_FILE_BYTES = BATCH_CHARS
"""Longer files are masked one after the other, several batches of each at once; shorter ones side by side."""


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
    inputs = frozenset(job.identity for job in jobs)
    tally = Tally()
    for is_long, some in groupby(groups(jobs), key=lambda group: _is_long(group[0])):
        # A long file is masked several batches at once, short ones and documents side by side.
        inner = run if is_long else replace(run, n_at_once=1)
        steps = (_step(_plan(group, journal, run, inputs), journal, masker, inner) for group in some)
        for step, done in in_order(lambda step: step.work(), steps, 1 if is_long else run.n_at_once):
            tally.merge(step.finish(done))
    return tally


Done = TypeVar("Done")


@dataclass(frozen=True, slots=True)
class _Planned:
    """What is to be done of a group.

    Args:
        group: The jobs.
        todo: Those that are to be done.
        finished: What an earlier run did.
        tally: Of the others: what was counted for them, or why they cannot be done.
    """

    group: Sequence[Job]
    todo: list[Job] = field(default_factory=list)
    finished: list[tuple[Job, Entry]] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)


@dataclass(frozen=True, slots=True)
class _Step(Generic[Done]):
    """Something that may be done beside other steps, and what follows in the order of the steps."""

    work: Callable[[], Done]
    finish: Callable[[Done], Tally]


def _step(planned: _Planned, journal: Journal, masker: JobMasker, run: RunSettings) -> _Step[Any]:
    """The step of one group; finished files are counted where they stand in the order."""
    step = _work(planned, journal, masker, run) if planned.todo else _Step(lambda: None, lambda _: Tally())

    def finish(done: Any) -> Tally:  # noqa: ANN401 - what `work` gave back
        for job, entry in planned.finished:
            run.on_file(job, entry)
        planned.tally.merge(step.finish(done))
        return planned.tally

    return _Step(step.work, finish)


def _work(planned: _Planned, journal: Journal, masker: JobMasker, run: RunSettings) -> _Step[Any]:
    """Documents: mask, then write. Other files: write under another name, then give them their names."""
    job = planned.todo[0]
    if job.format.is_single_document:
        group = open_group(planned.group, planned.todo, run)
        return _Step(
            lambda: mask_group(group, masker), lambda masked: write_group(group, masked, journal, run)
        )
    write = write_case_job if job.format.holds_cases else write_stream_job
    return _Step(
        lambda: attempted(lambda: write(job, masker, run)), lambda done: settled(job, journal, run, done)
    )


def groups(jobs: Sequence[Job]) -> Iterator[list[Job]]:
    """Files that are one document are masked together; the groups depend on the jobs alone."""
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


def _is_long(job: Job) -> bool:
    """Whether a file is worth several batches."""
    return not job.format.is_single_document and job.n_bytes > LONG_FILE_BYTES


def _plan(
    group: Sequence[Job], journal: Journal, run: RunSettings, inputs: frozenset[tuple[int, int]]
) -> _Planned:
    """What is to be done; what is done already or cannot be done is counted."""
    planned = _Planned(group)
    for job in group:
        try:
            entry = journal.entry(job) if run.resume else None
            with input_errors():
                done = _finished(job, entry, inputs, force=run.force)
        except InverseDeidError as error:
            planned.tally.fail(job.shown, str(error))
        else:
            if done is None:
                planned.todo.append(job)
            else:
                planned.tally.merge(done)
                planned.tally.n_found_complete += 1
                if entry is not None:
                    planned.finished.append((job, entry))
    return planned


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
