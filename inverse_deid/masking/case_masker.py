"""Masks the texts of cases and replaces their masked words as the settings say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Protocol

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import Document, KnownIdentifier, MaskedDocument
from inverse_deid.masking.document_passes import NamesOfCase
from inverse_deid.replacement.case_texts import CaseTexts
from inverse_deid.replacement.dates.policies import MaskedDates
from inverse_deid.replacement.replacers import MaskedCase, replace_case
from inverse_deid.replacement.settings import CaseSettings
from inverse_deid.replacement.surrogates.keyed import SurrogatesFor


class DocumentMasker(Protocol):
    """Masks documents; a `Deidentifier` does."""

    @property
    def fingerprint(self) -> str:
        """Changes with anything that can change a decision."""
        ...

    def mask_many(self, docs: Sequence[Document]) -> list[MaskedDocument]:
        """Mask one batch in order."""
        ...


class CaseMasker:
    """Masks cases, many in one batch."""

    def __init__(
        self,
        masker: DocumentMasker,
        settings: CaseSettings,
        surrogates_for: SurrogatesFor | None = None,
        *,
        known: Mapping[str, tuple[KnownIdentifier, ...]] | None = None,
    ) -> None:
        self._known = known or {}
        self._masker = masker
        self.settings = settings
        self._surrogates_for = surrogates_for

    @property
    def fingerprint(self) -> str:
        surrogates = "" if self._surrogates_for is None else f" {self._surrogates_for.fingerprint}"
        return f"{self._masker.fingerprint} {self.settings.fingerprint}{surrogates}"

    @property
    def day_first(self) -> bool | None:
        """The order of numeric dates, None = not known."""
        return self.settings.day_first

    @property
    def made_of(self) -> dict[str, object]:
        """The hashes and thresholds of the masker, for reports."""
        return dict(getattr(self._masker, "made_of", {}))

    def mask_many(self, docs: Sequence[Document]) -> list[MaskedDocument]:
        """Mask documents, each as a case of one text."""
        cases = [CaseTexts(id=doc.id, docs=(doc,)) for doc in docs]
        return [masked.docs[0] for masked in self.mask_cases(cases)]

    def mask_cases(self, cases: Sequence[CaseTexts]) -> list[MaskedCase]:
        """Mask the texts of cases, all in one batch."""
        if self._known:
            cases = [replace(case, docs=tuple(map(self._add_known, case.docs))) for case in cases]
        masked = iter(self._mask_with_names_of_others(cases))
        return [
            replace_words(case, tuple(islice(masked, len(case.docs))), self.settings, self._surrogates_for)
            for case in cases
        ]

    def _mask_with_names_of_others(self, cases: Sequence[CaseTexts]) -> list[MaskedDocument]:
        # Texts that may keep a name of another text of their case are masked again.
        docs = [doc for case in cases for doc in case.docs]
        masked = self._masker.mask_many(docs)
        again: dict[int, Document] = {}
        first = 0
        for case in cases:
            rows = range(first, first := first + len(case.docs))
            names = NamesOfCase(masked[row] for row in rows if len(rows) > 1)
            for row in rows:
                if names.words and names.may_be_kept_in(masked[row]):
                    again[row] = replace(docs[row], names=names.words)
        found = zip(again, self._masker.mask_many(list(again.values())) if again else (), strict=True)
        renewed = dict(found)
        return [renewed.get(row, doc) for row, doc in enumerate(masked)]

    def _add_known(self, doc: Document) -> Document:
        return replace(doc, known=(*doc.known, *self._known.get(doc.id, ())))


def replace_words(
    case: CaseTexts,
    docs: tuple[MaskedDocument, ...],
    settings: CaseSettings,
    surrogates_for: SurrogatesFor | None = None,
) -> MaskedCase:
    """Replace the markers of a case by words; after any error it keeps its markers.

    Raises:
        ConfigurationError: The settings cannot be applied to this case.
    """
    if not settings.replaces and surrogates_for is None:
        return MaskedCase(docs, MaskedDates())
    try:
        return replace_case(case, docs, settings, surrogates_for)
    except ConfigurationError:
        raise
    except Exception:  # noqa: BLE001 - fail closed, whatever went wrong
        plain = tuple(replace(doc, is_plain=True) for doc in docs)
        return MaskedCase(plain, MaskedDates(), is_plain=True)
