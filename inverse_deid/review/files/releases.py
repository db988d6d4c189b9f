"""The masked text of the released cases of one file, in the format of the file.

A case is written only if it is released and every token of it is decided under the policy. Any mismatch
(a missing approval, another text than the one that was reviewed) holds it back and is listed.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Row, select

from inverse_deid.choices.categories import Category
from inverse_deid.core.errors import InverseDeidError, OutputError, RefusedRecordError, ReviewError
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.formats.records import Record, Sink, Writable
from inverse_deid.formats.registry import FORMATS
from inverse_deid.masking.case_masker import CaseMasker
from inverse_deid.masking.case_reports import replacements_of, texts_of
from inverse_deid.masking.kept.columns import KeptColumns, MaskedKinds
from inverse_deid.masking.pipeline import mask_everything
from inverse_deid.replacement.case_texts import CaseTexts
from inverse_deid.replacement.markers import fixed_marker
from inverse_deid.replacement.replacers import MaskedCase
from inverse_deid.review.flow.contents import read_content
from inverse_deid.review.flow.layers import read_final, render_part
from inverse_deid.review.store.opening import Transaction
from inverse_deid.review.store.sources import SourceMasking
from inverse_deid.review.store.tables import SOURCES

Cases = Mapping[int, Row[Any]]
"""Released cases of one file by their number in it."""


def read_original(transaction: Transaction, source_id: int) -> bytes:
    """Return a file as it came."""
    sealed = select(SOURCES.c.sealed).where(SOURCES.c.id == source_id)
    return transaction.sealer.open(transaction.execute(sealed).scalar_one(), f"file {source_id}")


class SourceRelease:
    """Writes the released cases of one file, and counts them.

    Args:
        source: The id, name, format and `export_name` of the file.
        masking: How the file is masked and written.
        cases: The cases to write.
        n_left_out: How many other cases the file has.
    """

    def __init__(
        self,
        transaction: Transaction,
        source: Row[Any],
        masking: SourceMasking,
        cases: Cases,
        n_left_out: int,
    ) -> None:
        self._transaction = transaction
        self._store = transaction.store
        self._source = source
        self._masking = masking
        self._cases = cases
        self._n_left_out = n_left_out
        self.n_cases = 0
        self.problems: list[str] = []
        self.columns: dict[str, str] = {}
        self.data = b""

    def write(self, file: Writable) -> None:
        """Write the file; if `n_cases` is 0 afterwards, nothing of it may be used."""
        name = self._source.export_name
        try:
            self.data = read_original(self._transaction, self._source.id)
            self._write_records(file)
        except OutputError:
            raise
        except InverseDeidError as error:
            self.n_cases = 0
            self.problems.append(f"{name}: {error}")

    def _write_records(self, file: Writable) -> None:
        kind = FORMATS[self._source.format]
        if kind.needs_all_records and self._n_left_out:
            what = "parts" if kind.is_container else "rows"
            raise ReviewError(f"{self._n_left_out} {what} are not released, and a {kind} file needs all")
        output = self._masking.output
        options = replace(output.read_options, profile=output.profile)
        opened = kind.open(io.BytesIO(self.data), options, self._source.name)
        hidden = self._masking.facts.categories or tuple(Category)
        kinds = MaskedKinds(dates=Category.DATE in hidden, ages=Category.AGE in hidden)
        kept = KeptColumns(None, output.cases.day_first, opened.unit, kinds)
        sink, n_emptied = opened.sink(file), 0
        for record in opened.records():
            if record.problem and not record.is_frame:
                if kind.holds_cases:
                    place = f"{self._source.export_name} {opened.unit} {record.number}"
                    self.problems.append(f"{place}: {record.problem}")
                continue
            if not record.docs and record.report is None:
                (settled,) = kept.settle([record], [None])
                n_emptied += _count_emptied(settled)
                sink.write(settled, ())
                continue
            masked = self._mask(self._cases.get(record.number), record)
            if masked is not None:
                (settled,) = kept.settle([record], [masked])
                n_emptied += _count_emptied(settled)
                self._write_record(sink, settled, masked)
            elif kind.needs_all_records:
                what = record.place or f"{opened.unit} {record.number}"
                raise ReviewError(f"{what} cannot be released, and a {kind} file needs all of them")
        sink.finish()
        if n_emptied:
            self.problems.append(
                f"{self._source.export_name}: {n_emptied} dates and ages in kept columns were left empty, "
                "since they are masked in the text"
            )
        self.columns |= opened.columns

    def _write_record(self, sink: Sink, record: Record, masked: MaskedCase) -> None:
        """Write a released case; one that is refused is noted."""
        if record.report is not None:
            marker = self._masking.facts.marker
            record = replace(record, fields=replacements_of(masked, self._store.case_key, marker))
        try:
            sink.write(record, masked.docs)
        except RefusedRecordError as error:
            self.problems.append(f"{self._source.export_name} case {record.number}: {error}")
        else:
            self.n_cases += not record.is_frame

    def _mask(self, case: Row[Any] | None, record: Record) -> MaskedCase | None:
        """Return the texts of a released case with their dates and ages; None = it is not released."""
        texts = texts_of(record)
        if record.is_frame:
            # Nobody reviews the text around the cases, so all of its words are masked.
            marker = fixed_marker(self._masking.facts.marker)
            reviewed: list[MaskedDocument] | None = [mask_everything(doc, marker) for doc in texts.docs]
        else:
            reviewed = self._read_reviewed(case, texts)
        if reviewed is None:
            return None
        if record.report is None and case is not None:
            known = read_content(self._transaction, case.id).known
            docs = tuple(Document(doc.id, doc.text, known=known) for doc in texts.docs)
            texts = replace(texts, docs=docs)
        return CaseMasker(_ReviewedMasker(reviewed), self._masking.output.cases).mask_cases([texts])[0]

    def _read_reviewed(self, case: Row[Any] | None, texts: CaseTexts) -> list[MaskedDocument] | None:
        """Return the texts of a case as they were reviewed, None = they must not be exported."""
        if case is None:
            return None
        try:
            content = read_content(self._transaction, case.id)
            if [doc.text for doc in texts.docs] != [content.text[p.start : p.end] for p in content.parts]:
                raise ReviewError(f"case {case.id} has another text than the one that was reviewed")
            final = read_final(self._transaction, case.id, content)
            return [render_part(content, final, part, self._masking.facts) for part in content.parts]
        except InverseDeidError as error:
            self.problems.append(f"{case.name}: {error}")
        return None


def _count_emptied(record: Record) -> int:
    """Return how many kept dates and ages of a record are left empty."""
    return 0 if record.changes is None else sum(record.changes.emptied.values())


class _ReviewedMasker:
    """Returns documents that were masked before (a `DocumentMasker`)."""

    fingerprint = "reviewed"

    def __init__(self, docs: Sequence[MaskedDocument]) -> None:
        self._docs = list(docs)

    def mask_many(self, docs: Sequence[Document]) -> list[MaskedDocument]:
        return self._docs
