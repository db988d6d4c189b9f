"""Sentences for the networks: every token once, ends where a reader sees them."""

import pytest

pytest.importorskip("nltk")

from inverse_deid.text.tokenizer import tokenize
from inverse_deid_research.sentences import sentence_bounds

LONGEST = 100


@pytest.mark.parametrize(
    ("text", "first_words"),
    [
        ("She had a rash. It went.", ["She", "It"]),
        ("Seen by Dr. Li. It went.", ["Seen", "It"]),
        ("Plan\n\nno drugs", ["Plan", "no"]),
        ("Plan:\n- rest\n- water", ["Plan", "rest", "water"]),
        ("Plan:\n1. rest\n2. water", ["Plan", "1", "2"]),
        ("one line\nand its end", ["one"]),
    ],
)
def test_sentences_begin_where_they_should(text, first_words):
    tokens = tokenize(text)
    assert [tokens.words[first] for first, _ in sentence_bounds(tokens, LONGEST)] == first_words


@pytest.mark.parametrize("text", ["", "...", "one", "A b.C d. e\n\n\nf", "w " * (2 * LONGEST + 7)])
def test_every_token_is_in_one_sentence(text):
    tokens = tokenize(text)
    bounds = sentence_bounds(tokens, LONGEST)
    assert [i for first, last in bounds for i in range(first, last)] == list(range(len(tokens)))
    assert all(0 < last - first <= LONGEST for first, last in bounds)
