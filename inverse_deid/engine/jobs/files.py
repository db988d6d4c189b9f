"""The output files of one job while they are written: masked text, explanation, annotations, map."""

from __future__ import annotations

from inverse_deid.core.errors import InputError
from inverse_deid.core.files import PartialFile, WrittenState, output_errors, printable
from inverse_deid.engine.jobs.journal import Entry, remove_progress
from inverse_deid.engine.jobs.planning import Job, Output
from inverse_deid.engine.reversal import ReversalSink
from inverse_deid.formats.beside.explanation import ExplanationSink
from inverse_deid.formats.i2b2_xml import AnnotationXmlSink
from inverse_deid.formats.records import Sink, Source
from inverse_deid.replacement.reversal import MapWriter


class JobFiles:
    """All output files of a job; they get their names together.

    Args:
        job: Says which files there are.
        progress: Continue them where they were safe; None = begin again.
        key: Of the reversal map.
        marker: Replaces a text of a case safety report that cannot be shown at all.

    Raises:
        OutputError: One cannot be created.
        InputError: A half-done file does not match the journal.
    """

    def __init__(
        self, job: Job, progress: Entry | None = None, *, key: bytes = b"", marker: str = "PHI"
    ) -> None:
        self._job = job
        self._key = key
        self._marker = marker
        self._resumed = progress is not None
        self._files: dict[Output, PartialFile] = {}
        try:
            for output in job.outputs:
                state = None if progress is None else progress.files.get(output.role)
                self._files[output] = PartialFile(output.path, private=output.private, resume=state)
        finally:
            if len(self._files) < len(job.outputs):
                self.close()

    def sinks(self, source: Source) -> list[Sink]:
        """Return the writers of the files, in the order of the outputs."""
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
                holds_cases = self._job.format.holds_cases
                about = {"marker": self._marker} if holds_cases else {"encoding": encoding}
                keeps_text = self._job.format.is_laid_out_anew
                return ReversalSink(self._resume_map(file, about), encoding, self._marker, keeps_text)

    def _resume_map(self, file: PartialFile, about: dict[str, str]) -> MapWriter:
        if not self._resumed:
            return MapWriter(file, self._key, about)
        problem = InputError()
        try:
            with output_errors(file.path), file.path.open("rb") as begun:
                return MapWriter(file, self._key, about, begun=begun)
        except InputError as error:
            problem = error.add_prefix(f"{printable(file.path)} ")
        raise problem

    def sync(self) -> dict[str, WrittenState]:
        """Force everything to the disk, and return how much that is, by role."""
        return {output.role: file.sync() for output, file in self._files.items()}

    def commit(self) -> None:
        """Give the complete, synced files their names.

        The progress is removed first: no run can resume a file that has its name already.
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
        """Close the files and leave them for a run that resumes this one."""
        for file in self._files.values():
            file.close()


Written = tuple[Entry, JobFiles]
"""The entry of a job, and its files, complete and on the disk, but not yet under their names."""
