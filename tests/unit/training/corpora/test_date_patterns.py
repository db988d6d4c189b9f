from __future__ import annotations

import random
from datetime import date

import pytest

from inverse_deid.training.corpora.dates import draw_pattern, pattern_of, random_date, render_date
from inverse_deid.training.corpora.wordlists import load_lists


def test_more_than_forty_patterns_render_differently() -> None:
    patterns = {pattern for kind in load_lists("dates").values() for pattern in kind}
    rendered = {render_date(pattern, date(2021, 3, 5), random.Random(0)) for pattern in patterns}
    assert len(patterns) > 200
    assert len(rendered) > 150


def test_every_pattern_renders_without_braces() -> None:
    rng = random.Random(1)
    assert load_lists("dates")
    for kind, patterns in load_lists("dates").items():
        assert patterns
        for pattern in patterns:
            text = render_date(pattern, random_date(rng), rng)
            assert "{" not in text, kind
            assert text.strip()


@pytest.mark.parametrize(
    "text",
    [
        "9/71",
        "3-7/5",
        "the 9th",
        "mid-March",
        "'98",
        "Q3 2019",
        "15MAR2021",
        "20610919",
        "2061-09-19",
        "Ramadan",
        "11 maart",
        "Thurs",
        "sat",
        "MLK day",
        "Tue 4th Feb",
        "28-V-2012",
        "the 1990s",
        "Mon/Wed",
        "18/7/2019",
    ],
)
def test_hard_shapes_are_recognised(text: str) -> None:
    assert pattern_of(text) is not None


def test_years_reach_from_the_past_to_2100() -> None:
    rng = random.Random(2)
    years = [random_date(rng).year for _ in range(2000)]
    assert min(years) < 1950
    assert max(years) > 2080


def test_kinds_are_drawn_by_weight() -> None:
    rng = random.Random(3)
    assert len({draw_pattern(rng) for _ in range(3000)}) > 150
