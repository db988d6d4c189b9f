"""One file of many documents: masked batch by batch, with a checkpoint after each batch."""

from __future__ import annotations

from inverse_deid.core.errors import InverseDeidError, OutputError
from inverse_deid.engine.job_files import JobFiles, Written
from inverse_deid.engine.jobs import Job
from inverse_deid.engine.journal import Entry, input_fingerprint, read_progress, write_progress
from inverse_deid.engine.masker import Masker
from inverse_deid.engine.run_settings import RunSettings
from inverse_deid.engine.serial import Reporting, Start, mask_source
from inverse_deid.engine.tally import Tally
from inverse_deid.formats.records import Source
from inverse_deid.formats.registry import input_errors, open_input, open_source


def write_stream_job(job: Job, masker: Masker, run: RunSettings) -> Written:
    """Write all output files, complete and on the disk, but not yet under their names.

    Raises:
        InverseDeidError: The file cannot be read, or its output not be written.
    """
    with input_errors():
        input_print = input_fingerprint(job.input)
    progress = _progress(job, input_print, run)
    with open_input(job.input) as stream:
        with input_errors():
            source = open_source(stream, job.name, job.format, run.read_options)
        files = JobFiles(job, progress, key=run.key)
        begun = progress or Entry(input_print, run.fingerprint, 0, {}, Tally())
        is_kept = False
        try:
            entry = _write(job, (source, files), masker, begun, run)
            is_kept = True
        except (OutputError, KeyboardInterrupt):
            is_kept = source.resumable
            raise
        finally:
            files.close() if is_kept else files.discard()
    return entry, files


def _progress(job: Job, input_print: str, run: RunSettings) -> Entry | None:
    """Where an interrupted run was safe, None: begin anew."""
    entry = read_progress(job) if run.resume else None
    if entry is None:
        return None
    try:
        entry.check(input_print, run.fingerprint)
    except InverseDeidError:
        if not run.force:
            raise
        return None
    return entry


def _write(job: Job, files: tuple[Source, JobFiles], masker: Masker, begun: Entry, run: RunSettings) -> Entry:
    """Mask and write everything behind what was done."""
    source, outputs = files
    sinks = outputs.sinks(source)
    n_records = begun.n_records
    start = Start(n_records, begun.tally)
    report = Reporting(job.shown, run.on_progress, run.n_at_once)
    for n_records in mask_source(source, sinks, masker, start, report):
        if source.resumable:
            write_progress(job, begun.at(n_records, outputs.sync()))
    for sink in sinks:
        sink.finish()
    return begun.at(n_records, outputs.sync())
