"""1,000 case reports through the command: the time to onset is that of the input, R3 and R2."""

from __future__ import annotations

import random
import re
from datetime import date, timedelta

import pytest
from case_maskers import masker_of, spans_by
from date_patterns import FULL_BUT_NOT_READ, full_patterns, order_of
from icsr_messages import Invention, r2_batch, r2_case, r3_batch, r3_case
from icsr_trees import cases_of

from inverse_deid.replacement.dates.text import read_date
from inverse_deid.training.corpora.dates import render_date

N_CASES = 1000
TEXT = "Dose given on {}. Onset on {}. Seen."
WRITTEN = r"(?:given|Onset) on (.+?)\. (?=Onset|Seen)"
WRITERS = {"r3": (r3_case, r3_batch), "r2": (r2_case, r2_batch)}


def batch(dialect: str) -> tuple[bytes, list[tuple[date, date]]]:
    """A message, and dose and onset of each case."""
    rng = random.Random(7)
    usable = [p for p in full_patterns() if order_of(p) in (None, True) and p not in FULL_BUT_NOT_READ]
    one, frame = WRITERS[dialect]
    days, cases = [], []
    for number in range(N_CASES):
        dose = date(2000, 1, 1) + timedelta(days=rng.randrange(9000))
        onset = dose + timedelta(days=rng.randint(0, 120))
        received = f"{onset + timedelta(days=rng.randint(0, 90)):%Y%m%d}"
        days.append((dose, onset))
        given = {
            "C.1.1": f"SE-X-{number}",
            "D.1": "UNKNOWN",
            "G.k.4.r.4": f"{dose:%Y%m%d}",
            "E.i.4": f"{onset:%Y%m%d}",
            "H.1": TEXT.format(*(render_date(rng.choice(usable), day, rng) for day in (dose, onset))),
            **dict.fromkeys(("C.1.2", "C.1.4", "C.1.5", "N.2.r.4"), received),
        }
        cases.append(one(Invention(rng, 0.0, given)))
    return frame(cases, Invention(rng, 0.0, {"N.1.5": "20251101"})).encode(), days


@pytest.fixture(params=list(WRITERS))
def masked(request, command, fake_assemble, given, out, monkeypatch):
    """Runs the command with some options: dates of text and fields of every case, and those of the input."""
    monkeypatch.setenv("INVERSE_DEID_KEY", "an example key, not a secret")
    fake_assemble[0] = masker_of(spans_by(DATE=WRITTEN))
    data, days = batch(request.param)
    (given / "a.xml").write_bytes(data)

    def run(mode: str):
        options = ("--dates", mode, "--day-first", "--today", "2026-01-01")
        result = command("mask", given, "--out", out, *options)
        assert result.status == 0, result.stderr
        found = [dates_of(case) for case in cases_of((out / "a.xml").read_bytes())]
        assert len(found) == N_CASES
        return zip(found, days, strict=True)

    return run


def dates_of(case) -> tuple[list[str], dict[str, date]]:
    text = next(text.text for text in case.free_texts if text.element == "H.1")
    fields = {f.element: f.date.first_day for f in case.dates.every if f.date and f.date.day}
    return re.findall(WRITTEN, text, re.DOTALL), fields


@pytest.mark.slow
def test_relative_days_count_from_the_first_dose(masked):
    n_read = 0
    found = list(masked("relative-day"))
    assert found
    for ((dose_text, onset_text), fields), (dose, onset) in found:
        assert fields == {}
        if "PHI" in dose_text + onset_text:
            continue
        assert dose_text.startswith("Day 0 (Day 0 = first dose)")
        days = (onset - dose).days
        assert re.match(r"Day (?:0|[+-]\d+)\b", onset_text)[0] == (f"Day {days:+d}" if days else "Day 0")
        n_read += 1
    assert n_read > 0.95 * N_CASES


@pytest.mark.slow
def test_shifted_days_keep_their_distance(masked):
    n_read, shifts = 0, set()
    found = list(masked("shift"))
    assert found
    for (texts, fields), (dose, onset) in found:
        assert fields["E.i.4"] - fields["G.k.4.r.4"] == onset - dose
        back = dose - fields["G.k.4.r.4"]
        assert 30 <= back.days <= 395
        shifts.add(back.days)
        if any("PHI" in text for text in texts):
            continue
        for text, day in zip(texts, (dose, onset), strict=True):
            read = read_date(text, reference=date(2026, 1, 1), day_first=True)
            assert read is None or read.first.as_date == day - back
        n_read += 1
    assert n_read > 0.95 * N_CASES
    assert len(shifts) > 300
