"""Dates in every pattern of the generator: read right or not at all, and nothing else is lost."""

from __future__ import annotations

import random
from datetime import date, timedelta

import pytest
from date_patterns import FULL_BUT_NOT_READ, fields, full_patterns, order_of, patterns
from dateutil import parser
from hypothesis import given
from hypothesis import strategies as st

from inverse_deid.replacement.dates.layouts import DateReading
from inverse_deid.replacement.dates.parts import PartialDate, partial
from inverse_deid.replacement.dates.policies import ShiftedDates, YearDates, relative_days
from inverse_deid.replacement.dates.reading import KnownDates, case_dates, read_structured
from inverse_deid.replacement.dates.text import read_date, write_date
from inverse_deid.training.corpora.dates import render_date

TODAY = date(2026, 1, 31)
seeds = st.integers(0, 2**32)


def day_between(rng: random.Random, first: date, last: date) -> date:
    return first + timedelta(days=rng.randrange((last - first).days))


def recent_day(rng: random.Random) -> date:
    return day_between(rng, date(1985, 1, 1), date(2025, 1, 1))


@pytest.mark.parametrize("pattern", patterns())
def test_no_date_is_read_wrongly(pattern: str) -> None:
    """Whether the order is stated or not, and whether the case has other dates or not."""
    rng = random.Random(pattern)
    for _ in range(25):
        day = recent_day(rng)
        text = render_date(pattern, day, rng)
        near = day + timedelta(days=rng.randint(-20, 20))
        for order in {None, order_of(pattern)}:
            for known in ([], [near]):
                reading = read_date(text, reference=TODAY, day_first=order, dates=known)
                if reading is not None and not _is_degenerate(pattern, reading, day):
                    first = reading.first
                    expected = PartialDate(day.year, first.month and day.month, first.day and day.day)
                    assert first == expected


def _is_degenerate(pattern: str, reading: DateReading, day: date) -> bool:
    """`2004-04` for a range of years that begins and ends in 2004."""
    return "yy2" in fields(pattern) and reading.first.month == day.year % 100


@pytest.mark.parametrize("pattern", full_patterns())
def test_every_full_date_is_read_and_written_back(pattern: str) -> None:
    rng = random.Random(pattern)
    for _ in range(25):
        day, other = recent_day(rng), recent_day(rng)
        text = render_date(pattern, day, rng).replace("Sept ", "Sep ").replace("Sept.", "Sep.")
        reading = read_date(text, reference=TODAY, day_first=order_of(pattern))
        if pattern in FULL_BUT_NOT_READ:
            assert reading is None
            continue
        assert reading is not None
        assert reading.first.as_date == day
        written = write_date(other, reading)
        again = read_date(written, reference=TODAY, day_first=order_of(pattern))
        assert again is not None
        assert again.first.as_date == other
        assert write_date(day, reading) == text or "{d}th" in pattern or "Sept" in text


def test_there_are_many_patterns() -> None:
    assert len(patterns()) > 400
    assert len(full_patterns()) > 140


@pytest.mark.parametrize("pattern", [p for p in full_patterns() if p not in FULL_BUT_NOT_READ])
def test_what_is_written_shows_the_new_date_only(pattern: str) -> None:
    """Two cases with different originals and shifts that meet in the same date meet in the same text."""
    rng = random.Random(pattern)
    for _ in range(10):
        target, beside = recent_day(rng), timedelta(days=rng.randint(1, 200))
        written = set()
        for _ in range(4):
            days = rng.randint(30, 395)
            back = timedelta(days=days)
            text = render_date(pattern, target + back, random.Random(1))
            month = "March" if "month" in pattern.lower() else "Mar"
            other = render_date(f"{{d}} {month} {{yyyy}}", target + back + beside, rng)
            case = case_dates([text, other], today=TODAY + back, day_first=order_of(pattern))
            written.add(ShiftedDates(case, days).replacement(text))
        assert len(written) == 1
        assert None not in written


