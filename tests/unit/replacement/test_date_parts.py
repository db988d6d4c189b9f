from __future__ import annotations

from datetime import date

import pytest

from inverse_deid.replacement.dates.parts import (
    MONTHS,
    ORDINALS,
    MonthStyle,
    PartialDate,
    Precision,
    month_words,
    ordinal_suffix,
    partial,
    read_day,
    write_day,
    write_month,
    write_weekday,
)


def test_precision_is_the_finest_known_part() -> None:
    precisions = [
        PartialDate(2019).precision,
        PartialDate(2019, 10).precision,
        PartialDate(None, 10, 3).precision,
    ]
    assert precisions == [Precision.YEAR, Precision.MONTH, Precision.DAY]


def test_only_a_whole_date_is_a_day() -> None:
    assert PartialDate(2019, 10, 3).as_date == date(2019, 10, 3)
    assert PartialDate(2019, 10).as_date is None
    assert PartialDate(None, 10, 3).as_date is None
    assert partial(date(2019, 10, 3)) == PartialDate(2019, 10, 3)


@pytest.mark.parametrize(
    "parts", [(2019, 13), (2019, 0, 1), (2019, None, 3), (None,), (2019, 2, 29), (0, 1, 1)]
)
def test_there_is_no_such_date(parts: tuple[int | None, ...]) -> None:
    with pytest.raises(ValueError):
        PartialDate(*parts)


def test_a_leap_day_may_wait_for_its_year() -> None:
    assert PartialDate(None, 2, 29).in_year(2020).as_date == date(2020, 2, 29)
    with pytest.raises(ValueError):
        PartialDate(None, 2, 29).in_year(2021)


def test_earliest_needs_a_year() -> None:
    assert PartialDate(2019, 10).earliest == date(2019, 10, 1)
    with pytest.raises(ValueError, match="fill the year first"):
        _ = PartialDate(None, 10, 3).earliest


def test_it_shows_nothing() -> None:
    assert "2019" not in repr(PartialDate(2019, 10, 3))


def test_every_language_has_twelve_months_twice() -> None:
    assert {len(names.split()) for pair in MONTHS.values() for names in pair} == {12}


def test_no_name_means_two_months() -> None:
    meanings: dict[str, set[int]] = {}
    for pair in MONTHS.values():
        for names in pair:
            for number, name in enumerate(names.split(), 1):
                meanings.setdefault(name.lower(), set()).add(number)
    assert [name for name, numbers in meanings.items() if len(numbers) > 1] == []


def test_may_shows_no_style() -> None:
    words = month_words()
    assert (words["may"].style, words["june"].style, words["sept"].style) == (
        None,
        MonthStyle.FULL,
        MonthStyle.SHORT,
    )


@pytest.mark.parametrize(
    ("number", "like", "style", "expected"),
    [
        (10, "MAY", None, "OCT"),
        (10, "May", MonthStyle.FULL, "October"),
        (5, "june", None, "may"),
        (9, "Dezember", None, "September"),
        (3, "DEZEMBER", None, "MÄRZ"),
        (1, "Sept", None, "Jan"),
    ],
)
def test_months_are_written_in_language_and_case(
    number: int, like: str, style: MonthStyle | None, expected: str
) -> None:
    assert write_month(number, like, style) == expected


def test_a_short_weekday_always_has_three_letters() -> None:
    assert [write_weekday(3, like) for like in ("Tues", "tue", "WEDS", "Monday")] == [
        "Thu",
        "thu",
        "THU",
        "Thursday",
    ]


def test_days_are_read_as_they_are_written() -> None:
    for number in range(1, 32):
        for like in ("5", "5th", "fifth"):
            assert read_day(write_day(number, like, padded=True)) == number
    assert len(set(ORDINALS)) == 31
    assert read_day("Twenty First") == 21


def test_ordinal_suffixes() -> None:
    suffixes = [f"{n}{ordinal_suffix(n)}" for n in (1, 2, 3, 4, 11, 12, 13, 21, 22, 23, 30, 31)]
    assert suffixes == [
        "1st",
        "2nd",
        "3rd",
        "4th",
        "11th",
        "12th",
        "13th",
        "21st",
        "22nd",
        "23rd",
        "30th",
        "31st",
    ]
