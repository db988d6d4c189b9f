"""The dates of birth of a case report, of the patient and of a parent, under every profile and policy."""

from __future__ import annotations

from datetime import date

import pytest
from case_maskers import masker_of, spans_by
from icsr_trees import mask_reports

from inverse_deid.formats.icsr.profiles import builtin_profile
from inverse_deid.masking.cases.masker import CaseMasker
from inverse_deid.masking.cases.settings import CaseSettings, DateMode
from inverse_deid.replacement.partial_dates import PartialDate

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
