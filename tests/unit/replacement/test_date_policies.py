from __future__ import annotations

from datetime import date, timedelta

import pytest

from inverse_deid.replacement.dates.parts import PartialDate
from inverse_deid.replacement.dates.policies import (
    MaskedDates,
    RelativeDays,
    ShiftedDates,
    YearDates,
    relative_days,
    shift_dates,
)
from inverse_deid.replacement.dates.reading import KnownDates, case_dates
from inverse_deid.replacement.keys import MAX_SHIFT_DAYS, MIN_SHIFT_DAYS

TODAY = date(2020, 2, 1)
KEY = b"an example key, not a secret"
UNREADABLE = ["", "12", "Tuesday", "10/12/2019", "Christmas", "the 12th", "30 Feb 2019", "13-OCT-2020"]


def case(*texts: str, day_first: bool | None = None, structured: tuple[str, ...] = ()) -> KnownDates:
    return case_dates(texts, today=TODAY, day_first=day_first, structured=structured)


def test_mask_keeps_nothing() -> None:
    assert MaskedDates().replacement("12-OCT-2019") is None
    assert MaskedDates().replace_field("20191012") is None


@pytest.mark.parametrize("text", UNREADABLE)
def test_no_policy_replaces_what_is_not_certain(text: str) -> None:
    dates = case()
    policies = (YearDates(dates), relative_days(dates, TODAY), ShiftedDates(dates, 100))
    assert [policy.replacement(text) for policy in policies] == [None, None, None]


@pytest.mark.parametrize("text", ["31-DEC-1930", "1930", "March 1930"])
def test_no_policy_shows_an_age_over_89(text: str) -> None:
    """In 2020 who was born in 1930 may be 90."""
    dates = case()
    policies = (YearDates(dates), relative_days(dates, TODAY), ShiftedDates(dates, 100))
    assert [policy.replacement(text) for policy in policies] == [None, None, None]
    assert [policy.replace_field("19301231") for policy in policies] == [None, None, None]
    assert [policy.replacement(text.replace("1930", "1931")) for policy in policies] == ["1931", None, None]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12-OCT-19", "2019"),
        ("mid-October 2019", "2019"),
        ("Christmas 2019", "2019"),
        ("28 Dec - 3 Jan 2019", "2018 to 2019"),
        ("3 Oct", None),
    ],
)
def test_year_is_what_is_written(text: str, expected: str | None) -> None:
    assert YearDates(case("12-OCT-2019")).replacement(text) == expected


def test_year_of_a_field() -> None:
    policy = YearDates(case())
    assert [policy.replace_field(v) for v in ("20191012140500+0100", "2019", "2021", "x")] == [
        "2019",
        "2019",
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12-OCT-2019", "Day 0"),
        ("19-OCT-2019", "Day +7"),
        ("9 Oct", "Day -3"),
        ("12 Oct 2019 at 14:05", "Day 0 14:05"),
        ("2019-10-13T09:30", "Day +1 09:30"),
        ("15-17 Oct 2019", "Day +3 to Day +5"),
        ("15 and 17 Oct 2019", "Day +3 and Day +5"),
        ("August 2019", "about Month -2"),
        ("mid-October 2019", "about Month 0"),
        ("Jan 2020", "about Month +3"),
        ("2015", "about Year -4"),
        ("Christmas 2019", "about Year 0"),
    ],
)
def test_relative_days(text: str, expected: str) -> None:
    policy = relative_days(case("12-OCT-2019"), date(2019, 10, 12), "first dose")
    assert policy.statement == "Day 0 = first dose"
    assert policy.replacement(text) == expected
    assert policy.replace_field("20191012") is None


def test_the_anchor_is_the_earliest_date_of_the_text_if_none_is_given() -> None:
    policy = relative_days(case("12-OCT-2019", "3 Oct", "August 2019", structured=("20190101",)))
    assert policy.statement == "Day 0 = earliest date of the text"
    assert policy.replacement("12-OCT-2019") == "Day +9"


