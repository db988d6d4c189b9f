from __future__ import annotations

from datetime import date

import pytest

from inverse_deid.replacement.dates.parts import MonthStyle, PartialDate
from inverse_deid.replacement.dates.reading import case_dates, read_structured

TODAY = date(2020, 2, 1)


def test_unambiguous_dates_settle_the_others() -> None:
    case = case_dates(["10/12/2019", "25/12/2019"], today=TODAY)
    reading = case.read("10/12/2019")
    assert reading is not None
    assert reading.first.as_date == date(2019, 12, 10)


@pytest.mark.parametrize(
    ("texts", "stated", "expected"),
    [
        ([], None, None),
        ([], True, True),
        (["25/12/2019"], None, True),
        (["12/25/2019"], None, False),
        (["12/25/2019"], True, None),
        (["25/12/2019", "12/25/2019"], None, None),
        (["25/12/2019", "12/25/2019"], True, None),
    ],
)
def test_order_is_known_only_if_nothing_contradicts_it(
    texts: list[str], stated: bool | None, expected: bool | None
) -> None:
    assert case_dates(texts, today=TODAY, day_first=stated).day_first is expected


def test_missing_years_come_from_text_and_fields() -> None:
    from_text = case_dates(["3 Oct", "12-OCT-2019"], today=TODAY)
    from_fields = case_dates(["3 Oct"], today=TODAY, structured=["201910121405"])
    assert from_text.in_text == (date(2019, 10, 3), date(2019, 10, 12))
    assert from_fields.in_text == (date(2019, 10, 3),)
    assert from_text.written == from_fields.written == (date(2019, 10, 12),)


def test_months_and_years_are_gathered_once() -> None:
    case = case_dates(
        ["October 2019", "2015", "in time"], today=TODAY, structured=["201910", "2014", "x", "2021"]
    )
    assert case.partial == (PartialDate(2019, 10), PartialDate(2015), PartialDate(2014))


def test_finer_dates() -> None:
    case = case_dates(["12-OCT-2019", "August 2019", "2015"], today=TODAY)
    assert set(case.finer_than(PartialDate(2018))) == {PartialDate(2019, 10, 12), PartialDate(2019, 8)}
    assert case.finer_than(PartialDate(2018, 3)) == (PartialDate(2019, 10, 12),)
    assert case.finer_than(PartialDate(2018, 3, 1)) == ()


@pytest.mark.parametrize(
    ("texts", "style"),
    [
        (["12 October 2019", "3 May 2019"], MonthStyle.FULL),
        (["12 Oct 2019", "3 May 2019"], MonthStyle.SHORT),
        (["12 Oct 2019", "3 March 2019"], MonthStyle.SHORT),
        (["3 May 2019"], MonthStyle.SHORT),
    ],
)
def test_month_style_of_a_case(texts: list[str], style: MonthStyle) -> None:
    assert case_dates(texts, today=TODAY).month_style is style


@pytest.mark.parametrize(
    ("value", "when", "time"),
    [
        ("2019", PartialDate(2019), ""),
        ("201910", PartialDate(2019, 10), ""),
        ("20191012", PartialDate(2019, 10, 12), ""),
        ("2019101214", PartialDate(2019, 10, 12), "14"),
        ("201910121405", PartialDate(2019, 10, 12), "1405"),
        ("20191012140533", PartialDate(2019, 10, 12), "140533"),
        ("20191012140533+0100", PartialDate(2019, 10, 12), "140533+0100"),
        ("20191012140533.1234-0500", PartialDate(2019, 10, 12), "140533.1234-0500"),
        (" 20191012\n", PartialDate(2019, 10, 12), ""),
    ],
)
def test_date_fields(value: str, when: PartialDate, time: str) -> None:
    assert read_structured(value) == (when, time)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "19",
        "20191",
        "201913",
        "20190230",
        "20191000",
        "2019-10-12",
        "2019101225",
        "20191012146",
        "PRIVACY",
        "20191012+0100",
    ],
)
def test_what_is_no_date_field(value: str) -> None:
    assert read_structured(value) is None


def test_a_case_shows_no_date() -> None:
    shown = repr(case_dates(["12-OCT-2019", "August 2018"], today=TODAY))
    assert not any(part in shown for part in ("2019", "2018", "2020", "12"))
