from __future__ import annotations

from datetime import date

import pytest

from inverse_deid.replacement.dates.layouts import DateReading, find_readings
from inverse_deid.replacement.dates.parts import MonthStyle, PartialDate
from inverse_deid.replacement.dates.text import orders_in, read_date, write_date

TODAY = date(2022, 1, 31)
OCTOBER_12 = PartialDate(2019, 10, 12)


def read(text: str, *dates: date, day_first: bool | None = None, today: date = TODAY) -> DateReading | None:
    return read_date(text, reference=today, day_first=day_first, dates=dates)


def certainly(text: str, *dates: date, day_first: bool | None = None) -> DateReading:
    reading = read(text, *dates, day_first=day_first)
    assert reading is not None
    return reading


@pytest.mark.parametrize(
    "text",
    [
        "12-OCT-2019",
        "12OCT19",
        "12 Oct '19",
        "12 Oct. 2019",
        "Oct. 12, 2019",
        "October 12th, 2019",
        "the 12th of October 2019",
        "the twelfth day of October, 2019",
        "October\n12, 2019",
        "OCTOBER12,2019",
        "20191012",
        "2019-10-12",
        "2019‑10‑12",
        "2019/10/12",
        "2019 Oct 12",
        "2019-10-12T14:05",
        "2019-10-12T14:05:33Z",
        "12/OCT/2019",
        "12.X.2019",
        "12-x-19",
        "2019年10月12日",
        "12 de octubre de 2019",
        "12. Oktober 2019",
        "12 października 2019",
        "Sat 12th Oct 2019",
        "Saturday, October 12, 2019",
        "12 Oct 2019 at 2:05 pm",
        " 12 Oct 2019, ",
    ],
)
def test_a_date_whose_order_is_plain(text: str) -> None:
    reading = certainly(text)
    assert reading.first == OCTOBER_12
    assert reading.last is None
    assert not reading.inferred_year


@pytest.mark.parametrize(
    "text", ["12/10/2019", "12.10.19", "12-10-2019", "12 10 2019", "12102019", "12. 10. 2019"]
)
def test_a_date_in_numbers_needs_an_order(text: str) -> None:
    assert read(text) is None
    assert certainly(text, day_first=True).first == OCTOBER_12
    assert certainly(text, day_first=False).first == PartialDate(2019, 12, 10)


def test_numbers_can_show_their_order() -> None:
    assert certainly("25/10/2019").first == PartialDate(2019, 10, 25)
    assert certainly("10/25/2019").first == PartialDate(2019, 10, 25)
    assert certainly("10/10/2019").first == PartialDate(2019, 10, 10)


def test_a_weekday_can_show_the_order() -> None:
    """12 October 2019 was a Saturday, 10 December 2019 a Tuesday."""
    assert certainly("Sat 12/10/2019").first == OCTOBER_12
    assert certainly("Tues 12/10/2019").first == PartialDate(2019, 12, 10)


@pytest.mark.parametrize("text", ["Mon 12/10/2019", "Sunday, October 12, 2019"])
def test_a_wrong_weekday_is_a_doubt(text: str) -> None:
    assert read(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "12",
        "the 12th",
        "Tuesday",
        "October",
        "spring",
        "Christmas",
        "last winter",
        "Ramadan",
        "30/2/2019",
        "29 Feb 2019",
        "00/00/2019x",
        "Febuary 3, 2019",
        "the 1990s",
        "1440 AH",
        "12 Kartik 2076",
        "R1.10.12",
        "191012",
        "2009-10",
        "12.10",
        "10-12",
        "about 2019",
        "summer 2019",
        "Oct 12-19",
        "12-15-17 Oct 2019",
        "12 Oct 2019 and more",
        "Mr. Okonkwo",
        "12 Oct 2019 " * 9,
    ],
)
def test_what_is_not_certain_is_not_read(text: str) -> None:
    assert read(text, date(2019, 10, 5), day_first=True) is None


@pytest.mark.parametrize(
    ("text", "year"),
    [
        ("12OCT21", 2021),
        ("12OCT22", None),
        ("12OCT31", None),
        ("12OCT32", None),
        ("12OCT33", 1933),
        ("'98", 1998),
    ],
)
def test_a_two_digit_year_lies_never_ahead(text: str, year: int | None) -> None:
    """Today is 31-JAN-2022: the years 2022 to 2032 could be meant, and lie ahead."""
    reading = read(text)
    assert (reading.first.year if reading else None) == year


def test_nothing_lies_after_today() -> None:
    assert read("31-JAN-2022") is not None
    assert read("01-FEB-2022") is None
    assert read("JAN-2022") is not None
    assert read("FEB-2022") is None
    assert read("30 Jan - 2 Feb 2022") is None


