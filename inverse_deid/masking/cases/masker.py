"""Masks the texts of cases and puts what the settings say in the place of dates and ages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, islice
from typing import Protocol

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.phi import HyperClass
from inverse_deid.core.values import Document, KnownIdentifier, KnownSort, MaskedDocument
from inverse_deid.masking.cases.births import born_on
from inverse_deid.masking.cases.policies import dates_of, policy_of
from inverse_deid.masking.cases.rendering import StandIn, with_stand_ins
from inverse_deid.masking.cases.settings import CaseSettings, DateMode
from inverse_deid.masking.cases.spans import Run, Span, age_spans, date_spans, denied, runs
from inverse_deid.masking.cases.texts import CaseTexts, MaskedCase
from inverse_deid.replacement.date_layouts import candidates
from inverse_deid.replacement.date_policies import DatePolicy, MaskedDates, RelativeDays
from inverse_deid.text.folding import folded
from inverse_deid.text.tokenizer import tokenize

_AFTER_CHARS = 40
_TIMELY = (HyperClass.DATE, HyperClass.AGE)

Surrogate = Callable[[str, HyperClass], str | None]
"""From the words of a mask and what they are taken for to what stands there, None = the marker."""


class SurrogatesFor(Protocol):
    """Gives every case its surrogates."""

    @property
    def fingerprint(self) -> str:
        """Changes with anything, but the key, that can change a surrogate."""
        ...

    def __call__(self, case: CaseTexts, real_values: Sequence[str], /) -> Surrogate:
        """The surrogates of a case with these known values and words of masks."""
        ...


class DocumentMasker(Protocol):
    """Masks documents; a `Deidentifier` does."""

    @property
    def fingerprint(self) -> str:
        """Changes with anything that can change a decision."""
        ...

    def mask_many(self, docs: Sequence[Document]) -> list[MaskedDocument]:
        """Mask one batch, order kept."""
        ...


class CaseMasker:
    """Masks cases, many in one batch.

    Args:
        masker: Decides what is masked.
        settings: What becomes of dates and ages.
        surrogates_for: Gives the surrogates of a case; None = markers.
        known: Identifiers that documents must not show, by the id of the document.
    """

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
        """Changes with anything that can change the output."""
        surrogates = "" if self._surrogates_for is None else f" {self._surrogates_for.fingerprint}"
        return f"{self._masker.fingerprint} {self.settings.fingerprint}{surrogates}"

    @property
    def made_of(self) -> dict[str, object]:
        """What the masker was made of, for reports."""
        return dict(getattr(self._masker, "made_of", {}))

    def mask_many(self, docs: Sequence[Document]) -> list[MaskedDocument]:
        """Mask documents each of which is a case of its own."""
        cases = [CaseTexts(id=doc.id, docs=(doc,)) for doc in docs]
        return [masked.docs[0] for masked in self.mask_cases(cases)]

    def _with_known(self, doc: Document) -> Document:
        known = self._known.get(doc.id)
        return doc if known is None else replace(doc, known=(*doc.known, *known))

    def mask_cases(self, cases: Sequence[CaseTexts]) -> list[MaskedCase]:
        """Mask the texts of cases, all in one batch."""
        cases = [replace(case, docs=tuple(map(self._with_known, case.docs))) for case in cases]
        masked = iter(self._masker.mask_many([doc for case in cases for doc in case.docs]))
        return [self._replaced(case, tuple(islice(masked, len(case.docs)))) for case in cases]

    def _replaced(self, case: CaseTexts, docs: tuple[MaskedDocument, ...]) -> MaskedCase:
        """Put words for markers; whatever goes wrong costs the case its words, and markers stay.

        Raises:
            ConfigurationError: What the user asked for cannot be done for this case at all.
        """
        if not self.settings.replaces and self._surrogates_for is None:
            return MaskedCase(docs, MaskedDates())
        try:
            return self._with_words(case, docs)
        except ConfigurationError:
            raise
        except Exception:  # noqa: BLE001 - fail closed, whatever went wrong
            plain = tuple(replace(doc, is_plain=True) for doc in docs)
            return MaskedCase(plain, MaskedDates(), is_plain=True)

    def _with_words(self, case: CaseTexts, docs: tuple[MaskedDocument, ...]) -> MaskedCase:
        found = [_Found(masked, self._is_date(case)) for masked in docs]
        written = [words for one in found for words in one.date_words()]
        births = [words for one in found for words in one.birth_words()]
        dates = dates_of(case, written, births, self.settings)
        hidden = {words for one in found for words in one.hidden_words()}
        policy = policy_of(case, dates, self.settings, hidden)
        words = _Words(self.settings, policy, case)
        surrogate = self._surrogate(case, docs)
        texts = [with_stand_ins(one.masked, list(words.stand_ins(one, surrogate))) for one in found]
        return MaskedCase(tuple(texts), policy, self.settings.age_policy)

    def _is_date(self, case: CaseTexts) -> Callable[[str], bool] | None:
        """Whether words can be a date; None: nobody wants to know."""
        if self.settings.dates is DateMode.MASK:
            return None
        today = case.today or self.settings.today
        return lambda text: bool(candidates(text, today))

    def _surrogate(self, case: CaseTexts, docs: Sequence[MaskedDocument]) -> Surrogate | None:
        if self._surrogates_for is None or not any(doc.masks for doc in docs):
            return None
        known = [value.value if isinstance(value, KnownIdentifier) else value for value in _known(case)]
        hidden = [doc.tokens.text[start:end] for doc in docs for start, end in doc.masks]
        return self._surrogates_for(case, [*known, *case.values, *hidden])


def _known(case: CaseTexts) -> Iterator[str | KnownIdentifier]:
    return (value for known in {doc.known for doc in case.docs} for value in known)


class _Found:
    """What was found in the masks of one text."""

    def __init__(self, masked: MaskedDocument, is_date: Callable[[str], bool] | None) -> None:
        self.masked = masked
        self.by_mask: list[list[Run]] = [] if masked.failed else runs(masked)
        self.dates = date_spans(masked, self.by_mask, is_date) if is_date is not None else []
        self.births = born_on(masked.tokens.text, [(span.start, span.end) for span in self.dates])

    def date_words(self) -> list[str]:
        """The words of all dates."""
        return [self.words(span) for span in self.dates]

    def birth_words(self) -> list[str]:
        """The words of those that are dates of birth."""
        return [self.words(self.dates[number]) for number in sorted(self.births)]

    def is_hidden(self, number: int) -> bool:
        """Whether a date is masked whatever the policy says."""
        return number in self.births or denied(self.masked, self.dates[number])

    def hidden_words(self) -> list[str]:
        """The words of such dates."""
        return [self.words(span) for number, span in enumerate(self.dates) if self.is_hidden(number)]

    def words(self, span: Span) -> str:
        """The words of a span."""
        return self.masked.tokens.text[span.start : span.end]


class _Words:
    """What stands in the place of the masked words of one case.

    Args:
        settings: Of the run.
        policy: Of the dates.
        case: Its texts.
    """

    def __init__(self, settings: CaseSettings, policy: DatePolicy, case: CaseTexts) -> None:
        self._settings = settings
        self._policy = policy
        self._ages = settings.age_policy
        self._identifying = frozenset(_words_of_identifiers(case))
        self._statement = policy.statement if isinstance(policy, RelativeDays) else ""

    def stand_ins(self, found: _Found, surrogate: Surrogate | None) -> Iterator[StandIn]:
        """For the dates, ages and other masks of a text, in text order."""
        timely = sorted([*self._of_dates(found), *self._of_ages(found)], key=lambda item: item.first)
        if surrogate is None:
            yield from timely
            return
        taken = {i for item in timely for i in range(item.first, item.stop)}
        others = (
            self._of_runs(found, list(rest), surrogate)
            for mask in found.by_mask
            for is_timely, rest in groupby(mask, key=lambda run: run.category in _TIMELY)
            if not is_timely
        )
        free = [item for item in others if item and taken.isdisjoint(range(item.first, item.stop))]
        yield from sorted([*timely, *free], key=lambda item: item.first)

    def _of_dates(self, found: _Found) -> Iterator[StandIn]:
        for number, span in enumerate(found.dates):
            text = None if found.is_hidden(number) else self._policy.replacement(found.words(span))
            if text is None:
                continue
            if self._statement:
                text, self._statement = f"{text} ({self._statement})", ""
            yield StandIn(span.first, span.stop, text, "date")

    def _of_ages(self, found: _Found) -> Iterator[StandIn]:
        for span in age_spans(found.masked, found.by_mask):
            own = found.masked.tokens.words[span.first : span.stop]
            if denied(found.masked, span) or any(folded(word) in self._identifying for word in own):
                continue
            after = found.masked.tokens.text[span.end : span.end + _AFTER_CHARS]
            text = self._ages.replacement(found.words(span), after)
            if text is not None:
                yield StandIn(span.first, span.stop, text, "age")

    def _of_runs(self, found: _Found, rest: Sequence[Run], surrogate: Surrogate) -> StandIn | None:
        """A surrogate for a whole mask, or for what stands before or behind the dates and ages in it."""
        first, stop = rest[0].first, rest[-1].stop
        tokens = found.masked.tokens
        category = _category(found.masked, first, stop)
        text = surrogate(tokens.text[tokens.starts[first] : tokens.ends[stop - 1]], category)
        return None if text is None else StandIn(first, stop, text, "surrogate")


def _category(masked: MaskedDocument, first: int, stop: int) -> HyperClass:
    """What most words of a mask are taken for, the first of them if it is a tie; SAFE = not known."""
    codes = [code for code in masked.decisions.categories[first:stop].tolist() if code]
    return tuple(HyperClass)[max(codes, key=codes.count)] if codes else HyperClass.SAFE


def _words_of_identifiers(case: CaseTexts) -> Iterator[str]:
    """Words of known values that are no dates: no age is shown that repeats one."""
    for value in _known(case):
        if not isinstance(value, KnownIdentifier):
            yield from (folded(word) for word in tokenize(value).words)
        elif value.sort is not KnownSort.DATE:
            yield from (folded(word) for word in tokenize(value.value).words)
