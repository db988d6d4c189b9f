"""Clinical facts that look like identifiers: the rules know them, and their look-alikes stay masked."""

import tomllib
from pathlib import Path

import pytest
from test_golden_cases import parse

from inverse_deid.core.values import Document
from inverse_deid.masking.assemble import MaskingSettings, assemble, build_deidentifier
from inverse_deid.masking.scorers import feature_columns, feature_names
from inverse_deid.rules.patterns.search import FACT_PATTERNS
from inverse_deid.text.tokenizer import tokenize

FILE = tomllib.loads((Path(__file__).parent / "clinical_facts.toml").read_text(encoding="utf-8"))
ITEMS = [(part, item) for part, items in FILE.items() for item in items]

LEAST_KEPT = {"coded_term": 0.5, "range": 0.8, "short_duration": 0.2}
"""Shares that the packaged network keeps where its features do not tell it enough; elsewhere all."""

_KEPT_BY_THE_NETWORK = {"Extension [[1430]] is the ward.", "Room [[104]] was cleaned."}
KEPT_LOOK_ALIKES = {
    "fast": _KEPT_BY_THE_NETWORK,
    "careful": _KEPT_BY_THE_NETWORK
    | {
        "Mr [[N]]. [[V]]. came, and [[H]] & [[V]] left.",
        "He had pain from [[8/10]] to [[9/10]] and then left.",
    },
}
"""What is kept in spite of the rules, with and without these patterns, by reading."""


@pytest.fixture(scope="module", params=["careful", "fast"])
def reading(request):
    return request.param


@pytest.fixture(scope="module")
def deidentifier(reading):
    return build_deidentifier(MaskingSettings(reading=reading))


@pytest.fixture(scope="module")
def analyser():
    return assemble(MaskingSettings(rules_only=True)).stages.analyser


def marked_tokens(text, ranges):
    tokens = tokenize(text)
    touched = range(len(tokens))
    return [
        i for i in touched if any(tokens.starts[i] < end and tokens.ends[i] > start for start, end in ranges)
    ]


@pytest.mark.parametrize(("part", "item"), ITEMS)
def test_rules_know_the_facts_and_not_their_look_alikes(analyser, part, item):
    known = n_facts = 0
    for marked in FILE[part][item]:
        text, identifiers, facts = parse(marked)
        verdicts = analyser.analyse(tokenize(text)).verdicts
        unsafe = verdicts.certain & ~verdicts.always_masked
        assert not (unsafe | (verdicts.fact & ~verdicts.always_masked))[
            marked_tokens(text, identifiers)
        ].any(), marked
        chosen = marked_tokens(text, facts)
        kept = verdicts.earns_low & ~verdicts.always_masked
        known += int(kept[chosen].sum())
        n_facts += len(chosen)
    floor = 1.0 if part == "development" else 0.75
    assert item == "micro" or known >= floor * n_facts


@pytest.mark.parametrize(("part", "item"), ITEMS)
def test_facts_are_kept_and_look_alikes_are_masked(deidentifier, reading, part, item):
    kept = n_facts = 0
    for marked in FILE[part][item]:
        text, identifiers, facts = parse(marked)
        keep = deidentifier.mask(Document("fact", text)).decisions.keep
        assert marked in KEPT_LOOK_ALIKES[reading] or not keep[marked_tokens(text, identifiers)].any(), marked
        kept += int(keep[marked_tokens(text, facts)].sum())
        n_facts += len(marked_tokens(text, facts))
    assert kept >= LEAST_KEPT.get(item, 1.0) * n_facts


LONG_NUMBERS = {
    "lot 4978061 was given": True,
    "PT: Injection site erythema (10022061)": True,
    "lot 5551234567 was given": False,
    "the parking lot 4978061": False,
    "the whole lot 4978061": False,
    "PT Okonkwo (10022061) was seen": False,
    "PT 10022061 was seen": False,
    "patient 4978061 was seen": False,
    "account 10022061, fever": False,
}


@pytest.mark.parametrize(("text", "may_be_kept"), LONG_NUMBERS.items())
def test_seven_digits_are_always_masked_except_in_a_lot_or_a_coded_term(analyser, text, may_be_kept):
    tokens = tokenize(text)
    number = next(i for i, word in enumerate(tokens.words) if word.isdecimal())
    assert analyser.analyse(tokens).verdicts.always_masked[number] != may_be_kept


@pytest.mark.parametrize(
    ("text", "is_fact"),
    [
        ("chest pain 3/7 in clinic", False),
        ("power 12/7 at work", False),
        ("headache 4/31 again", False),
        ("pain 4/12 again", False),
        ("pain 3/10 again", True),
        ("vision 6/12 again", True),
        ("power 4/5 again", True),
    ],
)
def test_a_day_that_no_score_has_is_not_a_fact(analyser, text, is_fact):
    tokens = tokenize(text)
    numbers = [i for i, word in enumerate(tokens.words) if word.isdecimal()]
    assert analyser.analyse(tokens).verdicts.fact[numbers].all() == is_fact


def test_without_the_network_no_fact_is_kept_that_is_not_a_safe_word():
    text = "GCS 14/15 at 10:30, lot 4471B, BP 128/84, cough for 3/7."
    decisions = build_deidentifier(MaskingSettings(rules_only=True)).mask(Document("fact", text)).decisions
    words = tokenize(text).words
    assert not any(
        kept and any(map(str.isdigit, word)) for kept, word in zip(decisions.keep, words, strict=True)
    )


@pytest.mark.parametrize("handle", ["@RA", "@11AM", "@2L", "@10wks", "@bedtime", "@ 10 wks", "@ RA"])
def test_at_is_not_a_handle_before_times_and_amounts(analyser, handle):
    assert not analyser.analyse(tokenize(f"Seen {handle} today.")).verdicts.veto.any()


@pytest.mark.parametrize("handle", ["@amara", "@ra_okonkwo", "@homebody7", "@11amara"])
def test_a_handle_is_always_masked(analyser, handle):
    assert analyser.analyse(tokenize(f"Seen {handle} today.")).verdicts.veto.any()


def test_the_features_of_facts_are_the_last_so_that_older_models_find_theirs():
    names = feature_names("all")
    assert names[-len(FACT_PATTERNS) :] == tuple(FACT_PATTERNS)
    older = names[: -len(FACT_PATTERNS)]
    assert feature_columns(older) == list(range(len(older)))
