"""The dates of one case: finds them in its masked texts and replaces them as the settings say."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date

from inverse_deid.replacement.births import born_on
from inverse_deid.replacement.case_dates import KnownDates, case_dates
from inverse_deid.replacement.case_texts import CaseTexts
from inverse_deid.replacement.date_layouts import find_readings
from inverse_deid.replacement.date_parts import partial
from inverse_deid.replacement.date_policies import (
    DatePolicy,
    MaskedDates,
    RelativeDays,
    YearDates,
    relative_days,
    shift_dates,
)
from inverse_deid.replacement.masked_words import MaskedWords, Proposal
from inverse_deid.replacement.settings import CaseSettings, DateMode


class DateReplacer:
    """Replaces the dates of one case (a `Replacer`).

    Args:
        case: The case.
        texts: All of its masked texts: the dates of one tell how to read those of another.
        settings: Of the run.

    Raises:
        ConfigurationError: A shift without a key, or a case without an id.
    """

    def __init__(self, case: CaseTexts, texts: Sequence[MaskedWords], settings: CaseSettings) -> None:
        self.policy: DatePolicy = MaskedDates()
        self._statement = ""
        self._found: dict[MaskedWords, _DatesOfText] = {}
        if settings.dates is DateMode.MASK:
            return
        today = case.today or settings.today
        found = [_DatesOfText(text, today) for text in texts]
        self._found = dict(zip(texts, found, strict=True))
        dates = case_dates(
            list(dict.fromkeys(words for one in found for words in one.words)),
            today=today,
            day_first=settings.day_first,
            structured=case.date_fields,
            births=(*case.births, *(one.words[number] for one in found for number in sorted(one.births))),
            span_years=settings.date_span_years,
        )
        hidden = {one.words[number] for one in found for number in one.hidden}
        self.policy = policy_of(case, dates, settings, hidden)
        if isinstance(self.policy, RelativeDays):
            self._statement = self.policy.statement

    def propose(self, text: MaskedWords) -> list[Proposal]:
        """Propose words for the dates of one text; the first of a case says what Day 0 is."""
        found = self._found.get(text)
        proposals: list[Proposal] = []
        for number, span in enumerate(found.spans if found else ()):
            if found is None or number in found.hidden:
                continue
            words = self.policy.replacement(found.words[number])
            if words is None:
                continue
            if self._statement:
                words, self._statement = f"{words} ({self._statement})", ""
            proposals.append(Proposal(span.first, span.stop, words, "date"))
        return proposals


class _DatesOfText:
    """The dates of one text.

    Attributes:
        spans: Where they are.
        words: Their words.
        births: The numbers of the dates of birth.
        hidden: The numbers of those that every policy masks: births, and words on the deny list.
    """

    def __init__(self, text: MaskedWords, today: date) -> None:
        self.spans = text.date_spans(lambda words: bool(find_readings(words, today)))
        self.words = [text.words(span) for span in self.spans]
        self.births = born_on(text.masked.tokens.text, [(span.start, span.end) for span in self.spans])
        self.hidden = self.births | {n for n, span in enumerate(self.spans) if text.is_denied(span)}


def policy_of(
    case: CaseTexts, dates: KnownDates, settings: CaseSettings, hidden: Collection[str] = ()
) -> DatePolicy:
    """Return the date policy of a case.

    Args:
        case: The case.
        dates: What its dates say about each other.
        settings: Of the run.
        hidden: Words of dates that every policy masks; they cannot be anchors.

    Raises:
        ConfigurationError: A shift without a key, or a case without an id.
    """
    match settings.dates:
        case DateMode.YEAR:
            return YearDates(dates)
        case DateMode.RELATIVE_DAY:
            return relative_days(dates, *_anchor(case, dates), hidden=hidden)
        case DateMode.SHIFT:
            return shift_dates(dates, settings.key or b"", case.id, _anchor(case, dates)[0])
        case _:
            return MaskedDates()


def _anchor(case: CaseTexts, dates: KnownDates) -> tuple[date | None, str]:
    """Return the first dose, or the onset if the dose is a birth or far before the onset."""
    given = () if case.anchor is None else ((case.anchor, case.anchor_name),)
    days = [(day, name) for day, name in (*given, *case.other_anchors) if not dates.is_birth(partial(day))]
    near = [(day, name) for day, name in days if not dates.is_far(partial(day), days[-1][0])]
    return near[0] if near else (None, "")