def test_without_anchor_all_is_masked() -> None:
    policy = relative_days(case("August 2019"))
    assert policy.statement == "Day 0 = not known, dates are masked"
    assert policy.replacement("12-OCT-2019") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12-OCT-2019", "04-JUL-2019"),
        ("Sat 12 Oct 2019", "Thu 4 Jul 2019"),
        ("12/10/2019", "04/07/2019"),
        ("12 Oct", "4 Jul"),
        ("2019-10-12T14:05", "2019-07-04T14:05"),
        ("10-12 Oct 2019", "2-4 Jul 2019"),
        ("8-10 Oct 2019", "30 Jun 2019 to 2 Jul 2019"),
        ("Christmas 2019", None),
        ("spring 2019", None),
        ("mid-October 2019", None),
    ],
)
def test_shift_by_a_hundred_days(text: str, expected: str | None) -> None:
    """12 October 2019 less 100 days: 12 days of October, 30 of September, 31 of August, 27 of July."""
    policy = ShiftedDates(case("12-OCT-2019", "8 Oct 2019", day_first=True), 100)
    assert policy.replacement(text) == expected


def test_without_a_known_order_numbers_are_masked() -> None:
    contradictory = case("25/10/2019", "10/25/2019")
    assert ShiftedDates(contradictory, 100).replacement("25/10/2019") is None
    assert ShiftedDates(case("25/10/2019"), 100).replacement("25/10/2019") == "17/07/2019"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("20191012", "20190704"),
        ("20191012140500+0100", "20190704140500+0100"),
        ("201910121405", "201907041405"),
        ("201903", "201812"),
        ("2015", "2015"),
        ("201912", None),
        ("201910", None),
        ("201909", None),
        ("201908", "201905"),
        ("2019", None),
        ("2018", None),
        ("2017", "2017"),
        ("20200202", None),
        ("PRIVACY", None),
    ],
)
def test_shifted_fields(value: str, expected: str | None) -> None:
    """100 days are nearest to 3 months and to 0 years.

    The day becomes 4 July 2019 and today 24 October 2019: from May to July are two months, from June
    one; from September to October is one; from 2018 to 2019 one year, from 2017 two.
    """
    policy = ShiftedDates(case(structured=("20191012",)), 100)
    assert policy.replace_field(value) == expected


def test_a_year_moves_by_whole_years() -> None:
    policy = ShiftedDates(case(structured=("20191012",)), 300)
    assert policy.replace_field("2015") == "2014"
    assert policy.replacement("in 2015".removeprefix("in ")) == "2014"


def test_text_and_fields_move_alike() -> None:
    policy = ShiftedDates(case("12-OCT-2019"), 100)
    assert (policy.replacement("20191012"), policy.replace_field("20191012")) == ("20190704", "20190704")


