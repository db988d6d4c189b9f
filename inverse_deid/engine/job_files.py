"""The output files of one job while they are written: masked text, explanation, annotations, map."""

from __future__ import annotations

from collections.abc import Callable

from inverse_deid.core.errors import InputError, InverseDeidError
from inverse_deid.core.files import PartialFile, WrittenState, output_errors, printable
from inverse_deid.engine.jobs import Job, Output
from inverse_deid.engine.journal import Entry, Journal, check_unchanged, remove_progress
from inverse_deid.engine.reversal_sinks import ReversalSink
from inverse_deid.engine.run_settings import RunSettings
from inverse_deid.engine.tally import Tally
from inverse_deid.formats.explanation import ExplanationSink
from inverse_deid.formats.i2b2_xml import AnnotationXmlSink
from inverse_deid.formats.records import Sink, Source
from inverse_deid.replacement.reversal import MapWriter


class JobFiles:
    """All output files of a job; they get their names together.

    Args:
        job: Says which files there are.
        progress: Continue them where they were safe; None begins anew.
        key: Of the reversal map.

    Raises:
        OutputError: One cannot be created.
        InputError: A half-done file is not what the journal says.
    """

    def __init__(self, job: Job, progress: Entry | None = None, *, key: bytes = b"") -> None:
        self._job = job
        self._key = key
        self._resumed = progress is not None
        self._files: dict[Output, PartialFile] = {}
        try:
            for output in job.outputs:
                state = None if progress is None else progress.files.get(output.role)
                self._files[output] = PartialFile(output.path, private=output.private, resume=state)
        finally:
            if len(self._files) < len(job.outputs):
                self.close()

    @property
    def masked(self) -> PartialFile:
        """The masked file."""
        return next(file for output, file in self._files.items() if output.role == "masked")

    @property
    def explanations(self) -> ExplanationSink | None:
        """Where the explanations go, None = nobody asked for them."""
        for output, file in self._files.items():
            if output.role == "explain":
                return ExplanationSink(file, with_text=output.with_text)
        return None

    def map_writer(self, marker: str) -> MapWriter | None:
        """What writes the reversal map of case reports, None = nobody asked for it.

        Args:
            marker: Stands for a text that cannot be shown at all.
        """
        for output, file in self._files.items():
            if output.role == "map":
                return MapWriter(file, self._key, {"marker": marker})
        return None

    def sinks(self, source: Source) -> list[Sink]:
        """What writes into the files, in the order of the outputs."""
        return [self._sink(source, output, file) for output, file in self._files.items()]

    def _sink(self, source: Source, output: Output, file: PartialFile) -> Sink:
        match output.role:
            case "masked":
                return source.sink(file, resumed=self._resumed)
            case "explain":
                return ExplanationSink(file, with_text=output.with_text)
            case "annotations":
                return AnnotationXmlSink(file)
            case "map":
                encoding = source.text_encoding
                return ReversalSink(self._begun_map(file, encoding), encoding)

    def _begun_map(self, file: PartialFile, encoding: str) -> MapWriter:
        about = {"encoding": encoding}
        if not self._resumed:
            return MapWriter(file, self._key, about)
        problem = ""
        try:
            with output_errors(file.path), file.path.open("rb") as begun:
                return MapWriter(file, self._key, about, begun=begun)
        except InputError as error:
            problem = str(error)
        raise InputError(f"{printable(file.path)} {problem}")

    def sync(self) -> dict[str, WrittenState]:
        """Force everything to the disk; how much that is, by role."""
        return {output.role: file.sync() for output, file in self._files.items()}

    def commit(self) -> None:
        """Give the complete, synced files their names.

        The progress goes first: nobody can go on with a file that has its name already.
        """
        remove_progress(self._job.target)
        for file in self._files.values():
            file.commit()

    def discard(self) -> None:
        """Remove what was written."""
        for file in self._files.values():
            file.discard()
        remove_progress(self._job.target)

    def close(self) -> None:
        """Close the files; what was written stays for `--resume`."""
        for file in self._files.values():
            file.close()


Written = tuple[Entry, JobFiles]
"""What a job made, and its files, complete and on the disk, but not yet under their names."""


def attempted(write: Callable[[], Written]) -> Written | InverseDeidError:
    """What was written, or why it was not."""
    try:
        return write()
    except InverseDeidError as error:
        return error


def settled(job: Job, journal: Journal, run: RunSettings, written: Written | InverseDeidError) -> Tally:
    """Give the files of one job their names, unless nothing in them could be done.

    Args:
        job: The job.
        journal: Of the output folder.
        run: Is told of a file that is done.
        written: What it made, or why it could not.

    Returns:
        What was done; whatever fails is in it.
    """
    tally = Tally()
    if isinstance(written, InverseDeidError):
        tally.fail(job.shown, str(written))
        return tally
    entry, files = written
    try:
        check_unchanged(job, entry.input)
    except InverseDeidError as error:
        files.discard()
        tally.fail(job.shown, str(error))
        return tally
    try:
        if entry.tally.n_failures and not entry.tally.n_documents:
            files.discard()
        else:
            journal.append({job: entry})
            files.commit()
            run.on_file(job, entry)
        tally = entry.tally
    except InverseDeidError as error:
        tally.fail(job.shown, str(error))
    return tally
