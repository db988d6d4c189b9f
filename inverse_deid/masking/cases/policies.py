"""The date policy of one case, from the settings of the run and what the case says of its dates."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date

from inverse_deid.masking.cases.settings import CaseSettings, DateMode
from inverse_deid.masking.cases.texts import CaseTexts
from inverse_deid.replacement.case_dates import CaseDates, case_dates
from inverse_deid.replacement.date_policies import (
    DatePolicy,
    MaskedDates,
    YearDates,
    relative_days,
    shifted_dates,
)
from inverse_deid.replacement.partial_dates import partial


def dates_of(
    case: CaseTexts, written: Sequence[str], births: Sequence[str], settings: CaseSettings
) -> CaseDates:
    """What the dates of a case say about each other.

    Args:
        case: The case.
        written: The words of every date in its texts.
        births: The words of those that are dates of birth.
        settings: Of the run.
    """
    return case_dates(
        list(dict.fromkeys(written)),
        today=case.today or settings.today,
        day_first=settings.day_first,
        structured=case.date_fields,
        births=(*case.births, *births),
        span_years=settings.date_span_years,
    )


def policy_of(
    case: CaseTexts, dates: CaseDates, settings: CaseSettings, hidden: Collection[str] = ()
) -> DatePolicy:
    """What becomes of the dates of a case.

    Args:
        case: The case.
        dates: What its dates say about each other.
        settings: Of the run.
        hidden: Words of dates that are masked somewhere, whatever the policy says: no anchors.

    Raises:
        ConfigurationError: A shift and no key, or a case without an id.
    """
    match settings.dates:
        case DateMode.YEAR:
            return YearDates(dates)
        case DateMode.RELATIVE_DAY:
            return relative_days(dates, *_anchor(case, dates), hidden=hidden)
        case DateMode.SHIFT:
            return shifted_dates(dates, settings.key or b"", case.id, _anchor(case, dates)[0])
        case _:
            return MaskedDates()


def _anchor(case: CaseTexts, dates: CaseDates) -> tuple[date | None, str]:
    """The first dose, or the onset if the dose is a birth or lies far before the onset."""
    given = () if case.anchor is None else ((case.anchor, case.anchor_name),)
    days = [(day, name) for day, name in (*given, *case.other_anchors) if not dates.is_birth(partial(day))]
    near = [(day, name) for day, name in days if not dates.is_far(partial(day), days[-1][0])]
    return near[0] if near else (None, "")
