"""1,000 cases: the days between any two dates are the same before and after."""

from __future__ import annotations

import random
import re
from datetime import date, timedelta

from date_patterns import FULL_BUT_NOT_READ, full_patterns, order_of, patterns

from inverse_deid.replacement.dates.policies import ShiftedDates, relative_days, shift_dates
from inverse_deid.replacement.dates.reading import KnownDates, case_dates
from inverse_deid.replacement.dates.text import read_date
from inverse_deid.training.corpora.dates import render_date

N_CASES = 1000
KEY = b"an example key, not a secret"
WITHOUT_YEAR = (
    "{d} {Mon}",
    "{dd}{MON}",
    "{dd}-{Mon}",
    "{Month} {ord}",
    "{Mon} {d}",
    "{Mon}. {d}",
    "the {ordword} of {Month}",
    "{Dy} {d} {Mon}",
    "{Day}, {Month} {d}",
)


class Case:
    """Dose, onset and more within a year, and perhaps a date of birth, all in drawn patterns."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        self.day_first = rng.random() < 0.5
        usable = [
            p for p in full_patterns() if order_of(p) in (None, self.day_first) and p not in FULL_BUT_NOT_READ
        ]
        dose = date(2000, 1, 1) + timedelta(days=rng.randrange(9000))
        near = [dose + timedelta(days=rng.randint(-40, 60)) for _ in range(rng.randint(1, 4))]
        self.today = max(dose, *near) + timedelta(days=rng.randint(0, 90))
        full = [dose, *near] + (
            [dose - timedelta(days=rng.randint(6, 85) * 365)] if rng.random() < 0.3 else []
        )
        short = [dose + timedelta(days=rng.randint(-30, 30)) for _ in range(2)]
        self.days = full + [day for day in short if day <= self.today]
        self.texts = [render_date(rng.choice(usable), day, rng) for day in full]
        self.texts += [render_date(rng.choice(WITHOUT_YEAR), day, rng) for day in self.days[len(full) :]]
        self.dose = dose
        self.id = f"case-{seed}"

    def dates(self) -> KnownDates:
        return case_dates(
            self.texts, today=self.today, day_first=self.day_first, structured=[f"{self.dose:%Y%m%d}"]
        )


CASES = [Case(seed) for seed in range(N_CASES)]


def test_relative_days_keep_every_interval() -> None:
    """A date of birth, more than ten years before the dose, is masked."""
    read = 0
    for case in CASES:
        policy = relative_days(case.dates(), case.dose)
        for text, day in zip(case.texts, case.days, strict=True):
            found = policy.replacement(text)
            assert found is None or _day_number(found) == (day - case.dose).days
            read += found is not None
    assert read > 0.97 * sum(abs((day - case.dose).days) <= 3652 for case in CASES for day in case.days)


def _day_number(text: str) -> int:
    match = re.fullmatch(r"Day (0|[+-]\d+)( \d\d:\d\d(:\d\dZ)?)?", text)
    assert match is not None
    return int(match[1])


def test_shifted_dates_keep_every_interval() -> None:
    """The output is read without the input: its own full dates give the years that are missing."""
    read = total = 0
    offsets = set()
    for case in CASES:
        policy = shift_dates(case.dates(), KEY, case.id)
        written = [policy.replacement(text) for text in case.texts]
        dose = policy.replace_field(f"{case.dose:%Y%m%d}")
        today = policy.replace_field(f"{case.today:%Y%m%d}")
        assert dose is not None and today is not None
        received = date.fromisoformat(today)
        output = case_dates(
            [w for w in written if w], today=received, day_first=case.day_first, structured=[dose]
        )
        moved = {
            (reading.first.as_date, day)
            for text, day in zip(written, case.days, strict=True)
            if text and (reading := output.read(text)) is not None
        }
        offset = (case.dose - date.fromisoformat(dose)).days
        assert {(before - after).days for after, before in moved if after} == {offset}
        read += len(moved)
        total += len(set(zip(case.days, case.texts, strict=True)))
        offsets.add(offset)
    assert read > 0.9 * total
    assert len(offsets) > 300


def test_ranges_keep_their_length() -> None:
    rng = random.Random(5)
    ranges = [p for p in patterns() if re.search(r"\{(d|dd|ord)2\}", p)]
    seen = 0
    for _ in range(1500):
        pattern = rng.choice(ranges)
        day = date(2000, 1, 1) + timedelta(days=rng.randrange(9000))
        text = render_date(pattern, day, rng)
        today, order = day + timedelta(days=100), order_of(pattern)
        case = case_dates([text, f"{day + timedelta(days=9):%d %b %Y}"], today=today, day_first=order)
        before, policy = case.read(text), ShiftedDates(case, 1 + rng.randrange(30, 395))
        written = policy.replacement(text)
        if before is None or before.last is None or written is None:
            continue
        back = timedelta(days=policy.shift_days)
        after = read_date(
            written, reference=today - back, day_first=order, dates=[when - back for when in case.written]
        )
        assert after is not None and after.last is not None
        assert after.last.earliest - after.first.earliest == before.last.earliest - before.first.earliest
        assert before.first.earliest - after.first.earliest == back
        seen += 1
    assert seen > 500