@pytest.mark.parametrize("stride", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_a_partial_date_never_changes_sides(stride: int) -> None:
    """Whatever the shift and the day, what is shown lies on the side where it lay before."""
    shown = 0
    for days in range(MIN_SHIFT_DAYS, MAX_SHIFT_DAYS + 1, stride):
        for i in range(0, 1461, 29):
            full = date(2014, 1, 1) + timedelta(days=i)
            moved = full - timedelta(days=days)
            policy = ShiftedDates(KnownDates(today=TODAY, written=(full,)), days)
            months = 12 * full.year + full.month - 1
            for steps in (-3, -2, -1, 0, 1, 2, 3):
                month = policy.replace_field(f"{(months + steps) // 12}{(months + steps) % 12 + 1:02}")
                year = policy.replace_field(str(full.year + steps))
                pairs = ((month, f"{moved:%Y%m}"), (year, f"{moved:%Y}"))
                for found, beside in pairs:
                    if found is not None:
                        assert (found > beside, found < beside) == (steps > 0, steps < 0)
                        shown += 1
    assert shown > 50_000 // stride


@pytest.mark.parametrize("stride", [31, pytest.param(5, marks=pytest.mark.slow)])
def test_what_is_masked_beside_a_day_does_not_tell_the_shift(stride: int) -> None:
    """The same day and month after the shift: shown for every shift, or for none."""
    for i in range(0, 366, stride):
        moved = date(2016, 1, 1) + timedelta(days=i)
        for steps in (-4, -3, -2, -1, 0, 1, 2, 3, 4):
            number = 12 * moved.year + moved.month - 1 + steps
            results = set()
            for days in range(MIN_SHIFT_DAYS, MAX_SHIFT_DAYS + 1):
                origin = number + round(days / 30.436875)
                month = f"{origin // 12}{origin % 12 + 1:02}"
                dates = KnownDates(today=TODAY, written=(moved + timedelta(days=days),))
                results.add(ShiftedDates(dates, days).replace_field(month))
            shown = f"{number // 12}{number % 12 + 1:02}" if abs(steps) >= 2 else None
            assert results == {shown}


def test_a_month_never_lies_after_the_shifted_today() -> None:
    """40 days before 1 February 2020 is 23 December 2019; one month before February 2020 is January."""
    policy = ShiftedDates(case(), 40)
    assert [policy.replace_field(value) for value in ("202002", "201912", "201911")] == [None, None, "201910"]


def test_a_long_range_within_a_month_is_masked() -> None:
    dates = case("1-11 Oct 2019", "1-12 Oct 2019", "1 Sep 2019 - 12 Oct 2019")
    found = [ShiftedDates(dates, 100).replacement(text) for text in ("1-11 Oct 2019", "1-12 Oct 2019")]
    assert found == ["23 Jun 2019 to 3 Jul 2019", None]
    assert ShiftedDates(dates, 100).replacement("1 Sep 2019 - 12 Oct 2019") == "24 May 2019 - 4 Jul 2019"


def test_equal_precision_keeps_its_distance() -> None:
    policy = ShiftedDates(case("March 2014", "July 2014", "2010"), 200)
    assert [policy.replacement(t) for t in ("March 2014", "July 2014")] == ["August 2013", "December 2013"]


def test_months_close_to_a_year_mask_the_year() -> None:
    assert ShiftedDates(case("December 2018"), 200).replacement("2018") is None


@pytest.mark.parametrize("birth", ["12-MAY-2015", PartialDate(2015, 5), PartialDate(1915, 5, 12)])
def test_no_policy_shows_a_birth(birth: str | PartialDate) -> None:
    """Whatever its precision; of two digits of a year the reader takes those of this century."""
    dates = case_dates(["12-MAY-2015", "12-OCT-2019"], today=TODAY, births=[birth])
    policies = (YearDates(dates), relative_days(dates, TODAY), ShiftedDates(dates, 100))
    for text in ("12-MAY-15", "May 2015", "2015", "12-15 May 2015"):
        assert [policy.replacement(text) for policy in policies] == [None, None, None]
    assert [policy.replace_field("20150512") for policy in policies] == [None, None, None]
    assert None not in [policy.replacement("12-OCT-2019") for policy in policies]


def test_dates_further_than_the_span_are_masked_where_intervals_stay() -> None:
    dates = case("12-OCT-2009", "12-OCT-2019", "13-OCT-2009")
    for policy in (relative_days(dates), ShiftedDates(dates, 100)):
        assert policy.replacement("11-OCT-2009") is None
        assert policy.replacement("12-OCT-2009") is not None
        assert [policy.replacement(text) for text in ("2009", "Sep 2009", "2008 to 2010")] == [None] * 3
    assert ShiftedDates(dates, 100).replace_field("20091011") is None
    assert YearDates(dates).replacement("11-OCT-2009") == "2009"


def test_key_and_id_decide_the_shift() -> None:
    dates = case("12-OCT-2019")
    ours = [shift_dates(dates, KEY, f"case-{i}").replacement("12-OCT-2019") for i in range(20)]
    again = [shift_dates(dates, KEY, f"case-{i}").replacement("12-OCT-2019") for i in range(20)]
    theirs = [
        shift_dates(dates, b"another key of no secret", f"case-{i}").replacement("12-OCT-2019")
        for i in range(20)
    ]
    assert ours == again
    assert len(set(ours)) > 15
    assert sum(a == b for a, b in zip(ours, theirs, strict=True)) <= 1


def test_policies_show_nothing() -> None:
    dates = case("12-OCT-2019")
    policies = [
        YearDates(dates),
        relative_days(dates),
        RelativeDays(dates, TODAY, "x"),
        ShiftedDates(dates, 123),
    ]
    shown = " ".join(map(repr, policies))
    assert not any(part in shown for part in ("2019", "2020", "123", "12"))
