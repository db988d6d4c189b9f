from __future__ import annotations

import pytest

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.replacement.ages import (
    BAND_SCHEMES,
    DAYS_A_MONTH,
    DAYS_A_YEAR,
    AgeReading,
    AgesUnder90,
    AgeUnit,
    BandedAges,
    BandScheme,
    MaskedAges,
    read_age,
)

YEARS, MONTHS, WEEKS, DAYS = AgeUnit.YEARS, AgeUnit.MONTHS, AgeUnit.WEEKS, AgeUnit.DAYS


def days(reading: AgeReading) -> tuple[float, float]:
    return reading.low_days, reading.high_days


@pytest.mark.parametrize(
    ("text", "after", "low", "unit"),
    [
        ("43", "", 43, YEARS),
        ("43", "-year-old male", 43, YEARS),
        ("43-year-old", "", 43, YEARS),
        ("43 y/o", "", 43, YEARS),
        ("43yo", "", 43, YEARS),
        ("15years", "", 15, YEARS),
        ("62M", "", 62, YEARS),
        ("62F", "", 62, YEARS),
        ("62/M", "", 62, YEARS),
        ("51", "/M Rx", 51, YEARS),
        ("66", " m. dry wt", 66, YEARS),
        ("17", "/M", 17, YEARS),
        ("9", ". 2 tabs", 9, YEARS),
        ("eighteen", "", 18, YEARS),
        ("Forty-three", " year old", 43, YEARS),
        ("ninety two", "", 92, YEARS),
        ("one hundred and two", "", 102, YEARS),
        ("a hundred", "", 100, YEARS),
        ("5", " month old boy", 5, MONTHS),
        ("5mo", "", 5, MONTHS),
        ("5m", "", 5, MONTHS),
        ("5", "m old", 5, MONTHS),
        ("14 mnths", "", 14, MONTHS),
        ("eleven months", "", 11, MONTHS),
        ("4/12", "", 4, MONTHS),
        ("six week", "", 6, WEEKS),
        ("six", "-week-old", 6, WEEKS),
        ("2/52", "", 2, WEEKS),
        ("10w", "", 10, WEEKS),
        ("3/7", "", 3, DAYS),
        ("27 days old", "", 27, DAYS),
        ("3 hours", "", 3, AgeUnit.HOURS),
    ],
)
def test_an_age_is_a_span_of_one_unit(text: str, after: str, low: int, unit: AgeUnit) -> None:
    lengths = {
        YEARS: 365.25,
        MONTHS: 30.4375,
        WEEKS: 7,
        DAYS: 1,
        AgeUnit.HOURS: 1 / 24,
    }
    reading = read_age(text, after)
    assert reading is not None
    assert reading.unit is unit
    assert days(reading) == pytest.approx((low * lengths[unit], (low + 1) * lengths[unit]))


@pytest.mark.parametrize(
    ("text", "low_years", "high_years"),
    [
        ("in her 70s", 70, 80),
        ("early 70's", 70, 80),
        ("fifties", 50, 60),
        ("70-odd", 70, 80),
        ("forty-something", 40, 50),
        ("18-25", 18, 26),
        ("18 to 25 years", 18, 26),
        ("2 1/2", 2.5, 3),
        ("2½", 2.5, 3),
        ("two and a half", 2.5, 3),
        ("3y8m", 3 + 8 / 12, 3 + 9 / 12),
        ("3 6/12", 3.5, 3 + 7 / 12),
        ("four years and two months", 4 + 2 / 12, 4 + 3 / 12),
    ],
)
def test_other_spans(text: str, low_years: float, high_years: float) -> None:
    reading = read_age(text)
    assert reading is not None
    assert days(reading) == pytest.approx((low_years * DAYS_A_YEAR, high_years * DAYS_A_YEAR))


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("", ""),
        ("old", ""),
        ("131", ""),
        ("9999", ""),
        ("17M", ""),
        ("5", " M"),
        ("40m/o", ""),
        ("45", " d/o Maria"),
        ("45", " w/o"),
        ("60ish", ""),
        ("about 43", ""),
        ("94th", " year"),
        ("1/2", ""),
        ("5/9", ""),
        ("2.5", " mg"[:0] + " months"),
        ("7", "0 kg"),
        ("38", ".9 C"),
        ("26", "/40"),
        ("43", " - 45"),
        ("70", "'s"),
        ("45", " %"),
        ("25-18", ""),
        ("43 mg", ""),
        ("3y13m", ""),
        ("25-odd", ""),
        ("43M-Okonkwo", ""),
        ("43m Okonkwo", ""),
        ("9m-Okonkwo", ""),
        ("9 m/o Okonkwo", ""),
        ("94M.Okonkwo", ""),
        ("18-25m Okonkwo", ""),
        ("2 1/2 m@okonkwo", ""),
    ],
)
def test_what_may_be_another_age_is_not_read(text: str, after: str) -> None:
    assert read_age(text, after) is None
    policies = (AgesUnder90(), *map(BandedAges, BAND_SCHEMES.values()))
    assert [policy.replacement(text, after) for policy in policies] == [None] * 4


