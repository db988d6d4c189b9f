"""Ages as the generator writes them: a band holds its age, and no age of 90 or more is shown."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inverse_deid.replacement.ages import BAND_SCHEMES, DAYS_OF, AgesUnder90, BandedAges, read_age
from inverse_deid.training.corpora.ages import AGE_FORMS, age_in_words, draw_age_as

seeds = st.integers(0, 2**32)
schemes = st.sampled_from(sorted(BAND_SCHEMES))


@given(st.integers(1, 130), schemes)
def test_a_band_holds_the_age(years: int, name: str) -> None:
    band = BandedAges(BAND_SCHEMES[name]).replacement(str(years))
    assert band is not None
    numbers = [int(number) for number in re.findall(r"\d+", band)]
    assert numbers[0] <= years
    assert "older" in band or years <= numbers[1]


@given(st.integers(1, 129), schemes)
def test_bands_rise_with_age(years: int, name: str) -> None:
    scheme = BAND_SCHEMES[name]
    younger, older = read_age(str(years)), read_age(str(years + 1))
    assert younger is not None
    assert older is not None
    bands = scheme.band_of(younger), scheme.band_of(older)
    assert bands[0] is not None
    assert bands[1] is not None
    assert bands[0] <= bands[1] <= bands[0] + 1 or name == "e2b"


@given(st.integers(1, 119), seeds)
def test_words_and_digits_are_the_same_age(years: int, seed: int) -> None:
    words = read_age(age_in_words(years, random.Random(seed)))
    digits = read_age(str(years))
    assert words is not None
    assert digits is not None
    assert (words.low_days, words.high_days, words.unit) == (digits.low_days, digits.high_days, digits.unit)


@given(st.integers(90, 119), seeds, st.sampled_from(["", "-year-old", " yo", "F", "M", "/M"]))
def test_no_age_of_90_or_more_is_shown(years: int, seed: int, behind: str) -> None:
    for text in (str(years), age_in_words(years, random.Random(seed))):
        for policy in (AgesUnder90(), *map(BandedAges, BAND_SCHEMES.values())):
            for found in (policy.replacement(text + behind), policy.replacement(text, behind)):
                shown = re.findall(r"\d+", found or "")
                assert shown in ([], ["90"], ["65"])
                assert text not in (found or "") or text == "90"


@pytest.mark.parametrize("form", AGE_FORMS)
@given(seed=seeds)
def test_most_forms_are_read(form: str, seed: int) -> None:
    """All but `60ish`, and an age next to an M that may be months."""
    text = draw_age_as(form, random.Random(seed))
    reading = read_age(text)
    assert reading is not None or text.endswith("ish") or re.fullmatch(r"\d+ ?m", text)
    assert reading is None or 0 <= reading.low_days < reading.high_days


@given(st.text(max_size=40), st.text(max_size=25))
def test_any_text_is_read_or_masked(text: str, after: str) -> None:
    for policy in (AgesUnder90(), *map(BandedAges, BAND_SCHEMES.values())):
        found = policy.replacement(text, after)
        assert found is None or found.strip()


@given(st.integers(0, 23), st.integers(0, 100), schemes)
def test_units_agree(months: int, weeks: int, name: str) -> None:
    """An age in months lies in the band of its days."""
    scheme = BAND_SCHEMES[name]
    for count, unit in ((months, "months"), (weeks, "weeks")):
        reading = read_age(f"{count} {unit}")
        assert reading is not None
        band = scheme.band_of(reading)
        length = next(days for known, days in DAYS_OF.items() if known == unit)
        assert band is None or (0.0, *scheme.edges_days)[band] <= count * length < scheme.edges_days[band]


AGE_WORDS = (
    "m f o y yo yr yrs year years mo mos mth mths mnth mnths month months w wk wks week weeks d day days h hr hrs "
    "hour hours old olds of age male female man woman boy girl in his her their the early mid late odd something "
    "and a s to half hundred zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety twenties "
    "thirties forties fifties sixties seventies eighties nineties"
)


@given(
    st.sampled_from(["43", "9", "94", "18-25", "2 1/2", "forty", "3y8m", "4/12", "in her 70s", "5", "15"]),
    st.sampled_from(
        [
            "",
            "m",
            "M",
            " m",
            "-m",
            "/M",
            "f",
            "F",
            "m/o",
            "mo",
            "y",
            "yo",
            "-year-old",
            " years",
            "w",
            "d",
            "h",
        ]
    ),
    st.sampled_from(["", " ", "-", "/", ".", ",", "@", "_", "&", ". ", " of ", " old "]),
    st.sampled_from(["", "Okonkwo", "okonkwo", "m", "old", "12"]),
)
def test_what_is_read_as_an_age_holds_no_other_word(number: str, unit: str, sign: str, behind: str) -> None:
    text = number + unit + sign + behind
    if read_age(text) is not None:
        assert set(AGE_WORDS.split()).issuperset(re.findall(r"[^\W\d_]+", text.lower()))
