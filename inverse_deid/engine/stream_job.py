"""One file of many records: masked batch by batch, with a checkpoint after each batch."""

from __future__ import annotations

from dataclasses import replace

from inverse_deid.core.errors import InverseDeidError, OutputError
from inverse_deid.engine.job_files import JobFiles, Written
from inverse_deid.engine.jobs import Job
from inverse_deid.engine.journal import Entry, input_fingerprint, read_progress, write_progress
from inverse_deid.engine.masker import Masker
from inverse_deid.engine.run_settings import RunSettings
from inverse_deid.engine.serial import Reporting, Start, mask_source
from inverse_deid.engine.tally import Tally
from inverse_deid.formats.records import ReportingSink, Source
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
            source = open_source(stream, job.name, job.format, replace(run.read_options, profile=run.profile))
        files = JobFiles(job, progress, key=run.key, marker=run.marker)
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
    """Mask and write everything after the finished records."""
    source, outputs = files
    sinks = outputs.sinks(source)
    n_records = begun.n_records
    start = Start(n_records, begun.tally)
    reporting = Reporting(job.shown, run.on_progress, run.n_at_once, run.key, run.marker)
    for n_records in mask_source(source, sinks, masker, start, reporting):
        if source.resumable:
            write_progress(job, begun.at(n_records, outputs.sync()))
    for sink in sinks:
        sink.finish()
    report = next((sink.as_json() for sink in sinks if isinstance(sink, ReportingSink)), None)
    return replace(begun.at(n_records, outputs.sync()), report=report)