def test_mask_keeps_nothing() -> None:
    assert MaskedAges().replacement("43") is None


@pytest.mark.parametrize(
    ("text", "after", "expected"),
    [
        ("43", "-year-old", "43"),
        ("89", "", "89"),
        ("in her 80s", "", "in her 80s"),
        ("5mo", "", "5mo"),
        ("90", "", "90 or older"),
        ("94", "-year-old", "90-or-older"),
        ("94", " year old", "90 or older"),
        ("94-year-old", "", "90 or older"),
        ("94M", "", "90 or older M"),
        ("ninety-four", "", "90 or older"),
        ("one hundred and two", "", "90 or older"),
        ("nineties", "", "90 or older"),
        ("85-95", "", None),
        ("88-89", "", "88-89"),
    ],
)
def test_keep_under_90(text: str, after: str, expected: str | None) -> None:
    assert AgesUnder90().replacement(text, after) == expected


@pytest.mark.parametrize(
    ("text", "after", "five", "ten", "e2b"),
    [
        ("43", "-year-old", "40-44", "40-49", "18-64"),
        ("43-year-old", "", "40-44-year-old", "40-49-year-old", "18-64-year-old"),
        ("62M", "", "60-64M", "60-69M", "18-64M"),
        ("eighteen", "", "15-19", "10-19", "18-64"),
        ("17", "", "15-19", "10-19", "12-17"),
        ("64", "", "60-64", "60-69", "18-64"),
        ("65", "", "65-69", "60-69", "65 or older"),
        ("89", "", "85-89", "80-89", "65 or older"),
        ("90", "", "90 or older", "90 or older", "65 or older"),
        ("94", "-year-old", "90-or-older", "90-or-older", "65-or-older"),
        ("5mo", "", "0-59mo", "0-119mo", "0-23mo"),
        ("4/12", "", "0-59 months", "0-119 months", "0-23 months"),
        ("six", " week old", "0-260", "0-521", "4-104"),
        ("3y8m", "", "0-4 years", "0-9 years", "2-11 years"),
        ("in her 70s", "", None, "70-79", "65 or older"),
        ("60s", "", None, "60-69", None),
        ("18-25", "", None, None, "18-64"),
        ("3 hours", "", None, None, "0-671 hours"),
    ],
)
def test_bands(text: str, after: str, five: str | None, ten: str | None, e2b: str | None) -> None:
    found = [BandedAges(BAND_SCHEMES[n]).replacement(text, after) for n in ("5-years", "10-years", "e2b")]
    assert found == [five, ten, e2b]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("27 days", "neonate"),
        ("28 days", "infant"),
        ("3 weeks", "neonate"),
        ("4 weeks", "infant"),
        ("1 month", "infant"),
        ("23 months", "infant"),
        ("24 months", "child"),
        ("2", "child"),
        ("11", "child"),
        ("12", "adolescent"),
        ("17", "adolescent"),
        ("18", "adult"),
        ("64", "adult"),
        ("65", "elderly"),
        ("104", "elderly"),
    ],
)
def test_edges_of_the_age_groups(text: str, name: str) -> None:
    scheme = BAND_SCHEMES["e2b"]
    reading = read_age(text)
    assert reading is not None
    band = scheme.band_of(reading)
    assert band is not None
    assert scheme.names[band] == name


def test_a_scheme_knows_its_name() -> None:
    assert {name: scheme.name for name, scheme in BAND_SCHEMES.items()} == {
        name: name for name in BAND_SCHEMES
    }
    assert BAND_SCHEMES["10-years"].names[-2:] == ("80-89", "90 or older")


@pytest.mark.parametrize(
    ("edges", "names"), [((10.0, 5.0), ("a", "b", "c")), ((0.0,), ("a", "b")), ((5.0,), ("a",))]
)
def test_bands_leave_no_gap(edges: tuple[float, ...], names: tuple[str, ...]) -> None:
    with pytest.raises(ConfigurationError, match="must rise"):
        BandScheme("own", edges, names)


def test_a_reading_shows_no_age() -> None:
    shown = repr(read_age("62M"))
    assert not any(part in shown for part in ("62", "M'", str(62 * DAYS_A_YEAR), str(62 * DAYS_A_MONTH)))