@pytest.mark.parametrize(
    ("text", "known", "expected"),
    [
        ("3 Oct", [date(2019, 10, 12)], date(2019, 10, 3)),
        ("Jan 3", [date(2019, 10, 12)], date(2020, 1, 3)),
        ("the third of October", [date(2019, 10, 12), date(1976, 10, 3)], date(2019, 10, 3)),
        ("12 Apr", [date(2019, 10, 12)], None),
        ("3 Oct", [], None),
        ("3 Oct", [date(2018, 10, 1), date(2019, 10, 12)], None),
        ("10 Feb", [date(2021, 12, 20)], None),
        ("29 Feb", [date(2020, 1, 12)], date(2020, 2, 29)),
        ("Sat 12th Oct", [date(2019, 10, 5)], date(2019, 10, 12)),
        ("Tues 12th Oct", [date(2019, 10, 5)], None),
    ],
    ids=[
        "same year",
        "next year",
        "birth date of another era",
        "half a year away",
        "no date",
        "two years fit",
        "ahead of today",
        "leap day",
        "weekday",
        "wrong weekday",
    ],
)
def test_a_missing_year_comes_from_the_case(text: str, known: list[date], expected: date | None) -> None:
    reading = read(text, *known)
    assert (reading.first.as_date if reading else None) == expected
    assert reading is None or reading.inferred_year


def test_two_numbers_are_a_day_only_near_the_dates_of_the_case() -> None:
    assert certainly("3/4", date(2019, 4, 30), day_first=True).first == PartialDate(2019, 4, 3)
    assert read("3/4", date(2019, 5, 30), day_first=True) is None
    assert read("3/4", date(2019, 4, 30)) is None
    assert read("3/4", day_first=True) is None


def test_a_day_that_could_be_a_year_needs_the_years_to_be_far_away() -> None:
    assert certainly("OCT 12", date(2019, 10, 5)).first == OCTOBER_12
    assert read("OCT 19", date(2019, 10, 5)) is None
    assert read("10/19", date(2019, 10, 5), day_first=False) is None
    assert certainly("OCT 99").first == PartialDate(1999, 10)
    assert certainly("Oct 19", date(2019, 10, 5)).first == PartialDate(2019, 10, 19)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("October 2019", PartialDate(2019, 10)),
        ("OCT19", None),
        ("Oct '19", PartialDate(2019, 10)),
        ("10/2019", PartialDate(2019, 10)),
        ("2019-10", PartialDate(2019, 10)),
        ("UN/OCT/2019", PartialDate(2019, 10)),
        ("??-Oct-2019", PartialDate(2019, 10)),
        ("UNKOCT2019", PartialDate(2019, 10)),
        ("--/10/19", PartialDate(2019, 10)),
        ("10/--/19", PartialDate(2019, 10)),
        ("201910??", PartialDate(2019, 10)),
        ("XX/XX/2019", PartialDate(2019)),
        ("2019", PartialDate(2019)),
    ],
)
def test_partial_dates_keep_their_precision(text: str, expected: PartialDate | None) -> None:
    reading = read(text)
    assert (reading.first if reading else None) == expected


@pytest.mark.parametrize(
    "text", ["mid-October 2019", "early 2019", "Q3 2019", "spring 2019", "Christmas 2019"]
)
def test_seasons_and_holidays_have_a_year_but_cannot_be_moved(text: str) -> None:
    reading = certainly(text)
    assert reading.first.year == 2019
    assert not reading.writable
    with pytest.raises(ValueError, match="mask it"):
        write_date(reading.first, reading)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("12-15 Oct 2019", date(2019, 10, 12), date(2019, 10, 15)),
        ("12th to 15th of October, 2019", date(2019, 10, 12), date(2019, 10, 15)),
        ("Oct 12–15, 2019", date(2019, 10, 12), date(2019, 10, 15)),
        ("3-5/7/21", date(2021, 7, 3), date(2021, 7, 5)),
        ("12.-15.10.19", date(2019, 10, 12), date(2019, 10, 15)),
        ("28 Dec - 3 Jan 2019", date(2018, 12, 28), date(2019, 1, 3)),
        ("Oct 12, 2019 to Oct 15", date(2019, 10, 12), date(2019, 10, 15)),
        ("12OCT-15OCT2019", date(2019, 10, 12), date(2019, 10, 15)),
        ("2019-10-12/2019-10-15", date(2019, 10, 12), date(2019, 10, 15)),
        ("20191012-20191015", date(2019, 10, 12), date(2019, 10, 15)),
        ("25/10/19-28/10/19", date(2019, 10, 25), date(2019, 10, 28)),
        ("Sat 12 Oct to Tue 15 Oct 2019", date(2019, 10, 12), date(2019, 10, 15)),
    ],
)
def test_ranges(text: str, first: date, last: date) -> None:
    reading = certainly(text)
    assert (reading.first.as_date, reading.last and reading.last.as_date) == (first, last)


