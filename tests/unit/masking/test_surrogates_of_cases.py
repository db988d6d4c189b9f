"""Surrogates of cases: none for drugs, and a fingerprint that goes with the lists of names."""

import re
from dataclasses import replace
from datetime import date

import pytest
from case_maskers import masker_of, spans_by

from inverse_deid.core.values import Document
from inverse_deid.masking.case_masker import CaseMasker
from inverse_deid.replacement.case_texts import CaseTexts
from inverse_deid.replacement.settings import CaseSettings, DateMode
from inverse_deid.replacement.surrogates import keyed as module
from inverse_deid.replacement.surrogates.faker_names import faker_version
from inverse_deid.replacement.surrogates.keyed import KeyedSurrogates

TODAY = date(2020, 2, 1)
KEY = b"an example key, not a secret"
SPANS = spans_by(NAME=r"(Amara Okonkwo|Brundapril|Okonkwo)")


def case_masker(key=KEY):
    masker = masker_of(SPANS)
    surrogates = KeyedSurrogates(key, lambda words, category: "Brundapril" in words)
    return CaseMasker(masker, CaseSettings(today=TODAY, key=key), surrogates)


def test_a_name_gets_a_surrogate_and_a_drug_its_marker():
    (found,) = case_masker().mask_many([Document("1", "Amara Okonkwo took Brundapril. Okonkwo is well.")])
    assert "took PHI. " in found.text
    assert found.text.count("PHI") == 1
    name = found.text.split()[1]
    assert name != "Okonkwo"
    assert found.text.endswith(f"{name} is well.")
    assert found.stand_ins == {"surrogate": 2}


@pytest.mark.parametrize(
    ("text", "dates", "shown"),
    [
        ("458213 25/10/2019 Amara Okonkwo", DateMode.MASK, r"\d{6} PHI [A-Z][a-z]+ [A-Z][a-z]+"),
        ("Amara Okonkwo 25/10/2019", DateMode.MASK, r"[A-Z][a-z]+ [A-Z][a-z]+ PHI"),
        ("Amara Okonkwo 25/10/2019", DateMode.YEAR, r"[A-Z][a-z]+ [A-Z][a-z]+ 2019"),
    ],
)
def test_a_date_in_the_mask_of_a_name_is_not_made_up(text, dates, shown):
    masker = masker_of(spans_by(NAME=r"(Amara Okonkwo)", DATE=r"(25/10/2019)", ID=r"(458213)"))
    surrogates = KeyedSurrogates(KEY, lambda words, category: False)
    settings = CaseSettings(today=TODAY, key=KEY, dates=dates)
    (found,) = CaseMasker(masker, settings, surrogates).mask_many([Document("1", f"Seen: {text}.")])
    assert re.fullmatch(rf"Seen: {shown}\.", found.text)
    assert set(re.findall(r"\w+", found.text)) & set(re.findall(r"\w+", text)) <= {"2019"}


def test_no_surrogate_is_the_value_of_a_field():
    masker = masker_of(spans_by(PLACE=r"(Ohio)"))
    surrogates = KeyedSurrogates(KEY, lambda words, category: False)
    case = CaseTexts(id="1", docs=(Document("1", "From Ohio."),))
    first = CaseMasker(masker, CaseSettings(today=TODAY, key=KEY), surrogates).mask_cases([case])
    state = first[0].docs[0].text.removeprefix("From ").removesuffix(".")
    again = replace(case, values=(state,))
    (found,) = CaseMasker(masker, CaseSettings(today=TODAY, key=KEY), surrogates).mask_cases([again])
    assert found.docs[0].text not in ("From PHI.", f"From {state}.", "From Ohio.")


def test_the_fingerprint_tells_keys_and_versions_apart(monkeypatch):
    markers = CaseMasker(masker_of(SPANS), CaseSettings(today=TODAY, key=KEY))
    prints = {markers.fingerprint, case_masker().fingerprint, case_masker(KEY + b"x").fingerprint}
    assert case_masker().fingerprint in prints
    monkeypatch.setattr(module, "faker_version", lambda: faker_version() + ".1")
    assert len(prints | {case_masker().fingerprint}) == 4
    assert KEY.decode() not in repr(KeyedSurrogates(KEY, lambda words, category: False))