@pytest.mark.parametrize(
    "pattern", ["{d} {Month}", "{dd}{MON}", "the {ordword} of {Month}", "{Day}, {Month} {d}"]
)
def test_a_date_without_year_shows_the_new_date_only(pattern: str) -> None:
    rng = random.Random(pattern)
    for _ in range(40):
        target, beside = recent_day(rng), timedelta(days=rng.randint(-160, 160))
        written = set()
        for _ in range(4):
            back = timedelta(days=rng.randint(30, 395))
            text = render_date(pattern, target + back, rng)
            style = "1 MAR 1970" if "MON" in pattern else "1 March 1970"
            onset = f"{target + back + beside:%Y%m%d}"
            case = case_dates([text, style], today=TODAY + back, structured=[onset])
            written.add(ShiftedDates(case, back.days).replacement(text))
        assert len(written) == 1
        assert (None in written) == (abs(beside.days) > 150)


DATEUTIL_READS = [
    "{dd}-{MON}-{yyyy}",
    "{dd}{Mon}{yyyy}",
    "{Month} {ord}, {yyyy}",
    "{d} {Month} {yyyy}",
    "{Mon}. {d}, {yyyy}",
    "{yyyy}-{mm}-{dd}",
    "{yyyy}{mm}{dd}",
    "{mm}/{dd}/{yyyy}",
    "{m}/{d}/{yyyy}",
    "{dd}.{mm}.{yyyy}",
    "{d}/{m}/{yyyy}",
    "{Day}, {Month} {d}, {yyyy}",
    "{Dy} {d} {Mon} {yyyy}",
]


@pytest.mark.parametrize("pattern", DATEUTIL_READS)
@given(seed=seeds, days=st.integers(30, 395))
def test_dateutil_reads_the_shifted_date(pattern: str, seed: int, days: int) -> None:
    rng = random.Random(seed)
    day, order = recent_day(rng), order_of(pattern)
    text = render_date(pattern, day, rng).replace("Sept", "Sep").replace("Sepember", "September")
    case = case_dates([text], today=TODAY, day_first=order)
    shifted = ShiftedDates(case, days).replacement(text)
    assert shifted is not None
    assert parser.parse(text, dayfirst=bool(order)).date() == day
    assert parser.parse(shifted, dayfirst=bool(order)).date() == day - timedelta(days=days)


@given(
    st.one_of(st.text(max_size=70), st.from_regex(r"[0-9]{1,4}[-/. ][0-9A-Za-z]{1,9}[-/. ,]{1,2}[0-9]{1,4}"))
)
def test_any_text_is_read_or_masked(text: str) -> None:
    case = case_dates([text, "12-OCT-2019"], today=TODAY)
    for policy in (YearDates(case), relative_days(case), ShiftedDates(case, 100)):
        for found in (policy.replacement(text), policy.replace_field(text)):
            assert found is None or found.strip()
    read_structured(text)


@given(seeds, st.integers(30, 395))
def test_nothing_moves_after_today_or_forward(seed: int, days: int) -> None:
    rng = random.Random(seed)
    today = recent_day(rng)
    day = day_between(rng, today - timedelta(days=60), today + timedelta(days=30))
    text = render_date(rng.choice(full_patterns()), day, rng)
    case = KnownDates(today=today, day_first=rng.choice((True, False)))
    shifted = ShiftedDates(case, days).replacement(text)
    again = read_date(shifted, reference=today, day_first=case.day_first) if shifted else None
    assert shifted is None or (again is not None and again.first.earliest <= today - timedelta(days=days))


@given(st.dates(TODAY - timedelta(days=3650), TODAY), st.integers(30, 395))
def test_fields_move_as_texts_do(day: date, days: int) -> None:
    case = case_dates([], today=TODAY)
    policy = ShiftedDates(case, days)
    assert policy.replace_field(f"{day:%Y%m%d}") == policy.replacement(f"{day:%Y%m%d}")
    moved = read_structured(policy.replace_field(f"{day:%Y%m%d}1405") or "")
    assert moved == (partial(day - timedelta(days=days)), "1405")
