"""Attacks of 66 kinds: recall by kind is not below what is recorded, and clean sentences are left alone.

`python scripts/report_attacks.py` reports the figures, `--raise-floors` records better ones.
"""

from collections import Counter

import pytest
from attack_texts import (
    FORMS,
    KINDS,
    MOST_CLEAN_MASKED,
    SYSTEMS,
    WITH_BAR,
    measure_clean,
    measure_recall,
    read_attacks,
    read_clean_sentences,
    read_floors,
    read_marked_texts,
)

from inverse_deid.masking.assemble import build_deidentifier

FEWEST_TEXTS = 1500
FEWEST_OF_KIND = 23


@pytest.mark.parametrize(
    "system",
    [pytest.param(name, marks=pytest.mark.slow if name == "careful" else []) for name in SYSTEMS],
)
def test_recall_of_no_kind_is_below_its_floor(system):
    deidentifier = build_deidentifier(SYSTEMS[system])
    floors = read_floors()[system]
    recall = measure_recall(deidentifier, read_attacks())
    below = {
        (kind, form): (one.share, floors[kind][form])
        for (kind, form), one in recall.items()
        if one.share < floors[kind][form]
    }
    assert below == {}


@pytest.mark.parametrize("system", [pytest.param("careful", marks=pytest.mark.slow), "fast"])
@pytest.mark.parametrize("n_together", [1, 10])
def test_clean_sentences_are_kept(system, n_together):
    sentences = read_clean_sentences()
    assert len(sentences) == len(set(sentences)) == 200
    clean = measure_clean(build_deidentifier(SYSTEMS[system]), sentences, n_together)
    assert clean.n_tokens > 1500
    assert clean.share <= MOST_CLEAN_MASKED


def test_every_kind_has_texts_and_floors():
    texts = read_marked_texts()
    assert len(KINDS) == len(set(KINDS)) == 66
    assert {
        kind: len(texts.get(kind, ())) for kind in KINDS if len(texts.get(kind, ())) < FEWEST_OF_KIND
    } == {}
    assert sum(map(len, texts.values())) >= FEWEST_TEXTS
    floors = read_floors()
    assert list(floors) == list(SYSTEMS)
    assert all(set(of_system) == set(KINDS) for of_system in floors.values())
    assert all(set(floor) == set(FORMS) for of_system in floors.values() for floor in of_system.values())


def test_the_bar_is_for_these_kinds():
    assert sorted(WITH_BAR) == [
        "age-over-89-words",
        "age-writing",
        "coordinates",
        "date-codes",
        "date-foreign",
        "date-odd",
        "date-partial",
        "encoded",
        "id-code",
        "id-near-lot",
        "id-number",
        "path-host",
        "phone-transcript",
        "plate",
        "room",
        "trial-odd-number",
        "username",
    ]


def test_no_text_is_there_twice():
    count = Counter(attack.text for attack in read_attacks() if attack.form == "alone")
    assert [n for n in count.values() if n > 1] == []


def test_every_attack_is_also_inside_clean_sentences():
    attacks = read_attacks()
    alone = {attack.id: attack for attack in attacks if attack.form == "alone"}
    long = {attack.id: attack for attack in attacks if attack.form == "long"}
    assert alone.keys() == long.keys()
    assert long
    for id_, attack in long.items():
        assert alone[id_].text in attack.text
        assert [attack.text[slice(*one)] for one in attack.ranges] == [
            alone[id_].text[slice(*one)] for one in alone[id_].ranges
        ]
