"""Ages in the fields of a report agree with those of the texts, and none of 90 or more leaves."""

from __future__ import annotations

import pytest

from inverse_deid.formats.icsr.ages import AgeElement, is_age, years_of
from inverse_deid.masking.cases.report_ages import age_field
from inverse_deid.replacement.ages import BAND_SCHEMES, AgesUnder90, BandedAges, MaskedAges

TENS, FIVES, GROUPS = (BandedAges(BAND_SCHEMES[name]) for name in ("10-years", "5-years", "e2b"))


@pytest.mark.parametrize(
    ("number", "unit", "kept", "decade"),
    [
        ("48", "a", "48", "4"),
        ("89", "a", "89", "8"),
        ("89.9", "a", "89.9", "8"),
        ("90", "a", None, None),
        ("104", "a", None, None),
        ("8", "10.a", "8", "8"),
        ("9", "10.a", None, None),
        ("1079", "mo", "1079", "8"),
        ("1080", "mo", None, None),
        ("18", "mo", "18", "0"),
        ("32871", "d", "32871", "8"),
        ("32873", "d", None, None),
        ("788940", "h", None, None),
        ("48", "", None, None),
        ("48", "furlong", None, None),
    ],
)
def test_ages_in_fields(number, unit, kept, decade):
    for element in ("D.2.2a", "D.10.2.2a"):
        field = AgeElement(element, number, unit)
        shown = age_field(field, AgesUnder90())
        assert (shown and shown.number) == kept
        for policy in (TENS, FIVES):
            band = age_field(field, policy)
            assert (band and (band.number, band.unit)) == (decade and (decade, "10.a"))
        assert age_field(field, GROUPS) is None
        assert age_field(field, MaskedAges()) is None


@pytest.mark.parametrize("element", ["D.2.2.1a", "G.k.6a"])
def test_a_gestation_period_has_no_band(element):
    for number, unit in (("10", "wk"), ("2", "{trimester}")):
        field = AgeElement(element, number, unit)
        assert age_field(field, AgesUnder90()) == field
        assert {age_field(field, policy) for policy in (TENS, FIVES, GROUPS, MaskedAges())} == {None}


def test_the_group_of_ages_stays_unless_ages_are_masked():
    field = AgeElement("D.2.3", "6", "")
    assert all(age_field(field, policy) == field for policy in (AgesUnder90(), TENS, FIVES, GROUPS))
    assert age_field(field, MaskedAges()) is None


def test_what_is_no_number_is_no_age():
    assert [is_age(text) for text in ("48", " 48 ", "48,5", "-1", "about 48", "48 Okonkwo", "", "1e9")] == [
        *(True, True, True, False, False, False, False, False)
    ]
    assert years_of("Okonkwo", "a") is None


def test_an_age_element_never_shows_its_number():
    assert "94" not in repr(AgeElement("D.2.2a", "94", "a"))
