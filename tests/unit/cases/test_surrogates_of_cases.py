"""Surrogates of cases: none for drugs, and a fingerprint that goes with the lists of names."""

from datetime import date

from case_maskers import masker_of, spans_by

from inverse_deid.cases import surrogates as module
from inverse_deid.cases.masker import CaseMasker
from inverse_deid.cases.settings import CaseSettings
from inverse_deid.cases.surrogates import KeyedSurrogates
from inverse_deid.core.values import Document
from inverse_deid.replacement.name_pools import names_version

TODAY = date(2020, 2, 1)
KEY = b"an example key, not a secret"
SPANS = spans_by(NAME=r"(Amara Okonkwo|Brundapril|Okonkwo)")


def case_masker(key=KEY):
    masker = masker_of(SPANS, medical=["Brundapril"])
    surrogates = KeyedSurrogates(key, masker.holds_medical_word)
    return CaseMasker(masker, CaseSettings(today=TODAY, key=key), surrogates)


def test_a_name_gets_a_surrogate_and_a_drug_its_marker():
    (found,) = case_masker().mask_many([Document("1", "Amara Okonkwo took Brundapril. Okonkwo is well.")])
    assert "took PHI. " in found.text
    assert found.text.count("PHI") == 1
    name = found.text.split()[1]
    assert name != "Okonkwo"
    assert found.text.endswith(f"{name} is well.")
    assert found.stand_ins == {"surrogate": 2}


def test_the_fingerprint_tells_keys_and_versions_apart(monkeypatch):
    markers = CaseMasker(masker_of(SPANS), CaseSettings(today=TODAY, key=KEY))
    prints = {markers.fingerprint, case_masker().fingerprint, case_masker(KEY + b"x").fingerprint}
    assert case_masker().fingerprint in prints
    monkeypatch.setattr(module, "names_version", lambda: names_version() + ".1")
    assert len(prints | {case_masker().fingerprint}) == 4
    assert KEY.decode() not in repr(KeyedSurrogates(KEY, lambda words, category: False))
