"""Sources of many records: a file with a checkpoint after each batch, or a pipe that keeps nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import BinaryIO

from inverse_deid.core.errors import InputError, InverseDeidError, OutputError
from inverse_deid.core.wording import N_, _
from inverse_deid.engine.jobs.files import JobFiles, Written
from inverse_deid.engine.jobs.journal import (
    Entry,
    InputSeal,
    input_fingerprint,
    read_progress,
    write_progress,
)
from inverse_deid.engine.jobs.planning import Job
from inverse_deid.engine.progress import FileMeter
from inverse_deid.engine.run_settings import RunSettings
from inverse_deid.engine.serial import SourceProgress, mask_source
from inverse_deid.engine.tally import Tally
from inverse_deid.files.reading import find_facts
from inverse_deid.formats.records import Format, ReadOptions, ReportingSink
from inverse_deid.formats.registry import input_errors, open_input
from inverse_deid.masking.case_masker import DocumentMasker

PIPE_NAME = N_("standard input")


def write_stream_job(job: Job, masker: DocumentMasker, run: RunSettings, meter: FileMeter) -> Written:
    """Write all output files, complete and on the disk, but not yet under their names.

    The meter measures how much of the file is done.

    Raises:
        InverseDeidError: The file cannot be read, or its output cannot be written.
    """
    with input_errors():
        input_print, seal = input_fingerprint(job.input), run.seal(job)
    resumed = _read_progress(job, seal, run)
    with open_input(job.input) as stream:
        meter.watch(stream)
        with input_errors():
            source = job.format.open(stream, _read_options(job, run), job.doc_id)
        files = JobFiles(job, resumed, key=run.key, marker=run.marker)
        begun = resumed or Entry(input_print, 0, {}, Tally())
        n_records = begun.n_records
        progress = SourceProgress(
            job.shown, begun.tally, run.on_progress, run.n_at_once, run.key, run.marker, meter
        )
        is_kept = False
        try:
            sinks = [*files.sinks(source), *run.watchers(job)]
            for n_records in mask_source(source, sinks, masker, progress, begun.n_records):
                if source.resumable:
                    write_progress(job, begun.at(n_records, files.sync()), seal)
            for sink in sinks:
                sink.finish()
            begun.tally.add_facts(find_facts(source, job.shown))
            report = next((sink.as_json() for sink in sinks if isinstance(sink, ReportingSink)), None)
            entry = replace(begun.at(n_records, files.sync()), report=report)
            is_kept = True
        except (OutputError, KeyboardInterrupt):
            is_kept = source.resumable
            raise
        finally:
            files.close() if is_kept else files.discard()
    return entry, files


def _read_options(job: Job, run: RunSettings) -> ReadOptions:
    """Return how a file is read; only case safety reports, which may be in a container, need the profile."""
    kind, options = job.format, run.read_options
    profile = run.profile if kind.holds_cases or kind.is_container else options.profile
    new_name = "" if options.renames is None else job.name
    return replace(options, profile=profile, new_name=new_name)


def _read_progress(job: Job, seal: InputSeal, run: RunSettings) -> Entry | None:
    """Return where an interrupted run was safe, None = begin again."""
    try:
        return read_progress(job, seal) if run.resume else None
    except InverseDeidError:
        if not run.force:
            raise
    return None


class _Pipe:
    """A pipe to write into; a closed one is an error with a remedy."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, data: bytes, /) -> int:
        problem = ""
        try:
            left = memoryview(data)
            while left:
                left = left[self._stream.write(left) :]  # without a buffer a part may be taken
            self._stream.flush()
        except OSError as error:
            problem = error.strerror or type(error).__name__
        if problem:
            raise OutputError(
                _("standard output cannot be written: {problem}. The rest was not masked", problem=problem)
            )
        return len(data)


def mask_pipe(
    given: BinaryIO, target: BinaryIO, kind: Format, masker: DocumentMasker, run: RunSettings
) -> Tally:
    """Mask a stream and write it out in its format; faults of the input are in the tally.

    Of the settings of the run only reading, progress and batches at once matter.

    Raises:
        OutputError: The output was closed.
    """
    tally = Tally()
    try:
        with input_errors():
            source = kind.open(given, run.read_options, "stdin")
        sink = source.sink(_Pipe(target))
        progress = SourceProgress(PIPE_NAME, tally, run.on_progress, run.n_at_once)
        for _ignored in mask_source(source, [sink], masker, progress):
            pass
        sink.finish()
        tally.add_facts(find_facts(source, PIPE_NAME))
    except InputError as error:
        tally.fail(PIPE_NAME, error)
    return tally
