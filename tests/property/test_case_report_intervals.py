"""Case reports, 1,000 in the slow tests: the time to onset is the same before and after, in texts and fields."""

from __future__ import annotations

import random
import re
from datetime import date, timedelta

import pytest
from case_maskers import masker_of, spans_by
from date_patterns import FULL_BUT_NOT_READ, full_patterns, order_of
from icsr_trees import cases_of, mask_reports

from inverse_deid.formats.icsr.standard.profiles import builtin_profile
from inverse_deid.masking.case_masker import CaseMasker
from inverse_deid.replacement.dates.text import read_date
from inverse_deid.replacement.settings import CaseSettings, DateMode
from inverse_deid.training.corpora.dates import render_date

N_CASES = [300, pytest.param(1000, marks=pytest.mark.slow)]
LEAST_READ = {300: 0.93, 1000: 0.95}
KEY = b"an example key, not a secret"
TEXT = "Dose given on {}. Onset on {}. Seen."
WRITTEN = r"(?:given|Onset) on (.+?)\. (?=Onset|Seen)"


class Cases:
    """A batch of short R2 cases with a dose and an onset, in drawn patterns."""

    def __init__(self, n_cases: int, *, day_first: bool) -> None:
        rng = random.Random(day_first)
        usable = [
            p for p in full_patterns() if order_of(p) in (None, day_first) and p not in FULL_BUT_NOT_READ
        ]
        self.days: list[tuple[date, date]] = []
        self.texts: list[str] = []
        reports = []
        for number in range(n_cases):
            dose = date(2000, 1, 1) + timedelta(days=rng.randrange(9000))
            onset = dose + timedelta(days=rng.randint(0, 120))
            receipt = onset + timedelta(days=rng.randint(0, 90))
            self.days.append((dose, onset))
            self.texts.append(
                TEXT.format(*(render_date(rng.choice(usable), day, rng) for day in (dose, onset)))
            )
            reports.append(_report(number, dose, onset, receipt, self.texts[-1]))
        self.data = f'<ichicsr lang="en">{"".join(reports)}</ichicsr>'.encode()


def _report(number: int, dose: date, onset: date, receipt: date, text: str) -> str:
    def day(name: str, when: date) -> str:
        return f"<{name}format>102</{name}format><{name}>{when:%Y%m%d}</{name}>"

    return (
        f"<safetyreport><safetyreportid>SE-X-{number}</safetyreportid>{day('receiptdate', receipt)}<patient>"
        f"<reaction>{day('reactionstartdate', onset)}</reaction>"
        f"<drug><medicinalproduct>Brundapril</medicinalproduct>{day('drugstartdate', dose)}</drug>"
        f"<summary><narrativeincludeclinical>{text}</narrativeincludeclinical></summary></patient></safetyreport>"
    )


def masked(cases: Cases, settings: CaseSettings) -> list[tuple[list[str], dict[str, date]]]:
    """The dates in the text and in the fields of every case."""
    masker = CaseMasker(masker_of(spans_by(DATE=WRITTEN)), settings)

    written, report = mask_reports(cases.data, masker, builtin_profile("third-party"), KEY)
    assert (report.n_cases, report.n_problems) == (len(cases.texts), 0)
    return [_dates_of(case) for case in cases_of(written)]


def _dates_of(case) -> tuple[list[str], dict[str, date]]:
    texts = {text.element: text.text for text in case.free_texts}
    fields = {
        found.element: found.date.first_day for found in case.dates.every if found.date and found.date.day
    }
    return re.findall(WRITTEN, texts["H.1"], re.DOTALL), fields


@pytest.mark.parametrize("n_cases", N_CASES)
@pytest.mark.parametrize("day_first", [True, False])
def test_relative_days_keep_the_time_to_onset(day_first: bool, n_cases: int) -> None:
    cases = Cases(n_cases, day_first=day_first)
    settings = CaseSettings(today=date(2026, 1, 1), dates=DateMode.RELATIVE_DAY, day_first=day_first)
    n_read = 0
    for (written, fields), (dose, onset) in zip(masked(cases, settings), cases.days, strict=True):
        assert "G.k.4.r.4" not in fields
        numbers = [_number(text) for text in written]
        assert numbers[0] in (0, None)
        assert numbers[1] in ((onset - dose).days, None)
        n_read += None not in numbers
    assert n_read > LEAST_READ[n_cases] * n_cases


def _number(text: str) -> int | None:
    match = re.match(r"Day (0|[+-]\d+)\b", text)
    assert match or "PHI" in text, text
    return int(match[1]) if match else None


@pytest.mark.parametrize("n_cases", N_CASES)
@pytest.mark.parametrize("day_first", [True, False])
def test_shifts_keep_the_time_to_onset_and_hide_the_days(day_first: bool, n_cases: int) -> None:
    cases = Cases(n_cases, day_first=day_first)
    settings = CaseSettings(today=date(2026, 1, 1), dates=DateMode.SHIFT, day_first=day_first, key=KEY)
    n_read = 0
    shifts = set()
    for (written, fields), (dose, onset) in zip(masked(cases, settings), cases.days, strict=True):
        assert fields["E.i.4"] - fields["G.k.4.r.4"] == onset - dose
        back = dose - fields["G.k.4.r.4"]
        shifts.add(back.days)
        assert 30 <= back.days <= 395
        days = [_day(text, onset - back, day_first=day_first) for text in written]
        assert days[0] in (dose - back, None)
        assert days[1] in (onset - back, None)
        n_read += None not in days
    assert n_read > LEAST_READ[n_cases] * n_cases
    assert len(shifts) > min(n_cases, 600) / 2


def _day(text: str, reference: date, *, day_first: bool) -> date | None:
    if "PHI" in text:
        return None
    found = read_date(text, reference=reference + timedelta(days=400), day_first=day_first)
    return found.first.as_date if found else None
