"""The date policy of one case, from the settings of the run and what the case says of its dates."""

from __future__ import annotations

from collections.abc import Sequence

from inverse_deid.cases.settings import CaseSettings, DateMode
from inverse_deid.cases.texts import CaseTexts
from inverse_deid.replacement.case_dates import CaseDates, case_dates
from inverse_deid.replacement.date_policies import (
    DatePolicy,
    MaskedDates,
    YearDates,
    relative_days,
    shifted_dates,
)


def dates_of(case: CaseTexts, written: Sequence[str], settings: CaseSettings) -> CaseDates:
    """What the dates of a case say about each other.

    Args:
        case: The case.
        written: The words of every date in its texts.
        settings: Of the run.
    """
    return case_dates(
        list(dict.fromkeys(written)),
        today=case.today or settings.today,
        day_first=settings.day_first,
        structured=case.date_fields,
    )


def policy_of(case: CaseTexts, dates: CaseDates, settings: CaseSettings) -> DatePolicy:
    """What becomes of the dates of a case.

    Raises:
        ConfigurationError: A shift and no key, or a case without an id.
    """
    match settings.dates:
        case DateMode.YEAR:
            return YearDates(dates)
        case DateMode.RELATIVE_DAY:
            return relative_days(dates, case.anchor, case.anchor_name)
        case DateMode.SHIFT:
            return shifted_dates(dates, settings.key or b"", case.id)
        case _:
            return MaskedDates()
