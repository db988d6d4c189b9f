"""A surname that stands where a drug could is masked, alone and deep inside a long narrative."""

import pytest
from bare_names import COSTS, PLACES, SURNAMES, cases, kept_ranges, lists, narratives, outcomes, rates

from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier
from inverse_deid.text.tokenizer import tokenize

SENTENCES_PER_WORD = 2
"""So few of the sentences for each surname in the test; `scripts/measure_bare_names.py` takes all."""

MOST_LEAKED = {
    ("ordinary", "alone"): 0.02,
    ("ordinary", "inside"): 0.03,
    ("unlisted", "alone"): 0.03,
    ("unlisted", "inside"): 0.18,
    ("words", "alone"): 0.04,
    ("words", "inside"): 0.13,
    ("clinical_words", "alone"): 0.45,
    ("clinical_words", "inside"): 0.65,
    ("eponyms", "alone"): 0.2,
    ("eponyms", "inside"): 0.3,
}
"""Share of planted surnames that may be kept."""

LEAST_KEPT = {
    ("drugs", "alone"): 0.98,
    ("drugs", "inside"): 0.99,
    ("eponym phrases", "alone"): 0.99,
    ("eponym phrases", "inside"): 0.99,
}
"""Share of drugs and eponym phrases that must be kept."""


@pytest.fixture(scope="module", params=[pytest.param("careful", marks=pytest.mark.slow), "fast"])
def deidentifier(request):
    return build_deidentifier(MaskingSettings(reading=request.param))


@pytest.fixture(scope="module")
def measured(deidentifier):
    return rates(outcomes(deidentifier, cases(SENTENCES_PER_WORD)))


@pytest.mark.parametrize(("group", "place"), [(g, p) for g in SURNAMES for p in PLACES])
def test_surnames_where_a_drug_could_stand_are_masked(measured, group, place):
    rate = measured[group, place]
    assert rate.kept <= MOST_LEAKED[group, place] * rate.n, f"{group}, {place}: {rate}"


@pytest.mark.parametrize(("group", "place"), [(g, p) for g in COSTS for p in PLACES])
def test_drugs_and_eponym_phrases_in_the_same_places_are_kept(measured, group, place):
    rate = measured[group, place]
    assert rate.kept >= LEAST_KEPT[group, place] * rate.n, f"{group}, {place}: {rate}"


def test_the_narratives_are_long_and_hold_no_identifier(deidentifier):
    assert narratives()
    for text, kept in zip(narratives(), kept_ranges(deidentifier, narratives()), strict=True):
        n_tokens = len(tokenize(text))
        assert n_tokens >= 400
        assert len(kept) > 0.95 * n_tokens


def test_no_surname_stands_in_two_groups():
    names = [name for group in SURNAMES if group != "eponyms" for name in lists()["surnames"][group]]
    assert len(names) == len(set(names))
