"""Structured values are kept only in the form and length of their element; unknown elements are left out or located."""

from __future__ import annotations

import pytest
from icsr_messages import invent
from icsr_trees import mark_texts, masked_file

from inverse_deid.formats.icsr.rewriting import Done
from inverse_deid.formats.icsr.standard.elements import ElementKind, elements
from inverse_deid.formats.icsr.standard.forms import Form, has_form, is_display
from inverse_deid.formats.icsr.standard.profiles import builtin_names, builtin_profile, profile_from

SENTENCE = "given to Mrs Ada Okonkwo, MRN 44719"

FITS = {
    "lot": "EW0173 026L20A B23-117 Unknown 0403",
    "device-lot": "45BN2-product-2-device1",
    "id": "SE-ACME-2020-7 EU/1/15/1058/001 2015-001234-56 NCT01234567",
    "route": "ACME-PV EVHUMAN ZZFDA",
    "code-name": "J.D. PAT-0012 UNKNOWN",
    "name": "Okonkwo O'Brien Prof.",
    "place": "Velmont Östersund",
    "organisation": "Acme Greyfriars",
    "postcode": "90210 SW1A-1AA",
    "phone": "+44(0)20-7946-0958 tel:+15550147",
    "email": "mailto:box@mail.invalid box@mail.invalid",
    "product": "Adalimumab BNT162b2 LY3298176",
}
FITS_WITH_SPACES = (
    ("organisation", "Halden Pharma AB, Drug Safety"),
    ("address", "49 Main St. Building 2030A"),
    ("phone", "+44 20 7946 0958 ext. 12"),
    ("product", "Human papillomavirus type 16 L1 protein"),
    ("product", "insulin glargine"),
    ("name", "Maria del Carmen"),
    ("title", "Prof. Dr. med."),
)


@pytest.mark.parametrize("form", FITS)
def test_usual_values_fit(form):
    assert [value for value in FITS[form].split() if not has_form(form, value)] == []


@pytest.mark.parametrize(("form", "value"), FITS_WITH_SPACES)
def test_usual_words_fit(form, value):
    assert has_form(form, value)


@pytest.mark.parametrize("form", Form)
def test_no_form_fits_a_sentence(form):
    assert not has_form(form, SENTENCE)


@pytest.mark.parametrize(
    "value",
    [
        "4471922",
        "9434765919",
        "943 476 5919",
        "555-0147823",
        "MRN44719",
        "1962-05-12",
        "Ada",
        "AB 12 Ada",
        "AO1962",
    ],
)
def test_a_lot_number_is_not_the_number_of_a_person(value):
    assert not has_form("lot", value)


def test_terms_are_displays_and_sentences_are_not():
    for term in (
        "Injection site pain",
        "rechallenge was done, reaction recurred",
        "Type 2: Prefilled (syringe, etc.)",
    ):
        assert is_display(term)
    assert not is_display(SENTENCE)
    assert not is_display("a" * 251)


def test_every_identifier_and_product_has_a_form():
    kinds = (ElementKind.IDENTIFIER, ElementKind.PRODUCT)
    found = [element for element in elements().values() if element.kind in kinds]
    assert [element.id for element in found if element.form not in set(Form)] == []
    without = [e.id for e in found for dialect in e.places if e.max_length[dialect] is None]
    assert without == []


@pytest.mark.parametrize("profile", builtin_names())
@pytest.mark.parametrize("dialect", ["r3", "r2"])
def test_a_sentence_in_the_place_of_a_lot_number_is_left_out(dialect, profile):
    data = invent(dialect, share=0.0, given={"G.k.4.r.7": SENTENCE}).data
    written, report = masked_file(data, builtin_profile(profile), mark_texts)
    assert report.n_cases == 1
    assert b"Okonkwo" not in written
    assert b"44719" not in written
    assert {done for element, _, done in report.done if element == "G.k.4.r.7"} == {Done.UNFIT}
    assert report.removed["value without the form of its E2B element"] >= 1
    kept, _ = masked_file(
        invent(dialect, given={"G.k.4.r.7": "EW0173"}).data, builtin_profile(profile), mark_texts
    )
    assert b"EW0173" in kept


@pytest.mark.parametrize(("element", "long"), [("C.3.2", "Halden " * 20), ("G.k.4.r.7", "EW0173" * 10)])
def test_a_value_longer_than_its_element_is_not_kept(element, long):
    written, report = masked_file(
        invent("r3", given={element: long.strip()}).data, builtin_profile("fda"), mark_texts
    )
    assert long.strip().encode() not in written
    assert {done for one, _, done in report.done if one == element} == {Done.UNFIT}


