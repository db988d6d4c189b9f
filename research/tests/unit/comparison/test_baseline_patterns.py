"""Regular expressions and concept match, on hand-worked sentences."""

import pytest

from inverse_deid.core.values import Document
from inverse_deid_research.comparison.ready_systems import ConceptMatch, Patterns


def masked_words(system, text):
    return [text[start:end] for start, end in system.masks([Document("a", text)])[0]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Seen 03/04/2021 at noon.", ["03", "04", "2021"]),
        ("Seen on 12 May 2019.", ["12", "May", "2019"]),
        ("Seen on 12 May.", ["12", "May"]),
        ("Seen on May 12th.", ["May", "12th"]),
        ("Seen in May 2019.", ["May", "2019"]),
        ("Given 14NOV1993 again.", ["14NOV1993"]),
        ("Symptoms since 7/23.", ["7", "23"]),
        ("A 61-year-old woman.", ["61"]),
        ("Call +44 20 7946 0958.", ["44", "20", "7946", "0958"]),
        ("Write to a.b@velmo.example now", ["a", "b", "velmo", "example"]),
        ("See www.velmo.org today", ["www", "velmo", "org"]),
        ("Record 00482913 was lost.", ["00482913"]),
        ("Ms. Okonkwo of Velmo took 40 mg; BP 120/80, Hb 9.8, dose 0.5-1.", []),
        ("Strength 5/5 on both sides.", ["5", "5"]),  # what a simple tool takes for a date
    ],
)
def test_patterns_mask_what_their_names_say(text, words):
    assert masked_words(Patterns(), text) == words


def test_concept_match_keeps_stop_words_and_medical_terms_alone():
    text = "The patient of Okonkwo had a rash after 40 mg aspirin, wonderful Qzxv."
    assert masked_words(ConceptMatch(), text) == ["Okonkwo", "40", "wonderful", "Qzxv"]


def test_concept_match_knows_no_case():
    assert masked_words(ConceptMatch(), "THE RASH the rash") == []
