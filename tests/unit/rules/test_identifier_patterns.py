"""Numbers, accounts and names in talk that are masked whatever else says safe, and their clinical look-alikes."""

import pytest
from identifier_examples import CLINICAL, EXAMPLES

from inverse_deid.rules import account_patterns, number_patterns
from inverse_deid.rules.anchors import Anchor, beginning_with, pattern_hits
from inverse_deid.rules.patterns import LIFTED_BY, SILENT_VETO_PATTERNS, VETO_PATTERNS
from inverse_deid.text.tokenizer import tokenize

TALK = ("reversed-name", "name-in-talk", "name-that-speaks")
NAMES = (*number_patterns.VETOES, *account_patterns.VETOES, *TALK)


def touched(name, text):
    tokens = tokenize(text)
    hits = pattern_hits(tokens, [{**VETO_PATTERNS, **SILENT_VETO_PATTERNS}[name]])[0]
    return " ".join(word for word, hit in zip(tokens.words, hits, strict=True) if hit)


@pytest.mark.parametrize("name", NAMES)
def test_a_pattern_touches_its_example_and_no_more(name):
    text, words = EXAMPLES[name]
    assert touched(name, text) == words


@pytest.mark.parametrize("text", CLINICAL)
def test_clinical_text_is_left_alone(text):
    assert {name: words for name in NAMES if (words := touched(name, text))} == {}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("ip-address", "IP was 203.0.113.140.", "203 0 113 140"),
        ("ip-address", "(203.0.113.140)...", "203 0 113 140"),
        ("phone", "tel.555-010-1234, home", "555 010 1234"),
        ("phone", "555-010-1234-home", "555 010 1234"),
        ("full-date", "DOB-12/03/2019.", "12 03 2019"),
        ("full-date", "on.12/03/2019", "12 03 2019"),
        ("social-security-number", "ssn-123-45-6789-", "123 45 6789"),
    ],
)
def test_signs_beside_an_identifier_do_not_hide_it(name, text, words):
    assert touched(name, text) == words


@pytest.mark.parametrize(("name", "text"), [("ip-address", "1.203.0.113.140"), ("full-date", "1-12/03/2019")])
def test_longer_numbers_are_not_taken_for_shorter_ones(name, text):
    assert touched(name, text) == ""


def test_codes_that_may_hold_anything_mask_whatever_is_kept():
    assert LIFTED_BY.keys().isdisjoint({"hexadecimal", "base-64", "scrambled", "series-of-codes"})


def test_the_words_of_an_anchor_are_all_forms_of_simple_patterns():
    anchor = beginning_with("labels? licen[cs]e cent(?:re|er)s? sort_code")
    assert anchor == Anchor(
        words=frozenset(
            ["label", "labels", "licence", "license", "center", "centers", "centre", "centres", "sort"]
        )
    )


def test_an_anchor_refuses_other_patterns():
    with pytest.raises(ValueError, match="other signs"):
        beginning_with(r"\d+")
