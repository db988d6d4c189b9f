"""One file of case safety reports (E2B): masked case by case, several in one batch of the masker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from inverse_deid.core.errors import StageError
from inverse_deid.core.values import MaskedDocument
from inverse_deid.engine.in_order import in_order
from inverse_deid.engine.job_files import JobFiles, Written
from inverse_deid.engine.jobs import Job
from inverse_deid.engine.journal import Entry, input_fingerprint
from inverse_deid.engine.masker import MasksCases
from inverse_deid.engine.reversal_sinks import hidden_report
from inverse_deid.engine.run_settings import RunSettings
from inverse_deid.engine.tally import MARKERS_LEFT, Tally
from inverse_deid.formats.icsr.cases import Case
from inverse_deid.formats.icsr.masking import TreatedCase, mask_batches
from inverse_deid.formats.icsr.messages import BrokenCase
from inverse_deid.formats.icsr.report import CaseProblem
from inverse_deid.formats.records import Record
from inverse_deid.formats.registry import input_errors, open_input
from inverse_deid.masking.case_reports import batch_number, replacements_of, texts_of
from inverse_deid.replacement.case_texts import CaseTexts
from inverse_deid.replacement.replacers import MaskedCase


def write_case_job(job: Job, masker: MasksCases, run: RunSettings) -> Written:
    """Write all output files, complete and on the disk, but not yet under their names.

    A case that fails is left out and counted.

    Raises:
        InverseDeidError: The file cannot be read, or its output not be written.
    """
    with input_errors():
        input_print = input_fingerprint(job.input)
    files = JobFiles(job, key=run.key)
    is_complete = False
    try:
        work = _CaseWork(job, files, masker, run)
        with open_input(job.input) as stream, input_errors():
            report = mask_batches((stream, files.masked), work.treat, run.profile, on_part=work.finish)
        work.finish_map()
        tally = work.tally
        entry = Entry(input_print, run.fingerprint, report.n_cases, files.sync(), tally, report.as_json())
        is_complete = True
    finally:
        files.close() if is_complete else files.discard()
    return entry, files


class _CaseWork:
    """Masks the cases of one file and counts them."""

    def __init__(self, job: Job, files: JobFiles, masker: MasksCases, run: RunSettings) -> None:
        self._job = job
        self._explanations = files.explanations
        self._map = files.map_writer(run.marker)
        self._masker = masker
        self._run = run
        self._batch_number = ""
        self._waiting: dict[int, tuple[MaskedDocument, ...]] = {}
        self._plain: set[int] = set()
        self.tally = Tally()

    def treat(self, batches: Iterable[Sequence[Case]]) -> Iterator[list[TreatedCase]]:
        """Mask the texts of cases, batch by batch."""
        given = ((cases, [self._texts(case) for case in cases]) for cases in batches)
        found = in_order(lambda item: self._masker.mask_cases(item[1]), given, self._run.n_at_once)
        for (cases, texts), masked in found:
            yield self._batch(cases, texts, masked)

    def _batch(
        self, cases: Sequence[Case], texts: Sequence[CaseTexts], masked: Sequence[MaskedCase]
    ) -> list[TreatedCase]:
        if [len(case.docs) for case in texts] != [len(case.docs) for case in masked]:
            raise StageError("cases went into the masker and others came out")
        self._waiting = {id(case): one.docs for case, one in zip(cases, masked, strict=True)}
        self._plain = {id(case) for case, one in zip(cases, masked, strict=True) if one.is_plain}
        return [self._treated(*one) for one in zip(cases, texts, masked, strict=True)]

    def _texts(self, case: Case) -> CaseTexts:
        self._batch_number = batch_number(case) or self._batch_number
        return texts_of(case, f"case {case.number}", self._batch_number, self._job.name)

    def _treated(self, case: Case, texts: CaseTexts, masked: MaskedCase) -> TreatedCase:
        if problem := texts.problem:
            return TreatedCase([], problem=problem)
        given = replacements_of(case, masked, self._run.key, self._run.marker)
        return TreatedCase([doc.text for doc in masked.docs], given)

    def finish(self, part: Case | BrokenCase, problem: CaseProblem | None) -> None:
        """Count a part that was written, or note why it was not."""
        where = f"{self._job.shown} case {part.number}" if part.number else self._job.shown
        if problem is not None:
            self.tally.fail(where, f"{problem.reason}; it was left out")
        elif isinstance(part, Case):
            docs = self._waiting.pop(id(part))
            if self._map is not None:
                self._map.add(hidden_report(part, docs, self._run.marker))
            self.tally.add_case(docs, is_case=part.is_case)
            if id(part) in self._plain:
                self.tally.fail(where, MARKERS_LEFT)
            self._plain.discard(id(part))
            if any(doc.failed for doc in docs):
                self.tally.fail(where, "could not be analysed and was masked completely")
            for doc in docs if self._explanations is not None else ():
                self._explain(part.number, doc)
            self._run.on_progress(int(part.is_case), sum(len(doc.tokens) for doc in docs))

    def finish_map(self) -> None:
        """Write the end of the reversal map, if there is one."""
        if self._map is not None:
            self._map.finish()

    def _explain(self, number: int, doc: MaskedDocument) -> None:
        if self._explanations is not None:
            self._explanations.write(Record(number), (doc,))
