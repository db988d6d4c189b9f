import numpy as np
import pytest

from inverse_deid.text import rendering
from inverse_deid.text.rendering import render, substitute
from inverse_deid.text.tokenizer import tokenize


def mask(text, *masked_words):
    tokens = tokenize(text)
    keep = np.array([word not in masked_words for word in tokens.words], bool)
    return render(tokens, keep, lambda first, last: "PHI")


@pytest.mark.parametrize(
    ("text", "masked", "expected"),
    [
        ("seen 12/03/2019 at", ("12", "03", "2019"), "seen PHI at"),
        ("Ann, Li and Wu", ("Ann", "Li", "Wu"), "PHI, PHI and PHI"),
        ("ann@x.example", ("ann", "x", "example"), "PHI"),
        ("Dr Wu\nLi left", ("Wu", "Li"), "Dr PHI\nPHI left"),
        ("", (), ""),
        ("no token: ...", (), "no token: ..."),
        ("a\u200bb", ("a", "b"), "PHI"),
        ("a\u200bb", (), "ab"),
        ("a \u202a\ufeff b\u00ad", (), "a  b"),
        ("a\u0301b", (), "a□b"),
        ("a\u202eb", (), "a□b"),
        ("a\u200b\u0301b", (), "a□b"),
    ],
)
def test_masks_that_belong_together_become_one(text, masked, expected):
    assert mask(text, *masked).text == expected


def test_marker_gets_the_range_of_tokens():
    tokens = tokenize("Mr Wu Li left")
    seen = []
    render(tokens, np.array([1, 0, 0, 1], bool), lambda first, last: seen.append((first, last)) or "X")
    assert seen == [(1, 3)]


def test_decisions_of_another_length_are_refused():
    with pytest.raises(ValueError, match="2 decisions for 1 tokens"):
        render(tokenize("one"), np.ones(2, bool), lambda first, last: "PHI")


def test_a_gap_within_a_masked_range_belongs_to_its_mask():
    tokens = tokenize("seen by Ann Li today")
    keep = np.array([True, True, False, False, True])
    inside, across = [(11, 12)], [(13, 15)]
    assert render(tokens, keep, lambda first, last: "PHI", inside).text == "seen by PHI today"
    assert render(tokens, keep, lambda first, last: "PHI", across).text == "seen by PHItoday"


def test_a_text_with_many_masks_is_joined_in_pieces(monkeypatch):
    text = "Ann had a rash. " * 50
    pieces = [(at, at + 3, "PHI") for at in range(0, len(text), 16)]
    whole = substitute(text, pieces)
    monkeypatch.setattr(rendering, "_TOKENS_AT_ONCE", 7)
    assert substitute(text, pieces) == whole
    assert whole.text == "PHI had a rash. " * 50
