"""The masked text of the released cases of one file, in the format of the file.

A case is written only if it is released and every token of it is decided under the policy. Any mismatch
(a missing approval, another text than the one that was reviewed) holds it back and is listed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Row, select

from inverse_deid.choices.categories import Category
from inverse_deid.core.child_process import answer_all
from inverse_deid.core.errors import InverseDeidError, OutputError, ReviewError
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.core.wording import _
from inverse_deid.files.given import GivenFile
from inverse_deid.files.reading import MaskedRecord, ReadBatch, ReadRecord, Writing, write_cases
from inverse_deid.files.workers import borrow_worker
from inverse_deid.formats.records import Format, Writable
from inverse_deid.formats.registry import FORMATS
from inverse_deid.masking.case_masker import replace_words
from inverse_deid.masking.kept.columns import KeptColumns, MaskedKinds
from inverse_deid.masking.pipeline import mask_everything
from inverse_deid.replacement.case_texts import CaseTexts
from inverse_deid.replacement.markers import fixed_marker
from inverse_deid.replacement.replacers import MaskedCase
from inverse_deid.review.flow.contents import read_content
from inverse_deid.review.flow.layers import list_layers, read_final, render_part
from inverse_deid.review.store.opening import Transaction
from inverse_deid.review.store.sources import SourceFile, SourceMasking, open_source
from inverse_deid.review.store.tables import SOURCES, USERS
from inverse_deid.review.store.values import LayerKind, LayerTokens

Cases = Mapping[int, Row[Any]]
"""Released cases of one file by their number in it."""


def read_original(transaction: Transaction, source_id: int) -> bytes:
    """Return a file as it came."""
    sealed = select(SOURCES.c.sealed).where(SOURCES.c.id == source_id)
    return open_source(transaction, source_id, transaction.execute(sealed).scalar_one())


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
        source: SourceFile,
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
        self.n_words = 0
        self.n_masked = 0
        self._approvals: Counter[int] = Counter()
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
            raise ReviewError(
                _(
                    "{n_left_out} {what} are not released, and a {kind} file needs all",
                    n_left_out=self._n_left_out,
                    what=what,
                    kind=kind,
                )
            )
        output = self._masking.output
        hidden = self._masking.facts.categories or tuple(Category)
        kinds = MaskedKinds(dates=Category.DATE in hidden, ages=Category.AGE in hidden)
        kept = KeptColumns(None, output.cases.day_first, kinds=kinds)
        n_emptied = 0

        def answer(asked: ReadBatch | bytes) -> list[MaskedRecord | None] | None:
            nonlocal n_emptied
            if isinstance(asked, bytes):
                file.write(asked)
                return None
            answers = [self._answer(record, kind, kept) for record in asked.records]
            changes = (one.changes for one in answers if one is not None and one.changes is not None)
            n_emptied += sum(sum(one.emptied.values()) for one in changes)
            return answers

        given = GivenFile(self._source.name, kind, self.data)
        options = replace(output.read_options, profile=output.profile)
        writing = Writing(self._store.case_key, self._masking.facts.marker)
        with borrow_worker() as worker:
            talk = worker.talk(write_cases, given, options, writing, n_bytes=len(self.data))
            written = answer_all(talk, answer)
        name = self._source.export_name
        self.n_cases = written.n_cases
        self.problems += [f"{name} {one.where}: {one.reason}" for one in written.facts.failures]
        if n_emptied:
            self.problems.append(
                _(
                    "{name}: {n_emptied} dates and ages in kept columns were left empty, since they are "
                    "masked in the text",
                    name=name,
                    n_emptied=n_emptied,
                )
            )
        self.columns |= written.facts.columns

    def _answer(self, record: ReadRecord, kind: Format, kept: KeptColumns) -> MaskedRecord | None:
        """Return what is written of a record, None = nothing.

        Raises:
            ReviewError: It is not released, and its file needs all of its records.
        """
        if record.problem and not record.is_frame:
            if kind.holds_cases:
                self.problems.append(f"{self._source.export_name} {record.place}: {record.problem}")
            return None
        masked = None if record.bare is None else self._mask(self._cases.get(record.number), record)
        if record.bare is not None and masked is None:
            if kind.needs_all_records:
                raise ReviewError(
                    _(
                        "{place} cannot be released, and a {kind} file needs all of them",
                        place=record.place,
                        kind=kind,
                    )
                )
            return None
        (changes,) = kept.settle([record], [masked])
        return MaskedRecord(() if masked is None else masked.docs, masked, changes)

    def _mask(self, case: Row[Any] | None, record: ReadRecord) -> MaskedCase | None:
        """Return the texts of a released case with their dates and ages; None = it is not released."""
        texts = record.texts
        if texts is None:
            return None
        if record.is_frame:
            # Nobody reviews the text around the cases, so all of its words are masked.
            marker = fixed_marker(self._masking.facts.marker)
            reviewed: list[MaskedDocument] | None = [mask_everything(doc, marker) for doc in texts.docs]
        else:
            reviewed = self._read_reviewed(case, texts)
        if reviewed is None:
            return None
        if not record.is_report and case is not None:
            known = read_content(self._transaction, case.id).known
            docs = tuple(Document(doc.id, doc.text, known=known) for doc in texts.docs)
            texts = replace(texts, docs=docs)
        return replace_words(texts, tuple(reviewed), self._masking.output.cases)

    def _count(self, case_id: int, final: LayerTokens) -> None:
        self.n_words += len(final.keep)
        self.n_masked += len(final.keep) - int(final.keep.sum())
        layers = (list_layers(self._transaction, case_id, kind, approved=True) for kind in LayerKind)
        self._approvals.update({layer.user_id for some in layers for layer in some})

    def count_approvals(self) -> dict[str, int]:
        """Return how many of the written cases each user approved or settled."""
        found = select(USERS).where(USERS.c.id.in_(self._approvals))
        names = {row.id: row.name for row in self._transaction.read(found, USERS)}
        return {names[one]: n for one, n in sorted(self._approvals.items())}

    def _read_reviewed(self, case: Row[Any] | None, texts: CaseTexts) -> list[MaskedDocument] | None:
        """Return the texts of a case as they were reviewed, None = they must not be exported."""
        if case is None:
            return None
        try:
            content = read_content(self._transaction, case.id)
            if [doc.text for doc in texts.docs] != [content.text[p.start : p.end] for p in content.parts]:
                raise ReviewError(_("case {id} has another text than the one that was reviewed", id=case.id))
            final = read_final(self._transaction, case.id, content)
            parts = [render_part(content, final, part, self._masking.facts) for part in content.parts]
        except InverseDeidError as error:
            self.problems.append(f"{self._transaction.names.find(case.name)}: {error}")
            return None
        self._count(case.id, final)
        return parts
