"""Passages: short sentences stand with what follows, and every token stands once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inverse_deid.text.tokenizer import tokenize
from inverse_deid_research.extraction.passages import LONGEST, SHORTEST, cut_passages

LONG = "It was a rash that came " + "and went " * SHORTEST


@pytest.mark.parametrize(
    ("text", "first_words"),
    [
        ("Seen by:\n\nJane Li. No drugs.", ["Seen"]),
        (f"{LONG}. Then fever. Then none.", ["It", "Then"]),
        (f"Summary.\n{LONG}. Then fever.", ["Summary", "Then"]),
        (f"Short. {'word ' * LONGEST}. Next", ["Short", "word", "Next"]),
        ("...", []),
    ],
)
def test_passages_begin_where_they_should(text, first_words):
    tokens = tokenize(text)
    assert [tokens.words[first] for first, _ in cut_passages(tokens)] == first_words


@given(st.lists(st.sampled_from(["Ann", "was", "well.", "Then", "not.\n\n", "x " * 150]), max_size=60))
def test_every_token_is_in_one_passage(pieces):
    tokens = tokenize(" ".join(pieces))
    bounds = cut_passages(tokens)
    assert [i for first, last in bounds for i in range(first, last)] == list(range(len(tokens)))
    assert all(0 < last - first <= LONGEST for first, last in bounds)
    assert all(last - first >= SHORTEST for first, last in bounds[:-1]) or "x " * 150 in pieces
