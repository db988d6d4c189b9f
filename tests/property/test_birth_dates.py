"""Random cases with a date of birth: no output permits anybody to compute the age."""

from __future__ import annotations

import random
import re
from datetime import date, timedelta

import pytest
from case_maskers import masker_of, spans_by
from date_patterns import FULL_BUT_NOT_READ, full_patterns, order_of

from inverse_deid.core.values import Document
from inverse_deid.masking.case_masker import CaseMasker
from inverse_deid.replacement.case_texts import CaseTexts
from inverse_deid.replacement.dates.parts import PartialDate
from inverse_deid.replacement.settings import CaseSettings, DateMode
from inverse_deid.training.corpora.dates import render_date

KEY = b"an example key, not a secret"
SPAN_YEARS = 10
N_CASES = [400, pytest.param(1500, marks=pytest.mark.slow)]
WRITTEN = r"\|([^|]+?)\|"
TOLD = ("Born on |{}|. ", "DOB: |{}|. ", "|{}| (D.O.B.) ")
LEADS = (*TOLD, "Ms X, |{}|, female. ", "Since |{}| deaf. ")
PATTERNS = [p for p in full_patterns() if order_of(p) in (None, True) and p not in FULL_BUT_NOT_READ]


class Invented:
    """A person of 20 to 100 years, events of two years, and dates of the years between."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        first = date(2005, 1, 1) + timedelta(days=rng.randrange(6500))
        self.birth = first - timedelta(days=rng.randint(20 * 366, 100 * 365))
        self.events = sorted(first + timedelta(days=rng.randrange(730)) for _ in range(rng.randint(1, 4)))
        between = [self.birth + (first - self.birth) * rng.random() for _ in range(rng.randrange(4))]
        self.history = [day for day in between if day != self.birth]
        days = [*self.history, *self.events]
        rng.shuffle(days)
        later = "".join(f"On |{self._written(day, rng)}|. " for day in days)
        lead = rng.choice(LEADS)
        self.text = lead.format(self._written(self.birth, rng)) + later
        self.is_told = lead in TOLD
        with_fields = rng.random() < 0.5
        anchor = rng.choice([self.birth, self.events[0], None]) if with_fields else None
        fields = (f"{self.birth:%Y%m%d}", f"{self.events[-1]:%Y%m%d}")
        self.case = CaseTexts(
            id=f"case-{seed}",
            docs=(Document("1", self.text),),
            today=self.events[-1],
            date_fields=fields if with_fields else (),
            births=(PartialDate(*self.birth.timetuple()[:3]),) if with_fields else (),
            anchor=anchor,
            anchor_name="first dose" if anchor else "",
        )

    @property
    def reads_as_an_event(self) -> bool:
        """A birth of 90 years ago or more, told by nothing, whose year of two digits is that of an event."""
        is_secret = not (self.is_told or self.case.births)
        return is_secret and abs(self.events[-1].year - self.birth.year - 100) <= SPAN_YEARS

    def _written(self, day: date, rng: random.Random) -> str:
        return render_date(rng.choice(PATTERNS), day, rng)


def masked(invented: Invented, mode: DateMode) -> tuple[str, object]:
    settings = CaseSettings(today=date(2026, 1, 1), dates=mode, day_first=True, key=KEY)
    (found,) = CaseMasker(masker_of(spans_by(DATE=WRITTEN)), settings).mask_cases([invented.case])
    assert not found.is_plain
    return found.docs[0].text, found.dates


@pytest.mark.parametrize("n_cases", N_CASES)
def test_no_day_count_tells_the_age(n_cases: int) -> None:
    counted = 0
    for invented in map(Invented, range(n_cases)):
        text, _ = masked(invented, DateMode.RELATIVE_DAY)
        days = [int(number) for number in re.findall(r"\bDay ([+-]?\d+)", text)]
        assert all(abs(day) <= SPAN_YEARS * 366 for day in days)
        ages = {(day - invented.birth).days for day in (*invented.events, *invented.history)}
        spread = max(days, default=0) - min(days, default=0)
        assert spread not in ages or spread < SPAN_YEARS * 366
        steps = re.findall(r"about (Year|Month) ([+-]?\d+)", text)
        assert all(abs(int(n)) <= SPAN_YEARS * (12 if unit == "Month" else 1) for unit, n in steps)
        counted += len(days) > 1
    assert counted > 0.8 * n_cases


@pytest.mark.parametrize("n_cases", N_CASES)
def test_the_birth_is_masked_wherever_it_stands(n_cases: int) -> None:
    for invented in map(Invented, range(n_cases)):
        for mode in (DateMode.RELATIVE_DAY, DateMode.SHIFT):
            text, policy = masked(invented, mode)
            assert not _shows(text) or invented.reads_as_an_event
            assert policy.replace_field(f"{invented.birth:%Y%m%d}") is None


@pytest.mark.parametrize("seed", range(0, 60))
def test_no_year_tells_an_age_over_89(seed: int) -> None:
    invented = Invented(seed)
    text, _ = masked(invented, DateMode.YEAR)
    years = [int(year) for year in re.findall(r"\b\d{4}\b", text)]
    assert all(invented.events[-1].year - year < 90 for year in years)
    if invented.is_told:
        assert not _shows(text)


def _shows(text: str) -> bool:
    """Whether anything but markers stands where the birth stood."""
    birth = text.split("|")[1]
    return any(map(str.isalnum, birth.replace("PHI", "")))
