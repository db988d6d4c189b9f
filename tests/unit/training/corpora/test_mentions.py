"""Bare names planted in narratives without names."""

import random
from collections import Counter

import pytest

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.training.corpora.mentions import draw_mention, mention_names, words_that_are_names
from inverse_deid.training.corpora.people import load_name_pools

POOLS = load_name_pools()
TEXT = (
    "The patient had a rash on 12 May. He was given Benadryl and her mother called the office. "
    "The doctor saw him in the morning; fever went. No treatment."
)
DATE = PhiSpan(26, 32, PhiType.DATE)


def planted(seed, text=TEXT, spans=(DATE,)):
    return mention_names(Document("d", text, spans, meta={"kind": "x"}), POOLS, random.Random(seed))


def test_names_are_planted_and_the_rest_stays():
    forms = Counter()
    for seed in range(200):
        doc = planted(seed)
        assert (doc.id, doc.meta) == ("d", {"kind": "x"})
        names = [span for span in doc.spans if span.type != PhiType.DATE]
        assert 1 <= len(names) <= 6
        (date,) = (span for span in doc.spans if span.type == PhiType.DATE)
        assert doc.text[date.start : date.end] == "12 May"
        for span in names:
            name = doc.text[span.start : span.end]
            assert name == name.strip()
            assert name
            forms["lower" if name.islower() else "upper" if name.isupper() else "other"] += 1
            forms["short"] += len(name) <= 3
    assert min(forms.values()) > 20
    assert forms["other"] > forms["lower"]


def test_the_same_seed_plants_the_same_names():
    assert planted(5).text == planted(5).text
    assert len({planted(seed).text for seed in range(20)}) > 15


@pytest.mark.parametrize("change", [str.upper, str.lower])
def test_a_narrative_in_one_case_stays_so(change):
    for seed in range(60):
        text = planted(seed, change(TEXT), ()).text
        assert text == change(text)


def test_a_text_without_a_place_has_a_sentence_added():
    doc = planted(1, "Fever", ())
    assert doc.text.startswith("Fever")
    assert doc.spans


def test_half_of_the_names_are_words():
    rng = random.Random(2)
    words = set(words_that_are_names())
    share = sum(draw_mention(rng, POOLS).lower() in words for _ in range(1000)) / 1000
    assert 0.45 < share < 0.65
