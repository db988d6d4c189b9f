from __future__ import annotations

import random
import re

import pytest

from inverse_deid.core.phi import PhiType
from inverse_deid.training.corpora.surrogates import CaseContext, SurrogateMaker, like_case


@pytest.fixture
def maker() -> SurrogateMaker:
    return SurrogateMaker(random.Random(11))


@pytest.mark.parametrize("phi_type", PhiType)
def test_every_type_has_a_surrogate_without_outer_space(maker: SurrogateMaker, phi_type: PhiType) -> None:
    for original in ("Example 12", "LOUD 12", "quiet", "7"):
        for _ in range(20):
            surrogate = maker.make(phi_type, original)
            assert surrogate and surrogate == surrogate.strip()


def test_same_seed_gives_the_same_surrogates() -> None:
    first, second = (SurrogateMaker(random.Random(5)) for _ in range(2))
    originals = [(phi_type, "Ada 31-12") for phi_type in PhiType]
    assert [first.make(*pair) for pair in originals] == [second.make(*pair) for pair in originals]


def test_shape_of_a_number_is_kept() -> None:
    maker = SurrogateMaker(random.Random(1), shape_share=1.0)
    assert re.fullmatch(r"\d{3}-\d{3}-\d{4}, ext \d{2}", maker.make(PhiType.PHONE, "212-555-0143, ext 12"))


@pytest.mark.parametrize(
    ("original", "shape"),
    [
        ("15MAR2021", r"\d{1,2}[A-Z]{3}\d{4}"),
        ("5/16/2021", r"\d{1,2}/\d{1,2}/\d{4}"),
        ("2021-05-16", r"\d{4}-\d\d-\d\d"),
        ("March 4, 1998", r"[A-Z][a-z]+ \d{1,2}, \d{4}"),
        ("'98", r"'\d\d"),
    ],
)
def test_shape_of_a_date_is_kept(original: str, shape: str) -> None:
    maker = SurrogateMaker(random.Random(2), shape_share=1.0)
    assert all(re.fullmatch(shape, maker.make(PhiType.DATE, original)) for _ in range(20))


def test_shape_of_a_name_is_kept() -> None:
    maker = SurrogateMaker(random.Random(3), shape_share=1.0)
    assert re.fullmatch(r"[A-Z]\.[A-Z]\.", maker.make(PhiType.PATIENT, "J.S."))
    assert re.fullmatch(r"[a-z]{2}", maker.make(PhiType.DOCTOR, "jk"))
    assert maker.make(PhiType.DOCTOR, "OKAFOR").isupper()
    assert "," in maker.make(PhiType.PATIENT, "Weeks, Delphine")


def test_a_surname_shared_in_a_document_stays_shared() -> None:
    maker = SurrogateMaker(random.Random(4), shape_share=1.0)
    context = CaseContext()
    patient = maker.make(PhiType.PATIENT, "Ada Okafor", context)
    brother = maker.make(PhiType.RELATIVE, "Ben Okafor", context)
    assert patient.split(" ", 1)[1].split()[-1] == brother.split(" ", 1)[1].split()[-1]
    assert maker.make(PhiType.PATIENT, "Okafor", context) in patient


def test_months_behind_an_age_make_it_small(maker: SurrogateMaker) -> None:
    context = CaseContext(after=" month old")
    assert all(int(maker.make(PhiType.AGE, "4", context)) <= 36 for _ in range(50))


def test_case_follows_the_original() -> None:
    rng = random.Random(0)
    assert like_case("Okafor", "SMITH", rng, exact=True) == "OKAFOR"
    assert like_case("Okafor", "smith", rng, exact=True) == "okafor"
    assert like_case("Okafor", "Smith", rng, exact=True) == "Okafor"