@pytest.mark.parametrize("text", ["15-12 Oct 2019", "15 Oct - 12 Oct 2019", "Sat 12 Oct to Mon 15 Oct 2019"])
def test_a_range_rises_and_its_weekdays_fit(text: str) -> None:
    assert read(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12-OCT-2019", "03-MAR-2018"),
        ("12OCT19", "03MAR18"),
        ("12 october 2019", "3 march 2018"),
        ("October 12th, 2019", "March 3rd, 2018"),
        ("the TWELFTH of October 2019", "the THIRD of March 2018"),
        ("Sept. 12, 2019", "Mar. 3, 2018"),
        ("25/10/2019", "03/03/2018"),
        ("25/9/2019", "3/3/2018"),
        ("25/10/'19", "03/03/'18"),
        ("2019-10-12T14:05", "2018-03-03T14:05"),
        ("12.X.2019", "03.III.2018"),
        ("12 de octubre de 2019", "3 de marzo de 2018"),
        ("Saturday, 12 Oct 2019", "Saturday, 3 Mar 2018"),
        ("Tues 15 Oct 2019", "Sat 3 Mar 2018"),
        ("12-15 Oct 2019", "3-6 Mar 2018"),
    ],
)
def test_another_date_is_written_in_the_same_manner(text: str, expected: str) -> None:
    assert write_date(date(2018, 3, 3), certainly(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12-15 Oct 2019", "30 Dec 2018 to 2 Jan 2019"),
        ("Oct 12-15, 2019", "Dec 30, 2018 to Jan 2, 2019"),
        ("3-6/7/21", "30/12/18 to 2/1/19"),
        ("28 Sep - 1 Oct 2019", "30 Dec 2018 to 2 Jan 2019"),
        ("28SEP2019-01OCT2019", "30DEC2018-02JAN2019"),
    ],
)
def test_a_range_over_new_year_is_written_out(text: str, expected: str) -> None:
    assert write_date(date(2018, 12, 30), certainly(text)) == expected


def test_months_and_years_are_written_too() -> None:
    assert write_date(PartialDate(2018, 3), certainly("UN/OCT/2019")) == "UN/MAR/2018"
    assert write_date(PartialDate(2018), certainly("'98")) == "'18"
    with pytest.raises(ValueError, match="mask it"):
        write_date(date(2018, 3, 1), certainly("October 2019"))


@pytest.mark.parametrize(
    ("text", "style", "expected"),
    [
        ("May 12, 2019", MonthStyle.FULL, "March 3, 2018"),
        ("May 12, 2019", MonthStyle.SHORT, "Mar 3, 2018"),
        ("Oct. 12, 2019", MonthStyle.SHORT, "Mar 3, 2018"),
        ("12.Oct.2019", MonthStyle.SHORT, "03.Mar.2018"),
        ("5/3/2019", MonthStyle.SHORT, "03/03/2018"),
        ("5 Oct 2019", MonthStyle.SHORT, "3 Mar 2018"),
    ],
)
def test_a_style_for_all_dates_of_a_case(text: str, style: MonthStyle, expected: str) -> None:
    assert write_date(date(2018, 3, 3), certainly(text, day_first=True), month_style=style) == expected


@pytest.mark.parametrize(
    ("texts", "orders"),
    [
        (["10/12/2019", "25/12/2019", "12 Oct 2019"], {True}),
        (["10/12/2019", "12/25/2019"], {False}),
        (["25/12/2019", "12/25/2019"], {True, False}),
        (["10/12/2019", "10/10/2019", "10/25", "x"], set()),
    ],
)
def test_dates_show_the_order_of_a_case(texts: list[str], orders: set[bool]) -> None:
    assert orders_in(find_readings(text, TODAY) for text in texts) == orders


def test_two_days_are_no_range() -> None:
    """30 December and 2 January: nothing is said of the days between."""
    first, last = date(2018, 12, 30), ("12 and 15 Oct 2019", "12/15 Oct 2019", "12 & 15 October 2019")
    assert [certainly(text).joined_by for text in last] == ["and"] * 3
    assert write_date(first, certainly(last[0])) == "30 Dec 2018 and 2 Jan 2019"
    assert certainly("12 to 15 Oct 2019").joined_by == "to"
    assert certainly("2019-10-12/2019-10-15").joined_by == "to"


def test_a_reading_shows_no_date() -> None:
    shown = repr(certainly("Sat 12th Oct 2019 at 14:05")) + repr(certainly("12-15 Oct 2019"))
    assert not any(part in shown for part in ("12", "2019", "Oct", "14:05", "Sat"))
