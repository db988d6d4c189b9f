"""Births and ages of a case report under every profile and policy: none leaves that must not."""

from __future__ import annotations

from datetime import date

import pytest
from case_maskers import masker_of, spans_by
from icsr_trees import mask_reports

from inverse_deid.formats.icsr.standard.ages import AgeElement, is_age, years_of
from inverse_deid.formats.icsr.standard.profiles import builtin_profile
from inverse_deid.masking.case_masker import CaseMasker
from inverse_deid.masking.case_reports import age_field
from inverse_deid.replacement.ages import BAND_SCHEMES, AgesUnder90, BandedAges, MaskedAges
from inverse_deid.replacement.dates.parts import PartialDate
from inverse_deid.replacement.settings import CaseSettings, DateMode

KEY = b"an example key, not a secret"
PROFILES = ("eudravigilance", "fda", "third-party", "public")
TEXT = "Girl, 12-MAY-2015. Dose on 03-OCT-2019, rash on 05-OCT-2019; mother of 02-FEB-1990."


def report(**fields: str) -> bytes:
    """One R2 case: dose on 3, rash on 5 October 2019, received in November."""

    def day(name: str, value: str) -> str:
        sort = {4: 602, 6: 610, 8: 102}[len(value)]
        return f"<{name}format>{sort}</{name}format><{name}>{value}</{name}>"

    birth, parent = fields.get("birth", "20150512"), fields.get("parent", "19900202")
    return (
        f'<ichicsr lang="en"><safetyreport><safetyreportid>SE-X-1</safetyreportid>{day("receiptdate", "20191101")}'
        f"<patient>{day('patientbirthdate', birth)}"
        f"<medicalhistoryepisode>{day('patientmedicalstartdate', '20150512')}</medicalhistoryepisode>"
        f"<parent>{day('parentbirthdate', parent)}</parent>"
        f"<reaction>{day('reactionstartdate', '20191005')}</reaction>"
        f"<drug><drugcharacterization>1</drugcharacterization><medicinalproduct>Brundapril</medicinalproduct>"
        f"{day('drugstartdate', fields.get('dose', '20191003'))}</drug>"
        f"<summary><narrativeincludeclinical>{TEXT}</narrativeincludeclinical></summary></patient></safetyreport>"
        "</ichicsr>"
    ).encode()


def masked(data: bytes, mode: DateMode, profile: str = "fda") -> str:
    """The message that leaves."""
    settings = CaseSettings(today=date(2026, 1, 1), dates=mode, key=KEY)
    masker = CaseMasker(masker_of(spans_by(DATE=r"(\d\d-[A-Z]{3}-\d{4})")), settings)

    written, report = mask_reports(data, masker, builtin_profile(profile).with_dates(), KEY)
    assert report.n_cases == 1
    return written.decode()


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("mode", [DateMode.YEAR, DateMode.RELATIVE_DAY, DateMode.SHIFT])
@pytest.mark.parametrize("birth", ["20150512", "201505", "2015"])
def test_no_profile_and_no_policy_lets_a_birth_leave(profile: str, mode: DateMode, birth: str) -> None:
    written = masked(report(birth=birth), mode, profile)
    assert "<patientbirthdate>" not in written
    assert "<parentbirthdate>" not in written
    assert "patientmedicalstartdate>2" not in written
    assert "Girl, PHI. Dose on " in written
    assert "; mother of PHI." in written


def test_event_days_stay_beside_births() -> None:
    written = masked(report(), DateMode.RELATIVE_DAY)
    assert "Dose on Day 0 (Day 0 = first dose), rash on Day +2;" in written


def test_a_dose_on_the_day_of_birth_is_no_anchor() -> None:
    written = masked(report(birth="20191003", dose="20191003"), DateMode.RELATIVE_DAY)
    assert "(Day 0 = onset)" in written
    assert "Dose on PHI, rash on Day 0;" in written


def test_births_keep_their_precision() -> None:
    assert PartialDate(2015, 5).overlaps(PartialDate(2015, 5, 12))
    assert not PartialDate(2015, 5).overlaps(PartialDate(2015, 6, 12))


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
