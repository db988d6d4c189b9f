from __future__ import annotations

from datetime import date

import pytest

from inverse_deid.replacement.partial_dates import PartialDate, Precision, partial


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
