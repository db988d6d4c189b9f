"""Numbers, accounts and names in talk that are masked whatever else says safe, and their clinical look-alikes."""

import itertools
import re

import pytest
from identifier_examples import CLINICAL, EXAMPLES

from inverse_deid.rules.patterns import accounts as account_patterns
from inverse_deid.rules.patterns import numbers as number_patterns
from inverse_deid.rules.patterns.anchors import (
    Anchor,
    PatternSearch,
    begin_phrases,
    compile_patterns,
    pattern_hits,
    split_words,
)
from inverse_deid.rules.patterns.search import (
    LIFTED_BY,
    SILENT_VETO_PATTERNS,
    VETO_PATTERNS,
    pattern_search,
)
from inverse_deid.text.tokenizer import join, tokenize

TALK = ("name-in-markup", "reversed-name", "name-in-talk", "name-that-speaks")
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
        ("coordinates-on-axes", "Position N61 12.258 E017 53.052, then", "N61 12 258 E017 53 052"),
        ("coordinates-on-axes", "61°12′15.5″N 17°53′03.1″E", "61 12 15 5 N 17 53 03 1 E"),
        ("coordinates-on-axes", "S 33 51.5 E 151 12.9", "S 33 51 5 E 151 12 9"),
        ("social-security-number", "ssn-123-45-6789-", "123 45 6789"),
    ],
)
def test_an_identifier_is_found_whole_whatever_is_beside_it(name, text, words):
    assert touched(name, text) == words


@pytest.mark.parametrize(("name", "text"), [("ip-address", "1.203.0.113.140"), ("full-date", "1-12/03/2019")])
def test_longer_numbers_are_not_taken_for_shorter_ones(name, text):
    assert touched(name, text) == ""


def test_codes_that_may_hold_anything_mask_whatever_is_kept():
    assert LIFTED_BY.keys().isdisjoint({"hexadecimal", "base-64", "scrambled", "series-of-codes"})


@pytest.mark.parametrize(
    ("pattern", "words", "beginnings", "rest"),
    [
        (r"(?:labels?|licen[cs]e)\Z", ["label", "labels", "licence", "license"], [], ""),
        (r"cent(?:re|er)\Z|\d+\Z", ["center", "centre"], [], r"\d+\Z"),
        (r"(?:a|[b-d]|x{2})\Z", ["a"], [], r"[b-d]\Z|x{2}\Z"),
        (r"(?:a|b)(?:c|d)\Z", ["ac", "ad", "bc", "bd"], [], ""),
        (r"begins|(?:end|stop)s?", [], ["begins", "end", "ends", "stop", "stops"], ""),
        (r"(?:a|b(?:c|d+)?)\Z", ["a"], [], r"b(?:c|d+)?\Z"),
        (r"(?:a(?:b|c)?|(?:d|e)\Z)", ["d", "e"], ["a", "ab", "ac"], ""),
        (r"a|\Z", [""], ["a"], ""),
        (r"[|(]\||e\Z", ["e"], [], r"[|(]\|"),
    ],
)
def test_the_words_of_an_anchor_are_looked_up_and_only_the_rest_is_searched(pattern, words, beginnings, rest):
    found, begun, left = split_words(pattern)
    assert (sorted(found), sorted(begun), left) == (words, beginnings, rest)


def test_an_anchor_of_several_words_is_its_first_word_apart_or_joined_and_tells_the_next():
    anchors = begin_phrases("log-?in a/c user_?names? sort_code iban", then="no")
    nexts = {word: anchor.next for anchor in anchors for word in split_words(anchor.word)[0]}
    assert nexts == {
        "log": "in", "a": "c", "user": "names?", "sort": "code", "login": "no", "username": "no", "usernames": "no", "iban": "no",
    }  # fmt: skip


class CountedPattern:
    """A pattern that counts where it is tried."""

    groups = 0

    def __init__(self, pattern):
        self.pattern, self.n_tried = re.compile(pattern), 0

    def match(self, text, at):
        self.n_tried += 1
        return self.pattern.match(text, at)


@pytest.mark.parametrize(
    ("text", "words", "n_tried"),
    [
        ("took 5 mg for 3 days", ["3", "days"], 1),
        ("5 mg, 6", [], 0),
        ("5 DAYSTAR", [], 1),  # only its beginning is looked at
        ("5, days", [], 0),
        ("days 5", [], 0),
    ],
)
def test_a_pattern_is_tried_only_before_the_word_that_must_follow(text, words, n_tried):
    pattern = CountedPattern(r"\d+ days\b")
    anchor = Anchor(r"\d+\Z", behind=" ", next="days")
    search = PatternSearch({"days": pattern}, {"days": [anchor]}, {}, {})
    tokens = join([tokenize(text), tokenize("days")])  # a word of the next document does not follow
    hits = search.find(tokens, search.anchor_bits(tokens.words))["days"]
    assert [word for word, hit in zip(tokens.words, hits, strict=True) if hit] == words
    assert pattern.n_tried == n_tried


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?:a|b)?c\d\Z",
        r"(?:a?|[BX]{0,2})(?:y|)z",
        r"(?=\w{2}\d)[A-Z]|\d{0,2}x",
        r"(?!ab)[^\W\d_]{3}\Z",
        r"(?-i:Na|[JK])\Z|q*7",
        r".*\d[mn]|[^a-x\d]y",
        r"(?<!z)c|\w?\Z",
        r"é|[一-鿿]|ß",
    ],
)
def test_words_are_tried_for_every_anchor_that_they_can_be(pattern):
    words = ["".join(word) for n in (1, 2, 3) for word in itertools.product("abcKNaxyzQ17é一", repeat=n)]
    search = PatternSearch({"one": re.compile("x")}, {"one": [Anchor(pattern)]}, {}, {})
    cased = PatternSearch({"one": re.compile("x")}, {"one": [Anchor(pattern, cased=True)]}, {}, {})
    found = search.anchor_bits(words)[:, 0]
    assert [bool(bit) for bit in found] == [
        re.match(pattern, one, re.IGNORECASE) is not None for one in words
    ]
    found = cased.anchor_bits(words)[:, 0]
    assert [bool(bit) for bit in found] == [re.match(pattern, one) is not None for one in words]


def test_patterns_are_compiled_when_a_text_has_their_anchor():
    patterns = compile_patterns({"seen": r"seen \d", "broken": "broken ("})
    search = PatternSearch(patterns, {name: [Anchor(name)] for name in patterns}, {}, {})
    tokens = join([tokenize("seen 7")])
    assert search.find(tokens, search.anchor_bits(tokens.words))["seen"].all()


def test_patterns_that_touch_nothing_share_an_array_that_cannot_change():
    tokens = join([tokenize("Home on 3/4/2021")])
    hits = pattern_search().find(tokens, pattern_search().anchor_bits(tokens.words))
    untouched = [hit for hit in hits.values() if not hit.any()]
    assert len(set(map(id, untouched))) == 1
    with pytest.raises(ValueError, match="read-only"):
        untouched[0][0] = True


@pytest.mark.parametrize("space", ["\t", "\n", "\u3000"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_any_white_space_between_words_is_found_as_the_pattern_says(name, space):
    tokens = tokenize(EXAMPLES[name][0].replace(" ", space))
    joined = join([tokens])
    plain = pattern_hits(tokens, [{**VETO_PATTERNS, **SILENT_VETO_PATTERNS}[name]])[0]
    assert (
        pattern_search().find(joined, pattern_search().anchor_bits(joined.words))[name].tolist()
        == plain.tolist()
    )
