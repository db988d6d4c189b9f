"""Files of one document each: read and masked together in one batch, each written for itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from inverse_deid.core.errors import InverseDeidError
from inverse_deid.core.values import MaskedDocument
from inverse_deid.engine.job_files import JobFiles, Written
from inverse_deid.engine.jobs import Job
from inverse_deid.engine.journal import Entry, Journal, check_unchanged, input_fingerprint
from inverse_deid.engine.masker import Masker, mask_records
from inverse_deid.engine.run_settings import RunSettings
from inverse_deid.engine.serial import write_batch
from inverse_deid.engine.tally import Tally
from inverse_deid.formats.records import Record, Source
from inverse_deid.formats.registry import input_errors, open_input, open_source

Opened = tuple[str, Source, Record]
"""Fingerprint of the input, its source and its one record."""


@dataclass(frozen=True, slots=True)
class DocumentGroup:
    """Files that are masked together.

    Args:
        todo: Those that are written.
        opened: All that can be read.
        tally: What is wrong with the others.
    """

    todo: Sequence[Job]
    opened: dict[Job, Opened] = field(repr=False)
    tally: Tally


def open_group(group: Sequence[Job], todo: Sequence[Job], run: RunSettings) -> DocumentGroup:
    """Read a group of files.

    The whole group is read and masked, so that the batch is the same after an
    interruption and so are all results.
    """
    tally = Tally()
    return DocumentGroup(todo, _open_all(group, set(todo), run, tally), tally)


def mask_group(group: DocumentGroup, masker: Masker) -> list[tuple[MaskedDocument, ...]]:
    """Mask the documents of a group, in order."""
    return mask_records(masker, [record for _, _, record in group.opened.values()])


def write_group(
    group: DocumentGroup, masked: Sequence[Sequence[MaskedDocument]], journal: Journal, run: RunSettings
) -> Tally:
    """Write the files that are to be done."""
    tally = group.tally
    written: dict[Job, Written] = {}
    for (job, source), result in zip(group.opened.items(), masked, strict=True):
        if job in group.todo:
            try:
                check_unchanged(job, source[0])
                written[job] = _write(job, source, result, run)
            except InverseDeidError as error:
                tally.fail(job.shown, str(error))
    _commit(written, journal, run, tally)
    return tally


def _open_all(group: Sequence[Job], todo: set[Job], run: RunSettings, tally: Tally) -> dict[Job, Opened]:
    """The files that can be read; what is wrong with the others is noted."""
    opened: dict[Job, Opened] = {}
    for job in group:
        try:
            with input_errors():
                opened[job] = _open(job, run)
        except InverseDeidError as error:
            if job in todo:
                tally.fail(job.shown, str(error))
    return opened


def _open(job: Job, run: RunSettings) -> Opened:
    input_print = input_fingerprint(job.input)
    with open_input(job.input) as stream:
        source = open_source(stream, job.name, job.format, run.read_options)
        return input_print, source, next(source.records())


def _write(job: Job, opened: Opened, masked: Sequence[MaskedDocument], run: RunSettings) -> Written:
    """Write the files of one job, complete and on the disk, but not yet under their names."""
    input_print, source, record = opened
    tally = Tally()
    files = JobFiles(job, key=run.key)
    is_complete = False
    try:
        sinks = files.sinks(source)
        write_batch([(record, masked)], sinks, tally, job.shown, source.unit)
        for sink in sinks:
            sink.finish()
        entry = Entry(input_print, run.fingerprint, 1, files.sync(), tally)
        is_complete = True
    finally:
        files.close() if is_complete else files.discard()
    return entry, files


def _commit(written: dict[Job, Written], journal: Journal, run: RunSettings, tally: Tally) -> None:
    """First the journal, then the names: a kill in between loses nothing."""
    if not written:
        return
    try:
        journal.append({job: entry for job, (entry, _) in written.items()})
    except InverseDeidError as error:
        for job, (_, files) in written.items():
            files.discard()
            tally.fail(job.shown, str(error))
        return
    for job, (entry, files) in written.items():
        try:
            files.commit()
        except InverseDeidError as error:
            tally.fail(job.shown, str(error))
        else:
            tally.merge(entry.tally)
            run.on_file(job, entry)
            run.on_progress(entry.tally.n_documents, entry.tally.n_tokens)