def test_a_required_id_that_does_not_fit_gets_a_pseudonym():
    written, report = masked_file(
        invent("r3", given={"C.1.1": SENTENCE}).data, builtin_profile("fda"), mark_texts
    )
    assert report.n_cases == 1
    assert b"Okonkwo" not in written
    assert {done for one, _, done in report.done if one == "C.1.1"} == {Done.UNFIT}


UNKNOWN = {"r3": "patientWard", "r2": "patientward"}


def with_unknown(dialect: str) -> bytes:
    """A message with an unknown element beside the patient's name, on a line of its own, and an unknown attribute."""
    data = invent(dialect).data.decode()
    tag = {"r3": "<primaryRole", "r2": "<patientinitial"}[dialect]
    own = f'<{UNKNOWN[dialect]} x="1"><b>Okonkwo 4471922</b></{UNKNOWN[dialect]}>'
    place = data.index(tag) if dialect == "r2" else data.index(">", data.index(tag)) + 1
    return f"{data[:place]}\n\n{own}\n{data[place:]}".encode()


@pytest.mark.parametrize("profile", ["third-party", "public"])
@pytest.mark.parametrize("dialect", ["r3", "r2"])
def test_an_unknown_element_is_left_out_and_listed_with_its_line(dialect, profile):
    data = with_unknown(dialect)
    line = data[: data.index(UNKNOWN[dialect].encode())].count(b"\n") + 1
    written, report = masked_file(data, builtin_profile(profile), mark_texts)
    assert report.n_cases == 1
    for trace in (b"Okonkwo 4471922", UNKNOWN[dialect].encode()):
        assert trace not in written
    ((case, path, found),) = report.unknown
    assert (case, path.rpartition("/")[2], found) == (1, "*", line)
    assert report.removed["element that E2B does not know"] == 1
    assert report.as_json()["unknown"] == [{"case": 1, "path": path, "line": line}]


@pytest.mark.parametrize("profile", ["eudravigilance", "fda"])
@pytest.mark.parametrize("dialect", ["r3", "r2"])
def test_an_unknown_element_refuses_the_case_with_path_and_line(dialect, profile):
    data = with_unknown(dialect)
    line = data[: data.index(UNKNOWN[dialect].encode())].count(b"\n") + 1
    _, report = masked_file(data, builtin_profile(profile), mark_texts)
    (problem,) = report.problems
    message = problem.reason
    assert f"/* at line {line}" in message
    assert 'unknown = "drop"' in message
    assert UNKNOWN[dialect] not in message


def test_a_profile_says_what_happens_to_unknown_elements():
    own = profile_from("own", {"base": "fda", "unknown": "drop"})
    assert masked_file(with_unknown("r3"), own, mark_texts)[1].n_cases == 1
    assert profile_from("own", {"otherwise": "keep"}).unknown == "refuse"


def test_an_unknown_element_around_the_narrative_refuses_the_case():
    data = invent("r2").data.decode()
    data = data.replace("<summary>", "<tale>").replace("</summary>", "</tale>")
    _, report = masked_file(data.encode(), builtin_profile("third-party"), mark_texts)
    (problem,) = report.problems
    assert "patient/* at line " in problem.reason
    assert "Elements of the standard are in it" in problem.reason


def test_an_unknown_attribute_is_left_out():
    data = invent("r2").data.replace(b"<patientinitial>", b'<patientinitial ward="Okonkwo">')
    written, report = masked_file(data, builtin_profile("third-party"), mark_texts)
    assert b"ward" not in written
    assert len(report.unknown) == 1


@pytest.mark.parametrize("form", ["id", "route", "postcode"])
@pytest.mark.parametrize("value", ["12 May 1962", "12-MAY-1962", "12/05/1962", "1962-05-12"])
def test_a_day_alone_is_no_number_of_a_report_or_place(form, value):
    assert not has_form(form, value, 100)
    assert not has_form("postcode", "MRN 4471922", 15)


@pytest.mark.parametrize(
    "value", ["SE-ACME-2020-7", "US-FDA-2021-01-25-17", "GB-MHRA-ADR 23456789", "20210125-3"]
)
def test_a_day_within_the_number_of_a_report_is_allowed(value):
    assert has_form("id", value, 100)


@pytest.mark.parametrize("form", ["code-name", "address"])
@pytest.mark.parametrize("value", ["+44 7700 900123", "(0113) 496 00001", "943 476 5919"])
def test_a_telephone_number_is_no_code_for_a_person_and_no_address(form, value):
    assert not has_form(form, value, 100)
    assert has_form("code-name", "1002-003-0045", 60)
    assert has_form("address", "12 Harrow Lane", 100)
